"""Rules: what a decision tree or graph says, row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.cpds.graph import GraphCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.errors import InputError, ResourceLimitError, UnknownVariableError
from quiltwork.infer.rules import Condition, Rule
from quiltwork.models.bayesian import BayesianNet
from tables import dataset, random_table

STATES = [2, 3, 2, 5, 2]


def holds(condition, row):
    return (row[condition.variable] == condition.state) == (condition.relation == "=")


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["tree", "graph"]), st.booleans())
def test_every_row_takes_the_rule_of_its_leaf_by_one_path(seed, cpd, complete):
    data = dataset(random_table(seed, 300, STATES), STATES)
    operators = "C" * complete + "B" + "M" * (cpd == "graph")
    model = qw.learn("bn", data, cpd=cpd, operators=operators, kappa=0.8)
    codes = data.states()
    for v, own in enumerate(model.cpds):
        found = qw.rules(model, f"v{v}")
        assert len(found) == own.n_leaves
        leaves = own.leaves(codes)
        for i in range(40):
            row = {f"v{u}": int(codes[i, u]) for u in range(len(STATES))}
            taken = [
                (k, path) for k, rule in enumerate(found) for path in rule.paths if all(holds(c, row) for c in path)
            ]
            assert [k for k, _ in taken] == [leaves[i]]
        for rule, probs, counts in zip(found, own.probs, own.counts, strict=True):
            assert list(rule.probabilities) == list(range(STATES[v]))
            np.testing.assert_allclose(list(rule.probabilities.values()), probs)
            assert rule.cases == counts.sum()
            for path in rule.paths:  # as briefly as can be: once "=", or several times "≠"
                for name in {c.variable for c in path}:
                    asked = [c.relation for c in path if c.variable == name]
                    assert asked == ["="] or set(asked) == {"≠"}
                    assert len(asked) < STATES[int(name[1:])]


def test_a_merged_leaf_lists_all_its_paths():
    rng = np.random.default_rng(0)
    a, b = rng.integers(2, size=2000), (rng.random(2000) < 0.7).astype(int)
    X = {"a": a, "b": b, "c": a ^ b ^ (rng.random(2000) < 0.05)}
    known = {"tiers": [["a"], ["b"], ["c"]], "forbidden": [("a", "b")]}
    found = qw.rules(qw.learn("bn", X, cpd="graph", kappa=1.0, **known), "c")
    told = {frozenset(frozenset(map(str, path)) for path in rule.paths) for rule in found}
    equal = frozenset({frozenset({"a = 0", "b = 0"}), frozenset({"a = 1", "b = 1"})})
    differ = frozenset({frozenset({"a = 0", "b = 1"}), frozenset({"a = 1", "b = 0"})})
    assert told == {equal, differ}
    assert all(str(rule).startswith("(") and ") or (" in str(rule) for rule in found)


def test_text():
    always = Rule(((),), {"no": 0.25, "yes": 0.75}, 1234.5)
    assert str(always) == "always → no 0.25, yes 0.75 (1,234.5 cases)"
    many = Rule(((Condition("a", "≠", 1),),), dict(enumerate([0.01] * 10 + [0.45, 0.45])), 10)
    assert str(many).startswith("a ≠ 1 → 0 0.01") and ", ..." in str(many) and "11 0.45" in str(many)


def test_the_rules_of_a_dependency_network_and_of_an_estimator():
    est = qw.DependencyNetwork().fit(qw.sample(qw.textbook("asia"), 2000, seed=0))
    assert [str(rule) for rule in qw.rules(est, "xray")] == [str(rule) for rule in qw.rules(est.model_, "xray")]
    assert sum(rule.cases for rule in qw.rules(est, "xray")) == 2000


def test_what_has_no_rules():
    asia = qw.textbook("asia")
    with pytest.raises(InputError, match="'lung' must be a decision tree or graph. It is of the kind 'table'"):
        qw.rules(asia, "lung")
    with pytest.raises(UnknownVariableError):
        qw.rules(asia, "liver")
    with pytest.raises(InputError, match="Got a HybridField"):
        qw.rules(qw.hrf_from_bn(asia), "lung")
    with pytest.raises(InputError, match="call fit"):
        qw.rules(qw.DependencyNetwork(), "lung")


def test_a_graph_with_too_many_paths_is_refused():
    n = 40  # diamonds one below the other
    variables = tuple(Variable(f"v{v}", (0, 1)) for v in range(n + 1))
    roots = [
        GraphCPD(v, *(np.array([x]) for x in (-1, -1, 0)), np.empty(0, int), np.empty(0), np.zeros(1),
                 np.array([[0.5, 0.5]]), np.ones((1, 2)))
        for v in range(n)
    ]  # fmt: skip
    branches = np.array([b for k in range(n - 1) for b in (k + 1, k + 1)] + [n, n + 1])
    deep = GraphCPD(
        n, np.append(np.arange(n), [-1, -1]), np.append(np.ones(n, int), [-1, -1]), np.append(2 * np.arange(n), [0, 1]),
        branches, np.ones(2 * n), np.zeros(n + 2), np.array([[0.2, 0.8], [0.6, 0.4]]), np.ones((2, 2)),
    )  # fmt: skip
    model = BayesianNet(Encoder(variables), (*roots, deep))
    with pytest.raises(ResourceLimitError, match="decision graph of 'v40' ask .* use to_networkx"):
        qw.rules(model, "v40")
    assert qw.to_networkx(model, "v40").number_of_nodes() == n + 2
    assert [str(rule) for rule in qw.rules(model, "v0")] == ["always → 0 0.50, 1 0.50 (2 cases)"]
