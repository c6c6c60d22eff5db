"""CPDs of every kind: what held-out rows decide, how they weigh, and what is said where a kind cannot serve."""

import itertools

import numpy as np
import pytest

import quiltwork as qw
from infer.networks import net, random_tables
from learn.test_dependency import planted
from naive.joint import joint
from quiltwork.data.dataset import Variable, from_codes
from quiltwork.errors import DataError, DataWarning, ParameterError, SchemaMismatchError
from quiltwork.learn.held_out import hold_out
from quiltwork.models.files import to_bytes
from quiltwork.search.descent import fit_logistic

KINDS = ["tree", "table", "logistic", "boosted", "auto"]


def weighted(X, weights):
    variables = tuple(Variable(f"x{v}", (0, 1)) for v in range(X.shape[1]))
    return from_codes(variables, list(X.T), weights)


# Held-out rows


@pytest.mark.parametrize("cpd", ["tree", "table", "logistic", "boosted", "auto"])
def test_a_weight_of_zero_is_a_row_left_out(cpd):
    X = planted(400)
    X[:2], X[2:4] = 0, 1
    counts = np.minimum(np.random.default_rng(1).integers(0, 4, 400), 2)
    counts[:4] = 1
    one = qw.DependencyNetwork(cpd=cpd).fit(X, sample_weight=counts)
    other = qw.DependencyNetwork(cpd=cpd).fit(X[counts > 0], sample_weight=counts[counts > 0])
    assert to_bytes(one) == to_bytes(other)


@pytest.mark.parametrize("cpd", ["logistic", "boosted", "auto"])
def test_rows_by_which_nothing_can_be_chosen_are_refused(cpd):
    X = planted(100)
    names = [f"x{v}" for v in range(10)]
    known = dict(zip(names, X.T.tolist(), strict=True))
    gaps = {name: [None, *column[1:]] if name == "x0" else [column[0], *[None] * 99] for name, column in known.items()}
    learner = qw.DependencyNetwork(cpd=cpd)
    with pytest.raises(DataError, match="Every held-out row has a missing value: nothing can be chosen by them"):
        learner.fit(known, validation=gaps)
    variables = tuple(Variable(name, (0, 1)) for name in names)
    with pytest.raises(DataError, match="weights must not all be zero"):
        learner.fit(known, validation=from_codes(variables, list(X.T), np.zeros(100)))
    with pytest.raises(
        DataError, match="1 row leaves none to hold out; give validation=... or more rows, or (set|choo)"
    ):
        learner.fit(X[:1])


@pytest.mark.parametrize("cpd", KINDS)
def test_rows_that_were_given_are_judged_by_every_kind(cpd):
    """Also by one that chooses nothing; and by their weights."""
    X, held_out = planted(400), planted(200, seed=2)
    times = np.random.default_rng(0).integers(1, 4, 200)
    more = {"kappa": 0.1} if cpd == "tree" else {}
    est = qw.DependencyNetwork(cpd=cpd, **more).fit(X, validation=weighted(held_out, times.astype(float)))
    expected = qw.pseudo_log_likelihood(est, np.repeat(held_out, times, axis=0)).mean()
    assert est.validation_score_ == pytest.approx(expected, abs=1e-9)
    with pytest.raises(SchemaMismatchError):
        qw.DependencyNetwork(cpd=cpd, **more).fit(dict(zip("abcdefghij", X.T.tolist())), validation={"other": [0, 1]})


def test_penalties_grow_with_the_root_of_the_weight_that_comes_back():
    X, weights = planted(300), np.random.default_rng(3).choice([1.0, 9.0], 300)
    est = qw.DependencyNetwork(cpd="logistic", held_out=0.3).fit(X, sample_weight=weights)
    data = weighted(X, weights)
    train, held_out = hold_out(data, 0.3, 0, "", "")
    tried = fit_logistic(train, held_out, penalty="l1")
    expected = tried.strengths * np.sqrt(data.total / train.total)
    np.testing.assert_allclose(est.model_.provenance["strengths"], expected)
    np.testing.assert_allclose(est.validation_score_, tried.log_likelihoods.sum())


# Many states


def many_states(n_states, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    zips = rng.integers(n_states, size=n)
    zips[:n_states] = np.arange(n_states)
    return {"zip": zips, "y": (zips % 7 < 3) ^ (rng.random(n) < 0.05), "z": rng.integers(2, size=n)}


@pytest.mark.parametrize("cpd", ["logistic", "boosted", "auto"])
def test_a_target_of_very_many_states_gets_a_tree(cpd):
    X = many_states(1500, 4000)
    with pytest.warns(DataWarning, match="'zip' has 1,500 states, and what is regressed may have 64: it gets decision"):
        model = qw.learn("dn", X, cpd=cpd, max_states=2000)
    assert model.cpds[0].kind == "tree" and (cpd == "auto" or model.cpds[1].kind == cpd)
    assert (cpd == "logistic" or ("zip", "y") in model.arcs) and np.isfinite(qw.log_conditionals(model, X)).all()


def test_a_target_of_some_tens_of_states_is_regressed():
    model = qw.learn("dn", many_states(40, 1000), cpd="logistic", strength=1.0)
    assert {cpd.kind for cpd in model.cpds} == {"logistic"}


@pytest.mark.parametrize("more", [
    {"kappa": 1.0}, {"min_leaf": 800}, {"max_leaves": 2}, {"splits": "complete"}, {"smoothing": "laplace"},
    {"prior": "bdeu"},
])  # fmt: skip
def test_a_tree_in_the_place_of_a_regression_is_the_tree_that_was_asked_for(more):
    X = many_states(70, 3000)
    rng = np.random.default_rng(1)
    X["third"] = np.where(rng.random(3000) < 0.9, X["zip"] % 3, rng.integers(3, size=3000))
    X["faint"] = np.where(rng.random(3000) < 0.4, X["zip"] % 2, rng.integers(2, size=3000))
    trees = qw.learn("dn", X, **more)
    with pytest.warns(DataWarning, match="'zip' has 70 states"):
        regressed = qw.learn("dn", X, cpd="logistic", strength=1.0, **more)
    assert regressed.cpds[1].kind == "logistic"
    np.testing.assert_array_equal(regressed.cpds[0].probs, trees.cpds[0].probs)
    np.testing.assert_array_equal(regressed.cpds[0].variable, trees.cpds[0].variable)
    assert not np.array_equal(regressed.cpds[0].probs, qw.learn("dn", X).cpds[0].probs)


# The best of all kinds


def test_the_best_kind_all_in_all_and_another_where_it_is_clearly_better():
    """Against each kind learned alone, one standard error of the rows' differences apart."""
    X, held_out = planted(600), planted(400, seed=1)
    auto = qw.DependencyNetwork(cpd="auto").fit(X, validation=held_out)
    alone = []
    for more in ({"cpd": "tree", "kappa": "auto"}, {"cpd": "table"}, {"cpd": "logistic"},
                 {"cpd": "logistic", "penalty": "l2"}, {"cpd": "boosted"}):  # fmt: skip
        alone.append(qw.log_conditionals(qw.DependencyNetwork(**more).fit(X, validation=held_out), held_out))
    leader = max(alone, key=np.sum)
    expected, n_others = [], 0
    for v in range(10):
        best = max((logs[:, v] for logs in alone), key=np.sum)
        ahead = best - leader[:, v]
        is_clear = ahead.mean() > ahead.std() / np.sqrt(len(ahead))
        n_others += bool(is_clear)
        expected.append(best.mean() if is_clear else leader[:, v].mean())
    np.testing.assert_allclose(qw.log_conditionals(auto, held_out).mean(axis=0), expected, atol=1e-9)
    assert auto.validation_score_ == pytest.approx(sum(expected)) and 0 < n_others < 10


def test_what_is_chosen_by_rows_cannot_be_given_too():
    X = planted(200)
    for wrong in ({"kappa": 0.5}, {"penalty": "l2"}, {"strength": 2.0}):
        with pytest.raises(
            ParameterError, match=f"cpd='auto' chooses '{next(iter(wrong))}' by held-out rows, so it must"
        ):
            qw.DependencyNetwork(cpd="auto", **wrong).fit(X)
    told = qw.learn("dn", X, cpd="auto", kappa="auto").provenance["parameters"]
    assert (told["kappa"], told["penalty"], told["strength"]) == ("auto", "auto", "auto")


def test_the_smoothing_that_was_used_is_the_one_that_is_told():
    X = planted(200)
    for prior, smoothing in (("uniform", "average"), ("bdeu", "laplace")):
        assert qw.learn("dn", X, prior=prior).provenance["parameters"]["smoothing"] == smoothing


# Priors


def test_leaves_count_what_a_prior_network_expects():
    rng = np.random.default_rng(5)
    raw = random_tables(rng, 4, max_states=3, min_states=2)
    network, table = net(*raw), joint(*raw)
    model = qw.learn("dn", qw.sample(network, 300, seed=1), prior="prior-network", prior_network=network,
                     equivalent_sample_size=6.0, kappa=0.8)  # fmt: skip
    every = np.array(list(itertools.product(*map(range, table.shape))), np.uint16)
    assert model.arcs
    for cpd in model.cpds:
        at = cpd.leaves(every)
        prior = np.zeros(cpd.counts.shape)
        np.add.at(prior, (at, every[:, cpd.child]), 6.0 * table.ravel())
        expected = (cpd.counts + prior) / (cpd.counts + prior).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(cpd.probs, expected, atol=1e-9)
    with pytest.raises(ParameterError, match="set 'prior_network'"):
        qw.learn("dn", planted(50), prior="prior-network")
