"""Partial variances: against one regression from the rows for every family, and under rank loss."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import gaussian as naive
from quiltwork.data.numbers import fit_numbers
from quiltwork.stats.moments import Moments
from quiltwork.stats.partial import RANK, changed_shares, follow_parents, regress


def table(seed, n_rows=60, n_vars=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_vars)) @ rng.normal(size=(n_vars, n_vars))


def correlations(X):
    return Moments.of(fit_numbers(X)[1]).correlation


def share(X, child, parents):
    return naive.residual_variance(X, child, parents) / X[:, child].var()


def asked(matrix, child, parents):
    shares = np.ones(len(matrix))
    follow_parents(matrix, parents, 0, shares)
    after, own, after_off, own_off = np.empty((4, len(matrix)))
    left, _, log_det, _ = changed_shares(matrix, child, parents, shares, after, own, after_off, own_off)
    return left, log_det, after, own, shares


@st.composite
def families(draw, n_vars=6):
    child = draw(st.integers(0, n_vars - 1))
    others = [v for v in range(n_vars) if v != child]
    return child, np.array(sorted(draw(st.sets(st.sampled_from(others), max_size=4))), np.int64)


@settings(max_examples=25)
@given(st.integers(0, 10**6), families())
def test_every_share_is_that_of_a_regression_from_the_rows(seed, family):
    X, (child, parents) = table(seed), family
    matrix = correlations(X)
    left, log_det, after, own, shares = asked(matrix, child, parents)
    assert left == pytest.approx(share(X, child, parents), rel=1e-6)
    assert log_det == pytest.approx(np.linalg.slogdet(matrix[np.ix_(parents, parents)])[1], abs=1e-6)
    for u in range(6):
        if u == child:
            assert own[u] == 0.0
        elif u in parents:
            rest = [p for p in parents if p != u]
            assert after[u] == pytest.approx(share(X, child, rest), rel=1e-6)
            assert own[u] == pytest.approx(share(X, u, rest), rel=1e-6)
        else:
            assert after[u] == pytest.approx(share(X, child, [*parents, u]), rel=1e-6)
            assert own[u] == shares[u] == pytest.approx(share(X, u, parents), rel=1e-6)


@settings(max_examples=25)
@given(st.integers(0, 10**6), families())
def test_weights_are_those_of_least_squares(seed, family):
    X, (child, parents) = table(seed), family
    weights, left = regress(correlations(X), child, parents)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(weights, np.linalg.lstsq(Z[:, parents], Z[:, child])[0], rtol=1e-5, atol=1e-7)
    assert left == pytest.approx(share(X, child, parents), rel=1e-6)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_parents_one_by_one_or_all_at_once(seed):
    matrix = correlations(table(seed))
    order = np.random.default_rng(seed).permutation(6)[:4]
    whole, step = np.ones(6), np.ones(6)
    follow_parents(matrix, np.sort(order), 0, whole)
    for k in range(4):
        follow_parents(matrix, order[: k + 1], k, step)
    np.testing.assert_allclose(step, whole, atol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-8, 1e-6])
def test_a_dependent_parent_gets_no_weight_and_is_never_proposed(noise):
    X = table(3, 200)
    X[:, 4] = X[:, 0] + 2 * X[:, 1] + noise * np.random.default_rng(0).normal(size=200)
    matrix = correlations(X)
    parents = np.array([0, 1], np.int64)
    with np.errstate(all="raise"):
        _, _, after, own, _ = asked(matrix, 2, parents)
        assert own[4] == 0.0 and np.isfinite(after).all()
        weights, left = regress(matrix, 2, np.array([0, 1, 4], np.int64))
        assert weights[2] == 0.0 and left == pytest.approx(share(X, 2, [0, 1]), rel=1e-6)
        left, *_ = asked(matrix, 4, parents)
    assert 0.0 <= left < RANK


def test_one_of_two_equal_parents_takes_over_from_the_other():
    X = table(4, 200)
    X[:, 1] = X[:, 0]
    left, log_det, after, own, _ = asked(correlations(X), 2, np.array([0, 1, 3], np.int64))
    assert after[0] == pytest.approx(left) and after[1] == pytest.approx(left)
    assert after[3] == pytest.approx(share(X, 2, [0]), rel=1e-9)
    assert np.isfinite(log_det) and (own[[0, 1]] > 0).all()


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_no_share_is_ever_negative_with_fewer_rows_than_columns(seed, n_rows):
    matrix = correlations(table(seed, n_rows))
    for child in range(6):
        for k in range(6):
            parents = np.array([v for v in range(6) if v != child][:k], np.int64)
            left, _, after, own, shares = asked(matrix, child, parents)
            assert left >= 0 and (after >= 0).all() and (own >= 0).all() and (shares >= 0).all()


def exact_share(matrix, child, parents):
    """1 / (C^-1)_vv over the child and its parents, with 60 digits."""
    mpmath.mp.dps = 60
    own = [child, *(int(p) for p in parents)]
    return 1 / mpmath.inverse(mpmath.matrix(matrix[np.ix_(own, own)].tolist()))[0, 0]


@settings(max_examples=30)
@given(st.integers(0, 10**6), families(), st.sampled_from([1.0, 1e-2, 1e-3, 1e-4]))
def test_no_share_is_further_off_than_it_says(seed, family, noise):
    """Against the exact shares of the same correlations; columns may be close to each other."""
    child, parents = family
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 6)) + noise * rng.normal(size=(80, 6))
    matrix = correlations(X)
    shares = np.ones(6)
    follow_parents(matrix, parents, 0, shares)
    after, own, after_off, own_off = np.empty((4, 6))
    left, left_off, *_ = changed_shares(matrix, child, parents, shares, after, own, after_off, own_off)
    assert abs(left - exact_share(matrix, child, parents)) <= left_off
    for u in set(range(6)) - {child}:
        rest = [p for p in parents if p != u]
        asked_of = rest if u in parents else [*parents, u]
        if own[u] > RANK:
            assert abs(after[u] - exact_share(matrix, child, asked_of)) <= after_off[u]
            assert abs(own[u] - exact_share(matrix, u, rest)) <= own_off[u]
