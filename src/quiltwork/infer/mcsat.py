"""MC-SAT: slice sampling over features, each slice a satisfiability problem.

Where features are strong, a Gibbs sampler that moves one variable at a time stays where it is. MC-SAT moves all of
them at once. Given a state x, every feature that holds in x is made a constraint with probability 1 - exp(-w), and the
next state is drawn uniformly from those in which all constraints hold. A feature of negative weight counts as its
negation of weight -w, and one of weight -inf is a constraint always; so a model with impossible states is sampled like
any other, where a Gibbs sampler may be caught among the possible ones.

But a slice also holds fast. Where a short feature of negative weight stands beside longer ones of positive weight, as
in the networks that trees are read into, the constraints of the moment can leave most variables a single state, step
after step, though each of them alone would move. So every slice is followed by a sweep of Gibbs, which draws each
variable from its conditional. Both leave the distribution as it is, and so does one after the other.

The uniform draw is the work of `sample_sat`, and only nearly uniform where the constraints leave many solutions that do
not hang together. With weights that are finite the answers are as good as their error bars say; with impossible states
they may be off by a few hundredths of a standard deviation of the variable, whatever the number of samples.

Paper    Poon and Domingos (2006), sections 3-4
Differs  the sweep of Gibbs after every slice
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import numpy as np

from quiltwork.infer.boxes import Boxes, boxes_of, given, holders, merged
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
    boxes: Boxes, asked: np.ndarray, n_cells: int, n_samples: int, burn_in: int, seed: int
) -> np.ndarray | None:
    """Batch means (chains, batches, cells) of the joint states of what is asked for; or, where n_cells is 0, of the
    conditionals of each, (chains, batches, all states). None where a chain finds no possible state to begin with."""
    problem = problem_of(boxes, asked)
    ends = batch_ends(n_samples, CHAINS)
    batches = np.zeros((CHAINS, len(ends), n_cells or boxes.first_state[-1]))
    found = np.zeros(CHAINS, bool)

    def chain(c: int) -> Iterator[None]:
        found[c] = yield from one_chain(problem, asked, n_cells > 0, burn_in, ends, stream(seed, c), batches[c])

    side_by_side(chain, CHAINS)
    return batches if found.all() else None


def one_chain(
    problem: Problem,
    asked: np.ndarray,
    joint: bool,
    burn_in: int,
    ends: list[int],
    rng: np.random.Generator,
    batches: np.ndarray,
    states: np.ndarray | None = None,
) -> Generator[None, None, bool]:
    """Put the means of one chain's batches into batches (batches, cells), and where each ended into states (batches,
    n_vars); False where it finds no possible state to begin with."""
    walk = start(problem.boxes, rng)
    if not begin(problem, walk):
        return False
    yield from steps(problem, walk, burn_in, asked, False, np.empty(0))
    for k, (first, last) in enumerate(zip([0, *ends], ends)):
        yield from steps(problem, walk, last - first, asked, joint, batches[k])
        batches[k] /= last - first
        if states is not None:
            states[k] = walk.state
    return True


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


def problem_of(boxes: Boxes, asked: np.ndarray) -> Problem:
    """The boxes laid out for the kernels; those of features that have the same sides are made one."""
    if not boxes.fills.any():
        boxes = merged(boxes)
    free = np.union1d(boxes.variable, asked).astype(np.int64)
    return Problem(boxes, *holders(boxes), boxes.box_of_side, -np.expm1(-np.abs(boxes.weight)), free)


class Problem(NamedTuple):
    """The boxes, and what helps to move among them. (Fields keep their order: kernels cached on disk know it.)

    first_holder, holder  the sides that allow each of all states
    box_of_side           (n_sides,)
    keep                  (n_boxes,) the probability that a box which is as it should be becomes a constraint
    free                  the variables that are drawn: those in a box, and those that are asked for
    """

    boxes: Boxes
    first_holder: np.ndarray
    holder: np.ndarray
    box_of_side: np.ndarray
    keep: np.ndarray
    free: np.ndarray


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
