"""From values to bit planes and back: the kernels under `Encoder` and `Dataset`.

Most columns hold a few small whole numbers (0/1, codes of categories, ratings), so a value is looked up in a
*window* of 64 slots: slot s stands for the number LOW + s, and one more slot for everything that has no
number there (NaN, or a code of -1). One sweep (`survey`) finds the slots in use, which are the sorted states; a
second (`pack_block`) sends each value through its column's table of slots to a code, and 64 codes to one
word of each plane. Columns with values outside the window take a slower road, one by one.

A block is (columns, rows): a piece of the table small enough for the cache, copied there by the caller, so
that these kernels see only three dtypes (uint8, int64, float64) and one layout.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from quiltwork.data.bits import lowest_bit

LOW = -8  # the number that slot 0 stands for
N_SLOTS = 64
ELSEWHERE = N_SLOTS  # the slot of a cell without a number in the window
NO_STATE = 65_535  # in a table: the cell is missing; the same as NO_CODE in a Dataset


@njit(cache=True, nogil=True)
def survey(block, n_rows, slots, outside, absent):
    """Add what the first n_rows rows of block (k, rows) hold, by column.

    slots (k,) uint64: bit s set if slot s occurs; outside (k,) bool: some number has no slot;
    absent (k,) bool: some cell is NaN.
    """
    for c in range(block.shape[0]):
        found = np.uint64(0)
        for i in range(n_rows):
            x = block[c, i]
            if x != x:
                absent[c] = True
            elif x >= LOW and x < LOW + N_SLOTS and x == np.floor(x):
                found |= np.uint64(1) << np.uint64(np.int64(x) - LOW)
            else:
                outside[c] = True
        slots[c] |= found


@njit(cache=True, nogil=True)
def pack_block(block, n_rows, word, table, where, first_plane, code_row, planes, codes, missing):
    """Encode the first n_rows rows of block (k, rows) into the words from `word` on.

    table (k, 65) uint16: code of each slot, or NO_STATE; where (k,): the variable, or -1 to skip the column;
    the rest as in Dataset, with missing (0, 0) when no cell can be missing.
    """
    line = np.empty(64, np.uint16)  # codes of the rows of one word
    for c in range(block.shape[0]):
        v = where[c]
        if v < 0:
            continue
        for start in range(0, n_rows, 64):
            w, n = word + (start >> 6), min(64, n_rows - start)
            for i in range(n):
                x = block[c, start + i]
                slot = np.int64(ELSEWHERE)
                if x >= LOW and x < LOW + N_SLOTS:
                    slot = np.int64(x) - LOW
                line[i] = table[c, slot]
            for p in range(first_plane[v], first_plane[v + 1]):
                planes[p, w] = _rows_of(line, n, p - first_plane[v] + 1)
            if missing.shape[0] > 0:
                missing[v, w] = _rows_of(line, n, NO_STATE)
            if code_row[v] >= 0:
                for i in range(n):
                    codes[code_row[v], (w << 6) + i] = 0 if line[i] == NO_STATE else line[i]


@njit(cache=True, nogil=True)
def _rows_of(line, n, code):
    """A word with the bits of the rows that have this code."""
    word = np.uint64(0)
    for i in range(n):
        word |= np.uint64(line[i] == code) << np.uint64(i)
    return word


@njit(cache=True, nogil=True)
def set_bits(indptr, indices, planes):
    """Planes (columns, words), zeroed before, of a binary CSR matrix."""
    for i in range(indptr.size - 1):
        bit = np.uint64(1) << np.uint64(i & 63)
        for k in range(indptr[i], indptr[i + 1]):
            planes[indices[k], i >> 6] |= bit


@njit(cache=True, nogil=True)
def ones_by_row(planes, n_rows, n_ones):
    """The inverse of `set_bits`: (indptr, indices), with the columns of each row ascending."""
    indptr = np.zeros(n_rows + 1, np.int32)
    for p in range(planes.shape[0]):
        for w in range(planes.shape[1]):
            bits = planes[p, w]
            while bits != 0:
                indptr[(w << 6) + np.int64(lowest_bit(bits)) + 1] += 1
                bits &= bits - np.uint64(1)
    for i in range(n_rows):
        indptr[i + 1] += indptr[i]
    indices = np.empty(n_ones, np.int32)
    following = indptr[:-1].copy()
    for p in range(planes.shape[0]):
        for w in range(planes.shape[1]):
            bits = planes[p, w]
            while bits != 0:
                row = (w << 6) + np.int64(lowest_bit(bits))
                indices[following[row]] = p
                following[row] += 1
                bits &= bits - np.uint64(1)
    return indptr, indices


@njit(cache=True, nogil=True)
def unpack_states(planes, first_plane, codes, code_row, missing, out):
    """Codes of all cells into out (n_samples, n_vars), zeroed before; NO_STATE where missing."""
    n_rows, n_vars = out.shape
    for w in range((n_rows + 63) >> 6):
        start = w << 6
        for v in range(n_vars):
            if code_row[v] >= 0:
                for i in range(start, min(start + 64, n_rows)):
                    out[i, v] = codes[code_row[v], i]
            for p in range(first_plane[v], first_plane[v + 1]):
                bits = planes[p, w]
                while bits != 0:
                    out[start + np.int64(lowest_bit(bits)), v] = p - first_plane[v] + 1
                    bits &= bits - np.uint64(1)
            if missing.shape[0] > 0:
                bits = missing[v, w]
                while bits != 0:
                    out[start + np.int64(lowest_bit(bits)), v] = NO_STATE
                    bits &= bits - np.uint64(1)
