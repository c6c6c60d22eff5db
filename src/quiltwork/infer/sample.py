"""Rows drawn from a model.

For a Bayesian network: ancestral sampling, parents before children. Each variable draws from a stream of its own,
so the rows depend on the seed alone, and the first rows of a longer sample are the rows of a shorter one.
Models without a joint distribution in closed form are sampled by Gibbs (see `gibbs`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from quiltwork.data.dataset import from_codes, physical_memory
from quiltwork.data.numbers import Numbers
from quiltwork.errors import ResourceLimitError
from quiltwork.infer.gaussian import gaussian_sample
from quiltwork.infer.gaussian_tree import gaussian_tree_sample
from quiltwork.infer.gibbs import gibbs_sample
from quiltwork.infer.markov_tree import directed
from quiltwork.infer.question import implementation, model_of
from quiltwork.infer.tables import compiled, distribution_rows
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.dependency import DependencyNet
from quiltwork.models.gaussian import GaussianNet
from quiltwork.models.hybrid import HybridField
from quiltwork.models.markov import MarkovNet
from quiltwork.models.markov_tree import DiscreteTree, GaussianTree
from quiltwork.params import Integer, Param
from quiltwork.rng import seed_of, stream

ROWS = Param("n", None, (Integer(0, 10**15),), "rows to draw")


def sample(model: Any, n: int, seed: object = 0) -> Any:
    """Draw n rows: a Dataset of states, or Numbers where the variables of the model are numbers.

    >>> from quiltwork.models.textbook import textbook
    >>> rows = sample(textbook("asia"), 1000, seed=0)
    >>> len(rows), rows.variables[0].name
    (1000, 'asia')
    """
    model = model_of(model)
    ROWS.check("sample", n)
    n_bytes = n * (8.0 + 2.0 * len(model.variables))
    if n_bytes > physical_memory():
        raise ResourceLimitError(
            f"{n:,} rows of {len(model.variables):,} variables take {n_bytes / 2**30:,.0f} GB, more than this machine "
            "has; draw them in several samples, each with a seed of its own."
        )
    drawn = implementation(SAMPLE, model, "sample")(model, int(n), seed_of(seed, "seed"))
    return Numbers(model.variables, drawn) if isinstance(drawn, np.ndarray) else from_codes(model.variables, drawn)


def _bayesian(model: BayesianNet, n: int, seed: int) -> list[np.ndarray]:
    if not model.is_tabular:
        return _local(model, n, seed)
    net = compiled(model)
    columns: list[np.ndarray] = [np.empty(0)] * net.n_vars
    for v in net.order:
        config = np.zeros(n, np.int64)
        for p in net.parents[v]:
            config *= net.n_states[p]
            config += columns[p]
        codes = np.empty(n, np.uint16)
        _draw(stream(seed, v).random(n), config, _cumulative(model.cpds[v].probs), codes)
        columns[v] = codes.astype(np.min_scalar_type(net.n_states[v] - 1))  # many columns wait here to be packed
    return columns


def _local(model: BayesianNet, n: int, seed: int) -> list[np.ndarray]:
    """The same where CPDs are trees or graphs: the leaf takes the place of the configuration."""
    codes = np.zeros((n, len(model.variables)), np.uint16)
    for v in model.structure.order() or ():
        drawn = np.empty(n, np.uint16)
        rows = distribution_rows(model, v, codes)
        _draw(stream(seed, v).random(n), rows, _cumulative(model.cpds[v].probs), drawn)
        codes[:, v] = drawn
    return list(codes.T)


def _tree(model: DiscreteTree, n: int, seed: int) -> list[np.ndarray]:
    return _bayesian(directed(model), n, seed)


def _cumulative(probs: np.ndarray) -> np.ndarray:
    """Upper ends of the states' shares of [0, 1), (n_configs, states); a state of probability zero has no share."""
    ends = np.cumsum(probs, axis=1, dtype=np.float64)
    n_states = probs.shape[1]
    last_possible = n_states - 1 - np.argmax(probs[:, ::-1] > 0, axis=1)
    ends[np.arange(n_states) >= last_possible[:, None]] = np.inf  # rounding leaves nothing to those after it
    return ends


SAMPLE: dict[type, Callable[[Any, int, int], list[np.ndarray] | np.ndarray]] = {
    BayesianNet: _bayesian,
    GaussianNet: gaussian_sample,
    DiscreteTree: _tree,
    GaussianTree: gaussian_tree_sample,
    HybridField: gibbs_sample,
    DependencyNet: gibbs_sample,
    MarkovNet: gibbs_sample,
}


@njit(cache=True, nogil=True)
def _draw(uniform, config, ends, out):
    """The state whose share holds uniform[i], in row config[i] of ends, into out (n,)."""
    for i in range(uniform.size):
        s = 0
        while uniform[i] >= ends[config[i], s]:
            s += 1
        out[i] = s
