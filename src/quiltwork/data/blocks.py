"""Blocks: columns of one kind, still to be encoded.

A block holds *numbers* (NaN where missing) or *codes* into labels that already stand in the order of the states (-1
where missing). It hands out its values a few rows at a time, in one of three dtypes, which is all that the
kernels of `pack` take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from quiltwork.data.dataset import State
from quiltwork.data.labels import Coded, all_whole

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Labels = tuple[State, ...]


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of one kind.

    where     (k,) positions of these columns in the table
    values    (k, n_samples) array, or k arrays: numbers, or codes into `labels`
    labels    by column, in the order of the states; None for numbers
    declared  by column: the labels name all that could occur, rather than what does
    """

    where: np.ndarray
    values: np.ndarray | Sequence[np.ndarray]
    labels: tuple[Labels, ...] | None = None
    declared: tuple[bool, ...] = ()

    @property
    def dtype(self) -> np.dtype:
        """The dtype in which the kernels take these values; a code of -1 becomes 255."""
        return np.dtype(np.uint8) if self.labels is not None else kernel_dtype(self.values[0].dtype)

    def copy_rows(self, start: int, stop: int, out: np.ndarray) -> None:
        """Write rows start to stop into out (k, stop - start), which has this block's dtype."""
        if isinstance(self.values, np.ndarray):
            np.copyto(out, self.values[:, start:stop], casting="unsafe")
        else:
            for c, column in enumerate(self.values):
                np.copyto(out[c], column[start:stop], casting="unsafe")

    def column(self, c: int) -> np.ndarray:
        return self.values[c]

    def absent(self, c: int) -> np.ndarray:
        """Which rows of column c are missing."""
        return _absent(self.column(c), coded=self.labels is not None)

    def rows(self, keep: np.ndarray) -> tuple[Block, ...]:
        """Some of the rows. Labels that no longer occur are forgotten, and floats that gave up NaN may be integers."""
        values = [column[keep] for column in self.values]
        if self.labels is not None:
            coded = map(Coded, values, self.labels, self.declared)
            codes, labels, _ = zip(*(one if one.declared else _forget_unused(one) for one in coded))
            return (replace(self, values=codes, labels=labels),)
        whole = [self.dtype.kind == "f" and bool(self.absent(c).any()) and all_whole(x) for c, x in enumerate(values)]
        values = [x.astype(np.int64) if as_integers else x for x, as_integers in zip(values, whole)]
        groups = [np.flatnonzero(whole), np.flatnonzero(~np.array(whole))]
        return tuple(Block(self.where[group], [values[c] for c in group]) for group in groups if len(group))

    def pick(self, chosen: Sequence[int], where: np.ndarray) -> Block:
        """Some of the columns, with new positions."""
        return Block(
            where,
            [self.values[c] for c in chosen],
            None if self.labels is None else tuple(self.labels[c] for c in chosen),
            tuple(self.declared[c] for c in chosen) if self.declared else (),
        )


@dataclass(frozen=True, eq=False)
class SparseBlock:
    """A SciPy sparse table: numbers, or codes of (False, True) if it holds bools. Fields as in Block."""

    where: np.ndarray
    matrix: csr_array
    labels: tuple[Labels, ...] | None = None

    @property
    def dtype(self) -> np.dtype:
        return kernel_dtype(self.matrix.dtype)

    @property
    def binary(self) -> bool:
        """Whether every stored value is a one."""
        return bool((self.matrix.data == 1).all())

    def copy_rows(self, start: int, stop: int, out: np.ndarray) -> None:
        np.copyto(out, self.matrix[start:stop].toarray().T, casting="unsafe")

    def column(self, c: int) -> np.ndarray:
        return self.matrix[:, [c]].toarray()[:, 0]

    def absent(self, c: int) -> np.ndarray:
        return _absent(self.column(c), coded=False)

    def rows(self, keep: np.ndarray) -> tuple[SparseBlock, ...]:
        return (replace(self, matrix=self.matrix[keep]),)

    def pick(self, chosen: Sequence[int], where: np.ndarray) -> SparseBlock:
        order = np.argsort(where)
        picked = self.matrix[:, np.asarray(chosen)[order]]
        return SparseBlock(where[order], picked, None if self.labels is None else self.labels[: len(where)])


def kernel_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype, out of three, that holds these numbers without loss."""
    if dtype in (np.uint8, np.bool_):
        return np.dtype(np.uint8)
    return np.dtype(np.float64 if dtype.kind == "f" else np.int64)


def _absent(values: np.ndarray, coded: bool) -> np.ndarray:
    if coded:
        return values < 0
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)


def _forget_unused(coded: Coded) -> Coded:
    used = np.zeros(len(coded.labels) + 1, bool)
    used[coded.codes] = True  # -1 marks the last place, which stands for no label
    rank = np.append(np.cumsum(used[:-1]) - 1, -1).astype(np.int32)
    return Coded(rank[coded.codes], tuple(label for label, kept in zip(coded.labels, used) if kept))
