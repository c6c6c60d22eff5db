"""How a Markov tree over states lies in a model file: its encoder as the description, its flat arrays as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.models.markov_tree import DiscreteTree
from quiltwork.models.packing import Described, check_counts, check_rows, check_starts, describe, encoder_of

SCHEMA = Described
TENSORS = {
    **dict.fromkeys(("parent", "first_entry"), ("I64", 1)),
    **dict.fromkeys(("probs", "state_counts"), ("F64", 1)),
}


def pack(model: DiscreteTree) -> tuple[Described, dict[str, np.ndarray]]:
    """The tree as a description and tensors."""
    return Described(**describe(model.encoder)), {name: np.ascontiguousarray(getattr(model, name)) for name in TENSORS}


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> DiscreteTree:
    """The tree again; a ValueError says what cannot be true of one."""
    encoder = encoder_of(description)
    n_states = np.array([variable.n_states for variable in encoder.variables], np.int64)
    tree = DiscreteTree(encoder, **{name: tensors[name] for name in TENSORS}, provenance=provenance)  # refuses a cycle
    check_starts(tree.first_entry, len(n_states), len(tree.probs))
    rows = np.where(tree.parent >= 0, n_states[tree.parent], 1)
    if not np.array_equal(np.diff(tree.first_entry), rows * n_states):
        raise ValueError("the tables do not have the sizes that the parents and states ask for.")
    check_rows(tree.probs, np.repeat(n_states, rows))
    check_counts(tree.state_counts, n_states.sum())
    return tree
