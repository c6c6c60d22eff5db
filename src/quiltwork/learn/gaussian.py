"""Gaussian Bayesian networks: a directed acyclic graph by tabu search with restarts, one regression per variable.

The variance that a variable's parents leave decides its score, and follows from the correlations of the columns, so
the rows are read once. Graphs are searched by the same engine as those of discrete networks.

Paper    Wenig, Graphical Models Lab: Gaussian networks by tabu walks with random restarts
Symbols  m rows, n variables, σ_v the deviation of v's residuals, λ the price of an arc
Path     numbers -> moments -> knowledge -> deltas -> search -> LinearGaussianCPD -> GaussianNet
Score    sum over v of (-m log σ_v - m/2) - λ arcs; or BIC, or BGe (see `scores.gaussian`)
Differs  every search tries the flips that cost nothing after its first climb, which Algorithm 1 does not; a restart of
         `tabu` begins at the best graph, which the report's section 2.5 speaks of; `restarts`, the default, is ours:
         the best graph is kept, some arcs in one place of it are turned or dropped, and the climb taken up from there;
         it finds better graphs than the walks in the same time, where there are many variables. Of up to 16 variables,
         none of which nearly follows from others, it finds the best graph there is, in less time (see
         `search.gaussian_exact`)
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Self

import numpy as np

from quiltwork.backends.threads import Threads, n_threads
from quiltwork.cpds.linear_gaussian import LinearGaussianCPD
from quiltwork.data.numbers import FEW, NumberEncoder, Numbers, few_valued, fit_numbers
from quiltwork.errors import DataWarning
from quiltwork.learn.base import SHARED, Learner, Progress, silent
from quiltwork.learn.knowledge import Knowledge, read_arcs, read_tiers
from quiltwork.models.gaussian import GaussianNet
from quiltwork.params import Choice, Integer, Nothing, Param, Real, Thing
from quiltwork.scores.gaussian import GaussianScore
from quiltwork.search.climb import History, climb, level_flips, restarts, tabu
from quiltwork.search.gaussian_deltas import GaussianDeltas
from quiltwork.search.graph import TOLERANCE, Graph
from quiltwork.search.scorer import arc_strengths, strongest_first
from quiltwork.stats.moments import Moments
from quiltwork.stats.partial import RANK

_ARCS = Thing("a list of (parent, child) pairs", read_arcs)
_TIERS = Thing("a list of lists of variables", read_tiers)
_START = Thing("a model or a list of arcs", read_arcs)
MOST_PERTURBED = 40  # arcs that a perturbed climb changes: of Gaussian networks, which are dense, more than of tables
_SHARED = tuple(param for param in SHARED if param.name in ("random_state", "n_jobs"))


class GaussianNetwork(Learner):
    """A Gaussian Bayesian network, its graph found by greedy search.

    Columns are numbers; those with few distinct ones, such as grades, are taken as numbers too. The result depends on
    the data, the parameters and `random_state` alone, never on the number of threads, and not on the units of the
    columns. A column that does not vary gets no arcs; one that is a linear function of others keeps a tiny variance;
    each is told by a warning.

    Attributes
    ----------
    model_ : GaussianNet
        The learned network: per variable an intercept, weights of the parents, and a variance.
    score_ : float
        Its score on the training rows. With a number as penalty it leaves out the constant -m/2 log 2π of each
        variable, as the report does; "bic" has it and counts all parameters; "bge" is a log marginal likelihood, and
        the parameters are then those of the prior and the rows together.
    strengths_ : list of (parent, child, strength)
        The arcs, strongest first: what the score would lose without each.
    score_history_ : History
        Score (`scores`) and phase (`phases`) of the steps of the search: start, climb, walk, random (a move of a
        tabu search's restart), and restart, a perturbed climb that found a better graph; one that did not is left out.
        With `restarts` and up to 16 variables: start, and best, the best graph there is.

    Examples
    --------
    >>> import numpy as np, quiltwork as qw
    >>> rng = np.random.default_rng(0)
    >>> sun = rng.normal(6, 2, 500)
    >>> sugar = 10 + 1.5 * sun + rng.normal(0, 1, 500)
    >>> alcohol = 2 + 0.5 * sugar + rng.normal(0, 0.5, 500)
    >>> est = qw.GaussianNetwork(penalty="bic").fit({"sun": sun, "sugar": sugar, "alcohol": alcohol})
    >>> print(est.model_)
    sun = 5.95 ± 2.03
    sugar = 9.92 + 1.5 sun ± 0.938
    alcohol = 1.97 + 0.503 sugar ± 0.505
    >>> print(qw.query(est, ["alcohol"], evidence={"sun": 9}))
    variable     mean  deviation
    alcohol   13.7568   0.690903

    See Also
    --------
    quiltwork.query, quiltwork.predict
    """

    name = "gbn"
    parameters = (
        Param("penalty", "bic", (Real(0.0, 1e9), Choice(("bic", "bge"))), "what an arc costs, or the score by name"),
        Param("search", "restarts", (Choice(("restarts", "tabu", "climb")),), "how graphs are searched"),
        Param("walks", 3, (Integer(0),), "tabu walks after each climb"),
        Param("walk_steps", 20, (Integer(1),), "most steps of a tabu walk"),
        Param("tabu_length", 100, (Integer(1),), "graphs that a tabu walk remembers"),
        Param("restarts", None, (Nothing(), Integer(0)), "perturbed climbs (default up to 2,000); of tabu (100)"),
        Param("restart_steps", 30, (Integer(1),), "random moves of a tabu search's restart"),
        Param(
            "max_parents",
            None,
            (Nothing(), Integer(0)),
            "most parents of a variable; None: a tenth of the rows",
        ),
        Param("required", None, (Nothing(), _ARCS), "arcs that must be there"),
        Param("forbidden", None, (Nothing(), _ARCS), "arcs that must not be there"),
        Param("tiers", None, (Nothing(), _TIERS), "no arc leads from a later tier to an earlier one"),
        Param("start", None, (Nothing(), _START), "graph that the search starts from"),
        Param("missing", "error", (Choice(("error", "drop")),), "a missing value: an error, or a dropped row"),
        *_SHARED,
    )

    model_: GaussianNet

    def fit(
        self, X: object, y: object = None, *, sample_weight: object = None, progress: Progress | None = None
    ) -> Self:
        """Learn from a table of numbers; `progress(stage, done, total)` is called as the work goes on."""
        began = time.perf_counter()
        encoder, numbers = self._begin(X, sample_weight)
        knowledge = Knowledge.read(
            encoder.variables, required=self.required, forbidden=self.forbidden, tiers=self.tiers, start=self.start,
            max_parents=self.max_parents,
        )  # fmt: skip
        history = History()
        with Threads(n_threads(self.n_jobs)) as threads:
            moments = Moments.of(numbers, threads.run)
            score = GaussianScore.make(self.penalty, moments)
            moments = moments.shrunk(score.shrink)
            scorer = GaussianDeltas(
                moments, score, forbidden=knowledge.forbidden, required=knowledge.required, run=threads.run
            )
            graph = self._search(moments, scorer, knowledge, history, progress or silent)
        names = [v.name for v in encoder.variables]
        cpds = tuple(LinearGaussianCPD.from_moments(moments, v, graph.parents(v)) for v in range(moments.n_vars))
        _warn_of_trouble(names, moments, cpds)
        _warn_of_states(numbers)
        strengths = arc_strengths(graph, scorer)
        self.score_, self.score_history_ = graph.total, history
        self.strengths_ = strongest_first(names, graph, strengths)
        self.fit_seconds_ = time.perf_counter() - began
        return self._end(GaussianNet(encoder, cpds, self._provenance(numbers, score=self.score_), strengths), X)

    def _encode(self, X: object, weights: object = None) -> tuple[NumberEncoder, Numbers]:
        return fit_numbers(X, weights, missing=self.missing)

    # Search: which graph

    def _search(
        self, moments: Moments, scorer: GaussianDeltas, knowledge: Knowledge, history: History, progress: Progress
    ) -> Graph:
        n_vars, limit = moments.n_vars, self._most_parents(moments)
        wanted = _restarts_for(n_vars) if self.restarts is None else self.restarts
        graph = Graph(n_vars, scorer, knowledge.start, limit)
        scorer.score_all(graph)
        history.note(graph.total, "start")
        if self.search == "restarts" and wanted and scorer.knows_the_best:
            best = Graph(n_vars, scorer, scorer.best_graph(limit), limit)
            scorer.score_all(best)
            if best.total <= graph.total + TOLERANCE:
                return graph
            history.note(best.total, "best")
            return best
        climb(graph, history, progress=progress)
        scorer.remember()
        level_flips(graph, history)
        if self.search == "restarts":
            restarts(graph, history, wanted, None, self._seed, progress, MOST_PERTURBED)
        if self.search == "tabu":
            parents = tabu(
                graph, history, walks=self.walks, walk_steps=self.walk_steps, tabu_length=self.tabu_length,
                n_restarts=100 if self.restarts is None else self.restarts, restart_steps=self.restart_steps,
                seed=self._seed, progress=progress,
            )  # fmt: skip
            graph = Graph(n_vars, scorer, parents, limit)
            scorer.score_all(graph)
        return graph

    def _most_parents(self, moments: Moments) -> int | None:
        """Unless told otherwise one for every ten rows; never so many that a family has as many parameters as rows.

        A prior (BGe) needs no such limit.
        """
        if self.penalty == "bge":
            return self.max_parents
        rows = max(0, moments.n_samples - 3)
        return min(rows, max(1, moments.n_samples // 10) if self.max_parents is None else self.max_parents)


def _restarts_for(n_vars: int) -> int:
    """Perturbed climbs unless told otherwise: the more, the more variables; fewer where each takes milliseconds."""
    return max(50, min(max(1000, 20 * n_vars), 1_000_000 // n_vars))


def _warn_of_trouble(names: Sequence[str], moments: Moments, cpds: Sequence[LinearGaussianCPD]) -> None:
    """Columns that do not vary, that others determine, or that are more than there are rows to tell them apart."""

    def warn(message: str) -> None:
        warnings.warn(message, DataWarning, stacklevel=4)

    constant = [repr(names[v]) for v in np.flatnonzero(moments.constant).tolist()]
    if constant:
        warn(f"These columns do not vary, get no arcs and a tiny variance: {_few(constant)}.")
    if moments.n_samples < 2 * moments.n_vars:
        few = "fewer rows" if moments.n_samples < moments.n_vars else "hardly more rows"
        warn(
            f"There are {few} ({moments.n_samples}) than columns ({moments.n_vars}): many graphs fit such a table "
            "well by chance; penalty='bge', a larger penalty or max_parents=3 guards against that."
        )
    least = RANK * moments.deviation**2
    determined = [
        f"{names[cpd.child]!r} from {', '.join(repr(names[p]) for p in cpd.parents)}"
        for cpd in cpds
        if cpd.variance <= least[cpd.child]
    ]
    if determined:
        warn(f"These columns follow exactly from others, and keep a tiny variance: {_few(determined)}.")


def _warn_of_states(numbers: Numbers) -> None:
    found = [repr(name) for name in few_valued(numbers)]
    if found:
        warnings.warn(
            f"These columns have at most {FEW} distinct values, and are taken as Gaussian numbers all the same: "
            f"{_few(found)}. BayesianNetwork(discretise=5) takes every column as states.",
            DataWarning,
            stacklevel=3,
        )


def _few(things: Sequence[str]) -> str:
    return ", ".join(things[:3]) + (f" and {len(things) - 3} more" if len(things) > 3 else "")
