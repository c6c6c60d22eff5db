"""P(x_v | all the others), for all variables of whole tables at once, in closed form over the Markov blanket.

For a Bayesian network

    log P(v = s | rest) = log P(s | parents of v) + sum over children c of log P(x_c | parents of c with v = s) - log Z

so one walk over the families serves every variable: family c adds log P(s | configuration) to each state s of c, and
log P(x_c | configuration with p = s) to each state s of each parent p. These sums are the logits; a guarded
log-sum-exp makes them conditionals.

Missing values   A missing x_v is certain to be something: its own log conditional is log 1 = 0. Other missing
                 values are summed out exactly.
Impossible rows  Where the others leave no state of v possible, log P(x_v | rest) is -inf (so a row that cannot
                 happen never looks likely), and `predict_proba` says that every state is equally probable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit

from quiltwork.data.dataset import NO_CODE, Dataset, position
from quiltwork.errors import IntractableError
from quiltwork.infer.conditionals import factor_logits
from quiltwork.infer.dependency import dependency_logits
from quiltwork.infer.gaussian import gaussian_log_conditionals
from quiltwork.infer.gaussian_tree import gaussian_tree_log_conditionals
from quiltwork.infer.markov import markov_logits
from quiltwork.infer.markov_tree import tree_logits
from quiltwork.infer.missing import add_logits
from quiltwork.infer.question import blocks_about, implementation, model_of, once_per_model, row_blocks, rows_of
from quiltwork.infer.tables import compiled
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.dependency import DependencyNet
from quiltwork.models.gaussian import GaussianNet
from quiltwork.models.hybrid import AveragedField, HybridField
from quiltwork.models.markov import MarkovNet
from quiltwork.models.markov_tree import DiscreteTree, GaussianTree


def log_conditionals(model: Any, X: object) -> np.ndarray:
    """log P(x_v | all others) at the observed values, (rows, variables).

    >>> from quiltwork.models.textbook import textbook
    >>> from quiltwork.infer.sample import sample
    >>> asia = textbook("asia")
    >>> log_conditionals(asia, sample(asia, 3, seed=0)).shape
    (3, 8)
    """
    model = model_of(model)
    rows = rows_of(model, X)
    out = np.empty((rows.n_samples, rows.n_vars))
    for block, conditionals in _conditional_blocks(model, rows):
        out[block] = conditionals
    return out


def pseudo_log_likelihood(model: Any, X: object) -> np.ndarray:
    """The sum over the variables of log P(x_v | all others), (rows,).

    >>> from quiltwork.models.textbook import textbook
    >>> from quiltwork.infer.sample import sample
    >>> asia = textbook("asia")
    >>> rows = sample(asia, 3, seed=0)
    >>> bool(np.all(pseudo_log_likelihood(asia, rows) == log_conditionals(asia, rows).sum(axis=1)))
    True
    """
    model = model_of(model)
    rows = rows_of(model, X)
    out = np.empty(rows.n_samples)
    for block, conditionals in _conditional_blocks(model, rows):
        out[block] = conditionals.sum(axis=1)
    return out


def predict_proba(model: Any, X: object, variable: str) -> np.ndarray:
    """P(variable | the other columns), (rows, states of the variable).

    The variable's own column may be absent from X, and is not used where it is there.

    >>> from quiltwork.models.textbook import textbook
    >>> from quiltwork.infer.sample import sample
    >>> asia = textbook("asia")
    >>> predict_proba(asia, sample(asia, 3, seed=0), "lung").shape
    (3, 2)
    """
    model = model_of(model)
    target = position(variable, model.variables)
    if not model.variables[target].states:
        raise IntractableError(
            f"Variable {variable!r} of this {type(model).__name__} is a number and has no states to give probabilities "
            f"to; predict(model, X, {variable!r}) tells its mean given the others, and query its whole distribution."
        )
    parts = [np.empty((0, model.variables[target].n_states))]
    for codes in blocks_about(model, X, target, first_state(model)[-1]):
        parts.append(_probabilities(target_logits(model, codes, target)))
    return np.concatenate(parts)


def blanket(model: Any, variable: str) -> list[str]:
    """Names of the Markov blanket: given these, the variable depends on no other.

    >>> from quiltwork.models.textbook import textbook
    >>> blanket(textbook("asia"), "lung")
    ['tub', 'smoke', 'either']
    """
    model = model_of(model)
    around = implementation(BLANKET, model, "blanket")(model, position(variable, model.variables))
    return [model.variables[v].name for v in around]


def _conditional_blocks(model: Any, rows: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows: (which, log P(x_v | all others) at their values); numbers have no logits."""
    if type(model) in DENSITIES:
        for block, values in row_blocks(rows, rows.n_vars):
            yield block, DENSITIES[type(model)](model, values)
        return
    for block, codes, logits in logit_blocks(model, rows):
        conditionals = np.empty(codes.shape)
        _log_conditionals(codes, logits, first_state(model), conditionals)
        yield block, conditionals


def logit_blocks(model: Any, rows: Dataset) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Blocks of rows: (which, their codes, their logits)."""
    for block, codes in row_blocks(rows, first_state(model)[-1]):
        yield block, codes, all_logits(model, codes)


def all_logits(model: Any, codes: np.ndarray) -> np.ndarray:
    """Logits of all states of all variables given each row's other values, (rows, all states).

    Only those of observed variables mean something; `target_logits` serves a variable that may be missing.
    """
    return implementation(LOGITS, model, "log_conditionals")(model, codes, None)


def target_logits(model: Any, codes: np.ndarray, target: int) -> np.ndarray:
    """Logits of one variable given the others, (rows, states); its own codes are not read."""
    first = first_state(model)
    logits = implementation(LOGITS, model, "predict_proba")(model, codes, target)
    return np.ascontiguousarray(logits[:, first[target] : first[target + 1]])


def _asked(model: Any, target: int | None) -> np.ndarray:
    return np.arange(len(model.variables)) if target is None else np.array([target])


@once_per_model
def first_state(model: Any) -> np.ndarray:
    """Where the states of each variable begin in a row of all states, (n_vars + 1,)."""
    return np.cumsum([0, *(variable.n_states for variable in model.variables)])


# Bayesian networks


def _bayesian_logits(model: BayesianNet, codes: np.ndarray, target: int | None) -> np.ndarray:
    if not model.is_tabular:
        out, gaps = factor_logits(model, codes, _asked(model, target))
        rows = np.flatnonzero(gaps.any(axis=1))  # missing values are summed out over tables
        if len(rows):
            out[rows] = _bayesian_logits(model.tabular(), codes[rows], target)
        return out
    net = compiled(model)
    families = np.arange(net.n_vars)
    if target is not None:
        codes = codes.copy()
        codes[:, target] = 0  # any state will do: the logits of a variable do not depend on its own
        families = np.array([target, *net.children[target]])
    out = np.zeros((len(codes), net.tables.first_state[-1]))
    if _add_complete_families(net.tables, families, codes, out):
        add_logits(net, codes, out, target)
    return out


def _bayesian_blanket(model: BayesianNet | GaussianNet, v: int) -> list[int]:
    return model.structure.blanket(v)


# Hybrid random fields: the same inside each variable's own network


def _field_logits(model: HybridField, codes: np.ndarray, target: int | None) -> np.ndarray:
    out, gaps = factor_logits(model, codes, _asked(model, target))
    first = first_state(model)
    for v in np.flatnonzero(gaps.any(axis=0)):  # some of the blanket is missing: sum it out in the local network
        rows = np.flatnonzero(gaps[:, v])
        members = model.members(int(v))
        local = codes[np.ix_(rows, members)]
        own = int(np.searchsorted(members, v))
        out[rows, first[v] : first[v + 1]] = target_logits(model.network(model.variables[v].name), local, own)
    return out


def _averaged_logits(model: AveragedField, codes: np.ndarray, target: int | None) -> np.ndarray:
    """Logarithms of the mean of the fields' probabilities."""
    first = first_state(model)
    variables = _asked(model, target)
    total = np.zeros((len(codes), first[-1]))
    for one in model.fields:
        _add_probabilities(_field_logits(one, codes, target), first, variables, total)
    return np.log(total, out=np.full(total.shape, -np.inf), where=total > 0)


LOGITS: dict[type, Callable[..., np.ndarray]] = {
    BayesianNet: _bayesian_logits,
    HybridField: _field_logits,
    DependencyNet: dependency_logits,
    MarkovNet: markov_logits,
    DiscreteTree: tree_logits,
    AveragedField: _averaged_logits,
}
DENSITIES: dict[type, Callable[..., np.ndarray]] = {
    GaussianNet: gaussian_log_conditionals,
    GaussianTree: gaussian_tree_log_conditionals,
}
BLANKET: dict[type, Callable[..., list[int]]] = {
    BayesianNet: _bayesian_blanket,
    GaussianNet: _bayesian_blanket,
    HybridField: HybridField.blanket,
    DependencyNet: DependencyNet.blanket,
    MarkovNet: MarkovNet.blanket,
    DiscreteTree: DiscreteTree.blanket,
    GaussianTree: GaussianTree.blanket,
    AveragedField: AveragedField.blanket,
}


# Kernels


@njit(cache=True, nogil=True)
def _add_complete_families(tables, families, codes, out):
    """What the families without missing values say about their members, onto out (rows, all states): any missing?"""
    any_missing = False
    for i in range(codes.shape[0]):
        for c in families:
            complete = codes[i, c] != NO_CODE
            at = tables.first_entry[c]
            for j in range(tables.first_parent[c], tables.first_parent[c + 1]):
                state = codes[i, tables.parents[j]]
                complete &= state != NO_CODE
                at += tables.strides[j] * state
            if not complete:
                any_missing = True
                continue
            for s in range(tables.n_states[c]):
                out[i, tables.first_state[c] + s] += tables.log_probs[at + s]
            for j in range(tables.first_parent[c], tables.first_parent[c + 1]):
                p, stride = tables.parents[j], tables.strides[j]
                entry = at + codes[i, c] - stride * codes[i, p]
                for s in range(tables.n_states[p]):
                    out[i, tables.first_state[p] + s] += tables.log_probs[entry + stride * s]
    return any_missing


@njit(cache=True, nogil=True)
def _log_conditionals(codes, logits, first_state, out):
    """Normalised logits at the observed states, into out (rows, variables); see the module for zeros and gaps."""
    for i in range(codes.shape[0]):
        for v in range(codes.shape[1]):
            if codes[i, v] == NO_CODE:
                out[i, v] = 0.0
                continue
            here = logits[i, first_state[v] + codes[i, v]]
            top = here
            for e in range(first_state[v], first_state[v + 1]):
                top = max(top, logits[i, e])
            total = 0.0
            for e in range(first_state[v], first_state[v + 1]):
                total += 1.0 if logits[i, e] == top else math.exp(logits[i, e] - top)
            out[i, v] = here - top - math.log(total) if here > -np.inf else -np.inf


@njit(cache=True, nogil=True)
def _probabilities(logits):
    """Normalised probabilities of each row of logits; all states equal where none is possible."""
    out = np.empty(logits.shape)
    for i in range(logits.shape[0]):
        top = logits[i].max()
        if top == -np.inf:
            out[i] = 1.0 / out.shape[1]
            continue
        for s in range(out.shape[1]):
            out[i, s] = math.exp(logits[i, s] - top)
        out[i] /= out[i].sum()
    return out


@njit(cache=True, nogil=True)
def _add_probabilities(logits, first_state, variables, total):
    """Add the normalised probabilities of these variables to total (rows, all states)."""
    for i in range(logits.shape[0]):
        for v in variables:
            begin, end = first_state[v], first_state[v + 1]
            top = logits[i, begin:end].max()
            norm = 0.0
            for e in range(begin, end):
                logits[i, e] = 1.0 if top == -np.inf else math.exp(logits[i, e] - top)
                norm += logits[i, e]
            for e in range(begin, end):
                total[i, e] += logits[i, e] / norm
