"""How the CPDs of a dependency network are learned, one class per kind.

Each kind answers three questions: does it choose anything by held-out rows, what does it learn from some rows with
others held out, and, once that is settled, what does it learn from all rows by the same choices.

The strength of an arc is told by the gains of the score as trees and tables grew. Regressions and boosted trees have no
such moment, and where kinds are mixed there must be one measure for all: there it is the log-likelihood that the rows
lose where the parent's value is withheld (`infer.withheld`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from quiltwork.backends.threads import Threads
from quiltwork.cpds.boosted import BoostedCPD, mean_of
from quiltwork.cpds.table import TableCPD
from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.dataset import NO_CODE, Dataset
from quiltwork.infer.dependency import observed_log_probs
from quiltwork.learn.base import Progress
from quiltwork.learn.local_structure import warn_of_light_rows
from quiltwork.learn.prior import tree_prior
from quiltwork.rng import seed_of
from quiltwork.search.boost import fit_boosted
from quiltwork.search.descent import LogisticFits, fit_logistic
from quiltwork.search.grow import GrowthRules, check_arcs_fit, grow_trees, strengths
from quiltwork.search.judges import complete_rows
from quiltwork.search.merge import grow_apart
from quiltwork.search.parents import choose_parents
from quiltwork.search.prune import Belief, averaged, choose, choose_kappa, limited, pruned
from quiltwork.stats.families import Arrays, count_family
from quiltwork.stats.leaves import leaf_arrays
from quiltwork.stats.relatives import chi_square_relatives

VARIABLES_AT_A_TIME = 64
TABLE_CANDIDATES = 8
MOST_STATES = 64  # of a target that is regressed


@dataclass(frozen=True)
class Task:
    """The learner's parameters, and where the work runs."""

    params: Mapping[str, Any]
    threads: Threads
    progress: Progress

    def with_(self, **params: Any) -> Task:
        """The same with other parameters."""
        return replace(self, params={**self.params, **params})


@dataclass(frozen=True)
class Learned:
    """CPDs of all variables, the strengths of their arcs, and what was chosen on the way.

    strengths       by child and then by parent, where growing the CPDs told them; else None
    choices         what `again` needs to learn the same from all rows
    chosen          the same in plain values, for the provenance
    held_out        (n_vars,) log-likelihood of the held-out rows by variable, or None
    held_out_total  what these rows weigh together
    held_out_score  the sum over the variables, as a mean over the rows
    """

    cpds: tuple[Any, ...]
    strengths: np.ndarray | None = None
    choices: Any = None
    chosen: Mapping[str, Any] = field(default_factory=dict)
    held_out: np.ndarray | None = None
    held_out_total: float = 0.0

    @property
    def held_out_score(self) -> float | None:
        return None if self.held_out is None else float(self.held_out.sum() / self.held_out_total)


class Kind:
    """A kind of CPD; `instead` is the way out where rows are too few to hold some out."""

    name: ClassVar[str]
    instead: ClassVar[str] = "choose cpd='tree'"

    def chooses(self, task: Task) -> bool:
        return True

    def learn(self, task: Task, train: Dataset, held_out: Dataset | None) -> Learned:
        raise NotImplementedError

    def again(self, task: Task, data: Dataset, tried: Learned) -> Learned:
        raise NotImplementedError


def candidates(task: Task, data: Dataset, k: int) -> np.ndarray:
    """(n_vars, k) the chi-square neighbours of every variable, -1 where there are fewer."""
    return chi_square_relatives(Arrays.of(data), min(k, data.n_vars - 1), task.threads.run)


def allowed_parents(task: Task, data: Dataset) -> np.ndarray | None:
    """(n_vars, n_vars) bool [child, parent], or None where all are allowed."""
    if task.params["k"] is None or task.params["k"] >= data.n_vars - 1:
        return None
    check_arcs_fit(data.n_vars)
    out = np.zeros((data.n_vars, data.n_vars), np.bool_)
    for v, own in enumerate(candidates(task, data, task.params["k"])):
        out[v, own[own >= 0]] = True
    return out


def held_out_likelihood(cpds: Sequence[Any], held_out: Dataset) -> np.ndarray:
    """(n_vars,) log-likelihood of the held-out rows under each CPD; missing values count for nothing."""
    codes, weights = held_out.states(), _weights_of(held_out)
    return np.array([_log_likelihoods(cpd, codes, held_out.n_states) @ weights for cpd in cpds])


def _log_likelihoods(cpd: Any, codes: np.ndarray, n_states: np.ndarray) -> np.ndarray:
    """(rows,) log-likelihood of its variable in each row, 0 where it is missing."""
    out = np.zeros(len(codes))
    known = np.flatnonzero(codes[:, cpd.child] != NO_CODE)
    out[known] = observed_log_probs(cpd, codes[known], n_states)
    return out


def judged(learned: Learned, held_out: Dataset | None) -> Learned:
    """With the likelihood of the held-out rows, if there are any."""
    if held_out is None:
        return learned
    return replace(learned, held_out=held_out_likelihood(learned.cpds, held_out), held_out_total=held_out.total)


def as_judged(learned: Learned, tried: Learned) -> Learned:
    """With the likelihood of the rows that were held out when it was tried."""
    return replace(learned, held_out=tried.held_out, held_out_total=tried.held_out_total)


def arc_strengths(by_child: Sequence[Mapping[int, float]]) -> np.ndarray:
    """Strengths of all arcs, by child and then by parent."""
    return np.array([own[p] for own in by_child for p in sorted(own)], np.float64)


def _weights_of(data: Dataset) -> np.ndarray:
    return np.ones(data.n_samples) if data.weights is None else data.weights


class Tables(Kind):
    """A table over the best of a variable's chi-square neighbours: parents enter one at a time while MDL grows."""

    name = "table"

    def chooses(self, task: Task) -> bool:
        return False

    def again(self, task: Task, data: Dataset, tried: Learned) -> Learned:
        return as_judged(self.learn(task, data, None), tried)

    def learn(self, task: Task, train: Dataset, held_out: Dataset | None) -> Learned:
        arrays, spread = Arrays.of(train), float(train.n_states.max())
        chosen, gains = self._choose(
            task, arrays, spread, candidates(task, train, task.params["k"] or TABLE_CANDIDATES)
        )
        parents = [tuple(sorted(p for p in own if p >= 0)) for own in chosen.tolist()]
        cpds = []
        for v, own in enumerate(parents):
            counts = count_family(arrays, v, own)
            weights = counts.sum(axis=1) + spread / len(counts)
            cpds.append(replace(TableCPD.from_counts(v, own, counts, spread), weights=weights))
        entered = [dict(zip(own, gain, strict=True)) for own, gain in zip(chosen.tolist(), gains.tolist(), strict=True)]
        by_child = [{p: gain for p, gain in own.items() if p >= 0} for own in entered]
        return Learned(tuple(cpds), arc_strengths(by_child))

    def _choose(
        self, task: Task, arrays: Arrays, spread: float, candidates: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The parents of every variable, in the order in which they entered, and what each gained."""
        n_vars = len(candidates)
        chosen, gains = np.full(candidates.shape, -1, np.int64), np.zeros(candidates.shape)
        chunks = np.array_split(np.arange(n_vars), -(-n_vars // VARIABLES_AT_A_TIME))
        done = [0]

        def one(i: int) -> None:
            choose_parents(*arrays.plain(), spread, chunks[i], candidates, chosen, gains)
            done[0] += len(chunks[i])
            task.progress("choosing parents", done[0], n_vars)

        task.threads.run(one, len(chunks))
        return chosen, gains


class Trees(Kind):
    """A decision tree, grown by the Bayesian score; with kappa "auto" the believed prunings are chosen."""

    name = "tree"
    instead = "set kappa to a number"

    def chooses(self, task: Task) -> bool:
        return task.params["kappa"] == "auto"

    def learn(self, task: Task, train: Dataset, held_out: Dataset | None) -> Learned:
        kappa = task.params["kappa"]
        if kappa != "auto":
            return self._finished(task, self._grow(task, train, float(kappa)), Belief(float(kappa)))
        assert held_out is not None
        trees, judges = self._grow(task, train, 1.0), complete_rows(held_out)
        rows = judges.states(), judges.weights
        if self._averages(task):
            return judged(self._finished(task, trees, choose(trees, *rows, run=task.threads.run)), held_out)
        belief = Belief(choose_kappa(trees, *rows, run=task.threads.run))
        return judged(self._finished(task, self._grow(task, train, belief.kappa), belief), held_out)

    def again(self, task: Task, data: Dataset, tried: Learned) -> Learned:
        trees = self._grow(task, data, 1.0 if self._averages(task) else tried.choices.kappa)
        return as_judged(self._finished(task, trees, tried.choices), tried)

    def _averages(self, task: Task) -> bool:
        """The weights of prunings are those of the uniform prior."""
        return task.params["smoothing"] == "average" and task.params["prior"] == "uniform"

    def of_some(self, task: Task, data: Dataset, targets: list[int]) -> tuple[TreeCPD, ...]:
        """Trees of some variables, where others have CPDs of another kind; nothing is chosen by held-out rows."""
        kappa = GrowthRules().kappa if task.params["kappa"] == "auto" else float(task.params["kappa"])
        return self._finished(task, self._grow(task, data, kappa, targets), Belief(kappa)).cpds

    def _grow(self, task: Task, data: Dataset, kappa: float, targets: list[int] | None = None) -> list[TreeCPD]:
        p, targets = task.params, list(range(data.n_vars)) if targets is None else targets
        warn_of_light_rows(data, int(p["min_leaf"]))
        arrays, allowed = leaf_arrays(data), allowed_parents(task, data)
        rules = GrowthRules(kappa, p["splits"] != "complete", p["splits"] != "binary", int(p["min_leaf"]))
        if p["prior"] == "uniform":
            trees = grow_trees(arrays, targets, rules, allowed, task.threads.run, task.progress)
        else:
            prior = tree_prior(p["prior"], p["prior_network"], data.variables, arrays, p["equivalent_sample_size"])
            trees = grow_apart(arrays, targets, rules, allowed, prior, task.progress)
        return [limited(tree, p["max_leaves"]) for tree in trees]

    def _finished(self, task: Task, trees: list[TreeCPD], belief: Belief) -> Learned:
        trees = [pruned(tree, belief.least_gain) for tree in trees]
        by_tree = [strengths(tree) for tree in trees]
        if self._averages(task):
            trees = [averaged(tree, belief) for tree in trees]
        chosen = {"kappa": belief.kappa, "shrinkage": belief.shrinkage, "least_gain": belief.least_gain}
        return Learned(tuple(trees), arc_strengths(by_tree), belief, chosen)


class Logistic(Kind):
    """A logistic regression on the states of all other variables, weights penalised."""

    name = "logistic"
    instead = "set strength to a number"

    def chooses(self, task: Task) -> bool:
        return task.params["strength"] == "auto"

    def learn(self, task: Task, train: Dataset, held_out: Dataset | None) -> Learned:
        return self._learned(task, train, held_out, task.params["strength"])

    def again(self, task: Task, data: Dataset, tried: Learned) -> Learned:
        """What chance alone does to a slope grows as the root of the number of rows, and so must the penalty."""
        strengths = tried.choices * np.sqrt(data.total / (data.total - tried.held_out_total))
        return as_judged(self._learned(task, data, None, strengths), tried)

    def _learned(self, task: Task, train: Dataset, held_out: Dataset | None, strengths: Any) -> Learned:
        fits = regressions(task, train, held_out, task.params["penalty"], strengths)
        cpds = with_trees_for_the_others(task, train, fits.cpds)
        chosen = {"strengths": fits.strengths.tolist()}
        return judged(Learned(cpds, choices=fits.strengths, chosen=chosen), held_out)


class Boosted(Kind):
    """Boosted trees twice, from nothing and from a linear predictor, and the mean of both.

    Held-out rows say when to stop, so these trees are learned from the other rows alone.
    """

    name = "boosted"

    def learn(self, task: Task, train: Dataset, held_out: Dataset | None) -> Learned:
        return self.led_by(regressions(task, train, held_out, "l2", "auto").cpds, task, train, held_out)

    def led_by(self, linear: Sequence[Any], task: Task, train: Dataset, held_out: Dataset | None) -> Learned:
        """The same, where the regressions of all narrow targets are at hand."""
        assert held_out is not None
        narrow, seed = narrow_targets(train), seed_of(task.params["random_state"])
        more: dict[str, Any] = {"allowed": allowed_parents(task, train), "seed": seed}
        more |= {"run": task.threads.run, "progress": task.progress}
        alone, led = (fit_boosted(train, held_out, narrow, start=start, **more).cpds for start in (None, linear))
        boosted = tuple(mean_of(a, b) for a, b in zip(alone, led, strict=True))
        cpds = with_trees_for_the_others(task, train, boosted)
        chosen = {"trees": [cpd.n_trees if isinstance(cpd, BoostedCPD) else 1 for cpd in cpds]}
        return judged(Learned(cpds, chosen=chosen), held_out)

    def again(self, task: Task, data: Dataset, tried: Learned) -> Learned:
        return tried


def regressions(task: Task, train: Dataset, held_out: Dataset | None, penalty: str, strengths: Any) -> LogisticFits:
    """Of the narrow targets, on all others."""
    return fit_logistic(
        train, held_out, narrow_targets(train), penalty=penalty, strengths=strengths,
        allowed=allowed_parents(task, train), run=task.threads.run, progress=task.progress,
    )  # fmt: skip


def narrow_targets(data: Dataset) -> list[int]:
    """The variables of few enough states to be regressed: each state has weights and a sum of trees of its own."""
    return np.flatnonzero(data.n_states <= MOST_STATES).tolist()


def with_trees_for_the_others(task: Task, data: Dataset, cpds: Sequence[Any]) -> tuple[Any, ...]:
    """The CPDs of the narrow targets, and for those of too many states to be regressed trees as the task wants them."""
    by_child = {cpd.child: cpd for cpd in cpds}
    wide = [v for v in range(data.n_vars) if v not in by_child]
    if wide:
        by_child |= {tree.child: tree for tree in Trees().of_some(task, data, wide)}
    return tuple(by_child[v] for v in range(data.n_vars))


class Auto(Kind):
    """For every variable the kind that predicts its held-out rows best, regressions with either penalty.

    One kind predicts best all in all; a variable gets another where that is better by more than a standard error. Of
    five kinds that are as good as each other one is always ahead by chance, and by more than it loses elsewhere.
    """

    name = "auto"

    def learn(self, task: Task, train: Dataset, held_out: Dataset | None) -> Learned:
        assert held_out is not None
        *simple, (boosted, own_task) = self._members(task)
        tried = [judged(kind.learn(own, train, held_out), held_out) for kind, own in simple]
        ridge = [tried[-1].cpds[v] for v in narrow_targets(train)]
        tried.append(boosted.led_by(ridge, own_task, train, held_out))
        return self._mixed(tried, self._picked(tried, held_out), tried)

    def _picked(self, tried: list[Learned], held_out: Dataset) -> np.ndarray:
        """(n_vars,) which of the kinds that were tried."""
        likelihoods = np.array([one.held_out for one in tried], np.float64)
        leader, best = int(likelihoods.sum(axis=1).argmax()), likelihoods.argmax(axis=0)
        codes, weights = held_out.states(), _weights_of(held_out)
        picked = np.full(held_out.n_vars, leader)
        for v in np.flatnonzero(best != leader).tolist():
            own, others = (_log_likelihoods(tried[k].cpds[v], codes, held_out.n_states) for k in (best[v], leader))
            ahead = own - others
            mean = np.average(ahead, weights=weights)
            if mean * held_out.total > np.sqrt((weights**2 * (ahead - mean) ** 2).sum()):
                picked[v] = best[v]
        return picked

    def again(self, task: Task, data: Dataset, tried: Learned) -> Learned:
        before, picked = tried.choices
        again = [
            kind.again(own, data, one) if (picked == k).any() else one
            for k, ((kind, own), one) in enumerate(zip(self._members(task), before, strict=True))
        ]
        return self._mixed(again, picked, before)

    def _members(self, task: Task) -> list[tuple[Any, Task]]:
        """Boosted trees come last, and before them the regressions that lead them."""
        return [
            (Trees(), task.with_(kappa="auto")),
            (Tables(), task),
            (Logistic(), task.with_(penalty="l1", strength="auto")),
            (Logistic(), task.with_(penalty="l2", strength="auto")),
            (Boosted(), task),
        ]

    def _mixed(self, learned: list[Learned], picked: np.ndarray, tried: list[Learned]) -> Learned:
        cpds = tuple(learned[k].cpds[v] for v, k in enumerate(picked))
        held_out = np.choose(picked, [one.held_out for one in tried])
        chosen = {"kinds": [cpd.kind for cpd in cpds]}
        return Learned(cpds, None, (tried, picked), chosen, held_out, tried[0].held_out_total)


KINDS: dict[str, Kind] = {kind.name: kind for kind in (Trees(), Tables(), Logistic(), Boosted(), Auto())}
