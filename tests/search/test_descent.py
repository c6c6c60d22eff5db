import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from quiltwork.data.dataset import NO_CODE, from_codes
from quiltwork.errors import DataError, ParameterError
from quiltwork.search.descent import fit_logistic
from tables import dataset, random_table


def indicators(columns, n_states, target):
    """One column for every state beyond the first of every other variable."""
    others = [(v, s) for v in range(len(n_states)) if v != target for s in range(1, n_states[v])]
    return np.column_stack([columns[v] == s for v, s in others]).astype(float), others


def objective(cpd, columns, weights, strength, penalty):
    codes = np.array(columns).T.astype(np.uint16)
    loss = -(weights * cpd.log_probs(codes)[np.arange(len(codes)), codes[:, cpd.child]]).sum()
    size = np.abs(cpd.weights).sum() if penalty == "l1" else 0.5 * (cpd.weights**2).sum()
    return loss + strength * size


def peer_objective(columns, n_states, target, weights, strength, penalty):
    X, _ = indicators(columns, n_states, target)
    y = columns[target]
    solver = {"l1": "saga", "l2": "newton-cg"}[penalty]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names of parameters change between versions
        peer = LogisticRegression(penalty=penalty, C=1 / strength, solver=solver, tol=1e-9, max_iter=20_000)
        peer.fit(X, y, sample_weight=weights)
    log_p = peer.predict_log_proba(X)
    loss = -(weights * log_p[np.arange(len(y)), np.searchsorted(peer.classes_, y)]).sum()
    size = np.abs(peer.coef_).sum() if penalty == "l1" else 0.5 * (peer.coef_**2).sum()
    return loss + strength * size


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", [0.5, 5.0, 40.0])
def test_the_objective_is_scikit_learns(penalty, weighted, strength):
    n_states = [2, 2, 3, 2, 17, 2]
    columns = random_table(3, 400, n_states)
    weights = np.random.default_rng(0).integers(1, 4, 400).astype(float) if weighted else np.ones(400)
    data = dataset(columns, n_states, weights if weighted else None)
    cpd = fit_logistic(data, None, [1], penalty=penalty, strengths=strength).cpds[0]
    ours = objective(cpd, columns, weights, strength, penalty)
    theirs = peer_objective(columns, n_states, 1, weights, strength, penalty)
    assert ours <= theirs * (1 + 1e-6)
    assert ours == pytest.approx(theirs, rel=1e-5)


def test_a_target_of_three_states():
    n_states = [2, 3, 3, 2]
    columns = random_table(1, 500, n_states)
    data = dataset(columns, n_states)
    cpd = fit_logistic(data, None, [2], penalty="l2", strengths=2.0).cpds[0]
    ours = objective(cpd, columns, np.ones(500), 2.0, "l2")
    theirs = peer_objective(columns, n_states, 2, np.ones(500), 2.0, "l2")
    assert ours == pytest.approx(theirs, rel=1e-5)
    codes = np.array(columns).T.astype(np.uint16)
    np.testing.assert_allclose(np.exp(cpd.log_probs(codes)).sum(axis=1), 1.0)


def test_the_target_itself_is_never_read_and_independent_columns_get_no_weight():
    rng = np.random.default_rng(0)
    a = rng.integers(2, size=3000)
    columns = [a, a ^ (rng.random(3000) < 0.1), rng.integers(2, size=3000)]
    data = dataset([c.astype(np.uint16) for c in columns], [2, 2, 2])
    train, valid = data.rows(slice(0, 2000)), data.rows(slice(2000, 3000))
    fits = fit_logistic(train, valid, penalty="l1")
    for v, other in ((0, 1), (1, 0)):
        cpd = fits.cpds[v]
        size = {p: np.abs(cpd.weights[cpd.first[k] : cpd.first[k + 1]]).max() for k, p in enumerate(cpd.parents)}
        assert v not in size and size[other] > 20 * size.get(2, 0.0)
    assert fits.log_likelihoods.shape == (3,) and (fits.strengths > 0).all()


def test_validation_chooses_as_well_as_any_strength_of_the_path():
    n_states = [2] * 8
    columns = random_table(5, 900, n_states)
    data = dataset(columns, n_states)
    train, valid = data.rows(slice(0, 600)), data.rows(slice(600, 900))
    chosen = fit_logistic(train, valid, penalty="l1").log_likelihoods.sum()
    for strength in (0.1, 1.0, 10.0, 100.0):
        cpds = fit_logistic(train, None, penalty="l1", strengths=strength).cpds
        codes = valid.states()
        fixed = sum(cpd.log_probs(codes)[np.arange(300), codes[:, v]].mean() for v, cpd in enumerate(cpds))
        assert chosen >= fixed - 0.02


def test_missing_parents_add_their_mean():
    columns = random_table(2, 300, [2, 3, 2])
    cpd = fit_logistic(dataset(columns, [2, 3, 2]), None, [0], strengths=1.0).cpds[0]
    codes = np.array(columns).T.astype(np.uint16)
    gaps = codes.copy()
    gaps[:, 1:] = NO_CODE
    logit = cpd.intercept + cpd.means.sum(axis=0)
    expected = logit - np.log(np.exp(logit).sum())
    np.testing.assert_allclose(cpd.log_probs(gaps), np.tile(expected, (300, 1)))
    at = [cpd.weights[cpd.first[k] + codes[:, p]].mean(axis=0) for k, p in enumerate(cpd.parents)]
    np.testing.assert_allclose(cpd.means, at)


@pytest.mark.parametrize("wrong", [{"penalty": "l3"}, {"targets": [9]}])
def test_parameters_are_checked(wrong):
    data = dataset(random_table(0, 20, [2, 2]), [2, 2])
    with pytest.raises(ParameterError):
        fit_logistic(data, None, **{"strengths": 1.0, **wrong})


def test_rows_with_gaps_are_refused():
    data = dataset(random_table(0, 20, [2, 2]), [2, 2])
    gaps = from_codes(data.variables, [np.full(20, NO_CODE), data.column(1)])
    with pytest.raises(DataError):
        fit_logistic(gaps, None, strengths=1.0)


def test_constant_targets_and_columns():
    columns = [np.zeros(100, np.uint16), np.arange(100).astype(np.uint16) % 2, np.ones(100, np.uint16)]
    fits = fit_logistic(dataset(columns, [2, 2, 2]), None, strengths=1.0)
    codes = np.array(columns).T.astype(np.uint16)
    for cpd in fits.cpds:
        assert np.isfinite(cpd.log_probs(codes)[np.arange(100), codes[:, cpd.child]]).all()
