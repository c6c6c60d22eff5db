"""The Bayesian network as a value: variables, a directed acyclic structure, one CPD per variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.errors import InputError
from quiltwork.models.structure import Structure


@dataclass(frozen=True, eq=False)
class BayesianNet:
    """P(x) = prod_v P(x_v | parents of v).

    encoder     names and states of the variables, and how new rows are encoded
    cpds        the distribution of each variable given its parents, by column
    provenance  where the model came from: parameters, rows, score; plain values only
    strengths   of the arcs, in the order of `arcs`: what the score of the training rows would lose without each

    >>> from quiltwork.models.textbook import textbook
    >>> textbook("sprinkler").arcs
    [('cloudy', 'sprinkler'), ('cloudy', 'rain'), ('sprinkler', 'wet'), ('rain', 'wet')]
    """

    encoder: Encoder
    cpds: tuple[TableCPD, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    strengths: np.ndarray | None = None

    kind = "bn"

    def __post_init__(self) -> None:
        if self.structure.order() is None:
            raise InputError("The arcs of a Bayesian network must not form a cycle; these do.")

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.encoder.variables

    @cached_property
    def structure(self) -> Structure:
        return Structure.from_parents(cpd.parents for cpd in self.cpds)

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """(parent, child) names, by child and then by parent."""
        names = [v.name for v in self.variables]
        return [(names[p], names[c]) for p, c in self.structure.arcs()]

    @property
    def n_parameters(self) -> int:
        return sum(cpd.n_parameters for cpd in self.cpds)

    def __repr__(self) -> str:
        sizes = f"{len(self.variables)} variables, {self.structure.n_arcs} arcs, {self.n_parameters} parameters"
        return f"BayesianNet({sizes})"
