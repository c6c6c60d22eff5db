"""What every scorer of moves shares: what is known beforehand, and a memory of families seen.

`search.graph.Graph` asks a scorer for one row at a time: what adding or removing each variable as a parent of one child
would be worth. How a row is filled is the business of `search.deltas` (states) and `search.gaussian_deltas` (numbers).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quiltwork.search.graph import Graph

_REMEMBERED_BYTES = 256 * 2**20


class Scorer:
    """Knowledge and memory.

    constant   columns that never vary: an arc from or to one says nothing, and never comes
    forbidden  (n_vars, n_vars) bool [child, parent]: arcs that may never be there, or None
    required   arcs (parent, child) that may never go
    """

    def __init__(self, constant: np.ndarray, forbidden: np.ndarray | None, required: tuple[tuple[int, int], ...]):
        self._constant, self._forbidden = constant, forbidden
        self._required: dict[int, list[int]] = {}
        for parent, child in required:
            self._required.setdefault(child, []).append(parent)
        self._seen: dict[tuple[int, tuple[int, ...]], tuple[float, np.ndarray]] | None = None

    def remember(self) -> None:
        """Keep the rows of families from now on, within a bound on memory."""
        self._seen = {}

    def __call__(self, child: int, parents: tuple[int, ...], row: np.ndarray) -> float:
        """Fill the child's row; returns the score of its family as it is."""
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
        raise NotImplementedError

    def _fill(self, child: int, parents: tuple[int, ...], row: np.ndarray) -> float:
        raise NotImplementedError

    def _apply_knowledge(self, child: int, parents: tuple[int, ...], row: np.ndarray) -> None:
        if self._forbidden is not None:
            row[self._forbidden[child]] = -np.inf
        if len(self._constant):
            self._only_removals(parents, row, slice(None) if child in self._constant else self._constant)
        for parent in self._required.get(child, ()):
            if parent in parents:
                row[parent] = -np.inf

    @staticmethod
    def _only_removals(parents: tuple[int, ...], row: np.ndarray, which: np.ndarray | slice) -> None:
        """None of these may come; those that are parents may go."""
        keep = row[list(parents)]
        row[which] = -np.inf
        row[list(parents)] = keep


# Arcs by what they are worth


def arc_strengths(graph: Graph, scorer: Scorer) -> np.ndarray:
    """What the score would lose without each arc. An arc that may not go has no delta; its families are scored."""
    arcs = graph.arcs()
    strengths = -graph.state.deltas[arcs[:, 1], arcs[:, 0]]
    for k in np.flatnonzero(strengths == np.inf).tolist():
        parent, child = arcs[k].tolist()
        without = tuple(p for p in graph.parents(child) if p != parent)
        strengths[k] = graph.local[child] - scorer.family(child, without)
    return strengths


def strongest_first(names: Sequence[str], graph: Graph, strengths: np.ndarray) -> list[tuple[str, str, float]]:
    """(parent, child, strength) of every arc, by names."""
    order = np.argsort(-strengths, kind="stable")
    arcs = graph.arcs()[order].tolist()
    return [(names[p], names[c], strength) for (p, c), strength in zip(arcs, strengths[order].tolist(), strict=True)]
