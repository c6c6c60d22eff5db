"""Partial variances: what a regression leaves of a variable, and what one parent more or less would leave.

Everything is read off a matrix C of correlations, with ones on its diagonal. Let P be the parents of v and C_PP = L L'.

    weights of the regression             b = C_PP^-1 C_Pv
    share of v's variance that is left    s = 1 - C_vP b
    covariance of u and v given P         c_u = C_uv - C_uP b
    share of u's variance given P         r_u
    share of v left with u in P too       s - c_u^2 / r_u
    share of v left without p in P        s + b_p^2 r_p,   where 1 / r_p = (C_PP^-1)_pp is p's share given the others

Everything about one v thus costs O(n k) for n variables and k parents, once the r_u are known; and those follow a
parent p as it comes in: r_u loses c_up^2 / r_p, with the covariance of u and p given the parents before, O(n k) again.
No regression is ever done for one candidate alone.

Rank loss: a share below `RANK` is one that rounding may have made (the products of 1e-16 under a matrix whose condition
is no better than 1e10), so such a parent depends on the others: it gets weight 0 and is never proposed.

Rounding: what is worked out from C by a Cholesky factor is exact for some C + E whose entries differ by rounding, and
changing C by E changes s by (1, -b) E (1, -b)'. So a share is wrong by no more than ROUNDING (k + 1) (1 + |b|)^2, with
|b| the sum of the sizes of its weights. For a candidate they are first bounded, by |w|^2 <= k (1 - r_u) trace C_PP^-1,
and worked out where that is not good enough.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

RANK = 1e-10
SURE = 1e-9  # of a share: what it may be wrong by without a closer look
ROUNDING = 2 * np.finfo(np.float64).eps


@njit(cache=True, nogil=True)
def regress(matrix, child, parents):
    """Weights (k,) of a child's parents, 0 for a parent that depends on those before it; and the share that is left."""
    lower = _factor(matrix, parents)
    return _solve(matrix, lower, child, parents)


@njit(cache=True, nogil=True)
def follow_parents(matrix, parents, first, shares):
    """Bring shares (n,), what is left of each variable given parents[:first], up to all of the parents."""
    lower = _factor(matrix, parents)
    for j in range(first, parents.size):
        pivot = lower[j, j]
        if pivot == 0.0:
            continue
        weights = _back(lower, lower[j, :j], j)
        with_j = matrix[parents[j]].copy()
        _subtract(matrix, parents, weights, with_j)
        for u in range(shares.size):
            part = with_j[u] / pivot
            shares[u] = max(shares[u] - part * part, 0.0)


@njit(cache=True, nogil=True)
def changed_shares(matrix, child, parents, shares, after, own, after_off, own_off):
    """Fill after (n,) with the share of the child left if u came to its parents, or left them; and own (n,) with the
    share of u itself given the parents other than u, 0 where u depends on them; and after_off and own_off (n,) with
    what each may be wrong by. shares (n,) is what is left of each variable given the parents.
    Returns the share left now, what it may be wrong by, log |C_PP|, and what that may be wrong by.
    """
    k = parents.size
    unit = ROUNDING * (k + 2)
    lower = _factor(matrix, parents)
    weights, left = _solve(matrix, lower, child, parents)
    with_child = matrix[child].copy()
    _subtract(matrix, parents, weights, with_child)
    size = 1.0 + np.abs(weights).sum()
    whole, log_det, log_det_off = True, 0.0, 0.0
    for i in range(k):
        whole = whole and lower[i, i] > 0.0
        log_det += 2.0 * math.log(lower[i, i]) if lower[i, i] > 0.0 else math.log(RANK)
    inverse = _inverse(lower) if whole else np.zeros((k, k))
    trace = np.trace(inverse)
    for i in range(k):
        u = parents[i]
        if whole:
            own[u] = 1.0 / inverse[i, i]
            after[u] = left + weights[i] * weights[i] * own[u]
            rest, own_size = 1.0, 0.0
            for j in range(k):
                own_size += abs(inverse[j, i]) * own[u]  # u's own weights, and a one for u itself
                if j != i:
                    rest += abs(weights[j] - weights[i] * inverse[j, i] * own[u])
            after_off[u], own_off[u] = unit * rest * rest, unit * own_size * own_size
            log_det_off += own_off[u] / own[u]
        else:  # another parent may take over from one that depends on it
            others = np.delete(parents, i)
            fewer = _factor(matrix, others)
            own_weights, own[u] = _solve(matrix, fewer, u, others)
            rest_weights, after[u] = _solve(matrix, fewer, child, others)
            own[u] = max(own[u], RANK)
            own_off[u] = unit * (1.0 + np.abs(own_weights).sum()) ** 2
            after_off[u] = unit * (1.0 + np.abs(rest_weights).sum()) ** 2
    is_parent = np.zeros(shares.size, np.bool_)
    is_parent[parents] = True
    is_parent[child] = True
    for u in range(shares.size):
        if is_parent[u]:
            continue
        own[u], after[u], own_off[u], after_off[u] = 0.0, left, 0.0, 0.0
        if shares[u] >= RANK:
            weight = with_child[u] / shares[u]
            own[u] = shares[u]
            after[u] = max(left - weight * with_child[u], 0.0)
            own_size = 1.0 + math.sqrt(k * max(1.0 - shares[u], 0.0) * trace)
            if unit * (size + abs(weight) * own_size) ** 2 > SURE * after[u] or unit * own_size**2 > SURE * own[u]:
                own_size = 1.0 + np.abs(_solve(matrix, lower, u, parents)[0]).sum()
            own_off[u], after_off[u] = unit * own_size**2, unit * (size + abs(weight) * own_size) ** 2
    own[child], after[child], own_off[child], after_off[child] = 0.0, left, 0.0, 0.0
    return left, unit * size * size, log_det, log_det_off


@njit(cache=True, nogil=True)
def _factor(matrix, parents):
    """Cholesky factor (k, k) of the parents' correlations; its pivot is 0 for one that depends on those before it."""
    k = parents.size
    lower = np.zeros((k, k))
    for i in range(k):
        for j in range(i + 1):
            rest = matrix[parents[i], parents[j]]
            for l in range(j):  # noqa: E741
                rest -= lower[i, l] * lower[j, l]
            if j < i:
                lower[i, j] = rest / lower[j, j] if lower[j, j] > 0.0 else 0.0
            elif rest >= RANK:
                lower[i, i] = math.sqrt(rest)
    return lower


@njit(cache=True, nogil=True)
def _solve(matrix, lower, child, parents):
    """Weights of the parents and the share left, from the factor of the parents' correlations."""
    k = parents.size
    known = np.zeros(k)
    left = 1.0
    for i in range(k):
        if lower[i, i] > 0.0:
            rest = matrix[child, parents[i]]
            for l in range(i):  # noqa: E741
                rest -= lower[i, l] * known[l]
            known[i] = rest / lower[i, i]
            left -= known[i] * known[i]
    return _back(lower, known, k), max(left, 0.0)


@njit(cache=True, nogil=True)
def _back(lower, known, k):
    """The solution x (k,) of L' x = known for the first k rows of L; 0 where the pivot is 0."""
    x = np.zeros(k)
    for i in range(k - 1, -1, -1):
        if lower[i, i] > 0.0:
            rest = known[i]
            for l in range(i + 1, k):  # noqa: E741
                rest -= lower[l, i] * x[l]
            x[i] = rest / lower[i, i]
    return x


@njit(cache=True, nogil=True)
def _subtract(matrix, parents, weights, out):
    """Take away from out (n,) the rows of the parents, weighted."""
    for i in range(weights.size):
        weight = weights[i]
        row = matrix[parents[i]]
        for u in range(out.size):
            out[u] -= weight * row[u]


@njit(cache=True, nogil=True)
def _inverse(lower):
    """The inverse of L L' (k, k)."""
    k = lower.shape[0]
    columns = np.zeros((k, k))  # of L^-1
    for i in range(k):
        for j in range(i, k):
            rest = 1.0 if j == i else 0.0
            for l in range(i, j):  # noqa: E741
                rest -= lower[j, l] * columns[l, i]
            columns[j, i] = rest / lower[j, j]
    out = np.zeros((k, k))
    for i in range(k):
        for j in range(i + 1):
            for l in range(i, k):  # noqa: E741
                out[i, j] += columns[l, i] * columns[l, j]
            out[j, i] = out[i, j]
    return out
