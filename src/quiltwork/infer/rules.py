"""A decision tree or graph as rules: if these conditions hold, this is the distribution.

Each leaf is one rule. In a tree one path leads to it; in a graph, whose leaves may have been merged, several do, and a
rule lists them all. What a path asks is told as briefly as it can be: of "a ≠ 1 and a ≠ 2 and a = 3" the last part says
it all, and where "a ≠ 1" leaves a single state, that state is named. A path that no row can take is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quiltwork.cpds.tree import LEAF, TreeCPD
from quiltwork.data.dataset import State, Variable, position
from quiltwork.errors import InputError, ResourceLimitError
from quiltwork.infer.question import model_of

MAX_STEPS = 2**20  # questions on all paths together; in a graph there may be very many paths
SHOWN_STATES = 8  # of a distribution in text: the likeliest


@dataclass(frozen=True, slots=True)
class Condition:
    """What a path asks of one variable: that it is in a state ("="), or that it is not ("≠").

    >>> print(Condition("rain", "≠", "yes"))
    rain ≠ yes
    """

    variable: str
    relation: str
    state: State

    def __str__(self) -> str:
        return f"{self.variable} {self.relation} {self.state}"


@dataclass(frozen=True)
class Rule:
    """A leaf: the paths that lead to it, and the distribution there.

    paths          conditions; a row takes the rule if all conditions of one of the paths hold
    probabilities  of the states of the variable, by state
    cases          training rows that met at the leaf

    >>> print(Rule(((Condition("rain", "=", "yes"),),), {"dry": 0.1, "wet": 0.9}, 20.0))
    rain = yes → dry 0.10, wet 0.90 (20 cases)
    """

    paths: tuple[tuple[Condition, ...], ...]
    probabilities: Mapping[State, float]
    cases: float

    def __str__(self) -> str:
        each = [" and ".join(map(str, path)) for path in self.paths]
        told = each[0] if len(each) == 1 else " or ".join(f"({one})" for one in each)
        states, probs = list(self.probabilities), list(self.probabilities.values())
        likeliest = sorted(range(len(probs)), key=lambda s: -probs[s])[:SHOWN_STATES]
        shown = ", ".join(f"{states[s]} {probs[s]:.2f}" for s in sorted(likeliest))
        more = ", ..." if len(likeliest) < len(probs) else ""
        return f"{told or 'always'} → {shown}{more} ({self.cases:,.10g} cases)"


def rules(model: Any, variable: str) -> list[Rule]:
    """The decision tree or graph of a variable as rules, one for each leaf, in the order of the leaves.

    model     a Bayesian or dependency network whose CPD of the variable is a tree or a graph, or a fitted estimator
    variable  its name

    >>> import quiltwork as qw
    >>> table = qw.sample(qw.textbook("asia"), 2000, seed=0)
    >>> for rule in qw.rules(qw.DependencyNetwork(smoothing="laplace").fit(table), "dysp"):
    ...     print(rule)
    bronc = yes → yes 0.83, no 0.17 (905 cases)
    bronc = no and either = no → yes 0.11, no 0.89 (1,038 cases)
    bronc = no and either = yes → yes 0.61, no 0.39 (57 cases)
    """
    model = model_of(model)
    cpd, states = tree_of(model, variable), model.variables[position(variable, model.variables)].states
    if (n_steps := _n_steps(cpd)) > MAX_STEPS:
        raise ResourceLimitError(
            f"The paths of the decision {cpd.kind} of {variable!r} ask {n_steps:.3g} questions in all, past the limit "
            f"of {MAX_STEPS:,}; use to_networkx(model, {variable!r}), which tells each node once."
        )
    paths: list[list[tuple[Condition, ...]]] = [[] for _ in range(cpd.n_leaves)]
    for leaf, path in _paths(cpd, model.variables):
        paths[leaf].append(path)
    found = zip(paths, cpd.probs.tolist(), cpd.counts.sum(axis=1).tolist(), strict=True)
    return [Rule(tuple(own), dict(zip(states, probs, strict=True)), cases) for own, probs, cases in found if own]


def tree_of(model: Any, variable: str) -> TreeCPD:
    """The CPD of a variable that is a decision tree or graph; an InputError where it is something else."""
    v = position(variable, model.variables)
    cpds = getattr(model, "cpds", None)
    if cpds is None:
        raise InputError(
            f"Decision trees and graphs are in Bayesian and dependency networks. Got a {type(model).__name__} instead."
        )
    if not isinstance(cpds[v], TreeCPD):
        raise InputError(
            f"The distribution of {variable!r} must be a decision tree or graph. It is of the kind {cpds[v].kind!r}; "
            "learn with cpd='tree' or cpd='graph'."
        )
    return cpds[v]


def branch_conditions(cpd: TreeCPD, k: int, variables: Sequence[Variable]) -> list[Condition]:
    """What each branch of split k asks."""
    asked, state = variables[cpd.variable[k]], int(cpd.state[k])
    if state < 0:
        return [Condition(asked.name, "=", own) for own in asked.states]
    return [Condition(asked.name, "=", asked.states[state]), _but((state,), asked)[0]]


def _but(excluded: tuple[int, ...], variable: Variable) -> list[Condition]:
    """That a variable is in none of these states; where one state is left, that it is in that one."""
    if variable.n_states - len(excluded) == 1:
        left = next(s for s in range(variable.n_states) if s not in excluded)
        return [Condition(variable.name, "=", variable.states[left])]
    return [Condition(variable.name, "≠", variable.states[s]) for s in excluded]


# What a path has asked so far: by variable, the state it is in, or the states that it is not in.
_Asked = dict[int, int | tuple[int, ...]]


def _paths(cpd: TreeCPD, variables: Sequence[Variable]) -> Iterator[tuple[int, tuple[Condition, ...]]]:
    """(leaf, conditions) of every path that some row can take."""
    waiting: list[tuple[int, _Asked]] = [(0, {})]
    while waiting:
        k, asked = waiting.pop()
        v, state = int(cpd.variable[k]), int(cpd.state[k])
        if v == LEAF:
            yield int(cpd.first[k]), tuple(_conditions(asked, variables))
            continue
        branches = cpd.branches[cpd.first[k] : cpd.end[k]].tolist()
        for place in reversed(range(len(branches))):  # the last to be put down is the first to be taken up
            answer = state if state >= 0 and place == 0 else place if state < 0 else (state,)
            known = _narrowed(asked.get(v, ()), answer, variables[v].n_states)
            if known is not None:
                waiting.append((branches[place], {**asked, v: known}))


def _narrowed(
    known: int | tuple[int, ...], answer: int | tuple[int, ...], n_states: int
) -> int | tuple[int, ...] | None:
    """What is known of a variable after one more answer; None where that cannot be."""
    if isinstance(known, int):
        return known if (answer == known if isinstance(answer, int) else known not in answer) else None
    if isinstance(answer, int):
        return None if answer in known else answer
    excluded = known if answer[0] in known else (*known, *answer)
    return excluded if len(excluded) < n_states else None


def _conditions(asked: _Asked, variables: Sequence[Variable]) -> Iterator[Condition]:
    for v, known in asked.items():
        if isinstance(known, int):
            yield Condition(variables[v].name, "=", variables[v].states[known])
        else:
            yield from _but(known, variables[v])


def _n_steps(cpd: TreeCPD) -> float:
    """Questions on all paths together; branches lead to later nodes, so one pass counts them."""
    n_paths, n_steps = np.zeros(len(cpd.variable)), np.zeros(len(cpd.variable))
    n_paths[0] = 1.0
    for k in np.flatnonzero(cpd.variable != LEAF).tolist():
        for child in cpd.branches[cpd.first[k] : cpd.end[k]].tolist():
            n_paths[child] += n_paths[k]
            n_steps[child] += n_steps[k] + n_paths[k]
    return float(n_steps[cpd.variable == LEAF].sum())
