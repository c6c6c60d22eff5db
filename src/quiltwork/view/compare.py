"""Two models of the same variables, made comparable: one order of the variables, one layout.

The second model's document is renumbered to the order of the first and takes over its positions, so that an arc is in
both when its two numbers are, and no point moves when a reader looks from one model to the other.
"""

from __future__ import annotations

from typing import Any

from quiltwork.errors import InputError
from quiltwork.view.document import ROOM, Document, document, positions, viewable

_ONE = ("split", "variable", "child")  # keys of a local distribution that hold a variable
_SEVERAL = ("parents",)  # and a list of them


def compared(model: Any, other: Any, room: int | None = ROOM) -> tuple[Document, Document]:
    """The documents of two models of the same variables, in the order of the first.

    >>> from quiltwork.models.textbook import textbook
    >>> compared(textbook("asia"), textbook("sprinkler"))
    Traceback (most recent call last):
    quiltwork.errors.InputError: Two models can be compared when they have the same variables; 'asia' is in the
    first alone and 'cloudy' is in the second alone.
    """
    model, other = viewable(model), viewable(other)
    place = columns_of(other, model)
    shared = positions(model)
    second = document(other, room, [shared[v] for v in place])
    return document(model, room), renumbered(second, place)


def columns_of(other: Any, model: Any) -> list[int]:
    """By column of the other model, the column of the first that has its name."""
    column = {variable.name: v for v, variable in enumerate(model.variables)}
    theirs = [variable.name for variable in other.variables]
    known = set(theirs)
    only_first = next((name for name in column if name not in known), None)
    only_second = next((name for name in theirs if name not in column), None)
    if only_first is not None or only_second is not None:
        found = [f"{only_first!r} is in the first alone"] if only_first is not None else []
        found += [f"{only_second!r} is in the second alone"] if only_second is not None else []
        raise InputError(f"Two models can be compared when they have the same variables; {' and '.join(found)}.")
    return [column[name] for name in theirs]


def renumbered(shown: Document, place: list[int]) -> Document:
    """The same document with every variable v at place[v].

    >>> from quiltwork.models.textbook import textbook
    >>> turned = renumbered(document(textbook("sprinkler")), [3, 2, 1, 0])
    >>> turned["variables"][3]["name"], turned["locals"][0]["parents"]
    ('cloudy', [2, 1])
    """
    order = sorted(range(len(place)), key=place.__getitem__)
    by_variable = {
        key: [shown[key][v] for v in order]
        for key in ("variables", "positions", "locals", "blankets", "relatives")
        if shown.get(key)
    }
    for key in ("blankets", "relatives"):
        if key in by_variable:
            by_variable[key] = [sorted(place[u] for u in around) for around in by_variable[key]]
    if "locals" in by_variable:
        by_variable["locals"] = [relabelled(one, place) for one in by_variable["locals"]]
    ends = {end: [place[v] for v in shown["arcs"][end]] for end in ("from", "to")}
    if not shown["directed"]:  # the lower column comes first
        pairs = list(zip(ends["from"], ends["to"], strict=True))
        ends = {"from": [min(pair) for pair in pairs], "to": [max(pair) for pair in pairs]}
    return {**shown, **by_variable, "arcs": {**shown["arcs"], **ends}}


def relabelled(value: Any, place: list[int]) -> Any:
    """A local distribution that speaks of other columns; configurations keep their order, and with it the parents."""
    if isinstance(value, list):
        return [relabelled(one, place) if isinstance(one, (dict, list)) else one for one in value]
    told = {}
    for key, one in value.items():
        if key in _ONE:
            told[key] = place[one]
        elif key in _SEVERAL:
            told[key] = [place[v] for v in one]
        else:
            told[key] = relabelled(one, place) if isinstance(one, (dict, list)) else one
    return told
