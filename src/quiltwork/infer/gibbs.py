"""Gibbs sampling: draw each variable in turn from its conditional given all the others.

It needs nothing but conditionals, so it serves models that have no joint distribution in closed form. In a Bayesian
network it converges to that network's distribution. In a hybrid field or a dependency network, whose local pieces
need not agree with each other, it is an *ordered* Gibbs sampler (Heckerman et al. 2000, section 2): the variables are
visited in the order of their columns, and what it converges to may depend on that order.

Several chains start apart. How far they agree (R-hat) tells whether they have forgotten their starts, and the spread of
their batch means how sure the answer is.

Probabilities of one variable are Rao-Blackwellised: its conditional is averaged, not its draws. For several
variables the joint states that were drawn are counted.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numba import njit

from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ConvergenceWarning, ResourceLimitError
from quiltwork.infer.conditionals import conditionals
from quiltwork.rng import stream

CHAINS = 8
R_HAT_LIMIT = 1.1
BATCHES = 10  # per chain
MAX_CELLS = 4096  # joint states of a query
KERNEL_UPDATES = 2**20  # variables drawn before a kernel returns: some tens of milliseconds
THIN = 10  # sweeps between two rows of a sample


def gibbs_query(
    model: Any, asked: list[int], evidence: np.ndarray, n_samples: int, burn_in: int, seed: int
) -> tuple[np.ndarray, bool, float]:
    """Probabilities of the joint states of `asked`, whether the chains agree, and the largest standard error."""
    laid_out = conditionals(model)
    n_cells = math.prod(int(laid_out.n_states[v]) for v in asked)
    if n_cells > MAX_CELLS:
        raise ResourceLimitError(
            f"A query by sampling can tell apart {MAX_CELLS:,} joint states, and this one has {n_cells:,}; "
            "ask for fewer variables at a time."
        )
    per_chain = -(-n_samples // CHAINS)
    chains = _start(laid_out, evidence, CHAINS, seed)
    _run(laid_out, evidence, chains, burn_in)
    batches = np.empty((CHAINS, BATCHES, n_cells))
    for b in range(BATCHES):
        sweeps = per_chain * (b + 1) // BATCHES - per_chain * b // BATCHES
        batches[:, b] = _run(laid_out, evidence, chains, max(sweeps, 1), np.array(asked, np.int64), n_cells)
    error = batches.reshape(-1, n_cells).std(axis=0, ddof=1) / math.sqrt(CHAINS * BATCHES)
    shape = [int(laid_out.n_states[v]) for v in asked]
    return batches.mean(axis=(0, 1)).reshape(shape), bool(_r_hat(batches).max() <= R_HAT_LIMIT), float(error.max())


def gibbs_sample(model: Any, n: int, seed: int, burn_in: int = 1000) -> list[np.ndarray]:
    """n rows as columns of codes: every tenth sweep of a few chains, after burn-in."""
    laid_out = conditionals(model)
    n_vars = len(laid_out.n_states)
    nothing = np.full(n_vars, NO_CODE, np.uint16)
    n_chains = max(1, min(n, 4 * CHAINS))
    chains = _start(laid_out, nothing, n_chains, seed)
    _run(laid_out, nothing, chains, burn_in)
    rows = np.empty((-(-n // n_chains), n_chains, n_vars), np.uint16)
    for k in range(len(rows)):
        _run(laid_out, nothing, chains, THIN)
        rows[k] = chains[0]
    if len(rows) >= 2 * BATCHES:
        batches = np.stack([(part > 0).mean(axis=0) for part in np.array_split(rows, BATCHES)], axis=1)
        if _r_hat(batches).mean() > R_HAT_LIMIT:
            warnings.warn(
                "The Gibbs chains of this sample have not mixed; its rows lean on where the chains started.",
                ConvergenceWarning,
                stacklevel=4,
            )
    return list(rows.reshape(-1, n_vars)[:n].T.copy())


def _start(laid_out: Any, evidence: np.ndarray, n_chains: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Chains at random states, the evidence set: (states (chains, n_vars), generator states (chains, 1))."""
    rng = stream(seed, 0)
    states = (rng.random((n_chains, len(laid_out.n_states))) * laid_out.n_states).astype(np.uint16)
    known = evidence != NO_CODE
    states[:, known] = evidence[known]
    return states, rng.integers(0, 2**63, (n_chains, 1)).astype(np.uint64)


def _run(
    laid_out: Any,
    evidence: np.ndarray,
    chains: tuple[np.ndarray, np.ndarray],
    sweeps: int,
    asked: np.ndarray | None = None,
    n_cells: int = 0,
) -> np.ndarray:
    """Sweep every chain, returning to Python often; the mean probability of each cell by chain, if any is asked for."""
    states, generators = chains
    free = np.flatnonzero(evidence == NO_CODE)
    at_a_time = max(1, KERNEL_UPDATES // max(1, len(free)))
    wanted = np.empty(0, np.int64) if asked is None else asked
    sums = np.zeros((len(states), n_cells))
    for c in range(len(states)):
        for done in range(0, sweeps, at_a_time):
            _sweep(laid_out, states[c], free, min(at_a_time, sweeps - done), generators[c], wanted, sums[c])
    return sums / sweeps


def _r_hat(batches: np.ndarray) -> np.ndarray:
    """Gelman and Rubin's ratio for each cell, with batch means (chains, batches, cells) as the observations.

    About 1 where the chains differ no more than their own batches let expect. Of chains that agree, a binary
    query passes the limit by chance about once in 150 times (F distribution with 7 and 72 degrees of freedom).
    """
    n = batches.shape[1]
    within = batches.var(axis=1, ddof=1).mean(axis=0)
    between = batches.mean(axis=1).var(axis=0, ddof=1)
    ratio = np.divide(between, within, out=np.where(between > 1e-12, np.inf, 1.0 / n), where=within > 1e-12)
    return np.sqrt((n - 1) / n + ratio)


@njit(cache=True, nogil=True)
def _sweep(laid_out, state, free, sweeps, generator, asked, sums):
    """Draw every free variable in order, `sweeps` times; add to sums (cells,) after each sweep."""
    logits = np.empty(laid_out.n_states.max())
    word = generator[0]
    for _ in range(sweeps):
        for v in free:
            r = laid_out.n_states[v]
            top = _conditional(laid_out, state, v, logits)
            total = 0.0
            for s in range(r):
                logits[s] = math.exp(logits[s] - top)
                total += logits[s]
            # splitmix64: one multiply-and-shift generator per chain
            word += np.uint64(0x9E3779B97F4A7C15)
            x = word
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
            left = np.float64(x >> np.uint64(11)) * (total / 9007199254740992.0)
            s = 0
            while s + 1 < r and left >= logits[s]:
                left -= logits[s]
                s += 1
            while logits[s] == 0.0:  # rounding may leave the last state, though it cannot happen
                s -= 1
            state[v] = s
        if asked.size == 1:
            top = _conditional(laid_out, state, asked[0], logits)
            total = 0.0
            for s in range(sums.size):
                logits[s] = math.exp(logits[s] - top)
                total += logits[s]
            for s in range(sums.size):
                sums[s] += logits[s] / total
        elif asked.size > 1:
            cell = 0
            for v in asked:
                cell = cell * laid_out.n_states[v] + state[v]
            sums[cell] += 1.0
    generator[0] = word


@njit(cache=True, nogil=True)
def _conditional(laid_out, state, v, logits):
    """Logits of v given the others; returns the largest. Where no state is possible all are taken as equal."""
    r = laid_out.n_states[v]
    logits[:r] = 0.0
    for f in range(laid_out.first_factor[v], laid_out.first_factor[v + 1]):
        at = laid_out.entry[f]
        for t in range(laid_out.first_term[f], laid_out.first_term[f + 1]):
            at += laid_out.stride[t] * state[laid_out.variable[t]]
        for s in range(r):
            logits[s] += laid_out.log_values[at + laid_out.own_stride[f] * s]
    top = -np.inf
    for s in range(r):
        top = max(top, logits[s])
    if top == -np.inf:
        logits[:r] = 0.0
        return 0.0
    return top
