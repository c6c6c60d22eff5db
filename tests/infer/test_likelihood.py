"""The likelihood of rows against the full joint table."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from infer.networks import dataset, net, random_rows, random_tables, small_networks
from naive import joint as naive
from quiltwork.errors import ResourceLimitError
from quiltwork.infer.exact import log_evidence
from quiltwork.infer.likelihood import log_likelihood
from quiltwork.infer.sample import sample


@settings(max_examples=100)
@given(small_networks())
def test_rows_are_those_of_the_full_joint(case):
    model, table, rng = case
    rows = random_rows(rng, model, 8)
    found = log_likelihood(model, dataset(model, rows))
    assert np.exp(found) == pytest.approx([table[tuple(row)] for row in rows], abs=1e-13)
    assert not np.isnan(found).any()


@settings(max_examples=150)
@given(small_networks())
def test_missing_values_are_summed_out(case):
    model, table, rng = case
    rows = random_rows(rng, model, 8, missing=rng.choice([0.2, 0.5, 0.9]))
    with np.errstate(all="raise"):
        found = log_likelihood(model, dataset(model, rows))
    assert np.exp(found) == pytest.approx([naive.probability(table, row) for row in rows], abs=1e-13)


def test_nothing_observed_is_certain():
    model = net(*random_tables(np.random.default_rng(0), 6, density=0.8))
    assert log_likelihood(model, dataset(model, [[None] * 6])).tolist() == [0.0]


def test_zero_rows_and_blocks_of_many_rows(monkeypatch):
    model = net(*random_tables(np.random.default_rng(0), 5, min_states=2))
    assert log_likelihood(model, dataset(model, [])).shape == (0,)
    rows = sample(model, 300, seed=1)
    whole = log_likelihood(model, rows)
    monkeypatch.setattr("quiltwork.infer.question.BLOCK_ENTRIES", 1)  # blocks of 64 rows
    assert np.array_equal(whole, log_likelihood(model, rows))


def test_five_thousand_variables_all_rare():
    rng = np.random.default_rng(0)
    p = rng.uniform(1e-9, 1e-6, (5000, 2))
    probs = [np.array([[1 - p[0, 0], p[0, 0]]])] + [np.stack([1 - q, q], axis=1) for q in p[1:]]
    chain = net([2] * 5000, [[]] + [[v] for v in range(4999)], probs)
    found = log_likelihood(chain, dataset(chain, [[1] * 5000]))[0]
    assert found == pytest.approx(math.fsum(math.log(t[-1][1]) for t in probs), rel=1e-10)


def test_a_large_network_with_half_its_values_missing():
    """Groups of missing values against elimination over the whole network, which shares only the kernels."""
    rng = np.random.default_rng(5)
    model = net(*random_tables(rng, 40, density=0.06, max_states=3, max_parents=3, zeros=0.1))
    rows = sample(model, 20, seed=2)
    states = [[None if rng.random() < 0.5 else int(s) for s in row] for row in rows.states()]
    found = log_likelihood(model, dataset(model, states))
    for row, log_p in zip(states, found):
        evidence = {v.name: v.states[s] for v, s in zip(model.variables, row) if s is not None}
        assert log_p == pytest.approx(log_evidence(model, evidence), abs=1e-10)


def test_too_many_missing_values_that_hang_together_are_refused():
    """Sixty causes of sixty effects with four causes each, effects observed and causes missing."""
    rng = np.random.default_rng(0)
    parents = [[]] * 60 + [sorted(rng.choice(60, 4, replace=False).tolist()) for _ in range(120)]
    probs = [p / p.sum(1, keepdims=True) for p in (rng.random((2 ** len(own), 2)) for own in parents)]
    model = net([2] * 180, parents, probs)
    with pytest.raises(ResourceLimitError, match="variables"):
        log_likelihood(model, dataset(model, [[None] * 60 + [0] * 120]))
