"""Data files of the Libra toolkit: rows of whole numbers.

    0,0,1,0,3        one row to a line, the states of the variables separated by commas
    1,*,-1,1,2       an asterisk, or -1, is a missing value
    2.5|0,1,1,0,0    a number and a bar before a row are its weight, 1 where there is none

A schema is one such line with the number of states of each variable. It lies beside the data, in a file of the same
name that ends in `.schema`; without it a variable has the states that occur, and two at least. Variables have no names:
they are v0, v1, ...

(User Manual for Libra 1.1.2, section "File formats"; `Data` in its source.)
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from quiltwork.data.dataset import NO_CODE, Dataset, Variable, from_codes
from quiltwork.errors import FormatError

MISSING = -1
MOST_STATES = NO_CODE - 1

_BAD_WORD = re.compile(rb"(?:^|,)(?![ \t]*(?:\*|[+-]?[0-9]{1,18})[ \t]*(?:,|$))([^,]*)")
_COUNT = re.compile(rb"[ \t]*[0-9]{1,5}[ \t]*")


def read_libra_data(path: Path) -> Dataset:
    """The rows in a Libra data file, with the schema beside it if there is one."""
    lines = path.read_bytes().splitlines()
    codes, weights = _read_rows(lines, str(path))
    schema = path.with_suffix(".schema")
    if schema.is_file():
        n_states = _read_schema(schema.read_bytes().splitlines(), str(schema))
        _check_range(codes, n_states, str(path))
    else:
        n_states = np.maximum(codes.max(axis=0, initial=1) + 1, 2)
    variables = libra_variables(n_states)
    columns = [np.where(column == MISSING, NO_CODE, column).astype(np.uint16) for column in codes.T]
    return from_codes(variables, columns, weights)


def libra_text(data: Dataset) -> tuple[str, str]:
    """What the data file and the schema say about these rows, whose names and states are lost.

    >>> rain = Variable("rain", ("no", "yes"))
    >>> libra_text(from_codes([rain, rain], [np.array([0, 1]), np.array([1, NO_CODE])]))
    ('0,1\\n1,*\\n', '2,2\\n')
    """
    shown = [np.where(column == NO_CODE, "*", column.astype(str)) for column in map(data.column, range(data.n_vars))]
    rows = [",".join(row) for row in zip(*(column.tolist() for column in shown), strict=True)]
    if data.weights is not None:
        rows = [f"{weight!r}|{row}" for weight, row in zip(data.weights.tolist(), rows, strict=True)]
    return "\n".join([*rows, ""]), ",".join(map(str, data.n_states.tolist())) + "\n"


def libra_variables(n_states: np.ndarray) -> tuple[Variable, ...]:
    """v0, v1, ... with the states 0, 1, ..."""
    return tuple(Variable(f"v{v}", tuple(range(n))) for v, n in enumerate(n_states.tolist()))


def libra_schema(line: bytes, path: str, number: int) -> np.ndarray:
    """The numbers of states that a line says."""
    words = line.rstrip().split(b",")
    for word in words:
        if not (_COUNT.fullmatch(word) and 1 <= int(word) <= MOST_STATES):
            raise FormatError(
                "a schema must be the number of states of each variable, separated by commas, each a whole number from "
                f"1 to {MOST_STATES}. Got {_shown(word)}.",
                path,
                number,
            )
    return np.array([int(word) for word in words], np.int64)


def _read_schema(lines: list[bytes], path: str) -> np.ndarray:
    if not lines:
        raise FormatError("the schema is empty.", path)
    return libra_schema(lines[0], path, 1)


def _read_rows(lines: list[bytes], path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Codes (rows, variables), MISSING among them, and the weights if any line has one."""
    while lines and not lines[-1].strip():
        lines.pop()
    weights = np.ones(len(lines))
    weighted = [i for i, line in enumerate(lines) if b"|" in line]
    for i in weighted:
        weight, _, lines[i] = lines[i].partition(b"|")
        weights[i] = _weight(weight, path, i + 1)
    if not lines:
        raise FormatError("the file has no rows.", path)
    width = lines[0].count(b",") + 1
    for i, line in enumerate(lines):
        n = line.count(b",") + 1
        if n != width:
            raise FormatError(f"a row must have {width} values, as the first has. Got {n}.", path, i + 1)
    joined = b",".join(lines)
    ends = np.flatnonzero(np.frombuffer(joined, np.uint8) == ord(","))
    lengths = np.diff(ends, prepend=-1, append=len(joined)) - 1
    plain = not joined.translate(None, b"0123456789,") and lengths.min() >= 1 and lengths.max() <= 18
    if not plain and (bad := _BAD_WORD.search(joined)):
        row = joined[: bad.start(1)].count(b",") // width
        raise FormatError(
            f"a value must be a whole number below {MOST_STATES}, or *. Got {_shown(bad[1])}.", path, row + 1
        )
    words = joined.translate(None, b" \t").replace(b"*", b"%d" % MISSING).split(b",")
    codes = np.array(words).astype(np.int64).reshape(-1, width)
    _check_range(codes, np.full(width, MOST_STATES), path)
    return codes, weights if weighted else None


def _shown(word: bytes) -> str:
    return repr(word.decode("latin-1")[:20])


def _weight(word: bytes, path: str, line: int) -> float:
    try:
        weight = float(word)
    except ValueError:
        weight = -1.0
    if not (np.isfinite(weight) and weight >= 0):
        raise FormatError(f"a weight must be a finite number of at least 0. Got {_shown(word)}.", path, line)
    return weight


def _check_range(codes: np.ndarray, n_states: np.ndarray, path: str) -> None:
    if codes.shape[1] != len(n_states):
        raise FormatError(f"the rows have {codes.shape[1]} values, and the schema says {len(n_states)}.", path, 1)
    wrong = (codes < MISSING) | (codes >= n_states)
    if wrong.any():
        i, v = np.argwhere(wrong)[0].tolist()
        raise FormatError(f"v{v} must be from 0 to {n_states[v] - 1}, or *. Got {codes[i, v]}.", path, i + 1)
