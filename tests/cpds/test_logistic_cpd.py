"""Softmax of sums, against sums written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import logistic
from quiltwork.cpds.logistic import LogisticCPD
from quiltwork.data.dataset import NO_CODE


def random_cpd(rng, n_states, child):
    """A CPD whose parents are a random half of the other variables."""
    parents = [v for v in range(len(n_states)) if v != child and rng.random() < 0.5]
    first = np.concatenate([[0], np.cumsum([n_states[p] for p in parents])]).astype(np.int64)
    r = n_states[child]
    weights, means = rng.normal(size=(first[-1], r)), rng.normal(size=(len(parents), r))
    return LogisticCPD(child, tuple(parents), rng.normal(size=r), first, weights, means)


@given(st.integers(0, 10**6), st.sampled_from([[2, 2, 2], [3, 2, 5, 2], [17, 4, 2]]), st.booleans())
def test_log_probs_are_those_of_the_slow_twin(seed, n_states, has_gaps):
    rng = np.random.default_rng(seed)
    cpd = random_cpd(rng, n_states, child=0)
    codes = np.column_stack([rng.integers(0, r, 20) for r in n_states]).astype(np.uint16)
    if has_gaps:
        codes[rng.random(codes.shape) < 0.3] = NO_CODE
    tables = {p: cpd.weights[a:b].tolist() for p, a, b in zip(cpd.parents, cpd.first, cpd.first[1:])}
    means = dict(zip(cpd.parents, cpd.means.tolist()))
    found = cpd.log_probs(codes)
    assert np.exp(found).sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    for row, own in zip(codes.tolist(), found):
        known = [None if s == NO_CODE else s for s in row]
        assert own == pytest.approx(logistic.log_probs(known, cpd.intercept.tolist(), tables, means), abs=1e-12)


def test_the_parts_add_up_to_the_logits():
    rng = np.random.default_rng(0)
    n_states = [3, 2, 4, 2, 5]
    cpd = random_cpd(rng, n_states, child=2)
    codes = np.column_stack([rng.integers(0, r, 50) for r in n_states]).astype(np.uint16)
    logits = np.zeros((50, 4))
    for scope, values in cpd.log_tables():
        assert values.shape == (n_states[scope[0]] if scope else 1, 4)
        logits += values[codes[:, scope[0]]] if scope else values
    logits -= np.logaddexp.reduce(logits, axis=1, keepdims=True)
    assert cpd.log_probs(codes) == pytest.approx(logits, abs=1e-12)
    assert cpd.decision_graphs() == []


def test_the_child_itself_is_never_read():
    cpd = random_cpd(np.random.default_rng(1), [2, 3, 2], child=1)
    codes = np.zeros((3, 3), np.uint16)
    codes[:, 1] = [0, 2, NO_CODE]
    assert (cpd.log_probs(codes) == cpd.log_probs(codes)[0]).all()


def test_large_logits_stay_finite():
    weights = np.array([[0.0, 2000.0], [0.0, -2000.0]])
    cpd = LogisticCPD(1, (0,), np.zeros(2), np.array([0, 2]), weights, np.zeros((1, 2)))
    assert cpd.log_probs(np.array([[0, 0], [1, 0]], np.uint16)).tolist() == [[-2000.0, 0.0], [0.0, -2000.0]]


def test_parameters_that_are_free():
    weights = np.array([[0.0, 0.0], [0.0, 2.0], [0.0, 0.0], [0.0, 0.0], [0.0, -1.0]])
    cpd = LogisticCPD(2, (0, 1), np.zeros(2), np.array([0, 2, 5]), weights, np.zeros((2, 2)))
    assert cpd.n_parameters == 3  # an intercept and two weights
