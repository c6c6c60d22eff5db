"""Features of trees and edges, against the definition and the paper's own example."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import log_linear
from naive import tree_features as slow
from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.dataset import Variable
from quiltwork.errors import ResourceLimitError
from quiltwork.search import features as fast
from quiltwork.search.features import atomic_features, coupling_features, pairwise_features, tree_features, zero_states

HOW = ["default", "prune", "prune-10", "prune-5", "nonzero"]


def flat(tree, child):
    """A tree of `naive.tree_features` as a TreeCPD, nodes level by level."""
    waiting, variable, state, first, branches, probs = [tree], [], [], [], [], []
    for node in waiting:
        if node[0] == "leaf":
            variable.append(-1), state.append(-1), first.append(len(probs))
            probs.append(node[1])
        else:
            _, v, s, below = node
            variable.append(v), state.append(-1 if s is None else s), first.append(len(branches))
            branches += range(len(waiting), len(waiting) + len(below))
            waiting += below
    ints = [np.array(values, np.int64) for values in (variable, state, first, branches)]
    zeros = np.zeros(len(branches)), np.zeros(len(variable))
    return TreeCPD(child, *ints, *zeros, np.array(probs), 10 * np.array(probs))


def random_tree(rng, child, n_states, left, depth):
    """left: the states that each other variable can still be in."""
    splits = [(v, s) for v, states in left.items() for s in states if len(states) > 1]
    if depth == 0 or not splits or rng.random() < 0.2:
        return ("leaf", rng.dirichlet(np.ones(n_states[child])))
    v, s = splits[rng.integers(len(splits))]
    if len(left[v]) == n_states[v] and rng.random() < 0.25:
        inside = [{**left, v: [t]} for t in range(n_states[v])]
        return ("split", v, None, [random_tree(rng, child, n_states, own, depth - 1) for own in inside])
    parts = [{**left, v: [s]}, {**left, v: [t for t in left[v] if t != s]}]
    return ("split", v, s, [random_tree(rng, child, n_states, own, depth - 1) for own in parts])


@st.composite
def trees(draw, states=(2, 2, 2, 3, 4)):
    """(tree, child, n_states)"""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_states = rng.choice(states, draw(st.integers(2, 7))).tolist()
    child = int(rng.integers(len(n_states)))
    left = {v: list(range(n)) for v, n in enumerate(n_states) if v != child}
    return random_tree(rng, child, n_states, left, draw(st.integers(0, 7))), child, n_states


@settings(max_examples=150)
@given(trees(), st.sampled_from(HOW))
def test_features_are_those_of_the_definition(case, how):
    tree, child, n_states = case
    found, start = tree_features([flat(tree, child)], np.array(n_states), how)
    as_sets = [frozenset(feature) for feature in found]
    assert len(set(as_sets)) == len(as_sets) == len(start) and np.isfinite(start).all()
    assert all(list(feature) == sorted(feature) for feature in found)
    if all(fast.MAX_SPELLED >= np.prod([len(slow.states_left(said, n_states[v])) for v, said in possible.items()])
           for possible, _, _ in slow.nodes(tree)):  # fmt: skip
        assert set(as_sets) == slow.features(tree, child, n_states, how)


@settings(max_examples=60)
@given(trees())
def test_any_state_may_be_the_one_that_is_false(case):
    tree, child, n_states = case
    zeros = [n - 1 if v % 2 else n // 2 for v, n in enumerate(n_states)]
    found, _ = tree_features([flat(tree, child)], np.array(n_states), "nonzero", np.array(zeros))
    assert set(map(frozenset, found)) == slow.features(tree, child, n_states, "nonzero", zeros)


@pytest.mark.parametrize("states, zero", [
    ((-1, 0, 1), 1), ((-2.5, 0.0), 1), ((False, True), 0), (("False", "True"), 0), (("NO", "yes"), 0), (("a", "no"), 1),
    (("-1", "0", "1"), 1), ((1, 2), 0), (("high", "low"), 0), ((5,), 0), (("00", "10"), 0),
])  # fmt: skip
def test_what_stands_for_nothing(states, zero):
    assert zero_states([Variable("v", states)]).tolist() == [zero]


@settings(max_examples=60)
@given(trees(), st.sampled_from(["default", "prune"]))
def test_features_of_a_tree_say_what_the_tree_says(case, how):
    """With log-probabilities for weights the conditional of the child is the tree's; PRUNE needs only its leaves'."""
    tree, child, n_states = case
    features = list(tree_features([flat(tree, child)], np.array(n_states), how)[0])
    rng = np.random.default_rng(0)
    for _ in range(5):
        row = [int(rng.integers(n)) for n in n_states]
        expected = np.log(slow.distribution(tree, row))
        leaf = max((f for f in features if all(row[v] == s for v, s in f if v != child)), key=len)
        reached = [f for f in features if dict(f).keys() == dict(leaf).keys() and set(f) ^ set(leaf) <= {
            (child, s) for s in range(n_states[child])}]  # fmt: skip
        assert len(reached) == n_states[child]
        weights = [expected[dict(f)[child]] for f in reached]
        changed = [[*row[:child], s, *row[child + 1 :]] for s in range(n_states[child])]
        conditional = [log_linear.energy(reached, weights, other) for other in changed]
        assert conditional == pytest.approx(expected)


FIGURE_1 = ("split", 0, 1, [("leaf", [0.4, 0.6]), ("split", 1, 1, [("leaf", [0.2, 0.8]), ("leaf", [0.7, 0.3])])])


def test_the_papers_example():
    """X1, X2 and X4 are columns 0, 1 and 2; section III-B lists the rules."""

    def rules(how):
        return {frozenset(f) for f in tree_features([flat(FIGURE_1, 2)], np.array([2, 2, 2]), how)[0]}

    default = {
        frozenset({(0, 1), (2, 1)}), frozenset({(0, 1), (2, 0)}),
        frozenset({(0, 0), (1, 1), (2, 1)}), frozenset({(0, 0), (1, 1), (2, 0)}),
        frozenset({(0, 0), (1, 0), (2, 1)}), frozenset({(0, 0), (1, 0), (2, 0)}),
    }  # fmt: skip
    assert rules("default") == default
    inner = {frozenset({(0, 0), (2, 1)}), frozenset({(0, 0), (2, 0)}), frozenset({(2, 1)}), frozenset({(2, 0)})}
    assert rules("prune") == default | inner
    true_ones = [{(0, 1), (2, 1)}, {(0, 1)}, {(1, 1), (2, 1)}, {(1, 1)}, {(2, 1)}]
    assert rules("nonzero") == set(map(frozenset, true_ones))


def test_depth_is_limited():
    tree = ("leaf", [0.5, 0.5])
    for v in range(12, 0, -1):
        tree = ("split", v, 1, [("leaf", [0.4, 0.6]), tree])
    lengths = {how: tree_features([flat(tree, 0)], np.full(13, 2), how)[0].lengths.max() for how in HOW[:4]}
    assert lengths == {"default": 13, "prune": 13, "prune-10": 11, "prune-5": 6}


def test_the_loosest_condition_is_dropped_where_spelling_out_would_be_too_much():
    tree = ("leaf", [0.3, 0.7])
    for v, n in ((1, 10), (2, 5), (3, 3)):  # 9 * 4 * 2 = 72 combinations of what is left
        tree = ("split", v, 0, [("leaf", [0.5, 0.5]), tree])
    found = [f for f in tree_features([flat(tree, 0)], np.array([2, 10, 5, 3]), "default")[0] if len(f) == 3]
    lowest = [f for f in found if dict(f)[2] != 0]  # the others end where v2 is in state 0
    assert {tuple(v for v, _ in f) for f in found} == {(0, 2, 3)} and len(lowest) == 2 * 4 * 2


def test_the_same_feature_of_two_trees_is_one_and_their_shares_add_up():
    pair = [flat(("split", 1 - t, 1, [("leaf", [0.1, 0.9]), ("leaf", [0.8, 0.2])]), t) for t in (0, 1)]
    one, start_one = tree_features(pair[:1], np.array([2, 2]), "default")
    both, start_both = tree_features(pair, np.array([2, 2]), "default")
    assert len(one) == 4 and len(both) == 4
    together = dict(zip(both, start_both))
    assert together[(0, 1), (1, 1)] == pytest.approx(2 * dict(zip(one, start_one))[(0, 1), (1, 1)])


def test_edges():
    assert list(pairwise_features(np.array([2, 3, 2]), np.array([[0, 1]])))[-3:] == [
        ((0, 1), (1, 2)), ((2, 0),), ((2, 1),)]  # fmt: skip
    assert list(coupling_features(np.array([2, 3, 1]), np.array([[0, 1], [0, 2]])))[3:] == [
        ((0, 1), (1, 1)), ((0, 1), (1, 2))]  # fmt: skip
    assert list(atomic_features(np.array([1, 2]))) == [((1, 1),)]


def test_too_many_features_are_refused(monkeypatch):
    monkeypatch.setattr(fast, "MAX_FEATURES", 5)
    with pytest.raises(ResourceLimitError, match="6 features are past the limit of 5: grow smaller trees"):
        tree_features([flat(FIGURE_1, 2)], np.array([2, 2, 2]), "default")
