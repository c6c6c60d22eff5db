"""Questions to a model: the distribution of some variables when others are known.

`method="exact"` sums everything out and is sized before it starts (see `exact`); `method="gibbs"` draws samples and
says how sure it is (see `gibbs`); `"auto"` is exact where the model has a joint distribution, else Gibbs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quiltwork.data.dataset import NO_CODE, position
from quiltwork.errors import InputError, ResourceLimitError
from quiltwork.infer.answer import Answer
from quiltwork.infer.elimination import MAX_ENTRIES
from quiltwork.infer.exact import QUERY, impossible
from quiltwork.infer.gibbs import gibbs_query
from quiltwork.infer.question import evidence_codes, implementation, model_of
from quiltwork.params import Choice, Integer, Param
from quiltwork.rng import seed_of

METHOD = Param("method", "auto", (Choice(("auto", "exact", "gibbs")),), "how to compute the answer")
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
) -> Answer:
    """The joint distribution of some variables given the evidence.

    model        a model or a fitted estimator
    variables    names of the variables to ask for
    evidence     known states by name
    method       "exact", "gibbs", or "auto": exact where the model has a joint distribution, else Gibbs
    max_entries  numbers an exact answer may hold at once; a query that needs more is refused before it starts
    n_samples, burn_in, seed  of the Gibbs sampler

    >>> from quiltwork.models.textbook import textbook
    >>> print(query(textbook("asia"), ["lung"], evidence={"smoke": "yes", "xray": "yes"}))
    lung  probability
    yes      0.645991
    no       0.354009
    """
    model = model_of(model)
    for param, value in ((METHOD, method), (DRAWS, n_samples), (BURN_IN, burn_in)):
        param.check("query", value)
    asked = _asked(model, variables)
    codes = evidence_codes(model, evidence)
    for v in asked:
        if codes[v] != NO_CODE:
            raise InputError(f"Variable {model.variables[v].name!r} cannot be both asked for and given as evidence.")
    picked = [model.variables[v] for v in asked]
    names, states = tuple(v.name for v in picked), tuple(v.states for v in picked)
    if method == "gibbs" or (method == "auto" and type(model) not in QUERY):
        return Answer(names, states, *_by_gibbs(model, asked, codes, n_samples, burn_in, seed_of(seed)))
    probabilities = implementation(QUERY, model, "query(method='exact')")(model, asked, codes, max_entries)
    if probabilities is None:
        raise impossible(evidence)
    return Answer(names, states, probabilities, "exact")


def _by_gibbs(
    model: Any, asked: list[int], codes: Any, n_samples: int, burn_in: int, seed: int
) -> tuple[Any, str, bool, float]:
    probabilities, converged, error = gibbs_query(model, asked, codes, n_samples, burn_in, seed)
    return probabilities, "gibbs", converged, error


def _asked(model: Any, variables: str | Sequence[str]) -> list[int]:
    names = [variables] if isinstance(variables, str) else list(variables)
    if not names:
        raise InputError("A query needs at least one variable to ask for. Got an empty list instead.")
    asked = [position(name, model.variables) for name in names]
    if len(set(asked)) < len(asked):
        raise InputError(f"Each variable of a query is asked for once. Got {names!r} instead.")
    if len(asked) > MAX_AXES:
        raise ResourceLimitError(
            f"A query can ask for at most {MAX_AXES} variables together. Got {len(asked)} instead; "
            "use marginals(model, evidence) for the distribution of each."
        )
    return asked
