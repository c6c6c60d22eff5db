"""Markov trees over states, against the full joint table and against the same tree as a Bayesian network."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from infer.networks import dataset, evidence_of, net, random_rows, random_tables
from naive.joint import conditional, joint, posterior, probability
from quiltwork.data.dataset import NO_CODE, Variable, from_codes
from quiltwork.data.encode import Encoder
from quiltwork.errors import InputError, ResourceLimitError, ZeroEvidenceError
from quiltwork.models.markov_tree import DiscreteTree, tree_from_bn


@st.composite
def small_trees(draw):
    """(tree, full joint table, rng for what is asked): forests, one-state variables and zeros among them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density, zeros = draw(st.sampled_from((0.3, 0.9))), draw(st.sampled_from((0.0, 0.4)))
    raw = random_tables(rng, draw(st.integers(1, 6)), density=density, zeros=zeros, max_parents=1)
    return tree_from_bn(net(*raw)), joint(*raw), rng


@settings(max_examples=80)
@given(small_trees(), st.sampled_from((0.0, 0.4)))
def test_likelihoods_and_conditionals_are_those_of_the_joint_table(made, missing):
    tree, table, rng = made
    rows = random_rows(rng, tree, 5, missing)
    X = dataset(tree, rows)
    found, each = qw.log_likelihood(tree, X), qw.log_conditionals(tree, X)
    for i, row in enumerate(rows):
        assert math.exp(found[i]) == pytest.approx(probability(table, row), abs=1e-12)
        for v, state in enumerate(row):
            wanted = conditional(table, v, row)
            if state is None:
                assert each[i, v] == 0.0
            elif wanted is not None:
                assert math.exp(each[i, v]) == pytest.approx(wanted[state], abs=1e-12)
    np.testing.assert_allclose(qw.pseudo_log_likelihood(tree, X), each.sum(axis=1))


@settings(max_examples=60)
@given(small_trees(), st.sampled_from((0.0, 0.4)))
def test_predictions_do_not_read_the_variable_itself(made, missing):
    tree, table, rng = made
    rows = random_rows(rng, tree, 4, missing)
    for v, variable in enumerate(tree.variables):
        found = qw.predict_proba(tree, dataset(tree, rows), variable.name)
        for i, row in enumerate(rows):
            wanted = conditional(table, v, row)
            if wanted is not None:
                np.testing.assert_allclose(found[i], wanted, atol=1e-12)


@settings(max_examples=80)
@given(small_trees())
def test_queries_and_marginals_are_those_of_the_joint_table(made):
    tree, table, rng = made
    n = len(tree.variables)
    asked = rng.permutation(n)[: rng.integers(1, n + 1)].tolist()
    row = [None if v in asked or rng.random() < 0.5 else int(rng.integers(r)) for v, r in enumerate(table.shape)]
    known, names = evidence_of(tree, row), [f"v{v}" for v in asked]
    wanted = posterior(table, asked, row)
    if wanted is None:
        with pytest.raises(ZeroEvidenceError):
            qw.query(tree, names, known)
        with pytest.raises(ZeroEvidenceError):
            qw.marginals(tree, known)
        return
    answer = qw.query(tree, names, known)
    assert answer.method == "exact" and answer.variables == tuple(names)
    np.testing.assert_allclose(answer.probabilities, wanted, atol=1e-12)
    for v, shares in enumerate(qw.marginals(tree, known).values()):
        certain = np.eye(table.shape[v])[row[v]] if row[v] is not None else posterior(table, [v], row)
        np.testing.assert_allclose(shares, certain, atol=1e-12)


@settings(max_examples=30)
@given(small_trees(), st.sampled_from((0.0, 0.4)))
def test_the_same_answers_as_a_bayesian_network(made, missing):
    """Impossible rows, too, are answered alike."""
    tree, _, rng = made
    network = tree.directed()
    X = dataset(tree, random_rows(rng, tree, 5, missing))
    np.testing.assert_allclose(qw.log_conditionals(tree, X), qw.log_conditionals(network, X), atol=1e-10)
    assert tree_from_bn(network).edges == tree.edges
    np.testing.assert_array_equal(qw.sample(tree, 50, seed=3).states(), qw.sample(network, 50, seed=3).states())
    assert [qw.blanket(tree, v.name) for v in tree.variables] == [qw.blanket(network, v.name) for v in tree.variables]


def chain(n, stay=0.9):
    """A chain of binary variables, each of them its predecessor with probability `stay`."""
    encoder = Encoder(tuple(Variable(f"x{v}", (0, 1)) for v in range(n)))
    step = np.array([[stay, 1 - stay], [1 - stay, stay]])
    return DiscreteTree.of_tables(encoder, range(-1, n - 1), [np.array([[0.5, 0.5]]), *[step] * (n - 1)])


def star(n, rare=0.01):
    """A hub and n leaves that lean on it."""
    encoder = Encoder(tuple(Variable(f"x{v}", (0, 1)) for v in range(n + 1)))
    leaf = np.array([[1 - rare, rare], [0.5, 0.5]])
    return DiscreteTree.of_tables(encoder, [-1, *[0] * n], [np.array([[0.5, 0.5]]), *[leaf] * n])


def test_five_thousand_rare_states_do_not_underflow():
    tree = chain(5000)
    row = np.arange(5000) % 2  # every step is the rare one
    expected = math.log(0.5) + 4999 * math.log(0.1)
    assert qw.log_likelihood(tree, row[None])[0] == pytest.approx(expected, rel=1e-10)
    gaps = from_codes(tree.variables, [np.array([s if v % 3 else NO_CODE], np.uint16) for v, s in enumerate(row)])
    assert np.isfinite(qw.log_likelihood(tree, gaps)).all() and np.isfinite(qw.log_conditionals(tree, gaps)).all()


def test_the_two_ends_of_a_long_chain():
    tree = chain(4000, 0.999)
    same = (1 + 0.998**3999) / 2
    np.testing.assert_allclose(qw.query(tree, ["x3999", "x0"]).probabilities[0, 0], same / 2, rtol=1e-9)
    assert qw.marginals(tree, {"x0": 1})["x3999"][1] == pytest.approx(same)


def test_a_hub_hears_thousands_of_neighbours():
    """Log odds far beyond what probabilities can hold, and the hub itself when it is missing."""
    n = 5000
    tree = star(n)
    none, all_of_them = np.zeros((1, n + 1), int), np.ones((1, n + 1), int)
    odds = [qw.item_scores(tree, row)[0, 0] for row in (none, all_of_them)]
    np.testing.assert_allclose(odds, [n * math.log(0.5 / 0.99), n * math.log(0.5 / 0.01)], rtol=1e-10)
    known = {f"x{v}": 0 for v in range(2, n + 1)}
    assert qw.query(tree, ["x1"], known)[1] == pytest.approx(0.01)
    assert qw.query(tree, ["x0", "x1"], known)[0, 0] == pytest.approx(0.99)


def test_a_query_is_sized_before_it_starts():
    tree = chain(70)
    with pytest.raises(ResourceLimitError, match="joint distribution of these 40 variables"):
        qw.query(tree, [f"x{v}" for v in range(40)], method="exact")
    with pytest.raises(ResourceLimitError, match="at most 64 variables"):
        qw.query(tree, [f"x{v}" for v in range(65)], method="exact")
    with pytest.raises(ResourceLimitError):
        qw.query(tree, ["x0", "x9"], max_entries=7, method="exact")
    assert qw.query(tree, ["x0", "x9"], max_entries=8).probabilities.shape == (2, 2)


def test_gibbs_agrees():
    tree = chain(6, 0.8)
    by_gibbs = qw.query(tree, ["x3"], {"x0": 1}, method="gibbs", seed=1)
    exact = qw.query(tree, ["x3"], {"x0": 1}).probabilities
    assert np.abs(by_gibbs.probabilities - exact).max() < 0.03


def test_samples_fit():
    """A chi-square test of 20,000 rows against the joint table; the seed is fixed, and of seeds one in a thousand
    would fail."""
    from scipy.stats import chisquare

    raw = random_tables(np.random.default_rng(5), 4, min_states=2, density=1.0, max_parents=1)
    tree = tree_from_bn(net(*raw))
    rows = qw.sample(tree, 20_000, seed=0).states()
    cells = np.bincount(np.ravel_multi_index(rows.T, raw[0]), minlength=math.prod(raw[0]))
    assert chisquare(cells, joint(*raw).ravel() * 20_000).pvalue > 0.001


def test_recommending():
    X = np.zeros((60, 3), int)
    X[:40, 0], X[:30, 1], X[30:50, 2] = 1, 1, 1
    tree = qw.learn("tree", {"tea": X[:, 0], "milk": X[:, 1], "coal": X[:, 2]})
    assert [item for item, _ in qw.recommend(tree, ["tea"])] == ["milk", "coal"]
    assert [item for item, _ in qw.recommend(tree, [])] == ["tea", "milk", "coal"]
    assert qw.similar_items(tree, "tea")[0][0] == "milk"


def test_what_is_no_tree_is_refused():
    with pytest.raises(InputError, match="'wet' has 2: 'sprinkler' and 'rain'"):
        tree_from_bn(qw.textbook("sprinkler"))
    two = Encoder((Variable("a", (0, 1)), Variable("b", (0, 1))))
    step = np.full((2, 2), 0.5)
    with pytest.raises(InputError, match="must not form a cycle"):
        DiscreteTree.of_tables(two, [1, 0], [step, step])
    with pytest.raises(InputError, match="for each of its 2 variables"):
        DiscreteTree.of_tables(two, [-1, 2], [step, step])
