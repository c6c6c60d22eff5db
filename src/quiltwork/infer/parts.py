"""What evidence leaves of a group of variables: parts that share no box, each enumerated on its own.

All variables outside of the group are known. Boxes that the evidence contradicts are dropped, and the others keep the
sides they have in the group. A box with a single side left adds to the logit of a state; boxes with more join their
variables into parts. The joint states of a part fill one table: the sums of the logits, and the weight of each box
added to the runs of entries that lie in it. The marginals of all its variables then cost about two sweeps over the
table.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.infer.boxes import Boxes, some_of, starts


class Part(NamedTuple):
    """The boxes that ask about a group. (Fields keep their order: kernels cached on disk know them by place.)

    variables    (n_group,) columns of the group, first_state (n_group + 1,) where the states of each begin
    local        (n_vars,) the place of each column in the group, -1 for evidence
    weight       (n_boxes,)
    first_side   (n_boxes + 1,) the sides of each box: n_known[b] of evidence, then those of the group, ascending
    n_known      (n_boxes,)
    variable     (n_sides,) columns, first_member (n_sides + 1,) and member: the states that each side allows
    """

    variables: np.ndarray
    first_state: np.ndarray
    local: np.ndarray
    weight: np.ndarray
    first_side: np.ndarray
    n_known: np.ndarray
    variable: np.ndarray
    first_member: np.ndarray
    member: np.ndarray


def part_of(boxes: Boxes, group: np.ndarray) -> Part:
    """The boxes that ask about these columns, which ascend."""
    local = np.full(len(boxes.n_states), -1)
    local[group] = np.arange(len(group))
    asks = np.bincount(boxes.box_of_side, local[boxes.variable] >= 0, len(boxes.weight)) > 0
    about = some_of(boxes, asks, np.ones(len(boxes.variable), bool))
    is_local = local[about.variable] >= 0
    order = np.lexsort((about.variable, is_local, about.box_of_side))
    lengths = np.diff(about.first_member)[order]
    first_member = starts(lengths)
    from_member = np.repeat(about.first_member[order] - first_member[:-1], lengths) + np.arange(first_member[-1])
    return Part(
        variables=group,
        first_state=starts(boxes.n_states[group]),
        local=local,
        weight=about.weight,
        first_side=about.first_side,
        n_known=np.bincount(about.box_of_side, ~is_local, len(about.weight)).astype(np.int64),
        variable=about.variable[order],
        first_member=first_member,
        member=about.member[from_member],
    )


def enumerate_rows(part: Part, codes: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(logs, left), both (rows, n_group): log P(x_v | evidence) at the states in the rows of codes, none of them
    missing; and which are left out, because their part has more joint states than the table has room for."""
    logs, left = np.zeros((len(codes), len(part.variables))), np.zeros((len(codes), len(part.variables)), np.bool_)
    _enumerate_rows(part, codes, table, logs, left)
    return logs, left


# Kernels


@njit(cache=True, nogil=True)
def _enumerate_rows(part, codes, table, logs, left):
    n_group = part.variables.size
    logits, active = np.empty(part.first_state[-1]), np.empty(part.weight.size, np.int64)
    joined, members = np.empty(n_group, np.int64), np.empty(n_group, np.int64)
    for i in range(codes.shape[0]):
        n_active = _find_parts(part, codes[i], logits, active, joined)
        for root in range(n_group):
            if joined[root] != root:
                continue
            n, size = 0, 1
            for v in range(root, n_group):
                if joined[v] == root:
                    members[n] = v
                    n += 1
                    if size <= table.size:
                        size *= part.first_state[v + 1] - part.first_state[v]
            if n > 1 and size > table.size:
                for k in range(n):
                    left[i, members[k]] = True
            else:
                _fill(part, members[:n], active[:n_active], joined, logits, table)
                _fold(part, members[:n], size, codes[i], logits, table, logs[i])


@njit(cache=True, nogil=True)
def _find_parts(part, row, logits, active, joined):
    """Logits from boxes with one side left, the boxes with more (how many), and the lowest variable of each part."""
    n = 0
    for e in range(logits.size):
        logits[e] = 0.0
    for v in range(joined.size):
        joined[v] = v
    for b in range(part.weight.size):
        middle, holds = part.first_side[b] + part.n_known[b], True
        for side in range(part.first_side[b], middle):
            holds = False
            for m in range(part.first_member[side], part.first_member[side + 1]):
                holds |= part.member[m] == row[part.variable[side]]
            if not holds:
                break
        if not holds:
            continue
        if part.first_side[b + 1] - middle == 1:
            first = part.first_state[part.local[part.variable[middle]]]
            for m in range(part.first_member[middle], part.first_member[middle + 1]):
                logits[first + part.member[m]] += part.weight[b]
            continue
        active[n] = b
        n += 1
        low = _lowest(joined, part.local[part.variable[middle]])
        for side in range(middle + 1, part.first_side[b + 1]):
            other = _lowest(joined, part.local[part.variable[side]])
            low, high = min(low, other), max(low, other)
            joined[high] = low
    for v in range(joined.size):
        joined[v] = _lowest(joined, v)
    return n


@njit(cache=True, nogil=True)
def _lowest(joined, v):
    while joined[v] != v:
        v = joined[v]
    return v


@njit(cache=True, nogil=True)
def _fill(part, members, active, joined, logits, table):
    """log of the unnormalised joint distribution of the members, the last varying fastest, into table."""
    table[0], size = 0.0, 1
    for v in members:
        first, r = part.first_state[v], part.first_state[v + 1] - part.first_state[v]
        for e in range(size - 1, -1, -1):  # downwards, so that nothing is overwritten before it is read
            for s in range(r - 1, -1, -1):
                table[e * r + s] = table[e] + logits[first + s]
        size *= r
    n = members.size
    first_choice, digit = np.empty(n + 1, np.int64), np.empty(n, np.int64)
    choice = np.empty(part.first_state[-1], np.int64)  # steps to the states that each member may have in a box
    for b in active:
        side = part.first_side[b] + part.n_known[b]
        if joined[part.local[part.variable[side]]] != members[0]:
            continue
        # the members up to the last that the box asks about; of the others every state is in it, in one run
        stride, used = size, 0
        first_choice[0] = 0
        while side < part.first_side[b + 1]:
            v = members[used]
            r = part.first_state[v + 1] - part.first_state[v]
            stride //= r
            end = first_choice[used]
            if part.local[part.variable[side]] == v:
                for m in range(part.first_member[side], part.first_member[side + 1]):
                    choice[end] = part.member[m] * stride
                    end += 1
                side += 1
            else:
                for s in range(r):
                    choice[end] = s * stride
                    end += 1
            used += 1
            first_choice[used] = end
        for a in range(used):
            digit[a] = first_choice[a]
        while True:
            at = 0
            for a in range(used):
                at += choice[digit[a]]
            for e in range(at, at + stride):
                table[e] += part.weight[b]
            a = used - 1
            while a >= 0:
                digit[a] += 1
                if digit[a] < first_choice[a + 1]:
                    break
                digit[a] = first_choice[a]
                a -= 1
            if a < 0:
                break


@njit(cache=True, nogil=True)
def _fold(part, members, size, row, logits, table, logs):
    """log marginals of the members at their states in the row, from their log joint in table, which is used up."""
    top, total = -np.inf, 0.0
    for e in range(size):
        top = max(top, table[e])
    for e in range(size):
        table[e] = math.exp(table[e] - top)
        total += table[e]
    for v in members:  # the first axis is summed out, and the next becomes the first
        width = size // (part.first_state[v + 1] - part.first_state[v])
        own, mass = np.int64(row[part.variables[v]]) * width, 0.0
        for e in range(own, own + width):
            mass += table[e]
        logs[v] = math.log(mass / total) if mass > 0.0 else -np.inf
        for begin in range(width, size, width):
            for e in range(width):
                table[e] += table[begin + e]
        size = width
