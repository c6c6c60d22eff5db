"""info: what is in a model, a network or a table."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from quiltwork.cli import inputs, show
from quiltwork.errors import IntractableError, ParameterError

OF_NUMBERS = ("gbn", "gaussian-tree")  # kinds whose variables have no states
LONGEST = 60  # characters of a name or a state that a person is shown
SHOWN = 20  # rows of a long list that a person is shown; JSON holds them all


def info(path: Path, variable: str | None, json: bool) -> None:
    if inputs.is_model(path):
        model = inputs.read_model(path)
        document = {"file": str(path), "kind": model.kind}
        if variable is None:
            document, draw = {**document, **counts(model), **_contents(model)}, _draw_model
        else:
            document, draw = {**document, **_around(model, variable)}, partial(_draw_variable, model)
    elif variable is not None:
        raise ParameterError(f"Only a model can be asked about a variable. {str(path)!r} is read as a table.")
    else:
        document, draw = (
            {"file": str(path), "kind": "table", **_table(inputs.as_rows(inputs.read_source(path)))},
            _draw_table,
        )
    if json:
        show.as_json(document)
    else:
        draw(document)


# Documents: what there is to say, as plain values


def counts(model: Any) -> dict[str, int]:
    lines = "edges" if _undirected(model) else "arcs"
    return {"variables": len(model.variables), lines: len(model.arcs), "parameters": model.n_parameters}


def _contents(model: Any) -> dict[str, Any]:
    contents: dict[str, Any] = {"states": {v.name: list(v.states) for v in model.variables}}
    if model.kind in OF_NUMBERS:
        contents = {"numbers": {v.name: _number(model, column) for column, v in enumerate(model.variables)}}
    if hasattr(model, "network"):
        contents["relatives"] = {v.name: model.relatives(v.name) for v in model.variables}
    return {**contents, **_lines(model), "provenance": dict(model.provenance)}


def _around(model: Any, name: str) -> dict[str, Any]:
    """One variable, its blanket, its local distribution, and the arcs around it: of its local network if it has one."""
    from quiltwork.data.dataset import position
    from quiltwork.infer.blanket import blanket
    from quiltwork.view.document import local

    column = position(name, model.variables)
    document: dict[str, Any] = {"variable": name, "states": list(model.variables[column].states)}
    with contextlib.suppress(IntractableError):  # models that only rank have none
        document["blanket"] = blanket(model, name)
    if model.kind in OF_NUMBERS:
        document = {"variable": name, **_number(model, column), "blanket": blanket(model, name)}
    else:
        document["local"] = local(model, column)
    if hasattr(model, "network"):
        return {**document, "relatives": model.relatives(name), **_lines(model.network(name))}
    return {**document, **_lines(model, name)}


def _number(model: Any, column: int) -> dict[str, Any]:
    """How a number follows from its parents."""
    cpd = model.cpds[column]
    weights = {model.variables[p].name: weight for p, weight in zip(cpd.parents, cpd.weights.tolist())}
    return {"intercept": cpd.intercept, "weights": weights, "deviation": cpd.deviation}


def _lines(model: Any, about: str | None = None) -> dict[str, Any]:
    """Arcs as parent, child and, where it is known, strength; edges as two names, their strengths in a list of its own.
    All, or those of one variable."""
    strengths = getattr(model, "strengths", None)
    if _undirected(model):
        edges = [(k, list(edge)) for k, edge in enumerate(model.arcs) if about in (None, *edge)]
        told = {} if strengths is None else {"strengths": [float(strengths[k]) for k, _ in edges]}
        return {"edges_list": [edge for _, edge in edges], **told}
    arcs: list[dict[str, Any]] = [{"parent": parent, "child": child} for parent, child in model.arcs]
    for arc, strength in zip(arcs, [] if strengths is None else strengths.tolist()):
        arc["strength"] = strength
    return {"arcs_list": [arc for arc in arcs if about in (None, arc["parent"], arc["child"])]}


def _undirected(model: Any) -> bool:
    return hasattr(model, "edges")


def _table(rows: Any) -> dict[str, Any]:
    from quiltwork.data.encode import Encoder
    from quiltwork.data.labels import MAX_STATES

    encoder = Encoder.fit(rows, missing="state", max_states=MAX_STATES)
    data = encoder.encode(rows)
    return {
        "rows": data.n_samples,
        "variables": data.n_vars,
        "states": {v.name: list(v.states) for v in data.variables},
    }


# Pictures: the same for a person


def _draw_model(document: dict[str, Any]) -> None:
    show.say(f"{show.one_line(document['file'])}: a model of kind {document['kind']!r}, {in_words(document)}")
    if "numbers" in document:
        _draw_numbers(document["numbers"])
    else:
        _draw_states(document["states"])
    if document["kind"].startswith("hrf"):
        _draw_blankets(document)
    else:
        _draw_lines(document)
    if document["provenance"]:
        rows = [(name, _brief(value)) for name, value in document["provenance"].items()]
        show.table(["", ""], rows, "Where it came from")


def _draw_variable(model: Any, document: dict[str, Any]) -> None:
    show.say(f"{_cut(document['variable'])}: a variable of a model of kind {document['kind']!r}")
    if "weights" in document:
        _draw_numbers({document["variable"]: document})
    words = [word for word in ("states", "relatives", "blanket") if word in document]
    show.table(["", ""], [(word, ", ".join(map(_cut, document[word]))) for word in words])
    _draw_lines(document, "Its local network" if "relatives" in document else "Arcs")
    if "local" in document:
        from quiltwork.view.text import to_text

        show.say(to_text(model, document["variable"]) + "\n")


def _draw_lines(document: dict[str, Any], title: str = "Arcs") -> None:
    if document.get("edges_list"):
        edges: list[tuple[str, ...]] = [(_cut(one), "—", _cut(other)) for one, other in document["edges_list"]]
        if "strengths" in document:
            strongest = sorted(zip(document["strengths"], edges), key=lambda told: -told[0])
            edges = [(*edge, show.number(strength, 4)) for strength, edge in strongest]
        show.table(["variable", "", "variable", "strength"][: len(edges[0])], _first(edges), "Edges")
        _more(edges, "edges")
    if document.get("arcs_list"):
        arcs = sorted(document["arcs_list"], key=lambda arc: -arc.get("strength", 0.0))
        strong = "strength" in arcs[0]
        told = ([show.number(a["strength"], 1)] if strong else [] for a in arcs)
        rows = [(_cut(a["parent"]), "→", _cut(a["child"]), *rest) for a, rest in zip(arcs, told)]
        show.table(["parent", "", "child", *(["strength"] if strong else [])], _first(rows), title)
        _more(rows, "arcs")


def _draw_blankets(document: dict[str, Any]) -> None:
    """What each variable is predicted from; how many relatives it was chosen among, where that is known."""
    blankets: dict[str, list[str]] = {name: [] for name in document["states"]}
    for arc in document["arcs_list"]:
        blankets[arc["child"]].append(arc["parent"])
    relatives: dict[str, list[str]] = document.get("relatives", {})
    rows = [(_cut(name), *([len(relatives[name])] if relatives else []), _some(own)) for name, own in blankets.items()]
    columns = ["variable", *(["relatives"] if relatives else []), "blanket"]
    show.table(columns, _first(rows), "Blankets: what each variable is predicted from")
    _more(rows, "variables")


def _draw_table(document: dict[str, Any]) -> None:
    show.say(f"{show.one_line(document['file'])}: a table, {document['rows']} rows, {document['variables']} columns")
    _draw_states(document["states"])


def _draw_states(states: dict[str, list[Any]]) -> None:
    rows = [(_cut(name), len(own), _some(own)) for name, own in states.items()]
    show.table(["variable", "number", "states"], _first(rows), "Variables")
    _more(rows, "variables")


def _draw_numbers(numbers: dict[str, dict[str, Any]]) -> None:
    rows = [
        (_cut(name), f"{own['deviation']:.6g}", f"= {own['intercept']:.6g}{_sum(own['weights'])}")
        for name, own in numbers.items()
    ]
    show.table(["variable", "deviation", "mean given its parents"], _first(rows), "Variables")
    _more(rows, "variables")


def _sum(weights: dict[str, float]) -> str:
    return "".join(f" {'-' if weight < 0 else '+'} {abs(weight):.4g} {_cut(name)}" for name, weight in weights.items())


def in_words(document: dict[str, Any]) -> str:
    named = [name for name in ("variables", "arcs", "edges", "parameters") if name in document]
    return ", ".join(f"{document[name]} {name}" for name in named)


def _some(things: Sequence[Any]) -> str:
    return ", ".join(_cut(thing) for thing in things[:6]) + (", …" if len(things) > 6 else "")


def _cut(thing: Any) -> str:
    """A name or a state on one line; --json tells it whole."""
    text = show.one_line(str(thing))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _first(rows: Sequence[Any]) -> list[Any]:
    return list(islice(rows, SHOWN))


def _more(rows: Sequence[Any], what: str) -> None:
    if len(rows) > SHOWN:
        show.say(f" … and {len(rows) - SHOWN} more {what}; --json lists them all\n")


def _brief(value: Any) -> str:
    """A value of the provenance on one line, without what was left open."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items() if one is not None)
    return show.number(value) if isinstance(value, float) else str(value)
