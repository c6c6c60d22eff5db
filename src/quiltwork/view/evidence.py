"""The distribution of every variable, with and without evidence, for whatever kind of model.

Without evidence it is the share of each state in the training rows, where the model has kept them. Otherwise it is
exact where the network is narrow enough for an answer within about a second, and sampled where it is not: a Bayesian
network without evidence from its roots down, everything else by Gibbs. An answer says how it was found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from quiltwork.data.dataset import NO_CODE, Dataset
from quiltwork.errors import InputError, IntractableError, ResourceLimitError, ZeroEvidenceError
from quiltwork.infer.conditionals import CONDITIONALS
from quiltwork.infer.elimination import MAX_ENTRIES
from quiltwork.infer.exact import MARGINALS, impossible
from quiltwork.infer.gibbs import CHAINS, gibbs_marginals, work
from quiltwork.infer.query import NUMBERS
from quiltwork.infer.question import once_per_model
from quiltwork.infer.sample import sample
from quiltwork.models.bayesian import BayesianNet

NARROW = 2**22  # entries of an exact answer: tens of milliseconds
UPDATES = 20_000_000  # variables that Gibbs sampling may look up: about a second
ROWS = 2048  # of a network too wide for exact marginals
SWEEPS = (400, 200_000)  # the least and the most, over all chains


class Marginals(NamedTuple):
    """
    parts      by column the probabilities of the states; for a number its mean and deviation; empty if not known
    method     "exact", "gibbs", "sampled", "training" or "none"
    converged  whether the chains of the sampler agree
    error      the largest standard error of a sampled answer
    note       one sentence for the reader
    """

    parts: list[np.ndarray]
    method: str
    converged: bool = True
    error: float | None = None
    note: str = ""


@once_per_model
def marginals(model: Any) -> Marginals:
    """What is known about every variable before anything is observed.

    >>> from quiltwork.models.textbook import textbook
    >>> marginals(textbook("asia")).parts[2]
    array([0.5, 0.5])
    """
    if is_numeric(model):
        return given(model, {})
    sizes = [variable.n_states for variable in model.variables]
    counts = getattr(model, "state_counts", None)
    if counts is not None and len(counts) == sum(sizes):
        parts = np.split(np.asarray(counts, np.float64), np.cumsum(sizes)[:-1])
        if all(part.sum() > 0 for part in parts):
            return Marginals([part / part.sum() for part in parts], "training")
    if not can_answer(model):
        return Marginals([np.empty(0)] * len(sizes), "none", note="This kind of model has no marginals to show.")
    if not isinstance(model, BayesianNet):
        return given(model, {})
    try:
        return given(model, {}, sampling=False)
    except ResourceLimitError:
        columns = (sampled_rows(model).column(v) for v in range(len(sizes)))
        parts = [np.bincount(column, minlength=size) / ROWS for column, size in zip(columns, sizes, strict=True)]
        note = f"The network is too wide for exact marginals: those shown are shares among {ROWS:,} sampled rows."
        return Marginals(parts, "sampled", note=note)


@once_per_model
def sampled_rows(model: Any) -> Dataset:
    """Rows of a network, always the same."""
    return sample(model, ROWS, seed=0)


def can_answer(model: Any) -> bool:
    """Whether the model can be asked for distributions given evidence.

    >>> from quiltwork.models.textbook import textbook
    >>> can_answer(textbook("asia"))
    True
    """
    return is_numeric(model) or any(kind in MARGINALS or kind in CONDITIONALS for kind in type(model).__mro__)


def given(model: Any, evidence: Mapping[int, float], sampling: bool = True) -> Marginals:
    """Every variable given states (or, of numbers, values) by column; exactly or not at all without `sampling`.

    >>> from quiltwork.models.textbook import textbook
    >>> given(textbook("asia"), {2: 0}).parts[3]
    array([0.1, 0.9])
    """
    if is_numeric(model):
        return _numbers(model, evidence)
    if not can_answer(model):
        raise IntractableError(f"A {type(model).__name__} cannot be asked for probabilities given evidence.")
    codes = _codes(model, evidence)
    try:
        flat, how = _exact(model, codes), Marginals([], "exact")
    except ResourceLimitError:
        if not sampling:
            raise
        flat, how = _sampled(model, codes)
    if flat is None:
        raise impossible({model.variables[v].name: model.variables[v].states[int(s)] for v, s in evidence.items()})
    return _as_parts(model, flat, how)


def _as_parts(model: Any, flat: np.ndarray, how: Marginals) -> Marginals:
    ends = np.cumsum([variable.n_states for variable in model.variables])
    return how._replace(parts=np.split(flat, ends[:-1]))


def is_numeric(model: Any) -> bool:
    """Whether the variables are numbers, which have no states."""
    return type(model) in NUMBERS


def _codes(model: Any, evidence: Mapping[int, float]) -> np.ndarray:
    codes = np.full(len(model.variables), NO_CODE, np.uint16)
    for v, state in evidence.items():
        if not 0 <= v < len(codes):
            raise InputError(f"There is no variable {v}; the variables are numbered from 0 to {len(codes) - 1}.")
        n_states = model.variables[v].n_states
        if state != int(state) or not 0 <= state < n_states:
            name = model.variables[v].name
            raise InputError(f"The states of {name!r} are numbered from 0 to {n_states - 1}. Got {state!r} instead.")
        codes[v] = int(state)
    return codes


def _exact(model: Any, codes: np.ndarray) -> np.ndarray | None:
    for kind in type(model).__mro__:
        if kind in MARGINALS:
            ask: Any = MARGINALS[kind]
            return ask(model, codes, NARROW)
    raise ResourceLimitError("This kind of model has no exact answer.")


def _sampled(model: Any, codes: np.ndarray) -> tuple[np.ndarray, Marginals]:
    free = max(1, int((codes == NO_CODE).sum())) / len(codes)
    sweeps = int(np.clip(UPDATES / (free * work(model)), *SWEEPS))
    flat, converged, error = gibbs_marginals(model, codes, sweeps, max(20, sweeps // (4 * CHAINS)), seed=0)
    note = (
        f"By Gibbs sampling ({sweeps:,} sweeps), for an exact answer would be too large or does not exist; "
        f"the standard error is at most {error:.2g}."
    )
    if not converged:
        note += " The chains do not agree yet: take the numbers as rough."
    return flat, Marginals([], "gibbs", converged, error, note)


def _numbers(model: Any, evidence: Mapping[int, float]) -> Marginals:
    """Means and deviations given the values of some, which is always exact."""
    n_vars = len(model.variables)
    for v, value in evidence.items():
        if not 0 <= v < n_vars:
            raise InputError(f"There is no variable {v}; the variables are numbered from 0 to {n_vars - 1}.")
        if not math.isfinite(value):
            raise InputError(f"The evidence for {model.variables[v].name!r} must be a finite number. Got {value!r}.")
    free = [v for v in range(n_vars) if v not in evidence]
    parts = [np.array([evidence.get(v, 0.0), 0.0]) for v in range(n_vars)]
    if free:
        ask: Any = NUMBERS[type(model)]
        found = ask(model, free, dict(evidence), MAX_ENTRIES)
        for v, mean, deviation in zip(free, found.mean, found.deviation, strict=True):
            parts[v] = np.array([mean, deviation])
    if not np.isfinite(parts).all():
        raise ZeroEvidenceError("These values lie too far out to be computed with; change or drop some.")
    return Marginals(parts, "exact")
