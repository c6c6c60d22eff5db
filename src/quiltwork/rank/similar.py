"""Similar items: which items become likelier when this one is chosen?

The similarity of two items is how far choosing one moves the score of the other, nothing else being chosen:

    similarity(a, b) = score(b | {a}) - score(b | {}),    score = log odds, or what a ranker has in their place.

Both scores come from rows in which all other items are not chosen, so it needs two rows whatever the model, and any
model that scores items can answer. Where the model has a joint distribution this is the log odds ratio

    log P(a=1, b=1, rest=0) P(a=0, b=0, rest=0) / ( P(a=1, b=0, rest=0) P(a=0, b=1, rest=0) ),

which is the same in both directions. Models whose conditionals need not agree, such as dependency networks, may differ
a little between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quiltwork.data.dataset import NO_CODE, from_codes, position
from quiltwork.infer.question import model_of
from quiltwork.params import Integer, Param
from quiltwork.rank.recommend import item_scores

LENGTH = Param("n", 10, (Integer(1),), "similar items to list")


def similar_items(
    model: Any, item: str | int, n: int = 10, items: Sequence[str] | None = None
) -> list[tuple[str, float]]:
    """The n items that choosing `item` makes likeliest, with their similarities, most similar first.

    Items that it leaves alone or makes less likely are not similar: the list may be shorter than n, or empty.

    item   the name of an item; an integer is an id, not a column
    items  names of the variables that are items; without it all are. Other variables are taken as unknown

    >>> from quiltwork.cpds.table import TableCPD
    >>> from quiltwork.data.dataset import Variable
    >>> from quiltwork.data.encode import Encoder
    >>> from quiltwork.models.bayesian import BayesianNet
    >>> items = Encoder(tuple(Variable(name, (0, 1)) for name in ("tea", "milk", "coal")))
    >>> tea, coal = TableCPD(0, (), np.array([[0.5, 0.5]])), TableCPD(2, (), np.array([[0.6, 0.4]]))
    >>> milk = TableCPD(1, (0,), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> shop = BayesianNet(items, (tea, milk, coal))
    >>> [(name, round(similarity, 4)) for name, similarity in similar_items(shop, "milk")]
    [('tea', 3.5835)]
    """
    model = model_of(model)
    LENGTH.check("similar_items", n)
    names = [variable.name for variable in model.variables] if items is None else list(items)
    columns = range(len(names)) if items is None else [position(name, model.variables) for name in names]
    own = position(str(item), [model.variables[v] for v in columns])
    moved = _moved(*item_scores(model, _without_and_with(model, columns, columns[own]), items))
    moved[own] = 0.0  # models never read an item's own value, but rankers may
    best = np.argsort(-moved, kind="stable")[: int(n)]
    return [(names[k], float(moved[k])) for k in best if moved[k] > 0]


def _without_and_with(model: Any, columns: Sequence[int], own: int) -> Any:
    """Two rows, no item chosen and one; what is no item is missing."""
    codes = np.full((2, len(model.variables)), NO_CODE, np.uint16)
    codes[:, list(columns)] = 0
    codes[1, own] = 1
    return from_codes(model.variables, list(codes.T))


def _moved(without: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """chosen - without; what stays certain has not moved."""
    return np.subtract(chosen, without, out=np.zeros(len(chosen)), where=chosen != without)
