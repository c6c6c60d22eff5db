"""Prior counts from a prior network (Heckerman, Geiger, Chickering 1995).

The user's network, worth `equivalent_sample_size` rows, says how often each family is expected in every
configuration: alpha(child = k, configuration j) = N * P(child = k, configuration j | prior network).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import State, Variable, position
from quiltwork.errors import ParameterError, UnknownStateError
from quiltwork.infer.exact import log_evidence
from quiltwork.infer.marginals import marginals
from quiltwork.infer.query import query
from quiltwork.models.bayesian import BayesianNet
from quiltwork.search.leaf_priors import Box, Prior, even_prior
from quiltwork.stats.leaves import LeafArrays

FamilyPrior = Callable[[int, tuple[int, ...]], np.ndarray]


def prior_families(network: Any, variables: Sequence[Variable], equivalent_sample_size: float) -> FamilyPrior:
    """The prior counts of any family over `variables`, from a network with the same variables and states."""
    network = _checked(network, variables)
    order = [_order_of_states(variable, network) for variable in variables]

    def prior(child: int, parents: tuple[int, ...]) -> np.ndarray:
        family = (*parents, child)
        joint = query(network, [variables[v].name for v in family]).probabilities  # type: ignore[union-attr]
        joint = joint[np.ix_(*(order[v] for v in family))]
        # A count of zero would make a family impossible for ever; a trace keeps the score finite.
        return np.maximum(equivalent_sample_size * joint.reshape(-1, joint.shape[-1]), 1e-12)

    return prior


def read_prior(path: str) -> Any:
    """The network in a file, as it is named on the command line: a model file, or BIF, XMLBIF or UAI."""
    from quiltwork.models.files import load
    from quiltwork.models.foreign import read_network

    return load(path) if path.lower().endswith(".qw") else read_network(path)


def _checked(network: Any, variables: Sequence[Variable]) -> BayesianNet:
    """The Bayesian network that was given, or the one that an estimator learned; it must know all variables."""
    if network is None:
        raise ParameterError("The prior 'prior-network' needs the network: set 'prior_network' to a Bayesian network.")
    network = getattr(network, "model_", network)
    if not isinstance(network, BayesianNet):
        raise ParameterError(
            "'prior_network' must be a Bayesian network: one that was learned with BayesianNetwork, or read with "
            f"quiltwork.read_network or quiltwork.load. Got {type(network).__name__} instead."
        )
    known = {variable.name for variable in network.variables}
    lacking = [variable.name for variable in variables if variable.name not in known]
    if lacking:
        raise ParameterError(
            f"'prior_network' must have all variables of the table; it lacks {', '.join(map(repr, lacking[:3]))}"
            f"{f' and {len(lacking) - 3} more' if len(lacking) > 3 else ''}."
        )
    return network


def _order_of_states(variable: Variable, network: BayesianNet) -> list[int]:
    """For each state of the data's variable its place in the network's."""
    own = network.variables[position(variable.name, network.variables)]
    try:
        order = [own.index(state) for state in variable.states]
    except UnknownStateError:
        order = []
    if sorted(order) != list(range(own.n_states)):
        raise ParameterError(
            f"In 'prior_network' the variable {variable.name!r} must have the {variable.n_states} states of the table, "
            f"{_some(variable.states)}; it has {_some(own.states)}."
        )
    return order


def _some(states: Sequence[State]) -> str:
    return ", ".join(map(repr, states[:8])) + (", ..." if len(states) > 8 else "")


def tree_prior(
    kind: str, network: Any, variables: Sequence[Variable], arrays: LeafArrays, equivalent_sample_size: float
) -> Prior | None:
    """Prior counts for the leaves of trees and graphs: none under "uniform", spread evenly under "bdeu", or those of a
    "prior-network"."""
    if kind == "uniform":
        return None
    equivalent_sample_size = float(equivalent_sample_size)
    if kind == "bdeu":
        return even_prior(arrays, equivalent_sample_size)
    return prior_boxes(network, variables, arrays.first_entry, equivalent_sample_size)


def prior_boxes(
    network: Any, variables: Sequence[Variable], first_entry: np.ndarray, equivalent_sample_size: float
) -> Prior:
    """Prior counts of leaves, laid out as leaf counts are: N * P(target = c, entry, configurations of the box).

    A box allows each of some variables a set of states. In the network that is evidence on one more child of the
    variable, which says "allowed"; so exact inference answers for all entries at once, a state of the target at a time.
    """
    network = _checked(network, variables)
    order = [_order_of_states(variable, network) for variable in variables]
    n_entries = sum(variable.n_states - 1 for variable in variables)

    def prior(target: int, box: Box) -> np.ndarray:
        narrowed, said = _with_boxes(network, {variables[v].name: (order[v], states) for v, states in box.items()})
        own = variables[target]
        out = np.zeros((own.n_states, n_entries + 1))
        for c, state in enumerate(own.states):
            evidence = {**said, own.name: state}
            share = equivalent_sample_size * np.exp(log_evidence(narrowed, evidence))
            if share == 0.0:
                continue
            found = marginals(narrowed, evidence, "exact")
            row = np.empty(n_entries + 1)
            row[-1] = 1.0
            for v, variable in enumerate(variables):
                row[first_entry[v] : first_entry[v] + variable.n_states - 1] = found[variable.name][order[v]][1:]
            out[c] = share * row
        out[0] = out.sum(axis=0)
        return out

    return prior


def _with_boxes(network: Any, boxes: dict[str, tuple[list[int], frozenset[int]]]) -> tuple[BayesianNet, dict]:
    """The network with a child "allowed" for each boxed variable, and the evidence that says so."""
    extra, cpds, said = [], list(network.cpds), {}
    for name, (order, states) in boxes.items():
        v = position(name, network.variables)
        allowed = np.zeros(network.variables[v].n_states)
        allowed[[order[s] for s in states]] = 1.0
        child = Variable(f"allowed: {name}", ("no", "yes"))
        cpds.append(TableCPD(len(cpds), (v,), np.column_stack([1.0 - allowed, allowed])))
        extra.append(child)
        said[child.name] = "yes"
    encoder = replace(network.encoder, variables=(*network.variables, *extra))
    return BayesianNet(encoder, tuple(cpds)), said
