"""P(x_v | rest) for whole tables against the full joint table."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from infer.networks import dataset, net, random_rows, random_tables, small_networks
from naive import joint as naive
from quiltwork.errors import UnknownVariableError
from quiltwork.infer.blanket import blanket, log_conditionals, predict_proba, pseudo_log_likelihood
from quiltwork.infer.sample import sample
from quiltwork.models.textbook import textbook


def expected_conditional(table, v, row):
    """log P(x_v | the others); None where the others are impossible, 0 where x_v is missing."""
    if row[v] is None:
        return 0.0
    found = naive.conditional(table, v, row)
    if found is None:
        return None
    return math.log(found[row[v]]) if found[row[v]] > 0 else -math.inf


@settings(max_examples=120)
@given(small_networks())
def test_conditionals_are_those_of_the_full_joint(case):
    model, table, rng = case
    rows = random_rows(rng, model, 6, missing=rng.choice([0.0, 0.2, 0.6]))
    with np.errstate(all="raise"):
        found = log_conditionals(model, dataset(model, rows))
    assert not np.isnan(found).any()
    assert (found <= 0).all()
    for i, row in enumerate(rows):
        for v in range(len(row)):
            expected = expected_conditional(table, v, row)
            if expected is not None:
                assert found[i, v] == pytest.approx(expected, abs=1e-11)


@settings(max_examples=120)
@given(small_networks())
def test_predictions_are_those_of_the_full_joint_and_never_read_their_own_column(case):
    model, table, rng = case
    rows = random_rows(rng, model, 6, missing=rng.choice([0.0, 0.3, 0.9]))
    v = int(rng.integers(len(model.variables)))
    name = model.variables[v].name
    with np.errstate(all="raise"):
        found = predict_proba(model, dataset(model, rows), name)
    assert found.sum(axis=1) == pytest.approx(1)
    for i, row in enumerate(rows):
        expected = naive.conditional(table, v, row)
        if expected is not None:
            assert found[i] == pytest.approx(expected, abs=1e-12)
    for other in (None, 0, model.variables[v].n_states - 1):
        changed = [[other if u == v else s for u, s in enumerate(row)] for row in rows]
        assert np.array_equal(predict_proba(model, dataset(model, changed), name), found)


def test_the_pseudo_likelihood_is_their_sum(monkeypatch):
    model = net(*random_tables(np.random.default_rng(0), 6, min_states=2))
    rows = sample(model, 200, seed=0)
    whole = log_conditionals(model, rows)
    assert pseudo_log_likelihood(model, rows) == pytest.approx(whole.sum(axis=1), abs=1e-12)
    monkeypatch.setattr("quiltwork.infer.question.BLOCK_ENTRIES", 1)  # blocks of 64 rows
    assert np.array_equal(whole, log_conditionals(model, rows))


def test_impossible_rows_are_defined():
    """v0 -> v1 -> v2, each a copy: at (0, 1, 0) no state of v1 is possible, at (0, 0, 1) v2 alone is wrong."""
    copy = [[1.0, 0.0], [0.0, 1.0]]
    model = net([2, 2, 2], [[], [0], [1]], [[[0.5, 0.5]], copy, copy])
    rows = dataset(model, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    with np.errstate(all="raise"):
        assert log_conditionals(model, rows).tolist() == [[-np.inf, -np.inf, -np.inf], [0, -np.inf, -np.inf], [0, 0, 0]]
        assert predict_proba(model, rows, "v1").tolist() == [[1, 0], [0.5, 0.5], [1, 0]]
        assert pseudo_log_likelihood(model, rows).tolist() == [-np.inf, -np.inf, 0]


def test_conditionals_stay_accurate_far_from_one_half():
    """A class with 3,000 children that all speak for it: log odds of thousands, far beyond a probability."""
    rows = [[0.9, 0.1], [0.2, 0.8]]
    model = net([2] * 3001, [[]] + [[0]] * 3000, [[[0.5, 0.5]]] + [rows] * 3000)
    data = dataset(model, [[0] + [1] * 3000, [1] + [1] * 3000, [0] + [1] * 2999 + [None]])
    found = log_conditionals(model, data)[:, 0]
    assert found == pytest.approx([-3000 * math.log(8), 0.0, -2999 * math.log(8)], rel=1e-12, abs=1e-300)


def test_a_hidden_part_between_two_observed_ones():
    """Missing values far from a variable matter when only missing ones lie between: a chain of 30, ends observed."""
    flip = np.array([[0.9, 0.1], [0.1, 0.9]])
    chain = net([2] * 30, [[]] + [[v] for v in range(29)], [[[0.5, 0.5]]] + [flip] * 29)
    rows = dataset(chain, [[0] + [None] * 28 + [0], [0] + [None] * 28 + [1]])
    across = np.linalg.matrix_power(flip, 29)[0]
    assert np.exp(log_conditionals(chain, rows)[:, 29]) == pytest.approx(across, abs=1e-12)
    assert np.exp(log_conditionals(chain, rows)[:, 0]) == pytest.approx(across, abs=1e-12)
    assert (log_conditionals(chain, rows)[:, 1:29] == 0).all()


def test_blankets_of_asia():
    asia = textbook("asia")
    assert blanket(asia, "either") == ["tub", "lung", "bronc", "xray", "dysp"]
    assert blanket(asia, "asia") == ["tub"]
    with pytest.raises(UnknownVariableError):
        blanket(asia, "heart")
    with pytest.raises(UnknownVariableError):
        predict_proba(asia, sample(asia, 2), "heart")
