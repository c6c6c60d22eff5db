"""Prior counts from a prior network (Heckerman, Geiger, Chickering 1995).

The user's network, worth `equivalent_sample_size` rows, says how often each family is expected in every
configuration: alpha(child = k, configuration j) = N * P(child = k, configuration j | prior network).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quiltwork.data.dataset import Variable, position
from quiltwork.errors import ParameterError
from quiltwork.infer.query import query

FamilyPrior = Callable[[int, tuple[int, ...]], np.ndarray]


def prior_families(network: Any, variables: Sequence[Variable], equivalent_sample_size: float) -> FamilyPrior:
    """The prior counts of any family over `variables`, from a network with the same variables and states."""
    if network is None:
        raise ParameterError("score='prior-network' needs the network: set 'prior_network' to a Bayesian network.")
    network = getattr(network, "model_", network)
    order = [_order_of_states(variable, network) for variable in variables]

    def prior(child: int, parents: tuple[int, ...]) -> np.ndarray:
        family = (*parents, child)
        joint = query(network, [variables[v].name for v in family]).probabilities
        joint = joint[np.ix_(*(order[v] for v in family))]
        # A count of zero would make a family impossible for ever; a trace keeps the score finite.
        return np.maximum(equivalent_sample_size * joint.reshape(-1, joint.shape[-1]), 1e-12)

    return prior


def read_prior(path: str) -> Any:
    """The network in a file, as it is named on the command line: a model file, or BIF, XMLBIF or UAI."""
    from quiltwork.models.files import load
    from quiltwork.models.foreign import read_network

    return load(path) if path.lower().endswith(".qw") else read_network(path)


def _order_of_states(variable: Variable, network: Any) -> list[int]:
    """For each state of the data's variable its place in the network's."""
    own = network.variables[position(variable.name, network.variables)]
    if own.n_states != variable.n_states:
        raise ParameterError(
            f"In 'prior_network' the variable {variable.name!r} must have the {variable.n_states} states of the data; "
            f"it has {own.n_states}."
        )
    return [own.index(state) for state in variable.states]
