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
from quiltwork.stats.moments import Moments, Run, run_here
from quiltwork.stats.partial import changed_shares, follow_parents

_REMEMBERED_BYTES = 256 * 2**20
_CHUNK = 64  # rows that one task scores at the beginning


class GaussianDeltas:
    """A scorer for `search.graph.Graph`.

    moments    those that the score was made for, shrunk as it asks
    forbidden  (n_vars, n_vars) bool [child, parent]: arcs that may never be there, or None
    required   arcs (parent, child) that may never go
    """

    def __init__(
        self,
        moments: Moments,
        score: GaussianScore,
        *,
        forbidden: np.ndarray | None = None,
        required: tuple[tuple[int, int], ...] = (),
        run: Run = run_here,
    ):
        self._score, self._forbidden, self._run = score, forbidden, run
        self._matrix = moments.correlation
        self._constant = np.flatnonzero(moments.constant)
        self._required: dict[int, list[int]] = {}
        for parent, child in required:
            self._required.setdefault(child, []).append(parent)
        self._given: dict[int, tuple[tuple[int, ...], np.ndarray]] = {}
        self._seen: dict[tuple[int, tuple[int, ...]], tuple[float, np.ndarray]] | None = None

    def remember(self) -> None:
        """Keep the rows of families from now on, within a bound on memory."""
        self._seen = {}

    def score_all(self, graph: Graph) -> None:
        """Score every row of a graph."""
        chunks = [range(low, min(low + _CHUNK, graph.n_vars)) for low in range(0, graph.n_vars, _CHUNK)]
        self._run(lambda i: graph.rescore(chunks[i]), len(chunks))
        graph.settle_ties(np.zeros(graph.n_vars, np.int64))

    def __call__(self, child: int, parents: tuple[int, ...], row: np.ndarray) -> float:
        key = (child, parents)
        if self._seen is not None and key in self._seen:
            score, row[:] = self._seen[key]
            return score
        score = self._fill(child, parents, row)
        self._apply_knowledge(child, parents, row)
        if self._seen is not None:
            if (len(self._seen) + 1) * row.nbytes > _REMEMBERED_BYTES:
                self._seen.pop(next(iter(self._seen)))  # the oldest
            self._seen[key] = (score, row.copy())
        return score

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

    def _apply_knowledge(self, child: int, parents: tuple[int, ...], row: np.ndarray) -> None:
        if self._forbidden is not None:
            row[self._forbidden[child]] = -np.inf
        if len(self._constant):  # an arc from or to a constant says nothing
            keep = row[list(parents)]
            row[slice(None) if child in self._constant else self._constant] = -np.inf
            row[list(parents)] = keep
        for parent in self._required.get(child, ()):
            if parent in parents:
                row[parent] = -np.inf
