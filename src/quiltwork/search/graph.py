"""A directed acyclic graph under search: its arcs, what every move would gain, and the ways to move.

`delta(v, u)` is the gain of adding u to the parents of v, or of dropping it where it is one already; the gain
of a flip is the sum of a drop and an add. A move that knowledge forbids has the delta -inf. Only the
rows of the children that a move touches are scored anew. How that is kept fast is told in `search.moves`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from quiltwork.search import moves
from quiltwork.search.moves import ADD, DROP, FLIP, TOLERANCE, State
from quiltwork.search.steps import FINISHED, NEEDS_ROOM, NO_TABU, Job, advance

__all__ = ["ADD", "DROP", "FLIP", "TOLERANCE", "Graph", "Move", "Scorer"]


class Move(NamedTuple):
    """Add, drop or flip the arc parent -> child (named as it is before the move)."""

    kind: int
    parent: int
    child: int
    delta: float


# Fills row[:] with the deltas of a child with these parents, and returns the score of that family. One with a method
# `advance(state, job)` takes a whole search on by itself, as `steps.advance` does up to the first row to be scored.
Scorer = Callable[[int, tuple[int, ...], np.ndarray], float]


class Graph:
    """Mutable state of a search."""

    def __init__(self, n_vars: int, scorer: Scorer, parents: Iterable[tuple[int, ...]], max_parents: int | None):
        self.n_vars = n_vars
        self._scorer = scorer
        families = list(parents)
        limit = n_vars if max_parents is None else max_parents
        self.state = State.of(n_vars, limit, max(map(len, families), default=0))
        arcs = [(parent, child) for child, own in enumerate(families) for parent in own]
        moves.add_arcs(self.state, np.array(arcs, np.int64).reshape(-1, 2))

    @property
    def local(self) -> np.ndarray:
        """(n_vars,) the scores of the families."""
        return self.state.local

    @property
    def total(self) -> float:
        return float(self.state.local.sum())

    @property
    def hash(self) -> np.uint64:
        """A number that belongs to this set of arcs: two graphs with the same arcs have the same one."""
        return self.state.hash[0]

    def parents(self, child: int) -> tuple[int, ...]:
        return tuple(self.state.parents[child, : self.state.n_parents[child]].tolist())

    def all_parents(self) -> list[tuple[int, ...]]:
        return [self.parents(v) for v in range(self.n_vars)]

    def arcs(self) -> np.ndarray:
        """(n_arcs, 2) parent and child, by child and then by parent."""
        parents, n_parents = self.state.parents, self.state.n_parents
        filled = np.arange(parents.shape[1]) < n_parents[:, None]
        return np.column_stack([parents[filled], np.repeat(np.arange(self.n_vars), n_parents)])

    def delta(self, child: int, parent: int) -> float:
        """What adding parent to the parents of child, or dropping it from them, would gain."""
        return float(self.state.deltas[child, parent])

    # One move after the other

    def is_legal(self, move: Move) -> bool:
        """Whether the move keeps the graph acyclic, within the limit on parents and within what knowledge allows."""
        return bool(moves.is_legal(self.state, move.kind, move.parent, move.child))

    def legal_moves(self) -> list[Move]:
        return [Move(kind, parent, child, 0.0) for kind, parent, child in moves.legal_moves(self.state).tolist()]

    def best_move(self, tabu: np.ndarray | None = None) -> Move | None:
        """The legal move with the largest delta whose graph is not in `tabu`; None if there is none."""
        kind, parent, child, delta = moves.best_move(self.state, NO_TABU if tabu is None else tabu)
        return None if kind < 0 else Move(kind, parent, child, delta)

    def change(self, move: Move) -> tuple[int, ...]:
        """Make a legal move; returns the children whose rows must be scored before the next look for moves."""
        while not moves.has_room(self.state, move.kind, move.parent, move.child):
            self.state = self.state.with_more_room()
        moves.change(self.state, move.kind, move.parent, move.child)
        return (move.child, move.parent) if move.kind == FLIP else (move.child,)

    def rescore(self, children: Iterable[int]) -> None:
        """Score the families of these children, and all moves that touch them, anew."""
        state = self.state
        for v in children:
            state.local[v] = self._scorer(v, self.parents(v), state.deltas[v])
            state.stale[v], state.bound[v], state.fresh[v] = True, np.inf, True

    def settle_ties(self, n_states: np.ndarray) -> None:
        """Of moves that score the same, prefer the child with more states, then the one with less to gain from others.

        x -> y and y -> x score the same at first, and what is chosen decides which moves come later. A child of many
        states, or one that few others explain, has the least to lose by its first parent.
        """
        self.state.visit[:] = np.lexsort([moves.friends(self.state.deltas), -n_states])

    def mark(self) -> None:
        """From here on remember enough to come back by `revert`."""
        moves.mark(self.state)

    def revert(self) -> None:
        """Back to where `mark` was called."""
        moves.revert(self.state)

    # A whole search

    def job(self, kind: int, dice: np.ndarray | None = None, most: int = 0) -> Job:
        """A search from here on, of one of the kinds in `search.steps`."""
        return Job.of(kind, self.state, dice, most)

    @property
    def runs_by_itself(self) -> bool:
        """Whether the scorer takes a search on without coming back for every row."""
        return hasattr(self._scorer, "advance")

    def go_on(self, job: Job) -> bool:
        """Take a search on by some moves; whether there is more of it."""
        said = getattr(self._scorer, "advance", advance)(self.state, job)
        if said == NEEDS_ROOM:
            self.state = self.state.with_more_room()
        if said > 0:
            self.rescore(job.touched[:said].tolist())
        return said != FINISHED
