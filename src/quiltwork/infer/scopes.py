"""Features over the same variables as one factor: as factors apart they would form loops where the graph has none.

Features of single states do not overlap, so a feature with weight w contributes exp(w) where it holds, and where none
holds the factor is 1. That part of the space is divided too, or messages would have to be differences of numbers that
may be almost equal. With the variables in order, a state in which no feature holds leaves the features somewhere: its
first variables are as in some feature, and the next is as in none that begins so. Such a way off is a box, whatever the
variables after it, and there is at most one for each beginning of a feature. No table is made, however many variables
there are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from quiltwork.infer.boxes import Box, Boxes, boxed, joined, merged, some_of

Cell = tuple[int, ...]  # states, in the order of the scope


def one_factor_per_scope(boxes: Boxes) -> Boxes:
    """The same model with one factor for all features that ask for single states of the same variables."""
    if boxes.fills.any():
        return boxes
    boxes = merged(boxes)
    by_scope = _cells(boxes)
    shared = {scope: cells for scope, cells in by_scope.items() if len(cells) > 1}
    if not shared:
        return boxes
    alone = np.ones(len(boxes.weight), bool)
    alone[[b for cells in shared.values() for b in cells.values()]] = False
    n_states, weights = boxes.n_states.tolist(), boxes.weight.tolist()
    factors = [
        list(_partition(n_states, scope, {cell: weights[b] for cell, b in cells.items()}))
        for scope, cells in shared.items()
    ]
    return joined(some_of(boxes, alone, np.ones(len(boxes.variable), bool)), boxed(n_states, factors, fills=True))


def _cells(boxes: Boxes) -> dict[tuple[int, ...], dict[Cell, int]]:
    """By scope and states the number of each box that asks for single states."""
    is_single = np.bincount(boxes.box_of_side, np.diff(boxes.first_member) > 1, len(boxes.weight)) == 0
    first, variable = boxes.first_side.tolist(), boxes.variable.tolist()
    member, first_member = boxes.member.tolist(), boxes.first_member.tolist()
    found: dict[tuple[int, ...], dict[Cell, int]] = {}
    for b in np.flatnonzero(is_single).tolist():
        cell = tuple(member[first_member[first[b]] : first_member[first[b + 1]]])
        found.setdefault(tuple(variable[first[b] : first[b + 1]]), {})[cell] = b
    return found


def _partition(n_states: list[int], scope: tuple[int, ...], weights: dict[Cell, float]) -> Iterator[Box]:
    """Boxes that fill the space over the scope: the cells, and the ways off them, which weigh nothing.

    >>> list(_partition([2, 3], (0, 1), {(1, 0): 0.5}))
    [(0.5, [(0, (1,)), (1, (0,))]), (0.0, [(0, (0,))]), (0.0, [(0, (1,)), (1, (1, 2))])]
    """
    following: dict[Cell, set[int]] = {}  # beginning of a cell -> the next states
    for cell, weight in weights.items():
        yield weight, [(v, (s,)) for v, s in zip(scope, cell, strict=True)]
        for k, s in enumerate(cell):
            following.setdefault(cell[:k], set()).add(s)
    for beginning, taken in following.items():
        v = scope[len(beginning)]
        off = tuple(s for s in range(n_states[v]) if s not in taken)
        if off:
            yield 0.0, [*((u, (s,)) for u, s in zip(scope, beginning, strict=False)), (v, off)]
