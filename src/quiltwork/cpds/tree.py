"""Decision trees: the child's distribution hangs on a walk from the root to a leaf.

Each inner node asks about one parent. A binary split asks "is it in this state or not" and has two branches; a
complete split has one branch per state. A leaf holds one distribution, and counts say which training rows met there.

Everything is flat arrays, so that a tree can be walked by kernels and laid in a file:

    node k is a leaf    variable[k] = -1, and its distribution is probs[first[k]]
    a binary split      variable[k] = v, state[k] = s: to branches[first[k]] where v = s, else to branches[first[k] + 1]
    a complete split    variable[k] = v, state[k] = -1: to branches[first[k] + state of v]

Node 0 is the root, and every branch leads to a node of a higher number, so no walk can go in a circle.

Papers   Heckerman, Chickering, Meek, Rounthwaite, Kadie (2000), section 3
         Chickering, Heckerman, Meek (1997), sections 2-3
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ResourceLimitError

LEAF, COMPLETE = -1, -1  # in `variable` and in `state`
MAX_ENTRIES = 2**22  # of a tree turned into a table

_Known = dict[int, tuple[bool, frozenset[int]]]  # of a variable on a path: it is in this state, or in none of these


@dataclass(frozen=True, eq=False)
class TreeCPD:
    """P(child | parents) as a decision tree.

    child     column of the child
    variable  (n_nodes,) column a node splits on, -1 for a leaf
    state     (n_nodes,) state of a binary split, -1 for a complete one
    first     (n_nodes,) where the branches of a split begin; the row of a leaf
    branches  (n_branches,) the nodes they lead to
    flow      (n_branches,) training rows that took each branch
    gain      (n_nodes,) what the split gained in score when it entered, 0 for a leaf
    probs     (n_leaves, states of the child)
    counts    (n_leaves, states of the child) training rows at each leaf

    >>> cpd = TreeCPD(
    ...     child=1,
    ...     variable=np.array([0, -1, -1]), state=np.array([1, -1, -1]), first=np.array([0, 0, 1]),
    ...     branches=np.array([1, 2]), flow=np.array([10.0, 30.0]), gain=np.array([4.2, 0, 0]),
    ...     probs=np.array([[0.1, 0.9], [0.8, 0.2]]), counts=np.array([[1.0, 9.0], [24.0, 6.0]]),
    ... )
    >>> cpd.parents, cpd.n_leaves
    ((0,), 2)
    >>> np.exp(cpd.log_probs(np.array([[1, 0], [0, 0], [NO_CODE, 0]], np.uint16))).round(3)
    array([[0.1  , 0.9  ], [0.8  , 0.2  ], [0.625, 0.375]])
    """

    child: int
    variable: np.ndarray
    state: np.ndarray
    first: np.ndarray
    branches: np.ndarray
    flow: np.ndarray
    gain: np.ndarray
    probs: np.ndarray
    counts: np.ndarray

    kind = "tree"

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Columns the tree splits on, ascending."""
        return tuple(np.unique(self.variable[self.variable != LEAF]).tolist())

    @property
    def n_leaves(self) -> int:
        return len(self.probs)

    @property
    def n_parameters(self) -> int:
        """Free parameters: those of the leaves that some row can reach."""
        splits = self.variable != LEAF
        return (1 + int((self.ways[splits] - 1).sum())) * (self.probs.shape[1] - 1)

    @cached_property
    def end(self) -> np.ndarray:
        """(n_nodes,) where the branches of a split end: those of all splits lie in the order of the nodes."""
        splits = np.flatnonzero(self.variable != LEAF)
        out = np.zeros(len(self.variable), np.int64)
        out[splits] = np.append(self.first[splits[1:]], len(self.branches))
        return out

    @cached_property
    def ways(self) -> np.ndarray:
        """(n_nodes,) branches of a split that some row can take, 0 for a leaf: those above it may leave fewer states.

        >>> TreeCPD(  # is v0 in state 2? if not, which of its three states is it in?
        ...     child=1, variable=np.array([0, -1, 0, -1, -1, -1]), state=np.array([2, -1, -1, -1, -1, -1]),
        ...     first=np.array([0, 0, 2, 1, 2, 3]), branches=np.arange(1, 6), flow=np.ones(5), gain=np.zeros(6),
        ...     probs=np.full((4, 2), 0.5), counts=np.ones((4, 2)),
        ... ).ways
        array([2, 0, 2, 0, 0, 0])
        """
        out = np.where(self.variable != LEAF, self.end - self.first, 0)
        if not ((self.variable != LEAF) & (self.state == COMPLETE)).any():
            return out
        waiting: list[tuple[int, _Known]] = [(0, {})]
        while waiting:
            k, known = waiting.pop()
            v, s = int(self.variable[k]), int(self.state[k])
            if v == LEAF:
                continue
            is_one, states = known.get(v, (False, frozenset[int]()))
            branches = self.branches[self.first[k] : self.end[k]].tolist()
            if s == COMPLETE:
                out[k] = 1 if is_one else len(branches) - len(states)
                waiting += [(node, {**known, v: (True, frozenset([x]))}) for x, node in enumerate(branches)]
            else:
                waiting.append((branches[0], {**known, v: (True, frozenset([s]))}))
                waiting.append((branches[1], known if is_one else {**known, v: (False, states | {s})}))
        return out

    @cached_property
    def node_counts(self) -> np.ndarray:
        """(n_nodes, states of the child) training rows at every node; in a tree, those of its leaves."""
        out = np.zeros((len(self.variable), self.probs.shape[1]))
        _sum_up(self.variable, self.first, self.end, self.branches, self.counts, out)
        return out

    def visits(self, codes: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """(n_nodes, states of the child) rows of codes that pass through every node; no parent may be missing."""
        out = np.zeros((len(self.variable), self.probs.shape[1]))
        weights = np.ones(len(codes)) if weights is None else weights
        _count_visits(self.variable, self.state, self.first, self.branches, codes, weights, self.child, out)
        return out

    def leaves(self, codes: np.ndarray) -> np.ndarray:
        """The leaf (row of probs) that each row of codes (rows, n_vars) reaches; no parent may be missing."""
        out = np.empty(len(codes), np.int64)
        _find_leaves(self.variable, self.state, self.first, self.branches, codes, out)
        return out

    def log_probs(self, codes: np.ndarray) -> np.ndarray:
        """log P(child = s | the row's parents), (rows, states).

        Where a split meets a missing value the walk goes on along all its branches, weighted as the training rows
        took them.
        """
        out = np.empty((len(codes), self.probs.shape[1]))
        _add_leaves(self.variable, self.state, self.first, self.end, self.branches, self.flow, self.probs, codes, out)
        return np.log(out, out=np.full(out.shape, -np.inf), where=out > 0)

    def n_entries(self, n_states: np.ndarray) -> float:
        """Numbers in the table that `to_table` makes."""
        sizes = [int(n_states[p]) for p in self.parents]
        return float(min(math.prod(sizes) * self.probs.shape[1], 10**300))

    def to_table(self, n_states: np.ndarray, max_entries: int = MAX_ENTRIES) -> TableCPD:
        """The same distribution as a table over all configurations of the parents."""
        sizes = [int(n_states[p]) for p in self.parents]
        if (n_entries := self.n_entries(n_states)) > max_entries:
            raise ResourceLimitError(
                f"A {self.kind} over {len(sizes)} parents would be a table with {n_entries:.3g} entries, past "
                f"the limit of {max_entries:,}; ask with method='gibbs', or learn with max_parents."
            )
        codes = np.indices(sizes, np.uint16).reshape(len(sizes), math.prod(sizes)).T  # columns are the parents alone
        asks = np.where(self.variable == LEAF, LEAF, np.searchsorted(self.parents, self.variable))
        leaves = np.empty(len(codes), np.int64)
        _find_leaves(asks, self.state, self.first, self.branches, np.ascontiguousarray(codes), leaves)
        return TableCPD(self.child, self.parents, self.probs[leaves])

    def log_tables(self) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """The parts of log P that are tables over parents: none."""
        return []

    def decision_graphs(self) -> list[tuple[np.ndarray, ...]]:
        """The parts of log P that are walks: (variable, state, first, branches, log values at the leaves)."""
        logs = np.log(self.probs, out=np.full(self.probs.shape, -np.inf), where=self.probs > 0)
        return [(self.variable, self.state, self.first, self.branches, logs)]


# Kernels


@njit(cache=True, nogil=True)
def _find_leaves(variable, state, first, branches, codes, out):
    for i in range(codes.shape[0]):
        k = 0
        while variable[k] >= 0:
            x = codes[i, variable[k]]
            if state[k] < 0:
                k = branches[first[k] + x]
            else:
                k = branches[first[k] + (x != state[k])]
        out[i] = first[k]


@njit(cache=True, nogil=True)
def _add_leaves(variable, state, first, end, branches, flow, probs, codes, out):
    """Into out (rows, states) the distribution at the leaf of each row, or the mean of those it may reach.

    Branches lead to later nodes, so one pass over the nodes hands on the share of the row that reaches each.
    """
    shares = np.zeros(variable.size)
    for i in range(codes.shape[0]):
        k = 0
        while variable[k] >= 0:
            x = codes[i, variable[k]]
            if x == NO_CODE:
                break
            k = branches[first[k] + (x if state[k] < 0 else x != state[k])]
        if variable[k] < 0:
            out[i] = probs[first[k]]
            continue
        out[i] = 0.0
        shares[k] = 1.0
        for n in range(k, variable.size):
            share, shares[n] = shares[n], 0.0
            if share == 0.0:
                continue
            if variable[n] < 0:
                for s in range(out.shape[1]):
                    out[i, s] += share * probs[first[n], s]
                continue
            x = codes[i, variable[n]]
            if x != NO_CODE:
                shares[branches[first[n] + (x if state[n] < 0 else x != state[n])]] += share
                continue
            total = 0.0
            for b in range(first[n], end[n]):
                total += flow[b]
            for b in range(first[n], end[n]):
                shares[branches[b]] += share * (flow[b] / total if total > 0 else 1.0 / (end[n] - first[n]))


@njit(cache=True, nogil=True)
def _count_visits(variable, state, first, branches, codes, weights, child, out):
    for i in range(codes.shape[0]):
        k = 0
        s = codes[i, child]
        out[k, s] += weights[i]
        while variable[k] >= 0:
            x = codes[i, variable[k]]
            if state[k] < 0:
                k = branches[first[k] + x]
            else:
                k = branches[first[k] + (x != state[k])]
            out[k, s] += weights[i]


@njit(cache=True, nogil=True)
def _sum_up(variable, first, end, branches, counts, out):
    """Children come after their parents, so one pass from the last node to the first adds them up."""
    for k in range(variable.size - 1, -1, -1):
        if variable[k] < 0:
            out[k] += counts[first[k]]
        else:
            for b in range(first[k], end[k]):
                out[k] += out[branches[b]]
