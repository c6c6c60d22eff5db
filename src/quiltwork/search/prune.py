"""Which prunings of a tree to believe: none alone, all by their posterior.

A grown tree holds many smaller ones, cut off at any of its nodes. Under the prior that grew it (a split has the odds
kappa for every free parameter it adds) every pruning has a posterior, and the mean of their predictions has a closed
form, computed from the leaves up and from the root down (Buntine 1992; context-tree weighting). A split with much
evidence is believed, one with little is smoothed toward its parent: the averaged tree predicts new rows better than any
single pruning, and costs nothing at prediction time, for the mean at each leaf is just another distribution.

    W(k) = ln [ (1 - q) exp(E(k)) + q exp(sum of W over the children of k) ],  q / (1 - q) = kappa^parameters
    s(k) = q exp(sum of W over the children of k - W(k))                       posterior of splitting at k

E(k) is the score of node k as a leaf. `shrinkage` lends each node so many rows of its parent's distribution.

The gain of a split says under which penalty it would not have entered, so the trees for every greater penalty are
prunings too. `choose` settles kappa, shrinkage and that penalty by the likelihood of held-out rows, all three for all
trees alike. The penalty lies just above the strongest split that held-out rows reject: how far the next one is says
nothing about noise, and in a table with one sure pair of variables it is hundreds of nats away.

Papers   Buntine, Learning classification trees (1992); Willems, Shtarkov, Tjalkens (1995)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np
from numba import njit

from quiltwork.cpds.tree import LEAF, TreeCPD
from quiltwork.search.deltas import Run, run_here
from quiltwork.search.grow import weakest_gains

KAPPAS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0001)
SHRINKAGES = (0.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # 0 for none: a row in each state instead
ALONE = (math.inf, 0.0)  # all odds on splitting: no node but the leaf is believed
LEAST_KAPPA = 1e-6  # a split that training rows make a million times likelier is no held-out row's to take back
MARGIN = 0.5  # nats, at most, from the strongest split that goes to the cut
TREES_AT_A_TIME = 32


@dataclass(frozen=True)
class Belief:
    """How prunings are averaged: prior odds of a parameter, rows lent by a parent, and the least gain of a split."""

    kappa: float
    shrinkage: float = 0.0
    least_gain: float = 0.0


def averaged(tree: TreeCPD, belief: Belief) -> TreeCPD:
    """The tree cut down to the splits that gain enough, with the mean of its prunings at every leaf.

    >>> tree = TreeCPD(
    ...     child=1, variable=np.array([0, -1, -1]), state=np.array([1, -1, -1]), first=np.array([0, 0, 1]),
    ...     branches=np.array([1, 2]), flow=np.array([4.0, 4.0]), gain=np.array([0.3, 0, 0]),
    ...     probs=np.array([[0.5, 0.5], [0.5, 0.5]]), counts=np.array([[3.0, 1.0], [1.0, 3.0]]),
    ... )
    >>> averaged(tree, Belief(kappa=1.0)).probs.round(2)
    array([[0.6, 0.4],
           [0.4, 0.6]])
    """
    tree = pruned(tree, belief.least_gain)
    probs = np.empty(tree.node_counts.shape)
    _average(*_shape(tree), tree.node_counts, belief.kappa, belief.shrinkage, probs)
    return replace(tree, probs=probs[tree.variable == LEAF])


def pruned(tree: TreeCPD, least_gain: float) -> TreeCPD:
    """The tree without the splits that gain no more than this, and without all that hangs on them."""
    return _cut(tree, weakest_gains(tree) > least_gain) if least_gain > 0.0 else tree


def limited(tree: TreeCPD, max_leaves: int | None) -> TreeCPD:
    """The tree as it was when it had so many leaves, had its splits entered one by one, those of most gain first."""
    if max_leaves is None or tree.n_leaves <= max_leaves:  # a leaf that no row can reach is none
        return tree
    kept = np.zeros(len(tree.variable), np.bool_)
    waiting, n_leaves = [(-tree.gain[0], 0)], 1
    while waiting:
        _, k = heappop(waiting)
        n_leaves += int(tree.ways[k]) - 1
        if n_leaves > max_leaves:
            break
        kept[k] = True
        for child in tree.branches[tree.first[k] : tree.end[k]].tolist():
            if tree.variable[child] != LEAF:
                heappush(waiting, (-tree.gain[child], child))
    return _cut(tree, kept)


def _cut(tree: TreeCPD, stays: np.ndarray) -> TreeCPD:
    """The tree without the splits that do not stay (n_nodes,) bool; a split stays only where those above it do."""
    is_split = (tree.variable != LEAF) & stays
    if is_split.sum() == (tree.variable != LEAF).sum():
        return tree
    kept = np.zeros(len(tree.variable), np.bool_)
    kept[0] = True
    taken = [np.arange(tree.first[k], tree.end[k]) for k in np.flatnonzero(is_split).tolist()]
    branches = np.concatenate([np.empty(0, np.int64), *taken])
    kept[tree.branches[branches]] = True
    nodes, within = np.flatnonzero(kept), np.cumsum(kept) - 1
    splits = is_split[nodes]
    widths = np.where(splits, tree.end[nodes] - tree.first[nodes], 0)
    counts = tree.node_counts[nodes[~splits]]
    return replace(
        tree,
        variable=np.where(splits, tree.variable[nodes], LEAF),
        state=np.where(splits, tree.state[nodes], -1),
        first=np.where(splits, np.cumsum(widths) - widths, np.cumsum(~splits) - 1),
        branches=within[tree.branches[branches]],
        flow=tree.flow[branches],
        gain=np.where(splits, tree.gain[nodes], 0.0),
        probs=(counts + 1.0) / (counts.sum(axis=1, keepdims=True) + counts.shape[1]),
        counts=counts,
    )


def choose(
    trees: Sequence[TreeCPD], held_out: np.ndarray, weights: np.ndarray | None = None, run: Run = run_here
) -> Belief:
    """The belief under which held-out rows (rows, n_vars) are likeliest, the same for all trees.

    (A split is judged with the posteriors of the uncut tree, which hardly differ from those of the cut one.)
    """
    grid = [(kappa, shrinkage) for kappa in KAPPAS for shrinkage in SHRINKAGES]
    least_gain, setting = _best_cut(trees, held_out, weights, grid, run)
    return Belief(*grid[setting], least_gain=least_gain)


def choose_kappa(
    trees: Sequence[TreeCPD], held_out: np.ndarray, weights: np.ndarray | None = None, run: Run = run_here
) -> float:
    """The kappa whose trees make held-out rows likeliest where a leaf predicts alone, with a row added in each state.

    The trees were grown with kappa = 1: under another a split stays if it gains more than -ln kappa a parameter.
    """
    by_parameter = [replace(tree, gain=tree.gain / _parameters_added(tree)) for tree in trees]
    least_gain, _ = _best_cut(by_parameter, held_out, weights, [ALONE], run)
    return math.exp(-least_gain)


def _parameters_added(tree: TreeCPD) -> np.ndarray:
    """(n_nodes,) free parameters that each split brought; 1 for a leaf."""
    return np.where(tree.variable != LEAF, tree.ways - 1, 1) * max(1, tree.probs.shape[1] - 1)


def _shape(tree: TreeCPD) -> tuple[np.ndarray, ...]:
    return tree.variable, tree.first, tree.end, tree.branches, tree.ways


def _best_cut(
    trees: Sequence[TreeCPD],
    held_out: np.ndarray,
    weights: np.ndarray | None,
    grid: list[tuple[float, float]],
    run: Run,
) -> tuple[float, int]:
    """The least gain of a split, and the place in the grid, that make the held-out rows likeliest."""
    parts: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0), np.empty((0, 0)))] * len(trees)
    roots = np.zeros((len(trees), len(grid)))
    chunks = [range(i, min(i + TREES_AT_A_TIME, len(trees))) for i in range(0, len(trees), TREES_AT_A_TIME)]

    def one(i: int) -> None:
        for t in chunks[i]:
            parts[t] = _evidence(trees[t], trees[t].visits(held_out, weights), grid, roots[t])

    run(one, len(chunks))
    weakest = np.concatenate([gains for gains, _ in parts])
    order = np.argsort(-weakest, kind="stable")
    apart = np.append(np.diff(weakest[order], prepend=np.inf) < 0, True)  # equal gains stay or go together
    allowed = apart & np.append(weakest[order] <= -math.log(LEAST_KAPPA), True)
    best, cut, setting = -np.inf, 0, 0
    for g in range(len(grid)):
        change = np.concatenate([deltas[:, g] for _, deltas in parts])[order]
        path = np.where(allowed, np.append(0.0, np.cumsum(change)) + roots[:, g].sum(), -np.inf)
        if path.max() > best:
            best, cut, setting = float(path.max()), int(np.argmax(path)), g
    if cut == len(order):
        return 0.0, setting
    goes = float(weakest[order[cut]])  # the strongest that does
    stays = float(weakest[order[cut - 1]]) if cut else math.inf
    return min(0.5 * (goes + stays), goes + MARGIN, -math.log(LEAST_KAPPA)), setting


def _evidence(
    tree: TreeCPD, seen: np.ndarray, grid: list[tuple[float, float]], root: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For every split its weakest gain and, by setting, what it adds to the log-likelihood of the rows seen."""
    splits = np.flatnonzero(tree.variable != LEAF)
    own, probs = tree.node_counts, np.empty(tree.node_counts.shape)
    change = np.empty((len(splits), len(grid)))
    for g, (kappa, shrinkage) in enumerate(grid):
        if kappa == math.inf:
            probs = (own + 1.0) / (own.sum(axis=1, keepdims=True) + own.shape[1])
        else:
            _average(*_shape(tree), own, kappa, shrinkage, probs)
        as_leaf = (seen * np.log(probs)).sum(axis=1)
        root[g] = as_leaf[0]
        if len(splits):
            change[:, g] = np.add.reduceat(as_leaf[tree.branches], tree.first[splits]) - as_leaf[splits]
    return weakest_gains(tree)[splits], change


# Kernels


@njit(cache=True, nogil=True)
def _average(variable, first, end, branches, ways, own, kappa, shrinkage, out):
    """Into out (n_nodes, states) what the averaged tree would predict at each node, were it cut off there."""
    n, r = own.shape
    evidence, stop = np.empty(n), np.ones(n)
    for k in range(n - 1, -1, -1):
        total, as_leaf = 0.0, math.lgamma(r)
        for c in range(r):
            total += own[k, c]
            as_leaf += math.lgamma(own[k, c] + 1.0)
        as_leaf -= math.lgamma(total + r)
        evidence[k] = as_leaf
        if variable[k] >= 0:
            log_odds = (r - 1) * (ways[k] - 1) * math.log(kappa)
            log_stop = -math.log1p(math.exp(log_odds))
            split = log_odds + log_stop
            for b in range(first[k], end[k]):
                split += evidence[branches[b]]
            as_leaf += log_stop
            top = max(split, as_leaf)
            evidence[k] = top + math.log(math.exp(split - top) + math.exp(as_leaf - top))
            stop[k] = math.exp(as_leaf - evidence[k])
    here = np.empty((n, r))  # the distribution of each node alone
    believed = np.zeros((n, r))  # what its ancestors contribute
    reach = np.ones(n)  # what is left for it and its descendants
    for k in range(n):
        if k == 0 or shrinkage == 0.0:
            total = own[k].sum()
            for c in range(r):
                here[k, c] = (own[k, c] + 1.0) / (total + r)
        for c in range(r):
            out[k, c] = believed[k, c] + reach[k] * here[k, c]
        if variable[k] >= 0:
            for b in range(first[k], end[k]):
                child = branches[b]
                reach[child] = reach[k] * (1.0 - stop[k])
                total = own[child].sum()
                for c in range(r):
                    believed[child, c] = believed[k, c] + reach[k] * stop[k] * here[k, c]
                    if shrinkage > 0.0:
                        here[child, c] = (own[child, c] + shrinkage * here[k, c]) / (total + shrinkage)
