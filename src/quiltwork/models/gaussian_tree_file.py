"""How a Gaussian Markov tree lies in a model file: names as the description, its flat arrays as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.data.dataset import Variable
from quiltwork.data.numbers import NumberEncoder
from quiltwork.models.gaussian_file import Description
from quiltwork.models.markov_tree import GaussianTree

SCHEMA = Description
TENSORS = {"parent": ("I64", 1), **dict.fromkeys(("mean", "deviation", "correlation"), ("F64", 1))}


def pack(model: GaussianTree) -> tuple[Description, dict[str, np.ndarray]]:
    """The tree as a description and tensors."""
    names = [variable.name for variable in model.variables]
    tensors = {name: np.ascontiguousarray(getattr(model, name)) for name in TENSORS}
    return Description(names, model.encoder.missing), tensors


def unpack(description: Description, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> GaussianTree:
    """The tree again; a ValueError says what cannot be true of one."""
    names = description.names
    if not names or len(set(names)) != len(names):
        raise ValueError("there must be variables, and no two of the same name.")
    for name in ("mean", "deviation", "correlation"):
        if len(tensors[name]) != len(names) or not np.isfinite(tensors[name]).all():
            raise ValueError(f"every variable must have one {name}, a finite number.")
    encoder = NumberEncoder(tuple(Variable(name, ()) for name in names), description.missing)
    tree = GaussianTree(encoder, **{name: tensors[name] for name in TENSORS}, provenance=provenance)
    if tree.correlation[tree.parent < 0].any():
        raise ValueError("a root has no parent to correlate with.")
    return tree
