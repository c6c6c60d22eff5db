"""log Z: the log of the sum of exp(weights) over all states, or over those that agree with the evidence.

It is what stands between the weights of a Markov network and probabilities. Five ways to it, from sure to rough:

    exact   elimination (see `undirected`), where the network is narrow enough
    ais     annealed importance sampling, forwards and backwards: an estimate with an error bar and two sides
    bp      the Bethe estimate of belief propagation: exact on trees, without an error bar elsewhere
    mf      mean field: a lower bound
    auto    exact where that fits, else ais

In a Bayesian network, whose CPDs are normalised, log Z is the log probability of the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quiltwork.errors import ResourceLimitError
from quiltwork.infer.annealed import anneal
from quiltwork.infer.boxes import boxes_of, given, log_states_apart
from quiltwork.infer.elimination import MAX_ENTRIES
from quiltwork.infer.exact import LOG_EVIDENCE
from quiltwork.infer.mean_field import mean_field
from quiltwork.infer.propagate import propagate
from quiltwork.infer.question import ENTRIES, evidence_codes, implementation, model_of
from quiltwork.infer.undirected import boxed_log_mass
from quiltwork.models.markov import MarkovNet
from quiltwork.params import Choice, Integer, Param
from quiltwork.rng import seed_of

METHOD = Param("method", "auto", (Choice(("auto", "exact", "ais", "bp", "mf")),), "how to compute log Z")
WALKS = Param("n_walks", 100, (Integer(2, 10**6),), "walks of annealing in each direction")
STEPS = Param("n_steps", 1000, (Integer(1, 10**8),), "temperatures of annealing")

LOG_MASS: dict[type, Callable[..., float]] = {**LOG_EVIDENCE, MarkovNet: boxed_log_mass}


@dataclass(frozen=True)
class LogPartition:
    """log Z, and how far to trust it; float(answer) is its value.

    value         log Z, or the best estimate of it
    method        how it was computed
    converged     whether the method came to its end
    error         the standard error of the value; 0.0 where it is exact, None where the method has no error bar
    lower, upper  what annealing found from either side, or a bound; None where the method has none
    """

    value: float
    method: str
    converged: bool = True
    error: float | None = 0.0
    lower: float | None = None
    upper: float | None = None

    def __float__(self) -> float:
        return self.value


def log_partition(
    model: Any,
    evidence: Mapping[str, object] | None = None,
    method: str = "auto",
    *,
    max_entries: int = MAX_ENTRIES,
    n_walks: int = 100,
    n_steps: int = 1000,
    seed: object = 0,
) -> LogPartition:
    """The log of the sum of exp(weights) over all states that agree with the evidence.

    model        a model or a fitted estimator
    evidence     known states by name
    method       "exact", "ais", "bp", "mf", or "auto": exact where the network is narrow enough, else "ais"
    max_entries  numbers an exact answer may hold at once
    n_walks, n_steps, seed  of annealed importance sampling

    >>> import quiltwork as qw
    >>> table = qw.sample(qw.textbook("sprinkler"), 2000, seed=0)
    >>> net = qw.learn("mn", table, structure="chi2", k=1)
    >>> exact, estimate = log_partition(net), log_partition(net, method="ais", n_steps=100)
    >>> exact.method, exact.error, abs(estimate.value - exact.value) < 5 * estimate.error
    ('exact', 0.0, True)
    """
    model = model_of(model)
    for param, wanted in ((METHOD, method), (ENTRIES, max_entries), (WALKS, n_walks), (STEPS, n_steps)):
        param.check("log_partition", wanted)
    seed = seed_of(seed, "seed")
    codes = evidence_codes(model, evidence)
    if method in ("auto", "exact"):
        try:
            value = implementation(LOG_MASS, model, "log_partition")(model, codes, max_entries)
            return LogPartition(value, "exact", lower=value, upper=value)
        except ResourceLimitError:
            if method == "exact":
                raise
    boxes, certain = given(boxes_of(model), codes)
    certain += log_states_apart(boxes, codes)
    if certain == -np.inf:
        return LogPartition(-np.inf, "exact", lower=-np.inf, upper=-np.inf)
    if method == "bp":
        beliefs = propagate(boxes)
        return LogPartition(certain + beliefs.log_mass, "bp", beliefs.converged, None)
    if method == "mf":
        bound = mean_field(boxes, seed)
        return LogPartition(certain + bound.bound, "mf", bound.converged, None, lower=certain + bound.bound)
    found = anneal(boxes, n_walks, n_steps, seed)
    value, lower, upper = (float(certain + x) for x in (found.value, found.lower, found.upper))
    return LogPartition(value, "ais", found.converged, found.error, lower, upper)
