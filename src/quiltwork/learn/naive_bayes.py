"""Naive Bayes as a ranker: every item in turn is the class, and the user's other items are its features.

Paper    Freno, Trentin, Gori (2009), section 6.1.1, Eq 10; probabilities smoothed by their Eqs 3-4
Symbols  m users, n_j of them with item j, n_jk with both; N = 2 states, so that
         P(k | j) = (n_jk + 1/2) / (n_j + 1) and P(j) = (n_j + 1) / (m + 2)
Path     encode -> pair counts -> P(k | j) -> NaiveBayesItems; `infer.rankers` adds up the logs
"""

from __future__ import annotations

import time
from typing import Self

from quiltwork.learn.base import SHARED, Progress
from quiltwork.learn.items import ItemLearner, check_size, chosen_together
from quiltwork.models.rankers import NaiveBayesItems
from quiltwork.stats.families import state_counts


class NaiveBayes(ItemLearner):
    """Items ranked by naive Bayes: log P(item) + the sum of log P(the user's other choices | item).

    Every column must have two states; the second means chosen.

    Attributes
    ----------
    model_ : NaiveBayesItems
        The learned probabilities.

    Examples
    --------
    >>> import quiltwork as qw
    >>> users = {"tea": [1, 1, 1, 0, 0, 0], "milk": [1, 1, 0, 0, 1, 0], "coal": [0, 0, 0, 1, 1, 1]}
    >>> est = qw.NaiveBayes().fit(users)
    >>> [item for item, score in qw.recommend(est, ["tea"])]
    ['milk', 'coal']

    See Also
    --------
    quiltwork.item_scores, quiltwork.recommend
    """

    name = "nb"
    parameters = SHARED

    model_: NaiveBayesItems

    def fit(
        self, X: object, y: object = None, *, sample_weight: object = None, progress: Progress | None = None
    ) -> Self:
        """Learn from a table of users by items; there is nothing long enough to report to `progress`."""
        began = time.perf_counter()
        encoder, data = self._begin_items(X, sample_weight)
        check_size(data.n_vars, "Naive Bayes", "choose fewer items")
        given = chosen_together(data)
        n_chosen = given.diagonal().copy()
        given += 0.5
        given /= n_chosen + 1.0
        model = NaiveBayesItems(encoder, state_counts(data), given, self._provenance(data))
        self.fit_seconds_ = time.perf_counter() - began
        return self._end(model, X)
