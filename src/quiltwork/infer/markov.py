"""P(x_v | all the others) in a Markov network: the weights of the features that each state of v would make hold.

A feature speaks about v = s where all its other conditions hold. So one look at the conditions of a feature that fail
in a row serves all variables: where none fails it speaks about every one of them, where a single one fails about that
one, and where two fail, which is soon seen, about none.

Missing values that hang together around v, those that are reached from v over missing values alone, are summed out
exactly in one table of their joint states; where it would pass MAX_CELLS, the question is refused.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numba import njit

from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ResourceLimitError
from quiltwork.infer.boxes import Boxes, boxes_of, some_of
from quiltwork.infer.question import once_per_model
from quiltwork.models.markov import MarkovNet

MAX_CELLS = 2**20
MAX_AXES = 64  # of a NumPy array


def markov_logits(model: MarkovNet, codes: np.ndarray, target: int | None) -> np.ndarray:
    """Logits of all states of all variables (or of the target alone) given each row's other values."""
    boxes = boxes_of(model)
    out, gaps = np.zeros((len(codes), boxes.first_state[-1])), np.zeros(codes.shape, np.bool_)
    if target is not None:
        codes = codes.copy()
        codes[:, target] = NO_CODE  # its own value is not read
        about = np.bincount(boxes.box_of_side, boxes.variable == target, len(boxes.weight)) > 0
        boxes = some_of(boxes, about, np.ones(len(boxes.variable), bool))
    _add_boxes(boxes, codes, out, gaps)
    # nobody asks for the logits of a missing value, unless it is the target
    gaps &= codes != NO_CODE if target is None else np.arange(codes.shape[1]) == target
    first = boxes.first_state
    for i, v in np.argwhere(gaps).tolist():
        out[i, first[v] : first[v + 1]] = _summed_out(model, codes[i].tolist(), v)
    return out


def logits_in(boxes: Boxes, states: np.ndarray) -> np.ndarray:
    """Logits (rows, all states) of all variables, given the others, in rows of states (rows, n_vars), all known."""
    out = np.zeros((len(states), boxes.first_state[-1]))
    _add_boxes(boxes, states.astype(np.uint16), out, np.zeros(states.shape, np.bool_))
    return out


def _summed_out(model: MarkovNet, row: list[int], v: int) -> np.ndarray:
    """Logits (states of v,) in a row where some neighbours of v are missing."""
    conditions = _conditions(model)
    free = _free_around(model, row, v)
    axis = {u: k for k, u in enumerate(free)}
    shape = [model.variables[u].n_states for u in free]
    if math.prod(shape) > MAX_CELLS or len(free) > MAX_AXES:
        raise ResourceLimitError(
            f"{len(free) - 1} missing values hang together around {model.variables[v].name!r}, with more joint states "
            f"than the {MAX_CELLS:,} that can be summed out: fill some of them in, or leave such rows out."
        )
    table = np.zeros(shape)
    for f in sorted({f for u in free for f in _features_on(model)[u]}):
        if all(u in axis or row[u] == s for u, s in conditions[f]):
            held: list[int | slice] = [slice(None)] * len(free)
            for u, s in conditions[f]:
                if u in axis:
                    held[axis[u]] = s
            table[tuple(held)] += model.weights[f]
    return np.logaddexp.reduce(table.reshape(shape[0], -1), axis=1)


def _free_around(model: MarkovNet, row: list[int], v: int) -> list[int]:
    """v, and the missing variables that are reached from it over missing ones."""
    found = [v]
    for u in found:  # which grows on the way
        for f in _features_on(model)[u]:
            found += [w for w, _ in _conditions(model)[f] if row[w] == NO_CODE and w not in found]
    return found


@once_per_model
def _conditions(model: MarkovNet) -> list[list[tuple[int, int]]]:
    """(column, state) pairs of every feature."""
    pairs = list(zip(model.columns.tolist(), model.states.tolist(), strict=True))
    first = model.first_condition.tolist()
    return [pairs[begin:end] for begin, end in pairwise(first)]


@once_per_model
def _features_on(model: MarkovNet) -> list[list[int]]:
    """The features in which each variable takes part."""
    out: list[list[int]] = [[] for _ in model.variables]
    for f, pairs in enumerate(_conditions(model)):
        for u, _ in pairs:
            out[u].append(f)
    return out


# Kernels


@njit(cache=True, nogil=True)
def _add_boxes(boxes, codes, out, gaps):
    """Add weights to out (rows, all states); gaps (rows, n_vars) marks the variables whose logits wait for a missing
    value of another."""
    for i in range(codes.shape[0]):
        for b in range(boxes.weight.size):
            first, end = boxes.first_side[b], boxes.first_side[b + 1]
            n_failed, n_missing, failed, missing = 0, 0, first, first
            for side in range(first, end):
                state, holds = codes[i, boxes.variable[side]], False
                for m in range(boxes.first_member[side], boxes.first_member[side + 1]):
                    holds |= boxes.member[m] == state
                if state == NO_CODE:
                    n_missing, missing = n_missing + 1, side
                elif not holds:
                    n_failed, failed = n_failed + 1, side
                    if n_failed == 2:
                        break
            if n_failed == 2:
                continue
            for side in range(first, end):
                if n_failed == 1 and side != failed:
                    continue
                if n_missing == 0 or (n_missing == 1 and side == missing):
                    begin = boxes.first_state[boxes.variable[side]]
                    for m in range(boxes.first_member[side], boxes.first_member[side + 1]):
                        out[i, begin + boxes.member[m]] += boxes.weight[b]
                else:
                    gaps[i, boxes.variable[side]] = True
