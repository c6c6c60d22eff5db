"""The Bayesian network as a value: variables, a directed acyclic structure, one CPD per variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.cpds.table import TableCPD
from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.encode import Encoder
from quiltwork.errors import InputError, ResourceLimitError
from quiltwork.models.network import Network

MAX_ENTRIES = 2**25  # of all trees and graphs turned into tables: 256 MB


@dataclass(frozen=True, eq=False, repr=False)
class BayesianNet(Network):
    """P(x) = prod_v P(x_v | parents of v).

    encoder     names and states of the variables, and how new rows are encoded
    cpds        the distribution of each variable given its parents, by column
    provenance  where the model came from: parameters, rows, score; plain values only
    strengths   of the arcs, in the order of `arcs`: what the score of the training rows would lose without each, or,
                where trees or graphs grew, the smallest gain until each entered

    >>> from quiltwork.models.textbook import textbook
    >>> textbook("sprinkler").arcs
    [('cloudy', 'sprinkler'), ('cloudy', 'rain'), ('sprinkler', 'wet'), ('rain', 'wet')]
    """

    encoder: Encoder
    cpds: tuple[TableCPD | TreeCPD, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    strengths: np.ndarray | None = None

    kind = "bn"

    def __post_init__(self) -> None:
        if self.structure.order() is None:
            raise InputError("The arcs of a Bayesian network must not form a cycle; these do.")

    @cached_property
    def is_tabular(self) -> bool:
        """Whether every CPD is a table."""
        return all(cpd.kind == "table" for cpd in self.cpds)

    def tabular(self) -> BayesianNet:
        """The same network with every tree or graph written out as a table; refused where they would be too large."""
        return self if self.is_tabular else self._written_out

    @cached_property
    def _written_out(self) -> BayesianNet:
        n_states = np.array([v.n_states for v in self.variables])
        n_entries = sum(cpd.n_entries(n_states) for cpd in self.cpds if isinstance(cpd, TreeCPD))
        if n_entries > MAX_ENTRIES:
            raise ResourceLimitError(
                f"The trees and graphs of this network would be tables with {n_entries:.3g} entries, past the limit of "
                f"{MAX_ENTRIES:,}; ask with method='gibbs', or learn with max_parents."
            )
        cpds = tuple(cpd if cpd.kind == "table" else cpd.to_table(n_states) for cpd in self.cpds)  # type: ignore[union-attr]
        return replace(self, cpds=cpds)

    @property
    def file_kind(self) -> str:
        """How the network lies in a model file."""
        return "bn" if self.is_tabular else "bn-local"
