"""How strong is an arc? One answer for every kind of model, so that a slider can go from the strongest to all.

| model | strength of an arc |
|---|---|
| Bayesian network of tables, Gaussian network | what the score of the training rows would lose without it |
| Bayesian network of trees or graphs | the smallest gain of any operator until it entered |
| dependency network of trees | the greatest further penalty on a split under which it would still be there |
| dependency network of tables | what the score of the child gained when its parent entered |
| the same learned with cpd="logistic", "boosted" or "auto" | log-likelihood that the rows lose without the parent |
| tables and linear Gaussians without a learner | mutual information of parent and child given the other parents |
| trees and graphs without a learner | gain of the best split on the parent |
| regressions without a learner | the most that the parent's states move the log-odds |
| boosted trees without a learner | not known |
| hybrid random field | mutual information of the two given the rest of the local network |
| Markov network | sizes of the weights of the features that hold both, added up |
| Markov tree | mutual information of the two |
| rankers | how much one item says about another: each item's strongest few |

The learner tells the strengths, and they are taken as they are; so where arcs entered one by one, the order of strength
is the order of their entry (Heckerman et al. 2000, section 5). Where no learner did, the CPDs say what they can, each
by its kind. In a tree a parent then counts at least as much as those below it: what a split gains, it gains because of
the splits above.

Mutual information in a network needs the weights of the parents' configurations. They are computed exactly in a small
network, and counted in sampled rows in a large one; the same seed each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from quiltwork.cpds.boosted import BoostedCPD
from quiltwork.cpds.linear_gaussian import LinearGaussianCPD
from quiltwork.cpds.logistic import LogisticCPD
from quiltwork.cpds.table import TableCPD
from quiltwork.cpds.tree import TreeCPD
from quiltwork.errors import InputError, ResourceLimitError
from quiltwork.models.bayesian import BayesianNet
from quiltwork.view.information import blanket_information, table_information

EXACT_VARIABLES = 100  # up to which configurations are weighed exactly
PER_ITEM = 10  # partners of an item that a ranker shows
ITEMS_AT_A_TIME = 256
ALONE = {
    "tree": "gain of the best split",
    "graph": "gain of the best split",
    "logistic": "most that the parent moves the log-odds",
    "boosted": "not known for boosted trees that were not learned here",
}


class Arcs(NamedTuple):
    """Columns of the two ends and the strength, strongest first; what it means, its unit, and a note for the reader."""

    source: np.ndarray
    target: np.ndarray
    strength: np.ndarray
    meaning: str
    unit: str
    note: str = ""


def strongest_first(source: np.ndarray, target: np.ndarray, strength: np.ndarray, meaning: str, unit: str) -> Arcs:
    """Sorted by strength; equal ones in the order of their columns."""
    if not np.isfinite(strength).all():
        raise InputError("The strengths of this model's arcs are not all finite numbers; it cannot be shown.")
    order = np.lexsort((source, target, -strength))
    return Arcs(source[order], target[order], strength[order], meaning, unit)


# Networks of families: Bayesian, dependency, Gaussian


def family_arcs(model: Any) -> Arcs:
    """Arcs from parents to children: with the learner's strengths, or with what the families say themselves."""
    structure = model.structure
    source, target = structure.indices, np.repeat(np.arange(structure.n_vars), np.diff(structure.indptr))
    given = getattr(model, "strengths", None)
    if given is None or len(given) != len(source):
        strength, meaning = np.fromiter(_information(model), np.float64, len(source)), _meaning_alone(model)
    else:
        strength, meaning = np.asarray(given, np.float64), _meaning(model)
    return strongest_first(source, target, strength, meaning, "nats")


def _meaning(model: Any) -> str:
    """What the learner measured."""
    by_rows = dict(model.provenance).get("parameters", {}).get("cpd") in ("logistic", "boosted", "auto")
    if by_rows or any(isinstance(cpd, (LogisticCPD, BoostedCPD)) for cpd in model.cpds):
        return "log-likelihood lost without the parent"
    grown = any(isinstance(cpd, TreeCPD) for cpd in model.cpds)
    if model.kind == "dn":
        return "penalty that the arc withstands" if grown else "gain when the parent entered"
    return "smallest gain until the arc entered" if grown else "score lost without the arc"


def _meaning_alone(model: Any) -> str:
    """What is told by the CPDs themselves: one thing where all that have parents are of one kind."""
    kinds = {getattr(cpd, "kind", "table") for cpd in model.cpds if cpd.parents}
    told = {ALONE.get(kind, "mutual information given the other parents") for kind in kinds or {"table"}}
    return told.pop() if len(told) == 1 else "told by each variable's own kind of distribution"


def _worth_in_tree(cpd: TreeCPD, known: dict[int, float]) -> dict[int, float]:
    """The best of what is known about each parent and about the parents below its splits."""
    best = [0.0] * len(cpd.variable)
    worth = dict(known)
    for k in range(len(best) - 1, -1, -1):  # branches lead to higher numbers
        v = int(cpd.variable[k])
        if v >= 0:
            below = cpd.branches[cpd.first[k] : cpd.end[k]].tolist()
            best[k] = max(known[v], *(best[child] for child in below))
            worth[v] = max(worth[v], best[k])
    return worth


def _gains(cpd: TreeCPD) -> dict[int, float]:
    """The largest gain of a split on each parent."""
    gains = dict.fromkeys(cpd.parents, 0.0)
    for v, gain in zip(cpd.variable.tolist(), cpd.gain.tolist(), strict=True):
        if v >= 0:
            gains[v] = max(gains[v], gain)
    return gains


def _information(model: Any) -> Iterator[float]:
    """I(parent; child | other parents) of every arc, by child and then by parent.

    Where a CPD is no table: what the parent gained in a tree; by how much it can move the log-odds of a regression.
    """
    weigh = _weigher(model) if any(isinstance(cpd, TableCPD) for cpd in model.cpds) else None
    for v, cpd in enumerate(model.cpds):
        if isinstance(cpd, TreeCPD):
            yield from (worth for _, worth in sorted(_worth_in_tree(cpd, _gains(cpd)).items()))
        elif isinstance(cpd, TableCPD) and cpd.parents and weigh:
            weights = weigh(v)
            shape = [model.variables[p].n_states for p in cpd.parents]
            yield from table_information(weights.reshape(shape), cpd.probs.reshape(*shape, -1))
        elif isinstance(cpd, LogisticCPD):
            pieces = np.split(cpd.weights, cpd.first[1:-1]) if cpd.parents else []
            yield from (float(np.ptp(piece, axis=0).max()) for piece in pieces)
        elif isinstance(cpd, LinearGaussianCPD) and cpd.parents:
            yield from _linear_information(model, cpd)
        else:
            yield from (0.0 for _ in cpd.parents)


def _linear_information(model: Any, cpd: Any) -> list[float]:
    """I(parent; child | other parents) of a linear Gaussian: half the log of what the parent adds to the variance."""
    from quiltwork.infer.elimination import MAX_ENTRIES
    from quiltwork.infer.query import NUMBERS

    ask: Any = NUMBERS[type(model)]
    parents = ask(model, list(cpd.parents), {}, MAX_ENTRIES)
    left = 1.0 / np.maximum(np.diag(np.linalg.pinv(parents.covariance, hermitian=True)), 1e-300)
    return (0.5 * np.log1p(cpd.weights**2 * left / cpd.variance)).tolist()


def _weigher(model: Any) -> Any:
    """A function from a variable to the weights of its parents' configurations."""
    if all(cpd.weights is not None for cpd in model.cpds if isinstance(cpd, TableCPD)):
        return lambda v: model.cpds[v].weights  # as they were in training
    if isinstance(model, BayesianNet) and len(model.variables) <= EXACT_VARIABLES:
        try:
            return _weigh_exactly(model)
        except ResourceLimitError:
            pass
    from quiltwork.view.evidence import sampled_rows

    rows = sampled_rows(model)
    columns = [rows.column(v).astype(np.int64) for v in range(rows.n_vars)]
    n_states = [variable.n_states for variable in model.variables]

    def weigh(v: int) -> np.ndarray:
        config = np.zeros(rows.n_samples, np.int64)
        for p in model.cpds[v].parents:
            config = config * n_states[p] + columns[p]
        return np.bincount(config, minlength=len(model.cpds[v].probs)).astype(np.float64)

    return weigh


def _weigh_exactly(model: Any) -> Any:
    from quiltwork.infer.query import query

    families = {cpd.parents for cpd in model.cpds if isinstance(cpd, TableCPD) and cpd.parents}
    names = [variable.name for variable in model.variables]
    known: dict[Any, Any] = {
        own: query(model, [names[p] for p in own], method="exact", max_entries=2**22) for own in families
    }
    return lambda v: known[model.cpds[v].parents].probabilities.ravel()


# Markov networks and trees


def feature_edges(model: Any) -> Arcs:
    """Every two variables that share a feature; the sizes of the weights of those features, added up."""
    n_vars, lengths = len(model.variables), np.diff(model.first_condition)
    pairs, sizes = [np.empty(0, np.int64)], [np.empty(0)]
    for length in range(2, lengths.max(initial=0) + 1):
        which = np.flatnonzero(lengths == length)
        scope = model.columns[model.first_condition[which, None] + np.arange(length)]
        one, other = np.triu_indices(length, 1)
        pairs.append((scope[:, one] * n_vars + scope[:, other]).ravel())
        sizes.append(np.repeat(np.abs(model.weights[which]), len(one)))
    pair, place = np.unique(np.concatenate(pairs), return_inverse=True)
    strength = np.bincount(place, np.concatenate(sizes), len(pair))
    return strongest_first(pair // n_vars, pair % n_vars, strength, "sizes of the shared weights, added up", "nats")


def tree_edges(model: Any) -> Arcs:
    """The edges of a Markov tree."""
    low, high = model.ends.T
    return strongest_first(low, high, np.asarray(model.strengths, np.float64), "mutual information", "nats")


# Hybrid fields


def field_arcs(model: Any) -> Arcs:
    """From every variable of a blanket to the variable that it predicts."""
    return _predictors([model], len(model.variables))


def averaged_arcs(model: Any) -> Arcs:
    """The arcs of all fields, with the mean strength; a field without the arc counts as zero."""
    return _predictors(model.fields, len(model.variables))


def _predictors(fields: Any, n_vars: int) -> Arcs:
    found = [blanket_information(field) for field in fields]
    pair, place = np.unique(
        np.concatenate([target * n_vars + source for source, target, _ in found]), return_inverse=True
    )
    strength = np.bincount(place, np.concatenate([worth for *_, worth in found]), len(pair)) / len(found)
    meaning = "mutual information given the rest of the local network"
    return strongest_first(pair % n_vars, pair // n_vars, strength, meaning, "nats")


# Rankers: one number for every two items, of which each item shows its largest


def field_weights(model: Any) -> Arcs:
    """Items that a Gaussian field weighs most in each other's mean."""
    if len(model.weights):
        return _partners(len(model.precision), lambda own: np.abs(model.weights[own]), "size of the weight")
    scaled = model.factors / model.precision[:, None]
    return _partners(len(model.precision), lambda own: np.abs(model.factors[own] @ scaled.T), "size of the weight")


def lifts(model: Any) -> Arcs:
    """Items that make each other likelier under naive Bayes."""
    share = model.state_counts.reshape(-1, 2)
    share = (share[:, 1] + 1) / (share.sum(axis=1) + 2)

    def lift(own: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(model.given[own], 1e-12) / share[own, None])

    return _partners(len(model.given), lift, "log of how much likelier the one makes the other", "nats")


def walks(model: Any) -> Arcs:
    """Items that random walks from each other reach."""
    return _partners(len(model.reach), lambda own: model.reach[own], "chance that a walk arrives")


def likenesses(model: Any) -> Arcs:
    """Items with vectors in the same direction."""
    length = np.maximum(np.linalg.norm(model.vectors, axis=1, keepdims=True), 1e-12)
    unit = model.vectors / length
    return _partners(len(unit), lambda own: unit[own] @ unit.T, "cosine of the two vectors")


def members_arcs(model: Any) -> Arcs:
    """Of a stack: the arcs of the member that weighs most, without their direction."""
    from quiltwork.view.kinds import kind_of

    heaviest = model.members[int(np.argmax(model.weights))]
    kind = kind_of(heaviest)
    arcs, n_vars = kind.arcs(heaviest), len(model.variables)
    pair = np.minimum(arcs.source, arcs.target) * n_vars + np.maximum(arcs.source, arcs.target)
    pair, first = np.unique(pair, return_index=True)  # the stronger of an arc and its reverse
    shown = strongest_first(pair // n_vars, pair % n_vars, arcs.strength[first], arcs.meaning, arcs.unit)
    return shown._replace(note=f"The edges are those of the member that weighs most: {kind.title}.")


def _partners(n_items: int, scores: Any, meaning: str, unit: str = "") -> Arcs:
    """Undirected: two items of which one is among the other's strongest, by the larger of the two scores."""
    pairs, sizes = [np.empty(0, np.int64)], [np.empty(0)]
    most = min(PER_ITEM, n_items - 1)
    for begin in range(0, n_items if most else 0, ITEMS_AT_A_TIME):
        own = np.arange(begin, min(begin + ITEMS_AT_A_TIME, n_items))
        score = np.array(scores(own), np.float64)
        score[np.arange(len(own)), own] = -np.inf
        best = np.argpartition(-score, most - 1, axis=1)[:, :most]
        size = np.take_along_axis(score, best, axis=1).ravel()
        one, other = np.repeat(own, most), best.ravel()
        pairs.append((np.minimum(one, other) * n_items + np.maximum(one, other))[size > 0])
        sizes.append(size[size > 0])
    pair, place = np.unique(np.concatenate(pairs), return_inverse=True)
    strength = np.zeros(len(pair))
    np.maximum.at(strength, place, np.concatenate(sizes))
    shown = strongest_first(pair // n_items, pair % n_items, strength, meaning, unit)
    return shown._replace(note=f"This model relates every two items; each is shown with its strongest {PER_ITEM}.")


# Kinds that nobody taught the viewer


def named_arcs(model: Any) -> Arcs:
    """What the model itself lists, in its own order of strength where it has one."""
    column = {variable.name: v for v, variable in enumerate(model.variables)}
    ends = np.array([(column[u], column[v]) for u, v in model.arcs], np.int64).reshape(-1, 2)
    given = getattr(model, "strengths", None)
    if given is None or len(given) != len(ends):
        return strongest_first(ends[:, 0], ends[:, 1], np.zeros(len(ends)), "not known for this kind of model", "")
    return strongest_first(ends[:, 0], ends[:, 1], np.asarray(given, np.float64), "as the model tells it", "")
