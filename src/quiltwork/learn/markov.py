"""Markov networks: features found in one of seven ways, and weights by pseudo-likelihood.

The likelihood of a Markov network needs a sum over all states of the world; the pseudo-likelihood, the product of all
P(x_v | rest), needs none, and it is concave. L-BFGS climbs it, a Gaussian prior on the weights keeps them finite where
the data alone would not. What differs is where the features come from:

    dtsl         a decision tree for each variable, read as conjunctions (`features` says how)
    l1           an L1-regularised logistic regression for each variable: an edge to whatever keeps a weight
    dtsl+l1      both, in one network: long features for what interacts, short ones for the many weak dependencies
    chi2         each variable joined to its k chi-square neighbours
    bottom-up    whole rows as features, generalised until they match more rows and score better (BLM)
    top-down     from single conditions up: the conjunction that gains most is added, again and again
    independent  single conditions alone

Papers   Lowd, Davis (2010): dtsl; Ravikumar, Wainwright, Lafferty (2010): l1; Davis, Domingos (2010): bottom-up;
         Della Pietra, Della Pietra, Lafferty (1997): top-down; Freno, Trentin, Gori (2009), section 6: chi2
Symbols  m rows, n variables, w weights; the objective is (PLL(w) - sum w^2 / (2 width^2) - lasso sum |w|) / m
Path     encode -> structure -> features -> situations -> L-BFGS -> MarkovNet
Differs  A chi-square variable without edges gets one feature per state, or it would be predicted at random; the
         paper has no prior, which on MovieLens changes no DOA by more than 0.0002 and takes three times the iterations.
         kappa, prior_width and edge_penalty are what they are set to, where Lowd and Davis choose them by validation
         rows. A stream's trees are those that they propose (`hoeffding`); its sample for the weights is ours
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from quiltwork.backends.threads import Threads, n_threads
from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.collapse import collapse
from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import Encoder
from quiltwork.errors import ConvergenceWarning, ParameterError
from quiltwork.infer.blanket import pseudo_log_likelihood
from quiltwork.learn.base import SHARED, Learner, Progress, silent
from quiltwork.learn.markov_stream import Stream
from quiltwork.models.markov import MarkovNet
from quiltwork.params import Choice, Integer, Nothing, Param, Real, Thing
from quiltwork.search.batches import RowBatches
from quiltwork.search.bottom_up import generalise_rows, independent_start
from quiltwork.search.couplings import regression_features
from quiltwork.search.descent import fit_logistic
from quiltwork.search.features import DEEPEST, pairwise_features, tree_features, zero_states
from quiltwork.search.gains import Refit
from quiltwork.search.grow import GrowthRules, grow_trees
from quiltwork.search.hoeffding import StreamRules
from quiltwork.search.top_down import induce_features
from quiltwork.search.weights import Objective, Penalty, maximise, maximise_in_batches
from quiltwork.stats.conjunctions import Conjunctions, distinct
from quiltwork.stats.exact_likelihood import ExactLikelihood, check_cells
from quiltwork.stats.families import Arrays, state_counts
from quiltwork.stats.leaves import leaf_arrays
from quiltwork.stats.pseudo_likelihood import PseudoLikelihood, rows_in_order
from quiltwork.stats.relatives import chi_square_relatives

_ABOVE_ZERO = Real(0.0, above_low=True)
_SHARE = Real(0.0, 1.0, above_low=True)


class _with_trees:
    """A method that only a learner with structure='dtsl' has; scikit-learn asks by looking for it."""

    def __init__(self, method: Callable[..., Any]):
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, learner: MarkovNetwork | None, owner: type) -> Any:
        if learner is None:
            return self._method
        if learner.structure != "dtsl":
            raise AttributeError(
                f"partial_fit grows trees, so it needs structure='dtsl'. Got structure={learner.structure!r} instead."
            )
        return self._method.__get__(learner, owner)


def _widths(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(",")))


class MarkovNetwork(Learner):
    """A Markov network: conjunctive features with weights of maximum pseudo-likelihood.

    Attributes
    ----------
    model_ : MarkovNet
        The learned network.
    pseudo_log_likelihood_ : float
        Of the training rows.
    n_iter_, converged_ : int, bool
        Iterations of the weight learner, and whether it settled; if not, a ConvergenceWarning says so.
    structure_seconds_, weight_seconds_ : float
        What finding the features took, and what their weights.

    Examples
    --------
    >>> import quiltwork as qw
    >>> table = qw.sample(qw.textbook("sprinkler"), 2000, seed=0)
    >>> est = qw.MarkovNetwork(k=1).fit(table)
    >>> est.model_.edges
    [('cloudy', 'sprinkler'), ('cloudy', 'rain'), ('rain', 'wet')]
    >>> est.converged_
    True

    Trees find that it takes rain or the sprinkler to make the grass wet.

    >>> trees = qw.MarkovNetwork(structure="dtsl", features="default").fit(table)
    >>> max(trees.model_.features, key=lambda said: said[1])
    ({'sprinkler': 'no', 'rain': 'no', 'wet': 'no'}, 1.6...)

    See Also
    --------
    quiltwork.pseudo_log_likelihood, quiltwork.query, quiltwork.recommend
    """

    name = "mn"
    parameters = (
        Param(
            "structure",
            "chi2",
            (Choice(("dtsl", "l1", "dtsl+l1", "chi2", "bottom-up", "top-down", "independent")),),
            "where the features come from",
        ),
        Param("features", "prune", (Choice(tuple(DEEPEST)),), "what of a tree becomes features (dtsl)"),
        Param(
            "kappa",
            None,
            (Nothing(), _SHARE),
            "prior probability of a parameter; None for 0.01 (dtsl), 1e-4 (bottom-up, top-down)",
        ),
        Param("k", 3, (Integer(1),), "neighbours of a variable (chi2), or of a row (bottom-up)"),
        Param("edge_penalty", 25.0, (_ABOVE_ZERO,), "L1 penalty of the regressions that look for edges (l1)"),
        Param("rule", "or", (Choice(("or", "and")),), "an edge is kept if either end asks for it, or both (l1)"),
        Param(
            "prior_width",
            1.0,
            (Nothing(), _ABOVE_ZERO, Thing("widths by number of conditions, as 10,1,0.1", _widths)),
            "deviation of the weights; None for no prior; several for features of one, two, ... conditions",
        ),
        Param("lasso", 0.0, (Real(0.0),), "L1 penalty on the weights of features with two conditions or more"),
        Param("objective", "pseudo", (Choice(("pseudo", "exact")),), "likelihood that the weights maximise"),
        Param("batch", None, (Nothing(), Integer(1)), "rows seen at a time; None for all, in full sweeps"),
        Param("max_iter", 1000, (Integer(1),), "most iterations over the weights"),
        Param("tol", 1e-7, (Real(0.0),), "relative gain below which an iteration is the last"),
        Param("delta", 1e-7, (_SHARE,), "chance that a split of a stream's tree is not the best (partial_fit)"),
        Param("tie", 0.05, (Real(0.0),), "gains per row that differ by less are a tie (partial_fit)"),
        Param("grace", 200, (Integer(1, 10**12),), "rows a leaf sees between looks for a split (partial_fit)"),
        Param("memory", 10_000, (Integer(1),), "rows of a stream that are kept, at random, for weights (partial_fit)"),
        *SHARED,
    )

    model_: MarkovNet
    _stream: Stream

    def fit(
        self, X: object, y: object = None, *, sample_weight: object = None, progress: Progress | None = None
    ) -> Self:
        """Learn from a table; `progress(stage, done, total)` is called as the work goes on."""
        encoder, data = self._begin(X, sample_weight)
        self._check(data)
        self.__dict__.pop("_stream", None)
        began = time.perf_counter()
        with Threads(n_threads(self.n_jobs)) as threads:
            features, start = STRUCTURES[self.structure](self, data, threads, progress or silent)
            self.structure_seconds_ = time.perf_counter() - began
            features, weights = self._weigh(data, features, start, threads, progress or silent)
        self.fit_seconds_ = time.perf_counter() - began
        return self._end(_network(encoder, features, weights, state_counts(data), self._provenance(data)), X)

    @_with_trees
    def partial_fit(self, X: object, y: object = None, *, progress: Progress | None = None) -> Self:
        """Learn from one more batch of a stream, whose columns and states are those of the first batch.

        The trees grow as Hoeffding trees do, from each row once; the weights are learned from a sample of all rows so
        far (`memory`). Nothing else of earlier batches is kept.

        What says how weights are learned (`features`, `prior_width`, `lasso`, `objective`, `batch`, `max_iter`, `tol`)
        may be set anew between two batches and holds from the next on; what says how rows are read, kept and made into
        trees is settled by the first.
        """
        if hasattr(self, "_stream"):
            self._check_parameters()
            self._stream.check_settled(self.get_params())
            data = self._stream.encode(X)
            self._check(data)
        else:
            encoder, data = self._begin(X, None)
            self._check(data)
            rules = StreamRules(_kappa(self), self.delta, self.tie, self.grace)
            self._stream = Stream(encoder, rules, self.memory, self._seed, self.get_params())
        began = time.perf_counter()
        with Threads(n_threads(self.n_jobs)) as threads:
            self._stream.feed(data, threads)
            features, start = _read_off(self, self._stream.trees(), data)
            self.structure_seconds_ = time.perf_counter() - began
            rows = self._stream.rows()
            features, weights = self._weigh(rows, features, start, threads, progress or silent)
        self.fit_seconds_ = time.perf_counter() - began
        provenance = {**self._provenance(rows), "rows": self._stream.n_seen}
        model = _network(self._stream.encoder, features, weights, self._stream.state_counts, provenance)
        return self._end(model, X)

    def score_samples(self, X: object) -> np.ndarray:
        """Pseudo-log-likelihood of each row: the joint distribution of a Markov network is out of reach."""
        return pseudo_log_likelihood(self, X)

    def _check(self, data: Dataset) -> None:
        """What would fail after the structure was found fails before."""
        widths = [1.0] if self.prior_width is None else list(np.atleast_1d(np.array(self.prior_width, object)))
        if not widths or not all(map(_ABOVE_ZERO.holds, widths)):
            raise ParameterError(
                "The 'prior_width' parameter of MarkovNetwork must be None, a number above 0, or several of them. Got "
                f"{self.prior_width!r} instead."
            )
        if self.objective == "exact":
            check_cells(data.n_states)
            if self.batch is not None:
                raise ParameterError(
                    "The 'batch' parameter of MarkovNetwork must be None with objective='exact', which reads the rows "
                    f"once. Got {self.batch} instead."
                )

    def _weigh(
        self, data: Dataset, features: Conjunctions, start: np.ndarray, threads: Threads, watch: Progress
    ) -> tuple[Conjunctions, np.ndarray]:
        """The features with the weights that maximise the (pseudo-)likelihood under the prior, less those that the
        lasso has let go of; what is known of the search is kept."""
        began = time.perf_counter()
        penalty = self._penalty(features.lengths)
        how = self.max_iter, self.tol, lambda done: watch("learning weights", done, self.max_iter)
        if self.batch is not None and self.batch < data.n_samples:
            batches = RowBatches(data, features, self.batch, self._seed, threads.run)
            some, n_rows = next(batches(0))
            start = _better_start(some, n_rows / data.total, penalty, start)
            found = maximise_in_batches(batches, start, penalty, data.total, *how)
            self.pseudo_log_likelihood_ = sum(objective(found.weights)[0] for objective, _ in batches(0))
        else:
            pseudo = self._pseudo(data, features, threads)
            objective = ExactLikelihood.of(data, features) if self.objective == "exact" else pseudo
            start = _better_start(objective, 1.0, penalty, start)
            found = maximise(objective, start, penalty, data.total, *how)
            self.pseudo_log_likelihood_ = pseudo(found.weights)[0]
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self.weight_seconds_ = time.perf_counter() - began
        if not found.converged:
            warnings.warn(
                f"The weights had not settled after {self.n_iter_} iterations (max_iter is {self.max_iter}, tol "
                f"{self.tol:g}): raise one of them, or set a narrower 'prior_width' than {self.prior_width}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        kept = (found.weights != 0) | (penalty.lasso == 0)
        return features.take(kept), found.weights[kept]

    def _penalty(self, lengths: np.ndarray) -> Penalty:
        """What the weights of features of these lengths cost."""
        lasso = np.where(lengths > 1, float(self.lasso), 0.0)
        if self.prior_width is None:
            return Penalty(np.zeros(len(lengths)), lasso)
        widths = np.atleast_1d(np.array(self.prior_width, np.float64))
        return Penalty(widths[np.clip(lengths, 1, len(widths)) - 1] ** -2.0, lasso)

    def _pseudo(self, data: Dataset, features: Conjunctions, threads: Threads) -> Objective:
        likelihood = PseudoLikelihood.of(data, features, threads.run)
        return lambda weights: likelihood(weights, threads.run)


def _network(
    encoder: Encoder, features: Conjunctions, weights: np.ndarray, counts: np.ndarray, provenance: dict[str, Any]
) -> MarkovNet:
    first, columns, states = features.first_condition, features.columns, features.states
    return MarkovNet(encoder, first, columns, states, weights, counts, provenance)


def _better_start(objective: Objective, share: float, penalty: Penalty, start: np.ndarray) -> np.ndarray:
    """These weights, or none at all where the objective, of a share of the rows, likes that better."""

    def worth(weights: np.ndarray) -> float:
        return objective(weights)[0] / share - penalty.cost(weights)

    return max((start, 0 * start), key=worth) if start.any() else start


# Structure: which features, and weights to start from

Structure = tuple[Conjunctions, np.ndarray]


def _from_trees(learner: MarkovNetwork, data: Dataset, threads: Threads, watch: Progress) -> Structure:
    rules = GrowthRules(kappa=_kappa(learner))
    trees = grow_trees(leaf_arrays(data), range(data.n_vars), rules, run=threads.run, progress=watch)
    return _read_off(learner, trees, data)


def _read_off(learner: MarkovNetwork, trees: Sequence[TreeCPD], data: Dataset) -> Structure:
    return tree_features(trees, data.n_states, learner.features, zero_states(data.variables))


def _from_regressions(learner: MarkovNetwork, data: Dataset, threads: Threads, watch: Progress) -> Structure:
    fits = fit_logistic(rows_in_order(data), strengths=learner.edge_penalty, run=threads.run, progress=watch)
    return regression_features(fits.cpds, data.n_states, learner.rule)


def _from_trees_and_regressions(learner: MarkovNetwork, data: Dataset, threads: Threads, watch: Progress) -> Structure:
    (long, of_long), (short, of_short) = (
        make(learner, data, threads, watch) for make in (_from_trees, _from_regressions)
    )
    features, which = distinct([long, short])
    return features, 0.5 * np.bincount(which, np.concatenate([of_long, of_short]), len(features))


def _from_chi_square(learner: MarkovNetwork, data: Dataset, threads: Threads, watch: Progress) -> Structure:
    features = pairwise_features(data.n_states, chi_square_edges(data, learner.k, threads))
    return features, np.zeros(len(features))


def _from_rows(learner: MarkovNetwork, data: Dataset, threads: Threads, watch: Progress) -> Structure:
    known = learner.k, _kappa(learner), _one_width(learner), _refit(learner, data, threads)
    return generalise_rows(rows_in_order(data), *known, watch)


def _from_atoms(learner: MarkovNetwork, data: Dataset, threads: Threads, watch: Progress) -> Structure:
    known = _kappa(learner), _one_width(learner), _refit(learner, data, threads)
    return induce_features(rows_in_order(data), *known, watch)


def _from_nothing(learner: MarkovNetwork, data: Dataset, threads: Threads, watch: Progress) -> Structure:
    return independent_start(collapse(data))


def _refit(learner: MarkovNetwork, data: Dataset, threads: Threads) -> Refit:
    """Learns all weights while features are still being looked for."""

    def refit(features: Conjunctions, weights: np.ndarray) -> np.ndarray:
        objective = learner._pseudo(data, features, threads)
        how = learner.max_iter, max(learner.tol, REFIT_TOL), lambda done: None
        return maximise(objective, weights, learner._penalty(features.lengths), data.total, *how).weights

    return refit


def _kappa(learner: MarkovNetwork) -> float:
    """Of features that are the best of very many, some gain by chance as much as a split of a tree has to."""
    usual = 1e-4 if learner.structure in ("bottom-up", "top-down") else 0.01
    return usual if learner.kappa is None else float(learner.kappa)


def _one_width(learner: MarkovNetwork) -> float:
    """The width of the prior of long features, for judging one at a time."""
    return NO_PRIOR if learner.prior_width is None else float(np.atleast_1d(learner.prior_width)[-1])


NO_PRIOR = 100.0  # while features are judged one by one, weights must stay finite
REFIT_TOL = 1e-5  # of weights that will be learned again

STRUCTURES: dict[str, Callable[[MarkovNetwork, Dataset, Threads, Progress], Structure]] = {
    "dtsl": _from_trees,
    "l1": _from_regressions,
    "dtsl+l1": _from_trees_and_regressions,
    "chi2": _from_chi_square,
    "bottom-up": _from_rows,
    "top-down": _from_atoms,
    "independent": _from_nothing,
}


# Edges


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
