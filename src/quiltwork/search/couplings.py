"""Pairwise features read off one logistic regression per variable.

A regression says of whom its target depends, given all others. Two regressions speak of each edge, that of either end,
and in the limit they agree (Ravikumar, Wainwright, Lafferty, 2010). On finite data the "or" rule keeps an edge if
either end asks for it, the "and" rule if both do; the weights to start from are the mean of what the two say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quiltwork.cpds.logistic import LogisticCPD
from quiltwork.search.features import coupling_features
from quiltwork.stats.conjunctions import Conjunctions


def regression_features(
    cpds: Sequence[LogisticCPD], n_states: np.ndarray, rule: str
) -> tuple[Conjunctions, np.ndarray]:
    """The features that regressions of all variables, in the order of the columns, ask for, and weights to start from.

    >>> asks = LogisticCPD(0, (1,), np.zeros(2), np.array([0, 2]), np.array([[0, 0], [0, 3.0]]), np.zeros((1, 2)))
    >>> does_not = LogisticCPD(1, (), np.array([0, 1.0]), np.array([0]), np.zeros((0, 2)), np.zeros((0, 2)))
    >>> features, start = regression_features([asks, does_not], np.array([2, 2]), "or")
    >>> list(features), start
    ([((0, 1),), ((1, 1),), ((0, 1), (1, 1))], array([0. , 1. , 1.5]))
    >>> len(regression_features([asks, does_not], np.array([2, 2]), "and")[0])
    2
    """
    said = {(cpd.child, p): _contrasts(cpd, k) for cpd in cpds for k, p in enumerate(cpd.parents)}
    asked = {tuple(sorted(pair)) for pair in said}
    if rule == "and":
        asked = {(u, v) for u, v in asked if (u, v) in said and (v, u) in said}
    edges = np.array(sorted(asked), np.int64).reshape(-1, 2)
    single = [np.empty(0), *(_base(cpd) for cpd in cpds)]
    joint = [np.empty(0), *(_mean(said, u, v, n_states) for u, v in edges.tolist())]
    return coupling_features(n_states, edges), np.concatenate([*single, *joint])


def _base(cpd: LogisticCPD) -> np.ndarray:
    """Logits of the target's states against its first, where every parent is in its first state."""
    logits = cpd.intercept + cpd.weights[cpd.first[:-1]].sum(axis=0)
    return logits[1:] - logits[0]


def _contrasts(cpd: LogisticCPD, k: int) -> np.ndarray:
    """(states of the parent, states of the target) beyond the first: what both together add to either alone."""
    weights = cpd.weights[cpd.first[k] : cpd.first[k + 1]]
    weights = weights - weights[:, :1]
    return weights[1:, 1:] - weights[0, 1:]


def _mean(said: dict[tuple[int, int], np.ndarray], u: int, v: int, n_states: np.ndarray) -> np.ndarray:
    """The weights of an edge, states of v fastest: half of what each end says, which may be nothing."""
    nothing = np.zeros((n_states[u] - 1, n_states[v] - 1))
    return 0.5 * (said.get((v, u), nothing) + said.get((u, v), nothing.T).T).ravel()
