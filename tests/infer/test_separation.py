"""Separation against single paths and moral graphs; perfect trees and the paper's properties against full joints."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import quiltwork as qw
from infer.networks import net, random_tables
from naive.joint import joint
from naive.trees import d_separated, dependence, partial_correlation, separated_by_paths, subsets
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.data.numbers import NumberEncoder
from quiltwork.errors import InputError, IntractableError, UnknownVariableError
from quiltwork.models.hybrid import hrf_from_bn
from quiltwork.models.markov import MarkovNet
from quiltwork.models.markov_tree import GaussianTree, tree_from_bn

INDEPENDENT = 1e-12  # what is left of a dependence that is none; those below are at least a thousand times larger


def three_sets(rng, n):
    """Disjoint A and B, not empty, and C."""
    while True:
        side = rng.integers(0, 4, n)
        a, b, c = (np.flatnonzero(side == k).tolist() for k in range(3))
        if a and b:
            return a, b, c


def names(columns):
    return [f"v{v}" for v in columns]


# Separation


def test_one_name_a_number_or_several():
    asia = qw.textbook("asia")
    first = [v.name for v in asia.variables].index("asia")
    assert qw.separated(asia, first, "smoke") and qw.separated(asia, ["asia"], ("smoke",), [])


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.sampled_from((0.2, 0.4, 0.7)))
def test_d_separation_is_separation_in_the_moral_graph(seed, n, density):
    rng = np.random.default_rng(seed)
    raw = random_tables(rng, n, max_states=2, min_states=2, density=density)
    a, b, c = three_sets(rng, n)
    wanted = d_separated(raw[1], a, b, c)
    assert qw.separated(net(*raw), names(a), names(b), names(c)) == wanted
    assert qw.separated(net(*raw), names(b), names(a), names(c)) == wanted


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_what_is_d_separated_is_independent(seed, n):
    rng = np.random.default_rng(seed)
    raw = random_tables(rng, n, max_states=3, min_states=2, density=0.4)
    a, b, *_ = rng.permutation(n).tolist()
    given_them = [v for v in range(n) if v not in (a, b) and rng.random() < 0.5]
    if qw.separated(net(*raw), f"v{a}", f"v{b}", names(given_them)):
        assert dependence(joint(*raw), a, b, given_them) < INDEPENDENT


def random_graph(rng, n):
    """(edges, a Markov network with just these)."""
    edges = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.4]
    encoder = Encoder(tuple(Variable(f"v{v}", (0, 1)) for v in range(n)))
    columns = np.array(edges, np.int64).ravel()
    first = np.arange(0, 2 * len(edges) + 1, 2)
    return edges, MarkovNet(encoder, first, columns, np.ones_like(columns), np.ones(len(edges)), np.zeros(2 * n))


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7))
def test_separation_without_directions_is_about_paths(seed, n):
    rng = np.random.default_rng(seed)
    edges, network = random_graph(rng, n)
    a, b, c = three_sets(rng, n)
    assert qw.separated(network, names(a), names(b), names(c)) == separated_by_paths(n, edges, a, b, c)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7))
def test_a_tree_is_separated_like_its_network(seed, n):
    rng = np.random.default_rng(seed)
    network = net(*random_tables(rng, n, density=0.8, max_parents=1))
    a, b, c = map(names, three_sets(rng, n))
    assert qw.separated(tree_from_bn(network), a, b, c) == qw.separated(network, a, b, c)


def test_colliders_open_when_they_or_something_below_is_given():
    asia = qw.textbook("asia")
    assert qw.separated(asia, "asia", "smoke")
    for given_one in ("either", "xray", "dysp"):
        assert not qw.separated(asia, "asia", "smoke", given_one)
    assert qw.separated(asia, ["asia", "tub"], "smoke", ["bronc"])
    assert qw.separated(asia, "asia", "xray", ["either"]) and not qw.separated(asia, "asia", "xray")


def test_a_hybrid_field_separates_by_its_blankets():
    """Those of a network are its moral graph, where a collider is always open."""
    field = hrf_from_bn(qw.textbook("asia"))
    assert not qw.separated(field, "asia", "smoke")
    assert qw.separated(field, "asia", "smoke", ["tub"])
    assert qw.separated(field, "xray", ["asia", "smoke", "dysp"], "either")


def test_gaussian_networks_are_directed_too():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    network = qw.learn("gbn", {"a": a, "b": b, "c": a + b + rng.normal(size=500)}, required=[("a", "c"), ("b", "c")])
    assert network.arcs == [("a", "c"), ("b", "c")]
    assert qw.separated(network, "a", "b") and not qw.separated(network, "a", "b", "c")


def test_estimators_single_names_and_empty_sets():
    est = qw.MarkovTree().fit({"a": [0, 1, 1, 0] * 9, "b": [0, 1, 1, 1] * 9, "c": [1, 0, 1, 0] * 9})
    assert qw.separated(est, "a", "b", "c") is False
    assert qw.separated(est, [], "b") is True


def test_questions_that_cannot_be_asked():
    asia = qw.textbook("asia")
    with pytest.raises(InputError, match="must not overlap, and 'smoke' is in two of them"):
        qw.separated(asia, "smoke", ["smoke", "lung"])
    with pytest.raises(InputError, match="'lung' is in two"):
        qw.separated(asia, "smoke", "lung", "lung")
    with pytest.raises(UnknownVariableError, match="did you mean 'smoke'"):
        qw.separated(asia, "smok", "lung")
    with pytest.raises(IntractableError, match="need not belong to one joint distribution"):
        qw.separated(qw.learn("dn", qw.sample(asia, 500)), "smoke", "lung")
    with pytest.raises(IntractableError, match="separated cannot be answered by a NaiveBayesItems"):
        qw.separated(qw.learn("nb", {"a": [0, 1], "b": [1, 0]}), "a", "b")


# Perfect trees: the main theorem of the paper


def binary_tree(seed, n, broken=False, joined=1.0):
    """(tree, full joint), strictly positive and binary; neighbours depend clearly, but with `broken` two do not."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n).tolist()
    parents, probs = [[] for _ in range(n)], [None] * n
    for k, v in enumerate(order):
        first, second = rng.uniform(0.1, 0.4), rng.uniform(0.6, 0.9)
        rows = [first, second] if rng.random() < 0.5 else [second, first]
        if k and rng.random() < joined:
            parents[v] = [order[rng.integers(k)]]
        else:
            rows = rows[:1]
        probs[v] = np.array([[1 - p, p] for p in rows])
    children = [v for v in range(n) if parents[v]]
    if broken:
        v = children[rng.integers(len(children))]
        probs[v][1] = probs[v][0]
    raw = [2] * n, parents, probs
    return tree_from_bn(net(*raw)), joint(*raw)


def disagreements(tree, depends):
    """(a, b, C) where separation and independence differ; `depends(a, b, C)` is how far they are from independent."""
    n = len(tree.variables)
    found = []
    for a, b in itertools.combinations(range(n), 2):
        for given_them in subsets([v for v in range(n) if v not in (a, b)]):
            separated = qw.separated(tree, f"v{a}", f"v{b}", names(given_them))
            distance = depends(a, b, given_them)
            assert distance < INDEPENDENT or distance > 1e3 * INDEPENDENT  # nothing lies between
            if separated != (distance < INDEPENDENT):
                found.append((a, b, given_them))
    return found


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from((0.6, 1.0)))
def test_a_positive_binary_tree_is_perfect(seed, n, joined):
    tree, table = binary_tree(seed, n, joined=joined)
    assert qw.is_perfect(tree) and qw.is_perfect(tree.directed())
    assert disagreements(tree, lambda a, b, c: dependence(table, a, b, c)) == []


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_an_edge_whose_ends_are_independent_makes_it_imperfect(seed, n):
    tree, table = binary_tree(seed, n, broken=True)
    assert not qw.is_perfect(tree)
    wrong = disagreements(tree, lambda a, b, c: dependence(table, a, b, c))
    assert wrong and all(not qw.separated(tree, f"v{a}", f"v{b}", names(c)) for a, b, c in wrong)


def random_gaussian_tree(seed, n, broken=False):
    rng = np.random.default_rng(seed)
    parent = np.array([-1, *(rng.integers(v) for v in range(1, n))])
    correlation = np.where(parent >= 0, rng.uniform(0.3, 0.8, n) * rng.choice([-1, 1], n), 0.0)
    if broken:
        correlation[1] = 0.0
    covariance = np.eye(n)
    for v in range(1, n):
        covariance[v, :v] = covariance[:v, v] = correlation[v] * covariance[parent[v], :v]
    encoder = NumberEncoder(tuple(Variable(f"v{v}", ()) for v in range(n)))
    return GaussianTree(encoder, parent, np.zeros(n), np.ones(n), correlation), covariance


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.booleans())
def test_a_gaussian_tree_is_perfect_unless_an_edge_is_none(seed, n, broken):
    tree, covariance = random_gaussian_tree(seed, n, broken)
    assert qw.is_perfect(tree) is not broken
    wrong = disagreements(tree, lambda a, b, c: abs(partial_correlation(covariance, a, b, list(c))))
    assert bool(wrong) is broken


def test_learned_trees_are_judged_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)).cumsum(axis=1)
    assert qw.is_perfect(qw.MarkovTree().fit(X))
    assert qw.is_perfect(qw.MarkovTree().fit(X > 0))
    assert qw.is_perfect(qw.learn("tree", {"only": [0, 1, 1]}))


def test_the_tolerance_is_of_a_correlation():
    tree, _ = random_gaussian_tree(0, 3)
    strongest = np.abs(tree.correlation).max()
    assert not qw.is_perfect(tree, tol=strongest)
    assert qw.is_perfect(tree.directed()) and not qw.is_perfect(tree.directed(), tol=strongest)
    assert qw.is_perfect(tree, tol=np.abs(tree.correlation[1:]).min() - 1e-12)


# Where the theorem says nothing


def test_three_states_are_refused_and_rightly():
    """a - c - e with three states of c: every edge depends, and yet a and e are independent, nothing given."""
    c = [[1 / 3, 1 / 3, 1 / 3]]
    a = [[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]]  # moves with c by -1, 0, 1
    e = [[0.3, 0.7], [0.9, 0.1], [0.3, 0.7]]  # by 1, -2, 1, which is orthogonal
    raw = [2, 3, 2], [[1], [], [1]], [np.array(a), np.array(c), np.array(e)]
    tree, table = tree_from_bn(net(*raw)), joint(*raw)
    assert table.min() > 0 and tree.strengths.min() > 0.05
    assert dependence(table, 0, 2, ()) < INDEPENDENT and not qw.separated(tree, "v0", "v2")
    with pytest.raises(InputError, match="'v1' has 3 states"):
        qw.is_perfect(tree)


def test_zero_probabilities_are_refused_and_rightly():
    """Three copies of one coin: a is independent of b given c, which is not between them."""
    copy, coin = np.eye(2), np.array([[0.5, 0.5]])
    raw = [2, 2, 2], [[], [0], [1]], [coin, copy, copy]
    tree, table = tree_from_bn(net(*raw)), joint(*raw)
    assert dependence(table, 0, 1, (2,)) < INDEPENDENT and not qw.separated(tree, "v0", "v1", "v2")
    with pytest.raises(InputError, match="some of 'v1' are not; learn the tree with smoothing"):
        qw.is_perfect(tree)
    with pytest.raises(InputError, match="some of 'b' are not"):
        qw.is_perfect(qw.learn("tree", {"a": [0, 1, 0, 1], "b": [0, 0, 0, 0]}, smoothing=0.0))


def test_a_polytree_may_hide_an_edge():
    """The paper's first limit: c is a noisy exclusive or of a and b, and needs both arcs; yet a alone tells nothing."""
    coin, noisy = np.array([[0.5, 0.5]]), np.array([[0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.9, 0.1]])
    raw = [2, 2, 2], [[], [], [0, 1]], [coin, coin, noisy]
    network, table = net(*raw), joint(*raw)
    assert dependence(table, 0, 2, (1,)) > 0.1  # the arc is needed
    assert dependence(table, 0, 2, ()) < INDEPENDENT and not qw.separated(network, "v0", "v2")
    with pytest.raises(InputError, match="no variable has two parents. 'v2' has 2"):
        qw.is_perfect(network)


def test_a_polytree_may_pass_the_edge_test_and_not_be_perfect():
    """The switch d decides which of a and b the effect c listens to: every arc depends, nothing given, and yet a and b,
    whose collider is known, are independent."""
    listens = np.array([  # rows count up over a, b, d; with d = 0 only b matters, with d = 1 only a
        [0.8, 0.2], [0.9, 0.1], [0.3, 0.7], [0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7], [0.4, 0.6],
    ])  # fmt: skip
    coins = [np.array([[0.4, 0.6]]), np.array([[0.3, 0.7]]), np.array([[0.5, 0.5]])]
    raw = [2, 2, 2, 2], [[], [], [], [0, 1, 2]], [*coins, listens]
    network, table = net(*raw), joint(*raw)
    assert table.min() > 0
    assert all(dependence(table, cause, 3, ()) > 0.01 for cause in range(3))
    assert dependence(table, 0, 1, (2, 3)) < INDEPENDENT
    assert not qw.separated(network, "v0", "v1", ["v2", "v3"])


# Decomposable transitivity, of which the theorem is made


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2), st.integers(0, 2), st.sampled_from(("a", "e", None)))
def test_decomposable_transitivity_of_positive_binary_distributions(seed, n_b, n_d, cut):
    """Given aB independent of De given c: a and e are independent given BD just where a and c are given B, or c and e
    given D. Axes: a, B, c, D, e. With `cut` the one or the other is made so."""
    rng = np.random.default_rng(seed)
    left, right = (rng.uniform(0.1, 0.9, (2,) * (1 + k) + (2,)) for k in (n_b, n_d))  # aB and c; eD and c
    if cut == "a":  # P(a | B, c) does not read c
        share = rng.uniform(0.1, 0.9, (1, *(2,) * n_b, 1))
        left = np.concatenate([share, 1 - share]) * left.sum(axis=0)
    if cut == "e":
        share = rng.uniform(0.1, 0.9, (1, *(2,) * n_d, 1))
        right = np.concatenate([share, 1 - share]) * right.sum(axis=0)
    axes = "aBCDEFG"
    below, above = axes[1 : 1 + n_b], axes[4 : 4 + n_d]
    table = np.einsum(f"a{below}x,e{above}x->a{below}x{above}e", left, right)
    table /= table.sum()
    c = 1 + n_b
    b_set, d_set, e = tuple(range(1, c)), tuple(range(c + 1, c + 1 + n_d)), c + 1 + n_d
    assert all(dependence(table, u, w, (c,)) < INDEPENDENT for u in (0, *b_set) for w in (*d_set, e))
    one, other = dependence(table, 0, c, b_set), dependence(table, c, e, d_set)
    together = dependence(table, 0, e, (*b_set, *d_set))
    if cut is None:
        assume(min(one, other) > 1e-3)
        assert together > 1e3 * INDEPENDENT
    else:
        assert min(one, other) < INDEPENDENT and together < INDEPENDENT


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2), st.integers(0, 2), st.sampled_from(("a", "e", None)))
def test_decomposable_transitivity_of_gaussian_distributions(seed, n_b, n_d, cut):
    """The same of precision matrices: no entry joins aB with De. Order: a, B, c, D, e."""
    rng = np.random.default_rng(seed)
    n = 3 + n_b + n_d
    c, e = 1 + n_b, n - 1
    left, right = range(c), range(c + 1, n)
    precision = np.eye(n) * 4
    for side in ([*left, c], [c, *right]):
        for u, v in itertools.combinations(side, 2):
            precision[u, v] = precision[v, u] = rng.uniform(0.2, 0.6) * rng.choice([-1, 1])
    if cut == "a":  # then a and c are joined by nothing, B being known
        precision[0, c] = precision[c, 0] = 0.0
    if cut == "e":
        precision[e, c] = precision[c, e] = 0.0
    covariance = np.linalg.inv(precision)
    b_set, d_set = list(range(1, c)), list(range(c + 1, e))
    assert all(abs(partial_correlation(covariance, u, w, [c])) < INDEPENDENT for u in left for w in right)
    one = abs(partial_correlation(covariance, 0, c, b_set))
    other = abs(partial_correlation(covariance, c, e, d_set))
    together = abs(partial_correlation(covariance, 0, e, [*b_set, *d_set]))
    if cut is None:
        assume(min(one, other) > 1e-3)
        assert together > 1e3 * INDEPENDENT
    else:
        assert min(one, other) < INDEPENDENT and together < INDEPENDENT


def test_decomposable_transitivity_of_separation():
    """In random graphs of five, for all ways to choose a, c, e, B and D that fit the premises."""
    met = 0
    for seed in range(8):
        _, network = random_graph(np.random.default_rng(seed), 5)
        for a, c, e in itertools.permutations(range(5), 3):
            others = [v for v in range(5) if v not in (a, c, e)]
            for sides in itertools.product((None, "B", "D"), repeat=2):
                b_set, d_set = (names(v for v, side in zip(others, sides) if side == which) for which in "BD")
                a_name, c_name, e_name = names([a, c, e])
                if not qw.separated(network, [a_name, *b_set], [*d_set, e_name], c_name):
                    continue
                if qw.separated(network, a_name, e_name, [*b_set, *d_set]):
                    met += 1
                    assert qw.separated(network, a_name, c_name, b_set) or qw.separated(network, c_name, e_name, d_set)
    assert met > 200


@pytest.mark.parametrize("tol", ["x", -1, 1.0, None, float("nan")])
def test_what_is_no_correlation_is_refused(tol):
    with pytest.raises(InputError, match="'tol' must be a correlation from 0 up to 1"):
        qw.is_perfect(qw.MarkovTree().fit([[0, 1], [1, 1], [0, 0]]), tol=tol)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_a_gaussian_network_without_two_parents_is_a_tree(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    X[:, 1] += X[:, 0]
    tree = qw.MarkovTree().fit(X).model_
    again = tree_from_bn(tree.directed())
    for one, other in ((tree.mean, again.mean), (tree.deviation, again.deviation)):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(tree.correlation[tree.parent >= 0], again.correlation[again.parent >= 0], rtol=1e-12)
