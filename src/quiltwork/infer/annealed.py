"""Annealed importance sampling of log Z, forwards and backwards.

A walk that begins in a distribution whose Z is known, and is cooled slowly into the model, can tell the ratio of the
two: its weight w = exp(sum over the steps of the change of log potential at the state where it then is) has the mean
Z / Z_base exactly (Neal 2001). The mean of log w is below log Z, and by less the slower the walk is cooled. A walk
that begins in the model and is heated into the base gives the same the other way round, a mean above log Z (Burda,
Grosse, Salakhutdinov 2015). Between the two lies log Z; where they meet, it is known. Bennett's acceptance ratio
(1976) makes one estimate of both sets of weights, with the smallest error there is, and its error bar.

The base is the mean-field distribution of the model, mixed with a little of the uniform one.

The backward walks must begin in the model, and can only be brought there by sampling it; where the walks that do so
have not forgotten their starts, or the two sides do not overlap, the estimate says that it has not converged.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np

from quiltwork.errors import IntractableError
from quiltwork.infer.boxes import Boxes
from quiltwork.infer.chains import side_by_side
from quiltwork.infer.mean_field import mean_field
from quiltwork.infer.walk import Field, Walker, along, field_of, look_around, walker_at
from quiltwork.rng import stream

UNIFORM = 0.1  # share of the uniform distribution in the base
LARGEST_GAP = 4.0  # nats between the means of the two sides, beyond which they do not overlap enough
KERNEL_DRAWS = 2**19  # variables drawn before a kernel returns: some tens of milliseconds

_NOBODY, _NO_SUMS = np.empty(0, np.int64), np.empty(0)


class Annealed(NamedTuple):
    """What annealing ends with; all numbers are logs of the sum over all states of the variables that are in a box.

    value      the estimate, and error its standard error
    lower      the mean log weight of the forward walks: below log Z on average
    upper      that of the backward walks: above log Z on average
    converged  whether the two sides overlap, and the backward walks had forgotten their starts
    """

    value: float
    error: float
    lower: float
    upper: float
    converged: bool


def anneal(boxes: Boxes, n_walks: int, n_steps: int, seed: int) -> Annealed:
    """Cool n_walks from the base to the model in n_steps, and heat as many from the model to the base."""
    if not np.isfinite(boxes.weight).all():
        raise IntractableError(
            "Annealing needs a model in which every joint state is possible, and this one has probabilities of zero; "
            "use method='exact' or 'bp'."
        )
    field = field_of(boxes)
    base = _base(boxes, seed)
    betas = np.linspace(0.0, 1.0, n_steps + 1)
    forward, backward, before, after = np.empty((4, n_walks))

    def walk(k: int) -> Iterator[None]:
        rng = stream(seed, 1, k)
        walker = walker_at(field, _drawn(boxes, base, rng), rng)
        forward[k] = yield from _along(field, walker, base, betas)
        before[k] = look_around(field, walker)
        yield from _along(field, walker, base, np.ones(n_steps + 1))  # as far again, to forget the way down
        after[k] = look_around(field, walker)
        backward[k] = yield from _along(field, walker, base, betas[::-1].copy())

    side_by_side(walk, n_walks)
    lower, upper = float(forward.mean()), float(-backward.mean())
    value, error = acceptance_ratio(forward, backward)
    settled = abs(after.mean() - before.mean()) <= 4.0 * math.hypot(_error(after), _error(before)) + 1e-9
    return Annealed(value, error, lower, upper, settled and upper - lower <= LARGEST_GAP)


def _along(field: Field, walker: Walker, base: np.ndarray, betas: np.ndarray) -> Generator[None, None, float]:
    """Walk along inverse temperatures, returning to Python often; the log weight of the walk."""
    log_weight = 0.0
    at_a_time = max(1, KERNEL_DRAWS // max(1, len(field.free)))
    for k in range(0, len(betas) - 1, at_a_time):
        log_weight += along(field, walker, base, betas[k : k + at_a_time + 1], _NOBODY, _NO_SUMS)
        yield
    return log_weight


def _base(boxes: Boxes, seed: int) -> np.ndarray:
    """Log probabilities (all states,) of the distribution that annealing begins with."""
    q = mean_field(boxes, seed).marginals
    return np.log((1.0 - UNIFORM) * q + UNIFORM / np.repeat(boxes.n_states, boxes.n_states))


def _drawn(boxes: Boxes, base: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A state drawn from the base."""
    ends = [np.cumsum(np.exp(base[a:b])) for a, b in zip(boxes.first_state[:-1], boxes.first_state[1:])]
    uniform = rng.random(len(ends))
    return np.array([np.searchsorted(own[:-1], u, side="right") for own, u in zip(ends, uniform)], np.int64)


def acceptance_ratio(forward: np.ndarray, backward: np.ndarray) -> tuple[float, float]:
    """Bennett's estimate of log Z from the log weights of both sides, and its standard error.

    >>> exact = acceptance_ratio(np.array([2.0, 2.0]), np.array([-2.0, -2.0]))
    >>> round(exact[0], 9), exact[1]
    (2.0, 0.0)
    """
    low, high = min(forward.min(), -backward.max()) - 1.0, max(forward.max(), -backward.min()) + 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        ahead, back = _log_share(forward - middle), _log_share(backward + middle)
        if np.logaddexp.reduce(ahead) > np.logaddexp.reduce(back):
            low = middle
        else:
            high = middle
    parts = [np.exp(x - x.max()) for x in (ahead, back)]
    return float(middle), math.hypot(*(_error(part) / part.mean() for part in parts))


def _log_share(x: np.ndarray) -> np.ndarray:
    """log(1 / (1 + exp(-x)))."""
    return -np.logaddexp(0.0, -x)


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))
