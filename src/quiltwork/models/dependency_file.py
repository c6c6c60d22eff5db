"""How a dependency network lies in a model file: as a Bayesian network does, cycles allowed, and two tensors more.

Beside the tensors of `bayesian_file` there are config_weights, those of all tables one after another in the order of
their rows, and state_counts, those of all states of all variables one after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from quiltwork.cpds.table import TableCPD
from quiltwork.models.bayesian_file import TENSORS as OF_A_NETWORK
from quiltwork.models.bayesian_file import Description, pack_tables, unpack_tables
from quiltwork.models.dependency import DependencyNet
from quiltwork.models.packing import check_counts, describe, encoder_of

SCHEMA = Description
TENSORS = {**OF_A_NETWORK, "config_weights": ("F64", 1), "state_counts": ("F64", 1)}


def pack(model: DependencyNet) -> tuple[Description, dict[str, np.ndarray]]:
    """The network as a description and tensors."""
    tensors = {
        **pack_tables(model),
        "config_weights": np.concatenate([np.empty(0), *map(_weights, model.cpds)]),
        "state_counts": np.ascontiguousarray(model.state_counts, np.float64),
    }
    return Description(**describe(model.encoder)), tensors


def unpack(description: Description, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> DependencyNet:
    """The network again; a ValueError says what cannot be true of one."""
    encoder = encoder_of(description)
    cpds, strengths = unpack_tables(encoder, tensors)
    n_configs = [len(cpd.probs) for cpd in cpds]
    weights = tensors["config_weights"]
    check_counts(weights, sum(n_configs))
    check_counts(tensors["state_counts"], sum(variable.n_states for variable in encoder.variables))
    by_variable = np.split(weights, np.cumsum(n_configs)[:-1])
    weighted = tuple(replace(cpd, weights=own) for cpd, own in zip(cpds, by_variable, strict=False))
    return DependencyNet(encoder, weighted, tensors["state_counts"], provenance, strengths)


def _weights(cpd: TableCPD) -> np.ndarray:
    return np.ones(len(cpd.probs)) if cpd.weights is None else cpd.weights
