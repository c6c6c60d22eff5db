"""Kernels of variable elimination: messages between clusters of variables.

A table is a flat run of the workspace, one axis per variable of its cluster, the last axis fastest. A factor with
fewer axes is read along the table's axes by strides, with stride 0 where it does not have the axis; neighbouring
axes that the factor walks in one step are merged, so the inner loops are long. A variable whose state is known has
one state here, and its axis disappears.

Tables hold probabilities or, with `log_domain`, their logarithms. Probabilities are scaled by powers of two (which
is exact) whenever they have become small, or large, and the log of the scale is returned. A product of two positive
numbers that comes out below TINY has begun to lose digits; the kernels then say `lost`, and the caller begins
again with logarithms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.dataset import NO_CODE

TINY = 1e-290
BETWEEN_RESCALES = 8  # multiplications; sixteen digits each would still not reach TINY
LOG_2 = math.log(2.0)
SIZE, STRIDE, DIGIT, RAW = 0, 1, 2, 3  # rows of `axis`, the scratch that describes how a factor lies in a table


class Clusters(NamedTuple):
    """The tree of clusters; the root, which keeps all its variables, is the last of the schedule.

    schedule      (n_clusters,) int64: children before parents
    parent        (n_clusters,): -1 for the root
    first_axis    axes[first_axis[k] : first_axis[k + 1]] are the variables of cluster k, the one it sums out first
    first_child   children[...] are the clusters whose messages come to k
    first_factor  factors[...] are the families whose tables belong to k
    strides       (n_factors, most axes): the step of a factor in its own table along each axis of its cluster
    table_at, message_at  where the table and the message of k begin in the workspace
    """

    schedule: np.ndarray
    parent: np.ndarray
    first_axis: np.ndarray
    axes: np.ndarray
    first_child: np.ndarray
    children: np.ndarray
    first_factor: np.ndarray
    factors: np.ndarray
    strides: np.ndarray
    table_at: np.ndarray
    message_at: np.ndarray


@njit(cache=True, nogil=True)
def collect_rows(tables, clusters, rows, work, out):
    """log of the root's table for each row of evidence (rows, n_vars): out (rows, entries of the root)."""
    root = clusters.table_at[clusters.schedule[-1]]
    for i in range(rows.shape[0]):
        log_scale, _ = collect(tables, clusters, rows[i], work, 0, clusters.schedule.size, True)
        for e in range(out.shape[1]):
            out[i, e] = work[root + e] + log_scale


@njit(cache=True, nogil=True)
def collect(tables, clusters, codes, work, start, stop, log_domain):
    """Messages towards the root, for clusters start to stop of the schedule: (log_scale, lost)."""
    axis = np.empty((4, clusters.strides.shape[1]), np.int64)
    log_scale = 0.0
    for k in clusters.schedule[start:stop]:
        axes = clusters.axes[clusters.first_axis[k] : clusters.first_axis[k + 1]]
        size = _n_entries(tables, axes, codes)
        table = work[clusters.table_at[k] : clusters.table_at[k] + size]
        scale, lost = _fill(tables, clusters, k, axes, codes, table, work, axis, log_domain)
        log_scale += scale
        if lost:
            return log_scale, True
        if clusters.parent[k] >= 0:
            size //= _n_states(tables, codes, axes[0])
            _sum_first_axis(table, work[clusters.message_at[k] : clusters.message_at[k] + size], log_domain)
    return log_scale, False


@njit(cache=True, nogil=True)
def distribute(tables, clusters, codes, work, start, stop, log_domain, out):
    """Messages from the root, for clusters stop to start: marginals of the free ones into out (all states)."""
    axis = np.empty((4, clusters.strides.shape[1]), np.int64)
    for k in clusters.schedule[start:stop][::-1]:
        p = clusters.parent[k]
        if p < 0:
            continue
        axes = clusters.axes[clusters.first_axis[k] : clusters.first_axis[k + 1]]
        size = _n_entries(tables, axes, codes)
        table = work[clusters.table_at[k] : clusters.table_at[k] + size]
        separator = size // _n_states(tables, codes, axes[0])
        if separator > 1:
            p_axes = clusters.axes[clusters.first_axis[p] : clusters.first_axis[p + 1]]
            p_table = work[clusters.table_at[p] : clusters.table_at[p] + _n_entries(tables, p_axes, codes)]
            n = _message_axes(tables, clusters, k, p_axes, codes, axis)
            down = np.full(separator, -np.inf if log_domain else 0.0)
            _sum_into(p_table, axis, n, down, log_domain)
            _update(table, work[clusters.message_at[k] : clusters.message_at[k] + separator], down, log_domain)
        if codes[axes[0]] == NO_CODE:
            _first_marginal(tables, axes[0], table, log_domain, out)


# A cluster's table


@njit(cache=True, nogil=True)
def _fill(tables, clusters, k, axes, codes, table, work, axis, log_domain):
    """The product of the factors and messages of cluster k, into table: (log_scale, lost)."""
    table[:] = 0.0 if log_domain else 1.0
    log_scale = 0.0
    lost = False
    n_factors = clusters.first_factor[k + 1] - clusters.first_factor[k]
    n_children = clusters.first_child[k + 1] - clusters.first_child[k]
    for i in range(n_factors + n_children):
        if i < n_factors:
            f = clusters.first_factor[k] + i
            n = _merge_axes(tables, axes, codes, clusters.strides[f], axis)
            at = _known_entry(tables, clusters.factors[f], codes)
            source = tables.log_probs if log_domain else tables.probs
        else:
            child = clusters.children[clusters.first_child[k] + i - n_factors]
            n = _message_axes(tables, clusters, child, axes, codes, axis)
            at = clusters.message_at[child]
            source = work
        if n == 0 or (n == 1 and axis[STRIDE, 0] == 0):  # one number for the whole table
            log_scale += source[at] if log_domain else _log(source[at])
        elif log_domain:
            _add(table, axis, n, source, at)
        else:
            lost |= _multiply(table, axis, n, source, at)
            if i % BETWEEN_RESCALES == BETWEEN_RESCALES - 1:
                log_scale += _rescale(table)
    if not log_domain:
        log_scale += _rescale(table)
        lost |= log_scale == -np.inf
    return log_scale, lost


@njit(cache=True, nogil=True)
def _rescale(table):
    """Bring the largest entry near one by a power of two; the log of what was taken out."""
    top = 0.0
    for e in range(table.size):
        top = max(top, table[e])
    if top < TINY:
        return -np.inf
    exponent = math.frexp(top)[1]
    if -20 < exponent < 20:
        return 0.0
    scale = math.ldexp(1.0, -exponent)
    for e in range(table.size):
        table[e] *= scale
    return exponent * LOG_2


@njit(cache=True, nogil=True)
def _sum_first_axis(table, message, log_domain):
    """The message: the table summed over its first axis. It may overlap the table, if it begins no later."""
    size = message.size
    for e in range(size):  # upwards, so that nothing is overwritten before it is read
        message[e] = table[e]
    for begin in range(size, table.size, size):
        for e in range(size):
            if log_domain:
                message[e] = _log_add(message[e], table[begin + e])
            else:
                message[e] += table[begin + e]


@njit(cache=True, nogil=True)
def _update(table, message, down, log_domain):
    """What the rest of the tree says, `down`, replaces what this cluster told it, `message`; nothing / nothing is
    nothing."""
    for e in range(message.size):
        if log_domain:
            down[e] = down[e] - message[e] if message[e] > -np.inf else -np.inf
        else:
            down[e] = down[e] / message[e] if message[e] > 0.0 else 0.0
    for begin in range(0, table.size, message.size):
        for e in range(message.size):
            if log_domain:
                table[begin + e] += down[e]
            else:
                table[begin + e] *= down[e]


@njit(cache=True, nogil=True)
def _first_marginal(tables, v, table, log_domain, out):
    """P(v | evidence) from the finished table of the cluster whose first axis is v."""
    first, n_states = tables.first_state[v], tables.n_states[v]
    width = table.size // n_states
    top = table.max() if log_domain else 0.0
    total = 0.0
    for s in range(n_states):
        mass = 0.0
        for e in range(s * width, (s + 1) * width):
            mass += math.exp(table[e] - top) if log_domain else table[e]
        out[first + s] = mass
        total += mass
    for s in range(n_states):
        out[first + s] /= total


# How a factor lies in a table


@njit(cache=True, nogil=True)
def _n_states(tables, codes, v):
    return tables.n_states[v] if codes[v] == NO_CODE else 1


@njit(cache=True, nogil=True)
def _n_entries(tables, axes, codes):
    size = 1
    for v in axes:
        size *= _n_states(tables, codes, v)
    return size


@njit(cache=True, nogil=True)
def _known_entry(tables, c, codes):
    """Where the table of family c begins when the known states are fixed."""
    at = tables.first_entry[c]
    if c < codes.size and codes[c] != NO_CODE:  # a table without a child has a number beyond the variables
        at += codes[c]
    for j in range(tables.first_parent[c], tables.first_parent[c + 1]):
        if codes[tables.parents[j]] != NO_CODE:
            at += tables.strides[j] * codes[tables.parents[j]]
    return at


@njit(cache=True, nogil=True)
def _message_axes(tables, clusters, child, axes, codes, axis):
    """`_merge_axes` for the message of a child; its variables come in the same order as the cluster's."""
    axis[RAW] = 0
    a = axes.size - 1
    step = 1
    for j in range(clusters.first_axis[child + 1] - 1, clusters.first_axis[child], -1):
        while axes[a] != clusters.axes[j]:
            a -= 1
        axis[RAW, a] = step
        step *= _n_states(tables, codes, axes[a])
    return _merge_axes(tables, axes, codes, axis[RAW], axis)


@njit(cache=True, nogil=True)
def _merge_axes(tables, axes, codes, strides, axis):
    """Sizes and strides along the table, axes of one state dropped and axes walked in one step merged: how many."""
    n = 0
    for a in range(axes.size):
        size = _n_states(tables, codes, axes[a])
        if size == 1:
            continue
        if n > 0 and axis[STRIDE, n - 1] == size * strides[a]:
            axis[SIZE, n - 1] *= size
            axis[STRIDE, n - 1] = strides[a]
        else:
            axis[SIZE, n] = size
            axis[STRIDE, n] = strides[a]
            n += 1
    axis[DIGIT, :n] = 0
    return n


@njit(cache=True, nogil=True)
def _advance(axis, n, at):
    """The next value of all axes but the last, like the digits of a counter: where it is in the factor."""
    a = n - 2
    while a >= 0:
        axis[DIGIT, a] += 1
        at += axis[STRIDE, a]
        if axis[DIGIT, a] < axis[SIZE, a]:
            break
        at -= axis[STRIDE, a] * axis[SIZE, a]
        axis[DIGIT, a] = 0
        a -= 1
    return at


@njit(cache=True, nogil=True)
def _multiply(table, axis, n, factor, at):
    """table *= factor; whether a product of positive numbers fell below TINY."""
    inner, step = axis[SIZE, n - 1], axis[STRIDE, n - 1]
    lost = 0
    for begin in range(0, table.size, inner):
        for s in range(inner):
            old, by = table[begin + s], factor[at + s * step]
            product = old * by
            table[begin + s] = product
            lost |= (product < TINY) & (old > 0.0) & (by > 0.0)
        at = _advance(axis, n, at)
    return lost != 0


@njit(cache=True, nogil=True)
def _add(table, axis, n, factor, at):
    """table += factor, both logarithms."""
    inner, step = axis[SIZE, n - 1], axis[STRIDE, n - 1]
    for begin in range(0, table.size, inner):
        for s in range(inner):
            table[begin + s] += factor[at + s * step]
        at = _advance(axis, n, at)


@njit(cache=True, nogil=True)
def _sum_into(table, axis, n, out, log_domain):
    """out[where the entry lies] += table, over all entries."""
    inner, step = axis[SIZE, n - 1], axis[STRIDE, n - 1]
    at = 0
    for begin in range(0, table.size, inner):
        for s in range(inner):
            e = at + s * step
            if log_domain:
                out[e] = _log_add(out[e], table[begin + s])
            else:
                out[e] += table[begin + s]
        at = _advance(axis, n, at)


@njit(cache=True, nogil=True)
def _log(p):
    return math.log(p) if p > 0.0 else -np.inf


@njit(cache=True, nogil=True)
def _log_add(a, b):
    """log(exp a + exp b), also where one or both are -inf."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + math.log1p(math.exp(b - a))
