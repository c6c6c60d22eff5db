"""Heckerman, Chickering, Meek, Rounthwaite, Kadie (2000), "Dependency networks", section 4, again on MS Web (MS.COM).

    QUILTWORK_DATA=... python papers/dependency_networks.py [--seed 0]

Recommendations for the 5,000 test users from 32,711 training users over the 294 areas of microsoft.com: Bayesian
networks and dependency networks with decision trees (kappa 0.01, binary splits, uniform prior, as in the paper), ours
with kappa chosen by held-out users beside them, and popularity. Accuracy is CF accuracy with a half-life of 10, and
of 5 beside it; the required difference (RD) is Tukey's, from an analysis of variance with users as blocks, at a level
of 0.1. Published figures are recalled, not read off the paper, whose digits are lost in the copy at hand.
"""

from __future__ import annotations

import argparse
import lzma
import time

import numpy as np
from common import data_folder, keep, markdown, peak_mb

import quiltwork as qw
from quiltwork.rank.metrics import cf_accuracy
from quiltwork.rank.protocols import Queries, all_but_1, evaluate, given_k

PUBLISHED = {  # CF accuracy of BN, DN and popularity
    "given 2": (53.2, 52.7, 43.4),
    "given 5": (52.5, 52.5, 39.3),
    "given 10": (51.6, 51.5, 39.3),
    "all but 1": (66.5, 66.6, 49.8),
}


def ms_web() -> tuple[np.ndarray, np.ndarray]:
    """Training and test users by areas, 0 or 1."""
    areas: dict[str, int] = {}
    parts = []
    for part in ("data", "test"):
        users: list[list[int]] = []
        with lzma.open(data_folder() / "msweb-raw" / f"anonymous-msweb.{part}.xz", "rt", encoding="latin-1") as file:
            for line in file:
                field = line.strip().split(",")
                if field[0] == "A" and part == "data":
                    areas[field[1]] = len(areas)
                elif field[0] == "C":
                    users.append([])
                elif field[0] == "V":
                    users[-1].append(areas[field[1]])
        table = np.zeros((len(users), len(areas)), np.uint8)
        for u, visited in enumerate(users):
            table[u, visited] = 1
        parts.append(table)
    return parts[0], parts[1]


def required_difference(accuracy: np.ndarray, level: float = 0.1) -> float:
    """Tukey's honest difference between the methods (columns) of accuracy (users, methods), users as blocks."""
    from scipy.stats import studentized_range

    n, k = accuracy.shape
    rest = accuracy - accuracy.mean(axis=0) - accuracy.mean(axis=1, keepdims=True) + accuracy.mean()
    freedom = (n - 1) * (k - 1)
    return float(studentized_range.ppf(1 - level, k, freedom) * np.sqrt((rest**2).sum() / freedom / n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    train, test = ms_web()
    learners = {
        "BN, trees": qw.BayesianNetwork(cpd="tree"),
        "DN, trees": qw.DependencyNetwork(),
        "popularity": qw.Popularity(),
        "BN, trees, kappa auto": qw.BayesianNetwork(cpd="tree", kappa="auto"),
        "DN, trees, kappa auto": qw.DependencyNetwork(kappa="auto"),
    }
    models, learning = {}, []
    for name, learner in learners.items():
        learner.fit(train[:300, :40])  # kernels are compiled before the clock starts
        before, began = peak_mb(), time.perf_counter()
        models[name] = learner.fit(train).model_
        took, grown = time.perf_counter() - began, peak_mb() - before
        items = [v.name for v in models[name].variables]
        histories = [[items[k] for k in np.flatnonzero(row)] for row in test[:300]]
        qw.recommend(models[name], histories[0])
        began = time.perf_counter()
        for history in histories:
            qw.recommend(models[name], history)
        one_by_one = len(histories) / (time.perf_counter() - began)
        began = time.perf_counter()
        qw.item_scores(models[name], test)
        at_once = len(test) / (time.perf_counter() - began)
        learning.append([name, f"{took:.2f}", f"{grown:.0f}", f"{one_by_one:,.0f}", f"{at_once:,.0f}"])
    queries: dict[str, Queries] = {f"given {k}": given_k(test, k, random_state=seed) for k in (2, 5, 10)}
    queries["all but 1"] = all_but_1(test, random_state=seed)
    rows = []
    for protocol, asked in queries.items():
        places = [
            evaluate(lambda histories, model=model: qw.item_scores(model, histories), asked).places
            for model in models.values()
        ]
        published = " / ".join(f"{figure:.1f}" for figure in PUBLISHED[protocol])
        for half_life in (10, 5):
            accuracy = np.column_stack([cf_accuracy(one, half_life) for one in places])
            means = [f"{mean:.2f}" for mean in accuracy.mean(axis=0)]
            difference = f"{required_difference(accuracy[:, :3]):.2f}"
            rows.append([protocol, f"{half_life}", f"{len(asked):,}", *means, difference, published])
    text = "\n\n".join(
        [
            "## Dependency networks (papers/dependency_networks.py)",
            f"MS Web, CF accuracy, seed {seed}; RD between the first three.",
            markdown(["protocol", "half-life", "users", *models, "RD", "published BN / DN / popularity"], rows),
            markdown(["method", "learning, s", "+MB", "users/s, one at a time", "users/s, all at once"], learning),
        ]
    )
    keep("dependency networks", text)


if __name__ == "__main__":
    main()
