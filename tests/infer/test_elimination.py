"""Plans: orders, sizes, and the same answer whatever the order and the arithmetic."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infer.networks import net, random_tables, small_networks
from naive.joint import elimination_order
from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ResourceLimitError
from quiltwork.infer import elimination
from quiltwork.infer.elimination import all_marginals, joint, joint_rows, least_width, make_plan, min_fill_order
from quiltwork.infer.tables import compiled


def nothing_known(model):
    return np.full(len(model.variables), NO_CODE, np.uint16)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.floats(0.05, 0.4))
def test_min_fill_is_that_of_counting_afresh(seed, n_vars, density):
    rng = np.random.default_rng(seed)
    scopes = [np.flatnonzero(rng.random(n_vars) < density).tolist() for _ in range(n_vars)]
    kept = rng.permutation(n_vars)[:2].tolist()
    kept = [v for v in kept if any(v in scope for scope in scopes)]
    assert min_fill_order([1] * n_vars, scopes, kept) == elimination_order(n_vars, scopes, kept)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.floats(0.2, 0.9))
def test_no_order_is_narrower_than_the_least_width(seed, n_vars, density):
    """The width of every order, by eliminating in it."""
    rng = np.random.default_rng(seed)
    edges = [[u, v] for u, v in itertools.combinations(range(n_vars), 2) if rng.random() < density]
    widths = []
    for order in itertools.permutations(range(n_vars)):
        near = {v: {w for edge in edges if v in edge for w in edge} - {v} for v in range(n_vars)}
        width = 0
        for v in order:
            around = near.pop(v)
            width = max(width, len(around))
            for u in around:
                near[u] = (near[u] | around) - {u, v}
        widths.append(width)
    assert least_width(edges, 100) <= min(widths)


def test_many_variables_that_hang_together_are_refused_before_an_order_is_looked_for(monkeypatch):
    """Each of 2,000 variables is tied to four others: no few of them know each other well, and no order is narrow."""
    rng = np.random.default_rng(0)
    edges = [sorted({v, int(u)}) for v in range(2000) for u in rng.integers(0, 2000, 4) if u != v]
    monkeypatch.setattr(elimination, "_connect", None)
    with pytest.raises(ResourceLimitError, match="over 28 variables or more"):
        min_fill_order([2] * 2000, edges)


def test_ties_go_to_the_lowest_column():
    assert min_fill_order([2] * 5, [[4, 3], [3, 2], [2, 1], [1, 0], [0, 4]]) == [0, 1, 2, 3, 4]


@settings(max_examples=40)
@given(small_networks())
def test_any_order_gives_the_same_table(case):
    model, table, rng = case
    compiled_net, n = compiled(model), len(model.variables)
    kept = rng.permutation(n)[: rng.integers(0, n + 1)].tolist()
    others = [v for v in range(n) if v not in kept]
    expected = table.sum(axis=tuple(others)).transpose(np.argsort(np.argsort(kept)))
    for order in itertools.islice(itertools.permutations(others), 24):
        plan = make_plan(compiled_net, range(n), range(n), kept, order=order)
        found, log_scale = joint(plan, nothing_known(model))
        assert found * math.exp(log_scale) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60)
@given(small_networks())
def test_one_plan_serves_any_evidence_in_either_arithmetic(case):
    """A plan made for all variables free, on rows in which some are known; logarithms agree with probabilities."""
    model, table, rng = case
    n = len(model.variables)
    rows = np.array([[rng.integers(r) if rng.random() < 0.5 else NO_CODE for r in table.shape] for _ in range(4)])
    rows = rows.astype(np.uint16)
    plan = make_plan(compiled(model), range(n), range(n))
    by_logs = joint_rows(plan, rows)[:, 0]
    for row, log_p in zip(rows, by_logs):
        cells = tuple(slice(None) if s == NO_CODE else s for s in row)
        expected = table[cells].sum()
        assert math.exp(log_p) == pytest.approx(expected, abs=1e-13)
        found, log_scale = joint(plan, row)
        assert found * math.exp(log_scale) == pytest.approx(expected, abs=1e-13)


@settings(max_examples=40)
@given(small_networks())
def test_marginals_in_either_arithmetic(case):
    model, table, _ = case
    n = len(model.variables)
    plan = make_plan(compiled(model), range(n), range(n), both_ways=True)
    by_probability, _ = all_marginals(plan, nothing_known(model))
    original = elimination._climb_up

    def always_lost(plan, codes, work, log_domain):
        return original(plan, codes, work, log_domain) if log_domain else (0.0, True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "_climb_up", always_lost)
        by_logs, _ = all_marginals(plan, nothing_known(model))
        assert by_logs == pytest.approx(by_probability, abs=1e-12)


def test_work_is_cut_into_stretches_and_stays_the_same(monkeypatch):
    model = net(*random_tables(np.random.default_rng(1), 30, density=0.15, max_states=3, max_parents=3))
    whole = make_plan(compiled(model), range(30), range(30), both_ways=True)
    monkeypatch.setattr(elimination, "STRETCH", 50)
    cut = make_plan(compiled(model), range(30), range(30), both_ways=True)
    assert len(whole.stretches) == 1 and len(cut.stretches) > 5
    a, b = all_marginals(whole, nothing_known(model)), all_marginals(cut, nothing_known(model))
    assert np.array_equal(a[0], b[0]) and a[1] == pytest.approx(0, abs=1e-12)


def test_a_plan_knows_its_width_and_room():
    """A chain of three-state variables: tables of two variables, and one message at a time beside them."""
    rng = np.random.default_rng(0)
    step = rng.random((3, 3))
    step /= step.sum(axis=1, keepdims=True)
    chain = net([3] * 50, [[]] + [[v] for v in range(49)], [step[:1]] + [step] * 49)
    plan = make_plan(compiled(chain), range(50), range(50), [49])
    assert plan.width == 2
    assert plan.n_entries <= 9 + 3 + 3
    make_plan(compiled(chain), range(50), range(50), max_entries=plan.n_entries)
    with pytest.raises(ResourceLimitError, match="2 variables"):
        make_plan(compiled(chain), range(50), range(50), max_entries=8)


def test_a_size_beyond_a_float_is_refused_like_any_other():
    with pytest.raises(ResourceLimitError, match="1200 variables"):
        min_fill_order([2] * 1200, [range(1200)])


def test_many_constants_and_single_states_need_no_room():
    single = net([1] * 100, [[]] + [list(range(v)) for v in range(1, 100)], [[[1.0]]] * 100)
    plan = make_plan(compiled(single), range(100), range(100), both_ways=True)
    assert plan.width == 100  # more axes than a NumPy array could have
    assert np.array_equal(all_marginals(plan, nothing_known(single))[0], np.ones(100))
