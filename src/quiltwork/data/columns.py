"""Columns: any table in memory, as names and raw values that are still to be encoded.

A NumPy array, a SciPy sparse matrix, a pandas, polars or Arrow table, a dict of columns and a list of rows all
become a few blocks of columns, each of numbers or of codes into labels (see `blocks`). Numbers are not copied; text
becomes codes here.

The order of states is the same wherever a column came from:

    numbers     ascending; a float column of whole numbers with missing values counts as integers, for that is
                how pandas stores integers with missing values
    text        by code point; a column with both numbers and text is refused, so "1" and 1 never merge
    bool        False, True: always both
    categories  pandas Categorical, polars Enum, ordered Arrow dictionaries: as declared, the unused ones too
    others      dates, times, decimals: their text
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quiltwork.data.blocks import Block, SparseBlock, kernel_dtype
from quiltwork.data.dataset import NO_CODE, Dataset, State, physical_memory
from quiltwork.data.labels import Coded, code_numbers, code_objects
from quiltwork.errors import DataError, ResourceLimitError

_NAME = 200  # bytes that a column takes by being there: its name, its variable
_WIDTH = 4096  # most columns of a block, so that a piece of 64 rows stays in the cache
_FEW = 128  # most columns of a block of separate arrays, so that a long run of each is copied at a time


@dataclass(frozen=True, eq=False)
class Columns:
    """Names and raw values of a table's columns; made by `columns_of`.

    named      False if the names were made up here, so that columns are matched by position
    row_names  what the rows stand for (the users of a table of votes), or None
    """

    names: tuple[str, ...]
    n_samples: int
    blocks: tuple[Block | SparseBlock, ...]
    named: bool = True
    row_names: tuple[State, ...] | None = None

    def __post_init__(self) -> None:
        if not self.names or not self.n_samples:
            what, shape = ("feature", (self.n_samples, 0)) if not self.names else ("sample", (0, len(self.names)))
            raise DataError(f"The table has 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
        check_names(self.names)

    def rows(self, keep: np.ndarray) -> Columns:
        """The rows where `keep` is true."""
        blocks = tuple(part for block in self.blocks for part in block.rows(keep))
        names = self.row_names and tuple(name for name, kept in zip(self.row_names, keep) if kept)
        return replace(self, n_samples=int(keep.sum()), blocks=blocks, row_names=names)

    def home(self, position: int) -> tuple[Block | SparseBlock, int]:
        """The block that holds a column, and which of its columns that is."""
        return next((block, int(c)) for block in self.blocks for c in np.flatnonzero(block.where == position))

    def part(self, name: str) -> np.ndarray | Coded:
        """One column by itself: its numbers, or codes into its labels."""
        block, c = self.home(self.names.index(name))
        return block.column(c) if block.labels is None else Coded(block.column(c), block.labels[c])

    def __repr__(self) -> str:
        return f"Columns({self.n_samples} rows, {len(self.names)} columns)"


def columns_of(X: Any, max_states: int | None = None) -> Columns:
    """The columns of any table; with `max_states`, text with more distinct values is refused before it is read whole.

    >>> columns_of({"sky": ["grey", "blue"], "rain": [1, 0]}).names
    ('sky', 'rain')
    >>> columns_of([["grey", 1], ["blue", 0]]).names
    ('x0', 'x1')
    """
    if isinstance(X, Columns):
        return X
    if isinstance(X, Dataset):
        return _from_dataset(X)
    if hasattr(type(X), "as_columns"):  # `Numbers`, which are made of columns
        return X.as_columns()
    if isinstance(X, np.ndarray):
        return from_array(X, None, max_states)
    if hasattr(X, "tocsr"):
        return from_sparse(X)
    if isinstance(X, Mapping):
        return _from_dict(X, max_states)
    if isinstance(X, (list, tuple)):
        return _from_rows(X, max_states)
    if _is_frame(X):
        from quiltwork.data.frames import read_frame

        return read_frame(X, max_states)
    if hasattr(X, "__array__"):
        return from_array(np.asarray(X), None, max_states)
    raise DataError(
        "A table must be a NumPy array, a SciPy sparse matrix, a pandas, polars or Arrow table, a dict of columns or a "
        f"list of rows. Got {type(X).__name__} instead."
    )


def from_array(X: np.ndarray, names: Iterable[str] | None = None, max_states: int | None = None) -> Columns:
    """The columns of a two-dimensional array; without names they are x0, x1, ..."""
    if X.ndim != 2 or X.dtype.names:
        raise DataError(
            f"An array must have 2 dimensions, rows and columns; this one has shape {X.shape} and dtype {X.dtype}. "
            "Reshape your data: X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row."
        )
    X = _plain(X)
    named, labels = names is not None, tuple(names) if names is not None else _made_up(X.shape[1])
    if X.dtype.kind in "biuf" and 0 not in X.shape and not _beyond_int64(X):
        whole = np.asarray(X).T
        blocks = []
        for start in range(0, len(whole), _WIDTH):
            values = whole[start : start + _WIDTH]
            where = np.arange(start, start + len(values))
            if X.dtype.kind == "b":
                codes, both = values.view(np.int8), ((False, True),) * len(values)
                blocks.append(Block(where, codes, both, (True,) * len(values)))
            else:
                blocks.append(Block(where, values))
        return Columns(labels, len(X), tuple(blocks), named)
    parts = [code_array(name, X[:, c], max_states) for c, name in enumerate(labels)]
    return replace(from_parts(labels, parts, len(X)), named=named)


def from_sparse(X: Any, names: Iterable[str] | None = None, row_names: Iterable[State] | None = None) -> Columns:
    """The columns of a SciPy sparse matrix of any format."""
    from scipy.sparse import csr_array

    if X.ndim != 2:
        raise DataError(f"A sparse table must have 2 dimensions. Got {X.ndim} instead.")
    if X.dtype.kind not in "biuf" or X.dtype == np.longdouble:
        raise DataError(f"A sparse table must hold numbers of at most 64 bits, or bools. Got dtype {X.dtype} instead.")
    n_samples, n_columns = X.shape
    needed = n_columns * (_NAME + n_samples // 8) + 8 * n_samples  # a few stored cells can claim any shape
    if needed > physical_memory():
        raise ResourceLimitError(
            f"A sparse table of {n_samples:,} rows and {n_columns:,} columns takes {needed / 2**30:.1f} GB, more than "
            "the memory of this machine: leave out rare columns, or take a sample of the rows."
        )
    matrix = csr_array(X.tocsr())
    try:
        matrix.check_format(full_check=True)
    except ValueError as fault:
        raise DataError(f"The sparse table is broken: {fault}.") from None
    if _beyond_int64(matrix.data):
        raise DataError("A sparse table must hold integers below 2**63, and this one has larger ones.")
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    whole = SparseBlock(np.arange(n_columns), matrix, ((False, True),) * n_columns if matrix.dtype == bool else None)
    blocks = [whole]
    if not whole.binary and n_columns > _WIDTH:
        parts = [whole.where[start : start + _WIDTH] for start in range(0, n_columns, _WIDTH)]
        blocks = [whole.pick(where.tolist(), where) for where in parts]
    return Columns(
        tuple(names) if names is not None else _made_up(n_columns),
        n_samples,
        tuple(blocks),
        names is not None,
        None if row_names is None else tuple(row_names),
    )


def from_parts(names: Iterable[str], parts: Sequence[np.ndarray | Coded], n_samples: int | None = None) -> Columns:
    """Columns from one part each: an array of numbers, or codes. Columns of one kind become one block."""
    names = tuple(names)
    lengths = [len(part.codes if isinstance(part, Coded) else part) for part in parts]
    n_samples = n_samples if n_samples is not None else (lengths or [0])[0]
    for name, length in zip(names, lengths):
        if length != n_samples:
            raise DataError(f"Columns must be equally long: {names[0]!r} has {n_samples} rows, {name!r} has {length}.")
    groups: dict[object, list[int]] = {}
    for c, part in enumerate(parts):
        groups.setdefault("codes" if isinstance(part, Coded) else kernel_dtype(part.dtype), []).append(c)
    blocks = []
    for kind, members in groups.items():
        for start in range(0, len(members), _FEW):
            where = members[start : start + _FEW]
            own: list[Any] = [parts[c] for c in where]
            coded = zip(*own) if kind == "codes" else (own,)
            blocks.append(Block(np.array(where), *coded))
    return Columns(names, n_samples, tuple(blocks))


def code_array(name: str, values: np.ndarray, max_states: int | None = None) -> np.ndarray | Coded:
    """One column of a NumPy array of any dtype, as numbers or codes."""
    values = _plain(values)
    if values.dtype.kind == "b":
        return Coded(values.view(np.int8), (False, True), declared=True)
    if values.dtype.kind in "iuf":
        return code_numbers(name, values, max_states) if _beyond_int64(values) else values
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in ("ns", "ps", "fs", "as"):
        values = _without_nanoseconds(values)
    if values.dtype.kind == "S":
        try:
            values = np.char.decode(values, "utf-8")
        except UnicodeDecodeError:
            raise DataError(f"Column {name!r} holds bytes that are not UTF-8 text: decode it first.") from None
    return code_objects(name, values.astype(object).tolist(), max_states)


# Other shapes of table


def _from_dataset(X: Dataset) -> Columns:
    codes = [X.column(v).astype(np.int32) for v in range(X.n_vars)]
    for column in codes:
        column[column == NO_CODE] = -1
    parts = [Coded(column, variable.states, declared=True) for column, variable in zip(codes, X.variables)]
    return from_parts((variable.name for variable in X.variables), parts, X.n_samples)


def _from_dict(X: Mapping[Any, Any], max_states: int | None) -> Columns:
    parts = []
    names = tuple(map(str, X))
    for name, values in zip(names, X.values()):
        if isinstance(values, (list, tuple, range)):
            parts.append(code_objects(name, list(values), max_states))
        elif isinstance(values, np.ndarray):
            if values.ndim != 1:
                raise DataError(f"Column {name!r} must have 1 dimension. Got shape {values.shape} instead.")
            parts.append(code_array(name, values, max_states))
        else:
            from quiltwork.data.frames import read_series

            parts.append(read_series(name, values, max_states))
    return from_parts(names, parts)


def _from_rows(X: Sequence[Any], max_states: int | None) -> Columns:
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in X]
    if not all(isinstance(row, (list, tuple)) for row in rows):
        raise DataError(
            "A list must be a list of rows, each a list or tuple of cells. "
            "Reshape your data: [[x] for x in values] if it is one column."
        )
    widths = [len(row) for row in rows]
    for i, width in enumerate(widths):
        if width != widths[0]:
            raise DataError(f"Rows must be equally long; row 0 has {widths[0]} cells and row {i} has {width}.")
    names = _made_up(widths[0] if widths else 0)
    parts = [code_objects(name, list(column), max_states) for name, column in zip(names, zip(*rows))]
    return replace(from_parts(names, parts, len(rows)), named=False)


def _is_frame(X: Any) -> bool:
    marks = ("columns", "column_names", "__arrow_c_stream__", "__narwhals_dataframe__")
    return any(hasattr(type(X), mark) for mark in marks)  # asked of the class, for a lazy frame would set to work


# Names and numbers


def names_of(X: Any) -> tuple[str, ...]:
    """The column names of a table that has some, without reading it."""
    if isinstance(X, Columns):
        return X.names if X.named else ()
    if isinstance(X, Mapping):
        return tuple(map(str, X))
    names = getattr(X, "column_names", None)  # pyarrow, whose `columns` are the values
    return tuple(map(str, getattr(X, "columns", ()) if names is None else names))


def check_names(names: Sequence[str]) -> None:
    """Refuse names that occur twice."""
    if len(set(names)) < len(names):
        twice = [repr(name) for name, times in Counter(names).items() if times > 1]
        raise DataError(f"Column names must be unique, and these occur more than once: {', '.join(twice[:5])}.")


def _made_up(n_columns: int) -> tuple[str, ...]:
    return tuple(f"x{c}" for c in range(n_columns))


def _without_nanoseconds(values: np.ndarray) -> np.ndarray:
    """Times to the microsecond, as Python's objects have them; as text where that would lose something."""
    rounded = values.astype("datetime64[us]")
    if np.array_equal(rounded.astype(values.dtype), values, equal_nan=True):
        return rounded
    absent, text = np.isnat(values), np.datetime_as_string(values).astype(object)
    text[absent] = None
    return text


def _plain(values: np.ndarray) -> np.ndarray:
    """An array without a mask (None instead, among objects) and without floats beyond 64 bits."""
    if isinstance(values, np.ma.MaskedArray):
        absent, values = np.ma.getmaskarray(values), values.data.astype(object)
        values[absent] = None
    return values.astype(np.float64) if values.dtype == np.longdouble else values


def _beyond_int64(values: np.ndarray) -> bool:
    return values.dtype == np.uint64 and values.size > 0 and int(values.max()) > np.iinfo(np.int64).max
