"""How the CPDs of a dependency network are learned, one class per kind.

Each kind answers three questions: does it choose anything by held-out rows, what does it learn from some rows with
others held out, and, once that is settled, what does it learn from all rows by the same choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from quiltwork.backends.threads import Threads
from quiltwork.cpds.boosted import BoostedCPD, mean_of
from quiltwork.cpds.logistic import LogisticCPD
from quiltwork.cpds.table import TableCPD
from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.dataset import NO_CODE, Dataset
from quiltwork.learn.base import Progress
from quiltwork.learn.held_out import complete_rows
from quiltwork.rng import seed_of
from quiltwork.search.boost import fit_boosted
from quiltwork.search.descent import fit_logistic
from quiltwork.search.grow import GrowthRules, grow_trees, strengths
from quiltwork.search.merge import even_prior, grow_apart
from quiltwork.search.parents import choose_parents
from quiltwork.search.prune import Belief, averaged, choose, choose_kappa, limited
from quiltwork.stats.families import Arrays, count_family
from quiltwork.stats.leaves import leaf_arrays
from quiltwork.stats.relatives import chi_square_relatives

VARIABLES_AT_A_TIME = 64
TABLE_CANDIDATES = 8


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

    choices         what `again` needs to learn the same from all rows
    chosen          the same in plain values, for the provenance
    held_out        (n_vars,) log-likelihood of the held-out rows by variable, or None
    held_out_score  its sum, as a mean over the rows
    """

    cpds: tuple[Any, ...]
    strengths: np.ndarray
    choices: Any = None
    chosen: Mapping[str, Any] = field(default_factory=dict)
    held_out: np.ndarray | None = None
    n_held_out: int = 0

    @property
    def held_out_score(self) -> float | None:
        return None if self.held_out is None else float(self.held_out.sum() / self.n_held_out)


class Kind:
    """A kind of CPD."""

    name: ClassVar[str]

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
    if task.params["k"] is None:
        return None
    out = np.zeros((data.n_vars, data.n_vars), np.bool_)
    for v, own in enumerate(candidates(task, data, task.params["k"])):
        out[v, own[own >= 0]] = True
    return out


def held_out_likelihood(cpds: Sequence[Any], held_out: Dataset) -> np.ndarray:
    """(n_vars,) log-likelihood of the held-out rows under each CPD; missing values count for nothing."""
    codes = held_out.states()
    weights = np.ones(len(codes)) if held_out.weights is None else held_out.weights
    out = np.zeros(len(cpds))
    for v, cpd in enumerate(cpds):
        known = np.flatnonzero(codes[:, v] != NO_CODE)
        out[v] = weights[known] @ cpd.log_probs(codes[known])[np.arange(len(known)), codes[known, v]]
    return out


def _judged(learned: Learned, held_out: Dataset | None) -> Learned:
    if held_out is None:
        return learned
    return replace(learned, held_out=held_out_likelihood(learned.cpds, held_out), n_held_out=held_out.n_samples)


def arc_strengths(by_child: Sequence[Mapping[int, float]]) -> np.ndarray:
    """Strengths of all arcs, by child and then by parent."""
    return np.array([own[p] for own in by_child for p in sorted(own)], np.float64)


class Tables(Kind):
    """A table over the best of a variable's chi-square neighbours: parents enter one at a time while MDL grows."""

    name = "table"

    def chooses(self, task: Task) -> bool:
        return False

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

    def chooses(self, task: Task) -> bool:
        return task.params["kappa"] == "auto"

    def learn(self, task: Task, train: Dataset, held_out: Dataset | None) -> Learned:
        kappa = task.params["kappa"]
        if kappa != "auto":
            return self._finished(task, self._grow(task, train, kappa), Belief(kappa))
        assert held_out is not None
        trees, rows = self._grow(task, train, 1.0), complete_rows(held_out)
        if self._averages(task):
            return _judged(self._finished(task, trees, choose(trees, *rows, run=task.threads.run)), held_out)
        belief = Belief(choose_kappa(trees, *rows, run=task.threads.run))
        return _judged(self._finished(task, self._grow(task, train, belief.kappa), belief), held_out)

    def again(self, task: Task, data: Dataset, tried: Learned) -> Learned:
        trees = self._grow(task, data, 1.0 if self._averages(task) else tried.choices.kappa)
        return replace(self._finished(task, trees, tried.choices), held_out=tried.held_out, n_held_out=tried.n_held_out)

    def _averages(self, task: Task) -> bool:
        """The weights of prunings are those of the uniform prior."""
        return task.params["smoothing"] == "average" and task.params["prior"] == "uniform"

    def _grow(self, task: Task, data: Dataset, kappa: float) -> list[TreeCPD]:
        p = task.params
        arrays, allowed = leaf_arrays(data), allowed_parents(task, data)
        rules = GrowthRules(kappa, p["splits"] != "complete", p["splits"] != "binary", p["min_leaf"])
        if p["prior"] == "uniform":
            trees = grow_trees(arrays, range(data.n_vars), rules, allowed, task.threads.run, task.progress)
        else:
            prior = even_prior(arrays, p["equivalent_sample_size"])
            trees = grow_apart(arrays, rules, allowed, prior, task.progress)
        return [limited(tree, p["max_leaves"]) for tree in trees]

    def _finished(self, task: Task, trees: list[TreeCPD], belief: Belief) -> Learned:
        if self._averages(task):
            trees = [averaged(tree, belief) for tree in trees]
        chosen = {"kappa": belief.kappa, "shrinkage": belief.shrinkage, "least_gain": belief.least_gain}
        return Learned(tuple(trees), arc_strengths([strengths(tree) for tree in trees]), belief, chosen)


class Logistic(Kind):
    """A logistic regression on the states of all other variables, weights penalised."""

    name = "logistic"

    def chooses(self, task: Task) -> bool:
        return task.params["strength"] == "auto"

    def learn(self, task: Task, train: Dataset, held_out: Dataset | None) -> Learned:
        return self._learned(task, train, held_out, task.params["strength"])

    def again(self, task: Task, data: Dataset, tried: Learned) -> Learned:
        """What chance alone does to a slope grows as the root of the number of rows, and so must the penalty."""
        strengths = tried.choices * np.sqrt(data.n_samples / (data.n_samples - tried.n_held_out))
        learned = self._learned(task, data, None, strengths)
        return replace(learned, held_out=tried.held_out, n_held_out=tried.n_held_out)

    def _learned(self, task: Task, train: Dataset, held_out: Dataset | None, strengths: Any) -> Learned:
        fits = fit_logistic(
            train, held_out, penalty=task.params["penalty"], strengths=strengths, allowed=allowed_parents(task, train),
            run=task.threads.run, progress=task.progress,
        )  # fmt: skip
        by_child = [linear_strengths(cpd, train) for cpd in fits.cpds]
        chosen = {"strengths": fits.strengths.tolist()}
        return _judged(Learned(fits.cpds, arc_strengths(by_child), fits.strengths, chosen), held_out)


def linear_strengths(cpd: LogisticCPD, data: Dataset) -> dict[int, float]:
    """What each parent adds to the log-likelihood of the training rows, to second order: m/2 times the variance of
    its part of the logits, over its states and the child's."""
    own = _shares(data, cpd.child)
    out = {}
    for k, p in enumerate(cpd.parents):
        parts = cpd.weights[cpd.first[k] : cpd.first[k + 1]]
        shares = _shares(data, p)
        moved = parts - shares @ parts
        spread = (moved**2) @ own - (moved @ own) ** 2
        out[p] = 0.5 * data.total * float(shares @ spread)
    return out


def _shares(data: Dataset, v: int) -> np.ndarray:
    counts = np.bincount(data.column(v), data.weights, data.n_states[v])
    return counts / counts.sum()


class Boosted(Kind):
    """Boosted trees twice, from nothing and from a linear predictor, and the mean of both.

    Held-out rows say when to stop, so these trees are learned from the other rows alone.
    """

    name = "boosted"

    def learn(self, task: Task, train: Dataset, held_out: Dataset | None) -> Learned:
        assert held_out is not None
        more: dict[str, Any] = {"allowed": allowed_parents(task, train)}
        more |= {"run": task.threads.run, "progress": task.progress}
        linear = fit_logistic(train, held_out, penalty="l2", **more).cpds
        seed = seed_of(task.params["random_state"])
        alone, led = (fit_boosted(train, held_out, start=start, seed=seed, **more).cpds for start in (None, linear))
        cpds = tuple(mean_of(a, b) for a, b in zip(alone, led, strict=True))
        by_child = [boosted_strengths(cpd, train) for cpd in cpds]
        chosen = {"trees": [cpd.n_trees for cpd in cpds]}
        return _judged(Learned(cpds, arc_strengths(by_child), None, chosen), held_out)

    def again(self, task: Task, data: Dataset, tried: Learned) -> Learned:
        return tried


def boosted_strengths(cpd: BoostedCPD, data: Dataset) -> dict[int, float]:
    """What each parent adds to the log-likelihood at most, to second order: by its part of the start and its splits."""
    linear = linear_strengths(cpd.start, data)
    roots = cpd.split_worths(_shares(data, cpd.child), data.n_vars)
    return {p: float((np.sqrt(linear.get(p, 0.0)) + roots[p]) ** 2) for p in cpd.parents}


class Auto(Kind):
    """For every variable the kind that predicts its held-out rows best: tree, regression (L1 or L2), boosted trees."""

    name = "auto"

    def learn(self, task: Task, train: Dataset, held_out: Dataset | None) -> Learned:
        tried = [kind.learn(own, train, held_out) for kind, own in self._members(task)]
        likelihoods = np.array([one.held_out for one in tried], np.float64)
        return self._mixed(train, tried, np.argmax(likelihoods, axis=0), tried)

    def again(self, task: Task, data: Dataset, tried: Learned) -> Learned:
        before, picked = tried.choices
        again = [kind.again(own, data, one) for (kind, own), one in zip(self._members(task), before, strict=True)]
        return self._mixed(data, again, picked, before)

    def _members(self, task: Task) -> list[tuple[Kind, Task]]:
        return [
            (Trees(), task.with_(kappa="auto")),
            (Logistic(), task.with_(penalty="l1", strength="auto")),
            (Logistic(), task.with_(penalty="l2", strength="auto")),
            (Boosted(), task),
        ]

    def _mixed(self, data: Dataset, learned: list[Learned], picked: np.ndarray, tried: list[Learned]) -> Learned:
        cpds = tuple(learned[k].cpds[v] for v, k in enumerate(picked))
        starts = [np.cumsum([0, *(len(cpd.parents) for cpd in one.cpds)]) for one in learned]
        strengths = [learned[k].strengths[starts[k][v] : starts[k][v + 1]] for v, k in enumerate(picked)]
        held_out = np.choose(picked, [one.held_out for one in tried])
        chosen = {"kinds": [cpd.kind for cpd in cpds]}
        every = np.concatenate([np.empty(0), *strengths])
        return Learned(cpds, every, (tried, picked), chosen, held_out, tried[0].n_held_out)


KINDS: dict[str, Kind] = {kind.name: kind for kind in (Trees(), Tables(), Logistic(), Boosted(), Auto())}
