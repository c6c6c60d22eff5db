"""A walk over the states of boxes that knows at every moment what each variable would say.

The logit of state s of v is the sum of the weights of the boxes that hold v = s and whose other sides hold. It changes
only when another variable of such a box moves, and then by that box's weight. So the logits of all variables are kept,
a move updates the boxes in which the variable takes part, and a variable that stays where it is costs one draw. In
sparse data most variables stay where they are most of the time.

Per box the number of sides that fail is kept, and the sum of their numbers: where a single one fails, the sum names it.

The walk can be heated: at inverse temperature b the logits are b * (those of the boxes) + (1 - b) * (those of a base
distribution with independent variables).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.infer.boxes import Boxes, holders, merged, some_of


class Field(NamedTuple):
    """The boxes, and who is where. (Fields keep their order: kernels cached on disk know them by place.)

    boxes                 those with more than one side, each once
    alone                 (all states,) the weights of boxes with one side
    first_holder, holder  the sides that allow each of all states
    box_of_side           (n_sides,)
    free                  the variables that are in a box
    """

    boxes: Boxes
    alone: np.ndarray
    first_holder: np.ndarray
    holder: np.ndarray
    box_of_side: np.ndarray
    free: np.ndarray


class Walker(NamedTuple):
    """Where a walk is.

    state      (n_vars,)
    n_failed   (n_boxes,) sides that fail, failed (n_boxes,) the sum of their numbers
    logit      (all states,) what the boxes say about each state, given all other variables
    generator  [state of the random numbers]
    """

    state: np.ndarray
    n_failed: np.ndarray
    failed: np.ndarray
    logit: np.ndarray
    generator: np.ndarray


def field_of(boxes: Boxes) -> Field:
    """Boxes ready for walks; every weight must be finite."""
    free = np.flatnonzero(np.bincount(boxes.variable, minlength=len(boxes.n_states)))
    is_alone, every_side = np.diff(boxes.first_side) == 1, np.ones(len(boxes.variable), bool)
    single = some_of(boxes, is_alone, every_side)
    n_members = np.diff(single.first_member)
    places = np.repeat(boxes.first_state[single.variable], n_members) + single.member
    alone = np.bincount(places, np.repeat(single.weight, n_members), boxes.first_state[-1])
    together = merged(some_of(boxes, ~is_alone, every_side))
    return Field(together, alone, *holders(together), together.box_of_side, free)


def walker_at(field: Field, state: np.ndarray, rng: np.random.Generator) -> Walker:
    """A walk that begins at a state."""
    n_boxes = len(field.boxes.weight)
    walker = Walker(
        state=state.astype(np.int64),
        n_failed=np.zeros(n_boxes, np.int64),
        failed=np.zeros(n_boxes, np.int64),
        logit=np.zeros(field.boxes.first_state[-1]),
        generator=rng.integers(0, 2**63, 1).astype(np.uint64),
    )
    look_around(field, walker)
    return walker


@njit(cache=True, nogil=True)
def along(field, walker, base, betas, nobody, nothing):
    """Sweep once at each inverse temperature but the first: the log weight of the walk (see `annealed`)."""
    weight, log_weight = look_around(field, walker), 0.0
    for k in range(1, betas.size):
        gap = weight
        for v in field.free:
            gap -= base[field.boxes.first_state[v] + walker.state[v]]
        log_weight += (betas[k] - betas[k - 1]) * gap
        weight += sweep(field, walker, base, betas[k], 1, nobody, False, nothing)
    return log_weight


@njit(cache=True, nogil=True)
def sweep(field, walker, base, beta, n, asked, joint, sums):
    """Draw every free variable in order, n times, at inverse temperature beta. Adds to sums (cells,) the joint state of
    what is asked for, after each sweep; or else, unless it is empty, P(v | others) of every variable (all states,), at
    every draw. Returns the boxes' weight that the walk has gained."""
    boxes, gained = field.boxes, 0.0
    probs = np.empty(boxes.n_states.max())
    word = walker.generator[0]
    for _ in range(n):
        for v in field.free:
            first, r, was = boxes.first_state[v], boxes.n_states[v], walker.state[v]
            top = -np.inf
            for s in range(r):
                probs[s] = beta * walker.logit[first + s] + (1.0 - beta) * base[first + s]
                top = max(top, probs[s])
            total = 0.0
            for s in range(r):
                probs[s] = math.exp(probs[s] - top)
                total += probs[s]
            # splitmix64: one multiply-and-shift generator per walk
            word += np.uint64(0x9E3779B97F4A7C15)
            x = word
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
            left = np.float64(x >> np.uint64(11)) * (total / 9007199254740992.0)
            s = 0
            while s + 1 < r and left >= probs[s]:
                left -= probs[s]
                s += 1
            if sums.size and not joint:
                for t in range(r):
                    sums[first + t] += probs[t] / total
            if s != was:
                gained += walker.logit[first + s] - walker.logit[first + was]
                _move(field, walker, v, was, s)
        if joint:
            cell = 0
            for v in asked:
                cell = cell * boxes.n_states[v] + walker.state[v]
            sums[cell] += 1.0
    walker.generator[0] = word
    return gained


@njit(cache=True, nogil=True)
def look_around(field, walker):
    """Find out afresh which sides fail and what the logits are; returns the weight of the boxes that hold."""
    boxes, total = field.boxes, 0.0
    for e in range(walker.logit.size):
        walker.logit[e] = field.alone[e]
    for v in field.free:
        total += field.alone[boxes.first_state[v] + walker.state[v]]
    for b in range(boxes.weight.size):
        walker.n_failed[b] = walker.failed[b] = 0
        for side in range(boxes.first_side[b], boxes.first_side[b + 1]):
            if not _allows(boxes, side, walker.state[boxes.variable[side]]):
                walker.n_failed[b] += 1
                walker.failed[b] += side
        if walker.n_failed[b] == 0:
            total += boxes.weight[b]
            for side in range(boxes.first_side[b], boxes.first_side[b + 1]):
                _tell(boxes, walker, side, boxes.weight[b])
        elif walker.n_failed[b] == 1:
            _tell(boxes, walker, walker.failed[b], boxes.weight[b])
    return total


@njit(cache=True, nogil=True)
def _allows(boxes, side, s):
    """Whether a side holds in state s."""
    holds = False
    for m in range(boxes.first_member[side], boxes.first_member[side + 1]):
        holds |= boxes.member[m] == s
    return holds


@njit(cache=True, nogil=True)
def _tell(boxes, walker, side, weight):
    """Add a weight to the logits of the states that a side allows."""
    first = boxes.first_state[boxes.variable[side]]
    for m in range(boxes.first_member[side], boxes.first_member[side + 1]):
        walker.logit[first + boxes.member[m]] += weight


@njit(cache=True, nogil=True)
def _move(field, walker, v, was, s):
    """Put v from one state into another, and tell the variables that share a box with it."""
    boxes = field.boxes
    walker.state[v] = s
    for new in range(2):
        place = boxes.first_state[v] + (s if new else was)
        for i in range(field.first_holder[place], field.first_holder[place + 1]):
            side = field.holder[i]
            if boxes.first_member[side + 1] - boxes.first_member[side] > 1 and _allows(boxes, side, was if new else s):
                continue  # it held before and holds now
            b = field.box_of_side[side]
            if new:
                walker.n_failed[b] -= 1
                walker.failed[b] -= side
            # What the others of the box hear changes only where all of them hold, or all but one.
            if walker.n_failed[b] == 0:
                weight = boxes.weight[b] if new else -boxes.weight[b]
                for other in range(boxes.first_side[b], boxes.first_side[b + 1]):
                    if other != side:
                        _tell(boxes, walker, other, weight)
            elif walker.n_failed[b] == 1:
                _tell(boxes, walker, walker.failed[b], boxes.weight[b] if new else -boxes.weight[b])
            if not new:
                walker.n_failed[b] += 1
                walker.failed[b] += side
