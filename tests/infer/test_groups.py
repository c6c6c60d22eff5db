"""Conditional marginal log-likelihood against sums over the full joint table."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from infer.markov_networks import network, random_features
from infer.networks import dataset, random_rows, small_networks
from naive import joint as full_joint
from naive import log_linear
from quiltwork.errors import InputError, IntractableError, ParameterError, ResourceLimitError
from quiltwork.infer import groups

seeds = st.integers(0, 2**32 - 1)


def by_definition(table, names, row):
    """The sum of log P(x_v | the row outside of the group) over all v of all groups."""
    total = 0.0
    for group in names:
        columns = [int(name[1:]) for name in group]
        evidence = [None if v in columns else s for v, s in enumerate(row)]
        total += sum(
            math.log(full_joint.posterior(table, [v], evidence)[row[v]]) for v in columns if row[v] is not None
        )
    return total


@settings(max_examples=40)
@given(seeds, st.integers(1, 7), st.sampled_from((0.0, 0.3)))
def test_enumerated_groups_are_exact(seed, n_vars, missing):
    rng = np.random.default_rng(seed)
    raw = random_features(rng, n_vars, 16, scale=2.0)
    model, table = network(*raw), log_linear.joint(*raw)
    rows = random_rows(rng, model, 5, missing)
    found = qw.conditional_marginal_log_likelihood(
        model, dataset(model, rows), groups=int(rng.integers(1, n_vars + 1)), seed=seed
    )
    assert sorted(name for group in found.groups for name in group) == sorted(v.name for v in model.variables)
    assert (found.method, found.exact, found.error) == ("exact", 1.0, 0.0)
    assert found.rows == pytest.approx([by_definition(table, found.groups, row) for row in rows], abs=1e-10)
    assert found.mean == pytest.approx(found.rows.mean())


@settings(max_examples=20)
@given(small_networks(zeros=(0.0,)))
def test_other_models_are_asked_for_their_marginals(case):
    model, table, rng = case
    rows = random_rows(rng, model, 3)
    names = [[v.name for v in model.variables[k::2]] for k in range(min(2, len(model.variables)))]
    found = qw.conditional_marginal_log_likelihood(model, dataset(model, rows), names)
    assert found.rows == pytest.approx([by_definition(table, found.groups, row) for row in rows], abs=1e-9)
    assert found.method == "exact"


@pytest.mark.parametrize("method", ["gibbs", "mcsat"])
def test_sampled_groups_lie_within_their_errors(method):
    """Fixed by its seed; over seeds beyond 5 standard errors about once in 10,000 (error bars of ten batches)."""
    rng = np.random.default_rng(4)
    model = network(*random_features(rng, 10, 30, min_states=2))
    rows = dataset(model, random_rows(rng, model, 10))
    exact = qw.conditional_marginal_log_likelihood(model, rows, 2)
    found = qw.conditional_marginal_log_likelihood(model, rows, 2, method, n_samples=1000, burn_in=100)
    assert found.method == method and found.groups == exact.groups and found.exact < 0.5 and found.error > 0
    assert abs(found.mean - exact.mean) < 5 * found.error
    again = qw.conditional_marginal_log_likelihood(model, rows, 2, method, n_samples=1000, burn_in=100)
    assert (again.rows == found.rows).all()


def test_large_parts_are_eliminated_where_narrow_and_sampled_where_not(monkeypatch):
    monkeypatch.setattr(groups, "MAX_JOINT", 128)
    n = 12
    chain = network([2] * n, [[(v, 1), (v + 1, 1)] for v in range(n - 1)], np.linspace(-1, 1, n - 1))
    everyone = [[f"v{v}" for v in range(n)]]
    rows = np.random.default_rng(0).integers(0, 2, (4, n))
    found = qw.conditional_marginal_log_likelihood(chain, rows, everyone)
    flat = np.array(list(qw.marginals(chain).values()))
    assert found.method == "exact"
    assert found.rows == pytest.approx(np.log(flat[np.arange(n), rows]).sum(axis=1), abs=1e-10)
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    dense = network(
        [2] * n, [[(u, 1), (v, 1)] for u, v in pairs], np.random.default_rng(1).normal(size=len(pairs)) * 0.3
    )
    sampled = qw.conditional_marginal_log_likelihood(dense, rows, everyone, n_samples=4000)
    flat = np.array(list(qw.marginals(dense).values()))
    exact = np.log(flat[np.arange(n), rows]).sum(axis=1)
    assert sampled.method == "gibbs" and sampled.exact == 0.0
    assert sampled.mean == pytest.approx(exact.mean(), abs=5 * sampled.error)
    with pytest.raises(ResourceLimitError, match="a table over"):
        qw.conditional_marginal_log_likelihood(dense, rows, everyone, "exact")


def test_groups_of_one_are_the_pseudo_likelihood_and_models_of_tables_are_sampled():
    data = qw.sample(qw.textbook("cancer"), 40, seed=0)
    field = qw.learn("hrf", data, k=3, k_star=4)
    found = qw.conditional_marginal_log_likelihood(field, data, 5, n_samples=80, burn_in=0)
    assert found.method == "gibbs"
    assert found.rows == pytest.approx(qw.pseudo_log_likelihood(field, data), abs=1e-9)
    with pytest.raises(IntractableError, match="HybridField has no exact marginals"):
        qw.conditional_marginal_log_likelihood(field, data, 2, "exact")


def test_bad_groups_are_refused():
    model = network([2, 2], [[(0, 1), (1, 1)]], [1.0])
    rows = np.zeros((1, 2), int)
    for wrong in (0, 3, [["v0"], ["v0", "v1"]], [["v0"], []]):
        with pytest.raises(InputError, match="group"):
            qw.conditional_marginal_log_likelihood(model, rows, wrong)
    with pytest.raises(ParameterError, match="'method'"):
        qw.conditional_marginal_log_likelihood(model, rows, 2, "bp")


def test_nltcs_sized_groups_are_the_same_for_the_same_seed():
    model = network([2] * 16, [[(v, 1)] for v in range(16)], [0.1] * 16)
    a, b, c = (qw.conditional_marginal_log_likelihood(model, np.zeros((1, 16), int), seed=s) for s in (0, 0, 1))
    assert a.groups == b.groups != c.groups and [len(group) for group in a.groups] == [4, 4, 4, 4]
