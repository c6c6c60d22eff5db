"""The kinds of models that can be shown: how each is called, and who tells its arcs and its local distributions.

A new kind of model is one line here. One that has none is shown by the arcs that it lists itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from quiltwork.view import locals as tell
from quiltwork.view import strengths as strong


class Kind(NamedTuple):
    """
    title     what a person calls it
    directed  whether its arcs have a direction
    arcs      model -> arcs, strongest first
    local     model, column, most rows or nodes -> the local distribution
    """

    title: str
    directed: bool
    arcs: Callable[[Any], strong.Arcs]
    local: Callable[[Any, int, int], tell.Local]


KINDS = {
    "bn": Kind("Bayesian network", True, strong.family_arcs, tell.cpd_local),
    "gbn": Kind("Gaussian Bayesian network", True, strong.family_arcs, tell.cpd_local),
    "dn": Kind("Dependency network", True, strong.family_arcs, tell.cpd_local),
    "mn": Kind("Markov network", False, strong.feature_edges, tell.feature_local),
    "tree": Kind("Markov tree", False, strong.tree_edges, tell.tree_local),
    "gaussian-tree": Kind("Gaussian Markov tree", False, strong.tree_edges, tell.tree_local),
    "hrf": Kind("Hybrid random field", True, strong.field_arcs, tell.field_local),
    "hrf-average": Kind("Mean of hybrid random fields", True, strong.averaged_arcs, tell.averaged_local),
    "gmf": Kind("Gaussian field over items", False, strong.field_weights, tell.item_weights_local),
    "nb": Kind("Naive Bayes over items", False, strong.lifts, tell.ranker_local),
    "itemrank": Kind("Random walks over items", False, strong.walks, tell.ranker_local),
    "latent": Kind("Latent causes of items", False, strong.likenesses, tell.ranker_local),
    "stack": Kind("Stack of rankers", False, strong.members_arcs, tell.ranker_local),
}


def kind_of(model: Any) -> Kind:
    """
    >>> from quiltwork.models.textbook import textbook
    >>> kind_of(textbook("asia")).title
    'Bayesian network'
    """
    return KINDS.get(model.kind) or Kind(type(model).__name__, not hasattr(model, "edges"), strong.named_arcs, _own)


def _own(model: Any, v: int, most: int) -> tell.Local:
    if hasattr(model, "cpds"):
        return tell.cpd_local(model, v, most)
    return tell.none(f"The viewer does not know the local distributions of a {type(model).__name__}.")
