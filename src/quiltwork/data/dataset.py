"""Dataset: an encoded table, ready to be counted.

A variable with few states is kept as bit planes, one plane per state beyond the first, so that
counting is AND + popcount and a binary column costs one bit per row. A variable with more than
`MAX_PLANE_STATES` states is kept as codes. A table that is binary and mostly zero also keeps its
ones by row (`ones`, CSR), for the sweeps that are cheaper that way.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.errors import MissingDependencyError, ResourceLimitError, UnknownStateError, UnknownVariableError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

State = str | int | float | bool

MAX_PLANE_STATES = 16  # beyond this, 15 planes of bits take more room than one column of codes
NO_CODE = np.iinfo(np.uint16).max  # what `states` shows for a missing value


@dataclass(frozen=True, slots=True)
class Variable:
    """A name and the states it can take, in the order of their codes.

    A variable that was cut into bins keeps their edges, and one that takes numbers as they are has no states.

    >>> smoker = Variable("smoker", ("no", "yes"))
    >>> smoker.index("yes")
    1
    >>> Variable("pH", ("(-inf, 3.1]", "(3.1, inf)"), edges=(3.1,)).index(3.3)
    1
    """

    name: str
    states: tuple[State, ...]
    edges: tuple[float, ...] = field(default=(), repr=False)

    @property
    def n_states(self) -> int:
        return len(self.states)

    def index(self, state: object) -> int:
        """The code of a state; text stands for the state that prints like it, a number for the bin that it is in."""
        if hasattr(state, "item"):
            state = state.item()
        for code, known in enumerate(self.states):
            if known == state and isinstance(known, str) == isinstance(state, str):
                return code
        if isinstance(state, str):
            for code, known in enumerate(self.states):
                if str(known) == state:
                    return code
        if self.edges and (number := _as_number(state)) is not None:
            return bisect_left(self.edges, number)
        raise UnknownStateError.of(state, self.name, self.states)


def _as_number(state: Any) -> float | None:
    """The finite number that a state is or spells, or None."""
    try:
        number = float(state)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def position(name: object, variables: Sequence[Variable]) -> int:
    """The column of the variable with this name (an integer is a column already)."""
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < len(variables):
        return int(name)
    for v, variable in enumerate(variables):
        if variable.name == name:
            return v
    raise UnknownVariableError.of(name, (v.name for v in variables))


@dataclass(frozen=True, eq=False)
class Dataset:
    """Encoded columns with their names and states; made by `Encoder.encode`.

    planes       (n_planes, n_words) uint64; state s >= 1 of variable v is row first_plane[v] + s - 1
    first_plane  (n_vars + 1,) int64; a variable kept as codes has no planes
    codes        (n_coded, n_samples) uint16
    code_row     (n_vars,) int64: the row of `codes`, or -1 for a variable kept as planes
    weights      (n_samples,) float64, or None when every row counts once
    missing      (n_vars, n_words) uint64 planes of the missing values (coded 0 elsewhere), or None
    ones         CSR of a sparse binary table, or None

    >>> rain = Variable("rain", ("no", "yes"))
    >>> data = from_codes([rain], [np.array([0, 1, 1])])
    >>> data.column(0), data.rows(slice(0, 2)).to_dict()
    (array([0, 1, 1], dtype=uint16), {'rain': array(['no', 'yes'], dtype='<U3')})
    """

    variables: tuple[Variable, ...]
    n_samples: int
    planes: np.ndarray
    first_plane: np.ndarray
    codes: np.ndarray
    code_row: np.ndarray
    weights: np.ndarray | None = None
    missing: np.ndarray | None = None
    ones: csr_array | None = None

    @property
    def n_vars(self) -> int:
        return len(self.variables)

    @cached_property
    def n_states(self) -> np.ndarray:
        return np.array([len(v.states) for v in self.variables], np.int64)

    @cached_property
    def total(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(self.n_samples if self.weights is None else self.weights.sum())

    @property
    def nbytes(self) -> int:
        """Memory held by the columns."""
        parts = [self.planes, self.codes, self.weights, self.missing]
        if self.ones is not None:
            parts += [self.ones.indices, self.ones.indptr]
        return sum(p.nbytes for p in parts if p is not None)

    def column(self, v: int) -> np.ndarray:
        """Codes of one variable, (n_samples,) uint16; a missing value is NO_CODE."""
        if self.code_row[v] >= 0:
            column = self.codes[self.code_row[v]].copy()
        else:
            from quiltwork.data.bits import unpack_planes

            column = np.zeros(self.planes.shape[1] * 64, np.uint16)
            unpack_planes(self.planes[self.first_plane[v] : self.first_plane[v + 1]], column)
            column = column[: self.n_samples]
        if self.missing is not None:
            column[self._missing_rows(v)] = NO_CODE
        return column

    def states(self) -> np.ndarray:
        """Codes of all variables, (n_samples, n_vars) uint16, for the kernels that walk rows; NO_CODE where missing."""
        from quiltwork.data.pack import unpack_states

        out = np.zeros((self.n_samples, self.n_vars), np.uint16)
        missing = np.empty((0, 0), np.uint64) if self.missing is None else self.missing
        unpack_states(self.planes, self.first_plane, self.codes, self.code_row, missing, out)
        return out

    def rows(self, which: np.ndarray | slice) -> Dataset:
        """The same variables on some of the rows (positions, a mask or a slice)."""
        from quiltwork.data.bits import take_rows

        picked = np.ascontiguousarray(np.arange(self.n_samples)[which])
        return replace(
            self,
            n_samples=len(picked),
            planes=take_rows(self.planes, picked),
            codes=self.codes[:, picked],
            weights=None if self.weights is None else self.weights[picked],
            missing=None if self.missing is None else take_rows(self.missing, picked),
            ones=None if self.ones is None else self.ones[picked],
        )

    def select(self, which: Iterable[object]) -> Dataset:
        """Some of the variables (names or columns) on the same rows."""
        chosen = [position(name, self.variables) for name in which]
        planes = [p for v in chosen for p in range(self.first_plane[v], self.first_plane[v + 1])]
        variables = tuple(self.variables[v] for v in chosen)
        first_plane, code_row = layout(variables)
        return replace(
            self,
            variables=variables,
            planes=self.planes[planes],
            first_plane=first_plane,
            codes=self.codes[[self.code_row[v] for v in chosen if self.code_row[v] >= 0]],
            code_row=code_row,
            missing=None if self.missing is None else self.missing[chosen],
            ones=None if self.ones is None else self.ones[:, chosen],
        )

    def labels(self, v: int) -> np.ndarray:
        """The state labels of one column: an array of their type, or of objects with None where missing."""
        states = self.variables[v].states
        column = self.column(v)
        plain = _plain_array(states)
        if plain is not None and not (column == NO_CODE).any():
            return plain[column]
        names = np.empty(len(states) + 1, object)
        names[:-1] = states
        return names[np.minimum(column, len(states))]

    def to_dict(self) -> dict[str, np.ndarray]:
        """Columns of state labels by name."""
        return {variable.name: self.labels(v) for v, variable in enumerate(self.variables)}

    def to_pandas(self) -> Any:
        """A pandas DataFrame of state labels."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError.of("pandas", "io", "Dataset.to_pandas") from None
        return pd.DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """A polars DataFrame of state labels."""
        try:
            import polars as pl
        except ImportError:
            raise MissingDependencyError.of("polars", "io", "Dataset.to_polars") from None
        return pl.DataFrame(self.to_dict(), strict=False)

    def _missing_rows(self, v: int) -> np.ndarray:
        assert self.missing is not None
        return np.unpackbits(self.missing[v].view(np.uint8), bitorder="little")[: self.n_samples].astype(bool)

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        return f"Dataset({self.n_samples} rows, {self.n_vars} variables, {self.nbytes / 2**20:.1f} MB)"


def from_codes(
    variables: Iterable[Variable], columns: Sequence[np.ndarray], weights: np.ndarray | None = None
) -> Dataset:
    """A Dataset from columns of codes that already fit the variables; NO_CODE marks a missing value."""
    variables = tuple(variables)
    n_samples = len(columns[0]) if columns else 0
    missing = any((np.asarray(column) == NO_CODE).any() for column in columns)
    data = empty(variables, n_samples, missing, weights)
    for v, column in enumerate(columns):
        write_column(data, v, column)
    return data


def empty(
    variables: tuple[Variable, ...], n_samples: int, missing: bool = False, weights: np.ndarray | None = None
) -> Dataset:
    """A Dataset with every cell in its first state, for its maker to write into; refused if it cannot fit in memory."""
    first_plane, code_row = layout(variables)
    words = (n_samples + 63) // 64
    n_coded = int((code_row >= 0).sum())
    needed = 8 * words * (int(first_plane[-1]) + len(variables) * missing) + 2 * n_coded * n_samples
    if needed > physical_memory():
        raise ResourceLimitError(
            f"{n_samples:,} rows of {len(variables):,} variables take {needed / 2**30:.1f} GB, and this machine has "
            f"{physical_memory() / 2**30:.1f} GB: leave out rare columns, or take a sample of the rows."
        )
    planes = np.zeros((int(first_plane[-1]), words), np.uint64)
    codes = np.zeros((n_coded, n_samples), np.uint16)
    gaps = np.zeros((len(variables), words), np.uint64) if missing else None
    return Dataset(variables, n_samples, planes, first_plane, codes, code_row, weights, gaps)


def write_column(data: Dataset, v: int, column: np.ndarray) -> None:
    """Write the codes of one variable into a Dataset that is being made; NO_CODE only if it was made with `missing`."""
    from quiltwork.data.bits import pack_codes

    column = np.ascontiguousarray(column, np.uint16)
    absent = column == NO_CODE
    if absent.any():
        assert data.missing is not None
        pack_codes(absent.astype(np.uint16), data.missing[v : v + 1])
        column = np.where(absent, np.uint16(0), column)
    if data.code_row[v] >= 0:
        data.codes[data.code_row[v]] = column
    else:
        pack_codes(column, data.planes[data.first_plane[v] : data.first_plane[v + 1]])


def physical_memory() -> float:
    """Bytes of memory of this machine, or infinity where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf


def layout(variables: Sequence[Variable]) -> tuple[np.ndarray, np.ndarray]:
    """Where each variable lives: (first_plane, code_row) as `Dataset` explains them."""
    n_states = np.array([len(v.states) for v in variables], np.int64)
    coded = n_states > MAX_PLANE_STATES
    first_plane = np.concatenate([[0], np.cumsum(np.where(coded, 0, np.maximum(n_states - 1, 0)))]).astype(np.int64)
    code_row = np.where(coded, np.cumsum(coded) - 1, -1).astype(np.int64)
    return first_plane, code_row


def _plain_array(states: Sequence[State]) -> np.ndarray | None:
    """The states as an array of their own type, where one holds them without loss."""
    if len({type(state) for state in states}) > 1:
        return None
    plain = np.array(states)
    # NumPy drops NUL at the end of text, and has no integers beyond 64 bits.
    same = plain.tolist() == list(states) and type(plain.tolist()[0]) is type(states[0])
    return plain if same else None
