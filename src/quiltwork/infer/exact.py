"""Exact answers: posterior of some variables, marginals of all, probability of the evidence.

In a Bayesian network a query is first made small. Variables that are neither asked for nor observed, and have no
descendant that is, sum to one and are left out (barren). What the evidence cuts off from the query cannot change the
answer and is left out too, but for the tables that hold zeros: they alone can tell that the evidence is impossible. The
rest is eliminated (see `elimination`), and its size is known before it begins. Markov networks: see `undirected`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ResourceLimitError, ZeroEvidenceError
from quiltwork.infer.elimination import MAX_ENTRIES, Plan, all_marginals, joint, make_plan
from quiltwork.infer.markov_tree import tree_log_evidence, tree_marginals, tree_query
from quiltwork.infer.question import ENTRIES, evidence_codes, implementation, model_of, once_per_model
from quiltwork.infer.tables import CompiledNet, compiled
from quiltwork.infer.undirected import boxed_log_evidence, boxed_marginals, boxed_query
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.markov import MarkovNet
from quiltwork.models.markov_tree import DiscreteTree


def log_evidence(model: Any, evidence: Mapping[str, object], max_entries: int = MAX_ENTRIES) -> float:
    """log P(evidence); -inf for evidence that cannot happen.

    >>> from quiltwork.models.textbook import textbook
    >>> round(log_evidence(textbook("asia"), {"smoke": "yes"}), 6) == round(float(np.log(0.5)), 6)
    True
    """
    model = model_of(model)
    ENTRIES.check("log_evidence", max_entries)
    codes = evidence_codes(model, evidence)
    return implementation(LOG_EVIDENCE, model, "log_evidence")(model, codes, max_entries)


def impossible(evidence: Mapping[str, object] | None) -> ZeroEvidenceError:
    given = ", ".join(f"{name} = {state}" for name, state in (evidence or {}).items())
    return ZeroEvidenceError(f"The evidence ({given}) has probability zero under this model; change or drop a part.")


# Bayesian networks


def _bayesian_query(
    model: BayesianNet, asked: list[int], codes: np.ndarray, max_entries: int
) -> tuple[np.ndarray, int] | None:
    net = compiled(model)
    families = relevant_families(net, asked, codes)
    plan = make_plan(net, families, _free(net, families, codes), asked, max_entries=max_entries)
    table, log_scale = joint(plan, codes)
    return (table / table.sum(), plan.width) if log_scale > -np.inf else None


def _bayesian_log_evidence(model: BayesianNet, codes: np.ndarray, max_entries: int) -> float:
    net = compiled(model)
    families = ancestors(net, np.flatnonzero(codes != NO_CODE).tolist())
    plan = make_plan(net, families, _free(net, families, codes), max_entries=max_entries)
    table, log_scale = joint(plan, codes)
    return float(np.log(table)) + log_scale if log_scale > -np.inf else -np.inf


def _bayesian_marginals(model: BayesianNet, codes: np.ndarray, max_entries: int) -> np.ndarray | None:
    plan = _plan_without_evidence(model)
    if plan is None or plan.n_entries > max_entries:  # the evidence may make it small enough
        net = compiled(model)
        known = codes != NO_CODE
        plan = make_plan(net, range(net.n_vars), np.flatnonzero(~known), both_ways=True, max_entries=max_entries)
    flat, log_scale = all_marginals(plan, codes)
    return flat if log_scale > -np.inf else None


@once_per_model
def _plan_without_evidence(model: BayesianNet) -> Plan | None:
    net = compiled(model)
    try:
        return make_plan(net, range(net.n_vars), range(net.n_vars), both_ways=True)
    except ResourceLimitError:
        return None


def relevant_families(net: CompiledNet, asked: Iterable[int], codes: np.ndarray) -> list[int]:
    """The families that decide P(asked | evidence), and those with zeros, which alone can make it impossible."""
    known = np.flatnonzero(codes != NO_CODE).tolist()
    above = ancestors(net, [*asked, *known])
    around: dict[int, list[int]] = {}  # variable -> families it takes part in
    for c in above:
        for v in net.family(c):
            around.setdefault(v, []).append(c)
    waiting = list(asked)
    reached = {*waiting, *known}  # evidence stops the search
    decisive = set()
    while waiting:
        for c in around[waiting.pop()]:
            decisive.add(c)
            fresh = [u for u in net.family(c) if u not in reached]
            reached.update(fresh)
            waiting += fresh
    return [c for c in above if c in decisive or not net.possible[c]]


def ancestors(net: CompiledNet, of: Iterable[int]) -> list[int]:
    """These variables and everything above them, ascending: all other variables sum to one."""
    waiting = list(of)
    found = set(waiting)
    while waiting:
        fresh = [p for p in net.parents[waiting.pop()] if p not in found]
        found.update(fresh)
        waiting += fresh
    return sorted(found)


def _free(net: CompiledNet, families: Iterable[int], codes: np.ndarray) -> set[int]:
    return {v for c in families for v in net.family(c) if codes[v] == NO_CODE}


# P(asked | evidence) and how many variables the largest table was over, or None where the evidence is impossible
QUERY: dict[type, Callable[..., tuple[np.ndarray, int] | None]] = {
    BayesianNet: _bayesian_query,
    DiscreteTree: tree_query,
    MarkovNet: boxed_query,
}
MARGINALS: dict[type, Callable[..., np.ndarray | None]] = {
    BayesianNet: _bayesian_marginals,
    DiscreteTree: tree_marginals,
    MarkovNet: boxed_marginals,
}
LOG_EVIDENCE: dict[type, Callable[..., float]] = {
    BayesianNet: _bayesian_log_evidence,
    DiscreteTree: tree_log_evidence,
    MarkovNet: boxed_log_evidence,
}
