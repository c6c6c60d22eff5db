"""Log-linear models by the definition: the slow twin of the pseudo-likelihood and of Markov networks.

A feature is a list of (variable, state) pairs; a row holds a state or None for each variable.
"""

import itertools
import math

import numpy as np


def energy(features, weights, row):
    """The sum of the weights of the features that hold."""
    return sum(w for feature, w in zip(features, weights) if all(row[v] == s for v, s in feature))


def joint(n_states, features, weights):
    """P(x) for every x, one axis per variable."""
    table = np.empty(n_states)
    for cell in itertools.product(*map(range, n_states)):
        table[cell] = math.exp(energy(features, weights, cell))
    return table / table.sum()


def log_conditional(n_states, features, weights, row, v):
    """log P(x_v | rest) of a complete row."""
    scores = [energy(features, weights, [*row[:v], s, *row[v + 1 :]]) for s in range(n_states[v])]
    top = max(scores)
    return scores[row[v]] - top - math.log(sum(math.exp(score - top) for score in scores))


def pseudo_log_likelihood(n_states, features, weights, rows, row_weights):
    return sum(
        m * log_conditional(n_states, features, weights, list(row), v)
        for row, m in zip(rows, row_weights)
        for v in range(len(n_states))
    )
