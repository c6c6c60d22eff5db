"""Conditionals spelled out: one look-up tells where the states of a variable share the unit interval.

A variable whose blanket has few configurations gets a table with a row for each: the upper ends of its states' shares
of [0, 1). Drawing the variable is then a sum of strides, a random number and a few comparisons, without exponentials.
Others are computed from their factors at every draw (see `conditionals`).

Four chains are drawn side by side in one kernel: they wait for memory together, and the processor's vectors hold them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.infer.conditionals import Conditionals

LANES = 4  # chains of one kernel
MAX_ENTRIES = 2**15  # of one variable
MAX_TOTAL = 2**21  # of all variables: 16 MB


class Lookup(NamedTuple):
    """The tables. (Fields keep their order: kernels cached on disk know them by place.)

    first_entry  (n_vars,) where the table of v begins, -1 for a variable that has none
    first_term   (n_vars + 1,) the blanket of v
    variable     (n_terms,) and stride: entries between two of their states
    ends         (n_entries,) upper ends of the shares of all states but the last, for each configuration
    """

    first_entry: np.ndarray
    first_term: np.ndarray
    variable: np.ndarray
    stride: np.ndarray
    ends: np.ndarray


def spelled_out(laid_out: Conditionals) -> Lookup:
    """The tables of all variables that may have one, those of the lowest columns first where not all fit."""
    n_states: list[int] = laid_out.n_states.tolist()
    first_entry, n_terms, variables, strides, total = [], [], [], [], 0
    for v, r in enumerate(n_states):
        around = _blanket(laid_out, v)
        size = int(math.prod(n_states[u] for u in around)) * max(r - 1, 1)
        fits = size <= MAX_ENTRIES and total + size <= MAX_TOTAL
        first_entry.append(total if fits else -1)
        n_terms.append(len(around) if fits else 0)
        if fits:
            step = max(r - 1, 1)
            for u in around:
                variables.append(u)
                strides.append(step)
                step *= n_states[u]
            total += size
    lookup = Lookup(
        first_entry=np.array(first_entry, np.int64),
        first_term=np.concatenate([[0], np.cumsum(n_terms)]).astype(np.int64),
        variable=np.array(variables, np.int64),
        stride=np.array(strides, np.int64),
        ends=np.empty(total),
    )
    for v in np.flatnonzero(lookup.first_entry >= 0).tolist():
        _spell_out(laid_out, lookup, v)
    return lookup


def _blanket(laid_out: Conditionals, v: int) -> list[int]:
    """Columns that the factors of v read, ascending."""
    first, last = laid_out.first_factor[v], laid_out.first_factor[v + 1]
    around = set(laid_out.variable[laid_out.first_term[first] : laid_out.first_term[last]].tolist())
    for f in range(first, last):
        if laid_out.root[f] >= 0:
            around.add(int(laid_out.entry[f]))  # the child, or -1 for v itself
            waiting = [int(laid_out.root[f])]
            seen = set(waiting)
            while waiting and len(around) < MAX_ENTRIES:
                k = waiting.pop()
                u = int(laid_out.node_variable[k])
                if u >= 0:
                    around.add(u)
                    n = 2 if laid_out.node_state[k] >= 0 else int(laid_out.n_states[u])
                    begin = int(laid_out.node_first[k])
                    fresh = set(laid_out.node_branches[begin : begin + n].tolist()) - seen
                    seen |= fresh
                    waiting += fresh
    return sorted(around - {-1, v})


@njit(cache=True, nogil=True)
def sweep(laid_out, lookup, states, words, free, n, asked, is_asked, joint, sums):
    """Draw every free variable in order, n times, in LANES chains: states (n_vars, LANES), words (LANES,) of chance.

    Adds to sums (LANES, cells) the joint state of what is asked for, after each sweep; or else (LANES, all states) the
    conditional from which each variable that is asked for was drawn.
    """
    at, uniform = np.empty(LANES, np.int64), np.empty(LANES)
    probs = np.empty(laid_out.n_states.max())
    for _ in range(n):
        for v in free:
            r, first = laid_out.n_states[v], laid_out.first_state[v]
            for k in range(LANES):
                # splitmix64: one multiply-and-shift generator per chain
                words[k] += np.uint64(0x9E3779B97F4A7C15)
                x = words[k]
                x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                x = x ^ (x >> np.uint64(31))
                uniform[k] = np.float64(x >> np.uint64(11)) * (1.0 / 9007199254740992.0)
                at[k] = lookup.first_entry[v]
            if lookup.first_entry[v] >= 0:
                for t in range(lookup.first_term[v], lookup.first_term[v + 1]):
                    u, stride = lookup.variable[t], lookup.stride[t]
                    for k in range(LANES):
                        at[k] += stride * states[u, k]
                for k in range(LANES):
                    s = 0
                    for j in range(r - 1):
                        s += uniform[k] >= lookup.ends[at[k] + j]
                    states[v, k] = s
                if is_asked[v]:
                    for k in range(LANES):
                        below = 0.0
                        for j in range(r):
                            end = min(lookup.ends[at[k] + j], 1.0) if j < r - 1 else 1.0
                            sums[k, first + j] += end - below
                            below = end
            else:
                for k in range(LANES):
                    total = _shares(laid_out, states[:, k], v, probs)
                    left, s = uniform[k] * total, 0
                    while s + 1 < r and left >= probs[s]:
                        left -= probs[s]
                        s += 1
                    while probs[s] == 0.0:  # rounding may leave the last state, though it cannot happen
                        s -= 1
                    states[v, k] = s
                    if is_asked[v]:
                        for j in range(r):
                            sums[k, first + j] += probs[j] / total
        if joint:
            for k in range(LANES):
                cell = 0
                for v in asked:
                    cell = cell * laid_out.n_states[v] + states[v, k]
                sums[k, cell] += 1.0


@njit(cache=True, nogil=True)
def is_possible(laid_out, state):
    """Whether no variable is in a state that the others rule out."""
    logits = np.empty(laid_out.n_states.max())
    for v in range(state.size):
        _logits(laid_out, state, v, logits)
        if logits[state[v]] == -np.inf:
            return False
    return True


@njit(cache=True, nogil=True)
def _spell_out(laid_out, lookup, v):
    """Fill the table of v, configuration by configuration."""
    first, last = lookup.first_term[v], lookup.first_term[v + 1]
    r, at = laid_out.n_states[v], lookup.first_entry[v]
    state, probs = np.zeros(laid_out.n_states.size, np.int64), np.empty(r)
    while True:
        total = _shares(laid_out, state, v, probs)
        possible, below = 0, 0.0
        for s in range(r):
            possible = s if probs[s] > 0.0 else possible
        for s in range(r - 1):
            below += probs[s]
            lookup.ends[at + s] = below / total if s < possible else np.inf  # rounding leaves nothing to those after it
        at += max(r - 1, 1)
        t = first
        while t < last:  # the first variable of the blanket varies fastest
            u = lookup.variable[t]
            state[u] += 1
            if state[u] < laid_out.n_states[u]:
                break
            state[u] = 0
            t += 1
        if t == last:
            break


@njit(cache=True, nogil=True)
def _shares(laid_out, state, v, probs):
    """Unnormalised probabilities of v given the others; returns their sum. All are equal where none is possible."""
    r = laid_out.n_states[v]
    _logits(laid_out, state, v, probs)
    top, total = -np.inf, 0.0
    for s in range(r):
        top = max(top, probs[s])
    for s in range(r):
        probs[s] = math.exp(probs[s] - top) if top > -np.inf else 1.0
        total += probs[s]
    return total


@njit(cache=True, nogil=True)
def _logits(laid_out, state, v, logits):
    """Logits of v given the others."""
    r = laid_out.n_states[v]
    for s in range(r):
        logits[s] = 0.0
    for f in range(laid_out.first_factor[v], laid_out.first_factor[v + 1]):
        if laid_out.root[f] >= 0:
            _add_graph(laid_out, f, state, v, r, logits)
            continue
        at = laid_out.entry[f]
        for t in range(laid_out.first_term[f], laid_out.first_term[f + 1]):
            at += laid_out.stride[t] * state[laid_out.variable[t]]
        for s in range(r):
            logits[s] += laid_out.log_values[at + laid_out.own_stride[f] * s]


@njit(cache=True, nogil=True)
def _add_graph(laid_out, f, state, v, r, logits):
    """Add a factor that is a decision graph: one walk for v itself, one for each of its states where v is a parent."""
    child = laid_out.entry[f]
    for s in range(1 if child < 0 else r):
        k = laid_out.root[f]
        while laid_out.node_variable[k] >= 0:
            u = laid_out.node_variable[k]
            x = s if u == v else state[u]
            first, asked = laid_out.node_first[k], laid_out.node_state[k]
            k = laid_out.node_branches[first + (x if asked < 0 else np.int64(x != asked))]
        at = laid_out.node_first[k]
        if child >= 0:
            logits[s] += laid_out.log_values[at + state[child]]
        else:
            for c in range(r):
                logits[c] += laid_out.log_values[at + c]
