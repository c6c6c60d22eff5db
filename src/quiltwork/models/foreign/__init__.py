"""Networks of other programs: BIF, XMLBIF, UAI and Libra, in and out, gzipped too.

The suffix of the file names the format. The first three hold Bayesian networks of tables, so trees and graphs are
written out as tables; they differ in what they say:

    .bif                  names and states as text                 bnlearn, pgmpy, pyAgrum, JavaBayes
    .xmlbif .xml .bifxml  names and states as text, without spaces around them     Weka, SamIam, pyAgrum
    .uai                  numbers only: variable i is read as "x<i>", with the states 0, 1, ...
    .mn .bn .dn           numbers only: Markov, Bayesian and dependency networks, trees too          Libra

States are written as they print, so the state 1 comes back as the text "1" from the first two. Probabilities are
written with all their digits and come back bit for bit. A table whose rows miss one by 0.001 at most is rescaled, with
one warning per file; anything worse is an error that names the place.
"""

from __future__ import annotations

import gzip
import os
import zlib
from types import ModuleType
from typing import Any

import numpy as np

from quiltwork.errors import FormatError, InputError, ResourceLimitError
from quiltwork.models.files import open_file, write_atomically

MAX_TEXT = 64 * 2**20  # bytes of a file once it is unzipped
BYTES_PER_ENTRY = 20  # of a table as text


def read_network(path: str | os.PathLike[str]) -> Any:
    """The network in a BIF, XMLBIF, UAI or Libra file (gzipped or not).

    >>> read_network("rain.txt")
    Traceback (most recent call last):
    quiltwork.errors.InputError: The suffix of 'rain.txt' must be .bif, .xmlbif, .xml, .bifxml, .uai,
    .mn, .bn or .dn, or one of them and .gz.
    """
    reader, zipped = _format_of(path)
    shown = os.fspath(path)
    with open_file(path, InputError) as (file, _):
        try:
            data = (gzip.GzipFile(fileobj=file) if zipped else file).read(MAX_TEXT + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise FormatError(f"the file cannot be read: {error}", shown) from None
    if len(data) > MAX_TEXT:
        raise FormatError(f"the file holds more than {MAX_TEXT >> 20} MB of text", shown)
    return reader.read(data, shown)


def write_network(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a network as BIF, XMLBIF, UAI or Libra, by the suffix of the file; whole or not at all.

    >>> import tempfile
    >>> from quiltwork.models.textbook import textbook
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(textbook("sprinkler"), f"{folder}/sprinkler.bif.gz")
    ...     read_network(f"{folder}/sprinkler.bif.gz")
    BayesianNet(4 variables, 4 arcs, 9 parameters)
    """
    writer, zipped = _format_of(path)
    model = getattr(model, "model_", model)  # a fitted estimator stands for its model
    wanted = _suffix(path)[1:] if writer.__name__.endswith("libra") else "bn"
    if getattr(model, "kind", None) != wanted:
        raise InputError(
            "Bayesian networks are written as .bif, .xmlbif, .uai and .bn, Markov networks as .mn, dependency networks "
            f"as .dn. Got {type(model).__name__} for {os.fspath(path)!r} instead."
        )
    if wanted == "bn" and not writer.__name__.endswith("libra"):
        model = _of_tables(model, os.fspath(path))
    try:
        data = writer.write(model).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"A name or a state cannot be written as UTF-8 text: {error}.") from None
    write_atomically(path, gzip.compress(data, mtime=0) if zipped else data)


def _of_tables(model: Any, path: str) -> Any:
    """A Bayesian network with its trees and graphs written out, if the file could be read again."""
    n_states = np.array([variable.n_states for variable in model.variables])
    n_entries = sum(cpd.n_entries(n_states) for cpd in model.cpds if cpd.kind != "table")
    if n_entries * BYTES_PER_ENTRY > MAX_TEXT:
        raise ResourceLimitError(
            f"{path!r} would hold tables, and the trees and graphs of this network make {n_entries:.3g} entries of "
            f"them, past the limit of {MAX_TEXT // BYTES_PER_ENTRY:,}; save it as a model file, or trees as .bn."
        )
    return model.tabular()


def _format_of(path: str | os.PathLike[str]) -> tuple[ModuleType, bool]:
    """The module that reads and writes the format, and whether the file is gzipped."""
    from quiltwork.models.foreign import bif, libra, uai, xmlbif

    formats = {".bif": bif, ".xmlbif": xmlbif, ".xml": xmlbif, ".bifxml": xmlbif, ".uai": uai}
    formats |= dict.fromkeys((".mn", ".bn", ".dn"), libra)
    suffix = _suffix(path)
    if suffix not in formats:
        *most, last = formats
        raise InputError(
            f"The suffix of {os.fspath(path)!r} must be {', '.join(most)} or {last}, or one of them and .gz."
        )
    return formats[suffix], os.fspath(path).lower().endswith(".gz")


def _suffix(path: str | os.PathLike[str]) -> str:
    """The ending that says the format: ".bif" of both rain.bif and rain.bif.gz."""
    return os.path.splitext(os.fspath(path).lower().removesuffix(".gz"))[1]
