"""Questions to networks of decision trees and graphs: the answers are those of the network written out as tables."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.cpds.graph import GraphCPD
from quiltwork.data.dataset import NO_CODE, from_codes
from quiltwork.errors import ResourceLimitError
from quiltwork.infer.exact import log_evidence
from tables import dataset, random_table

STATES = [2, 3, 2, 4, 2, 18]


def learned(seed, cpd, n_states=STATES, n=300):
    operators = "CB" if cpd == "tree" else "CBM"
    return qw.learn("bn", dataset(random_table(seed, n, n_states), n_states), cpd=cpd, operators=operators, kappa=0.7)


def gappy(model, seed, n=40, share=0.3):
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(v.n_states, size=n) for v in model.variables], np.uint16)
    codes[rng.random(codes.shape) < share] = NO_CODE
    return from_codes(model.variables, list(codes))


networks = st.builds(learned, st.integers(0, 10**6), st.sampled_from(["tree", "graph"]))


@settings(max_examples=15)
@given(networks, st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_likelihoods_and_conditionals_with_and_without_missing_values(model, seed, share):
    tables, rows = model.tabular(), gappy(model, seed, share=share)
    assert not model.is_tabular and tables.is_tabular and tables.arcs == model.arcs
    for question in (qw.log_likelihood, qw.log_conditionals, qw.pseudo_log_likelihood):
        np.testing.assert_allclose(question(model, rows), question(tables, rows), atol=1e-9)
    for variable in model.variables:
        found, expected = (qw.predict_proba(m, rows, variable.name) for m in (model, tables))
        np.testing.assert_allclose(found, expected, atol=1e-9)


@settings(max_examples=15)
@given(networks, st.integers(0, 10**6))
def test_exact_answers(model, seed):
    tables, rng = model.tabular(), np.random.default_rng(seed)
    known = rng.choice(len(STATES), 2, replace=False).tolist()
    evidence = {f"v{v}": int(rng.integers(STATES[v])) for v in known}
    asked = [f"v{v}" for v in range(len(STATES)) if v not in known][:2]
    found, expected = (qw.query(m, asked, evidence) for m in (model, tables))
    assert found.method == "exact"
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-12)
    assert log_evidence(model, evidence) == pytest.approx(log_evidence(tables, evidence), abs=1e-9)
    for name, probs in qw.marginals(model, evidence).items():
        np.testing.assert_allclose(probs, qw.marginals(tables, evidence)[name], atol=1e-12)


@settings(max_examples=10)
@given(networks, st.integers(0, 100))
def test_a_sample_is_that_of_the_tables(model, seed):
    one, other = qw.sample(model, 200, seed=seed), qw.sample(model.tabular(), 200, seed=seed)
    np.testing.assert_array_equal(one.states(), other.states())


@pytest.mark.parametrize("cpd", ["tree", "graph"])
def test_gibbs_comes_to_the_exact_answer(cpd):
    """Four standard errors, one query each: a false alarm about once in 1,000 seeds, and the seed is fixed."""
    model = learned(1, cpd, [2, 3, 2, 3, 2])
    exact = qw.query(model, ["v1"], {"v4": 1})
    found = qw.query(model, ["v1"], {"v4": 1}, method="gibbs", n_samples=100_000, seed=0)
    assert found.method == "gibbs" and found.converged
    assert np.abs(found.probabilities - exact.probabilities).max() < 4 * found.error


def test_gibbs_walks_trees_as_it_reads_tables():
    """The sampler's conditionals are the same, so are its draws."""
    model = learned(2, "graph")
    one, other = (qw.query(m, ["v0", "v2"], method="gibbs", n_samples=2000, seed=3) for m in (model, model.tabular()))
    np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-12)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from(["binary", "complete", "both"]))
def test_a_dependency_network_of_trees_is_that_of_its_tables(seed, splits):
    model = qw.learn("dn", dataset(random_table(seed, 200, STATES), STATES), splits=splits, kappa=0.7)
    tables = replace(model, cpds=tuple(cpd.to_table(np.array(STATES)) for cpd in model.cpds))
    rows = gappy(model, seed, share=0.0)
    np.testing.assert_allclose(qw.log_conditionals(model, rows), qw.log_conditionals(tables, rows), atol=1e-9)
    one, other = (qw.query(m, ["v0", "v2"], n_samples=800, seed=3).probabilities for m in (model, tables))
    np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_array_equal(qw.sample(model, 40, seed=0).states(), qw.sample(tables, 40, seed=0).states())


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_missing_values_in_a_dependency_network_take_all_branches(seed):
    """A split on a missing value counts as many times as training rows went each way."""
    model = qw.learn("dn", dataset(random_table(seed, 200, STATES), STATES), splits="both", kappa=0.7)
    rows = gappy(model, seed, 20)
    codes = rows.states()
    for v, cpd in enumerate(model.cpds):
        found = qw.predict_proba(model, rows, f"v{v}")
        for i in range(20):
            np.testing.assert_allclose(found[i], mean_of_leaves(cpd, codes[i]), atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_boosted_trees_say_the_same_of_many_rows_and_of_few(share):
    columns = random_table(1, 400, [2, 3, 2, 4])
    model = qw.learn("dn", dataset(columns, [2, 3, 2, 4]), cpd="boosted")
    rows = gappy(model, 2, n=150, share=share)
    few = [rows.rows(slice(k, k + 10)) for k in range(0, 150, 10)]
    for ask in (qw.log_conditionals, lambda m, X: qw.predict_proba(m, X, "v1")):
        np.testing.assert_allclose(ask(model, rows), np.concatenate([ask(model, part) for part in few]), atol=1e-9)


def mean_of_leaves(cpd, row, k=0):
    if cpd.variable[k] < 0:
        return cpd.probs[cpd.first[k]]
    own = slice(cpd.first[k], cpd.end[k])
    x, branches = row[cpd.variable[k]], cpd.branches[own]
    if x != NO_CODE:
        return mean_of_leaves(cpd, row, branches[x if cpd.state[k] < 0 else int(x != cpd.state[k])])
    return np.average([mean_of_leaves(cpd, row, b) for b in branches], axis=0, weights=cpd.flow[own])


def test_a_missing_value_in_a_deep_graph_is_one_pass_over_its_nodes():
    """Forty diamonds one below the other have 2^40 paths."""
    n = 40
    variable, state = np.append(np.repeat(np.arange(1, n + 1), 1), [-1, -1]), np.append(np.ones(n, int), [-1, -1])
    branches = np.array([b for k in range(n - 1) for b in (k + 1, k + 1)] + [n, n + 1])
    cpd = GraphCPD(
        0, variable, state, np.append(2 * np.arange(n), [0, 1]), branches, np.ones(2 * n), np.zeros(n + 2),
        np.array([[0.2, 0.8], [0.6, 0.4]]), np.ones((2, 2)),
    )  # fmt: skip
    nothing = np.full((3, n + 1), NO_CODE, np.uint16)
    np.testing.assert_allclose(np.exp(cpd.log_probs(nothing)), [[0.4, 0.6]] * 3)


# Where tables would be too large


def wide():
    """A tree over thirty parents, one path long: 31 leaves, and a table of 2^31 entries."""
    rng = np.random.default_rng(0)
    X = rng.random((4000, 31)) < 0.08
    first = np.argmax(np.column_stack([X[:, :30], np.ones(4000, bool)]), axis=1)
    X[:, 30] = (first % 2 == 0) ^ (rng.random(4000) < 0.02)
    names = [f"x{v}" for v in range(31)]
    return qw.learn("bn", X, cpd="tree", kappa=1.0, tiers=[names[:30], names[30:]], forbidden=list(pairs(names[:30])))


def pairs(names):
    return ((a, b) for a in names for b in names if a != b)


def test_what_does_not_fit_in_tables_is_refused_or_sampled():
    model = wide()
    assert len(model.cpds[30].parents) > 22
    with pytest.raises(ResourceLimitError, match="tables with .* entries, past the limit .* method='gibbs'"):
        model.tabular()
    with pytest.raises(ResourceLimitError, match="method='gibbs'"):
        qw.query(model, ["x30"], {"x0": True}, method="exact")
    found = qw.query(model, ["x30"], {"x0": True}, seed=0)
    assert found.method == "gibbs" and found["True"] > 0.9
    rows = qw.sample(model, 50, seed=0)  # these need no tables
    assert np.isfinite(qw.log_likelihood(model, rows)).all() and np.isfinite(qw.log_conditionals(model, rows)).all()
    with pytest.raises(ResourceLimitError):
        qw.log_likelihood(model, gappy(model, 0))
    with pytest.raises(ResourceLimitError):
        qw.marginals(model, method="exact")
