"""What moves are worth in a Gaussian network: the deltas of a child's row, from the correlations alone.

The climb, the walks and the restarts are those of discrete networks; only the scorer differs. For every child it keeps
what is left of each variable given the child's parents, and updates that as a parent comes, so that a row of n deltas
costs O(n k) with k parents (see `stats.partial`). Where a parent goes, it is worked out afresh from those that stay:
what was added to and taken from the same number a thousand times would have drifted.
"""

from __future__ import annotations

import numpy as np

from quiltwork.scores.gaussian import GaussianScore, score_changes
from quiltwork.search.graph import Graph
from quiltwork.search.scorer import Scorer
from quiltwork.stats.moments import Moments, Run, run_here
from quiltwork.stats.partial import changed_shares, follow_parents

_CHUNK = 64  # rows that one task scores at the beginning


class GaussianDeltas(Scorer):
    """A scorer of moves; `moments` are those that the score was made for, shrunk as it asks."""

    def __init__(
        self,
        moments: Moments,
        score: GaussianScore,
        *,
        forbidden: np.ndarray | None = None,
        required: tuple[tuple[int, int], ...] = (),
        run: Run = run_here,
    ):
        super().__init__(np.flatnonzero(moments.constant), forbidden, required)
        self._score, self._run, self._matrix = score, run, moments.correlation
        self._given: dict[int, tuple[tuple[int, ...], np.ndarray]] = {}

    def score_all(self, graph: Graph) -> None:
        """Score every row of a graph."""
        chunks = [range(low, min(low + _CHUNK, graph.n_vars)) for low in range(0, graph.n_vars, _CHUNK)]
        self._run(lambda i: graph.rescore(chunks[i]), len(chunks))
        graph.settle_ties(np.zeros(graph.n_vars, np.int64))

    def family(self, child: int, parents: tuple[int, ...]) -> float:
        """The score of one family."""
        after, own = np.empty((2, len(self._matrix)))
        given = np.array(parents, np.int64)
        left, log_det, _ = changed_shares(self._matrix, child, given, np.zeros(len(after)), after, own)
        return self._score.of(child, len(parents), left, log_det)

    def _fill(self, child: int, parents: tuple[int, ...], row: np.ndarray) -> float:
        score, given = self._score, np.array(parents, np.int64)
        after, own = np.empty((2, len(row)))
        shares = self._shares(child, parents)
        left, log_det, trace = changed_shares(self._matrix, child, given, shares, after, own)
        score_changes(score.constants, score.slopes, score.determinant, given, left, trace, after, own, row)
        return score.of(child, len(parents), left, log_det)

    def _shares(self, child: int, parents: tuple[int, ...]) -> np.ndarray:
        """What is left of each variable given the parents, brought up to date from what is known."""
        known, shares = self._given.get(child, ((), None))
        fresh = [p for p in parents if p not in known]
        if shares is None or len(known) + len(fresh) > len(parents):
            known, fresh, shares = (), list(parents), np.ones(len(self._matrix))
        if fresh:
            order = (*known, *fresh)
            follow_parents(self._matrix, np.array(order, np.int64), len(known), shares)
            self._given[child] = order, shares
        return shares
