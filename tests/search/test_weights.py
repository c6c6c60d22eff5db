"""Optimisers against conditions of optimality and against each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from quiltwork.search.weights import Penalty, maximise, maximise_in_batches


def quiet(done):
    pass


def logistic(seed, n_rows=80, n=6):
    """The log-likelihood of a logistic regression, value and gradient, of some or all rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n))
    y = rng.random(n_rows) < 1 / (1 + np.exp(-X @ np.array([2.0, -1, 0.5, 0, 0, 0])[:n]))

    def objective(w, rows=slice(None)):
        logits = X[rows] @ w
        value = (np.where(y[rows], logits, 0) - np.logaddexp(0, logits)).sum()
        return float(value), X[rows].T @ (y[rows] - 1 / (1 + np.exp(-logits)))

    return objective


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 8.0, 1000.0]), st.sampled_from([0.1, 2.0]))
def test_the_answer_is_where_no_direction_goes_up(seed, lasso, precision):
    objective = logistic(seed)
    penalty = Penalty(np.full(6, precision), np.array([0.0, *[lasso] * 5]))
    found = maximise(objective, np.zeros(6), penalty, 80.0, 500, 1e-12, quiet)
    slope = objective(found.weights)[1] - precision * found.weights
    assert found.converged
    for w, g, cost in zip(found.weights, slope, penalty.lasso):
        if w == 0 and cost > 0:
            assert abs(g) <= cost + 1e-3
        else:
            assert g == pytest.approx(np.sign(w) * cost, abs=2e-3)
    if lasso == 1000.0:
        assert not found.weights[1:].any() and found.weights[0] != 0


def test_a_corner_that_costs_nothing_changes_nothing():
    objective = logistic(3)
    smooth = maximise(objective, np.zeros(6), Penalty(np.ones(6), np.zeros(6)), 80.0, 500, 1e-13, quiet)
    cornered = maximise(objective, np.zeros(6), Penalty(np.ones(6), np.full(6, 1e-9)), 80.0, 500, 1e-13, quiet)
    assert cornered.weights == pytest.approx(smooth.weights, abs=1e-4)


def test_a_search_cut_short_says_so_and_each_step_is_told():
    told = []
    for lasso in (0.0, 1.0):
        penalty = Penalty(np.full(6, 0.01), np.full(6, lasso))
        found = maximise(logistic(1), np.zeros(6), penalty, 80.0, 2, 1e-14, told.append)
        assert not found.converged and found.n_iter == 2
    assert told == [1, 2, 1, 2]


@pytest.mark.parametrize("seed", range(4))
def test_zeros_are_settled_at_the_usual_tolerance(seed):
    """Sixty columns that hang together, most of which say nothing: a far stricter search ends at the same zeros."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 60)) + 2.0 * rng.normal(size=(400, 1))
    y = rng.random(400) < 1 / (1 + np.exp(-X[:, :5] @ rng.normal(size=5)))

    def objective(w):
        logits = X @ w
        value = (np.where(y, logits, 0) - np.logaddexp(0, logits)).sum()
        return float(value), X.T @ (y - expit(logits))

    penalty = Penalty(np.full(60, 0.01), np.full(60, 6.0))
    usual, strict = (maximise(objective, np.ones(60), penalty, 400.0, 5000, tol, quiet) for tol in (1e-7, 1e-13))
    assert usual.converged and usual.n_iter < strict.n_iter
    assert 20 < (strict.weights == 0).sum() < 60
    assert np.array_equal(usual.weights == 0, strict.weights == 0)


def in_batches(objective, n_rows, size):
    def batches(epoch):
        order = np.random.default_rng(epoch).permutation(n_rows)
        for low in range(0, n_rows, size):
            rows = order[low : low + size]
            yield (lambda w, rows=rows: objective(w, rows)), float(len(rows))

    return batches


@pytest.mark.parametrize("lasso", [0.0, 3.0])
@pytest.mark.parametrize("size", [50, 700, 2000])
def test_batches_end_where_full_sweeps_end(lasso, size):
    objective = logistic(5, n_rows=2000)
    penalty = Penalty(np.ones(6), np.full(6, lasso))
    swept = maximise(objective, np.zeros(6), penalty, 2000.0, 500, 1e-9, quiet)
    told = []
    batches = in_batches(objective, 2000, size)
    found = maximise_in_batches(batches, np.zeros(6), penalty, 2000.0, 500, 1e-9, told.append)
    assert found.converged and told == list(range(1, found.n_iter + 1)) and found.n_iter < 100
    assert found.weights == pytest.approx(swept.weights, abs=1e-3)
    assert np.array_equal(found.weights == 0, swept.weights == 0)


@pytest.mark.parametrize("size", [50, 1000])
@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_batches_cut_short_say_so_and_are_never_worse_than_the_start(size, max_iter):
    """From the best weights there is only down; from none at all every epoch leads up."""
    objective = logistic(5, n_rows=2000)
    penalty = Penalty(np.ones(6), np.zeros(6))
    worth = lambda w: objective(w)[0] - penalty.cost(w)
    best = maximise(objective, np.zeros(6), penalty, 2000.0, 500, 1e-12, quiet).weights
    for start in (best, np.zeros(6)):
        found = maximise_in_batches(in_batches(objective, 2000, size), start, penalty, 2000.0, max_iter, 0.0, quiet)
        assert not found.converged and found.n_iter == max_iter
        assert worth(found.weights) >= worth(start)


def test_nothing_to_weigh():
    none = Penalty(np.empty(0), np.empty(0))
    assert maximise(lambda w: (0.0, np.empty(0)), np.empty(0), none, 1.0, 5, 1e-6, quiet).converged
