import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import decision_trees as naive
from quiltwork.cpds.graph import GraphCPD
from quiltwork.errors import ResourceLimitError
from quiltwork.models.local_file import check_nodes
from quiltwork.search import leaf_pairs, merge
from quiltwork.search.grow import GrowthRules
from quiltwork.search.leaf_priors import even_prior, narrowed, united
from quiltwork.search.merge import Forest
from quiltwork.stats.leaves import leaf_arrays
from tables import dataset, random_table


def forest_of(columns, n_states, kappa=0.1, operators="BM", **more):
    rules = GrowthRules(kappa, "B" in operators, "C" in operators)
    allowed = np.ones((len(n_states), len(n_states)), bool)
    return Forest(leaf_arrays(dataset(columns, n_states)), rules, "M" in operators, allowed, **more)


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["B", "C", "CB", "BM", "CM", "CBM"]),
    st.sampled_from([1.0, 0.1]),
    st.sampled_from([None, 0.5, 8.0]),
)
def test_every_step_gains_what_the_best_operator_of_the_slow_twin_gains(seed, operators, kappa, alpha):
    n_states = [2, 4, 2, 3]
    columns = random_table(seed, 80, n_states)
    arrays = leaf_arrays(dataset(columns, n_states))
    forest = forest_of(columns, n_states, kappa, operators, prior=None if alpha is None else even_prior(arrays, alpha))
    rows = list(zip(*(c.tolist() for c in columns)))
    slow = naive.Forest(rows, n_states, kappa, "B" in operators, "C" in operators, "M" in operators, alpha)
    gains, slow_gains = [], []
    while (gain := forest.step()) > 0:
        gains.append(gain)
    while (gain := slow.step()) > 0:
        slow_gains.append(gain)
    # Equal gains may be taken in another order and lead elsewhere; up to the first tie the two must agree.
    for a, b in zip(gains, slow_gains):
        assert a == pytest.approx(b, abs=1e-7)
        if _tied(slow_gains, b):
            break


def test_a_state_that_was_split_off_before_is_no_leaf_of_a_complete_split():
    """Where v0 = 0 all rows are alike, and else they differ by v0: first a binary split, then one of three ways."""
    rng = np.random.default_rng(3)
    a = rng.integers(4, size=2000)
    b = rng.integers(2, size=2000)
    y = (
        rng.random(2000) < np.where(a == 0, 0.02, np.array([[0.5, 0.3, 0.6, 0.9], [0.5, 0.8, 0.45, 0.1]])[b, a])
    ).astype(int)
    found = 0
    for operators, alpha in itertools.product(("CB", "CBM"), (None, 5.0)):
        arrays = leaf_arrays(dataset([a, b, y], [4, 2, 2]))
        prior = None if alpha is None else even_prior(arrays, alpha)
        allowed = np.zeros((3, 3), bool)
        allowed[2] = True
        forest = Forest(arrays, GrowthRules(1.0, True, True), "M" in operators, allowed, prior=prior)
        while forest.step():
            pass
        cpd, codes = forest.cpds()[2], np.column_stack([a, b, y]).astype(np.uint16)
        below = [k for k in np.flatnonzero(cpd.variable == 0)[1:] if cpd.state[k] < 0]
        found += len(below)
        counts = np.zeros(cpd.counts.shape)
        np.add.at(counts, (cpd.leaves(codes), y), 1)
        np.testing.assert_array_equal(counts, cpd.counts)
        every = np.array(list(itertools.product(range(4), range(2), [0])), np.uint16)
        assert cpd.n_parameters == len(set(cpd.leaves(every).tolist()))
        assert (cpd.kind == "tree") == all(np.bincount(cpd.branches) <= 1)
        check_nodes(2, {name: getattr(cpd, name) for name in ("variable", "state", "first", "branches")},
                    np.array([4, 2, 2]), merged=cpd.kind == "graph")  # fmt: skip
    assert found


@pytest.mark.parametrize("operators", ["B", "CBM"])
@pytest.mark.parametrize("alpha", [None, 5.0])
def test_leaves_that_find_no_room_are_counted_again(operators, alpha, monkeypatch):
    """What is held never exceeds what it may; and whether a leaf was held or not changes nothing."""
    n_states = [2, 3, 2, 4, 2, 3]
    arrays = leaf_arrays(dataset(random_table(9, 500, n_states), n_states))
    found = []
    for most in (merge.HELD_BYTES, 3000, 0):
        monkeypatch.setattr(merge, "HELD_BYTES", most)
        prior = None if alpha is None else even_prior(arrays, alpha)
        rules = GrowthRules(1.0, "B" in operators, "C" in operators)
        forest = Forest(arrays, rules, "M" in operators, np.ones((6, 6), bool), prior=prior)
        while forest.step():
            leaves = [leaf for graph in forest.graphs for leaf in graph.leaves.values()]
            held = sum(leaf.counts.nbytes + leaf.prior.nbytes for leaf in leaves if leaf.counts is not None)
            assert held == forest.held_bytes <= most
        found.append((forest.score(), forest.arcs, forest.cpds()))
    for score, arcs, cpds in found[1:]:
        assert score == found[0][0] and arcs == found[0][1]
        for a, b in zip(cpds, found[0][2], strict=True):
            np.testing.assert_array_equal(a.variable, b.variable)
            np.testing.assert_array_equal(a.probs, b.probs)


def wide_split(columns, operators):
    """A forest in which only the second variable may be split, on the first above all."""
    n_states = [int(column.max()) + 1 for column in columns]
    allowed = np.zeros((len(columns), len(columns)), bool)
    allowed[1] = True
    arrays = leaf_arrays(dataset([column.astype(np.uint16) for column in columns], n_states))
    return Forest(arrays, GrowthRules(1.0, False, True), "M" in operators, allowed)


@pytest.mark.parametrize("operators", ["C", "CM"])
def test_the_children_of_a_wide_split_are_not_all_counted_at_once(operators, monkeypatch):
    rng = np.random.default_rng(0)
    wide, noise = np.arange(3000) % 30, rng.random(3000)
    columns = [wide, (noise < rng.random(30)[wide]).astype(int), rng.integers(2, size=3000)]
    counted, count_children = [], merge.count_children

    def recorded(*args):
        counted.append(len(args[-1]))
        count_children(*args)

    found = []
    for most in (merge.HELD_BYTES, 0):
        monkeypatch.setattr(merge, "HELD_BYTES", most)
        monkeypatch.setattr(merge, "count_children", recorded)
        counted.clear()
        forest = wide_split(columns, operators)
        while forest.step():
            pass
        found.append((forest.cpds(), max(counted)))
    (together, all_of_them), (apart, few) = found
    assert all_of_them > 20 and few == 2
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one.branches, other.branches)
        np.testing.assert_array_equal(one.counts, other.counts)


def test_a_graph_of_very_many_leaves_is_refused(monkeypatch):
    wide = np.arange(2000) % 20
    columns = [wide, (np.random.default_rng(0).random(2000) < wide / 20).astype(int)]
    monkeypatch.setattr(leaf_pairs, "MOST_LEAVES", 19)
    with pytest.raises(ResourceLimitError, match="more than 19 leaves, too many for every two to be compared; take"):
        wide_split(columns, "CM").step()
    monkeypatch.setattr(leaf_pairs, "MOST_LEAVES", 20)
    assert wide_split(columns, "CM").step() > 0


def test_leaves_do_not_remember_every_way_that_leads_to_them():
    """How many coins show heads is told by a lattice of splits and merges, with 2**k ways to its k-th row."""
    rng = np.random.default_rng(1)
    coins = rng.integers(2, size=(8, 60_000))
    heads = (rng.random(60_000) < np.linspace(0.05, 0.95, 9)[coins.sum(axis=0)]).astype(int)
    arrays = leaf_arrays(dataset([*coins, heads], [2] * 9))
    allowed = np.zeros((9, 9), bool)
    allowed[8] = True
    forest = Forest(arrays, GrowthRules(0.01), merging=True, allowed=allowed)
    while forest.step():
        pass
    graph = forest.graphs[8]
    assert sum(node.merged_into >= 0 for node in graph.nodes) > 30
    assert all(len(leaf.boxes) == 1 for leaf in graph.leaves.values())


def test_no_arc_shares_its_place_with_another():
    """The smallest gain so far is often shared; the order of entry is not, for the viewer goes through it."""
    for operators in ("B", "BM"):
        forest = forest_of(random_table(5, 400, [2, 3, 2, 2, 4, 2]), [2, 3, 2, 2, 4, 2], 1.0, operators)
        smallest, entered = np.inf, 0
        while gain := forest.step():
            smallest = min(smallest, gain)
            if len(forest.arcs) > entered:
                entered += 1
                assert forest.arcs[-1][2] == pytest.approx(smallest, rel=1e-12)
        strengths = [strength for *_, strength in forest.arcs]
        assert len(strengths) > 5 and strengths == sorted(set(strengths), reverse=True)


def _tied(gains, gain):
    return sum(abs(g - gain) < 1e-7 for g in gains) > 1


@pytest.mark.parametrize("prior", [None, 5.0])
@pytest.mark.parametrize("operators", ["B", "CB", "BM", "CBM"])
def test_the_score_is_the_start_plus_all_gains(operators, prior):
    columns = random_table(7, 300, [2, 3, 2, 4, 2])
    arrays = leaf_arrays(dataset(columns, [2, 3, 2, 4, 2]))
    more = {} if prior is None else {"prior": even_prior(arrays, prior)}
    forest = forest_of(columns, [2, 3, 2, 4, 2], 0.1, operators, **more)
    score = forest.score()
    while (gain := forest.step()) > 0:
        score += gain
    assert forest.score() == pytest.approx(score, abs=1e-6)
    codes = np.array(columns).T
    for cpd in forest.cpds():
        counts = np.zeros(cpd.counts.shape)
        np.add.at(counts, (cpd.leaves(codes), codes[:, cpd.child]), 1)
        np.testing.assert_array_equal(counts, cpd.counts)
        np.testing.assert_allclose(cpd.probs.sum(axis=1), 1)


def test_an_exclusive_or_needs_two_leaves_of_a_graph():
    rng = np.random.default_rng(0)
    a, b = rng.integers(2, size=2000), (rng.random(2000) < 0.7).astype(int)  # lopsided, so that a first split gains
    c = a ^ b ^ (rng.random(2000) < 0.05)
    allowed = np.zeros((3, 3), bool)
    allowed[2, [0, 1]] = True
    columns = [x.astype(np.uint16) for x in (a, b, c)]
    forest = Forest(leaf_arrays(dataset(columns, [2] * 3)), GrowthRules(1.0), True, allowed)
    while forest.step() > 0:
        pass
    cpd = forest.cpds()[2]
    assert isinstance(cpd, GraphCPD) and cpd.n_leaves == 2 and cpd.parents == (0, 1)
    codes = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], np.uint16)
    leaves = cpd.leaves(codes)
    assert leaves[0] == leaves[3] != leaves[1] == leaves[2]


def test_arcs_never_form_a_cycle_and_enter_by_strength():
    columns = random_table(11, 600, [2] * 9)
    forest = forest_of(columns, [2] * 9, 0.5)
    while forest.step() > 0:
        pass
    parents = [set(cpd.parents) for cpd in forest.cpds()]
    assert {(p, c) for p, c, _ in forest.arcs} >= {(p, c) for c, own in enumerate(parents) for p in own}
    order, left = [], set(range(9))
    while left:
        free = [v for v in left if not parents[v] & left]
        assert free
        order.append(free[0])
        left.remove(free[0])
    strengths = [s for *_, s in forest.arcs]
    assert strengths == sorted(strengths, reverse=True)


def test_the_even_prior_counts_configurations():
    """Prior counts by enumeration of all configurations of three variables."""
    arrays = leaf_arrays(dataset(random_table(0, 10, [2, 3, 4]), [2, 3, 4]))
    prior = even_prior(arrays, 12.0)
    box = {1: frozenset({0, 2}), 2: frozenset({3})}
    inside = [(a, b, c) for a in range(2) for b in range(3) for c in range(4) if b in box[1] and c in box[2]]
    found = prior(0, box)
    each = 12.0 / 24
    assert found[0, -1] == pytest.approx(each * len(inside))
    assert found[1, -1] == pytest.approx(each * sum(a == 1 for a, *_ in inside))
    for v, s in ((1, 1), (1, 2), (2, 1), (2, 3)):
        e = arrays.first_entry[v] + s - 1
        assert found[0, e] == pytest.approx(each * sum(x[v] == s for x in inside))
        assert found[1, e] == pytest.approx(each * sum(x[v] == s and x[0] == 1 for x in inside))


def test_no_more_parents_than_allowed():
    forest = forest_of(random_table(2, 500, [2] * 7), [2] * 7, 1.0, max_parents=1)
    while forest.step() > 0:
        pass
    assert max(len(cpd.parents) for cpd in forest.cpds()) == 1


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_united_boxes_hold_the_same_configurations(seed):
    """All configurations of three variables, cut into boxes at random; some of the boxes are thrown away."""
    rng = np.random.default_rng(seed)
    n_states = np.array([2, 3, 3])
    boxes = [{}]
    for v in rng.integers(0, 3, 4).tolist():
        inside = frozenset(np.flatnonzero(rng.random(n_states[v]) < 0.5).tolist())
        everything = frozenset(range(n_states[v]))
        boxes = [*narrowed(boxes, v, inside, everything), *narrowed(boxes, v, everything - inside, everything)]
    boxes = [box for box in boxes if rng.random() < 0.8]

    def held(boxes):
        everyone = itertools.product(*map(range, n_states))
        return sorted(c for c in everyone for box in boxes if all(c[v] in states for v, states in box.items()))

    fewer = united(boxes, n_states)
    assert held(fewer) == held(boxes) and len(fewer) <= len(boxes)
