"""The viewer in a notebook: the same page in a cell, and the kernel behind it.

anywidget brings the bundle to the browser. Documents are traits; what the page asks (a local distribution,
probabilities given evidence) comes as a numbered message, and the answer carries the same number:

    {"id": 7, "ask": "local", "variable": 3}             ->  {"id": 7, "answer": {...}}; "other" in its place asks
                                                             for that of the second model
    {"id": 8, "ask": "marginals", "evidence": {"3": 0}}  ->  {"id": 8, "answer": {...}} or {"id": 8, "error": "..."}
"""

from __future__ import annotations

from typing import Any

from quiltwork.errors import MissingDependencyError, QuiltworkError
from quiltwork.view.answers import Answers
from quiltwork.view.bundle import FOLDER, check_bundle


def widget(model: Any, other: Any = None) -> Any:
    """An anywidget that shows a model, or compares two."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise MissingDependencyError.of("anywidget", "jupyter", "Viewing a model in a notebook") from None
    check_bundle()
    answers = Answers.of(model, other)

    class Viewer(anywidget.AnyWidget):
        _esm = FOLDER / "app.js"
        _css = FOLDER / "app.css"
        document = traitlets.Dict().tag(sync=True)
        other = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)

    viewer = Viewer(document=answers.document, other=answers.other)
    viewer.on_msg(lambda sender, content, buffers: sender.send(reply(answers, content)))
    return viewer


def reply(answers: Answers, content: Any) -> dict[str, Any]:
    """The answer to one message of the page; always one, with the message's number."""
    asked = content if isinstance(content, dict) else {}
    number = {"id": asked.get("id")}
    try:
        if asked.get("ask") in ("local", "other"):
            return {**number, "answer": answers.local(asked.get("variable"), asked["ask"] == "other")}
        if asked.get("ask") == "marginals":
            return {**number, "answer": answers.marginals(asked.get("evidence"))}
        return {**number, "error": "The page asked for something that this quiltwork does not know."}
    except QuiltworkError as error:
        return {**number, "error": str(error)}
