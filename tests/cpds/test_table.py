import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.cpds.table import TableCPD


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
