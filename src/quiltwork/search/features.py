"""Which features a Markov network has: conjunctions read off decision trees, off edges, or off nothing at all.

A tree for X with splits on other variables says the same as features. For every leaf and every state of X there is the
conjunction of the conditions on the way to the leaf with X in that state, and its weight is the log-probability there.

    default     those of the leaves
    prune       those of all nodes, as if the tree had been cut back in every possible way
    prune-10    prune, but only of nodes at most 10 splits below the root; prune-5 likewise
    nonzero     those of the leaves, without the conditions that are false: short features for sparse data

Paper    Lowd, Davis (2010), section III-B
Differs  A condition "not in state s" of a variable with more than two states is no conjunction. It is spelled out: one
         feature for each state that is left, and for each combination where several variables are left open. Where
         that would make more than MAX_SPELLED features of one, the condition with the most states left is dropped.
         "False" is a variable in its state zero, 0 or what says no where it has such a state and else its first (see
         `zero_states`), and every "not in state s" that leaves more than one state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np
from numba import njit

from quiltwork.cpds.tree import LEAF, TreeCPD
from quiltwork.data.dataset import Variable
from quiltwork.errors import ResourceLimitError
from quiltwork.stats.conjunctions import Condition, Conjunctions, distinct

MAX_FEATURES = 2**22  # L-BFGS holds some twenty vectors of this length: 700 MB
MAX_SPELLED = 32
DEEPEST = {"default": None, "prune": None, "prune-10": 10, "prune-5": 5, "nonzero": None}
OPEN = -1  # the state of a condition that leaves more than one


SAY_NO = ("0", "0.0", "false", "no")  # texts, in any case


def zero_states(variables: Sequence[Variable]) -> np.ndarray:
    """The state of each variable that stands for nothing: 0 or False, else what says so, else the first.

    >>> change, gift = Variable("change", (-1, 0, 1)), Variable("gift", ("Maybe", "No", "Yes"))
    >>> zero_states([change, gift, Variable("size", ("large", "small")), Variable("grade", (3, 4, 5))])
    array([1, 1, 0, 0])
    """
    out = np.zeros(len(variables), np.int64)
    for v, variable in enumerate(variables):
        said = [str(state).lower() for state in variable.states]
        out[v] = next((said.index(text) for text in SAY_NO if text in said), 0)
    return out


def tree_features(
    trees: Sequence[TreeCPD], n_states: np.ndarray, how: str, zeros: np.ndarray | None = None
) -> tuple[Conjunctions, np.ndarray]:
    """The distinct features of all trees, and weights to start from; zeros (n_vars,) are the states that are false,
    the first of each variable without it.

    To start with, each tree gives its log-probabilities to its features, shared among the variables of the
    feature, each of which may have a tree that says the same (Lowd, 2012, averages over orders of the variables, in
    which just the last of a feature's variables reads it).

    >>> stump = TreeCPD(
    ...     child=1,
    ...     variable=np.array([0, -1, -1]), state=np.array([1, -1, -1]), first=np.array([0, 0, 1]),
    ...     branches=np.array([1, 2]), flow=np.array([10.0, 30.0]), gain=np.array([4.2, 0, 0]),
    ...     probs=np.array([[0.1, 0.9], [0.8, 0.2]]), counts=np.array([[1.0, 9.0], [24.0, 6.0]]),
    ... )
    >>> list(tree_features([stump], np.array([2, 2]), "nonzero")[0])
    [((0, 1),), ((0, 1), (1, 1)), ((1, 1),)]
    """
    false = np.zeros(len(n_states), np.int64) if zeros is None else zeros
    found = [_of_tree(tree, n_states, how, false) for tree in trees]
    refuse_too_many(sum(len(features) for features, _ in found), "grow smaller trees (a smaller kappa), or 'prune-5'")
    features, which = distinct([features for features, _ in found])
    shares = np.concatenate([np.empty(0), *(shares for _, shares in found)])
    return features, np.bincount(which, shares, len(features))


def pairwise_features(n_states: np.ndarray, edges: np.ndarray) -> Conjunctions:
    """One feature for every joint state of an edge, then one for every state of a variable without edges.

    >>> list(pairwise_features(np.array([2, 2, 2]), np.array([[0, 2]])))
    [((0, 0), (2, 0)), ((0, 0), (2, 1)), ((0, 1), (2, 0)), ((0, 1), (2, 1)), ((1, 0),), ((1, 1),)]
    """
    left, right = edges.reshape(-1, 2).T
    alone = np.setdiff1d(np.arange(len(n_states)), edges)
    sizes = n_states[left] * n_states[right]
    refuse_too_many(int(sizes.sum()), "lower k, or merge states of the variables with the most states")
    return _stacked(_joint_states(n_states, edges, 0), _single_states(n_states, alone, 0))


def coupling_features(n_states: np.ndarray, edges: np.ndarray) -> Conjunctions:
    """One feature for every state of a variable beyond the first, then one for every two such states of an edge.

    >>> list(coupling_features(np.array([2, 3]), np.array([[0, 1]])))
    [((0, 1),), ((1, 1),), ((1, 2),), ((0, 1), (1, 1)), ((0, 1), (1, 2))]
    """
    left, right = edges.reshape(-1, 2).T
    sizes = (n_states[left] - 1) * (n_states[right] - 1)
    refuse_too_many(int(sizes.sum()), "keep fewer edges, or merge states of the variables with the most states")
    return _stacked(_single_states(n_states, np.arange(len(n_states)), 1), _joint_states(n_states, edges, 1))


def atomic_features(n_states: np.ndarray) -> Conjunctions:
    """One feature for every state of a variable beyond the first: all variables are independent.

    >>> list(atomic_features(np.array([2, 3])))
    [((0, 1),), ((1, 1),), ((1, 2),)]
    """
    return coupling_features(n_states, np.empty((0, 2), np.int64))


def refuse_too_many(n: int, way_out: str) -> None:
    if n > MAX_FEATURES:
        raise ResourceLimitError(f"{n:,} features are past the limit of {MAX_FEATURES:,}: {way_out}.")


# Edges


def _joint_states(n_states: np.ndarray, edges: np.ndarray, low: int) -> Conjunctions:
    """The joint states of each edge, of the states from `low` on, the second variable's fastest."""
    left, right = edges.reshape(-1, 2).T
    widths = n_states[right] - low
    sizes = (n_states[left] - low) * widths
    edge = np.repeat(np.arange(len(left)), sizes)
    within = np.arange(len(edge)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    columns = np.stack([left[edge], right[edge]], axis=1).astype(np.int64)
    states = low + np.stack(np.divmod(within, widths[edge]), axis=1)
    return Conjunctions(2 * np.arange(len(edge) + 1), columns.ravel(), states.ravel())


def _single_states(n_states: np.ndarray, variables: np.ndarray, low: int) -> Conjunctions:
    columns = np.repeat(variables, n_states[variables] - low)
    states = np.concatenate([np.empty(0, np.int64), *(np.arange(low, n) for n in n_states[variables])])
    return Conjunctions(np.arange(len(columns) + 1), columns, states)


def _stacked(a: Conjunctions, b: Conjunctions) -> Conjunctions:
    first = np.concatenate([a.first_condition, a.first_condition[-1] + b.first_condition[1:]])
    return Conjunctions(first, np.concatenate([a.columns, b.columns]), np.concatenate([a.states, b.states]))


# Trees


def _of_tree(tree: TreeCPD, n_states: np.ndarray, how: str, false: np.ndarray) -> tuple[Conjunctions, np.ndarray]:
    """The features of one tree, some perhaps twice, and what the tree gives each to start from."""
    parent, branch, depth = _ancestry(tree.variable, tree.first, tree.branches)
    wanted = tree.variable == LEAF if how in ("default", "nonzero") else np.ones(len(depth), np.bool_)
    if DEEPEST[how] is not None:
        wanted &= depth <= DEEPEST[how]
    nodes = np.flatnonzero(wanted)
    known = tree.variable, tree.state, parent, branch, depth, n_states
    first, columns, states = _walk_up(*known, tree.child, nodes, false, how == "nonzero")
    log_shares = _log_shares(tree, parent, only_leaves=how in ("default", "nonzero"))[nodes].ravel()
    features = Conjunctions(first, columns, states)
    if how == "nonzero":  # a condition left open was dropped with the false ones; so may all of a feature be
        some = features.lengths > 0
        features, log_shares = features.take(some), log_shares[some]
    elif (states == OPEN).any():
        r = int(n_states[tree.child])
        features, which = _spelled_out(tree, features, np.repeat(nodes, r), parent, branch, n_states)
        log_shares = log_shares[which]
    return features, log_shares / features.lengths


def _log_shares(tree: TreeCPD, parent: np.ndarray, only_leaves: bool) -> np.ndarray:
    """log P(child = s | node), (n_nodes, states), less its mean and, unless only leaves are used, less the parent's."""
    counts = np.zeros((len(tree.variable), tree.probs.shape[1]))
    leaves = tree.variable == LEAF
    counts[leaves] = tree.counts[tree.first[leaves]]
    for k in range(len(counts) - 1, 0, -1):  # a node comes before its children
        counts[parent[k]] += counts[k]
    probs = (counts + 1.0) / (counts.sum(axis=1, keepdims=True) + counts.shape[1])
    probs[leaves] = np.maximum(tree.probs[tree.first[leaves]], 1e-12)  # a sure thing would be an infinite weight
    log_probs = np.log(probs)
    log_probs -= log_probs.mean(axis=1, keepdims=True)
    if only_leaves:
        return log_probs
    return np.concatenate([log_probs[:1], log_probs[1:] - log_probs[parent[1:]]])


def _spelled_out(
    tree: TreeCPD, features: Conjunctions, nodes: np.ndarray, parent: np.ndarray, branch: np.ndarray,
    n_states: np.ndarray,
) -> tuple[Conjunctions, np.ndarray]:  # fmt: skip
    """Features without open conditions, and which feature each comes from; nodes (n,) is where each was read off."""
    out: list[Sequence[Condition]] = []
    origin = []
    for f, conditions in enumerate(features):
        fixed = [condition for condition in conditions if condition[1] != OPEN]
        left = {v: _states_left(tree, int(nodes[f]), v, parent, branch, n_states) for v, s in conditions if s == OPEN}
        for combination in _combinations(left):
            out.append([*fixed, *combination])
            origin.append(f)
    return Conjunctions.of(out), np.array(origin, np.int64)


def _states_left(
    tree: TreeCPD, node: int, v: int, parent: np.ndarray, branch: np.ndarray, n_states: np.ndarray
) -> list[int]:
    excluded = set()
    while parent[node] >= 0:
        above = parent[node]
        if tree.variable[above] == v and branch[node] == 1:
            excluded.add(int(tree.state[above]))
        node = above
    return [s for s in range(n_states[v]) if s not in excluded]


def _combinations(left: dict[int, list[int]]) -> Iterator[tuple[Condition, ...]]:
    """Every way to fill in the open variables, the loosest left out until there are at most MAX_SPELLED ways."""
    tightest = sorted(left, key=lambda v: (len(left[v]), v))
    while prod(len(left[v]) for v in tightest) > MAX_SPELLED:
        tightest.pop()
    return product(*([(v, s) for s in left[v]] for v in tightest))


# Kernels


@njit(cache=True, nogil=True)
def _ancestry(variable, first, branches):
    """Of each node its parent (-1 for the root), which of the parent's branches leads to it, and its depth."""
    n = variable.size
    parent, branch, depth = np.full(n, -1, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    end = branches.size
    for k in range(n - 1, -1, -1):
        if variable[k] >= 0:
            for b in range(first[k], end):
                parent[branches[b]], branch[branches[b]] = k, b - first[k]
            end = first[k]
    for k in range(1, n):
        depth[k] = depth[parent[k]] + 1
    return parent, branch, depth


@njit(cache=True, nogil=True)
def _walk_up(variable, state, parent, branch, depth, n_states, child, nodes, false, only_true):
    """The features of these nodes, states of the child fastest: first_condition, columns, states, OPEN among them."""
    r = n_states[child]
    most = 0
    for k in nodes:
        most += (depth[k] + 1) * r
    first = np.zeros(nodes.size * r + 1, np.int64)
    columns, states = np.empty(most, np.int64), np.empty(most, np.int64)
    excluded = np.zeros(n_states.size, np.int64)  # how many states the walk has ruled out, by variable
    found, said = np.empty(depth.max() + 2, np.int64), np.empty(depth.max() + 2, np.int64)
    at, f = 0, 0
    for node in nodes:
        n = _conditions(variable, state, parent, branch, n_states, node, excluded, found, said)
        for t in range(r):
            found[n], said[n] = child, t
            for j in np.argsort(found[: n + 1]):
                if not (only_true and (said[j] == OPEN or said[j] == false[found[j]])):
                    columns[at], states[at] = found[j], said[j]
                    at += 1
            f += 1
            first[f] = at
    return first, columns[:at].copy(), states[:at].copy()


@njit(cache=True, nogil=True)
def _conditions(variable, state, parent, branch, n_states, node, excluded, found, said):
    """Writes what must be true to come to a node, each variable once, into found and said; returns how many."""
    n = 0
    k = node
    while parent[k] >= 0:  # from the node up: what stands lower is narrower
        above = parent[k]
        v = variable[above]
        place = 0
        while place < n and found[place] != v:
            place += 1
        if place == n:
            found[n], said[n], excluded[v] = v, OPEN, 0
            n += 1
        if said[place] == OPEN:
            if state[above] < 0:
                said[place] = branch[k]
            elif branch[k] == 0:
                said[place] = state[above]
            elif n_states[v] == 2:
                said[place] = 1 - state[above]
            else:
                excluded[v] += 1
        k = above
    for place in range(n):
        if said[place] == OPEN and excluded[found[place]] == n_states[found[place]] - 1:
            said[place] = _only_state(variable, state, parent, branch, n_states, node, found[place])
    return n


@njit(cache=True, nogil=True)
def _only_state(variable, state, parent, branch, n_states, node, v):
    """The one state of v that no split above the node rules out."""
    possible = np.ones(n_states[v], np.bool_)
    k = node
    while parent[k] >= 0:
        if variable[parent[k]] == v and branch[k] == 1:
            possible[state[parent[k]]] = False
        k = parent[k]
    return np.argmax(possible)
