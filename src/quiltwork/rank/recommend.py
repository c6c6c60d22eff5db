"""Recommendation: which items fit what a user has chosen?

A binary variable is an item; its state number 1 means chosen. An item's score is the log odds of being chosen,

    log P(item = 1 | the user's other items) - log P(item = 0 | the user's other items),

as in the hybrid-random-field paper (Freno, Trentin, Gori 2009, Eq 8), by log odds because probabilities close to
one round to one and tie. Models that only rank (`infer.rankers`) have a score of their own in its place. An item's own
value is never read.

Empty history   A user who has chosen nothing is not a user known to refuse everything. The items are then ranked by
                popularity: the log odds of P(item = 1) under the model. A model that keeps the counts of its
                training rows gives it by them; else it is exact where all marginals fit in POPULARITY_ENTRIES
                numbers, and otherwise counted in POPULARITY_ROWS sampled rows (half a count added to either side).
Ties            go to the lower column.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from quiltwork.data.dataset import NO_CODE, position
from quiltwork.errors import DataWarning, InputError, IntractableError, ResourceLimitError
from quiltwork.infer.blanket import all_logits, first_state, target_logits
from quiltwork.infer.marginals import marginals
from quiltwork.infer.question import model_of, once_per_model, row_blocks, rows_of
from quiltwork.infer.rankers import SCORES
from quiltwork.infer.sample import sample
from quiltwork.params import Integer, Param

Pairs = list[tuple[str, float]]

LENGTH = Param("n", 10, (Integer(1),), "items to recommend")
POPULARITY_ENTRIES = 2**22
POPULARITY_ROWS = 20_000


def item_scores(model: Any, X: object, items: Sequence[str] | None = None) -> np.ndarray:
    """Log odds of each item given the row's other values, (rows, items).

    items  names of the items to score; without it every variable is one, and must have two states

    An impossible row, whose other values rule out both states of an item, says nothing about it: the score is 0.

    >>> from quiltwork.models.textbook import textbook
    >>> from quiltwork.infer.sample import sample
    >>> asia = textbook("asia")
    >>> item_scores(asia, sample(asia, 3, seed=0), items=["lung", "bronc"]).shape
    (3, 2)
    """
    model = model_of(model)
    columns = _item_columns(model, items)
    rows = rows_of(model, X)
    out = np.empty((rows.n_samples, len(columns)))
    for block, codes in row_blocks(rows, first_state(model)[-1]):
        out[block] = _scores(model, codes, columns)
    return out


def recommend(
    model: Any, history: object, n: int = 10, seen: bool = False, items: Sequence[str] | None = None
) -> Pairs | list[Pairs]:
    """The n best items and their scores, best first.

    history  the names of the items one user has chosen: the answer is a list of (item, score);
             or a table with one row per user: the answer is a list of such lists
    seen     whether items of the history may be recommended again
    items    names of the variables that are items; without it all are. In a list of names the others are unknown

    >>> from quiltwork.cpds.table import TableCPD
    >>> from quiltwork.data.dataset import Variable
    >>> from quiltwork.data.encode import Encoder
    >>> from quiltwork.models.bayesian import BayesianNet
    >>> items = Encoder(tuple(Variable(name, (0, 1)) for name in ("tea", "milk", "coal")))
    >>> tea, coal = TableCPD(0, (), np.array([[0.5, 0.5]])), TableCPD(2, (), np.array([[0.6, 0.4]]))
    >>> milk = TableCPD(1, (0,), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> shop = BayesianNet(items, (tea, milk, coal))
    >>> [(item, round(score, 4)) for item, score in recommend(shop, ["tea"])]
    [('milk', 1.3863), ('coal', -0.4055)]
    """
    model = model_of(model)
    LENGTH.check("recommend", n)
    columns = _item_columns(model, items)
    names = _names(history)
    if names is not None:
        codes = _one_user(model, names, columns)
        return _best(model, codes, columns, int(n), seen)[0]
    found: list[Pairs] = []
    for _, codes in row_blocks(rows_of(model, history), first_state(model)[-1]):
        found += _best(model, codes, columns, int(n), seen)
    return found


# What was asked


def _item_columns(model: Any, items: Sequence[str] | None) -> np.ndarray:
    return _all_columns(model) if items is None else _checked(model, [position(i, model.variables) for i in items])


@once_per_model
def _all_columns(model: Any) -> np.ndarray:
    return _checked(model, range(len(model.variables)))


def _checked(model: Any, columns: Iterable[int]) -> np.ndarray:
    for v in columns:
        variable = model.variables[v]
        if not variable.states:
            raise InputError(
                f"Variable {variable.name!r} of this {type(model).__name__} is a number, not an item that is chosen or "
                f"not; predict(model, X, {variable.name!r}) tells the mean of a number given the others."
            )
        if variable.n_states != 2:
            raise InputError(
                f"An item must have two states, not chosen and chosen. Variable {variable.name!r} has "
                f"{variable.n_states}; name the items among the variables with items=[...]."
            )
    return np.array([*columns], np.int64)


@once_per_model
def _column_of(model: Any) -> dict[str, int]:
    return {variable.name: v for v, variable in enumerate(model.variables)}


def _names(history: Any) -> list[str] | None:
    """The item names of one user's history, or None where the history is a table."""
    if isinstance(history, str):
        return [history]
    if isinstance(history, np.ndarray) and history.ndim == 1 and history.dtype.kind in "UO":
        history = history.tolist()
    elif hasattr(history, "to_list"):  # a column of pandas or polars
        history = history.to_list()
    if isinstance(history, (list, tuple, set, frozenset)) and all(isinstance(h, (str, Integral)) for h in history):
        return [str(item) for item in history]
    return None


def _one_user(model: Any, names: Iterable[str], columns: np.ndarray) -> np.ndarray:
    """One row of codes: items chosen or not; variables that are no items are missing."""
    codes = np.full((1, len(model.variables)), NO_CODE, np.uint16)
    codes[0, columns] = 0
    found = {name: _column_of(model).get(name) for name in names}
    chosen = {v for v in found.values() if v is not None and codes[0, v] == 0}
    unknown = sorted(name for name, v in found.items() if v not in chosen)
    if unknown:
        shown = ", ".join(map(repr, unknown[:10])) + (", ..." if len(unknown) > 10 else "")
        warnings.warn(
            f"{len(unknown)} item(s) of the history are unknown to this model and were left out: {shown}.",
            DataWarning,
            stacklevel=3,
        )
    codes[0, list(chosen)] = 1
    return codes


# Scores


def _scores(model: Any, codes: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Log odds of state 1 against state 0, or what a ranker has in their place, (rows, items)."""
    if type(model) in SCORES:
        return SCORES[type(model)](model, codes)[:, columns]
    logits = all_logits(model, codes)
    first = first_state(model)[columns]
    scores = _difference(logits[:, first + 1], logits[:, first])
    absent = codes[:, columns] == NO_CODE
    for k in np.flatnonzero(absent.any(axis=0)):
        rows = np.flatnonzero(absent[:, k])
        own = target_logits(model, codes[rows], int(columns[k]))
        scores[rows, k] = _difference(own[:, 1], own[:, 0])
    return scores


def _difference(chosen: np.ndarray, not_chosen: np.ndarray) -> np.ndarray:
    """chosen - not_chosen, 0 where both are -inf."""
    neither = np.isneginf(chosen) & np.isneginf(not_chosen)
    return np.subtract(chosen, not_chosen, out=np.zeros(chosen.shape), where=~neither)


def _best(model: Any, codes: np.ndarray, columns: np.ndarray, n: int, seen: bool) -> list[Pairs]:
    """The n best items of each row."""
    scores = _scores(model, codes, columns)
    chosen = codes[:, columns] == 1
    nothing = ~chosen.any(axis=1)
    if nothing.any():
        scores[nothing] = _popularity(model)[columns]
    found = []
    for i, order in enumerate(np.argsort(-scores, axis=1, kind="stable")):
        order = order if seen else order[~chosen[i, order]]
        found.append([(model.variables[columns[k]].name, float(scores[i, k])) for k in order[:n]])
    return found


@once_per_model
def _popularity(model: Any) -> np.ndarray:
    """Log odds of state 1 against state 0 of each variable, nothing else known, (n_vars,)."""
    if getattr(model, "state_counts", np.empty(0)).any():
        first = first_state(model)
        return np.log(model.state_counts[first[:-1] + 1] + 0.5) - np.log(model.state_counts[first[:-1]] + 0.5)
    try:
        exact = marginals(model, method="exact", max_entries=POPULARITY_ENTRIES)
        shares = [(p[0], p[1] if len(p) > 1 else 0.0) for p in exact.values()]
    except (ResourceLimitError, IntractableError):
        rows = sample(model, POPULARITY_ROWS, seed=0)
        columns = (rows.column(v) for v in range(rows.n_vars))
        shares = [((column == 0).sum() + 0.5, (column == 1).sum() + 0.5) for column in columns]
    with np.errstate(divide="ignore"):  # an item always or never chosen has infinite odds
        return np.array([np.log(chosen) - np.log(not_chosen) for not_chosen, chosen in shares])
