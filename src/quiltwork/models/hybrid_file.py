"""How a hybrid random field lies in a model file: its encoder as the description, its flat arrays as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.models.hybrid import HybridField
from quiltwork.models.packing import Described, check_rows, check_starts, describe, encoder_of, table_starts

SCHEMA = Described
TENSORS = {
    **dict.fromkeys(("first_family", "child", "first_parent", "parents", "first_entry"), ("I64", 1)),
    **dict.fromkeys(("probs", "state_counts"), ("F64", 1)),
}


def pack(model: HybridField) -> tuple[Described, dict[str, np.ndarray]]:
    """The field as a description and tensors."""
    return Described(**describe(model.encoder)), {name: np.ascontiguousarray(getattr(model, name)) for name in TENSORS}


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> HybridField:
    """The field again; a ValueError says what cannot be true of one."""
    encoder = encoder_of(description)
    n_states = np.array([variable.n_states for variable in encoder.variables], np.int64)
    n_vars, child, parents = len(n_states), tensors["child"], tensors["parents"]
    check_starts(tensors["first_family"], n_vars, len(child))
    check_starts(tensors["first_parent"], len(child), len(parents))
    check_starts(tensors["first_entry"], len(child), len(tensors["probs"]))
    if any(((columns < 0) | (columns >= n_vars)).any() for columns in (child, parents)):
        raise ValueError("a network names a variable that is not there.")
    if len(tensors["state_counts"]) != n_states.sum() or not (tensors["state_counts"] >= 0).all():
        raise ValueError("the counts of states do not fit the variables.")
    starts = table_starts(child, tensors["first_parent"], parents, n_states, len(tensors["probs"]))
    if not np.array_equal(starts, tensors["first_entry"]):
        raise ValueError("the tables do not have the sizes that the parents and states ask for.")
    if not np.array_equal(child[tensors["first_family"][:-1]], np.arange(n_vars)):
        raise ValueError("every network must begin with its own variable.")
    check_rows(tensors["probs"], np.repeat(n_states[child], np.diff(tensors["first_entry"]) // n_states[child]))
    field = HybridField(encoder=encoder, provenance=provenance, **{name: tensors[name] for name in TENSORS})
    for variable in encoder.variables:
        field.network(variable.name)  # which refuses a cycle, and a parent from outside
    return field
