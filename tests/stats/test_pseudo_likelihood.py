"""Value and gradient against the definition, and against differences of the value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import log_linear
from quiltwork.backends.threads import Threads
from quiltwork.data.dataset import Dataset
from quiltwork.errors import ResourceLimitError
from quiltwork.stats import pseudo_likelihood
from quiltwork.stats.conjunctions import Conjunctions
from quiltwork.stats.pseudo_likelihood import PseudoLikelihood
from tables import dataset, random_table, tables

SIZES = (1, 2, 5, 63, 64, 65, 90)


def run(task, n):
    for i in range(n):
        task(i)


def random_features(rng, n_states, n):
    """Conjunctions of up to three conditions, also none; some of them twice."""
    features = []
    for _ in range(n):
        scope = sorted(rng.choice(len(n_states), min(int(rng.integers(0, 4)), len(n_states)), replace=False).tolist())
        features.append([(v, int(rng.integers(n_states[v]))) for v in scope])
    return features + features[:1]


@settings(max_examples=80)
@given(tables(max_vars=5, sizes=SIZES), st.integers(0, 10**6), st.booleans())
def test_value_and_gradient_are_those_of_the_definition(table, seed, weighted):
    columns, n_states = table
    rng = np.random.default_rng(seed)
    features = random_features(rng, n_states, 8)
    weights = rng.normal(size=len(features))
    row_weights = rng.random(len(columns[0])) + 0.1 if weighted else np.ones(len(columns[0]))
    data = dataset(columns, n_states, row_weights if weighted else None)
    likelihood = PseudoLikelihood.of(data, Conjunctions.of(features), run)
    rows = np.array(columns).T.tolist()

    def slow(w):
        return log_linear.pseudo_log_likelihood(n_states, features, w, rows, row_weights)

    value, gradient = likelihood(weights, run)
    assert value == pytest.approx(slow(weights), rel=1e-12, abs=1e-12)
    for f in range(0, len(features), 3):
        step = np.eye(len(features))[f] * 1e-5
        difference = (slow(weights + step) - slow(weights - step)) / 2e-5
        assert gradient[f] == pytest.approx(difference, rel=1e-6, abs=1e-6)


@given(st.integers(0, 10**6))
def test_the_gradient_is_the_slope_of_the_value(seed):
    """Against differences of our own value, along random directions, with many features."""
    rng = np.random.default_rng(seed)
    n_states = [2, 3, 2, 4, 2, 2, 18]
    data = dataset(random_table(seed, 200, n_states), n_states)
    likelihood = PseudoLikelihood.of(data, Conjunctions.of(random_features(rng, n_states, 60)), run)
    weights, direction = rng.normal(size=61), rng.normal(size=61)
    slope = (likelihood(weights + 1e-5 * direction, run)[0] - likelihood(weights - 1e-5 * direction, run)[0]) / 2e-5
    assert likelihood(weights, run)[1] @ direction == pytest.approx(slope, rel=1e-6, abs=1e-5)


def planted(seed=0, n_vars=30):
    rng = np.random.default_rng(seed)
    n_states = rng.integers(2, 4, n_vars).tolist()
    columns = random_table(seed, 500, n_states)
    features = random_features(rng, n_states, 200)
    return columns, n_states, features, rng.normal(size=len(features))


def test_the_answer_depends_neither_on_the_threads_nor_on_the_order_of_the_rows():
    columns, n_states, features, weights = planted()
    mixed = np.random.default_rng(1).permutation(500)
    answers = []
    for rows in (columns, [column[mixed] for column in columns]):
        for n in (1, 3):
            with Threads(n) as threads:
                likelihood = PseudoLikelihood.of(dataset(rows, n_states), Conjunctions.of(features), threads.run)
                answers.append(likelihood(weights, threads.run))
    for value, gradient in answers[1:]:
        assert value == answers[0][0]
        assert np.array_equal(gradient, answers[0][1])


def test_a_weight_of_two_is_a_row_seen_twice():
    columns, n_states, features, weights = planted(n_vars=5)
    counts = np.random.default_rng(2).integers(0, 3, 500)
    twice = [np.repeat(column, counts) for column in columns]
    one = PseudoLikelihood.of(dataset(columns, n_states, counts.astype(float)), Conjunctions.of(features), run)
    other = PseudoLikelihood.of(dataset(twice, n_states), Conjunctions.of(features), run)
    assert one(weights, run)[0] == pytest.approx(other(weights, run)[0], rel=1e-12)
    assert one(weights, run)[1] == pytest.approx(other(weights, run)[1], rel=1e-9, abs=1e-9)


def test_rows_alike_around_a_variable_are_one_situation():
    """a - b - c, all binary: a and c see two situations each, b sees four."""
    n_states = [2, 2, 2]
    columns = [column.astype(np.uint16) for column in np.random.default_rng(0).integers(0, 2, (3, 400))]
    features = [[(u, s), (u + 1, t)] for u in (0, 1) for s in (0, 1) for t in (0, 1)]
    panels = PseudoLikelihood.of(dataset(columns, n_states), Conjunctions.of(features), run).panels
    assert (np.diff(panels.first_count) // 2).tolist() == [2, 4, 2]
    assert panels.counts.sum() == 3 * 400


def test_large_weights_do_not_overflow():
    columns, n_states, features, weights = planted(n_vars=5)
    likelihood = PseudoLikelihood.of(dataset(columns, n_states), Conjunctions.of(features), run)
    with np.errstate(all="raise"):
        value, gradient = likelihood(1e4 * weights, run)
    assert np.isfinite(value) and np.isfinite(gradient).all() and value < 0


def test_without_features_every_state_is_as_likely_as_another():
    columns, n_states, _, _ = planted(n_vars=4)
    value, gradient = PseudoLikelihood.of(dataset(columns, n_states), Conjunctions.of([]), run)(np.empty(0), run)
    assert value == pytest.approx(-500 * np.log(n_states).sum())
    assert gradient.shape == (0,)


def test_more_than_the_machine_holds_is_refused(monkeypatch):
    columns, n_states, features, _ = planted()
    monkeypatch.setattr("quiltwork.stats.pseudo_likelihood.physical_memory", lambda: 1000.0)
    with pytest.raises(ResourceLimitError, match="Take fewer features"):
        PseudoLikelihood.of(dataset(columns, n_states), Conjunctions.of(features), run)


def test_a_table_without_variables():
    data: Dataset = dataset([], [])
    assert PseudoLikelihood.of(data, Conjunctions.of([]), run)(np.empty(0), run)[0] == 0.0


def test_rows_in_blocks_are_the_same_rows(monkeypatch):
    columns, n_states, features, weights = planted()
    whole = PseudoLikelihood.of(dataset(columns, n_states), Conjunctions.of(features), run)
    monkeypatch.setattr(pseudo_likelihood, "BLOCK", 64)
    monkeypatch.setattr(pseudo_likelihood, "TASK_ENTRIES", 1000)
    blocks = PseudoLikelihood.of(dataset(columns, n_states), Conjunctions.of(features), run)
    assert len(blocks.panels.variable) > len(whole.panels.variable) == 30
    assert len(blocks.cuts) > len(whole.cuts)
    assert blocks(weights, run)[0] == pytest.approx(whole(weights, run)[0], rel=1e-12)
    assert blocks(weights, run)[1] == pytest.approx(whole(weights, run)[1], rel=1e-9, abs=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_long_nested_features_are_told_in_few_entries(seed):
    """Paths that grow by a condition at a time: nested sets of rows, so that each row stands in one list of a group."""
    rng = np.random.default_rng(seed)
    n_states = [2] * 10
    columns = random_table(seed, 300, n_states)
    order = rng.permutation(10)
    path = [(int(v), int(columns[v][0])) for v in order]
    features = [sorted(path[:k]) for k in range(1, 11)] + [sorted(path[1:k]) for k in range(2, 11)]
    weights = rng.normal(size=len(features))
    rows = np.array(columns).T.tolist()
    likelihood = PseudoLikelihood.of(dataset(columns, n_states), Conjunctions.of(features), run)
    expected = log_linear.pseudo_log_likelihood(n_states, features, weights, rows, np.ones(300))
    assert likelihood(weights, run)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("logit", [0.0, 1e-12, 0.3, -0.3, 17.0, -40.0, 699.0, -705.0, 3e5])
def test_exponentials_and_logarithms_are_exact(logit):
    counts = np.array([[3.0, 2.0]])
    found = np.array([logit])
    value = pseudo_likelihood._binary_residuals(counts, found)
    assert value == pytest.approx(-3 * np.logaddexp(0, logit) - 2 * np.logaddexp(0, -logit), rel=1e-14)
    share = np.exp(-np.logaddexp(0, -logit))
    assert found[0] == pytest.approx(2 - 5 * share, rel=1e-13, abs=1e-300)
