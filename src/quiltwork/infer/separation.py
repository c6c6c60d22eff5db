"""What a graph says about independence, and when it says all there is.

In a graph without directions, C separates A from B if every path between them passes through C. In a directed one a
path is also cut by a collider, a variable where two arrows of the path meet, unless that variable or something below it
is in C (d-separation, Pearl 1988). Separated variables are independent given C; the converse need not hold.

A graph is *perfect* if it does: if whatever is independent is also separated. Becker, Geiger, Meek (2000) show that in
a strictly positive distribution of binary variables, or a Gaussian one, a Markov tree is perfect if and only if the two
ends of every edge depend on each other, nothing else given. It holds because these distributions have a property they
call decomposable transitivity: for single variables a, c, e and sets B, D

    aB independent of De given c,  a of e given BD   imply   a independent of c given B, or c of e given D

The test says nothing about variables of three states, about zero probabilities, or about polytrees (directed graphs
without undirected cycles): there all edges may pass it, and yet something is independent that is not separated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from quiltwork.data.dataset import position
from quiltwork.errors import InputError, IntractableError
from quiltwork.infer.question import implementation, model_of
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.dependency import DependencyNet
from quiltwork.models.gaussian import GaussianNet
from quiltwork.models.hybrid import AveragedField, HybridField
from quiltwork.models.markov import MarkovNet
from quiltwork.models.markov_tree import DiscreteTree, GaussianTree, tree_from_bn

Names = str | Iterable[str]


def separated(model: Any, A: Names, B: Names, C: Names = ()) -> bool:
    """Whether C separates A from B in the model's graph, so that A and B are independent given C.

    A, B, C  names of variables, or one name each; no variable may be in two of them

    Bayesian networks are asked by d-separation, Markov trees and networks by paths. In a hybrid random field two
    variables are neighbours if either is in the other's blanket, and what is separated is independent as far as the
    local networks agree with each other.

    >>> from quiltwork.models.textbook import textbook
    >>> asia = textbook("asia")
    >>> separated(asia, "asia", "smoke"), separated(asia, "asia", "smoke", "dysp")
    (True, False)
    >>> separated(asia, "xray", ["smoke", "bronc"], ["either"])
    True
    """
    model = model_of(model)
    neighbours_door = implementation(SEPARATED, model, "separated")
    a, b, c = (_columns(model, names) for names in (A, B, C))
    for one, other in ((a, b), (a, c), (b, c)):
        if one & other:
            name = model.variables[min(one & other)].name
            raise InputError(
                f"The three sets of variables must not overlap, and {name!r} is in two of them; name it in one."
            )
    return neighbours_door(model, a, b, c)


def is_perfect(tree: Any, tol: Any = 1e-9) -> bool:
    """Whether a Markov tree says all there is to say about independence: separated if and only if independent.

    By the edge test: the two ends of every edge must depend on each other, that is, have a correlation beyond `tol`. It
    decides the question for strictly positive distributions of binary or of Gaussian variables, and for others it is
    refused. A Bayesian or Gaussian network in which no variable has two parents counts as a tree.

    The question is about the tree as it is. In a tree learned from rows no correlation is exactly 0, also of columns
    that are independent; to ask about these, set `tol` above chance, to 2 / sqrt(rows) or more.

    >>> import quiltwork as qw
    >>> table = {"rain": [0, 0, 1, 1, 0, 1], "wet": [0, 0, 1, 1, 0, 0], "slip": [0, 0, 1, 0, 0, 0]}
    >>> is_perfect(qw.MarkovTree().fit(table))
    True
    """
    tree = model_of(tree)
    if not isinstance(tol, int | float) or not 0.0 <= tol < 1.0:
        raise InputError(f"'tol' must be a correlation from 0 up to 1. Got {tol!r} instead.")
    if isinstance(tree, BayesianNet | GaussianNet):
        tree = tree_from_bn(tree)
    return bool((np.abs(implementation(CORRELATIONS, tree, "is_perfect")(tree)) > tol).all())


# Separation


def _by_paths(model: Any, a: set[int], b: set[int], c: set[int]) -> bool:
    """No path from a to b without c. In a field u may help to predict v and not the other way round: one is enough."""
    column = {variable.name: v for v, variable in enumerate(model.variables)}
    near: list[set[int]] = [set() for _ in model.variables]
    for one, other in model.arcs:
        near[column[one]].add(column[other])
        near[column[other]].add(column[one])
    return not _reached(a, lambda v: near[v] - c) & b


def _by_d_separation(model: Any, a: set[int], b: set[int], c: set[int]) -> bool:
    """No open path from a to b, by Bayes ball (Shachter 1998): a ball is thrown from a along every open path.

    A ball that comes from a child goes on to parents and children unless the variable is given. One that comes from a
    parent goes on to children unless the variable is given, and back to the parents if it, or one below it, is.
    """
    structure = model.structure
    children = structure.children()
    open_colliders = _reached(c, structure.parents)

    def throw(ball: tuple[int, bool]) -> list[tuple[int, bool]]:
        v, from_child = ball
        on: list[tuple[int, bool]] = []
        if v not in c:
            on += [(child, False) for child in children[v]]
        if (v not in c) if from_child else (v in open_colliders):
            on += [(parent, True) for parent in structure.parents(v)]
        return on

    return not {v for v, _ in _reached({(v, True) for v in a}, throw)} & b


def _refuse(model: DependencyNet, a: set[int], b: set[int], c: set[int]) -> bool:
    raise IntractableError(
        "The conditionals of a dependency network are learned apart and need not belong to one joint distribution, so "
        "paths in its graph say nothing about independence; ask a Bayesian network, a Markov network or a Markov tree."
    )


SEPARATED: dict[type, Callable[..., bool]] = {
    BayesianNet: _by_d_separation,
    GaussianNet: _by_d_separation,
    DiscreteTree: _by_paths,
    GaussianTree: _by_paths,
    MarkovNet: _by_paths,
    HybridField: _by_paths,
    AveragedField: _by_paths,
    DependencyNet: _refuse,
}


def _reached(start: Iterable[Any], onward: Callable[[Any], Iterable[Any]]) -> set[Any]:
    """Everything that is reached from the start, itself included."""
    found = set(start)
    waiting = list(found)
    while waiting:
        fresh = set(onward(waiting.pop())) - found
        found |= fresh
        waiting += fresh
    return found


def _columns(model: Any, names: Names) -> set[int]:
    alone = isinstance(names, str) or not isinstance(names, Iterable)
    return {position(name, model.variables) for name in ([names] if alone else names)}


# Perfectness: the correlation of the two ends of every edge


def _binary_correlations(tree: DiscreteTree) -> np.ndarray:
    for variable, shares in zip(tree.variables, tree.marginals):
        if variable.n_states > 2:
            raise InputError(
                f"Whether a Markov tree is perfect can be told from its edges only where every variable is binary, or "
                f"all are Gaussian. {variable.name!r} has {variable.n_states} states; merge them into two."
            )
        if variable.n_states == 2 and not (shares > 0).all():
            raise _not_positive(variable.name)
    child = np.flatnonzero(tree.parent >= 0)
    out = np.empty(len(child))
    for k, v in enumerate(child.tolist()):
        given = tree.table(v)
        if not (given > 0).all():
            raise _not_positive(tree.variables[v].name)
        above, own = tree.marginals[tree.parent[v]], tree.marginals[v]
        difference = given[-1, -1] - given[0, -1]  # 0 where either has one state
        out[k] = difference * np.sqrt(above[0] * above[-1] / (own[0] * own[-1]))
    return out


def _not_positive(name: str) -> InputError:
    return InputError(
        f"Whether a Markov tree is perfect can be told from its edges only where every probability is above zero, and "
        f"some of {name!r} are not; learn the tree with smoothing above 0."
    )


def _gaussian_correlations(tree: GaussianTree) -> np.ndarray:
    return tree.correlation[tree.parent >= 0]


CORRELATIONS: dict[type, Callable[..., np.ndarray]] = {
    DiscreteTree: _binary_correlations,
    GaussianTree: _gaussian_correlations,
}
