"""The Gaussian Bayesian network as a value: names, a directed acyclic structure, one linear Gaussian per variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quiltwork.cpds.linear_gaussian import LinearGaussianCPD
from quiltwork.data.numbers import NumberEncoder
from quiltwork.errors import InputError
from quiltwork.models.network import Network


@dataclass(frozen=True, eq=False, repr=False)
class GaussianNet(Network):
    """p(x) = prod_v Normal(x_v; intercept_v + sum over parents of weight x_parent, variance_v).

    encoder     names of the variables, and how new rows are read
    cpds        the distribution of each variable given its parents, by column
    provenance  where the model came from: parameters, rows, score; plain values only
    strengths   of the arcs, in the order of `arcs`: what the score of the training rows would lose without each

    >>> import numpy as np, quiltwork as qw
    >>> rain = np.random.default_rng(0).gamma(2.0, 3.0, 500)
    >>> river = 2 + 0.1 * rain + np.random.default_rng(1).normal(0, 0.2, 500)
    >>> net = qw.learn("gbn", {"rain": rain, "river": river}, required=[("rain", "river")])
    >>> net
    GaussianNet(2 variables, 1 arcs, 5 parameters)
    >>> print(net)
    rain = 5.68 ± 3.91
    river = 1.99 + 0.0999 rain ± 0.183
    """

    encoder: NumberEncoder
    cpds: tuple[LinearGaussianCPD, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    strengths: np.ndarray | None = None

    kind = "gbn"

    def __post_init__(self) -> None:
        if self.structure.order() is None:
            raise InputError("The arcs of a Gaussian network must not form a cycle; these do.")

    def __str__(self) -> str:
        """Every variable as a sum of its parents, ± the deviation around it."""
        names = [v.name for v in self.variables]
        lines = []
        for cpd in self.cpds:
            pairs = zip(cpd.parents, cpd.weights.tolist())
            terms = "".join(f" {'-' if w < 0 else '+'} {abs(w):.3g} {names[p]}" for p, w in pairs)
            lines.append(f"{names[cpd.child]} = {cpd.intercept:.3g}{terms} ± {cpd.deviation:.3g}")
        return "\n".join(lines)
