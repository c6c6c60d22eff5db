"""Indicators: a table as regressions see it, a column of zeros and ones for each state beyond a variable's first.

An indicator is the list of its rows, or, where ones are many, one bit of a byte that eight indicators share: a
sum over all rows then costs one look-up for eight of them. Which is cheaper is a matter of counting ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.dataset import Dataset, physical_memory
from quiltwork.errors import ResourceLimitError

PACKED_PAYS = 1.3  # ones per byte from which on looking up bytes beats walking lists


class Indicators(NamedTuple):
    """m rows of n indicators, as lists or packed. (Fields keep their order: kernels cached on disk know them by place.)

    first_row  (n + 1,) where the rows of each indicator begin; all 0 where packed
    rows       (ones,) int32, ascending for each indicator
    packed     (m, n_bytes) uint8, indicator j is bit j % 8 of byte j // 8; (0, 0) where lists are kept
    variable   (n,) the variable that each indicator belongs to, ascending
    ones       (n,) weight of the rows of each indicator
    weights    (m,) of the rows
    """

    first_row: np.ndarray
    rows: np.ndarray
    packed: np.ndarray
    variable: np.ndarray
    ones: np.ndarray
    weights: np.ndarray


def indicators(data: Dataset) -> Indicators:
    """The indicators of a table without missing values, laid out in the cheaper way.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> data = from_codes([Variable("a", (0, 1)), Variable("b", (0, 1, 2))], [np.array([0, 1, 0]), np.array([2, 0, 1])])
    >>> x = indicators(data)
    >>> x.variable, x.ones, [x.rows[a:b].tolist() for a, b in zip(x.first_row, x.first_row[1:])]
    (array([0, 1, 1]), array([1., 1., 1.]), [[1], [2], [0]])
    """
    n_samples, n_own = data.n_samples, np.maximum(data.n_states - 1, 0)
    counts = [np.bincount(data.column(v), minlength=r)[1:] for v, r in enumerate(data.n_states.tolist())]
    first_row = np.cumsum(np.concatenate([[0], *counts]), dtype=np.int64)
    first_own, n_bytes = np.concatenate([[0], np.cumsum(n_own)]), -(-int(n_own.sum()) // 8)
    is_packed = first_row[-1] > PACKED_PAYS * n_samples * n_bytes
    n_needed = n_samples * n_bytes if is_packed else 4 * int(first_row[-1])
    if n_needed > physical_memory():
        raise ResourceLimitError(
            f"The ones of {n_samples:,} rows and {data.n_vars:,} variables take {n_needed / 2**30:.1f} GB, more than "
            "this machine has: leave out rare columns, or take a sample of the rows."
        )
    rows = np.empty(0 if is_packed else first_row[-1], np.int32)
    packed = np.zeros((n_samples, n_bytes) if is_packed else (0, 0), np.uint8)
    weights = np.ones(n_samples) if data.weights is None else np.asarray(data.weights, np.float64)
    ones = np.zeros(len(first_row) - 1)
    for v in range(data.n_vars):
        own = slice(*first_own[v : v + 2])
        _lay_out(data.column(v), weights, own.start, first_row[own].copy(), rows, packed, ones[own])
    return Indicators(
        np.zeros_like(first_row) if is_packed else first_row,
        rows,
        packed,
        variable=np.repeat(np.arange(data.n_vars), n_own),
        ones=ones,
        weights=weights,
    )


@njit(cache=True, nogil=True)
def _lay_out(codes, weights, begin, following, rows, packed, ones):
    """Write one variable's column: its indicators are numbered from `begin`, their rows start at `following`."""
    for i in range(codes.size):
        s = np.int64(codes[i]) - 1
        if s >= 0:
            ones[s] += weights[i]
            if packed.size:
                packed[i, (begin + s) >> 3] |= np.uint8(1 << ((begin + s) & 7))
            else:
                rows[following[s]] = i
                following[s] += 1
