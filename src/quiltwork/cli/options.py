"""A learner's parameters as options of the command line, read from their declaration.

`--max-parents 3`, `--max-parents=3` and, in a list of models, `bn:max_parents=3` all go through
`Param.parse`, so the command line knows nothing of its own about any learner.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from quiltwork.errors import ParameterError
from quiltwork.params import Nothing, Param, Thing


def split_options(words: Sequence[str], own: Iterable[str]) -> tuple[list[str], list[tuple[str, str | None]]]:
    """Part the words of a command into its own and the options it does not know, with their values.

    >>> split_options(["t.csv", "--score", "bic", "-o", "m.qw", "--restarts=3"], ["-o", "--json"])
    (['t.csv', '-o', 'm.qw'], [('--score', 'bic'), ('--restarts', '3')])
    """
    own, remaining = set(own), list(words)
    mine: list[str] = []
    others: list[tuple[str, str | None]] = []
    while remaining:
        word = remaining.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            return [*mine, word, *remaining], others
        if not word.startswith("--") or name in own:
            mine.append(word)
        elif equals:
            others.append((name, value))
        elif remaining and not remaining[0].startswith("--"):
            others.append((name, remaining.pop(0)))
        else:
            others.append((name, None))
    return mine, others


def parameters(options: Iterable[tuple[str, str | None]], model: str, own: Iterable[str] = ()) -> dict[str, Any]:
    """The learner's parameters that these options set; each option at most once, each with a value."""
    learner = learner_named(model)
    declared = {option_name(p): p for p in learner.parameters if _can_be_given(p)}
    chosen: dict[str, Any] = {}
    for written, text in options:
        name = "--" + written.removeprefix("--").replace("_", "-")
        if name not in declared:
            raise ParameterError(
                f"There is no option {written!r} for the model {model!r}{_nearest(name, [*declared, *own])}; "
                f"'quiltwork learn --model {model} --help' lists them."
            )
        if text is None:
            raise ParameterError(f"The option {written!r} needs a value: {declared[name].must_be()}.")
        param = declared[name]
        if param.name in chosen:
            raise ParameterError(f"The option {written!r} is given twice.")
        chosen[param.name] = param.parse(learner.__name__, text)
    return chosen


def model_spec(text: str) -> tuple[str, dict[str, Any]]:
    """A model of `compare`: a learner's name, then parameters, as in `bn:search=climb:score=bdeu`."""
    model, *settings = text.split(":")
    options = []
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(
                f"The model {text!r} must be written like bn:search=climb:score=bdeu; {setting!r} has no '='."
            )
        options.append(("--" + name, value))
    return model, parameters(options, model)


def learner_named(model: str) -> Any:
    """The estimator class with this name on the command line."""
    from quiltwork.learn.registry import learner_class

    return learner_class(model)


def option_name(param: Param) -> str:
    return "--" + param.name.replace("_", "-")


def describe(model: str) -> list[tuple[str, str, str]]:
    """(option, default, what it is and may be) of every parameter of a learner that has an option."""
    return [
        (option_name(p), str(p.default), f"{p.doc}: {p.must_be()}")
        for p in learner_named(model).parameters
        if _can_be_given(p)
    ]


def _can_be_given(param: Param) -> bool:
    """Whether some value other than None can be written as a word."""
    return any(kind.read is not None if isinstance(kind, Thing) else kind != Nothing() for kind in param.kinds)


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""
