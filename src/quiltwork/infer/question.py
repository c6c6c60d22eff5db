"""What every question begins with: the model that was meant, its rows, and who can answer.

Each door keeps a table from model class to implementation. A new kind of model is taught to answer
by one more line in the tables of the doors it can serve; the doors themselves do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from quiltwork.data.columns import Columns, columns_of
from quiltwork.data.dataset import NO_CODE, Dataset, Variable, position
from quiltwork.data.numbers import Numbers
from quiltwork.errors import InputError, IntractableError
from quiltwork.params import Integer, Param

Result = TypeVar("Result")

ENTRIES = Param("max_entries", 2**27, (Integer(1),), "numbers an exact answer may hold at once")


def model_of(model: Any) -> Any:
    """The model itself, or the one that a fitted estimator holds."""
    model = getattr(model, "model_", model)
    if not hasattr(model, "variables"):
        raise InputError(f"A model or a fitted estimator is needed here. Got {type(model).__name__} instead; call fit.")
    return model


def implementation(table: Mapping[Any, Callable[..., Result]], model: object, door: str) -> Callable[..., Result]:
    """The function in a door's table that serves this kind of model."""
    for kind in type(model).__mro__:
        if kind in table:
            return table[kind]
    able = ", ".join(kind.__name__ for kind in table)
    raise IntractableError(f"{door} cannot be answered by a {type(model).__name__}; it can by: {able}.")


def rows_of(model: Any, X: object) -> Any:
    """The rows of X, encoded for this model: a Dataset, or Numbers where its variables are numbers."""
    if isinstance(X, (Dataset, Numbers)) and X.variables == model.variables:
        return X
    return model.encoder.encode(X)


def blocks_about(model: Any, X: object, target: int, entries_per_row: int) -> Iterator[np.ndarray]:
    """Codes of X in blocks for a question about one variable: its own column may be absent, since it is not used."""
    encoded = isinstance(X, (Dataset, Numbers)) and X.variables == model.variables
    columns: Any = X if encoded else columns_of(X)
    if encoded or not _is_absent(columns, target, model.variables):
        yield from (codes for _, codes in row_blocks(rows_of(model, columns), entries_per_row))
        return
    others = tuple(variable for v, variable in enumerate(model.variables) if v != target)
    for _, codes in row_blocks(replace(model.encoder, variables=others).encode(columns), entries_per_row):
        yield np.insert(codes, target, NO_CODE if codes.dtype == np.uint16 else np.nan, axis=1)


def _is_absent(columns: Columns, target: int, variables: Sequence[Variable]) -> bool:
    if columns.named:
        return variables[target].name not in columns.names
    return len(columns.names) == len(variables) - 1


def row_blocks(data: Dataset | Numbers, entries_per_row: int) -> Iterator[tuple[slice, np.ndarray]]:
    """The rows in blocks: (which rows, their codes (rows, n_vars) uint16, or their numbers, NaN where missing).

    A block is small enough that a kernel returns within some tens of milliseconds, so that Ctrl-C is heard.
    """
    size = max(64, (BLOCK_ENTRIES // max(1, entries_per_row)) // 64 * 64)  # whole words of the bit planes
    for start in range(0, data.n_samples, size):
        stop = min(start + size, data.n_samples)
        if isinstance(data, Numbers):
            yield slice(start, stop), data.values[start:stop]
            continue
        words = slice(start // 64, (stop + 63) // 64)
        block = replace(
            data,
            n_samples=stop - start,
            planes=np.ascontiguousarray(data.planes[:, words]),
            codes=data.codes[:, start:stop],
            missing=None if data.missing is None else np.ascontiguousarray(data.missing[:, words]),
            weights=None,
            ones=None,
        )
        yield slice(start, stop), block.states()


BLOCK_ENTRIES = 2**20


def evidence_codes(model: Any, evidence: Mapping[str, object] | None) -> np.ndarray:
    """One row of codes: what is known about each variable, NO_CODE where nothing is."""
    if not isinstance(evidence, Mapping | None):
        raise InputError(f"Evidence must be a dictionary from names to states. Got {evidence!r} instead.")
    codes = np.full(len(model.variables), NO_CODE, np.uint16)
    column = {variable.name: v for v, variable in enumerate(model.variables)}
    for name, state in (evidence or {}).items():
        v = column[name] if name in column else position(name, model.variables)
        codes[v] = model.variables[v].index(state)
    return codes


def once_per_model(function: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """Remember what `function` made of a model for as long as the model lives."""
    known: WeakKeyDictionary[Any, Result] = WeakKeyDictionary()

    @wraps(function)
    def remembered(model: Any) -> Result:
        if model not in known:
            known[model] = function(model)
        return known[model]

    return remembered
