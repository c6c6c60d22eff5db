"""Tables and figures of Lowd, Davis (2010), Learning Markov network structure with decision trees.

    python papers/dtsl.py --cells /tmp/cells                      everything, 13 sets, smallest first
    python papers/dtsl.py --cells /tmp/cells --sets nltcs plants --parts generators
    python papers/dtsl.py --cells papers/cells --only-report      what was measured before, as tables

generators  Tables IV and V: CMLL and PLL of the five feature generators, numbers and lengths of their features
rivals      Table VI and Figure 2: DTSL beside L1, BLM (bottom-up), Della Pietra (top-down) and independent variables
network     one network of DTSL and L1 features, beside dependency networks: trees, L1 regressions, boosted trees
exact       likelihood and CMLL of nltcs, all of whose 65,536 joint states can be enumerated

Everything is learned from the training rows and chosen on the validation rows. kappa is that of the trees that make
the validation rows likeliest (1e-4, ..., 1); prior widths are those of the paper (100, 10, 1, 0.1), L1 penalties too
(1, ..., 1000) with both rules. Where the paper chooses by CMLL, the choice here is by PLL, which needs no sampling; the
penalty and rule of L1 are chosen at a width of 1, from the strongest penalty down to the first that is worse, then the
width. Bottom-up learning has a kappa of 1e-2, 1e-4 or 1e-8, up to the first that is worse; top-down learning ends when
the validation rows are no likelier for a tenth more features.

CMLL: four groups of variables (seed 0), 10,000 samples after 1,000 where a group cannot be enumerated, on the first
rows of the test set (--cmll-rows; on all of nltcs). Times are CPU seconds of one thread. A cell that takes more than
--minutes of CPU is left out and says so. What the folder --cells holds is not measured again; dependency networks are
those that `debd.py` keeps in the same folder. `dtsl_report.py` tells what the cells say together.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from common import Cells, data_folder, keep
from dtsl_report import GENERATORS, SETS, draw, report

import quiltwork as qw
from quiltwork.backends.threads import Threads
from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import Encoder, fit_encode
from quiltwork.infer.groups import conditional_marginal_log_likelihood
from quiltwork.learn.markov import STRUCTURES
from quiltwork.search.grow import GrowthRules, grow_trees
from quiltwork.search.top_down import induce_features
from quiltwork.search.weights import Penalty, maximise
from quiltwork.stats.conjunctions import Conjunctions
from quiltwork.stats.exact_likelihood import ExactLikelihood
from quiltwork.stats.families import state_counts
from quiltwork.stats.leaves import leaf_arrays
from quiltwork.stats.pseudo_likelihood import PseudoLikelihood, rows_in_order

KAPPAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
WIDTHS = (100.0, 10.0, 1.0, 0.1)
PENALTIES = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
NEIGHBOURS = 5  # of a row, bottom-up
LOOSEST = 1e-2  # kappa, top-down
ROW_KAPPAS = (1e-2, 1e-4, 1e-8)  # bottom-up; a stricter one generalises further, and takes longer

QUARTERS = 4  # contiguous groups of the exact CMLL


@dataclass(frozen=True)
class Grid:
    """What is tried for the network of DTSL and L1 features.

    penalties     of its L1 regressions
    larger        how many times larger a kappa than that of single trees is tried too
    first_widths  of features of one, two, and more conditions, by which the structure is chosen; narrow ones first
    widths        by which the network is
    """

    penalties: tuple[float, ...]
    larger: float
    first_widths: tuple[tuple[float, ...], ...]
    widths: tuple[tuple[float, ...], ...]


FEW = Grid(  # up to 100 variables
    (1.0,), 10.0, ((10.0, 0.3, 0.03),),
    ((10.0, 0.1, 0.01), (10.0, 0.1, 0.03), (10.0, 0.3, 0.03), (10.0, 0.3, 0.1), (10.0, 1.0, 0.03), (10.0, 1.0, 0.1)),
)  # fmt: skip
MANY = Grid(  # the features of larger trees take too long
    (10.0, 1.0), 1.0, ((10.0, 0.1, 0.03), (10.0, 0.3, 0.1)),
    ((10.0, 0.06, 0.02), (10.0, 0.1, 0.03), (10.0, 0.2, 0.03), (10.0, 0.2, 0.1), (10.0, 0.3, 0.1), (10.0, 1.0, 0.1)),
)  # fmt: skip


class TooLong(Exception):
    """More CPU time than a cell may take."""


@dataclass(frozen=True)
class Task:
    """One set: its rows, and what may be spent on a cell."""

    name: str
    cells: Cells
    minutes: float
    cmll_rows: int

    @cached_property
    def rows(self) -> tuple[Encoder, Dataset, Dataset, Dataset]:
        packed = np.load(data_folder() / "debd" / f"{self.name}.npz")
        parts = [np.unpackbits(packed[p], axis=1)[:, : int(packed["n_vars"])] for p in ("train", "valid", "test")]
        encoder, train = fit_encode(parts[0])
        return encoder, train, encoder.encode(parts[1]), encoder.encode(parts[2])

    def cell(self, name: str, compute: Callable[[Callable[..., None]], dict[str, Any]]) -> dict[str, Any]:
        """What was found under this name before, or what `compute(watch)` finds; watch raises when time is up."""
        return self.cells.fill(self.name, name, lambda: self._in_time(compute))

    def _in_time(self, compute: Callable[[Callable[..., None]], dict[str, Any]]) -> dict[str, Any]:
        began = time.process_time()

        def watch(*_: object) -> None:
            if time.process_time() - began > 60 * self.minutes:
                raise TooLong

        try:
            found = compute(watch)
        except TooLong:
            found = {"left_out": f"more than {self.minutes:g} min"}
        return {**found, "cpu_seconds": time.process_time() - began}


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


def pseudo_likelihood(rows: Dataset, features: Conjunctions) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    swept = PseudoLikelihood.of(rows, features, Threads(1).run)
    return lambda weights: swept(weights, Threads(1).run)


LIKELIHOODS = {"pseudo": pseudo_likelihood, "exact": ExactLikelihood.of}


class Weigher:
    """Learns the weights of one structure under several priors; the rows are swept once."""

    def __init__(self, task: Task, structure: Structure, objective: str = "pseudo"):
        self.task, self.structure = task, structure
        began = time.process_time()
        self.train = LIKELIHOODS[objective](task.rows[1], structure.features)
        self.sweep_seconds = time.process_time() - began
        self.valid = LIKELIHOODS[objective](task.rows[2], structure.features)

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
    """The weights under the best of the paper's four widths."""
    return best_of(Weigher(task, structure), [(width,) for width in reversed(WIDTHS)], watch)


def best_of(
    weigher: Weigher, tried: Sequence[tuple[float, ...]], watch: Callable[..., None], tol: float = 1e-6
) -> Weighed:
    """The weights that make the validation rows likeliest, under priors tried one after the other.

    Each starts from the weights under the one before. Under a wide prior they would go on creeping outwards for
    hundreds of steps, so what was judged is kept and not learned again.
    """
    found: list[Weighed] = []
    for widths in tried:
        found.append(weigher.learn(widths, watch, found[-1].weights if found else None, tol))
    return max(found, key=lambda each: each.valid)


def judged(task: Task, found: Weighed) -> dict[str, Any]:
    """What the test rows say, and what it took."""
    features, test = found.structure.features, task.rows[3]
    few = test if task.name == "nltcs" else test.rows(slice(0, task.cmll_rows))
    asked = conditional_marginal_log_likelihood(network_of(task, found), few, 4)
    return {
        "widths": found.widths, "valid_pll": found.valid,
        "pll": pseudo_likelihood(test, features)(found.weights)[0] / test.total,
        "cmll": asked.mean, "cmll_error": asked.error, "cmll_rows": few.n_samples,
        "cmll_exact": asked.exact, "cmll_unsettled": asked.n_unsettled, "n_features": len(features),
        "length": float(features.lengths.mean()), "structure_seconds": found.structure.seconds,
        "weight_seconds": found.seconds, "converged": found.converged,
    }  # fmt: skip


def network_of(task: Task, found: Weighed) -> qw.MarkovNet:
    features = found.structure.features
    arrays = features.first_condition, features.columns, features.states
    return qw.MarkovNet(task.rows[0], *arrays, found.weights, state_counts(task.rows[1]))


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
        best: tuple[Weighed, float, str] | None = None
        for penalty in reversed(PENALTIES):
            weighed = []
            for rule in ("or", "and"):
                found = find_structure(task, watch, structure="l1", edge_penalty=penalty, rule=rule)
                weighed.append((Weigher(task, found).learn((1.0,), watch, tol=1e-5), penalty, rule))
            if best and max(each[0].valid for each in weighed) < best[0].valid:
                break  # penalties that are too weak only add features
            best = max([*weighed, *([best] if best else [])], key=lambda each: each[0].valid)
        assert best is not None
        found, penalty, rule = best
        return {**judged(task, best_width(task, found.structure, watch)), "penalty": penalty, "rule": rule}

    def independent(watch: Callable[..., None]) -> dict[str, Any]:
        return judged(task, best_width(task, find_structure(task, watch, structure="independent"), watch))

    def top_down(watch: Callable[..., None]) -> dict[str, Any]:
        return judged(task, best_width(task, induced(task, watch), watch))

    def bottom_up(watch: Callable[..., None]) -> dict[str, Any]:
        best: tuple[Weighed, float] | None = None
        told: dict[str, Any] = {}
        for kappa in ROW_KAPPAS:
            try:
                structure = find_structure(task, watch, structure="bottom-up", k=NEIGHBOURS, kappa=kappa)
                found = best_width(task, structure, watch)
            except TooLong:
                if best is None:
                    raise
                told["cut"] = f"kappa = {kappa:g} takes more than {task.minutes:g} min"
                break
            if best and found.valid < best[0].valid:
                break
            best = found, kappa
        assert best is not None
        return {**judged(task, best[0]), "kappa": best[1], **told}

    for name, compute in (("l1", l1), ("independent", independent), ("top-down", top_down), ("bottom-up", bottom_up)):
        task.cell(name, compute)


class NoBetter(Exception):
    """The validation rows are no likelier with more features."""


def induced(task: Task, watch: Callable[..., None]) -> Structure:
    """Top-down, until a tenth more features no longer make the validation rows likelier.

    The features that gain most come first, so that this chooses among all kappas from the strictest on in one run.
    """
    best: list[Weighed] = []

    def refit(features: Conjunctions, weights: np.ndarray) -> np.ndarray:
        structure = Structure(features, weights, time.process_time() - began)
        found = Weigher(task, structure).learn((1.0,), watch, tol=1e-5)
        if best and found.valid < best[-1].valid:
            raise NoBetter
        best.append(found)
        return found.weights

    began = time.process_time()
    try:
        features, start = induce_features(rows_in_order(task.rows[1]), LOOSEST, 1.0, refit, watch)
    except NoBetter:
        features, start = best[-1].structure.features, best[-1].weights
    return Structure(features, start, time.process_time() - began)


def network(task: Task) -> None:
    """DTSL and L1 features together."""

    def compute(watch: Callable[..., None]) -> dict[str, Any]:
        best, chosen = best_network(task, watch, "dtsl+l1", "pseudo")
        return {**judged(task, best), **chosen}

    task.cell("network", compute)


def best_network(
    task: Task, watch: Callable[..., None], structure: str, objective: str
) -> tuple[Weighed, dict[str, Any]]:
    """By what the weights maximise, on the validation rows: the best structure, then the best widths."""
    own, grid = kappa_of(task), FEW if task.rows[1].n_vars <= 100 else MANY
    best: tuple[Weighed, Weigher, dict[str, Any]] | None = None
    for penalty, kappa in product(grid.penalties, sorted({own, min(1.0, grid.larger * own)})):
        for how in ("nonzero", "prune"):
            chosen = {"features": how, "kappa": kappa, "edge_penalty": penalty}
            weigher = Weigher(task, find_structure(task, watch, structure=structure, **chosen), objective)
            found = best_of(weigher, grid.first_widths, watch, tol=1e-5)
            if best is None or found.valid > best[0].valid:
                best = found, weigher, chosen
    assert best is not None
    _, weigher, chosen = best
    return best_of(weigher, grid.widths, watch), chosen


def exact(task: Task) -> None:
    """Networks whose likelihood and CMLL on contiguous quarters are sums over all joint states."""
    if task.name != "nltcs":
        return
    n_vars, test = task.rows[1].n_vars, task.rows[3]
    names = [variable.name for variable in test.variables]
    quarters = [names[k : k + n_vars // QUARTERS] for k in range(0, n_vars, n_vars // QUARTERS)]
    for structure in ("dtsl", "dtsl+l1"):
        for objective in LIKELIHOODS:

            def compute(
                watch: Callable[..., None], structure: str = structure, objective: str = objective
            ) -> dict[str, Any]:
                found, chosen = best_network(task, watch, structure, objective)
                features, model = found.structure.features, network_of(task, found)
                return {
                    "ll": ExactLikelihood.of(test, features)(found.weights)[0] / test.total,
                    "quarters": conditional_marginal_log_likelihood(model, test, quarters, "exact").mean,
                    "pll": pseudo_likelihood(test, features)(found.weights)[0] / test.total,
                    "n_features": len(features), "widths": found.widths, "converged": found.converged, **chosen,
                }  # fmt: skip

            task.cell(f"exact-{structure}-{objective}", compute)


PARTS = {"generators": generators, "rivals": rivals, "network": network, "exact": exact}


def compile_kernels() -> None:
    """Learn something small in every way, so that no cell is charged for it."""
    rows = np.random.default_rng(0).integers(0, 2, (60, 4))
    for structure in STRUCTURES:
        qw.MarkovNetwork(structure=structure, n_jobs=1).fit(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--cells", type=Path, required=True, help="folder for what is measured; made if it is not there"
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help=" ".join(SETS))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=" ".join(PARTS))
    parser.add_argument("--cmll-rows", type=int, default=200, help="test rows on which CMLL is computed")
    parser.add_argument("--minutes", type=float, default=20.0, help="of CPU that a cell may take")
    parser.add_argument("--only-report", action="store_true", help="learn nothing")
    parser.add_argument("--keep", action="store_true", help="keep the report in RESULTS.md and the figure beside it")
    given = parser.parse_args()
    cells = Cells(given.cells)
    warnings.simplefilter("ignore")
    if not given.only_report:
        compile_kernels()
    for name in () if given.only_report else given.sets:
        for part in given.parts:
            PARTS[part](Task(name, cells, given.minutes, given.cmll_rows))
    told = report(cells)
    if given.keep:
        draw(cells, Path(__file__).with_name("dtsl_scatter.png"))
        keep("dtsl", told)
    else:
        draw(cells, given.cells / "dtsl_scatter.png")
        print(told)


if __name__ == "__main__":
    main()
