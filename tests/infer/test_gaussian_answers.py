"""Answers of Gaussian networks: against the whole covariance matrix, and sampling by goodness of fit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from naive import gaussian as naive
from quiltwork.cpds.linear_gaussian import LinearGaussianCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.numbers import NumberEncoder, Numbers
from quiltwork.errors import (
    DataError,
    DataWarning,
    InputError,
    IntractableError,
    ResourceLimitError,
    UnknownVariableError,
)


def random_net(seed, n_vars=6, shuffle=True):
    """A network, and its twin: the same one as (parents, intercept, weights, variance), parents before children."""
    rng = np.random.default_rng(seed)
    place = rng.permutation(n_vars) if shuffle else np.arange(n_vars)
    twin, cpds = [], {}
    for v in range(n_vars):
        parents = sorted(rng.choice(v, min(v, int(rng.integers(0, 4))), replace=False).tolist())
        weights, intercept, variance = rng.normal(size=len(parents)), rng.normal(0, 5), rng.uniform(0.05, 2)
        twin.append((parents, intercept, weights, variance))
        order = np.argsort(place[parents])
        moved = tuple(int(p) for p in place[parents][order])
        cpds[int(place[v])] = LinearGaussianCPD(int(place[v]), moved, intercept, weights[order], variance)
    encoder = NumberEncoder(tuple(Variable(f"v{c}", ()) for c in range(n_vars)))
    mean, covariance = naive.joint(twin)
    at = np.argsort(place)
    return qw.GaussianNet(encoder, tuple(cpds[c] for c in range(n_vars))), mean[at], covariance[np.ix_(at, at)]


def rows_of(seed, mean, covariance, n=5, gaps=0.0):
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal(mean, covariance, n)
    X[rng.random(X.shape) < gaps] = np.nan
    return X


# Queries


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(0, 4))
def test_a_query_is_the_textbooks_conditional(seed, n_given):
    net, mean, covariance = random_net(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(6).tolist()
    asked, known = order[:2], {v: float(rng.normal(mean[v], 2)) for v in order[2 : 2 + n_given]}
    answer = qw.query(net, [f"v{v}" for v in asked], {f"v{v}": x for v, x in known.items()})
    expected = naive.conditional(mean, covariance, asked, known)
    np.testing.assert_allclose(answer.mean, expected[0], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(answer.covariance, expected[1], rtol=1e-7, atol=1e-7)
    assert answer.method == "exact" and answer.variables == tuple(f"v{v}" for v in asked)


def test_what_an_answer_tells():
    net, mean, covariance = random_net(1)
    answer = qw.query(net, "v2")
    assert answer["v2"] == (pytest.approx(mean[2]), pytest.approx(math.sqrt(covariance[2, 2])))
    low, high = answer.interval(0.5)[0]
    assert high - low == pytest.approx(2 * 0.6744897501960817 * answer["v2"].deviation)
    assert (low + high) / 2 == pytest.approx(mean[2])
    assert answer.to_dict()["v2"].mean == answer.mean[0]
    with pytest.raises(ValueError, match="read-only"):
        answer.mean[0] = 0.0
    with pytest.raises(InputError, match="level of an interval must lie between 0 and 1. Got 1.5"):
        answer.interval(1.5)
    with pytest.raises(InputError, match="This answer is about v2. Got 'v1'"):
        answer["v1"]


def test_text_is_read_as_a_number():
    net, *_ = random_net(2)
    assert qw.query(net, "v0", {"v1": "0.5"}).mean == qw.query(net, "v0", {"v1": np.float32(0.5)}).mean


@pytest.mark.parametrize(
    ("variables", "evidence", "options", "message"),
    [
        (["v0"], {"v1": "high"}, {}, "evidence for 'v1' must be a finite number. Got 'high'"),
        (["v0"], {"v1": math.inf}, {}, "finite number. Got inf"),
        (["v0"], {"v1": None}, {}, "finite number. Got None"),
        (["v0"], {"v0": 1.0}, {}, "'v0' cannot be both asked for and given"),
        ([], {}, {}, "at least one variable"),
        (["v0"], {}, {"method": "gibbs"}, "asked exactly: method must be 'auto' or 'exact'. Got 'gibbs'"),
    ],
)
def test_bad_questions_are_told(variables, evidence, options, message):
    with pytest.raises(InputError, match=message):
        qw.query(random_net(3)[0], variables, evidence, **options)


def test_an_unknown_variable_is_named():
    with pytest.raises(UnknownVariableError, match="no variable 'pH'"):
        qw.query(random_net(3)[0], ["v0"], {"pH": 3.2})


def test_a_question_that_is_too_large_is_refused_with_its_size():
    with pytest.raises(ResourceLimitError, match="needs 12 numbers, past max_entries=11"):
        qw.query(random_net(3)[0], ["v0", "v1"], max_entries=11)


def test_evidence_that_says_the_same_twice():
    """A copy with almost no noise beside its original is no more evidence than the original."""
    encoder = NumberEncoder((Variable("a", ()), Variable("b", ())))
    a = LinearGaussianCPD(0, (), 0.0, np.empty(0), 1.0)
    copy = qw.GaussianNet(encoder, (a, LinearGaussianCPD(1, (0,), 0.0, np.ones(1), 1e-30)))
    with pytest.raises(InputError, match="follows from the rest"):
        qw.query(qw.GaussianNet(*_third(copy)), "c", {"a": 1.0, "b": 1.0})
    assert qw.query(copy, "b", {"a": 2.0})["b"].mean == pytest.approx(2.0)


def _third(net):
    encoder = NumberEncoder((*net.variables, Variable("c", ())))
    return encoder, (*net.cpds, LinearGaussianCPD(2, (0,), 0.0, np.ones(1), 1.0))


# Likelihoods, with missing values


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 0.8]))
def test_log_likelihood_is_the_density_of_what_is_there(seed, gaps):
    net, mean, covariance = random_net(seed)
    X = rows_of(seed, mean, covariance, gaps=gaps)
    expected = [naive.log_density(mean, covariance, row) for row in X]
    np.testing.assert_allclose(qw.log_likelihood(net, X), expected, rtol=1e-7, atol=1e-7)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 0.8]))
def test_conditionals_are_ratios_of_densities(seed, gaps):
    net, mean, covariance = random_net(seed)
    X = rows_of(seed, mean, covariance, gaps=gaps)
    expected = np.array([[naive.log_conditional(mean, covariance, row, v) for v in range(6)] for row in X])
    np.testing.assert_allclose(qw.log_conditionals(net, X), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(qw.pseudo_log_likelihood(net, X), expected.sum(axis=1), rtol=1e-6, atol=1e-6)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.4]))
def test_predict_is_the_conditional_mean_and_reads_no_value_of_its_own(seed, gaps):
    net, mean, covariance = random_net(seed)
    X = rows_of(seed, mean, covariance, gaps=gaps)
    expected = []
    for row in X:
        known = {v: row[v] for v in range(6) if v != 3 and not np.isnan(row[v])}
        expected.append(naive.conditional(mean, covariance, [3], known)[0][0])
    found = qw.predict(net, X, "v3")
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)
    others = {f"v{v}": X[:, v] for v in range(6) if v != 3}
    np.testing.assert_array_equal(qw.predict(net, others, "v3"), found)
    np.testing.assert_array_equal(qw.predict(net, np.delete(X, 3, axis=1), "v3"), found)


def test_predict_of_states_is_the_most_probable():
    asia = qw.textbook("asia")
    rows = qw.sample(asia, 50, seed=0)
    best = qw.predict_proba(asia, rows, "dysp").argmax(axis=1)
    states = asia.variables[7].states
    assert qw.predict(asia, rows, "dysp").tolist() == [states[k] for k in best]


def test_a_row_with_nothing_says_nothing():
    net, *_ = random_net(4)
    X = np.full((2, 6), np.nan)
    assert qw.log_likelihood(net, X) == pytest.approx([0.0, 0.0], abs=1e-9)
    assert (qw.log_conditionals(net, X) == 0).all()


def test_tables_are_matched_by_name():
    net, mean, covariance = random_net(5)
    X = rows_of(5, mean, covariance)
    shuffled = {f"v{v}": X[:, v] for v in (3, 1, 0, 5, 4, 2)}
    np.testing.assert_array_equal(qw.log_likelihood(net, shuffled), qw.log_likelihood(net, X))
    with pytest.warns(qw.errors.DataWarning, match="does not have variable 'v5'"):
        partial = qw.log_likelihood(net, {f"v{v}": X[:, v] for v in range(5)})
    gap = X.copy()
    gap[:, 5] = np.nan
    np.testing.assert_allclose(partial, qw.log_likelihood(net, gap))
    with pytest.raises(DataError, match="'x0' holds inf in row 0"):
        qw.log_likelihood(net, np.full((1, 6), np.inf))


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_likelihood_far_from_zero(offset):
    X = np.random.default_rng(0).normal(size=(400, 3)) @ np.random.default_rng(1).normal(size=(3, 3))
    plain, moved = qw.learn("gbn", X, search="climb"), qw.learn("gbn", X + offset, search="climb")
    found = qw.log_likelihood(moved, X + offset)
    np.testing.assert_allclose(found, qw.log_likelihood(plain, X), rtol=1e-5, atol=1e-5)


# Sampling, blankets, and what cannot be asked


def test_samples_have_the_models_moments():
    """20,000 rows: a mean off by 5 standard errors, or a covariance by 6 %, is a false alarm in a million at most."""
    net, mean, covariance = random_net(6)
    rows = qw.sample(net, 20_000, seed=1)
    assert isinstance(rows, Numbers) and rows.variables == net.variables
    deviation = np.sqrt(covariance.diagonal())
    assert (np.abs(rows.values.mean(axis=0) - mean) < 5 * deviation / math.sqrt(20_000)).all()
    assert (np.abs(np.cov(rows.values.T) - covariance) < 0.06 * np.outer(deviation, deviation)).all()


def test_the_seed_decides_and_more_rows_begin_alike():
    net, *_ = random_net(7)
    few, many = qw.sample(net, 5, seed=3), qw.sample(net, 50, seed=3)
    np.testing.assert_array_equal(few.values, many.values[:5])
    assert not np.array_equal(few.values, qw.sample(net, 5, seed=4).values)
    assert len(qw.sample(net, 0)) == 0


def test_the_blanket_makes_others_irrelevant():
    net, mean, covariance = random_net(8)
    around = qw.blanket(net, "v2")
    evidence = {f"v{v}": float(mean[v] + 1) for v in range(6) if v != 2}
    whole = qw.query(net, "v2", evidence)
    part = qw.query(net, "v2", {name: evidence[name] for name in around})
    assert part.mean[0] == pytest.approx(whole.mean[0]) and part.deviation[0] == pytest.approx(whole.deviation[0])


def test_probabilities_of_states_cannot_be_asked():
    net, mean, covariance = random_net(9)
    rows = rows_of(0, mean, covariance)
    with pytest.raises(IntractableError, match=r"'v1' of this GaussianNet is a number.*predict\(model, X, 'v1'\)"):
        qw.predict_proba(net, rows, "v1")
    with pytest.raises(InputError, match="'v0' must be a finite number"):
        qw.query(net, "v1", {"v0": 10**400})
    with pytest.raises(InputError, match=r"'v0' of this GaussianNet is a number, not an item.*predict\(model, X, 'v0'"):
        qw.item_scores(net, rows)
    with pytest.raises(IntractableError, match="GaussianNet is of numbers.*pseudo_log_likelihood or log_likelihood"):
        qw.conditional_marginal_log_likelihood(net, rows, groups=2)


def test_evidence_that_contradicts_the_model_is_answered_with_a_warning():
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    X = {"a": a, "b": a + 1e-4 * rng.normal(size=200), "c": 2 * a + rng.normal(size=200)}
    model = qw.learn("gbn", X)
    with pytest.warns(DataWarning, match="evidence for '[ab]' is .* standard deviations from what the model expects"):
        qw.query(model, ["c"], {"a": 1.0, "b": 5.0})


@pytest.mark.parametrize("evidence", ["pH=3", [("a", 1)], 5])
def test_evidence_of_the_wrong_shape(evidence):
    net, *_ = random_net(1)
    with pytest.raises(InputError, match="Evidence must be a dictionary"):
        qw.query(net, ["v0"], evidence)


@pytest.mark.parametrize("level", ["x", None, 0.0, 1.0, 95])
def test_levels_of_intervals(level):
    net, *_ = random_net(1)
    with pytest.raises(InputError, match="level of an interval must lie between 0 and 1"):
        qw.query(net, ["v0"]).interval(level)
