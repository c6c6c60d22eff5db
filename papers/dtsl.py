"""Tables and figures of Lowd, Davis (2010), Learning Markov network structure with decision trees.

    python papers/dtsl.py --cache /tmp/dtsl                       everything, 13 sets, smallest first
    python papers/dtsl.py --cache /tmp/dtsl --sets nltcs plants --cells generators
    python papers/dtsl.py --cache /tmp/dtsl --only-report         what is in the cache, as tables

generators  Tables IV and V: CMLL and PLL of the five feature generators, numbers and lengths of their features
rivals      Table VI and Figure 2: DTSL beside L1, BLM (bottom-up), Della Pietra (top-down) and independent variables
network     one network of DTSL and L1 features, beside dependency networks: Libra's, trees, L1 regressions, LightGBM's

Everything is learned from the training rows and chosen on the validation rows. kappa is that of the trees that make
the validation rows likeliest (1e-4, ..., 1); prior widths are those of the paper (100, 10, 1, 0.1), L1 penalties too
(1, ..., 1000) with both rules. Where the paper chooses by CMLL, the choice here is by PLL, which needs no sampling; the
penalty and rule of L1 are chosen at a width of 1, then the width.

CMLL: four groups of variables (seed 0), 10,000 samples after 1,000 where a group cannot be enumerated, on the first
rows of the test set (--cmll-rows; on all of nltcs). Times are CPU seconds of one thread. A cell that takes more than
--minutes of CPU is left out and says so. Each cell is kept in a file of the cache, and not computed again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from common import data_folder, keep, markdown

import quiltwork as qw
from quiltwork.backends.threads import Threads
from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import Encoder, fit_encode
from quiltwork.infer.groups import conditional_marginal_log_likelihood
from quiltwork.learn.markov import STRUCTURES
from quiltwork.search.grow import GrowthRules, grow_trees
from quiltwork.search.weights import Penalty, maximise
from quiltwork.stats.conjunctions import Conjunctions
from quiltwork.stats.families import state_counts
from quiltwork.stats.leaves import leaf_arrays
from quiltwork.stats.pseudo_likelihood import PseudoLikelihood

SETS = ("nltcs", "plants", "jester", "msnbc", "baudio", "bnetflix", "kdd", "msweb", "book", "tmovie", "cwebkb", "cr52",
        "c20ng")  # fmt: skip
GENERATORS = ("default", "prune", "prune-10", "prune-5", "nonzero")
RIVALS = ("l1", "bottom-up", "top-down", "independent")
KAPPAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
WIDTHS = (100.0, 10.0, 1.0, 0.1)
PENALTIES = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
NEIGHBOURS = 5  # of a row, bottom-up

# The network of DTSL and L1 features has its own grid: widths of features of one, two, and more conditions.
OWN_WIDTHS = ((10.0, 1.0, 0.1), (10.0, 1.0, 0.03), (10.0, 0.3, 0.1), (10.0, 0.3, 0.03), (10.0, 0.1, 0.03),
              (10.0, 0.1, 0.01))  # fmt: skip
DENSE, SPARSE = 1.0, 10.0  # its L1 penalty: up to 100 variables, and beyond

# Test PLL of dependency networks measured before: Libra's DN, Libra's DTSL, L1 regressions, trees, LightGBM
KNOWN = {
    "nltcs": (-4.968, -4.945, -4.948, -4.973, -4.890), "msnbc": (-4.323, None, -6.056, -4.307, -4.321),
    "kdd": (-2.067, None, -2.076, -2.075, None), "plants": (-9.036, -8.745, -9.317, -9.058, -8.171),
    "baudio": (-38.68, -38.01, -36.10, -38.73, -36.00), "jester": (-52.31, -51.42, -48.59, -52.33, -48.68),
    "bnetflix": (-54.85, -54.76, -51.02, -54.87, -51.00), "msweb": (-8.392, None, None, -8.361, -8.345),
    "book": (-35.29, None, None, -35.37, None), "tmovie": (-51.67, None, None, -51.90, None),
    "cwebkb": (-150.5, None, None, -151.0, None), "cr52": (-82.01, None, None, -82.38, None),
    "c20ng": (None, None, None, -156.15, None),
}  # fmt: skip


class TooLong(Exception):
    """More CPU time than a cell may take."""


@dataclass(frozen=True)
class Task:
    """One set: its rows, and what may be spent on a cell."""

    name: str
    cache: Path
    minutes: float
    cmll_rows: int

    @cached_property
    def rows(self) -> tuple[Encoder, Dataset, Dataset, Dataset]:
        packed = np.load(data_folder() / "debd" / f"{self.name}.npz")
        parts = [np.unpackbits(packed[p], axis=1)[:, : int(packed["n_vars"])] for p in ("train", "valid", "test")]
        encoder, train = fit_encode(parts[0])
        return encoder, train, encoder.encode(parts[1]), encoder.encode(parts[2])

    def cell(self, name: str, compute: Callable[[Callable[..., None]], dict[str, Any]]) -> dict[str, Any]:
        """What is in the cache under this name, or what `compute(watch)` makes; watch raises when time is up."""
        path = self.cache / f"{self.name}-{name}.json"
        if path.exists():
            return json.loads(path.read_text())
        began = time.process_time()

        def watch(*_: object) -> None:
            if time.process_time() - began > 60 * self.minutes:
                raise TooLong

        try:
            found = compute(watch)
        except TooLong:
            found = {"left_out": f"more than {self.minutes:g} min"}
        found["cpu_seconds"] = time.process_time() - began
        path.write_text(json.dumps(found))
        print(self.name, name, {k: v for k, v in found.items() if k != "by_kappa"}, flush=True)
        return found


# Learning: structure, then weights, each timed


@dataclass(frozen=True)
class Structure:
    features: Conjunctions
    start: np.ndarray
    seconds: float


def find_structure(task: Task, watch: Callable[..., None], **parameters: Any) -> Structure:
    learner = qw.MarkovNetwork(**{"tol": 1e-5, **parameters})
    train = task.rows[1]
    began = time.process_time()
    features, start = STRUCTURES[learner.structure](learner, train, Threads(1), watch)
    return Structure(features, start, time.process_time() - began)


@dataclass(frozen=True)
class Weighed:
    """A network with weights, and what the validation rows say of it."""

    structure: Structure
    widths: tuple[float, ...]
    weights: np.ndarray
    valid: float
    seconds: float
    converged: bool


class Weigher:
    """Learns the weights of one structure under several priors; the rows are swept once."""

    def __init__(self, task: Task, structure: Structure):
        self.task, self.structure = task, structure
        began = time.process_time()
        self.train = self.likelihood(task.rows[1])
        self.sweep_seconds = time.process_time() - began
        self.valid = self.likelihood(task.rows[2])

    def likelihood(self, rows: Dataset) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        swept = PseudoLikelihood.of(rows, self.structure.features, Threads(1).run)
        return lambda weights: swept(weights, Threads(1).run)

    def learn(
        self, widths: tuple[float, ...], watch: Callable[..., None], start: np.ndarray | None = None, tol: float = 1e-6
    ) -> Weighed:
        lengths, total = self.structure.features.lengths, self.task.rows[1].total
        precision = np.array(widths)[np.clip(lengths, 1, len(widths)) - 1] ** -2.0
        penalty = Penalty(precision, np.zeros(len(lengths)))
        began = time.process_time()
        start = self.structure.start if start is None else start
        found = maximise(self.train, start, penalty, total, 500, tol, watch)
        seconds = time.process_time() - began + self.sweep_seconds
        valid = self.valid(found.weights)[0] / self.task.rows[2].total
        return Weighed(self.structure, widths, found.weights, valid, seconds, found.converged)


def best_width(task: Task, structure: Structure, watch: Callable[..., None]) -> Weighed:
    """The best of the paper's four widths."""
    weigher = Weigher(task, structure)
    return max((weigher.learn((width,), watch) for width in reversed(WIDTHS)), key=lambda found: found.valid)


def judged(task: Task, found: Weighed) -> dict[str, Any]:
    """What the test rows say, and what it took."""
    features, test = found.structure.features, task.rows[3]
    swept = PseudoLikelihood.of(test, features, Threads(1).run)
    arrays = features.first_condition, features.columns, features.states
    model = qw.MarkovNet(task.rows[0], *arrays, found.weights, state_counts(task.rows[1]))
    few = test if task.name == "nltcs" else test.rows(slice(0, task.cmll_rows))
    asked = conditional_marginal_log_likelihood(model, few, 4)
    return {
        "widths": found.widths, "valid_pll": found.valid, "pll": swept(found.weights, Threads(1).run)[0] / test.total,
        "cmll": asked.mean, "cmll_error": asked.error, "cmll_rows": few.n_samples, "n_features": len(features),
        "length": float(features.lengths.mean()), "structure_seconds": found.structure.seconds,
        "weight_seconds": found.seconds, "converged": found.converged,
    }  # fmt: skip


# Cells


def kappa_of(task: Task) -> float:
    """The kappa whose trees make the validation rows likeliest."""

    def compute(watch: Callable[..., None]) -> dict[str, Any]:
        _, train, valid, test = task.rows
        arrays = leaf_arrays(train)
        by_kappa = {}
        for kappa in KAPPAS:
            trees = grow_trees(arrays, range(train.n_vars), GrowthRules(kappa=kappa))
            by_kappa[kappa] = [tree_log_likelihood(trees, rows) for rows in (valid, test)]
            watch()
        best = max(by_kappa, key=lambda kappa: by_kappa[kappa][0])
        return {"kappa": best, "tree_dn_pll": by_kappa[best][1], "by_kappa": {f"{k:g}": v for k, v in by_kappa.items()}}

    return float(task.cell("kappa", compute)["kappa"])


def tree_log_likelihood(trees: Sequence[Any], rows: Dataset) -> float:
    codes = rows.states()
    own = [tree.log_probs(codes)[np.arange(len(codes)), codes[:, tree.child]] for tree in trees]
    return float(np.sum(own) / len(codes))


def generators(task: Task) -> None:
    for how in GENERATORS:

        def compute(watch: Callable[..., None], how: str = how) -> dict[str, Any]:
            structure = find_structure(task, watch, structure="dtsl", features=how, kappa=kappa_of(task))
            return judged(task, best_width(task, structure, watch))

        task.cell(how, compute)


def rivals(task: Task) -> None:
    def l1(watch: Callable[..., None]) -> dict[str, Any]:
        def tried() -> Iterator[tuple[Weighed, float, str]]:
            for penalty in PENALTIES:
                for rule in ("or", "and"):
                    found = find_structure(task, watch, structure="l1", edge_penalty=penalty, rule=rule)
                    yield Weigher(task, found).learn((1.0,), watch), penalty, rule

        best, penalty, rule = max(tried(), key=lambda each: each[0].valid)
        return {**judged(task, best_width(task, best.structure, watch)), "penalty": penalty, "rule": rule}

    task.cell("l1", l1)
    others = {"independent": {}, "top-down": {}, "bottom-up": {"k": NEIGHBOURS}}
    for structure, parameters in others.items():

        def compute(watch: Callable[..., None], structure: str = structure, more: dict = parameters) -> dict[str, Any]:
            found = find_structure(task, watch, structure=structure, **more)
            return judged(task, best_width(task, found, watch))

        task.cell(structure, compute)


def network(task: Task) -> None:
    """DTSL and L1 features together, the best of the generators, kappas, penalties and widths by validation PLL."""

    def compute(watch: Callable[..., None]) -> dict[str, Any]:
        best, chosen = None, {}
        own, few = kappa_of(task), task.rows[1].n_vars <= 100
        for kappa in sorted({own, min(1.0, 10 * own)}):
            for how in ("nonzero", "prune"):
                more = {"features": how, "kappa": kappa, "edge_penalty": DENSE if few else SPARSE}
                weigher = Weigher(task, find_structure(task, watch, structure="dtsl+l1", **more))
                last = None
                for widths in OWN_WIDTHS:
                    last = weigher.learn(widths, watch, None if last is None else last.weights, tol=1e-5)
                    if best is None or last.valid > best.valid:
                        best, chosen, judge = last, more, weigher
        assert best is not None
        return {**judged(task, judge.learn(best.widths, watch)), **chosen}

    task.cell("network", compute)


CELLS = {"generators": generators, "rivals": rivals, "network": network}


# Report


def read(cache: Path, name: str, cell: str) -> dict[str, Any] | None:
    path = cache / f"{name}-{cell}.json"
    return json.loads(path.read_text()) if path.exists() else None


def shown(found: dict[str, Any] | None, what: str, digits: int = 3) -> str:
    if found is None:
        return ""
    return found["left_out"] if "left_out" in found else f"{found[what]:.{digits}f}"


def sets_with(cache: Path, cells: Sequence[str]) -> list[str]:
    return [name for name in SETS if any(read(cache, name, cell) for cell in cells)]


def table(cache: Path, cells: Sequence[str], what: str, digits: int = 3) -> str:
    names = sets_with(cache, cells)
    rows = [[name, *(shown(read(cache, name, cell), what, digits) for cell in cells)] for name in names]
    return markdown(["set", *cells], rows)


def chosen_generator(cache: Path, name: str) -> dict[str, Any] | None:
    """The generator that is best on the validation rows, as Table VI takes it."""
    found = [(how, read(cache, name, how)) for how in GENERATORS]
    done = [(how, each) for how, each in found if each and "pll" in each]
    if not done:
        return None
    how, best = max(done, key=lambda pair: pair[1]["valid_pll"])
    return {**best, "features": how}


def report(cache: Path) -> str:
    parts = ["## Tables IV and V: the five generators"]
    for title, what, digits in (
        ("CMLL, test (first rows)", "cmll", 3), ("PLL, test", "pll", 3), ("number of features", "n_features", 0),
        ("conditions per feature", "length", 2), ("seconds for the structure", "structure_seconds", 2),
        ("seconds for the weights", "weight_seconds", 1),
    ):  # fmt: skip
        parts.append(f"{title}\n\n{table(cache, GENERATORS, what, digits)}")
    parts.append("## Table VI: DTSL (the generator best on validation rows) and its rivals")
    parts += [rivals_table(cache, *each) for each in (
        ("CMLL, test (first rows)", "cmll", 3), ("PLL, test", "pll", 3),
        ("seconds for the structure", "structure_seconds", 2), ("seconds for the weights", "weight_seconds", 1),
    )]  # fmt: skip
    parts.append(tests_of_significance(cache))
    parts.append("## One network of DTSL and L1 features: PLL, test\n\n" + network_table(cache))
    return "\n\n".join(parts)


def rivals_table(cache: Path, title: str, what: str, digits: int) -> str:
    rows = []
    for name in sets_with(cache, (*GENERATORS, *RIVALS)):
        own = chosen_generator(cache, name)
        dtsl = "" if own is None else f"{own[what]:.{digits}f} ({own['features']})"
        rows.append([name, dtsl, *(shown(read(cache, name, rival), what, digits) for rival in RIVALS)])
    return f"{title}\n\n" + markdown(["set", "DTSL", "L1", "BLM", "Della Pietra", "independent"], rows)


def pairs(cache: Path, rival: str, what: str) -> list[tuple[float, float]]:
    """(DTSL, rival) on every set where both are there."""
    both = [(chosen_generator(cache, name), read(cache, name, rival)) for name in SETS]
    return [(own[what], other[what]) for own, other in both if own and other and what in other]


def tests_of_significance(cache: Path) -> str:
    from scipy.stats import wilcoxon

    rows = []
    for rival in RIVALS:
        cells = [rival]
        for what in ("cmll", "pll", "structure_seconds"):
            found = pairs(cache, rival, what)
            better = sum(a < b if what == "structure_seconds" else a > b for a, b in found)
            cells.append(f"{better} of {len(found)}")
            if len(found) >= 5:
                own, other = np.array(found).T
                cells[-1] += f" (p = {wilcoxon(own, other).pvalue:.2g})"
        rows.append(cells)
    headings = ["DTSL beside", "better CMLL", "better PLL", "faster structure"]
    return "Sets on which DTSL is better, and Wilcoxon's signed-rank test over sets\n\n" + markdown(headings, rows)


def network_table(cache: Path) -> str:
    rows = []
    for name in SETS:
        found, kappa, l1 = read(cache, name, "network"), read(cache, name, "kappa"), read(cache, name, "l1")
        if found is None:
            continue
        known = ["" if value is None else f"{value:.3f}" for value in KNOWN[name]]
        how = "" if "left_out" in found else f"{found['features']}, kappa {found['kappa']:g}, widths {found['widths']}"
        trees = "" if kappa is None else f"{kappa['tree_dn_pll']:.3f}"
        rows.append([name, shown(found, "pll"), trees, shown(l1, "pll"), *known, how])
    headings = ["set", "one network", "our tree DN", "our L1 network", "Libra DN", "Libra DTSL", "L1 DN",
                "trees (sketch)", "LightGBM DN", "chosen on validation rows"]  # fmt: skip
    return markdown(headings, rows)


def draw(cache: Path, path: Path) -> None:
    """Figure 2: DTSL against each rival, one point per set, -CMLL on both axes; below the line DTSL is better."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(RIVALS), figsize=(4 * len(RIVALS), 4))
    for ax, rival in zip(axes, RIVALS, strict=True):
        found = -np.array(pairs(cache, rival, "cmll")).reshape(-1, 2)
        ax.loglog(found[:, 1], found[:, 0], "o")
        ends = [1, 300]
        ax.plot(ends, ends, color="grey", linestyle=":")
        ax.set(xlabel=f"-CMLL, {rival}", ylabel="-CMLL, DTSL", title=f"DTSL and {rival}")
    fig.tight_layout()
    fig.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="folder for the cells; made if it is not there")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help=" ".join(SETS))
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS), metavar="CELL", help=" ".join(CELLS))
    parser.add_argument("--cmll-rows", type=int, default=200, help="test rows on which CMLL is computed")
    parser.add_argument("--minutes", type=float, default=20.0, help="of CPU that a cell may take")
    parser.add_argument("--only-report", action="store_true", help="learn nothing")
    parser.add_argument("--keep", action="store_true", help="keep the report in RESULTS.md and the figure beside it")
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in () if given.only_report else given.sets:
        for cell in given.cells:
            CELLS[cell](Task(name, given.cache, given.minutes, given.cmll_rows))
    if given.keep:
        draw(given.cache, Path(__file__).with_name("dtsl_scatter.png"))
        keep("dtsl", report(given.cache))
    else:
        draw(given.cache, given.cache / "dtsl_scatter.png")
        print(report(given.cache))


if __name__ == "__main__":
    main()
