"""Conjunctions of conditions "variable = state": the features of log-linear models, in flat arrays.

A feature holds in a row where all of its conditions do. Conditions of a feature are kept by column, no column twice,
so that equal features have equal arrays and can be told apart or joined by sorting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from quiltwork.data.bits import count_ones, full_plane
from quiltwork.data.dataset import Dataset

Condition = tuple[int, int]  # column, state


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """Many conjunctions.

    first_condition  (n + 1,): the conditions of feature f are first_condition[f]:first_condition[f + 1]
    columns, states  (n_conditions,) which variable is in which state; the columns of a feature ascend

    >>> rain_and_wet = Conjunctions.of([[(1, 1), (0, 1)], [(0, 1)]])
    >>> rain_and_wet.first_condition, rain_and_wet.columns
    (array([0, 2, 3]), array([0, 1, 0]))
    >>> list(rain_and_wet)
    [((0, 1), (1, 1)), ((0, 1),)]
    """

    first_condition: np.ndarray
    columns: np.ndarray
    states: np.ndarray

    @classmethod
    def of(cls, features: Iterable[Iterable[Condition]]) -> Conjunctions:
        """From lists of (column, state) pairs, put in order of the columns."""
        ordered = [sorted(feature) for feature in features]
        pairs = np.array([pair for feature in ordered for pair in feature], np.int64).reshape(-1, 2)
        first = np.cumsum([0, *map(len, ordered)], dtype=np.int64)
        return cls(first, pairs[:, 0].copy(), pairs[:, 1].copy())

    @property
    def lengths(self) -> np.ndarray:
        """Conditions of each feature, (n,)."""
        return np.diff(self.first_condition)

    @property
    def feature(self) -> np.ndarray:
        """The feature of each condition, (n_conditions,)."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def __len__(self) -> int:
        return len(self.first_condition) - 1

    def __iter__(self):  # type: ignore[no-untyped-def]
        pairs = list(zip(self.columns.tolist(), self.states.tolist(), strict=True))
        first = self.first_condition.tolist()
        return (tuple(pairs[first[f] : first[f + 1]]) for f in range(len(self)))

    def take(self, which: np.ndarray) -> Conjunctions:
        """Some of the features, by position or by mask."""
        chosen = np.arange(len(self))[which]
        lengths = self.lengths[chosen]
        first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        at = np.repeat(self.first_condition[chosen] - first[:-1], lengths) + np.arange(first[-1])
        return Conjunctions(first, self.columns[at], self.states[at])


def distinct(features: Sequence[Conjunctions]) -> tuple[Conjunctions, np.ndarray]:
    """All features once each, in the order in which they first appear; and which of them each given one is.

    >>> a, b = Conjunctions.of([[(0, 1)], [(1, 0)]]), Conjunctions.of([[(1, 0)], [(2, 0)]])
    >>> together, which = distinct([a, b])
    >>> list(together), which
    ([((0, 1),), ((1, 0),), ((2, 0),)], array([0, 1, 1, 2]))
    """
    lengths = np.concatenate([np.empty(0, np.int64), *(part.lengths for part in features)])
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = np.concatenate([np.empty(0, np.int64), *(part.columns for part in features)])
    states = np.concatenate([np.empty(0, np.int64), *(part.states for part in features)])
    together = Conjunctions(first, columns, states)
    group, n_groups = np.empty(len(lengths), np.int64), 0
    for length in np.unique(lengths):
        which = np.flatnonzero(lengths == length)
        at = first[which, None] + np.arange(length)
        rows = np.concatenate([columns[at], states[at]], axis=1)
        own = np.unique(rows, axis=0, return_inverse=True)[1].ravel() if length else np.zeros(len(which), np.int64)
        group[which] = n_groups + own
        n_groups += int(own.max()) + 1
    newest = np.full(n_groups, len(lengths))
    np.minimum.at(newest, group, np.arange(len(lengths)))
    place = np.empty(n_groups, np.int64)
    place[np.argsort(newest)] = np.arange(n_groups)
    return together.take(np.sort(newest)), place[group]


def count_holding(data: Dataset, features: Conjunctions) -> np.ndarray:
    """In how many rows (or how much weight of rows) each feature holds, (n,).

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> data = from_codes([Variable("a", (0, 1)), Variable("b", (0, 1))], [np.array([0, 1, 1]), np.array([0, 1, 0])])
    >>> count_holding(data, Conjunctions.of([[(0, 1)], [(0, 1), (1, 0)], []]))
    array([2., 1., 3.])
    """
    weights = np.empty(0) if data.weights is None else data.weights
    out = np.empty(len(features))
    columns = data.planes, data.first_plane, data.codes, data.code_row
    arrays = features.first_condition, features.columns, features.states
    at_a_time = max(1, 2**22 // max(1, data.n_samples // 64))
    for low in range(0, len(features), at_a_time):
        _count(*columns, data.n_samples, *arrays, low, min(low + at_a_time, len(features)), weights, out)
    return out


# Kernels


@njit(cache=True, nogil=True)
def _count(planes, first_plane, codes, code_row, n_samples, first, variable, state, low, high, weights, out):
    """Into out (features,) the weight of the rows in which each of the features low to high holds."""
    all_rows = full_plane(n_samples)
    for f in range(low, high):
        holds = all_rows.copy()
        for c in range(first[f], first[f + 1]):
            v, s = variable[c], state[c]
            if code_row[v] >= 0:
                column = codes[code_row[v]]
                for i in range(column.size):
                    if column[i] != s:
                        holds[i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))
            elif s > 0:
                holds &= planes[first_plane[v] + s - 1]
            else:
                for p in range(first_plane[v], first_plane[v + 1]):
                    holds &= ~planes[p]
        if weights.size == 0:
            out[f] = count_ones(holds)
            continue
        out[f] = 0.0
        for i in range(n_samples):
            if (holds[i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                out[f] += weights[i]
