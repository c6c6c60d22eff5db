"""Structure: who has which parents, as two flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Structure:
    """Parents (or neighbours) of every variable: those of v are indices[indptr[v]:indptr[v + 1]], ascending.

    >>> chain = Structure.from_parents([(), (0,), (1,)])
    >>> chain.parents(2), chain.n_arcs
    ((1,), 2)
    """

    indptr: np.ndarray
    indices: np.ndarray

    @classmethod
    def from_parents(cls, parents: Iterable[Iterable[int]]) -> Structure:
        sets = [sorted(set(map(int, p))) for p in parents]
        indptr = np.concatenate([[0], np.cumsum([len(p) for p in sets])]).astype(np.int64)
        return cls(indptr, np.array([p for one in sets for p in one], np.int64))

    @property
    def n_vars(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_arcs(self) -> int:
        return len(self.indices)

    def parents(self, v: int) -> tuple[int, ...]:
        return tuple(self.indices[self.indptr[v] : self.indptr[v + 1]].tolist())

    def children(self) -> list[list[int]]:
        out: list[list[int]] = [[] for _ in range(self.n_vars)]
        for v in range(self.n_vars):
            for p in self.parents(v):
                out[p].append(v)
        return out

    def arcs(self) -> list[tuple[int, int]]:
        """(parent, child) pairs, by child and then by parent."""
        return [(p, v) for v in range(self.n_vars) for p in self.parents(v)]

    def blanket(self, v: int, children: Sequence[Sequence[int]] | None = None) -> list[int]:
        """Parents, children and the children's other parents, ascending."""
        own = (children or self.children())[v]
        around = set(self.parents(v)) | set(own)
        for child in own:
            around.update(self.parents(child))
        return sorted(around - {v})

    def order(self) -> list[int] | None:
        """The variables with parents before children (lowest column first), or None if there is a cycle."""
        import heapq

        children = self.children()
        waiting = np.diff(self.indptr).tolist()
        ready = [v for v in range(self.n_vars) if waiting[v] == 0]
        out = []
        while ready:
            v = heapq.heappop(ready)
            out.append(v)
            for child in children[v]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    heapq.heappush(ready, child)
        return out if len(out) == self.n_vars else None
