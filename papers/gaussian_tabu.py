"""Figures and the open sections of Wenig, Graphical Models Lab: Gaussian networks by tabu search with random restarts.

    python papers/gaussian_tabu.py searches history penalties

searches   what each search finds on both wine tables (12 columns, quality among them) under BIC, and how long it takes;
           PyBNesian's hill climbing on the same tables in the same run, and the best graph there is, by dynamic
           programming over all 4,096 sets of variables
history    Figure 1: the score after the first climb, with walks that are too short, restarts that are too long, and
           both as they are by default
penalties  Figure 2: the number of parameters against λ; and what its section 3.3 left open, the log-likelihood of rows
           that were held out against λ (10 folds), by which λ is chosen

The report prints no figure for its own runs but these two plots without data, so nothing can be set beside ours.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from common import data_folder, keep, markdown

import quiltwork as qw

PENALTIES = (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
FOLDS = 10
HISTORIES = {
    "walks too short: 2 steps, no restarts": {"walks": 40, "walk_steps": 2, "restarts": 0},
    "restarts too long: 300 random moves": {"walks": 2, "walk_steps": 20, "restarts": 6, "restart_steps": 300},
    "default: 20 steps, 30 random moves": {"restarts": 30},
}


def wine(colour: str) -> Any:
    return qw.read_table(data_folder() / "wine" / f"winequality-{colour}.csv")


# What each search finds


def searches() -> None:
    rows = []
    for colour in ("red", "white"):
        table = wine(colour)
        values = table.to_numpy().astype(float)
        best = best_score(values)
        rows.append([colour, "the best graph there is", f"{best:.2f}", "0.00", "", ""])
        for label, found in methods().items():
            parents, seconds = found(table), np.inf  # kernels and libraries are loaded before the clock starts
            for _ in range(5):
                began = time.perf_counter()
                found(table)
                seconds = min(seconds, time.perf_counter() - began)
            score = bic(values, parents)
            n_arcs = str(sum(map(len, parents)))
            rows.append([colour, label, f"{score:.2f}", f"{score - best:.2f}", n_arcs, f"{1000 * seconds:.1f} ms"])
            print(" | ".join(rows[-1]), flush=True)
    headings = ["wine", "search", "BIC", "less the best", "arcs", "fastest of 5"]
    keep("gaussian-searches", "## What each search finds under BIC\n\n" + markdown(headings, rows))


def methods() -> dict[str, Any]:
    found: dict[str, Any] = {}
    if find_spec("pybnesian"):
        found["PyBNesian 0.5.1, hc"] = pybnesian_climb
    for search in ("climb", "tabu", "restarts"):
        found[f"quiltwork, {search}"] = partial(quiltwork_search, search=search)
    return found


def quiltwork_search(table: Any, **parameters: Any) -> list[tuple[int, ...]]:
    return [cpd.parents for cpd in qw.learn("gbn", table, **parameters).cpds]


def pybnesian_climb(table: Any) -> list[tuple[int, ...]]:
    from pybnesian import GaussianNetworkType, hc

    frame = table.to_pandas().astype(float)
    network = hc(frame, bn_type=GaussianNetworkType(), score="bic", operators=["arcs"], max_indegree=0)
    return [tuple(sorted(frame.columns.get_loc(p) for p in network.parents(name))) for name in frame.columns]


def bic(values: np.ndarray, parents: list[tuple[int, ...]]) -> float:
    """The one judge of all: BIC of a graph by a regression from the rows for every variable."""
    m = len(values)
    total = 0.0
    for v, own in enumerate(parents):
        design = np.column_stack([np.ones(m), values[:, list(own)] - values[:, list(own)].mean(axis=0)])
        solution = np.linalg.lstsq(design, values[:, v], rcond=None)[0]
        variance = ((values[:, v] - design @ solution) ** 2).mean()
        total += -m / 2 * (np.log(2 * np.pi * variance) + 1) - np.log(m) / 2 * (len(own) + 2)
    return float(total)


def best_score(values: np.ndarray) -> float:
    """The BIC of the best of all graphs: the best parents of every variable within every set, then the best sink."""
    m, n = values.shape
    correlation = np.corrcoef(values.T)
    log_det = np.zeros(1 << n)
    for chosen in range(1, 1 << n):
        members = [v for v in range(n) if chosen >> v & 1]
        log_det[chosen] = np.linalg.slogdet(correlation[np.ix_(members, members)])[1]
    alone = -m / 2 * (np.log(2 * np.pi * values.var(axis=0)) + 1) - np.log(m)
    local = np.full((n, 1 << n), -np.inf)
    best = np.full(1 << n, -np.inf)
    best[0] = 0.0
    for chosen in range(1 << n):  # a set comes after all of its subsets
        members = [v for v in range(n) if chosen >> v & 1]
        for v in set(range(n)) - set(members):
            own = alone[v] - m / 2 * (log_det[chosen | 1 << v] - log_det[chosen]) - np.log(m) / 2 * len(members)
            local[v, chosen] = max([own, *(local[v, chosen ^ 1 << u] for u in members)])
        for v in members:
            rest = chosen ^ 1 << v
            best[chosen] = max(best[chosen], best[rest] + local[v, rest])
    return float(best[-1])


# Figure 1: the score after the first climb


def history() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = {"climb": "tab:green", "walk": "tab:blue", "random": "tab:red"}
    fig, axes = plt.subplots(1, len(HISTORIES), figsize=(15, 4))
    rows = []
    for ax, (label, parameters) in zip(axes, HISTORIES.items(), strict=True):
        learner = qw.GaussianNetwork(search="tabu", **parameters).fit(wine("red"))
        scores, phases = np.array(learner.score_history_.scores), np.array(learner.score_history_.phases)
        first = int(np.argmax(~np.isin(phases, ["start", "climb"])))
        ax.plot(np.arange(first, len(scores)), scores[first:], color="lightgrey", linewidth=0.8)
        for phase, colour in colours.items():
            steps = np.flatnonzero(phases == phase)
            steps = steps[steps >= first]
            ax.plot(steps, scores[steps], ".", markersize=2, color=colour, label=phase)
        ax.axhline(scores[first - 1], color="black", linewidth=0.8, linestyle=":", label="after the first climb")
        ax.set(title=label, xlabel="step", ylabel="score (BIC)")
        ax.set_ylim(max(scores[first:].min(), scores[first - 1] - 120), scores.max() + 5)
        rows.append([label, f"{scores[first - 1]:.2f}", f"{learner.score_:.2f}", str(len(scores) - first)])
    axes[-1].legend(markerscale=4, loc="lower right")
    fig.tight_layout()
    fig.savefig(Path(__file__).with_name("gaussian_history.png"), dpi=120)
    text = "## Figure 1: the score after the first climb, red wine\n\n"
    text += markdown(["setting", "first climb", "best found", "steps after it"], rows)
    keep("gaussian-history", text + "\n\nThe figure is `gaussian_history.png`, drawn by this script.")


# Figure 2: parameters against λ, and cross-validation


def penalties() -> None:
    rows, curves = [], {}
    for colour in ("red", "white"):
        table = wine(colour)
        values = table.to_numpy().astype(float)
        settings: list[float | str] = [*PENALTIES, "bic", "bge"]
        held_out = {penalty: np.array(cross_validated(values, penalty)) for penalty in settings}
        best = max(PENALTIES, key=lambda penalty, held_out=held_out: held_out[penalty].mean())
        curves[colour] = []
        for penalty in settings:
            learner = qw.GaussianNetwork(penalty=penalty).fit(table)
            arcs, parameters = len(learner.model_.arcs), learner.model_.n_parameters
            mean, error = held_out[penalty].mean(), held_out[penalty].std(ddof=1) / np.sqrt(FOLDS)
            behind = held_out[penalty] - held_out[best]
            rows.append([
                colour, f"{penalty:g}" if isinstance(penalty, float) else penalty, str(arcs), str(parameters),
                f"{mean:.4f} ± {error:.4f}" + (" *" if penalty == best else ""),
                f"{behind.mean():.4f} ± {behind.std(ddof=1) / np.sqrt(FOLDS):.4f}",
                f"{1000 * learner.fit_seconds_:.0f} ms",
            ])  # fmt: skip
            print(" | ".join(rows[-1]), flush=True)
            if isinstance(penalty, float):
                curves[colour].append((penalty, parameters, mean))
    text = "## Figure 2: parameters against λ, and the log-likelihood of held-out rows\n\n"
    headings = ["wine", "λ", "arcs", "parameters", "log-likelihood per held-out row", "less that of *", "search"]
    text += markdown(headings, rows)
    keep("gaussian-penalties", text + "\n\nThe figure is `gaussian_parameters.png`, drawn by this script.")
    draw_penalties(curves)


def cross_validated(values: np.ndarray, penalty: float | str) -> list[float]:
    """Mean log-likelihood of the rows of each fold under the network learned from the others."""
    fold_of = np.random.default_rng(0).permutation(len(values)) % FOLDS
    means = []
    for fold in range(FOLDS):
        model = qw.learn("gbn", values[fold_of != fold], penalty=penalty)
        means.append(float(qw.log_likelihood(model, values[fold_of == fold]).mean()))
    return means


def draw_penalties(curves: dict[str, list[tuple[float, int, float]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
    for colour, points in curves.items():
        penalty, parameters, likelihood = zip(*points, strict=True)
        drawn = {"red": "tab:red", "white": "tab:olive"}[colour]
        left.plot(penalty, parameters, marker="o", markersize=3, color=drawn, label=colour)
        right.plot(penalty, np.array(likelihood) - max(likelihood), marker="o", markersize=3, color=drawn, label=colour)
    for ax in (left, right):
        ax.set_xscale("symlog", linthresh=0.25)
        ax.set_xlabel("λ")
        ax.legend()
    left.set(ylabel="parameters, 2 n + arcs", title="Number of parameters against λ")
    right.set(ylabel="held-out log-likelihood per row, less the best", title="Cross-validation")
    fig.tight_layout()
    fig.savefig(Path(__file__).with_name("gaussian_parameters.png"), dpi=120)


if __name__ == "__main__":
    parts = {"searches": searches, "history": history, "penalties": penalties}
    for part in sys.argv[1:] or parts:
        parts[part]()
