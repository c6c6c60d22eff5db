"""Gibbs sampling: draw each variable in turn from its conditional given all the others.

It needs nothing but conditionals, so it serves models that have no joint distribution in closed form. In a Bayesian or
a Markov network it converges to that network's distribution. In a hybrid field or a dependency network, whose local
pieces need not agree with each other, it is an *ordered* Gibbs sampler (Heckerman et al. 2000, section 2): variables
are visited in the order of their columns, and what it converges to may depend on that order.

Two engines draw: models made of tables and trees look their conditionals up (see `lookup`), Markov networks keep the
logits of all variables at hand (see `walk`). Several chains start apart, and `chains` tells how far to trust them. Each
chain has its own random numbers, so nothing depends on the number of threads.

Probabilities of one variable are Rao-Blackwellised: its conditional is averaged, not its draws. For several
variables the joint states that were drawn are counted.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ConvergenceWarning
from quiltwork.infer.boxes import boxes_of, given
from quiltwork.infer.chains import (
    BATCHES,
    CHAINS,
    Estimate,
    batch_ends,
    check_cells,
    estimate,
    not_found,
    r_hat,
    side_by_side,
)
from quiltwork.infer.conditionals import Conditionals, conditionals
from quiltwork.infer.lookup import LANES, Lookup, is_possible, spelled_out, sweep
from quiltwork.infer.question import once_per_model
from quiltwork.infer.walk import field_of, look_around, walker_at
from quiltwork.infer.walk import sweep as sweep_boxes
from quiltwork.models.markov import MarkovNet
from quiltwork.rng import stream

MIXED = 1.1  # R-hat beyond which the chains of a sample are said not to have mixed,
DOUBTFUL = 0.05  # of what has more variance p (1 - p) than this
KERNEL_UPDATES = 2**20  # variables looked up (see `work`) before a kernel returns: some tens of milliseconds
THIN = 10  # sweeps between two rows of a sample

_NOTHING = np.empty(0, np.int64)


def gibbs_query(
    model: Any, asked: list[int], evidence: np.ndarray, n_samples: int, burn_in: int, seed: int
) -> Estimate | None:
    """Probabilities of the joint states of `asked`, the last varying fastest; None where no possible state is found."""
    n_states = [model.variables[v].n_states for v in asked]
    n_cells = check_cells(math.prod(n_states))
    chains = _chains(model, evidence, CHAINS, seed)
    if not _burn_in(chains, burn_in):
        return None
    batches = _batches(chains, n_samples, np.array(asked, np.int64), n_cells if len(asked) > 1 else 0)
    if len(asked) == 1:
        first = int(chains.first_state[asked[0]])
        batches = batches[:, :, first : first + n_states[0]]
    return estimate(batches, n_samples)


def gibbs_marginals(
    model: Any, evidence: np.ndarray, n_samples: int, burn_in: int, seed: int
) -> tuple[np.ndarray, bool, float]:
    """The distribution of every variable given the evidence, one after another; whether the chains agree; the largest
    standard error."""
    n_states = np.array([variable.n_states for variable in model.variables])
    batches = gibbs_batches(model, evidence, np.flatnonzero(evidence == NO_CODE), n_samples, burn_in, seed)
    first = np.cumsum(n_states) - n_states
    for v in np.flatnonzero(evidence != NO_CODE):
        batches[:, :, first[v] : first[v] + n_states[v]] = np.arange(n_states[v]) == evidence[v]
    found = estimate(batches, n_samples)
    return found.probabilities, found.converged, found.error


@once_per_model
def work(model: Any) -> int:
    """How long a sweep takes, in draws of a variable that is spelled out: ten nanoseconds each, about.

    >>> from quiltwork.models.textbook import textbook
    >>> work(textbook("asia"))
    8
    """
    if isinstance(model, MarkovNet):
        return 6 * len(model.variables) + len(boxes_of(model).variable) // 2
    laid_out, lookup = _prepared(model)
    computed = 1 + 4 * np.diff(laid_out.first_factor)  # from so many factors, at every draw
    return int(np.where(lookup.first_entry >= 0, 1, computed).sum())


def gibbs_batches(
    model: Any, evidence: np.ndarray, asked: np.ndarray, n_samples: int, burn_in: int, seed: int
) -> np.ndarray:
    """Batch means (chains, batches, all states) of the conditionals of what is asked for."""
    chains = _chains(model, evidence, CHAINS, seed)
    if not _burn_in(chains, burn_in):
        raise not_found("gibbs")
    return _batches(chains, n_samples, asked, 0)


def gibbs_sample(model: Any, n: int, seed: int, burn_in: int = 1000) -> list[np.ndarray]:
    """n rows as columns of codes: every tenth sweep of a few chains, after burn-in.

    Where the rows are too few to tell whether the chains agree, the conditionals of the second half of the burn-in do.
    """
    n_vars = len(model.variables)
    n_chains = max(CHAINS, min(n, 4 * CHAINS)) if n else 1
    chains = _chains(model, np.full(n_vars, NO_CODE, np.uint16), n_chains, seed)
    _burn_in(chains, burn_in // 2)
    means = _means(chains, burn_in - burn_in // 2, n_chains)
    rows = np.empty((-(-n // n_chains), n_chains, n_vars), np.uint16)

    def tasks(g: int) -> Iterator[None]:
        own = chains.of_group(g)
        for row in rows:
            yield from chains.sweeps(g, THIN)
            row[own] = chains.states(g)

    side_by_side(tasks, chains.n_groups)
    if len(rows) >= 2 * BATCHES:
        means = (rows > 0).mean(axis=0)
    if n and _apart(means):
        way_out = (
            "Queries by 'exact' or 'mcsat' may tell more."
            if isinstance(model, MarkovNet)
            else "Smoother conditionals, or a Bayesian network of the same table, do not hold them fast."
        )
        warnings.warn(
            f"The Gibbs chains of this sample have not mixed; its rows lean on where the chains started. {way_out}",
            ConvergenceWarning,
            stacklevel=4,
        )
    return list(rows.reshape(-1, n_vars)[:n].T.copy())


def _apart(means: np.ndarray) -> bool:
    """Whether the means (chains, quantities) of chains differ more than those of chains that have mixed; what is
    nearly certain is left aside, for a single excursion of one chain sets them apart there."""
    shares = means.mean(axis=0)
    doubtful = shares * (1.0 - shares) > DOUBTFUL
    return bool((r_hat(means[:, None, doubtful]) > MIXED).any())


# Chains, whichever engine drives them


def _chains(model: Any, evidence: np.ndarray, n_chains: int, seed: int) -> LookupChains | BoxChains:
    return (BoxChains if isinstance(model, MarkovNet) else LookupChains)(model, evidence, n_chains, seed)


def _burn_in(chains: LookupChains | BoxChains, n: int) -> bool:
    """Sweep, and bring chains that are in an impossible state to one that another has found; False where none has."""
    side_by_side(lambda g: chains.sweeps(g, n), chains.n_groups)
    return chains.gather()


def _means(chains: LookupChains | BoxChains, n: int, n_chains: int) -> np.ndarray:
    """Means (chains, all states) of the conditionals of all variables over n sweeps."""
    means = np.zeros((n_chains, int(chains.first_state[-1])))
    everyone = np.arange(len(chains.first_state) - 1)

    def tasks(g: int) -> Iterator[None]:
        own = chains.of_group(g)
        sums = np.zeros(means[own].shape)
        yield from chains.sweeps(g, n, everyone, False, sums)
        means[own] = sums / max(1, n)

    side_by_side(tasks, chains.n_groups)
    return means


def _batches(chains: LookupChains | BoxChains, n_samples: int, asked: np.ndarray, n_cells: int) -> np.ndarray:
    """Batch means (chains, batches, cells) of the joint states of what is asked for; or, where n_cells is 0, of the
    conditionals of each, (chains, batches, all states)."""
    ends = batch_ends(n_samples, CHAINS)
    batches = np.zeros((CHAINS, len(ends), n_cells or chains.first_state[-1]))

    def tasks(g: int) -> Iterator[None]:
        own = chains.of_group(g)
        for k, n in enumerate(np.diff([0, *ends]).tolist()):
            sums = np.zeros(batches[own, k].shape)
            yield from chains.sweeps(g, n, asked, n_cells > 0, sums)
            batches[own, k] = sums / n

    side_by_side(tasks, chains.n_groups)
    return batches


class LookupChains:
    """Chains of a model made of tables and trees; LANES of them are one group."""

    def __init__(self, model: Any, evidence: np.ndarray, n_chains: int, seed: int):
        self._laid_out, self._lookup = _prepared(model)
        self._at_a_time = max(1, KERNEL_UPDATES // (LANES * work(model)))
        self._free = np.flatnonzero(evidence == NO_CODE)
        self.first_state, self.n_chains, self.n_groups = self._laid_out.first_state, n_chains, -(-n_chains // LANES)
        rng = stream(seed, 0)
        shape = self.n_groups, len(evidence), LANES
        self._states = (rng.random(shape) * self._laid_out.n_states[:, None]).astype(np.int64)
        known = evidence != NO_CODE
        self._states[:, known] = evidence[known, None]
        self._words = rng.integers(0, 2**63, (self.n_groups, LANES)).astype(np.uint64)

    def of_group(self, g: int) -> slice:
        return slice(g * LANES, min((g + 1) * LANES, self.n_chains))

    def states(self, g: int) -> np.ndarray:
        """(chains of the group, n_vars)"""
        return self._states[g].T[: self.n_chains - g * LANES]

    def sweeps(
        self, g: int, n: int, asked: np.ndarray = _NOTHING, joint: bool = False, sums: np.ndarray | None = None
    ) -> Iterator[None]:
        """Sweep the chains of a group, returning to Python often; adds what is asked for to sums (chains, cells)."""
        wide = np.zeros((LANES, 0 if sums is None else sums.shape[1]))
        is_asked = np.zeros(self._states.shape[1], np.bool_)
        is_asked[asked] = not joint
        where = self._states[g], self._words[g], self._free
        for done in range(0, n, self._at_a_time):
            sweep(self._laid_out, self._lookup, *where, min(self._at_a_time, n - done), asked, is_asked, joint, wide)
            yield
        if sums is not None:
            sums += wide[: len(sums)]

    def gather(self) -> bool:
        """Bring chains in an impossible state to one that is; False where there is none."""
        lanes = self._states.transpose(0, 2, 1).reshape(-1, self._states.shape[1])
        possible = np.array([is_possible(self._laid_out, state) for state in lanes])
        found = np.flatnonzero(possible)
        for k, lost in enumerate(np.flatnonzero(~possible) if len(found) else ()):
            self._states[lost // LANES, :, lost % LANES] = lanes[found[k % len(found)]]
        return len(found) > 0


@once_per_model
def _prepared(model: Any) -> tuple[Conditionals, Lookup]:
    laid_out = conditionals(model)
    return laid_out, spelled_out(laid_out)


class BoxChains:
    """Chains of a Markov network; each is a group by itself. No state of it is impossible."""

    def __init__(self, model: MarkovNet, evidence: np.ndarray, n_chains: int, seed: int):
        boxes, _ = given(boxes_of(model), evidence)
        known = evidence != NO_CODE
        self._field = field_of(boxes)._replace(free=np.flatnonzero(~known))
        self._base = np.zeros(boxes.first_state[-1])
        self.first_state, self.n_groups = boxes.first_state, n_chains
        self._walkers = []
        for k in range(n_chains):
            rng = stream(seed, 0, k)
            state = (rng.random(len(evidence)) * boxes.n_states).astype(np.int64)
            state[known] = evidence[known]
            self._walkers.append(walker_at(self._field, state, rng))

    def of_group(self, g: int) -> slice:
        return slice(g, g + 1)

    def states(self, g: int) -> np.ndarray:
        """(1, n_vars)"""
        return self._walkers[g].state[None]

    def sweeps(
        self, g: int, n: int, asked: np.ndarray = _NOTHING, joint: bool = False, sums: np.ndarray | None = None
    ) -> Iterator[None]:
        """Sweep a chain, returning to Python often; adds what is asked for to sums (1, cells)."""
        at_a_time = max(1, KERNEL_UPDATES // 4 // max(1, len(self._field.free)))
        own = np.empty(0) if sums is None else sums[0]
        for done in range(0, n, at_a_time):
            look_around(self._field, self._walkers[g])  # so that rounding does not add up
            sweep_boxes(self._field, self._walkers[g], self._base, 1.0, min(at_a_time, n - done), asked, joint, own)
            yield

    def gather(self) -> bool:
        return True
