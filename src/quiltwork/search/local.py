"""Small networks, many of them: the hill climb of a handful of variables inside one contingency table.

A local problem has a variable and a few relatives. Its rows fall into few distinct patterns, and everything the
climb needs is counted from those: the table is made once, and no row is looked at again.

Symbols  L variables of the problem, the first being the one it is about; D distinct patterns
         cells (L, D) codes, counts (D,); parents[c] a bit set over the L variables
Score    MDL with smoothed estimates, Eq 6 of the hybrid-random-field paper (the `mdl` of scores.families)
Ties     within 1e-9: arcs that leave the first variable come first, then by parent and child; additions
         before drops before flips
"""

from __future__ import annotations

import numpy as np
from numba import njit

from quiltwork.data.bits import add_where

TOLERANCE = 1e-9
MAX_LOCAL = 64  # variables of one problem: a set of them is one word
_DENSE = 2**14  # patterns are numbered by a table up to this many, by sorting beyond
_COMPACT = 2**40  # pattern numbers are made small again before they pass this


@njit(cache=True, nogil=True)
def learn_locals(
    planes, first_plane, n_states, codes, code_row, n_samples, spread,
    problems, nodes, n_nodes, parents, log_likelihood,
):  # fmt: skip
    """Learn the networks of `problems`: fill parents (n_vars, most) and log_likelihood (n_vars,).

    nodes (n_vars, most) holds the variables of each problem, its own first, n_nodes (n_vars,) how many; the
    likelihood is that of the own variable given its blanket, over the rows.
    """
    for v in problems:
        own = nodes[v, : n_nodes[v]]
        cells, counts = _table(planes, first_plane, n_states, codes, code_row, n_samples, own)
        r = n_states[own]
        _climb(cells, counts, r, spread, parents[v])
        log_likelihood[v] = _conditional_likelihood(cells, counts, r, spread, parents[v])


@njit(cache=True, nogil=True)
def table_sizes(n_states, nodes, n_nodes, parents):
    """Entries of the table of every family of every network, one after another."""
    out = np.empty(n_nodes.sum(), np.int64)
    at = 0
    for v in range(n_nodes.size):
        for c in range(n_nodes[v]):
            out[at] = n_states[nodes[v, c]]
            for p in range(n_nodes[v]):
                if _in(parents[v, c], p):
                    out[at] *= n_states[nodes[v, p]]
            at += 1
    return out


@njit(cache=True, nogil=True)
def fill_tables(
    planes, first_plane, n_states, codes, code_row, n_samples, spread,
    problems, nodes, n_nodes, parents, first_family, starts, tables,
):  # fmt: skip
    """Smoothed probabilities of every family of `problems` into the flat `tables`; starts by family."""
    for v in problems:
        n = n_nodes[v]
        order = np.argsort(nodes[v, :n])  # by column, as the parents of a table come
        place = np.argsort(order)
        own = nodes[v, :n][order]
        cells, counts = _table(planes, first_plane, n_states, codes, code_row, n_samples, own)
        for c in range(n):
            in_order = np.uint64(0)
            for p in range(n):
                if _in(parents[v, c], p):
                    in_order |= np.uint64(1) << np.uint64(place[p])
            family = first_family[v] + c
            out = tables[starts[family] : starts[family + 1]]
            _probabilities(cells, counts, n_states[own], place[c], in_order, spread, out)


# Merging: blankets in, unions out, the better networks kept


@njit(cache=True, nogil=True)
def unite_blankets(nodes, n_nodes, parents, unions, sizes):
    """unions (n_vars, k*): the blankets of each variable in all networks it is in, ascending; size k* + 1: too many."""
    most = unions.shape[1]
    for j in range(n_nodes.size):
        for x in range(n_nodes[j]):
            v = nodes[j, x]
            around = _blanket(parents[j], n_nodes[j], x)
            for y in range(n_nodes[j]):
                if not _in(around, y) or sizes[v] > most:
                    continue
                u, k = nodes[j, y], 0
                while k < sizes[v] and unions[v, k] < u:
                    k += 1
                if k < sizes[v] and unions[v, k] == u:
                    continue
                if sizes[v] == most:
                    sizes[v] += 1
                    continue
                for later in range(sizes[v], k, -1):
                    unions[v, later] = unions[v, later - 1]
                unions[v, k] = u
                sizes[v] += 1


@njit(cache=True, nogil=True)
def keep_better(due, now, new):
    """Where the new network predicts its variable better by other relatives, take it, cut down to the blanket."""
    nodes, n_nodes, parents, log_likelihood = now
    new_nodes, new_n_nodes, new_parents, new_log_likelihood = new
    refined = 0
    for v in due:
        if new_log_likelihood[v] <= log_likelihood[v] + TOLERANCE:
            continue
        around = _blanket(new_parents[v], new_n_nodes[v], 0)
        kept, n_kept = np.zeros(new_n_nodes[v], np.int64), 1
        for x in range(1, new_n_nodes[v]):
            if _in(around, x):
                kept[n_kept] = x
                n_kept += 1
        same = n_kept == n_nodes[v]
        for x in range(1, min(n_kept, n_nodes[v])):
            same = same and new_nodes[v, kept[x]] == nodes[v, x]
        if same:
            continue
        refined += 1
        n_nodes[v], log_likelihood[v] = n_kept, new_log_likelihood[v]
        for x in range(n_kept):
            nodes[v, x] = new_nodes[v, kept[x]]
            parents[v, x] = 0
            for y in range(n_kept):
                if _in(new_parents[v, kept[x]], kept[y]):
                    parents[v, x] |= np.uint64(1) << np.uint64(y)
    return refined


@njit(cache=True, nogil=True)
def _blanket(parents, n, v):
    """The blanket of local variable v as a bit set: parents, children and the children's parents."""
    out = parents[v]
    for c in range(n):
        if _in(parents[c], v):
            out |= parents[c] | (np.uint64(1) << np.uint64(c))
    return out & ~(np.uint64(1) << np.uint64(v))


# The contingency table


@njit(cache=True, nogil=True)
def _table(planes, first_plane, n_states, codes, code_row, n_samples, own):
    """Distinct patterns (L, D) of these variables in the rows, and how often each occurs."""
    pattern = np.zeros(n_samples, np.int64)
    span = 1
    for v in own:
        if span > _COMPACT // n_states[v]:
            distinct = np.unique(pattern)
            for i in range(n_samples):
                pattern[i] = np.searchsorted(distinct, pattern[i])
            span = distinct.size
        if code_row[v] >= 0:
            for i in range(n_samples):
                pattern[i] += span * codes[code_row[v], i]
        else:
            for s in range(1, n_states[v]):
                add_where(planes[first_plane[v] + s - 1], span * s, pattern)
        span *= n_states[v]
    first_row, counts = _number_by_table(pattern, span) if span <= _DENSE else _number_by_sorting(pattern)
    cells = np.empty((own.size, first_row.size), np.int64)
    for j in range(own.size):
        v = own[j]
        for d in range(first_row.size):
            i = first_row[d]
            cells[j, d] = 0
            if code_row[v] >= 0:
                cells[j, d] = codes[code_row[v], i]
            else:
                for s in range(1, n_states[v]):
                    if (planes[first_plane[v] + s - 1, i >> 6] >> np.uint64(i & 63)) & np.uint64(1) != 0:
                        cells[j, d] = s
    return cells, counts


@njit(cache=True, nogil=True)
def _number_by_table(pattern, span):
    """A row of each distinct pattern, and counts, in ascending order of pattern."""
    count, row = np.zeros(span, np.int64), np.empty(span, np.int64)
    for i in range(pattern.size):
        count[pattern[i]] += 1
        row[pattern[i]] = i
    n = 0
    for k in range(span):
        if count[k] > 0:
            row[n], count[n] = row[k], count[k]
            n += 1
    return row[:n].copy(), count[:n].astype(np.float64)


@njit(cache=True, nogil=True)
def _number_by_sorting(pattern):
    order = np.argsort(pattern, kind="mergesort")
    row, count = np.empty(pattern.size, np.int64), np.zeros(pattern.size)
    n = 0
    for i in range(order.size):
        if i == 0 or pattern[order[i]] != pattern[order[i - 1]]:
            row[n] = order[i]
            n += 1
        count[n - 1] += 1.0
    return row[:n].copy(), count[:n].copy()


# The climb


@njit(cache=True, nogil=True)
def _climb(cells, counts, r, spread, parents):
    """Best additions, drops and flips from the empty graph until none helps; parents (L,) bit sets."""
    n = r.size
    parents[:] = 0
    score = np.empty(n)
    deltas = np.empty((n, n))  # [child, parent], of adding or dropping
    for c in range(n):
        _score_row(cells, counts, r, spread, c, parents[c], score, deltas)
    while True:
        below = _descendants(parents, n)
        top, kind, parent, child = TOLERANCE, -1, -1, -1
        for p in range(n):
            for c in range(n):
                if p != c and not _in(parents[c], p) and not _in(below[c], p) and deltas[c, p] > top:
                    top, kind, parent, child = deltas[c, p] + TOLERANCE, 0, p, c
        for p in range(n):
            for c in range(n):
                if not _in(parents[c], p):
                    continue
                if deltas[c, p] > top:
                    top, kind, parent, child = deltas[c, p] + TOLERANCE, 1, p, c
                if deltas[c, p] + deltas[p, c] > top and _flips(parents, below, n, p, c):
                    top, kind, parent, child = deltas[c, p] + deltas[p, c] + TOLERANCE, 2, p, c
        if kind < 0:
            return
        parents[child] ^= np.uint64(1) << np.uint64(parent)
        _score_row(cells, counts, r, spread, child, parents[child], score, deltas)
        if kind == 2:
            parents[parent] ^= np.uint64(1) << np.uint64(child)
            _score_row(cells, counts, r, spread, parent, parents[parent], score, deltas)


@njit(cache=True, nogil=True)
def _descendants(parents, n):
    """Bit sets of what each variable leads to."""
    below = np.zeros(n, np.uint64)
    changed = True
    while changed:
        changed = False
        for c in range(n):
            reach = below[c] | (np.uint64(1) << np.uint64(c))
            for p in range(n):
                if _in(parents[c], p) and below[p] | reach != below[p]:
                    below[p] |= reach
                    changed = True
    return below


@njit(cache=True, nogil=True)
def _flips(parents, below, n, parent, child):
    """Whether the flip of parent -> child makes no cycle: no other parent of child comes after parent."""
    for p in range(n):  # noqa: SIM110
        if p != parent and _in(parents[child], p) and _in(below[parent], p):
            return False
    return True


@njit(cache=True, nogil=True)
def _score_row(cells, counts, r, spread, child, own, score, deltas):
    """score[child], and deltas[child, :] of changing its parents by one.

    The cell of a pattern is its configuration of the parents and its state of the child; one more parent splits
    the cells by one more look at each pattern.
    """
    m, q = counts.sum(), _n_configs(r, own)
    cell = _cell_numbers(cells, r, child, own)
    score[child] = _score_cells(_add_up(cell, counts, q * r[child]), q, r[child], m, spread)
    for u in range(r.size):
        if u == child:
            continue
        if _in(own, u):
            fewer = own ^ (np.uint64(1) << np.uint64(u))
            table = _add_up(_cell_numbers(cells, r, child, fewer), counts, q // r[u] * r[child])
            deltas[child, u] = _score_cells(table, q // r[u], r[child], m, spread) - score[child]
        elif _too_dear(q * r[u], r[child], m, spread):
            deltas[child, u] = -np.inf
        else:
            table = _add_up_split(cell, cells[u], counts, q * r[child], r[u])
            deltas[child, u] = _score_cells(table, q * r[u], r[child], m, spread) - score[child]


@njit(cache=True, nogil=True)
def _cell_numbers(cells, r, child, own):
    """configuration * states of the child + its state, of every pattern."""
    out = np.zeros(cells.shape[1], np.int64)
    for p in range(r.size):
        if _in(own, p):
            for d in range(out.size):
                out[d] = out[d] * r[p] + cells[p, d]
    for d in range(out.size):
        out[d] = out[d] * r[child] + cells[child, d]
    return out


@njit(cache=True, nogil=True)
def _add_up(cell, counts, size):
    table = np.zeros(size)
    for d in range(cell.size):
        table[cell[d]] += counts[d]
    return table


@njit(cache=True, nogil=True)
def _add_up_split(cell, state, counts, size, n_states):
    """The table of `_add_up` for each state of one more parent, one after another."""
    table = np.zeros(size * n_states)
    for d in range(cell.size):
        table[state[d] * size + cell[d]] += counts[d]
    return table


@njit(cache=True, nogil=True)
def _score_cells(table, q, r, m, spread):
    """MDL of a family with q configurations: sum n log((n + N / (r q)) / (n_j + N / q)) - q (r - 1) log(m) / 2."""
    a = spread / (q * r)
    total = 0.0
    for j in range(q):
        n_j = 0.0
        for k in range(j * r, (j + 1) * r):
            n = table[k]
            if n > 0.0:
                total += n * np.log(n + a)
                n_j += n
        if n_j > 0.0:
            total -= n_j * np.log(n_j + r * a)
    return total - 0.5 * np.log(max(m, 1.0)) * q * (r - 1)


@njit(cache=True, nogil=True)
def _too_dear(q, r, m, spread):
    """Whether a family with q configurations costs more than one without parents could lose, whatever it explains."""
    half_log = 0.5 * np.log(max(m, 1.0))
    return half_log * (q - 1.0) * (r - 1) > (m + spread) * np.log(m + r + spread)


# Parameters


@njit(cache=True, nogil=True)
def _probabilities(cells, counts, r, child, own, spread, out):
    """Smoothed estimates (Eqs 3-4) of one family, flat, the last parent fastest."""
    q, k = _n_configs(r, own), r[child]
    table = _add_up(_cell_numbers(cells, r, child, own), counts, q * k)
    for j in range(q):
        n_j = spread / q
        for s in range(k):
            n_j += table[j * k + s]
        for s in range(k):
            out[j * k + s] = (table[j * k + s] + spread / (q * k)) / n_j


@njit(cache=True, nogil=True)
def _conditional_likelihood(cells, counts, r, spread, parents):
    """Log-likelihood of the first variable given its blanket, inside the network: its CPD times its children's."""
    n = r.size
    logits = np.zeros((counts.size, r[0]))
    for c in range(n):
        if c != 0 and not _in(parents[c], 0):
            continue
        table = np.empty(_n_configs(r, parents[c]) * r[c])
        _probabilities(cells, counts, r, c, parents[c], spread, table)
        for d in range(counts.size):
            for s in range(r[0]):
                j = 0
                for p in range(n):
                    if _in(parents[c], p):
                        j = j * r[p] + (s if p == 0 else cells[p, d])
                logits[d, s] += np.log(table[j * r[c] + (s if c == 0 else cells[c, d])])
    total = 0.0
    for d in range(counts.size):
        top = logits[d].max()
        norm = 0.0
        for s in range(r[0]):
            norm += np.exp(logits[d, s] - top)
        total += counts[d] * (logits[d, cells[0, d]] - top - np.log(norm))
    return total


@njit(cache=True, nogil=True)
def _n_configs(r, own):
    q = 1
    for p in range(r.size):
        if _in(own, p):
            q *= r[p]
    return q


@njit(cache=True, nogil=True)
def _in(members, v):
    return (members >> np.uint64(v)) & np.uint64(1) != 0
