"""Held-out rows as judges: those by which something is chosen lack no value.

A row with a missing value can be scored too, but differently by every kind of model, and what is compared must be
judged alike.
"""

from __future__ import annotations

from quiltwork.data.dataset import NO_CODE, Dataset
from quiltwork.errors import DataError


def complete_rows(held_out: Dataset) -> Dataset:
    """The held-out rows that have a value everywhere; refused where there are none, or none of any weight.

    >>> import numpy as np
    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> wet = Variable("wet", ("no", "yes"))
    >>> complete_rows(from_codes([wet], [np.array([1, NO_CODE, 0])])).n_samples
    2
    """
    if held_out.missing is not None:
        whole = (held_out.states() != NO_CODE).all(axis=1)
        if held_out.n_samples and not whole.any():
            raise DataError(
                "Every held-out row has a missing value: nothing can be chosen by them; give others as validation=..."
            )
        held_out = held_out.rows(whole)
    if not held_out.total > 0:
        what = "no weight" if held_out.n_samples else "no rows"
        raise DataError(f"The held-out rows have {what}: nothing can be chosen by them; give others as validation=...")
    return held_out
