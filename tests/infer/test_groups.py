"""Conditional marginal log-likelihood against sums over the full joint table."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from infer.markov_networks import network, random_features
from infer.networks import dataset, net, random_rows, small_networks
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


def sparse_network(seed):
    """Trees read as features without their false conditions: short features of large negative weights beside longer
    ones that take them back; and rows like those it was learned from."""
    rng = np.random.default_rng(seed)
    hidden = rng.random((300, 2)) < 0.3
    rows = (rng.random((300, 12)) < np.where(hidden[:, [0, 1] * 6], 0.7, 0.03)).astype(int)
    return qw.learn("mn", rows, structure="dtsl", features="nonzero", kappa=0.5, prior_width=5.0), rows[:12]


@pytest.mark.parametrize("method", ["gibbs", "mcsat"])
@pytest.mark.parametrize("seed", range(3))
def test_learned_networks_are_sampled_within_their_errors(method, seed):
    """Fixed by its seed, as above. MC-SAT without sweeps of Gibbs would be off by 5 to 30 standard errors."""
    model, rows = sparse_network(seed)
    exact = qw.conditional_marginal_log_likelihood(model, rows, 3)
    found = qw.conditional_marginal_log_likelihood(model, rows, 3, method, n_samples=2000, burn_in=200)
    assert found.converged and found.n_unsettled == 0 and 1.0 < found.r_hat <= 1.01
    assert found.error < 0.1 and abs(found.mean - exact.mean) < 5 * found.error


def test_rows_whose_chains_disagree_are_counted():
    """Ten magnets that hold each other fast while v0 = 0; with v0 = 1 each has little to do with the next."""
    n = 11
    pairs = [(u, v) for u in range(1, n) for v in range(u + 1, n)]
    features = [[(0, 0), (u, s), (v, s)] for u, v in pairs for s in (0, 1)] + [
        [(0, 1), (v, 1), (v + 1, 1)] for v in range(1, n - 1)
    ]
    model = network([2] * n, features, [1.5] * (2 * len(pairs)) + [0.5] * (n - 2))
    rows = np.zeros((3, n), int)
    rows[2, 0] = 1
    groups = [["v0"], [f"v{v}" for v in range(1, n)]]
    found = qw.conditional_marginal_log_likelihood(model, rows, groups, "gibbs", n_samples=400, burn_in=40)
    assert not found.converged and found.n_unsettled == 2 and found.r_hat > 1.2
    assert "by gibbs, " in str(found) and "the chains of 2 of 3 rows disagree (R-hat up to " in str(found)
    settled = qw.conditional_marginal_log_likelihood(model, rows[2:], groups, "gibbs", n_samples=400, burn_in=40)
    assert settled.converged and "the chains agree (R-hat up to 1.0" in str(settled)
    exact = qw.conditional_marginal_log_likelihood(model, rows, groups)
    assert exact.converged and str(exact) == f"{exact.mean:.4f} per row over 2 groups, by exact"


@pytest.mark.parametrize("scale", [300.0, 800.0, 1e6])
@pytest.mark.parametrize("method", ["auto", "exact", "gibbs", "mcsat"])
def test_weights_beyond_the_range_of_a_probability(scale, method):
    """Every state is possible, and its logarithm is at hand; no -inf, no nan, and no warning on the way."""
    rng = np.random.default_rng(1)
    n_states, features, weights = random_features(rng, 5, 9, min_states=2)
    model = network(n_states, features, np.sign(weights) * scale * rng.integers(1, 4, len(weights)))
    energies = np.array([log_linear.energy(features, model.weights, x) for x in np.ndindex(*n_states)])
    energies = energies.reshape(n_states)
    rows = dataset(model, random_rows(rng, model, 8))
    names = [["v0", "v2", "v4"], ["v1", "v3"]]
    expected = np.zeros(8)
    for i, row in enumerate(rows.states().tolist()):
        for group in ([0, 2, 4], [1, 3]):
            left = energies[tuple(slice(None) if v in group else row[v] for v in range(5))]
            for axis, v in enumerate(group):
                others = tuple(k for k in range(len(group)) if k != axis)
                logs = np.logaddexp.reduce(left, axis=others)
                expected[i] += logs[row[v]] - np.logaddexp.reduce(logs)
    found = qw.conditional_marginal_log_likelihood(model, rows, names, method, n_samples=400, burn_in=50)
    assert np.isfinite(found.rows).all() and np.isfinite([found.error, found.r_hat]).all()
    assert expected.min() < -scale
    if method in ("auto", "exact"):
        assert found.rows == pytest.approx(expected, rel=1e-9)
    else:  # at a temperature this low every walk stays where it came to, and says so or is near
        assert not found.converged or found.rows == pytest.approx(expected, rel=0.05, abs=1.0)


@pytest.mark.parametrize("scale", [1.0, 800.0])
def test_elimination_keeps_logarithms(scale, monkeypatch):
    """A chain whose parts are not enumerated but eliminated."""
    monkeypatch.setattr(groups, "MAX_JOINT", 128)
    n = 9
    chain = network([2] * n, [[(v, 1), (v + 1, 1)] for v in range(n - 1)], scale * np.linspace(-1, 2, n - 1))
    rows = np.random.default_rng(0).integers(0, 2, (6, n))
    everyone = [[f"v{v}" for v in range(n)]]
    found = qw.conditional_marginal_log_likelihood(chain, rows, everyone)
    monkeypatch.setattr(groups, "MAX_JOINT", 2**20)
    enumerated = qw.conditional_marginal_log_likelihood(chain, rows, everyone)
    assert found.method == "exact" and found.rows == pytest.approx(enumerated.rows, rel=1e-9)
    assert np.isfinite(found.rows).all() and (found.rows < -scale).any()


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


@pytest.mark.parametrize("method", ["gibbs", "mcsat"])
def test_a_method_that_was_not_needed_is_not_said_to_have_been_used(method):
    """v2 is in no feature, and what is alone in its part is never sampled; of a missing value there is no marginal."""
    model = network([2, 2, 2], [[(0, 1), (1, 1)]], [1.0])

    def ask(rows, division):
        return qw.conditional_marginal_log_likelihood(model, rows, division, method, n_samples=80, burn_in=10)

    rows = np.array([[0, 1, 1], [1, 1, 0]])
    for division in ([["v2"]], [["v0", "v2"]], 3):
        alone = ask(rows, division)
        assert (alone.method, alone.exact, alone.error, alone.r_hat, alone.converged) == ("exact", 1.0, 0.0, 1.0, True)
        assert type(alone.exact) is float
    some = ask(rows, 1)
    assert some.method == method and some.exact == pytest.approx(1 / 3) and "33% of the marginals exact" in str(some)
    gaps = {"v0": [0, None], "v1": [1, 0], "v2": [None, None]}
    assert ask(gaps, [["v0", "v1", "v2"]]).exact == 0.0


def test_groups_of_one_are_the_pseudo_likelihood_and_models_of_tables_are_sampled():
    data = qw.sample(qw.textbook("cancer"), 40, seed=0)
    field = qw.learn("hrf", data, k=3, k_star=4)
    found = qw.conditional_marginal_log_likelihood(field, data, 5, n_samples=80, burn_in=0)
    assert found.method == "gibbs"
    assert found.rows == pytest.approx(qw.pseudo_log_likelihood(field, data), abs=1e-9)
    with pytest.raises(IntractableError, match="HybridField has no exact marginals"):
        qw.conditional_marginal_log_likelihood(field, data, 2, "exact")


@pytest.mark.parametrize("method", ["exact", "gibbs", "mcsat"])
def test_networks_of_tables_are_asked_in_the_way_that_was_chosen(method):
    """And say so. Fixed by its seed, as above."""
    model = qw.textbook("cancer")
    rows = qw.sample(model, 6, seed=1)
    exact = qw.conditional_marginal_log_likelihood(model, rows, 2)
    found = qw.conditional_marginal_log_likelihood(model, rows, 2, method, n_samples=4000)
    assert found.method == method and found.exact == (method == "exact") and found.converged
    assert (found.error > 0) == (method != "exact")
    assert found.rows.sum() == pytest.approx(exact.rows.sum(), abs=1e-9 + 5 * 6 * found.error)


def test_networks_of_tables_too_wide_to_sum_out_are_sampled_unless_that_is_refused(monkeypatch):
    monkeypatch.setattr(groups, "MAX_ENTRIES", 2)
    model = qw.textbook("cancer")
    rows = qw.sample(model, 2, seed=1)
    found = qw.conditional_marginal_log_likelihood(model, rows, 1, n_samples=80)
    assert found.method == "gibbs" and found.exact == 0.0
    with pytest.raises(ResourceLimitError, match="a table over"):
        qw.conditional_marginal_log_likelihood(model, rows, 1, "exact")


@pytest.mark.parametrize("method", ["exact", "gibbs", "mcsat"])
def test_a_group_of_missing_values_is_asked_for_nothing(method):
    rows = {"v0": [0, 1], "v1": [1, None]}
    pair = network([2, 2], [[(0, 1), (1, 1)]], [1.0])
    tables = net([2, 2], [(), (0,)], [np.array([[0.4, 0.6]]), np.array([[0.7, 0.3], [0.2, 0.8]])])
    for model, said in ((pair, rows), (tables, {v: [s if s is None else f"s{s}" for s in rows[v]] for v in rows})):
        found = qw.conditional_marginal_log_likelihood(model, said, 2, method, n_samples=2000)
        assert found.rows == pytest.approx(qw.conditional_marginal_log_likelihood(model, said, 2).rows, abs=0.05)


def test_a_method_that_a_model_does_not_have_is_refused():
    data = qw.sample(qw.textbook("cancer"), 40, seed=0)
    for learner in ("hrf", "dn"):
        model = qw.learn(learner, data)
        for method in ("exact", "mcsat"):
            with pytest.raises(IntractableError, match=f"A {type(model).__name__} .*; use method='gibbs'"):
                qw.conditional_marginal_log_likelihood(model, data, 2, method)


@pytest.mark.parametrize("n_vars", [1, 3, 4, 9])
def test_there_are_four_groups_or_one_for_each_variable(n_vars):
    model = network([2] * n_vars, [[(v, 1)] for v in range(n_vars)], np.arange(n_vars) / 4)
    found = qw.conditional_marginal_log_likelihood(model, np.zeros((2, n_vars), int))
    assert len(found.groups) == min(4, n_vars)
    assert found.rows == pytest.approx(-np.log1p(np.exp(np.arange(n_vars) / 4)).sum())


def test_bad_groups_are_refused():
    model = network([2, 2], [[(0, 1), (1, 1)]], [1.0])
    rows = np.zeros((1, 2), int)
    for wrong in (
        0,
        3,
        [["v0"], ["v0", "v1"]],
        [["v0"], []],
        2.5,
        True,
        "v0",
        ["v0", "v1"],
        [1, 2],
        {},
        [],
        b"v",
    ):
        with pytest.raises(InputError, match=re.escape(f"Got {wrong!r} instead")):
            qw.conditional_marginal_log_likelihood(model, rows, wrong)
    with pytest.raises(ParameterError, match="^'seed' must be"):
        qw.conditional_marginal_log_likelihood(model, rows, 2, seed="x")
    with pytest.raises(ParameterError, match="'method'"):
        qw.conditional_marginal_log_likelihood(model, rows, 2, "bp")


def test_nltcs_sized_groups_are_the_same_for_the_same_seed():
    model = network([2] * 16, [[(v, 1)] for v in range(16)], [0.1] * 16)
    a, b, c = (qw.conditional_marginal_log_likelihood(model, np.zeros((1, 16), int), seed=s) for s in (0, 0, 1))
    assert a.groups == b.groups != c.groups and [len(group) for group in a.groups] == [4, 4, 4, 4]
