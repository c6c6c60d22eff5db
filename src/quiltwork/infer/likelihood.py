"""The likelihood of whole rows: log P(row) where the model has a tractable joint.

For a Bayesian network it is one lookup per family. Missing values are summed out exactly, so a row with
missing values gets the likelihood of what was observed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import InputError
from quiltwork.infer.gaussian import gaussian_log_likelihood
from quiltwork.infer.gaussian_tree import gaussian_tree_log_likelihood
from quiltwork.infer.markov_tree import tree_log_likelihood
from quiltwork.infer.missing import add_log_likelihood
from quiltwork.infer.question import implementation, model_of, row_blocks, rows_of
from quiltwork.infer.tables import compiled, distribution_rows
from quiltwork.infer.undirected import boxed_log_likelihood, log_potentials
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.gaussian import GaussianNet
from quiltwork.models.markov import MarkovNet
from quiltwork.models.markov_tree import DiscreteTree, GaussianTree


def log_likelihood(model: Any, X: object, log_partition: Any = None) -> np.ndarray:
    """log P(row) for each row of X, (rows,); -inf for a row that cannot happen.

    A Markov network needs log Z, the sum over all its states. It is exact where the network is narrow enough, and an
    IntractableError otherwise; `log_partition`, the answer of `quiltwork.log_partition` or a number, takes its place.

    >>> from quiltwork.models.textbook import textbook
    >>> from quiltwork.infer.sample import sample
    >>> asia = textbook("asia")
    >>> log_likelihood(asia, sample(asia, 3, seed=0)).shape
    (3,)
    """
    model = model_of(model)
    rows = rows_of(model, X)
    of_codes, log_z = implementation(LOG_LIKELIHOOD, model, "log_likelihood"), 0.0
    if log_partition is not None:
        of_codes = implementation(LOG_POTENTIALS, model, "log_likelihood(log_partition=...)")
        log_z = _log_z(log_partition)
    out = np.empty(rows.n_samples)
    for block, codes in row_blocks(rows, rows.n_vars):
        out[block] = of_codes(model, codes) - log_z
    return out


def _log_z(log_partition: Any) -> float:
    try:
        log_z = float(log_partition)
    except (TypeError, ValueError, OverflowError):
        log_z = math.nan
    if not math.isfinite(log_z):
        raise InputError(
            f"'log_partition' must be the answer of quiltwork.log_partition(model), or a finite number. Got "
            f"{log_partition!r} instead."
        )
    return log_z


def _bayesian(model: BayesianNet, codes: np.ndarray) -> np.ndarray:
    if not model.is_tabular:
        return _local(model, codes)
    net = compiled(model)
    out = np.empty(len(codes))
    if _add_complete_families(net.tables, codes, out):
        add_log_likelihood(net, codes, out)
    return out


def _local(model: BayesianNet, codes: np.ndarray) -> np.ndarray:
    """The sum of what each CPD, table or tree, says; rows with missing values are summed out over tables."""
    whole = np.flatnonzero((codes != NO_CODE).all(axis=1))
    out = np.zeros(len(codes))
    for v, cpd in enumerate(model.cpds):
        here = cpd.probs[distribution_rows(model, v, codes[whole]), codes[whole, v]]
        out[whole] += np.log(here, out=np.full(len(here), -np.inf), where=here > 0)
    gaps = np.setdiff1d(np.arange(len(codes)), whole)
    if len(gaps):
        out[gaps] = _bayesian(model.tabular(), codes[gaps])
    return out


LOG_LIKELIHOOD: dict[type, Callable[..., np.ndarray]] = {
    BayesianNet: _bayesian,
    DiscreteTree: tree_log_likelihood,
    GaussianNet: gaussian_log_likelihood,
    GaussianTree: gaussian_tree_log_likelihood,
    MarkovNet: boxed_log_likelihood,
}
LOG_POTENTIALS = {MarkovNet: log_potentials}


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
