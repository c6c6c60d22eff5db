"""Conditionals laid out for kernels: P(x_v | all the others) as a product of table look-ups.

In every model whose pieces are tables, the conditional of v is proportional to a product of factors, each of them a
table read at the states of some other variables:

    log P(v = s | rest) = sum over factors f of log_values[entry[f] + own_stride[f] * s + sum of stride * state] - log Z

A Bayesian network gives v its own CPD and those of its children; a hybrid field does so inside v's local network; a
dependency network gives it its own CPD alone. The logits of whole tables and the Gibbs sampler read nothing else. (The
features of a Markov network are not made into tables: see `markov` and `walk`.)

A factor may also be a decision tree or graph (see `cpds.tree`): then its value is found by a walk from its root.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.dataset import NO_CODE
from quiltwork.infer.markov_tree import directed
from quiltwork.infer.question import implementation, once_per_model
from quiltwork.infer.tables import compiled
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.dependency import DependencyNet
from quiltwork.models.hybrid import HybridField
from quiltwork.models.markov_tree import DiscreteTree

_NONE = np.empty(0, np.int64)


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
    log_values    (n_entries,) all tables and leaves, -inf for what cannot happen
    root          (n_factors,) the root of a factor that is a decision graph, -1 for a table; `entry` of a graph is the
                  column of its child, or -1 where that is v itself
    node_variable, node_state, node_first, node_branches
                  all nodes as in `cpds.tree`; branches are nodes, and the first of a leaf is its place in log_values
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
    root: np.ndarray
    node_variable: np.ndarray
    node_state: np.ndarray
    node_first: np.ndarray
    node_branches: np.ndarray

    @classmethod
    def of_tables(cls, **tables: np.ndarray) -> Conditionals:
        """Without decision graphs."""
        none = np.empty(0, np.int64)
        return cls(**tables, root=np.full(len(tables["entry"]), -1), **dict.fromkeys(cls._fields[-4:], none))


@once_per_model
def conditionals(model: Any) -> Conditionals:
    """The layout of this model; made when first asked for."""
    return implementation(CONDITIONALS, model, "conditionals")(model)


def factor_logits(model: Any, codes: np.ndarray, variables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits (rows, all states) of some variables given each row's other values; 0 for those not asked for.

    The second result (rows, n_vars) marks the logits that are void because another value they need is missing.
    """
    laid_out = conditionals(model)
    out = np.zeros((len(codes), laid_out.first_state[-1]))
    gaps = np.zeros((len(codes), len(laid_out.n_states)), np.bool_)
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
    return Conditionals.of_tables(
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
    if not model.is_tabular:
        return from_cpds(model, children_too=True)
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


def _of_tree(model: DiscreteTree) -> Conditionals:
    return _of_bayesian(directed(model))


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
    return from_cpds(model, children_too=False)


def from_cpds(model: BayesianNet | DependencyNet, children_too: bool) -> Conditionals:
    """Lay out CPDs of any kind: the tables and the decision graphs that each adds up to its log P.

    The CPD of a child also speaks of its parents where it is a factor of one joint distribution (`children_too`).
    """
    n_states = np.array([v.n_states for v in model.variables], np.int64)
    tables = [(cpd.child, *part) for cpd in model.cpds for part in cpd.log_tables()]
    graphs = [(cpd.child, *part) for cpd in model.cpds for part in cpd.decision_graphs()]
    starts = _starts(np.array([values.size for *_, values in tables], np.int64))
    spoken = [(v, k) for k, (child, parents, _) in enumerate(tables) for v in (child, *parents * children_too)]
    owner, family = (np.array(one, np.int64) for one in zip(*spoken, strict=True)) if spoken else (_NONE, _NONE)
    every_parent = np.array([p for _, parents, _ in tables for p in parents], np.int64)
    first_parent, parents = _pick(family, _starts(np.array([len(p) for _, p, _ in tables], np.int64)), every_parent)
    child = np.array([c for c, *_ in tables], np.int64)
    laid_out = from_families(n_states, owner, child[family], first_parent, parents, starts[:-1][family], np.empty(0))
    laid_out = laid_out._replace(log_values=np.concatenate([np.empty(0), *(v.ravel() for *_, v in tables)]))
    return _with_graphs(laid_out, owner, graphs, children_too)


def _with_graphs(laid_out: Conditionals, owner: np.ndarray, graphs: list, children_too: bool) -> Conditionals:
    """Add factors that are decision graphs to a layout of tables, and put all factors in the order of their owners."""
    n_nodes, n_branches, end = 0, 0, len(laid_out.log_values)
    owners, entries, roots = [owner], [laid_out.entry], [laid_out.root]
    nodes: list[tuple[np.ndarray, ...]] = []
    for child, variable, state, first, branches, values in graphs:
        is_leaf = variable < 0
        places = np.where(is_leaf, end + first * values.shape[1], n_branches + first)
        nodes.append((variable, state, places, n_nodes + branches, values.ravel()))
        others = np.unique(variable[~is_leaf]) if children_too else _NONE
        owners.append(np.append(child, others))
        entries.append(np.append(-1, np.full(len(others), child)))
        roots.append(np.full(1 + len(others), n_nodes))
        n_nodes, n_branches, end = n_nodes + len(variable), n_branches + len(branches), end + values.size
    everyone = np.concatenate(owners)
    order = np.argsort(everyone, kind="stable")
    n_terms = np.concatenate([np.diff(laid_out.first_term), np.zeros(len(everyone) - len(owner), np.int64)])
    first_term = _starts(n_terms)
    stacked = [np.concatenate([_NONE, *part]) for part in zip(*nodes, strict=True)] if nodes else [_NONE] * 5
    return laid_out._replace(
        first_factor=np.searchsorted(everyone[order], np.arange(len(laid_out.n_states) + 1)),
        entry=np.concatenate(entries)[order],
        own_stride=np.concatenate([laid_out.own_stride, np.zeros(len(everyone) - len(owner), np.int64)])[order],
        first_term=_starts(n_terms[order]),
        variable=_pick(order, first_term, laid_out.variable)[1],
        stride=_pick(order, first_term, laid_out.stride)[1],
        log_values=np.concatenate([laid_out.log_values, stacked[4]]),
        root=np.concatenate(roots)[order],
        node_variable=stacked[0],
        node_state=stacked[1],
        node_first=stacked[2],
        node_branches=stacked[3],
    )


CONDITIONALS: dict[type, Callable[..., Conditionals]] = {
    BayesianNet: _of_bayesian,
    DiscreteTree: _of_tree,
    HybridField: _of_field,
    DependencyNet: _of_dependency,
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
                if laid_out.root[f] >= 0:
                    gaps[i, v] |= _add_graph(laid_out, f, codes[i], v, out[i, begin : begin + laid_out.n_states[v]])
                    continue
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


@njit(cache=True, nogil=True)
def _add_graph(laid_out, f, state, v, out):
    """Add a decision graph to the logits of v, out (states,); whether a value it needs is missing."""
    child = laid_out.entry[f]
    if child >= 0 and state[child] == NO_CODE:
        return True
    for s in range(1 if child < 0 else out.size):  # a parent's state decides the walk, a child's own does not
        k = laid_out.root[f]
        while laid_out.node_variable[k] >= 0:
            u = laid_out.node_variable[k]
            x = s if u == v else np.int64(state[u])
            if x == NO_CODE:
                return True
            first, asked = laid_out.node_first[k], laid_out.node_state[k]
            k = laid_out.node_branches[first + (x if asked < 0 else np.int64(x != asked))]
        at = laid_out.node_first[k]
        if child >= 0:
            out[s] += laid_out.log_values[at + state[child]]
        else:
            for c in range(out.size):
                out[c] += laid_out.log_values[at + c]
    return False
