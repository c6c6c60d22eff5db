"""MC-SAT: slice sampling over features, each slice a satisfiability problem.

Where features are strong, a Gibbs sampler that moves one variable at a time stays where it is. MC-SAT moves all of
them at once. Given a state x, every feature that holds in x is made a constraint with probability 1 - exp(-w), and the
next state is drawn uniformly from those in which all constraints hold. A feature of negative weight counts as its
negation of weight -w, and one of weight -inf is a constraint always; so a model with impossible states is sampled like
any other, where a Gibbs sampler may be caught among the possible ones.

The uniform draw is the work of `sample_sat`, and only nearly uniform where the constraints leave many solutions that do
not hang together. With weights that are finite the answers are as good as their error bars say; with impossible states
they may be off by a few hundredths of a standard deviation of the variable, whatever the number of samples.

Paper    Poon and Domingos (2006), sections 3-4
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from quiltwork.infer.boxes import Boxes, boxes_of, given, holders
from quiltwork.infer.chains import CHAINS, Estimate, batch_ends, check_cells, estimate, side_by_side
from quiltwork.infer.sample_sat import begin, run
from quiltwork.rng import stream

KERNEL_SIDES = 2**19  # sides looked at before a kernel returns: some tens of milliseconds


def mcsat_query(
    model: Any, asked: list[int], codes: np.ndarray, n_samples: int, burn_in: int, seed: int
) -> Estimate | None:
    """Probabilities of the joint states of `asked`, the last varying fastest; None where no possible state is found."""
    boxes, certain = given(boxes_of(model), codes)
    n_cells = check_cells(math.prod(int(boxes.n_states[v]) for v in asked))
    if certain == -np.inf:
        return None
    joint = len(asked) > 1
    batches = sample_boxes(boxes, np.array(asked), n_cells if joint else 0, n_samples, burn_in, seed)
    if batches is None:
        return None
    own = slice(None) if joint else slice(boxes.first_state[asked[0]], boxes.first_state[asked[0] + 1])
    return estimate(batches[:, :, own], n_samples)


def sample_boxes(
    boxes: Boxes, asked: np.ndarray, n_cells: int, n_samples: int, burn_in: int, seed: int, n_chains: int = CHAINS
) -> np.ndarray | None:
    """Batch means (chains, batches, cells) of the joint states of what is asked for; or, where n_cells is 0, of the
    conditionals of each, (chains, batches, all states). None where a chain finds no possible state to begin with."""
    problem = Problem(boxes, *holders(boxes), boxes.box_of_side, -np.expm1(-np.abs(boxes.weight)))
    ends = batch_ends(n_samples, n_chains)
    batches = np.zeros((n_chains, len(ends), n_cells or boxes.first_state[-1]))
    lost = np.zeros(n_chains, bool)

    def chain(c: int) -> Iterator[None]:
        walk = start(boxes, stream(seed, c))
        lost[c] = not begin(problem, walk)
        if lost[c]:
            return
        yield from steps(problem, walk, burn_in, asked[:0], False, batches[c, 0])
        for k, (first, last) in enumerate(zip([0, *ends], ends)):
            yield from steps(problem, walk, last - first, asked, n_cells > 0, batches[c, k])
            batches[c, k] /= last - first

    side_by_side(chain, n_chains)
    return None if lost.any() else batches


def steps(problem: Problem, walk: Walk, n: int, asked: np.ndarray, joint: bool, sums: np.ndarray) -> Iterator[None]:
    """Take n steps, returning to Python often; what is asked for is added to sums after each."""
    at_a_time = max(1, KERNEL_SIDES // (20 + 4 * len(problem.box_of_side)))
    for done in range(0, n, at_a_time):
        run(problem, walk, min(at_a_time, n - done), asked, joint, sums)
        yield


def start(boxes: Boxes, rng: np.random.Generator) -> Walk:
    """A chain at a random state, before `begin`."""
    n_vars, n_boxes = len(boxes.n_states), len(boxes.weight)
    state = (rng.random(n_vars) * boxes.n_states).astype(np.int64)
    return Walk(
        state=state,
        old=state.copy(),
        n_held=np.zeros(n_boxes, np.int64),
        allowed=np.ones(boxes.first_state[-1], np.bool_),
        n_allowed=boxes.n_states.copy(),
        is_clause=np.zeros(n_boxes, np.bool_),
        clause=np.zeros(n_boxes, np.int64),
        broken=np.zeros(n_boxes, np.int64),
        place=np.zeros(n_boxes, np.int64),
        loose=np.zeros(n_vars, np.int64),
        is_loose=np.zeros(n_vars, np.bool_),
        n_broken=np.zeros(1, np.int64),
        generator=rng.integers(0, 2**63, 1).astype(np.uint64),
    )


# What the kernels see


class Problem(NamedTuple):
    """The boxes, and what helps to move among them. (Fields keep their order: kernels cached on disk know it.)

    first_holder, holder  the sides that allow each of all states
    box_of_side           (n_sides,)
    keep                  (n_boxes,) the probability that a box which is as it should be becomes a constraint
    """

    boxes: Boxes
    first_holder: np.ndarray
    holder: np.ndarray
    box_of_side: np.ndarray
    keep: np.ndarray


class Walk(NamedTuple):
    """Where a chain is.

    state, old  (n_vars,) the states, and those of the step before; -1 while a variable has none
    n_held      (n_boxes,) sides that hold
    allowed     (all states,) what the constraints leave, n_allowed (n_vars,) how many of each variable's
    is_clause   (n_boxes,) whether the box must not hold; clause (n_boxes,) those boxes
    broken      (n_boxes,) clauses that are broken, place (n_boxes,) where each stands among them
    loose       (n_vars,) variables in an open clause; is_loose (n_vars,)
    n_broken    [number of broken clauses]
    generator   [state of the random numbers]
    """

    state: np.ndarray
    old: np.ndarray
    n_held: np.ndarray
    allowed: np.ndarray
    n_allowed: np.ndarray
    is_clause: np.ndarray
    clause: np.ndarray
    broken: np.ndarray
    place: np.ndarray
    loose: np.ndarray
    is_loose: np.ndarray
    n_broken: np.ndarray
    generator: np.ndarray
