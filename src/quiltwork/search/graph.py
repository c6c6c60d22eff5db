"""A directed acyclic graph under search: its arcs, who is whose ancestor, and what every move would gain.

`deltas[v, u]` is the gain of adding u to the parents of v, or of dropping it where it is one already; the gain
of a flip is the sum of a drop and an add. A move that knowledge forbids has the delta -inf. Only the
rows of the children that a move touches are scored anew.

Two things keep a step cheap when there are thousands of variables.

- Ancestors are bit sets, kept up to date: adding an arc ORs one set into those of the descendants;
  dropping one rebuilds only the descendants' sets. An arc u -> v is legal if v is no ancestor of u; the
  flip of u -> v is legal if no other parent of v descends from u.
- The best addition to each child is remembered. It is looked for again only if the child was scored anew, if its
  best has become illegal, or if a drop elsewhere may have made a better one legal and `bound`, the best delta
  regardless of legality, says that it could win. The deltas of the arcs that are there (`drop`, and `turn`, the
  addition that a flip makes of them) are kept beside the arcs, for looking each up in the large table would
  cost more than everything else.

Ties go to the child that `settle_ties` prefers (else the lowest), then to the lowest parent; an addition goes before
a drop, a drop before a flip.
Scores closer than `TOLERANCE` count as equal, or float noise would decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.bits import popcount

TOLERANCE = 1e-9
ADD, DROP, FLIP = 0, 1, 2


class Move(NamedTuple):
    """Add, drop or flip the arc parent -> child (named as it is before the move)."""

    kind: int
    parent: int
    child: int
    delta: float


# Fills row[:] with the deltas of a child with these parents, and returns the score of that family.
Scorer = Callable[[int, tuple[int, ...], np.ndarray], float]


class Graph:
    """Mutable state of a search. `local[v]` is the score of v's family, `total` the sum of them."""

    def __init__(self, n_vars: int, scorer: Scorer, parents: Iterable[tuple[int, ...]], max_parents: int | None):
        self.n_vars = n_vars
        self.max_parents = n_vars if max_parents is None else max_parents
        self.local = np.zeros(n_vars)
        self._scorer = scorer
        self._deltas = np.full((n_vars, n_vars), -np.inf)
        self._parents = np.zeros((n_vars, 8), np.int64)  # ascending; grows when a variable gets more
        self._n_parents = np.zeros(n_vars, np.int64)
        self._ancestors = np.zeros((n_vars, (n_vars + 63) // 64), np.uint64)
        self._drop = np.zeros((n_vars, 8))
        self._turn = np.zeros((n_vars, 8))
        self._best = np.full(n_vars, -1, np.int64)
        self._gain = np.zeros(n_vars)
        self._bound = np.full(n_vars, np.inf)
        self._stale = np.ones(n_vars, np.bool_)
        self._fresh = np.ones(n_vars, np.bool_)  # scored since the last look for moves
        self._hash = np.zeros(1, np.uint64)
        self._visit = np.arange(n_vars)
        self._undo: dict[int, tuple[tuple[int, ...], float, np.ndarray]] | None = None
        for child, own in enumerate(parents):
            for parent in own:
                self.change(Move(ADD, parent, child, 0.0))

    @property
    def total(self) -> float:
        return float(self.local.sum())

    @property
    def hash(self) -> np.uint64:
        """A number that belongs to this set of arcs: two graphs with the same arcs have the same one."""
        return self._hash[0]

    def parents(self, child: int) -> tuple[int, ...]:
        return tuple(self._parents[child, : self._n_parents[child]].tolist())

    def all_parents(self) -> list[tuple[int, ...]]:
        return [self.parents(v) for v in range(self.n_vars)]

    def arcs(self) -> np.ndarray:
        """(n_arcs, 2) parent and child, by child and then by parent."""
        filled = np.arange(self._parents.shape[1]) < self._n_parents[:, None]
        return np.column_stack([self._parents[filled], np.repeat(np.arange(self.n_vars), self._n_parents)])

    def delta(self, child: int, parent: int) -> float:
        """What adding parent to the parents of child, or dropping it from them, would gain."""
        return float(self._deltas[child, parent])

    def is_legal(self, move: Move) -> bool:
        """Whether the move keeps the graph acyclic, within the limit on parents and within what knowledge allows."""
        if self._deltas[move.child, move.parent] == -np.inf:
            return False
        if move.kind == ADD:
            room = self._n_parents[move.child] < self.max_parents
            return bool(room and not _has(self._ancestors, move.parent, move.child))
        if move.kind == DROP:
            return True
        return bool(
            self._deltas[move.parent, move.child] > -np.inf
            and self._n_parents[move.parent] < self.max_parents
            and _flip_is_legal(self._parents, self._n_parents, self._ancestors, move.parent, move.child)
        )

    def best_move(self, tabu: np.ndarray | None = None) -> Move | None:
        """The legal move with the largest delta whose graph is not in `tabu`; None if there is none."""
        kind, parent, child, delta = _best_move(
            self._visit, self._deltas, self._parents, self._n_parents, self._ancestors, self._drop, self._turn,
            self._best, self._gain, self._bound, self._stale, self._fresh,
            self.max_parents, self.hash, _NO_TABU if tabu is None else tabu,
        )  # fmt: skip
        return None if kind < 0 else Move(kind, parent, child, delta)

    def change(self, move: Move) -> tuple[int, ...]:
        """Make a legal move; returns the children whose rows must be scored before the next look for moves."""
        touched = (move.child, move.parent) if move.kind == FLIP else (move.child,)
        if self._undo is not None:
            for v in touched:
                if v not in self._undo:
                    self._undo[v] = (self.parents(v), float(self.local[v]), self._deltas[v].copy())
        if self._n_parents[touched[-1]] == self._parents.shape[1]:
            self._parents = np.hstack([self._parents, np.zeros_like(self._parents)])
            self._drop = np.hstack([self._drop, np.zeros_like(self._drop)])
            self._turn = np.hstack([self._turn, np.zeros_like(self._turn)])
        _change(
            self._parents, self._n_parents, self._ancestors, self._bound, self._stale, self._hash,
            move.kind, move.parent, move.child,
        )  # fmt: skip
        return touched

    def rescore(self, children: Iterable[int]) -> None:
        """Score the families of these children, and all moves that touch them, anew."""
        for v in children:
            self.local[v] = self._scorer(v, self.parents(v), self._deltas[v])
            self._stale[v], self._bound[v], self._fresh[v] = True, np.inf, True

    def settle_ties(self, n_states: np.ndarray) -> None:
        """Of moves that score the same, prefer the child with more states, then the one with less to gain from others.

        x -> y and y -> x score the same at first, and what is chosen decides which moves come later. A child of many
        states, or one that few others explain, has the least to lose by its first parent.
        """
        self._visit = np.lexsort([_friends(self._deltas), -n_states])

    def mark(self) -> None:
        """From here on remember enough to come back by `revert`."""
        self._undo = {}
        kept = (self._ancestors, self._best, self._gain, self._bound, self._stale)
        self._marked = (self.hash, kept, [array.copy() for array in kept])

    def unmark(self) -> None:
        """Remember nothing any more."""
        self._undo = None

    def gain_since_mark(self) -> float:
        """Change of the total score since `mark`."""
        assert self._undo is not None
        return float(sum(self.local[v] - before for v, (_, before, _) in sorted(self._undo.items())))

    def revert(self) -> None:
        """Back to where `mark` was called."""
        assert self._undo is not None
        for v, (parents, local, deltas) in self._undo.items():
            self._n_parents[v] = len(parents)
            self._parents[v, : len(parents)] = parents
            self.local[v], self._deltas[v], self._fresh[v] = local, deltas, True
        self._undo = {}
        self._hash[0], kept, copies = self._marked
        for array, copy in zip(kept, copies, strict=True):
            array[:] = copy


_NO_TABU = np.empty(0, np.uint64)


# Kernels: which move is best, and what a move changes


@njit(cache=True, nogil=True)
def _friends(deltas):
    """How much each child has to gain from all others: the sum of the roots of its positive deltas."""
    out = np.zeros(deltas.shape[0])
    for v in range(deltas.shape[0]):
        for u in range(deltas.shape[1]):
            if deltas[v, u] > 0.0:
                out[v] += np.sqrt(deltas[v, u])
    return out


@njit(cache=True, nogil=True)
def _best_move(
    visit,
    deltas,
    parents,
    n_parents,
    ancestors,
    drop,
    turn,
    best,
    gain,
    bound,
    stale,
    fresh,
    max_parents,
    graph_hash,
    tabu,
):
    """kind, parent, child and delta of the best legal move that leads to no graph in `tabu`; kind -1: none."""
    kind, parent, child, top = -1, -1, -1, -np.inf
    for v in visit:
        if n_parents[v] >= max_parents or (bound[v] if stale[v] else gain[v]) <= top + TOLERANCE:
            continue
        if stale[v] or _has(ancestors, best[v], v):
            best[v], gain[v], bound[v] = _best_addition(deltas, parents, n_parents, ancestors, v, graph_hash, tabu[:0])
            stale[v] = False
        u, delta = best[v], gain[v]
        if u >= 0 and delta > top + TOLERANCE and _is_in(graph_hash ^ _arc_hash(u, v), tabu):
            u, delta, _ = _best_addition(deltas, parents, n_parents, ancestors, v, graph_hash, tabu)
        if u >= 0 and delta > top + TOLERANCE:
            kind, parent, child, top = ADD, u, v, delta
    for v in visit:
        for k in range(n_parents[v]):
            u = parents[v, k]
            if fresh[v] or fresh[u]:
                drop[v, k], turn[v, k] = deltas[v, u], deltas[u, v]
            flip = drop[v, k] + turn[v, k]
            if max(drop[v, k], flip) <= top + TOLERANCE:
                continue
            without = graph_hash ^ _arc_hash(u, v)
            if drop[v, k] > top + TOLERANCE and not _is_in(without, tabu):
                kind, parent, child, top = DROP, u, v, drop[v, k]
            open_ = (
                flip > top + TOLERANCE and n_parents[u] < max_parents and not _is_in(without ^ _arc_hash(v, u), tabu)
            )
            if open_ and _flip_is_legal(parents, n_parents, ancestors, u, v):
                kind, parent, child, top = FLIP, u, v, flip
    fresh[:] = False
    return kind, parent, child, top


@njit(cache=True, nogil=True)
def _best_addition(deltas, parents, n_parents, ancestors, v, graph_hash, tabu):
    """The best legal new parent of v (or -1), its delta, and the best delta of any u that is not adjacent to v."""
    best, top, bound = -1, -np.inf, -np.inf
    for u in range(n_parents.size):
        delta = deltas[v, u]
        if delta <= top + TOLERANCE and delta <= bound:
            continue
        if _is_in(u, parents[v, : n_parents[v]]) or _is_in(v, parents[u, : n_parents[u]]):
            continue
        bound = max(bound, delta)
        if delta > top + TOLERANCE and not _has(ancestors, u, v) and not _is_in(graph_hash ^ _arc_hash(u, v), tabu):
            best, top = u, delta
    return best, top, bound


@njit(cache=True, nogil=True)
def _flip_is_legal(parents, n_parents, ancestors, parent, child):
    """No way from parent to child but the arc itself."""
    for k in range(n_parents[child]):
        if parents[child, k] != parent and _has(ancestors, parents[child, k], parent):
            return False
    return True


@njit(cache=True, nogil=True)
def _change(parents, n_parents, ancestors, bound, stale, graph_hash, kind, parent, child):
    """Make the move and bring ancestors, hash and the remembered additions up to date."""
    if kind != ADD:
        # What was illegal because of this arc may be legal now: additions to the parent and to its ancestors.
        for v in range(n_parents.size):
            if v == parent or _has(ancestors, parent, v):
                stale[v] = True
        bound[parent] = np.inf  # child and parent are adjacent no more
        graph_hash[0] ^= _arc_hash(parent, child)
        k = 0
        while parents[child, k] != parent:
            k += 1
        parents[child, k : n_parents[child] - 1] = parents[child, k + 1 : n_parents[child]].copy()
        n_parents[child] -= 1
        _drop_ancestors(parents, n_parents, ancestors, child)
    if kind == FLIP:
        parent, child = child, parent
    if kind != DROP:
        graph_hash[0] ^= _arc_hash(parent, child)
        k = n_parents[child]
        while k > 0 and parents[child, k - 1] > parent:
            parents[child, k] = parents[child, k - 1]
            k -= 1
        parents[child, k] = parent
        n_parents[child] += 1
        _add_ancestors(ancestors, parent, child)


@njit(cache=True, nogil=True)
def _add_ancestors(ancestors, parent, child):
    """child and its descendants gain parent and the ancestors of parent."""
    word, bit = parent >> 6, np.uint64(1) << np.uint64(parent & 63)
    for v in range(ancestors.shape[0]):
        if v == child or _has(ancestors, v, child):
            for w in range(ancestors.shape[1]):
                ancestors[v, w] |= ancestors[parent, w]
            ancestors[v, word] |= bit


@njit(cache=True, nogil=True)
def _drop_ancestors(parents, n_parents, ancestors, child):
    """Rebuild the sets of child and its descendants after an arc into child went.

    A variable has more ancestors than each of its own ancestors, so the old counts give an order to rebuild in.
    """
    n_vars, n_words = ancestors.shape
    below = np.empty(n_vars, np.int64)
    size = np.empty(n_vars, np.int64)
    n_below = 0
    for v in range(n_vars):
        if v == child or _has(ancestors, v, child):
            count = np.uint64(0)
            for w in range(n_words):
                count += popcount(ancestors[v, w])
            below[n_below], size[n_below] = v, np.int64(count)
            n_below += 1
    for i in np.argsort(size[:n_below], kind="mergesort"):
        v = below[i]
        ancestors[v] = 0
        for k in range(n_parents[v]):
            p = parents[v, k]
            for w in range(n_words):
                ancestors[v, w] |= ancestors[p, w]
            ancestors[v, p >> 6] |= np.uint64(1) << np.uint64(p & 63)


@njit(cache=True, nogil=True)
def _has(ancestors, v, ancestor):
    return (ancestors[v, ancestor >> 6] >> np.uint64(ancestor & 63)) & np.uint64(1) != 0


@njit(cache=True, nogil=True)
def _arc_hash(parent, child):
    """A 64-bit number that belongs to an arc (splitmix64 of its two ends)."""
    x = (np.uint64(parent) << np.uint64(32)) + np.uint64(child) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def _is_in(value, values):
    for i in range(values.size):  # noqa: SIM110
        if values[i] == value:
            return True
    return False
