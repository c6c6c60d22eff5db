"""Hoeffding trees: decision trees that grow while rows stream by, each row seen once.

A leaf counts, for every other variable, how often each of its states met each state of the target. Every `grace` rows
it asks whether its best split would also be the best of all the rows that it will ever see. The gain of a split per row
lies between 0 and R = log(states of the target), so by Hoeffding's bound the mean over n rows is, with probability
1 - delta, within

    epsilon = R * sqrt(log(1 / delta) / (2 n))

of what it would be over endless rows. The leaf is split when its best gain leads the second best (and no split at
all, which gains 0) by more than epsilon, or when epsilon is below `tie`, so that the two are as good as each other.
Gains are those of the batch trees (`scores/splits.py`), prior included; so with enough rows the splits are theirs too.

Paper    Domingos, Hulten (2000), Mining high-speed data streams, section 2
Differs  the children of a split start with the target's counts in it, so that their distributions are good at once;
         the counts by which they will be split start from nothing, as in the paper
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.dataset import physical_memory
from quiltwork.errors import ResourceLimitError

ROWS_AT_A_TIME = 1024  # of one call of the kernel
VARIABLE, STATE, CHILD, SLOT = range(4)  # what is kept of a node; a leaf has variable -1 and a slot for its counts


@dataclass(frozen=True)
class StreamRules:
    """kappa, prior probability of a parameter; delta, tie and grace as above."""

    kappa: float = 0.01
    delta: float = 1e-7
    tie: float = 0.05
    grace: int = 200


class HoeffdingTree:
    """The tree of one target while it grows.

    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(2, size=4000)
    >>> codes = np.stack([rain, rain ^ (rng.random(4000) < 0.1), rng.integers(2, size=4000)], axis=1)
    >>> tree = HoeffdingTree(1, np.array([2, 2, 2]))
    >>> tree.feed(codes.astype(np.uint16), StreamRules())
    >>> tree.cpd().parents, tree.cpd().probs.round(1)
    ((0,), array([[0.1, 0.9], [0.9, 0.1]]))
    """

    def __init__(self, target: int, n_states: np.ndarray):
        self.target, self.n_states = target, n_states
        self._first = np.concatenate([[0], np.cumsum(n_states)]).astype(np.int64)
        r = int(n_states[target])
        self._nodes, self._n_nodes, self._n_slots = np.zeros((1, 4), np.int64), 1, 1
        self._nodes[0] = -1, -1, -1, 0
        self._own, self._gain = np.zeros((1, r)), np.zeros(1)  # by node
        self._counts = np.zeros((1, r, int(self._first[-1])))  # by slot: the target's states with all others'
        self._seen, self._asked = np.zeros(1), np.zeros(1)  # by slot: rows, and rows when last asked for a split

    @property
    def nbytes(self) -> int:
        return self._counts.nbytes

    def feed(self, codes: np.ndarray, rules: StreamRules) -> None:
        """Let rows of codes (rows, n_vars) uint16, all of them complete, stream by."""
        done = 0
        while done < len(codes):
            while self._n_nodes + 2 > len(self._nodes):
                self._make_room()
            block = codes[done : done + ROWS_AT_A_TIME]
            state = self._nodes, self._own, self._gain, self._counts, self._seen, self._asked
            how = math.log(rules.kappa), math.log(1 / rules.delta), rules.tie, rules.grace
            n, self._n_nodes, self._n_slots = _feed(
                block, self.target, self._first, *state, self._n_nodes, self._n_slots, *how
            )
            done += n

    def _make_room(self) -> None:
        if 4 * self.nbytes > physical_memory():
            raise ResourceLimitError(
                f"The counts of a stream's tree over {len(self.n_states):,} variables take {self.nbytes / 2**30:.1f} "
                "GB already: leave out rare columns, or lower kappa or tie."
            )
        self._nodes, self._own, self._gain, self._counts, self._seen, self._asked = (
            np.concatenate([array, np.zeros_like(array)])
            for array in (self._nodes, self._own, self._gain, self._counts, self._seen, self._asked)
        )

    def cpd(self) -> TreeCPD:
        """The tree as it is now."""
        nodes, own = self._nodes[: self._n_nodes], self._own[: self._n_nodes]
        is_leaf = nodes[:, VARIABLE] < 0
        first = np.where(is_leaf, np.cumsum(is_leaf) - 1, 2 * (np.cumsum(~is_leaf) - 1))
        child = nodes[~is_leaf, CHILD]
        branches = np.stack([child, child + 1], axis=1).ravel()
        counts = own[is_leaf]
        return TreeCPD(
            child=self.target, variable=nodes[:, VARIABLE].copy(), state=nodes[:, STATE].copy(), first=first,
            branches=branches, flow=own[branches].sum(axis=1), gain=self._gain[: self._n_nodes].copy(),
            probs=(counts + 1) / (counts.sum(axis=1, keepdims=True) + counts.shape[1]), counts=counts,
        )  # fmt: skip


# Kernels


@njit(cache=True, nogil=True)
def _feed(
    codes, target, first, nodes, own, gain, counts, seen, asked, n_nodes, n_slots, log_kappa, log_delta, tie, grace
):
    """Rows done (fewer than there are when two more nodes would not fit), nodes and slots in use."""
    r = own.shape[1]
    for i in range(codes.shape[0]):
        k, t = 0, codes[i, target]
        own[0, t] += 1
        while nodes[k, VARIABLE] >= 0:
            k = nodes[k, CHILD] + (codes[i, nodes[k, VARIABLE]] != nodes[k, STATE])
            own[k, t] += 1
        slot = nodes[k, SLOT]
        line = counts[slot, t]
        for v in range(codes.shape[1]):
            line[first[v] + codes[i, v]] += 1
        seen[slot] += 1
        if seen[slot] - asked[slot] < grace:
            continue
        asked[slot] = seen[slot]
        best, variable, state, second = _two_best(counts[slot], target, first, seen[slot], log_kappa)
        epsilon = math.log(r) * math.sqrt(log_delta / (2 * seen[slot]))
        if best <= 0 or (best - max(second, 0.0) <= epsilon and epsilon >= tie):
            continue
        nodes[k, VARIABLE], nodes[k, STATE], nodes[k, CHILD], nodes[k, SLOT] = variable, state, n_nodes, -1
        gain[k] = best * seen[slot]
        _share(own, k, n_nodes, counts[slot], target, first, variable, state)
        for child in range(n_nodes, n_nodes + 2):
            nodes[child, VARIABLE], nodes[child, STATE], nodes[child, CHILD] = -1, -1, -1
            nodes[child, SLOT] = slot if child == n_nodes else n_slots
            gain[child] = 0.0
            counts[nodes[child, SLOT]] = 0.0
            seen[nodes[child, SLOT]] = asked[nodes[child, SLOT]] = 0.0
        n_nodes, n_slots = n_nodes + 2, n_slots + 1
        if n_nodes + 2 > nodes.shape[0]:
            return i + 1, n_nodes, n_slots
    return codes.shape[0], n_nodes, n_slots


@njit(cache=True, nogil=True)
def _share(own, k, child, counts, target, first, variable, state):
    """Divide the target's counts at node k among its two children as the counts of the leaf say."""
    for t in range(own.shape[1]):
        inside = counts[t, first[variable] + state]
        n = counts[t, first[target] + t]  # rows of this state that the leaf has seen; others came before its last split
        share = inside / n if n > 0 else 0.5
        own[child, t] = own[k, t] * share
        own[child + 1, t] = own[k, t] - own[child, t]


@njit(cache=True, nogil=True)
def _two_best(counts, target, first, n, log_kappa):
    """The best split: its gain per row, variable and state; and the gain of the best by another split."""
    r = counts.shape[0]
    own = np.empty(r)
    for t in range(r):
        own[t] = counts[t, first[target] + t]
    base = _worth(own)
    inside, outside = np.empty(r), np.empty(r)
    best, variable, state, second = -np.inf, -1, -1, -np.inf
    for v in range(first.size - 1):
        n_states = first[v + 1] - first[v]
        if v == target or n_states < 2:
            continue
        for s in range(1 if n_states == 2 else 0, n_states):
            n_inside = 0.0
            for t in range(r):
                inside[t] = counts[t, first[v] + s]
                outside[t] = own[t] - inside[t]
                n_inside += inside[t]
            if n_inside == 0 or n_inside == n:
                continue
            here = _worth(inside) + _worth(outside) - base + (r - 1) * log_kappa
            if here > best + 1e-9:
                best, variable, state, second = here, v, s, best
            else:
                second = max(second, here)
    return best / n, variable, state, second / n


@njit(cache=True, nogil=True)
def _worth(counts):
    """The Bayesian score of a leaf under the uniform prior."""
    score = math.lgamma(counts.size) - math.lgamma(counts.size + counts.sum())
    for count in counts:
        score += math.lgamma(1.0 + count)
    return score
