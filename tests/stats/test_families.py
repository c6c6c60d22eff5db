import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.counting import family_counts
from quiltwork.errors import ResourceLimitError
from quiltwork.stats.families import Arrays, count_candidates, count_families, count_family
from tables import dataset, random_table, tables


def candidates(arrays: Arrays, child: int, parents: tuple[int, ...], low: int, high: int):
    return count_candidates(
        *arrays.swept(),
        child, np.array(parents, np.int64), low, high,
    )  # fmt: skip


def check_candidates(columns, n_states, arrays, child, parents, weights=None):
    """Every candidate's counts, against the family with the candidate as one more parent."""
    n_vars = len(n_states)
    for low, high in ((0, n_vars), (1, n_vars)):
        config, state, count, joint = candidates(arrays, child, parents, low, high)
        assert (np.diff(config * n_states[child] + state) > 0).all()
        assert count.sum() == pytest.approx(len(columns[0]) if weights is None else weights.sum())
        for u in range(low, high):
            if u == child or u in parents:
                continue
            twin = family_counts(columns, n_states, child, (*parents, u), weights)
            start = arrays.first_column[u] - arrays.first_column[low]
            for c in range(len(config)):
                j = np.unravel_index(config[c], [n_states[p] for p in parents]) if parents else ()
                for s in range(1, n_states[u]):
                    assert joint[c, start + s - 1] == pytest.approx(twin[(*map(int, j), s)][state[c]], abs=1e-9)


@given(tables(), st.data())
def test_family_counts_equal_the_slow_twin(table, data):
    columns, n_states = table
    child = data.draw(st.integers(0, len(n_states) - 1))
    parents = tuple(sorted(data.draw(st.sets(st.integers(0, len(n_states) - 1), max_size=3)) - {child}))
    counts = count_family(Arrays.of(dataset(columns, n_states)), child, parents)
    assert counts.tolist() == list(family_counts(columns, n_states, child, parents).values())


@given(tables(), st.data())
def test_all_families_at_once_equal_one_by_one(table, data):
    columns, n_states = table
    arrays = Arrays.of(dataset(columns, n_states))
    parents = [tuple(sorted(data.draw(st.sets(st.integers(0, v), max_size=2)) - {v})) for v in range(len(n_states))]
    first = np.concatenate([[0], np.cumsum([len(p) for p in parents])])
    counts, starts = count_families(arrays, first, np.array([u for p in parents for u in p], np.int64))
    for v, own in enumerate(parents):
        assert counts[starts[v] : starts[v + 1]].tolist() == count_family(arrays, v, own).ravel().tolist()


@given(tables(max_vars=5), st.data())
def test_candidate_counts_equal_the_slow_twin(table, data):
    columns, n_states = table
    child = data.draw(st.integers(0, len(n_states) - 1))
    parents = tuple(sorted(data.draw(st.sets(st.integers(0, len(n_states) - 1), max_size=2)) - {child}))
    check_candidates(columns, n_states, Arrays.of(dataset(columns, n_states)), child, parents)


@pytest.mark.parametrize("n_samples", [5, 64, 4096, 4161])  # across the planes up to 64 words, along them beyond
@pytest.mark.parametrize("n_states", [[2] * 9, [2, 3, 4, 2, 3]])
def test_both_sweeps_and_the_visit_of_rows_agree(n_samples, n_states):
    columns = random_table(1, n_samples, n_states)
    arrays = Arrays.of(dataset(columns, n_states))
    for parents in ((), (0,), (0, 2), (0, 1, 2, 3)):
        check_candidates(columns, n_states, arrays, 4, parents)


def test_weights_are_summed():
    n_states = [2, 3, 2, 17]
    columns = random_table(3, 200, n_states)
    weights = np.random.default_rng(0).random(200)
    arrays = Arrays.of(dataset(columns, n_states, weights))
    check_candidates(columns, n_states, arrays, 1, (0,), weights)
    twin = list(family_counts(columns, n_states, 1, (0, 2), weights).values())
    np.testing.assert_allclose(count_family(arrays, 1, (0, 2)), twin)


def test_doubled_rows_count_like_weights_of_two():
    n_states = [2, 3, 2]
    columns = random_table(4, 100, n_states)
    doubled = [np.concatenate([c, c]) for c in columns]
    twice = Arrays.of(dataset(doubled, n_states))
    weighted = Arrays.of(dataset(columns, n_states, np.full(100, 2.0)))
    np.testing.assert_array_equal(count_family(twice, 2, (0, 1)), count_family(weighted, 2, (0, 1)))


def test_a_table_too_large_is_refused_before_it_is_made():
    n_states = [200] * 5
    with pytest.raises(ResourceLimitError, match="max_parents"):
        count_family(Arrays.of(dataset(random_table(0, 50, n_states), n_states)), 0, (1, 2, 3, 4))
