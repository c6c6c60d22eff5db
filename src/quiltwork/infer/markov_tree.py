"""Markov trees answer exactly in time that grows with the number of variables: two sweeps of messages.

Leaves first, every variable tells its parent how likely what was observed below is for each state of the parent; then,
roots first, every parent tells its children the same of all that is not below them. What a variable was told from all
sides, its own value left out, is its conditional given the others, and with its own value its marginal.

    up    m_v(x_p) = sum over x_v of P(x_v | x_p) * product of the messages of v's children
    down  d_v(x_v) = sum over x_p of P(x_v | x_p) * d_p(x_p) * product of the messages of p's other children

Sums stand for single terms where the variable is observed. All numbers are logarithms, for a hub with a thousand
neighbours multiplies a thousand messages. A message is never taken out of a sum again, which -inf would not allow: the
sum over a variable's other siblings is that of the siblings before it and that of the siblings after it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ResourceLimitError
from quiltwork.infer.question import once_per_model
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.markov_tree import DiscreteTree


class FlatTree(NamedTuple):
    """What the kernels see. (Fields keep their order: kernels cached on disk know them by place.)

    order          (n_vars,) parents before children
    parent         (n_vars,) -1 for a root
    n_states       (n_vars,)
    first_state    (n_vars + 1,) where the states of v begin in a row of all states
    first_entry    (n_vars + 1,) where the table of v begins, a row for each state of its parent
    first_message  (n_vars + 1,) where the message of v to its parent lies: one number for each state of the parent
    log_probs      (n_entries,) -inf for what cannot happen
    """

    order: np.ndarray
    parent: np.ndarray
    n_states: np.ndarray
    first_state: np.ndarray
    first_entry: np.ndarray
    first_message: np.ndarray
    log_probs: np.ndarray


class Messages(NamedTuple):
    """What is said in one row.

    told   (all states,) the sum of the messages of v's children
    up     (all messages,) from each variable to its parent
    later  (all messages,) the sum of the messages of the siblings that come after v in the order
    down   (all states,) what v hears from above: P(x_v) if it is a root, else d_v
    sooner (all states,) the sum of the messages of those children of v that the way down has passed
    """

    told: np.ndarray
    up: np.ndarray
    later: np.ndarray
    down: np.ndarray
    sooner: np.ndarray


@once_per_model
def flat_tree(model: DiscreteTree) -> FlatTree:
    """The layout of this model; made when first asked for."""
    n_states = np.array([variable.n_states for variable in model.variables], np.int64)
    return FlatTree(
        order=np.array(model.order, np.int64),
        parent=model.parent,
        n_states=n_states,
        first_state=_starts(n_states),
        first_entry=model.first_entry,
        first_message=_starts(np.diff(model.first_entry) // n_states),
        log_probs=np.log(model.probs, out=np.full_like(model.probs, -np.inf), where=model.probs > 0),
    )


@once_per_model
def directed(model: DiscreteTree) -> BayesianNet:
    """The same distribution as a Bayesian network, for the doors that know what to do with one."""
    return model.directed()


# Whole tables


def tree_log_likelihood(model: DiscreteTree, codes: np.ndarray) -> np.ndarray:
    """log P(what was observed) of each row, (rows,)."""
    out = np.empty(len(codes))
    tree = flat_tree(model)
    _add_rows(tree, codes, _no_messages(tree), out)
    return out


def tree_logits(model: DiscreteTree, codes: np.ndarray, target: int | None) -> np.ndarray:
    """Logits of all states of all variables (or of the target alone) given each row's other values."""
    tree = flat_tree(model)
    if target is not None:
        codes = codes.copy()
        codes[:, target] = NO_CODE  # its own value is not read
    out = np.zeros((len(codes), tree.first_state[-1]))
    _add_logits(tree, codes, _no_messages(tree), out)
    return out


# Single questions


def tree_log_evidence(model: DiscreteTree, codes: np.ndarray, max_entries: int) -> float:
    """log P(what is known); -inf where that cannot happen."""
    return float(tree_log_likelihood(model, codes[None])[0])


def tree_marginals(model: DiscreteTree, codes: np.ndarray, max_entries: int) -> np.ndarray | None:
    """P(x_v | what is known) of every variable, one after another; None where that cannot happen."""
    tree = flat_tree(model)
    messages = _no_messages(tree)
    if _collect(tree, codes, messages) == -np.inf:
        return None
    _distribute(tree, codes, messages)
    out = np.zeros(tree.first_state[-1])
    _marginals(tree, codes, messages, out)
    return out


def tree_query(
    model: DiscreteTree, asked: list[int], codes: np.ndarray, max_entries: int
) -> tuple[np.ndarray, int] | None:
    """P(asked | what is known), one axis per variable, and its width; None where the evidence cannot happen.

    Messages carry an axis for every variable asked for below, so that no table is larger than the answer times the
    states of one variable.
    """
    tree = flat_tree(model)
    shape = [int(tree.n_states[v]) for v in asked]
    size = math.prod(shape) * int(tree.n_states.max())
    if size > max_entries:
        raise ResourceLimitError(
            f"The joint distribution of these {len(asked)} variables takes {size:.3g} numbers ({8 * size / 2**20:.3g} "
            f"MB) where max_entries allows {max_entries:.3g}; ask for fewer variables at a time, or for the "
            "distribution of each with marginals(model, evidence)."
        )
    messages = _no_messages(tree)
    if _collect(tree, codes, messages) == -np.inf:
        return None
    logs, axes = _joint(model, set(asked), codes, messages)
    table = np.exp(logs - logs.max())
    return (table / table.sum()).transpose([axes.index(v) for v in asked]), len(asked) + 1


def _joint(model: DiscreteTree, asked: set[int], codes: np.ndarray, messages: Messages) -> tuple[np.ndarray, list[int]]:
    """The logarithms of the joint table of the variables asked for, up to a constant, and the variable of each axis."""
    tree = flat_tree(model)
    on_the_way = model.upwards(asked)
    axes: list[int]
    below: dict[int, list[tuple[np.ndarray, list[int]]]] = {v: [] for v in [-1, *on_the_way]}
    for v in reversed([v for v in model.order if v in on_the_way]):
        table, axes = _belief(model, v, on_the_way, codes, messages), []
        for message, others in below[v]:
            table, axes = _along_first(table, message), axes + others
        given = tree.log_probs[tree.first_entry[v] : tree.first_entry[v + 1]].reshape(-1, len(table))
        if v in asked:  # its states are kept apart
            message, axes = given.reshape(*given.shape, *(1,) * len(axes)) + table, [v, *axes]
        else:
            message = np.stack([np.logaddexp.reduce(_along_first(row, table), axis=0) for row in given])
        below[int(model.parent[v])].append((message, axes))
    joint, axes = np.zeros(1), []
    for message, others in below[-1]:  # of the roots, each of which has a table of one row
        joint, axes = _along_first(joint, message), axes + others
    return joint[0], axes


def _belief(model: DiscreteTree, v: int, on_the_way: set[int], codes: np.ndarray, messages: Messages) -> np.ndarray:
    """What the value of v and its children off the way say about each state of v."""
    tree = flat_tree(model)
    belief = np.zeros(tree.n_states[v])
    for child in _children(model)[v]:
        if child not in on_the_way:
            belief += messages.up[tree.first_message[child] : tree.first_message[child + 1]]
    if codes[v] != NO_CODE:
        belief[np.arange(len(belief)) != codes[v]] = -np.inf
    return belief


def _along_first(table: np.ndarray, message: np.ndarray) -> np.ndarray:
    """Their sum along the first axis of both; the other axes of the message come last."""
    widened = table.reshape(*table.shape, *(1,) * (message.ndim - 1))
    return widened + message.reshape(len(message), *(1,) * (table.ndim - 1), *message.shape[1:])


@once_per_model
def _children(model: DiscreteTree) -> list[list[int]]:
    return model.structure.children()


def _no_messages(tree: FlatTree) -> Messages:
    n, n_messages = int(tree.first_state[-1]), int(tree.first_message[-1])
    return Messages(np.zeros(n), np.zeros(n_messages), np.zeros(n_messages), np.zeros(n), np.zeros(n))


def _starts(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


# Kernels


@njit(cache=True, nogil=True)
def _add_rows(tree, codes, messages, out):
    """log P(what was observed) of each row."""
    for i in range(codes.shape[0]):
        out[i] = _collect(tree, codes[i], messages)


@njit(cache=True, nogil=True)
def _add_logits(tree, codes, messages, out):
    """What each variable was told from all sides, its own value left out, onto out (rows, all states)."""
    for i in range(codes.shape[0]):
        _collect(tree, codes[i], messages)
        _distribute(tree, codes[i], messages)
        for e in range(out.shape[1]):
            out[i, e] += messages.down[e] + messages.told[e]


@njit(cache=True, nogil=True)
def _collect(tree, row, messages):
    """Messages from the leaves to the roots; log P(what was observed).

    The message of an observed variable is its table at that state alone; what comes from below it is a constant.
    """
    told = messages.told
    told[:] = 0.0
    log_likelihood = 0.0
    for k in range(tree.order.size - 1, -1, -1):
        v = tree.order[k]
        r, first, p = tree.n_states[v], tree.first_state[v], tree.parent[v]
        begin, observed = tree.first_message[v], row[v] != NO_CODE
        if observed:
            log_likelihood += told[first + row[v]]
        for x in range(tree.first_message[v + 1] - begin):
            entry = tree.first_entry[v] + x * r
            if observed:
                said = tree.log_probs[entry + row[v]]
            else:
                said = _log_sum(tree.log_probs[entry : entry + r], told[first : first + r])
            messages.up[begin + x] = said
            if p < 0:
                log_likelihood += said
            else:
                messages.later[begin + x] = told[tree.first_state[p] + x]
                told[tree.first_state[p] + x] += said
    return log_likelihood


@njit(cache=True, nogil=True)
def _distribute(tree, row, messages):
    """Messages from the roots to the leaves, after `_collect`."""
    down, sooner = messages.down, messages.sooner
    sooner[:] = 0.0
    above = np.empty(tree.n_states.max())
    for v in tree.order:
        r, first, p = tree.n_states[v], tree.first_state[v], tree.parent[v]
        entry = tree.first_entry[v]
        if p < 0 or row[p] != NO_CODE:
            entry += 0 if p < 0 else row[p] * r
            down[first : first + r] = tree.log_probs[entry : entry + r]
            continue
        begin = tree.first_message[v]
        for x in range(tree.n_states[p]):
            at = tree.first_state[p] + x
            above[x] = down[at] + sooner[at] + messages.later[begin + x]  # what p was told by all but v
            sooner[at] += messages.up[begin + x]
        for s in range(r):
            column = tree.log_probs[entry + s : entry + tree.n_states[p] * r : r]
            down[first + s] = _log_sum(column, above[: tree.n_states[p]])


@njit(cache=True, nogil=True)
def _marginals(tree, row, messages, out):
    """P(x_v | what is known) of every variable, into out (all states,), zeroed."""
    for v in range(tree.n_states.size):
        begin, end = tree.first_state[v], tree.first_state[v + 1]
        if row[v] != NO_CODE:
            out[begin + row[v]] = 1.0
            continue
        top = -np.inf
        for e in range(begin, end):
            out[e] = messages.down[e] + messages.told[e]
            top = max(top, out[e])
        total = 0.0
        for e in range(begin, end):
            out[e] = math.exp(out[e] - top)
            total += out[e]
        for e in range(begin, end):
            out[e] /= total


@njit(cache=True, nogil=True)
def _log_sum(a, b):
    """log of the sum of exp(a + b); -inf where no term is above zero."""
    top = -np.inf
    for s in range(a.size):
        top = max(top, a[s] + b[s])
    if top == -np.inf:
        return -np.inf
    total = 0.0
    for s in range(a.size):
        total += math.exp(a[s] + b[s] - top)
    return top + math.log(total)
