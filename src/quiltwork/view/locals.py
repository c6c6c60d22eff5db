"""Local distributions as plain values: what a double click on a variable opens.

    table     rows of probabilities, one per configuration of the parents; the last parent counts fastest
    tree      splits and leaves, numbered from the root; in a graph several branches may lead to one node
    logistic  an intercept and signed weights, the largest first; boosted also the gain of each variable
    gaussian  intercept, weights and deviation
    features  the conditions and weights of a Markov network that mention the variable
    field     the tables whose product is P(variable | rest) in a hybrid field
    none      and the reason

Each is kept to a size: `shown` of `total` rows of a table, leaves of a tree, weights or features. What is left out is
the least: the last configurations of a table, the weakest splits of a tree (the node in their place tells the mean of
what lay below it), the smallest weights.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from quiltwork.infer.question import once_per_model
from quiltwork.view.numbers import figures, probabilities, short

MOST = 64  # rows, nodes, weights or features of a distribution in a document
MOST_ALONE = 1024  # of one that is asked for by itself
NUMBERS_PER_ROW = 16  # a table of many states keeps fewer rows

Local = dict[str, Any]
_ITEMS = ("rows", "nodes", "weights", "importance", "features")


def cpd_local(model: Any, v: int, most: int) -> Local:
    """The CPD of a variable, whatever kind it is."""
    cpd = model.cpds[v]
    for kind in type(cpd).__mro__:
        if kind.__name__ in CPDS:
            return CPDS[kind.__name__](cpd, model.variables, most)
    return none(f"The viewer does not know how to show a {type(cpd).__name__}.")


def n_items(told: Local) -> int:
    """Rows, nodes, weights or features of a distribution: what it can be cut down to.

    >>> n_items(table((), np.array([[0.25, 0.75]]), 64))
    1
    """
    if told["type"] == "field":
        return max(map(n_items, told["families"]))
    return max((len(told.get(key, ())) for key in _ITEMS), default=0)


def is_cut(told: Local) -> bool:
    """Whether something was left out.

    >>> is_cut(table((), np.array([[0.25, 0.75]]), 64))
    False
    """
    if told["type"] == "field":
        return any(map(is_cut, told["families"]))
    return told.get("shown", 0) < told.get("total", 0) or len(told.get("importance", ())) < told.get("asked", 0)


def none(reason: str) -> Local:
    return {"type": "none", "reason": reason}


# Tables


def _table(cpd: Any, variables: Sequence[Any], most: int) -> Local:
    return table(cpd.parents, cpd.probs, most)


def table(parents: Sequence[int], probs: np.ndarray, most: int) -> Local:
    """
    >>> table((), np.array([[0.25, 0.75]]), 64)
    {'type': 'table', 'parents': [], 'rows': [[0.25, 0.75]], 'shown': 1, 'total': 1}
    """
    shown = min(len(probs), most, max(1, most * NUMBERS_PER_ROW // probs.shape[1]))
    rows = probabilities(probs[:shown])
    return {"type": "table", "parents": list(map(int, parents)), "rows": rows, "shown": shown, "total": len(probs)}


# Trees and graphs


def _tree(cpd: Any, variables: Sequence[Any], most: int) -> Local:
    """The root and, as long as there is room, what hangs on the split with the largest gain."""
    branches, gains = _branches_of(cpd), figures(cpd.gain)
    number = {0: 0}  # node of the CPD -> node of the document
    kept: dict[int, Local] = {}
    waiting = [(-gains[0], 0)] if branches[0] else []
    while waiting:
        _, k = heapq.heappop(waiting)
        fresh = [child for child in dict.fromkeys(branches[k]) if child not in number]
        if len(number) + len(fresh) > most:
            continue
        for child in fresh:
            number[child] = len(number)
            if branches[child]:
                heapq.heappush(waiting, (-gains[child], child))
        kept[k] = _split(cpd, variables, k, [number[child] for child in branches[k]], gains[k])
    leaves = _leaves(cpd, branches, [k for k in number if k not in kept])
    nodes = [kept[k] if k in kept else next(leaves) for k in number]
    counts = {"shown": sum("leaf" in one and "folded" not in one for one in nodes), "total": len(cpd.probs)}
    return {"type": cpd.kind, "nodes": nodes, "root": 0, **counts}


def _leaves(cpd: Any, branches: list[list[int]], which: list[int]) -> Iterator[Local]:
    """Leaves, and in the place of splits without room the mean of what lies below them."""
    probs, cases = probabilities(cpd.probs), cpd.counts.sum(axis=1).tolist()
    means, rows = _passing(cpd, branches) if any(branches[k] for k in which) else (cpd.probs, cpd.counts)
    for k in which:
        if branches[k]:
            told = {"leaf": True, "probs": probabilities(means[k]), "cases": _count(float(rows[k]))}
            yield {**told, "folded": True}
        else:
            yield {"leaf": True, "probs": probs[cpd.first[k]], "cases": _count(cases[cpd.first[k]])}


def _branches_of(cpd: Any) -> list[list[int]]:
    """The nodes that each node leads to; none for a leaf."""
    flat = cpd.branches.tolist()
    nodes = zip(cpd.variable.tolist(), cpd.first.tolist(), cpd.end.tolist(), strict=True)
    return [flat[first:end] if v >= 0 else [] for v, first, end in nodes]


def _split(cpd: Any, variables: Sequence[Any], k: int, to: list[int], gain: float) -> Local:
    v, state = int(cpd.variable[k]), int(cpd.state[k])
    states = variables[v].states
    if state < 0:
        labels = [_equals(one) for one in states]
    else:
        labels = [_equals(states[state]), _differs(state, states)]
    branches = [{"label": label, "to": node} for label, node in zip(labels, to, strict=True)]
    return {"split": v, "state": state if state >= 0 else None, "branches": branches, "gain": gain}


_BIN = re.compile(r"\((?P<low>[^\s,]+), (?P<high>[^\s,]+)[])]")  # of numbers: "(-inf, 6.3]", "(6.3, 6.8]", "(7.3, inf)"


def _equals(state: object) -> str:
    """The condition that a variable is in this state; of a bin of numbers by its bounds.

    >>> _equals("yes"), _equals("(-inf, 6.3]"), _equals("(6.3, 6.8]"), _equals("(7.3, inf)")
    ('= yes', '≤ 6.3', 'in (6.3, 6.8]', '> 7.3')
    """
    found = _BIN.fullmatch(state) if isinstance(state, str) else None
    if found is None:
        return f"= {short(state)}"
    if found["low"] == "-inf":
        return f"≤ {short(found['high'])}"
    return f"> {short(found['low'])}" if found["high"] == "inf" else f"in {short(state)}"


def _differs(state: int, states: Sequence[object]) -> str:
    """The condition that it is in any other.

    >>> _differs(0, ["(-inf, 6.3]", "(6.3, 6.8]", "(6.8, inf)"]), _differs(0, ["a", "b", "c"]), _differs(0, ["a", "b"])
    ('> 6.3', '≠ a', '= b')
    """
    if len(states) == 2:
        return _equals(states[1 - state])
    here = _equals(states[state])
    if all(isinstance(one, str) and _BIN.fullmatch(one) for one in states):  # and none stands for a missing value
        opposite = {"≤": ">", ">": "≤", "in": "not in"}
        relation, _, bound = here.partition(" ")
        return f"{opposite[relation]} {bound}"
    return f"≠ {short(states[state])}"


def _passing(cpd: Any, branches: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """The mean distribution of the training rows that pass each node, and how many they are."""
    means, rows = np.empty((len(branches), cpd.probs.shape[1])), np.empty(len(branches))
    for k in range(len(branches) - 1, -1, -1):  # branches lead to higher numbers
        first = cpd.first[k]
        if not branches[k]:
            means[k], rows[k] = cpd.probs[first], cpd.counts[first].sum()
            continue
        flow = cpd.flow[first : first + len(branches[k])]
        rows[k] = flow.sum()
        shares = flow / rows[k] if rows[k] > 0 else np.full(len(flow), 1 / len(flow))
        means[k] = shares @ means[branches[k]]
    return means, rows


def _count(rows: float) -> float:
    """A number of cases; weighted rows may make it broken."""
    return int(rows) if rows == int(rows) else round(rows, 1)


# Weights


def _logistic(cpd: Any, variables: Sequence[Any], most: int) -> Local:
    """What each state of a parent adds to the logits, those that add nothing left out."""
    parent = np.repeat(np.array(cpd.parents, np.int64), np.diff(cpd.first))
    state = np.arange(len(parent)) - np.repeat(cpd.first[:-1], np.diff(cpd.first))
    size = np.abs(cpd.weights).max(axis=1, initial=0.0)
    total = int(np.count_nonzero(size))
    order = np.lexsort((state, parent, -size))[: min(most, total)]
    said = zip(parent[order].tolist(), state[order].tolist(), figures(cpd.weights[order]), strict=True)
    weights = [{"variable": p, "state": s, "weight": weight} for p, s, weight in said]
    counts = {"shown": len(weights), "total": total}
    return {"type": "logistic", "intercept": figures(cpd.intercept), "weights": weights, **counts}


def _boosted(cpd: Any, variables: Sequence[Any], most: int) -> Local:
    """What boosting started from, and how much the splits on each of the variables `asked` about move the logits."""
    shares = np.full(len(cpd.start.intercept), 1.0 / len(cpd.start.intercept))
    moved = cpd.split_worths(shares, len(variables)) ** 2
    asked = int(np.count_nonzero(moved))
    order = np.argsort(-moved, kind="stable")[: min(most, asked)]
    said = zip(order.tolist(), figures(moved[order]), strict=True)
    importance = [{"variable": v, "gain": gain} for v, gain in said]
    trees = {"importance": importance, "asked": asked, "trees": cpd.n_trees}
    return {**_logistic(cpd.start, variables, most), "type": "boosted", **trees}


def _gaussian(cpd: Any, variables: Sequence[Any], most: int) -> Local:
    return gaussian(cpd.parents, cpd.weights, cpd.intercept, cpd.deviation, most)


def gaussian(parents: Any, weights: np.ndarray, intercept: float, deviation: float, most: int) -> Local:
    """
    >>> gaussian([1], np.array([0.5]), 2.0, 1.0, 64)["weights"]
    [{'variable': 1, 'weight': 0.5}]
    """
    order = np.argsort(-np.abs(weights), kind="stable")[:most]
    said = zip(np.asarray(parents, np.int64)[order].tolist(), figures(weights[order]), strict=True)
    return {
        "type": "gaussian",
        "intercept": figures(intercept),
        "weights": [{"variable": v, "weight": w} for v, w in said],
        "deviation": figures(deviation),
        "shown": len(order),
        "total": len(weights),
    }


# Markov networks, Markov trees, hybrid fields, rankers


def feature_local(model: Any, v: int, most: int) -> Local:
    """The features of a Markov network that mention v, the heaviest first."""
    own = _features_on(model)[v]
    heaviest = own[np.lexsort((own, -np.abs(model.weights[own])))][:most]
    features = []
    for f, weight in zip(heaviest.tolist(), figures(model.weights[heaviest]), strict=True):
        held = slice(model.first_condition[f], model.first_condition[f + 1])
        pairs = zip(model.columns[held].tolist(), model.states[held].tolist(), strict=True)
        features.append({"conditions": [{"variable": u, "state": s} for u, s in pairs], "weight": weight})
    return {"type": "features", "features": features, "shown": len(features), "total": len(own)}


@once_per_model
def _features_on(model: Any) -> list[np.ndarray]:
    """The features that mention each variable."""
    order = np.argsort(model.columns, kind="stable")
    ends = np.searchsorted(model.columns[order], np.arange(1, len(model.variables)))
    return np.split(model.feature_of[order], ends)


def tree_local(model: Any, v: int, most: int) -> Local:
    """P(v | its neighbour nearer to the root) of a Markov tree."""
    return cpd_local(_directed(model), v, most)


@once_per_model
def _directed(model: Any) -> Any:
    return model.directed()


def field_local(model: Any, v: int, most: int) -> Local:
    """The families of the local network that decide P(v | its blanket): its own and those of its children."""
    families = []
    for f in range(model.first_family[v], model.first_family[v + 1]):
        child, parents = int(model.child[f]), model.family_parents(f)
        if child == v or v in parents:
            probs = model.probs[model.first_entry[f] : model.first_entry[f + 1]]
            rows = table(parents, probs.reshape(-1, model.variables[child].n_states), most)
            families.append({**rows, "child": child})
    return {"type": "field", "parents": model.blanket(v), "families": families}


def averaged_local(model: Any, v: int, most: int) -> Local:
    n_fields = len(model.fields)
    return none(f"P(variable | rest) is the mean over {n_fields} hybrid random fields, and has no tables of its own.")


def item_weights_local(model: Any, v: int, most: int) -> Local:
    """The mean of an item in a Gaussian field, as a weighted sum of the others."""
    if len(model.weights):
        weights = model.weights[:, v].copy()
    else:
        weights = model.factors @ model.factors[v] / model.precision[v]
    weights[v] = 0.0
    intercept = model.mean[v] - weights @ model.mean
    others = np.flatnonzero(weights)
    return gaussian(others, weights[others], intercept, model.precision[v] ** -0.5, most)


def ranker_local(model: Any, v: int, most: int) -> Local:
    return none("This kind of model only ranks: it has scores for every two items, and no distribution of one.")


CPDS: dict[str, Callable[[Any, Sequence[Any], int], Local]] = {  # class of CPD -> how it is told
    "TableCPD": _table,
    "TreeCPD": _tree,
    "LogisticCPD": _logistic,
    "BoostedCPD": _boosted,
    "LinearGaussianCPD": _gaussian,
}
