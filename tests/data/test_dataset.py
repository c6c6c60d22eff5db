"""Dataset: what it shows is what was put in."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.data.dataset import NO_CODE, Variable, empty, from_codes, layout, position
from quiltwork.data.encode import fit_encode
from quiltwork.errors import ResourceLimitError, UnknownStateError, UnknownVariableError
from tables import tables


def made(columns, n_states, weights=None):
    return from_codes([Variable(f"v{v}", tuple(range(r))) for v, r in enumerate(n_states)], columns, weights)


def with_gaps(columns, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    return [np.where(rng.random(len(c)) < share, NO_CODE, c).astype(np.uint16) for c in columns]


@given(tables(), st.booleans())
def test_codes_in_codes_out(table, gaps):
    columns, n_states = table
    columns = with_gaps(columns) if gaps else columns
    data = made(columns, n_states)
    assert np.array_equal(data.states(), np.array(columns).T)
    for v, column in enumerate(columns):
        assert np.array_equal(data.column(v), column)
    assert (data.missing is None) == (not any((c == NO_CODE).any() for c in columns))


@given(tables(), st.booleans(), st.integers(0, 100))
def test_rows_by_position_mask_and_slice(table, gaps, seed):
    columns, n_states = table
    columns = with_gaps(columns) if gaps else columns
    n = len(columns[0])
    rng = np.random.default_rng(seed)
    weights = rng.random(n)
    data = made(columns, n_states, weights)
    for which in (rng.integers(0, n, 2 * n), rng.random(n) < 0.5, slice(n // 3, None), slice(None, None, -1)):
        part = data.rows(which)
        assert np.array_equal(part.states(), data.states()[which])
        assert np.array_equal(part.weights, weights[which])
        assert len(part) == part.n_samples == len(weights[which])
        assert part.total == pytest.approx(weights[which].sum())


@given(tables(), st.booleans())
def test_selecting_variables_by_name_or_column(table, gaps):
    columns, n_states = table
    data = made(with_gaps(columns) if gaps else columns, n_states)
    chosen = list(range(len(columns)))[::-2]
    part = data.select([f"v{v}" for v in chosen])
    assert [v.name for v in part.variables] == [f"v{v}" for v in chosen]
    assert np.array_equal(part.states(), data.states()[:, chosen])
    assert np.array_equal(data.select(chosen).planes, part.planes)


def test_ones_follow_rows_and_variables():
    dense = (np.random.default_rng(0).random((200, 30)) < 0.02).astype(int)
    _, data = fit_encode(dense)
    assert np.array_equal(data.ones.toarray(), dense)
    assert np.array_equal(data.rows(slice(50, 120)).ones.toarray(), dense[50:120])
    assert np.array_equal(data.select([3, 1, 20]).ones.toarray(), dense[:, [3, 1, 20]])


@pytest.mark.parametrize(
    ("states", "dtype"),
    [((0, 1), np.int64), ((0.5, 1.5), np.float64), ((False, True), np.bool_), (("a", "bc"), "<U2")],
)
def test_labels_have_their_own_type(states, dtype):
    data = from_codes([Variable("a", states)], [np.array([1, 0, 1])])
    assert data.labels(0).dtype == dtype
    assert data.labels(0).tolist() == [states[1], states[0], states[1]]


@pytest.mark.parametrize("states", [(1, 2, "missing"), ("a", "a\0"), (-1, 2**63), (1, 2**70)])
def test_labels_that_no_plain_array_holds_stay_objects(states):
    data = from_codes([Variable("a", states)], [np.arange(len(states))])
    assert data.labels(0).tolist() == list(states)
    assert [type(x) for x in data.labels(0).tolist()] == [type(s) for s in states]


def test_a_missing_label_is_none():
    data = from_codes([Variable("a", (0, 1)), Variable("b", ("x", "y"))], [np.array([1, NO_CODE]), np.array([0, 1])])
    assert data.labels(0).tolist() == [1, None]
    assert data.labels(1).dtype == "<U1"  # the gap of one column does not touch another


def test_to_frames():
    _, data = fit_encode({"a": [1, 0, 1], "b": ["x", "y", "x"]})
    assert data.to_pandas().to_dict("list") == {"a": [1, 0, 1], "b": ["x", "y", "x"]}
    assert data.to_polars().to_dict(as_series=False) == {"a": [1, 0, 1], "b": ["x", "y", "x"]}


def test_layout():
    variables = [Variable(str(r), tuple(range(r))) for r in (2, 1, 17, 16, 40)]
    first_plane, code_row = layout(variables)
    assert first_plane.tolist() == [0, 1, 1, 1, 16, 16]
    assert code_row.tolist() == [-1, -1, 0, -1, 1]


def test_a_million_rows_by_a_thousand_binary_columns_take_one_bit_each():
    data = empty(tuple(Variable(f"x{v}", (0, 1)) for v in range(1000)), 10**6)
    assert data.nbytes <= 126_000_000


def test_more_than_the_memory_is_refused_before_it_is_taken():
    with pytest.raises(ResourceLimitError, match="GB.*sample"):
        empty(tuple(Variable(f"x{v}", (0, 1)) for v in range(1000)), 10**14)


def test_variables_are_found_by_name_column_and_state():
    variables = (Variable("a", (0, 1)), Variable("b", ("no", "yes")))
    assert position("b", variables) == position(1, variables) == 1
    assert variables[0].index("1") == variables[0].index(np.int64(1)) == 1
    with pytest.raises(UnknownVariableError, match="'c'"):
        position("c", variables)
    with pytest.raises(UnknownStateError, match="'maybe'.*'no', 'yes'"):
        variables[1].index("maybe")
    with pytest.raises(UnknownStateError, match="'pH' has no state 1000"):  # beyond the range of a float
        Variable("pH", ("(-inf, 3.1]", "(3.1, inf)"), edges=(3.1,)).index(10**400)
    assert pickle.loads(pickle.dumps(variables)) == variables
