"""The likelihood of a log-linear model with few joint states: its value and gradient, by adding up all of them.

    log-likelihood of the rows = sum over features of count * weight - rows * log Z,
    Z                          = sum over all joint states x of exp(sum of the weights of the features that hold in x)

and the derivative by a weight is the feature's count less rows times its probability. A feature holds in a box of the
table of all joint states, so that one evaluation adds each weight to a box, and adds up the probabilities there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, prod

import numpy as np
from numba import njit

from quiltwork.data.dataset import Dataset
from quiltwork.errors import ResourceLimitError
from quiltwork.stats.conjunctions import Conjunctions, count_holding

MAX_CELLS = 2**22  # joint states: 32 MB
CALL_CELLS = 2**24  # cells that one call of a kernel visits, some tens of milliseconds


@dataclass(frozen=True, eq=False)
class ExactLikelihood:
    """The log-likelihood of some rows as a function of the weights of features.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> data = from_codes([Variable("a", (0, 1)), Variable("b", (0, 1))], [np.array([0, 1, 1]), np.array([0, 1, 0])])
    >>> both = ExactLikelihood.of(data, Conjunctions.of([[(0, 1), (1, 1)]]))
    >>> value, gradient = both(np.array([0.0]))
    >>> round(value / np.log(0.25)), gradient
    (3, array([0.25]))
    """

    n_states: np.ndarray
    features: Conjunctions
    counts: np.ndarray  # rows in which each feature holds
    total: float
    cuts: np.ndarray  # the features at which the calls of the kernels begin and end

    @classmethod
    def of(cls, data: Dataset, features: Conjunctions) -> ExactLikelihood:
        """Count the features in `data`, which must not have missing values."""
        n_cells = check_cells(data.n_states)
        log_sizes = np.bincount(features.feature, np.log(data.n_states[features.columns]), len(features))
        calls = np.cumsum(n_cells * np.exp(-log_sizes)) // CALL_CELLS
        cuts = np.array([0, *(np.flatnonzero(np.diff(calls)) + 1), len(features)], np.int64)
        return cls(data.n_states, features, count_holding(data, features), data.total, cuts)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The log-likelihood at these weights, and its gradient."""
        table = np.zeros(prod(self.n_states.tolist()))
        arrays = self.n_states, self.features.first_condition, self.features.columns, self.features.states
        for low, high in zip(self.cuts[:-1], self.cuts[1:], strict=True):
            _add_boxes(*arrays, weights, low, high, table)
        top = table.max()
        np.exp(table - top, out=table)
        z = table.sum()
        shares = np.zeros(len(weights))
        for low, high in zip(self.cuts[:-1], self.cuts[1:], strict=True):
            _sum_boxes(*arrays, table, low, high, shares)
        value = float(self.counts @ weights) - self.total * (log(z) + float(top))
        return value, self.counts - self.total * shares / z


def check_cells(n_states: np.ndarray) -> int:
    """The number of joint states; refused if they are too many to be enumerated."""
    n_cells = prod(n_states.tolist())
    if n_cells > MAX_CELLS:
        raise ResourceLimitError(
            f"{len(n_states)} variables have {float(n_cells):.3g} joint states, past the limit of {MAX_CELLS:,} for "
            "exact likelihood: maximise the pseudo-likelihood instead (objective='pseudo')."
        )
    return n_cells


# Kernels


@njit(cache=True, nogil=True)
def _add_boxes(n_states, first, variable, state, weights, low, high, table):
    """Add the weights of the features low to high to the cells they hold in; the last variable is the fastest."""
    for f in range(low, high):
        start, steps, sizes = _box(n_states, first, variable, state, f)
        at, cell, inner = np.zeros(steps.size, np.int64), start, steps.size - 1
        while cell >= 0:
            for k in range(sizes[inner]):
                table[cell + k * steps[inner]] += weights[f]
            cell = _next(at, cell, steps, sizes)


@njit(cache=True, nogil=True)
def _sum_boxes(n_states, first, variable, state, table, low, high, out):
    """Into out (features,) the sum of the cells in which each of the features low to high holds."""
    for f in range(low, high):
        start, steps, sizes = _box(n_states, first, variable, state, f)
        at, cell, inner = np.zeros(steps.size, np.int64), start, steps.size - 1
        total = 0.0
        while cell >= 0:
            for k in range(sizes[inner]):
                total += table[cell + k * steps[inner]]
            cell = _next(at, cell, steps, sizes)
        out[f] = total


@njit(cache=True, nogil=True)
def _box(n_states, first, variable, state, f):
    """The first cell of feature f's box, and for each free variable the step between its states and their number."""
    stride = np.ones(n_states.size + 1, np.int64)
    for v in range(n_states.size - 1, -1, -1):
        stride[v] = stride[v + 1] * n_states[v]
    start, c = 0, first[f]
    steps, sizes, n = np.ones(n_states.size + 1, np.int64), np.ones(n_states.size + 1, np.int64), 1
    for v in range(n_states.size):
        if c < first[f + 1] and variable[c] == v:
            start += stride[v + 1] * state[c]
            c += 1
        elif n > 1 and steps[n - 1] == stride[v + 1] * n_states[v]:  # neighbours in the table are one longer axis
            steps[n - 1] = stride[v + 1]
            sizes[n - 1] *= n_states[v]
        else:
            steps[n], sizes[n] = stride[v + 1], n_states[v]
            n += 1
    return start, steps[:n], sizes[:n]


@njit(cache=True, nogil=True)
def _next(at, cell, steps, sizes):
    """Turn the wheels of all axes but the last; -1 when they are through."""
    k = steps.size - 2
    while k >= 0:
        at[k] += 1
        cell += steps[k]
        if at[k] < sizes[k]:
            return cell
        cell -= at[k] * steps[k]
        at[k] = 0
        k -= 1
    return -1
