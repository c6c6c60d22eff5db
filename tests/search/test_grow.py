import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import decision_trees as naive
from quiltwork.data.collapse import collapse
from quiltwork.errors import ResourceLimitError
from quiltwork.search import grow
from quiltwork.search.grow import GrowthRules, grow_trees, strengths, weakest_gains
from quiltwork.search.merge import grow_apart
from quiltwork.stats import leaves
from quiltwork.stats.leaves import leaf_arrays
from tables import dataset, random_table, tables


def nested(tree, node=0):
    """A TreeCPD in the form of the slow twin."""
    if tree.variable[node] < 0:
        return tree.counts[tree.first[node]].tolist()
    branches = tree.branches[tree.first[node] : tree.end[node]]
    head = (int(tree.variable[node]), int(tree.state[node]), pytest.approx(tree.gain[node], abs=1e-7))
    return (*head, [nested(tree, int(k)) for k in branches])


@settings(max_examples=40)
@given(
    tables(max_vars=5, states=(1, 2, 3, 17), sizes=(1, 2, 63, 64, 65, 128)),
    st.sampled_from([(True, False), (False, True), (True, True)]),
    st.sampled_from([1.0, 0.3, 0.01]),
    st.sampled_from([1, 5]),
)
def test_trees_are_those_of_the_slow_twin(table, splits, kappa, min_leaf):
    columns, n_states = table
    data = dataset(columns, n_states)
    trees = grow_trees(leaf_arrays(data), range(len(n_states)), GrowthRules(kappa, *splits, min_leaf))
    rows = list(zip(*(c.tolist() for c in columns)))
    for t, tree in enumerate(trees):
        slow = naive.grow(rows, t, n_states, kappa, *splits, min_leaf)
        assert _same_worth(tree, slow) or nested(tree) == slow


def _same_worth(tree, slow):
    """Two splits may gain equally to the last digit; then either tree is right if the first gains agree."""
    return (
        tree.variable[0] >= 0
        and not isinstance(slow, list)
        and tree.gain[0] == pytest.approx(slow[2], abs=1e-9)
        and ((int(tree.variable[0]), int(tree.state[0])) != slow[:2])
    )


@settings(max_examples=25)
@given(tables(max_vars=5, states=(2, 3, 17), sizes=(64, 300)), st.booleans())
def test_weights_stand_for_rows(table, whole):
    columns, n_states = table
    rng = np.random.default_rng(0)
    times = rng.integers(1, 4, len(columns[0]))
    weighted = dataset(columns, n_states, times.astype(float) if whole else times * 1.0000001)
    repeated = dataset([np.repeat(c, times) for c in columns], n_states)
    one, other = (grow_trees(leaf_arrays(d), range(len(n_states))) for d in (weighted, repeated))
    for a, b in zip(one, other, strict=True):
        differ = a.variable[: len(b.variable)] != b.variable[: len(a.variable)]
        if differ.any():  # only where two splits, or a split and none, are worth the same
            assert not whole
            assert a.gain[differ.argmax()] == pytest.approx(b.gain[differ.argmax()], abs=1e-4)
        else:
            np.testing.assert_allclose(a.counts, b.counts, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_samples, density", [(5000, 0.01), (5000, 0.3), (200, 0.05)])
def test_sweeping_walking_and_collapsing_give_the_same_trees(n_samples, density):
    rng = np.random.default_rng(1)
    X = rng.random((n_samples, 30)) < density
    X[:, 1::2] |= X[:, ::2] & (rng.random((n_samples, 15)) < 0.6)
    data = dataset(list(X.T.astype(np.uint16)), [2] * 30)
    swept = grow_trees(leaf_arrays(data), range(30))
    walked = grow_trees(leaf_arrays(collapse(data)), range(30))
    for a, b in zip(swept, walked, strict=True):
        np.testing.assert_array_equal(a.variable, b.variable)
        np.testing.assert_array_equal(a.counts, b.counts)


def test_the_forest_grows_the_same_trees_one_operator_at_a_time():
    columns = random_table(3, 400, [2, 3, 2, 5, 2])
    arrays = leaf_arrays(dataset(columns, [2, 3, 2, 5, 2]))
    rules = GrowthRules(0.1, complete=True)
    by_level = grow_trees(arrays, range(5), rules)
    one_by_one = grow_apart(arrays, list(range(len(arrays.n_states))), rules, None, None, lambda *_: None)
    for a, b in zip(by_level, one_by_one, strict=True):
        assert sorted(a.gain.round(9)) == sorted(b.gain.round(9))
        assert sorted(map(tuple, a.counts)) == sorted(map(tuple, b.counts))


def test_a_greater_penalty_leaves_the_splits_that_gain_more():
    data = dataset(random_table(5, 500, [2] * 8), [2] * 8)
    everything = grow_trees(leaf_arrays(data), range(8), GrowthRules(1.0))
    strict = grow_trees(leaf_arrays(data), range(8), GrowthRules(0.05))
    for whole, part in zip(everything, strict, strict=True):
        gained = np.sort(weakest_gains(whole)[whole.variable >= 0] + np.log(0.05))
        np.testing.assert_allclose(gained[gained > 1e-9], np.sort(weakest_gains(part)[part.variable >= 0]), atol=1e-7)


def test_strengths_are_the_gains_on_the_way():
    data = dataset(random_table(5, 500, [2] * 6), [2] * 6)
    (tree,) = grow_trees(leaf_arrays(data), [3])
    found = strengths(tree)
    assert set(found) == set(tree.parents) and found[int(tree.variable[0])] == tree.gain[0] == max(found.values())


def test_who_may_be_split_on():
    data = dataset(random_table(0, 300, [2] * 5), [2] * 5)
    allowed = np.zeros((5, 5), bool)
    allowed[2, 0] = True
    trees = grow_trees(leaf_arrays(data), range(5), GrowthRules(1.0), allowed)
    assert [set(tree.parents) <= ({0} if t == 2 else set()) for t, tree in enumerate(trees)] == [True] * 5


def test_a_variable_with_thousands_of_states_can_be_split_on():
    rng = np.random.default_rng(0)
    many = rng.permutation(np.arange(6000) % 5000)
    binary = ((many % 2) ^ (rng.random(6000) < 0.02)).astype(np.uint16)
    data = dataset([many.astype(np.uint16), binary], [5000, 2])
    trees = grow_trees(leaf_arrays(data), range(2), GrowthRules(0.01, complete=True))
    assert trees[1].n_leaves >= 1 and len(trees) == 2


@pytest.mark.parametrize("splits", [(True, False), (False, True)])
def test_a_level_may_be_grown_in_pieces(monkeypatch, splits):
    """Counts that do not fit in memory together: the nodes come in another order, the trees are the same."""
    arrays = leaf_arrays(dataset(random_table(5, 500, [2, 3, 2, 4, 2]), [2, 3, 2, 4, 2]))
    together = grow_trees(arrays, range(5), GrowthRules(1.0, *splits))
    monkeypatch.setattr(grow, "LEVEL_BYTES", 1)
    counted, next_level = [], grow._next_level

    def recorded(*args):
        counted.append(next_level(*args))
        return counted[-1]

    monkeypatch.setattr(grow, "_next_level", recorded)
    apart = grow_trees(arrays, range(5), GrowthRules(1.0, *splits))
    assert {len(level.counts) for level in counted} == {1}  # nor are the children of one split counted together
    assert max(tree.n_leaves for tree in apart) > 4
    for one, other in zip(together, apart, strict=True):
        assert nested(one) == nested(other)
        assert (other.branches > np.repeat(np.flatnonzero(other.variable >= 0), widths(other))).all()


def widths(tree):
    splits = tree.variable >= 0
    return (tree.end - tree.first)[splits]


def test_counts_that_cannot_be_held_are_refused(monkeypatch):
    arrays = leaf_arrays(dataset(random_table(5, 500, [2, 300]), [2, 300]))
    monkeypatch.setattr(leaves, "MAX_COUNT_BYTES", 10**5)
    with pytest.raises(ResourceLimitError, match="1 variable of up to 300 states, by 300 states of all others"):
        grow_trees(arrays, range(2), GrowthRules(1.0))
    assert len(grow_trees(arrays, range(2), GrowthRules(0.001))) == 2  # no split can pay, so nothing is counted


def test_which_of_very_many_columns_may_depend_on_which_is_not_written_down(monkeypatch):
    arrays = leaf_arrays(dataset(random_table(5, 50, [2] * 6), [2] * 6))
    monkeypatch.setattr(grow, "MAX_ARC_BYTES", 100)
    with pytest.raises(ResourceLimitError, match="which of 6 columns may depend on which would take 0.0 GB, past"):
        grow_apart(arrays, [0], GrowthRules(), None, None, print)
    assert len(grow_trees(arrays, range(6))) == 6


def test_a_leaf_that_has_rows_has_as_many_as_were_asked_for():
    """Also under a complete split, one of whose states is rare; an empty one is no leaf."""
    rng = np.random.default_rng(0)
    a = np.repeat([0, 1, 2, 3], [400, 400, 3, 0])
    y = (rng.random(803) < np.array([0.1, 0.9, 0.5, 0.5])[a]).astype(int)
    arrays = leaf_arrays(dataset([a, y], [4, 2]))
    for min_leaf, n_leaves in ((1, 4), (3, 4), (4, 1)):
        (tree,) = grow_trees(arrays, [1], GrowthRules(1.0, binary=False, complete=True, min_leaf=min_leaf))
        assert tree.n_leaves == n_leaves
    (tree,) = grow_trees(arrays, [1], GrowthRules(1.0, complete=True, min_leaf=4))
    sizes = tree.counts.sum(axis=1)
    assert tree.n_leaves == 2 and sizes[sizes > 0].min() >= 4


def test_a_parent_is_told_before_those_below_it():
    """An exclusive or: the second split gains far more than the first, under which alone it could be made."""
    rng = np.random.default_rng(1)
    a, b, c = rng.integers(2, size=(3, 3000))
    y = a ^ b ^ (rng.random(3000) < 0.05 + 0.1 * a)
    for seed in range(5):
        extra = np.random.default_rng(seed).integers(2, size=(4, 3000))
        (tree,) = grow_trees(leaf_arrays(dataset([a, b, c, y, *extra], [2] * 8)), [3], GrowthRules(1.0))
        told = list(strengths(tree).items())
        assert [s for _, s in told] == sorted({s for _, s in told}, reverse=True)
        first = {}
        for k, v in enumerate(tree.variable.tolist()):
            first.setdefault(v, k)
        weakest = weakest_gains(tree)
        for (v, s), (u, _) in zip(told, told[1:]):
            if weakest[first[v]] == weakest[first[u]]:
                assert first[v] < first[u]
            assert s == pytest.approx(max(w for w, x in zip(weakest, tree.variable) if x == v), rel=1e-12)
