"""Markov networks: a graph, a feature for every joint state of an edge, and weights by pseudo-likelihood.

The likelihood of a Markov network needs a sum over all states of the world; the pseudo-likelihood, the product of all
P(x_v | rest), needs none, and it is concave. L-BFGS climbs it, a Gaussian prior on the weights keeps them
finite where the data alone would not.

Paper    Freno, Trentin, Gori (2009), section 6: the graph joins each variable to its k chi-square neighbours
Symbols  m rows, n variables, w weights; the objective is (PLL(w) - sum w^2 / (2 width^2)) / m
Path     encode -> chi-square relatives -> edges -> features -> situations -> L-BFGS -> MarkovNet
Differs  a variable without edges gets one feature per state, or it would be predicted at random; the paper has no
         prior, which on MovieLens changes no DOA by more than 0.0002 and takes three times the iterations
"""

from __future__ import annotations

import time
import warnings
from typing import Any, Self

import numpy as np

from quiltwork.backends.threads import Threads, n_threads
from quiltwork.data.dataset import Dataset
from quiltwork.errors import ConvergenceWarning, ResourceLimitError
from quiltwork.infer.blanket import pseudo_log_likelihood
from quiltwork.learn.base import SHARED, Learner, Progress
from quiltwork.models.markov import MarkovNet
from quiltwork.params import Choice, Integer, Nothing, Param, Real
from quiltwork.stats.families import Arrays, state_counts
from quiltwork.stats.pseudo_likelihood import PseudoLikelihood
from quiltwork.stats.relatives import chi_square_relatives

MAX_FEATURES = 2**22  # L-BFGS holds some twenty vectors of this length: 700 MB

_ABOVE_ZERO = Real(0.0, above_low=True)

Features = tuple[np.ndarray, np.ndarray, np.ndarray]  # first_condition, columns, states


class MarkovNetwork(Learner):
    """A pairwise Markov network with weights of maximum pseudo-likelihood.

    Attributes
    ----------
    model_ : MarkovNet
        The learned network.
    pseudo_log_likelihood_ : float
        Of the training rows.
    n_iter_, converged_ : int, bool
        Iterations of L-BFGS, and whether it settled; if not, a ConvergenceWarning says so.

    Examples
    --------
    >>> import quiltwork as qw
    >>> table = qw.sample(qw.textbook("sprinkler"), 2000, seed=0)
    >>> est = qw.MarkovNetwork(k=1).fit(table)
    >>> est.model_.edges
    [('cloudy', 'sprinkler'), ('cloudy', 'rain'), ('rain', 'wet')]
    >>> est.converged_
    True

    See Also
    --------
    quiltwork.pseudo_log_likelihood, quiltwork.recommend
    """

    name = "mn"
    parameters = (
        Param("structure", "chi2", (Choice(("chi2",)),), "how the graph is found"),
        Param("k", 3, (Integer(1),), "chi-square neighbours to which each variable is joined"),
        Param("prior_width", 1.0, (Nothing(), _ABOVE_ZERO), "deviation of the weights; None for no prior"),
        Param("max_iter", 1000, (Integer(1),), "most iterations of L-BFGS"),
        Param("tol", 1e-7, (Real(0.0),), "relative gain below which an iteration is the last"),
        *SHARED,
    )

    model_: MarkovNet

    def fit(
        self, X: object, y: object = None, *, sample_weight: object = None, progress: Progress | None = None
    ) -> Self:
        """Learn from a table; `progress(stage, done, total)` is called as the work goes on."""
        began = time.perf_counter()
        encoder, data = self._begin(X, sample_weight)
        with Threads(n_threads(self.n_jobs)) as threads:
            edges = chi_square_edges(data, self.k, threads)
            features = pairwise_features(data.n_states, edges)
            weights = self._weights(data, features, threads, progress)
        self.fit_seconds_ = time.perf_counter() - began
        return self._end(MarkovNet(encoder, *features, weights, state_counts(data), self._provenance(data)), X)

    def score_samples(self, X: object) -> np.ndarray:
        """Pseudo-log-likelihood of each row: the joint distribution of a Markov network is out of reach."""
        return pseudo_log_likelihood(self, X)

    def _weights(self, data: Dataset, features: Features, threads: Threads, progress: Progress | None) -> np.ndarray:
        """The weights that maximise the pseudo-likelihood under the prior."""
        from scipy.optimize import minimize
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        likelihood = PseudoLikelihood.of(data, *features, threads.run)
        precision = 0.0 if self.prior_width is None else self.prior_width**-2.0

        def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = likelihood(weights, threads.run)
            value -= 0.5 * precision * float(weights @ weights)
            return -value / data.total, (precision * weights - gradient) / data.total

        def watch(intermediate_result: Any) -> None:
            done[0] += 1
            if progress:
                progress("learning weights", done[0], self.max_iter)

        done = [0]
        start = np.zeros(len(features[0]) - 1)
        options: Any = {"maxiter": self.max_iter, "maxfun": 20 * self.max_iter, "ftol": self.tol, "gtol": self.tol}
        # L-BFGS adds up short vectors: more threads of BLAS would only wait for each other, and round differently.
        with threadpool_limits(1, user_api="blas"):
            found = minimize(loss, start, jac=True, method="L-BFGS-B", callback=watch, options=options)
        self.n_iter_, self.converged_ = int(found.nit), bool(found.success)
        self.pseudo_log_likelihood_ = likelihood(found.x, threads.run)[0]
        if not self.converged_:
            warnings.warn(
                f"The weights had not settled after {self.n_iter_} iterations (max_iter is {self.max_iter}, tol "
                f"{self.tol:g}): raise one of them, or set a narrower 'prior_width' than {self.prior_width}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found.x


# Structure: which edges


def chi_square_edges(data: Dataset, k: int, threads: Threads) -> np.ndarray:
    """(n_edges, 2) columns, each pair ascending: every variable is joined to its k chi-square neighbours.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> a, b, c = np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1]), np.array([1, 0, 0, 1])
    >>> data = from_codes([Variable(name, (0, 1)) for name in "abc"], [a, b, c])
    >>> chi_square_edges(data, 1, Threads(1))
    array([[0, 1],
           [0, 2]])
    """
    relatives = chi_square_relatives(Arrays.of(data), min(k, data.n_vars - 1), threads.run)
    pairs = np.stack([np.repeat(np.arange(data.n_vars), relatives.shape[1]), relatives.ravel()], axis=1)
    return np.unique(np.sort(pairs[pairs[:, 1] >= 0], axis=1), axis=0)


# Features


def pairwise_features(n_states: np.ndarray, edges: np.ndarray) -> Features:
    """One feature for every joint state of an edge, then one for every state of a variable without edges.

    >>> first_condition, columns, states = pairwise_features(np.array([2, 2, 2]), np.array([[0, 2]]))
    >>> first_condition
    array([ 0,  2,  4,  6,  8,  9, 10])
    >>> columns
    array([0, 2, 0, 2, 0, 2, 0, 2, 1, 1])
    >>> states
    array([0, 0, 0, 1, 1, 0, 1, 1, 0, 1])
    """
    left, right = edges.reshape(-1, 2).T
    alone = np.setdiff1d(np.arange(len(n_states)), edges)
    sizes = n_states[left] * n_states[right]
    if sizes.sum() > MAX_FEATURES:
        raise ResourceLimitError(
            f"{len(edges):,} edges between variables of up to {n_states.max()} states make {sizes.sum():,} features, "
            f"past the limit of {MAX_FEATURES:,}: lower k, or merge states of the variables with the most states."
        )
    edge = np.repeat(np.arange(len(edges)), sizes)
    within = np.arange(len(edge)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    joint = np.stack([left[edge], right[edge]], axis=1), np.stack(np.divmod(within, n_states[right[edge]]), axis=1)
    single = np.repeat(alone, n_states[alone])
    state = np.concatenate([np.empty(0, np.int64), *map(np.arange, n_states[alone])])
    lengths = np.repeat([2, 1], [len(edge), len(single)])
    return (
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([joint[0].ravel(), single]).astype(np.int64),
        np.concatenate([joint[1].ravel(), state]).astype(np.int64),
    )
