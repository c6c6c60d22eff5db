"""query, sample, convert, info: what a model knows, and in which file it is."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any

from quiltwork.cli import inputs, show

SHOWN = 20  # rows of a long list that a person is shown; JSON holds them all


def query(model_path: Path, variables: Sequence[str], given: Sequence[str], json: bool) -> None:
    from quiltwork.infer.query import query

    model = inputs.read_model(model_path)
    known = inputs.evidence(given, [v.name for v in model.variables])
    answer = query(model, list(variables), evidence=known)
    rows = [(*states, p) for states, p in zip(product(*answer.states), answer.probabilities.ravel().tolist())]
    if json:
        show.as_json(
            {
                "variables": answer.variables,
                "evidence": known,
                "method": answer.method,
                "probabilities": [{"states": states, "probability": p} for *states, p in rows],
            }
        )
    else:
        title = "P({}{})".format(", ".join(answer.variables), _conditions(known))
        show.table([*answer.variables, "probability"], [(*s, show.number(p, 6)) for *s, p in rows], title)


def sample(model_path: Path, n: int, output: Path | None, seed: int) -> None:
    from quiltwork.infer.sample import sample

    if output is not None:
        inputs.check_target(output, [".csv", ".tsv"])
    separator = "\t" if output is not None and output.suffix.lower() == ".tsv" else ","
    data = sample(inputs.read_model(model_path), n, seed=seed)
    columns = [data.labels(v) for v in range(data.n_vars)]
    header = [variable.name for variable in data.variables]
    if output is None:
        _write_rows(sys.stdout, header, zip(*columns), separator)
        return
    from quiltwork.models.disk import write_atomically

    text = io.StringIO(newline="")
    _write_rows(text, header, zip(*columns), separator)
    write_atomically(output, text.getvalue().encode())
    show.written.append(output)


def convert(source: Path, target: Path, json: bool) -> None:
    from quiltwork.models.files import save
    from quiltwork.models.foreign import write_network

    inputs.check_target(target, [".qw", *inputs.NETWORKS, *(ending + ".gz" for ending in inputs.NETWORKS)])
    model = inputs.read_model(source)
    if inputs.is_network(target):
        write_network(model, target)
    else:
        save(model, target)
    show.written.append(target)
    if json:
        show.as_json({"source": str(source), "target": str(target), **_counts(model)})
    else:
        show.say(f"{show.one_line(target)}: {_in_words(_counts(model))}")


def info(path: Path, json: bool) -> None:
    if inputs.is_model(path):
        model = inputs.read_model(path)
        document = {"file": str(path), "kind": model.kind, **_counts(model), **_contents(model)}
        draw = _draw_model
    else:
        document = {"file": str(path), "kind": "table", **_table(inputs.read_rows(path))}
        draw = _draw_table
    if json:
        show.as_json(document)
    else:
        draw(document)


# Documents: what there is to say, as plain values


def _counts(model: Any) -> dict[str, int]:
    return {"variables": len(model.variables), "arcs": len(model.arcs), "parameters": model.n_parameters}


def _contents(model: Any) -> dict[str, Any]:
    strengths = getattr(model, "strengths", None)
    arcs = [{"parent": parent, "child": child} for parent, child in model.arcs]
    for arc, strength in zip(arcs, [] if strengths is None else strengths.tolist()):
        arc["strength"] = strength
    return {
        "states": {v.name: list(v.states) for v in model.variables},
        "arcs_list": arcs,
        "provenance": dict(model.provenance),
    }


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
    show.say(f"{show.one_line(document['file'])}: a model of kind {document['kind']!r}, {_in_words(document)}")
    _draw_states(document["states"])
    arcs = sorted(document["arcs_list"], key=lambda arc: -arc.get("strength", 0.0))
    if arcs:
        strong = "strength" in arcs[0]
        rows = [(a["parent"], "→", a["child"], *([show.number(a["strength"], 1)] if strong else [])) for a in arcs]
        show.table(["parent", "", "child", *(["strength"] if strong else [])], _first(rows), "Arcs")
        _more(rows, "arcs")
    if document["provenance"]:
        rows = [(name, _brief(value)) for name, value in document["provenance"].items()]
        show.table(["", ""], rows, "Where it came from")


def _draw_table(document: dict[str, Any]) -> None:
    show.say(f"{show.one_line(document['file'])}: a table, {document['rows']} rows, {document['variables']} columns")
    _draw_states(document["states"])


def _draw_states(states: dict[str, list[Any]]) -> None:
    rows = [
        (name, len(own), ", ".join(map(str, own[:6])) + (", …" if len(own) > 6 else "")) for name, own in states.items()
    ]
    show.table(["variable", "number", "states"], _first(rows), "Variables")
    _more(rows, "variables")


def _in_words(counts: dict[str, Any]) -> str:
    return f"{counts['variables']} variables, {counts['arcs']} arcs, {counts['parameters']} parameters"


def _conditions(evidence: dict[str, str]) -> str:
    return " | " + ", ".join(f"{name}={state}" for name, state in evidence.items()) if evidence else ""


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


# CSV: cells are written as they are, so that what is read back is what was drawn


def _write_rows(file: Any, header: list[str], rows: Iterable[Sequence[Any]], separator: str) -> None:
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
