"""What the user names on the command line, turned into values: models, tables, votes, evidence."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiltwork.errors import DataError, DataWarning, InputError
from quiltwork.models.disk import OTHER_FORMATS

if TYPE_CHECKING:
    from quiltwork.data.votes import Votes


def is_network(path: Path) -> bool:
    """
    >>> is_network(Path("alarm.BIF.gz")), is_network(Path("alarm.qw"))
    (True, False)
    """
    return path.name.lower().removesuffix(".gz").endswith(OTHER_FORMATS)


def is_model(path: Path) -> bool:
    return is_network(path) or path.suffix.lower() == ".qw"


def read_model(path: Path) -> Any:
    """A model, from our own file or from an exchange format."""
    if is_network(path):
        from quiltwork.models.foreign import read_network

        return read_network(path)
    from quiltwork.models.files import load

    return load(path)


# Tables and votes


def read_source(path: Path, split: str = "train") -> Any:
    """`Votes` from a file with the columns user, item and perhaps time; from any other, a table.

    split  the part of a bit-packed set
    """
    from quiltwork.data.read import read_table
    from quiltwork.data.votes import is_votes, read_votes

    table = read_table(path, split)
    return read_votes(table) if is_votes(table) else table


def read_to_learn(path: Path) -> Any:
    """`read_source`, with a note where a table looks like votes but is none."""
    from quiltwork.data.columns import names_of

    source = read_source(path)
    names = () if holds_votes(source) else names_of(source)
    if {"user", "item"} & set(names):
        warnings.warn(
            f"{path} is read as a table of {len(names)} columns; votes have the columns user, item and perhaps time, "
            "and no others.",
            DataWarning,
            stacklevel=2,
        )
    return source


def as_rows(source: Any, items: Sequence[str] | None = None) -> Any:
    """A table; votes become one with a row per user and a column per item, `items` where a model asks for its own."""
    return source.table(items) if holds_votes(source) else source


def as_votes(source: Any, path: Path) -> Votes:
    """Votes; a table of binary columns becomes them, each row a user and each second state a choice."""
    if holds_votes(source):
        return source
    from quiltwork.data.encode import fit_encode

    encoder, data = fit_encode(source)
    for variable in encoder.variables:
        if variable.n_states > 2:
            raise DataError(
                f"To rank items, {path} must have the columns user, item and perhaps time, or one binary column per "
                f"item. Its column {variable.name!r} has {variable.n_states} states instead."
            )
    return _votes_of(encoder.variables, data)


def votes_about(model: Any, source: Any) -> Votes:
    """Votes whose items are the variables of a model; those for other items are named once and left out."""
    from dataclasses import replace

    import numpy as np

    if not all(variable.states for variable in model.variables):
        raise InputError(f"A {type(model).__name__} is of numbers and has no items to rank; evaluate it by ll or pll.")
    names = [variable.name for variable in model.variables]
    if not holds_votes(source):
        return _votes_of(model.variables, model.encoder.encode(source))
    place = {name: v for v, name in enumerate(names)}
    column = np.array([place.get(str(item), -1) for item in source.items], np.int32)
    unknown = [str(item) for item, v in zip(source.items, column) if v < 0]
    if unknown:
        shown = ", ".join(map(repr, unknown[:10])) + (", ..." if len(unknown) > 10 else "")
        warnings.warn(
            f"{len(unknown)} item(s) of the votes are unknown to this model and were left out: {shown}.",
            DataWarning,
            stacklevel=2,
        )
    known = column[source.item] >= 0
    return replace(source, items=tuple(names), user=source.user[known], item=column[source.item[known]], times=None)


def items_of(model: Any) -> list[str]:
    """Names of the items of a model: its variables with two states."""
    items = [variable.name for variable in model.variables if variable.n_states == 2]
    if not items:
        raise InputError(
            "This model has no items to rank: an item is a variable with two states, not chosen and chosen, as votes "
            "(columns user, item and perhaps time) make them."
        )
    return items


def holds_votes(source: Any) -> bool:
    from quiltwork.data.votes import Votes

    return isinstance(source, Votes)


def _votes_of(variables: Sequence[Any], data: Any) -> Votes:
    """One vote for each variable in its second state, or in its only one if that is 1; users are the row numbers."""
    import numpy as np

    from quiltwork.data.votes import Votes

    chosen = [1 if variable.n_states > 1 else int(variable.states[0] != 1) for variable in variables]
    user, item = np.nonzero(data.states() == np.array(chosen))
    names = tuple(variable.name for variable in variables)
    return Votes(tuple(range(data.n_samples)), names, user.astype(np.int32), item.astype(np.int32))


# Files to write, and words


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
    """Evidence from words like `smoke=yes` or `smoke=yes,xray=no`; a name may hold a '=' itself, and a state a comma.

    >>> evidence(["smoke=yes,xray=no", "a=b=no"], ["smoke", "xray", "a=b"])
    {'smoke': 'yes', 'xray': 'no', 'a=b': 'no'}
    """
    known: dict[str, str] = {}
    for word in (part for words in assignments for part in _assignments(words, names)):
        cuts = [i for i, c in enumerate(word) if c == "="]
        if not cuts:
            raise InputError(f"Evidence must be written variable=state, as in --given smoke=yes. Got {word!r} instead.")
        cut = next((i for i in cuts if word[:i] in names), cuts[0])
        name, state = word[:cut], word[cut + 1 :]
        if known.get(name, state) != state:
            raise InputError(f"The evidence gives {name!r} two states, {known[name]!r} and {state!r}; give one.")
        known[name] = state
    return known


def _assignments(words: str, names: Sequence[str]) -> list[str]:
    """Words cut at the commas that follow an assignment and are followed by a name and a '='."""
    parts: list[str] = []
    for piece in words.split(","):
        if parts and not ("=" in parts[-1] and any(piece.lstrip().startswith(f"{name}=") for name in names)):
            parts[-1] += f",{piece}"
        else:
            parts.append(piece.lstrip() if parts else piece)
    return parts
