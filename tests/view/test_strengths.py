"""How strong an arc is: defined for every kind, strongest first, and judged by the joint distribution."""

from dataclasses import replace

import numpy as np
import pytest
from some_models import LEARNED, features, model_of, network, trees

import quiltwork as qw
from naive import joint, pictures
from quiltwork.errors import DataWarning, InputError
from quiltwork.view import evidence, information, strengths
from quiltwork.view.information import blanket_information
from quiltwork.view.kinds import kind_of


def told(arcs):
    return {(u, v): s for u, v, s in zip(arcs.source.tolist(), arcs.target.tolist(), arcs.strength.tolist())}


@pytest.mark.parametrize("kind", LEARNED)
def test_every_kind_has_arcs_from_strong_to_weak(kind):
    arcs = kind_of(model_of(kind)).arcs(model_of(kind))
    n_vars = len(model_of(kind).variables)
    assert (np.diff(arcs.strength) <= 0).all() and (arcs.strength >= 0).all()
    assert ((arcs.source >= 0) & (arcs.source < n_vars) & (arcs.target >= 0) & (arcs.target < n_vars)).all()
    assert (arcs.source != arcs.target).all() and arcs.meaning
    assert len(told(arcs)) == len(arcs.source)


@pytest.mark.parametrize("kind", [kind for kind in LEARNED if kind not in ("gmf", "nb", "itemrank", "latent", "stack")])
def test_the_arcs_are_those_of_the_model(kind):
    model = model_of(kind)
    names = [variable.name for variable in model.variables]
    shown = [(names[u], names[v]) for u, v in told(kind_of(model).arcs(model))]
    assert sorted(shown) == sorted(model.arcs)


def test_a_learner_s_strengths_are_taken_over():
    model = model_of("bn")
    given = zip(model.structure.arcs(), model.strengths.tolist(), strict=True)
    assert told(strengths.family_arcs(model)) == dict(given)


# Mutual information where no learner told a strength


def judged(model, u, v, given):
    n_states = [variable.n_states for variable in model.variables]
    table = joint.joint(n_states, [cpd.parents for cpd in model.cpds], [cpd.probs for cpd in model.cpds])
    return pictures.information(table, u, v, given)


def test_information_of_a_network_is_that_of_its_joint():
    model = network(5, [(), (0,), (0, 1), (1, 2), (0, 2, 3)], states=("a", "b", "c"))
    found = told(strengths.family_arcs(model))
    for (u, v), strength in found.items():
        others = [p for p in model.cpds[v].parents if p != u]
        assert strength == pytest.approx(judged(model, u, v, others), abs=1e-10)


def test_a_large_network_weighs_configurations_by_sampling(monkeypatch):
    model = network(5, [(), (0,), (0, 1), (1, 2), (0, 2, 3)])
    exact = told(strengths.family_arcs(model))
    monkeypatch.setattr(strengths, "EXACT_VARIABLES", 0)
    sampled = told(strengths.family_arcs(model))
    assert sampled == told(strengths.family_arcs(model))
    for arc, strength in exact.items():
        assert sampled[arc] == pytest.approx(strength, rel=0.25, abs=0.005)
    assert evidence.sampled_rows(model).n_samples == evidence.ROWS


def test_information_is_zero_where_a_parent_says_nothing():
    model = network(3, [(), (), (0, 1)])
    flat = replace(model.cpds[2], probs=np.tile([[0.3, 0.7], [0.6, 0.4]], (2, 1)))  # reads its second parent alone
    found = told(strengths.family_arcs(replace(model, cpds=(*model.cpds[:2], flat))))
    assert found[0, 2] == pytest.approx(0.0, abs=1e-12) and found[1, 2] > 0.01


def test_information_of_a_linear_gaussian_is_that_of_its_correlation():
    model = replace(model_of("gbn"), strengths=None)
    (arc,) = model.structure.arcs()
    rain, river = (np.asarray(column) for column in (qw.sample(model, 200_000, seed=0).values.T[:2]))
    r = np.corrcoef(rain, river)[0, 1]
    assert told(strengths.family_arcs(model))[arc] == pytest.approx(-0.5 * np.log1p(-(r**2)), rel=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_information_in_a_hybrid_field_is_that_of_its_local_network(seed, monkeypatch):
    """Rows are sampled, so it is judged within five standard errors; the deviation of a term is 0.35 (log 2 / 2)."""
    monkeypatch.setattr(information, "ROWS", 20_000)
    net = network(5, [(), (0,), (0, 1), (1, 2), (0, 3)], seed)
    field = qw.hrf_from_bn(net)
    for u, v, worth in zip(*blanket_information(field), strict=True):
        local = field.network(f"x{v}")
        names = [variable.name for variable in local.variables]
        a, b = names.index(f"x{u}"), names.index(f"x{v}")
        rest = [k for k in range(len(names)) if k not in (a, b)]
        assert worth == pytest.approx(judged(local, a, b, rest), abs=5 * 0.35 / np.sqrt(20_000))


def test_a_field_of_independent_variables_has_no_information():
    field = qw.hrf_from_bn(network(3, [(), (), ()]))
    assert len(blanket_information(field)[0]) == 0


# Trees, features, rankers


def test_in_a_tree_no_parent_stands_behind_those_below_it():
    net, _ = trees()
    found = told(strengths.family_arcs(net))
    assert found == {(2, 0): 9.0, (1, 0): 9.0, (0, 2): 7.0, (0, 1): 5.0, (1, 2): 2.0}
    given = replace(net, strengths=np.array([4.0, 1.0, 5.0, 6.0, 2.0]))  # of (1,0), (2,0), (0,1), (0,2), (1,2)
    assert told(strengths.family_arcs(given)) == {(1, 0): 4.0, (2, 0): 1.0, (0, 1): 5.0, (0, 2): 6.0, (1, 2): 2.0}


def test_a_regression_is_as_strong_as_it_moves_the_logits():
    arcs = strengths.family_arcs(model_of("logistic"))
    assert told(arcs) == {(1, 0): 2.0} and arcs.meaning == "most that the parent moves the log-odds"


def test_what_the_distributions_say_without_a_learner_is_told_by_their_kind():
    net, _ = trees()
    assert strengths.family_arcs(net).meaning == "gain of the best split"
    assert strengths.family_arcs(network(3, [(), (0,)])).meaning == "mutual information given the other parents"
    table = qw.sample(qw.textbook("asia"), 500, seed=0)
    tables, trees_ = (qw.DependencyNetwork(cpd=cpd).fit(table).model_ for cpd in ("table", "tree"))
    mixed = replace(tables, cpds=(*tables.cpds[:4], *trees_.cpds[4:]), strengths=None)
    assert strengths.family_arcs(mixed).meaning == "told by each variable's own kind of distribution"


def test_trees_in_the_place_of_regressions_are_measured_as_these_are():
    many = np.arange(2000) % 70
    with pytest.warns(DataWarning, match="2 such variables get decision trees"):
        model = qw.learn("dn", {"a": many, "b": (many * 3) % 70}, cpd="logistic", strength=1.0, kappa=1.0)
    assert {cpd.kind for cpd in model.cpds} == {"tree"} and model.arcs
    assert strengths.family_arcs(model).meaning == "log-likelihood lost without the parent"


def test_features_add_up_on_the_edges_that_hold_them():
    assert told(strengths.feature_edges(features())) == pytest.approx({(0, 1): 2.1, (1, 2): 0.8, (0, 2): 0.1})


def test_a_ranker_shows_each_item_with_its_strongest():
    model = model_of("gmf")
    arcs = strengths.field_weights(model)
    for v in range(len(model.variables)):
        best = int(np.abs(np.where(np.arange(12) == v, 0, model.weights[v])).argmax())
        assert (min(v, best), max(v, best)) in told(arcs)
    assert "strongest 10" in arcs.note


def test_an_unknown_kind_is_shown_by_its_own_arcs():
    class Foreign:
        kind = "from another planet"
        variables = qw.textbook("sprinkler").variables
        arcs = (("rain", "wet"), ("cloudy", "rain"))

    assert told(kind_of(Foreign()).arcs(Foreign())) == {(2, 3): 0.0, (0, 2): 0.0}
    assert "Foreign" in kind_of(Foreign()).local(Foreign(), 0, 8)["reason"]


def test_strengths_that_are_no_numbers_are_refused():
    model = replace(model_of("bn"), strengths=np.full(model_of("bn").structure.n_arcs, np.nan))
    with pytest.raises(InputError, match="not all finite"):
        strengths.family_arcs(model)


@pytest.mark.parametrize(
    "learner, meaning",
    [
        (qw.BayesianNetwork(search="climb"), "score lost without the arc"),
        (qw.BayesianNetwork(cpd="tree"), "smallest gain until the arc entered"),
        (qw.BayesianNetwork(cpd="graph"), "smallest gain until the arc entered"),
        (qw.DependencyNetwork(), "penalty that the arc withstands"),
        (qw.DependencyNetwork(cpd="table"), "gain when the parent entered"),
        (qw.DependencyNetwork(cpd="logistic"), "log-likelihood lost without the parent"),
        (qw.DependencyNetwork(cpd="auto"), "log-likelihood lost without the parent"),
    ],
)
def test_what_was_measured_is_told(learner, meaning):
    """And the order of the arcs is the learner's."""
    est = learner.fit(qw.sample(qw.textbook("asia"), 1000, seed=0))
    arcs = strengths.family_arcs(est.model_)
    names = [variable.name for variable in est.model_.variables]
    assert arcs.meaning == meaning
    told_arcs = [(names[u], names[v], w) for u, v, w in zip(*(part.tolist() for part in arcs[:3]), strict=True)]
    assert told_arcs == est.strengths_
