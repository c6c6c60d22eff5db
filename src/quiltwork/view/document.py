"""The view document: any model as one plain, versioned value.

Whatever shows a model (page, widget, HTML file, text, figure) reads this and nothing else:

    format, version      "quiltwork-view", 1
    kind, title          which kind of model, and what a person calls it
    name                 of the file it was read from; empty where that is not known
    directed             whether arcs have a direction
    summary              numbers of variables, arcs, parameters, and training rows where they are known
    strength             {"name", "unit"}: what the strength of an arc means here (see `strengths`)
    notes                plain sentences that must be shown: what was left out, and why
    variables            [{"name", "states", "marginal", "numeric"}]; a number has no states but mean and deviation
    positions            [[x, y]] in the unit square, always the same for the same model (see `layout`)
    arcs                 {"from", "to", "strength"}: columns, strongest first; indices are places in `variables`
    slider_start         how many arcs are shown at first: about two for each variable
    blankets, relatives  by variable, of a hybrid random field; null where they follow from the arcs
    evidence             whether the model can be asked for probabilities given evidence
    locals               one local distribution per variable (see `locals`), or null with "locals_omitted": true

A document is bounded: long names are shortened, a large model keeps its strongest arcs, and local distributions fit in
the room they are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from quiltwork.errors import InputError, ResourceLimitError
from quiltwork.infer.question import model_of, once_per_model
from quiltwork.view.evidence import Marginals, can_answer, is_numeric, marginals
from quiltwork.view.kinds import Kind, kind_of
from quiltwork.view.layout import layout
from quiltwork.view.locals import MOST, MOST_ALONE, Local, is_cut, n_items
from quiltwork.view.numbers import figures, probabilities, short
from quiltwork.view.strengths import Arcs

FORMAT, VERSION = "quiltwork-view", 1
MAX_VARIABLES = 20_000  # a browser still draws so many points
MAX_ARCS = 50_000
LARGE = 2_000  # variables from which on a note says how to find one's way
ROOM = 2_600_000  # bytes of a document, so that a file with the page stays under three million and can be mailed
LEAST_SHARE = 0.3  # of them for the local distributions, however much the rest takes
ARCS_PER_VARIABLE = 2

Document = dict[str, Any]
Positions = list[list[float]]


def document(model: Any, room: int | None = ROOM, places: Positions | None = None) -> Document:
    """A model or a fitted estimator as a plain value, ready for JSON.

    room    bytes that the document may take, by cutting local distributions; None leaves them out, to be asked for one
            by one
    places  where its variables stand; None for a layout of its own

    >>> from quiltwork.models.textbook import textbook
    >>> shown = document(textbook("sprinkler"))
    >>> shown["title"], shown["summary"]
    ('Bayesian network', {'variables': 4, 'arcs': 4, 'parameters': 9, 'rows': None})
    >>> shown["variables"][2]
    {'name': 'rain', 'states': ['no', 'yes'], 'marginal': [0.5, 0.5], 'numeric': None}
    """
    model = viewable(model)
    kind, known, arcs = kind_of(model), marginals(model), _arcs(model)
    source, target, strength = (column[:MAX_ARCS] for column in (arcs.source, arcs.target, arcs.strength))
    n_vars, n_arcs = len(model.variables), len(source)
    notes = [*_notes(n_vars, len(arcs.source), kind.directed), *filter(None, (arcs.note, known.note))]
    shown: Document = {
        "format": FORMAT,
        "version": VERSION,
        "kind": model.kind,
        "title": kind.title,
        "name": "",
        "directed": kind.directed,
        "summary": {
            "variables": n_vars,
            "arcs": len(arcs.source),
            "parameters": int(model.n_parameters),
            "rows": _rows(model.provenance),
        },
        "strength": {"name": arcs.meaning, "unit": arcs.unit},
        "notes": notes,
        "variables": told_variables(model, known),
        "positions": positions(model) if places is None else places,
        "arcs": {
            "from": source.tolist(),
            "to": target.tolist(),
            "strength": figures(strength),
        },
        "slider_start": min(n_arcs, ARCS_PER_VARIABLE * n_vars),
        **_around(model),
        "evidence": can_answer(model),
    }
    if room is None:
        return {**shown, "locals": None, "locals_omitted": True}
    told = _locals(model, kind, max(int(LEAST_SHARE * room), room - len(to_json(shown))))
    n_cut = sum(map(is_cut, told))
    if n_cut:
        notes.append(
            f"To keep this file small, the {n_cut:,} largest local distributions are here in part: "
            "'quiltwork view' and 'quiltwork info' show more of them."
        )
    return {**shown, "locals": told}


def local(model: Any, v: int) -> Local:
    """The local distribution of one variable, by its column, with more detail than a document has room for.

    >>> from quiltwork.models.textbook import textbook
    >>> local(textbook("sprinkler"), 2)
    {'type': 'table', 'parents': [0], 'rows': [[0.8, 0.2], [0.2, 0.8]], 'shown': 2, 'total': 2}
    """
    model = model_of(model)
    return kind_of(model).local(model, v, MOST_ALONE)


def viewable(model: Any) -> Any:
    """The model that was meant, if it can be shown at all."""
    model = model_of(model)
    if not hasattr(model, "kind"):
        raise InputError(f"Only a model or a fitted estimator can be viewed. Got {type(model).__name__} instead.")
    if len(model.variables) > MAX_VARIABLES:
        raise ResourceLimitError(
            f"The viewer shows up to {MAX_VARIABLES:,} variables, and this model has {len(model.variables):,}; "
            "'quiltwork info model.qw VARIABLE' tells about one of them."
        )
    return model


# The parts


@once_per_model
def _arcs(model: Any) -> Arcs:
    return kind_of(model).arcs(model)


def positions(model: Any) -> Positions:
    """Where its variables stand."""
    return _layout(model).tolist()


@once_per_model
def _layout(model: Any) -> np.ndarray:
    arcs = _arcs(model)
    return np.round(layout(len(model.variables), arcs.source[:MAX_ARCS], arcs.target[:MAX_ARCS]), 5)


def told_variables(model: Any, known: Marginals | None = None) -> list[Document]:
    """Names, states and marginals; the same states are told once and shared."""
    states_of: dict[tuple, list[str]] = {}
    numeric = is_numeric(model)
    out = []
    for v, variable in enumerate(model.variables):
        key = (type(variable.states[0]) if variable.states else None, variable.states)
        if key not in states_of:
            states_of[key] = [short(state) for state in variable.states]
        part = np.empty(0) if known is None else known.parts[v]
        moments = dict(zip(("mean", "deviation"), figures(part), strict=False)) if numeric and len(part) else None
        shares = [] if numeric else probabilities(part)
        out.append({"name": short(variable.name), "states": states_of[key], "marginal": shares, "numeric": moments})
    return out


def _around(model: Any) -> Document:
    """Blankets, and relatives, where the arcs do not tell them."""
    if not model.kind.startswith("hrf"):
        return {"blankets": None}
    columns = range(len(model.variables))
    told: Document = {"blankets": [model.blanket(v) for v in columns]}
    if hasattr(model, "members"):
        told["relatives"] = [[u for u in model.members(v).tolist() if u != v] for v in columns]
    return told


def _locals(model: Any, kind: Kind, room: int) -> list[Local]:
    """All local distributions, cut where they would not fit in the room together."""
    told = [kind.local(model, v, MOST) for v in range(len(model.variables))]
    sizes = np.array([len(to_json(one)) for one in told])
    while sizes.sum() > room:
        share = _share(sizes, room)
        large = [v for v in np.flatnonzero(sizes > share).tolist() if n_items(told[v]) > 1]
        if not large:  # nothing is left to cut
            break
        for v in large:
            told[v] = kind.local(model, v, min(n_items(told[v]) - 1, int(n_items(told[v]) * share / sizes[v])) or 1)
            sizes[v] = len(to_json(told[v]))
    return told


def _share(sizes: np.ndarray, room: int) -> float:
    """What each may take so that all fit: the small ones what they need, and the others the same."""
    ascending = np.sort(sizes)
    left = room - np.concatenate([[0], np.cumsum(ascending[:-1])])
    equal = left / np.arange(len(sizes), 0, -1)
    return float(max(0.0, equal[np.argmax(ascending > equal)]))


def _notes(n_vars: int, n_arcs: int, directed: bool) -> list[str]:
    notes, lines = [], "arcs" if directed else "edges"
    if n_arcs > MAX_ARCS:
        notes.append(
            f"The strongest {MAX_ARCS:,} of {n_arcs:,} {lines} are here: a browser draws no more in good time."
        )
    if n_vars > LARGE:
        start = min(n_arcs, MAX_ARCS, ARCS_PER_VARIABLE * n_vars)
        notes.append(
            f"All {n_vars:,} variables are drawn, at first with the {start:,} strongest {lines}, for more would hide "
            "each other: zoom in to read names, or find a variable by typing its name."
        )
    if n_arcs == 0:
        notes.append(f"This model has no {lines}: every variable stands alone.")
    return notes


def _rows(provenance: Mapping[str, Any]) -> int | None:
    rows = provenance.get("rows")
    return int(rows) if isinstance(rows, (int, float)) else None


def to_json(value: Any) -> bytes:
    """
    >>> to_json({"p": [0.25]})
    b'{"p":[0.25]}'
    """
    return msgspec.json.encode(value)
