"""How a Bayesian network lies in a model file.

Names, states and policies are the description; everything that is a number is one of five flat tensors, so that a
network of 5,000 variables is still five tensors:

    indptr, indices  the parents of variable v are indices[indptr[v]:indptr[v + 1]], ascending
    starts           the table of v is probs[starts[v]:starts[v + 1]]
    probs            all tables, row by row, one after another
    strengths        of the arcs, in the order of `indices`; empty where they are not known
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from quiltwork.cpds.table import TableCPD
from quiltwork.data.encode import Encoder
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.packing import Described, check_rows, check_starts, describe, encoder_of, table_starts
from quiltwork.models.structure import Structure

TENSORS = {  # type, dimensions
    "indptr": ("I64", 1),
    "indices": ("I64", 1),
    "starts": ("I64", 1),
    "probs": ("F64", 1),
    "strengths": ("F64", 1),
}


class Description(Described):
    cpd: Literal["table"] = "table"


SCHEMA = Description


def pack(model: BayesianNet) -> tuple[Description, dict[str, np.ndarray]]:
    """The network as a description and tensors."""
    return Description(**describe(model.encoder)), pack_tables(model)


def unpack(description: Description, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> BayesianNet:
    """The network again; a ValueError says what cannot be true of one."""
    encoder = encoder_of(description)
    cpds, strengths = unpack_tables(encoder, tensors)
    return BayesianNet(encoder, cpds, provenance, strengths)  # which refuses a cycle


def pack_tables(model: Any) -> dict[str, np.ndarray]:
    """The tensors of any model with one table per variable and strengths of its arcs."""
    tables = [np.ascontiguousarray(cpd.probs, np.float64).ravel() for cpd in model.cpds]
    return {
        "indptr": model.structure.indptr,
        "indices": model.structure.indices,
        "starts": np.cumsum([0, *map(len, tables)], dtype=np.int64),
        "probs": np.concatenate([np.empty(0), *tables]),
        "strengths": np.empty(0) if model.strengths is None else np.asarray(model.strengths, np.float64),
    }


def unpack_tables(
    encoder: Encoder, tensors: Mapping[str, np.ndarray]
) -> tuple[tuple[TableCPD, ...], np.ndarray | None]:
    """The tables and strengths again, their sizes, rows and parents checked."""
    n_states = np.array([variable.n_states for variable in encoder.variables], np.int64)
    structure = structure_of(tensors["indptr"], tensors["indices"], len(n_states))
    starts, probs, everyone = tensors["starts"], tensors["probs"], np.arange(len(n_states))
    if not np.array_equal(starts, table_starts(everyone, structure.indptr, structure.indices, n_states, len(probs))):
        raise ValueError("the tables do not have the sizes that the parents and states ask for.")
    check_rows(probs, np.repeat(n_states, np.diff(starts) // n_states))
    cpds = tuple(
        TableCPD(v, structure.parents(v), probs[starts[v] : starts[v + 1]].reshape(-1, r))
        for v, r in enumerate(n_states.tolist())
    )
    return cpds, strengths_of(tensors["strengths"], structure)


def structure_of(indptr: np.ndarray, indices: np.ndarray, n_vars: int) -> Structure:
    check_starts(indptr, n_vars, len(indices))
    if ((indices < 0) | (indices >= n_vars)).any():
        raise ValueError("a parent is not one of the variables.")
    child = np.repeat(np.arange(n_vars), np.diff(indptr))
    if (indices == child).any() or ((np.diff(indices) <= 0) & (np.diff(child) == 0)).any():
        raise ValueError("a variable's parents must be other variables, ascending.")
    return Structure(indptr, indices)


def strengths_of(strengths: np.ndarray, structure: Structure) -> np.ndarray | None:
    if len(strengths) not in (0, structure.n_arcs) or not np.isfinite(strengths).all():
        raise ValueError("every arc must have one strength, a finite number, or none of them any.")
    return strengths if len(strengths) == structure.n_arcs else None
