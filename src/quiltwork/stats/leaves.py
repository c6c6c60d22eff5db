"""Leaf counts: for the rows at a leaf, how often each state of every variable meets each state of the target.

A leaf is a mask of rows. Its counts are one array (states of the target, entries + 1):

    counts[0, e]   rows at the leaf where entry e holds        (an entry is a state, beyond the first, of a variable)
    counts[c, e]   ... and the target is in its state c, c > 0
    counts[c, -1]  the same for all rows of the leaf

so the counts of two leaves together are their sum, and those of the largest child of a split are what its siblings
leave of the parent's. There are two ways to count, and the cheaper is taken leaf by leaf: to *sweep* the bit planes
under the mask (AND + popcount), or to *walk* the rows of the leaf and visit the entries that hold there, which wins on
sparse tables, for small leaves and where rows have weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.bits import count_both, count_eight, count_ones, full_plane, lowest_bit
from quiltwork.data.collapse import collapse, row_keys
from quiltwork.data.dataset import Dataset
from quiltwork.errors import ResourceLimitError

WORDS_PER_VISIT = 12  # words of a plane that can be swept in the time of visiting one entry of a row
LEAVES_PER_LEVEL = 16  # of a typical tree
SAMPLED = 4096  # rows that show whether a table repeats itself
MAX_LISTED = 2**28  # entries of all rows: 1 GB
MAX_COUNT_BYTES = 2**31  # counts of one leaf of each of some targets


class LeafArrays(NamedTuple):
    """A Dataset as the kernels here take it. (Fields keep their order: kernels cached on disk know them by place.)

    planes       (n_planes, n_words) entry e < n_planes is plane e
    n_states     (n_vars,)
    first_entry  (n_vars,) the entries of v: its states 1, 2, ... one after another
    codes        (n_coded, n_samples), code_row (n_vars,): variables with too many states for planes
    row_start    (n_samples + 1,), row_entries: the entries that hold in each row; all, or those without planes
    all_listed   whether row_entries has all entries
    weights      (n_samples,), empty when every row counts once
    totals       (n_entries + 1,) rows where each entry holds, and all rows
    """

    planes: np.ndarray
    n_states: np.ndarray
    first_entry: np.ndarray
    codes: np.ndarray
    code_row: np.ndarray
    row_start: np.ndarray
    row_entries: np.ndarray
    all_listed: bool
    weights: np.ndarray
    totals: np.ndarray

    @property
    def n_entries(self) -> int:
        return len(self.totals) - 1

    @property
    def n_samples(self) -> int:
        return len(self.row_start) - 1

    @property
    def n_places(self) -> int:
        """States of all variables: a place for each entry, and then one for the first state of each variable."""
        return self.n_entries + len(self.n_states)

    def places(self, v: int) -> np.ndarray:
        """The places of the states of v, in their order."""
        beyond = self.first_entry[v] + np.arange(self.n_states[v] - 1)
        return np.concatenate([[self.n_entries + v], beyond])


def leaf_arrays(data: Dataset) -> LeafArrays:
    """Lay a Dataset out for counting; equal rows become one with a weight where that makes counting cheaper.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> data = from_codes([Variable("a", (0, 1)), Variable("b", (0, 1))], [np.array([0, 0, 1]), np.array([1, 1, 0])])
    >>> arrays = leaf_arrays(data)
    >>> arrays.totals, count_root(arrays, 1)
    (array([1., 2., 3.]), array([[1., 2., 3.], [0., 2., 2.]]))
    """
    if data.weights is not None or _collapsing_pays(data):
        data = collapse(data)
    return _lay_out(data)


def check_counts_fit(arrays: LeafArrays, targets: np.ndarray) -> None:
    """Refuse to count leaves of these targets where the counts of one leaf each are too many to hold."""
    n_bytes = 8.0 * arrays.n_states[targets].sum() * len(arrays.totals)
    if n_bytes > MAX_COUNT_BYTES:
        most = int(arrays.n_states[targets].max())
        raise ResourceLimitError(
            f"The counts of one leaf for {len(targets):,} variable{'s' * (len(targets) > 1)} of up to {most:,} states, "
            f"by {len(arrays.totals) - 1:,} states of all others, would take {n_bytes / 1e9:.1f} GB, past the limit of "
            f"{MAX_COUNT_BYTES / 1e9:.1f} GB; leave columns of many states out, or give them fewer (discretise)."
        )


def count_root(arrays: LeafArrays, target: int) -> np.ndarray:
    """The counts of all rows, (states of the target, entries + 1)."""
    out = np.zeros((arrays.n_states[target], len(arrays.totals)))
    _count_leaf(arrays, full_plane(arrays.n_samples), target, True, out)
    return out


def _collapsing_pays(data: Dataset) -> bool:
    """Whether visiting the distinct rows, level by level of a tree, costs less than sweeping planes for every leaf."""
    if _distinct_share(data.rows(slice(0, SAMPLED))) > 0.6:
        return False
    return _distinct_share(data) * _n_listed(data) * WORDS_PER_VISIT < LEAVES_PER_LEVEL * data.planes.size


def _distinct_share(data: Dataset) -> float:
    keys = np.sort(row_keys(data)[0])  # ten times as fast as np.unique
    return (np.count_nonzero(np.diff(keys)) + 1) / max(1, data.n_samples)


def _n_listed(data: Dataset) -> int:
    """Entries that hold, over all rows."""
    return count_ones(data.planes.ravel()) + int(np.count_nonzero(data.codes))


def _lay_out(data: Dataset) -> LeafArrays:
    n_planes = len(data.planes)
    beyond = n_planes + np.concatenate([[0], np.cumsum(np.where(data.code_row >= 0, data.n_states - 1, 0))])
    first_entry = np.where(data.code_row >= 0, beyond[:-1], data.first_plane[:-1]).astype(np.int64)
    listed = _n_listed(data)
    all_listed = listed <= MAX_LISTED
    planes = data.planes if all_listed else data.planes[:0]
    coded = np.flatnonzero(data.code_row >= 0)
    lengths = np.zeros(data.n_samples, np.int64)
    _count_listed(planes, data.codes, lengths)
    row_start = np.concatenate([[0], np.cumsum(lengths)])
    row_entries = np.empty(row_start[-1], np.int32)
    _list_entries(planes, data.codes, first_entry[coded], row_start[:-1].copy(), row_entries)
    weights = np.empty(0) if data.weights is None else np.ascontiguousarray(data.weights, np.float64)
    n_entries = int((data.n_states - 1).sum())
    arrays = LeafArrays(
        data.planes, data.n_states, first_entry, data.codes, data.code_row, row_start, row_entries, all_listed, weights,
        np.zeros(n_entries + 1),
    )  # fmt: skip
    rows = full_plane(data.n_samples)
    _count_mask(arrays, rows, _walking_pays(arrays, data.n_samples, 1), arrays.totals)
    return arrays


# Kernels


@njit(cache=True, nogil=True)
def _count_listed(planes, codes, lengths):
    for p in range(planes.shape[0]):
        for w in range(planes.shape[1]):
            word = planes[p, w]
            while word != 0:
                lengths[(w << 6) + np.int64(lowest_bit(word))] += 1
                word &= word - np.uint64(1)
    for c in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            lengths[i] += codes[c, i] > 0


@njit(cache=True, nogil=True)
def _list_entries(planes, codes, first_coded, at, row_entries):
    for p in range(planes.shape[0]):
        for w in range(planes.shape[1]):
            word = planes[p, w]
            while word != 0:
                row = (w << 6) + np.int64(lowest_bit(word))
                row_entries[at[row]] = p
                at[row] += 1
                word &= word - np.uint64(1)
    for c in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            if codes[c, i] > 0:
                row_entries[at[i]] = first_coded[c] + codes[c, i] - 1
                at[i] += 1


@njit(cache=True, nogil=True)
def _walking_pays(arrays, n_rows, n_sweeps):
    """Whether visiting the entries of so many rows costs less than so many sweeps over all planes and codes."""
    if not arrays.all_listed:
        return False
    if arrays.weights.size:
        return True
    per_row = arrays.row_entries.size / max(1, arrays.row_start.size - 1)
    sweep = arrays.planes.size + arrays.codes.shape[0] * n_rows * WORDS_PER_VISIT
    return n_rows * (per_row + 2.0) * WORDS_PER_VISIT < float(n_sweeps) * sweep


@njit(cache=True, nogil=True)
def _walk(arrays, mask, out):
    """Visit the entries of the mask's rows; out (entries + 1,)."""
    weighted = arrays.weights.size > 0
    n = 0.0
    for w in range(mask.size):
        word = mask[w]
        while word != 0:
            i = (w << 6) + np.int64(lowest_bit(word))
            word &= word - np.uint64(1)
            amount = arrays.weights[i] if weighted else 1.0
            n += amount
            for e in range(arrays.row_start[i], arrays.row_start[i + 1]):
                out[arrays.row_entries[e]] += amount
    out[-1] = n


@njit(cache=True, nogil=True)
def _sweep_two(planes, mask, inner, out, out_inner):
    """Count the ones of each plane under a mask and under a part of it at once."""
    n_planes = planes.shape[0]
    for p in range(0, n_planes - 3, 4):
        n = count_eight(mask, inner, planes[p], planes[p + 1], planes[p + 2], planes[p + 3])
        out[p], out[p + 1], out[p + 2], out[p + 3] = n[0], n[1], n[2], n[3]
        out_inner[p], out_inner[p + 1], out_inner[p + 2], out_inner[p + 3] = n[4], n[5], n[6], n[7]
    for p in range(n_planes - n_planes % 4, n_planes):
        out[p], out_inner[p] = count_both(mask, planes[p]), count_both(inner, planes[p])
    out[-1], out_inner[-1] = count_ones(mask), count_ones(inner)


@njit(cache=True, nogil=True)
def _scan_codes(arrays, mask, out):
    """Count the entries that have codes instead of planes, one variable after another."""
    for v in range(arrays.code_row.size):
        if arrays.code_row[v] < 0:
            continue
        codes, first = arrays.codes[arrays.code_row[v]], arrays.first_entry[v]
        for w in range(mask.size):
            word = mask[w]
            while word != 0:
                code = codes[(w << 6) + np.int64(lowest_bit(word))]
                word &= word - np.uint64(1)
                if code > 0:
                    out[first + code - 1] += 1.0


@njit(cache=True, nogil=True)
def _count_mask(arrays, mask, walk, out):
    """Count every entry under the mask, by walking its rows or by sweeping the planes; out (entries + 1,)."""
    if walk or not arrays.all_listed:
        _walk(arrays, mask, out)  # all entries, or those that have no planes
    if walk:
        return
    if arrays.all_listed:
        out[-1] = count_ones(mask)
        _scan_codes(arrays, mask, out)
    for p in range(arrays.planes.shape[0]):
        plane = arrays.planes[p]
        if arrays.weights.size:
            for w in range(mask.size):
                word = mask[w] & plane[w]
                while word != 0:
                    out[p] += arrays.weights[(w << 6) + np.int64(lowest_bit(word))]
                    word &= word - np.uint64(1)
        else:
            out[p] = count_both(mask, plane)


@njit(cache=True, nogil=True)
def _rows_in_state(arrays, mask, v, state, out):
    """The rows of the mask where variable v is in this state, into out (words,)."""
    row = arrays.code_row[v]
    if row >= 0:
        for w in range(mask.size):
            word, kept = mask[w], np.uint64(0)
            while word != 0:
                bit = word & (~word + np.uint64(1))
                if arrays.codes[row, (w << 6) + np.int64(lowest_bit(word))] == state:
                    kept |= bit
                word ^= bit
            out[w] = kept
    elif state > 0:
        plane = arrays.planes[arrays.first_entry[v] + state - 1]
        for w in range(mask.size):
            out[w] = mask[w] & plane[w]
    else:
        out[:] = mask
        for s in range(arrays.n_states[v] - 1):
            plane = arrays.planes[arrays.first_entry[v] + s]
            for w in range(mask.size):
                out[w] &= ~plane[w]


@njit(cache=True, nogil=True)
def _count_leaf(arrays, mask, target, is_root, out):
    """Fill out (states of the target, entries + 1), zeroed; at the root the totals are known already."""
    r = out.shape[0]
    parts = np.empty((r, mask.size), np.uint64)
    for c in range(1, r):
        _rows_in_state(arrays, mask, target, c, parts[c])
    walk = _walking_pays(arrays, count_ones(mask), r)
    if is_root or not walk:
        parts[0] = mask
    else:
        _rows_in_state(arrays, mask, target, 0, parts[0])
    if is_root:
        out[0] = arrays.totals
    elif r == 2 and not walk and arrays.all_listed:
        _sweep_two(arrays.planes, mask, parts[1], out[0], out[1])
        _scan_codes(arrays, mask, out[0])
        _scan_codes(arrays, parts[1], out[1])
        return
    else:
        _count_mask(arrays, parts[0], walk, out[0])
    for c in range(1, r):
        _count_mask(arrays, parts[c], walk, out[c])
        if walk and not is_root:
            for e in range(out.shape[1]):
                out[0, e] += out[c, e]


@njit(cache=True, nogil=True)
def count_roots(arrays, targets, mask, counts):
    """Counts of all rows for each target, into counts (targets, states, entries + 1), zeroed."""
    for k in range(targets.size):
        _count_leaf(arrays, mask, targets[k], True, counts[k])


@njit(cache=True, nogil=True)
def count_leaf(arrays, mask, target, out):
    """Counts of the rows of a mask, into out (states of the target, entries + 1), zeroed."""
    _count_leaf(arrays, mask, target, False, out)


@njit(cache=True, nogil=True)
def rows_in_state(arrays, mask, v, state, out):
    """The rows of the mask where variable v is in this state, into out (words,)."""
    _rows_in_state(arrays, mask, v, state, out)


@njit(cache=True, nogil=True)
def count_children(arrays, leaf, target, masks, counts, variable, state, first_child, slot, child_masks, child_counts):
    """Masks and counts of the children of some leaves: of leaf[k], which splits on variable[k], for each k.

    Its children are first_child[k]:first_child[k + 1]: of a binary split (state[k] >= 0) the rows in that state and the
    others, of a complete one the rows of each state. Child j is wanted in place slot[j] of the results, or not at all
    (-1). All but the largest are counted by looking at their rows, the largest by subtraction.
    """
    n_words = masks.shape[1]
    for k in range(leaf.size):
        begin, end = first_child[k], first_child[k + 1]
        rows = np.empty((end - begin, n_words), np.uint64)
        largest, most, n_wanted = 0, -1, 0
        for j in range(end - begin):
            if state[k] < 0:
                _rows_in_state(arrays, masks[leaf[k]], variable[k], j, rows[j])
            elif j == 0:
                _rows_in_state(arrays, masks[leaf[k]], variable[k], state[k], rows[j])
            else:
                for w in range(n_words):
                    rows[j, w] = masks[leaf[k], w] & ~rows[0, w]
            n = count_ones(rows[j])
            if n > most:
                largest, most = j, n
            if slot[begin + j] >= 0:
                n_wanted += 1
                child_masks[slot[begin + j]] = rows[j]
        if n_wanted == 0:
            continue
        rest = slot[begin + largest]
        if rest >= 0:
            child_counts[rest] = counts[leaf[k]]
        for j in range(end - begin):
            place = slot[begin + j]
            if j == largest or (place < 0 and rest < 0):
                continue
            out = np.zeros(counts.shape[1:]) if place < 0 else child_counts[place]
            out[:] = 0.0
            _count_leaf(arrays, rows[j], target[leaf[k]], False, out)
            if rest >= 0:
                child_counts[rest] -= out
