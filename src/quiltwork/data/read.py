"""Read: files into tables that `Encoder` takes.

    .csv .tsv                     text with a header, also as .gz; a .csv may separate by ';'
    .parquet .arrow .feather      columns with types
    .npz .npy                     a matrix, dense or SciPy sparse, or a bit-packed set with train, valid and test
    .data                         rows of whole numbers, as the Libra toolkit has them

polars does the reading, but what it lets pass is checked here first, so that a file means the same whatever
version reads it: every row has as many fields as the header, quotes are closed, names are unique, bytes
are UTF-8. An empty field is missing. A column holds numbers, true/false or text, whichever fits all its fields
(see `records`, which decides).
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import stat
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from quiltwork.data.columns import Columns, check_names, from_array, from_sparse
from quiltwork.data.dataset import physical_memory
from quiltwork.data.libra import read_libra_data
from quiltwork.errors import DataError, MissingDependencyError, ResourceLimitError

_PIECE = 1 << 24  # bytes inflated or decoded at a time

# What NumPy, SciPy and zipfile raise when bytes are not what they should be.
_BROKEN = (
    zipfile.BadZipFile, zlib.error, tokenize.TokenError, SyntaxError, EOFError, OSError,
    ValueError, TypeError, KeyError, NotImplementedError, RuntimeError,
)  # fmt: skip


def read_table(path: str | os.PathLike[str], split: str = "train") -> Any:
    """The table in a file, whose kind is told by the ending of its name; `split` is the part of a bit-packed set.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "weather.csv"
    ...     _ = path.write_bytes(b"sky,rain\\ngrey,1\\nblue,0\\n")
    ...     read_table(path).columns
    ['sky', 'rain']
    """
    path = Path(path)
    _check_file(path)
    name = path.name.lower()
    for ending, read in _READERS.items():
        if name.endswith(ending):
            return read(path, split)
    raise DataError(f"The name of {path} must end in one of {', '.join(_READERS)}: the ending says how to read it.")


def _check_file(path: Path) -> None:
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode):
            path.open("rb").close()
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except (OSError, ValueError) as fault:
        raise DataError(f"{path} cannot be read: {getattr(fault, 'strerror', None) or fault}.") from None
    if stat.S_ISDIR(found.st_mode):
        raise DataError(f"{path} is a directory: give a file.")
    if not stat.S_ISREG(found.st_mode):
        raise DataError(f"{path} is a pipe or a device: save the table in a file first.")
    if found.st_size == 0:
        raise DataError(f"{path} is empty: a table needs a header and at least one row.")
    _check_size(path, found.st_size)


def _check_size(path: Path, n_bytes: int) -> None:
    if n_bytes > physical_memory() / 2:
        raise ResourceLimitError(
            f"{path} holds {n_bytes / 2**30:.1f} GB, more than half the memory of this machine: "
            "read a part of it, with polars for instance, and give that."
        )


# Text: CSV and TSV


def _read_text(path: Path, split: str, delimiter: str | None = None) -> Any:
    pl = _polars("Reading a CSV file")
    data = _text_bytes(path)
    first_line = data.partition(b"\n")[0]
    delimiter = delimiter or _delimiter(first_line)
    header_end, body_end, n_records = _check_records(path, data, delimiter)
    names = _header(path, data[:header_end].decode(), delimiter)
    if n_records < 2:
        raise DataError(f"{path} has a header and no rows: a table needs at least one row.")
    schema = dict(zip(names, _dtypes(data, header_end, body_end, delimiter, len(names))))
    try:
        frame = pl.read_csv(data[header_end:body_end], has_header=False, separator=delimiter, schema=schema)
    except pl.exceptions.PolarsError as fault:
        raise DataError(f"{path} cannot be read as CSV: {fault}.") from None
    if frame.shape != (n_records - 1, len(names)):
        raise DataError(f"{path} has {n_records - 1} rows of {len(names)} fields, but was read as {frame.shape}.")
    return frame


def _text_bytes(path: Path) -> bytes:
    """The bytes of a text file, inflated, known to be UTF-8, without the mark that some programs put before it."""
    data = _inflate(path) if path.name.lower().endswith(".gz") else path.read_bytes()
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:4096]:
        raise DataError(f"{path} is UTF-16 text or not text at all: save it as UTF-8 (iconv -f utf-16 -t utf-8).")
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data.strip():
        raise DataError(f"{path} is empty: a table needs a header and at least one row.")
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _PIECE):
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(data[start : start + _PIECE], final=start + _PIECE >= len(data))
        except UnicodeDecodeError as fault:
            at = start - held + fault.start
            line = data.count(b"\n", 0, at) + 1
            raise DataError(
                f"{path}, line {line}: byte 0x{data[at]:02x} is not UTF-8 text, perhaps Latin-1: convert the file "
                "(iconv -f latin1 -t utf-8)."
            ) from None
    return data


def _inflate(path: Path) -> bytes:
    pieces, total = [], 0
    try:
        with gzip.open(path) as stream:
            while piece := stream.read(_PIECE):
                total += len(piece)
                _check_size(path, total)
                pieces.append(piece)
    except (gzip.BadGzipFile, EOFError, zlib.error) as fault:
        raise DataError(f"{path} is not a whole gzip file: {fault}.") from None
    return b"".join(pieces)


def _delimiter(header: bytes) -> str:
    """Comma, unless the header has none and has semicolons."""
    unquoted = re.sub(rb'"[^"]*"', b"", header)
    return ";" if b"," not in unquoted and b";" in unquoted else ","


def _check_records(path: Path, data: bytes, delimiter: str) -> tuple[int, int, int]:
    """(end of the header, end of the last record, records) of text in which every record is well formed."""
    from quiltwork.data.records import BLANK, RAGGED, STRAY_QUOTE, UNCLOSED_QUOTE, scan_records

    found = scan_records(np.frombuffer(data, np.uint8), ord(delimiter)).tolist()
    problem, line, n_fields, expected, header_end, body_end, n_records = found
    words = {
        RAGGED: f"has {n_fields} field{'s' * (n_fields != 1)} where the header has {expected}",
        BLANK: f"is blank in the middle of the table, where the header has {expected} fields",
        STRAY_QUOTE: "has a quote inside a field: enclose the field in quotes and double the one inside",
        UNCLOSED_QUOTE: "opens a quote that is never closed",
    }
    if problem:
        raise DataError(f"{path}, line {line} {words[problem]}.")
    return header_end, body_end, n_records


def _dtypes(data: bytes, start: int, stop: int, delimiter: str, n_fields: int) -> list[Any]:
    """The polars types of the columns."""
    import polars as pl

    from quiltwork.data.records import BOOL, INTEGER, REAL, kinds_of_fields

    dtypes = {INTEGER: pl.Int64, REAL: pl.Float64, INTEGER | REAL: pl.Float64, BOOL: pl.Boolean}
    kinds = kinds_of_fields(np.frombuffer(data, np.uint8), start, stop, ord(delimiter), n_fields)
    return [dtypes.get(kind, pl.String) for kind in kinds.tolist()]


def _header(path: Path, text: str, delimiter: str) -> list[str]:
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
        check_names(names)
    except (csv.Error, DataError) as fault:
        raise DataError(f"{path}, line 1: {fault}") from None
    return names


# Columns with types: Parquet and Arrow


def _read_columns(path: Path, split: str, kind: str) -> Any:
    pl = _polars(f"Reading {kind}")
    with path.open("rb", buffering=0) as stream:  # polars reads on from where the system, not Python, stands
        start = stream.read(6)
        stream.seek(0)
        try:
            if kind == "Parquet":
                _check_magic(path, kind, start.startswith(b"PAR1"))
                frame = pl.read_parquet(stream)
            else:
                _check_magic(path, kind, start.startswith((b"ARROW1", b"\xff\xff\xff\xff")))
                frame = pl.read_ipc(stream) if start == b"ARROW1" else pl.read_ipc_stream(stream)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as fault:
            raise DataError(f"{path} is a damaged {kind} file: {str(fault).splitlines()[0]}.") from None
    if frame.is_empty():
        raise DataError(f"{path} has no rows: a table needs at least one row.")
    return frame


def _check_magic(path: Path, kind: str, right: bool) -> None:
    if not right:
        raise DataError(f"{path} does not begin like {kind}: its name promises what it does not hold.")


def _polars(purpose: str) -> Any:
    try:
        import polars
    except ImportError:
        raise MissingDependencyError.of("polars", "io", purpose) from None
    return polars


# Matrices: NPZ and NPY


def _read_npy(path: Path, split: str) -> Columns:
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except _BROKEN:
        raise DataError(f"{path} is not a whole NumPy array of plain numbers or text.") from None
    return from_array(values)


def _read_npz(path: Path, split: str) -> Columns:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            _check_size(path, sum(info.file_size for info in members.values()))
            if {"train", "valid", "test", "n_vars", "n_rows"} <= set(members):
                return _unpack_set(path, split, lambda name: _load_array(path, archive, members[name]))
            if {"format", "shape", "data"} <= set(members):
                from scipy.sparse import load_npz

                for member in members.values():
                    _check_array(path, archive, member)
                return from_sparse(load_npz(path))
            arrays = set(members) - {"names"}
            if "X" not in arrays and len(arrays) != 1:
                raise DataError(f"{path} must hold one array, or one named 'X'; it holds {', '.join(sorted(arrays))}.")
            values = _load_array(path, archive, members["X" if "X" in arrays else arrays.pop()])
            names = _load_array(path, archive, members["names"]) if "names" in members else None
    except DataError:
        raise
    except _BROKEN as fault:
        raise DataError(f"{path} is not a whole NPZ file: {fault}.") from None
    if names is not None and (names.dtype.kind != "U" or values.ndim != 2 or names.shape != values.shape[1:]):
        raise DataError(f"{path}: 'names' must be text, one name for each column of an array of shape {values.shape}.")
    return from_array(values, None if names is None else names.tolist())


def _load_array(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    _check_array(path, archive, member)
    with archive.open(member) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _check_array(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Before an array is inflated: it has no Python objects, and its declared shape fills its declared size."""
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(stream)
        if dtype.hasobject:
            raise DataError(f"{path} holds Python objects ({member.filename}), which are never loaded.")
        if stream.tell() + int(np.prod(shape, dtype=object)) * dtype.itemsize != member.file_size:
            raise DataError(f"{path} is damaged: {member.filename} is not as large as its shape {shape} says.")


def _unpack_set(path: Path, split: str, load: Callable[[str], np.ndarray]) -> Columns:
    """One part of a set kept as bits: train, valid and test are (rows, bytes), most significant bit first."""
    splits = ("train", "valid", "test")
    if split not in splits:
        raise DataError(f"{path} has the parts {', '.join(splits)}. Got split={split!r} instead.")
    n_vars, n_rows, bits = int(load("n_vars")), int(load("n_rows")[splits.index(split)]), load(split)
    if bits.dtype != np.uint8 or bits.shape != (n_rows, (n_vars + 7) // 8):
        raise DataError(f"{path} is damaged: part {split!r} does not hold {n_rows} rows of {n_vars} bits.")
    _check_size(path, n_rows * n_vars)
    return from_array(np.unpackbits(bits, axis=1, count=n_vars))


_READERS: dict[str, Callable[[Path, str], Any]] = {
    ".csv": _read_text,
    ".csv.gz": _read_text,
    ".tsv": partial(_read_text, delimiter="\t"),
    ".tsv.gz": partial(_read_text, delimiter="\t"),
    ".parquet": partial(_read_columns, kind="Parquet"),
    ".arrow": partial(_read_columns, kind="Arrow"),
    ".feather": partial(_read_columns, kind="Arrow"),
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".data": lambda path, split: read_libra_data(path),
}
