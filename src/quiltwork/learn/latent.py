"""Latent causes: a few hidden tastes explain what every user chose.

A Gaussian network with hidden variables: each user u has a taste t_u ~ N(0, I / ridge), each item i a vector w_i with
the same prior, and x_ui ~ N(t_u . w_i, 1 / c_ui). A choice is sure (c = 1 + confidence), a refusal is not (c = 1),
since most items were never looked at. The posterior mode is found by turns: with the items fixed every taste is a ridge
regression in closed form, and the other way round.

Paper    Hu, Koren, Volinsky (2008), Collaborative filtering for implicit feedback datasets (there called iALS)
Symbols  X m users by n items, T tastes (m, rank), W item vectors (n, rank)
Path     encode -> random W -> by turns T, W -> LatentItems; `infer.rankers` infers the taste of a row without the item
Differs  the score of an item leaves the item's own value out of the taste, as every score here does
"""

from __future__ import annotations

import time
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from quiltwork.backends.threads import Threads, n_threads
from quiltwork.learn.base import SHARED, Progress, silent
from quiltwork.learn.items import ItemLearner, choices
from quiltwork.models.latent import LatentItems
from quiltwork.params import Integer, Param, Real
from quiltwork.rng import stream
from quiltwork.stats.families import state_counts

_ROWS_AT_A_TIME = 64


class LatentCauses(ItemLearner):
    """A Gaussian network of hidden causes over two-state columns; it ranks items by what a user's taste explains.

    Attributes
    ----------
    model_ : LatentItems
        The learned vectors.

    Examples
    --------
    >>> import quiltwork as qw
    >>> users = {"tea": [1, 1, 1, 0, 0, 0], "milk": [1, 1, 1, 0, 0, 0], "coal": [0, 0, 0, 1, 1, 1]}
    >>> est = qw.LatentCauses(rank=2, ridge=0.1).fit(users)
    >>> [item for item, score in qw.recommend(est, ["tea"])]
    ['milk', 'coal']

    See Also
    --------
    quiltwork.GaussianField : the field of all pairs, without hidden causes.
    """

    name = "latent"
    parameters = (
        Param("rank", 64, (Integer(1),), "number of hidden causes"),
        Param("confidence", 10.0, (Real(0.0),), "how much surer a choice is than a refusal"),
        Param("ridge", 60.0, (Real(0.0, above_low=True),), "precision of the prior on tastes and vectors"),
        Param("max_iter", 12, (Integer(1),), "turns"),
        *SHARED,
    )

    model_: LatentItems

    def fit(self, X: object, y: object = None, *, progress: Progress | None = None) -> Self:
        """Learn from a table of users by items; `progress(stage, done, total)` is called as the work goes on."""
        began = time.perf_counter()
        encoder, data = self._begin_items(X, None)
        rows = choices(data).tocsr()
        columns = rows.T.tocsr()
        vectors = stream(self._seed).normal(0.0, 0.1, (data.n_vars, self.rank))
        with Threads(n_threads(self.n_jobs)) as threads:
            for turn in range(self.max_iter):
                tastes = _regress(rows, vectors, self.confidence, self.ridge, threads)
                vectors = _regress(columns, tastes, self.confidence, self.ridge, threads)
                (progress or silent)("taking turns", turn + 1, self.max_iter)
        self.fit_seconds_ = time.perf_counter() - began
        model = LatentItems(
            encoder, vectors, float(self.confidence), float(self.ridge), state_counts(data), self._provenance(data)
        )
        return self._end(model, X)


def _regress(rows: csr_array, vectors: np.ndarray, confidence: float, ridge: float, threads: Threads) -> np.ndarray:
    """For each row the ridge regression of its ones and zeros on the vectors, ones weighted 1 + confidence."""
    rank = vectors.shape[1]
    shared = vectors.T @ vectors + ridge * np.eye(rank)
    out = np.empty((rows.shape[0], rank))

    def some(block: int) -> None:
        for i in range(block * _ROWS_AT_A_TIME, min((block + 1) * _ROWS_AT_A_TIME, rows.shape[0])):
            own = vectors[rows.indices[rows.indptr[i] : rows.indptr[i + 1]]]
            out[i] = np.linalg.solve(shared + confidence * (own.T @ own), (1.0 + confidence) * own.sum(axis=0))

    threads.run(some, -(-rows.shape[0] // _ROWS_AT_A_TIME))
    return out
