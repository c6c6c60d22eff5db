import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from naive.trees import smoothed_pair, worth
from quiltwork.data.encode import fit_encode
from quiltwork.stats import information
from quiltwork.stats.families import Arrays
from quiltwork.stats.information import information_rows
from tables import dataset, random_table, tables


def run(task, n):
    for i in range(n):
        task(i)


def matrix(data, smoothing=0.0):
    """All rows of worths."""
    row = information_rows(data, smoothing, run)
    out = np.full((data.n_vars, data.n_vars), np.nan)
    for v in range(data.n_vars):
        row(v, out[v])
    return out


def expected(columns, n_states, smoothing=0.0, weights=None):
    n = len(columns)
    out = np.zeros((n, n))
    for u in range(n):
        for v in range(n):
            if u != v and len(set(columns[u])) > 1 and len(set(columns[v])) > 1:
                pair = smoothed_pair(columns[u], columns[v], n_states[u], n_states[v], smoothing, weights)
                out[u, v] = worth(pair)
    return out


smoothings = st.sampled_from([0.0, 0.04, 1.0, 4.0, 100.0])


@settings(max_examples=60)
@given(tables(states=(1, 2, 3, 5, 17, 20)), smoothings, st.booleans())
def test_worths_are_rows_times_mutual_information(table, smoothing, weighted):
    columns, n_states = table
    weights = np.random.default_rng(0).random(len(columns[0])) + 0.5 if weighted else None
    found = matrix(dataset(columns, n_states, weights), smoothing)
    np.testing.assert_allclose(found, expected(columns, n_states, smoothing, weights), atol=1e-8)


@settings(max_examples=60)
@given(tables(max_vars=8, states=(1, 2), sizes=(1, 2, 63, 64, 65, 127, 128, 300)), smoothings)
def test_binary_columns_have_a_way_of_their_own(table, smoothing):
    columns, n_states = table
    np.testing.assert_allclose(
        matrix(dataset(columns, n_states), smoothing), expected(columns, n_states, smoothing), atol=1e-8
    )


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_sparse_tables_give_the_same_bits(smoothing):
    rng = np.random.default_rng(0)
    X = rng.random((300, 40)) < rng.random(40) * 0.08
    X[:, 3] = False
    sparse, dense = fit_encode(csr_array(X))[1], fit_encode(X)[1]
    assert sparse.ones is not None
    sweep = dataset(list(X.T.astype(np.uint16)), [2] * 40)
    assert sweep.ones is None
    for data in (sparse, dense):
        np.testing.assert_array_equal(matrix(data, smoothing), matrix(sweep, smoothing))


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_hold_few_states_are_visited(weighted, monkeypatch):
    rng = np.random.default_rng(0)
    n_states = [1, 2, 3, 20, 5] * 4
    columns = [np.where(rng.random(300) < 0.04, rng.integers(0, r, 300), 0).astype(np.uint16) for r in n_states]
    weights = rng.random(300) + 0.5 if weighted else None
    data = dataset(columns, n_states, weights)
    assert information._list_by_row(Arrays.of(data)) is not None
    visited = matrix(data, 1.0)
    np.testing.assert_allclose(visited, expected(columns, n_states, 1.0, weights), atol=1e-8)
    monkeypatch.setattr(information, "_list_by_row", lambda arrays: None)
    np.testing.assert_allclose(visited, matrix(data, 1.0), rtol=0, atol=1e-9 if weighted else 0)


def test_a_long_sweep_is_shared_and_gives_the_same_bits(monkeypatch):
    columns = random_table(0, 200, [2] * 30)
    mixed = random_table(1, 200, [2, 3, 20] * 7)
    before = [matrix(dataset(columns, [2] * 30), 1.0), matrix(dataset(mixed, [2, 3, 20] * 7), 1.0)]
    monkeypatch.setattr(information, "_SHARED_ENTRIES", 1)
    np.testing.assert_array_equal(matrix(dataset(columns, [2] * 30), 1.0), before[0])
    np.testing.assert_array_equal(matrix(dataset(mixed, [2, 3, 20] * 7), 1.0), before[1])


@given(st.integers(0, 10**6), smoothings)
def test_pairs_whose_tables_hold_the_same_numbers_tie_exactly(seed, smoothing):
    """Renaming states, swapping the two variables, and permuting rows move no bit."""
    rng = np.random.default_rng(seed)
    a, b, t = random_table(seed, 150, [2, 2, 3])
    rows = rng.permutation(150)
    columns = [a, b, 1 - a, 1 - b, a[rows], b[rows], t, (t + 1) % 3]
    worths = matrix(dataset(columns, [2, 2, 2, 2, 2, 2, 3, 3]), smoothing)
    same = [worths[0, 1], worths[1, 0], worths[0, 3], worths[2, 1], worths[2, 3], worths[3, 2], worths[4, 5]]
    assert len(set(same)) == 1
    assert len({worths[0, 6], worths[0, 7], worths[2, 7], worths[6, 0], worths[7, 2]}) == 1
    np.testing.assert_array_equal(worths, worths.T)


def test_constants_are_worth_nothing_even_when_smoothed():
    a, b = random_table(0, 90, [2, 2])
    worths = matrix(dataset([a, np.zeros_like(a), b, np.ones_like(a)], [2, 2, 2, 2]), 4.0)
    assert not worths[1].any() and not worths[:, 1].any() and not worths[3].any()
    assert worths[0, 2] > 1
