"""Survey: which labels each column holds, found in one sweep over a table.

Nearly all columns hold small whole numbers or codes of categories, and are swept many at a time by a kernel
(see `pack`, which explains its window of slots). A column with other numbers, or with many categories, is coded by
itself, and its codes are kept for the packing that follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quiltwork.data.blocks import Block, Labels, SparseBlock
from quiltwork.data.columns import Columns
from quiltwork.data.labels import code_numbers

_SCRATCH = 1 << 20  # bytes copied at a time: a piece that stays in the cache


@dataclass(frozen=True, eq=False)
class Survey:
    """What a table holds, by variable.

    labels  those that occur or were declared, in order; None for a variable that is no column of the table
    slots   (n_vars,) uint64, the slots of the window that occur
    absent  (n_vars,) bool, whether some cell is missing
    codes   into the labels, -1 where missing, of the variables that do not fit the window
    """

    columns: Columns
    labels: list[Labels | None]
    slots: np.ndarray
    absent: np.ndarray
    codes: dict[int, np.ndarray]

    def occurring(self, v: int) -> Labels:
        """The labels of one variable that occur in some row."""
        from quiltwork.data.pack import LOW

        labels = self.labels[v] or ()
        if v in self.codes:
            return tuple(labels[code] for code in np.unique(self.codes[v]).tolist() if code >= 0)
        block, _ = self.columns.home(v)
        places = range(len(labels)) if block.labels is not None else map(int, labels)
        return tuple(label for label, place in zip(labels, places) if int(self.slots[v]) >> (place - LOW) & 1)

    def absent_rows(self, v: int) -> np.ndarray:
        """Which rows are missing in one variable."""
        block, c = self.columns.home(v)
        return block.absent(c)

    def incomplete_rows(self) -> np.ndarray:
        """Which rows are missing in some variable."""
        rows = np.zeros(self.columns.n_samples, bool)
        for v in np.flatnonzero(self.absent).tolist():
            rows |= self.absent_rows(v)
        return rows


def survey_columns(columns: Columns, n_vars: int, max_states: int | None = None) -> Survey:
    """Sweep once over the values of a table whose columns stand at the positions of n_vars variables.

    >>> from quiltwork.data.columns import columns_of
    >>> survey_columns(columns_of({"a": [2, 1, 2], "b": ["x", None, "x"]}), 2).labels
    [(1, 2), ('x',)]
    """
    from quiltwork.data.pack import LOW, N_SLOTS

    labels: list[Labels | None] = [None] * n_vars
    slots, absent = np.zeros(n_vars, np.uint64), np.zeros(n_vars, bool)
    codes: dict[int, np.ndarray] = {}
    for block in columns.blocks:
        own, outside, nan = _survey_block(block, columns.n_samples)
        slots[block.where] = own
        if block.labels is None:
            absent[block.where] = nan
            found = _numbers(own, floats=(block.dtype == np.float64) & ~nan)
            for c in np.flatnonzero(outside).tolist():
                v = int(block.where[c])
                coded = code_numbers(columns.names[v], block.column(c), max_states)
                found[c], codes[v] = coded.labels, coded.codes
        else:
            absent[block.where] = outside  # a code of -1 lies outside the window
            found = list(block.labels)
            for c in (c for c, known in enumerate(found) if len(known) > N_SLOTS + LOW):
                v = int(block.where[c])
                codes[v] = block.column(c)
                absent[v] = bool((codes[v] < 0).any())
        for v, known in zip(block.where.tolist(), found):
            labels[v] = known
    return Survey(columns, labels, slots, absent, codes)


def pieces(block: Block | SparseBlock, n_samples: int) -> Iterator[tuple[int, np.ndarray, int]]:
    """(first row, values (k, rows), rows in use): a block piece by piece, each in the same memory."""
    k = len(block.where)
    n_rows = 64 * max(_SCRATCH // (64 * k * block.dtype.itemsize), 1)
    scratch = np.empty((k, min(n_rows, n_samples)), block.dtype)
    for start in range(0, n_samples, n_rows):
        stop = min(start + n_rows, n_samples)
        block.copy_rows(start, stop, scratch[:, : stop - start])
        yield start, scratch, stop - start


def _survey_block(block: Block | SparseBlock, n_samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(slots that occur, some number outside them, some cell NaN), by column of the block."""
    from quiltwork.data.pack import LOW, survey

    k = len(block.where)
    slots, outside, nan = np.zeros(k, np.uint64), np.zeros(k, bool), np.zeros(k, bool)
    if isinstance(block, SparseBlock) and block.binary:
        ones = np.bincount(block.matrix.indices, minlength=k)
        slots |= (ones < n_samples).astype(np.uint64) << np.uint64(-LOW)
        slots |= (ones > 0).astype(np.uint64) << np.uint64(1 - LOW)
        return slots, outside, nan
    for _, scratch, n_rows in pieces(block, n_samples):
        survey(scratch, n_rows, slots, outside, nan)
    return slots, outside, nan


def _numbers(slots: np.ndarray, floats: np.ndarray) -> list[Labels]:
    """The numbers that sets of slots stand for; few sets are distinct, so each is spelled out once."""
    from quiltwork.data.pack import LOW, N_SLOTS

    keys = list(zip(slots.tolist(), floats.tolist()))
    spelled: dict[tuple[int, bool], Labels] = {}
    for bits, as_floats in set(keys):
        whole = [LOW + s for s in range(N_SLOTS) if bits >> s & 1]
        spelled[bits, as_floats] = tuple(map(float, whole)) if as_floats else tuple(whole)
    return [spelled[key] for key in keys]
