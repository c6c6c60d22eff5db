"""Bayesian networks: a directed acyclic graph by greedy search, then one table per variable.

With cpd="tree" or "graph" the graph and the decision trees or graphs of its variables grow together instead; that is
another search, and `learn.local_structure` holds it.

The score of a graph is a sum over families (a child with its parents), so a search needs only the deltas of
the families that a move touches; `search.deltas` counts them, `search.climb` uses them.

Papers   Freno, Trentin, Gori (2009), sections 3 and 4.1: parameters, MDL, hill climbing; K2 as their rival
         Wenig, Graphical Models Lab: tabu walks with random restarts
Symbols  m rows, n variables, r[v] states of v, q configurations of the parents
Path     encode -> knowledge -> deltas -> search -> family counts -> TableCPD -> BayesianNet
Differs  every search but K2 tries the flips that cost nothing after its first climb, which Algorithm 1 does not;
         `restarts`, the default, is ours: the best graph is kept, a handful of its arcs turned or dropped, and the
         climb taken up from there; it finds better graphs than the climb or the tabu walk in the same time
"""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np

from quiltwork.backends.threads import Threads, n_threads
from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import Encoder
from quiltwork.errors import ParameterError
from quiltwork.infer.likelihood import log_likelihood
from quiltwork.learn.base import SHARED, Learner, Progress, ScoreName, silent
from quiltwork.learn.held_out import given_rows
from quiltwork.learn.knowledge import Knowledge, columns_in_order, read_arcs, read_order, read_tiers
from quiltwork.learn.local_structure import grow_network, read_operators
from quiltwork.learn.prior import prior_families, read_prior
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.structure import Structure
from quiltwork.params import Choice, Integer, Nothing, Param, Real, Thing
from quiltwork.scores.families import NAMES, FamilyScore
from quiltwork.search.climb import History, climb, level_flips, restarts, tabu
from quiltwork.search.deltas import FamilyDeltas, PriorDeltas
from quiltwork.search.graph import Graph
from quiltwork.search.grow import check_arcs_fit
from quiltwork.search.judges import complete_rows
from quiltwork.search.order import k2
from quiltwork.search.scorer import arc_strengths, strongest_first
from quiltwork.stats.families import Arrays, count_families

_ARCS = Thing("a list of (parent, child) pairs", read_arcs)
_TIERS = Thing("a list of lists of variables", read_tiers)
_ORDER = Thing("a list of all variables", read_order)
_OPERATORS = Thing("letters of C, B and M", read_operators)
_START = Thing("a model or a list of arcs", read_arcs)
_SHARE = Real(0.0, 1.0, above_low=True)
_ROWS = Real(0.0, 1e9, above_low=True)  # beyond, log-gammas of prior counts lose their digits


class BayesianNetwork(Learner):
    """A Bayesian network, its graph found by greedy search, with tables, decision trees or decision graphs as CPDs.

    The default search climbs, then `restarts` times perturbs the best graph and climbs again. The result depends
    on the data, the parameters and `random_state` alone, never on the number of threads or the order of the rows;
    only a `budget` in seconds makes it depend on the machine.

    Attributes
    ----------
    model_ : BayesianNet
        The learned network.
    score_ : float
        Its score on the training rows. With kappa="auto", that under the kappa that was chosen.
    strengths_ : list of (parent, child, strength)
        The arcs, strongest first: what the score would lose without each. Of trees and graphs, in the order in which
        they entered: the smallest gain of any operator up to then, the penalty under which growth would have ended.
    validation_score_ : float or None
        Mean log-likelihood of the rows of `fit(X, validation=V)` that have no missing value.
    history_ : History
        Score and phase of every step of the search.

    Examples
    --------
    >>> import numpy as np, quiltwork as qw
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.random(500) < 0.3
    >>> wet = np.where(rain, rng.random(500) < 0.9, rng.random(500) < 0.1)
    >>> est = qw.BayesianNetwork(search="climb").fit({"rain": rain, "wet": wet})
    >>> est.model_.arcs
    [('wet', 'rain')]
    >>> [(parent, child) for parent, child, strength in est.strengths_]
    [('wet', 'rain')]

    See Also
    --------
    quiltwork.learn : the same in one line, with the names of the command line.
    """

    name = "bn"
    parameters = (
        Param("cpd", "table", (Choice(("table", "tree", "graph")),), "how a variable depends on its parents"),
        Param("search", "restarts", (Choice(("restarts", "climb", "tabu", "k2", "fixed")),),
              "how graphs are searched; fixed: not at all, there are the arcs of 'start' or, in trees, some of them"),
        Param("score", None, (Nothing(), Choice((*NAMES, "prior-network"))),
              "what a graph is judged by; None for bic, or uniform where CPDs are trees or graphs"),
        Param("operators", None, (Nothing(), _OPERATORS),
              "trees and graphs: complete splits (C), binary splits (B), merges (M); None for B, or BM"),
        Param("smoothing", "average", (Choice(("average", "laplace")),),
              "trees: a leaf predicts with the mean of all prunings (uniform score), or its own counts plus the prior"),
        Param("min_leaf", 1, (Integer(1),),
              "trees and graphs: fewest rows, or the least weight of them, in a leaf that has any"),
        Param("max_parents", None, (Nothing(), Integer(0)), "most parents of a variable; None for no limit"),
        Param("restarts", None, (Nothing(), Integer(0)), "perturbed climbs (default up to 1,000); of tabu (5)"),
        Param("budget", None, (Nothing(), Real(0.0)), "seconds after which no further perturbed climb begins"),
        Param("walks", 10, (Integer(0),), "tabu walks after each climb"),
        Param("walk_steps", 50, (Integer(1),), "most steps of a tabu walk"),
        Param("tabu_length", 100, (Integer(1),), "graphs that a tabu walk remembers"),
        Param("restart_steps", 10, (Integer(1),), "random moves of a tabu search's restart"),
        Param("order", None, (Nothing(), _ORDER),
              "K2, trees and graphs: no arc leads to a variable that comes earlier; None for that of the columns (K2)"),
        Param("required", None, (Nothing(), _ARCS), "arcs that must be there"),
        Param("forbidden", None, (Nothing(), _ARCS), "arcs that must not be there"),
        Param("tiers", None, (Nothing(), _TIERS), "no arc leads from a later tier to an earlier one"),
        Param("start", None, (Nothing(), _START), "graph that the search starts from; fixed: whose arcs there may be"),
        Param("equivalent_sample_size", 10.0, (_ROWS,), "rows that the prior is worth (bdeu, prior-network)"),
        Param("kappa", None, (Nothing(), _SHARE, Choice(("auto",))),
              "prior factor for each free parameter (uniform, bdeu, prior-network); None for 1, or 0.01 where CPDs "
              "are trees or graphs; auto (trees and graphs): by held-out rows"),
        Param("held_out", 0.1, (Real(0.0, 0.5, above_low=True),), "share of the rows held out to choose kappa by"),
        Param(
            "prior_network",
            None,
            (Nothing(), Thing("a Bayesian network", read_prior)),
            "network that prior counts come from; on the command line its file",
        ),
        *SHARED,
    )  # fmt: skip

    model_: BayesianNet

    def fit(
        self,
        X: object,
        y: object = None,
        *,
        sample_weight: object = None,
        validation: object = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from a table; `progress(stage, done, total)` is called as the work goes on."""
        began = time.perf_counter()
        encoder, data = self._begin(X, sample_weight)
        self._check()
        knowledge = self._knowledge(encoder)
        held_out = None if validation is None else complete_rows(given_rows(encoder, validation))
        self.history_ = History()
        learn = self._tabulate if self.cpd == "table" else self._grow
        model = learn(encoder, data, knowledge, held_out, progress or silent)
        self.validation_score_ = None if held_out is None else _mean_log_likelihood(model, held_out)
        self.fit_seconds_ = time.perf_counter() - began
        return self._end(model, X)

    def _tabulate(
        self, encoder: Encoder, data: Dataset, knowledge: Knowledge, held_out: Dataset | None, progress: Progress
    ) -> BayesianNet:
        """The network that the search ends with, and its tables."""
        with Threads(n_threads(self.n_jobs)) as threads:
            arrays = Arrays.of(data)
            scorer = self._scorer(data, arrays, knowledge, threads)
            graph = self._search(encoder, scorer, knowledge, progress)
            strengths = arc_strengths(graph, scorer)
        self.score_ = graph.total
        cpds = _tables(arrays, graph)
        self.strengths_ = strongest_first([v.name for v in encoder.variables], graph, strengths)
        return BayesianNet(encoder, cpds, self._provenance(data, score=self.score_), strengths)

    @property
    def score(self) -> ScoreName:  # type: ignore[override]
        """The name of the score that graphs are judged by; called with a table, its mean log-likelihood per row."""
        name = ScoreName(self.__dict__["score"] or ("bic" if self.cpd == "table" else "uniform"))
        name.learner = self
        return name

    @score.setter
    def score(self, name: str | None) -> None:
        self.__dict__["score"] = name

    def _grow(
        self, encoder: Encoder, data: Dataset, knowledge: Knowledge, held_out: Dataset | None, progress: Progress
    ) -> BayesianNet:
        """The network and its trees or graphs, grown together."""
        order = None if self.order is None and self.search != "k2" else _order(self.order, encoder, knowledge.start)
        grown = grow_network(self, data, knowledge, order, held_out, progress, self.history_)
        names = [v.name for v in encoder.variables]
        self.strengths_ = [(names[parent], names[child], strength) for parent, child, strength in grown.arcs]
        self.score_ = grown.score
        strength_of = {(parent, child): strength for parent, child, strength in grown.arcs}
        arcs = Structure.from_parents(cpd.parents for cpd in grown.cpds).arcs()
        strengths = np.array([strength_of[arc] for arc in arcs])
        averages = self.cpd == "tree" and self.smoothing == "average" and self.score == "uniform"
        took = {} if averages else {"smoothing": "laplace"}
        said = self._provenance(data, took, score=self.score_, **grown.chosen)
        return BayesianNet(encoder, grown.cpds, said, strengths)

    def _check(self) -> None:
        """Parameters that do not go together."""
        if self.operators is not None:
            read_operators(self.operators)
        if self.search == "fixed" and self.start is None:
            raise ParameterError("search='fixed' needs 'start', a model or a list of arcs: there are to be no others.")
        if self.cpd == "table" and self.kappa == "auto":
            raise ParameterError("kappa='auto' needs cpd='tree' or cpd='graph': a table has nothing to prune.")
        if self.cpd == "table" and self.order is not None and self.search != "k2":
            raise ParameterError(
                f"Where cpd='table', 'order' needs search='k2', which follows it; 'tiers' serve every search. "
                f"Got search={self.search!r} instead."
            )

    # Search: which graph

    def _search(
        self, encoder: Encoder, scorer: FamilyDeltas | PriorDeltas, knowledge: Knowledge, progress: Progress
    ) -> Graph:
        n_vars = len(encoder.variables)
        start = knowledge.start
        if self.search == "k2":
            order = _order(self.order, encoder, start)
            start = tuple(k2(order, scorer, knowledge.start, self.max_parents, lambda v: progress("K2", v, n_vars)))
        graph = Graph(n_vars, scorer, start, self.max_parents)
        scorer.score_all(graph)
        if self.search in ("k2", "fixed"):
            return graph
        climb(graph, self.history_, progress=progress)
        scorer.remember()
        level_flips(graph, self.history_)
        if self.search == "restarts":
            wanted = _restarts_for(n_vars) if self.restarts is None and self.budget is None else self.restarts
            restarts(graph, self.history_, wanted, self.budget, self._seed, progress)
        if self.search == "tabu":
            best = tabu(
                graph, self.history_, walks=self.walks, walk_steps=self.walk_steps, tabu_length=self.tabu_length,
                n_restarts=5 if self.restarts is None else self.restarts, restart_steps=self.restart_steps,
                seed=self._seed, progress=progress,
            )  # fmt: skip
            graph = Graph(n_vars, scorer, best, self.max_parents)
            scorer.score_all(graph)
        return graph

    def _scorer(
        self, data: Dataset, arrays: Arrays, knowledge: Knowledge, threads: Threads
    ) -> FamilyDeltas | PriorDeltas:
        if self.score == "prior-network":
            prior = prior_families(self.prior_network, data.variables, float(self.equivalent_sample_size))
            return PriorDeltas(
                arrays, prior, float(self.kappa or 1.0), forbidden=knowledge.forbidden, required=knowledge.required
            )
        score = FamilyScore.make(
            str(self.score), data.total, data.n_states, whole=data.weights is None,
            equivalent_sample_size=float(self.equivalent_sample_size), kappa=float(self.kappa or 1.0),
        )  # fmt: skip
        return FamilyDeltas(
            arrays,
            score,
            forbidden=knowledge.forbidden,
            required=knowledge.required,
            run=threads.run,
            n_threads=threads.n,
        )

    def _knowledge(self, encoder: Encoder) -> Knowledge:
        if self.cpd != "table":
            check_arcs_fit(len(encoder.variables))
        return Knowledge.read(
            encoder.variables, required=self.required, forbidden=self.forbidden, tiers=self.tiers, start=self.start,
            max_parents=self.max_parents,
        )  # fmt: skip


def _mean_log_likelihood(model: BayesianNet, rows: Dataset) -> float:
    weights = np.ones(rows.n_samples) if rows.weights is None else rows.weights
    return float(weights @ log_likelihood(model, rows) / rows.total)


def _restarts_for(n_vars: int) -> int:
    """Perturbed climbs unless told otherwise: 1,000, but no more than some seconds' worth where each takes longer."""
    return max(100, min(1000, 500_000 // n_vars))


def _tables(arrays: Arrays, graph: Graph) -> tuple[TableCPD, ...]:
    """Smoothed tables for every family of the graph."""
    parents = graph.all_parents()
    structure = Structure.from_parents(parents)
    counts, starts = count_families(arrays, structure.indptr, structure.indices)
    return TableCPD.of_families(parents, arrays.n_states, counts, starts, float(arrays.n_states.max()))


def _order(given: Any, encoder: Encoder, start: tuple[tuple[int, ...], ...]) -> list[int]:
    """The order of the variables, in columns; what must be there has to agree with it."""
    names = [v.name for v in encoder.variables]
    order = list(range(len(names))) if given is None else columns_in_order(given, encoder.variables)
    for child, parents in enumerate(start):
        for parent in parents:
            if order.index(parent) > order.index(child):
                raise ParameterError(
                    f"The arc {names[parent]!r} -> {names[child]!r} goes against the order of the variables; "
                    f"set 'order' so that {names[parent]!r} comes first."
                )
    return order
