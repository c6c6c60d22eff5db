"""A Gaussian Markov field over items: each is predicted from all others by its conditional mean.

Take the 0/1 columns for Gaussian. With S = X'X / m and a ridge prior the covariance is (X'X + ridge I) / m, the
precision matrix P its inverse, and

    E[x_j | all others] = sum over k other than j of B[k, j] x_k,    B[k, j] = -P[k, j] / P[j, j].

So one inverse is the whole of the learning, and it is the strongest single pairwise field on MovieLens. It is the same
as n ridge regressions without the item itself, which recommender people know as EASE.

Paper    Steck (2019), Embarrassingly Shallow Autoencoders for Sparse Data
Symbols  X m users by n items, P precision, mu means, V s singular vectors and values of X
Path     encode -> pair counts -> + ridge -> inverse -> GaussianItems; `infer.rankers` multiplies by B
Choices  `centre`  takes mu from the columns; without it they are 0 as in EASE, which ranks films better and
                   most citations worse
         `rank`    keeps V s of the largest singular values, and of the rest the diagonal: the covariance is then
                   V s^2 V' + D, with D so that the variances stay as they are, and its inverse, by Woodbury's
                   formula, a diagonal minus F F'. It needs no matrix of all pairs
"""

from __future__ import annotations

import time
from typing import Self

import numpy as np

from quiltwork.data.dataset import NO_CODE, Dataset
from quiltwork.errors import ParameterError
from quiltwork.infer.question import model_of, row_blocks, rows_of
from quiltwork.infer.rankers import ranker_scores
from quiltwork.learn.base import SHARED, Progress, silent
from quiltwork.learn.items import ItemLearner, check_size, choices, chosen_together, invert
from quiltwork.models.rankers import GaussianItems
from quiltwork.params import Flag, Integer, Nothing, Param, Real
from quiltwork.rng import stream
from quiltwork.stats.families import state_counts


class GaussianField(ItemLearner):
    """A Gaussian Markov field over two-state columns with a ridge prior; its conditional means rank items.

    Every column must have two states; the second means chosen. A full field over 10,000 items takes 1.1 GB.

    Attributes
    ----------
    model_ : GaussianItems
        The learned field.

    Examples
    --------
    >>> import quiltwork as qw
    >>> users = {"tea": [1, 1, 1, 0, 0, 0], "milk": [1, 1, 0, 0, 1, 0], "coal": [0, 0, 0, 1, 1, 1]}
    >>> est = qw.GaussianField(ridge=1.0).fit(users)
    >>> [(item, round(score, 3)) for item, score in qw.recommend(est, ["tea"])]
    [('milk', 0.5), ('coal', -0.167)]

    See Also
    --------
    quiltwork.item_scores, quiltwork.recommend
    """

    name = "gmf"
    parameters = (
        Param("ridge", 500.0, (Real(0.0, above_low=True),), "prior: what is added to the diagonal of X'X"),
        Param("rank", None, (Nothing(), Integer(1)), "factors beside the diagonal; None for a full matrix"),
        Param("centre", False, (Flag(),), "whether the field has the means of the columns, rather than 0"),
        *SHARED,
    )

    model_: GaussianItems

    def fit(
        self, X: object, y: object = None, *, sample_weight: object = None, progress: Progress | None = None
    ) -> Self:
        """Learn from a table of users by items; `progress(stage, done, total)` is called as the work goes on."""
        began = time.perf_counter()
        encoder, data = self._begin_items(X, sample_weight)
        counts = state_counts(data)
        mean = counts[1::2] / data.total if self.centre else np.zeros(data.n_vars)
        if self.rank is None:
            precision, weights = _full(data, mean, self.ridge, progress or silent)
            factors = np.zeros((data.n_vars, 0))
        else:
            spread = counts[1::2] - data.total * mean**2
            loadings = self._loadings(data, mean, spread.sum() > 1e-12 * data.total)
            left_out = np.maximum(spread - (loadings**2).sum(axis=1), 0.0)
            precision, factors = _low_rank(loadings, left_out + self.ridge, data.total)
            weights = np.zeros((0, 0))
        self.fit_seconds_ = time.perf_counter() - began
        model = GaussianItems(encoder, counts, mean, precision, weights, factors, self._provenance(data))
        return self._end(model, X)

    def score_samples(self, X: object) -> np.ndarray:
        """Minus the squared error of each row's values by their conditional means; it is a good judge of `ridge`."""
        model = model_of(self)
        rows = rows_of(model, X)
        out = np.empty(rows.n_samples)
        for block, codes in row_blocks(rows, 2 * rows.n_vars):
            error = np.where(codes == NO_CODE, 0.0, (codes == 1) - ranker_scores(model, codes))
            out[block] = -(error**2).sum(axis=1)
        return out

    def _loadings(self, data: Dataset, mean: np.ndarray, any_spread: bool) -> np.ndarray:
        """V s of the largest singular values of X - mu, (n_items, rank); all zero where the rows do not differ."""
        from scipy.sparse.linalg import LinearOperator, svds

        most = min(data.n_samples, data.n_vars) - 1
        if self.rank > most:
            raise ParameterError(
                f"The 'rank' parameter of GaussianField must be None or below the number of rows and of items: at most "
                f"{most} here. Got {self.rank} instead; None gives the full field."
            )
        if not any_spread:
            return np.zeros((data.n_vars, self.rank))
        root = np.ones(data.n_samples) if data.weights is None else np.sqrt(data.weights)
        rows = choices(data)
        centred = LinearOperator(
            rows.shape,
            matvec=lambda x: root * (rows @ x.ravel() - mean @ x.ravel()),
            rmatvec=lambda y: rows.T @ (root * y.ravel()) - mean * (root @ y.ravel()),
            dtype=np.float64,
        )
        start = stream(self._seed).standard_normal(most + 1)
        _, values, vectors = svds(centred, k=self.rank, v0=start)
        return (vectors * values[:, None]).T


def _full(data: Dataset, mean: np.ndarray, ridge: float, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
    """The diagonal of the precision matrix, and the weights B."""
    check_size(data.n_vars, "A full Gaussian field", "set 'rank', say to 64, for a field of low rank")
    matrix = chosen_together(data)
    if mean.any():
        matrix -= np.outer(data.total * mean, mean)
    matrix[np.diag_indices_from(matrix)] += ridge
    invert(matrix, progress)
    diagonal = matrix.diagonal().copy()
    matrix /= -diagonal
    np.fill_diagonal(matrix, 0.0)
    return data.total * diagonal, matrix


def _low_rank(loadings: np.ndarray, own: np.ndarray, total: float) -> tuple[np.ndarray, np.ndarray]:
    """The diagonal of the precision matrix and F, if the covariance is (L L' + diag(own)) / total.

    Its inverse is total (D^-1 - D^-1 L (I + L' D^-1 L)^-1 L' D^-1), with D = diag(own).
    """
    from scipy.linalg import cholesky, solve_triangular

    scaled = loadings / own[:, None]
    lower = cholesky(np.eye(loadings.shape[1]) + loadings.T @ scaled, lower=True)
    factors = np.sqrt(total) * solve_triangular(lower, scaled.T, lower=True).T
    return total / own - (factors**2).sum(axis=1), factors
