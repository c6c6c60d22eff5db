import numpy as np
import pytest
from hypothesis import given

from naive import counting
from quiltwork.stats import pairs
from tables import dataset, random_table, tables


@given(tables(states=(1, 2, 3, 4, 18)))
def test_pair_statistics_equal_the_slow_twins(table):
    columns, n_states = table
    counted = pairs.count_pairs(dataset(columns, n_states))
    chi, info = pairs.chi_square(counted), pairs.mutual_information(counted)
    for u in range(len(n_states)):
        for v in range(len(n_states)):
            twin = counting.pair_table(columns[u], columns[v], n_states[u], n_states[v])
            assert counted.table(u, v).tolist() == twin
            if u != v:
                assert chi[u, v] == pytest.approx(counting.chi_square(twin), abs=1e-8)
                assert info[u, v] == pytest.approx(counting.mutual_information(twin), abs=1e-12)
    assert (np.diag(chi) == 0).all() and (np.diag(info) == 0).all()


@pytest.mark.parametrize("n_samples", [1, 63, 64, 65, 127, 128, 99_999, 100_001])
@pytest.mark.parametrize("n_vars", [1, 31, 32, 37])
def test_binary_pairs_equal_a_matrix_product(n_samples, n_vars):
    X = np.random.default_rng(n_samples).random((n_samples, n_vars)) < 0.3
    counted = pairs.count_pairs(dataset([X[:, v].astype(np.uint16) for v in range(n_vars)], [2] * n_vars))
    np.testing.assert_array_equal(counted.joint, X.T.astype(np.float64) @ X)


def test_shards_add_up_to_the_whole():
    n_states = [2, 3, 2, 4]
    columns = random_table(5, 500, n_states)
    whole = pairs.count_pairs(dataset(columns, n_states))
    parts = [
        pairs.count_pairs(dataset([c[part] for c in columns], n_states)) for part in (slice(0, 123), slice(123, 500))
    ]
    np.testing.assert_array_equal((parts[0] + parts[1]).joint, whole.joint)
    assert (parts[0] + parts[1]).n_samples == 500
