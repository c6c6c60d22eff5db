"""How the walks of ItemRank lie in a model file: the encoder as the description, two arrays as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.models.items_file import items_of, pack_arrays
from quiltwork.models.packing import Described
from quiltwork.models.rankers import ItemWalk

SCHEMA = Described
TENSORS = {"state_counts": ("F64", 1), "reach": ("F64", 2)}


def pack(model: ItemWalk) -> tuple[Described, dict[str, np.ndarray]]:
    """The model as a description and tensors."""
    return pack_arrays(model, TENSORS)


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> ItemWalk:
    """The model again; a ValueError says what cannot be true of one."""
    encoder = items_of(description, tensors["state_counts"])
    reach = tensors["reach"]
    if reach.shape != (len(encoder.variables),) * 2:
        raise ValueError("there must be one chance for every two items.")
    if not ((reach >= 0) & (reach <= 1)).all() or reach.diagonal().any():
        raise ValueError("every chance must be a number from 0 to 1, and 0 from an item to itself.")
    return ItemWalk(encoder, tensors["state_counts"], reach, provenance)
