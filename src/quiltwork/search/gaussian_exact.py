"""The best Gaussian network there is, of few variables: no climb, but dynamic programming over all sets of them.

Some variable of every set has no child in it. Its parents are the best that the rest of the set holds, and the rest has
a best network of its own; so the best network of a set follows from those of the sets with one variable fewer.

Paper    Silander and Myllymäki (2006), A simple approach for finding the globally optimal Bayesian network structure
Symbols  n variables; a set of them is a number whose bit v tells whether v is in it
Path     correlations -> what each set leaves of each variable -> scores of all families -> the best parents in every
         set -> the best network of every set
Ties     of equivalent networks one whose arcs lead from earlier columns to later ones; of parents that score the same
         the fewest
Not for  columns that nearly follow from others: what rounding is among their scores, a climb knows, and this does not
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from quiltwork.scores.gaussian import GaussianScore
from quiltwork.search.moves import TOLERANCE

MOST_VARIABLES = 16  # a climb with its restarts takes longer up to here; 16 MB are held
CLEAR = 1e-8  # the least eigenvalue of correlations that no rounding can spoil


def is_within_reach(matrix: np.ndarray) -> bool:
    """Whether the best network can be found from these correlations."""
    return len(matrix) <= MOST_VARIABLES and bool(np.linalg.eigvalsh(matrix)[0] > CLEAR)


def best_parents(
    matrix: np.ndarray, score: GaussianScore, limit: int, barred: np.ndarray, needed: np.ndarray
) -> list[tuple[int, ...]]:
    """The parents of every variable in the best network.

    barred, needed  (n, n) bool [child, parent]: those that may not be there, a child among them, and those that must
    limit           most parents of a variable, unless more are needed
    """
    shares, log_det, size = _shares_left(matrix)
    logs, bits = np.log(shares, out=shares), 1 << np.arange(len(matrix))
    some = np.minimum(size, len(matrix) - 1)  # all variables together are parents of none
    constants = score.constants[some] - score.determinant * log_det
    _score(logs, score.offset, constants, score.slopes[some], size <= limit, barred @ bits, needed @ bits)
    return [tuple(np.flatnonzero(own & bits).tolist()) for own in _best_network(logs).tolist()]


@njit(cache=True, nogil=True)
def _shares_left(matrix):
    """What each set leaves of each variable beside it (2^n, n); log |C| of each set, and how many are in it, (2^n,).

    A set follows from the one without its lowest member, as in `stats.partial`. The covariances that are left are kept
    for one set of each lowest member: sets are taken in such an order that no other is asked for. Those that have no
    member are the n-th.
    """
    n = matrix.shape[0]
    shares, log_det, size = np.ones((1 << n, n)), np.zeros(1 << n), np.zeros(1 << n, np.int64)
    left = np.empty((n + 1, n, n))
    left[n] = matrix
    for chosen in range(1, 1 << n):
        low = _lowest(chosen, 0, n)
        rest, before = chosen ^ 1 << low, _lowest(chosen, low + 1, n)
        pivot = shares[rest, low]
        size[chosen], log_det[chosen] = size[rest] + 1, log_det[rest] + math.log(pivot)
        for v in range(n):
            shares[chosen, v] = shares[rest, v] - left[before, low, v] * left[before, low, v] / pivot
        for v in range(low, n):
            if chosen >> v & 1:
                shares[chosen, v] = 1.0  # it is not asked for any more
        for u in range(low):  # they may come to this set
            weight = left[before, low, u] / pivot
            for v in range(n):
                left[low, u, v] = left[before, u, v] - weight * left[before, low, v]
    return shares, log_det, size


@njit(cache=True, nogil=True)
def _score(logs, offset, constants, slopes, is_within, barred, needed):
    """Logs of shares (2^n, n) become what each variable scores with each set as its parents; -inf if that cannot be."""
    for chosen in range(logs.shape[0]):
        for v in range(logs.shape[1]):
            wrong = chosen & barred[v] | ~chosen & needed[v]
            score = offset[v] + constants[chosen] - slopes[chosen] * logs[chosen, v]
            allowed = (wrong == 0) & (is_within[chosen] | (chosen == needed[v]))
            logs[chosen, v] = score if allowed else -np.inf


@njit(cache=True, nogil=True)
def _best_network(scores):
    """(n,) the parents of each variable, as sets, in the network that scores most.

    scores (2^n, n) are those of the families, and become the best of each variable with parents within each set.
    """
    n_sets, n = scores.shape
    for u in range(n):
        pairs = scores.reshape(n_sets >> (u + 1), 2, n << u)  # sets without u, sets with it
        for p in range(pairs.shape[0]):
            without, within = pairs[p, 0], pairs[p, 1]
            for i in range(within.size):
                if without[i] > within[i]:
                    within[i] = without[i]
    best = np.full(n_sets, -np.inf)
    best[0] = 0.0
    for chosen in range(1, n_sets):
        top = -np.inf
        for v in range(n):  # a v that is not in the set adds to -inf
            rest = chosen & ~(1 << v)
            top = max(top, best[rest] + scores[rest, v])
        best[chosen] = top
    parents, chosen = np.zeros(n, np.int64), n_sets - 1
    while chosen:
        v = n - 1
        while not chosen >> v & 1 or best[chosen ^ 1 << v] + scores[chosen ^ 1 << v, v] < best[chosen] - TOLERANCE:
            v -= 1
        chosen ^= 1 << v
        own = chosen
        for u in range(n):
            if own >> u & 1 and scores[own ^ 1 << u, v] >= scores[own, v] - TOLERANCE:
                own ^= 1 << u
        parents[v] = own
    return parents


@njit(cache=True, nogil=True)
def _lowest(chosen, start, n):
    """The lowest member of a set from `start` on; n if there is none."""
    while start < n and not chosen >> start & 1:
        start += 1
    return start
