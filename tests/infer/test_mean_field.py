"""Mean field: its bound is below log Z always, is what its definition says, and is tight where variables are apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from infer.markov_networks import codes_of, network, random_features
from naive import boxes as naive
from quiltwork.errors import IntractableError, ResourceLimitError
from quiltwork.infer.boxes import boxes_of
from quiltwork.infer.boxes import given as after
from quiltwork.infer.mean_field import mean_field

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=60)
@given(seeds, st.integers(1, 6), st.sampled_from((0.5, 2.0, 8.0)))
def test_the_bound_is_below_log_z_and_as_defined(seed, n_vars, scale):
    rng = np.random.default_rng(seed)
    n_states, features, weights = random_features(rng, n_vars, 10, scale=scale)
    model = network(n_states, features, weights)
    found = qw.log_partition(model, method="mf")
    assert found.value == found.lower and found.error is None and found.converged
    assert found.value <= naive.log_z(n_states, features, weights) + 1e-9
    boxes, _ = after(boxes_of(model), codes_of([None] * n_vars))
    q = np.split(mean_field(boxes).marginals, np.cumsum(n_states)[:-1])
    assert found.value == pytest.approx(naive.mean_field_bound(n_states, features, weights, q), abs=1e-9)


def test_variables_apart_are_exact():
    model = network([2, 3], [[(0, 1)], [(1, 2)]], [0.7, -1.3])
    assert qw.log_partition(model, method="mf").value == pytest.approx(qw.log_partition(model).value, abs=1e-9)
    for name in ("v0", "v1"):
        found = qw.query(model, [name], method="mf")
        assert found.probabilities == pytest.approx(qw.query(model, [name]).probabilities, abs=1e-9)
    both = qw.query(model, ["v1", "v0"], method="mf")
    assert both.probabilities == pytest.approx(qw.query(model, ["v1", "v0"]).probabilities, abs=1e-9)
    assert both.converged and both.error is None


def test_a_saddle_is_left():
    """Two variables that agree: the flat start is where nothing pulls, and the bound is log 4 + 2 there."""
    model = network([2, 2], [[(0, 0), (1, 0)], [(0, 1), (1, 1)]], [4.0, 4.0])
    assert qw.log_partition(model, method="mf").value > 3.9


def test_zeros_are_refused():
    with pytest.raises(IntractableError, match="every joint state is possible.*'bp' or 'mcsat'"):
        qw.query(qw.textbook("asia"), ["lung"], method="mf")


def test_a_table_of_too_many_joint_states_is_refused():
    model = network([2] * 30, [[(0, 1), (1, 1)]], [1.0])
    with pytest.raises(ResourceLimitError, match="at most 4,096 joint states.*1,073,741,824; ask for fewer"):
        qw.query(model, [f"v{v}" for v in range(30)], method="mf")
    many = network([5000, 2], [[(0, 1), (1, 1)]], [1.0])
    assert qw.query(many, ["v0"], method="mf").probabilities.shape == (5000,)
