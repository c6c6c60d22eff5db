"""Features from the top down: conjunctions of features, the one that gains most first.

The network starts with single conditions. Candidates are conjunctions of two of its features; the one that gains most
is added, and its conjunctions with all others become candidates. It ends when no candidate gains what a parameter
costs, -log kappa.

Paper    Della Pietra, Della Pietra, Lafferty (1997), Inducing features of random fields
Differs  Gains are of the pseudo-likelihood, not estimated by Gibbs sampling. Gains told before other features came are
         taken for upper bounds and told anew only when they come to the top. All weights are learned anew
         whenever the features have grown by a tenth, not after each of them. The first state of a variable, which
         is where the others are not, is no condition.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import log

import numpy as np

from quiltwork.data.dataset import Dataset
from quiltwork.search.bottom_up import independent_start
from quiltwork.search.features import refuse_too_many
from quiltwork.search.gains import GROWTH, Conditionals, Refit
from quiltwork.stats.conjunctions import Condition, Conjunctions

Feature = tuple[Condition, ...]


def induce_features(
    rows: Dataset, kappa: float, prior_width: float, refit: Refit, progress: Callable[[str, int, int], None]
) -> tuple[Conjunctions, np.ndarray]:
    """The features that `rows` (distinct, with weights) ask for, single conditions first, and their weights so far.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> columns = [np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    >>> data = from_codes([Variable(name, (0, 1)) for name in "abc"], columns, np.full(4, 50.0))
    >>> same = lambda features, weights: weights
    >>> features, weights = induce_features(data, 0.01, 1.0, same, lambda stage, done, total: None)
    >>> list(features)
    [((0, 1),), ((1, 1),), ((2, 1),), ((0, 1), (1, 1))]
    """
    atoms, log_odds = independent_start(rows)
    features, weights = list(atoms), log_odds.tolist()
    refuse_too_many(len(features) * (len(features) - 1) // 2, "keep fewer columns or states, or use structure='dtsl'")
    now = Conditionals(rows, prior_width)
    now.start(atoms, log_odds)
    known, cost = set(features), -log(kappa)
    changed = np.zeros(rows.n_vars, np.int64)  # the number of features when the conditionals of each last changed
    queue = []
    for k, feature in enumerate(features):
        queue += _candidates(now, feature, features[:k], known, len(features), cost)
        progress("weighing pairs", k + 1, len(features))
    heapify(queue)
    next_refit = int(GROWTH * len(features)) + 1
    while queue:
        _, told, feature, weight = heappop(queue)
        if told < changed[[v for v, _ in feature]].max():  # it has changed since: tell it anew
            weight, gain = now.gain(now.places(feature))
            if gain > cost:
                heappush(queue, (-gain, len(features), feature, weight))
            continue
        now.add(now.places(feature), weight)
        features.append(feature)
        weights.append(weight)
        changed[[v for v, _ in feature]] = len(features)
        if len(features) >= next_refit:
            next_refit = int(GROWTH * len(features)) + 1
            together = Conjunctions.of(features)
            weights = refit(together, np.array(weights)).tolist()
            now.start(together, np.array(weights))
            changed[:] = len(features)
        for candidate in _candidates(now, feature, features[:-1], known, len(features), cost):
            heappush(queue, candidate)
        refuse_too_many(len(queue), "lower kappa, so that fewer are worth adding")
        progress("adding features", len(features) - len(atoms), len(queue))
    return Conjunctions.of(features), np.array(weights)


def _candidates(
    now: Conditionals, feature: Feature, others: list[Feature], known: set[Feature], told: int, cost: float
) -> list[tuple[float, int, Feature, float]]:
    """Conjunctions of a feature with others, not yet known and worth their cost, each with its gain (negative, for the
    queue)."""
    found = []
    own = dict(feature)
    for other in others:
        if any(own.get(v, s) != s for v, s in other):
            continue  # they contradict each other
        both = tuple(sorted({*feature, *other}))
        if both not in known:
            known.add(both)
            weight, gain = now.gain(now.places(both))
            if gain > cost:
                found.append((-gain, told, both, weight))
    return found
