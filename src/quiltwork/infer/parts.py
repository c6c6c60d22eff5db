"""What evidence leaves of a group of variables: parts that share no box, each enumerated on its own.

All variables outside of the group are known. Boxes that the evidence contradicts are dropped, and the others keep the
sides they have in the group. A box with a single side left adds to the logit of a state; boxes with more join their
variables into parts. The joint states of a part fill one table, which grows by one variable at a time; the weight of a
box is added to the runs of entries that lie in it as soon as all its variables are there. The marginals of all of them
then cost about two sweeps over the table.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.infer.boxes import Boxes, some_of, starts

WIDEST = 600.0  # nats between the likeliest and the least likely joint state, whose probability a float still holds


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


def enumerate_rows(part: Part, codes: np.ndarray, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """(logs, left), both (rows, n_group): log P(x_v | evidence) at the states in the rows of codes, none of them
    missing; and which are left out, because their part has several variables and more than `largest` joint states."""
    logs, left = np.zeros((len(codes), len(part.variables))), np.zeros((len(codes), len(part.variables)), np.bool_)
    room = max(largest, int(np.diff(part.first_state).max()))
    _enumerate_rows(part, codes, largest, np.empty(room), logs, left)
    return logs, left


# Kernels


@njit(cache=True, nogil=True)
def _enumerate_rows(part, codes, largest, table, logs, left):
    n_group = part.variables.size
    logits, active = np.empty(part.first_state[-1]), np.empty(part.weight.size, np.int64)
    joined, members, place = np.empty(n_group, np.int64), np.empty(n_group, np.int64), np.empty(n_group, np.int64)
    own = np.empty(part.weight.size, np.int64)
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
            if n > 1 and size > largest:
                for k in range(n):
                    left[i, members[k]] = True
            else:
                n_own = 0
                for k in range(n_active):
                    b = active[k]
                    if joined[part.local[part.variable[part.first_side[b] + part.n_known[b]]]] == root:
                        own[n_own] = b
                        n_own += 1
                _order(part, members[:n], own[:n_own], place)
                _fill(part, members[:n], own[:n_own], place, logits, table)
                _fold(part, members[:n], size, codes[i], table, logs[i])


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
def _order(part, members, active, place):
    """Sort the members, those in the most boxes first, and note the place of each."""
    n_boxes = np.zeros(place.size, np.int64)
    for b in active:
        for side in range(part.first_side[b] + part.n_known[b], part.first_side[b + 1]):
            n_boxes[part.local[part.variable[side]]] += 1
    for k in range(1, members.size):
        v, j = members[k], k
        while j > 0 and n_boxes[members[j - 1]] < n_boxes[v]:
            members[j] = members[j - 1]
            j -= 1
        members[j] = v
    for k in range(members.size):
        place[members[k]] = k


@njit(cache=True, nogil=True)
def _fill(part, members, active, place, logits, table):
    """log of the unnormalised joint distribution of the members, the first varying fastest, into table.

    It grows by one member at a time, and a box is added as soon as all its members are in, while the table is small.
    """
    stride, side_at = np.empty(members.size + 1, np.int64), np.full(members.size, -1, np.int64)
    table[0], stride[0] = 0.0, 1
    for k in range(members.size):
        first, size = part.first_state[members[k]], stride[k]
        stride[k + 1] = size * (part.first_state[members[k] + 1] - first)
        for s in range(stride[k + 1] // size - 1, -1, -1):  # the first state last, for the others are made from it
            for e in range(size):
                table[s * size + e] = table[e] + logits[first + s]
        for b in active:
            low, high = members.size, -1
            for side in range(part.first_side[b] + part.n_known[b], part.first_side[b + 1]):
                at = place[part.local[part.variable[side]]]
                low, high = min(low, at), max(high, at)
            if high != k:
                continue
            for side in range(part.first_side[b] + part.n_known[b], part.first_side[b + 1]):
                side_at[place[part.local[part.variable[side]]]] = side
            _pour(part, members, side_at, stride, low, high, part.weight[b], table)
            for at in range(low, high + 1):
                side_at[at] = -1


@njit(cache=True, nogil=True)
def _pour(part, members, side_at, stride, low, high, weight, table):
    """Add a weight to the entries in a box whose sides lie between the places low and high: runs of stride[low]."""
    digit, a = np.zeros(high + 1, np.int64), low
    while a <= high:
        at = 0
        for j in range(low, high + 1):
            side = side_at[j]
            at += stride[j] * (digit[j] if side < 0 else part.member[part.first_member[side] + digit[j]])
        for e in range(at, at + stride[low]):
            table[e] += weight
        a = low
        while a <= high:  # the next choice of states, like the digits of a counter
            n, side = part.first_state[members[a] + 1] - part.first_state[members[a]], side_at[a]
            digit[a] += 1
            if digit[a] < (n if side < 0 else part.first_member[side + 1] - part.first_member[side]):
                break
            digit[a] = 0
            a += 1


@njit(cache=True, nogil=True)
def _fold(part, members, size, row, table, logs):
    """log marginals of the members at their states in the row, from their log joint in table, which is used up.

    Member after member is summed out, the slowest axis first, and the one before it becomes the slowest. Where the log
    joint spans more than a float does, what is added up stays logarithms.
    """
    top, bottom, total = -np.inf, np.inf, 0.0
    for e in range(size):
        top, bottom = max(top, table[e]), min(bottom, table[e])
    is_wide = top - bottom > WIDEST
    for e in range(size):
        table[e] -= top
        if not is_wide:
            table[e] = math.exp(table[e])
            total += table[e]
    log_total = _log_sum(table[:size]) if is_wide else math.log(total)
    for v in members[::-1]:
        width = size // (part.first_state[v + 1] - part.first_state[v])
        own = np.int64(row[part.variables[v]]) * width
        if is_wide:
            logs[v] = _log_sum(table[own : own + width]) - log_total
        else:
            logs[v] = math.log(table[own : own + width].sum()) - log_total
        for begin in range(width, size, width):
            for e in range(width):
                if is_wide:
                    high, low = max(table[e], table[begin + e]), min(table[e], table[begin + e])
                    table[e] = high + math.log1p(math.exp(low - high))
                else:
                    table[e] += table[begin + e]
        size = width


@njit(cache=True, nogil=True)
def _log_sum(logs):
    """log of the sum of exp(logs)."""
    top, total = logs.max(), 0.0
    for log in logs:
        total += math.exp(log - top)
    return top + math.log(total)
