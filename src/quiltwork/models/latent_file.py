"""How latent causes lie in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.models.items_file import items_of
from quiltwork.models.latent import LatentItems
from quiltwork.models.packing import Described, describe

SCHEMA = Described
TENSORS = {"vectors": ("F64", 2), "state_counts": ("F64", 1), "precisions": ("F64", 1)}


def pack(model: LatentItems) -> tuple[Described, dict[str, np.ndarray]]:
    """The model as a description and tensors."""
    tensors = {
        "vectors": np.ascontiguousarray(model.vectors),
        "state_counts": np.ascontiguousarray(model.state_counts),
        "precisions": np.array([model.confidence, model.ridge]),
    }
    return Described(**describe(model.encoder)), tensors


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> LatentItems:
    """The model again; a ValueError says what cannot be true of one."""
    encoder = items_of(description, tensors["state_counts"])
    vectors, precisions = tensors["vectors"], tensors["precisions"]
    if vectors.shape[0] != len(encoder.variables) or not np.isfinite(vectors).all():
        raise ValueError("every item must have one vector of finite numbers.")
    if len(precisions) != 2 or not (np.isfinite(precisions) & (precisions >= 0)).all():
        raise ValueError("confidence and ridge must be finite numbers of at least 0.")
    return LatentItems(
        encoder, vectors, float(precisions[0]), float(precisions[1]), tensors["state_counts"], provenance
    )
