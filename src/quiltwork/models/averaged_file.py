"""How an averaged field lies in a model file: the tensors of its fields one after another, and their lengths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.models import hybrid_file
from quiltwork.models.hybrid import AveragedField
from quiltwork.models.packing import Described

SCHEMA = Described
TENSORS = {**hybrid_file.TENSORS, "lengths": ("I64", 2)}  # lengths (fields, tensors of a field)


def pack(model: AveragedField) -> tuple[Described, dict[str, np.ndarray]]:
    """The fields as one description and tensors."""
    packed = [hybrid_file.pack(one) for one in model.fields]
    tensors = {name: np.concatenate([one[name] for _, one in packed]) for name in hybrid_file.TENSORS}
    tensors["lengths"] = np.array([[len(one[name]) for name in hybrid_file.TENSORS] for _, one in packed], np.int64)
    return packed[0][0], tensors


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> AveragedField:
    """The fields again; a ValueError says what cannot be true of one."""
    lengths = tensors["lengths"]
    names = list(hybrid_file.TENSORS)
    if lengths.shape[0] < 1 or lengths.shape[1] != len(names) or (lengths < 0).any():
        raise ValueError("the lengths of its fields are impossible.")
    ends = lengths.cumsum(axis=0)
    if ends[-1].tolist() != [len(tensors[name]) for name in names]:
        raise ValueError("the lengths of its fields do not fit its numbers.")
    fields = []
    for k in range(len(lengths)):
        own = {name: tensors[name][ends[k, j] - lengths[k, j] : ends[k, j]] for j, name in enumerate(names)}
        fields.append(hybrid_file.unpack(description, own, {}))
    return AveragedField(tuple(fields), provenance)
