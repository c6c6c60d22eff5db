"""Questions to a model: the distribution of some variables when others are known.

exact   sums everything out; sized before it starts, and refused where it does not fit (see `exact`)
gibbs   samples one variable at a time; says how sure it is (see `gibbs`)
mcsat   samples all variables together; for models with strong or certain dependencies (see `mcsat`)
bp      belief propagation: exact on trees, fast everywhere, without an error bar (see `propagate`)
mf      mean field: as if the variables were independent (see `mean_field`)
auto    exact where the model has a joint distribution and it fits, else Gibbs
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from quiltwork.data.dataset import NO_CODE, position
from quiltwork.errors import InputError, ResourceLimitError
from quiltwork.infer.answer import Answer
from quiltwork.infer.chains import Estimate, not_found
from quiltwork.infer.elimination import MAX_ENTRIES
from quiltwork.infer.exact import QUERY, impossible
from quiltwork.infer.gaussian import GaussianAnswer, evidence_numbers, gaussian_query
from quiltwork.infer.gaussian_tree import gaussian_tree_query
from quiltwork.infer.gibbs import gibbs_query
from quiltwork.infer.mcsat import mcsat_query
from quiltwork.infer.mean_field import mean_field_query
from quiltwork.infer.propagate import propagated_query
from quiltwork.infer.question import ENTRIES, evidence_codes, implementation, model_of
from quiltwork.models.gaussian import GaussianNet
from quiltwork.models.markov_tree import GaussianTree
from quiltwork.params import Choice, Integer, Param
from quiltwork.rng import seed_of

METHODS = ("auto", "exact", "gibbs", "mcsat", "bp", "mf")
METHOD = Param("method", "auto", (Choice(METHODS),), "how to compute the answer")
DRAWS = Param("n_samples", 10_000, (Integer(1),), "sweeps of the sampler that count")
BURN_IN = Param("burn_in", 1_000, (Integer(0),), "sweeps of each chain before they count")
MAX_AXES = 64  # of a NumPy array


def query(
    model: Any,
    variables: str | Sequence[str],
    evidence: Mapping[str, object] | None = None,
    method: str = "auto",
    *,
    max_entries: int = MAX_ENTRIES,
    n_samples: int = 10_000,
    burn_in: int = 1_000,
    seed: object = 0,
) -> Answer | GaussianAnswer:
    """The joint distribution of some variables given the evidence: a table of probabilities, or a Gaussian.

    model        a model or a fitted estimator
    variables    names of the variables to ask for
    evidence     known states, or numbers, by name
    method       "exact", "gibbs", "mcsat", "bp", "mf", or "auto": exact where that is possible and fits, else "gibbs"
    max_entries  numbers an exact answer may hold at once; one that needs more is refused before it starts
    n_samples, burn_in, seed  of the samplers

    >>> from quiltwork.models.textbook import textbook
    >>> print(query(textbook("asia"), ["lung"], evidence={"smoke": "yes", "xray": "yes"}))
    lung  probability
    yes      0.645991
    no       0.354009
    """
    model = model_of(model)
    for param, value in ((METHOD, method), (ENTRIES, max_entries), (DRAWS, n_samples), (BURN_IN, burn_in)):
        param.check("query", value)
    asked = _asked(model, variables)
    if type(model) in NUMBERS:
        return _about_numbers(model, asked, evidence, method, max_entries)
    if len(asked) > MAX_AXES:
        raise ResourceLimitError(
            f"A query can ask for at most {MAX_AXES} variables together. Got {len(asked)} instead; "
            "use marginals(model, evidence) for the distribution of each."
        )
    codes = evidence_codes(model, evidence)
    for v in asked:
        if codes[v] != NO_CODE:
            raise InputError(f"Variable {model.variables[v].name!r} cannot be both asked for and given as evidence.")
    picked = [model.variables[v] for v in asked]
    names, states = tuple(v.name for v in picked), tuple(v.states for v in picked)
    if method == "exact" or (method == "auto" and type(model) in QUERY):
        try:
            found = implementation(QUERY, model, "query(method='exact')")(model, asked, codes, max_entries)
            if found is None:
                raise impossible(evidence)
            return Answer(names, states, found[0], "exact", width=found[1])
        except ResourceLimitError:
            if method == "exact":
                raise
    estimate = ESTIMATES["gibbs" if method == "auto" else method]
    estimated = estimate(model, asked, codes, n_samples, burn_in, seed_of(seed, "seed"))
    if estimated is None:
        raise impossible(evidence)
    return Answer(names, states, **estimated)


# Estimates: what an Answer is made of, or None where the evidence is found to be impossible


def _by_gibbs(model: Any, asked: list[int], codes: Any, n_samples: int, burn_in: int, seed: int) -> dict[str, Any]:
    return _sampled("gibbs", model, asked, gibbs_query(model, asked, codes, n_samples, burn_in, seed))


def _by_mcsat(model: Any, asked: list[int], codes: Any, n_samples: int, burn_in: int, seed: int) -> dict[str, Any]:
    return _sampled("mcsat", model, asked, mcsat_query(model, asked, codes, n_samples, burn_in, seed))


def _sampled(method: str, model: Any, asked: list[int], found: Estimate | None) -> dict[str, Any]:
    if found is None:
        raise not_found(method)
    shape = [model.variables[v].n_states for v in asked]
    return {"method": method, **found._asdict(), "probabilities": found.probabilities.reshape(shape)}


def _by_propagation(
    model: Any, asked: list[int], codes: Any, n_samples: int, burn_in: int, seed: int
) -> dict[str, Any] | None:
    table, converged = propagated_query(model, asked, codes)
    return None if table is None else _without_error("bp", table, converged)


def _by_mean_field(
    model: Any, asked: list[int], codes: Any, n_samples: int, burn_in: int, seed: int
) -> dict[str, Any] | None:
    table, converged = mean_field_query(model, asked, codes, seed)
    return None if table is None else _without_error("mf", table, converged)


def _without_error(method: str, table: Any, converged: bool) -> dict[str, Any]:
    return {"method": method, "probabilities": table, "converged": converged, "error": None}


ESTIMATES = {"gibbs": _by_gibbs, "mcsat": _by_mcsat, "bp": _by_propagation, "mf": _by_mean_field}


def _asked(model: Any, variables: str | Sequence[str]) -> list[int]:
    if not isinstance(variables, Iterable):
        raise InputError(f"A query needs the names of the variables to ask for. Got {variables!r} instead.")
    names = [variables] if isinstance(variables, str) else list(variables)
    if not names:
        raise InputError("A query needs at least one variable to ask for. Got an empty list instead.")
    asked = [position(name, model.variables) for name in names]
    if len(set(asked)) < len(asked):
        raise InputError(f"Each variable of a query is asked for once. Got {names!r} instead.")
    return asked


def check_exact(model: Any, method: str) -> None:
    """Numbers are asked for in no other way."""
    if method not in ("auto", "exact"):
        raise InputError(
            f"A {type(model).__name__} is asked exactly: method must be 'auto' or 'exact'. Got {method!r} instead."
        )


def _about_numbers(
    model: Any, asked: list[int], evidence: Mapping[str, object] | None, method: str, max_entries: int
) -> GaussianAnswer:
    check_exact(model, method)
    known = evidence_numbers(model, evidence)
    for v in asked:
        if v in known:
            raise InputError(f"Variable {model.variables[v].name!r} cannot be both asked for and given as evidence.")
    return NUMBERS[type(model)](model, asked, known, max_entries)


NUMBERS: dict[type, Callable[..., GaussianAnswer]] = {GaussianNet: gaussian_query, GaussianTree: gaussian_tree_query}
