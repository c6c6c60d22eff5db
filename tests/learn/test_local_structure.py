"""Bayesian networks with decision trees and graphs: the network and its CPDs grow together."""

import itertools
import math
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from naive import decision_trees as naive
from quiltwork.cpds.graph import GraphCPD
from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.dataset import NO_CODE, Variable, from_codes
from quiltwork.data.encode import Encoder
from quiltwork.errors import DataError, DataWarning, ParameterError, ResourceLimitError, SchemaMismatchError
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.files import to_bytes
from quiltwork.search import grow
from tables import dataset, random_table

STATES = [2, 3, 2, 4, 2]


def rows_of(seed=0, n=400, n_states=STATES):
    return dataset(random_table(seed, n, n_states), n_states)


def tree(child, nodes, branches, probs):
    """A TreeCPD by hand: nodes are (variable, state) of splits, None for leaves."""
    is_leaf = [node is None for node in nodes]
    first, begin, leaf = [], 0, 0
    for k, node in enumerate(nodes):
        first.append(leaf if node is None else begin)
        leaf += is_leaf[k]
        begin += 0 if node is None else 2
    variable, state = zip(*((-1, -1) if node is None else node for node in nodes))
    cls = TreeCPD if len(set(branches)) == len(branches) else GraphCPD
    return cls(
        child, np.array(variable), np.array(state), np.array(first), np.array(branches, np.int64),
        np.ones(len(branches)), np.zeros(len(nodes)), np.array(probs), np.ones((leaf, len(probs[0]))),
    )  # fmt: skip


def planted():
    """c follows a; d asks a, and then b or c; e is likely where a and b differ, which takes two leaves of a graph."""
    variables = tuple(Variable(name, ("no", "yes")) for name in "abcde") + (Variable("f", ("x", "y", "z")),)
    cpds = (
        tree(0, [None], [], [[0.6, 0.4]]),
        tree(1, [None], [], [[0.3, 0.7]]),
        tree(2, [(0, 1), None, None], [1, 2], [[0.2, 0.8], [0.9, 0.1]]),
        tree(3, [(0, 1), (1, 1), (2, 1), None, None, None, None], [1, 2, 3, 4, 5, 6],
             [[0.95, 0.05], [0.6, 0.4], [0.3, 0.7], [0.05, 0.95]]),
        tree(4, [(0, 1), (1, 1), (1, 1), None, None], [1, 2, 3, 4, 4, 3], [[0.9, 0.1], [0.2, 0.8]]),
        tree(5, [(3, 1), None, None], [1, 2], [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]),
    )  # fmt: skip
    return BayesianNet(Encoder(variables), cpds)


# What is learned


def test_a_planted_network_of_trees_comes_back():
    truth = planted()
    data = qw.sample(truth, 20_000, seed=0)
    est = qw.BayesianNetwork(cpd="tree", order=list("abcdef")).fit(data)
    plain = [0, 1, 2, 3, 5]  # e is an exclusive or, to which a greedy tree may take a detour
    assert [est.model_.cpds[v].parents for v in plain] == [truth.cpds[v].parents for v in plain]
    assert [est.model_.cpds[v].n_leaves for v in plain] == [1, 1, 2, 4, 2]
    assert set(est.model_.cpds[4].parents) >= {0, 1}
    for v in plain:
        np.testing.assert_allclose(est.model_.tabular().cpds[v].probs, truth.tabular().cpds[v].probs, atol=0.03)
    free = qw.BayesianNetwork(cpd="tree").fit(data)  # without the order: as good, though arcs may be turned
    assert free.score_ > est.score_ - 20


def test_a_graph_finds_the_leaves_that_are_equal():
    est = qw.BayesianNetwork(cpd="graph", order=list("abcdef"), kappa=0.1).fit(qw.sample(planted(), 20_000, seed=0))
    assert est.model_.cpds[4].kind == "graph" and est.model_.cpds[4].n_leaves == 2
    trees = qw.BayesianNetwork(cpd="tree", order=list("abcdef"), kappa=0.1).fit(qw.sample(planted(), 20_000, seed=0))
    assert est.score_ > trees.score_


@pytest.mark.parametrize("operators", ["C", "B", "CB", "MC", "BM", "MBC"])
def test_only_the_operators_that_were_asked_for(operators):
    est = qw.BayesianNetwork(cpd="graph" if "M" in operators else "tree", operators=operators, kappa=0.5).fit(rows_of())
    asked = np.concatenate([cpd.state[cpd.variable >= 0] for cpd in est.model_.cpds])
    assert len(asked) > 3
    assert (asked < 0).any() == ("C" in operators) and (asked >= 0).any() == ("B" in operators)
    merged = any((np.bincount(cpd.branches) > 1).any() for cpd in est.model_.cpds if len(cpd.branches))
    assert merged == ("M" in operators)
    assert {cpd.kind for cpd in est.model_.cpds} == {"graph" if "M" in operators else "tree"}


def test_merging_never_makes_the_score_worse():
    """From every network of trees a merge may only gain; greedy growth need not keep that, but does on these tables."""
    for seed in range(5):
        found = {c: qw.BayesianNetwork(cpd=c, kappa=0.1).fit(rows_of(seed)).score_ for c in ("tree", "graph")}
        assert found["graph"] > found["tree"]


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["tree", "graph"]), st.integers(0, 3))
def test_what_is_known_is_kept(seed, cpd, max_parents):
    rng = np.random.default_rng(seed)
    data = rows_of(seed, 200)
    names = [v.name for v in data.variables]
    tiers = [names[:2], names[2:]]
    forbidden = [tuple(rng.choice(names, 2, replace=False)) for _ in range(3)]
    model = qw.learn("bn", data, cpd=cpd, kappa=0.8, tiers=tiers, forbidden=forbidden, max_parents=max_parents)
    assert not set(model.arcs) & set(forbidden)
    assert not any(parent in tiers[1] and child in tiers[0] for parent, child in model.arcs)
    assert max(len(own.parents) for own in model.cpds) <= max_parents
    order = rng.permutation(names).tolist()
    ordered = qw.learn("bn", data, cpd=cpd, kappa=0.8, order=order)
    assert all(order.index(parent) < order.index(child) for parent, child in ordered.arcs)


def test_a_fixed_structure_is_never_left():
    start = [("v0", "v1"), ("v1", "v2"), ("v0", "v2"), ("v3", "v4")]
    for cpd in ("tree", "graph"):
        model = qw.learn("bn", rows_of(), cpd=cpd, search="fixed", start=start, kappa=1.0)
        assert set(model.arcs) <= set(start) and len(model.arcs) >= 2
    assert qw.learn("bn", rows_of(), cpd="tree", search="fixed", start=[]).arcs == []
    truth = planted()
    same = qw.BayesianNetwork(cpd="tree", search="fixed", start=truth).fit(qw.sample(truth, 5000, seed=0))
    assert same.model_.arcs == truth.arcs
    assert qw.learn("bn", qw.sample(truth, 5000, seed=0), cpd="graph", search="fixed", start=same).arcs == truth.arcs


def test_k2_takes_the_order_of_the_columns():
    model = qw.learn("bn", rows_of(), cpd="tree", search="k2", kappa=1.0)
    names = [v.name for v in model.variables]
    assert model.arcs and all(names.index(parent) < names.index(child) for parent, child in model.arcs)


# Scores


def leaf_rows(cpd, codes):
    """The training rows at each leaf."""
    at = cpd.leaves(codes)
    return [[tuple(row) for row in codes[at == leaf].tolist()] for leaf in range(cpd.n_leaves)]


def score_of(model, codes, kappa, alpha):
    """The Bayesian score by predicting row after row; alpha(cpd, leaf) are the prior counts."""
    total = 0.0
    for v, cpd in enumerate(model.cpds):
        r = model.variables[v].n_states
        for leaf, rows in enumerate(leaf_rows(cpd, codes)):
            total += naive.leaf_score(rows, v, r, alpha(cpd, leaf))
        total += cpd.n_leaves * (r - 1) * math.log(kappa)
    return total


@pytest.mark.parametrize("more", [{}, {"smoothing": "laplace"}, {"operators": "CB"}])
@pytest.mark.parametrize("cpd", ["tree", "graph"])
def test_the_score_is_that_under_the_kappa_that_was_chosen(cpd, more):
    data = rows_of(1, 300)
    if cpd == "graph" and "operators" in more:
        more = {"operators": "CBM"}
    est = qw.BayesianNetwork(cpd=cpd, kappa="auto", **more).fit(data)  # trees are grown under another, then cut
    kappa = est.model_.provenance["kappa"]
    assert est.score_ == pytest.approx(score_of(est.model_, data.states(), kappa, lambda *_: None), abs=1e-6)
    assert est.model_.provenance["score"] == est.score_ == pytest.approx(est.history_.scores[-1], abs=1e-6)


@pytest.mark.parametrize("cpd", ["tree", "graph"])
def test_the_uniform_score(cpd):
    data = rows_of(1, 300)
    est = qw.BayesianNetwork(cpd=cpd, kappa=0.2, operators=None).fit(data)
    assert est.score_ == pytest.approx(score_of(est.model_, data.states(), 0.2, lambda *_: None), abs=1e-6)


@pytest.mark.parametrize("cpd, operators", [("tree", "B"), ("tree", "CB"), ("graph", "BM"), ("graph", "CBM")])
def test_the_bdeu_score_spreads_the_prior_over_configurations(cpd, operators):
    data = rows_of(2, 300)
    est = qw.BayesianNetwork(cpd=cpd, operators=operators, score="bdeu", equivalent_sample_size=7.0, kappa=0.5).fit(
        data
    )
    every = np.array(list(itertools.product(*map(range, STATES))), np.uint16)

    def alpha(own, leaf):
        r = STATES[own.child]
        return [7.0 * (own.leaves(every) == leaf).mean() / r] * r

    assert est.score_ == pytest.approx(score_of(est.model_, data.states(), 0.5, alpha), abs=1e-6)
    for own in est.model_.cpds:  # and the leaves predict with that prior
        prior = np.array([alpha(own, leaf) for leaf in range(own.n_leaves)])
        expected = (own.counts + prior) / (own.counts + prior).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(own.probs, expected, atol=1e-12)


def test_a_complete_split_of_what_was_split_before_is_not_allowed_under_a_prior_network():
    """A branch that no configuration can take is no constraint. These tables once led to one."""
    for seed in (48, 60, 66, 190):
        rng = np.random.default_rng(seed)
        n = rng.integers(30, 400)
        p, a, b = rng.random(5), rng.integers(0, 5, n), rng.integers(0, 3, n)
        y = (rng.random(n) < p[a] * (b == 0) + rng.random(5)[a] * (b > 0)).astype(int)
        for cpd, operators in (("tree", "CB"), ("graph", "CBM")):
            for size in (0.1, 1.0, 10.0, 100.0):
                est = qw.BayesianNetwork(
                    cpd=cpd, operators=operators, score="bdeu", kappa=1.0, equivalent_sample_size=size,
                    tiers=[["a", "b"], ["y"]],
                ).fit({"a": a, "b": b, "y": y})  # fmt: skip
                assert np.isfinite(est.score_) and all((own.probs > 0).all() for own in est.model_.cpds)


# Strengths and history


@pytest.mark.parametrize("cpd", ["tree", "graph"])
def test_arcs_are_told_in_the_order_in_which_they_entered(cpd):
    est = qw.BayesianNetwork(cpd=cpd, kappa=0.3).fit(rows_of(4))
    strengths = [strength for *_, strength in est.strengths_]
    assert strengths == sorted(set(strengths), reverse=True) and strengths[-1] > 0  # no two entered at once
    graph = qw.to_networkx(est)
    ranks = {graph.edges[arc[:2]]["rank"]: arc[:2] for arc in est.strengths_}
    assert [ranks[k + 1] for k in range(len(ranks))] == [arc[:2] for arc in est.strengths_]
    assert {arc[:2] for arc in est.strengths_} == set(est.model_.arcs)
    assert dict(zip(est.model_.arcs, est.model_.strengths)) == {arc[:2]: arc[2] for arc in est.strengths_}
    history = est.history_
    assert set(history.phases) == {"growth"} and history.scores == sorted(history.scores)
    assert history.scores[-1] == pytest.approx(est.score_, abs=1e-6)
    (parent, child, strength), names = est.strengths_[0], [v.name for v in est.model_.variables]
    own = est.model_.cpds[names.index(child)]
    assert own.variable[0] == names.index(parent) and own.gain[0] == pytest.approx(strength)
    empty = qw.BayesianNetwork(cpd=cpd, kappa=0.3, max_parents=0).fit(rows_of(4))
    assert history.scores[0] - empty.score_ == pytest.approx(strength, abs=1e-6)


# kappa "auto"


@pytest.mark.parametrize("more", [{}, {"smoothing": "laplace"}, {"score": "bdeu"}])
@pytest.mark.parametrize("cpd", ["tree", "graph"])
def test_kappa_is_chosen_by_held_out_rows(cpd, more):
    data, held_out = qw.sample(planted(), 1000, seed=0), qw.sample(planted(), 1000, seed=1)
    est = qw.BayesianNetwork(cpd=cpd, kappa="auto", **more).fit(data, validation=held_out)
    chosen = est.model_.provenance
    assert 0 < chosen["kappa"] <= 1
    test = qw.sample(planted(), 2000, seed=2)
    worst = qw.BayesianNetwork(cpd=cpd, kappa=1.0, **more).fit(data)
    assert est.score(test) >= worst.score(test) - 0.01
    assert est.history_.scores[-1] == pytest.approx(est.score_, abs=1e-6)
    if cpd == "graph" or more:  # nothing is averaged: the same network as with that kappa, given by hand
        by_hand = qw.BayesianNetwork(cpd=cpd, kappa=chosen["kappa"], **more).fit(data)
        assert by_hand.model_.arcs == est.model_.arcs
        for a, b in zip(by_hand.model_.cpds, est.model_.cpds, strict=True):
            np.testing.assert_array_equal(a.probs, b.probs)


def test_validation_rows_are_held_out_or_given():
    data = qw.sample(planted(), 500, seed=0)
    by_share = qw.BayesianNetwork(cpd="tree", kappa="auto", held_out=0.3).fit(data)
    again = qw.BayesianNetwork(cpd="tree", kappa="auto", held_out=0.3).fit(data)
    assert to_bytes(by_share) == to_bytes(again)
    gaps = data.states()
    gaps[:, 0] = NO_CODE
    with pytest.raises(DataError, match="Every held-out row has a missing value"):
        qw.BayesianNetwork(cpd="tree", kappa="auto").fit(data, validation=from_codes(data.variables, list(gaps.T)))
    with pytest.raises(DataError, match="chooses by held-out rows, and 2 rows leave none"):
        qw.BayesianNetwork(cpd="graph", kappa="auto").fit({"a": [0, 1], "b": [1, 0]})


@pytest.mark.parametrize("cpd", ["table", "tree", "graph"])
def test_rows_that_were_given_are_judged_also_where_nothing_is_chosen(cpd):
    data, held_out = qw.sample(planted(), 500, seed=0), qw.sample(planted(), 200, seed=1)
    times = np.random.default_rng(0).integers(1, 4, 200)
    weighted = from_codes(held_out.variables, list(held_out.states().T), times.astype(float))
    est = qw.BayesianNetwork(cpd=cpd, search="climb").fit(data, validation=weighted)
    expected = qw.log_likelihood(est, held_out.rows(np.repeat(np.arange(200), times))).mean()
    assert est.validation_score_ == pytest.approx(expected, abs=1e-9)
    assert qw.BayesianNetwork(cpd=cpd, search="climb").fit(data).validation_score_ is None
    with pytest.raises(SchemaMismatchError):
        est.fit(data, validation={"other": [0, 1]})


def test_the_smoothing_that_was_used_is_the_one_that_is_told():
    data = qw.sample(planted(), 200, seed=0)
    for more, told in (
        ({"cpd": "tree"}, "average"),
        ({"cpd": "graph"}, "laplace"),
        ({"cpd": "tree", "score": "bdeu"}, "laplace"),
    ):
        assert qw.learn("bn", data, **more).provenance["parameters"]["smoothing"] == told


def test_a_weight_counts_in_the_rows_that_are_chosen_by():
    data = qw.sample(planted(), 300, seed=0)
    times = np.random.default_rng(0).integers(1, 4, 300)
    held_out = qw.sample(planted(), 200, seed=1)
    weighted = from_codes(held_out.variables, list(held_out.states().T), np.full(200, 3.0))
    repeated = held_out.rows(np.repeat(np.arange(200), 3))
    one, other = (
        qw.BayesianNetwork(cpd="tree", kappa="auto").fit(data, sample_weight=times, validation=rows)
        for rows in (weighted, repeated)
    )
    assert one.model_.provenance["least_gain"] == pytest.approx(other.model_.provenance["least_gain"])
    assert one.model_.arcs == other.model_.arcs


# The same answer


@pytest.mark.parametrize("cpd", ["tree", "graph"])
def test_the_same_bytes_for_any_threads_and_any_order_of_rows(cpd):
    data = rows_of(6, 500)
    shuffled = data.rows(np.random.default_rng(0).permutation(500))
    found = {to_bytes(qw.learn("bn", rows, cpd=cpd, n_jobs=jobs)) for rows in (data, shuffled) for jobs in (1, 3)}
    assert len(found) == 1


@pytest.mark.parametrize("cpd", ["tree", "graph"])
def test_a_weight_of_two_is_a_row_seen_twice(cpd):
    X = np.array(random_table(3, 200, [2, 3, 2])).T
    counts = np.random.default_rng(2).integers(1, 3, 200)
    one = qw.BayesianNetwork(cpd=cpd).fit(X, sample_weight=counts).model_
    other = qw.BayesianNetwork(cpd=cpd).fit(np.repeat(X, counts, axis=0)).model_
    assert one.arcs == other.arcs
    for a, b in zip(one.cpds, other.cpds, strict=True):
        np.testing.assert_allclose(a.probs, b.probs, atol=1e-12)


# Bad input


@pytest.mark.parametrize(
    "parameters, told",
    [
        ({"cpd": "tree", "operators": "BM"}, "'operators' must not have an M where cpd='tree'"),
        ({"cpd": "graph", "operators": "CB"}, "'operators' must have an M where cpd='graph'"),
        ({"cpd": "tree", "operators": "M"}, "'operators' parameter of BayesianNetwork must be letters: C for complete"),
        ({"cpd": "tree", "operators": "BB"}, "'operators' parameter of BayesianNetwork must be letters"),
        ({"cpd": "tree", "operators": 3}, "'operators' parameter of BayesianNetwork must be letters"),
        ({"cpd": "tree", "search": "fixed"}, "search='fixed' needs 'start'"),
        (
            {"cpd": "tree", "order": ["b", "a"], "search": "fixed", "start": [("a", "b")]},
            "against the order of the var",
        ),
        ({"cpd": "tree", "score": "bic"}, "needs a Bayesian score"),
        ({"cpd": "graph", "score": "mdl"}, "needs a Bayesian score"),
        ({"cpd": "tree", "search": "tabu"}, "has a search of its own"),
        ({"cpd": "tree", "required": [("a", "b")]}, "'required' arcs need cpd='table'"),
        ({"cpd": "tree", "start": [("a", "b")]}, "'start' needs search='fixed'"),
        ({"cpd": "table", "kappa": "auto"}, "needs cpd='tree' or cpd='graph'"),
        ({"cpd": "tree", "kappa": 0}, "'kappa' parameter of BayesianNetwork must be"),
        ({"cpd": "tree", "kappa": 1.5}, "'kappa' parameter of BayesianNetwork must be"),
        ({"cpd": "tree", "kappa": -0.1}, "'kappa' parameter of BayesianNetwork must be"),
        ({"cpd": "tree", "kappa": float("nan")}, "'kappa' parameter of BayesianNetwork must be"),
        ({"cpd": "tree", "equivalent_sample_size": float("inf")}, "above 0 and at most 1e.09. Got inf"),
        ({"cpd": "table", "equivalent_sample_size": float("inf")}, "'equivalent_sample_size' parameter of"),
        ({"cpd": "forest"}, "'cpd' parameter of BayesianNetwork must be"),
        ({"cpd": "tree", "smoothing": "none"}, "'smoothing' parameter of BayesianNetwork must be"),
        ({"cpd": "tree", "min_leaf": 0}, "'min_leaf' parameter of BayesianNetwork must be"),
        ({"cpd": "tree", "order": ["a"]}, "'order' must name each of the 2 variables once"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(parameters, told):
    with pytest.raises(ParameterError, match=told):
        qw.BayesianNetwork(**parameters).fit({"a": [0, 1, 1, 0], "b": [0, 1, 0, 1]})


@pytest.mark.parametrize("cpd", ["tree", "graph"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (5, 1), (2, 2)])
def test_tables_of_one_row_or_one_column(cpd, shape):
    X = np.arange(np.prod(shape)).reshape(shape) % 2
    est = qw.BayesianNetwork(cpd=cpd).fit(X)
    assert np.isfinite(est.score(X)) and est.model_.arcs == []


@pytest.mark.parametrize("cpd", ["tree", "graph"])
def test_columns_that_are_constant_or_equal(cpd):
    a = np.random.default_rng(0).integers(0, 2, 300)
    X = np.column_stack([a, a, np.zeros(300, int), np.random.default_rng(1).integers(0, 2, 300)])
    model = qw.learn("bn", X, cpd=cpd)
    assert model.arcs == [("x1", "x0")]
    assert qw.predict_proba(model, X[:1], "x2")[0] == pytest.approx([301 / 302, 1 / 302])


@pytest.mark.parametrize("cpd", ["tree", "graph"])
@pytest.mark.parametrize("scale", [1e-9, 0.3, 1e12])
def test_weights_of_any_size(cpd, scale):
    rng = np.random.default_rng(0)
    X = np.array(random_table(3, 80, [2, 3, 2])).T
    is_light = pytest.warns(DataWarning, match="Weights stand for numbers of rows") if scale < 1e-3 else nullcontext()
    with is_light:
        est = qw.BayesianNetwork(cpd=cpd).fit(X, sample_weight=scale * (0.5 + rng.random(80)))
    assert np.isfinite(est.score_) and np.isfinite(est.score(X))
    assert all((own.counts >= 0).all() and (own.probs > 0).all() for own in est.model_.cpds)


def test_a_variable_of_thousands_of_states_is_a_leaf_by_itself_and_can_be_split_on():
    rng = np.random.default_rng(0)
    many = rng.permutation(np.arange(12_000) % 3000)
    X = {"many": many, "binary": ((many < 4) ^ (rng.random(12_000) < 0.001)).astype(int)}
    for cpd in ("tree", "graph"):
        model = qw.learn("bn", X, cpd=cpd, max_states=5000)
        assert model.arcs == [("many", "binary")] and model.cpds[0].n_leaves == 1
    assert qw.rules(model, "binary")[0].cases > 0


@pytest.mark.parametrize("learner", [
    qw.BayesianNetwork(cpd="tree"), qw.BayesianNetwork(cpd="graph", tiers=[["x0"], ["x1"]]),
    qw.DependencyNetwork(k=2), qw.DependencyNetwork(cpd="logistic", k=2, strength=1.0),
    qw.DependencyNetwork(prior="bdeu"),
])  # fmt: skip
def test_too_many_columns_are_refused_before_their_pairs_are_written_down(learner, monkeypatch):
    monkeypatch.setattr(grow, "MAX_ARC_BYTES", 3 * 9**2)
    X = np.random.default_rng(0).integers(2, size=(50, 10))
    learner.fit(X[:, :9])
    with pytest.raises(ResourceLimitError, match="which of 10 columns may depend on which would take .* leave columns"):
        learner.fit(X)


@pytest.mark.parametrize("cpd", ["tree", "graph"])
def test_missing_values_in_training_are_what_was_asked_for(cpd):
    codes = rows_of().states()
    columns = {f"v{v}": codes[:, v].tolist() for v in range(5)}
    complete = {name: column[2:] for name, column in columns.items()}
    columns["v0"][0] = columns["v3"][1] = None
    with pytest.raises(DataError, match="'v0' has a missing value .* in row 0"):
        qw.BayesianNetwork(cpd=cpd).fit(columns)
    dropped, whole = (qw.learn("bn", *it, cpd=cpd, missing="drop") for it in ((columns,), (complete,)))
    assert to_bytes(dropped) == to_bytes(whole)
    as_state = qw.learn("bn", columns, cpd=cpd, missing="state")
    assert as_state.variables[0].n_states == STATES[0] + 1 and np.isfinite(qw.log_likelihood(as_state, columns)).all()
