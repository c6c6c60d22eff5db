"""The Markov tree as a value: edges that form no cycle, and a distribution that factors along them.

Every tree is rooted somewhere, for then each variable has one conditional, P(x_v | x_parent), and their product is the
joint distribution. Where the root lies changes the conditionals and nothing else: the edges have no direction. A
variable that depends on no other is a tree by itself, so that in general the graph is a forest.

The variables have states (`DiscreteTree`), and then a conditional is a table; or all are numbers (`GaussianTree`), and
then a correlation says it all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.cpds.linear_gaussian import LinearGaussianCPD
from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.data.numbers import NumberEncoder
from quiltwork.errors import InputError
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.gaussian import GaussianNet
from quiltwork.models.structure import Structure


class Rooted:
    """What both trees share: a parent of every variable, or -1."""

    encoder: Any
    parent: np.ndarray

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.encoder.variables

    @cached_property
    def structure(self) -> Structure:
        """The tree as it is rooted: every variable with its parent."""
        return Structure.from_parents([p] if p >= 0 else [] for p in self.parent.tolist())

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Columns with parents before children."""
        return tuple(self.structure.order() or ())

    @cached_property
    def ends(self) -> np.ndarray:
        """The lower and the higher column of every edge, ascending; (n_edges, 2)."""
        child = np.flatnonzero(self.parent >= 0)
        pairs = np.sort(np.column_stack([child, self.parent[child]]), axis=1)
        return pairs[np.lexsort(pairs.T[::-1])]

    @property
    def edges(self) -> list[tuple[str, str]]:
        """Names of every two neighbours, in the order of the columns."""
        names = [variable.name for variable in self.variables]
        return [(names[u], names[v]) for u, v in self.ends.tolist()]

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """The edges; they have no direction."""
        return self.edges

    def blanket(self, v: int) -> list[int]:
        """Columns of the neighbours of v, ascending."""
        own = self.parent[v : v + 1]
        return sorted([*own[own >= 0].tolist(), *np.flatnonzero(self.parent == v).tolist()])

    def upwards(self, some: Iterable[int]) -> set[int]:
        """These columns and those on their ways to the roots."""
        found: set[int] = set()
        for v in some:
            while v >= 0 and v not in found:
                found.add(v)
                v = int(self.parent[v])
        return found

    def _check_parents(self, n_vars: int) -> None:
        if len(self.parent) != n_vars or ((self.parent < -1) | (self.parent >= n_vars)).any():
            raise InputError(f"A Markov tree needs for each of its {n_vars} variables the column of a parent, or -1.")
        if len(self.order) < n_vars:
            raise InputError("The edges of a Markov tree must not form a cycle; these do.")

    def _by_edge(self, of_child: np.ndarray) -> np.ndarray:
        """Numbers of the variables that have a parent, in the order of `edges`."""
        u, v = self.ends.T
        return of_child[np.where(self.parent[v] == u, v, u)]


@dataclass(frozen=True, eq=False)
class DiscreteTree(Rooted):
    """P(x) = prod_v P(x_v | x_parent of v), over variables with states.

    encoder       names and states of the variables, and how new rows are encoded
    parent        (n_vars,) the column of each variable's parent; -1 for a root
    first_entry   (n_vars + 1,) and probs: the table of each variable, a row for each state of the parent
    state_counts  (all states,) how often each state of each variable occurred in training
    provenance    where the model came from; plain values only

    >>> two = ("no", "yes")
    >>> encoder = Encoder((Variable("rain", two), Variable("wet", two)))
    >>> tables = [np.array([[0.8, 0.2]]), np.array([[0.9, 0.1], [0.1, 0.9]])]
    >>> tree = DiscreteTree.of_tables(encoder, [-1, 0], tables)
    >>> tree.edges, tree.strengths.round(4)
    ([('rain', 'wet')], array([0.248]))
    """

    encoder: Encoder
    parent: np.ndarray
    first_entry: np.ndarray
    probs: np.ndarray
    state_counts: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind = "tree"

    def __post_init__(self) -> None:
        self._check_parents(len(self.variables))

    @classmethod
    def of_tables(
        cls, encoder: Encoder, parent: Iterable[int], tables: Iterable[np.ndarray], **more: Any
    ) -> DiscreteTree:
        """A tree from one table per variable: (states of the parent, states), or (1, states) for a root."""
        flat = [np.ravel(table).astype(np.float64) for table in tables]
        first_entry = np.cumsum([0, *map(len, flat)]).astype(np.int64)
        n_states = sum(variable.n_states for variable in encoder.variables)
        return cls(
            encoder,
            np.array([*parent], np.int64),
            first_entry,
            np.concatenate([np.empty(0), *flat]),
            **{"state_counts": np.zeros(n_states), **more},
        )

    def table(self, v: int) -> np.ndarray:
        """P(x_v | x_parent), a row for each state of the parent; one row for a root."""
        return self.probs[self.first_entry[v] : self.first_entry[v + 1]].reshape(-1, self.variables[v].n_states)

    @cached_property
    def marginals(self) -> tuple[np.ndarray, ...]:
        """P(x_v) of every variable, by column."""
        known: dict[int, np.ndarray] = {}
        for v in self.order:
            p = int(self.parent[v])
            known[v] = self.table(v)[0] if p < 0 else known[p] @ self.table(v)
        return tuple(known[v] for v in range(len(known)))

    @cached_property
    def strengths(self) -> np.ndarray:
        """The mutual information of the two ends of every edge in nats, in the order of `edges`."""
        worth = np.zeros(len(self.parent))
        for v in np.flatnonzero(self.parent >= 0).tolist():
            given = self.table(v)
            both = self.marginals[self.parent[v]][:, None] * given
            ratio = np.divide(given, self.marginals[v], out=np.ones_like(given), where=both > 0)
            worth[v] = max(0.0, float((both * np.log(ratio)).sum()))
        return self._by_edge(worth)

    def directed(self) -> BayesianNet:
        """The same distribution as a Bayesian network with arcs that lead away from the roots."""
        cpds = (TableCPD(v, self.structure.parents(v), self.table(v)) for v in range(len(self.variables)))
        return BayesianNet(self.encoder, tuple(cpds), self.provenance)

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        n_states = np.array([variable.n_states for variable in self.variables], np.int64)
        return int((np.diff(self.first_entry) // n_states * (n_states - 1)).sum())

    def __repr__(self) -> str:
        return f"DiscreteTree({len(self.variables)} variables, {len(self.ends)} edges, {self.n_parameters} parameters)"


@dataclass(frozen=True, eq=False)
class GaussianTree(Rooted):
    """A Gaussian whose correlations factor along a tree: that of two variables is the product along their path.

    encoder      names of the variables, and how new rows are read
    parent       (n_vars,) the column of each variable's parent; -1 for a root
    mean         (n_vars,)
    deviation    (n_vars,) above 0
    correlation  (n_vars,) with the parent, between -1 and 1; 0 for a root
    provenance   where the model came from; plain values only

    >>> names = NumberEncoder((Variable("rain", ()), Variable("river", ())))
    >>> tree = GaussianTree(names, np.array([-1, 0]), np.array([6.0, 2.6]), np.array([4.0, 0.5]), np.array([0.0, 0.8]))
    >>> tree.edges, tree.strengths.round(4)
    ([('rain', 'river')], array([0.5108]))
    """

    encoder: NumberEncoder
    parent: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    correlation: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind = "gaussian-tree"

    def __post_init__(self) -> None:
        self._check_parents(len(self.variables))
        if not (self.deviation > 0).all() or not (np.abs(self.correlation) < 1).all():
            raise InputError("In a Gaussian tree deviations must be above 0 and correlations between -1 and 1.")

    @cached_property
    def strengths(self) -> np.ndarray:
        """The mutual information of the two ends of every edge in nats, in the order of `edges`."""
        return self._by_edge(-0.5 * np.log1p(-(self.correlation**2)))

    @cached_property
    def cpds(self) -> tuple[LinearGaussianCPD, ...]:
        """The distribution of each variable given its parent, by column."""
        return tuple(map(self._regression, range(len(self.parent))))

    def directed(self) -> GaussianNet:
        """The same distribution as a Gaussian network with arcs that lead away from the roots."""
        return GaussianNet(self.encoder, self.cpds, self.provenance)

    def _regression(self, v: int) -> LinearGaussianCPD:
        own = self.structure.parents(v)
        weights = self.correlation[v] * self.deviation[v] / self.deviation[list(own)]
        intercept = float(self.mean[v] - weights @ self.mean[list(own)])
        variance = float((1.0 - self.correlation[v] ** 2) * self.deviation[v] ** 2)
        return LinearGaussianCPD(v, own, intercept, weights, variance)

    @property
    def n_parameters(self) -> int:
        """A mean and a deviation of every variable, and a correlation of every edge."""
        return 2 * len(self.parent) + len(self.ends)

    def __repr__(self) -> str:
        return f"GaussianTree({len(self.variables)} variables, {len(self.ends)} edges, {self.n_parameters} parameters)"


def tree_from_bn(network: BayesianNet | GaussianNet) -> DiscreteTree | GaussianTree:
    """The Markov tree with the distribution of a Bayesian or Gaussian network in which no variable has two parents.

    >>> from quiltwork.models.textbook import textbook
    >>> tree_from_bn(textbook("sprinkler"))
    Traceback (most recent call last):
    quiltwork.errors.InputError: In a Markov tree no variable has two parents. 'wet' has 2: 'sprinkler' and 'rain'.
    """
    for cpd in network.cpds:
        if len(cpd.parents) > 1:
            *most, last = (repr(network.variables[p].name) for p in cpd.parents)
            raise InputError(
                f"In a Markov tree no variable has two parents. {network.variables[cpd.child].name!r} has "
                f"{len(cpd.parents)}: {', '.join(most)} and {last}."
            )
    parent = np.array([cpd.parents[0] if cpd.parents else -1 for cpd in network.cpds], np.int64)
    if isinstance(network, BayesianNet):
        return DiscreteTree.of_tables(network.encoder, parent.tolist(), (cpd.probs for cpd in network.cpds))
    mean, deviation, correlation = np.zeros((3, len(parent)))
    for v in network.structure.order() or ():
        cpd, p = network.cpds[v], parent[v]
        pull = cpd.weights[0] * deviation[p] if p >= 0 else 0.0
        mean[v] = cpd.intercept + (cpd.weights[0] * mean[p] if p >= 0 else 0.0)
        deviation[v] = np.hypot(pull, cpd.deviation)
        correlation[v] = pull / deviation[v]
    return GaussianTree(network.encoder, parent, mean, deviation, correlation, network.provenance)
