"""Which configurations a leaf has, and how many rows a prior expects there.

The path to a leaf narrows the states that variables can be in: a *box*. A leaf of a graph, to which several paths lead,
has several. Under a prior network a leaf expects as many rows as its boxes are probable there.

Paper  Chickering, Heckerman, Meek (1997), section 3
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quiltwork.stats.leaves import LeafArrays

# The states that each of some variables may take: a set of configurations.
Box = dict[int, frozenset[int]]

# Prior counts of a target in a box, laid out as leaf counts are (states of the target, entries + 1).
Prior = Callable[[int, Box], np.ndarray]


def narrowed(boxes: list[Box], v: int, states: frozenset[int], everything: frozenset[int]) -> list[Box]:
    """The boxes cut down to some states of v; those without configurations are gone.

    >>> everything = frozenset({0, 1, 2})
    >>> narrowed([{}, {7: frozenset({1})}], 7, frozenset({0, 2}), everything) == [{7: {0, 2}}]
    True
    """
    out = []
    for box in boxes:
        left = box.get(v, everything) & states
        if left:
            out.append({**box, v: left})
    return out


def even_prior(arrays: LeafArrays, equivalent: float) -> Prior:
    """Prior counts of an equivalent sample spread evenly over all configurations (U-PN, BDeu-like)."""
    n_states, first, n_entries = arrays.n_states, arrays.first_entry, arrays.n_entries
    even = np.empty(n_entries + 1)
    even[-1] = 1.0
    for v, r in enumerate(n_states.tolist()):
        even[first[v] : first[v] + r - 1] = 1.0 / r

    def prior(target: int, box: Box) -> np.ndarray:
        share, row = 1.0, even.copy()
        for v, states in box.items():
            share *= len(states) / n_states[v]
            for s in range(1, int(n_states[v])):
                row[first[v] + s - 1] = 1.0 / len(states) if s in states else 0.0
        out = np.tile(row * share * equivalent, (int(n_states[target]), 1))
        out[1:] /= n_states[target]
        return out

    return prior
