"""Bayesian networks of other programs: BIF, XMLBIF and UAI, in and out, gzipped too.

The suffix of the file names the format. All three hold tables of probabilities; they differ in what they can say:

    .bif                  names and states as text                 bnlearn, pgmpy, pyAgrum, JavaBayes
    .xmlbif .xml .bifxml  names and states as text, without spaces around them     Weka, SamIam, pyAgrum
    .uai                  numbers only: variable i is read as "x<i>", with the states 0, 1, ...

States are written as they print, so the state 1 comes back as the text "1" from the first two. Probabilities are
written with all their digits and come back bit for bit. A table whose rows miss one by 0.001 at most is rescaled, with
one warning per file; anything worse is an error that names the place.
"""

from __future__ import annotations

import gzip
import os
import zlib
from types import ModuleType

from quiltwork.errors import FormatError, InputError
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.files import open_file, write_atomically

MAX_TEXT = 64 * 2**20  # bytes of a file once it is unzipped


def read_network(path: str | os.PathLike[str]) -> BayesianNet:
    """The network in a BIF, XMLBIF or UAI file (gzipped or not).

    >>> read_network("rain.txt")
    Traceback (most recent call last):
    quiltwork.errors.InputError: The suffix of 'rain.txt' must be .bif, .xmlbif, .xml, .bifxml
    or .uai, or one of them and .gz.
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


def write_network(model: BayesianNet, path: str | os.PathLike[str]) -> None:
    """Write a network as BIF, XMLBIF or UAI, by the suffix of the file; whole or not at all.

    >>> import tempfile
    >>> from quiltwork.models.textbook import textbook
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(textbook("sprinkler"), f"{folder}/sprinkler.bif.gz")
    ...     read_network(f"{folder}/sprinkler.bif.gz")
    BayesianNet(4 variables, 4 arcs, 9 parameters)
    """
    writer, zipped = _format_of(path)
    if getattr(model, "kind", None) != "bn":
        raise InputError(f"Only Bayesian networks have these formats. Got {type(model).__name__} instead.")
    try:
        data = writer.write(model).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"A name or a state cannot be written as UTF-8 text: {error}.") from None
    write_atomically(path, gzip.compress(data, mtime=0) if zipped else data)


def _format_of(path: str | os.PathLike[str]) -> tuple[ModuleType, bool]:
    """The module that reads and writes the format, and whether the file is gzipped."""
    from quiltwork.models.foreign import bif, uai, xmlbif

    formats = {".bif": bif, ".xmlbif": xmlbif, ".xml": xmlbif, ".bifxml": xmlbif, ".uai": uai}
    name = os.fspath(path).lower()
    inner = name.removesuffix(".gz")
    suffix = os.path.splitext(inner)[1]
    if suffix not in formats:
        *most, last = formats
        raise InputError(
            f"The suffix of {os.fspath(path)!r} must be {', '.join(most)} or {last}, or one of them and .gz."
        )
    return formats[suffix], inner != name
