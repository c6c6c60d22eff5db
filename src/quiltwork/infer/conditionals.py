"""Conditionals laid out for kernels: P(x_v | all the others) as a product of table look-ups.

In every model whose pieces are tables, the conditional of v is proportional to a product of factors, each of them a
table read at the states of some other variables:

    log P(v = s | rest) = sum over factors f of log_values[entry[f] + own_stride[f] * s + sum of stride * state] - log Z

A Bayesian network gives v its own CPD and those of its children; a hybrid field does so inside v's local network; a
dependency network gives it its own CPD alone, and a Markov network its features, those over the same variables in one
table. The logits of whole tables and the Gibbs sampler read nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ResourceLimitError
from quiltwork.infer.question import implementation, once_per_model
from quiltwork.infer.tables import compiled
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.dependency import DependencyNet
from quiltwork.models.hybrid import HybridField
from quiltwork.models.markov import MarkovNet

MAX_ENTRIES = 2**26  # of all tables of a Markov network: half a gigabyte


class Conditionals(NamedTuple):
    """What the kernels see. (Fields keep their order: kernels cached on disk know them by place.)

    n_states      (n_vars,)
    first_state   (n_vars + 1,) where the states of v begin in a row of all states
    first_factor  (n_vars + 1,) the factors of v
    entry         (n_factors,) where the factor's table begins
    own_stride    (n_factors,) entries between two states of v
    first_term    (n_factors + 1,) the other variables of the factor
    variable      (n_terms,) which they are
    stride        (n_terms,) entries between two of their states
    log_values    (n_entries,) all tables, -inf for what cannot happen
    """

    n_states: np.ndarray
    first_state: np.ndarray
    first_factor: np.ndarray
    entry: np.ndarray
    own_stride: np.ndarray
    first_term: np.ndarray
    variable: np.ndarray
    stride: np.ndarray
    log_values: np.ndarray


@once_per_model
def conditionals(model: Any) -> Conditionals:
    """The layout of this model; made when first asked for."""
    return implementation(CONDITIONALS, model, "conditionals")(model)


def factor_logits(model: Any, codes: np.ndarray, target: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Logits (rows, all states) of all variables, or of the target alone, given each row's other values.

    The second result (rows, n_vars) marks the logits that are void because another value they need is missing.
    """
    laid_out = conditionals(model)
    out = np.zeros((len(codes), laid_out.first_state[-1]))
    gaps = np.zeros((len(codes), len(laid_out.n_states)), np.bool_)
    variables = np.arange(len(laid_out.n_states)) if target is None else np.array([target])
    _add_factors(laid_out, codes, variables, out, gaps)
    return out, gaps


def from_families(
    n_states: np.ndarray,
    owner: np.ndarray,
    child: np.ndarray,
    first_parent: np.ndarray,
    parents: np.ndarray,
    entry: np.ndarray,
    values: np.ndarray,
) -> Conditionals:
    """Lay out families (a child with its parents and a table), each of them a factor of its `owner`, ascending."""
    n_terms = np.diff(first_parent)  # the owner is one of the family: its parents and child, less one
    own_stride, variable = np.zeros(len(owner), np.int64), np.zeros(n_terms.sum(), np.int64)
    stride = np.zeros(n_terms.sum(), np.int64)
    first_term = _starts(n_terms)
    _find_strides(n_states, owner, child, first_parent, parents, first_term, own_stride, variable, stride)
    return Conditionals(
        n_states=n_states,
        first_state=_starts(n_states),
        first_factor=np.searchsorted(owner, np.arange(len(n_states) + 1)),
        entry=entry.astype(np.int64),
        own_stride=own_stride,
        first_term=first_term,
        variable=variable,
        stride=stride,
        log_values=np.log(values, out=np.full_like(values, -np.inf), where=values > 0),
    )


def _of_bayesian(model: BayesianNet) -> Conditionals:
    tables = compiled(model).tables
    n_vars = len(tables.n_states)
    child_of_arc = np.repeat(np.arange(n_vars), np.diff(tables.first_parent))
    owner = np.concatenate([np.arange(n_vars), tables.parents])
    family = np.concatenate([np.arange(n_vars), child_of_arc])
    order = np.lexsort((family, owner))
    owner, family = owner[order], family[order]
    first_parent, parents = _pick(family, tables.first_parent, tables.parents)
    return from_families(
        tables.n_states, owner, family, first_parent, parents, tables.first_entry[family], tables.probs
    )


def _of_field(model: HybridField) -> Conditionals:
    n_states = np.array([v.n_states for v in model.variables], np.int64)
    owner = np.repeat(np.arange(len(n_states)), np.diff(model.first_family))
    family_of_parent = np.repeat(np.arange(len(model.child)), np.diff(model.first_parent))
    reads = model.child == owner  # the variable's own CPD, and those of its children
    reads[family_of_parent[model.parents == owner[family_of_parent]]] = True
    used = np.flatnonzero(reads)
    first_parent, parents = _pick(used, model.first_parent, model.parents)
    return from_families(
        n_states, owner[used], model.child[used], first_parent, parents, model.first_entry[used], model.probs
    )


def _of_dependency(model: DependencyNet) -> Conditionals:
    n_states = np.array([v.n_states for v in model.variables], np.int64)
    everyone = np.arange(len(n_states))
    structure = model.structure
    starts = _starts(np.array([cpd.probs.size for cpd in model.cpds], np.int64))
    tables = np.concatenate([np.empty(0), *(cpd.probs.ravel() for cpd in model.cpds)])
    return from_families(n_states, everyone, everyone, structure.indptr, structure.indices, starts[:-1], tables)


def _of_markov(model: MarkovNet) -> Conditionals:
    """One factor per variable and scope: the weights of the features over that scope, added up in a table."""
    n_states = np.array([v.n_states for v in model.variables], np.int64)
    owner, entry, own_stride, n_terms, variable, stride = ([np.empty(0, np.int64)] for _ in range(6))
    tables: list[np.ndarray] = [np.empty(0)]
    end = 0
    lengths = np.diff(model.first_condition)
    for length in range(1, lengths.max(initial=0) + 1):
        which = np.flatnonzero(lengths == length)
        at = model.first_condition[which, None] + np.arange(length)
        scopes, scope = np.unique(model.columns[at], axis=0, return_inverse=True)
        sizes = n_states[scopes].astype(float).prod(axis=1)
        if end + sizes.sum() > MAX_ENTRIES:
            raise ResourceLimitError(
                f"Features over up to {length} variables make tables with more than {MAX_ENTRIES:,} entries; "
                "learn shorter features."
            )
        steps = np.ones(scopes.shape, np.int64)  # the last variable of a scope varies fastest
        steps[:, :-1] = np.cumprod(n_states[scopes[:, :0:-1]], axis=1)[:, ::-1]
        starts = _starts(sizes)
        place = starts[scope] + (model.states[at] * steps[scope]).sum(axis=1)
        tables.append(np.bincount(place, model.weights[which], starts[-1]))
        for k in range(length):
            others = np.arange(length) != k
            owner.append(scopes[:, k])
            entry.append(end + starts[:-1])
            own_stride.append(steps[:, k])
            n_terms.append(np.full(len(scopes), length - 1))
            variable.append(scopes[:, others].ravel())
            stride.append(steps[:, others].ravel())
        end += int(starts[-1])
    order = np.argsort(np.concatenate(owner), kind="stable")
    first_term = _starts(np.concatenate(n_terms))
    return Conditionals(
        n_states=n_states,
        first_state=_starts(n_states),
        first_factor=np.searchsorted(np.concatenate(owner)[order], np.arange(len(n_states) + 1)),
        entry=np.concatenate(entry)[order],
        own_stride=np.concatenate(own_stride)[order],
        first_term=_starts(np.diff(first_term)[order]),
        variable=_pick(order, first_term, np.concatenate(variable))[1],
        stride=_pick(order, first_term, np.concatenate(stride))[1],
        log_values=np.concatenate(tables),
    )


CONDITIONALS: dict[type, Callable[..., Conditionals]] = {
    BayesianNet: _of_bayesian,
    HybridField: _of_field,
    DependencyNet: _of_dependency,
    MarkovNet: _of_markov,
}


def _pick(which: np.ndarray, first: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lists with these numbers, one after another, out of lists laid out flat."""
    lengths = np.diff(first)[which]
    starts = _starts(lengths)
    return starts, values[np.repeat(first[which] - starts[:-1], lengths) + np.arange(starts[-1])]


def _starts(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


# Kernels


@njit(cache=True, nogil=True)
def _find_strides(n_states, owner, child, first_parent, parents, first_term, own_stride, variable, stride):
    """Walk each family from its child back through its parents; the last parent varies fastest after the child."""
    for f in range(owner.size):
        t, step = first_term[f], n_states[child[f]]
        if child[f] == owner[f]:
            own_stride[f] = 1
        else:
            variable[t], stride[t] = child[f], 1
            t += 1
        for j in range(first_parent[f + 1] - 1, first_parent[f] - 1, -1):
            if parents[j] == owner[f]:
                own_stride[f] = step
            else:
                variable[t], stride[t] = parents[j], step
                t += 1
            step *= n_states[parents[j]]


@njit(cache=True, nogil=True)
def _add_factors(laid_out, codes, variables, out, gaps):
    """Add the factors of each variable to out (rows, all states), but where a value they need is missing: gaps."""
    for i in range(codes.shape[0]):
        for v in variables:
            begin = laid_out.first_state[v]
            for f in range(laid_out.first_factor[v], laid_out.first_factor[v + 1]):
                at = laid_out.entry[f]
                for t in range(laid_out.first_term[f], laid_out.first_term[f + 1]):
                    state = codes[i, laid_out.variable[t]]
                    if state == NO_CODE:
                        gaps[i, v] = True
                        break
                    at += laid_out.stride[t] * state
                if gaps[i, v]:
                    break
                for s in range(laid_out.n_states[v]):
                    out[i, begin + s] += laid_out.log_values[at + laid_out.own_stride[f] * s]
