"""What networks with one CPD per variable share: Bayesian, Gaussian and dependency networks."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from quiltwork.data.dataset import Variable
from quiltwork.models.structure import Structure


class Network:
    """Names, arcs and size of a network, from its encoder and its CPDs."""

    encoder: Any
    cpds: tuple[Any, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        variables: tuple[Variable, ...] = self.encoder.variables
        return variables

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
        return f"{type(self).__name__}({sizes})"
