"""The likelihood of whole rows: log P(row) where the model has a tractable joint.

For a Bayesian network it is one lookup per family. Missing values are summed out exactly, so a row with
missing values gets the likelihood of what was observed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from quiltwork.data.dataset import NO_CODE
from quiltwork.infer.missing import add_log_likelihood
from quiltwork.infer.question import implementation, model_of, row_blocks, rows_of
from quiltwork.infer.tables import compiled
from quiltwork.models.bayesian import BayesianNet


def log_likelihood(model: Any, X: object) -> np.ndarray:
    """log P(row) for each row of X, (rows,); -inf for a row that cannot happen.

    >>> from quiltwork.models.textbook import textbook
    >>> from quiltwork.infer.sample import sample
    >>> asia = textbook("asia")
    >>> log_likelihood(asia, sample(asia, 3, seed=0)).shape
    (3,)
    """
    model = model_of(model)
    rows = rows_of(model, X)
    of_codes = implementation(LOG_LIKELIHOOD, model, "log_likelihood")
    out = np.empty(rows.n_samples)
    for block, codes in row_blocks(rows, rows.n_vars):
        out[block] = of_codes(model, codes)
    return out


def _bayesian(model: BayesianNet, codes: np.ndarray) -> np.ndarray:
    net = compiled(model)
    out = np.empty(len(codes))
    if _add_complete_families(net.tables, codes, out):
        add_log_likelihood(net, codes, out)
    return out


LOG_LIKELIHOOD = {BayesianNet: _bayesian}


@njit(cache=True, nogil=True)
def _add_complete_families(tables, codes, out):
    """Sum of log P(x_c | parents) over the families without missing values, into out (rows,); whether any has one."""
    any_missing = False
    for i in range(codes.shape[0]):
        total = 0.0
        for c in range(codes.shape[1]):
            complete = codes[i, c] != NO_CODE
            at = tables.first_entry[c] + codes[i, c]
            for j in range(tables.first_parent[c], tables.first_parent[c + 1]):
                state = codes[i, tables.parents[j]]
                complete &= state != NO_CODE
                at += tables.strides[j] * state
            if complete:
                total += tables.log_probs[at]
            else:
                any_missing = True
        out[i] = total
    return any_missing
