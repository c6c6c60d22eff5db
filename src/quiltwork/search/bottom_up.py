"""Features from the bottom up: whole rows, generalised toward their neighbours (BLM).

Each distinct row is a feature that asks for everything, and so matches that row alone. It is generalised by dropping
the conditions in which one of its nearest unmatched rows differs; then it matches that row too. The best of the k
nearest is taken if the score is better for it, and so on, row after row, until no feature can be improved. A feature
belongs to the network while it is worth its length:

    score = gain in pseudo-likelihood at the feature's best weight + number of conditions * log kappa

Paper    Davis, Domingos (2010), Bottom-up learning of Markov network structure, section 3
Differs  The other weights stay as they are while a feature is judged; all are learned anew whenever the features have
         grown by a tenth. A feature that is not yet worth its length goes on being generalised by its own score, but
         is not part of the network. Equal rows make one feature. Generalising ends at two conditions, for all single
         ones (states beyond a variable's first) are in the network from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np

from quiltwork.data.dataset import Dataset
from quiltwork.search.features import atomic_features
from quiltwork.search.gains import GROWTH, Conditionals, Feature, Refit
from quiltwork.stats.conjunctions import Conjunctions


def generalise_rows(
    rows: Dataset, k: int, kappa: float, prior_width: float, refit: Refit, progress: Callable[[str, int, int], None]
) -> tuple[Conjunctions, np.ndarray]:
    """The features that `rows` (distinct, with weights) lead to, single conditions first, and their weights so far.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> columns = [np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    >>> data = from_codes([Variable(name, (0, 1)) for name in "abc"], columns, np.full(4, 50.0))
    >>> same = lambda features, weights: weights
    >>> features, weights = generalise_rows(data, 1, 0.01, 1.0, same, lambda stage, done, total: None)
    >>> list(features)[3:]
    [((0, 0), (1, 0)), ((0, 1), (1, 1))]
    """
    search = _Search(rows, k, -log(kappa), prior_width, refit)
    waiting = list(range(rows.n_samples))
    while waiting:
        improved = []
        for done, f in enumerate(waiting):
            if search.improve(f):
                improved.append(f)
                while search.improve(f):
                    pass
                search.refit_if_grown()
            progress("generalising rows", done + 1, len(waiting))
        waiting = improved
    return search.network()


def independent_start(rows: Dataset) -> tuple[Conjunctions, np.ndarray]:
    """Single conditions, and the weights at which each state is as probable as it is frequent (smoothed)."""
    weights = np.ones(rows.n_samples) if rows.weights is None else rows.weights
    counts = [np.bincount(rows.column(v), weights, n) + 0.5 for v, n in enumerate(rows.n_states.tolist())]
    log_odds = np.concatenate([np.empty(0), *(np.log(own[1:] / own[0]) for own in counts)])
    return atomic_features(rows.n_states), log_odds


class _Search:
    """One feature for each row, some of them in the network: those with a weight that is not zero."""

    def __init__(self, rows: Dataset, k: int, cost: float, prior_width: float, refit: Refit):
        self.k, self.cost, self._refit = k, cost, refit
        self.atoms, self.log_odds = independent_start(rows)
        self.now = Conditionals(rows, prior_width)
        self.now.start(self.atoms, self.log_odds)
        self.rows = self.now.first_state[:-1] + rows.states().astype(np.int64)  # by number, see `Conditionals.places`
        self.features = list(self.rows)
        self.weights = np.zeros(len(self.features))
        self._next_refit = len(self.atoms) + 1

    def improve(self, f: int) -> bool:
        """Generalise feature f once if its score is better for it; the network is kept up to date."""
        feature = self.features[f]
        if self.weights[f]:
            self.now.add(feature, -self.weights[f])
        best, (weight, gain) = feature, self.now.gain(feature)
        score = gain - self.cost * len(feature)
        for general in self._nearest_generalisations(feature):
            other_weight, gain = self.now.gain(general, score + self.cost * len(general))
            if gain - self.cost * len(general) > score + 1e-9:
                best, weight, score = general, other_weight, gain - self.cost * len(general)
        self.features[f] = best
        self.weights[f] = weight if score > 0 else 0.0
        if self.weights[f]:
            self.now.add(best, self.weights[f])
        return best is not feature

    def _nearest_generalisations(self, feature: np.ndarray) -> list[np.ndarray]:
        """The feature without what differs in each of its k nearest unmatched rows, of two conditions at least."""
        nearest = self.now.nearest(feature, self.k, len(feature) - 2)
        shared = self.rows[nearest][:, self.now.variable[feature]] == feature
        return list({own.tobytes(): feature[own] for own in shared}.values())

    def refit_if_grown(self) -> None:
        """Learn all weights anew if there are a tenth more of them than last time."""
        own = np.flatnonzero(self.weights)
        if len(self.atoms) + len(own) < self._next_refit:
            return
        together = Conjunctions.of([*self.atoms, *(self.now.conditions(self.features[f]) for f in own.tolist())])
        weights = self._refit(together, np.concatenate([self.log_odds, self.weights[own]]))
        self.log_odds, self.weights[own] = weights[: len(self.atoms)], weights[len(self.atoms) :]
        self.now.start(together, weights)
        self._next_refit = int(GROWTH * len(weights)) + 1

    def network(self) -> tuple[Conjunctions, np.ndarray]:
        """The features of the network, each once, and their weights."""
        chosen: dict[Feature, float] = {}
        for f in np.flatnonzero(self.weights).tolist():
            feature = self.now.conditions(self.features[f])
            chosen[feature] = chosen.get(feature, 0.0) + float(self.weights[f])
        return Conjunctions.of([*self.atoms, *chosen]), np.array([*self.log_odds, *chosen.values()])
