"""rank: what to recommend to somebody, to everybody in a file, or beside one item."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quiltwork.cli import inputs, show
from quiltwork.errors import DataError, ParameterError

Pairs = Sequence[tuple[str, float]]


def rank(
    model_path: Path,
    given: Sequence[str] | None,
    users: Path | None,
    similar: str | None,
    top: int,
    seen: bool,
    output: Path | None,
    json: bool,
) -> None:
    """Without a question, the answer is what somebody without a history gets: the most popular items."""
    if sum(asked is not None for asked in (given, users, similar)) > 1:
        raise ParameterError("Ask for one thing at a time: --given, --users or --similar.")
    if output is not None:
        inputs.check_target(output, [".csv", ".tsv"])
    model = inputs.read_model(model_path)
    items = _items(model)
    lists: list[tuple[Any, Pairs]]  # of each user, or of one question
    if users is not None:
        lists = _for_users(model, users, items, top, seen)
        told: dict[str, Any] = {"users": [{"user": user, "items": _named(pairs)} for user, pairs in lists]}
    elif similar is not None:
        lists = [(f"Similar to {similar}", _similar(model, similar, items, top))]
        told = {"similar": similar, "items": _named(lists[0][1])}
    else:
        lists = [(title_of(given or []), _for_one(model, given or [], items, top, seen))]
        told = {"given": list(given or []), "items": _named(lists[0][1])}
    if output is not None:
        _write(output, lists, with_users=users is not None)
    if json:
        show.as_json({"model": str(model_path), **told})
    elif output is None:
        for title, pairs in lists:
            draw_list(str(title), pairs)


# Questions to the model


def _for_one(model: Any, given: Sequence[str], items: list[str] | None, top: int, seen: bool) -> Pairs:
    from quiltwork.rank.recommend import recommend

    found: Any = recommend(model, list(given), n=top, seen=seen, items=items)
    return found


def _for_users(model: Any, path: Path, items: list[str] | None, top: int, seen: bool) -> list[tuple[Any, Pairs]]:
    """(user, recommendations) for each user of the votes, or (row number, recommendations) for a table of rows."""
    from quiltwork.rank.recommend import recommend

    source = inputs.read_source(path)
    if inputs.holds_votes(source):
        votes = inputs.votes_about(model, source)
        users, rows = list(votes.users), votes.table(items or [variable.name for variable in model.variables])
    else:
        _check_columns(model, source, path)
        rows = model.encoder.encode(source)
        users = list(range(rows.n_samples))
    found: Any = recommend(model, rows, n=top, seen=seen, items=items)
    return list(zip(users, found))


def _similar(model: Any, item: str, items: list[str] | None, top: int) -> Pairs:
    from quiltwork.rank.similar import similar_items

    return similar_items(model, item, n=top, items=items)


def _items(model: Any) -> list[str] | None:
    """Names of the items among the variables of a model, or None where all of them are."""
    items = inputs.items_of(model)
    return None if len(items) == len(model.variables) else items


def _check_columns(model: Any, table: Any, path: Path) -> None:
    from quiltwork.data.columns import names_of

    names = names_of(table)
    if names and not set(names) & {variable.name for variable in model.variables}:
        raise DataError(
            f"{path} must have the columns user, item and perhaps time, or be a table with the model's variables as "
            f"columns. It has {', '.join(map(repr, names[:6]))}{', ...' if len(names) > 6 else ''} instead."
        )


# Answers


def title_of(given: Sequence[str]) -> str:
    return f"Given {', '.join(given)}" if given else "Given nothing: the most popular"


def _numbered(pairs: Pairs) -> list[tuple[int, str, float]]:
    return [(place, item, score) for place, (item, score) in enumerate(pairs, 1)]


def _write(path: Path, lists: Sequence[tuple[Any, Pairs]], with_users: bool) -> None:
    rows = [((user,) if with_users else ()) + line for user, pairs in lists for line in _numbered(pairs)]
    show.write_rows(path, [*(["user"] if with_users else []), "rank", "item", "score"], rows)


def _named(pairs: Pairs) -> list[dict[str, Any]]:
    return [{"item": item, "score": score} for item, score in pairs]


def draw_list(title: str, pairs: Pairs) -> None:
    if pairs:
        lines = [(place, item, show.number(score)) for place, item, score in _numbered(pairs)]
        show.table(["rank", "item", "score"], lines, title)
    else:
        show.say(f"{show.one_line(title)}: there is nothing to rank.\n")
