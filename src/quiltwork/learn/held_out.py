"""Rows to learn from, and rows to choose by."""

from __future__ import annotations

import numpy as np

from quiltwork.data.dataset import NO_CODE, Dataset
from quiltwork.errors import DataError
from quiltwork.rng import stream


def hold_out(data: Dataset, share: float, seed: int, why: str) -> tuple[Dataset, Dataset]:
    """The rows to learn from and a share of them, drawn at random, to choose by; `why` begins the message if it fails.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> data = from_codes([Variable("rain", ("no", "yes"))], [np.arange(20) % 2])
    >>> [part.n_samples for part in hold_out(data, 0.1, 0, "This")]
    [18, 2]
    """
    n_held = round(share * data.n_samples)
    if not 0 < n_held < data.n_samples:
        raise DataError(
            f"{why} chooses by held-out rows, and {data.n_samples} rows leave none to hold out; give validation=... "
            "or more rows, or fix what is to be chosen."
        )
    shuffled = stream(seed, 0).permutation(data.n_samples)
    return data.rows(np.sort(shuffled[n_held:])), data.rows(np.sort(shuffled[:n_held]))


def complete_rows(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The rows without missing values, as codes (rows, n_vars), and their weights."""
    codes = data.states()
    whole = (codes != NO_CODE).all(axis=1)
    if not whole.any():
        raise DataError(
            "Every held-out row has a missing value: nothing can be chosen by them; give others as validation=..."
        )
    return codes[whole], (np.ones(len(codes)) if data.weights is None else data.weights)[whole]
