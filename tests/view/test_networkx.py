"""Models as networkx graphs."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

import quiltwork as qw
from quiltwork.errors import InputError, MissingDependencyError
from tables import dataset, random_table

STATES = [2, 3, 2, 4, 2]


def rows_of(seed=0, n=400):
    return dataset(random_table(seed, n, STATES), STATES)


@pytest.mark.parametrize("learner", ["bn", "dn", "hrf", "mn", "tree"])
def test_the_arcs_of_every_kind_of_network(learner):
    model = qw.learn(learner, rows_of())
    graph = qw.to_networkx(model)
    assert list(graph) == [v.name for v in model.variables]
    assert graph.is_directed() == (learner in ("bn", "dn", "hrf"))
    arcs = model.arcs if graph.is_directed() else [tuple(sorted(edge)) for edge in model.edges]
    assert sorted(tuple(e) if graph.is_directed() else tuple(sorted(e)) for e in graph.edges) == sorted(arcs)
    ranked = sorted(graph.edges(data=True), key=lambda edge: edge[2]["rank"])
    strengths = [told["strength"] for *_, told in ranked]
    assert strengths == sorted(strengths, reverse=True) and len({told["rank"] for *_, told in ranked}) == len(ranked)
    assert graph.nodes["v1"]["states"] == (0, 1, 2) and graph.graph["strength"]


def test_the_strengths_of_trees_are_those_of_the_learner():
    est = qw.BayesianNetwork(cpd="tree", kappa=0.3).fit(rows_of())
    graph = qw.to_networkx(est)
    assert nx.is_directed_acyclic_graph(graph)
    ranked = sorted(graph.edges(data=True), key=lambda edge: edge[2]["rank"])
    assert {(u, v, told["strength"]) for u, v, told in ranked} == set(est.strengths_)
    assert [told["strength"] for *_, told in ranked] == [strength for *_, strength in est.strengths_]


@pytest.mark.parametrize("cpd", ["tree", "graph"])
def test_a_tree_or_graph_with_what_every_branch_asks(cpd):
    data = rows_of(3)
    model = qw.learn("bn", data, cpd=cpd, operators="CB" if cpd == "tree" else "CBM", kappa=0.8)
    codes = data.states()
    for v, own in enumerate(model.cpds):
        graph = qw.to_networkx(model, f"v{v}")
        assert graph.number_of_nodes() == len(own.variable) and nx.is_directed_acyclic_graph(graph)
        if cpd == "tree":
            assert len(own.variable) == 1 or nx.is_arborescence(graph)
        assert graph.nodes[0]["cases"] == 400
        for k, told in graph.nodes(data=True):
            assert ("probabilities" in told) == (graph.out_degree(k) == 0) == ("variable" not in told)
            if graph.out_degree(k):
                assert told["cases"] == sum(graph.edges[k, child]["cases"] for child in graph[k])
        for i in range(30):  # walking along the conditions leads to the leaf of the row
            k = 0
            while graph.out_degree(k):
                asked, here = graph.nodes[k]["variable"], int(codes[i, int(graph.nodes[k]["variable"][1:])])
                conditions = {child: graph.edges[k, child]["conditions"] for child in graph[k]}
                assert {c.variable for own in conditions.values() for c in own} == {asked}
                (k,) = [
                    child for child, any_of in conditions.items()
                    if any((c.state == here) == (c.relation == "=") for c in any_of)
                ]  # fmt: skip
            leaf = own.leaves(codes[i : i + 1])[0]
            np.testing.assert_allclose(list(graph.nodes[k]["probabilities"].values()), own.probs[leaf])


def test_a_table_is_no_tree():
    with pytest.raises(InputError, match="must be a decision tree or graph"):
        qw.to_networkx(qw.textbook("asia"), "lung")


def test_without_networkx(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'quiltwork\[graph\]'"):
        qw.to_networkx(qw.textbook("asia"))


def test_nothing_loads_networkx_before_it_is_asked_for():
    program = "import sys, quiltwork as qw; qw.to_networkx; assert 'networkx' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
