"""How a Markov network lies in a model file: its encoder as the description, its flat arrays as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.models.markov import MarkovNet
from quiltwork.models.packing import Described, check_counts, describe, encoder_of

SCHEMA = Described
TENSORS = {
    **dict.fromkeys(("first_condition", "columns", "states"), ("I64", 1)),
    **dict.fromkeys(("weights", "state_counts"), ("F64", 1)),
}


def pack(model: MarkovNet) -> tuple[Described, dict[str, np.ndarray]]:
    """The network as a description and tensors."""
    return Described(**describe(model.encoder)), {name: np.ascontiguousarray(getattr(model, name)) for name in TENSORS}


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> MarkovNet:
    """The network again; a ValueError says what cannot be true of one."""
    encoder, weights = encoder_of(description), tensors["weights"]
    with np.errstate(over="ignore"):
        if not np.isfinite(np.abs(weights).sum()):
            raise ValueError("every weight must be a finite number, and all of them together too.")
    check_counts(tensors["state_counts"], sum(variable.n_states for variable in encoder.variables))
    return MarkovNet(encoder, **{name: tensors[name] for name in TENSORS}, provenance=provenance)
