import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from naive import counting
from quiltwork.stats import relatives
from quiltwork.stats.families import Arrays
from quiltwork.stats.relatives import chi_square_relatives
from tables import dataset, random_table, tables


def run(task, n):
    for i in range(n):
        task(i)


@given(tables(states=(1, 2, 3, 4, 18)), st.integers(1, 4))
def test_relatives_are_the_variables_with_the_highest_chi_square(table, k):
    columns, n_states = table
    found = chi_square_relatives(Arrays.of(dataset(columns, n_states)), k, run)
    for v in range(len(n_states)):
        chi = {
            u: counting.chi_square(counting.pair_table(columns[v], columns[u], n_states[v], n_states[u]))
            for u in range(len(n_states))
            if u != v
        }
        own = [u for u in found[v] if u >= 0]
        assert len(own) == min(k, sum(c > 1e-9 for c in chi.values()))
        assert [round(chi[u], 6) for u in own] == sorted((round(c, 6) for c in chi.values()), reverse=True)[: len(own)]


def test_ties_go_to_the_lower_column_and_constants_are_nobodys_relatives():
    a, b = random_table(0, 90, [2, 2])
    columns = [a, np.zeros_like(a), b, a, a]
    found = chi_square_relatives(Arrays.of(dataset(columns, [2, 2, 2, 2, 2])), 2, run)
    assert found[0].tolist() == [3, 4] and found[4].tolist() == [0, 3]
    assert found[1].tolist() == [-1, -1] and not (found == 1).any()


def test_variables_of_many_states_are_counted_a_few_at_a_time(monkeypatch):
    n_states = [2, 30, 3, 17, 2, 5, 30]
    arrays = Arrays.of(dataset(random_table(4, 300, n_states), n_states))
    together = chi_square_relatives(arrays, 4, run)
    counted, count_candidates = [], relatives.count_candidates

    def recorded(*args):
        found = count_candidates(*args)
        counted.append((found[-1].nbytes, args[-1] - args[-2]))
        return found

    monkeypatch.setattr(relatives, "count_candidates", recorded)
    monkeypatch.setattr(relatives, "COUNT_BYTES", 2000)
    np.testing.assert_array_equal(chi_square_relatives(arrays, 4, run), together)
    assert all(n_bytes <= 2000 or n_vars == 1 for n_bytes, n_vars in counted)
    assert any(n_vars > 1 for _, n_vars in counted)


def test_only_those_allowed():
    columns = random_table(3, 200, [2] * 4)
    found = chi_square_relatives(Arrays.of(dataset(columns, [2] * 4)), 2, run, np.array([True, False, False, True]))
    assert set(found[:, 0].tolist()) <= {0, 3, -1} and (found[:, 1] < 1).any()
