"""How a Gaussian field over items lies in a model file: its encoder as the description, its arrays as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.models.items_file import items_of, pack_arrays
from quiltwork.models.packing import Described
from quiltwork.models.rankers import GaussianItems

SCHEMA = Described
TENSORS = {
    **dict.fromkeys(("state_counts", "mean", "precision"), ("F64", 1)),
    **dict.fromkeys(("weights", "factors"), ("F64", 2)),
}


def pack(model: GaussianItems) -> tuple[Described, dict[str, np.ndarray]]:
    """The model as a description and tensors."""
    return pack_arrays(model, TENSORS)


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> GaussianItems:
    """The model again; a ValueError says what cannot be true of one."""
    encoder = items_of(description, tensors["state_counts"])
    n_items = len(encoder.variables)
    mean, precision, weights, factors = (tensors[name] for name in ("mean", "precision", "weights", "factors"))
    if len(mean) != n_items or len(precision) != n_items or len(factors) != n_items:
        raise ValueError("its numbers do not fit the items.")
    if weights.shape != ((0, 0) if factors.shape[1] else (n_items, n_items)):
        raise ValueError("it must have either one weight for every two items or factors.")
    if not all(np.isfinite(tensors[name]).all() for name in TENSORS) or not (precision > 0).all():
        raise ValueError("every number must be finite, and every precision above 0.")
    if weights.diagonal().any():
        raise ValueError("no item may have a weight in its own mean.")
    return GaussianItems(encoder, tensors["state_counts"], mean, precision, weights, factors, provenance)
