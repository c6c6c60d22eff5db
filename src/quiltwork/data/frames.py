"""Frames: pandas, polars and Arrow tables as columns, through narwhals, without depending on any of them.

narwhals says what a column holds. Only text and categories are asked of each library in its own words, because
only the library can hand over their codes without making a Python object of every cell.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np

from quiltwork.data.columns import Columns, check_names, code_array, from_array, from_parts, names_of
from quiltwork.data.labels import HEAD, Coded, check_states, code_objects, in_order, plain_labels, with_gaps
from quiltwork.errors import DataError, MissingDependencyError


def read_frame(X: Any, max_states: int | None = None) -> Columns:
    """The columns of a frame."""
    frame = _narwhals(X)
    names = tuple(map(str, frame.columns))
    if not frame.implementation.is_pandas():
        parts = [_code(name, series, max_states) for name, series in zip(names, frame.iter_columns())]
        return from_parts(names, parts, len(frame))
    pandas = frame.to_native()
    dtypes = list(pandas.dtypes)  # not a set: categories would be compared with each other
    if dtypes and all(isinstance(d, np.dtype) and d == dtypes[0] and d.kind in "biuf" for d in dtypes):
        return from_array(pandas.to_numpy(), names)
    parts = [_code_pandas(name, series, max_states) for name, (_, series) in zip(names, pandas.items())]
    return from_parts(names, parts, len(frame))


def read_series(name: str, values: Any, max_states: int | None = None) -> np.ndarray | Coded:
    """One column: a Series of any of the libraries."""
    try:
        series = nw.from_native(values, series_only=True)
    except TypeError:
        raise DataError(
            f"Column {name!r} must be a list, an array or a Series. Got {type(values).__name__} instead."
        ) from None
    if series.implementation.is_pandas_like():
        return _code_pandas(name, values, max_states)
    return _code(name, series, max_states)


def _narwhals(X: Any) -> nw.DataFrame:
    try:
        return nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError:
        check_names(names_of(X))  # the same in our words
        raise
    except TypeError:
        if not hasattr(X, "__arrow_c_stream__"):
            raise DataError(
                f"A table must be in memory as a pandas, polars or Arrow table. Got {type(X).__name__} instead; "
                "a lazy one must be collected first."
            ) from None
    for backend in ("pyarrow", "polars"):
        if find_spec(backend) is not None:
            return nw.from_arrow(X, backend=backend)
    raise MissingDependencyError.of("pyarrow", "io", "Reading an Arrow stream")


def _code_pandas(name: str, series: Any, max_states: int | None) -> np.ndarray | Coded:
    if hasattr(series.dtype, "categories"):
        if max_states is not None:
            check_states(name, len(series.dtype.categories), max_states)
        return Coded(series.array.codes, plain_labels(name, _labels(series.dtype.categories)), declared=True)
    if isinstance(series.dtype, np.dtype):
        return code_array(name, series.to_numpy(), max_states)
    return _code(name, nw.from_native(series, series_only=True), max_states)


def _labels(categories: Any) -> list[Any]:
    """Labels of a pandas index; text that lies in Arrow comes out of it several times faster there."""
    arrow = getattr(categories.array, "__arrow_array__", None)
    return categories.tolist() if arrow is None or categories.hasnans else arrow().to_pylist()


def _code(name: str, series: nw.Series, max_states: int | None) -> np.ndarray | Coded:
    dtype = series.dtype
    if dtype in (nw.Int128, nw.UInt128):
        return code_objects(name, series.to_list(), max_states)
    if dtype.is_integer() or dtype == nw.Boolean:
        return _code_whole(name, series, max_states)
    if dtype.is_float():
        return np.asarray(series.to_numpy(), np.float64 if series.null_count() else None)
    if dtype in (nw.Categorical, nw.Enum):
        return _code_categories(name, series, max_states)
    if dtype == nw.String:
        return _code_text(name, series, max_states)
    return code_objects(name, series.to_list(), max_states)


def _code_whole(name: str, series: nw.Series, max_states: int | None) -> np.ndarray | Coded:
    """Integers or bools, which NumPy cannot hold beside missing cells."""
    absent = series.is_null().to_numpy() if series.null_count() else None
    values = (series if absent is None else series.fill_null(0 if series.dtype.is_integer() else False)).to_numpy()
    if series.dtype.is_integer():
        return values if absent is None else with_gaps(name, values, absent, max_states)
    codes = values.astype(np.int8)
    if absent is not None:
        codes[absent] = -1
    return Coded(codes, (False, True), declared=True)


def _code_categories(name: str, series: nw.Series, max_states: int | None) -> np.ndarray | Coded:
    native = series.to_native()
    if series.implementation.is_polars() and series.dtype == nw.Enum:
        codes = native.to_physical().cast(int).fill_null(-1).to_numpy()
        return Coded(codes, plain_labels(name, native.dtype.categories.to_list()), declared=True)
    if series.implementation.is_pyarrow():
        codes, labels = _dictionary(native)
        if native.type.ordered:
            return Coded(codes, plain_labels(name, labels), declared=True)
        if all(isinstance(label, str) for label in labels):
            return in_order(codes, labels)
        return code_objects(name, series.to_list(), max_states)
    return _code_text(name, series.cast(nw.String), max_states)


def _code_text(name: str, series: nw.Series, max_states: int | None) -> np.ndarray | Coded:
    if max_states is not None and len(series) > HEAD:
        check_states(name, series.head(HEAD).drop_nulls().n_unique(), max_states, at_least=True)
    native = series.to_native()
    if series.implementation.is_pandas_like():
        codes, labels = native.factorize()
        return in_order(codes, labels.tolist())
    if series.implementation.is_pyarrow():
        return in_order(*_dictionary(native.dictionary_encode()))
    if series.implementation.is_polars():
        import polars as pl

        labels = native.drop_nulls().unique().sort()
        codes = native.cast(pl.Enum(labels)).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
        return Coded(codes, tuple(labels.to_list()))
    return code_objects(name, series.to_list(), max_states)


def _dictionary(chunked: Any) -> tuple[np.ndarray, list[Any]]:
    """Codes (-1 where missing) and labels of a dictionary-encoded Arrow column."""
    array = chunked.unify_dictionaries().combine_chunks()
    array = array.chunk(0) if hasattr(array, "chunk") else array
    return array.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False), array.dictionary.to_pylist()
