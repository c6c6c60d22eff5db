"""The distribution of every variable, when some are known: what a query tells of one variable, for all at once.

The methods are those of `query`. Exact answers of a whole network cost about two queries, samplers no more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ResourceLimitError
from quiltwork.infer.answer import Marginals
from quiltwork.infer.boxes import boxes_of, given
from quiltwork.infer.chains import estimate
from quiltwork.infer.elimination import MAX_ENTRIES
from quiltwork.infer.exact import MARGINALS, impossible
from quiltwork.infer.gaussian import Normal, evidence_numbers
from quiltwork.infer.gibbs import gibbs_marginals
from quiltwork.infer.group_samples import mcsat_batches
from quiltwork.infer.mean_field import mean_field
from quiltwork.infer.propagate import propagate
from quiltwork.infer.query import BURN_IN, DRAWS, METHOD, NUMBERS, check_exact
from quiltwork.infer.question import ENTRIES, evidence_codes, implementation, model_of
from quiltwork.rng import seed_of

Found = tuple[np.ndarray, bool, float | None]  # all states in a row, whether the method converged, its error


def marginals(
    model: Any,
    evidence: Mapping[str, object] | None = None,
    method: str = "auto",
    *,
    max_entries: int = MAX_ENTRIES,
    n_samples: int = 10_000,
    burn_in: int = 1_000,
    seed: object = 0,
) -> Marginals:
    """The distribution of every variable given the evidence, by name: probabilities of its states, or a number's mean
    and deviation.

    model        a model or a fitted estimator
    evidence     known states, or numbers, by name
    method       "exact", "gibbs", "mcsat", "bp", "mf", or "auto": exact where that is possible and fits, else "gibbs"
    max_entries  numbers an exact answer may hold at once
    n_samples, burn_in, seed  of the samplers

    >>> from quiltwork.models.textbook import textbook
    >>> found = marginals(textbook("asia"), {"smoke": "yes"})
    >>> found["lung"], found.method
    (array([0.1, 0.9]), 'exact')
    """
    model = model_of(model)
    for param, value in ((METHOD, method), (ENTRIES, max_entries), (DRAWS, n_samples), (BURN_IN, burn_in)):
        param.check("marginals", value)
    if type(model) in NUMBERS:
        check_exact(model, method)
        return Marginals(_normals(model, evidence_numbers(model, evidence), max_entries), "exact")
    codes = evidence_codes(model, evidence)
    if method == "exact" or (method == "auto" and any(kind in MARGINALS for kind in type(model).__mro__)):
        try:
            flat = implementation(MARGINALS, model, "marginals(method='exact')")(model, codes, max_entries)
            if flat is None:
                raise impossible(evidence)
            return _by_name(model, flat, "exact", True, 0.0)
        except ResourceLimitError:
            if method == "exact":
                raise
    method = "gibbs" if method == "auto" else method
    found = ESTIMATES[method](model, codes, n_samples, burn_in, seed_of(seed, "seed"))
    if found is None:
        raise impossible(evidence)
    flat, converged, error = found
    first = np.cumsum([0, *(variable.n_states for variable in model.variables)])
    for v in np.flatnonzero(codes != NO_CODE):  # what is known is known
        flat[first[v] : first[v + 1]] = np.arange(first[v + 1] - first[v]) == codes[v]
    return _by_name(model, flat, method, converged, error)


def _by_name(model: Any, flat: np.ndarray, method: str, converged: bool, error: float | None) -> Marginals:
    ends = np.cumsum([variable.n_states for variable in model.variables])
    parts = np.split(flat, ends[:-1])
    named = {variable.name: part for variable, part in zip(model.variables, parts, strict=True)}
    return Marginals(named, method, converged, error)


def _normals(model: Any, known: dict[int, float], max_entries: int) -> dict[str, Normal]:
    free = [v for v in range(len(model.variables)) if v not in known]
    found = NUMBERS[type(model)](model, free, known, max_entries).to_dict() if free else {}
    found.update({model.variables[v].name: Normal(number, 0.0) for v, number in known.items()})
    return {variable.name: found[variable.name] for variable in model.variables}


# Estimates; None where the evidence is found to be impossible


def _by_gibbs(model: Any, codes: np.ndarray, n_samples: int, burn_in: int, seed: int) -> Found:
    return gibbs_marginals(model, codes, n_samples, burn_in, seed)


def _by_mcsat(model: Any, codes: np.ndarray, n_samples: int, burn_in: int, seed: int) -> Found:
    batches = mcsat_batches(model, codes, np.flatnonzero(codes == NO_CODE), n_samples, burn_in, seed)
    found = estimate(batches, n_samples)
    return found.probabilities, found.converged, found.error


def _by_propagation(model: Any, codes: np.ndarray, n_samples: int, burn_in: int, seed: int) -> Found | None:
    boxes, certain = given(boxes_of(model), codes)
    beliefs = propagate(boxes)
    return (beliefs.marginals, beliefs.converged, None) if certain > -np.inf and beliefs.possible else None


def _by_mean_field(model: Any, codes: np.ndarray, n_samples: int, burn_in: int, seed: int) -> Found | None:
    boxes, certain = given(boxes_of(model), codes)
    if certain == -np.inf:
        return None
    found = mean_field(boxes, seed)
    return found.marginals, found.converged, None


ESTIMATES: dict[str, Callable[..., Found | None]] = {
    "gibbs": _by_gibbs,
    "mcsat": _by_mcsat,
    "bp": _by_propagation,
    "mf": _by_mean_field,
}
