"""Loopy belief propagation: factors and variables tell each other what they know until nothing changes.

A factor hears from each of its variables how probable its states are in the eyes of all other factors (the cavity),
and tells each of them what that implies. The product of what a variable is told is its belief. Where the factors form
a tree, beliefs are the marginals, after as many rounds as the tree is deep. Where they form loops, the rounds may go on
for ever; messages are then damped more and more, and an answer that has still not settled says so.

Factors are boxes (see `boxes`), and no table is spread out for them. A feature is w inside its box and 0 outside, so
with the mass P that the cavities of the others put on their sides, its message about a state inside is

    log(exp(w) P + (1 - P)),    and 0 about one outside,

which costs the number of its sides. The message of a tree is a sum over its leaves, each a product over the sides of
its box. Features over the same variables are one factor, or they would form loops where the graph has none (`scopes`).

Papers   Pearl (1988); Yedidia, Freeman, Weiss (2005), section V, for the estimate of log Z (Bethe)
Numbers  everything is a logarithm; messages of -inf are counted apart, so that one can be taken out of a sum of them
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from quiltwork.errors import ResourceLimitError
from quiltwork.infer.boxes import Boxes, boxes_of, given, starts
from quiltwork.infer.chains import check_cells
from quiltwork.infer.scopes import one_factor_per_scope

DAMPING = ((200, 0.0), (300, 0.5), (1000, 0.9))  # rounds, and the share of the old message that is kept in them
TOLERANCE = 1e-12  # change of a message whose largest entry is one
MAX_RUNS = 1024  # of a query for several variables
KERNEL_SIDES = 2**16  # sides that a kernel visits before it returns: some tens of milliseconds


class Beliefs(NamedTuple):
    """What propagation ends with.

    marginals  (all states,) of each variable; what is in no box is uniform
    log_mass   the Bethe estimate of the log of the sum over all states of the variables that are in a box
    converged  whether the messages had settled
    possible   False where they prove that no state is
    n_rounds   of messages
    """

    marginals: np.ndarray
    log_mass: float
    converged: bool
    possible: bool
    n_rounds: int


class Ties(NamedTuple):
    """Which factor speaks to which variable; a tie is a pair of them.

    first_tie    (n_factors + 1,) the ties of a factor, by ascending variable
    variable     (n_ties,)
    first_entry  (n_ties + 1,) where the message along a tie begins: one number per state
    tie          (n_sides,) the tie that a side of a box lies along
    """

    first_tie: np.ndarray
    variable: np.ndarray
    first_entry: np.ndarray
    tie: np.ndarray


def propagated_query(model: Any, asked: list[int], codes: np.ndarray) -> tuple[np.ndarray | None, bool]:
    """P(asked | evidence), None where it is found to be impossible; and whether all messages settled.

    Several variables are asked for one after another, each given every state of those before it.
    """
    n_runs = math.prod(model.variables[v].n_states for v in asked[:-1])
    if n_runs > MAX_RUNS:
        raise ResourceLimitError(
            f"Belief propagation asks for {len(asked)} variables one after another, which takes {n_runs:,} runs and "
            f"may take {MAX_RUNS:,}; ask for fewer variables at a time, or use marginals for the distribution of each."
        )
    if len(asked) > 1:
        check_cells(n_runs * model.variables[asked[-1]].n_states)
    boxes, certain = given(boxes_of(model), codes)
    beliefs = propagate(boxes)
    if certain == -np.inf or not beliefs.possible:
        return None, True
    v, *others = asked
    own = beliefs.marginals[boxes.first_state[v] : boxes.first_state[v + 1]]
    if not others:
        return own, beliefs.converged
    table = np.zeros([model.variables[u].n_states for u in asked])
    converged = beliefs.converged
    for s in np.flatnonzero(own > 0):
        known = codes.copy()
        known[v] = s
        rest, settled = propagated_query(model, others, known)
        converged &= settled
        if rest is not None:
            table[s] = own[s] * rest
    return table / table.sum(), converged


def propagate(boxes: Boxes) -> Beliefs:
    """Send messages until they settle, or the last round is over."""
    boxes = one_factor_per_scope(boxes)
    ties = _ties(boxes)
    messages = np.zeros(ties.first_entry[-1])
    chunks = _chunks(boxes)
    n_rounds, change = 0, 0.0
    for rounds, damping in DAMPING:
        for _ in range(rounds):
            n_rounds += 1
            change = 0.0
            for begin, end in chunks if n_rounds % 2 else chunks[::-1]:  # forwards and backwards
                told, never = _told(boxes, ties, messages)
                moved = _send(boxes, ties, messages, told, never, begin, end, n_rounds % 2 == 1, damping)
                if moved < 0.0:
                    return Beliefs(np.empty(0), -np.inf, True, False, n_rounds)
                change = max(change, moved)
            if change <= TOLERANCE:
                break
        if change <= TOLERANCE:
            break
    told, never = _told(boxes, ties, messages)
    marginals, log_mass = np.empty(boxes.first_state[-1]), 0.0
    in_a_box = np.bincount(boxes.variable, minlength=len(boxes.n_states)) > 0
    for v in range(len(boxes.n_states)):
        own = slice(boxes.first_state[v], boxes.first_state[v + 1])
        mass = _normalise(np.where(never[own] == 0, told[own], -np.inf), marginals[own])
        log_mass += mass if in_a_box[v] else 0.0
    log_mass += _bethe(boxes, ties, messages, told, never)
    return Beliefs(marginals, log_mass, change <= TOLERANCE, True, n_rounds)


def _ties(boxes: Boxes) -> Ties:
    n_factors = len(boxes.fills)
    factor = np.repeat(np.arange(n_factors), np.diff(boxes.first_side[boxes.first_box]))
    pairs, tie = np.unique(np.stack([factor, boxes.variable]), axis=1, return_inverse=True)
    return Ties(
        first_tie=np.searchsorted(pairs[0], np.arange(n_factors + 1)),
        variable=pairs[1].copy(),
        first_entry=starts(boxes.n_states[pairs[1]]),
        tie=tie.ravel(),
    )


def _chunks(boxes: Boxes) -> list[tuple[int, int]]:
    """Runs of factors with about as many sides as a kernel should visit."""
    end = boxes.first_side[boxes.first_box[1:]]
    cuts = [0]
    while cuts[-1] < len(end):
        done = boxes.first_side[boxes.first_box[cuts[-1]]]
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(end, done + KERNEL_SIDES, side="right"))))
    return list(pairwise(cuts))


# Kernels: logs in, logs out


@njit(cache=True, nogil=True)
def _log_add(a, b):
    """log(exp a + exp b), also where one or both are -inf."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + math.log1p(math.exp(b - a))


@njit(cache=True, nogil=True)
def _normalise(logs, out):
    """exp of the logs, divided by their sum, into out; returns the log of the sum."""
    top = -np.inf
    for s in range(logs.size):
        top = max(top, logs[s])
    total = 0.0
    for s in range(logs.size):
        out[s] = math.exp(logs[s] - top)
        total += out[s]
    for s in range(logs.size):
        out[s] /= total
    return top + math.log(total)


@njit(cache=True, nogil=True)
def _told(boxes, ties, messages):
    """(all states,) the sum of the messages about each state, those of -inf left out; and how many of these."""
    told, never = np.zeros(boxes.first_state[-1]), np.zeros(boxes.first_state[-1], np.int64)
    for t in range(ties.variable.size):
        first = boxes.first_state[ties.variable[t]]
        for e in range(ties.first_entry[t], ties.first_entry[t + 1]):
            s = first + e - ties.first_entry[t]
            if messages[e] == -np.inf:
                never[s] += 1
            else:
                told[s] += messages[e]
    return told, never


@njit(cache=True, nogil=True)
def _send(boxes, ties, messages, told, never, begin, end, forwards, damping):
    """New messages of the factors begin to end: the largest change, or -1 where no state is possible."""
    most = 1
    for f in range(begin, end):
        most = max(most, ties.first_entry[ties.first_tie[f + 1]] - ties.first_entry[ties.first_tie[f]])
    cavity, fresh = np.empty(most), np.empty(most)
    change = 0.0
    for i in range(end - begin):
        f = begin + i if forwards else end - 1 - i
        if not _hear(boxes, ties, messages, told, never, f, cavity):
            return -1.0
        if boxes.fills[f]:
            _of_partition(boxes, ties, f, cavity, fresh)
        else:
            _of_feature(boxes, ties, f, cavity, fresh)
        moved = _replace(boxes, ties, messages, told, never, f, fresh, damping)
        if moved < 0.0:
            return -1.0
        change = max(change, moved)
    return change


@njit(cache=True, nogil=True)
def _hear(boxes, ties, messages, told, never, f, cavity):
    """log of the cavity of each variable of factor f, normalised; False where one has no state left."""
    first = ties.first_entry[ties.first_tie[f]]
    for t in range(ties.first_tie[f], ties.first_tie[f + 1]):
        total = -np.inf
        for e in range(ties.first_entry[t], ties.first_entry[t + 1]):
            s = boxes.first_state[ties.variable[t]] + e - ties.first_entry[t]
            if messages[e] == -np.inf:
                log = told[s] if never[s] == 1 else -np.inf
            else:
                log = told[s] - messages[e] if never[s] == 0 else -np.inf
            cavity[e - first] = log
            total = _log_add(total, log)
        if total == -np.inf:
            return False
        for e in range(ties.first_entry[t], ties.first_entry[t + 1]):
            cavity[e - first] -= total
    return True


@njit(cache=True, nogil=True)
def _mass(boxes, ties, f, side, cavity):
    """log of what the cavity puts on the states that a side allows."""
    at = ties.first_entry[ties.tie[side]] - ties.first_entry[ties.first_tie[f]]
    total = -np.inf
    for m in range(boxes.first_member[side], boxes.first_member[side + 1]):
        total = _log_add(total, cavity[at + boxes.member[m]])
    return total


@njit(cache=True, nogil=True)
def _mass_outside(boxes, ties, f, side, cavity):
    """log of what the cavity puts on the other states."""
    t = ties.tie[side]
    at = ties.first_entry[t] - ties.first_entry[ties.first_tie[f]]
    total, m = -np.inf, boxes.first_member[side]
    for s in range(ties.first_entry[t + 1] - ties.first_entry[t]):
        if m < boxes.first_member[side + 1] and boxes.member[m] == s:
            m += 1
        else:
            total = _log_add(total, cavity[at + s])
    return total


@njit(cache=True, nogil=True)
def _of_feature(boxes, ties, f, cavity, fresh):
    """Messages of a factor that is exp(w) in one box and 1 outside."""
    b = boxes.first_box[f]
    first, n = boxes.first_side[b], boxes.first_side[b + 1] - boxes.first_side[b]
    # of all sides before i: log P that they hold, and log(1 - P), which is summed and never subtracted
    held, failed = np.empty(n + 1), np.empty(n + 1)
    held[0], failed[0] = 0.0, -np.inf
    inside, outside = np.empty(n), np.empty(n)
    for i in range(n):
        inside[i] = _mass(boxes, ties, f, first + i, cavity)
        outside[i] = _mass_outside(boxes, ties, f, first + i, cavity)
        failed[i + 1] = _log_add(failed[i], held[i] + outside[i])
        held[i + 1] = held[i] + inside[i]
    after, not_after = 0.0, -np.inf  # the same of all sides after i
    for i in range(n - 1, -1, -1):
        others = held[i] + after
        not_others = _log_add(failed[i], held[i] + not_after)
        message = _log_add(others + boxes.weight[b], not_others)
        at = ties.first_entry[ties.tie[first + i]] - ties.first_entry[ties.first_tie[f]]
        for s in range(boxes.n_states[boxes.variable[first + i]]):
            fresh[at + s] = 0.0
        for m in range(boxes.first_member[first + i], boxes.first_member[first + i + 1]):
            fresh[at + boxes.member[m]] = message
        not_after = _log_add(not_after, after + outside[i])
        after += inside[i]


@njit(cache=True, nogil=True)
def _of_partition(boxes, ties, f, cavity, fresh):
    """Messages of a factor whose boxes fill the space."""
    base, first_tie = ties.first_entry[ties.first_tie[f]], ties.first_tie[f]
    n_ties = ties.first_tie[f + 1] - first_tie
    fresh[: ties.first_entry[first_tie + n_ties] - base] = -np.inf
    anyway = np.full(n_ties, -np.inf)  # from boxes that do not ask about the variable
    inside, before = np.empty(n_ties), np.empty(n_ties + 1)
    for b in range(boxes.first_box[f], boxes.first_box[f + 1]):
        first, n = boxes.first_side[b], boxes.first_side[b + 1] - boxes.first_side[b]
        before[0] = boxes.weight[b]
        for i in range(n):
            inside[i] = _mass(boxes, ties, f, first + i, cavity)
            before[i + 1] = before[i] + inside[i]
        after, k = 0.0, n_ties - 1
        for i in range(n - 1, -1, -1):
            t = ties.tie[first + i]
            while k > t - first_tie:
                anyway[k] = _log_add(anyway[k], before[n])
                k -= 1
            k -= 1
            for m in range(boxes.first_member[first + i], boxes.first_member[first + i + 1]):
                e = ties.first_entry[t] - base + boxes.member[m]
                fresh[e] = _log_add(fresh[e], before[i] + after)
            after += inside[i]
        while k >= 0:
            anyway[k] = _log_add(anyway[k], before[n])
            k -= 1
    for t in range(n_ties):
        for e in range(ties.first_entry[first_tie + t] - base, ties.first_entry[first_tie + t + 1] - base):
            fresh[e] = _log_add(fresh[e], anyway[t])


@njit(cache=True, nogil=True)
def _replace(boxes, ties, messages, told, never, f, fresh, damping):
    """Put the new messages of f, damped, in place of the old: the largest change, or -1 where nothing is possible."""
    base, change = ties.first_entry[ties.first_tie[f]], 0.0
    for t in range(ties.first_tie[f], ties.first_tie[f + 1]):
        top = -np.inf
        for e in range(ties.first_entry[t], ties.first_entry[t + 1]):
            top = max(top, fresh[e - base])
        if top == -np.inf:
            return -1.0
        for e in range(ties.first_entry[t], ties.first_entry[t + 1]):
            s = boxes.first_state[ties.variable[t]] + e - ties.first_entry[t]
            old, new = messages[e], fresh[e - base] - top
            if old > -np.inf and new > -np.inf:
                new += damping * (old - new)
            if old > -np.inf:
                told[s] -= old
            else:
                never[s] -= 1
            if new > -np.inf:
                told[s] += new
            else:
                never[s] += 1
            change = max(change, abs(math.exp(new) - math.exp(old)))
            messages[e] = new
    return change


@njit(cache=True, nogil=True)
def _bethe(boxes, ties, messages, told, never):
    """The factors' part of the Bethe estimate: their log masses under the cavities, less those of their messages."""
    total = 0.0
    most = 1
    for f in range(boxes.fills.size):
        most = max(most, ties.first_entry[ties.first_tie[f + 1]] - ties.first_entry[ties.first_tie[f]])
    cavity = np.empty(most)
    for f in range(boxes.fills.size):
        _hear(boxes, ties, messages, told, never, f, cavity)
        mass = -np.inf
        for b in range(boxes.first_box[f], boxes.first_box[f + 1]):
            held, failed = 0.0, -np.inf
            for side in range(boxes.first_side[b], boxes.first_side[b + 1]):
                failed = _log_add(failed, held + _mass_outside(boxes, ties, f, side, cavity))
                held += _mass(boxes, ties, f, side, cavity)
            mass = _log_add(mass if boxes.fills[f] else failed, held + boxes.weight[b])
        total += mass
        base = ties.first_entry[ties.first_tie[f]]
        for t in range(ties.first_tie[f], ties.first_tie[f + 1]):
            shared = -np.inf
            for e in range(ties.first_entry[t], ties.first_entry[t + 1]):
                shared = _log_add(shared, messages[e] + cavity[e - base])
            total -= shared
    return total
