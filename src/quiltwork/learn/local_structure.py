"""Bayesian networks whose CPDs are decision trees or graphs: the network and they grow together.

One operator at a time is applied to the leaves of all variables, the one that gains most (`search.merge`). With trees
the networks for every kappa are the stages of one growth under kappa = 1, so the best can be chosen afterwards by
held-out rows; with graphs, whose merges depend on kappa, a few values are tried.

Paper    Chickering, Heckerman, Meek (1997), section 4.2
Differs  by default a tree predicts with the mean of all its prunings (`search.prune`)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log
from typing import Any

import numpy as np

from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.dataset import Dataset
from quiltwork.errors import DataWarning, ParameterError
from quiltwork.infer.dependency import observed_log_probs
from quiltwork.learn.base import Progress
from quiltwork.learn.held_out import hold_out
from quiltwork.learn.knowledge import Knowledge
from quiltwork.learn.prior import tree_prior
from quiltwork.search.climb import History
from quiltwork.search.grow import GrowthRules
from quiltwork.search.judges import complete_rows
from quiltwork.search.merge import Forest
from quiltwork.search.prune import Belief, averaged, choose, choose_kappa
from quiltwork.stats.leaves import leaf_arrays

DEFAULT_KAPPA = 0.01
FULL_KAPPA = 0.5  # the trees to prune are grown with it: with 1 they cost four times as much and predict no better
GRAPH_KAPPAS = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0)
STEPS_AT_A_TIME = 64  # operators between two reports of progress


@dataclass(frozen=True)
class Grown:
    """CPDs of all variables; the arcs (parent, child, strength) in the order in which they entered; the score."""

    cpds: tuple[TreeCPD, ...]
    arcs: list[tuple[int, int, float]]
    score: float
    chosen: Mapping[str, Any] = field(default_factory=dict)


def grow_network(
    learner: Any,
    data: Dataset,
    knowledge: Knowledge,
    order: list[int] | None,
    held_out: Dataset | None,
    progress: Progress,
    history: History,
) -> Grown:
    """The network that the learner's parameters ask for."""
    growth = _Growth(learner, knowledge, order, progress, history)
    kappa = DEFAULT_KAPPA if learner.kappa is None else learner.kappa
    if kappa != "auto":
        return growth.finished(growth.grown(data, float(kappa)), Belief(float(kappa)))
    train = data
    if held_out is None:
        train, held_out = hold_out(data, learner.held_out, learner._seed, "kappa='auto'", "set kappa to a number")
    choose_belief = growth.choose_tree if learner.cpd == "tree" else growth.choose_graph
    belief = choose_belief(train, held_out)
    return growth.finished(growth.grown(data, FULL_KAPPA if growth.averages else belief.kappa), belief)


def read_operators(given: object) -> str:
    """The letters of the operators, in the order C, B, M.

    >>> read_operators("MB")
    'BM'
    """
    letters = given.upper() if isinstance(given, str) else ""
    if not set("CB") & set(letters) or set(letters) - set("CBM") or len(set(letters)) < len(letters):
        raise ParameterError(
            "The 'operators' parameter of BayesianNetwork must be letters: C for complete splits, B for binary splits "
            f"or both, and M if leaves may be merged, as in 'CBM'. Got {given!r} instead."
        )
    return "".join(letter for letter in "CBM" if letter in letters)


def warn_of_light_rows(data: Dataset, min_leaf: int) -> None:
    """Rows that weigh too little for any split; more than likely their weights were meant as shares."""
    if data.weights is not None and data.total < 2 * min_leaf <= data.n_samples:
        warnings.warn(
            f"The weights of the rows add up to {data.total:.3g}, and each leaf must hold a weight of min_leaf = "
            f"{min_leaf}: no tree can have two. Weights stand for numbers of rows; make them larger.",
            DataWarning,
            stacklevel=5,
        )


class _Growth:
    """Growing under one set of parameters."""

    def __init__(
        self, learner: Any, knowledge: Knowledge, order: list[int] | None, progress: Progress, history: History
    ):
        self._learner, self._knowledge, self._order = learner, knowledge, order
        self._progress, self._history = progress, history
        self._operators = read_operators(learner.operators or ("B" if learner.cpd == "tree" else "BM"))
        self._last: tuple[Dataset, float, Forest] | None = None
        self._check()

    def grown(self, data: Dataset, kappa: float) -> Forest:
        """A forest in which no operator gains any more; the last one is not grown twice."""
        if self._last is None or self._last[0] is not data or self._last[1] != kappa:
            self._history.forget()
            self._last = data, kappa, self._grow(data, kappa)
        return self._last[2]

    def _grow(self, data: Dataset, kappa: float) -> Forest:
        learner, arrays = self._learner, leaf_arrays(data)
        rules = GrowthRules(kappa, "B" in self._operators, "C" in self._operators, int(learner.min_leaf))
        warn_of_light_rows(data, int(learner.min_leaf))
        prior = tree_prior(
            str(learner.score), learner.prior_network, data.variables, arrays, learner.equivalent_sample_size
        )
        forest = Forest(
            arrays, rules, learner.cpd == "graph", self._allowed(data.n_vars), learner.search != "fixed", prior,
            learner.max_parents,
        )  # fmt: skip
        score, n_steps = forest.score(), 0
        while (gain := forest.step()) > 0:
            score, n_steps = score + gain, n_steps + 1
            self._history.note(score, "growth")
            if n_steps % STEPS_AT_A_TIME == 0:
                self._progress("growing trees", n_steps, 0)
        return forest

    @property
    def averages(self) -> bool:
        """Whether a leaf predicts with the mean of all prunings, whose weights are those of the uniform prior."""
        learner = self._learner
        return learner.cpd == "tree" and learner.smoothing == "average" and learner.score == "uniform"

    def choose_tree(self, train: Dataset, held_out: Dataset) -> Belief:
        judges, cpds = complete_rows(held_out), self.grown(train, FULL_KAPPA).cpds()
        rows = judges.states(), judges.weights
        return choose(cpds, *rows) if self.averages else Belief(FULL_KAPPA * choose_kappa(cpds, *rows))

    def choose_graph(self, train: Dataset, held_out: Dataset) -> Belief:
        """The kappa whose graphs predict held-out rows best; it rises until they are worse twice in a row."""
        judges = complete_rows(held_out)
        codes = judges.states()
        weights = np.ones(len(codes)) if judges.weights is None else judges.weights
        found: list[float] = []
        for kappa in GRAPH_KAPPAS:
            cpds = self.grown(train, kappa).cpds()
            found.append(sum(float(weights @ observed_log_probs(cpd, codes, judges.n_states)) for cpd in cpds))
            if len(found) - 1 - int(np.argmax(found)) == 2:
                break
        return Belief(GRAPH_KAPPAS[int(np.argmax(found))])

    def finished(self, forest: Forest, belief: Belief) -> Grown:
        """The CPDs, pruned, and what they score where a parameter costs as much as the belief says."""
        cpds, score = forest.cpds(), forest.score()
        if self.averages:
            whole, cpds = cpds, tuple(averaged(cpd, belief) for cpd in cpds)
            score -= sum(float(a.gain.sum() - b.gain.sum()) for a, b in zip(whole, cpds, strict=True))
            if belief.kappa != forest.rules.kappa:
                score += log(belief.kappa / forest.rules.kappa) * sum(cpd.n_parameters for cpd in cpds)
                self._history.note(score, "pruning")
        kept = {(p, cpd.child) for cpd in cpds for p in cpd.parents}
        arcs = [arc for arc in forest.arcs if arc[:2] in kept]
        chosen = {"kappa": belief.kappa, "shrinkage": belief.shrinkage, "least_gain": belief.least_gain}
        return Grown(cpds, arcs, score, chosen)

    def _allowed(self, n_vars: int) -> np.ndarray:
        """(n_vars, n_vars) bool [child, parent]: what knowledge, a fixed graph or an order leaves."""
        banned = self._knowledge.forbidden
        out = np.ones((n_vars, n_vars), np.bool_) if banned is None else ~banned
        if self._learner.search == "fixed":
            inside = np.zeros_like(out)
            for child, parents in enumerate(self._knowledge.start):
                inside[child, list(parents)] = True
            out &= inside
        if self._order is not None:
            place = np.argsort(self._order)
            out &= place[None, :] < place[:, None]
        return out

    def _check(self) -> None:
        learner = self._learner
        if ("M" in self._operators) != (learner.cpd == "graph"):
            raise ParameterError(
                f"'operators' must {'have' if learner.cpd == 'graph' else 'not have'} an M where cpd={learner.cpd!r}. "
                f"Got {self._operators!r} instead."
            )
        if learner.score not in ("uniform", "bdeu", "prior-network"):
            raise ParameterError(
                f"cpd={learner.cpd!r} needs a Bayesian score: 'uniform', 'bdeu' or 'prior-network'. "
                f"Got {str(learner.score)!r} instead."
            )
        if learner.search == "tabu":
            raise ParameterError(
                f"cpd={learner.cpd!r} has a search of its own; leave 'search' out. Got 'tabu' instead."
            )
        if learner.start is not None and learner.search != "fixed":
            raise ParameterError(
                f"cpd={learner.cpd!r} begins without arcs; 'start' needs search='fixed', which grows on no others."
            )
        if self._knowledge.required:
            raise ParameterError(
                f"'required' arcs need cpd='table': a {learner.cpd} may leave any parent out. Use 'tiers', 'order' or "
                "'forbidden', or search='fixed' with 'start'."
            )
