"""Gains of features against differences of the pseudo-likelihood; what the greedy learners make of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import log_linear
from quiltwork.errors import ResourceLimitError
from quiltwork.search import gains
from quiltwork.search.bottom_up import generalise_rows
from quiltwork.search.gains import Conditionals
from quiltwork.search.top_down import induce_features
from quiltwork.search.weights import Penalty, maximise
from quiltwork.stats.conjunctions import Conjunctions
from quiltwork.stats.pseudo_likelihood import PseudoLikelihood, rows_in_order
from stats.test_conjunctions import random_features
from tables import dataset, random_table


def run(task, n):
    for i in range(n):
        task(i)


def silent(stage, done, total):
    pass


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0.3, 2.0]))
def test_the_gain_is_the_best_difference_of_pseudo_likelihoods(seed, width):
    rng = np.random.default_rng(seed)
    n_states = rng.integers(1, 4, 4).tolist()
    rows = rows_in_order(dataset(random_table(seed, 40, n_states), n_states))
    features = random_features(rng, n_states, 5)
    weights = 0.5 * rng.normal(size=5)
    now = Conditionals(rows, width)
    now.start(Conjunctions.of(features[:-1]), weights[:-1])
    weight, gain = now.gain(now.places(features[-1]))

    def improvement(w):
        after = value(features, [*weights[:-1], w])
        return after - value(features[:-1], weights[:-1]) - w**2 / (2 * width**2)

    def value(some, their_weights):
        return log_linear.pseudo_log_likelihood(n_states, some, their_weights, rows.states().tolist(), rows.weights)

    assert gain == pytest.approx(improvement(weight), abs=1e-8)
    for other in (weight - 1e-3, weight + 1e-3, 0.0):
        assert improvement(other) <= gain + 1e-9
    for cost in (0.5 * gain, 0.99 * gain, gain, 1.5 * gain, 3.0 * gain):  # only what gains no more is not looked for
        told = now.gain(now.places(features[-1]), cost)
        assert told == (weight, gain) or (told == (0.0, 0.0) and gain <= cost)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([30, 700]))
def test_gains_together_are_those_of_each_conjunction(seed, n):
    rng = np.random.default_rng(seed)
    n_states = [2, 3, 2, 2, 4]
    rows = rows_in_order(dataset(random_table(seed, n, n_states), n_states))
    now = Conditionals(rows, 1.0)
    features = [sorted(feature) for feature in random_features(rng, n_states, 12)]
    now.start(Conjunctions.of(features[:4]), rng.normal(size=4))
    one, *others = features
    places = [now.places(other) for other in others]
    first = np.cumsum([0, *map(len, places)])
    weights, gains = now.gains_together(now.places(one), np.concatenate(places), first, 0.1)
    for other, *told in zip(others, weights, gains):
        both = sorted({*one, *other})
        contradicts = len({v for v, _ in both}) < len(both)
        expected = (0.0, 0.0) if contradicts or both in (one, other) else now.gain(now.places(both), 0.1)
        assert told == pytest.approx(expected, abs=1e-9)


def test_most_of_what_is_not_worth_its_cost_is_known_by_its_slope():
    rng = np.random.default_rng(0)
    rows = rows_in_order(dataset(list(rng.integers(0, 2, (12, 2000)).astype(np.uint16)), [2] * 12))
    now = Conditionals(rows, 1.0)
    pairs = [now.places([(u, 1), (v, 1)]) for v in range(12) for u in range(v)]
    assert sum(now.gain(pair)[1] <= 4.0 for pair in pairs) > 60
    assert sum(now.gain(pair, 4.0) == (0.0, 0.0) for pair in pairs) > 60


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_adding_one_by_one_is_starting_with_all(seed):
    rng = np.random.default_rng(seed)
    n_states = [2, 3, 2, 20]
    rows = rows_in_order(dataset(random_table(seed, 70, n_states), n_states))
    features, weights = random_features(rng, n_states, 6), rng.normal(size=6)
    one, other = Conditionals(rows, 1.0), Conditionals(rows, 1.0)
    one.start(Conjunctions.of(features), weights)
    for feature, weight in zip(features, weights):
        other.add(other.places(feature), weight)
    assert other.probs == pytest.approx(one.probs, abs=1e-12)
    for feature, weight in zip(features, weights):
        other.add(other.places(feature), -weight)
    even = np.concatenate([np.full((n, rows.n_samples), 1 / n) for n in n_states])
    assert other.probs == pytest.approx(even, abs=1e-9)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 500]))
def test_the_nearest_rows_are_those_in_which_fewest_conditions_fail(seed, k):
    rng = np.random.default_rng(seed)
    n_states = rng.integers(1, 4, int(rng.integers(1, 20))).tolist()
    rows = rows_in_order(dataset(random_table(seed, int(rng.integers(1, 400)), n_states), n_states))
    columns = np.flatnonzero(rng.random(len(n_states)) < 0.8)
    feature = [(int(v), int(rng.integers(n_states[v]))) for v in columns]
    failures = [sum(row[v] != s for v, s in feature) for row in rows.states().tolist()]
    most = len(feature) - int(rng.integers(0, 3))
    expected = sorted((n, i) for i, n in enumerate(failures) if 0 < n <= most)[:k]
    now = Conditionals(rows, 1.0)
    assert now.nearest(now.places(feature), k, most).tolist() == [i for _, i in expected]


def test_more_than_the_machine_holds_is_refused(monkeypatch):
    rows = rows_in_order(dataset(random_table(0, 100, [2, 2]), [2, 2]))
    monkeypatch.setattr(gains, "physical_memory", lambda: 100.0)
    with pytest.raises(ResourceLimitError, match="structure='dtsl'"):
        Conditionals(rows, 1.0)


def planted(n=3000, seed=0):
    """a = b mostly; and where c and d are both on, e is too; f is alone."""
    rng = np.random.default_rng(seed)
    a, c, d, f = rng.integers(0, 2, (4, n))
    b = np.where(rng.random(n) < 0.9, a, 1 - a)
    e = np.where(c & d, rng.random(n) < 0.95, rng.random(n) < 0.1)
    columns = [column.astype(np.uint16) for column in (a, b, c, d, e, f)]
    return rows_in_order(dataset(columns, [2] * 6))


def test_top_down_finds_what_was_planted():
    features, weights = induce_features(planted(), 0.001, 1.0, lambda features, weights: weights, silent)
    found = set(list(features)[6:])
    assert ((0, 1), (1, 1)) in found and ((2, 1), (3, 1), (4, 1)) in found
    assert not any(v == 5 for feature in found for v, _ in feature)
    assert dict(zip(features, weights))[(0, 1), (1, 1)] > 1


def test_top_down_refits_as_it_grows():
    sizes = []

    def refit(features, weights):
        sizes.append(len(features))
        return weights

    features, _ = induce_features(planted(), 0.5, 1.0, refit, silent)
    assert (
        sizes and sizes[0] == 7 and all(b >= 1.1 * a for a, b in zip(sizes, sizes[1:])) and sizes[-1] <= len(features)
    )


def test_bottom_up_finds_what_was_planted():
    """Two that are alike among four that are alone: only what the two say is left of the rows."""
    rng = np.random.default_rng(0)
    a, c, d, e, f = rng.integers(0, 2, (5, 3000))
    b = np.where(rng.random(3000) < 0.9, a, 1 - a)
    rows = rows_in_order(dataset([column.astype(np.uint16) for column in (a, b, c, d, e, f)], [2] * 6))

    def refit(features, weights):
        likelihood = PseudoLikelihood.of(rows, features, run)
        penalty = Penalty(np.ones(len(features)), np.zeros(len(features)))
        return maximise(lambda w: likelihood(w, run), weights, penalty, 3000.0, 100, 1e-8, lambda done: None).weights

    features, weights = generalise_rows(rows, 5, 0.01, 1.0, refit, silent)
    found = dict(zip(list(features)[6:], weights[6:]))
    assert found and all(tuple(v for v, _ in feature) == (0, 1) for feature in found)
    assert all((w > 0) == (feature[0][1] == feature[1][1]) for feature, w in found.items())


def test_a_dearer_parameter_means_fewer_features():
    counts = [len(generalise_rows(planted(), 3, kappa, 1.0, lambda f, w: w, silent)[0]) for kappa in (0.5, 1e-30)]
    assert counts[0] > counts[1]
