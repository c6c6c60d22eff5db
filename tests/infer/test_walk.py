"""The engines of Gibbs sampling: kept logits and spelled-out conditionals against their definitions."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from infer.markov_networks import codes_of, network, random_features
from infer.networks import small_networks
from naive import boxes as naive
from naive import joint as full_joint
from naive import log_linear
from quiltwork.infer.boxes import boxes_of
from quiltwork.infer.boxes import given as after
from quiltwork.infer.chains import CHAINS, batch_ends, estimate, side_by_side
from quiltwork.infer.conditionals import conditionals
from quiltwork.infer.lookup import _blanket, spelled_out
from quiltwork.infer.walk import along, field_of, look_around, sweep, walker_at

seeds = st.integers(0, 2**32 - 1)
NOBODY, NOTHING = np.empty(0, np.int64), np.empty(0)


@settings(max_examples=60)
@given(seeds)
def test_kept_logits_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    raw = random_features(rng, int(rng.integers(1, 7)), 12)
    boxes, certain = after(boxes_of(network(*raw)), codes_of([None] * len(raw[0])))
    field = field_of(boxes)
    walker = walker_at(field, rng.random(len(raw[0])) * boxes.n_states, rng)
    before = look_around(field, walker)
    gained = sweep(field, walker, np.zeros(boxes.first_state[-1]), 1.0, 3, NOBODY, False, NOTHING)
    expected = np.concatenate([np.array(own, float) for own in naive.gibbs_logits(*raw, walker.state.tolist())])
    assert walker.logit == pytest.approx(expected, abs=1e-9)
    energy = log_linear.energy(*raw[1:], walker.state.tolist())
    assert before + gained + certain == pytest.approx(energy, abs=1e-9)
    assert look_around(field, walker) + certain == pytest.approx(energy, abs=1e-9)


def test_sides_of_several_states_are_kept_too():
    """A box "v0 is 0 or 2, and v1 is 1" of weight 1.5, made of two features and given as one."""
    raw = [3, 2], [[(0, 0), (1, 1)], [(0, 2), (1, 1)]], [1.5, 1.5]
    boxes = boxes_of(network(*raw))._replace(
        weight=np.array([1.5]),
        first_side=np.array([0, 2]),
        variable=np.array([0, 1]),
        first_member=np.array([0, 2, 3]),
        member=np.array([0, 2, 1]),
        first_box=np.array([0, 1]),
        fills=np.array([False]),
    )
    field, rng = field_of(boxes), np.random.default_rng(0)
    walker = walker_at(field, np.array([0, 0]), rng)
    for _ in range(50):
        sweep(field, walker, np.zeros(5), 1.0, 1, NOBODY, False, NOTHING)
        expected = np.concatenate(naive.gibbs_logits(*raw, walker.state.tolist()))
        assert walker.logit == pytest.approx(expected, abs=1e-12)


def test_a_walk_at_the_base_alone_weighs_what_the_base_does():
    """At inverse temperature 0 the states follow the base; one step to 1 weighs exp(energy) / base."""
    rng = np.random.default_rng(0)
    raw = random_features(rng, 4, 8, min_states=2)
    boxes, certain = after(boxes_of(network(*raw)), codes_of([None] * 4))
    field, base = field_of(boxes), np.log(np.full(boxes.first_state[-1], 1.0))
    walker = walker_at(field, np.zeros(4), rng)
    energy = log_linear.energy(*raw[1:], [0] * 4) - certain
    assert along(field, walker, base, np.array([0.0, 1.0]), NOBODY, NOTHING) == pytest.approx(energy)


@settings(max_examples=60)
@given(small_networks())
def test_spelled_out_conditionals_are_those_of_the_full_joint(case):
    model, table, rng = case
    laid_out = conditionals(model)
    lookup = spelled_out(laid_out)
    for v, variable in enumerate(model.variables):
        around = _blanket(laid_out, v)
        assert around == sorted(
            model.variables.index(u) for u in model.variables if u.name in qw.blanket(model, f"v{v}")
        )
        row = [int(rng.integers(u.n_states)) for u in model.variables]
        expected = full_joint.conditional(table, v, row)
        if expected is None or variable.n_states == 1:
            continue
        first, last = lookup.first_term[v], lookup.first_term[v + 1]
        states = np.array(row)[lookup.variable[first:last]]
        at = lookup.first_entry[v] + int((states * lookup.stride[first:last]).sum())
        ends = np.minimum([*lookup.ends[at : at + variable.n_states - 1], 1.0], 1.0)
        assert np.diff([0.0, *ends]) == pytest.approx(expected, abs=1e-12)


def test_variables_without_a_table_are_drawn_from_their_factors(monkeypatch):
    """The same seed gives the same draws either way, but for numbers on the very edge of a state's share."""
    net = qw.textbook("cancer")
    ask = lambda: qw.query(net, ["cancer", "smoker"], method="gibbs", n_samples=800, seed=4).probabilities
    with_tables = ask()
    monkeypatch.setattr("quiltwork.infer.lookup.MAX_ENTRIES", 0)
    without = qw.query(qw.textbook("cancer"), ["cancer", "smoker"], method="gibbs", n_samples=800, seed=4)
    assert without.probabilities == pytest.approx(with_tables, abs=1e-12)


# Chains


def test_effective_samples_and_errors_of_independent_draws():
    """8,000 independent draws of a die: worth about 8,000, and each share within 5 standard errors."""
    rng = np.random.default_rng(0)
    ends = batch_ends(8000, CHAINS)
    sizes = np.diff([0, *ends])
    batches = np.stack([[rng.multinomial(n, [1 / 6] * 6) / n for n in sizes] for _ in range(CHAINS)])
    found = estimate(batches, 8000)
    assert 3000 < found.n_effective < 16000 and found.converged
    assert found.probabilities == pytest.approx([1 / 6] * 6, abs=5 * found.error)


def test_chains_that_lag_are_worth_less():
    """A walk that keeps its state with probability 0.98 has a correlation time of 99 draws."""
    rng = np.random.default_rng(0)
    state, draws = 0, np.empty((CHAINS, 5000))
    for c in range(CHAINS):
        for i in range(5000):
            if rng.random() < 0.02:
                state = int(rng.integers(2))
            draws[c, i] = state
    batches = draws.reshape(CHAINS, 10, 500).mean(axis=2)[:, :, None]
    found = estimate(np.concatenate([batches, 1 - batches], axis=2), draws.size)
    assert 150 < found.n_effective < 1200  # 40,000 / 99 = 404, give or take


def test_an_error_in_one_task_ends_the_others():
    done = []

    def task(i):
        for k in range(200):
            if i == 1 and k == 3:
                raise ValueError("enough")
            time.sleep(0.001)
            done.append(i)
            yield

    with pytest.raises(ValueError, match="enough"):
        side_by_side(task, 2)
    assert len(done) < 203
