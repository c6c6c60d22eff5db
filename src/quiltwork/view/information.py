"""Mutual information in tables: of a parent and its child, and of two variables in a hybrid field.

In a family, the weights of the configurations and the table of the child tell I(parent; child | other parents).

In a hybrid field, take any values of all members of the local network of v but u and v. What the families then leave
open is a table of the states of u and v; its mutual information is what u still says about v when all others are known.
The mean of that over rows sampled from the local network is

    I(u; v | rest of the local network of v)

and it is zero for members outside the blanket. The same uniform numbers serve all networks, so it depends on the model
alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from quiltwork.rng import stream

ROWS = 50
VARIABLES_AT_A_TIME = 64


def table_information(weights: np.ndarray, probs: np.ndarray) -> list[float]:
    """I(parent; child | other parents) in nats of every parent: an axis of both, where configurations have weights.

    >>> copied = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> table_information(np.array([0.5, 0.5]), copied)
    [0.693147...]
    """
    share = weights / weights.sum()
    joint = share.reshape(-1, 1) * probs.reshape(share.size, -1)
    return _family_information(joint, np.array(share.shape, np.int64)).tolist()


def blanket_information(field: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(u, v, I(u; v | rest)) for every u in the blanket of every v, by v and then by u.

    >>> from quiltwork.models.hybrid import hrf_from_bn
    >>> from quiltwork.models.textbook import textbook
    >>> source, target, worth = blanket_information(hrf_from_bn(textbook("sprinkler")))
    >>> list(zip(source.tolist(), target.tolist()))
    [(1, 0), (2, 0), (0, 1), (2, 1), (3, 1), (0, 2), (1, 2), (3, 2), (1, 3), (2, 3)]
    """
    n_vars = len(field.variables)
    blankets = [field.blanket(v) for v in range(n_vars)]
    source = np.array([u for around in blankets for u in around], np.int64)
    sizes = np.array([len(around) for around in blankets], np.int64)
    first_arc = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n_states = np.array([variable.n_states for variable in field.variables], np.int64)
    members = int(np.diff(field.first_family).max(initial=1))
    uniform = stream(0, members).random((ROWS, members))
    worth = np.zeros(len(source))
    for begin in range(0, n_vars, VARIABLES_AT_A_TIME):
        _add_information(
            n_states, field.first_family, field.child, field.first_parent, field.parents, field.first_entry,
            field.probs, begin, min(begin + VARIABLES_AT_A_TIME, n_vars), first_arc, source, uniform, worth,
        )  # fmt: skip
    return source, np.repeat(np.arange(n_vars), sizes), worth


@njit(cache=True, nogil=True)
def _family_information(joint, n_states):
    """I(parent; child | other parents) for every parent, from P(configuration, child) (configurations, states)."""
    n_configs, r = joint.shape
    known = 0.0  # -H(child | all parents)
    for c in range(n_configs):
        total = 0.0
        for s in range(r):
            total += joint[c, s]
            known += _x_log_x(joint[c, s])
        known -= _x_log_x(total)
    out = np.empty(n_states.size)
    inner = 1  # configurations between two states of the parent
    for k in range(n_states.size - 1, -1, -1):
        block = inner * n_states[k]
        without = 0.0  # -H(child | the others)
        for begin in range(0, n_configs, block):
            for c in range(begin, begin + inner):
                total = 0.0
                for s in range(r):
                    both = 0.0
                    for x in range(c, begin + block, inner):
                        both += joint[x, s]
                    total += both
                    without += _x_log_x(both)
                without -= _x_log_x(total)
        out[k] = max(0.0, known - without)
        inner = block
    return out


@njit(cache=True, nogil=True)
def _add_information(
    n_states,
    first_family,
    child,
    first_parent,
    parents,
    first_entry,
    probs,
    begin,
    end,
    first_arc,
    source,
    uniform,
    out,
):
    """Into out (arcs,) the information of the arcs to the variables from begin to end."""
    widest = n_states.max()
    table = np.empty((widest, widest))
    states = np.empty((uniform.shape[0], n_states.size), np.int64)
    for v in range(begin, end):
        families = _parents_first(first_family[v], first_family[v + 1], child, first_parent, parents)
        for row in range(uniform.shape[0]):
            for k in range(families.size):
                c = child[families[k]]
                states[row, c] = 0
                at = _entry(n_states, child, first_parent, parents, first_entry, families[k], states[row])
                left = uniform[row, k]
                while states[row, c] + 1 < n_states[c] and left >= probs[at + states[row, c]]:
                    left -= probs[at + states[row, c]]
                    states[row, c] += 1
        reads, step_u, step_v = np.empty((3, families.size), np.int64)
        for a in range(first_arc[v], first_arc[v + 1]):
            u, n = source[a], 0
            for f in families:
                step_u[n], step_v[n] = _steps(n_states, child, first_parent, parents, f, u, v)
                reads[n] = f
                n += step_u[n] > 0 or step_v[n] > 0
            for row in range(uniform.shape[0]):
                table[: n_states[u], : n_states[v]] = 1.0
                for k in range(n):
                    at = _entry(n_states, child, first_parent, parents, first_entry, reads[k], states[row])
                    at -= states[row, u] * step_u[k] + states[row, v] * step_v[k]
                    for i in range(n_states[u]):
                        for j in range(n_states[v]):
                            table[i, j] *= probs[at + i * step_u[k] + j * step_v[k]]
                out[a] += _mutual_information(table, n_states[u], n_states[v]) / uniform.shape[0]


@njit(cache=True, nogil=True)
def _parents_first(begin, end, child, first_parent, parents):
    """The families of one local network, each after those of its parents."""
    order = np.empty(end - begin, np.int64)
    placed = np.zeros(end - begin, np.bool_)
    n = 0
    while n < order.size:
        for f in range(begin, end):
            ready = not placed[f - begin]
            for j in range(first_parent[f], first_parent[f + 1]):
                for g in range(begin, end):
                    ready &= placed[g - begin] or child[g] != parents[j]
            if ready:
                placed[f - begin] = True
                order[n] = f
                n += 1
    return order


@njit(cache=True, nogil=True)
def _entry(n_states, child, first_parent, parents, first_entry, f, state):
    """Where the table of a family holds these states."""
    config = 0
    for j in range(first_parent[f], first_parent[f + 1]):
        config = config * n_states[parents[j]] + state[parents[j]]
    return first_entry[f] + config * n_states[child[f]] + state[child[f]]


@njit(cache=True, nogil=True)
def _steps(n_states, child, first_parent, parents, f, u, v):
    """Entries between two states of u, and of v, in the table of a family; 0 where it does not take part."""
    step_u, step_v, step = np.int64(child[f] == u), np.int64(child[f] == v), n_states[child[f]]
    for j in range(first_parent[f + 1] - 1, first_parent[f] - 1, -1):
        if parents[j] == u:
            step_u = step
        if parents[j] == v:
            step_v = step
        step *= n_states[parents[j]]
    return step_u, step_v


@njit(cache=True, nogil=True)
def _mutual_information(table, n_rows, n_columns):
    """Of the two axes of the beginning of a table that need not sum to one; zero for zeros."""
    found, total = 0.0, 0.0
    for i in range(n_rows):
        row = 0.0
        for j in range(n_columns):
            row += table[i, j]
            found += _x_log_x(table[i, j])
        found -= _x_log_x(row)
        total += row
    for j in range(n_columns):
        column = 0.0
        for i in range(n_rows):
            column += table[i, j]
        found -= _x_log_x(column)
    return max(0.0, (found + _x_log_x(total)) / total) if total > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _x_log_x(x):
    return x * math.log(x) if x > 0.0 else 0.0
