import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import decision_trees as naive
from quiltwork.cpds.tree import TreeCPD
from quiltwork.search.grow import GrowthRules, grow_trees, weakest_gains
from quiltwork.search.prune import LEAST_KAPPA, MARGIN, Belief, averaged, choose, choose_kappa, limited, pruned
from quiltwork.stats.leaves import leaf_arrays
from tables import dataset, random_table


def nested(tree, node=0):
    if tree.variable[node] < 0:
        return tree.counts[tree.first[node]].tolist()
    branches = tree.branches[tree.first[node] : tree.end[node]]
    return (int(tree.variable[node]), int(tree.state[node]), 0.0, [nested(tree, int(k)) for k in branches])


def leaf_paths(tree, node=0, path=()):
    """Path to every leaf -> its row of probs."""
    if tree.variable[node] < 0:
        return {path: int(tree.first[node])}
    out = {}
    for k, child in enumerate(tree.branches[tree.first[node] : tree.end[node]].tolist()):
        out |= leaf_paths(tree, child, (*path, k))
    return out


def some_trees(seed, n_samples=120, kappa=0.5, n_states=(2, 3, 2, 2), complete=False):
    data = dataset(random_table(seed, n_samples, list(n_states)), list(n_states))
    return grow_trees(leaf_arrays(data), range(len(n_states)), GrowthRules(kappa, complete=complete))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 0.2, 0.01]), st.booleans())
def test_the_mean_over_all_prunings(seed, kappa, complete):
    for tree in some_trees(seed, n_states=(2, 4, 2) if complete else (2, 3, 2, 2), complete=complete):
        if tree.n_leaves > 12:
            continue
        expected = naive.averaged(nested(tree), kappa)
        found = averaged(tree, Belief(kappa))
        for path, row in leaf_paths(found).items():
            np.testing.assert_allclose(found.probs[row], expected[path], atol=1e-10)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0, 3))
def test_pruning_is_growing_with_a_greater_penalty(seed, extra):
    data = dataset(random_table(seed, 200, [2] * 5), [2] * 5)
    grown = grow_trees(leaf_arrays(data), range(5), GrowthRules(float(np.exp(-extra)) * 0.5))
    for whole, strict in zip(grow_trees(leaf_arrays(data), range(5), GrowthRules(0.5)), grown, strict=True):
        cut = pruned(whole, extra)
        np.testing.assert_array_equal(cut.variable, strict.variable)
        np.testing.assert_array_equal(cut.branches, strict.branches)
        np.testing.assert_array_equal(cut.counts, strict.counts)
        np.testing.assert_array_equal(cut.flow, strict.flow)


@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_a_limit_on_leaves_keeps_the_splits_that_gain_most(most):
    for tree in some_trees(1, 400, 1.0, (2,) * 6):
        small = limited(tree, most)
        assert small.n_leaves == min(most, tree.n_leaves)
        order = np.sort(weakest_gains(tree)[tree.variable >= 0])[::-1]
        np.testing.assert_allclose(
            np.sort(weakest_gains(small)[small.variable >= 0])[::-1], order[: small.n_leaves - 1]
        )


def test_held_out_rows_choose_what_predicts_them_best():
    columns = random_table(4, 1500, [2] * 6)
    train, held_out = (dataset([c[part] for c in columns], [2] * 6) for part in (slice(0, 1000), slice(1000, 1500)))
    trees = grow_trees(leaf_arrays(train), range(6), GrowthRules(1.0))
    codes = held_out.states()

    def likelihood(belief):
        cpds = [averaged(tree, belief) for tree in trees]
        return sum(cpd.log_probs(codes)[np.arange(500), codes[:, v]].sum() for v, cpd in enumerate(cpds))

    best = likelihood(choose(trees, codes))
    for kappa in (0.3, 0.01):
        for shrinkage in (0.0, 8.0):
            for least_gain in (0.0, 1.0, 4.0):
                assert best >= likelihood(Belief(kappa, shrinkage, least_gain)) - 1e-6


def crossing(gains, counts):
    """Two levels of splits with these gains: the root's, and those of its two children."""
    return TreeCPD(
        child=2, variable=np.array([0, 1, 1, -1, -1, -1, -1]), state=np.array([1, 1, 1, -1, -1, -1, -1]),
        first=np.array([0, 2, 4, 0, 1, 2, 3]), branches=np.arange(1, 7), flow=np.ones(6),
        gain=np.array([*gains, 0, 0, 0, 0.0]), probs=np.full((4, 2), 0.5), counts=np.array(counts, float),
    )  # fmt: skip


def test_splits_of_equal_weakest_gain_stay_or_go_together():
    """A child that gains more than its parent goes only with it, so no cut may fall between the two."""
    tree = crossing([2.0, 5.0, 9.0], [[40, 10], [10, 40], [25, 25], [25, 25]])
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (400, 3)).astype(np.uint16)
    codes[:, 2] = (codes[:, 0] == 1) & (codes[:, 1] == 0)
    belief = choose([tree], codes)
    rows = np.arange(400)
    likelihood = {
        gain: averaged(tree, Belief(belief.kappa, belief.shrinkage, gain)).log_probs(codes)[rows, codes[:, 2]].sum()
        for gain in (0.0, 2.5)
    }
    found = averaged(tree, belief).log_probs(codes)[rows, codes[:, 2]].sum()
    assert found == pytest.approx(max(likelihood.values()))


def test_leaves_enter_one_by_one_by_their_own_gain():
    """Behind the root both splits wait; the one that gains more comes first, though neither is weaker than the root."""
    small = limited(crossing([2.0, 5.0, 9.0], np.ones((4, 2))), 3)
    assert small.gain.max() == 9.0 and 5.0 not in small.gain and small.n_leaves == 3


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_the_kappa_for_leaves_alone_is_that_of_the_likeliest_trees(seed):
    n_states = [2, 3, 2, 2]
    columns = random_table(seed, 600, n_states)
    train, held_out = (dataset([c[part] for c in columns], n_states) for part in (slice(0, 400), slice(400, 600)))
    arrays, codes = leaf_arrays(train), held_out.states()

    def likelihood(kappa):
        cpds = grow_trees(arrays, range(4), GrowthRules(kappa))
        return sum(cpd.log_probs(codes)[np.arange(200), codes[:, v]].sum() for v, cpd in enumerate(cpds))

    chosen = choose_kappa(grow_trees(arrays, range(4), GrowthRules(1.0)), codes)
    for kappa in (1.0, 0.5, 0.1, 0.01, 1e-4, LEAST_KAPPA):
        assert likelihood(chosen) >= likelihood(kappa) - 1e-6


def one_strong_pair(seed, n=6000):
    """Two columns that nearly agree and three of pure noise: the cut lies in a gap of hundreds of nats."""
    rng = np.random.default_rng(seed)
    a = rng.integers(2, size=n)
    columns = [a, a ^ (rng.random(n) < 0.02), *rng.integers(2, size=(3, n))]
    parts = slice(0, n * 9 // 10), slice(n * 9 // 10, n)
    return (dataset([column[part] for column in columns], [2] * 5) for part in parts)


@pytest.mark.parametrize("seed", range(40))
def test_the_cut_lies_just_above_the_strongest_split_that_goes(seed):
    train, held_out = one_strong_pair(seed)
    trees = grow_trees(leaf_arrays(train), range(5), GrowthRules(1.0))
    gains = np.sort(np.concatenate([weakest_gains(tree)[tree.variable >= 0] for tree in trees]))
    cuts = choose(trees, held_out.states()).least_gain, -np.log(choose_kappa(trees, held_out.states()))
    for cut in cuts:
        gone = gains[gains <= cut]
        assert cut <= gone.max(initial=0.0) + MARGIN and len(gains) - len(gone) >= 2


def test_held_out_rows_cannot_take_back_what_is_sure():
    """Where held-out rows contradict a split, it goes only if training rows do not make it a million times likelier."""
    train, held_out = one_strong_pair(0)
    codes = held_out.states().copy()
    codes[:, 1] = 1 - codes[:, 1]
    trees = grow_trees(leaf_arrays(train), range(5), GrowthRules(1.0))
    assert choose_kappa(trees, codes) >= LEAST_KAPPA * (1 - 1e-12)
    assert choose(trees, codes).least_gain <= -np.log(LEAST_KAPPA)
    assert averaged(trees[0], choose(trees, codes)).parents == (1,)


def test_rows_that_are_chosen_by_have_weights():
    trees = some_trees(3, 400, 1.0)
    codes = dataset(random_table(9, 100, [2, 3, 2, 2]), [2, 3, 2, 2]).states()
    times = np.random.default_rng(0).integers(1, 4, 100)
    one, other = choose(trees, codes, times.astype(float)), choose(trees, np.repeat(codes, times, axis=0))
    assert (one.kappa, one.shrinkage) == (other.kappa, other.shrinkage)
    assert one.least_gain == pytest.approx(other.least_gain)
