import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.cpds.table import TableCPD


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 10**6), st.floats(0.1, 50.0))
def test_all_families_at_once_equal_one_by_one(n_states, seed, equivalent):
    rng = np.random.default_rng(seed)
    parents = [tuple(u for u in range(v) if rng.random() < 0.5) for v in range(len(n_states))]
    shapes = [(int(np.prod([n_states[p] for p in own], dtype=int)), r) for own, r in zip(parents, n_states)]
    tables = [rng.integers(0, 9, shape).astype(float) for shape in shapes]
    starts = np.concatenate([[0], np.cumsum([t.size for t in tables])])
    flat = np.concatenate([t.ravel() for t in tables])
    together = TableCPD.of_families(parents, np.array(n_states), flat, starts, equivalent)
    for v, cpd in enumerate(together):
        alone = TableCPD.from_counts(v, parents[v], tables[v], equivalent)
        np.testing.assert_allclose(cpd.probs, alone.probs, atol=1e-14)
        assert (cpd.child, cpd.parents) == (v, parents[v])


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6), st.floats(0.0, 50.0))
def test_rows_sum_to_one_and_follow_the_formula(n_configs, n_states, seed, equivalent):
    counts = np.random.default_rng(seed).integers(0, 20, (n_configs, n_states)).astype(float)
    probs = TableCPD.from_counts(0, (), counts, equivalent).probs
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-12)
    for j in range(n_configs):
        for k in range(n_states):
            bottom = counts[j].sum() + equivalent / n_configs
            expected = (counts[j, k] + equivalent / (n_states * n_configs)) / bottom if bottom > 0 else 1 / n_states
            assert abs(probs[j, k] - expected) < 1e-12
