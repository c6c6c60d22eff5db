"""What the user names on the command line, turned into values: models, tables, evidence, metrics."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from quiltwork.errors import InputError, ParameterError

NETWORKS = (".bif", ".xmlbif", ".xml", ".bifxml", ".uai")  # exchange formats; each may end in .gz too


def is_network(path: Path) -> bool:
    """
    >>> is_network(Path("alarm.BIF.gz")), is_network(Path("alarm.qw"))
    (True, False)
    """
    return path.name.lower().removesuffix(".gz").endswith(NETWORKS)


def is_model(path: Path) -> bool:
    return is_network(path) or path.suffix.lower() == ".qw"


def read_model(path: Path) -> Any:
    """A model, from our own file or from an exchange format."""
    if is_network(path):
        from quiltwork.models.foreign import read_network

        return read_network(path)
    from quiltwork.models.files import load

    return load(path)


def read_rows(path: Path, items: Sequence[str] | None = None, split: str = "train") -> Any:
    """A table; votes (columns user, item and perhaps time) become one with a row per user and a column per item.

    items  the columns that votes are to have: those of a model that is asked about them
    split  the part of a bit-packed set
    """
    from quiltwork.data.read import read_table
    from quiltwork.data.votes import is_votes, read_votes

    table = read_table(path, split)
    return read_votes(table).table(items) if is_votes(table) else table


def check_target(path: Path, endings: Sequence[str]) -> None:
    """Refuse, before any work is done, a file that could not be written or that has another kind of ending."""
    if not path.name.lower().endswith(tuple(endings)):
        *most, last = endings
        raise InputError(
            f"The file to write must end in {', '.join(most)}{' or ' if most else ''}{last}. Got {str(path)!r} instead."
        )
    if path.is_dir():
        raise InputError(f"Cannot write {str(path)!r}: it is a directory; give the name of a file.")
    if not path.parent.is_dir():
        raise InputError(f"Cannot write {str(path)!r}: there is no directory {str(path.parent)!r}.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"Cannot write {str(path)!r}: no permission to write in {str(path.parent)!r}.")


def evidence(assignments: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Evidence from words like `smoke=yes`; a name may hold a '=' itself.

    >>> evidence(["smoke=yes", "a=b=no"], ["smoke", "a=b"])
    {'smoke': 'yes', 'a=b': 'no'}
    """
    known: dict[str, str] = {}
    for word in assignments:
        cuts = [i for i, c in enumerate(word) if c == "="]
        if not cuts:
            raise InputError(f"Evidence must be written variable=state. Got {word!r} instead.")
        cut = next((i for i in cuts if word[:i] in names), cuts[0])
        name, state = word[:cut], word[cut + 1 :]
        if known.get(name, state) != state:
            raise InputError(f"The evidence gives {name!r} two states, {known[name]!r} and {state!r}; give one.")
        known[name] = state
    return known


def metrics(text: str) -> dict[str, Callable[[Any, Any], Any]]:
    """The functions (model, rows) -> one number per row that a list like `ll,pll` names."""
    from quiltwork.infer.blanket import pseudo_log_likelihood
    from quiltwork.infer.likelihood import log_likelihood

    known = {"ll": log_likelihood, "pll": pseudo_log_likelihood}
    chosen = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in chosen:
        if name not in known:
            raise ParameterError(f"There is no metric {name!r}; there are {', '.join(known)}.")
    return {name: known[name] for name in chosen}
