"""info: what is in a model, a network or a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from quiltwork.cli import inputs, show
from quiltwork.errors import ParameterError

SHOWN = 20  # rows of a long list that a person is shown; JSON holds them all


def info(path: Path, variable: str | None, json: bool) -> None:
    if inputs.is_model(path):
        model = inputs.read_model(path)
        document = {"file": str(path), "kind": model.kind}
        if variable is None:
            document, draw = {**document, **counts(model), **_contents(model)}, _draw_model
        else:
            document, draw = {**document, **_around(model, variable)}, _draw_variable
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
    if hasattr(model, "network"):
        contents["relatives"] = {v.name: model.relatives(v.name) for v in model.variables}
    return {**contents, **_lines(model), "provenance": dict(model.provenance)}


def _around(model: Any, name: str) -> dict[str, Any]:
    """One variable, its blanket, and the arcs around it: those of its local network where it has one."""
    from quiltwork.data.dataset import position
    from quiltwork.infer.blanket import blanket

    variable = model.variables[position(name, model.variables)]
    document = {"variable": name, "states": list(variable.states), "blanket": blanket(model, name)}
    if hasattr(model, "network"):
        return {**document, "relatives": model.relatives(name), **_lines(model.network(name))}
    return {**document, **_lines(model, name)}


def _lines(model: Any, about: str | None = None) -> dict[str, Any]:
    """Arcs as parent, child and, where it is known, strength; edges as two names. All, or those of one variable."""
    if _undirected(model):
        return {"edges_list": [list(edge) for edge in model.arcs if about in (None, *edge)]}
    strengths = getattr(model, "strengths", None)
    arcs: list[dict[str, Any]] = [{"parent": parent, "child": child} for parent, child in model.arcs]
    for arc, strength in zip(arcs, [] if strengths is None else strengths.tolist()):
        arc["strength"] = strength
    return {"arcs_list": [arc for arc in arcs if about in (None, arc["parent"], arc["child"])]}


def _undirected(model: Any) -> bool:
    return hasattr(model, "edges")


def _table(rows: Any) -> dict[str, Any]:
    from quiltwork.data.encode import Encoder

    encoder = Encoder.fit(rows, missing="state")
    data = encoder.encode(rows)
    return {
        "rows": data.n_samples,
        "variables": data.n_vars,
        "states": {v.name: list(v.states) for v in data.variables},
    }


# Pictures: the same for a person


def _draw_model(document: dict[str, Any]) -> None:
    show.say(f"{show.one_line(document['file'])}: a model of kind {document['kind']!r}, {in_words(document)}")
    _draw_states(document["states"])
    if document["kind"].startswith("hrf"):
        _draw_blankets(document)
    else:
        _draw_lines(document)
    if document["provenance"]:
        rows = [(name, _brief(value)) for name, value in document["provenance"].items()]
        show.table(["", ""], rows, "Where it came from")


def _draw_variable(document: dict[str, Any]) -> None:
    show.say(f"{show.one_line(document['variable'])}: a variable of a model of kind {document['kind']!r}")
    words = [word for word in ("states", "relatives", "blanket") if word in document]
    show.table(["", ""], [(word, ", ".join(map(str, document[word]))) for word in words])
    _draw_lines(document, "Its local network" if "relatives" in document else "Arcs")


def _draw_lines(document: dict[str, Any], title: str = "Arcs") -> None:
    if document.get("edges_list"):
        edges = [(one, "—", other) for one, other in document["edges_list"]]
        show.table(["variable", "", "variable"], _first(edges), "Edges")
        _more(edges, "edges")
    if document.get("arcs_list"):
        arcs = sorted(document["arcs_list"], key=lambda arc: -arc.get("strength", 0.0))
        strong = "strength" in arcs[0]
        rows = [(a["parent"], "→", a["child"], *([show.number(a["strength"], 1)] if strong else [])) for a in arcs]
        show.table(["parent", "", "child", *(["strength"] if strong else [])], _first(rows), title)
        _more(rows, "arcs")


def _draw_blankets(document: dict[str, Any]) -> None:
    """What each variable is predicted from; how many relatives it was chosen among, where that is known."""
    blankets: dict[str, list[str]] = {name: [] for name in document["states"]}
    for arc in document["arcs_list"]:
        blankets[arc["child"]].append(arc["parent"])
    relatives: dict[str, list[str]] = document.get("relatives", {})
    rows = [(name, *([len(relatives[name])] if relatives else []), _some(own)) for name, own in blankets.items()]
    columns = ["variable", *(["relatives"] if relatives else []), "blanket"]
    show.table(columns, _first(rows), "Blankets: what each variable is predicted from")
    _more(rows, "variables")


def _draw_table(document: dict[str, Any]) -> None:
    show.say(f"{show.one_line(document['file'])}: a table, {document['rows']} rows, {document['variables']} columns")
    _draw_states(document["states"])


def _draw_states(states: dict[str, list[Any]]) -> None:
    rows = [(name, len(own), _some(own)) for name, own in states.items()]
    show.table(["variable", "number", "states"], _first(rows), "Variables")
    _more(rows, "variables")


def in_words(document: dict[str, Any]) -> str:
    named = [name for name in ("variables", "arcs", "edges", "parameters") if name in document]
    return ", ".join(f"{document[name]} {name}" for name in named)


def _some(things: Sequence[Any]) -> str:
    return ", ".join(map(str, things[:6])) + (", …" if len(things) > 6 else "")


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
