"""A model as boxes: log P(x) is the sum of the weights of the boxes that hold x, less log Z.

A box asks of some of the variables that the state of each be one of a set: these are its sides. A feature of a Markov
network is a box whose sides are single states. A table of probabilities has one box per entry, and a decision tree one
per leaf and state of the child, whose sides are what the walk to the leaf has left of each variable. So every model
with a joint distribution becomes the same few arrays, and nothing is spread out into tables for it: what a feature or
a leaf costs is the number of its sides.

The boxes of one table or tree fill the space without overlap, and belong together as a factor; a feature is a factor
by itself, which is 1 wherever its box is not.

Evidence takes sides away from the boxes that it agrees with, and the boxes that it contradicts from the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import InputError, ResourceLimitError
from quiltwork.infer.markov_tree import directed
from quiltwork.infer.question import implementation, once_per_model
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.markov import MarkovNet
from quiltwork.models.markov_tree import DiscreteTree

MAX_SIDES = 2**26  # of all boxes: about a gigabyte and a half


Side = tuple[int, tuple[int, ...]]  # a variable, and the states that it may be in
Box = tuple[float, list[Side]]  # weight, sides by ascending variable


class Boxes(NamedTuple):
    """All boxes, one after another. (Fields keep their order: kernels cached on disk know them by place.)

    n_states      (n_vars,)
    first_state   (n_vars + 1,) where the states of v begin in a row of all states
    weight        (n_boxes,) what a box adds to log P; -inf where nothing in it can happen
    first_side    (n_boxes + 1,) the sides of each box, by ascending variable
    variable      (n_sides,)
    first_member  (n_sides + 1,) the states that each side allows
    member        (n_members,)
    first_box     (n_factors + 1,) the boxes of each factor
    fills         (n_factors,) whether its boxes fill the space; if not, it is 1 outside of them
    """

    n_states: np.ndarray
    first_state: np.ndarray
    weight: np.ndarray
    first_side: np.ndarray
    variable: np.ndarray
    first_member: np.ndarray
    member: np.ndarray
    first_box: np.ndarray
    fills: np.ndarray

    @property
    def box_of_side(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.weight)), np.diff(self.first_side))


@once_per_model
def boxes_of(model: Any) -> Boxes:
    """The boxes of this model; made when first asked for."""
    return implementation(BOXES, model, "A question about the joint distribution")(model)


def given(boxes: Boxes, codes: np.ndarray) -> tuple[Boxes, float]:
    """The boxes over the variables that are not known, and the sum of the weights that are certain to count.

    The sum is -inf where the evidence contradicts itself outright.
    """
    known = codes != NO_CODE
    side_of_member = np.repeat(np.arange(len(boxes.variable)), np.diff(boxes.first_member))
    at = codes[boxes.variable]
    agrees = np.bincount(side_of_member, boxes.member == at[side_of_member], len(at)) > 0
    is_known = known[boxes.variable]
    box_of_side = boxes.box_of_side
    n_boxes = len(boxes.weight)
    possible = np.bincount(box_of_side, is_known & ~agrees, n_boxes) == 0
    open_side = ~is_known & possible[box_of_side]
    n_sides = np.bincount(box_of_side, open_side, n_boxes).astype(np.int64)
    certain = float(boxes.weight[possible & (n_sides == 0)].sum())
    return some_of(boxes, possible & (n_sides > 0), open_side), certain


def some_of(boxes: Boxes, kept: np.ndarray, kept_side: np.ndarray) -> Boxes:
    """Only these boxes, with only these of their sides."""
    kept_side = kept_side & kept[boxes.box_of_side]
    factor = np.repeat(np.arange(len(boxes.fills)), np.diff(boxes.first_box))
    per_factor = np.bincount(factor[kept], minlength=len(boxes.fills))
    return boxes._replace(
        weight=boxes.weight[kept],
        first_side=starts(np.bincount(boxes.box_of_side[kept_side], minlength=len(kept))[kept]),
        variable=boxes.variable[kept_side],
        first_member=starts(np.diff(boxes.first_member)[kept_side]),
        member=boxes.member[np.repeat(kept_side, np.diff(boxes.first_member))],
        first_box=starts(per_factor[per_factor > 0]),
        fills=boxes.fills[per_factor > 0],
    )


def holders(boxes: Boxes) -> tuple[np.ndarray, np.ndarray]:
    """(first, side): side[first[k] : first[k + 1]] are the sides that allow state k of a row of all states."""
    side_of_member = np.repeat(np.arange(len(boxes.variable)), np.diff(boxes.first_member))
    place = boxes.first_state[boxes.variable[side_of_member]] + boxes.member
    order = np.argsort(place, kind="stable")
    return np.searchsorted(place[order], np.arange(boxes.first_state[-1] + 1)), side_of_member[order]


def merged(boxes: Boxes) -> Boxes:
    """The same sum with boxes of the same sides made into one; a factor of its own each. Boxes with a side of several
    states stay as they are."""
    lengths, plain = np.diff(boxes.first_side), np.diff(boxes.first_member) == 1
    is_plain = np.bincount(boxes.box_of_side, ~plain, len(lengths)) == 0
    others = some_of(boxes, ~is_plain, np.ones(len(boxes.variable), bool))
    more = []
    for length in np.unique(lengths[is_plain]):
        which = np.flatnonzero(is_plain & (lengths == length))
        at = boxes.first_side[which, None] + np.arange(length)
        places = boxes.first_state[boxes.variable[at]] + boxes.member[boxes.first_member[at]]
        _, first, same = np.unique(places, axis=0, return_index=True, return_inverse=True)
        weights = np.bincount(same.ravel(), boxes.weight[which])
        more.append((weights, boxes.variable[at[first]], boxes.member[boxes.first_member[at[first]]]))
    together = _with_plain(others, more)
    n_boxes = len(together.weight)
    return together._replace(first_box=np.arange(n_boxes + 1), fills=np.zeros(n_boxes, np.bool_))


def joined(a: Boxes, b: Boxes) -> Boxes:
    """The boxes of both, those of b behind those of a."""
    return a._replace(
        weight=np.concatenate([a.weight, b.weight]),
        first_side=starts([*np.diff(a.first_side), *np.diff(b.first_side)]),
        variable=np.concatenate([a.variable, b.variable]),
        first_member=starts([*np.diff(a.first_member), *np.diff(b.first_member)]),
        member=np.concatenate([a.member, b.member]),
        first_box=starts([*np.diff(a.first_box), *np.diff(b.first_box)]),
        fills=np.concatenate([a.fills, b.fills]),
    )


def _with_plain(boxes: Boxes, more: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Boxes:
    """The boxes, and behind them some whose sides allow one state: (weights (n,), variables (n, sides), states (n,
    sides)) of each kind. Which factors they belong to is left to the caller."""
    shapes = [variables.shape for _, variables, _ in more]
    return boxes._replace(
        weight=np.concatenate([boxes.weight, *(weights for weights, _, _ in more)]),
        first_side=starts(np.concatenate([np.diff(boxes.first_side), *(np.full(n, k) for n, k in shapes)])),
        variable=np.concatenate([boxes.variable, *(variables.ravel() for _, variables, _ in more)]),
        first_member=starts(np.concatenate([np.diff(boxes.first_member), *(np.ones(n * k) for n, k in shapes)])),
        member=np.concatenate([boxes.member, *(states.ravel() for _, _, states in more)]),
    )


def log_states_apart(boxes: Boxes, codes: np.ndarray) -> float:
    """The log of the number of joint states of the variables that are neither known nor in a box."""
    apart = (codes == NO_CODE) & (np.bincount(boxes.variable, minlength=len(codes)) == 0)
    return float(np.log(boxes.n_states[apart]).sum())


def starts(lengths: Any) -> np.ndarray:
    """Where lists of these lengths begin when they lie one after another, and where the last ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


# Models


def _of_markov(model: MarkovNet) -> Boxes:
    """One box per feature."""
    with np.errstate(over="ignore"):
        in_range = np.isfinite(np.abs(model.weights).sum())
    if not in_range:
        largest = model.weights[np.abs(model.weights).argmax()]
        raise InputError(
            "The weights of this network add up beyond the largest number of a float, so that no question has an "
            f"answer; the largest of its {len(model.weights):,} weights is {largest:.3g}; make them smaller, or learn "
            "with a narrower prior_width."
        )
    n_states = np.array([variable.n_states for variable in model.variables], np.int64)
    return Boxes(
        n_states=n_states,
        first_state=starts(n_states),
        weight=model.weights.astype(np.float64),
        first_side=model.first_condition.astype(np.int64),
        variable=model.columns.astype(np.int64),
        first_member=np.arange(len(model.columns) + 1),
        member=model.states.astype(np.int64),
        first_box=np.arange(len(model.weights) + 1),
        fills=np.zeros(len(model.weights), np.bool_),
    )


def _of_bayesian(model: BayesianNet) -> Boxes:
    """One box per entry of a table, or per leaf of a tree and state of the child; a factor per CPD."""
    n_states = [variable.n_states for variable in model.variables]
    return boxed(n_states, (_of_cpd(cpd, n_states) for cpd in model.cpds), fills=True)


def _of_cpd(cpd: Any, n_states: list[int]) -> Iterator[Box]:
    for box, probs in _rows(cpd, n_states):
        for s, p in enumerate(probs.tolist()):
            yield (float(np.log(p)) if p > 0 else -np.inf), sorted([*box.items(), (cpd.child, (s,))])


def boxed(n_states: list[int], factors: Iterable[Iterable[Box]], fills: bool) -> Boxes:
    """The boxes of each factor, all of which fill the space, or none."""
    weights: list[float] = []
    sides: list[Side] = []
    lengths: list[int] = []
    ends = [0]
    for factor in factors:
        for weight, own in factor:
            weights.append(weight)
            sides += own
            lengths.append(len(own))
            if len(sides) > MAX_SIDES:
                raise ResourceLimitError(
                    f"The factors of this network have more than {MAX_SIDES:,} entries, leaves and conditions "
                    "together; learn one with fewer parents, leaves or features."
                )
        ends.append(len(weights))
    return Boxes(
        n_states=np.array(n_states, np.int64),
        first_state=starts(n_states),
        weight=np.array(weights, np.float64),
        first_side=starts(lengths),
        variable=np.array([v for v, _ in sides], np.int64),
        first_member=starts([len(states) for _, states in sides]),
        member=np.array([s for _, states in sides for s in states], np.int64),
        first_box=np.array(ends, np.int64),
        fills=np.full(len(ends) - 1, fills),
    )


def _rows(cpd: Any, n_states: list[int]) -> Iterator[tuple[dict[int, tuple[int, ...]], np.ndarray]]:
    """(what is asked of the parents, the child's distribution) for every row of a table or way to a leaf."""
    if cpd.kind == "table":
        for config, probs in zip(np.ndindex(*(n_states[p] for p in cpd.parents)), cpd.probs):
            yield {p: (s,) for p, s in zip(cpd.parents, config)}, probs
        return
    waiting: list[tuple[int, dict[int, tuple[int, ...]]]] = [(0, {})]
    while waiting:
        k, box = waiting.pop()
        v, s, first = int(cpd.variable[k]), int(cpd.state[k]), int(cpd.first[k])
        if v < 0:
            yield {u: states for u, states in box.items() if len(states) < n_states[u]}, cpd.probs[first]
            continue
        left = box.get(v, tuple(range(n_states[v])))
        parts = [(t,) for t in range(n_states[v])] if s < 0 else [(s,), tuple(t for t in left if t != s)]
        for way, part in enumerate(parts):
            allowed = tuple(t for t in part if t in left)
            if allowed:
                waiting.append((int(cpd.branches[first + way]), {**box, v: allowed}))


BOXES: dict[type, Callable[..., Boxes]] = {
    MarkovNet: _of_markov,
    BayesianNet: _of_bayesian,
    DiscreteTree: lambda model: _of_bayesian(directed(model)),
}
