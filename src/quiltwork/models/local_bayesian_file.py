"""How a Bayesian network with trees or graphs lies in a model file: its CPDs (`local_file`), and strengths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.bayesian_file import strengths_of
from quiltwork.models.local_file import cpd_tensors, pack_cpds, unpack_cpds
from quiltwork.models.packing import Described, describe, encoder_of
from quiltwork.models.structure import Structure

SCHEMA = Described
KINDS = ("table", "tree", "graph")
TENSORS = {**cpd_tensors(KINDS), "strengths": ("F64", 1)}


def pack(model: BayesianNet) -> tuple[Described, dict[str, np.ndarray]]:
    """The network as a description and tensors."""
    strengths = np.empty(0) if model.strengths is None else np.asarray(model.strengths, np.float64)
    return Described(**describe(model.encoder)), {**pack_cpds(model.cpds, KINDS), "strengths": strengths}


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> BayesianNet:
    """The network again; a ValueError says what cannot be true of one."""
    encoder = encoder_of(description)
    cpds = unpack_cpds(tensors, np.array([variable.n_states for variable in encoder.variables], np.int64), KINDS)
    strengths = strengths_of(tensors["strengths"], Structure.from_parents(cpd.parents for cpd in cpds))
    return BayesianNet(encoder, cpds, provenance, strengths)  # which refuses a cycle
