"""How a stack lies in a model file: the files of its members, one after another, in words of eight bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.errors import ModelFileError
from quiltwork.models.packing import Described, describe
from quiltwork.models.stack import StackedRankers

SCHEMA = Described
TENSORS = {"words": ("I64", 1), "lengths": ("I64", 1), "weights": ("F64", 1)}  # lengths of the members, in bytes


def pack(model: StackedRankers) -> tuple[Described, dict[str, np.ndarray]]:
    """The members' files and the weights."""
    from quiltwork.models.files import to_bytes

    files = [to_bytes(member) for member in model.members]
    padded = b"".join(file + bytes(-len(file) % 8) for file in files)
    tensors = {
        "words": np.frombuffer(padded, "<i8").astype(np.int64),
        "lengths": np.array([len(file) for file in files], np.int64),
        "weights": np.ascontiguousarray(model.weights, np.float64),
    }
    return Described(**describe(model.encoder)), tensors


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> StackedRankers:
    """The stack again; a ValueError says what cannot be true of one."""
    from quiltwork.models.files import from_bytes

    content = tensors["words"].astype("<i8").tobytes()
    lengths, weights = tensors["lengths"].tolist(), tensors["weights"]
    if not lengths or min(lengths) < 0 or len(weights) != len(lengths) or not np.isfinite(weights).all():
        raise ValueError("every member of a stack must have one finite weight.")
    members, at = [], 0
    for length in lengths:
        try:
            members.append(from_bytes(content[at : at + length]))
        except ModelFileError as error:
            raise ValueError(f"one of its members cannot be read: {error}") from None
        at += length + -length % 8
    if any([v.name for v in member.variables] != description.names for member in members):
        raise ValueError("the members of a stack must be over the same items.")
    return StackedRankers(tuple(members), weights, provenance)
