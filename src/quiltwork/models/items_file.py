"""What the rankers share in a model file: the encoder as the description, every array as a tensor of its own name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from quiltwork.data.encode import Encoder
from quiltwork.models.packing import Described, describe, encoder_of


def pack_arrays(model: Any, names: Iterable[str]) -> tuple[Described, dict[str, np.ndarray]]:
    """The encoder and the arrays with these names."""
    return Described(**describe(model.encoder)), {name: np.ascontiguousarray(getattr(model, name)) for name in names}


def items_of(described: Described, state_counts: np.ndarray) -> Encoder:
    """The encoder of items, each of two states with its counts; a ValueError says what cannot be true of one."""
    encoder = encoder_of(described)
    if any(variable.n_states != 2 for variable in encoder.variables):
        raise ValueError("every item must have two states.")
    if len(state_counts) != 2 * len(encoder.variables):
        raise ValueError("the counts of states do not fit the items.")
    if not (np.isfinite(state_counts) & (state_counts >= 0)).all():
        raise ValueError("every count must be a finite number of at least 0.")
    return encoder
