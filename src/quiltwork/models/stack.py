"""A stack of rankers as a value: the models, and the weight that each has in the common order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder


@dataclass(frozen=True, eq=False)
class StackedRankers:
    """Models over the same items; the score of an item is the weighted sum of their scores, each made comparable.

    members     models with item scores, all over the same items
    weights     one for each, summing to one
    provenance  where the model came from; plain values only
    """

    members: tuple[Any, ...]
    weights: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind = "stack"
    arcs: tuple[tuple[str, str], ...] = ()

    @property
    def encoder(self) -> Encoder:
        return self.members[0].encoder

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.encoder.variables

    @property
    def state_counts(self) -> np.ndarray:
        return self.members[0].state_counts

    @property
    def n_parameters(self) -> int:
        return len(self.weights) - 1 + sum(member.n_parameters for member in self.members)

    def __repr__(self) -> str:
        parts = ", ".join(f"{w:.2f} {member!r}" for w, member in zip(self.weights, self.members, strict=True))
        return f"StackedRankers({parts})"
