"""What the rankers of items share: columns of two states, how often two items are chosen together, and an inverse."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import Encoder
from quiltwork.data.pack import ones_by_row
from quiltwork.errors import InputError, ResourceLimitError
from quiltwork.learn.base import SHARED, Learner, Progress
from quiltwork.params import Param
from quiltwork.stats.pairs import count_pairs

MAX_MATRIX_BYTES = 4 * 2**30
BYTES_PER_PAIR = 12  # of two items: a count of four bytes and a float of eight
BLOCK = 256  # rows and columns that one step of `invert` sweeps


class ItemLearner(Learner):
    """Base of the learners that take every column for an item, which a user chose or did not."""

    name = "items"
    parameters: ClassVar[tuple[Param, ...]] = SHARED

    def _begin_items(self, X: object, weights: object) -> tuple[Encoder, Dataset]:
        """Check the parameters, read and encode the table, and see that every column has two states."""
        encoder, data = self._begin(X, weights)
        for variable in encoder.variables:
            if variable.n_states != 2:
                raise InputError(
                    f"{type(self).__name__} ranks items, and an item must have two states, not chosen and chosen. "
                    f"Column {variable.name!r} has {variable.n_states}; leave it out, or make it 0 and 1."
                )
        return encoder, data


def check_size(n_items: int, what: str, way_out: str) -> None:
    """Refuse a matrix of all pairs of items that would not fit, before anything is counted."""
    needed = BYTES_PER_PAIR * n_items**2
    if needed > MAX_MATRIX_BYTES:
        raise ResourceLimitError(
            f"{what} over {n_items:,} items would take {needed / 2**30:,.1f} GB, past the limit of "
            f"{MAX_MATRIX_BYTES / 2**30:.0f} GB: {way_out}."
        )


def chosen_together(data: Dataset) -> np.ndarray:
    """The rows (or their weight) in which both items are chosen, (n_items, n_items); each item alone on the diagonal.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> tea, milk = np.array([1, 1, 0]), np.array([1, 0, 0])
    >>> chosen_together(from_codes([Variable("tea", (0, 1)), Variable("milk", (0, 1))], [tea, milk]))
    array([[2., 1.],
           [1., 1.]])
    """
    if data.weights is None:
        return count_pairs(data).joint.astype(np.float64)
    rows = choices(data)
    return (rows.T.multiply(data.weights).tocsr() @ rows).toarray()


def choices(data: Dataset) -> csr_array:
    """The table as a sparse matrix, one where an item is chosen."""
    if data.ones is not None:
        return data.ones.astype(np.float64)
    n_ones = int(np.bitwise_count(data.planes).sum())
    indptr, indices = ones_by_row(data.planes, data.n_samples, n_ones)
    return csr_array((np.ones(n_ones), indices, indptr), shape=(data.n_samples, data.n_vars))


def invert(matrix: np.ndarray, progress: Progress) -> None:
    """Invert a symmetric positive definite matrix in place.

    It is swept one block after another: with A = matrix[b, b], the block becomes -A^-1, what stands beside it is
    multiplied by A^-1, and the rest loses what goes through the block; in the end it is the negative inverse.
    Only what is above the diagonal is kept up to date. No step is long, so that Ctrl-C is heard.
    """
    n = len(matrix)
    blocks = [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]
    for b in blocks:
        beside = np.concatenate([matrix[: b.start, b].T, matrix[b, b.start :]], axis=1)
        inverse = np.linalg.inv(matrix[b, b])
        solved = inverse @ beside
        for rows in blocks:
            matrix[rows, rows.start :] -= beside[:, rows].T @ solved[:, rows.start :]
        matrix[: b.start, b] = solved[:, : b.start].T
        matrix[b, b.start :] = solved[:, b.start :]
        matrix[b, b] = -inverse
        progress("inverting", b.stop, n)
    for rows in blocks:
        np.negative(matrix[rows, rows.start :], out=matrix[rows, rows.start :])
        matrix[rows.stop :, rows] = matrix[rows, rows.stop :].T
