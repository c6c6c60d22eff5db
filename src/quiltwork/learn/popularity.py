"""Popularity: the most chosen items first, whoever asks.

It is the Bayesian network without arcs, so that is the model: it samples, has a likelihood and answers queries like
any other, and an item's score is its log odds, log (n + 1) / (m - n + 1) for n of m users. What cannot beat
it has learned nothing about users.
"""

from __future__ import annotations

import time
from typing import Self

from quiltwork.cpds.table import TableCPD
from quiltwork.learn.base import SHARED, Progress
from quiltwork.learn.items import ItemLearner
from quiltwork.models.bayesian import BayesianNet
from quiltwork.stats.families import state_counts


class Popularity(ItemLearner):
    """Items ranked by the number of users who chose them, the same for everybody.

    Every column must have two states; the second means chosen.

    Attributes
    ----------
    model_ : BayesianNet
        The items, independent of each other.

    Examples
    --------
    >>> import quiltwork as qw
    >>> users = {"tea": [1, 1, 1, 0], "milk": [1, 0, 0, 0], "coal": [0, 0, 1, 1]}
    >>> [item for item, score in qw.recommend(qw.Popularity().fit(users), ["milk"])]
    ['tea', 'coal']

    See Also
    --------
    quiltwork.item_scores, quiltwork.recommend
    """

    name = "popularity"
    parameters = SHARED

    model_: BayesianNet

    def fit(
        self, X: object, y: object = None, *, sample_weight: object = None, progress: Progress | None = None
    ) -> Self:
        """Learn from a table of users by items; there is nothing long enough to report to `progress`."""
        began = time.perf_counter()
        encoder, data = self._begin_items(X, sample_weight)
        counts = state_counts(data).reshape(-1, 1, 2)
        cpds = tuple(TableCPD.from_counts(v, (), count, 2.0) for v, count in enumerate(counts))
        self.fit_seconds_ = time.perf_counter() - began
        return self._end(BayesianNet(encoder, cpds, self._provenance(data)), X)
