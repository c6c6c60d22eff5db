"""Parents for one variable at a time: the best of a few candidates, taken one by one while the score grows.

Nothing here asks for an order of the variables or for the absence of cycles, so every variable is a problem of its
own: this is how the table CPDs of a dependency network are found.

Score  MDL with smoothed estimates (the `mdl` of scores.families)
Ties   within 1e-9 go to the candidate that comes first
"""

from __future__ import annotations

import numpy as np
from numba import njit

from quiltwork.data.bits import lowest_bit

TOLERANCE = 1e-9


@njit(cache=True, nogil=True)
def choose_parents(
    planes, first_plane, n_states, codes, code_row, weights, n_samples, spread,
    children, candidates, chosen, gains,
):  # fmt: skip
    """Fill chosen (n_vars, k) with parents of `children` in the order in which they enter, padded with -1; and gains
    (n_vars, k) with what each added to the score. candidates (n_vars, k), padded with -1, come best first.
    """
    for v in children:
        chosen[v], gains[v] = -1, 0.0
        n_candidates = 0
        while n_candidates < candidates.shape[1] and candidates[v, n_candidates] >= 0:
            n_candidates += 1
        own = _column(planes, first_plane, n_states, codes, code_row, n_samples, v)
        columns = np.empty((n_candidates, n_samples), np.uint16)
        for k in range(n_candidates):
            columns[k] = _column(planes, first_plane, n_states, codes, code_row, n_samples, candidates[v, k])
        free = np.ones(n_candidates, np.bool_)
        config, n_configs = np.zeros(n_samples, np.int64), 1
        score = _score(config, 1, np.zeros(n_samples, np.uint16), 1, own, n_states[v], weights, spread)
        for step in range(n_candidates):
            best, top = -1, score + TOLERANCE
            for k in range(n_candidates):
                r = n_states[candidates[v, k]]
                if free[k] and -_cost(n_configs * r, n_states[v], own, weights) > top:  # else it is too dear to count
                    new = _score(config, n_configs, columns[k], r, own, n_states[v], weights, spread)
                    if new > top:
                        best, top = k, new + TOLERANCE
            if best < 0:
                break
            free[best] = False
            chosen[v, step], gains[v, step] = candidates[v, best], top - TOLERANCE - score
            score = top - TOLERANCE
            r = n_states[candidates[v, best]]
            config = config * r + columns[best]
            n_configs *= r


@njit(cache=True, nogil=True)
def _column(planes, first_plane, n_states, codes, code_row, n_samples, v):
    """The codes of one variable."""
    out = np.zeros(n_samples, np.uint16)
    if code_row[v] >= 0:
        out[:] = codes[code_row[v]]
        return out
    for s in range(1, n_states[v]):
        plane = planes[first_plane[v] + s - 1]
        for w in range(plane.size):
            word = plane[w]
            while word != 0:
                out[(w << 6) + np.int64(lowest_bit(word))] = s
                word &= word - np.uint64(1)
    return out


@njit(cache=True, nogil=True)
def _cost(n_configs, r, own, weights):
    """What the free parameters of a table cost."""
    total = weights.sum() if weights.size > 0 else float(own.size)
    return 0.5 * np.log(max(total, 1.0)) * n_configs * (r - 1)


@njit(cache=True, nogil=True)
def _score(config, n_configs, more, r_more, own, r, weights, spread):
    """MDL of the family of a child with r states whose configurations are those of config and of one more parent."""
    table = np.zeros((n_configs * r_more, r))
    for i in range(own.size):
        table[config[i] * r_more + more[i], own[i]] += weights[i] if weights.size > 0 else 1.0
    a = spread / table.size
    score = -_cost(n_configs * r_more, r, own, weights)
    for j in range(table.shape[0]):
        n_j = 0.0
        for k in range(r):
            if table[j, k] > 0.0:
                score += table[j, k] * np.log(table[j, k] + a)
                n_j += table[j, k]
        if n_j > 0.0:
            score -= n_j * np.log(n_j + r * a)
    return score
