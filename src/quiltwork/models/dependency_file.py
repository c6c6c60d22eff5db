"""How a dependency network lies in a model file: as a Bayesian network does, cycles allowed, and two tensors more.

Beside the tensors of `bayesian_file` there are config_weights, those of all tables one after another in the order of
their rows, and state_counts, those of all states of all variables one after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.cpds.table import TableCPD
from quiltwork.models.bayesian_file import TENSORS as OF_A_NETWORK
from quiltwork.models.bayesian_file import Description, strengths_of, structure_of
from quiltwork.models.dependency import DependencyNet
from quiltwork.models.packing import check_counts, check_rows, describe, encoder_of, table_starts

SCHEMA = Description
TENSORS = {**OF_A_NETWORK, "config_weights": ("F64", 1), "state_counts": ("F64", 1)}


def pack(model: DependencyNet) -> tuple[Description, dict[str, np.ndarray]]:
    """The network as a description and tensors."""
    tables = [np.ascontiguousarray(cpd.probs, np.float64).ravel() for cpd in model.cpds]
    structure = model.structure
    tensors = {
        "indptr": structure.indptr,
        "indices": structure.indices,
        "starts": np.cumsum([0, *map(len, tables)], dtype=np.int64),
        "probs": np.concatenate([np.empty(0), *tables]),
        "strengths": np.empty(0) if model.strengths is None else np.asarray(model.strengths, np.float64),
        "config_weights": np.concatenate([np.empty(0), *model.config_weights]),
        "state_counts": np.ascontiguousarray(model.state_counts, np.float64),
    }
    return Description(**describe(model.encoder)), tensors


def unpack(description: Description, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> DependencyNet:
    """The network again; a ValueError says what cannot be true of one."""
    encoder = encoder_of(description)
    n_states = np.array([variable.n_states for variable in encoder.variables], np.int64)
    structure = structure_of(tensors["indptr"], tensors["indices"], len(n_states))
    starts, probs, weights = tensors["starts"], tensors["probs"], tensors["config_weights"]
    everyone = np.arange(len(n_states))
    if not np.array_equal(starts, table_starts(everyone, structure.indptr, structure.indices, n_states, len(probs))):
        raise ValueError("the tables do not have the sizes that the parents and states ask for.")
    n_configs = np.diff(starts) // n_states
    check_rows(probs, np.repeat(n_states, n_configs))
    check_counts(weights, n_configs.sum())
    check_counts(tensors["state_counts"], n_states.sum())
    cpds = tuple(
        TableCPD(v, structure.parents(v), probs[starts[v] : starts[v + 1]].reshape(-1, r))
        for v, r in enumerate(n_states.tolist())
    )
    by_variable = tuple(np.split(weights, np.cumsum(n_configs)[:-1])) if len(n_states) else ()
    strengths = strengths_of(tensors["strengths"], structure)
    return DependencyNet(encoder, cpds, by_variable, tensors["state_counts"], provenance, strengths)
