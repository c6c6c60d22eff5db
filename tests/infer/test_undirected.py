"""Exact answers of Markov networks against the full joint table."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from infer.markov_networks import codes_of, network, random_features
from infer.networks import dataset, evidence_of, net, random_rows, random_tables, small_networks
from naive import boxes as naive
from naive import joint as full_joint
from naive import log_linear
from quiltwork.cpds.tree import TreeCPD
from quiltwork.errors import InputError, IntractableError, ResourceLimitError
from quiltwork.infer.boxes import boxes_of
from quiltwork.infer.exact import log_evidence
from quiltwork.infer.marginals import marginals
from quiltwork.infer.undirected import boxed_log_mass, boxed_marginals, boxed_query
from quiltwork.models.bayesian import BayesianNet


@st.composite
def small_markov_networks(draw):
    """(model, full joint table, raw features, rng)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    raw = random_features(rng, draw(st.integers(1, 6)), draw(st.integers(0, 14)), scale=draw(st.sampled_from((1, 4))))
    return network(*raw), log_linear.joint(*raw), raw, rng


@settings(max_examples=100)
@given(small_markov_networks())
def test_answers_are_those_of_the_full_joint(case):
    model, table, raw, rng = case
    row = random_rows(rng, model, 1, missing=0.6)[0]
    evidence = evidence_of(model, row)
    hidden = [v for v, s in enumerate(row) if s is None]
    for v, found in enumerate(marginals(model, evidence).values()):
        expected = full_joint.posterior(table, [v], row) if row[v] is None else np.eye(len(found))[row[v]]
        assert found == pytest.approx(expected, abs=1e-12)
    assert log_evidence(model, evidence) == pytest.approx(math.log(full_joint.probability(table, row)), abs=1e-10)
    assert qw.log_partition(model, evidence).value == pytest.approx(naive.log_z(*raw, row), abs=1e-10)
    if hidden:
        asked = rng.permutation(hidden)[: rng.integers(1, len(hidden) + 1)].tolist()
        answer = qw.query(model, [f"v{v}" for v in asked], evidence)
        assert answer.probabilities == pytest.approx(full_joint.posterior(table, asked, row), abs=1e-12)
        assert (answer.method, answer.error, answer.converged) == ("exact", 0.0, True)


@settings(max_examples=60)
@given(small_markov_networks())
def test_likelihoods_are_those_of_the_full_joint(case):
    model, table, _, rng = case
    rows = random_rows(rng, model, 6, missing=rng.choice([0.0, 0.3]))
    found = qw.log_likelihood(model, dataset(model, rows))
    assert np.exp(found) == pytest.approx([full_joint.probability(table, row) for row in rows], abs=1e-12)
    shifted = qw.log_likelihood(model, dataset(model, rows), log_partition=qw.log_partition(model).value + 1.0)
    assert shifted == pytest.approx(found - 1.0, abs=1e-9)


@pytest.mark.parametrize("wrong", ["a", [1.0, 2.0], np.nan, np.inf, 10**400])
def test_a_log_z_that_is_no_number_is_refused(wrong):
    model = network([2, 2], [[(0, 1), (1, 1)]], [1.0])
    with pytest.raises(InputError, match=r"'log_partition' must be the answer of quiltwork.log_partition\(model\)"):
        qw.log_likelihood(model, np.zeros((2, 2), int), log_partition=wrong)


@settings(max_examples=60)
@given(small_networks())
def test_tables_of_probabilities_are_boxes_too(case):
    model, table, rng = case
    row = random_rows(rng, model, 1, missing=0.6)[0]
    p = full_joint.probability(table, row)
    assert math.exp(boxed_log_mass(model, codes_of(row), 2**20)) == pytest.approx(p, abs=1e-12)
    flat = boxed_marginals(model, codes_of(row), 2**20)
    hidden = [v for v, s in enumerate(row) if s is None]
    if p == 0:
        assert flat is None
    else:
        assert flat.sum() == pytest.approx(len(row))
        for v in hidden:
            own = flat[boxes_of(model).first_state[v] :][: table.shape[v]]
            assert own == pytest.approx(full_joint.posterior(table, [v], row), abs=1e-11)
        if hidden:
            found, width = boxed_query(model, hidden[:2], codes_of(row), 2**20)
            assert len(hidden[:2]) <= width <= len(hidden)
            assert found == pytest.approx(full_joint.posterior(table, hidden[:2], row), abs=1e-11)


def test_leaves_of_a_tree_are_boxes():
    """A tree over a variable of three states that asks about it twice, against the same CPD as a table."""
    rng = np.random.default_rng(0)
    raw = random_tables(rng, 3, min_states=3, max_states=3, density=0.0)
    leaves = rng.random((3, 3))
    leaves /= leaves.sum(axis=1, keepdims=True)
    ones = np.ones
    tree = TreeCPD(  # v1 = 2?  no: v1 = 0?
        child=0,
        variable=np.array([1, -1, 1, -1, -1]),
        state=np.array([2, -1, 0, -1, -1]),
        first=np.array([0, 0, 2, 1, 2]),
        branches=np.array([1, 2, 3, 4]),
        flow=ones(4),
        gain=np.zeros(5),
        probs=leaves,
        counts=ones((3, 3)),
    )
    as_table = net(raw[0], [[1], [], []], [leaves[[1, 2, 0]], *raw[2][1:]])
    as_tree = BayesianNet(as_table.encoder, (tree, *as_table.cpds[1:]))
    nothing = codes_of([None, None, None])
    assert len(boxes_of(as_tree).weight) == 3 * 3 + 6
    assert boxed_marginals(as_tree, nothing, 2**10) == pytest.approx(boxed_marginals(as_table, nothing, 2**10))
    known = codes_of([1, None, None])
    (found, _), (expected, _) = (boxed_query(model, [1], known, 2**10) for model in (as_tree, as_table))
    assert found == pytest.approx(expected)


# Weights far out of range


def test_large_weights_lose_nothing():
    """Two features that pull by 1000 and 1001: what is left is a difference of 1."""
    model = network([2, 2], [[(0, 1)], [(0, 0)], [(0, 0), (1, 1)], [(0, 1), (1, 1)]], [1000.0, 1001.0, 1e4, 1e4])
    odds = marginals(model)["v0"]
    assert odds[0] / odds[1] == pytest.approx(math.e, rel=1e-9)
    assert marginals(model)["v1"][1] == 1.0
    assert qw.log_partition(model).value == pytest.approx(11001 + math.log1p(math.exp(-1)), rel=1e-12)
    huge = network([2, 2], [[(0, 1), (1, 1)], [(0, 0)]], [1e300, 5.0])
    assert marginals(huge)["v0"].tolist() == [0.0, 1.0]
    assert np.isfinite(qw.log_likelihood(huge, np.array([[1, 1]]))).all()


@pytest.mark.parametrize("method", ["exact", "gibbs", "mcsat", "bp", "mf", "auto"])
def test_weights_that_overflow_are_refused(method):
    model = network([2, 2], [[(0, 1)], [(0, 1), (1, 1)]], [1e308, 1e308])
    with pytest.raises(InputError, match="largest number of a float.*1e\\+308"):
        qw.query(model, ["v0"], method=method)
    with pytest.raises(InputError, match="largest number of a float"):
        qw.log_partition(model)


# Too wide


def test_a_network_too_wide_is_refused_at_once_with_its_width_and_the_alternatives():
    rng = np.random.default_rng(0)
    scopes = [sorted(rng.choice(300, 2, replace=False).tolist()) for _ in range(6000)]
    wide = network([2] * 300, [[(u, 1), (v, 1)] for u, v in scopes], rng.normal(size=6000))
    marginals(network([2, 2], [[(0, 1), (1, 1)]], [1.0]))  # kernels are compiled
    for ask in (
        lambda: qw.query(wide, ["v0"], method="exact"),
        lambda: marginals(wide, method="exact"),
        lambda: qw.log_partition(wide, method="exact"),
    ):
        with pytest.raises(ResourceLimitError, match=r"over \d+ variables or more.*MB.*'gibbs', 'mcsat'.*'ais'"):
            ask()
    with pytest.raises(IntractableError, match="log_partition\\(model, method='ais'\\).*over \\d+ variables"):
        qw.log_likelihood(wide, np.zeros((1, 300), int))
    assert qw.query(wide, ["v0"], n_samples=80, burn_in=10).method == "gibbs"


def test_a_long_narrow_network_is_answered():
    n = 2000
    chain = network([2] * n, [[(v, 1), (v + 1, 1)] for v in range(n - 1)], [0.5] * (n - 1))
    transfer = np.array([[1.0, 1.0], [1.0, math.exp(0.5)]])
    value, log_scale = np.ones(2), 0.0
    for _ in range(n - 1):
        value = transfer @ value
        log_scale += math.log(value.sum())
        value /= value.sum()
    assert qw.log_partition(chain).value == pytest.approx(log_scale + math.log(value.sum()), rel=1e-12)


def test_a_query_variable_that_is_evidence_is_refused():
    model = network([2, 2], [[(0, 1), (1, 1)]], [1.0])
    with pytest.raises(InputError, match="'v0' cannot be both"):
        qw.query(model, ["v0"], {"v0": 1}, method="mcsat")
