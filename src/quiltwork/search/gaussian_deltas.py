"""What moves are worth in a Gaussian network: the deltas of a child's row, from the correlations alone.

The climb, the walks and the restarts are those of discrete networks; only the scorer differs. For every child it keeps
what is left of each variable given the child's parents, and updates that as a parent comes, so that a row of n deltas
costs O(n k) with k parents (see `stats.partial`). Where a parent goes, it is worked out afresh from those that stay:
what was added to and taken from the same number a thousand times would have drifted.

A row takes a microsecond or two, less than a call from Python, so whole searches run here without returning to it
(`advance`), for as long as Ctrl-C may wait. Searches that come back to families they have seen may `remember` rows: a
family has one place in memory, and takes it from whichever was there before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.bits import popcount
from quiltwork.scores.gaussian import GaussianScore, log_share, score_changes
from quiltwork.search.gaussian_exact import best_parents, is_within_reach
from quiltwork.search.graph import Graph
from quiltwork.search.moves import State, arc_hash, has
from quiltwork.search.scorer import Scorer
from quiltwork.search.steps import PAUSED, Job, advance
from quiltwork.stats.moments import Moments, Run, run_here
from quiltwork.stats.partial import changed_shares, follow_parents

_CHUNK = 64  # rows that one task scores at the beginning
_AT_ONCE = 200_000  # deltas scored before Python is asked again: some milliseconds
_PLACES, _REMEMBERED_BYTES = 2**14, 64 * 2**20


class Rows(NamedTuple):
    """All that scores a row. (Kernels know the fields by place.)

    matrix       (n, n) correlations
    offset, constants, slopes, determinant  of the score, see `scores.gaussian`
    constant     (n,) columns that never vary
    forbidden, required  (n, n) bool [child, parent]; (0, 0) where there are none
    given        (n, words) bit sets: the parents that `shares` of a child are given
    shares       (n, n) what is left of each variable given those
    seen         (places,) hashes of the families that are remembered; (0,) where none are
    seen_scores, seen_rows  (places,) and (places, n) their scores and rows
    """

    matrix: np.ndarray
    offset: np.ndarray
    constants: np.ndarray
    slopes: np.ndarray
    determinant: float
    constant: np.ndarray
    forbidden: np.ndarray
    required: np.ndarray
    given: np.ndarray
    shares: np.ndarray
    seen: np.ndarray
    seen_scores: np.ndarray
    seen_rows: np.ndarray


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
        n = moments.n_vars
        must = np.zeros((n, n) if required else (0, 0), np.bool_)
        for parent, child in required:
            must[child, parent] = True
        self._score, self._run = score, run
        self._rows = Rows(
            moments.correlation, score.offset, score.constants, score.slopes, score.determinant, moments.constant,
            np.zeros((0, 0), np.bool_) if forbidden is None else forbidden, must,
            np.zeros((n, (n + 63) // 64), np.uint64), np.ones((n, n)), np.zeros(0, np.uint64), np.empty(0),
            np.empty((0, n)),
        )  # fmt: skip

    def __call__(self, child: int, parents: tuple[int, ...], row: np.ndarray) -> float:
        """Fill the child's row; returns the score of its family as it is."""
        return float(_score_row(self._rows, child, np.array(parents, np.int64), row))

    def remember(self) -> None:
        """Keep the rows of families from now on."""
        places, n = _PLACES, len(self._rows.matrix)
        while places * n * 8 > _REMEMBERED_BYTES and places > 1:
            places //= 2
        self._rows = self._rows._replace(
            seen=np.zeros(places, np.uint64), seen_scores=np.empty(places), seen_rows=np.empty((places, n))
        )

    def advance(self, state: State, job: Job) -> int:
        """Take a search on until it is finished, or needs room, or has taken some milliseconds."""
        return int(_advance(state, job, self._rows, max(1, _AT_ONCE // len(state.n_parents))))

    def score_all(self, graph: Graph) -> None:
        """Score every row of a graph."""
        state, children = graph.state, np.arange(graph.n_vars)
        chunks = [children[low : low + _CHUNK] for low in range(0, graph.n_vars, _CHUNK)]
        self._run(lambda i: _rescore(state, self._rows, chunks[i]), len(chunks))
        graph.settle_ties(np.zeros(graph.n_vars, np.int64))

    @property
    def knows_the_best(self) -> bool:
        """Whether the best graph there is can be found outright."""
        return is_within_reach(self._rows.matrix)

    def best_graph(self, limit: int | None) -> list[tuple[int, ...]]:
        """The parents in the best graph there is, with no more than `limit` of a variable."""
        rows, n = self._rows, len(self._rows.matrix)
        barred = rows.constant[:, None] | rows.constant | np.eye(n, dtype=np.bool_)
        if rows.forbidden.size:
            barred |= rows.forbidden
        needed = rows.required if rows.required.size else np.zeros((n, n), np.bool_)
        return best_parents(rows.matrix, self._score, n if limit is None else limit, barred & ~needed, needed)

    def family(self, child: int, parents: tuple[int, ...]) -> float:
        """The score of one family."""
        matrix, nothing = self._rows.matrix, np.empty((4, len(self._rows.matrix)))
        given = np.array(parents, np.int64)
        left, _, log_det, _ = changed_shares(matrix, child, given, np.zeros(len(matrix)), *nothing)
        return self._score.of(child, len(parents), left, log_det)


# Kernels


@njit(cache=True, nogil=True)
def _advance(state, job, rows, n_steps):
    """As `steps.advance`, again and again, with the rows scored in between."""
    for _ in range(n_steps):
        said = advance(state, job)
        if said <= 0:
            return said
        _rescore(state, rows, job.touched[:said])
    return PAUSED


@njit(cache=True, nogil=True)
def _rescore(state, rows, children):
    """As `Graph.rescore`."""
    for v in children:
        state.local[v] = _score_row(rows, v, state.parents[v, : state.n_parents[v]], state.deltas[v])
        state.stale[v], state.bound[v], state.fresh[v] = True, np.inf, True


@njit(cache=True, nogil=True)
def _score_row(rows, child, parents, row):
    """Fill row (n,) with the deltas of a child, and return the score of its family."""
    key = np.uint64(1) + arc_hash(child, child)
    for p in parents:
        key ^= arc_hash(p, child)
    place = np.int64(key & np.uint64(max(rows.seen.size, 1) - 1))
    if rows.seen.size > 0 and rows.seen[place] == key:
        row[:] = rows.seen_rows[place]
        return rows.seen_scores[place]
    after, own, after_off, own_off = np.empty(row.size), np.empty(row.size), np.empty(row.size), np.empty(row.size)
    shares = _shares(rows, child, parents)
    left, left_off, log_det, _ = changed_shares(rows.matrix, child, parents, shares, after, own, after_off, own_off)
    score_changes(
        rows.constants, rows.slopes, rows.determinant, parents, left, left_off, after, own, after_off, own_off, row
    )
    _apply_knowledge(rows, child, parents, row)
    k = parents.size
    score = rows.offset[child] + rows.constants[k] - rows.slopes[k] * log_share(left) - rows.determinant * log_det
    if rows.seen.size > 0:
        rows.seen[place], rows.seen_scores[place], rows.seen_rows[place] = key, score, row
    return score


@njit(cache=True, nogil=True)
def _shares(rows, child, parents):
    """What is left of each variable given the parents, brought up to date from what is known."""
    given, shares, n_known = rows.given[child], rows.shares[child], 0
    order = np.empty(parents.size, np.int64)
    for p in parents:
        if has(rows.given, child, p):
            order[n_known] = p
            n_known += 1
    total = np.uint64(0)
    for w in range(given.size):
        total += popcount(given[w])
    if n_known < np.int64(total):
        given[:], shares[:], n_known = np.uint64(0), 1.0, 0
    if n_known < parents.size:
        end = n_known
        for p in parents:
            if not has(rows.given, child, p):
                order[end] = p
                end += 1
        for p in order[n_known:]:
            given[p >> 6] |= np.uint64(1) << np.uint64(p & 63)
        follow_parents(rows.matrix, order, n_known, shares)
    return shares


@njit(cache=True, nogil=True)
def _apply_knowledge(rows, child, parents, row):
    """What may not come, and what may not go."""
    if rows.forbidden.size > 0:
        row[rows.forbidden[child]] = -np.inf
    keep = row[parents].copy()
    if rows.constant[child]:
        row[:] = -np.inf
    else:
        row[rows.constant] = -np.inf
    for i in range(parents.size):
        fixed = rows.required.size > 0 and rows.required[child, parents[i]]
        row[parents[i]] = -np.inf if fixed else keep[i]
