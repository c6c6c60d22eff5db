"""The climbs inside one table, against climbs that count every family from the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import local_climb
from quiltwork.backends.threads import Threads
from quiltwork.learn.hybrid import Locals
from quiltwork.stats.families import Arrays
from tables import dataset, random_table


def learned(columns, n_states, relatives):
    arrays = Arrays.of(dataset(columns, n_states))
    locals_ = Locals.over(arrays, relatives, relatives.shape[1] + 1)
    with Threads(1) as threads:
        locals_.learn(np.arange(len(n_states)), threads, lambda *_: None)
    return locals_


def as_sets(locals_, v):
    nodes = locals_.nodes[v, : locals_.n_nodes[v]].tolist()
    sets = locals_.parents[v].tolist()
    return {node: {nodes[p] for p in range(len(nodes)) if sets[k] >> p & 1} for k, node in enumerate(nodes)}


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([[2] * 5, [2, 3, 2, 4, 2], [2, 17, 3, 2, 2]]))
def test_networks_and_likelihoods_equal_the_slow_twin(seed, n_states):
    columns = random_table(seed, 80, n_states)
    rows = list(zip(*(c.tolist() for c in columns)))
    relatives = np.array([[u for u in range(5) if u != v] for v in range(5)])
    relatives[0, 2:] = -1
    found = learned(columns, n_states, relatives)
    for v in range(5):
        nodes = [v, *sorted(u for u in relatives[v] if u >= 0)]
        twin = local_climb.climb(rows, n_states, nodes, max(n_states))
        assert as_sets(found, v) == twin
        likelihood = local_climb.log_conditional(rows, n_states, twin, v, max(n_states))
        assert found.log_likelihood[v] == pytest.approx(likelihood, rel=1e-9)


def test_a_tie_goes_to_the_arc_that_leaves_the_own_variable():
    a, b = random_table(0, 100, [2, 2])
    found = learned([a, b], [2, 2], np.array([[1], [0]]))
    assert as_sets(found, 0) == {0: set(), 1: {0}}
    assert as_sets(found, 1) == {1: set(), 0: {1}}


def test_patterns_too_many_for_a_table_are_sorted():
    n_states = [20] * 9  # 20^9 patterns
    columns = random_table(1, 300, n_states)
    found = learned(columns, n_states, np.array([[u for u in range(9) if u != v] for v in range(9)]))
    rows = list(zip(*(c.tolist() for c in columns)))
    assert as_sets(found, 4) == local_climb.climb(rows, n_states, [4, 0, 1, 2, 3, 5, 6, 7, 8], 20)
