"""SampleSAT, and the step of MC-SAT around it: kernels that draw states which satisfy constraints.

A step draws a slice, and then each variable in turn from its conditional given the others, as Gibbs does (`mcsat` says
why).

A box that must hold leaves its variables only the states of its sides. A box that must not hold is a clause, "one of
the sides fails". A slice is drawn in four stages, of which the first three are exact:

    settle      a clause in which a single side is left to fail makes it fail (unit propagation)
    free        variables in no clause that is still open are drawn at random from what they are allowed
    enumerate   a few open variables: all solutions are counted, and one is drawn
    SampleSAT   from a random state, steps of WalkSAT, which repairs a clause that is broken, take turns with steps of
                simulated annealing, which changes a variable at random and may make things worse, until no clause is
                broken; annealing at temperature zero then spreads the draw over the solutions that hang together

Where no solution is found in time, the old state stays: it satisfies its own constraints. `Problem` and `Walk`, which
all kernels share, are explained in `mcsat`.

Paper    Wei, Erenrich, Selman (2004)
Differs  the first three stages, and the annealing after a solution is found, where the paper's stops: all of them bring
         the draw closer to uniform
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

FEW = 200.0  # solutions, by a rough estimate, that are enumerated
MAX_VISITS = 2000  # of states of variables, before an enumeration gives up
MAX_STEPS = 10_000  # of SampleSAT before the old state stays
ANNEALING = 0.5  # share of the steps; the others are WalkSAT's
TEMPERATURE = 0.5  # one broken clause more is accepted with probability exp(-2)
NOISE = 0.5  # share of WalkSAT's steps that take any variable of the broken clause
LATE = 4  # steps at temperature zero per variable


# One step of MC-SAT


@njit(cache=True, nogil=True)
def run(problem, walk, n_steps, asked, joint, sums):
    """Take steps. Adds to sums (cells,) the joint state of what is asked for, after each step; or else, unless it is
    empty, P(v | others) of every variable (all states,), at every draw."""
    probs = np.empty(problem.boxes.n_states.max())
    for _ in range(n_steps):
        n_clauses = _choose(problem, walk)
        n_clauses = _settle(problem.boxes, walk, n_clauses)
        _draw(problem, walk, n_clauses)
        _sweep(problem, walk, probs, sums, sums.size > 0 and not joint)
        if joint:
            cell = 0
            for v in asked:
                cell = cell * problem.boxes.n_states[v] + walk.state[v]
            sums[cell] += 1.0


@njit(cache=True, nogil=True)
def begin(problem, walk):
    """Count what holds at the first state, and move to one that is possible; False where none is found."""
    boxes, n = problem.boxes, 0
    for v in range(walk.state.size):
        place = boxes.first_state[v] + walk.state[v]
        for i in range(problem.first_holder[place], problem.first_holder[place + 1]):
            walk.n_held[problem.box_of_side[problem.holder[i]]] += 1
    for b in range(boxes.weight.size):
        if boxes.weight[b] == -np.inf:
            walk.clause[n] = b
            n += 1
    n = _settle(boxes, walk, n)
    return n >= 0 and _draw(problem, walk, n)


@njit(cache=True, nogil=True)
def _choose(problem, walk):
    """Make constraints of boxes that are as they should be: allowed states, and clauses (how many)."""
    boxes, n = problem.boxes, 0
    for v in problem.free:
        walk.n_allowed[v] = boxes.n_states[v]
        for e in range(boxes.first_state[v], boxes.first_state[v + 1]):
            walk.allowed[e] = True
    for b in range(boxes.weight.size):
        holds = walk.n_held[b] == boxes.first_side[b + 1] - boxes.first_side[b]
        if holds != (boxes.weight[b] > 0.0) or _uniform(walk.generator) >= problem.keep[b]:
            continue
        if holds:
            for side in range(boxes.first_side[b], boxes.first_side[b + 1]):
                _restrict(boxes, walk, side, holds)
        else:
            walk.clause[n] = b
            n += 1
    return n


@njit(cache=True, nogil=True)
def _restrict(boxes, walk, side, inside):
    """Allow the variable of a side only the states inside of it, or outside."""
    v = boxes.variable[side]
    for s in range(boxes.n_states[v]):
        if walk.allowed[boxes.first_state[v] + s] and _allows(boxes, side, s) != inside:
            walk.allowed[boxes.first_state[v] + s] = False
            walk.n_allowed[v] -= 1


@njit(cache=True, nogil=True)
def _allows(boxes, side, s):
    """Whether a side holds in state s."""
    holds = False
    for m in range(boxes.first_member[side], boxes.first_member[side + 1]):
        holds |= boxes.member[m] == s
    return holds


@njit(cache=True, nogil=True)
def _settle(boxes, walk, n):
    """Unit propagation among n clauses: how many stay open, or -1 where they contradict each other."""
    changed = True
    while changed:
        changed, kept = False, 0
        for i in range(n):
            b, n_open, last, satisfied = walk.clause[i], 0, -1, False
            for side in range(boxes.first_side[b], boxes.first_side[b + 1]):
                v, hold = boxes.variable[side], 0
                for m in range(boxes.first_member[side], boxes.first_member[side + 1]):
                    hold += walk.allowed[boxes.first_state[v] + boxes.member[m]]
                if hold == 0:
                    satisfied = True
                    break
                if hold < walk.n_allowed[v]:
                    n_open += 1
                    last = side
            if satisfied:
                continue
            if n_open == 0:
                return -1
            if n_open == 1:
                _restrict(boxes, walk, last, satisfied)
                changed = True
            else:
                walk.clause[kept] = b
                kept += 1
        n = kept
    return n


@njit(cache=True, nogil=True)
def _draw(problem, walk, n_clauses):
    """Draw a state of what is allowed in which no clause is broken; False where the old one stays instead."""
    n_loose, n_solutions = _open_clauses(problem.boxes, walk, n_clauses)
    for v in problem.free:
        walk.old[v] = walk.state[v]
        if walk.is_loose[v]:
            _move(problem, walk, v, np.int64(-1))
        elif walk.n_allowed[v] > 1 or not walk.allowed[problem.boxes.first_state[v] + walk.state[v]]:
            _move(problem, walk, v, _any_allowed(problem.boxes, walk, v, np.int64(-1)))
    found = n_loose == 0 or (n_solutions <= FEW and _enumerate(problem, walk, n_loose))
    if not found:
        found = _sample_sat(problem, walk, n_loose)
    for v in problem.free:
        if not found:
            _move(problem, walk, v, walk.old[v])
        walk.is_loose[v] = False
    for i in range(n_clauses):
        walk.is_clause[walk.clause[i]] = False
    walk.n_broken[0] = 0
    return found


@njit(cache=True, nogil=True)
def _open_clauses(boxes, walk, n_clauses):
    """Mark the clauses, list those that are broken, and list the variables in them: how many, and how many solutions
    there would be if clauses were independent."""
    n_loose, n_solutions = 0, 1.0
    for i in range(n_clauses):
        b, all_hold = walk.clause[i], 1.0
        walk.is_clause[b] = True
        if walk.n_held[b] == boxes.first_side[b + 1] - boxes.first_side[b]:
            _note(walk, b, True)
        for side in range(boxes.first_side[b], boxes.first_side[b + 1]):
            v, hold = boxes.variable[side], 0
            for m in range(boxes.first_member[side], boxes.first_member[side + 1]):
                hold += walk.allowed[boxes.first_state[v] + boxes.member[m]]
            all_hold *= hold / walk.n_allowed[v]
            if walk.n_allowed[v] > 1 and not walk.is_loose[v]:
                walk.is_loose[v] = True
                walk.loose[n_loose] = v
                n_loose += 1
                n_solutions *= walk.n_allowed[v]
        n_solutions *= 1.0 - all_hold
    return n_loose, n_solutions


# Few solutions: count them all


@njit(cache=True, nogil=True)
def _enumerate(problem, walk, n_loose):
    """Visit all solutions, depth first, and move to one, each with the same chance; False after too many visits."""
    boxes, chosen = problem.boxes, np.empty(n_loose, np.int64)
    n_solutions, visits, depth = 0, 0, 0
    while depth >= 0:
        if depth == n_loose:
            n_solutions += 1
            if _below(walk.generator, n_solutions) == 0:
                for d in range(n_loose):
                    chosen[d] = walk.state[walk.loose[d]]
            depth -= 1
            continue
        v = walk.loose[depth]
        s = walk.state[v] + 1
        while s < boxes.n_states[v] and not walk.allowed[boxes.first_state[v] + s]:
            s += 1
        visits += 1
        if s == boxes.n_states[v] or visits > MAX_VISITS:
            _move(problem, walk, v, np.int64(-1))
            depth -= 1
            continue
        _move(problem, walk, v, s)
        if walk.n_broken[0] == 0:
            depth += 1
    if visits > MAX_VISITS or n_solutions == 0:
        return False
    for d in range(n_loose):
        _move(problem, walk, walk.loose[d], chosen[d])
    return True


# Many solutions: SampleSAT


@njit(cache=True, nogil=True)
def _sample_sat(problem, walk, n_loose):
    """Look for a state in which no clause is broken; whether one was found."""
    for i in range(n_loose):
        v = walk.loose[i]
        _move(problem, walk, v, _any_allowed(problem.boxes, walk, v, np.int64(-1)))
    late = LATE * n_loose
    for _ in range(MAX_STEPS + late):
        searching = late == LATE * n_loose and walk.n_broken[0] > 0
        if searching and _uniform(walk.generator) >= ANNEALING:
            _repair(problem, walk)
        else:
            v = walk.loose[_below(walk.generator, n_loose)]
            _anneal(problem, walk, v, TEMPERATURE if searching else 0.0)
            late -= not searching
        if late == 0:
            return True
    return False


@njit(cache=True, nogil=True)
def _anneal(problem, walk, v, temperature):
    """Propose another state of v, and take it if it breaks no more clauses than it mends, or by chance."""
    s = _any_allowed(problem.boxes, walk, v, walk.state[v])
    worse = _n_critical(problem, walk, v, s, np.int64(1)) - _n_critical(problem, walk, v, s, np.int64(0))
    if worse <= 0 or (temperature > 0.0 and _uniform(walk.generator) < math.exp(-worse / temperature)):
        _move(problem, walk, v, s)


@njit(cache=True, nogil=True)
def _repair(problem, walk):
    """WalkSAT: mend a random broken clause by the change that breaks the fewest others, or by any."""
    boxes = problem.boxes
    b = walk.broken[_below(walk.generator, walk.n_broken[0])]
    at_random = _uniform(walk.generator) < NOISE
    best, ties, best_v, best_s = 2**62, 0, -1, -1
    for side in range(boxes.first_side[b], boxes.first_side[b + 1]):
        v = boxes.variable[side]
        for s in range(boxes.n_states[v]):
            if not walk.allowed[boxes.first_state[v] + s] or _allows(boxes, side, s):
                continue
            cost = 0 if at_random else _n_critical(problem, walk, v, s, np.int64(1))
            if cost < best:
                best, ties = cost, 0
            if cost == best:
                ties += 1
                if _below(walk.generator, ties) == 0:  # each of the best with the same chance
                    best_v, best_s = v, s
    _move(problem, walk, best_v, best_s)


@njit(cache=True, nogil=True)
def _n_critical(problem, walk, v, s, breaks):
    """Clauses that v going to state s would break (breaks = 1), or mend (breaks = 0)."""
    boxes, n = problem.boxes, np.int64(0)
    to, away = (s, walk.state[v]) if breaks == 1 else (walk.state[v], s)
    place = boxes.first_state[v] + to
    for i in range(problem.first_holder[place], problem.first_holder[place + 1]):
        side = problem.holder[i]
        b = problem.box_of_side[side]
        if walk.is_clause[b] and walk.n_held[b] + breaks == boxes.first_side[b + 1] - boxes.first_side[b]:
            n += not _allows(boxes, side, away)
    return n


# One variable at a time: Gibbs


@njit(cache=True, nogil=True)
def _sweep(problem, walk, probs, sums, counts):
    """Draw every free variable from P(v | the others), which is added to sums (all states,) if it counts."""
    boxes = problem.boxes
    for v in problem.free:
        first, r, was, top, total = boxes.first_state[v], boxes.n_states[v], walk.state[v], -np.inf, 0.0
        for s in range(r):
            probs[s] = 0.0
            for i in range(problem.first_holder[first + s], problem.first_holder[first + s + 1]):
                side = problem.holder[i]
                b, held = problem.box_of_side[side], False
                for m in range(boxes.first_member[side], boxes.first_member[side + 1]):
                    held |= boxes.member[m] == was
                if walk.n_held[b] - held + 1 == boxes.first_side[b + 1] - boxes.first_side[b]:
                    probs[s] += boxes.weight[b]
            top = max(top, probs[s])
        for s in range(r):
            probs[s] = math.exp(probs[s] - top)
            total += probs[s]
        left, drawn = _uniform(walk.generator), was
        for s in range(r):
            probs[s] /= total
            if probs[s] > 0.0 and left >= 0.0:  # so that rounding never ends in what cannot happen
                drawn = np.int64(s)
            left -= probs[s]
            if counts:
                sums[first + s] += probs[s]
        if drawn != was:
            _move(problem, walk, v, drawn)


# Moves, and what they change


@njit(cache=True, nogil=True)
def _move(problem, walk, v, s):
    """Put v into state s (-1 for none), and keep count of the sides that hold and the clauses that are broken."""
    boxes, was = problem.boxes, walk.state[v]
    if was == s:
        return
    walk.state[v] = s
    for new in range(2):
        if (s if new else was) < 0:
            continue
        place = boxes.first_state[v] + (s if new else was)
        for i in range(problem.first_holder[place], problem.first_holder[place + 1]):
            side = problem.holder[i]
            if boxes.first_member[side + 1] - boxes.first_member[side] > 1 and _allows(boxes, side, was if new else s):
                continue  # it held before and holds now
            b = problem.box_of_side[side]
            walk.n_held[b] += new
            if walk.is_clause[b] and walk.n_held[b] == boxes.first_side[b + 1] - boxes.first_side[b]:
                _note(walk, b, new == 1)
            walk.n_held[b] -= 1 - new


@njit(cache=True, nogil=True)
def _note(walk, b, is_broken):
    """Add a clause to the broken ones, or take it off."""
    if is_broken:
        walk.place[b] = walk.n_broken[0]
        walk.broken[walk.n_broken[0]] = b
        walk.n_broken[0] += 1
    else:
        walk.n_broken[0] -= 1
        last = walk.broken[walk.n_broken[0]]
        walk.broken[walk.place[b]] = last
        walk.place[last] = walk.place[b]


# Chance


@njit(cache=True, nogil=True)
def _any_allowed(boxes, walk, v, other_than):
    """One of the allowed states of v, each with the same chance; -1 excludes none. A state without others stays."""
    left = walk.n_allowed[v] - (other_than >= 0)
    if left <= 0:
        return other_than
    skip = _below(walk.generator, left)
    s = np.int64(0)
    while True:
        if walk.allowed[boxes.first_state[v] + s] and s != other_than:
            if skip == 0:
                return s
            skip -= 1
        s += 1


@njit(cache=True, nogil=True)
def _below(generator, n):
    return np.int64(_uniform(generator) * n)


@njit(cache=True, nogil=True)
def _uniform(generator):
    """splitmix64: one multiply-and-shift generator per chain."""
    generator[0] += np.uint64(0x9E3779B97F4A7C15)
    x = generator[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return np.float64(x >> np.uint64(11)) / 9007199254740992.0
