"""Numbers: a table whose columns are measurements, for the models that take numbers as they are.

Path     table → columns (raw values) → one float64 matrix, NaN where missing

The same tables are read as for discrete learners (see `columns`), and here a cell must be a number of a size whose
square can be held. A bool is 0 or 1. A column of few distinct numbers, such as a grade from 3 to 9, is a column of
numbers; text is refused, for no order of its states could be guessed. Rows of weight 0 are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.data.blocks import Block, Labels, SparseBlock
from quiltwork.data.columns import Columns, columns_of, from_array
from quiltwork.data.dataset import Variable, physical_memory, position
from quiltwork.data.encode import check_weights, match_columns
from quiltwork.errors import DataError, MissingDependencyError, ParameterError, ResourceLimitError

LARGEST, SMALLEST = 1e100, 1e-100  # beyond these a variance, or a small share of it, could not be held
FEW, MANY_ROWS = 3, 50  # distinct values, and rows, from which a column of numbers looks like one of states
_HEAD = 64  # rows that a first look takes
_PIECE = 1 << 20  # cells looked at a time


@dataclass(frozen=True, eq=False)
class Numbers:
    """A table of numbers; made by `NumberEncoder.encode`.

    variables  names; a variable that takes numbers has no states
    values     (n_samples, n_vars) float64, NaN where missing
    weights    (n_samples,) float64, or None when every row counts once

    >>> rows = NumberEncoder.fit({"pH": [3.2, 3.4], "alcohol": [9.5, 11.0]}).encode({"pH": [3.3], "alcohol": [10]})
    >>> rows.to_dict()
    {'pH': array([3.3]), 'alcohol': array([10.])}
    """

    variables: tuple[Variable, ...]
    values: np.ndarray
    weights: np.ndarray | None = None

    @property
    def n_samples(self) -> int:
        return len(self.values)

    @property
    def n_vars(self) -> int:
        return len(self.variables)

    @cached_property
    def total(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(self.n_samples if self.weights is None else self.weights.sum())

    def rows(self, which: np.ndarray | slice) -> Numbers:
        """The same variables on some of the rows (positions, a mask or a slice)."""
        return replace(self, values=self.values[which], weights=None if self.weights is None else self.weights[which])

    def select(self, which: Iterable[object]) -> Numbers:
        """Some of the variables (names or columns) on the same rows."""
        chosen = [position(name, self.variables) for name in which]
        return replace(self, variables=tuple(self.variables[v] for v in chosen), values=self.values[:, chosen])

    def as_columns(self) -> Columns:
        """The table as raw values, for another encoder."""
        return from_array(self.values, [variable.name for variable in self.variables])

    def labels(self, v: int) -> np.ndarray:
        """The numbers of one column."""
        return self.values[:, v]

    def to_dict(self) -> dict[str, np.ndarray]:
        """Columns by name."""
        return {variable.name: self.labels(v) for v, variable in enumerate(self.variables)}

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError.of("pandas", "io", "Numbers.to_pandas") from None
        return pd.DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """A polars DataFrame."""
        try:
            import polars as pl
        except ImportError:
            raise MissingDependencyError.of("polars", "io", "Numbers.to_polars") from None
        return pl.DataFrame(self.to_dict())

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        return f"Numbers({self.n_samples} rows, {self.n_vars} variables, {self.values.nbytes / 2**20:.1f} MB)"


@dataclass(frozen=True)
class NumberEncoder:
    """Names of the variables, and what a missing value is at fit: "error" or "drop" (the row).

    >>> encoder = NumberEncoder.fit({"pH": [3.2, 3.4], "alcohol": [9.5, 11.0]})
    >>> encoder.encode({"alcohol": [10], "pH": [None]}).values
    array([[nan, 10.]])
    """

    variables: tuple[Variable, ...]
    missing: str = "error"

    @classmethod
    def fit(cls, X: Any, missing: str = "error") -> NumberEncoder:
        """The variables of any table that discrete learners take, too."""
        return fit_numbers(X, missing=missing)[0]

    def encode(self, X: Any, weights: Any = None) -> Numbers:
        """The rows of X as Numbers of these variables, matched by name (or by position without names).

        Missing cells are missing in the Numbers. Columns of X that are no variable are ignored, and variables that are
        no column of X are missing in every row, each with one warning.
        """
        if isinstance(X, Numbers):
            weights = X.weights if weights is None else weights
            if X.variables == self.variables:
                return X if weights is X.weights else replace(X, weights=check_weights(weights, X.n_samples))
        columns = match_columns(self.variables, columns_of(X))
        return Numbers(self.variables, _matrix(columns), check_weights(weights, columns.n_samples))


def fit_numbers(X: Any, weights: Any = None, *, missing: str = "error") -> tuple[NumberEncoder, Numbers]:
    """Fit a NumberEncoder and encode the same table; with missing="drop", without its incomplete rows.

    >>> encoder, numbers = fit_numbers({"a": [1, None, 3], "b": [0.5, 0.25, 1.0]}, missing="drop")
    >>> numbers.values
    array([[1. , 0.5],
           [3. , 1. ]])
    """
    if missing not in ("error", "drop"):
        raise ParameterError(f"'missing' must be 'error' or 'drop' for a table of numbers. Got {missing!r} instead.")
    if isinstance(X, Numbers) and X.n_samples:
        weights = X.weights if weights is None else weights
        numbers = replace(X, weights=check_weights(weights, X.n_samples))
    else:
        columns = columns_of(X)
        variables = tuple(Variable(name, ()) for name in columns.names)
        numbers = Numbers(variables, _matrix(columns), check_weights(weights, columns.n_samples))
    complete = _complete(numbers, missing)
    if complete.weights is not None and not complete.weights.all():
        complete = complete.rows(complete.weights > 0)
    return NumberEncoder(numbers.variables, missing), complete


def few_valued(numbers: Numbers) -> list[str]:
    """Names of columns that look like states: no more than `FEW` distinct values, each of them in many rows.

    >>> few_valued(fit_numbers({"shop": [1, 2, 3] * 20, "price": list(range(60))})[1])
    ['shop']
    """
    if numbers.n_samples < MANY_ROWS:
        return []
    head = np.sort(numbers.values[:_HEAD], axis=0)
    out = []
    for v in np.flatnonzero((np.diff(head, axis=0) > 0).sum(axis=0) < FEW).tolist():
        distinct = np.unique(numbers.values[:, v])
        if 1 < len(distinct) <= FEW:
            out.append(numbers.variables[v].name)
    return out


def _complete(numbers: Numbers, missing: str) -> Numbers:
    """The rows without missing values, if incomplete ones may be dropped."""
    absent = np.isnan(numbers.values)
    if not absent.any():
        return numbers
    if absent.all(axis=0).any():
        name = numbers.variables[int(np.argmax(absent.all(axis=0)))].name
        raise DataError(f"Column {name!r} has no values: every cell is missing. Leave the column out.")
    if missing == "error":
        row, v = np.argwhere(absent)[0].tolist()
        raise DataError(
            f"Column {numbers.variables[v].name!r} has a missing value (NaN, None or null) in row {row}: use "
            "missing='drop' to leave such rows out."
        )
    whole = ~absent.any(axis=1)
    if not whole.any():
        raise DataError("Every row has a missing value, so missing='drop' leaves none: leave out the emptiest columns.")
    kept = numbers.rows(whole)
    return replace(kept, weights=check_weights(kept.weights, kept.n_samples))


# Columns to one matrix


def _matrix(columns: Columns) -> np.ndarray:
    """All cells, (n_samples, columns); NaN where missing or where a variable is no column of the table."""
    shape = columns.n_samples, len(columns.names)
    needed = 8 * shape[0] * shape[1]
    if needed > physical_memory() / 2:
        raise ResourceLimitError(
            f"{shape[0]:,} rows of {shape[1]:,} numbers take {needed / 2**30:.1f} GB, more than half the memory of "
            "this machine: leave out columns, or take a sample of the rows."
        )
    values = _as_it_is(columns)
    if values is None:
        values = np.full(shape, np.nan)
        for block in columns.blocks:
            _write_block(block, columns, values)
    _check_sizes(values, columns.names)
    return values


def _as_it_is(columns: Columns) -> np.ndarray | None:
    """The user's own matrix, where the table was one of float64: nothing here writes into it."""
    first = columns.blocks[0]
    if len(columns.blocks) == 1 and isinstance(first, Block) and first.labels is None:
        values = first.values
        if isinstance(values, np.ndarray) and values.dtype == np.float64 and len(values) == len(columns.names):
            return values.T if np.array_equal(first.where, np.arange(len(values))) else None
    return None


def _write_block(block: Block | SparseBlock, columns: Columns, out: np.ndarray) -> None:
    if isinstance(block, SparseBlock):
        out[:, block.where] = block.matrix.toarray()
        return
    for c, v in enumerate(block.where.tolist()):
        if block.labels is None:
            out[:, v] = block.column(c)
        else:
            numbers = _numbers_of(columns.names[v], block.labels[c], block.column(c))
            out[:, v] = np.append(numbers, np.nan)[block.column(c)]  # a code of -1 takes the last


def _numbers_of(name: str, labels: Labels, codes: np.ndarray) -> np.ndarray:
    """The labels of a column as numbers; text is refused with the first cell that shows it."""
    text = [code for code in np.unique(codes[codes >= 0]).tolist() if isinstance(labels[code], str)]
    if not text:
        return np.array([np.nan if isinstance(label, str) else label for label in labels], np.float64)
    strange = [code for code in text if not _is_number(str(labels[code]))]
    if not strange:
        raise DataError(f"Column {name!r} holds numbers written as text: convert it, for instance with astype(float).")
    row = int(np.flatnonzero(np.isin(codes, strange))[0])
    raise DataError(
        f"Column {name!r} holds the text {labels[codes[row]]!r} in row {row}, and here every cell must be a number: "
        "leave the column out, make the text missing, or use a discrete learner such as BayesianNetwork, which cuts "
        "columns of numbers into bins with discretise=5."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_sizes(values: np.ndarray, names: tuple[str, ...]) -> None:
    """Refuse infinities and numbers whose squares cannot be held, naming the first such cell by row."""
    step = max(1, _PIECE // max(1, len(names)))
    for start in range(0, len(values), step):
        size = np.abs(values[start : start + step])
        bad = (size > LARGEST) | ((size < SMALLEST) & (size != 0.0))  # NaN is neither
        if bad.any():
            row, v = np.argwhere(bad)[0].tolist()
            raise DataError(
                f"Column {names[v]!r} holds {values[start + row, v]:g} in row {start + row}; a number must be 0 or "
                f"between {SMALLEST:g} and {LARGEST:g} in size: replace it, or make it NaN to treat it as missing."
            )
