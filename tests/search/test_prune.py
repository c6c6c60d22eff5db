import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import decision_trees as naive
from quiltwork.search.grow import GrowthRules, grow_trees, weakest_gains
from quiltwork.search.prune import Belief, averaged, choose, limited, pruned
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


def some_trees(seed, n_samples=120, kappa=0.5, n_states=(2, 3, 2, 2)):
    data = dataset(random_table(seed, n_samples, list(n_states)), list(n_states))
    return grow_trees(leaf_arrays(data), range(len(n_states)), GrowthRules(kappa))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 0.2, 0.01]))
def test_the_mean_over_all_prunings(seed, kappa):
    for tree in some_trees(seed):
        if tree.n_leaves > 9:
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
