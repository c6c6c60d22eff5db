"""Markov trees by Chow and Liu: of all trees over the variables, the one under which the data is likeliest.

The likelihood of a tree is a sum over its edges, each of which is worth the mutual information of its two ends; so the
best tree is the heaviest spanning tree, and it is found without any search. Exact inference in it is cheap, and where
the variables are binary or Gaussian its graph says all there is to say about independence (see `infer.separation`).

Papers   Chow, Liu (1968), Approximating discrete probability distributions with dependence trees
         Becker, Geiger, Meek (2000), Perfect tree-like Markovian distributions
Symbols  m rows, N rows of smoothing spread evenly over all states
Path     encode -> rows of mutual information -> heaviest spanning forest -> pair counts -> tables -> DiscreteTree
         numbers -> correlations -> heaviest spanning forest -> GaussianTree
Differs  a column that is constant in the rows joins nothing, so that the answer may be a forest; a column that another
         determines keeps a tiny variance
"""

from __future__ import annotations

import time
import warnings
from typing import Any, Self

import numpy as np

from quiltwork.backends.threads import Threads, n_threads
from quiltwork.data.blocks import SparseBlock
from quiltwork.data.columns import Columns, columns_of
from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import Encoder
from quiltwork.data.labels import all_whole
from quiltwork.data.numbers import NumberEncoder, Numbers, fit_numbers
from quiltwork.errors import DataWarning, ParameterError
from quiltwork.learn.base import SHARED, Learner, Progress, silent
from quiltwork.models.markov_tree import DiscreteTree, GaussianTree
from quiltwork.params import Choice, Param, Real
from quiltwork.search.spanning import spanning_forest
from quiltwork.stats.families import Arrays, count_families, state_counts
from quiltwork.stats.information import information_rows
from quiltwork.stats.moments import Moments
from quiltwork.stats.partial import RANK

_FAMILIES = ("auto", "discrete", "gaussian")


class MarkovTree(Learner):
    """The likeliest Markov tree, over states or over numbers.

    With `family="auto"` a table is Gaussian if all its columns are of numbers, some of these are not whole, and they
    are not to be discretised; else it is discrete. `smoothing` is for discrete tables. A column that does not vary gets
    no edge.

    Attributes
    ----------
    model_ : DiscreteTree or GaussianTree
        The learned tree; its `edges` have `strengths`, the mutual information of their ends in nats.

    Examples
    --------
    >>> import quiltwork as qw
    >>> table = qw.sample(qw.textbook("cancer"), 20_000, seed=0)
    >>> tree = qw.MarkovTree().fit(table).model_
    >>> tree.edges
    [('pollution', 'cancer'), ('smoker', 'cancer'), ('cancer', 'xray'), ('cancer', 'dyspnoea')]
    >>> print(qw.query(tree, ["cancer"], evidence={"xray": "positive"}))
    cancer  probability
    yes        0.054023
    no         0.945977

    See Also
    --------
    quiltwork.is_perfect : whether the tree says all there is to say about independence.
    quiltwork.separated, quiltwork.query, quiltwork.log_likelihood
    """

    name = "tree"
    parameters = (
        Param("family", "auto", (Choice(_FAMILIES),), "columns of states, or of Gaussian numbers"),
        Param("smoothing", 1.0, (Real(0.0),), "rows spread evenly over all states, beside those that are counted"),
        *SHARED,
    )

    model_: DiscreteTree | GaussianTree

    def fit(
        self, X: object, y: object = None, *, sample_weight: object = None, progress: Progress | None = None
    ) -> Self:
        """Learn from a table; `progress(stage, done, total)` is called as the work goes on."""
        began = time.perf_counter()
        encoder, data = self._begin(X, sample_weight)
        n_vars, watch = data.n_vars, progress or silent
        with Threads(n_threads(self.n_jobs)) as threads:
            kind: Any = _Correlations if isinstance(data, Numbers) else _Counts
            worths = kind(data, float(self.smoothing), threads)
            parent = spanning_forest(n_vars, worths.row, lambda done: watch("growing the tree", done, n_vars))
        model = worths.tree(encoder, parent, self._provenance(data))
        self.fit_seconds_ = time.perf_counter() - began
        return self._end(model, X)

    def _encode(self, X: object, weights: object = None) -> tuple[Any, Any]:
        family = self.family
        if family == "gaussian" and self.discretise is not None:
            raise ParameterError("A Gaussian tree takes numbers as they are: give discretise or family='gaussian'.")
        if family == "auto":
            X = X if isinstance(X, (Dataset, Numbers)) else columns_of(X, self.max_states)
            family = "gaussian" if self.discretise is None and _measured(X) else "discrete"
            if family == "discrete" and self.discretise is None and isinstance(X, Columns):
                _warn_of_measurements(X)
        return fit_numbers(X, weights, missing=self.missing) if family == "gaussian" else super()._encode(X, weights)


def _measured(X: Columns | Dataset | Numbers) -> bool:
    """Whether every column is of numbers and some are not whole."""
    if not isinstance(X, Columns):
        return isinstance(X, Numbers)
    return bool(_measurements(X)) and all(block.labels is None for block in X.blocks)


def _measurements(X: Columns) -> list[str]:
    """Names of the columns of numbers of which some are not whole; of a sparse block, the first of its columns."""
    out = []
    for block in X.blocks:
        if block.labels is None:
            parts = [block.matrix.data] if isinstance(block, SparseBlock) else block.values
            names = (X.names[v] for v in block.where.tolist())
            fractions = (c.dtype.kind == "f" and not all_whole(c[np.isfinite(c)]) for c in parts)
            out += [name for name, fraction in zip(names, fractions) if fraction]
    return out


def _warn_of_measurements(X: Columns) -> None:
    """Say which column keeps a table of measurements from being taken as numbers."""
    measured = _measurements(X)
    if measured:
        others = [X.names[v] for block in X.blocks if block.labels is not None for v in block.where.tolist()]
        warnings.warn(
            f"{others[0]!r} holds text or bools, so every column, {measured[0]!r} too, is taken as states: leave "
            f"{others[0]!r} out for a Gaussian tree, or give discretise=5.",
            DataWarning,
            stacklevel=5,
        )


# What an edge is worth, and what is made of a tree once it is found: for states, and for numbers


class _Counts:
    """Mutual information of smoothed counts, and tables of them."""

    def __init__(self, data: Dataset, smoothing: float, threads: Threads):
        self._data, self._smoothing = data, smoothing
        self.row = information_rows(data, smoothing, threads.run)

    def tree(self, encoder: Encoder, parent: np.ndarray, provenance: dict[str, Any]) -> DiscreteTree:
        data, first_parent = self._data, np.concatenate([[0], np.cumsum(parent >= 0)])
        counts, starts = count_families(Arrays.of(data), first_parent, parent[parent >= 0])
        probs = _tables(counts, starts, data.n_states, self._smoothing)
        return DiscreteTree(encoder, parent, starts, probs, state_counts(data), provenance)


class _Correlations:
    """Mutual information of two Gaussian numbers, -log(1 - r^2) / 2, and the correlations r themselves."""

    most = np.sqrt(1.0 - RANK)  # what one column leaves of another is at least RANK of it
    digits = 12  # of r^2: what differs further on is rounding, and ties

    def __init__(self, numbers: Numbers, smoothing: float, threads: Threads):
        self._moments = Moments.of(numbers, threads.run)

    def row(self, v: int, out: np.ndarray) -> None:
        shares = np.minimum(np.round(self._moments.correlation[v] ** 2, self.digits), 1.0 - RANK)
        out[:] = -0.5 * self._moments.total * np.log1p(-shares)

    def tree(self, encoder: NumberEncoder, parent: np.ndarray, provenance: dict[str, Any]) -> GaussianTree:
        moments = self._moments
        correlation = np.where(parent >= 0, moments.correlation[np.arange(len(parent)), parent], 0.0)
        _warn(encoder, moments.constant, "do not vary, get no edges and a tiny variance")
        _warn(encoder, np.abs(correlation) > self.most, "follow exactly from a neighbour, and keep a tiny variance")
        kept = np.clip(correlation, -self.most, self.most)
        return GaussianTree(encoder, parent, moments.mean, moments.deviation, kept, provenance)


def _warn(encoder: NumberEncoder, which: np.ndarray, trouble: str) -> None:
    names = [repr(encoder.variables[v].name) for v in np.flatnonzero(which)]
    if names:
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        warnings.warn(f"These columns {trouble}: {shown}.", DataWarning, stacklevel=4)


def _tables(counts: np.ndarray, starts: np.ndarray, n_states: np.ndarray, smoothing: float) -> np.ndarray:
    """P(x_v | x_parent) from smoothed counts; uniform where a state of the parent was never seen and N is 0."""
    sizes = np.diff(starts)
    smoothed = counts + np.repeat(smoothing / sizes, sizes)
    lengths = np.repeat(n_states, sizes // n_states)  # of the rows of all tables
    totals = np.add.reduceat(smoothed, np.concatenate([[0], np.cumsum(lengths)[:-1]]))
    uniform = np.repeat(1.0 / lengths, lengths)
    return np.divide(smoothed, np.repeat(totals, lengths), out=uniform, where=np.repeat(totals > 0, lengths))
