"""Labels: the distinct values of one column, in the order of the states, and each row's place among them.

Here a single column is looked at value by value: text, Python objects, and numbers that are not small and whole.
A state is a plain bool, int, float or str; dates, times and decimals become their text. What cannot be told apart
later is refused now: a column never holds both "1" and 1.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from quiltwork.data.dataset import State
from quiltwork.errors import DataError

HEAD = 1 << 17  # rows looked at first, so that a column of a million ids is refused at once
MAX_STATES = 65_534  # codes are uint16, and the last one means "no code"

_WHOLE = 2**53  # below this, every integer is a float64
_CONTAINERS = (list, tuple, dict, set, frozenset, np.ndarray, bytes, bytearray, complex, np.complexfloating)
_DATES = (datetime.date, np.datetime64)
_CAN_BE_NAN = (float, np.floating, Decimal, np.datetime64, np.timedelta64)


class Coded(NamedTuple):
    """Codes (n,) into the labels, -1 where missing; `declared` when the labels name all that could occur."""

    codes: np.ndarray
    labels: tuple[State, ...]
    declared: bool = False


def code_objects(name: str, values: list[Any], limit: int | None = None) -> np.ndarray | Coded:
    """A column of Python objects: an array if they are numbers (NaN where missing), else codes.

    >>> code_objects("grade", ["b", "a", None, "b"])
    Coded(codes=array([ 1,  0, -1,  1], dtype=int32), labels=('a', 'b'), declared=False)
    >>> code_objects("size", [1, None, 3])
    array([ 1., nan,  3.])
    """
    types = set(map(type, values))
    if any(_may_be_missing(t) for t in types):
        values = [None if _is_missing(x) else x for x in values]
        types = set(map(type, values)) - {type(None)}
    kind = _kind(name, types)
    if kind == "number":
        return _numbers(name, values, all(issubclass(t, (int, np.integer)) for t in types), limit)
    if kind == "bool":
        codes = [-1 if x is None else int(x) for x in values]
        return Coded(np.array(codes, np.int8), (False, True), declared=True)
    if types != {str}:
        values = [None if x is None else _text(x) for x in values]
    return code_hashable(name, values, limit)


def code_hashable(name: str, values: list[Any], limit: int | None = None) -> Coded:
    """A column of text, or of integers beyond 64 bits; None where missing."""
    if limit is not None and len(values) > HEAD:
        check_states(name, len(set(values[:HEAD]) - {None}), limit, at_least=True)
    labels = sorted(set(values) - {None})
    if limit is not None:
        check_states(name, len(labels), limit)
    code_of: dict[Any, int] = {label: code for code, label in enumerate(labels)}
    code_of[None] = -1
    return Coded(np.fromiter(map(code_of.__getitem__, values), np.int32, len(values)), tuple(labels))


def code_numbers(name: str, values: np.ndarray, limit: int | None = None) -> Coded:
    """A column of numbers of any size; NaN is missing, and infinity refused.

    >>> code_numbers("year", np.array([1999, 2001, 1999]))
    Coded(codes=array([0, 1, 0], dtype=int32), labels=(1999, 2001), declared=False)
    """
    absent = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    if values.dtype.kind == "f" and np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise DataError(
            f"Column {name!r} holds {values[row]} (inf) in row {row}; numbers must be finite: "
            "replace it by a number, or by NaN to treat it as missing."
        )
    if limit is not None and len(values) > HEAD:
        head = values[:HEAD][~absent[:HEAD]]
        check_states(name, len(np.unique(head)), limit, at_least=True, numbers=True)
    found = np.unique(values[~absent])
    if limit is not None:
        check_states(name, len(found), limit, numbers=True)
    codes = np.searchsorted(found, values).astype(np.int32)
    codes[absent] = -1
    if values.dtype.kind == "f":
        found = found + 0.0  # no -0.0 among the labels
        if absent.any() and all_whole(found):
            found = found.astype(np.int64)
    return Coded(codes, tuple(found.tolist()))


def in_order(codes: np.ndarray, labels: Sequence[str]) -> Coded:
    """Codes into text labels in any order (-1 where missing), as codes into the sorted labels that occur."""
    occurs = np.zeros(len(labels) + 1, bool)
    occurs[codes] = True  # -1 marks the last place, which stands for no label
    used = sorted((label, old) for old, label in enumerate(labels) if occurs[old])
    rank = np.full(len(labels) + 1, -1, np.int32)
    for new, (_, old) in enumerate(used):
        rank[old] = new
    return Coded(rank[codes], tuple(label for label, _ in used))


def plain_labels(name: str, values: Iterable[Any]) -> tuple[State, ...]:
    """Declared categories as states, in their order."""
    values = list(values)
    kind = _kind(name, set(map(type, values)))
    if kind in ("number", "bool"):
        plain = [x.item() if isinstance(x, np.generic) else x for x in values]
        if any(isinstance(x, float) and not np.isfinite(x) for x in plain):
            raise DataError(f"Column {name!r} has a category that is not a finite number.")
        return tuple(plain)
    return tuple(map(_text, values))


def with_gaps(name: str, values: np.ndarray, absent: np.ndarray, limit: int | None = None) -> np.ndarray | Coded:
    """Integers with missing cells: as floats with NaN, or as codes where floats would merge large integers."""
    if not len(values) or max(-int(values.min()), int(values.max())) < _WHOLE:
        out = values.astype(np.float64)
        out[absent] = np.nan
        return out
    present = code_numbers(name, values[~absent], limit)
    codes = np.full(len(values), -1, np.int32)
    codes[~absent] = present.codes
    return Coded(codes, present.labels)


def all_whole(values: np.ndarray) -> bool:
    """Whether floats are integers, all of a size that floats tell apart."""
    return bool((values == np.floor(values)).all() and (np.abs(values) < _WHOLE).all())


def check_states(name: str, n_states: int, limit: int, at_least: bool = False, numbers: bool = False) -> None:
    """Refuse a column with more distinct values than states allowed."""
    if n_states > limit:
        raise DataError(
            f"Column {name!r} has {'at least ' if at_least else ''}{n_states:,} distinct values, and max_states is "
            f"{limit:,}: leave the column out, bin it{' with discretise=5' if numbers else ''}, or "
            f"raise max_states (at most {MAX_STATES:,})."
        )


def spellings(label: State) -> tuple[str, ...]:
    """The texts that stand for a label where a file or a foreign model has text.

    >>> spellings(True), spellings(2.0), spellings("two")
    (('True', 'true'), ('2.0', '2'), ('two',))
    """
    if isinstance(label, bool):
        return str(label), str(label).lower()
    if isinstance(label, float) and label.is_integer():
        return str(label), str(int(label))
    return (str(label),)


# What an object is


def _may_be_missing(t: type) -> bool:
    return t is type(None) or t.__name__ in ("NAType", "NaTType") or issubclass(t, _CAN_BE_NAN)


def _is_missing(x: Any) -> bool:
    return x is None or type(x).__name__ in ("NAType", "NaTType") or (isinstance(x, _CAN_BE_NAN) and bool(x != x))


def _kind(name: str, types: set[type]) -> str:
    kinds = {_kind_of_type(name, t) for t in types}
    if len(kinds) > 1:
        raise DataError(
            f"Column {name!r} mixes {' and '.join(sorted(kinds))} values; they must be of one kind: convert the column "
            "to text with astype(str), or to numbers with pandas.to_numeric(column, errors='coerce')."
        )
    return kinds.pop() if kinds else "number"  # nothing but missing values: any kind will do


def _kind_of_type(name: str, t: type) -> str:
    if issubclass(t, (bool, np.bool_)):
        return "bool"
    if issubclass(t, _CONTAINERS) or (t.__str__ is object.__str__ and t.__repr__ is object.__repr__):
        raise DataError(
            f"Column {name!r} holds values of type {t.__name__!r}; a cell must be a number, a bool, text or a date. "
            + ("Complex data not supported." if issubclass(t, (complex, np.complexfloating)) else "")
        )
    if issubclass(t, (int, float, np.integer, np.floating)):
        return "number"
    if issubclass(t, str):
        return "text"
    return "date" if issubclass(t, _DATES) else t.__name__


def _text(x: Any) -> str:
    return str.__str__(x) if isinstance(x, str) else str(x)


def _numbers(name: str, values: list[Any], whole: bool, limit: int | None) -> np.ndarray | Coded:
    absent = np.array([x is None for x in values], bool)
    if not whole:
        return np.array([np.nan if x is None else x for x in values], np.float64)
    try:
        integers = np.array([0 if x is None else x for x in values], np.int64)
    except OverflowError:
        return code_hashable(name, [None if x is None else int(x) for x in values], limit)
    return with_gaps(name, integers, absent, limit) if absent.any() else integers
