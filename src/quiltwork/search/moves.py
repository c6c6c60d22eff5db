"""The kernels of a graph under search: which move is best, what a move changes, and how to come back.

Two things keep a step cheap when there are thousands of variables.

- Ancestors are bit sets, kept up to date: adding an arc ORs one set into those of the descendants;
  dropping one rebuilds only the descendants' sets. An arc u -> v is legal if v is no ancestor of u; the
  flip of u -> v is legal if no other parent of v descends from u.
- The best addition to each child is remembered. It is looked for again only if the child was scored anew, if its
  best has become illegal, or if a drop elsewhere may have made a better one legal and `bound`, the best delta
  regardless of legality, says that it could win. The deltas of the arcs that are there (`drop`, and `turn`, the
  addition that a flip makes of them) are kept beside the arcs, for looking each up in the large table would
  cost more than everything else.

Ties go to the child that comes first in `visit`, then to the lowest parent; an addition goes before a drop, a drop
before a flip. Scores closer than `TOLERANCE` count as equal, or float noise would decide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.bits import popcount

TOLERANCE = 1e-9
ADD, DROP, FLIP = 0, 1, 2
FIRST_ROOM = 8  # parents of a variable, and rows that are remembered; more when they are needed


class State(NamedTuple):
    """A graph, what every move would gain, and what it takes to come back. (Kernels know the fields by place.)

    deltas     (n, n) what adding u to the parents of v gains, or dropping it; -inf where knowledge forbids it
    local      (n,) scores of the families
    parents    (n, room) ascending, n_parents (n,) of them
    ancestors  (n, words) bit sets
    drop, turn (n, room) deltas of the arcs that are there: to drop it, to add it the other way round
    best, gain, bound  (n,) the best legal addition to each child, its delta, and the best delta of any
    stale      (n,) whether that must be looked for again
    fresh      (n,) scored since the last look for moves
    hash       (1,) a number that belongs to the set of arcs
    visit      (n,) the order in which children are looked at
    limit      (1,) most parents of a variable

    marked     (2,) whether changes are remembered, and how many children are
    place      (n,) where a child is remembered, -1 if it is not
    was_child, was_n_parents, was_local (rows,), was_parents (rows, room), was_deltas (rows, n): children, before
    was_*      of what is always remembered whole: ancestors, best, gain, bound, stale, hash
    """

    deltas: np.ndarray
    local: np.ndarray
    parents: np.ndarray
    n_parents: np.ndarray
    ancestors: np.ndarray
    drop: np.ndarray
    turn: np.ndarray
    best: np.ndarray
    gain: np.ndarray
    bound: np.ndarray
    stale: np.ndarray
    fresh: np.ndarray
    hash: np.ndarray
    visit: np.ndarray
    limit: np.ndarray
    marked: np.ndarray
    place: np.ndarray
    was_child: np.ndarray
    was_n_parents: np.ndarray
    was_local: np.ndarray
    was_parents: np.ndarray
    was_deltas: np.ndarray
    was_ancestors: np.ndarray
    was_best: np.ndarray
    was_gain: np.ndarray
    was_bound: np.ndarray
    was_stale: np.ndarray
    was_hash: np.ndarray

    @classmethod
    def of(cls, n: int, limit: int, most: int = 0) -> State:
        """A graph without arcs, nothing of it scored, with room for `most` parents of a variable at least."""
        words, room = (n + 63) // 64, max(FIRST_ROOM, most)
        floats, flags = (lambda *shape: np.zeros(shape)), (lambda *shape: np.zeros(shape, np.bool_))
        whole, bits = (lambda *shape: np.zeros(shape, np.int64)), (lambda *shape: np.zeros(shape, np.uint64))
        return cls(
            np.full((n, n), -np.inf), floats(n), whole(n, room), whole(n), bits(n, words), floats(n, room),
            floats(n, room), whole(n) - 1, floats(n), np.full(n, np.inf), ~flags(n), ~flags(n), bits(1), np.arange(n),
            np.array([limit]), whole(2), whole(n) - 1, whole(room), whole(room), floats(room), whole(room, room),
            floats(room, n), bits(n, words), whole(n), floats(n), floats(n), flags(n), bits(1),
        )  # fmt: skip

    def with_more_room(self) -> State:
        """The same with room for twice as many parents, or remembered children, whichever there are too few of."""
        more = {}
        if self.n_parents.max() == self.parents.shape[1]:
            more = {name: _twice(getattr(self, name), 1) for name in ("parents", "drop", "turn", "was_parents")}
        wider = self._replace(**more)
        if self.marked[1] + 2 <= len(self.was_child):
            return wider
        remembered = ("was_child", "was_n_parents", "was_local", "was_parents", "was_deltas")
        return wider._replace(**{name: _twice(getattr(wider, name), 0) for name in remembered})


def _twice(array: np.ndarray, axis: int) -> np.ndarray:
    return np.concatenate([array, np.zeros_like(array)], axis=axis)


# Which move is best


@njit(cache=True, nogil=True)
def best_move(state, tabu):
    """kind, parent, child and delta of the best legal move that leads to no graph in `tabu`; kind -1: none."""
    parents, n_parents, best, gain, bound = state.parents, state.n_parents, state.best, state.gain, state.bound
    drop, turn, graph_hash = state.drop, state.turn, state.hash[0]
    kind, parent, child, top = -1, -1, -1, -np.inf
    for v in state.visit:
        if n_parents[v] >= state.limit[0] or (bound[v] if state.stale[v] else gain[v]) <= top + TOLERANCE:
            continue
        if state.stale[v] or has(state.ancestors, best[v], v):
            best[v], gain[v], bound[v] = _best_addition(state, v, tabu[:0])
            state.stale[v] = False
        u, delta = best[v], gain[v]
        if u >= 0 and delta > top + TOLERANCE and _is_in(graph_hash ^ arc_hash(u, v), tabu):
            u, delta, _ = _best_addition(state, v, tabu)
        if u >= 0 and delta > top + TOLERANCE:
            kind, parent, child, top = ADD, u, v, delta
    for v in state.visit:
        for k in range(n_parents[v]):
            u = parents[v, k]
            if state.fresh[v] or state.fresh[u]:
                drop[v, k], turn[v, k] = state.deltas[v, u], state.deltas[u, v]
            flip = drop[v, k] + turn[v, k]
            if max(drop[v, k], flip) <= top + TOLERANCE:
                continue
            without = graph_hash ^ arc_hash(u, v)
            if drop[v, k] > top + TOLERANCE and not _is_in(without, tabu):
                kind, parent, child, top = DROP, u, v, drop[v, k]
            open_ = flip > top + TOLERANCE and n_parents[u] < state.limit[0]
            if open_ and not _is_in(without ^ arc_hash(v, u), tabu) and flip_is_acyclic(state, u, v):
                kind, parent, child, top = FLIP, u, v, flip
    state.fresh[:] = False
    return kind, parent, child, top


@njit(cache=True, nogil=True)
def _best_addition(state, v, tabu):
    """The best legal new parent of v (or -1), its delta, and the best delta of any u that is not adjacent to v."""
    parents, n_parents, graph_hash = state.parents, state.n_parents, state.hash[0]
    best, top, bound = -1, -np.inf, -np.inf
    for u in range(n_parents.size):
        delta = state.deltas[v, u]
        if delta <= top + TOLERANCE and delta <= bound:
            continue
        if _is_in(u, parents[v, : n_parents[v]]) or _is_in(v, parents[u, : n_parents[u]]):
            continue
        bound = max(bound, delta)
        closed = has(state.ancestors, u, v) or _is_in(graph_hash ^ arc_hash(u, v), tabu)
        if delta > top + TOLERANCE and not closed:
            best, top = u, delta
    return best, top, bound


@njit(cache=True, nogil=True)
def is_legal(state, kind, parent, child):
    """Whether a move keeps the graph acyclic, within the limit on parents and within what knowledge allows."""
    if state.deltas[child, parent] == -np.inf:
        return False
    if kind == ADD:
        return state.n_parents[child] < state.limit[0] and not has(state.ancestors, parent, child)
    if kind == DROP:
        return True
    open_ = state.deltas[parent, child] > -np.inf and state.n_parents[parent] < state.limit[0]
    return open_ and flip_is_acyclic(state, parent, child)


@njit(cache=True, nogil=True)
def legal_moves(state):
    """(m, 3) kind, parent and child of every legal move."""
    found = []
    for child in range(state.n_parents.size):
        own = state.parents[child, : state.n_parents[child]]
        for parent in range(state.n_parents.size):
            is_arc = (own == parent).any()
            for kind in (ADD, DROP, FLIP):
                if parent != child and is_arc == (kind != ADD) and is_legal(state, kind, parent, child):
                    found.append((kind, parent, child))
    return np.array(found).reshape(-1, 3) if found else np.empty((0, 3), np.int64)


@njit(cache=True, nogil=True)
def flip_is_acyclic(state, parent, child):
    """No way from parent to child but the arc itself."""
    for k in range(state.n_parents[child]):
        other = state.parents[child, k]
        if other != parent and has(state.ancestors, other, parent):
            return False
    return True


@njit(cache=True, nogil=True)
def friends(deltas):
    """How much each child has to gain from all others: the sum of the roots of its positive deltas."""
    out = np.zeros(deltas.shape[0])
    for v in range(deltas.shape[0]):
        for u in range(deltas.shape[1]):
            if deltas[v, u] > 0.0:
                out[v] += np.sqrt(deltas[v, u])
    return out


# What a move changes


@njit(cache=True, nogil=True)
def has_room(state, kind, parent, child):
    """Whether there is room for the parent that the move adds, and for what it makes to be remembered."""
    gets_one = child if kind == ADD else parent
    if kind != DROP and state.n_parents[gets_one] == state.parents.shape[1]:
        return False
    return state.marked[0] == 0 or state.marked[1] + 2 <= state.was_child.size


@njit(cache=True, nogil=True)
def change(state, kind, parent, child):
    """Make a legal move for which there is room; ancestors, hash and the remembered additions follow."""
    parents, n_parents, ancestors = state.parents, state.n_parents, state.ancestors
    if state.marked[0]:
        _remember(state, child)
        if kind == FLIP:
            _remember(state, parent)
    if kind != ADD:
        # What was illegal because of this arc may be legal now: additions to the parent and to its ancestors.
        for v in range(n_parents.size):
            if v == parent or has(ancestors, parent, v):
                state.stale[v] = True
        state.bound[parent] = np.inf  # child and parent are adjacent no more
        state.hash[0] ^= arc_hash(parent, child)
        k = 0
        while parents[child, k] != parent:
            k += 1
        for later in range(k + 1, n_parents[child]):
            parents[child, later - 1] = parents[child, later]
        n_parents[child] -= 1
        _drop_ancestors(parents, n_parents, ancestors, child)
    if kind == FLIP:
        parent, child = child, parent
    if kind != DROP:
        state.hash[0] ^= arc_hash(parent, child)
        k = n_parents[child]
        while k > 0 and parents[child, k - 1] > parent:
            parents[child, k] = parents[child, k - 1]
            k -= 1
        parents[child, k] = parent
        n_parents[child] += 1
        _add_ancestors(ancestors, parent, child)


@njit(cache=True, nogil=True)
def add_arcs(state, arcs):
    """Add arcs (m, 2), parent and child, for which there is room."""
    for i in range(arcs.shape[0]):
        change(state, ADD, arcs[i, 0], arcs[i, 1])


@njit(cache=True, nogil=True)
def _add_ancestors(ancestors, parent, child):
    """child and its descendants gain parent and the ancestors of parent."""
    word, bit = parent >> 6, np.uint64(1) << np.uint64(parent & 63)
    for v in range(ancestors.shape[0]):
        if v == child or has(ancestors, v, child):
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
        if v == child or has(ancestors, v, child):
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


# How to come back


@njit(cache=True, nogil=True)
def mark(state):
    """From here on remember enough to come back by `revert`."""
    _forget(state)
    state.marked[0] = 1
    state.was_hash[:], state.was_ancestors[:] = state.hash, state.ancestors
    state.was_best[:], state.was_gain[:] = state.best, state.gain
    state.was_bound[:], state.was_stale[:] = state.bound, state.stale


@njit(cache=True, nogil=True)
def unmark(state):
    """Remember nothing any more."""
    _forget(state)
    state.marked[0] = 0


@njit(cache=True, nogil=True)
def revert(state):
    """Back to where `mark` was called; it stays marked."""
    for i in range(state.marked[1]):
        v = state.was_child[i]
        state.n_parents[v] = state.was_n_parents[i]
        state.parents[v], state.deltas[v] = state.was_parents[i], state.was_deltas[i]
        state.local[v], state.fresh[v] = state.was_local[i], True
    _forget(state)
    state.hash[:], state.ancestors[:] = state.was_hash, state.was_ancestors
    state.best[:], state.gain[:] = state.was_best, state.was_gain
    state.bound[:], state.stale[:] = state.was_bound, state.was_stale


@njit(cache=True, nogil=True)
def gain_since_mark(state):
    """Change of the total score."""
    total = 0.0
    for i in range(state.marked[1]):
        total += state.local[state.was_child[i]] - state.was_local[i]
    return total


@njit(cache=True, nogil=True)
def _remember(state, v):
    if state.place[v] >= 0:
        return
    i = state.marked[1]
    state.was_child[i], state.was_n_parents[i], state.was_local[i] = v, state.n_parents[v], state.local[v]
    state.was_parents[i], state.was_deltas[i] = state.parents[v], state.deltas[v]
    state.place[v] = i
    state.marked[1] = i + 1


@njit(cache=True, nogil=True)
def _forget(state):
    for i in range(state.marked[1]):
        state.place[state.was_child[i]] = -1
    state.marked[1] = 0


# Sets and hashes


@njit(cache=True, nogil=True)
def has(ancestors, v, ancestor):
    return (ancestors[v, ancestor >> 6] >> np.uint64(ancestor & 63)) & np.uint64(1) != 0


@njit(cache=True, nogil=True)
def arc_hash(parent, child):
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
