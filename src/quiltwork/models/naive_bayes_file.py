"""How a naive Bayes ranker lies in a model file: its encoder as the description, its two arrays as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.models.items_file import items_of, pack_arrays
from quiltwork.models.packing import Described
from quiltwork.models.rankers import NaiveBayesItems

SCHEMA = Described
TENSORS = {"state_counts": ("F64", 1), "given": ("F64", 2)}


def pack(model: NaiveBayesItems) -> tuple[Described, dict[str, np.ndarray]]:
    """The model as a description and tensors."""
    return pack_arrays(model, TENSORS)


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> NaiveBayesItems:
    """The model again; a ValueError says what cannot be true of one."""
    encoder = items_of(description, tensors["state_counts"])
    given = tensors["given"]
    if given.shape != (len(encoder.variables),) * 2:
        raise ValueError("there must be one probability for every two items.")
    if not ((given > 0) & (given < 1)).all():
        raise ValueError("every probability must be a number between 0 and 1.")
    return NaiveBayesItems(encoder, tensors["state_counts"], given, provenance)
