"""Growing decision trees, one for every target at once.

A tree begins as one leaf. Each leaf is replaced by its best split while that raises the Bayesian score; as the leaves
of a tree do not touch each other, all leaves of many trees are split together, level by level, and two kernels do
the work: one counts children, one finds their best splits. A leaf that even a perfect split could not improve
is never counted.

The gain of a split says when it enters: learning with a greater penalty would have stopped before the splits of
lower gain. So the trees for every penalty lie inside the trees for the smallest one (`prune`), and the strength of an
arc is the greatest penalty under which it would still be there (`strengths`).

Paper    Heckerman, Chickering, Meek, Rounthwaite, Kadie (2000), section 3
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.cpds.tree import LEAF, TreeCPD
from quiltwork.data.bits import full_plane
from quiltwork.errors import ResourceLimitError
from quiltwork.scores.splits import TOLERANCE, best_splits, is_whole, log_factorials, may_gain
from quiltwork.search.deltas import Run, run_here
from quiltwork.stats.leaves import LeafArrays, check_counts_fit, count_children, count_leaf, count_roots, rows_in_state

CHUNK_BYTES = 2**24  # counts of the roots of the trees that are grown together
LEVEL_BYTES = 2**27  # counts and masks of the leaves that are split together
MOST_AT_ONCE = 64  # targets
MAX_ARC_BYTES = 2**31  # of the tables that say which variable may depend on which

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class GrowthRules:
    """What may be split, and what for.

    kappa       prior probability of a free parameter
    binary      splits "in this state or not"
    complete    splits into all states
    min_leaf    fewest rows, or least weight of them, in a leaf that has any; two leaves of a split must have as many
    """

    kappa: float = 0.01
    binary: bool = True
    complete: bool = False
    min_leaf: float = 1


def grow_trees(
    arrays: LeafArrays,
    targets: Sequence[int] | np.ndarray,
    rules: GrowthRules = GrowthRules(),
    allowed: np.ndarray | None = None,
    run: Run = run_here,
    progress: Progress | None = None,
) -> list[TreeCPD]:
    """One tree for each target, over all other variables; allowed (n_vars, n_vars) bool [target, split] narrows them.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> from quiltwork.stats.leaves import leaf_arrays
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(2, size=200)
    >>> columns = [rain, rain ^ (rng.random(200) < 0.1), rng.integers(2, size=200)]
    >>> data = from_codes([Variable(name, (0, 1)) for name in ("rain", "wet", "coin")], columns)
    >>> [tree.parents for tree in grow_trees(leaf_arrays(data), range(3))]
    [(1,), (0,), ()]
    """
    targets = np.asarray(targets, np.int64)
    table = log_factorials(arrays.totals[-1], is_whole(arrays.weights), int(arrays.n_states.max(initial=2)))
    allowed = np.ones((1, len(arrays.n_states)), np.bool_) if allowed is None else allowed
    out: list[TreeCPD | None] = [None] * len(targets)
    chunks = _chunks(arrays, targets)
    for which in chunks:
        check_counts_fit(arrays, targets[which][_wanted(root_states(arrays, targets[which]), rules, table)])
    done = [0]

    def one(i: int) -> None:
        which = chunks[i]
        for k, tree in zip(which, _grow(arrays, targets[which], rules, allowed, table), strict=True):
            out[k] = tree
        done[0] += len(which)
        if progress:
            progress("growing trees", done[0], len(targets))

    run(one, len(chunks))
    return [tree for tree in out if tree is not None]


def check_arcs_fit(n_vars: int) -> None:
    """Refuse to say of every two of so many variables whether one may depend on the other: a few bytes each."""
    n_bytes = 3.0 * n_vars**2
    if n_bytes > MAX_ARC_BYTES:
        raise ResourceLimitError(
            f"To say which of {n_vars:,} columns may depend on which would take {n_bytes / 1e9:.1f} GB, past the limit "
            f"of {MAX_ARC_BYTES / 1e9:.1f} GB; leave columns out, or take DependencyNetwork() without 'prior' and 'k'."
        )


def weakest_gains(tree: TreeCPD) -> np.ndarray:
    """(n_nodes,) the smallest gain on the way from the root to each node, that of its own split included."""
    out = np.where(tree.variable != LEAF, tree.gain, np.inf)
    _hand_down(tree.variable, tree.first, tree.end, tree.branches, out)
    return out


@njit(cache=True, nogil=True)
def _hand_down(variable, first, end, branches, least):
    """No node may have more than its parent; parents come before children."""
    for k in range(len(variable)):
        if variable[k] >= 0:
            for b in range(first[k], end[k]):
                least[branches[b]] = min(least[branches[b]], least[k])


def strengths(tree: TreeCPD) -> dict[int, float]:
    """For each parent the greatest further penalty on a split under which the tree would still ask about it.

    Where a split below gains more than those above, both come at once; then the one above is told to be stronger, by as
    little as a float can tell apart.
    """
    splits = np.flatnonzero(tree.variable != LEAF)
    weakest = weakest_gains(tree)[splits]
    parents, values = _strongest(tree.variable[splits], weakest, np.argsort(-weakest, kind="stable"))
    return dict(zip(parents.tolist(), values.tolist(), strict=True))


@njit(cache=True, nogil=True)
def _strongest(variable, weakest, order):
    """The distinct variables of splits in this order, and what each is worth: less than the one before it."""
    parents, values = np.empty(order.size, np.int64), np.empty(order.size)
    seen, n = {-1}, 0
    for k in order:
        if variable[k] not in seen:
            seen.add(variable[k])
            parents[n], values[n] = variable[k], weakest[k]
            if n and values[n] >= values[n - 1]:
                values[n] = np.nextafter(values[n - 1], -np.inf)
            n += 1
    return parents[:n], values[:n]


def _chunks(arrays: LeafArrays, targets: np.ndarray) -> list[np.ndarray]:
    """Positions in targets that are grown together: equally many states, and counts that fit in a cache."""
    chunks = []
    n_states = arrays.n_states[targets]
    for r in np.unique(n_states):
        which = np.flatnonzero(n_states == r)
        at_once = int(np.clip(CHUNK_BYTES // (8 * r * len(arrays.totals)), 1, MOST_AT_ONCE))
        chunks += np.array_split(which, -(-len(which) // at_once))
    return chunks


@dataclass
class _Level:
    """The leaves of one depth that may still be split, and the nodes they are.

    excluded (leaves, places) marks states that no row of a leaf can be in, if some split has a branch for every state.
    """

    target: np.ndarray
    node: np.ndarray
    masks: np.ndarray
    counts: np.ndarray
    excluded: np.ndarray


class _Step(NamedTuple):
    """Splits of the leaves of a level, and the children that they make.

    split         the leaves, with variable and state, -1 for a branch of every state
    first_child   the children of the split k are first_child[k]:first_child[k + 1]
    of_split      the split of each child
    first_node    the node of the first child
    """

    split: np.ndarray
    variable: np.ndarray
    state: np.ndarray
    first_child: np.ndarray
    of_split: np.ndarray
    first_node: int


def _grow(
    arrays: LeafArrays, targets: np.ndarray, rules: GrowthRules, allowed: np.ndarray, table: np.ndarray
) -> list[TreeCPD]:
    """The trees of targets with equally many states."""
    r = int(arrays.n_states[targets[0]])
    wood, penalty = _Wood(r), log(rules.kappa)
    own = root_states(arrays, targets)
    wood.add(np.arange(len(targets)), own)
    wanted = np.flatnonzero(_wanted(own, rules, table))
    waiting = [partial(_roots, arrays, targets, wanted, r, rules.complete)] if len(wanted) else []
    while waiting:
        level = waiting.pop()()
        n = len(level.target)
        gain, variable, state = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
        best_splits(
            table, level.counts, level.target, arrays.n_states, arrays.first_entry, allowed, level.excluded,
            rules.binary, rules.complete, float(rules.min_leaf), penalty, gain, variable, state,
        )  # fmt: skip
        split = np.flatnonzero(gain > TOLERANCE)
        if not len(split):
            continue
        variable, state = variable[split], state[split]
        widths = np.where(state >= 0, 2, arrays.n_states[variable])
        first_child = np.concatenate([[0], np.cumsum(widths)])
        of_split = np.repeat(np.arange(len(split)), widths)
        own = _children_own(arrays, level.counts, split, variable, state, first_child, r)
        first_node = wood.split(level.node[split], variable, state, gain[split], first_child)
        wood.add(wood.tree[level.node[split[of_split]]], own)
        step = _Step(split, variable, state, first_child, of_split, first_node)
        lots = _lots(np.flatnonzero(_wanted(own, rules, table)), level.counts[0].nbytes + level.masks[0].nbytes)
        # A lot is counted when it is its turn, and grown to its end before the next.
        waiting += [partial(_next_level, arrays, level, step, chosen, len(lots) > 1) for chosen in lots]
    return wood.trees(targets)


def _wanted(own: np.ndarray, rules: GrowthRules, table: np.ndarray) -> np.ndarray:
    """Which leaves with these counts of the target's states, (leaves, states), are worth counting."""
    out = np.zeros(len(own), np.bool_)
    may_gain(table, own, float(rules.min_leaf), log(rules.kappa), out)
    return out


def root_states(arrays: LeafArrays, targets: np.ndarray) -> np.ndarray:
    """Counts (targets, states) of the states of targets that have equally many."""
    entries = arrays.first_entry[targets][:, None] + np.arange(arrays.n_states[targets[0]] - 1)
    beyond = arrays.totals[entries]
    first = np.maximum(arrays.totals[-1] - beyond.sum(axis=1, keepdims=True), 0.0)
    return np.concatenate([first, beyond], axis=1)


def _roots(arrays: LeafArrays, targets: np.ndarray, wanted: np.ndarray, r: int, complete: bool) -> _Level:
    """The roots of the wanted trees."""
    everyone = full_plane(arrays.n_samples)
    counts = np.zeros((len(wanted), r, len(arrays.totals)))
    count_roots(arrays, targets[wanted], everyone, counts)
    masks = np.broadcast_to(everyone, (len(wanted), len(everyone)))
    excluded = np.zeros((len(wanted), arrays.n_places if complete else 0), np.bool_)
    return _Level(targets[wanted], wanted, np.ascontiguousarray(masks), counts, excluded)


def _lots(leaves: np.ndarray, n_bytes: int) -> list[np.ndarray]:
    """Leaves in lots whose counts and masks, so many bytes each, fit in memory together; the first lot comes last."""
    n_lots = min(-(-len(leaves) * n_bytes // LEVEL_BYTES), len(leaves))
    return np.array_split(leaves, n_lots)[::-1] if n_lots > 1 else [leaves] * n_lots


def _children_own(
    arrays: LeafArrays, counts: np.ndarray, split: np.ndarray, variable: np.ndarray, state: np.ndarray,
    first_child: np.ndarray, r: int,
) -> np.ndarray:  # fmt: skip
    """Counts (children, states) of the target's states at each child: the parent's counts hold them already."""
    out = np.empty((first_child[-1], r))
    n_states, first_entry = arrays.n_states, arrays.first_entry
    is_binary = (state >= 1) | ((state == 0) & (n_states[variable] == 2))
    plain = np.flatnonzero(is_binary)  # one entry tells both sides
    entry = first_entry[variable[plain]] + np.maximum(state[plain], 1) - 1
    inside, all_rows = counts[split[plain], :, entry], counts[split[plain], :, -1]
    flip = state[plain] == 0
    out[first_child[plain]] = np.where(flip[:, None], all_rows - inside, inside)
    out[first_child[plain] + 1] = np.where(flip[:, None], inside, all_rows - inside)
    for k in np.flatnonzero(~is_binary):
        own = counts[split[k]]
        entries = own[:, first_entry[variable[k]] : first_entry[variable[k]] + n_states[variable[k]] - 1].T
        states = np.concatenate([[own[:, -1] - entries.sum(axis=0)], entries])
        at = first_child[k]
        if state[k] < 0:
            out[at : at + len(states)] = states
        else:
            out[at], out[at + 1] = states[state[k]], own[:, -1] - states[state[k]]
    out[:, 0] -= out[:, 1:].sum(axis=1)
    return np.maximum(out, 0.0)  # weights that are no whole numbers leave rests in subtraction


def _next_level(arrays: LeafArrays, level: _Level, step: _Step, chosen: np.ndarray, is_part: bool) -> _Level:
    """Some of the children of a level: those chosen, in ascending order; is_part says that they are not all."""
    of_split = step.of_split[chosen]
    leaf_of = step.split[of_split]
    masks = np.empty((len(chosen), level.masks.shape[1]), np.uint64)
    counts = np.empty((len(chosen), *level.counts.shape[1:]))
    first, last = of_split[0], of_split[-1] + 1
    begin, end = step.first_child[first], step.first_child[last]
    branch = chosen - step.first_child[of_split]
    if is_part and last - first == 1:  # of one wide split: its other children are left alone
        _count_some(arrays, level, step, int(first), branch, masks, counts)
    else:
        slot = np.full(end - begin, -1, np.int64)
        slot[chosen - begin] = np.arange(len(chosen))
        count_children(
            arrays, step.split[first:last], level.target, level.masks, level.counts, step.variable[first:last],
            step.state[first:last], step.first_child[first : last + 1] - begin, slot, masks, counts,
        )  # fmt: skip
    excluded = level.excluded[leaf_of]
    if excluded.shape[1]:
        for out, k, b in zip(excluded, of_split, branch, strict=True):
            places, state = arrays.places(step.variable[k]), step.state[k]
            inside = b if state < 0 else state
            out[places[inside] if state >= 0 and b == 1 else np.delete(places, inside)] = True
    return _Level(level.target[leaf_of], step.first_node + chosen, masks, counts, excluded)


def _count_some(
    arrays: LeafArrays, level: _Level, step: _Step, k: int, branches: np.ndarray, masks: np.ndarray, counts: np.ndarray
) -> None:
    """Masks and counts of some children of one split, each by its own rows."""
    leaf, v, state = step.split[k], step.variable[k], step.state[k]
    counts[:] = 0.0
    for branch, mask, out in zip(branches, masks, counts, strict=True):
        rows_in_state(arrays, level.masks[leaf], v, branch if state < 0 else state, mask)
        if state >= 0 and branch == 1:
            mask[:] = level.masks[leaf] & ~mask
        count_leaf(arrays, mask, level.target[leaf], out)


class _Wood:
    """The nodes of several trees while they grow, parents before children."""

    def __init__(self, r: int):
        self.tree = np.empty(0, np.int64)
        self._own = np.empty((0, r))
        self._splits: list[tuple[np.ndarray, ...]] = []  # node, variable, state, gain, first child, number of them

    def add(self, tree: np.ndarray, own: np.ndarray) -> None:
        self.tree = np.concatenate([self.tree, tree])
        self._own = np.concatenate([self._own, own])

    def split(
        self, node: np.ndarray, variable: np.ndarray, state: np.ndarray, gain: np.ndarray, first_child: np.ndarray
    ) -> int:
        """Note splits; their children are added next. Returns the number of the first child."""
        begin = len(self.tree)
        self._splits.append((node, variable, state, gain, begin + first_child[:-1], np.diff(first_child)))
        return begin

    def trees(self, targets: np.ndarray) -> list[TreeCPD]:
        """The trees; the uniform prior adds one row to each state at a leaf."""
        n = len(self.tree)
        variable, state = np.full(n, LEAF, np.int64), np.full(n, -1, np.int64)
        gain, child, width = np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64)
        for node, v, s, g, first, k in self._splits:
            variable[node], state[node], gain[node], child[node], width[node] = v, s, g, first, k
        order = np.argsort(self.tree, kind="stable")  # by tree, and in each as they came
        tree, variable, state, gain = self.tree[order], variable[order], state[order], gain[order]
        child, width = child[order], width[order]
        is_split = variable != LEAF
        begin = np.searchsorted(tree, np.arange(len(targets) + 1))  # of the nodes of each tree,
        n_branches, n_leaves = (np.concatenate([[0], np.cumsum(each)]) for each in (width, ~is_split))
        first_branch, first_leaf = n_branches[begin], n_leaves[begin]  # of its branches, and of its leaves
        within = np.empty(n, np.int64)
        within[order] = np.arange(n) - begin[tree]
        first = np.where(is_split, n_branches[:-1] - first_branch[tree], n_leaves[:-1] - first_leaf[tree])
        children = np.repeat(child - n_branches[:-1], width) + np.arange(n_branches[-1])
        branches, flow = within[children], self._own[children].sum(axis=1)
        counts = self._own[order[~is_split]]
        probs = (counts + 1.0) / (counts.sum(axis=1, keepdims=True) + counts.shape[1])
        out = []
        for t, target in enumerate(targets.tolist()):
            nodes, edges, leaves = (slice(at[t], at[t + 1]) for at in (begin, first_branch, first_leaf))
            out.append(TreeCPD(
                child=target, variable=variable[nodes], state=state[nodes], first=first[nodes],
                branches=branches[edges], flow=flow[edges], gain=gain[nodes], probs=probs[leaves],
                counts=counts[leaves],
            ))  # fmt: skip
        return out
