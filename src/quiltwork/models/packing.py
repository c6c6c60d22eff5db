"""What all kinds of models share in a file: the variables, and checks that flat arrays fit each other."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from quiltwork.data.bins import interval_names
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.data.labels import MAX_STATES

ROW_SUM_TOLERANCE = 1e-9


class Described(Struct):
    """Names, states and policies: a model's encoder."""

    names: list[str]
    states: list[list[bool | int | float | str]]
    missing: Annotated[str, Meta(pattern="^(error|drop|state)$")]
    unseen: Annotated[str, Meta(pattern="^(missing|error)$")]
    edges: list[list[float]] | UnsetType = UNSET  # of bins, by variable, where some are cut into bins


def describe(encoder: Encoder) -> dict:
    """The fields of `Described` for this encoder; a ValueError names a state that JSON cannot hold."""
    for variable in encoder.variables:
        for state in variable.states:
            if type(state) not in (bool, int, float, str) or state in (np.inf, -np.inf) or state != state:
                raise ValueError(f"state {state!r} of {variable.name!r} must be text, a finite number or a bool.")
    return {
        "names": [variable.name for variable in encoder.variables],
        "states": [list(variable.states) for variable in encoder.variables],
        "missing": encoder.missing,
        "unseen": encoder.unseen,
        "edges": [list(v.edges) for v in encoder.variables] if any(v.edges for v in encoder.variables) else UNSET,
    }


def encoder_of(described: Described) -> Encoder:
    """The encoder again; a ValueError says what cannot be true of one."""
    names, states = described.names, described.states
    if len(names) != len(states):
        raise ValueError(f"there are {len(names)} names and {len(states)} lists of states.")
    if len(set(names)) != len(names):
        raise ValueError("two variables have the same name.")
    for name, own in zip(names, states, strict=True):
        if not 1 <= len(own) <= MAX_STATES or len({(isinstance(state, str), state) for state in own}) != len(own):
            raise ValueError(f"variable {name!r} must have from 1 to {MAX_STATES} states, each of them once.")
    edges = [[] for _ in names] if described.edges is UNSET else described.edges
    if len(edges) != len(names):
        raise ValueError(f"there are {len(names)} names and {len(edges)} lists of edges.")
    for name, own, cuts in zip(names, states, edges, strict=True):
        if cuts and (sorted(set(cuts)) != cuts or own[: len(cuts) + 1] != list(interval_names(cuts))):
            raise ValueError(f"the edges of {name!r} must ascend, and name its states.")
    variables = tuple(map(Variable, names, map(tuple, states), map(tuple, edges)))
    return Encoder(variables, missing=described.missing, unseen=described.unseen)


def check_starts(starts: np.ndarray, n: int, end: int) -> None:
    """n lists that lie one after another and end at `end`."""
    if len(starts) != n + 1 or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
        raise ValueError("its lists do not fit each other.")


def check_counts(counts: np.ndarray, n: int) -> None:
    """n counts: finite numbers of at least 0."""
    if len(counts) != n or not (np.isfinite(counts) & (counts >= 0)).all():
        raise ValueError(f"there must be {n} counts, each of them a finite number of at least 0.")


def check_rows(probs: np.ndarray, lengths: np.ndarray) -> None:
    """Rows of these lengths, each a distribution."""
    if not np.isfinite(probs).all() or (probs < 0).any() or (probs > 1).any():
        raise ValueError("every probability must be a number from 0 to 1.")
    if len(lengths):
        sums = np.add.reduceat(probs, np.concatenate([[0], np.cumsum(lengths)[:-1]]))
        if (np.abs(sums - 1) > ROW_SUM_TOLERANCE).any():
            raise ValueError("every row of a table must sum to one.")


def table_starts(
    child: np.ndarray, first_parent: np.ndarray, parents: np.ndarray, n_states: np.ndarray, end: int
) -> np.ndarray:
    """Where the table of each family begins. Sizes are multiplied as floats: what no integer can hold stays large."""
    sizes = n_states[child].astype(np.float64)
    family = np.repeat(np.arange(len(child)), np.diff(first_parent))
    with np.errstate(over="ignore"):
        np.multiply.at(sizes, family, n_states[parents].astype(np.float64))
        if sizes.sum() > end:
            raise ValueError("the tables are larger than the numbers in the file.")
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
