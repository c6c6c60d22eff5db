"""Rows to learn from, and rows to choose by."""

from __future__ import annotations

import numpy as np

from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import Encoder
from quiltwork.errors import DataError
from quiltwork.learn.base import with_weight
from quiltwork.rng import stream


def given_rows(encoder: Encoder, validation: object) -> Dataset:
    """The rows of `fit(X, validation=V)`, but for those of weight 0."""
    rows: Dataset = with_weight(encoder.encode(validation))
    if not rows.n_samples:
        raise DataError("'validation' must have rows to judge by. Got a table without any; leave it out.")
    return rows


def hold_out(data: Dataset, share: float, seed: int, why: str, instead: str) -> tuple[Dataset, Dataset]:
    """The rows to learn from and a share of them, drawn at random, to choose by.

    `why` begins the message if that fails, and `instead` is what needs no rows to choose by.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> data = from_codes([Variable("rain", ("no", "yes"))], [np.arange(20) % 2])
    >>> [part.n_samples for part in hold_out(data, 0.1, 0, "This", "that")]
    [18, 2]
    """
    n_held = round(share * data.n_samples)
    if not 0 < n_held < data.n_samples:
        rows = "1 row leaves" if data.n_samples == 1 else f"{data.n_samples} rows leave"
        raise DataError(
            f"{why} chooses by held-out rows, and {rows} none to hold out; give validation=... or more rows, "
            f"or {instead}."
        )
    shuffled = stream(seed, 0).permutation(data.n_samples)
    return data.rows(np.sort(shuffled[n_held:])), data.rows(np.sort(shuffled[:n_held]))
