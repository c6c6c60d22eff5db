"""Exact likelihood against the full joint table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import log_linear
from quiltwork.errors import ResourceLimitError
from quiltwork.stats import exact_likelihood
from quiltwork.stats.conjunctions import Conjunctions
from quiltwork.stats.exact_likelihood import ExactLikelihood
from stats.test_conjunctions import random_features
from tables import dataset, random_table


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=5), st.integers(0, 10))
def test_value_and_gradient_are_those_of_the_joint(seed, n_states, n):
    rng = np.random.default_rng(seed)
    columns = random_table(seed, 40, n_states)
    features = random_features(rng, n_states, n)
    weights = rng.normal(size=n)
    value, gradient = ExactLikelihood.of(dataset(columns, n_states), Conjunctions.of(features))(weights)
    table = log_linear.joint(n_states, features, weights)
    rows = np.array(columns).T.tolist()
    assert value == pytest.approx(sum(np.log(table[tuple(row)]) for row in rows), rel=1e-12)
    for f, feature in enumerate(features):
        held = sum(all(row[v] == s for v, s in feature) for row in rows)
        expected = sum(table[cell] for cell in np.ndindex(*n_states) if all(cell[v] == s for v, s in feature))
        assert gradient[f] == pytest.approx(held - 40 * expected, abs=1e-9)


def test_work_is_cut_into_calls(monkeypatch):
    n_states = [2] * 6
    columns, features = random_table(0, 50, n_states), random_features(np.random.default_rng(0), n_states, 30)
    weights = np.random.default_rng(1).normal(size=30)
    whole = ExactLikelihood.of(dataset(columns, n_states), Conjunctions.of(features))
    monkeypatch.setattr(exact_likelihood, "CALL_CELLS", 100)
    cut = ExactLikelihood.of(dataset(columns, n_states), Conjunctions.of(features))
    assert len(cut.cuts) > len(whole.cuts) == 2
    assert cut(weights)[0] == whole(weights)[0] and np.array_equal(cut(weights)[1], whole(weights)[1])


def test_weights_do_not_overflow():
    data = dataset(random_table(0, 20, [2, 2]), [2, 2])
    both = ExactLikelihood.of(data, Conjunctions.of([[(0, 1), (1, 1)]]))
    with np.errstate(all="raise", under="ignore"):
        value, gradient = both(np.array([1e5]))
    assert np.isfinite(value) and np.isfinite(gradient).all()


def test_too_many_joint_states_are_refused():
    data = dataset(random_table(0, 5, [2] * 30), [2] * 30)
    with pytest.raises(ResourceLimitError, match="30 variables have 1.07e\\+09 joint states"):
        ExactLikelihood.of(data, Conjunctions.of([]))
