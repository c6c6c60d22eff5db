"""What a split or a merge of leaves gains in the Bayesian score of a tree.

A leaf with counts n_c of the child's states, n in all, is worth

    lnG(a) - lnG(a + n) + sum over c of [ lnG(a_c + n_c) - lnG(a_c) ]      (lnG: log-gamma; a = sum of the a_c)

and every free parameter of the tree costs -ln kappa. Under the uniform prior all a_c are 1, and log-gammas of whole
numbers are looked up in a table; under a prior network (an even one, U-PN, is BDeu-like) a_c is its share of the
equivalent sample, given for every entry in an array laid out as the counts are.

Papers   Chickering, Heckerman, Meek (1997), sections 3 and 4.1
         Heckerman, Chickering, Meek, Rounthwaite, Kadie (2000), section 3
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

TOLERANCE = 1e-9  # gains closer than this count as equal, or float noise would decide
MAX_TABLE = 2**22  # whole numbers beyond this are not tabled: 32 MB

UNIFORM = np.empty((0, 0))  # in place of an array of prior counts
LIGHTEST = 1e-12  # share of a leaf below which a part of it is a rest that subtraction left
TRACE = 1e-12  # a prior count of zero would make a state impossible for ever; a trace keeps the score finite


def is_whole(weights: np.ndarray) -> bool:
    """Whether all weights are whole numbers, so that counts are."""
    return bool((weights == np.floor(weights)).all())


def log_factorials(total: float, whole: bool, most_states: int) -> np.ndarray:
    """ln n! for all n that uniform scores of `total` rows can need; empty where weights are no whole numbers.

    >>> log_factorials(2.0, True, 2).round(3)
    array([0.   , 0.   , 0.693, 1.792])
    """
    from scipy.special import gammaln

    if not whole or total > MAX_TABLE:
        return np.empty(0)
    return gammaln(np.arange(int(total) + most_states) + 1.0)


# Kernels


@njit(cache=True, nogil=True)
def _log_factorial(table, n):
    if table.size:
        return table[np.int64(n)]
    return math.lgamma(n + 1.0) if n > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _add_entry(counts, prior, e, sign, tally, belief):
    """Add the counts of one entry (column e) to a tally by state of the target, whose place 0 holds the sum."""
    for c in range(tally.size):
        tally[c] += sign * counts[c, e]
        if prior.size:
            belief[c] += sign * prior[c, e]


@njit(cache=True, nogil=True)
def _worth(table, tally, belief, uniform):
    """The score of a leaf; place 0 of tally and belief hold sums, and the first state has what the others leave."""
    r = tally.size
    n = max(tally[0], 0.0)
    first = n
    if uniform:
        score = _log_factorial(table, r - 1.0) - _log_factorial(table, n + r - 1.0)
        for c in range(1, r):
            here = max(tally[c], 0.0)
            first -= here
            score += _log_factorial(table, here)
        return score + _log_factorial(table, max(first, 0.0))
    a_first, a = belief[0], 0.0
    score = 0.0
    for c in range(1, r):
        here, a_c = max(tally[c], 0.0), max(belief[c], TRACE)
        first -= here
        a_first -= belief[c]
        a += a_c
        score += math.lgamma(a_c + here) - math.lgamma(a_c)
    a_first = max(a_first, TRACE)
    a += a_first
    score += math.lgamma(a_first + max(first, 0.0)) - math.lgamma(a_first)
    return score + math.lgamma(a) - math.lgamma(a + n)


@njit(cache=True, nogil=True)
def leaf_score(table, counts, prior):
    """The score of a leaf with these counts (states of the target, entries + 1)."""
    r, last = counts.shape[0], counts.shape[1] - 1
    tally, belief = np.zeros(r), np.zeros(r)
    _add_entry(counts, prior, last, 1.0, tally, belief)
    return _worth(table, tally, belief, prior.size == 0)


@njit(cache=True, nogil=True)
def _is_split(n, n_here, min_leaf, belief, belief_here):
    """Whether both sides have the rows they need, and (under a prior network) some configuration."""
    if n_here < min_leaf or n - n_here < min_leaf:
        return False
    return belief == 0.0 or LIGHTEST * belief < belief_here < (1.0 - LIGHTEST) * belief


@njit(cache=True, nogil=True)
def best_split(table, counts, prior, n_states, first_entry, allowed, excluded, binary, complete, min_leaf, log_kappa):
    """The split of a leaf that gains most: (gain, variable, state), state -1 for a complete split.

    allowed (n_vars,) says who may split; a gain of -inf, that none can. Ties go to the lowest variable and state. No
    leaf but an empty one may have fewer rows than min_leaf, and two must have as many. excluded (places,) marks the
    states that no row of the leaf can be in, because of the splits above (`stats.leaves`); empty for none.
    """
    r, last = counts.shape[0], counts.shape[1] - 1
    uniform = prior.size == 0
    own, own_belief, tally, belief = np.zeros(r), np.zeros(r), np.empty(r), np.zeros(r)
    _add_entry(counts, prior, last, 1.0, own, own_belief)
    base = _worth(table, own, own_belief, uniform)
    least = max(min_leaf, 1e-9) if uniform else min_leaf
    best, best_variable, best_state = -np.inf, -1, -1
    fast = r == 2 and uniform and table.size > 0
    for v in range(n_states.size):
        if not allowed[v] or n_states[v] < 2:
            continue
        first, k = first_entry[v], n_states[v]
        if fast and k == 2:
            a, b = counts[0, first], counts[1, first]
            if a < least or own[0] - a < least:
                continue
            i, j, n, m = np.int64(a), np.int64(b), np.int64(own[0] - a), np.int64(own[1] - b)
            gain = table[j] + table[i - j] - table[i + 1] + table[m] + table[n - m] - table[n + 1] - base + log_kappa
            if gain > best + TOLERANCE:
                best, best_variable, best_state = gain, v, 1 if binary else -1
            continue
        whole, n_possible, n_filled, n_light = 0.0, 0, 0, 0
        for s in range(k):
            if s == 0:  # what the other states leave
                tally[:], belief[:] = own, own_belief
                for e in range(first, first + k - 1):
                    _add_entry(counts, prior, e, -1.0, tally, belief)
            else:
                tally[:], belief[:] = 0.0, 0.0
                _add_entry(counts, prior, first + s - 1, 1.0, tally, belief)
            n_here, belief_here = tally[0], belief[0]
            if excluded.size and excluded[last + v if s == 0 else first + s - 1]:
                continue
            has_rows = n_here > LIGHTEST * own[0]
            if not uniform and not has_rows and belief_here <= LIGHTEST * own_belief[0]:
                continue  # the prior network knows no such configuration, and no row shows one
            here = _worth(table, tally, belief, uniform)
            whole += here
            n_possible += 1
            n_filled += n_here >= least
            n_light += has_rows and n_here < least
            if not binary or (k == 2 and s == 0):
                continue
            if _is_split(own[0], n_here, least, own_belief[0], belief_here):
                tally[:], belief[:] = own - tally, own_belief - belief
                gain = here + _worth(table, tally, belief, uniform) - base + (r - 1) * log_kappa
                if gain > best + TOLERANCE:
                    best, best_variable, best_state = gain, v, s
        if complete and (k > 2 or not binary) and n_filled >= 2 and n_light == 0:
            gain = whole - base + (n_possible - 1) * (r - 1) * log_kappa
            if gain > best + TOLERANCE:
                best, best_variable, best_state = gain, v, -1
    return best, best_variable, best_state


@njit(cache=True, nogil=True)
def best_splits(table, counts, target, n_states, first_entry, allowed, excluded, binary, complete, min_leaf, log_kappa,
                gain, variable, state):  # fmt: skip
    """`best_split` for many leaves (leaves, states, entries + 1) under the uniform prior, into the last three.

    allowed (targets, n_vars) or (1, n_vars) for all alike; no target ever splits its own tree. excluded (leaves,
    places), of no width where none are known.
    """
    prior = np.empty((0, 0))
    for k in range(target.size):
        t = target[k]
        may = allowed[t if allowed.shape[0] > 1 else 0].copy()
        may[t] = False
        gain[k], variable[k], state[k] = best_split(
            table, counts[k], prior, n_states, first_entry, may, excluded[k], binary, complete, min_leaf, log_kappa
        )


@njit(cache=True, nogil=True)
def may_gain(table, own, min_leaf, log_kappa, out):
    """Whether some split of each leaf could gain under the uniform prior, into out (leaves,).

    own (leaves, states) are the counts of the states themselves. No split beats one that parts the states cleanly,
    a leaf for each; its parameters are charged as those of one binary split.
    """
    for k in range(len(own)):
        out[k] = _may_gain(table, own[k], min_leaf, log_kappa)


@njit(cache=True, nogil=True)
def _may_gain(table, own, min_leaf, log_kappa):
    n, r = own.sum(), own.size
    if n < 2 * min_leaf:
        return False
    score = -_log_factorial(table, r - 1.0) + _log_factorial(table, n + r - 1.0)
    clean = 0.0
    n_seen = 0
    for c in range(r):
        if own[c] > 0:
            n_seen += 1
            clean += _log_factorial(table, r - 1.0) + _log_factorial(table, own[c])
            clean -= _log_factorial(table, own[c] + r - 1.0)
        score -= _log_factorial(table, own[c])
    return n_seen > 1 and score + clean + (r - 1) * log_kappa > TOLERANCE


@njit(cache=True, nogil=True)
def merge_gains(table, counts, priors, log_kappa, which, gains):
    """What merging leaf `which` with each other leaf gains, into gains (n_leaves,); -inf for itself.

    counts (n_leaves, states), priors of that shape or empty.
    """
    n_leaves, r = counts.shape
    uniform = priors.size == 0
    tally, belief = np.zeros(r), np.zeros(r)
    for k in range(n_leaves):
        if k == which:
            gains[k] = -np.inf
            continue
        gain = -(r - 1) * log_kappa
        for sign, u, w in ((-1.0, which, -1), (-1.0, k, -1), (1.0, which, k)):
            tally[:], belief[:] = 0.0, 0.0
            for leaf in (u, w):
                if leaf >= 0:
                    for c in range(r):
                        tally[0] += counts[leaf, c]
                        if not uniform:
                            belief[0] += priors[leaf, c]
                        if c > 0:
                            tally[c] += counts[leaf, c]
                            if not uniform:
                                belief[c] += priors[leaf, c]
            gain += sign * _worth(table, tally, belief, uniform)
        gains[k] = gain
