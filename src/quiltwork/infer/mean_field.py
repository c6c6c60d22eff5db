"""Mean field: the product of independent distributions that is closest to the model.

Of all distributions q in which the variables are independent, the one is looked for that comes closest to the model in
the sense of KL(q || P). Minimising it maximises the bound

    sum over boxes of weight * q(box)  +  sum over variables of the entropy of q_v   <=   log Z,

where q(box) is the product over its sides of what q puts on them. Each q_v in turn is set to its best value given the
others, log q_v(s) = sum over the boxes that hold v = s of weight * q(the other sides), so the bound never falls. It
has many local maxima, and the flat start is often a saddle: several starts are made, and the best kept.

Paper    Jordan, Ghahramani, Jaakkola, Saul (1999), section 6
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from quiltwork.errors import IntractableError
from quiltwork.infer.boxes import Boxes, boxes_of, given, holders
from quiltwork.infer.chains import check_cells
from quiltwork.rng import stream

STARTS = 4
MAX_SWEEPS = 1000
TOLERANCE = 1e-10  # gain of the bound, relative to its size, below which a sweep is the last


class MeanField(NamedTuple):
    """What mean field ends with.

    marginals  (all states,) of each variable under q; what is in no box is uniform
    bound      a lower bound of the log of the sum over all states of the variables that are in a box
    converged  whether the bound had stopped to rise
    """

    marginals: np.ndarray
    bound: float
    converged: bool


def mean_field_query(model: Any, asked: list[int], codes: np.ndarray, seed: int) -> tuple[np.ndarray | None, bool]:
    """P(asked | evidence) as a product of the variables' distributions, None where the evidence is impossible; and
    whether the bound had stopped to rise."""
    if len(asked) > 1:
        check_cells(math.prod(model.variables[v].n_states for v in asked))
    boxes, certain = given(boxes_of(model), codes)
    if certain == -np.inf:
        return None, True
    found = mean_field(boxes, seed)
    table = np.ones(())
    for v in asked:
        table = np.multiply.outer(table, found.marginals[boxes.first_state[v] : boxes.first_state[v + 1]])
    return table, found.converged


def mean_field(boxes: Boxes, seed: int = 0) -> MeanField:
    """The best of several climbs."""
    return max(optima(boxes, seed), key=lambda found: found.bound)


def optima(boxes: Boxes, seed: int) -> list[MeanField]:
    """Where several climbs from random starts end; the same optimum may be among them more than once."""
    if not np.isfinite(boxes.weight).all():
        raise IntractableError(
            "Mean field needs a model in which every joint state is possible, and this one has probabilities of zero; "
            "use method='bp' or 'mcsat'."
        )
    return [_climb(boxes, stream(seed, k)) for k in range(STARTS)]


def _climb(boxes: Boxes, rng: np.random.Generator) -> MeanField:
    in_a_box = np.bincount(boxes.variable, minlength=len(boxes.n_states)) > 0
    q = np.where(np.repeat(in_a_box, boxes.n_states), rng.uniform(0.5, 1.5, boxes.first_state[-1]), 1.0)
    q /= np.repeat(np.add.reduceat(q, boxes.first_state[:-1]), boxes.n_states)
    lists = holders(boxes)
    box_of_side = boxes.box_of_side
    bound = -np.inf
    for _ in range(MAX_SWEEPS):
        before = bound
        _sweep(boxes, box_of_side, *lists, in_a_box, q)
        bound = _bound(boxes, in_a_box, q)
        if bound - before <= TOLERANCE * max(1.0, abs(bound)):
            return MeanField(q, max(bound, before), True)
    return MeanField(q, bound, False)


# Kernels


@njit(cache=True, nogil=True)
def _share(boxes, side, q):
    """What q puts on the states that a side allows."""
    first, total = boxes.first_state[boxes.variable[side]], 0.0
    for m in range(boxes.first_member[side], boxes.first_member[side + 1]):
        total += q[first + boxes.member[m]]
    return total


@njit(cache=True, nogil=True)
def _sweep(boxes, box_of_side, first_holder, holder, wanted, q):
    """Set each wanted variable's distribution in q (all states,) to its best, given the others."""
    logs = np.empty(boxes.n_states.max())
    for v in range(boxes.n_states.size):
        if not wanted[v]:
            continue
        top = -np.inf
        for s in range(boxes.n_states[v]):
            place = boxes.first_state[v] + s
            logs[s] = 0.0
            for i in range(first_holder[place], first_holder[place + 1]):
                b = box_of_side[holder[i]]
                part = boxes.weight[b]
                for side in range(boxes.first_side[b], boxes.first_side[b + 1]):
                    if side != holder[i]:
                        part *= _share(boxes, side, q)
                logs[s] += part
            top = max(top, logs[s])
        total = 0.0
        for s in range(boxes.n_states[v]):
            logs[s] = math.exp(logs[s] - top)
            total += logs[s]
        for s in range(boxes.n_states[v]):
            q[boxes.first_state[v] + s] = logs[s] / total


@njit(cache=True, nogil=True)
def _bound(boxes, wanted, q):
    """Expected weight of the boxes plus the entropies of the wanted variables."""
    total = 0.0
    for b in range(boxes.weight.size):
        part = boxes.weight[b]
        for side in range(boxes.first_side[b], boxes.first_side[b + 1]):
            part *= _share(boxes, side, q)
        total += part
    for v in range(boxes.n_states.size):
        if wanted[v]:
            for e in range(boxes.first_state[v], boxes.first_state[v + 1]):
                if q[e] > 0.0:
                    total -= q[e] * math.log(q[e])
    return total
