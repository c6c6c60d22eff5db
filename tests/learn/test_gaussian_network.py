"""Gaussian networks: what is found, what is promised, what is known beforehand, and tables that make trouble."""

import hashlib
import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import quiltwork as qw
from naive import gaussian as naive
from quiltwork.errors import DataError, DataWarning, ParameterError, UnknownVariableError

SEARCHES = ("restarts", "tabu", "climb")
FAST = {"restarts": 5, "walks": 2, "walk_steps": 5, "restart_steps": 5}


@pytest.fixture(params=("best", *SEARCHES))
def search(request, monkeypatch):
    """Every search; restarts twice, for of few variables they give way to the best graph."""
    if request.param == "restarts":
        monkeypatch.setattr("quiltwork.search.gaussian_exact.MOST_VARIABLES", 0)
    return "restarts" if request.param == "best" else request.param


def table(seed=0, n_rows=300, n_vars=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_vars))
    for v in range(1, n_vars):
        X[:, v] += X[:, :v] @ (rng.normal(size=v) * (rng.random(v) < 0.6))
    return X


def frame(seed=0, n_rows=300, n_vars=6):
    return {f"v{k}": column for k, column in enumerate(table(seed, n_rows, n_vars).T)}


def score_of(X, model, penalty):
    families = [(cpd.child, list(cpd.parents)) for cpd in model.cpds]
    if penalty == "bge":
        return sum(naive.bge(X, v, p) for v, p in families)
    return sum(naive.node_score(X, v, p, penalty) for v, p in families)


# What it finds


@pytest.mark.parametrize("penalty", [0.0, 4.0, "bic", "bge"])
def test_the_score_is_that_of_the_graph(penalty, search):
    X = table(1)
    est = qw.GaussianNetwork(penalty=penalty, search=search, **FAST).fit(X)
    assert est.score_ == pytest.approx(score_of(X, est.model_, penalty), rel=1e-8)
    if search != "restarts" or penalty != 0.0:
        assert max(est.score_history_.scores) == pytest.approx(est.score_, rel=1e-9)
    if penalty == "bic":
        free = est.model_.n_parameters / 2 * math.log(len(X))
        assert est.score_ == pytest.approx(qw.log_likelihood(est, X).sum() - free, rel=1e-9)


def test_parameters_are_those_of_least_squares():
    X = table(2)
    for cpd in qw.learn("gbn", X, search="climb").cpds:
        design = np.column_stack([np.ones(len(X)), X[:, list(cpd.parents)]])
        solution, *_ = np.linalg.lstsq(design, X[:, cpd.child])
        np.testing.assert_allclose([cpd.intercept, *cpd.weights], solution, rtol=1e-6, atol=1e-8)
        assert cpd.variance == pytest.approx(naive.residual_variance(X, cpd.child, cpd.parents), rel=1e-9)


@pytest.mark.parametrize("search", ["restarts", "tabu"])
def test_a_planted_collider_comes_back(search):
    rng = np.random.default_rng(0)
    a, b, d = rng.normal(size=(3, 5000))
    c = a - 2 * b + 0.5 * rng.normal(size=5000)
    e = c + d + 0.1 * rng.normal(size=5000)
    arcs = qw.learn("gbn", {"a": a, "b": b, "c": c, "d": d, "e": e}, search=search).arcs
    assert {("a", "c"), ("b", "c")} <= set(arcs)


def test_a_prior_shrinks_the_parameters():
    """As if half a row more had said that every column varies by itself."""
    X = table(2, 20)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for cpd in qw.learn("gbn", Z, penalty="bge", search="climb").cpds:
        own = list(cpd.parents)
        prior = Z[:, own].T @ Z[:, own] + 0.5 * np.eye(len(own))
        np.testing.assert_allclose(cpd.weights, np.linalg.solve(prior, Z[:, own].T @ Z[:, cpd.child]), rtol=1e-8)


def test_the_best_graph_of_wine_like_tables_is_found():
    """Six variables: the best order of all 720, each with the best parents before it, is the judge."""
    X = table(3, 150)
    best = -np.inf
    local = {
        (v, p): naive.node_score(X, v, p, 2.0)
        for v in range(6)
        for k in range(6)
        for p in itertools.combinations([u for u in range(6) if u != v], k)
    }
    within = {}  # the best of v with parents among a set
    for size in range(6):
        for v in range(6):
            for others in itertools.combinations([u for u in range(6) if u != v], size):
                fewer = [within[v, tuple(u for u in others if u != out)] for out in others]
                within[v, others] = max([local[v, others], *fewer])
    for order in itertools.permutations(range(6)):
        best = max(best, sum(within[v, tuple(sorted(order[:k]))] for k, v in enumerate(order)))
    assert qw.GaussianNetwork(penalty=2.0).fit(X).score_ == pytest.approx(best, rel=1e-9)


def test_the_searches_rank_as_they_should():
    X = table(4, 400, 12)
    score = {search: qw.GaussianNetwork(search=search).fit(X).score_ for search in SEARCHES}
    assert score["restarts"] >= score["climb"] - 1e-9 and score["tabu"] >= score["climb"] - 1e-9


def test_a_larger_penalty_has_fewer_parameters():
    X = table(5, 300, 8)
    sizes = [qw.learn("gbn", X, penalty=penalty, search="climb").n_parameters for penalty in (0.0, 3.0, 30.0, 1e6)]
    assert sizes[0] == 2 * 8 + 28 and sizes == sorted(sizes, reverse=True) and sizes[-1] == 16


def test_strengths_are_what_the_score_loses():
    X = frame(6)
    est = qw.GaussianNetwork(search="climb", required=[("v0", "v5")]).fit(X)
    values = np.column_stack(list(X.values()))
    assert [s for *_, s in est.strengths_] == sorted((s for *_, s in est.strengths_), reverse=True)
    assert {(p, c) for p, c, _ in est.strengths_} == set(est.model_.arcs) and ("v0", "v5") in est.model_.arcs
    for parent, child, strength in est.strengths_:
        v, p = int(child[1]), int(parent[1])
        own = est.model_.cpds[v].parents
        without = naive.node_score(values, v, [u for u in own if u != p], "bic")
        assert strength == pytest.approx(naive.node_score(values, v, own, "bic") - without, rel=1e-5, abs=1e-5)


def test_the_history_tells_the_phases():
    X = table(7, 300, 8)
    history = qw.GaussianNetwork(search="tabu", restarts=2, walks=2, restart_steps=4).fit(X).score_history_
    assert len(history.scores) == len(history.phases) and set(history.phases[1:]) == {"climb", "walk", "random"}
    assert history.phases[0] == "start"
    first = list(itertools.takewhile(lambda phase: phase in ("start", "climb"), history.phases))
    climbed = history.scores[: len(first)]
    assert climbed == sorted(climbed) and history.phases.count("random") == 8


def test_no_score_on_the_way_is_better_than_the_last_and_each_is_that_of_a_graph(search):
    """Also between columns so close that a gain is known to a part of itself only."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(500, 4))
    X = np.column_stack([Z, Z @ rng.normal(size=(4, 4)) + 1e-4 * rng.normal(size=(500, 4))])
    est = qw.GaussianNetwork(penalty=4.0, search=search, restarts=10).fit(X)
    assert est.score_ >= max(est.score_history_.scores) - 1e-6
    alone = qw.GaussianNetwork().fit(rng.normal(size=(100, 2)))
    assert alone.score_history_.phases == ["start"] and alone.score_history_.scores == [pytest.approx(alone.score_)]


def gains(X, parents, penalty):
    """What every legal move gains, by regressions from the rows."""
    n, local = X.shape[1], [naive.node_score(X, v, own, penalty) for v, own in enumerate(parents)]
    for u, v in itertools.permutations(range(n), 2):
        changed = [list(own) for own in parents]
        kinds = ["drop", "flip"] if u in parents[v] else ["add"]
        for kind in kinds:
            changed[v] = sorted({*parents[v]} ^ {u})
            changed[u] = sorted([*parents[u], v]) if kind == "flip" else list(parents[u])
            if naive.acyclic(changed):
                yield sum(naive.node_score(X, w, changed[w], penalty) - local[w] for w in {u, v})


@pytest.mark.parametrize("noise", [1.0, 1e-2, 1e-3, 1e-4, 3e-5])
def test_after_a_climb_no_move_is_left_that_helps(noise):
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(600, 3))
    X = np.column_stack([Z, Z @ rng.normal(size=(3, 4)) + noise * rng.normal(size=(600, 4))])
    model = qw.learn("gbn", X, penalty=4.0, search="climb")
    assert max(gains(X, [list(cpd.parents) for cpd in model.cpds], 4.0)) < 0.05


def test_walks_from_one_graph_differ():
    X = table(7, 300, 8)
    est = qw.GaussianNetwork(search="tabu", walks=6, restarts=0, walk_steps=6).fit(X)
    history = est.score_history_
    walks = [
        tuple(round(score, 6) for _, score in steps)
        for phase, steps in itertools.groupby(zip(history.phases, history.scores), lambda pair: pair[0])
        if phase == "walk"
    ]
    assert len(walks) >= 2 and len(set(walks)) == len(walks)


# Promises


def test_the_same_bytes_for_any_number_of_threads(search, tmp_path):
    X = table(8, 200, 70)
    digests = set()
    for jobs in (1, 2, 4):
        qw.save(qw.learn("gbn", X, search=search, n_jobs=jobs, **FAST), tmp_path / "m.qw")
        digests.add(hashlib.sha256((tmp_path / "m.qw").read_bytes()).hexdigest())
    assert len(digests) == 1


def test_rows_columns_and_units_may_change_places(search):
    X = table(9, 400, 7)
    names = [f"v{k}" for k in range(7)]
    plain = qw.GaussianNetwork(search=search).fit(dict(zip(names, X.T)))
    rng = np.random.default_rng(0)
    shuffled = X[rng.permutation(400)]
    moved = {names[k]: 1e3 * shuffled[:, k] + 1e4 for k in rng.permutation(7)}
    other = qw.GaussianNetwork(search=search).fit(moved)
    assert other.score_ == pytest.approx(plain.score_ - 7 * 400 * math.log(1e3), rel=1e-8)


def test_the_seed_decides():
    X = table(10, 60, 12)
    a, b = (qw.GaussianNetwork(search="tabu", random_state=7, **FAST).fit(X).score_history_ for _ in range(2))
    assert a.scores == b.scores


def test_row_weights_are_repeated_rows():
    X = table(11, 100)
    times = np.random.default_rng(0).integers(1, 4, 100)
    weighted = qw.GaussianNetwork(search="climb").fit(X, sample_weight=times.astype(float))
    plain = qw.GaussianNetwork(search="climb").fit(np.repeat(X, times, axis=0))
    assert weighted.model_.arcs == plain.model_.arcs and weighted.score_ == pytest.approx(plain.score_)


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    est = qw.GaussianNetwork(search="climb").fit(table())
    before = est.model_, est.score_, est.score_history_
    for bad in (np.empty((0, 3)), np.full((3, 3), np.inf), {"a": ["x", "y"]}):
        with pytest.raises(DataError):
            est.fit(bad)
    assert (est.model_, est.score_, est.score_history_) == before


def test_progress_is_told_and_learn_is_one_line():
    calls = []
    qw.GaussianNetwork(restarts=5).fit(table(n_vars=17), progress=lambda *call: calls.append(call))
    assert ("restarting", 5, 5) in calls
    assert qw.learn("gbn", table(), search="climb").kind == "gbn"


def test_cross_validation_and_grid_search_choose_the_penalty():
    learner, X = qw.GaussianNetwork(search="climb"), table(12, 120)
    assert clone(learner).get_params() == learner.get_params()
    assert cross_val_score(learner, X, cv=3).shape == (3,)
    best = GridSearchCV(learner, {"penalty": [3.0, 1e5]}, cv=3).fit(X).best_params_
    assert best == {"penalty": 3.0}


with warnings.catch_warnings():
    # Learners speak scikit-learn's protocol without inheriting from it (learn/base.py says why), which it remarks on.
    warnings.filterwarnings("ignore", "Estimator .* does not inherit from `sklearn.base.BaseEstimator`")
    all_checks = parametrize_with_checks([qw.GaussianNetwork(search="climb")])


@pytest.mark.filterwarnings("ignore")
@all_checks
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# Knowledge


def test_required_and_forbidden_arcs_and_tiers_are_kept(search):
    X = frame(13)
    tiers = [["v5", "v4"], ["v3", "v2"], ["v0"]]
    model = qw.learn(
        "gbn", X, search=search, required=[("v5", "v0")], forbidden=[("v0", "v1"), ("v1", "v0")], tiers=tiers, **FAST
    )
    assert ("v5", "v0") in model.arcs and not {("v0", "v1"), ("v1", "v0")} & set(model.arcs)
    level = {name: k for k, tier in enumerate(tiers) for name in tier}
    assert all(level.get(p, 0) <= level.get(c, 9) for p, c in model.arcs if p in level and c in level)


def test_a_start_graph_and_a_limit_on_parents():
    X = frame(14, 500)
    best = qw.GaussianNetwork().fit(X)
    again = qw.GaussianNetwork(search="climb", start=best.model_).fit(X)
    assert again.score_ >= best.score_ - 1e-9
    narrow = qw.learn("gbn", X, penalty=0.0, max_parents=1, **FAST)
    assert max(len(cpd.parents) for cpd in narrow.cpds) == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"penalty": -1.0},
            "'penalty' parameter of GaussianNetwork must be a number .* or one of 'bic', 'bge'. Got -1.0",
        ),
        ({"penalty": -0.001}, "Got -0.001"),
        ({"penalty": float("nan")}, "Got nan"),
        ({"penalty": float("inf")}, "Got inf"),
        ({"penalty": "aic"}, "Got 'aic'"),
        ({"search": "genetic"}, "'search' parameter of GaussianNetwork must be one of 'restarts'"),
        ({"walks": -1}, "'walks'"),
        ({"walk_steps": 0}, "'walk_steps'"),
        ({"tabu_length": 0}, "'tabu_length'"),
        ({"restarts": -1}, "'restarts'"),
        ({"restart_steps": 0}, "'restart_steps'"),
        ({"max_parents": -1}, "'max_parents'"),
        ({"missing": "state"}, "'missing' parameter .* must be one of 'error', 'drop'"),
        ({"required": [("v0", "v1"), ("v1", "v0")]}, "'required' arcs form a cycle: v0 -> v1 -> v0"),
        ({"required": [("v0", "v1")], "forbidden": [("v0", "v1")]}, "also ruled out"),
        ({"n_jobs": 0}, "'n_jobs'"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ParameterError, match=message):
        qw.GaussianNetwork(**parameters).fit(frame())


def test_an_unknown_name_is_named():
    with pytest.raises(UnknownVariableError, match="no variable 'v9'"):
        qw.GaussianNetwork(forbidden=[("v9", "v0")]).fit(frame())


# Tables that make trouble


def is_sound(model, X):
    assert all(cpd.variance > 0 and np.isfinite([cpd.intercept, *cpd.weights]).all() for cpd in model.cpds)
    assert np.isfinite(qw.log_likelihood(model, X)).all() and np.isfinite(qw.log_conditionals(model, X)).all()
    asked = qw.query(model, [v.name for v in model.variables])
    assert np.isfinite(asked.mean).all() and (asked.covariance.diagonal() > 0).all()
    return True


@pytest.mark.parametrize("penalty", [0.0, 2.0, "bic", "bge"])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 9])
def test_fewer_rows_than_columns(penalty, n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 10))
    with (
        pytest.warns(DataWarning, match=r"fewer rows \(\d\) than columns \(10\)|do not vary"),
        np.errstate(all="raise"),
    ):
        est = qw.GaussianNetwork(penalty=penalty, **FAST).fit(X)
    assert np.isfinite(est.score_) and is_sound(est.model_, X)
    if penalty != "bge":
        assert max(len(cpd.parents) for cpd in est.model_.cpds) <= max(0, n_rows - 3)


def test_parents_are_a_tenth_of_the_rows_unless_told_otherwise():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 30))
    with pytest.warns(DataWarning, match=r"hardly more rows \(40\) than columns \(30\)"):
        few = qw.learn("gbn", X, penalty=0.0, restarts=0)
    with pytest.warns(DataWarning):
        many = qw.learn("gbn", X, penalty=0.0, restarts=0, max_parents=12)
    most = [max(len(cpd.parents) for cpd in model.cpds) for model in (few, many)]
    assert most == [4, 12]


def test_rows_of_weight_0_count_for_nothing():
    X = table(5, 120, 5)
    weights = np.append(np.ones(60), np.zeros(60))
    one, other = qw.learn("gbn", X[:60]), qw.GaussianNetwork().fit(X, sample_weight=weights).model_
    assert one.arcs == other.arcs and other.provenance["rows"] == 60


def test_columns_that_look_like_states_are_named():
    X = frame(3)
    n = len(next(iter(X.values())))
    X["shop"], X["open"] = np.arange(n) % 3, np.arange(n) % 2 == 0
    with pytest.warns(DataWarning, match=r"at most 3 distinct values.*'shop', 'open'.*discretise=5"):
        model = qw.learn("gbn", X, **FAST)
    assert {"shop", "open"} <= {v.name for v in model.variables}


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"tiers": ["a", "b"]}, "'tiers' must be a list of lists of variables. Got 'a' in it"),
        ({"tiers": 5}, "'tiers' must be a list of lists"),
        ({"required": 5}, "'required' must be a list of \\(parent, child\\) pairs. Got 5"),
        ({"required": [5]}, "Got 5 in it"),
    ],
)
def test_knowledge_of_the_wrong_shape(wrong, message):
    X = {"a": np.random.default_rng(0).normal(size=60), "b": np.random.default_rng(1).normal(size=60)}
    with pytest.raises(ParameterError, match=message):
        qw.learn("gbn", X, **wrong)


@pytest.mark.parametrize("value", [0.0, 5.0, 1e8])
def test_a_constant_column_gets_no_arcs(search, value):
    X = frame(15)
    with pytest.warns(DataWarning, match="do not vary, get no arcs and a tiny variance: 'same'"):
        est = qw.GaussianNetwork(search=search, penalty=0.0, **FAST).fit({**X, "same": np.full(300, value)})
    assert not any("same" in arc for arc in est.model_.arcs)
    assert est.model_.cpds[-1].intercept == value and est.model_.cpds[-1].variance > 0
    rows = {**X, "same": np.full(300, value)}
    assert is_sound(est.model_, rows)
    constant = 7 * 300 / 2 * math.log(2 * math.pi)  # which the report's score leaves out
    assert est.score_ == pytest.approx(qw.log_likelihood(est, rows).sum() + constant, rel=1e-9)


@pytest.mark.parametrize("penalty", [0.0, "bic", "bge"])
def test_duplicated_columns(penalty):
    X = frame(16)
    X["copy"] = X["v2"].copy()
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="raise"):
        warnings.simplefilter("always")
        est = qw.GaussianNetwork(penalty=penalty, **FAST).fit(X)
    assert {("copy", "v2"), ("v2", "copy")} & set(est.model_.arcs) and is_sound(est.model_, X)
    if penalty != "bge":  # whose prior has no doubt that columns differ
        assert "follow exactly from others, and keep a tiny variance: '" in str(caught[0].message)
        assert not any({"v2", "copy"} <= {est.model_.variables[p].name for p in cpd.parents} for cpd in est.model_.cpds)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_column_that_is_the_sum_of_others(scale):
    X = frame(17)
    X["sum"] = X["v0"] + X["v1"] - 3 * X["v2"]
    X = {name: scale * column for name, column in X.items()}
    with pytest.warns(DataWarning, match="follow exactly from others"):
        est = qw.GaussianNetwork(**FAST).fit(X)
    assert is_sound(est.model_, X)
    families = [{*cpd.parents, cpd.child} for cpd in est.model_.cpds]
    assert any({0, 1, 2, 6} <= own for own in families)


def test_equal_parents_that_are_required():
    X = frame(18)
    X["copy"] = X["v0"].copy()
    wanted = [("v0", "v3"), ("copy", "v3")]
    with pytest.warns(DataWarning, match="follow exactly"):
        est = qw.GaussianNetwork(search="climb", required=wanted).fit(X)
    assert set(wanted) <= set(est.model_.arcs) and is_sound(est.model_, X) and np.isfinite(est.strengths_[0][2])


@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1e4, 1e8]),
    st.sampled_from([1e-12, 1e-3, 1.0, 1e6, 1e12]),
    st.sampled_from([None, 1e-3]),
)
def test_the_score_knows_no_shift_and_no_scale(seed, offset, scale, noise):
    X = table(seed, 200, 4)
    if noise is not None:
        X = np.column_stack([X, X[:, 0] + noise * np.random.default_rng(seed).normal(size=200)])
    start = qw.GaussianNetwork(search="climb").fit(X).model_  # from one start, so that ties cannot lead elsewhere
    plain, moved = (qw.GaussianNetwork(search="climb", start=start).fit(Y) for Y in (X, (X + offset) * scale))
    expected = plain.score_ - X.size * math.log(scale)
    assert moved.score_ == pytest.approx(expected, rel=1e-8 if noise is None or not offset else 1e-4)


@pytest.mark.parametrize("noise", [1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("penalty", [1.0, "bge"])
def test_near_collinear_columns(noise, penalty):
    X = table(20, 200, 4)
    X = np.column_stack([X, X[:, 1] - X[:, 2] + noise * np.random.default_rng(1).normal(size=200)])
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="raise"):
        warnings.simplefilter("always")
        est = qw.GaussianNetwork(penalty=penalty, **FAST).fit(X)
    assert is_sound(est.model_, X) and np.isfinite(est.score_)
    if penalty != "bge":
        assert bool(caught) == (noise**2 / X[:, 4].var() < 1e-10)


def test_values_near_1e8_with_unit_variance():
    X = table(21)
    plain, far = qw.learn("gbn", X, search="climb"), qw.learn("gbn", X + 1e8, search="climb")
    assert far.arcs == plain.arcs
    for one, other in zip(far.cpds, plain.cpds):
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-6, atol=1e-7)
        assert one.variance == pytest.approx(other.variance, rel=1e-7)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", "b", "c", "d"], "Column 'x' holds the text 'a' in row 0"),
        (["1", "2", "3", "n/a"], "Column 'x' holds the text 'n/a' in row 3"),
        ([1.0, np.inf, 2.0, 3.0], "Column 'x' holds inf in row 1"),
        ([1.0, -np.inf, 2.0, 3.0], "Column 'x' holds -inf in row 1"),
        ([1.0, None, 2.0, 3.0], "Column 'x' has a missing value .* in row 1: use missing='drop'"),
    ],
)
def test_text_infinities_and_missing_values_are_named(column, message):
    with pytest.raises(DataError, match=message):
        qw.learn("gbn", {"y": [1.0, 2.0, 3.0, 4.0], "x": column})


def test_incomplete_rows_may_be_dropped():
    X = frame(22)
    holes = {**X, "v1": np.where(np.arange(300) % 3 == 0, np.nan, X["v1"])}
    kept = {name: column[np.arange(300) % 3 > 0] for name, column in X.items()}
    dropped = qw.learn("gbn", holes, missing="drop", search="climb")
    assert dropped.arcs == qw.learn("gbn", kept, search="climb").arcs and dropped.provenance["rows"] == 200


def test_grades_are_numbers():
    rng = np.random.default_rng(0)
    taste = rng.normal(size=500)
    X = {"taste": taste, "grade": np.clip(np.round(6 + taste), 3, 9).astype(int)}
    assert len(qw.learn("gbn", X).arcs) == 1


def test_sparse_tables_and_one_column():
    from scipy.sparse import csr_array

    X = np.random.default_rng(0).poisson(0.6, (400, 4)).astype(float)
    assert qw.learn("gbn", csr_array(X), search="climb").arcs == qw.learn("gbn", X, search="climb").arcs
    assert qw.learn("gbn", {"a": [1.0, 2.0, 4.0]}).arcs == []


def test_a_parameter_that_cuts_numbers_into_bins_is_told_where_it_belongs():
    for ask in (lambda: qw.GaussianNetwork(discretise=3), lambda: qw.GaussianNetwork().set_params(discretise=3)):
        with pytest.raises(
            (TypeError, ParameterError), match="takes numbers as they are; BayesianNetwork.*it has penalty"
        ):
            ask()
