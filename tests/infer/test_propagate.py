"""Belief propagation: exact on trees, equal to its slow twin elsewhere, and honest where it does not settle."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from infer.markov_networks import codes_of, network, random_features, random_polytree, random_tree
from models.test_libra import random_tree as random_tree_cpd
from naive import boxes as naive
from quiltwork.cpds.table import TableCPD
from quiltwork.data.encode import Encoder
from quiltwork.errors import ResourceLimitError, ZeroEvidenceError
from quiltwork.infer import propagate as bp
from quiltwork.infer.boxes import boxes_of
from quiltwork.infer.boxes import given as after
from quiltwork.infer.exact import log_evidence
from quiltwork.infer.marginals import marginals
from quiltwork.infer.propagate import propagate
from quiltwork.infer.scopes import one_factor_per_scope

seeds = st.integers(0, 2**32 - 1)


def beliefs(model, evidence=None):
    row = [None] * len(model.variables)
    for name, state in (evidence or {}).items():
        row[int(name[1:])] = state
    return propagate(after(boxes_of(model), codes_of(row))[0])


@settings(max_examples=40)
@given(seeds, st.integers(2, 12))
def test_trees_of_features_are_exact(seed, n_vars):
    rng = np.random.default_rng(seed)
    model = network(*random_tree(rng, n_vars))
    evidence = {f"v{v}": 0 for v in rng.permutation(n_vars)[: n_vars // 4]}
    found = beliefs(model, evidence)
    assert found.converged and found.possible
    first = boxes_of(model).first_state
    for v, (name, exact) in enumerate(marginals(model, evidence).items()):
        if name not in evidence:
            assert found.marginals[first[v] : first[v + 1]] == pytest.approx(exact, abs=1e-10)
    exact = qw.log_partition(model, evidence)
    assert qw.log_partition(model, evidence, "bp").value == pytest.approx(exact.value, abs=1e-9)


@settings(max_examples=40)
@given(seeds, st.integers(2, 6), st.sampled_from((1.0, 8.0, 60.0)))
def test_features_over_the_same_variables_are_one_factor(seed, width, scale):
    """A chain of scopes, each of which shares one variable with the next, and several features over each of them: the
    factors form a tree."""
    rng = np.random.default_rng(seed)
    n_scopes = 1 if width == 6 else 2
    n_states = rng.integers(2, 4, n_scopes * (width - 1) + 1).tolist()
    features = [[(v, 1)] for v in range(len(n_states))]
    for k in range(n_scopes):
        scope = range(k * (width - 1), (k + 1) * (width - 1) + 1)
        features += [[(v, int(rng.integers(n_states[v]))) for v in scope] for _ in range(int(rng.integers(2, 12)))]
    model = network(n_states, features, rng.normal(size=len(features)) * scale)
    found, exact = beliefs(model), marginals(model)
    assert found.converged
    assert found.marginals == pytest.approx(np.concatenate(list(exact.values())), abs=1e-9)
    expected = qw.log_partition(model).value
    assert qw.log_partition(model, method="bp").value == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_factors_over_many_variables_need_no_table():
    """All of ten on, or all off; and the same of sixty, whose table would have 10^18 entries."""
    for n in (10, 60):
        model = network([2] * n, [[(v, s) for v in range(n)] for s in (0, 1)], [8.0, 8.0])
        answer = qw.query(model, ["v0", "v1"], method="bp")
        same = 2.0 ** (n - 2) + math.expm1(8.0)
        assert answer.converged and answer[0, 0] == pytest.approx(same / (2.0**n + 2 * math.expm1(8.0)), rel=1e-9)


@settings(max_examples=40)
@given(seeds)
def test_the_ways_off_features_fill_the_space(seed):
    """Every state is in one box of each factor, and the boxes that hold weigh what the features do."""
    rng = np.random.default_rng(seed)
    n_states = rng.integers(1, 4, 4).tolist()
    scopes = [[0, 1, 3], [1, 2], [0, 1, 2, 3]]
    features = [[(v, int(rng.integers(n_states[v]))) for v in scopes[int(rng.integers(3))]] for _ in range(12)]
    weights = rng.normal(size=12)
    boxes = one_factor_per_scope(boxes_of(network(n_states, features, weights)))
    for state in itertools.product(*map(range, n_states)):
        held, total = np.zeros(len(boxes.fills), int), 0.0
        for f, b in ((f, b) for f in range(len(held)) for b in range(boxes.first_box[f], boxes.first_box[f + 1])):
            sides = range(boxes.first_side[b], boxes.first_side[b + 1])
            allowed = [boxes.member[boxes.first_member[i] : boxes.first_member[i + 1]].tolist() for i in sides]
            if all(state[v] in some for v, some in zip(boxes.variable[boxes.first_side[b] :], allowed)):
                held[f] += 1
                total += boxes.weight[b]
        assert (held[boxes.fills] == 1).all()
        assert total == pytest.approx(sum(w for f, w in zip(features, weights) if all(state[v] == s for v, s in f)))


@settings(max_examples=40)
@given(seeds, st.integers(2, 9), st.sampled_from((0.0, 0.3)))
def test_polytrees_of_tables_are_exact(seed, n_vars, zeros):
    rng = np.random.default_rng(seed)
    model = random_polytree(rng, n_vars, zeros=zeros)
    evidence = {"v0": "s0"}
    found = qw.query(model, [f"v{n_vars - 1}"], evidence, method="bp")
    assert found.converged and found.error is None
    exact = qw.query(model, [f"v{n_vars - 1}"], evidence)
    assert found.probabilities == pytest.approx(exact.probabilities, abs=1e-10)
    assert qw.log_partition(model, evidence, "bp").value == pytest.approx(log_evidence(model, evidence), abs=1e-9)
    if n_vars > 2:  # one after another
        pair = qw.query(model, [f"v{n_vars - 1}", "v1"], evidence, method="bp")
        exact = qw.query(model, [f"v{n_vars - 1}", "v1"], evidence)
        assert pair.probabilities == pytest.approx(exact.probabilities, abs=1e-10)


@settings(max_examples=30)
@given(seeds)
def test_loops_end_where_written_out_messages_end(seed):
    rng = np.random.default_rng(seed)
    n_states, features, weights = random_features(rng, 6, 9, min_states=2, scale=0.5)
    factors = []
    for scope in sorted({tuple(v for v, _ in f) for f in features if f}):
        table = np.ones([n_states[v] for v in scope])
        for f, w in zip(features, weights):
            if tuple(v for v, _ in f) == scope:
                table *= naive.table_of(n_states, scope, naive.feature(f, w))
        factors.append((scope, table))
    found = beliefs(network(n_states, features, weights))
    expected = np.concatenate(naive.propagate(n_states, factors, 200))
    assert found.converged
    assert found.marginals == pytest.approx(expected, abs=1e-9)


def test_a_long_feature_costs_its_length():
    n = 400
    model = network([2] * n, [[(v, 1) for v in range(n)], *([(v, 1)] for v in range(n))], [3.0] + [0.01] * n)
    found = beliefs(model)
    assert found.converged and found.n_rounds < 10
    assert found.marginals[1] == pytest.approx(1 / (1 + math.exp(-0.01)), abs=1e-9)


def test_weights_of_any_size():
    model = network([2, 2], [[(0, 1)], [(0, 0)], [(0, 1), (1, 1)]], [1000.0, 1001.0, -1e300])
    found = beliefs(model)
    odds = found.marginals[:2]
    assert odds[0] / odds[1] == pytest.approx(2 * math.e, rel=1e-9)  # v1 is free, or must be 0
    assert found.marginals[2:] == pytest.approx(marginals(model)["v1"], abs=1e-9)


def frustrated(n_vars, seed):
    """Every two of the variables want to be equal, or to differ, by strong random weights."""
    rng = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(n_vars), 2))
    features = [[(u, s), (v, s)] for u, v in pairs for s in (0, 1)] + [[(v, 1)] for v in range(n_vars)]
    weights = np.concatenate([np.repeat(rng.normal(size=len(pairs)) * 4, 2), rng.normal(size=n_vars) * 0.2])
    return network([2] * n_vars, features, weights)


def test_messages_that_do_not_settle_are_flagged():
    model = frustrated(6, 0)
    assert not qw.query(model, ["v0"], method="bp").converged
    assert not qw.log_partition(model, method="bp").converged


def test_damping_settles_what_goes_in_circles(monkeypatch):
    model = frustrated(4, 1)
    assert qw.query(model, ["v0"], method="bp").converged
    monkeypatch.setattr(bp, "DAMPING", ((1500, 0.0),))
    assert not qw.query(model, ["v0"], method="bp").converged


def test_evidence_that_is_impossible_is_found_by_messages():
    asia = qw.textbook("asia")
    with pytest.raises(ZeroEvidenceError, match="lung = yes, either = no"):
        qw.query(asia, ["xray"], {"lung": "yes", "either": "no"}, method="bp")
    with pytest.raises(ZeroEvidenceError):
        qw.query(asia, ["lung"], {"tub": "yes", "either": "no"}, method="bp")


def test_too_many_runs_are_refused():
    model = network([2] * 14, [[(0, 1), (1, 1)]], [1.0])
    with pytest.raises(ResourceLimitError, match="8,192 runs"):
        qw.query(model, [f"v{v}" for v in range(14)], method="bp")
    many = network([2] * 10 + [5000], [[(0, 1), (1, 1)]], [1.0])
    with pytest.raises(ResourceLimitError, match="at most 4,096 joint states.*5,120,000; ask for fewer"):
        qw.query(many, [f"v{v}" for v in range(11)], method="bp")
    assert qw.query(many, ["v10"], method="bp").probabilities.shape == (5000,)


@settings(max_examples=30)
@given(seeds, st.integers(2, 8))
def test_a_tree_says_what_its_table_says(seed, n_vars):
    """The same messages, with loops and without, though only the leaves of the tree are visited."""
    rng = np.random.default_rng(seed)
    n_states = rng.integers(2, 4, n_vars).tolist()
    trees = [random_tree_cpd(rng, v, [n if u <= v else 1 for u, n in enumerate(n_states)]) for v in range(n_vars)]
    tables = []
    for v, tree in enumerate(trees):
        row, lines = np.zeros((1, n_vars), np.uint16), []
        for states in np.ndindex(*(n_states[u] for u in tree.parents)):
            row[0, list(tree.parents)] = states
            lines.append(np.exp(tree.log_probs(row)[0]))
        tables.append(TableCPD(v, tree.parents, np.array(lines)))
    encoder = Encoder(tuple(qw.Variable(f"v{v}", tuple(range(n))) for v, n in enumerate(n_states)))
    evidence = {f"v{n_vars - 1}": 0}
    found, expected = (beliefs(qw.BayesianNet(encoder, tuple(cpds)), evidence) for cpds in (trees, tables))
    assert found.converged == expected.converged
    if found.converged:
        assert found.marginals == pytest.approx(expected.marginals, abs=1e-9)
        assert found.log_mass == pytest.approx(expected.log_mass, abs=1e-9)
