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
)
from quiltwork.search.grow import GrowthRules, Progress, check_arcs_fit, root_states
from quiltwork.search.leaf_pairs import LeafPairs
from quiltwork.search.leaf_priors import Box, Prior, narrowed, united
from quiltwork.stats.leaves import LeafArrays, check_counts_fit, count_children, count_leaf, count_root, rows_in_state

NO_SPLIT = (-np.inf, -1, -1)
NO_PLACES, NO_ROWS = np.empty(0, np.bool_), np.empty(0, np.uint64)
HELD_BYTES = 2**28  # of entries counted: those of further leaves are counted again when it is their turn


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
        self._allowed = allowed.copy()
        np.fill_diagonal(self._allowed, False)
        self._descendants = np.zeros((self._n_vars, self._n_vars), np.bool_) if acyclic else None
        self._parents: list[set[int]] = [set() for _ in range(self._n_vars)]
        self._weakest = np.inf
        self.held_bytes = 0  # by leaves whose entries are counted
        self.arcs: list[tuple[int, int, float]] = []
        self.table = log_factorials(arrays.totals[-1], is_whole(arrays.weights), int(arrays.n_states.max(initial=2)))
        self.penalty = log(rules.kappa)
        roots = [root_states(arrays, np.array([target]))[0] for target in range(self._n_vars)]
        grown = [target for target, own in enumerate(roots) if self.could_gain(own)]
        check_counts_fit(arrays, np.array(sorted(grown, key=lambda target: len(roots[target]))[-1:], np.int64))
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
        if self.prior is not None:
            return bool(own.sum() >= 2 * self.rules.min_leaf)
        out = np.ones(1, np.bool_)
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
    arrays: LeafArrays, targets: list[int], rules: GrowthRules, allowed: np.ndarray | None, prior: Prior | None,
    progress: Progress,
) -> list[TreeCPD]:  # fmt: skip
    """Trees of some variables under any prior, each grown without regard to the others."""
    n_vars = len(arrays.n_states)
    check_arcs_fit(n_vars)
    may = np.zeros((n_vars, n_vars), np.bool_)
    may[targets] = True if allowed is None else allowed[targets]
    forest = Forest(arrays, rules, merging=False, allowed=may, acyclic=False, prior=prior)
    n_splits = 0
    while forest.step():
        n_splits += 1
        progress("growing trees", n_splits, n_splits + 1)
    cpds = forest.cpds()
    return [cpds[target] for target in targets]


@dataclass(slots=True)
class _Leaf:
    """The rows that meet at a leaf, and its configurations.

    own     (states of the target,) its rows
    alpha   its prior counts, empty under the uniform prior
    counts  own and those of all entries: there only while a split may pay, and there is room
    prior   the same of alpha
    """

    node: int
    mask: np.ndarray
    own: np.ndarray
    boxes: list[Box]
    is_open: bool
    alpha: np.ndarray = field(default_factory=lambda: UNIFORM)
    counts: np.ndarray | None = None
    prior: np.ndarray = field(default_factory=lambda: UNIFORM)
    held_bytes: int = 0
    best: tuple[float, int, int] = NO_SPLIT


@dataclass(slots=True)
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
        pairs = LeafPairs(self._r, forest.table, forest.penalty, forest.prior is None)
        self._merges = pairs if forest.merging else None
        self._add(_Leaf(0, full_plane(forest.arrays.n_samples), own, [{}], forest.could_gain(own)))
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
        worth = sum(leaf_score(table, _as_counts(leaf.own), _as_counts(leaf.alpha)) for leaf in leaves)
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
        prior = np.array([leaf.alpha if leaf.alpha.size else np.ones(self._r) for leaf in leaves])
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
        if leaf.is_open:
            leaf.best = best_split(
                forest.table, self._counts_of(leaf), leaf.prior, forest.arrays.n_states, forest.arrays.first_entry, may,
                self._excluded(leaf), rules.binary, rules.complete, float(rules.min_leaf), forest.penalty,
            )  # fmt: skip
            if leaf.best[0] <= TOLERANCE:  # who may be split on only ever shrinks: it never will
                leaf.best, leaf.is_open = NO_SPLIT, False
        self._hold(leaf)

    def _counts_of(self, leaf: _Leaf) -> np.ndarray:
        """The counts of the leaf's entries, counted anew where they were not held; its prior then is at hand too."""
        if leaf.counts is None:
            arrays = self._forest.arrays
            if leaf.node == 0:
                leaf.counts = count_root(arrays, self.target)
            else:
                leaf.counts = np.zeros((self._r, len(arrays.totals)))
                count_leaf(arrays, leaf.mask, self.target, leaf.counts)
        if self._forest.prior is not None and not leaf.prior.size:
            leaf.prior = self._prior_of(leaf.boxes)
        return leaf.counts

    def _hold(self, leaf: _Leaf) -> None:
        """Keep what was counted if it will be wanted and there is room."""
        forest = self._forest
        forest.held_bytes -= leaf.held_bytes
        leaf.held_bytes = 0 if leaf.counts is None else leaf.counts.nbytes + leaf.prior.nbytes
        if not leaf.is_open or forest.held_bytes + leaf.held_bytes > HELD_BYTES:
            leaf.counts, leaf.prior, leaf.held_bytes = None, UNIFORM, 0
        forest.held_bytes += leaf.held_bytes
        if not leaf.is_open and self._merges is None:
            leaf.mask = NO_ROWS

    def _add(self, leaf: _Leaf) -> None:
        self.leaves[leaf.node] = leaf
        if self._forest.prior is not None and not leaf.alpha.size:
            leaf.prior = self._prior_of(leaf.boxes)
            leaf.alpha = _states_of(leaf.prior)
        self._find_split(leaf, self._forest.may_split(self.target))
        if self._merges is not None:  # where there are, every leaf has configurations
            self._merges.add(leaf.node, leaf.own, leaf.alpha)

    def _remove(self, leaf: _Leaf) -> None:
        del self.leaves[leaf.node]
        leaf.is_open = False
        self._hold(leaf)
        if self._merges is not None:
            self._merges.remove(leaf.node)

    def _split(self, leaf: _Leaf) -> None:
        forest, (gain, v, state), mask = self._forest, leaf.best, leaf.mask
        arrays, node, counts = forest.arrays, self.nodes[leaf.node], self._counts_of(leaf)
        self._remove(leaf)
        own = self._branches_own(counts, v, state)
        width, boxes = len(own), [leaf.boxes] * len(own)
        if forest.narrows:
            boxes = [narrowed(leaf.boxes, v, *part) for part in _parts(int(arrays.n_states[v]), state)]
        is_open = np.array([bool(box) and forest.could_gain(rows) for box, rows in zip(boxes, own, strict=True)])
        slot = np.where(is_open, np.cumsum(is_open) - 1, -1)
        slot[slot >= max(2, HELD_BYTES // counts.nbytes)] = -1  # those are counted one by one, when it is their turn
        masks = np.empty((slot.max() + 1, len(mask)), np.uint64)
        child_counts = np.empty((len(masks), *counts.shape))
        whole = np.array([0]), np.array([self.target]), mask[None], counts[None]
        split = np.array([v]), np.array([state]), np.array([0, width])
        count_children(arrays, *whole, *split, slot, masks, child_counts)
        node.variable, node.state, node.gain = v, state, gain
        for k in range(width):
            node.flow.append(float(own[k].sum()))
            if not boxes[k] and self._merges is not None:
                node.branches.append(-1)
                continue
            node.branches.append(len(self.nodes))
            child = _Leaf(len(self.nodes), NO_ROWS, own[k], boxes[k], bool(is_open[k]))
            if slot[k] >= 0:
                child.mask, child.counts = masks[slot[k]].copy(), child_counts[slot[k]].copy()
            elif is_open[k] or self._merges is not None:  # a leaf that is never split is asked for its rows by merges
                child.mask = self._rows_of(mask, v, state, k)
            self.nodes.append(_Node())
            self._add(child)
        some = max(node.branches)
        node.branches = [some if branch < 0 else branch for branch in node.branches]

    def _branches_own(self, counts: np.ndarray, v: int, state: int) -> np.ndarray:
        """(branches, states of the target) rows that take each branch: the counts of a leaf hold them already."""
        places = self._forest.arrays.places(v)[1:]
        if state > 0:
            inside = counts[:, places[state - 1]]
            own = np.array([inside, counts[:, -1] - inside])
        else:
            own = np.concatenate([counts[:, -1:], counts[:, places]], axis=1).T
            own[0] -= own[1:].sum(axis=0)
            own = own if state < 0 else np.array([own[0], counts[:, -1] - own[0]])
        own[:, 0] -= own[:, 1:].sum(axis=1)
        return np.maximum(own, 0.0)  # weights that are no whole numbers leave rests in subtraction

    def _rows_of(self, mask: np.ndarray, v: int, state: int, branch: int) -> np.ndarray:
        """The rows of a mask that take a branch."""
        out = np.empty_like(mask)
        rows_in_state(self._forest.arrays, mask, v, branch if state < 0 else state, out)
        return mask & ~out if state >= 0 and branch == 1 else out

    def _merge(self, a: _Leaf, b: _Leaf) -> None:
        own, boxes = a.own + b.own, a.boxes
        if self._forest.narrows:
            boxes = united(a.boxes + b.boxes, self._forest.arrays.n_states)
        merged = _Leaf(len(self.nodes), a.mask | b.mask, own, boxes, self._forest.could_gain(own))
        if merged.is_open and a.counts is not None and b.counts is not None:
            merged.counts = a.counts + b.counts
        if a.prior.size and b.prior.size:
            merged.prior = a.prior + b.prior
        merged.alpha = a.alpha + b.alpha
        self.nodes.append(_Node())
        for leaf in (a, b):
            self.nodes[leaf.node].merged_into = merged.node
            self._remove(leaf)
        self._add(merged)


def _parts(n_states: int, state: int) -> list[tuple[frozenset[int], frozenset[int]]]:
    """For each branch of a split the states that take it, and all states."""
    everything = frozenset(range(n_states))
    inside = [frozenset({s}) for s in (range(n_states) if state < 0 else [state])]
    return [(part, everything) for part in (inside if state < 0 else [*inside, everything - inside[0]])]


def _states_of(counts: np.ndarray) -> np.ndarray:
    """Counts of the target's states alone, out of counts (states, entries + 1)."""
    own = counts[:, -1].copy()
    own[0] -= own[1:].sum()
    return np.maximum(own, 0.0)


def _as_counts(own: np.ndarray) -> np.ndarray:
    """The reverse: one column, whose first place holds the sum; nothing where there is none."""
    if not own.size:
        return UNIFORM
    column = own.copy()
    column[0] = own.sum()
    return column[:, None]
