"""How a dependency network with CPDs other than tables lies in a model file (see `local_file`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.models.bayesian_file import strengths_of
from quiltwork.models.dependency import DependencyNet
from quiltwork.models.local_file import cpd_tensors, pack_cpds, unpack_cpds
from quiltwork.models.packing import Described, check_counts, describe, encoder_of
from quiltwork.models.structure import Structure

SCHEMA = Described
TENSORS = {**cpd_tensors(), "strengths": ("F64", 1), "state_counts": ("F64", 1)}


def pack(model: DependencyNet) -> tuple[Described, dict[str, np.ndarray]]:
    """The network as a description and tensors."""
    tensors = {
        **pack_cpds(model.cpds),
        "strengths": np.empty(0) if model.strengths is None else np.asarray(model.strengths, np.float64),
        "state_counts": np.ascontiguousarray(model.state_counts, np.float64),
    }
    return Described(**describe(model.encoder)), tensors


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> DependencyNet:
    """The network again; a ValueError says what cannot be true of one."""
    encoder = encoder_of(description)
    n_states = np.array([variable.n_states for variable in encoder.variables], np.int64)
    cpds = unpack_cpds(tensors, n_states)
    check_counts(tensors["state_counts"], int(n_states.sum()))
    strengths = strengths_of(tensors["strengths"], Structure.from_parents(cpd.parents for cpd in cpds))
    return DependencyNet(encoder, cpds, tensors["state_counts"], provenance, strengths)
