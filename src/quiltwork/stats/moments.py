"""Moments: means, deviations and correlations of a table of numbers, all that a Gaussian model ever asks of its rows.

Two sweeps, so that values near 1e8 with unit variance lose nothing: the first finds the means, the second sums the
products of what is left after the means are taken away, and takes away what the rounding of the means left behind.
Every column is divided by its reach, so no square is too large or too small to be held.

What comes out are correlations, so no later threshold depends on units. A column whose deviation is no more than the
rounding of its values is constant: it correlates with nothing, and its deviation is set to a small share of its size,
because a density needs one.

Products are summed over blocks of fixed size, each by a BLAS on one thread, so that the sums never depend on the number
of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from quiltwork.data.dataset import physical_memory
from quiltwork.data.numbers import Numbers
from quiltwork.errors import ResourceLimitError

ROUNDING = 8 * np.finfo(np.float64).eps  # deviations below this share of a column's size are rounding
CONSTANT = 1e-8  # the deviation of a constant column, as a share of its size
_ROWS, _COLUMNS = 4096, 256  # of a block

# Calls task(i) for each i < n, perhaps in several threads.
Run = Callable[[Callable[[int], None], int], None]


def run_here(task: Callable[[int], None], n: int) -> None:
    for i in range(n):
        task(i)


@dataclass(frozen=True, eq=False)
class Moments:
    """First and second moments; made by `Moments.of`.

    n_samples    rows
    total        rows, or the sum of their weights
    mean         (n_vars,)
    deviation    (n_vars,) above 0; squared, the mean of the squared distances to the mean
    correlation  (n_vars, n_vars), symmetric, with ones on the diagonal
    constant     (n_vars,) bool, the columns that do not vary

    >>> from quiltwork.data.numbers import fit_numbers
    >>> moments = Moments.of(fit_numbers({"a": [1e8, 1e8 + 1, 1e8 + 2], "b": [2, 4, 6], "c": [7, 7, 7]})[1])
    >>> moments.deviation[:2]**2, moments.correlation[0].tolist(), moments.constant.tolist()
    (array([0.66666667, 2.66666667]), [1.0, 1.0, 0.0], [False, False, True])
    """

    n_samples: int
    total: float
    mean: np.ndarray
    deviation: np.ndarray
    correlation: np.ndarray
    constant: np.ndarray

    @classmethod
    def of(cls, numbers: Numbers, run: Run = run_here) -> Moments:
        """The moments of complete rows."""
        check_size(numbers.n_vars)
        mean, reach = _means(numbers)
        with _blas().limit(limits=1, user_api="blas"):
            products, rest = _products(numbers, mean, reach, run)
        mean = mean + reach * rest
        products -= np.outer(rest, rest)
        spread = np.sqrt(np.maximum(products.diagonal(), 0.0))
        constant = spread * reach <= ROUNDING * (np.abs(mean) + reach)
        size = np.where(mean == 0.0, 1.0, np.abs(mean))
        deviation = np.where(constant, CONSTANT * size, spread * reach)
        products /= np.outer(*2 * [np.where(constant, np.inf, spread)])
        np.clip(products, -1.0, 1.0, out=products)
        np.fill_diagonal(products, 1.0)
        return cls(numbers.n_samples, numbers.total, mean, deviation, products, constant)

    @property
    def n_vars(self) -> int:
        return len(self.mean)

    def shrunk(self, factor: float) -> Moments:
        """The same with every correlation multiplied by a factor, as a prior does that knows of none."""
        if factor == 1.0:
            return self
        correlation = factor * self.correlation
        np.fill_diagonal(correlation, 1.0)
        return replace(self, correlation=correlation)


@cache
def _blas() -> Any:
    """The libraries of this process that could use threads of their own; looking for them takes a while."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def check_size(n_vars: int) -> None:
    """Refuse a matrix of all pairs of variables that would not fit, with those that a search holds beside it."""
    needed = 4 * 8 * n_vars**2
    if needed > physical_memory():
        raise ResourceLimitError(
            f"The correlations of {n_vars:,} variables and what is worked out from them take {needed / 2**30:,.1f} GB, "
            "more than the memory of this machine: leave out columns."
        )


def _means(numbers: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each column, and how far its values lie from its first one at most (1 where they do not move)."""
    first = numbers.values[0]
    moved, reach = np.zeros(numbers.n_vars), np.zeros(numbers.n_vars)
    for rows, weights in _row_blocks(numbers):
        away = rows - first
        reach = np.maximum(reach, np.abs(away).max(axis=0))
        moved += away.sum(axis=0) if weights is None else weights @ away
    return first + moved / numbers.total, np.where(reach == 0.0, 1.0, reach)


def _products(numbers: Numbers, mean: np.ndarray, reach: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Means of the products of all pairs of columns, centred and divided by their reach; and means of those columns."""
    n_vars = numbers.n_vars
    products, rest = np.zeros((n_vars, n_vars)), np.zeros(n_vars)
    parts = [slice(start, min(start + _COLUMNS, n_vars)) for start in range(0, n_vars, _COLUMNS)]
    pairs = list(combinations_with_replacement(parts, 2))
    for rows, weights in _row_blocks(numbers):
        centred = (rows - mean) / reach
        if weights is None:
            rest += centred.sum(axis=0)
        else:
            rest += weights @ centred
            centred *= np.sqrt(weights)[:, None]

        def add(i: int, centred: np.ndarray = centred) -> None:
            one, other = pairs[i]
            products[one, other] += centred[:, one].T @ centred[:, other]

        run(add, len(pairs))
    for one, other in pairs:
        products[other, one] = products[one, other].T
    return products / numbers.total, rest / numbers.total


def _row_blocks(numbers: Numbers) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    for start in range(0, numbers.n_samples, _ROWS):
        block = slice(start, start + _ROWS)
        yield numbers.values[block], None if numbers.weights is None else numbers.weights[block]
