"""Latent causes as a value: every item has a vector, and a user's taste is inferred from what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder


@dataclass(frozen=True, eq=False)
class LatentItems:
    """x_ui ~ N(taste_u . vectors_i, 1 / confidence), taste_u ~ N(0, I / ridge).

    encoder       names and states of the items
    vectors       (n_items, rank)
    confidence    how much surer a choice is than a refusal: 1 + confidence against 1
    ridge         precision of the prior on a user's taste
    state_counts  (2 n_items,) for each item the users without and with it
    provenance    where the model came from; plain values only
    """

    encoder: Encoder
    vectors: np.ndarray
    confidence: float
    ridge: float
    state_counts: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind = "latent"
    arcs: tuple[tuple[str, str], ...] = ()  # every item hangs on the causes, none on another item

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.encoder.variables

    @property
    def n_parameters(self) -> int:
        return self.vectors.size

    def __repr__(self) -> str:
        return f"LatentItems({self.vectors.shape[0]} items, {self.vectors.shape[1]} causes)"
