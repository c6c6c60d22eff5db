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


def united(boxes: list[Box], n_states: np.ndarray) -> list[Box]:
    """The same configurations in fewer boxes: two that differ in what one variable may be are one.

    Without this, merges would double what a prior is asked for again and again. No two boxes share a configuration.

    >>> box, beside = {7: frozenset({1}), 8: frozenset({0})}, {7: frozenset({0}), 8: frozenset({0})}
    >>> united([box, beside], np.full(9, 2)) == [{8: {0}}]
    True
    """
    while True:
        beside: dict[tuple[int, int], list[int]] = {}  # boxes that are alike but for one variable
        for k, box in enumerate(boxes):
            sides = [(v, hash(side)) for v, side in zip(box, box.items())]
            whole = sum(code for _, code in sides)
            for v, code in sides:
                beside.setdefault((v, whole - code), []).append(k)
        gone: set[int] = set()
        larger = []
        for (v, _), group in beside.items():
            alike = [k for k in group if k not in gone and {**boxes[k], v: 0} == {**boxes[group[0]], v: 0}]
            if len(alike) < 2:
                continue
            gone.update(alike)
            box = {**boxes[alike[0]], v: frozenset().union(*(boxes[k][v] for k in alike))}
            if len(box[v]) == n_states[v]:
                del box[v]
            larger.append(box)
        if not larger:
            return boxes
        boxes = [box for k, box in enumerate(boxes) if k not in gone] + larger


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
