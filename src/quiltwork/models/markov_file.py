"""How a Markov network lies in a model file: its encoder as the description, its flat arrays as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quiltwork.models.markov import MarkovNet
from quiltwork.models.packing import Described, check_counts, check_starts, describe, encoder_of

SCHEMA = Described
TENSORS = {
    **dict.fromkeys(("first_condition", "columns", "states"), ("I64", 1)),
    **dict.fromkeys(("weights", "state_counts"), ("F64", 1)),
}


def pack(model: MarkovNet) -> tuple[Described, dict[str, np.ndarray]]:
    """The network as a description and tensors."""
    return Described(**describe(model.encoder)), {name: np.ascontiguousarray(getattr(model, name)) for name in TENSORS}


def unpack(description: Described, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> MarkovNet:
    """The network again; a ValueError says what cannot be true of one."""
    encoder = encoder_of(description)
    n_states = np.array([variable.n_states for variable in encoder.variables], np.int64)
    columns, states, weights = tensors["columns"], tensors["states"], tensors["weights"]
    check_starts(tensors["first_condition"], len(weights), len(columns))
    if len(states) != len(columns):
        raise ValueError("every condition must name one variable and one state.")
    if ((columns < 0) | (columns >= len(n_states))).any() or ((states < 0) | (states >= n_states[columns])).any():
        raise ValueError("a condition names a variable or a state that is not there.")
    feature = np.repeat(np.arange(len(weights)), np.diff(tensors["first_condition"]))
    if ((np.diff(columns) <= 0) & (np.diff(feature) == 0)).any():
        raise ValueError("the variables of a feature must ascend, none of them twice.")
    with np.errstate(over="ignore"):
        if not np.isfinite(np.abs(weights).sum()):
            raise ValueError("every weight must be a finite number, and all of them together too.")
    check_counts(tensors["state_counts"], n_states.sum())
    return MarkovNet(encoder, **{name: tensors[name] for name in TENSORS}, provenance=provenance)
