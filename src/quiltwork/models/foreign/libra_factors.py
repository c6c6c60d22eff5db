"""The factors in a Libra file: words read into features and trees, and what they mean.

A tree is a list of nodes, parents before children, for Libra's may be deeper than Python's stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import inf, isnan, prod
from typing import NoReturn

import numpy as np

from quiltwork.cpds.table import TableCPD
from quiltwork.cpds.tree import LEAF, TreeCPD
from quiltwork.errors import FormatError

MAX_FEATURES = 2**22
MAX_ENTRIES = 2**24  # probabilities of one table
CARELESS = 1e-3  # how far from one a distribution may be and still be rescaled

_WORD = re.compile(r"[(){}]|[^\s(){}]+")
_TEST = re.compile(r"([+-]?)v(\d{1,9})_(\d{1,9})")

Test = tuple[int, int, bool]  # variable, state, whether it must be in that state or must not


@dataclass(frozen=True)
class Feature:
    weight: float
    tests: tuple[Test, ...]
    line: int


@dataclass(frozen=True)
class Node:
    """A test with the two nodes it leads to, or a leaf (variable -1) with its value."""

    variable: int
    state: int
    yes: int
    no: int
    value: float


@dataclass(frozen=True)
class Factor:
    """`features`, `table` or a single feature: features; `tree`: nodes."""

    kind: str
    features: tuple[Feature, ...]
    nodes: tuple[Node, ...]
    line: int


class Words:
    """The words of a file from its second line on, one after another."""

    def __init__(self, lines: list[str], path: str, n_states: np.ndarray):
        self.path, self.n_states = path, n_states
        self._words = [(word, k) for k, line in enumerate(lines, 1) if k > 1 for word in _WORD.findall(line)]
        self._next, self._n_lines = 0, len(lines)

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        raise FormatError(message, self.path, self.line if line is None else line)

    @property
    def line(self) -> int:
        """The line of the next word, or the last line."""
        return self._words[self._next][1] if self._next < len(self._words) else self._n_lines

    def peek(self) -> str:
        return self._words[self._next][0] if self._next < len(self._words) else ""

    def next(self, what: str) -> str:
        if self._next == len(self._words):
            self.fail(f"the file ends where {what} should stand.", self._n_lines)
        self._next += 1
        return self._words[self._next - 1][0]

    def expect(self, word: str) -> None:
        line = self.line
        if (got := self.next(f"{word!r}")) != word:
            self.fail(f"expected {word!r}, got {got[:20]!r}.", line)

    def number(self, lowest: float = -inf) -> float:
        """A number; -inf, the logarithm of zero, only where the caller lets it be the lowest."""
        line, word = self.line, self.next("a number")
        try:
            number = float(word)
        except ValueError:
            self.fail(f"expected a number, got {word[:20]!r}.", line)
        if isnan(number) or number == inf or (number == -inf and lowest > -inf):
            way_out = "; -1000 says nearly the same" if number == -inf else ""
            self.fail(f"a weight must be a finite number. Got {word[:20]!r}{way_out}.", line)
        return number

    def test(self) -> Test:
        line, word = self.line, self.next("a condition")
        found = _TEST.fullmatch(word)
        if not found:
            self.fail(f"expected a condition such as +v0_1, got {word[:20]!r}.", line)
        v, s = int(found[2]), int(found[3])
        if v >= len(self.n_states):
            self.fail(f"there is no variable v{v}: the first line says {len(self.n_states)} variables.", line)
        if s >= self.n_states[v]:
            self.fail(f"v{v} has no state {s}: the first line says {self.n_states[v]} states.", line)
        return v, s, found[1] != "-"


# Reading


def read_factor(words: Words, lowest: float) -> Factor:
    """The factor that begins at the next word; values of `lowest` or more."""
    line, kind = words.line, words.peek()
    if kind not in ("features", "table", "tree"):
        return Factor("features", (_read_feature(words, lowest),), (), line)
    words.next(kind)
    words.expect("{")
    if kind == "tree":
        nodes = _read_tree(words, lowest)
        words.expect("}")
        return Factor(kind, (), nodes, line)
    features = []
    while words.peek() != "}":
        features.append(_read_feature(words, lowest))
    words.expect("}")
    return Factor(kind, tuple(features), (), line)


def _read_feature(words: Words, lowest: float) -> Feature:
    line = words.line
    weight = words.number(lowest)
    tests = []
    while words.peek().lstrip("+-").startswith("v"):
        tests.append(words.test())
    return Feature(weight, tuple(tests), line)


def _read_tree(words: Words, lowest: float) -> tuple[Node, ...]:
    nodes: list[list[float]] = []  # variable, state, yes, no, value
    open_tests: list[int] = []  # the nodes on the way down, whose branches are not complete
    while True:
        if nodes and not open_tests:
            return tuple(Node(int(v), int(s), int(yes), int(no), value) for v, s, yes, no, value in nodes)
        if open_tests and nodes[open_tests[-1]][3] >= 0:
            words.expect(")")
            open_tests.pop()
            continue
        if open_tests:
            above = nodes[open_tests[-1]]
            above[2 if above[2] < 0 else 3] = len(nodes)
        if words.peek() == "(":
            words.next("(")
            v, s, _ = words.test()
            open_tests.append(len(nodes))
            nodes.append([v, s, -1, -1, 0.0])
        else:
            nodes.append([-1, -1, -1, -1, words.number(lowest)])


# As features of a Markov network


def conjunctions_of(factor: Factor, words: Words) -> Iterator[tuple[list[tuple[int, int]], float]]:
    """(conditions, weight) of all features that a factor of a Markov network stands for."""
    told = [(feature.tests, feature.weight) for feature in factor.features]
    if factor.kind == "tree":
        told = list(_paths(factor.nodes))
    for tests, weight in told:
        possible = _possible_states(tests, words.n_states)
        if prod(map(len, possible.values())) > MAX_FEATURES:
            words.fail(f"a feature stands for more than {MAX_FEATURES:,} conjunctions.", factor.line)
        for states in product(*possible.values()):  # no states of some variable: it never holds
            yield list(zip(possible, states, strict=True)), weight


def _paths(nodes: tuple[Node, ...]) -> Iterator[tuple[tuple[Test, ...], float]]:
    waiting: list[tuple[int, tuple[Test, ...]]] = [(0, ())]
    while waiting:
        k, tests = waiting.pop()
        node = nodes[k]
        if node.variable < 0:
            yield tests, node.value
        else:
            waiting.append((node.no, (*tests, (node.variable, node.state, False))))
            waiting.append((node.yes, (*tests, (node.variable, node.state, True))))


def _possible_states(tests: tuple[Test, ...], n_states: np.ndarray) -> dict[int, list[int]]:
    said: dict[int, tuple[set[int], set[int]]] = {}  # of each variable the states it must be in, and must not be in
    for v, s, must in tests:
        said.setdefault(v, (set(), set()))[0 if must else 1].add(s)
    return {
        v: [s for s in (wanted or range(n_states[v])) if len(wanted) < 2 and s not in excluded]
        for v, (wanted, excluded) in said.items()
    }


# As the CPD of a variable


def cpd_of(factor: Factor, child: int, words: Words) -> TableCPD | TreeCPD:
    """The distribution of `child` that a factor of a Bayesian or dependency network says."""
    if factor.kind == "table":
        return _table(factor, child, words)
    if factor.kind == "tree":
        return _tree(factor, child, words)
    words.fail(f"v{child} has features, and only tables and trees of conditional probabilities are read.", factor.line)


def _table(factor: Factor, child: int, words: Words) -> TableCPD:
    scope = sorted({v for feature in factor.features for v, _, _ in feature.tests} - {child})
    shape = [int(words.n_states[v]) for v in (*scope, child)]
    if prod(shape) > MAX_ENTRIES:
        words.fail(f"the table of v{child} has more than {MAX_ENTRIES:,} entries.", factor.line)
    if len(factor.features) != prod(shape):
        words.fail(f"the table of v{child} must have {prod(shape)} lines. Got {len(factor.features)}.", factor.line)
    logs = np.full(shape, np.nan)
    for feature in factor.features:
        states = {v: s for v, s, must in feature.tests if must}
        if sorted(states) != sorted((*scope, child)) or len(feature.tests) != len(states):
            words.fail(f"a line of the table of v{child} must say the state of each of its variables.", feature.line)
        logs[tuple(states[v] for v in (*scope, child))] = feature.weight
    if np.isnan(logs).any():
        words.fail(f"two lines of the table of v{child} speak of the same states.", factor.line)
    return TableCPD(child, tuple(scope), _distributions(logs.reshape(-1, shape[-1]), child, factor.line, words))


def _tree(factor: Factor, child: int, words: Words) -> TreeCPD:
    """Tests on other variables are splits; where the first test on the child stands, there is a leaf."""
    nodes = factor.nodes
    number: dict[int, int] = {}  # Libra's node -> ours
    splits: list[tuple[int, int, int]] = []  # of each of our nodes: variable, state, first
    branches: list[int] = []
    logs: list[list[float]] = []
    waiting = [0]
    for k in waiting:  # which grows on the way, parents before children
        number[k] = len(number)
        node = nodes[k]
        if node.variable in (child, -1):
            splits.append((LEAF, -1, len(logs)))
            logs.append([_value(nodes, k, child, s, factor, words) for s in range(words.n_states[child])])
        else:
            splits.append((node.variable, node.state, len(branches)))
            branches += [node.yes, node.no]
            waiting += [node.yes, node.no]
    probs = _distributions(np.array(logs), child, factor.line, words)
    variable, state, first = np.array(splits, np.int64).T.copy()
    return TreeCPD(
        child=child, variable=variable, state=state, first=first,
        branches=np.array([number[k] for k in branches], np.int64), flow=np.zeros(len(branches)),
        gain=np.zeros(len(variable)), probs=probs, counts=np.zeros(probs.shape),
    )  # fmt: skip


def _value(nodes: tuple[Node, ...], k: int, child: int, state: int, factor: Factor, words: Words) -> float:
    while nodes[k].variable >= 0:
        if nodes[k].variable != child:
            words.fail(f"below a test on v{child} its own tree must test no other variable.", factor.line)
        k = nodes[k].yes if nodes[k].state == state else nodes[k].no
    return nodes[k].value


def _distributions(logs: np.ndarray, child: int, line: int, words: Words) -> np.ndarray:
    probs = np.exp(np.minimum(logs, 1.0))  # an absurd logarithm need not overflow to be found out
    sums = probs.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > CARELESS:
        words.fail(f"the probabilities of v{child} must sum to 1. Somewhere they sum to {sums[worst]:.6g}.", line)
    return probs / sums[:, None]


# Writing


def table_text(cpd: TableCPD, n_states: np.ndarray) -> str:
    scope = [*cpd.parents, cpd.child]
    lines = ["table {"]
    for states, p in zip(np.ndindex(*n_states[scope].tolist()), cpd.probs.ravel().tolist(), strict=True):
        tests = " ".join(f"+v{v}_{s}" for v, s in zip(scope, states, strict=True))
        lines.append(f"{log_text(p)} {tests}")
    return "\n".join([*lines, "}", ""])


def tree_text(cpd: TreeCPD, n_states: np.ndarray) -> str:
    """The tree with binary tests alone: a split into all states becomes one test after another."""
    out: list[str] = []
    waiting: list[int | str] = [0]
    while waiting:
        k = waiting.pop()
        if isinstance(k, str):
            out.append(k)
        elif cpd.variable[k] == LEAF:
            out.append(_chain(cpd.child, [log_text(p) for p in cpd.probs[cpd.first[k]].tolist()]))
        else:
            v, first = int(cpd.variable[k]), int(cpd.first[k])
            tested = range(n_states[v] - 1) if cpd.state[k] < 0 else [int(cpd.state[k])]
            parts: list[int | str] = []
            for j, s in enumerate(tested):
                parts += [f"(v{v}_{s}", int(cpd.branches[first + j])]
            parts += [int(cpd.branches[first + len(tested)]), ")" * len(tested)]
            waiting += reversed(parts)
    return "\n".join(["tree {", " ".join(out), "}", ""])


def _chain(v: int, values: list[str]) -> str:
    """(v_0 first (v_1 second third))"""
    tests = "".join(f"(v{v}_{s} {value} " for s, value in enumerate(values[:-1]))
    return tests + values[-1] + ")" * (len(values) - 1)


def log_text(p: float) -> str:
    return repr(float(np.log(p))) if p > 0 else "-inf"
