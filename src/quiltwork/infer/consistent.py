"""The dependency network of a Bayesian network: every P(x_v | all others) by inference, so that all of them agree.

A dependency network learned piece by piece need not fit any joint distribution. One that is computed from a Bayesian
network does: its Gibbs sampler converges to the distribution of that network, whatever the order of the variables
(Heckerman et al. 2000, Theorem 2). The price is size, for the parents of a variable are its whole Markov blanket:

    P(v = s | blanket) is proportional to P(s | parents of v) times, for each child c, P(x_c | parents of c with v = s).
"""

from __future__ import annotations

from math import prod

import numpy as np

from quiltwork.cpds.table import TableCPD
from quiltwork.errors import InputError, ResourceLimitError
from quiltwork.infer.answer import Answer
from quiltwork.infer.query import query
from quiltwork.infer.question import model_of
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.dependency import DependencyNet

MAX_ENTRIES = 2**25  # of all tables together: 256 MB
MAX_AXES = 63  # of a table, beside its child: what NumPy can hold


def dn_from_bn(network: BayesianNet, max_entries: int = MAX_ENTRIES) -> DependencyNet:
    """The dependency network with the conditionals of a Bayesian network: each variable given its Markov blanket.

    network      a Bayesian network, or an estimator that learned one
    max_entries  numbers that all tables together may hold; a network that needs more is refused before it starts

    >>> from quiltwork.models.textbook import textbook
    >>> sprinkler = dn_from_bn(textbook("sprinkler"))
    >>> [parent for parent, child in sprinkler.arcs if child == "rain"]
    ['cloudy', 'sprinkler', 'wet']
    """
    network = model_of(network)
    if not isinstance(network, BayesianNet):
        raise InputError(
            f"dn_from_bn needs a Bayesian network, as BayesianNetwork learns. Got {type(network).__name__} instead."
        )
    children = network.structure.children()
    blankets = [network.structure.blanket(v, children) for v in range(len(network.variables))]
    _check_sizes(network, blankets, max_entries)
    network = network.tabular()
    cpds = tuple(
        TableCPD(v, tuple(blanket), _conditional(network, [v, *children[v]], blanket), _weights(network, blanket))
        for v, blanket in enumerate(blankets)
    )
    counts = np.zeros(sum(variable.n_states for variable in network.variables))
    return DependencyNet(network.encoder, cpds, counts, {"from": "bn"})


def _check_sizes(network: BayesianNet, blankets: list[list[int]], max_entries: int) -> None:
    n_states = [variable.n_states for variable in network.variables]
    sizes = [prod(n_states[u] for u in (v, *blanket)) for v, blanket in enumerate(blankets)]
    largest = max(range(len(sizes)), key=sizes.__getitem__, default=0)
    if sum(sizes) > max_entries or max(map(len, blankets), default=0) > MAX_AXES:
        raise ResourceLimitError(
            f"The tables of this dependency network would have {_told(sum(sizes))} entries, that of "
            f"{network.variables[largest].name!r} and its blanket of {len(blankets[largest])} variables alone "
            f"{_told(sizes[largest])}; the limit is {max_entries:,}. {_way_out(network)}"
        )


def _way_out(network: BayesianNet) -> str:
    families = ((v, *cpd.parents) for v, cpd in enumerate(network.cpds))
    n_entries = sum(prod(network.variables[u].n_states for u in family) for family in families)
    if network.is_tabular or n_entries <= MAX_ENTRIES:
        return "hrf_from_bn(network) has the same conditionals and keeps the tables of the network."
    return "Its trees alone are too wide to be tables: learn the network with max_parents."


def _told(n: int) -> str:
    return f"{n:,}" if n < 10**6 else f"{float(min(n, 10**300)):.3g}"


def _conditional(network: BayesianNet, families: list[int], blanket: list[int]) -> np.ndarray:
    """P(v | blanket), (configurations, states), from the families that v takes part in, its own first."""
    axes = (*blanket, families[0])
    n_states = [network.variables[u].n_states for u in axes]
    logits = np.zeros(n_states)
    for child in families:
        ((parents, table),) = network.cpds[child].log_tables()
        family = (*parents, child)
        table = table.reshape([network.variables[u].n_states for u in family])
        table = table.transpose(sorted(range(len(family)), key=lambda k: axes.index(family[k])))
        logits += table.reshape([r if u in family else 1 for u, r in zip(axes, n_states, strict=True)])
    logits = logits.reshape(-1, n_states[-1])
    top = logits.max(axis=1, keepdims=True)
    logits[np.isneginf(top[:, 0])] = 0.0  # what cannot happen leaves every state as probable as any other
    weights = np.exp(logits - np.where(np.isneginf(top), 0.0, top))
    return weights / weights.sum(axis=1, keepdims=True)


def _weights(network: BayesianNet, blanket: list[int]) -> np.ndarray | None:
    """How probable each configuration of the blanket is, which tells how to sum out a missing value of it."""
    if not blanket:
        return np.ones(1)
    try:
        found = query(network, [network.variables[u].name for u in blanket], method="exact")
    except ResourceLimitError:
        return None
    assert isinstance(found, Answer)
    return found.probabilities.ravel()
