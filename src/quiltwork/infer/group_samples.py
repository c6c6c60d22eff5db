"""Conditional marginals of one row by sampling: a few walks that start apart, and whether they agree.

The conditional of each variable is averaged along the walks (Rao-Blackwell), so that a state which is never visited has
a probability too. One that is beyond the range of a float, because weights are large, is averaged as a logarithm, over
the states in which the batches of the walks ended.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from quiltwork.infer.boxes import Boxes, boxes_of, given
from quiltwork.infer.chains import batch_ends, not_found, r_hat, squared_errors
from quiltwork.infer.markov import logits_in
from quiltwork.infer.mcsat import one_chain, problem_of, sample_boxes
from quiltwork.infer.undirected import reached
from quiltwork.infer.walk import Field, field_of, look_around, sweep, walker_at
from quiltwork.models.markov import MarkovNet
from quiltwork.rng import stream

ROW_CHAINS = 4
KERNEL_DRAWS = 2**19  # variables drawn before a kernel returns
SMALLEST = 1e-250  # probability that is averaged as it is


class Sampler(NamedTuple):
    """How marginals are found where they are not exact."""

    method: str
    n_samples: int
    burn_in: int
    seed: int


class Told(NamedTuple):
    """log marginals (wanted,), their squared standard errors, and the largest R-hat of them."""

    logs: np.ndarray
    squared: np.ndarray
    r_hat: float


def judge(batches: np.ndarray) -> Told:
    """From batch means (chains, batches, wanted) of the conditionals of what is wanted.

    >>> judge(np.full((4, 10, 1), 0.5))
    Told(logs=array([-0.69314718]), squared=array([0.]), r_hat=1.0)
    """
    p = batches.mean(axis=(0, 1))
    logs = np.log(p, out=np.full(len(p), -np.inf), where=p > 0)
    squared = squared_errors(batches / np.maximum(p, SMALLEST))
    return Told(logs, squared, float(r_hat(batches).max(initial=1.0)))


def mcsat_batches(
    model: Any, known: np.ndarray, wanted: np.ndarray, n_samples: int, burn_in: int, seed: int
) -> np.ndarray:
    """Batch means (chains, batches, all states) of the conditionals of the wanted variables along walks of MC-SAT."""
    boxes, certain = given(boxes_of(model), known)
    batches = None if certain == -np.inf else sample_boxes(boxes, wanted, 0, n_samples, burn_in, seed)
    if batches is None:
        raise not_found("mcsat")
    return batches


def sampled_row(
    model: MarkovNet, known: np.ndarray, wanted: np.ndarray, row: np.ndarray, sampler: Sampler, i: int
) -> Generator[None, None, Told]:
    """P(x_v | evidence) of the wanted variables of a Markov network at their states in row i."""
    boxes = reached(given(boxes_of(model), known)[0], wanted)
    ends = batch_ends(sampler.n_samples, ROW_CHAINS)
    batches = np.zeros((ROW_CHAINS, len(ends), boxes.first_state[-1]))
    states = np.zeros((ROW_CHAINS, len(ends), len(boxes.n_states)), np.int64)
    by_mcsat = sampler.method == "mcsat"
    problem, field = (problem_of(boxes, wanted), None) if by_mcsat else (None, field_of(boxes))
    for c in range(ROW_CHAINS):
        rng, own = stream(sampler.seed, 2, i, c), (batches[c], states[c])
        if problem is not None:
            yield from one_chain(problem, wanted, False, sampler.burn_in, ends, rng, *own)
        elif field is not None:
            yield from _gibbs_chain(field, sampler.burn_in, ends, rng, *own)
    at = boxes.first_state[wanted] + row[wanted]
    told = judge(batches[:, :, at])
    for k in np.flatnonzero(batches[:, :, at].mean(axis=(0, 1)) <= SMALLEST):
        told.logs[k], told.squared[k] = _log_mean(boxes, states.reshape(-1, len(row)), int(wanted[k]), int(at[k]))
    return told


def _gibbs_chain(
    field: Field, burn_in: int, ends: list[int], rng: np.random.Generator, batches: np.ndarray, states: np.ndarray
) -> Generator[None, None, None]:
    """Put the means of a chain's batches into batches (batches, all states), and where each ended into states."""
    n_states = field.boxes.n_states
    walker = walker_at(field, rng.random(len(n_states)) * n_states, rng)
    base, nobody = np.zeros(field.boxes.first_state[-1]), np.empty(0, np.int64)
    at_a_time = max(1, KERNEL_DRAWS // max(1, len(field.free)))
    for k, n in enumerate([burn_in, *np.diff([0, *ends]).tolist()]):
        sums = batches[k - 1] if k else np.empty(0)
        for done in range(0, n, at_a_time):
            look_around(field, walker)  # so that rounding does not add up
            sweep(field, walker, base, 1.0, min(at_a_time, n - done), nobody, False, sums)
            yield
        if k:
            sums /= n
            states[k - 1] = walker.state


def _log_mean(boxes: Boxes, states: np.ndarray, v: int, at: int) -> tuple[float, float]:
    """The log of the mean of P(v in one state | the others) over some states, and its squared standard error."""
    logits = logits_in(boxes, states)
    own = logits[:, boxes.first_state[v] : boxes.first_state[v + 1]]
    logs = logits[:, at] - np.logaddexp.reduce(own, axis=1)
    top = logs.max()
    shares = np.exp(logs - top)
    return float(top + math.log(shares.mean())), float(shares.var(ddof=1) / len(shares) / shares.mean() ** 2)
