"""Model files: written whole or not at all, checked to the last bit, and never able to run code.

A model file is a safetensors file, so any safetensors reader can open its arrays:

    8 bytes   length of the header
    header    {"__metadata__": {"quiltwork": "<what the file says about itself>"}, "<tensor>": {...}, ...}
    tensors   one after another, without gaps

What the file says about itself is JSON again (`Envelope`): a seal over the first 8 bytes and the header, the version of
the format, the kind of model, one BLAKE2b digest per tensor, the model's provenance, and the kind's own description
(names, states, policies). The seal and the digests together cover every byte. They guard against accidents; they are
no signature. The same model always gives the same bytes.

`load` trusts nothing. It bounds every size before it allocates, parses the header into a schema, compares shapes and
offsets with the file, checks the digests, and lets the kind check what the numbers mean (no cycle, rows that sum to
one). Whatever the bytes, it returns a model or raises a `ModelFileError`.

A kind of model is one line in `KINDS`: the module that can `pack` it into a description and tensors, and `unpack` it.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Mapping
from hashlib import blake2b
from io import BufferedReader, BytesIO
from typing import Any

import msgspec
import numpy as np

from quiltwork.errors import (
    CorruptModelError,
    InputError,
    ModelFileError,
    ModelTooLargeError,
    NewerVersionError,
    ResourceLimitError,
)
from quiltwork.models.disk import OTHER_FORMATS, open_file, write_atomically

__all__ = ["load", "save", "to_bytes", "write_atomically"]

KINDS = {  # kind of model -> module with SCHEMA, TENSORS, pack and unpack
    "bn": "quiltwork.models.bayesian_file",
    "hrf": "quiltwork.models.hybrid_file",
    "bn-local": "quiltwork.models.local_bayesian_file",
    "dn": "quiltwork.models.dependency_file",
    "dn-local": "quiltwork.models.local_dependency_file",
    "mn": "quiltwork.models.markov_file",
    "tree": "quiltwork.models.markov_tree_file",
    "gaussian-tree": "quiltwork.models.gaussian_tree_file",
    "hrf-average": "quiltwork.models.averaged_file",
    "gbn": "quiltwork.models.gaussian_file",
    "gmf": "quiltwork.models.gaussian_items_file",
    "nb": "quiltwork.models.naive_bayes_file",
    "itemrank": "quiltwork.models.item_walk_file",
    "latent": "quiltwork.models.latent_file",
    "stack": "quiltwork.models.stack_file",
}

VERSION = (1, 0)  # a larger second number adds things that older readers may ignore; a larger first one does not
MAX_HEADER = 100_000_000  # bytes; the safetensors format's own limit
MAX_TENSORS = 10_000
MAX_DIMENSIONS = 8
BYTES_PER_VALUE = 250  # what one value of the header costs at most once it is a part of Python objects

_DTYPES = {"F64": np.dtype("<f8"), "I64": np.dtype("<i8")}
_NO_SEAL = "0" * 64
_OPENING = b'{"__metadata__":{"quiltwork":"{\\"seal\\":\\"'  # every header of ours begins so; the seal follows
_SEAL_AT = 8 + len(_OPENING)
_FOREIGN = {  # how files begin that people rename, or confuse with ours
    **dict.fromkeys((b"\x80\2", b"\x80\3", b"\x80\4", b"\x80\5"), "a pickle, which could run code and is never loaded"),
    b"PK": "a zip archive (perhaps NumPy's .npz)",
    b"\x93NUMPY": "a NumPy array",
    b"\x1f\x8b": "a gzip file",
    b"\x89HDF": "an HDF5 file",
}


class Envelope(msgspec.Struct):
    """What a model file says about itself, whatever kind of model it holds."""

    seal: str  # digest of the 8 bytes and the header, taken while these characters were zeros; always the first field
    version: tuple[int, int]
    kind: str
    digests: dict[str, str]
    provenance: dict[str, Any]
    model: msgspec.Raw


class _Versioned(msgspec.Struct):
    version: tuple[int, int]


class _Tensor(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model (or a fitted estimator's) whole or not at all; an older file stays until the new one is complete.

    >>> import tempfile
    >>> from quiltwork.models.textbook import textbook
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(textbook("asia"), f"{folder}/asia.qw")
    ...     load(f"{folder}/asia.qw")
    BayesianNet(8 variables, 8 arcs, 18 parameters)
    >>> save(textbook("asia"), "asia.bif")
    Traceback (most recent call last):
    quiltwork.errors.InputError: A model file must not end in .bif, which says another format. Got 'asia.bif'; use
    write_network for that format, or another ending such as .qw.
    """
    shown = os.fspath(path)
    ending = os.path.splitext(shown.lower().removesuffix(".gz"))[1]
    if ending in OTHER_FORMATS:
        raise InputError(
            f"A model file must not end in {ending}, which says another format. Got {shown!r}; use write_network for "
            "that format, or another ending such as .qw."
        )
    write_atomically(path, to_bytes(model))


def load(path: str | os.PathLike[str], max_bytes: int | None = None) -> Any:
    """Read a model that `save` wrote.

    `max_bytes` bounds the memory it may take: by default 4 times the size of the file and 64 MB. A file that is
    damaged, too large, newer than this library or not a model at all raises a `ModelFileError`.

    >>> load("no such file.qw")
    Traceback (most recent call last):
    quiltwork.errors.ModelFileError: There is no file 'no such file.qw'.
    """
    shown = repr(os.fspath(path))
    with open_file(path, ModelFileError) as (file, size):
        limit = 4 * size + 64 * 2**20 if max_bytes is None else max_bytes
        try:
            header = _read_header(file, size, limit, shown)
            return _read_model(file, size, header, shown)
        except MemoryError:
            raise ModelTooLargeError(f"{shown} does not fit in the memory that is left.") from None
        except RecursionError:
            raise CorruptModelError(f"{shown} is damaged: its header is nested too deeply.") from None
        except OSError as error:
            raise ModelFileError(f"{shown} cannot be read: {error.strerror or error}.") from None


def from_bytes(content: bytes) -> Any:
    """The model whose file has this content.

    >>> from quiltwork.models.textbook import textbook
    >>> from_bytes(to_bytes(textbook("asia")))
    BayesianNet(8 variables, 8 arcs, 18 parameters)
    """
    file: Any = BytesIO(content)
    size = len(content)
    header = _read_header(file, size, 4 * size + 64 * 2**20, "the content")
    return _read_model(file, size, header, "the content")


# Saving: model -> envelope and tensors -> bytes


def to_bytes(model: Any) -> bytes:
    """The content of a model file; the same bytes for the same model.

    >>> from quiltwork.models.textbook import textbook
    >>> to_bytes(textbook("asia")) == to_bytes(textbook("asia"))
    True
    """
    from safetensors.numpy import save as to_safetensors

    model = getattr(model, "model_", model)  # a fitted estimator stands for its model
    file_kind = getattr(model, "file_kind", getattr(model, "kind", None))
    if file_kind not in KINDS:
        raise InputError(f"Only a model or a fitted estimator can be saved. Got {type(model).__name__}.")
    kind = importlib.import_module(KINDS[file_kind])
    provenance = _plain(model.provenance)
    try:
        description, tensors = kind.pack(model)
        described = msgspec.json.encode(description)
        kind.unpack(msgspec.json.decode(described, type=kind.SCHEMA), tensors, provenance)
    except (ValueError, TypeError) as error:  # what could not be loaded again is not saved
        raise InputError(f"The model cannot be saved: {error}") from None
    digests = {name: _digest(tensor) for name, tensor in tensors.items()}
    envelope = Envelope(_NO_SEAL, VERSION, file_kind, digests, provenance, msgspec.Raw(described))
    told = msgspec.json.encode(envelope, order="deterministic").decode()
    unsealed = to_safetensors(tensors, {"quiltwork": told})
    length = int.from_bytes(unsealed[:8], "little")
    if length > MAX_HEADER:
        raise ResourceLimitError(
            f"The names and states of the model take {length} bytes, and a model file holds at most {MAX_HEADER}."
        )
    seal = _digest(unsealed[: 8 + length]).encode()
    return unsealed[:_SEAL_AT] + seal + unsealed[_SEAL_AT + len(seal) :]


def _digest(data: bytes | np.ndarray) -> str:
    flat = data if isinstance(data, bytes) else data.ravel().data
    return blake2b(flat, digest_size=len(_NO_SEAL) // 2).hexdigest()


def _plain(value: Any) -> Any:
    """Provenance as JSON can hold it: NumPy's numbers as Python's, and what has no JSON form as its text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, (bool, int)) else str(value).encode(errors="replace").decode()


# Loading: bytes -> header, bounded and sealed -> tensors, digested -> model


def _read_header(file: BufferedReader, size: int, limit: int, shown: str) -> bytes:
    """The 8 bytes and the header, once they are known to be ours, unharmed and small enough to parse."""
    start = file.read(_SEAL_AT)
    if start[8:] != _OPENING:
        raise CorruptModelError(_not_ours(start, shown))
    length = int.from_bytes(start[:8], "little")
    if length > min(size - 8, MAX_HEADER) or length < len(_OPENING) + len(_NO_SEAL):
        raise CorruptModelError(f"{shown} is damaged: a header of {length} bytes cannot be in a file of {size} bytes.")
    header = start + file.read(8 + length - _SEAL_AT)
    after_seal = _SEAL_AT + len(_NO_SEAL)
    seal = header[_SEAL_AT:after_seal]
    if _digest(header[:_SEAL_AT] + _NO_SEAL.encode() + header[after_seal:]).encode() != seal:
        raise CorruptModelError(f"{shown} is damaged: its header is not the one that was saved.")
    values = sum(map(header.count, (b",", b"[", b"{")))
    needed = size + 2 * length + BYTES_PER_VALUE * values
    if needed > limit:
        raise ModelTooLargeError(
            f"Loading {shown} may take {needed} bytes of memory, and max_bytes is {limit}; "
            f"if you trust the file, pass max_bytes={needed}."
        )
    return header


def _not_ours(start: bytes, shown: str) -> str:
    if not start:
        return f"{shown} is empty."
    for opening, name in _FOREIGN.items():
        if start.startswith(opening):
            return f"{shown} is not a quiltwork model but {name}."
    if start[8:].startswith(_OPENING[:1]):
        return f"{shown} looks like a safetensors file, but not like a model that quiltwork saved."
    return (
        f"{shown} is not a quiltwork model, or its beginning is damaged; files of other programs (BIF, UAI, Libra) are "
        "read by read_network."
    )


def _read_model(file: BufferedReader, size: int, header: bytes, shown: str) -> Any:
    try:
        entries = msgspec.json.decode(header[8:], type=dict[str, msgspec.Raw])
        told = msgspec.json.decode(entries.pop("__metadata__"), type=dict[str, str])["quiltwork"]
        envelope, kind = _read_envelope(told, shown)
        layout = _read_layout(entries, header, size, kind.TENSORS)
        tensors = _read_tensors(file, size - len(header), layout)
        for name, tensor in tensors.items():
            if envelope.digests.get(name) != _digest(tensor):
                raise ValueError(f"the numbers of {name!r} are not those that were saved.")
        description = msgspec.json.decode(envelope.model, type=kind.SCHEMA)
        return kind.unpack(description, {name: tensors[name] for name in kind.TENSORS}, envelope.provenance)
    except KeyError as error:
        raise CorruptModelError(f"{shown} is damaged: its header lacks {error}.") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise CorruptModelError(f"{shown} is damaged: {error}") from None


def _read_envelope(told: str, shown: str) -> tuple[Envelope, Any]:
    """The envelope, and the module that knows its kind of model."""
    major, minor = msgspec.json.decode(told, type=_Versioned).version
    if major > VERSION[0]:
        raise NewerVersionError(
            f"{shown} has version {major}.{minor} of the file format and this quiltwork reads versions "
            f"{VERSION[0]}.x; upgrade quiltwork to load it."
        )
    if major != VERSION[0]:
        raise ValueError(f"there never was a version {major}.{minor} of the file format.")
    envelope = msgspec.json.decode(told, type=Envelope)
    if envelope.kind not in KINDS:
        raise NewerVersionError(
            f"{shown} holds a model of kind {envelope.kind!r}, which this quiltwork does not know; "
            f"upgrade quiltwork to load it."
        )
    return envelope, importlib.import_module(KINDS[envelope.kind])


def _read_layout(
    entries: dict[str, msgspec.Raw], header: bytes, size: int, expected: Mapping[str, tuple[str, int]]
) -> dict[str, _Tensor]:
    """Type, shape and place of every tensor, in the order of the file, covering it without gap or overlap."""
    if len(entries) > MAX_TENSORS:
        raise ValueError(f"{len(entries)} tensors are more than the {MAX_TENSORS} a model can have.")
    layout = {name: msgspec.json.decode(raw, type=_Tensor) for name, raw in entries.items()}
    if header.count(b'"data_offsets":') != len(layout):
        raise ValueError("two of its tensors have the same name.")
    end = 0
    for name, tensor in sorted(layout.items(), key=lambda item: item[1].data_offsets):
        begin, stop = tensor.data_offsets
        if tensor.dtype not in _DTYPES or len(tensor.shape) > MAX_DIMENSIONS or min(tensor.shape, default=0) < 0:
            raise ValueError(f"tensor {name!r} has an impossible type or shape.")
        if begin != end or stop - begin != _DTYPES[tensor.dtype].itemsize * math.prod(tensor.shape):
            raise ValueError(f"tensor {name!r} is not where it should be.")
        end = stop
    if end != size - len(header) or len(header) % 8:
        raise ValueError(f"its tensors should fill {size - len(header)} bytes and fill {end}.")
    for name, (dtype, n_dimensions) in expected.items():
        if name not in layout or (layout[name].dtype, len(layout[name].shape)) != (dtype, n_dimensions):
            raise ValueError(f"tensor {name!r} is absent or has the wrong type or shape.")
    return layout


def _read_tensors(file: BufferedReader, n_bytes: int, layout: dict[str, _Tensor]) -> dict[str, np.ndarray]:
    buffer = np.empty(n_bytes, np.uint8)  # one allocation, of which all tensors are views
    if file.readinto(buffer.data) != n_bytes:
        raise ValueError("it ends too early.")
    return {
        name: buffer[slice(*tensor.data_offsets)].view(_DTYPES[tensor.dtype]).reshape(tensor.shape)
        for name, tensor in layout.items()
    }
