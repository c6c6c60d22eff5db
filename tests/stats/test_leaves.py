import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork.stats.leaves as leaves
from quiltwork.data.bits import full_plane
from quiltwork.stats.leaves import count_leaf, count_root, leaf_arrays
from tables import dataset, random_table, tables


def slow_counts(columns, n_states, target, rows, weights):
    """(states of the target, entries + 1) by looking at every row."""
    r, entries = n_states[target], [(v, s) for v in range(len(n_states)) for s in range(1, n_states[v])]
    out = {}
    for c in range(r):
        here = rows & ((columns[target] == c) if c else np.ones(len(rows), bool))
        out[c] = ({e: weights[here & (columns[e[0]] == e[1])].sum() for e in entries}, weights[here].sum())
    return out


@settings(max_examples=60)
@given(tables(max_vars=5), st.sampled_from(["plain", "weights", "no lists", "weights, no lists"]), st.integers(0, 99))
def test_counts_of_a_leaf(table, way, seed):
    columns, n_states = table
    rng = np.random.default_rng(seed)
    n = len(columns[0])
    weights = rng.integers(1, 4, n).astype(float) if "weights" in way else None
    before = leaves.MAX_LISTED
    leaves.MAX_LISTED = -1 if "no lists" in way else before
    try:
        arrays = leaves._lay_out(dataset(columns, n_states, weights))
    finally:
        leaves.MAX_LISTED = before
    rows = rng.random(n) < 0.5
    mask = np.zeros_like(full_plane(n))
    for i in np.flatnonzero(rows):
        mask[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    weights = np.ones(n) if weights is None else weights
    for target in range(len(n_states)):
        found = np.zeros((n_states[target], arrays.n_entries + 1))
        count_leaf(arrays, mask, target, found)
        for where, counts in ((rows, found), (np.ones(n, bool), count_root(arrays, target))):
            for c, (expected, total) in slow_counts(columns, n_states, target, where, weights).items():
                assert counts[c, -1] == total
                for (v, s), count in expected.items():
                    assert counts[c, arrays.first_entry[v] + s - 1] == count


def test_a_table_that_repeats_itself_is_collapsed():
    columns = random_table(0, 20_000, [2, 2, 2])
    arrays = leaf_arrays(dataset(columns, [2, 2, 2]))
    assert arrays.n_samples == 8 and arrays.weights.sum() == 20_000
    columns = random_table(0, 2000, [2] * 40)
    assert leaf_arrays(dataset(columns, [2] * 40)).n_samples == 2000


@pytest.mark.parametrize("n", [0, 1, 64])
def test_few_rows(n):
    arrays = leaf_arrays(dataset([np.zeros(n, np.uint16)] * 2, [2, 2]))
    assert arrays.totals[-1] == n
