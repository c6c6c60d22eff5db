"""The heaviest tree over all variables, from one row of weights at a time.

Chow and Liu (1968): of all distributions that factor along a tree, the likeliest has the tree with the largest sum of
mutual information over its edges. Prim's algorithm grows it from the lowest variable by the heaviest edge that leaves
it. For that it needs the weights of each variable with all others just once, when the variable joins, so that no table
of all pairs is ever held.

Edges are ordered by weight, then by the lower and the higher of their two columns. That order has no ties, so the
heaviest tree is unique and does not depend on where it is begun.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from quiltwork.errors import ResourceLimitError

Row = Callable[[int, np.ndarray], None]  # (variable, out): its weights with all variables, into out

LEAST = 1e-9  # what weighs no more is 0 but for rounding
MAX_PAIRS = 2**37  # some quarter of an hour


def spanning_forest(n_vars: int, row: Row, each: Callable[[int], None] = lambda done: None) -> np.ndarray:
    """The parent of each variable in the heaviest forest, -1 for the lowest of every tree; (n_vars,).

    row   writes the weights of a variable with all variables
    each  is called with the number of variables that have joined

    An edge must weigh more than LEAST: what depends on nothing is a tree by itself.

    >>> weights = np.array([[0.0, 3.0, 2.0, 0.0], [3.0, 0.0, 1.0, 0.0], [2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    >>> spanning_forest(4, lambda v, out: np.copyto(out, weights[v]))
    array([-1,  0,  0, -1])
    """
    n_pairs = n_vars * (n_vars - 1) // 2
    if n_pairs > MAX_PAIRS:
        raise ResourceLimitError(
            f"A tree over {n_vars:,} variables has {n_pairs:,} pairs to weigh, past the limit of {MAX_PAIRS:,}, which "
            "take a quarter of an hour: leave out the rarest columns."
        )
    parent = np.full(n_vars, -1, np.int64)
    heaviest = np.full(n_vars, LEAST)  # of the edges from the forest to each variable outside
    outside = np.ones(n_vars, np.bool_)
    weights = np.empty(n_vars)
    joined = 0
    for done in range(1, n_vars + 1):
        outside[joined] = False
        if done < n_vars:
            row(joined, weights)
            joined = _join(weights, joined, outside, heaviest, parent)
        each(done)
    return parent


@njit(cache=True, nogil=True)
def _join(weights, joined, outside, heaviest, parent):
    """Offer every variable outside the edges of the one that joined; the end of the best edge, or a new root.

    While a variable is outside, `parent` names the near end of the best edge to it, -1 where there is none.
    """
    best = -1
    for u in range(weights.size):
        if not outside[u]:
            continue
        if weights[u] > heaviest[u] or (weights[u] == heaviest[u] and joined < parent[u]):
            heaviest[u] = weights[u]
            parent[u] = joined
        if best < 0 or heaviest[u] > heaviest[best]:
            best = u
        elif heaviest[u] == heaviest[best] and parent[u] >= 0:
            low, low_best = min(u, parent[u]), min(best, parent[best])
            if low < low_best or (low == low_best and max(u, parent[u]) < max(best, parent[best])):
                best = u
    return best
