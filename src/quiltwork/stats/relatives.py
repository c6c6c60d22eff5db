"""Relatives: for each variable, the few others it depends on most, by Pearson's chi-square.

One row of the chi-square matrix is counted, scored and forgotten at a time, so that thousands of variables need no
table of all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numba import njit

from quiltwork.stats.families import Arrays, count_candidates

Run = Callable[[Callable[[int], None], int], None]

_AT_A_TIME = 64  # variables of one task: a task for each would cost as much as its work
COUNT_BYTES = 2**24  # counts of one variable with as many others as fit


def chi_square_relatives(arrays: Arrays, k: int, run: Run, allowed: np.ndarray | None = None) -> np.ndarray:
    """The k variables with the highest chi-square with each variable, (n_vars, k), best first and padded with -1.

    Ties go to the lower column. A variable that is constant in these rows gets and gives no relatives. `allowed`
    (n_vars,) says who may be a relative; without it anybody may.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> a, b, c = np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1]), np.array([1, 0, 0, 1])
    >>> data = from_codes([Variable(name, (0, 1)) for name in "abc"], [a, b, c])
    >>> chi_square_relatives(Arrays.of(data), 1, lambda task, n: [task(i) for i in range(n)])
    array([[2],
           [0],
           [0]])
    """
    n_vars = len(arrays.n_states)
    out = np.full((n_vars, k), -1, np.int64)
    nothing = np.empty(0, np.int64)
    may = np.ones(n_vars, np.bool_) if allowed is None else allowed

    def some(block: int) -> None:
        for v in range(block * _AT_A_TIME, min((block + 1) * _AT_A_TIME, n_vars)):
            chi = np.empty(n_vars)
            for low, high in _blocks(arrays.first_column, int(arrays.n_states[v])):
                _, _, count, joint = count_candidates(*arrays.swept(), v, nothing, low, high)
                own = arrays.first_column[low : high + 1] - arrays.first_column[low]
                chi[low:high] = _chi_squares(count, joint, own)
            _top(chi, may, v, out[v])

    run(some, -(-n_vars // _AT_A_TIME))
    return out


def _blocks(first_column: np.ndarray, n_states: int) -> Iterator[tuple[int, int]]:
    """The variables low:high whose states are counted together with those of one of so many states."""
    n_vars, low = len(first_column) - 1, 0
    most = COUNT_BYTES // (8 * n_states)
    while low < n_vars:
        high = int(np.searchsorted(first_column, first_column[low] + most, side="right")) - 1
        high = min(max(high, low + 1), n_vars)
        yield low, high
        low = high


@njit(cache=True, nogil=True)
def _chi_squares(count, joint, first_column):
    """Chi-square of one variable, whose states that occur have these counts, with every variable; 0 for a constant."""
    n_vars = first_column.size - 1
    out = np.zeros(n_vars)
    total = count.sum()
    for u in range(n_vars):
        begin, end = first_column[u], first_column[u + 1]
        chi, rest = 0.0, total
        for column in range(begin, end + 1):  # the first state comes last, as what the others leave
            n_u = rest
            if column < end:
                n_u = 0.0
                for s in range(count.size):
                    n_u += joint[s, column]
                rest -= n_u
            if n_u <= 0.0:
                continue
            for s in range(count.size):
                n = count[s]
                if column < end:
                    n = joint[s, column]
                else:
                    for other in range(begin, end):
                        n -= joint[s, other]
                expected = count[s] * n_u / total
                if expected > 0.0:  # a state may occur in rows of weight zero alone
                    chi += (n - expected) * (n - expected) / expected
        out[u] = chi
    return out


@njit(cache=True, nogil=True)
def _top(chi, may, v, out):
    """The positions of the largest positive values, best first, into out; ties to the lower position."""
    filled = 0
    for u in range(chi.size):
        # What is 0 but for rounding is 0: independent, or constant.
        if u == v or not may[u] or chi[u] <= 1e-9:
            continue
        if filled == out.size and chi[u] <= chi[out[-1]]:
            continue
        k = min(filled, out.size - 1)
        while k > 0 and chi[out[k - 1]] < chi[u]:
            out[k] = out[k - 1]
            k -= 1
        out[k] = u
        filled = min(filled + 1, out.size)
