"""Gaussian Markov trees, against covariance matrices by hand and against the same tree as a Gaussian network."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.data.dataset import Variable
from quiltwork.data.numbers import NumberEncoder
from quiltwork.errors import InputError, ResourceLimitError
from quiltwork.models.markov_tree import GaussianTree


def gaussian_tree(parent, mean, deviation, correlation):
    encoder = NumberEncoder(tuple(Variable(f"v{v}", ()) for v in range(len(parent))))
    numbers = (np.asarray(a, float) for a in (mean, deviation, correlation))
    return GaussianTree(encoder, np.asarray(parent), *numbers)


def covariance(tree):
    """Products of correlations along the paths, by walking from ancestor to descendant."""
    n = len(tree.parent)
    out = np.eye(n)
    for k, v in enumerate(tree.order):
        for u in tree.order[:k]:
            p = int(tree.parent[v])
            out[u, v] = out[v, u] = 0.0 if p < 0 else tree.correlation[v] * out[u, p]
    return out * np.outer(tree.deviation, tree.deviation)


@st.composite
def gaussian_trees(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, joined = draw(st.integers(1, 7)), draw(st.sampled_from((0.5, 1.0)))
    order = rng.permutation(n)
    parent = np.full(n, -1)
    for k in range(1, n):
        if rng.random() < joined:
            parent[order[k]] = order[rng.integers(k)]
    correlation = np.where(parent >= 0, rng.uniform(-0.98, 0.98, n), 0.0)
    return gaussian_tree(parent, rng.normal(0, 10, n), rng.uniform(0.1, 5, n), correlation), rng


def log_density(x, mean, matrix):
    away = x - mean
    sign, log_det = np.linalg.slogdet(2 * np.pi * matrix)
    return -0.5 * (log_det + away @ np.linalg.solve(matrix, away))


def given_the_rest(tree, matrix, asked, known, x):
    """Mean and covariance of some variables given those that are known, by Schur's complement."""
    mean, known = tree.mean[asked], list(known)
    if not known:
        return mean, matrix[np.ix_(asked, asked)]
    slope = np.linalg.solve(matrix[np.ix_(known, known)], matrix[np.ix_(known, asked)]).T
    left = matrix[np.ix_(asked, asked)] - slope @ matrix[np.ix_(known, asked)]
    return mean + slope @ (x[known] - tree.mean[known]), left


@settings(max_examples=60)
@given(gaussian_trees(), st.sampled_from((0.0, 0.4)))
def test_densities_are_those_of_the_covariance_matrix(made, missing):
    tree, rng = made
    n = len(tree.parent)
    matrix = covariance(tree)
    X = rng.normal(0, 10, (4, n))
    X[rng.random(X.shape) < missing] = np.nan
    whole, each = qw.log_likelihood(tree, X), qw.log_conditionals(tree, X)
    for i, x in enumerate(X):
        there = np.flatnonzero(~np.isnan(x))
        wanted = log_density(x[there], tree.mean[there], matrix[np.ix_(there, there)]) if len(there) else 0.0
        assert whole[i] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        for v in range(n):
            others = [u for u in there if u != v]
            mean, variance = given_the_rest(tree, matrix, [v], others, x)
            assert qw.predict(tree, X[i : i + 1], f"v{v}")[0] == pytest.approx(mean[0], rel=1e-7, abs=1e-7)
            own = 0.0 if np.isnan(x[v]) else log_density(x[[v]], mean, variance)
            assert each[i, v] == pytest.approx(own, rel=1e-7, abs=1e-7)
    np.testing.assert_allclose(qw.pseudo_log_likelihood(tree, X), each.sum(axis=1))


@settings(max_examples=60)
@given(gaussian_trees())
def test_queries_are_conditional_gaussians(made):
    tree, rng = made
    n = len(tree.parent)
    asked = rng.permutation(n)[: rng.integers(1, n + 1)].tolist()
    known = {v: float(rng.normal(0, 10)) for v in range(n) if v not in asked and rng.random() < 0.6}
    x = np.array([known.get(v, np.nan) for v in range(n)])
    mean, matrix = given_the_rest(tree, covariance(tree), asked, known, x)
    answer = qw.query(tree, [f"v{v}" for v in asked], {f"v{v}": number for v, number in known.items()})
    np.testing.assert_allclose(answer.mean, mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(answer.covariance, matrix, rtol=1e-8, atol=1e-8)


@settings(max_examples=20)
@given(gaussian_trees())
def test_the_same_answers_as_a_gaussian_network(made):
    tree, rng = made
    network = tree.directed()
    X = rng.normal(0, 5, (5, len(tree.parent)))
    np.testing.assert_allclose(qw.log_likelihood(tree, X), qw.log_likelihood(network, X), rtol=1e-9)
    np.testing.assert_array_equal(qw.sample(tree, 10, seed=1).values, qw.sample(network, 10, seed=1).values)
    for variable in tree.variables:
        assert qw.blanket(tree, variable.name) == qw.blanket(network, variable.name)


def test_strengths_are_mutual_information():
    tree = gaussian_tree([2, -1, 1], [0, 0, 0], [1, 2, 3], [0.5, 0.0, -0.8])
    assert tree.edges == [("v0", "v2"), ("v1", "v2")]
    np.testing.assert_allclose(tree.strengths, [-0.5 * np.log(1 - 0.25), -0.5 * np.log(1 - 0.64)])


def test_neighbours_that_nearly_determine_each_other_lose_no_precision():
    """A chain of correlations 1 - 5e-11: what is far away still says what it should, and no variance is negative."""
    r = np.sqrt(1 - 1e-10)
    tree = gaussian_tree(np.arange(-1, 49), np.zeros(50), np.ones(50), [0.0, *[r] * 49])
    answer = qw.query(tree, ["v25", "v24"], {"v0": 1.0, "v49": 1.0})
    np.testing.assert_allclose(answer.mean, 1.0, rtol=1e-6)
    assert (answer.deviation > 0).all()
    np.testing.assert_allclose(answer.covariance[0, 0], 25 * 24 / 49 * 1e-10, rtol=1e-3)
    assert np.isfinite(qw.log_conditionals(tree, np.ones((1, 50)))).all()


def test_ten_thousand_variables():
    n = 10_000
    tree = gaussian_tree(np.arange(-1, n - 1), np.zeros(n), np.ones(n), [0.0, *[0.999] * (n - 1)])
    answer = qw.query(tree, ["v5000", f"v{n - 1}"], {"v4999": 2.0})
    np.testing.assert_allclose(answer.mean, [0.999 * 2, 0.999**5000 * 2], rtol=1e-9)
    with pytest.raises(ResourceLimitError, match="A question about 200 variables, 200 with those between"):
        qw.query(tree, [f"v{v}" for v in range(200)], max_entries=39_999)


def test_bad_evidence_and_impossible_trees():
    tree = gaussian_tree([-1, 0], [0, 0], [1, 1], [0, 0.5])
    for evidence in ({"v0": "tall"}, {"v0": np.inf}, {"v0": None}):
        with pytest.raises(InputError, match="must be a finite number"):
            qw.query(tree, ["v1"], evidence)
    with pytest.raises(InputError, match="both asked for and given"):
        qw.query(tree, ["v1"], {"v1": 0.0})
    for parent, deviation, correlation in (([-1, 0], [1, 0], [0, 0.5]), ([-1, 0], [1, 1], [0, 1.0])):
        with pytest.raises(InputError, match="deviations must be above 0"):
            gaussian_tree(parent, [0, 0], deviation, correlation)
    with pytest.raises(InputError, match="cycle"):
        gaussian_tree([1, 0], [0, 0], [1, 1], [0.5, 0.5])
