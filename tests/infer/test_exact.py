"""Exact answers against the full joint table, other programs' answers, and each other."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from infer.networks import evidence_of, net, random_rows, small_networks
from naive import joint as naive
from quiltwork.errors import (
    DataWarning,
    InputError,
    IntractableError,
    ParameterError,
    ResourceLimitError,
    UnknownStateError,
    UnknownVariableError,
    ZeroEvidenceError,
)
from quiltwork.infer.exact import log_evidence, relevant_families
from quiltwork.infer.marginals import marginals
from quiltwork.infer.query import query
from quiltwork.infer.question import evidence_codes
from quiltwork.infer.tables import compiled
from quiltwork.models.foreign import read_network
from quiltwork.models.textbook import textbook


@settings(max_examples=150)
@given(small_networks())
def test_queries_are_those_of_the_full_joint(case):
    model, table, rng = case
    row = random_rows(rng, model, 1, missing=0.6)[0]
    hidden = [v for v, s in enumerate(row) if s is None]
    if not hidden:
        return
    asked = rng.permutation(hidden)[: rng.integers(1, len(hidden) + 1)].tolist()
    expected = naive.posterior(table, asked, row)
    names = [model.variables[v].name for v in asked]
    if expected is None:
        with pytest.raises(ZeroEvidenceError):
            query(model, names, evidence_of(model, row))
        return
    answer = query(model, names, evidence_of(model, row))
    assert answer.variables == tuple(names)
    assert answer.probabilities == pytest.approx(expected, abs=1e-12)
    assert (answer.method, answer.converged, answer.error) == ("exact", True, 0.0)


@settings(max_examples=150)
@given(small_networks())
def test_marginals_and_log_evidence_are_those_of_the_full_joint(case):
    model, table, rng = case
    row = random_rows(rng, model, 1, missing=0.6)[0]
    evidence = evidence_of(model, row)
    p = naive.probability(table, row)
    assert math.exp(log_evidence(model, evidence)) == pytest.approx(p, abs=1e-13)
    if p == 0:
        with pytest.raises(ZeroEvidenceError):
            marginals(model, evidence)
        return
    for v, (name, found) in enumerate(marginals(model, evidence).items()):
        assert name == model.variables[v].name
        expected = naive.posterior(table, [v], row) if row[v] is None else np.eye(len(found))[row[v]]
        assert found == pytest.approx(expected, abs=1e-12)


def test_asia_by_full_enumeration():
    asia = textbook("asia")
    raw = [
        [v.n_states for v in asia.variables],
        [c.parents for c in asia.cpds],
        [c.probs for c in asia.cpds],
    ]
    table = naive.joint(*raw)
    names = [v.name for v in asia.variables]
    rng = np.random.default_rng(0)
    n_possible = 0
    for row in random_rows(rng, asia, 100, missing=0.6):
        hidden = [v for v, s in enumerate(row) if s is None]
        asked = rng.permutation(hidden)[:3].tolist()
        expected = naive.posterior(table, asked, row) if asked else None
        if expected is not None:
            found = query(asia, [names[v] for v in asked], evidence_of(asia, row))
            assert found.probabilities == pytest.approx(expected, abs=1e-14)
            n_possible += 1
    assert n_possible > 50


def test_alarm_against_stored_answers_of_pyagrum(public_data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # rows such as 0.3333333 x 3 are rescaled, on both sides
        alarm = read_network(public_data / "bif" / "alarm.bif.gz")
    stored = json.loads(Path(__file__).with_name("alarm_pyagrum.json").read_text())["answers"]
    assert len(stored) == 30
    for one in stored:
        answer = query(alarm, one["variables"], one["evidence"])
        assert [list(s) for s in answer.states] == one["states"]
        assert answer.probabilities.ravel() == pytest.approx(one["probabilities"], abs=1e-10)
        assert math.exp(log_evidence(alarm, one["evidence"])) == pytest.approx(one["evidence_probability"], rel=1e-10)
        for name, found in marginals(alarm, one["evidence"]).items():
            assert found == pytest.approx(one["marginals"][name], abs=1e-10)


# Pruning


def test_only_what_matters_is_visited():
    """0 -> 1 -> 2 -> 3, and 4 -> 5 apart: asked 2 given 1, neither 0 nor 3 nor the other part can matter."""
    binary = np.array([[0.3, 0.7]]), np.array([[0.2, 0.8], [0.6, 0.4]])
    chain = net([2] * 6, [[], [0], [1], [2], [], [4]], [binary[0], *[binary[1]] * 3, *binary])
    codes = evidence_codes(chain, {"v1": "s0", "v5": "s1"})
    assert relevant_families(compiled(chain), [2], codes) == [2]


def test_impossible_evidence_is_found_even_apart_from_the_query():
    """v1 copies v0; that they differ is impossible, although v2 does not depend on them."""
    model = net([2, 2, 2], [[], [0], []], [[[0.5, 0.5]], [[1, 0], [0, 1]], [[0.1, 0.9]]])
    with pytest.raises(ZeroEvidenceError, match="v0 = s0, v1 = s1"):
        query(model, ["v2"], {"v0": "s0", "v1": "s1"})
    assert log_evidence(model, {"v0": "s0", "v1": "s1"}) == -np.inf
    assert query(model, ["v2"], {"v1": "s1"})["s1"] == pytest.approx(0.9)  # v0 may be s1, so v1 may


def test_impossible_evidence_is_found_through_variables_that_are_not_observed():
    """v0 is s0 or s1, v1 = (v0 is s1), v2 = (v0 is s2): v1 allows only s1, v2 only s2 of v0; v3 stands apart."""
    is_s1, is_s2 = [[1, 0], [0, 1], [1, 0]], [[1, 0], [1, 0], [0, 1]]
    model = net([3, 2, 2, 2], [[], [0], [0], []], [[[0.4, 0.3, 0.3]], is_s1, is_s2, [[0.1, 0.9]]])
    with pytest.raises(ZeroEvidenceError):
        query(model, ["v3"], {"v1": "s1", "v2": "s1"})
    assert query(model, ["v3"], {"v1": "s0", "v2": "s1"})["s1"] == pytest.approx(0.9)


# Numbers far out of range


def naive_bayes(n_children, likelihood):
    """A class with two states and children that each have P(s1 | class) as given."""
    rows = [[1 - p, p] for p in likelihood]
    return net([2] * (n_children + 1), [[]] + [[0]] * n_children, [[[0.5, 0.5]]] + [rows] * n_children)


def test_five_thousand_rare_observations_do_not_underflow():
    model = naive_bayes(5000, [1e-3, 1.001e-3])
    evidence = {f"v{v}": "s1" for v in range(1, 5001)}
    expected = math.log(0.5) + 5000 * math.log(1e-3) + math.log1p(1.001**5000)
    assert log_evidence(model, evidence) == pytest.approx(expected, rel=1e-10)
    odds = query(model, ["v0"], evidence)
    assert odds["s1"] / odds["s0"] == pytest.approx(1.001**5000, rel=1e-9)
    assert marginals(model, evidence)["v0"] == pytest.approx(odds.probabilities, rel=1e-9)


def test_what_a_float_cannot_hold_on_the_way_can_still_win():
    """Half of the children speak for s0 by 9^950, then half for s1 by 100^950; with scaling alone s1 is lost midway."""
    n = 950
    for_s0, for_s1 = [[0.1, 0.9], [0.9, 0.1]], [[0.001, 0.999], [0.1, 0.9]]
    model = net([2] * (2 * n + 1), [[]] + [[0]] * 2 * n, [[[0.5, 0.5]]] + [for_s0] * n + [for_s1] * n)
    evidence = {f"v{v}": "s1" if v <= n else "s0" for v in range(1, 2 * n + 1)}
    assert n * math.log(9) > 745  # below the smallest float
    assert query(model, ["v0"], evidence)["s1"] == 1.0
    assert marginals(model, evidence)["v0"][1] == 1.0
    assert log_evidence(model, evidence) == pytest.approx(math.log(0.5) + 2 * n * math.log(0.1), rel=1e-12)


# Refusals


def grid(side):
    """side x side binary variables, each with its upper and left neighbour as parents: width about `side`."""
    parents = [sorted(([v - side] if v >= side else []) + ([v - 1] if v % side else [])) for v in range(side * side)]
    rng = np.random.default_rng(0)
    probs = [p / p.sum(1, keepdims=True) for p in (rng.random((2 ** len(own), 2)) for own in parents)]
    return net([2] * (side * side), parents, probs)


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: query(m, ["v3599"], method="exact"),
        lambda m: marginals(m, method="exact"),
        lambda m: log_evidence(m, {"v3599": "s0"}),
    ],
)
def test_a_question_too_wide_is_refused_at_once(ask):
    wide = grid(60)
    compiled(wide)
    with pytest.raises(ResourceLimitError, match=r"over \d+ variables .*MB.*more evidence.*sample"):
        ask(wide)


def test_the_limit_can_be_moved_and_evidence_helps():
    model = grid(12)
    with pytest.raises(ResourceLimitError, match="max_entries"):
        query(model, ["v143"], method="exact", max_entries=1000)
    wall = {f"v{v}": "s0" for v in range(60, 84)}  # two rows observed: what is above them is cut off
    assert query(model, ["v143"], wall, method="exact", max_entries=2000).probabilities.sum() == pytest.approx(1)
    assert query(model, ["v143"], max_entries=1000, n_samples=100).method == "gibbs"
    with pytest.raises(ResourceLimitError):
        query(model, [f"v{v}" for v in range(28)])


def test_forty_query_variables_are_refused_before_they_are_allocated():
    with pytest.raises(ResourceLimitError, match="40 variables"):
        query(net([2] * 40, [[]] * 40, [[[0.5, 0.5]]] * 40), [f"v{v}" for v in range(40)], method="exact")
    with pytest.raises(ResourceLimitError, match="at most 64"):
        query(net([1] * 70, [[]] * 70, [[[1.0]]] * 70), [f"v{v}" for v in range(70)])


@pytest.mark.parametrize(
    ("variables", "evidence", "error", "says"),
    [
        (["lungs"], {}, UnknownVariableError, "lung"),
        (["lung"], {"smoker": "yes"}, UnknownVariableError, "smoke"),
        (["lung"], {"smoke": "maybe"}, UnknownStateError, "'yes', 'no'"),
        (["lung"], {"lung": "yes"}, InputError, "'lung'"),
        (["lung", "lung"], {}, InputError, "once"),
        ([], {}, InputError, "at least one"),
        (["xray"], {"lung": "yes", "either": "no"}, ZeroEvidenceError, "lung = yes, either = no"),
    ],
)
def test_wrong_questions_get_a_clear_error(variables, evidence, error, says):
    with pytest.raises(error, match=says):
        query(textbook("asia"), variables, evidence)


def test_method_and_model_are_checked():
    with pytest.raises(ParameterError, match="method"):
        query(textbook("asia"), ["lung"], method="magic")
    with pytest.raises(InputError, match="fit"):
        query("asia", ["lung"])

    class Other:
        variables = textbook("asia").variables

    with pytest.raises(IntractableError, match="Other.*BayesianNet"):
        query(Other(), ["lung"])


def test_an_estimator_stands_for_its_model_and_a_name_for_a_list():
    class Fitted:
        model_ = textbook("asia")

    assert query(Fitted(), "lung")["yes"] == query(textbook("asia"), ["lung"])["yes"] == pytest.approx(0.055)
