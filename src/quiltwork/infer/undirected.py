"""Exact answers of networks made of boxes: Markov networks, and Bayesian networks whose CPDs are not all tables.

What the evidence leaves of the boxes (see `boxes`) is a smaller network over the other variables. Two variables in one
box are neighbours; the order in which the variables are eliminated (see `elimination`) follows from the graph of
neighbours alone. The weights of all boxes whose first variable to go is the same are then added up in one table, which
is never larger than the cluster it belongs to.

A graph that no order can make narrow is refused before an order is looked for: whatever the order, some variable goes
when it has at least as many neighbours as the graph's degeneracy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import IntractableError, ResourceLimitError
from quiltwork.infer.boxes import Boxes, boxes_of, given, log_states_apart, some_of, starts
from quiltwork.infer.elimination import MAX_ENTRIES, Plan, all_marginals, check_size, joint, make_plan, min_fill_order
from quiltwork.infer.question import once_per_model
from quiltwork.infer.tables import CompiledNet, FlatTables

SMALLEST_LOG = -600.0  # of a probability that a float holds with room to spare
AT_A_TIME = 2**24  # entries that a kernel adds to before it returns


def boxed_query(model: Any, asked: list[int], codes: np.ndarray, max_entries: int) -> tuple[np.ndarray, int] | None:
    """P(asked | evidence) and the width of its elimination, or None where the evidence is impossible."""
    boxes, certain = given(boxes_of(model), codes)
    if np.isfinite(boxes.weight).all():  # then what is cut off from the query is possible, and cannot matter
        boxes = reached(boxes, asked)
    plan, log_scale = _plan(boxes, asked, False, max_entries)
    table, more = joint(plan, _nothing(boxes))
    return (table / table.sum(), plan.width) if certain + log_scale + more > -np.inf else None


def boxed_log_mass(model: Any, codes: np.ndarray, max_entries: int) -> float:
    """log of the sum of exp(weights) over all states that agree with the evidence: log Z without any."""
    boxes, certain = given(boxes_of(model), codes)
    plan, log_scale = _plan(boxes, [], False, max_entries)
    table, more = joint(plan, _nothing(boxes))
    total = certain + log_scale + more + log_states_apart(boxes, codes)
    return float(np.log(table) + total) if total > -np.inf else -np.inf


def boxed_log_evidence(model: Any, codes: np.ndarray, max_entries: int) -> float:
    """log P(evidence)."""
    log_mass = boxed_log_mass(model, codes, max_entries)
    return log_mass - boxed_log_mass(model, np.full_like(codes, NO_CODE), max_entries)


def boxed_log_likelihood(model: Any, codes: np.ndarray) -> np.ndarray:
    """log P(what is observed) of each row."""
    return log_potentials(model, codes) - _log_z(model)


def log_potentials(model: Any, codes: np.ndarray) -> np.ndarray:
    """The log of the sum of exp(weights) over all states that agree with each row: log P but for log Z."""
    out = np.zeros(len(codes))
    boxes = boxes_of(model)
    step = max(1, AT_A_TIME // (1 + len(boxes.weight)))
    for begin in range(0, len(codes), step):
        _add_weights(boxes, codes[begin : begin + step], out[begin : begin + step])
    for i in np.flatnonzero((codes == NO_CODE).any(axis=1)):
        out[i] = boxed_log_mass(model, codes[i], MAX_ENTRIES)
    return out


@once_per_model
def _log_z(model: Any) -> float:
    nothing = np.full(len(model.variables), NO_CODE, np.uint16)
    try:
        return boxed_log_mass(model, nothing, MAX_ENTRIES)
    except ResourceLimitError as error:
        raise IntractableError(
            "The likelihood of a Markov network needs the sum over all its states, and this one is too wide for an "
            "exact sum; estimate it: log_likelihood(model, X, log_partition=log_partition(model, method='ais')). "
            f"({error})"
        ) from None


def boxed_marginals(model: Any, codes: np.ndarray, max_entries: int) -> np.ndarray | None:
    """P(v | evidence) of all variables in one flat row, or None where the evidence is impossible."""
    boxes, certain = given(boxes_of(model), codes)
    plan, log_scale = _plan(boxes, [], True, max_entries)
    out, more = all_marginals(plan, _nothing(boxes))
    if certain + log_scale + more == -np.inf:
        return None
    inside = _in_a_box(boxes)
    for v in np.flatnonzero(~inside):
        own = out[boxes.first_state[v] : boxes.first_state[v + 1]]
        own[:] = 1.0 / own.size if codes[v] == NO_CODE else np.arange(own.size) == codes[v]
    return out


def _nothing(boxes: Boxes) -> np.ndarray:
    return np.full(len(boxes.n_states), NO_CODE, np.uint16)


def _in_a_box(boxes: Boxes) -> np.ndarray:
    return np.bincount(boxes.variable, minlength=len(boxes.n_states)) > 0


# From boxes to tables


def _plan(boxes: Boxes, kept: list[int], both_ways: bool, max_entries: int) -> tuple[Plan, float]:
    """How to eliminate all variables but the kept ones, and the log of what was taken out of the tables."""
    n_vars = len(boxes.n_states)
    n_states = boxes.n_states.tolist()
    edges = _edges(boxes)
    _refuse_the_wide(boxes, edges, max_entries)
    inside = np.flatnonzero(_in_a_box(boxes)).tolist()
    order = min_fill_order(n_states, [*edges.tolist(), *([v] for v in inside)], kept, max_entries)
    rank = np.zeros(n_vars, np.int64)
    rank[[*order, *kept]] = np.minimum(np.arange(len(order) + len(kept)), len(order))  # the kept ones go together
    home = np.minimum.reduceat(rank[boxes.variable], boxes.first_side[:-1]) if len(boxes.weight) else rank[:0]
    homes, factor = np.unique(home, return_inverse=True)
    net = _bare(boxes, len(homes), factor, max_entries)
    families = range(n_vars, len(net.parents))
    plan = make_plan(net, families, {*inside, *kept}, kept, order=order, both_ways=both_ways, max_entries=max_entries)
    net, log_scale = _poured(boxes, factor, net)  # now that it is known to fit
    return replace(plan, net=net), log_scale


def _bare(boxes: Boxes, n_factors: int, factor: np.ndarray, max_entries: int) -> CompiledNet:
    """One table for all boxes of the same factor, over all their variables; its entries are yet to come."""
    axes = np.unique(np.stack([factor[boxes.box_of_side], boxes.variable]), axis=1)  # (factor, variable), ascending
    first_axis = np.searchsorted(axes[0], np.arange(n_factors + 1))
    scopes = [axes[1, a:b].tolist() for a, b in pairwise(first_axis)]
    n_states: list[int] = boxes.n_states.tolist()
    sizes = [math.prod(n_states[v] for v in scope) for scope in scopes]
    check_size(max(map(len, scopes), default=0), sum(sizes), max_entries)
    nothing = np.zeros(len(n_states), np.int64)
    tables = FlatTables(
        n_states=boxes.n_states,
        first_state=boxes.first_state,
        first_parent=np.concatenate([nothing, first_axis]),
        parents=axes[1].copy(),
        strides=np.array([s for scope in scopes for s in _strides(n_states, scope)], np.int64),
        first_entry=np.concatenate([nothing, starts(sizes)]),
        probs=np.empty(0),
        log_probs=np.empty(0),
    )
    parents = (*[()] * len(n_states), *map(tuple, scopes))
    return CompiledNet(tables, tuple(n_states), parents, (), (), ())


def _poured(boxes: Boxes, factor: np.ndarray, net: CompiledNet) -> tuple[CompiledNet, float]:
    """The tables filled with the weights of their boxes, less the largest sum of each; and what was taken off."""
    first_axis, first_entry = (part[net.n_vars :] for part in (net.tables.first_parent, net.tables.first_entry))
    logs, sizes = np.zeros(first_entry[-1]), np.diff(first_entry)
    step = max(1, AT_A_TIME // int(sizes.max(initial=1)))
    for begin in range(0, len(factor), step):
        which = np.arange(begin, min(begin + step, len(factor)))
        _pour(boxes, which, factor, first_axis, net.tables.parents, net.tables.strides, first_entry, logs)
    tops = np.maximum.reduceat(logs, first_entry[:-1]) if len(sizes) else np.empty(0)
    taken = np.where(tops > -np.inf, tops, 0.0)
    logs -= np.repeat(taken, sizes)
    tables = net.tables._replace(probs=np.exp(logs), log_probs=logs)
    in_range = not ((logs < SMALLEST_LOG) & (logs > -np.inf)).any()
    return replace(net, tables=tables, in_range=in_range), float(taken.sum())


def _strides(n_states: list[int], scope: list[int]) -> list[int]:
    strides, step = [], 1
    for v in reversed(scope):
        strides.append(step)
        step *= n_states[v]
    return strides[::-1]


# The graph of neighbours


def _edges(boxes: Boxes) -> np.ndarray:
    """(n_edges, 2) variables that share a box, each pair ascending."""
    from scipy.sparse import csr_array

    shape = len(boxes.weight), len(boxes.n_states)
    sides = csr_array((np.ones(len(boxes.variable), np.int32), boxes.variable, boxes.first_side), shape)
    low, high = (sides.T @ sides).nonzero()
    return np.stack([low, high], axis=1)[low < high]


def reached(boxes: Boxes, asked: Sequence[int] | np.ndarray) -> Boxes:
    """The boxes that hang together with the variables that are asked for."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n_vars, edges = len(boxes.n_states), _edges(boxes)
    part = connected_components(csr_array((np.ones(len(edges)), edges.T), (n_vars, n_vars)), directed=False)[1]
    near = np.isin(part, part[asked])[boxes.variable]
    return some_of(boxes, near[boxes.first_side[:-1]], near)


def _refuse_the_wide(boxes: Boxes, edges: np.ndarray, max_entries: int) -> None:
    """Refuse a graph in which some variables have too many neighbours among themselves for any order."""
    edges = edges[(boxes.n_states[edges] > 1).all(axis=1)]
    width, k = 0, max(1, max_entries.bit_length() - 1)
    while len(edges := _core(edges, k)):
        width, k = k + 1, k + k // 4 + 1
    check_size(width, 2**width, max_entries)


def _core(edges: np.ndarray, k: int) -> np.ndarray:
    """What is left of a graph when variables with fewer than k neighbours are taken away, again and again."""
    while len(edges):
        stays = (np.bincount(edges.ravel())[edges] >= k).all(axis=1)
        if stays.all():
            break
        edges = edges[stays]
    return edges


# Kernels


@njit(cache=True, nogil=True)
def _add_weights(boxes, codes, out):
    """The weights of the boxes that hold, into out (rows,); rows with missing values are not looked at further."""
    for i in range(codes.shape[0]):
        for b in range(boxes.weight.size):
            holds = True
            for side in range(boxes.first_side[b], boxes.first_side[b + 1]):
                holds, state = False, codes[i, boxes.variable[side]]
                for m in range(boxes.first_member[side], boxes.first_member[side + 1]):
                    holds |= boxes.member[m] == state
                if not holds:
                    break
            if holds:
                out[i] += boxes.weight[b]


@njit(cache=True, nogil=True)
def _pour(boxes, which, factor, first_axis, axes, strides, first_entry, logs):
    """Add the weight of each box to all entries of its factor's table that lie in it."""
    n_axes = 1
    for f in range(first_axis.size - 1):
        n_axes = max(n_axes, first_axis[f + 1] - first_axis[f])
    choices = np.empty((n_axes, boxes.n_states.max()), np.int64)  # by axis, the steps to the states it may have
    n_choices, digit = np.empty(n_axes, np.int64), np.empty(n_axes, np.int64)
    for b in which:
        f, side, n = factor[b], boxes.first_side[b], 0
        for j in range(first_axis[f], first_axis[f + 1]):
            if side < boxes.first_side[b + 1] and boxes.variable[side] == axes[j]:
                first = boxes.first_member[side]
                n_choices[n] = boxes.first_member[side + 1] - first
                for i in range(n_choices[n]):
                    choices[n, i] = strides[j] * boxes.member[first + i]
                side += 1
            else:
                n_choices[n] = boxes.n_states[axes[j]]
                for i in range(n_choices[n]):
                    choices[n, i] = strides[j] * i
            n += 1
        digit[:n] = 0
        while True:
            at = first_entry[f]
            for a in range(n - 1):
                at += choices[a, digit[a]]
            for i in range(n_choices[n - 1]):
                logs[at + choices[n - 1, i]] += boxes.weight[b]
            a = n - 2
            while a >= 0:
                digit[a] += 1
                if digit[a] < n_choices[a]:
                    break
                digit[a] = 0
                a -= 1
            if a < 0:
                break
