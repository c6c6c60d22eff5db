"""Hoeffding trees against the slow twin, against the batch tree, and by their own promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import hoeffding as slow
from quiltwork.errors import ResourceLimitError
from quiltwork.search import hoeffding
from quiltwork.search.grow import GrowthRules, grow_trees
from quiltwork.search.hoeffding import HoeffdingTree, StreamRules
from quiltwork.stats.leaves import leaf_arrays
from tables import dataset, random_table


def splits(cpd, node=0):
    """((variable, state), yes, no) of the splits of a tree of binary splits."""
    if cpd.variable[node] < 0:
        return None
    first = cpd.first[node]
    below = (splits(cpd, int(k)) for k in cpd.branches[first : first + 2])
    return ((int(cpd.variable[node]), int(cpd.state[node])), *below)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([0.02, 0.3]), st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from([5, 40]))
def test_splits_are_those_of_the_definition(seed, delta, tie, grace):
    n_states = [2, 3, 2, 4, 1]
    codes = np.array(random_table(seed, 600, n_states)).T.copy()
    target = seed % 4
    tree = HoeffdingTree(target, np.array(n_states))
    tree.feed(codes, StreamRules(0.1, delta, tie, grace))
    twin = slow.Tree(target, n_states, 0.1, delta, tie, grace)
    for row in codes.tolist():
        twin.see(row)
    assert splits(tree.cpd()) == twin.splits()


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 599), max_size=4))
def test_it_does_not_matter_how_the_stream_is_cut(seed, cuts):
    n_states = [2, 3, 2, 2]
    codes = np.array(random_table(seed, 600, n_states)).T.copy()
    whole, parts = (HoeffdingTree(1, np.array(n_states)) for _ in range(2))
    rules = StreamRules(0.5, 0.3, 0.3, 10)
    whole.feed(codes, rules)
    for part in np.split(codes, sorted(cuts)):
        parts.feed(part, rules)
    a, b = whole.cpd(), parts.cpd()
    for name in ("variable", "state", "first", "branches", "flow", "gain", "probs", "counts"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def planted(n, seed):
    """y depends on a, and where a is on, on b; c and d are noise."""
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.integers(0, 2, (4, n))
    p = np.where(a == 1, np.where(b == 1, 0.9, 0.4), 0.1)
    return np.stack([a, b, c, d, rng.random(n) < p], axis=1).astype(np.uint16)


def test_on_enough_rows_it_is_the_batch_tree():
    codes = planted(40_000, 0)
    tree = HoeffdingTree(4, np.full(5, 2))
    tree.feed(codes, StreamRules())
    data = dataset(list(codes.T), [2] * 5)
    batch = grow_trees(leaf_arrays(data), [4], GrowthRules(kappa=0.01))[0]
    assert splits(tree.cpd()) == splits(batch) == ((0, 1), ((1, 1), None, None), None)
    streamed, swept = tree.cpd().log_probs(codes[:100]), batch.log_probs(codes[:100])
    assert np.exp(streamed) == pytest.approx(np.exp(swept), abs=0.02)


def test_a_leaf_waits_until_it_is_sure():
    """With few rows no lead is large enough; the tie rule alone would split."""
    codes = planted(400, 1)
    patient, hasty = HoeffdingTree(4, np.full(5, 2)), HoeffdingTree(4, np.full(5, 2))
    patient.feed(codes, StreamRules(delta=1e-30, tie=0.0))
    hasty.feed(codes, StreamRules(tie=1.0))
    assert patient.cpd().n_leaves == 1 and hasty.cpd().n_leaves > 1


def test_noise_is_not_split():
    codes = np.random.default_rng(0).integers(0, 2, (20_000, 4)).astype(np.uint16)
    tree = HoeffdingTree(0, np.full(4, 2))
    tree.feed(codes, StreamRules())
    assert tree.cpd().n_leaves == 1 and tree.cpd().counts.sum() == 20_000


def test_more_than_the_machine_holds_is_refused(monkeypatch):
    monkeypatch.setattr(hoeffding, "physical_memory", lambda: 100.0)
    with pytest.raises(ResourceLimitError, match="leave out rare columns, or lower kappa or tie"):
        HoeffdingTree(4, np.full(5, 2)).feed(planted(400, 1), StreamRules(tie=1.0))
