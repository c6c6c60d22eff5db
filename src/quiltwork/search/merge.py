"""Growing decision graphs, and a Bayesian network with them: one best operator at a time.

Three operators change the decision graph of a target: a complete split and a binary split of a leaf, and the merge
of two leaves. All leaves of all targets compete, and the operator that gains most is applied, until none gains.
Splitting on a variable that is not yet a parent adds an arc to the network, so only non-descendants of the target
may be split on: the network and its graphs grow together.

What a merge gains follows from the counts of the two leaves alone, and the counts of a merged leaf are the sum of
theirs. An operator must change what the graph says: under the uniform prior a split that leaves a side without rows
gains nothing and is never taken; under a prior network a side without configurations is not allowed. A complete split
below others on its variable has states that no row can be in. They are no leaves of their own, and cost nothing: in a
graph their branches lead to another state's leaf, in a tree, where no leaf has two, to one that stays empty.

Paper    Chickering, Heckerman, Meek (1997), sections 4.1 and 4.2
Differs  the paper scores every operator again at each step; only the leaves that an operator touches can change, so
         each leaf keeps its best split, each target its best merges, and a best that has become illegal is looked for
         again when its turn comes
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log

import numpy as np

from quiltwork.cpds.graph import GraphCPD
from quiltwork.cpds.tree import LEAF, TreeCPD
from quiltwork.data.bits import full_plane
from quiltwork.scores.splits import (
    TOLERANCE,
    TRACE,
    UNIFORM,
    best_split,
    is_whole,
    leaf_score,
    log_factorials,
    may_gain,
    merge_gains,
)
from quiltwork.search.grow import GrowthRules, Progress, root_states
from quiltwork.search.leaf_priors import Box, Prior, narrowed
from quiltwork.stats.leaves import LeafArrays, check_counts_fit, count_children, count_leaf, count_root

NO_SPLIT = (-np.inf, -1, -1)
NO_PLACES = np.empty(0, np.bool_)


class Forest:
    """The decision graphs of all targets while they grow.

    arrays    the training rows
    rules     which splits there are, and what a parameter costs
    merging   whether leaves may be merged
    allowed   (n_vars, n_vars) bool [target, variable]: who may ever be split on
    acyclic   whether the arcs must not form a cycle
    prior     prior counts; None for the uniform prior

    `arcs` lists (parent, target, strength) in the order in which they entered; the strength is the smallest gain up to
    then, or less by what a float can tell apart, so that the order of strength is that of entry.
    """

    def __init__(
        self,
        arrays: LeafArrays,
        rules: GrowthRules,
        merging: bool,
        allowed: np.ndarray,
        acyclic: bool = True,
        prior: Prior | None = None,
        max_parents: int | None = None,
    ):
        self.arrays, self.rules, self.merging, self.prior = arrays, rules, merging, prior
        self.narrows = prior is not None or rules.complete  # whether it matters which configurations a leaf has
        self._n_vars = len(arrays.n_states)
        self._max_parents = self._n_vars if max_parents is None else max_parents
        self._allowed = allowed & ~np.eye(self._n_vars, dtype=bool)
        self._descendants = np.zeros((self._n_vars, self._n_vars), np.bool_) if acyclic else None
        self._parents: list[set[int]] = [set() for _ in range(self._n_vars)]
        self._weakest = np.inf
        self.arcs: list[tuple[int, int, float]] = []
        self.table = log_factorials(arrays.totals[-1], is_whole(arrays.weights), int(arrays.n_states.max(initial=2)))
        self.penalty = log(rules.kappa)
        roots = [root_states(arrays, np.array([target]))[0] for target in range(self._n_vars)]
        check_counts_fit(arrays, np.flatnonzero([self.could_gain(own) for own in roots]))
        self.graphs = [_Graph(self, target, own) for target, own in enumerate(roots)]
        self._gain = np.array([graph.best_gain for graph in self.graphs])

    def step(self) -> float:
        """Apply the operator that gains most, and return its gain; 0 if none gains."""
        while True:
            target = int(np.argmax(self._gain >= self._gain.max() - TOLERANCE))  # of equals, the lowest
            if self._gain[target] <= TOLERANCE:
                return 0.0
            graph = self.graphs[target]
            if graph.drop_illegal(self.may_split(target)):
                self._gain[target] = graph.best_gain
                continue
            gain = float(graph.best_gain)
            self._weakest = min(self._weakest, gain)
            parent = graph.apply_best()
            if parent is not None and parent not in self._parents[target]:
                self._add_arc(parent, target)
            self._gain[target] = graph.best_gain
            return gain

    def may_split(self, target: int) -> np.ndarray:
        """(n_vars,) bool: who may be split on in this target's graph as things stand."""
        may = self._allowed[target]
        if self._descendants is not None:
            may = may & ~self._descendants[target]
        if len(self._parents[target]) >= self._max_parents:
            kept = np.zeros_like(may)
            kept[list(self._parents[target])] = True
            may = may & kept
        return may

    def could_gain(self, own: np.ndarray) -> bool:
        """Whether the entries of a leaf with these counts of the target's states are worth counting."""
        out = np.ones(1, np.bool_)
        if self.prior is None:
            may_gain(self.table, own[None], float(self.rules.min_leaf), self.penalty, out)
        return bool(out[0])

    def score(self) -> float:
        """The Bayesian score of all graphs."""
        return float(sum(graph.score() for graph in self.graphs))

    def cpds(self) -> tuple[TreeCPD, ...]:
        """The graphs as they stand; trees, where nothing may be merged."""
        return tuple(graph.cpd() for graph in self.graphs)

    def _add_arc(self, parent: int, child: int) -> None:
        self._parents[child].add(parent)
        below_last = np.nextafter(self.arcs[-1][2], -np.inf) if self.arcs else np.inf
        self.arcs.append((parent, child, float(min(self._weakest, below_last))))
        if self._descendants is not None:
            above = self._descendants[:, parent].copy()
            above[parent] = True
            below = self._descendants[child].copy()
            below[child] = True
            self._descendants[above] |= below


def grow_apart(
    arrays: LeafArrays, rules: GrowthRules, allowed: np.ndarray | None, prior: Prior | None, progress: Progress
) -> list[TreeCPD]:
    """Trees of all variables under any prior, each grown without regard to the others."""
    n_vars = len(arrays.n_states)
    everyone = np.ones((n_vars, n_vars), np.bool_) if allowed is None else allowed
    forest = Forest(arrays, rules, merging=False, allowed=everyone, acyclic=False, prior=prior)
    n_splits = 0
    while forest.step():
        n_splits += 1
        progress("growing trees", n_splits, n_splits + 1)
    return list(forest.cpds())


@dataclass
class _Leaf:
    """The rows that meet at a leaf, and its configurations; counts of entries only where a split may pay."""

    node: int
    mask: np.ndarray
    own: np.ndarray
    boxes: list[Box]
    prior: np.ndarray
    counts: np.ndarray | None = None
    best: tuple[float, int, int] = NO_SPLIT


@dataclass
class _Node:
    """A node of the graph: where it splits, where its branches lead, or into which node it was merged."""

    variable: int = LEAF
    state: int = -1
    gain: float = 0.0
    branches: list[int] = field(default_factory=list)
    flow: list[float] = field(default_factory=list)
    merged_into: int = -1


class _Graph:
    """The decision graph of one target: its leaves, the best split of each and the best merge of any two."""

    def __init__(self, forest: Forest, target: int, own: np.ndarray):
        self._forest, self.target = forest, target
        self._r = int(forest.arrays.n_states[target])
        self.nodes = [_Node()]
        self.leaves: dict[int, _Leaf] = {}
        self.best_gain = -np.inf
        self._best: tuple[_Leaf, ...] = ()
        self._merges = _Merges(self._r, forest) if forest.merging else None
        box: list[Box] = [{}]
        root = _Leaf(0, full_plane(forest.arrays.n_samples), own, box, self._prior_of(box))
        root.counts = count_root(forest.arrays, target) if forest.could_gain(own) else None
        self._add(root)
        self._find_best()

    def _prior_of(self, boxes: list[Box]) -> np.ndarray:
        prior = self._forest.prior
        if prior is None:
            return UNIFORM
        nothing = np.zeros((self._r, len(self._forest.arrays.totals)))
        return np.sum([nothing, *(prior(self.target, box) for box in boxes)], axis=0)

    def _excluded(self, leaf: _Leaf) -> np.ndarray:
        """(places,) the states that no row of the leaf can be in, or nothing where no split asks."""
        if not self._forest.rules.complete:
            return NO_PLACES
        arrays = self._forest.arrays
        out = np.zeros(arrays.n_places, np.bool_)
        for v in set.intersection(*(set(box) for box in leaf.boxes)):
            out[arrays.places(v)] = True
            out[arrays.places(v)[list(frozenset().union(*(box[v] for box in leaf.boxes)))]] = False
        return out

    def drop_illegal(self, may: np.ndarray) -> bool:
        """Look again for the best split of each leaf whose best is no longer allowed; whether there was any."""
        stale = [leaf for leaf in self.leaves.values() if leaf.best[1] >= 0 and not may[leaf.best[1]]]
        for leaf in stale:
            self._find_split(leaf, may)
        if stale:
            self._find_best()
        return bool(stale)

    def apply_best(self) -> int | None:
        """Apply the best operator; the variable it split on, or None for a merge."""
        leaf, *other = self._best
        variable = None if other else leaf.best[1]
        if other:
            self._merge(leaf, other[0])
        else:
            self._split(leaf)
        self._find_best()
        return variable

    def score(self) -> float:
        table, free = self._forest.table, self._r - 1
        leaves = [leaf for leaf in self.leaves.values() if leaf.boxes]
        worth = sum(leaf_score(table, _as_counts(leaf.own), leaf.prior[:, -1:]) for leaf in leaves)
        return worth + len(leaves) * free * self._forest.penalty

    def cpd(self) -> TreeCPD:
        """The graph as flat arrays; a node's number rises along every branch, for it is the order they were made in."""
        nodes = [k for k, node in enumerate(self.nodes) if node.merged_into < 0]
        within = {k: i for i, k in enumerate(nodes)}
        splits = [self.nodes[k] for k in nodes if self.nodes[k].variable != LEAF]
        ends = np.cumsum([0] + [len(node.branches) for node in splits])
        variable = np.array([self.nodes[k].variable for k in nodes], np.int64)
        is_split = variable != LEAF
        first = np.empty(len(nodes), np.int64)
        first[is_split], first[~is_split] = ends[:-1], np.arange((~is_split).sum())
        leaves = [self.leaves[k] for k in nodes if self.nodes[k].variable == LEAF]
        counts = np.array([leaf.own for leaf in leaves])
        prior = np.array([_states_of(leaf.prior) if leaf.prior.size else np.ones(self._r) for leaf in leaves])
        prior = np.maximum(prior, TRACE)
        cls = GraphCPD if self._forest.merging else TreeCPD
        return cls(
            child=self.target,
            variable=variable,
            state=np.array([self.nodes[k].state for k in nodes], np.int64),
            first=first,
            branches=np.array([within[self._resolve(b)] for node in splits for b in node.branches], np.int64),
            flow=np.array([rows for node in splits for rows in node.flow], np.float64),
            gain=np.array([self.nodes[k].gain for k in nodes]),
            probs=(counts + prior) / (counts + prior).sum(axis=1, keepdims=True),
            counts=counts,
        )

    def _resolve(self, node: int) -> int:
        while self.nodes[node].merged_into >= 0:
            node = self.nodes[node].merged_into
        return node

    def _find_best(self) -> None:
        """The best operator: one leaf, which splits, or two, which merge."""
        self.best_gain, self._best = -np.inf, ()
        for leaf in self.leaves.values():
            if leaf.best[0] > self.best_gain + TOLERANCE:
                self.best_gain, self._best = leaf.best[0], (leaf,)
        if self._merges is not None:
            gain, a, b = self._merges.best()
            if gain > self.best_gain + TOLERANCE:
                self.best_gain, self._best = gain, (self.leaves[a], self.leaves[b])

    def _find_split(self, leaf: _Leaf, may: np.ndarray) -> None:
        forest, rules = self._forest, self._forest.rules
        leaf.best = NO_SPLIT
        if leaf.counts is not None:
            leaf.best = best_split(
                forest.table, leaf.counts, leaf.prior, forest.arrays.n_states, forest.arrays.first_entry, may,
                self._excluded(leaf), rules.binary, rules.complete, float(rules.min_leaf), forest.penalty,
            )  # fmt: skip
            if leaf.best[0] <= TOLERANCE:  # who may be split on only ever shrinks: it never will
                leaf.best, leaf.counts = NO_SPLIT, None

    def _add(self, leaf: _Leaf) -> None:
        self.leaves[leaf.node] = leaf
        self._find_split(leaf, self._forest.may_split(self.target))
        if self._merges is not None:  # where there are, every leaf has configurations
            self._merges.add(leaf.node, leaf.own, _states_of(leaf.prior) if leaf.prior.size else leaf.prior)

    def _remove(self, leaf: _Leaf) -> None:
        del self.leaves[leaf.node]
        if self._merges is not None:
            self._merges.remove(leaf.node)

    def _split(self, leaf: _Leaf) -> None:
        arrays, (gain, v, state) = self._forest.arrays, leaf.best
        assert leaf.counts is not None
        self._remove(leaf)
        width = 2 if state >= 0 else int(arrays.n_states[v])
        masks = np.empty((width, len(leaf.mask)), np.uint64)
        counts = np.zeros((width, *leaf.counts.shape))
        count_children(
            arrays, np.array([0]), np.array([self.target]), leaf.mask[None], leaf.counts[None], np.array([v]),
            np.array([state]), np.array([0, width]), np.arange(width), masks, counts,
        )  # fmt: skip
        node = self.nodes[leaf.node]
        node.variable, node.state, node.gain = v, state, gain
        everything = frozenset(range(int(arrays.n_states[v])))
        for k in range(width):
            inside = frozenset({k if state < 0 else state})
            states = everything - inside if state >= 0 and k == 1 else inside
            boxes = narrowed(leaf.boxes, v, states, everything) if self._forest.narrows else leaf.boxes
            own = _states_of(counts[k])
            node.flow.append(float(own.sum()))
            if not boxes and self._merges is not None:
                node.branches.append(-1)
                continue
            node.branches.append(len(self.nodes))
            child = _Leaf(len(self.nodes), masks[k], own, boxes, self._prior_of(boxes))
            child.counts = counts[k].copy() if boxes and self._forest.could_gain(own) else None
            self.nodes.append(_Node())
            self._add(child)
        some = max(node.branches)
        node.branches = [some if branch < 0 else branch for branch in node.branches]

    def _merge(self, a: _Leaf, b: _Leaf) -> None:
        node, own = len(self.nodes), a.own + b.own
        merged = _Leaf(node, a.mask | b.mask, own, a.boxes + b.boxes, a.prior + b.prior)
        if self._forest.could_gain(own):
            merged.counts = np.zeros((self._r, len(self._forest.arrays.totals)))
            if a.counts is not None and b.counts is not None:
                merged.counts += a.counts + b.counts
            else:
                count_leaf(self._forest.arrays, merged.mask, self.target, merged.counts)
        self.nodes.append(_Node())
        for leaf in (a, b):
            self.nodes[leaf.node].merged_into = node
            self._remove(leaf)
        self._add(merged)


class _Merges:
    """What the merge of any two leaves of a graph gains; leaves live in slots that are used again."""

    def __init__(self, r: int, forest: Forest):
        self._table, self._penalty, self._uniform = forest.table, forest.penalty, forest.prior is None
        self._node: list[int] = []
        self._own, self._prior = np.zeros((0, r)), np.zeros((0, r))
        self._gains = np.empty((0, 0))

    def add(self, node: int, own: np.ndarray, prior: np.ndarray) -> None:
        n = len(self._node)
        self._node.append(node)
        if n == len(self._own):
            self._own = np.concatenate([self._own, np.zeros((n + 8, len(own)))])
            self._prior = np.concatenate([self._prior, np.zeros((n + 8, len(own)))])
            grown = np.full((2 * n + 8, 2 * n + 8), -np.inf)
            grown[:n, :n] = self._gains
            self._gains = grown
        self._own[n] = own
        if not self._uniform:
            self._prior[n] = prior
        row = np.empty(n + 1)
        priors = UNIFORM if self._uniform else self._prior[: n + 1]
        merge_gains(self._table, self._own[: n + 1], priors, self._penalty, n, row)
        self._gains[n, : n + 1] = row  # the lower triangle holds each pair once

    def remove(self, node: int) -> None:
        """The last slot takes the place of the one that goes."""
        gone, last = self._node.index(node), len(self._node) - 1
        if gone != last:
            pairs = self._gains[last, :last].copy()
            pairs[gone] = -np.inf
            self._node[gone], self._own[gone], self._prior[gone] = self._node[last], self._own[last], self._prior[last]
            self._gains[gone, :gone] = pairs[:gone]
            self._gains[gone + 1 : last, gone] = pairs[gone + 1 :]
        self._gains[last, : last + 1] = -np.inf
        self._node.pop()

    def best(self) -> tuple[float, int, int]:
        n = len(self._node)
        if n < 2:
            return -np.inf, -1, -1
        gains = self._gains[:n, :n]
        at = int(np.argmax(gains >= gains.max() - TOLERANCE))
        return float(self._gains[at // n, at % n]), self._node[at // n], self._node[at % n]


def _states_of(counts: np.ndarray) -> np.ndarray:
    """Counts of the target's states alone, out of counts (states, entries + 1)."""
    own = counts[:, -1].copy()
    own[0] -= own[1:].sum()
    return np.maximum(own, 0.0)


def _as_counts(own: np.ndarray) -> np.ndarray:
    """The reverse: one column, whose first place holds the sum."""
    column = own.copy()
    column[0] = own.sum()
    return column[:, None]
