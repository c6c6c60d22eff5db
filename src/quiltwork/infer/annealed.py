"""Annealed importance sampling of log Z, forwards and backwards.

A walk that begins in a distribution whose Z is known, and is cooled slowly into the model, can tell the ratio of the
two: its weight w = exp(sum over the steps of the change of log potential at the state where it then is) has the mean
Z / Z_base exactly (Neal 2001). The mean of log w is below log Z, and by less the slower the walk is cooled. A walk
that begins in the model and is heated into the base gives the same the other way round, a mean above log Z (Burda,
Grosse, Salakhutdinov 2015). Where the two meet, log Z is known. Bennett's acceptance ratio (1976) makes one estimate of
both sets of weights, with the smallest error there is, and its error bar.

The base is uniform: it prefers no mode of the model to another. (A base that is close to the model would be left more
quickly, but the mean-field distribution is close to one mode only, and walks from there never see the others.)

The backward walks must begin in the model. Their starts are the ends of a second set of cooled walks, drawn by their
weights, so that every mode is represented as its weight says, and owe nothing to the first set.

What no cooled walk has seen is looked for by walks that begin elsewhere: at random, and in the optima of mean field.
They are heated too. Where their weights tell of more than the estimate does, where the two sides do not overlap, or
where a few of the second set have all of its weight, the estimate says that it has not converged.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from quiltwork.errors import IntractableError
from quiltwork.infer.boxes import Boxes
from quiltwork.infer.chains import side_by_side
from quiltwork.infer.mean_field import optima
from quiltwork.infer.walk import Field, Walker, along, field_of, walker_at
from quiltwork.rng import stream

LARGEST_GAP = 4.0  # nats between the means of the two sides, beyond which they do not overlap enough
FEWEST = 5.0  # walks that share the weight of the second set
SETTLING = 10  # one in so many steps is spent at the model's temperature before a walk is heated
SCOUTS = 10  # walks from random states, and as many from mean field
KERNEL_DRAWS = 2**19  # variables drawn before a kernel returns: some tens of milliseconds

_NOBODY, _NO_SUMS = np.empty(0, np.int64), np.empty(0)


class Annealed(NamedTuple):
    """What annealing ends with; all numbers are logs of the sum over all states of the variables that are in a box.

    value      the estimate, and error its standard error
    lower      the mean log weight of the forward walks: its expectation is below log Z
    upper      that of the backward walks: its expectation is above log Z
    converged  whether the two sides overlap, and walks from elsewhere tell of nothing more
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
    base = -np.repeat(np.log(boxes.n_states), boxes.n_states)
    betas = np.linspace(0.0, 1.0, n_steps + 1)
    cooled, ends = np.empty(2 * n_walks), np.empty((2 * n_walks, len(boxes.n_states)), np.int64)

    def cool(k: int) -> Iterator[None]:
        rng = stream(seed, 1, k)
        walker = walker_at(field, rng.random(len(boxes.n_states)) * boxes.n_states, rng)
        cooled[k] = yield from _along(field, walker, base, betas)
        ends[k] = walker.state

    side_by_side(cool, 2 * n_walks)
    chosen, n_worth = _by_weight(cooled[n_walks:], stream(seed, 2))
    starts = np.concatenate([ends[n_walks:][chosen], _elsewhere(boxes, seed)])
    heated = np.empty(len(starts))

    def heat(k: int) -> Iterator[None]:
        walker = walker_at(field, starts[k], stream(seed, 3, k))
        n_still = n_steps if k >= n_walks else -(-n_steps // SETTLING)
        yield from _along(field, walker, base, np.ones(n_still + 1))
        heated[k] = yield from _along(field, walker, base, betas[::-1].copy())

    side_by_side(heat, len(starts))
    forward, backward, scouts = cooled[:n_walks], heated[:n_walks], heated[n_walks:].reshape(-1, SCOUTS)
    value, error = acceptance_ratio(forward, backward)
    lower, upper = float(forward.mean()), float(-backward.mean())
    unseen = float(-scouts.mean(axis=1).min()) - value
    converged = max(upper - lower, unseen) <= LARGEST_GAP and n_worth >= min(FEWEST, n_walks / 2)
    return Annealed(value, error, lower, upper, converged)


def _along(field: Field, walker: Walker, base: np.ndarray, betas: np.ndarray) -> Generator[None, None, float]:
    """Walk along inverse temperatures, returning to Python often; the log weight of the walk."""
    log_weight = 0.0
    at_a_time = max(1, KERNEL_DRAWS // max(1, len(field.free)))
    for k in range(0, len(betas) - 1, at_a_time):
        log_weight += along(field, walker, base, betas[k : k + at_a_time + 1], _NOBODY, _NO_SUMS)
        yield
    return log_weight


def _by_weight(log_weights: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """As many walks drawn by their weights, evenly spaced; and how many walks of equal weight they are worth.

    >>> _by_weight(np.log([1.0, 1.0, 2.0, 1e-9]), stream(0))
    (array([0, 1, 2, 2]), 2.66...)
    """
    shares = np.exp(log_weights - np.logaddexp.reduce(log_weights))
    even = (rng.random() + np.arange(len(shares))) / len(shares)
    chosen = np.minimum(np.searchsorted(np.cumsum(shares), even), len(shares) - 1)
    return chosen, float(1.0 / (shares**2).sum())


def _elsewhere(boxes: Boxes, seed: int) -> np.ndarray:
    """States drawn at random, then from each of some optima of mean field: (starts, n_vars), SCOUTS of each."""
    uniform = 1.0 / np.repeat(boxes.n_states, boxes.n_states)
    found = [uniform, *(optimum.marginals for optimum in optima(boxes, seed))]
    return np.concatenate([_drawn(boxes, q, stream(seed, 4, k)) for k, q in enumerate(found)])


def _drawn(boxes: Boxes, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """SCOUTS states (SCOUTS, n_vars) with independent variables of these probabilities (all states,)."""
    parts = [q[a:b] for a, b in pairwise(boxes.first_state.tolist())]
    return np.stack([rng.choice(len(p), SCOUTS, p=p / p.sum()) for p in parts], axis=1)


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
