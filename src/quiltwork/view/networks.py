"""A model as a networkx graph, for all that networkx and its friends can do with one.

A network has its variables as nodes and its arcs, with their strengths, as edges. The decision tree or graph of one
variable has its splits and leaves as nodes; where several branches of a split lead to the same node, one edge stands
for them and lists what each asks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quiltwork.cpds.tree import LEAF
from quiltwork.data.dataset import position
from quiltwork.errors import MissingDependencyError
from quiltwork.infer.question import model_of
from quiltwork.infer.rules import branch_conditions, tree_of
from quiltwork.view.kinds import kind_of


def to_networkx(model: Any, variable: str | None = None) -> Any:
    """The network of a model (or of a fitted estimator) in networkx, or the decision tree or graph of one variable.

    Without `variable`: a DiGraph, or a Graph where arcs have no direction. A node is the name of a variable, with its
    `states`; an edge has a `strength` and its `rank`, 1 for the strongest. `graph.graph` says what a strength means.

    With `variable`: a DiGraph from the root, node 0. A split has the `variable` it asks about and its `gain`, a leaf
    its `probabilities` by state; both have the `cases` of the training rows. An edge has `conditions`, of which any
    leads along it, and the `cases` that took it.

    >>> import quiltwork as qw
    >>> graph = qw.to_networkx(qw.textbook("asia"))
    >>> sorted(graph.predecessors("dysp")), graph.nodes["dysp"]["states"]
    (['bronc', 'either'], ('yes', 'no'))
    >>> est = qw.DependencyNetwork().fit(qw.sample(qw.textbook("asia"), 2000, seed=0))
    >>> tree = qw.to_networkx(est, "xray")
    >>> tree.nodes[0]["variable"], [str(*tree.edges[0, k]["conditions"]) for k in tree[0]]
    ('either', ['either = no', 'either = yes'])
    """
    model = model_of(model)
    return _network(model) if variable is None else _tree(model, variable)


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise MissingDependencyError.of("networkx", "graph", "A networkx graph") from None
    return networkx


def _network(model: Any) -> Any:
    kind = kind_of(model)
    arcs = kind.arcs(model)
    graph = _networkx().DiGraph() if kind.directed else _networkx().Graph()
    graph.graph.update(name=kind.title, strength=arcs.meaning, unit=arcs.unit)
    for variable in model.variables:
        graph.add_node(variable.name, states=variable.states)
    names = [variable.name for variable in model.variables]
    ends = zip(arcs.source.tolist(), arcs.target.tolist(), arcs.strength.tolist(), strict=True)
    for rank, (source, target, strength) in enumerate(ends, 1):
        graph.add_edge(names[source], names[target], strength=strength, rank=rank)
    return graph


def _tree(model: Any, variable: str) -> Any:
    cpd = tree_of(model, variable)
    graph, states = _networkx().DiGraph(), model.variables[position(variable, model.variables)].states
    graph.graph.update(name=f"P({variable} | ...) as a decision {cpd.kind}")
    cases, arriving = cpd.counts.sum(axis=1), np.zeros(len(cpd.variable))
    np.add.at(arriving, cpd.branches, cpd.flow)
    arriving[0] = cases.sum()
    for k, v in enumerate(cpd.variable.tolist()):
        if v == LEAF:
            told = {"probabilities": dict(zip(states, cpd.probs[cpd.first[k]].tolist(), strict=True))}
            graph.add_node(k, cases=float(cases[cpd.first[k]]), **told)
        else:
            graph.add_node(k, cases=float(arriving[k]), variable=model.variables[v].name, gain=float(cpd.gain[k]))
    for k in np.flatnonzero(cpd.variable != LEAF).tolist():
        asked = branch_conditions(cpd, k, model.variables)
        for b, condition in zip(range(cpd.first[k], cpd.end[k]), asked, strict=True):
            child = int(cpd.branches[b])
            if not graph.has_edge(k, child):
                graph.add_edge(k, child, conditions=(), cases=0.0)
            edge = graph.edges[k, child]
            edge["conditions"], edge["cases"] = (*edge["conditions"], condition), edge["cases"] + float(cpd.flow[b])
    return graph
