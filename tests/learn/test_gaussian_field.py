"""The Gaussian field: against n ridge regressions, against a dense inverse, and the promises of its parameters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV

import quiltwork as qw
from learn.some_votes import random_votes
from naive import rankers as naive
from quiltwork.data.dataset import NO_CODE, from_codes
from quiltwork.errors import ParameterError
from quiltwork.models import gaussian_items_file


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 40]), st.sampled_from([0.1, 3.0, 500.0]), st.booleans())
def test_conditional_means_are_ridge_regressions(seed, n_users, ridge, centre):
    X, asked = random_votes(seed, n_users), random_votes(seed + 1, 3)
    with np.errstate(all="raise", under="ignore"):
        found = qw.item_scores(qw.GaussianField(ridge=ridge, centre=centre).fit(X), asked)
    for user, scores in zip(asked, found):
        twin = [naive.ridge_regression_score(X, user, j, ridge, centre) for j in range(7)]
        assert scores == pytest.approx(twin, abs=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 6]), st.sampled_from([0.5, 20.0]), st.booleans())
def test_low_rank_keeps_the_diagonal(seed, rank, ridge, centre):
    X, asked = random_votes(seed, 30, 9), random_votes(seed + 1, 3, 9)
    _, values, _ = np.linalg.svd(X - X.mean(axis=0) * centre)
    if values[rank - 1] - values[rank] < 1e-6:  # which vectors are kept is then a matter of chance
        return
    found = qw.item_scores(qw.GaussianField(ridge=ridge, rank=rank, centre=centre).fit(X), asked)
    for user, scores in zip(asked, found):
        twin = [naive.low_rank_score(X, user, j, ridge, centre, rank) for j in range(9)]
        assert scores == pytest.approx(twin, abs=1e-7)


@pytest.mark.parametrize("rank", [None, 4])
@pytest.mark.parametrize("centre", [False, True])
def test_precision_is_the_inverse_of_the_conditional_variance(rank, centre):
    X = random_votes(1, 50, 8).astype(float)
    model = qw.GaussianField(ridge=2.0, rank=rank, centre=centre).fit(X).model_
    own = X - X.mean(axis=0) * centre
    covariance = own.T @ own
    if rank:
        _, values, vectors = np.linalg.svd(own, full_matrices=False)
        covariance = (vectors[:rank].T * values[:rank] ** 2) @ vectors[:rank]
    np.fill_diagonal(covariance, np.diag(own.T @ own) + 2.0)
    assert model.precision == pytest.approx(50 * np.diag(np.linalg.inv(covariance)))
    assert model.mean == pytest.approx(X.mean(axis=0) * centre)


def test_a_planted_pair_comes_back():
    """Every pair of neighbours is chosen together or not at all; each predicts the other and nothing else."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.random((400, 6)) < 0.3, 2, axis=1)
    model = qw.learn("gmf", X, ridge=10.0, centre=True)
    assert np.argmax(model.weights, axis=0).tolist() == [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10]
    for item in range(12):
        assert qw.recommend(model, [f"x{item}"], n=1)[0][0] == f"x{item ^ 1}"


def test_constant_and_duplicate_columns_do_no_harm():
    X = random_votes(3)
    X = np.column_stack([X, X[:, 0], np.zeros(40, np.uint8), np.ones(40, np.uint8)])
    for params in ({}, {"centre": True}, {"rank": 3}, {"rank": 3, "centre": True}):
        with np.errstate(all="raise", under="ignore"):
            scores = qw.item_scores(qw.GaussianField(ridge=1.0, **params).fit(X), X)
        assert np.isfinite(scores).all()
        assert scores[:, 8] == pytest.approx(np.zeros(40), abs=1e-12)  # nobody ever chose it


def test_rows_that_do_not_differ():
    for X in (np.zeros((5, 4), np.uint8), np.ones((5, 4), np.uint8)):
        for rank in (None, 2):
            for centre in (False, True):
                model = qw.learn("gmf", X, ridge=1e-3, rank=rank, centre=centre)
                assert qw.item_scores(model, X) == pytest.approx(X, abs=1e-2)


def test_a_missing_value_stands_at_its_mean():
    X = random_votes(4)
    for params in ({"ridge": 3.0}, {"ridge": 3.0, "rank": 2}):
        for centre in (False, True):
            model = qw.learn("gmf", X, centre=centre, **params)
            codes = X.astype(np.uint16)
            codes[:, 1] = NO_CODE
            found = qw.item_scores(model, from_codes(model.variables, list(codes.T)))
            with_it, without = X.copy(), X.copy()
            with_it[:, 1], without[:, 1] = 1, 0
            share = X[:, 1].mean() if centre else 0.0
            blend = share * qw.item_scores(model, with_it) + (1 - share) * qw.item_scores(model, without)
            assert found == pytest.approx(blend, abs=1e-12)


def test_parameters():
    X = random_votes(5, 20)
    for params in ({"ridge": 0}, {"ridge": -1.0}, {"rank": 0}, {"rank": 2.5}, {"centre": 1}):
        (name,) = params
        with pytest.raises(ParameterError, match=f"'{name}' parameter of GaussianField"):
            qw.GaussianField(**params).fit(X)
    with pytest.raises(ParameterError, match="at most 6 here. Got 7 instead; None gives the full field"):
        qw.GaussianField(rank=7).fit(X)


def test_the_ridge_can_be_chosen_by_cross_validation():
    """The score is minus the squared error, and scikit-learn's tools make it as large as it can be."""
    X = random_votes(8, 60)
    est = qw.GaussianField(ridge=4.0).fit(X)
    expected = -((X - qw.item_scores(est, X)) ** 2).sum(axis=1)
    assert est.score_samples(X) == pytest.approx(expected)
    assert est.score(X) == pytest.approx(expected.mean())
    codes = X.astype(np.uint16)
    codes[:, 2] = NO_CODE  # an unknown value has no error
    assert (est.score_samples(from_codes(est.model_.variables, list(codes.T))) <= 0).all()
    ridges = [0.01, 5.0, 1e6]
    search = GridSearchCV(qw.GaussianField(), {"ridge": ridges}, cv=3).fit(X)
    by_hand = []
    for ridge in ridges:
        errors = []
        for test in np.array_split(np.arange(60), 3):
            train = np.delete(X, test, axis=0)
            twin = [[naive.ridge_regression_score(train, user, j, ridge, False) for j in range(7)] for user in X[test]]
            errors.append(((X[test] - twin) ** 2).sum(axis=1).mean())
        by_hand.append(-np.mean(errors))
    assert search.cv_results_["mean_test_score"] == pytest.approx(by_hand, rel=1e-6)
    assert search.best_params_ == {"ridge": 5.0}


def test_the_seed_does_not_matter_beyond_rounding():
    X = random_votes(6, 100, 30)
    one, same, other = (qw.learn("gmf", X, ridge=5.0, rank=4, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.factors, same.factors)
    assert qw.item_scores(other, X) == pytest.approx(qw.item_scores(one, X), abs=1e-8)


def test_what_it_shows():
    X = random_votes(7)
    full, low = qw.learn("gmf", X), qw.learn("gmf", X, rank=2, centre=True)
    assert (repr(full), full.n_parameters) == ("GaussianItems(7 items)", 28)
    assert (repr(low), low.n_parameters) == ("GaussianItems(7 items, rank 2)", 21 + np.count_nonzero(X.any(axis=0)))


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("mean", np.zeros(6), "fit the items"),
        ("precision", np.zeros(7), "above 0"),
        ("precision", np.full(7, np.nan), "above 0"),
        ("weights", np.ones((7, 7)), "its own mean"),
        ("weights", np.zeros((7, 6)), "either"),
        ("weights", np.zeros((0, 0)), "either"),
        ("factors", np.zeros((7, 2)), "either"),
        ("factors", np.zeros((6, 0)), "fit the items"),
        ("mean", np.full(7, np.inf), "finite"),
    ],
)
def test_a_file_that_cannot_be_true_is_refused(name, value, complaint):
    described, tensors = gaussian_items_file.pack(qw.GaussianField().fit(random_votes(0)).model_)
    with pytest.raises(ValueError, match=complaint):
        gaussian_items_file.unpack(described, {**tensors, name: value}, {})
