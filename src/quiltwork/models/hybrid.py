"""The hybrid random field as a value: one small Bayesian network around every variable.

Definition 1 of Freno, Trentin, Gori (2009): the network of X_i holds X_i and its relatives, and P(X_i | all others) is
P(X_i | the blanket of X_i in that network). The networks need not agree with each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import Variable, position
from quiltwork.data.encode import Encoder
from quiltwork.errors import InputError
from quiltwork.models.bayesian import BayesianNet


@dataclass(frozen=True, eq=False)
class HybridField:
    """All local networks in flat arrays.

    encoder       names and states of the variables
    first_family  (n_vars + 1,): the families of the network around v are first_family[v]:first_family[v + 1]
    child         (n_families,) the child of each family; v itself comes first, then its relatives, ascending
    first_parent  (n_families + 1,) and parents: the parents of each family, ascending
    first_entry   (n_families + 1,) and probs: its table, configurations with the last parent fastest
    state_counts  (all states,) how often each state of each variable occurred in training
    provenance    where the model came from; plain values only

    >>> from quiltwork.models.textbook import textbook
    >>> field = hrf_from_bn(textbook("asia"))
    >>> field.network("lung").arcs
    [('smoke', 'lung'), ('tub', 'either'), ('lung', 'either')]
    """

    encoder: Encoder
    first_family: np.ndarray
    child: np.ndarray
    first_parent: np.ndarray
    parents: np.ndarray
    first_entry: np.ndarray
    probs: np.ndarray
    state_counts: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind = "hrf"

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.encoder.variables

    def relatives(self, name: str) -> list[str]:
        """The variables beside `name` in its network."""
        v = position(name, self.variables)
        return [self.variables[u].name for u in self.child[self.first_family[v] + 1 : self.first_family[v + 1]]]

    def network(self, name: str) -> BayesianNet:
        """The local network around a variable."""
        v = position(name, self.variables)
        members = self.members(v).tolist()
        place = {u: k for k, u in enumerate(members)}
        cpds: dict[int, TableCPD] = {}
        for f in range(self.first_family[v], self.first_family[v + 1]):
            child = int(self.child[f])
            table = self.probs[self.first_entry[f] : self.first_entry[f + 1]]
            own = tuple(place[p] for p in self.family_parents(f))
            cpds[place[child]] = TableCPD(place[child], own, table.reshape(-1, self.variables[child].n_states))
        encoder = Encoder(tuple(self.variables[u] for u in members), self.encoder.missing, self.encoder.unseen)
        return BayesianNet(encoder, tuple(cpds[k] for k in range(len(members))))

    def members(self, v: int) -> np.ndarray:
        """Columns of the variables in the network around v, ascending, v among them."""
        return np.sort(self.child[self.first_family[v] : self.first_family[v + 1]])

    def family_parents(self, family: int) -> tuple[int, ...]:
        return tuple(self.parents[self.first_parent[family] : self.first_parent[family + 1]].tolist())

    def blanket(self, v: int) -> list[int]:
        """Columns of the blanket of v inside its own network."""
        around: set[int] = set()
        for f in range(self.first_family[v], self.first_family[v + 1]):
            parents = self.family_parents(f)
            if self.child[f] == v or v in parents:
                around.update(parents, (int(self.child[f]),))
        return sorted(around - {v})

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """(u, v) for every u in the blanket of v: u helps to predict v."""
        names = [v.name for v in self.variables]
        return [(names[u], names[v]) for v in range(len(names)) for u in self.blanket(v)]

    @property
    def n_parameters(self) -> int:
        """Free parameters of all local networks."""
        n_states = np.array([v.n_states for v in self.variables])[self.child]
        return int((np.diff(self.first_entry) // n_states * (n_states - 1)).sum())

    def __repr__(self) -> str:
        return f"HybridField({len(self.variables)} variables, {len(self.child) - len(self.variables)} relatives)"


@dataclass(frozen=True, eq=False)
class AveragedField:
    """Several hybrid fields over the same variables; P(x_v | rest) is the mean of theirs.

    Fields learned from bootstrapped rows with different candidates err in different places, so their mean errs less.

    >>> from quiltwork.models.textbook import textbook
    >>> field = hrf_from_bn(textbook("asia"))
    >>> AveragedField((field, field))
    AveragedField(2 fields, 8 variables)
    """

    fields: tuple[HybridField, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind = "hrf-average"

    @property
    def encoder(self) -> Encoder:
        return self.fields[0].encoder

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.encoder.variables

    @property
    def state_counts(self) -> np.ndarray:
        return self.fields[0].state_counts

    def blanket(self, v: int) -> list[int]:
        """Columns that any of the fields reads to predict v."""
        return sorted(set().union(*(one.blanket(v) for one in self.fields)))

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """(u, v) for every u that some field reads to predict v."""
        return sorted(set().union(*(one.arcs for one in self.fields)))

    @property
    def n_parameters(self) -> int:
        return sum(one.n_parameters for one in self.fields)

    def __repr__(self) -> str:
        return f"AveragedField({len(self.fields)} fields, {len(self.variables)} variables)"


def hrf_from_bn(network: Any) -> HybridField:
    """The hybrid field with the conditionals of a Bayesian network: the local network of v is v with its blanket.

    Theorem 1 of the paper shows that a field can stand for any network by a product of P(X_i | parents), reading each
    blanket as the parents alone. This one keeps the true blankets, so that every P(X_i | all others), and with it the
    pseudo-likelihood and the Gibbs sampler, are those of the network.

    network  a Bayesian network, or an estimator that learned one

    >>> from quiltwork.models.textbook import textbook
    >>> hrf_from_bn(textbook("sprinkler")).relatives("rain")
    ['cloudy', 'sprinkler', 'wet']
    """
    network = getattr(network, "model_", network)
    if not isinstance(network, BayesianNet):
        raise InputError(f"hrf_from_bn needs a Bayesian network. Got {type(network).__name__} instead.")
    network = network.tabular()
    structure = network.structure
    children = structure.children()
    child, parents, tables, sizes = [], [], [], []
    for v in range(len(network.variables)):
        members = {v, *structure.blanket(v, children)}
        around = [v, *sorted(members - {v})]
        sizes.append(len(around))
        for u in around:
            own = network.cpds[u].parents
            # Families that v's conditional does not read may reach outside: they are cut down to a uniform root.
            inside = u == v or v in own
            child.append(u)
            parents.append(own if inside else ())
            n_states = network.variables[u].n_states
            tables.append(network.cpds[u].probs.ravel() if inside else np.full(n_states, 1.0 / n_states))
    n_all = sum(variable.n_states for variable in network.variables)
    return HybridField(
        network.encoder,
        _starts(sizes),
        np.array(child, np.int64),
        _starts([len(p) for p in parents]),
        np.array([p for own in parents for p in own], np.int64),
        _starts([len(t) for t in tables]),
        np.concatenate(tables),
        np.zeros(n_all),
        {"from": "bn"},
    )


def _starts(lengths: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
