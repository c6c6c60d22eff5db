"""Features from the top down: conjunctions of features, the one that gains most first.

The network starts with single conditions. Candidates are conjunctions of two of its features; the one that gains most
is added, and its conjunctions with all others become candidates. It ends when no candidate gains what a parameter
costs, -log kappa.

Paper    Della Pietra, Della Pietra, Lafferty (1997), Inducing features of random fields
Differs  Gains are of the pseudo-likelihood, not estimated by Gibbs sampling. Gains told before other features came are
         taken for upper bounds and told anew only when they come to the top; what is not worth its cost is
         forgotten, until another two features have it for their conjunction. All weights are learned anew
         whenever the features have grown by a tenth, not after each of them. The first state of a variable, which
         is where the others are not, is no condition.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import log

import numpy as np

from quiltwork.data.dataset import Dataset
from quiltwork.search.bottom_up import independent_start
from quiltwork.search.features import refuse_too_many
from quiltwork.search.gains import GROWTH, Conditionals, Feature, Refit
from quiltwork.stats.conjunctions import Conjunctions


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
    refuse_too_many(len(atoms) * (len(atoms) - 1) // 2, "keep fewer columns or states, or use structure='dtsl'")
    now = Conditionals(rows, prior_width)
    now.start(atoms, log_odds)
    features, weights = list(atoms), log_odds.tolist()
    candidates = _Candidates(now, -log(kappa))
    for k, feature in enumerate(atoms):
        candidates.conjoin(feature)
        progress("weighing pairs", k + 1, len(features))
    next_refit = int(GROWTH * len(features)) + 1
    while best := candidates.pop():
        feature, weight = best
        now.add(now.places(feature), weight)
        candidates.outdate([v for v, _ in feature])
        features.append(feature)
        weights.append(weight)
        if len(features) >= next_refit:
            next_refit = int(GROWTH * len(features)) + 1
            together = Conjunctions.of(features)
            weights = refit(together, np.array(weights)).tolist()
            now.start(together, np.array(weights))
            candidates.outdate(range(rows.n_vars))
        candidates.conjoin(feature)
        progress("adding features", len(features) - len(atoms), len(candidates.queue))
    return Conjunctions.of(features), np.array(weights)


class _Candidates:
    """Conjunctions of two features that gain more than they cost, the one that gains most first."""

    def __init__(self, now: Conditionals, cost: float):
        self._now, self._cost = now, cost
        self.queue: list[tuple[float, int, Feature, float]] = []  # gain (negative), when it was told, what, its weight
        self._known: set[Feature] = set()  # features, and what is in the queue
        self._places, self._first = array("q"), array("q", [0])  # of the features, one behind the other
        self._turn = 0
        self._changed = np.zeros(now.rows.n_vars, np.int64)  # the turn in which the conditionals of each last changed

    def outdate(self, variables: Sequence[int]) -> None:
        """The conditionals of these variables have changed."""
        self._turn += 1
        self._changed[variables] = self._turn

    def pop(self) -> tuple[Feature, float] | None:
        """The one that gains most, and the weight at which it does."""
        while self.queue:
            _, told, feature, weight = heappop(self.queue)
            if told >= self._changed[[v for v, _ in feature]].max():
                return feature, weight
            weight, gain = self._now.gain(self._now.places(feature), self._cost)
            if gain > self._cost:
                heappush(self.queue, (-gain, self._turn, feature, weight))
            else:
                self._known.discard(feature)
        return None

    def conjoin(self, feature: Feature) -> None:
        """A new feature: its conjunctions with all that came before it are candidates."""
        self._known.add(feature)
        places = self._now.places(feature)
        weights, gains = self._now.gains_together(places, np.array(self._places), np.array(self._first), self._cost)
        for k in np.flatnonzero(gains > self._cost).tolist():
            other = self._places[self._first[k] : self._first[k + 1]]
            both = self._now.conditions(np.union1d(places, other))
            if both not in self._known:
                self._known.add(both)
                heappush(self.queue, (-gains[k], self._turn, both, weights[k]))
        refuse_too_many(len(self.queue), "lower kappa, so that fewer are worth adding")
        self._places.extend(places.tolist())
        self._first.append(len(self._places))
