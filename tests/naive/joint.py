"""The judge of inference up to six variables: the full joint table, and sums over it.

A network is (n_states, parents, probs): states of each variable, parents of each variable ascending, and a table
(configurations with the last parent fastest, states) for each variable. A row holds a state or None for each variable.
"""

import itertools

import numpy as np


def joint(n_states, parents, probs):
    """P(x) for every x, one axis per variable, multiplied out one cell at a time."""
    table = np.empty(n_states)
    for cell in itertools.product(*map(range, n_states)):
        p = 1.0
        for v, own in enumerate(parents):
            config = 0
            for u in own:
                config = config * n_states[u] + cell[u]
            p *= probs[v][config][cell[v]]
        table[cell] = p
    return table


def known(table, row):
    """The table with every cell that disagrees with the row set to zero."""
    out = np.zeros_like(table)
    cells = tuple(slice(None) if s is None else slice(s, s + 1) for s in row)
    out[cells] = table[cells]
    return out


def probability(table, row):
    """P(what the row says)."""
    return known(table, row).sum()


def posterior(table, asked, row):
    """P(asked | what the row says), axes in the order asked, or None where the row is impossible."""
    left = known(table, row)
    if left.sum() == 0:
        return None
    others = tuple(v for v in range(table.ndim) if v not in asked)
    kept = left.sum(axis=others)
    return kept.transpose(np.argsort(np.argsort(asked))) / left.sum()


def conditional(table, v, row):
    """P(v | the other values of the row), or None where the others are impossible."""
    return posterior(table, [v], [None if u == v else s for u, s in enumerate(row)])


def elimination_order(n_vars, scopes, kept=()):
    """Min-fill with everything counted afresh at every step; ties go to the lowest variable."""
    near = {v: set() for scope in scopes for v in scope}
    for scope in scopes:
        for v in scope:
            near[v] |= set(scope) - {v}
    order = []
    while set(near) - set(kept):
        fill = {v: sum(b not in near[a] for a, b in itertools.combinations(near[v], 2)) for v in near}
        v = min((v for v in near if v not in kept), key=lambda v: (fill[v], v))
        for a, b in itertools.permutations(near[v], 2):
            near[a].add(b)
        for a in near.pop(v):
            near[a].discard(v)
        order.append(v)
    return order
