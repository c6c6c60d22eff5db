"""How far to trust chains of samples: do they agree, and how many independent draws are they worth?

Chains that start apart and have forgotten their starts differ no more than chance lets them. R-hat (Gelman and Rubin
1992) sets the spread of the chains' means against the spread of the quantity itself; for the probability p of a state
that is p (1 - p). It is 1 where they agree, and 1.01, the limit that Vehtari et al. (2021) ask for, where each chain is
worth some fifty independent draws. The standard error comes from the means of batches within chains, or from the
chains' means where these differ more than their batches let expect. But chains cannot differ about a state that none of
them has come to. What n draws have not shown may still have a probability of 1 / n, so no error is below that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from quiltwork.errors import ResourceLimitError, ZeroEvidenceError

CHAINS = 8
MAX_CELLS = 4096  # joint states of a query
BATCHES = 10  # per chain
R_HAT_LIMIT = 1.01


class Estimate(NamedTuple):
    """What chains say about the probabilities of some cells.

    probabilities  (cells,) their mean over all chains
    error          the largest standard error of one of them, 1 / n_samples at least
    r_hat          the largest of a cell
    n_effective    independent draws that would give errors of this size
    converged      whether r_hat is within its limit
    """

    probabilities: np.ndarray
    error: float
    r_hat: float
    n_effective: float
    converged: bool


def estimate(batches: np.ndarray, n_samples: int) -> Estimate:
    """Judge batch means (chains, batches, cells) of n_samples draws.

    >>> same = estimate(np.full((8, 10, 2), 0.5), 800)
    >>> same.r_hat, same.error, same.converged
    (1.0, 0.00125, True)
    >>> apart = estimate(np.repeat([[[1.0, 0.0]], [[0.0, 1.0]]], 10, axis=1), 800)
    >>> apart.r_hat > 1.1, apart.converged
    (True, False)
    """
    means, squared_error = batches.mean(axis=(0, 1)), squared_errors(batches)
    spread = (means * (1.0 - means)).sum()
    n_effective = float(spread / squared_error.sum()) if squared_error.sum() > 1e-24 else float(n_samples)
    worst = float(r_hat(batches).max(initial=1.0))
    error = max(float(np.sqrt(squared_error.max(initial=0.0))), 1.0 / n_samples)
    return Estimate(means, error, worst, n_effective, worst <= R_HAT_LIMIT)


def squared_errors(batches: np.ndarray) -> np.ndarray:
    """The squared standard error of the mean of each cell, from batch means (chains, batches, cells)."""
    n_chains, n_batches, n_cells = batches.shape
    of_batches = batches.reshape(-1, n_cells).var(axis=0, ddof=1) / (n_chains * n_batches)
    return np.maximum(of_batches, batches.mean(axis=1).var(axis=0, ddof=1) / n_chains)


def r_hat(batches: np.ndarray) -> np.ndarray:
    """Gelman and Rubin's ratio for each cell, from means (chains, batches, cells) of what lies between 0 and 1."""
    means = batches.mean(axis=(0, 1))
    between = batches.mean(axis=1).var(axis=0, ddof=1)
    spread = means * (1.0 - means)
    apart = np.where(between > 1e-12, np.inf, 0.0)  # chains that differ about what never varies
    return np.sqrt(1.0 + np.divide(between, spread, out=apart, where=spread > 1e-12))


def batch_ends(n_samples: int, n_chains: int) -> list[int]:
    """After how many of its own samples each batch of a chain ends, so that all chains have n_samples or a few more.

    >>> batch_ends(1000, 8)
    [12, 25, 37, 50, 62, 75, 87, 100, 112, 125]
    """
    per_chain = max(-(-n_samples // n_chains), BATCHES)
    return [per_chain * (k + 1) // BATCHES for k in range(BATCHES)]


def check_cells(n_cells: int) -> int:
    """The joint states of a query, if an estimate may be of so many."""
    if n_cells > MAX_CELLS:
        raise ResourceLimitError(
            f"An estimate tells apart at most {MAX_CELLS:,} joint states, and this query has {n_cells:,}; "
            "ask for fewer variables at a time, or use marginals for the distribution of each."
        )
    return n_cells


def not_found(method: str) -> ZeroEvidenceError:
    """What to raise where chains never come to a possible state."""
    return ZeroEvidenceError(
        f"No possible state that agrees with the evidence was found by {method!r}: it may have probability zero under "
        "this model. Change or drop a part of it, or ask with method='exact', which can tell."
    )


def side_by_side(task: Callable[[int], Iterator[None]], n: int) -> None:
    """Run task(i) for each i < n on all cores; each writes a part of the answer that is its own.

    A task yields between two calls of a kernel, so that Ctrl-C, or the error of another task, ends it there.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    stopped = False

    def run(i: int) -> None:
        nonlocal stopped
        try:
            for _ in task(i):
                if stopped:
                    return
        except BaseException:
            stopped = True
            raise

    if min(cores, n) <= 1:
        for i in range(n):
            run(i)
        return
    with ThreadPoolExecutor(min(cores, n), thread_name_prefix="quiltwork") as pool:
        try:
            for future in [pool.submit(run, i) for i in range(n)]:
                future.result()
        except BaseException:
            stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise
