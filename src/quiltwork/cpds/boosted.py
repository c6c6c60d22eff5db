"""Boosted trees: a linear predictor, and many shallow trees that correct it one after another.

    log P(child = s | row) = linear part[s] + sum over trees of values[leaf that the row reaches][s] - log Z

The trees lie one after another in flat arrays; inside each, nodes, branches and leaves are numbered from 0, as in
`cpds.tree`. A parent whose value is missing adds its mean to the linear part, and in a tree the walk goes on along all
branches, weighted as the training rows took them.

Paper    Friedman, Greedy function approximation: a gradient boosting machine (2001)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit

from quiltwork.cpds.logistic import LARGEST, LogisticCPD
from quiltwork.cpds.tree import LEAF
from quiltwork.data.bits import add_where, full_plane
from quiltwork.data.dataset import NO_CODE

ROWS_AT_A_TIME = 256  # that walk a tree while it is in the cache
WORDS_AT_A_TIME = 64  # of rows that are told apart at once, while their answers are in the cache


@dataclass(frozen=True, eq=False)
class BoostedCPD:
    """P(child | parents) as a softmax of a linear predictor and trees.

    child     column of the child
    start     where boosting started: a regression, perhaps of the intercept alone
    n_leaves  (n_trees,) leaves of each tree, all of whose splits are binary
    variable  (n_nodes,) column a node splits on, -1 for a leaf
    state     (n_nodes,) "in this state" leads to the first branch, anything else to the second
    first     (n_nodes,) where the branches of a split begin in its tree; the row of a leaf in its tree
    branches  (n_branches,) nodes of the same tree
    flow      (n_branches,) training rows that took each branch
    values    (all leaves, states of the child) what a leaf adds to the logits

    >>> start = LogisticCPD(1, (), np.zeros(2), np.zeros(1, int), np.empty((0, 2)), np.empty((0, 2)))
    >>> cpd = BoostedCPD(
    ...     child=1, start=start, n_leaves=np.array([2]),
    ...     variable=np.array([0, -1, -1]), state=np.array([1, -1, -1]), first=np.array([0, 0, 1]),
    ...     branches=np.array([1, 2]), flow=np.array([1.0, 3.0]), values=np.array([[0.0, 2.0], [0.0, -2.0]]),
    ... )
    >>> np.exp(cpd.log_probs(np.array([[1, 0], [0, 0], [NO_CODE, 0]], np.uint16))).round(3)
    array([[0.119, 0.881],
           [0.881, 0.119],
           [0.731, 0.269]])
    """

    child: int
    start: LogisticCPD
    n_leaves: np.ndarray
    variable: np.ndarray
    state: np.ndarray
    first: np.ndarray
    branches: np.ndarray
    flow: np.ndarray
    values: np.ndarray

    kind = "boosted"

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Columns that the linear part or some tree reads, ascending."""
        asked = np.unique(self.variable[self.variable != LEAF]).tolist()
        return tuple(sorted({*self.start.parents, *asked}))

    @property
    def n_trees(self) -> int:
        return len(self.n_leaves)

    @property
    def starts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n_trees + 1,) each: where the nodes, the branches and the leaves of every tree begin."""
        leaves = np.concatenate([[0], np.cumsum(self.n_leaves)])
        trees = np.arange(len(leaves))
        return 2 * leaves - trees, 2 * (leaves - trees), leaves

    @property
    def n_parameters(self) -> int:
        """Free parameters: those of the linear part, and the leaves' values."""
        return self.start.n_parameters + len(self.values) * (self.values.shape[1] - 1)

    def split_worths(self, shares: np.ndarray, n_vars: int) -> np.ndarray:
        """(n_vars,) root of what the splits on each variable add at most to the log-likelihood, to second order.

        A split is worth half the rows it parts times the variance of what it adds to the logits, over its branches
        and over the child's states, whose shares (states,) of the rows are given. The steps of many trees add up, so
        their deviations are added, and with them the roots of what they are worth.
        """
        spread = (self._moves**2) @ shares - (self._moves @ shares) ** 2
        worths = np.maximum(0.5 * self.flow * spread, 0.0).reshape(-1, 2).sum(axis=1)
        return np.bincount(self.variable[self.variable != LEAF], np.sqrt(worths), n_vars)

    def withhold(self, columns: np.ndarray, changes: np.ndarray) -> None:
        """Change odds to what they are without a parent's part, whatever its state in columns (n_vars, rows).

        In the linear part that is what the parent adds beyond its mean. In a tree, what a row's logits move by at the
        splits on it, from the mean over the rows at the split to that over the rows of the branch; at each split these
        moves are zero on average. changes (n_parents, states - 1, rows filled up to words of 64), float32, are
        multiplied: the odds of each state against the first.
        """
        parents = np.array(self.parents, np.int64)
        if self.start.parents:
            place = np.searchsorted(parents, self.start.parents)
            linear = changes[place]
            self.start.withhold(columns, linear)
            changes[place] = linear
        question, variable, state = self._questions
        place = np.where(self.variable == LEAF, -1, np.searchsorted(parents, self.variable))
        back = np.exp(np.clip(self._moves[:, :1] - self._moves[:, 1:], -LARGEST, LARGEST)).astype(np.float32)
        _multiply_moves(
            *self.starts, question, place, self.first, self.branches, back, columns[variable], state, changes
        )

    @cached_property
    def _moves(self) -> np.ndarray:
        """(n_branches, states) what the mean of the logits moves by from a split to each of its branches."""
        moves = np.empty((len(self.branches), self.values.shape[1]))
        _find_moves(*self.starts, self.variable, self.first, self.branches, self.flow, self.values, moves)
        return moves

    def log_probs(self, codes: np.ndarray) -> np.ndarray:
        """log P(child = s | the row's parents), (rows, states)."""
        out = self.start.log_probs(codes)
        question, variable, state = self._questions
        walks = (*self.starts, self.variable, self.state, self.first, self.branches, self.flow, self.values)
        trees = (*self.starts, question, self.first, self.branches, self.values, variable, state)
        gaps = np.zeros(len(codes), np.bool_)
        if (codes == NO_CODE).any():
            gaps = (codes[:, variable] == NO_CODE).any(axis=1)
        if not gaps.any():
            _add_trees(*trees, codes, out)
            return out
        for rows, add, parts in ((np.flatnonzero(gaps), _add_walks, walks), (np.flatnonzero(~gaps), _add_trees, trees)):
            part = out[rows]
            add(*parts, codes[rows], part)
            out[rows] = part
        return out

    @cached_property
    def _questions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n_nodes,) which question a node asks, -1 for a leaf; the variable and the state of each question."""
        asks = self.variable != LEAF
        pairs = np.column_stack([self.variable, self.state])[asks]
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        question = np.full(len(self.variable), -1, np.int64)
        question[asks] = which.ravel()
        return question, distinct[:, 0].astype(np.int64), distinct[:, 1].astype(np.int64)

    def log_tables(self) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """The parts of log P that are tables over parents: the linear part."""
        return self.start.log_tables()

    def decision_graphs(self) -> list[tuple[np.ndarray, ...]]:
        """The parts of log P that are walks: one for each tree."""
        out = []
        node, branch, leaf = (one.tolist() for one in self.starts)
        for t in range(self.n_trees):
            nodes = slice(node[t], node[t + 1])
            branches = self.branches[branch[t] : branch[t + 1]].astype(np.int64)
            split = (one[nodes].astype(np.int64) for one in (self.variable, self.state, self.first))
            out.append((*split, branches, self.values[leaf[t] : leaf[t + 1]].astype(np.float64)))
        return out


def mean_of(alone: BoostedCPD, led: BoostedCPD) -> BoostedCPD:
    """The normalised geometric mean of two, one of which started without parents: half the logits of each.

    No row is less likely under it than under both on average of their logarithms, so it needs no judge to choose.

    >>> start = LogisticCPD(1, (), np.log([0.2, 0.8]), np.zeros(1, int), np.empty((0, 2)), np.empty((0, 2)))
    >>> no_ints, no_floats = np.empty(0, int), np.empty(0)
    >>> alone = BoostedCPD(1, start, *[no_ints] * 5, no_floats, np.empty((0, 2)))
    >>> led = replace(alone, start=replace(start, intercept=np.log([0.8, 0.2])))
    >>> np.exp(mean_of(alone, led).log_probs(np.zeros((1, 2), np.uint16)))
    array([[0.5, 0.5]])
    """
    assert not alone.start.parents
    intercept = (alone.start.intercept + led.start.intercept) / 2
    start = replace(led.start, intercept=intercept, weights=led.start.weights / 2, means=led.start.means / 2)
    names = ("n_leaves", "variable", "state", "first", "branches", "flow")
    nodes = {name: np.concatenate([getattr(alone, name), getattr(led, name)]) for name in names}
    return BoostedCPD(led.child, start, **nodes, values=np.concatenate([alone.values, led.values]) / 2)


# Kernels


@njit(cache=True, nogil=True)
def _add_trees(node_start, branch_start, leaf_start, question, first, branches, values, asked, wanted, codes, out):
    """Add what the trees say to out (rows, states), and normalise it; no row lacks a value.

    The answers to a question are a plane of bits, and so are the rows that reach a node.
    """
    n_rows, r = out.shape
    most = 0
    for t in range(node_start.size - 1):
        most = max(most, node_start[t + 1] - node_start[t])
    for begin in range(0, n_rows, 64 * WORDS_AT_A_TIME):
        n = min(64 * WORDS_AT_A_TIME, n_rows - begin)
        everyone = full_plane(n)
        answers, reached = np.zeros((asked.size, everyone.size), np.uint64), np.empty((most, everyone.size), np.uint64)
        for start in range(0, n, 64):  # rows that are looked at again and again while they are in the cache
            for q in range(asked.size):
                for i in range(start, min(start + 64, n)):
                    answers[q, i >> 6] |= np.uint64(codes[begin + i, asked[q]] == wanted[q]) << np.uint64(i & 63)
        sums = np.zeros((r, n))
        for t in range(node_start.size - 1):
            a, b, c = node_start[t], branch_start[t], leaf_start[t]
            reached[0] = everyone
            for k in range(node_start[t + 1] - a):  # children have higher numbers
                if question[a + k] < 0:
                    for s in range(r):
                        if values[c + first[a + k], s] != 0.0:
                            add_where(reached[k], values[c + first[a + k], s], sums[s])
                    continue
                yes, no = branches[b + first[a + k]], branches[b + first[a + k] + 1]
                plane = answers[question[a + k]]
                for w in range(everyone.size):
                    reached[yes, w], reached[no, w] = reached[k, w] & plane[w], reached[k, w] & ~plane[w]
        for s in range(r):
            for i in range(n):
                out[begin + i, s] += sums[s, i]
    _normalise(out)


@njit(cache=True, nogil=True)
def _add_walks(node_start, branch_start, leaf_start, variable, state, first, branches, flow, values, codes, out):
    """The same for rows that lack values: a walk goes on along both branches, each with its share."""
    for block in range(0, codes.shape[0], ROWS_AT_A_TIME):
        end = min(block + ROWS_AT_A_TIME, codes.shape[0])
        for t in range(node_start.size - 1):
            a, b, c = node_start[t], branch_start[t], leaf_start[t]
            n = node_start[t + 1] - a
            nodes, shares = np.empty(n, np.int64), np.empty(n)
            for i in range(block, end):
                row = out[i]
                nodes[0], shares[0], waiting = 0, 1.0, 1
                while waiting:
                    waiting -= 1
                    k, share = nodes[waiting], shares[waiting]
                    while variable[a + k] >= 0:
                        x, at = codes[i, variable[a + k]], b + first[a + k]
                        if x == NO_CODE:
                            total = flow[at] + flow[at + 1]
                            left = flow[at] / total if total > 0.0 else 0.5
                            nodes[waiting], shares[waiting] = branches[at + 1], share * (1.0 - left)
                            waiting += 1
                            k, share = branches[at], share * left
                        else:
                            k = branches[at + (x != state[a + k])]
                    for s in range(row.size):
                        row[s] += share * values[c + first[a + k], s]
    _normalise(out)


@njit(cache=True, nogil=True)
def _normalise(out):
    """Make logits (rows, states) into log P."""
    for i in range(out.shape[0]):
        row = out[i]
        top = row.max()
        total = 0.0
        for s in range(row.size):
            total += np.exp(row[s] - top)
        row -= top + np.log(total)


@njit(cache=True, nogil=True)
def _find_moves(node_start, branch_start, leaf_start, variable, first, branches, flow, values, moves):
    """Means over the rows at a node come from those of its branches, which have higher numbers."""
    r = values.shape[1]
    for t in range(node_start.size - 1):
        a, b, c = node_start[t], branch_start[t], leaf_start[t]
        n = node_start[t + 1] - a
        means = np.zeros((n, r))
        for k in range(n - 1, -1, -1):
            if variable[a + k] < 0:
                for s in range(r):
                    means[k, s] = values[c + first[a + k], s]
                continue
            at = b + first[a + k]
            total = np.float64(flow[at]) + np.float64(flow[at + 1])
            yes = flow[at] / total if total > 0.0 else 0.5
            for s in range(r):
                one, other = means[branches[at], s], means[branches[at + 1], s]
                means[k, s] = yes * one + (1.0 - yes) * other
                moves[at, s], moves[at + 1, s] = one - means[k, s], other - means[k, s]


@njit(cache=True, nogil=True)
def _multiply_moves(node_start, branch_start, leaf_start, question, place, first, branches, factors, asked, wanted,
                    changes):  # fmt: skip
    """Multiply changes (parents, states - 1, rows), at the place of the parent that a split asks about, by the factors
    of the branch that each row takes; asked (questions, rows) are the values of the variables that are asked about."""
    words, most = changes.shape[2] >> 6, 0
    for t in range(node_start.size - 1):
        most = max(most, node_start[t + 1] - node_start[t])
    answers, reached = np.zeros((wanted.size, words), np.uint64), np.empty((most, words), np.uint64)
    for q in range(wanted.size):
        for i in range(asked.shape[1]):
            answers[q, i >> 6] |= np.uint64(asked[q, i] == wanted[q]) << np.uint64(i & 63)
    one = np.float32(1.0)
    for t in range(node_start.size - 1):
        a, b = node_start[t], branch_start[t]
        reached[0] = ~np.uint64(0)
        for k in range(node_start[t + 1] - a):  # children have higher numbers
            if question[a + k] < 0:
                continue
            at, plane = b + first[a + k], answers[question[a + k]]
            for w in range(words):
                here = reached[k, w]
                yes, no = here & plane[w], here & ~plane[w]
                reached[branches[at], w], reached[branches[at + 1], w] = yes, no
                if here == 0:
                    continue
                for s in range(changes.shape[1]):
                    own, taken, left = changes[place[a + k], s], factors[at, s], factors[at + 1, s]
                    for j in range(64):
                        bit = np.uint64(1) << np.uint64(j)
                        own[(w << 6) + j] *= taken if yes & bit != 0 else (left if no & bit != 0 else one)
