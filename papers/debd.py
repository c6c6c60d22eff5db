"""Thirteen sets of density estimation: every kind of dependency network, and Bayesian networks with trees and graphs.

    QUILTWORK_DATA=... python papers/debd.py [--sets nltcs,plants] [--learners "DN tree"] [--cells papers/cells]

Each model learns from the training rows; whatever it chooses, it chooses by the validation rows; the test rows are read
once, at the end. Dependency networks are judged by test pseudo-log-likelihood, Bayesian networks by test
log-likelihood, per example, beside the best figures measured of other libraries on the same rows: Libra's dependency
networks with trees, and the best of Libra, LightGBM per variable and L1 logistic regression per variable; WinMine's
Bayesian networks with trees are recalled from the literature. Times are CPU seconds of the whole fit, those of both
threads together, for the machine did other work too. With `--cells` what that folder holds is not measured again, and
what is measured is kept there.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import DEBD, Cells, debd, keep, markdown

import quiltwork as qw

LIBRA = dict(zip(DEBD, (
    -4.968, -4.323, -2.067, -9.036, -38.68, -52.31, -54.85, -8.392, -35.29, -51.67, -150.5, -82.01, None,
)))  # fmt: skip
BEST = dict(zip(DEBD, (
    -4.890, -4.307, -2.067, -8.171, -36.00, -48.59, -51.00, -8.345, -35.29, -51.67, -150.5, -82.01, -156.15,
)))  # fmt: skip
WINMINE = dict(zip(DEBD, (
    -6.02, -6.04, -2.16, -12.65, -40.50, -53.85, -57.03, -9.70, -36.41, -54.37, -157.43, -87.55, -158.95,
)))  # fmt: skip

DEPENDENCY = {
    "DN tree": {"cpd": "tree", "kappa": "auto"},
    "DN L1": {"cpd": "logistic", "penalty": "l1"},
    "DN L2": {"cpd": "logistic", "penalty": "l2"},
    "DN boosted": {"cpd": "boosted"},
    "DN auto": {"cpd": "auto", "kappa": "auto"},
}
BAYESIAN = {
    "BN tree": {"cpd": "tree", "kappa": "auto"},
    "BN graph": {"cpd": "graph", "kappa": "auto"},
}
# Graphs against trees by the score both maximise; nothing is chosen here.
SCORED = {"BN tree, kappa .01": {"cpd": "tree", "kappa": 0.01}, "BN graph, kappa .01": {"cpd": "graph", "kappa": 0.01}}


def learn(learner: str, train: np.ndarray, valid: np.ndarray) -> Any:
    if learner in DEPENDENCY:
        return qw.DependencyNetwork(**DEPENDENCY[learner]).fit(train, validation=valid)
    return qw.BayesianNetwork(**{**BAYESIAN, **SCORED}[learner]).fit(train, validation=valid)


def fill(name: str, learner: str) -> dict[str, Any]:
    """One cell: test figure, seconds, score."""
    train, valid, test = debd(name)
    began = time.process_time()
    est = learn(learner, train, valid)
    took = time.process_time() - began
    test_figure, score = float(est.score_samples(test).mean()), float(getattr(est, "score_", 0.0))
    return {"test": test_figure, "cpu_seconds": took, "score": score}


def figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(DEBD))
    parser.add_argument("--learners", default=",".join([*DEPENDENCY, *BAYESIAN]))
    parser.add_argument("--cells", type=Path)
    asked = parser.parse_args()
    sets, learners = asked.sets.split(","), [one.strip() for one in asked.learners.split(",")]
    for one in [*learners, *SCORED]:  # kernels are compiled before the clock starts
        learn(one, *(rows[:500] for rows in debd("nltcs")[:2]))
    kept = Cells(asked.cells)
    cells = {
        (name, one): kept.fill(name, one, partial(fill, name, one)) for name in sets for one in [*learners, *SCORED]
    }

    def shown(name: str, one: str) -> str:
        found = cells[name, one]
        return f"{found['test']:.3f} ({found['cpu_seconds']:.1f} s)"

    dependency = [one for one in learners if one in DEPENDENCY]
    bayesian = [one for one in learners if one in BAYESIAN]
    tables = [
        "## Density estimation (papers/debd.py)",
        "Test pseudo-log-likelihood per example (CPU seconds of the whole fit):",
        markdown(
            ["set", *dependency, "Libra DN", "best to beat"],
            [[n, *(shown(n, one) for one in dependency), figure(LIBRA[n]), figure(BEST[n])] for n in sets],
        ),
        "Test log-likelihood per example, and how much higher the Bayesian score of graphs is than that of trees "
        "(kappa 0.01, training rows, nats):",
        markdown(
            ["set", *bayesian, "WinMine (recalled)", "graph - tree score"],
            [
                [
                    n,
                    *(shown(n, one) for one in bayesian),
                    figure(WINMINE[n]),
                    f"{cells[n, 'BN graph, kappa .01']['score'] - cells[n, 'BN tree, kappa .01']['score']:,.0f}",
                ]
                for n in sets
            ],
        ),
    ]
    keep("density estimation", "\n\n".join(tables))


if __name__ == "__main__":
    main()
