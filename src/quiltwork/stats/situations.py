"""Situations: what the rows look like to each variable through the conditions of features upon it.

A condition v = s of a feature is *active* in a row if the other conditions of the feature hold there. Everything that
a log-linear model says about v in a row depends on which of v's conditions are active, so rows in which the same are
active are one *situation*, and a sum over rows becomes a sum over situations with counts.

Which conditions are active is told in groups. Within a group the situations are the leaves of a small tree: a node is
"the conditions from here up to the root are active", so that nested conditions (longer and longer paths of a decision
tree, say) are one entry of a list and not many:

    sum over the active conditions of v of their weights
        = sum over groups of value[node of the situation there],  value[node] = value[parent] + weight[condition]

A condition is put into the group before it while that saves more list entries than it costs nodes. A condition active
in most rows is turned round: it is counted everywhere, and its list has the rows in which it is not active.

A binary variable has one logit, that of its second state against its first; one with more states has one per state.
A *panel* is one variable on one block of rows: a situation fits 16 bits there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.bits import count_ones, full_plane, list_ones

BLOCK = 2**16  # rows of a panel, at most: its lists are uint16
NODE_COST = 16  # evaluating a node takes as long as this many entries of lists


class Conditions(NamedTuple):
    """The features, as kernels see them. (Fields keep their order: kernels cached on disk know them by place.)

    first     (n_features + 1,) feature f has the conditions first[f]:first[f + 1], no variable twice
    variable  (n_conditions,) and state, feature: what each condition says, and whose it is
    first_of  (n_vars + 1,) and among: the conditions on v are among[first_of[v]:first_of[v + 1]]
    logit     (n_conditions,) which logit of v the condition adds to
    sign      (n_conditions,) 1.0, or -1.0 for the first state of a binary variable
    """

    first: np.ndarray
    variable: np.ndarray
    state: np.ndarray
    feature: np.ndarray
    first_of: np.ndarray
    among: np.ndarray
    logit: np.ndarray
    sign: np.ndarray

    @classmethod
    def of(cls, n_states: np.ndarray, first: np.ndarray, variable: np.ndarray, state: np.ndarray) -> Conditions:
        feature = np.repeat(np.arange(len(first) - 1), np.diff(first))
        binary = n_states[variable] == 2
        logit = np.where(binary, 0, state)
        among = np.lexsort((logit, variable))  # and in the order of the features
        first_of = np.searchsorted(variable[among], np.arange(len(n_states) + 1))
        sign = np.where(binary & (state == 0), -1.0, 1.0)
        return cls(first, variable, state, feature, first_of, among, logit, sign)


class Panels(NamedTuple):
    """Panels one after another, those of a variable together.

    variable       (n_panels,)
    first_always   (n_panels + 1,) and always: conditions that are counted everywhere
    first_node     (n_panels + 1,) of each node: parent (in the panel, -1 for none), condition, sign (as it adds)
    first_entry    (n_nodes + 1,) and entry: the situations of each node that are of no child of it
    first_count    (n_panels + 1,) and counts: by panel a table (situations, states) of summed row weights
    """

    variable: np.ndarray
    first_always: np.ndarray
    always: np.ndarray
    first_node: np.ndarray
    parent: np.ndarray
    condition: np.ndarray
    sign: np.ndarray
    first_entry: np.ndarray
    entry: np.ndarray
    first_count: np.ndarray
    counts: np.ndarray

    @classmethod
    def join(cls, variable: list[int], parts: list[tuple[np.ndarray, ...]]) -> Panels:
        """From what `find_situations` returned for each panel."""
        kinds = (np.int32, np.int32, np.int32, np.float64, np.int64, np.uint16, np.float64)
        always, parent, condition, sign, n_entries, entry, counts = (
            [np.empty(0, kind), *(part[k].ravel() for part in parts)] for k, kind in enumerate(kinds)
        )
        return cls(
            variable=np.array(variable, np.int64),
            first_always=starts([part.size for part in always[1:]]),
            always=np.concatenate(always),
            first_node=starts([part.size for part in parent[1:]]),
            parent=np.concatenate(parent),
            condition=np.concatenate(condition),
            sign=np.concatenate(sign),
            first_entry=starts(np.concatenate(n_entries)),
            entry=np.concatenate(entry),
            first_count=starts([part.size for part in counts[1:]]),
            counts=np.concatenate(counts),
        )


def starts(lengths: list[int] | np.ndarray) -> np.ndarray:
    """Where each of some parts of these lengths begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


# Kernels

PARENT, CONDITION, SIZE, STAMP, CHILD = range(5)  # what is kept of a node while the nodes are made


@njit(cache=True, nogil=True)
def find_situations(planes, first_plane, codes, code_row, conditions, v, n_states, column, row_weights, low):
    """One panel of v: the rows from low on, as many as column has, at most BLOCK; low is a multiple of 64.

    Returns always, parent, condition, sign, n_entries (nodes,), entry, counts (situations, n_states). Situations are
    numbered as rows come, so the order of the rows must be one that depends on their values alone.
    """
    n, begin, end = column.size, conditions.first_of[v], conditions.first_of[v + 1]
    all_rows, at, rows = full_plane(n), np.full(n, -1, np.int32), np.empty(n, np.int32)  # at: the node of each row
    nodes, n_nodes, group = np.empty((64, 5), np.int32), 0, 0  # group: the first node of the one that is being made
    entries, n_entries = np.empty(n, np.int32), 0
    usual = np.zeros(end - begin, np.bool_)
    for k in range(begin, end):
        c = conditions.among[k]
        active = _active(planes, first_plane, codes, code_row, conditions, c, all_rows, low)
        usual[k - begin] = 2 * count_ones(active) > n
        found = rows[: list_ones(active ^ all_rows if usual[k - begin] else active, rows)]
        is_new = k == begin or conditions.logit[c] != conditions.logit[conditions.among[k - 1]]
        if is_new or not _saves(nodes, at, found, 2 * k):
            entries, n_entries = _close(nodes, group, n_nodes, at, entries, n_entries)
            group = n_nodes
        nodes = _with_room(nodes, n_nodes + min(found.size, n_nodes - group + 1))
        n_nodes = _split(nodes, n_nodes, at, found, c, 2 * k + 1)
    entries, n_entries = _close(nodes, group, n_nodes, at, entries, n_entries)
    number, n_situations = _number(nodes, n_nodes, entries, n_entries, n)
    counts = np.zeros((n_situations, n_states))
    first_row = np.full(n_situations, -1, np.int32)
    for i in range(n):
        counts[number[i], column[i]] += row_weights[low + i]
        if first_row[number[i]] < 0:
            first_row[number[i]] = i
    n_kept, kept = _keep_firsts(nodes, n_nodes, entries, number, first_row)
    always = conditions.among[begin:end][usual].astype(np.int32)
    sign = np.empty(n_nodes)
    turned = np.zeros(conditions.sign.size, np.bool_)
    turned[always] = True
    for node in range(n_nodes):
        c = nodes[node, CONDITION]
        sign[node] = -conditions.sign[c] if turned[c] else conditions.sign[c]
    return always, nodes[:n_nodes, PARENT].copy(), nodes[:n_nodes, CONDITION].copy(), sign, n_kept, kept, counts


@njit(cache=True, nogil=True)
def _active(planes, first_plane, codes, code_row, conditions, c, all_rows, low):
    """The rows of the panel in which condition c is active: all other conditions of its feature hold."""
    out, word = all_rows.copy(), low >> 6
    f = conditions.feature[c]
    for other in range(conditions.first[f], conditions.first[f + 1]):
        if other == c:
            continue
        u, s = conditions.variable[other], conditions.state[other]
        if code_row[u] >= 0:
            column = codes[code_row[u]][low : low + 64 * out.size]
            for i in range(column.size):
                if column[i] != s:
                    out[i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))
        elif s > 0:
            out &= planes[first_plane[u] + s - 1][word : word + out.size]
        else:
            for p in range(first_plane[u], first_plane[u + 1]):
                out &= ~planes[p][word : word + out.size]
    return out


@njit(cache=True, nogil=True)
def _saves(nodes, at, rows, stamp):
    """Whether these rows are better told in this group: an entry less for each that has a node, for some nodes more."""
    n_saved, n_split = 0, 0
    for i in rows:
        node = at[i]
        if node >= 0:
            n_saved += 1
            if nodes[node, STAMP] != stamp:
                nodes[node, STAMP] = stamp
                n_split += 1
    return n_split * NODE_COST <= n_saved


@njit(cache=True, nogil=True)
def _split(nodes, n_nodes, at, rows, c, stamp):
    """Move these rows from their nodes to new children of them, for condition c; returns the number of nodes."""
    from_root = -1
    for i in rows:
        node = at[i]
        new = from_root
        if node >= 0:
            nodes[node, SIZE] -= 1
            new = nodes[node, CHILD] if nodes[node, STAMP] == stamp else -1
        if new < 0:
            new = n_nodes
            n_nodes += 1
            nodes[new, PARENT], nodes[new, CONDITION], nodes[new, SIZE], nodes[new, STAMP] = node, c, 0, -1
            if node >= 0:
                nodes[node, STAMP], nodes[node, CHILD] = stamp, new
            else:
                from_root = new
        nodes[new, SIZE] += 1
        at[i] = new
    return n_nodes


@njit(cache=True, nogil=True)
def _close(nodes, group, n_nodes, at, entries, n_entries):
    """Write the rows of each node of the group behind the entries, by node; no row has a node afterwards."""
    following = np.empty(n_nodes - group, np.int64)
    end = n_entries
    for node in range(group, n_nodes):
        following[node - group] = end
        end += nodes[node, SIZE]
    while entries.size < end:
        entries = np.concatenate((entries, np.empty_like(entries)))
    if end > n_entries:
        for i in range(at.size):
            if at[i] >= 0:
                entries[following[at[i] - group]] = i
                following[at[i] - group] += 1
                at[i] = -1
    return entries, end


@njit(cache=True, nogil=True)
def _with_room(nodes, size):
    while nodes.shape[0] < size:
        nodes = np.concatenate((nodes, np.empty_like(nodes)))
    return nodes


@njit(cache=True, nogil=True)
def _number(nodes, n_nodes, entries, n_entries, n):
    """The situation of each row (n,) and their number: rows are parted wherever they are of different nodes."""
    situation, n_parts = np.zeros(n, np.int32), 1
    moved_by, moved_to = np.full(n_entries + 1, -1, np.int32), np.empty(n_entries + 1, np.int32)
    at = 0
    for node in range(n_nodes):
        for i in entries[at : at + nodes[node, SIZE]]:
            old = situation[i]
            if moved_by[old] != node:
                moved_by[old], moved_to[old] = node, n_parts
                n_parts += 1
            situation[i] = moved_to[old]
        at += nodes[node, SIZE]
    moved_to[:n_parts] = -1
    n_situations = 0
    for i in range(n):  # from parts, some of them empty, to 0, 1, ... in the order of the rows
        part = situation[i]
        if moved_to[part] < 0:
            moved_to[part] = n_situations
            n_situations += 1
        situation[i] = moved_to[part]
    return situation, n_situations


@njit(cache=True, nogil=True)
def _keep_firsts(nodes, n_nodes, entries, number, first_row):
    """From rows to situations: n_entries (nodes,) and entry (uint16), each situation by the first of its rows."""
    n_kept, kept = np.zeros(n_nodes, np.int64), np.empty(entries.size, np.uint16)
    at, n = 0, 0
    for node in range(n_nodes):
        for i in entries[at : at + nodes[node, SIZE]]:
            if first_row[number[i]] == i:
                kept[n] = number[i]
                n += 1
                n_kept[node] += 1
        at += nodes[node, SIZE]
    return n_kept, kept[:n].copy()
