import hashlib

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.errors import DataError, ParameterError, UnknownVariableError
from quiltwork.models.textbook import textbook
from tables import random_table

SEARCHES = ("restarts", "climb", "tabu", "k2")
FAST = {"restarts": 5, "walks": 2, "walk_steps": 5}


def frame(seed=0, n_samples=300, n_states=(2, 3, 2, 2, 4, 2)):
    columns = random_table(seed, n_samples, list(n_states))
    return {f"v{k}": column.astype(int) for k, column in enumerate(columns)}


def skeleton(arcs):
    return {frozenset(arc) for arc in arcs}


def v_structures(arcs):
    parents = {}
    for p, c in arcs:
        parents.setdefault(c, set()).add(p)
    joined = skeleton(arcs)
    return {
        (frozenset((a, b)), c)
        for c, own in parents.items()
        for a in own
        for b in own
        if a < b and frozenset((a, b)) not in joined
    }


# What it finds


@pytest.mark.parametrize("search", ["restarts", "tabu"])
def test_asia_comes_back_from_a_hundred_thousand_rows(search):
    """Equal up to equivalence. (By chance alone one sample in fifty has a pair that BIC takes for dependent.)"""
    asia = textbook("asia")
    found = qw.BayesianNetwork(search=search).fit(qw.sample(asia, 100_000, seed=0)).model_.arcs
    assert skeleton(found) == skeleton(asia.arcs)
    assert v_structures(found) == v_structures(asia.arcs)


def test_the_searches_rank_as_they_should():
    data = qw.sample(textbook("asia"), 3000, seed=3)
    score = {s: qw.BayesianNetwork(search=s).fit(data).score_ for s in SEARCHES}
    assert score["restarts"] >= score["climb"] - 1e-9
    assert score["tabu"] >= score["climb"] - 1e-9


def test_parameters_are_the_smoothed_frequencies():
    X = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]}
    model = qw.learn("bn", X, search="k2", required=[("a", "b")])
    np.testing.assert_allclose(model.cpds[1].probs, [[2.5 / 3, 0.5 / 3], [0.5 / 3, 2.5 / 3]])


def test_strengths_are_what_the_score_loses():
    X = frame(n_samples=500)
    est = qw.BayesianNetwork(search="climb").fit(X)
    arcs = [(p, c) for p, c, _ in est.strengths_]
    strengths = [s for *_, s in est.strengths_]
    assert sorted(strengths, reverse=True) == strengths and set(arcs) == set(est.model_.arcs)
    for arc, strength in zip(arcs, strengths):
        rest = [a for a in est.model_.arcs if a != arc]
        names = sorted(X)
        others = [(p, c) for p in names for c in names if p != c and (p, c) not in rest]
        without = qw.BayesianNetwork(search="climb", required=rest, forbidden=others).fit(X)
        assert est.score_ - without.score_ == pytest.approx(strength, abs=1e-6)


# Promises


def file_digest(model, path):
    qw.save(model, path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("search", SEARCHES)
def test_the_same_bytes_for_any_threads_and_any_order_of_rows(search, tmp_path):
    X = frame(n_samples=400, n_states=[2, 3, 2, 4, 2] * 6)
    order = np.random.default_rng(1).permutation(400)
    shuffled = {name: column[order] for name, column in X.items()}
    digests = {
        file_digest(qw.learn("bn", table, search=search, n_jobs=jobs, **FAST), tmp_path / "m.qw")
        for table in (X, shuffled)
        for jobs in (1, 2, 4)
    }
    assert len(digests) == 1


def test_the_seed_decides():
    X = frame(n_samples=60, n_states=[2] * 20)
    a, b = (qw.BayesianNetwork(restarts=10, random_state=7).fit(X).history_ for _ in range(2))
    assert a.scores == b.scores


def test_row_weights_are_repeated_rows():
    X = frame(n_samples=100)
    times = np.random.default_rng(0).integers(1, 4, 100)
    repeated = {name: np.repeat(column, times) for name, column in X.items()}
    weighted = qw.BayesianNetwork(search="climb").fit(X, sample_weight=times.astype(float))
    plain = qw.BayesianNetwork(search="climb").fit(repeated)
    assert weighted.model_.arcs == plain.model_.arcs
    assert weighted.score_ == pytest.approx(plain.score_)


def test_the_input_is_left_alone():
    X = np.random.default_rng(0).integers(0, 3, (50, 4))
    copy = X.copy()
    qw.BayesianNetwork(search="climb").fit(X)
    np.testing.assert_array_equal(X, copy)


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    est = qw.BayesianNetwork(search="climb").fit(frame())
    before = est.model_
    with pytest.raises(DataError):
        est.fit(np.empty((0, 3)))
    assert est.model_ is before


def test_progress_is_told():
    calls = []
    qw.BayesianNetwork(restarts=5).fit(frame(), progress=lambda *call: calls.append(call))
    assert ("restarting", 5, 5) in calls


def test_one_row_one_column_and_a_constant_column():
    assert qw.learn("bn", {"a": [1], "b": ["x"]}).arcs == []
    assert qw.learn("bn", {"a": [0, 1, 1]}).arcs == []
    X = frame(n_samples=200)
    model = qw.learn("bn", {**X, "same": np.full(200, 7)}, search="climb")
    assert not any("same" in arc for arc in model.arcs)
    np.testing.assert_array_equal(model.cpds[-1].probs, [[1.0]])


# Knowledge


@pytest.mark.parametrize("search", SEARCHES)
def test_required_and_forbidden_arcs_are_kept(search):
    X = frame(n_samples=500)
    required, forbidden = [("v5", "v0")], [("v0", "v1"), ("v1", "v0")]
    order = sorted(X, reverse=True) if search == "k2" else None
    model = qw.learn("bn", X, search=search, required=required, forbidden=forbidden, order=order, **FAST)
    assert ("v5", "v0") in model.arcs
    assert not set(forbidden) & set(model.arcs)


@pytest.mark.parametrize("search", ["restarts", "climb", "tabu"])
def test_no_arc_leads_to_an_earlier_tier(search):
    X = frame(n_samples=500)
    tiers = [["v5", "v4"], ["v3", "v2"], ["v0"]]
    level = {name: k for k, tier in enumerate(tiers) for name in tier}
    for parent, child in qw.learn("bn", X, search=search, tiers=tiers, **FAST).arcs:
        assert parent not in level or child not in level or level[parent] <= level[child]


def test_a_start_graph_is_where_the_climb_begins():
    X = frame(n_samples=500)
    best = qw.BayesianNetwork().fit(X)
    again = qw.BayesianNetwork(search="climb", start=best.model_).fit(X)
    assert again.history_.scores == [] and again.model_.arcs == best.model_.arcs


def test_k2_follows_the_order():
    X = frame(n_samples=500)
    order = ["v3", "v1", "v0", "v2", "v5", "v4"]
    model = qw.learn("bn", X, search="k2", order=order, max_parents=2, score="loglik")
    place = {name: k for k, name in enumerate(order)}
    assert all(place[p] < place[c] for p, c in model.arcs)
    assert max(len(cpd.parents) for cpd in model.cpds) == 2


def test_max_parents_binds():
    model = qw.learn("bn", frame(n_samples=500), score="loglik", max_parents=1)
    assert max(len(cpd.parents) for cpd in model.cpds) == 1


def test_likelihood_without_a_limit_ends():
    model = qw.learn("bn", frame(n_samples=20, n_states=(2,) * 6), score="loglik", search="climb")
    assert len(model.arcs) <= 15


def test_prior_network_score():
    asia = textbook("asia")
    data = qw.sample(asia, 500, seed=0)
    est = qw.BayesianNetwork(search="climb", score="prior-network", prior_network=asia, equivalent_sample_size=5.0)
    informed = est.fit(data)
    assert len(skeleton(informed.model_.arcs) & skeleton(asia.arcs)) >= 5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"search": "genetic"}, "The 'search' parameter of BayesianNetwork must be one of 'restarts'"),
        ({"max_parents": -1}, "'max_parents' parameter .* must be None or an integer of at least 0. Got -1"),
        ({"kappa": 0.0}, "'kappa' parameter .* a number above 0 and at most 1"),
        (
            {"required": [("v0", "v1"), ("v1", "v2"), ("v2", "v0")]},
            "'required' arcs form a cycle: v0 -> v1 -> v2 -> v0",
        ),
        ({"required": [("v0", "v0")]}, "to itself"),
        ({"required": [("v0", "v1")], "forbidden": [("v0", "v1")]}, "also ruled out"),
        ({"required": [("v1", "v0")], "tiers": [["v0"], ["v1"]]}, "also ruled out"),
        ({"required": ["v0"]}, "pairs"),
        ({"required": [("v0", "v2"), ("v1", "v2")], "max_parents": 1}, "'max_parents' allows 1"),
        ({"tiers": [["v0"], ["v0"]]}, "two of the 'tiers'"),
        ({"search": "k2", "order": ["v0"]}, "'order' must name each of the 6 variables once; it lacks 'v1'"),
        ({"search": "k2", "order": [f"v{k}" for k in (0, 1, 2, 2, 3, 4, 5)]}, "once; it names 'v2' 2 times"),
        ({"search": "k2", "order": 3}, "'order' must be a list of all variables. Got 3 instead"),
        ({"cpd": "tree", "order": "v0,v1"}, "'order' must be a list of all variables. Got 'v0,v1' instead"),
        ({"search": "k2", "required": [("v5", "v0")]}, "goes against the order of the variables; set"),
        ({"order": ["v0"]}, "'order' needs search='k2'"),
        ({"search": "fixed"}, "search='fixed' needs 'start'"),
        ({"operators": "BX"}, "'operators' parameter of BayesianNetwork must be letters"),
        ({"score": "prior-network"}, "needs the network"),
        ({"n_jobs": 0}, "'n_jobs'"),
        ({"random_state": "x"}, "'random_state'"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ParameterError, match=message):
        qw.BayesianNetwork(**parameters).fit(frame())


def test_an_unknown_name_in_knowledge_is_named():
    everyone = [f"v{k}" for k in range(6)]
    for more in ({"required": [("v9", "v0")]}, {"forbidden": [("v9", "v0")]}, {"tiers": [["v0"], ["v9"]]},
                 {"order": [*everyone, "v9"], "search": "k2"}, {"start": [("v0", "v9")]}):  # fmt: skip
        with pytest.raises(
            UnknownVariableError, match=f"no variable 'v9' in the table, and '{next(iter(more))}' names"
        ):
            qw.BayesianNetwork(**more).fit(frame())
    with pytest.raises(TypeError, match="no parameter 'serach'"):
        qw.BayesianNetwork(serach="climb")
