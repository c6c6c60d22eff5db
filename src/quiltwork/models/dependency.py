"""The dependency network as a value: for every variable the others that predict it, and how.

Heckerman, Chickering, Meek, Rounthwaite, Kadie (2000): each P(x_v | all others) = P(x_v | parents of v) is learned
alone. The arcs may form cycles, and the pieces need not agree on one joint distribution; what they define together
is a Gibbs sampler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quiltwork.data.encode import Encoder
from quiltwork.models.network import Network


@dataclass(frozen=True, eq=False, repr=False)
class DependencyNet(Network):
    """P(x_v | all others) = P(x_v | parents of v), for every v.

    encoder       names and states of the variables, and how new rows are encoded
    cpds          the distribution of each variable given its parents, by column; of any kinds
    state_counts  (all states,) how often each state of each variable occurred in training
    provenance    where the model came from; plain values only
    strengths     of the arcs, in the order of `arcs`: of trees the greatest further penalty on a split under which the
                  arc would still be there, of tables what the score of the child gained when the parent entered, else
                  the log-likelihood that the rows lose without the parent

    >>> from quiltwork.cpds.table import TableCPD
    >>> from quiltwork.data.dataset import Variable
    >>> pair = Encoder((Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))))
    >>> rain = TableCPD(0, (1,), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> wet = TableCPD(1, (0,), np.array([[0.8, 0.2], [0.1, 0.9]]))
    >>> DependencyNet(pair, (rain, wet), np.zeros(4)).arcs
    [('wet', 'rain'), ('rain', 'wet')]
    """

    encoder: Encoder
    cpds: tuple[Any, ...]
    state_counts: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)
    strengths: np.ndarray | None = None

    kind = "dn"

    @property
    def file_kind(self) -> str:
        """How the network lies in a model file."""
        return "dn" if all(cpd.kind == "table" for cpd in self.cpds) else "dn-local"

    def blanket(self, v: int) -> list[int]:
        """Columns of the parents of v: given these, P(x_v | all others) reads no other."""
        return sorted(self.cpds[v].parents)
