"""Encoder: states at fit, policies for cells that fit none, weights, and matching of columns later."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.data.columns import columns_of
from quiltwork.data.dataset import NO_CODE, Variable, from_codes
from quiltwork.data.encode import Encoder, check_weights, fit_encode
from quiltwork.errors import DataError, DataWarning, ParameterError, SchemaMismatchError, UnknownStateError


def states(X, **options):
    return [v.states for v in Encoder.fit(X, **options).variables]


# Fitting


def test_fit_and_encode_is_fit_then_encode():
    rng = np.random.default_rng(0)
    table = {
        "small": rng.integers(0, 3, 200),
        "wide": rng.integers(0, 5, 200) * 1000,
        "many": rng.integers(0, 30, 200),
        "text": [f"w{i}" for i in rng.integers(0, 80, 200)],
        "real": rng.integers(0, 4, 200) / 2,
    }
    encoder, data = fit_encode(table)
    assert encoder == Encoder.fit(table)
    assert np.array_equal(encoder.encode(table).states(), data.states())
    assert {name: list(map(str, column)) for name, column in data.to_dict().items()} == {
        name: list(map(str, column)) for name, column in table.items()
    }


def test_a_table_of_items_has_both_states_everywhere():
    X = np.zeros((4, 3), int)
    X[:, 1] = 1
    for table in (X, X.astype(np.uint8), X.astype(float), sp.csr_array(X), pd.DataFrame(X), X.tolist()):
        assert states(table) == [(0, 1)] * 3
        assert all(type(s) is int for pair in states(table) for s in pair)
    assert states({"a": [0, 0], "b": [True, True]}) == [(0, 1), (False, True)]


def test_another_table_has_the_states_that_occur():
    assert states([[0, 2], [0, 1]]) == [(0,), (1, 2)]
    assert states({"a": [0, 0], "b": ["x", "y"]}) == [(0,), ("x", "y")]
    assert states({"a": [-1, 1, -1]}) == [(-1, 1)]


@pytest.mark.parametrize("column", [[7, 7], ["x", "x"], [0.5, 0.5], [10**9, 10**9]])
def test_a_constant_column_is_one_state(column):
    encoder, data = fit_encode({"a": column, "b": ["p", "q"]})
    assert encoder.variables[0].states == (column[0],)
    assert data.labels(0).tolist() == column


def test_one_row_and_one_column():
    assert fit_encode([[5]])[1].labels(0).tolist() == [5]
    assert fit_encode(np.array([["a"]]))[1].labels(0).tolist() == ["a"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"missing": "ignore"}, "'missing' parameter of Encoder must be one of 'error', 'drop', 'state'. Got 'ignore'"),
        ({"unseen": "drop"}, "'unseen' parameter"),
        ({"max_states": 0}, "'max_states' parameter.*from 1 to 65534"),
        ({"max_states": 65_535}, "'max_states' parameter"),
    ],
)
def test_parameters_are_checked(options, words):
    with pytest.raises(ParameterError, match=words):
        Encoder.fit([[1]], **options)


def test_max_states_holds_for_every_kind_of_column():
    for column in (
        list(range(5)),
        [f"{i}" for i in range(5)],
        [i * 1000 for i in range(5)],
        pd.Categorical(list("abcde")),
    ):
        table = pd.DataFrame({"ok": [0] * 5, "c": column})
        assert len(Encoder.fit(table, max_states=5).variables[1].states) == 5
        with pytest.raises(DataError, match="'c' has 5 distinct values, and max_states is 4: leave"):
            Encoder.fit(table, max_states=4)


def test_as_many_states_as_there_can_be():
    column = np.arange(65_534)
    with pytest.warns(DataWarning):
        encoder, data = fit_encode({"id": column}, max_states=65_534)
    assert data.column(0)[-1] == 65_533
    assert np.array_equal(encoder.encode({"id": column[::-1]}).labels(0), column[::-1])


def test_the_state_missing_does_not_count_against_max_states():
    encoder = Encoder.fit({"a": ["x", "y", None]}, missing="state", max_states=2)
    assert encoder.variables[0].states == ("x", "y", "missing")


def test_an_identifier_is_warned_of_once():
    ids = {"id": [f"{i}" for i in range(100)], "key": list(range(100)), "ok": [0, 1] * 50}
    with pytest.warns(DataWarning, match=r"than half of the 100 rows in 2 columns \('id', 'key'\)") as seen:
        Encoder.fit(ids)
    assert len(seen) == 1
    Encoder.fit({"id": [f"{i}" for i in range(40)]})  # in a small table it may be chance


# Missing values


def gaps():
    return {"a": [1, None, 3, 1], "b": ["x", "y", None, "x"], "c": [True, False, True, True]}


def test_missing_is_an_error_that_says_where_and_what_to_do():
    with pytest.raises(DataError, match=r"'a' has a missing value \(NaN, None or null\) in row 1: .*'drop'.*'state'"):
        Encoder.fit(gaps())


def test_missing_rows_are_dropped_with_their_weights_and_their_states():
    encoder, data = fit_encode(gaps(), weights=[1, 2, 3, 4], missing="drop")
    assert [v.states for v in encoder.variables] == [(1,), ("x",), (False, True)]
    assert data.to_dict()["c"].tolist() == [True, True]
    assert data.weights.tolist() == [1, 4]
    assert data.missing is None
    with pytest.warns(DataWarning, match="never seen"):
        later = encoder.encode(gaps())
    assert later.n_samples == 4  # rows are dropped at fit only


def test_dropping_every_row_or_every_weight_is_refused():
    for table, weights in (({"a": [1, None], "b": [None, 2]}, None), ({"a": [1, None]}, [0, 1])):
        with pytest.raises(DataError, match="Every row that counts has a missing value.*'state'"):
            fit_encode(table, weights, missing="drop")
    with pytest.raises(DataError, match="not all be zero"):
        fit_encode({"a": [1, None]}, weights=[0, 0], missing="drop")


def test_rows_of_weight_zero_have_no_states_and_no_missing_values():
    encoder, data = fit_encode({"a": [None, 1, 9, 2], "b": ["x", "y", "z", "x"]}, weights=[0, 2, 0, 1])
    assert [v.states for v in encoder.variables] == [(1, 2), ("x", "y")]
    assert data.n_samples == 2 and data.weights.tolist() == [2, 1]
    with pytest.raises(DataError, match="'a' has a missing value .* in row 3:"):
        fit_encode({"a": [None, 1, 9, None]}, weights=[0, 2, 0, 1])


def test_missing_as_a_state_of_its_own():
    encoder, data = fit_encode(gaps(), missing="state")
    assert [v.states for v in encoder.variables] == [(1, 3, "missing"), ("x", "y", "missing"), (False, True)]
    assert data.labels(0).tolist() == [1, "missing", 3, 1]
    assert data.missing is None
    later = encoder.encode({"a": [None, 3], "b": ["missing", None], "c": [None, True]})
    assert later.states().tolist() == [[2, 2, NO_CODE], [1, 2, 1]]  # c had no missing value at fit


def test_the_text_missing_beside_missing_values():
    with pytest.raises(DataError, match="'a' has missing values and also the text 'missing'"):
        Encoder.fit({"a": ["missing", None, "x"]}, missing="state")
    assert states({"a": ["missing", "x"]}, missing="state") == [("missing", "x")]


@pytest.mark.parametrize("column", [[None, None], [np.nan, np.nan], ["", None][1:] * 2])
@pytest.mark.parametrize("missing", ["error", "drop", "state"])
def test_a_column_without_values(column, missing):
    with pytest.raises(DataError, match="'b' has no values|Every row that counts has a missing value"):
        Encoder.fit({"a": [1, 2], "b": column}, missing=missing)


def test_a_row_without_values():
    _, data = fit_encode([[1, "x"], [None, None], [2, "y"]], missing="state")
    assert data.states().tolist() == [[0, 0], [2, 2], [1, 1]]


def test_missing_in_a_wide_and_in_a_many_valued_column():
    table = {"wide": [1e6, np.nan, 2.5], "many": [*map(str, range(70)), None][-3:], "code": [100, None, 2**40]}
    encoder, data = fit_encode(table, missing="state")
    assert data.labels(0).tolist() == [1e6, "missing", 2.5]
    assert data.labels(1).tolist() == ["68", "69", "missing"]
    assert data.labels(2).tolist() == [100, "missing", 2**40]
    words = [f"w{i}" for i in range(70)]
    plain, _ = fit_encode({"a": words})
    later = plain.encode({"a": [None, "w3"]})
    assert later.column(0).tolist() == [NO_CODE, plain.variables[0].states.index("w3")]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_refused_at_fit_and_later(value):
    X = np.array([[1.0, 2.0], [0.0, value]])
    with pytest.raises(DataError, match="'x1' holds -?inf .*row 1"):
        Encoder.fit(X, missing="state")
    with pytest.raises(DataError, match="'x1' holds -?inf .*row 1"):
        Encoder.fit([[0, 1], [1, 0]]).encode(X)


# Weights


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, -1], "at least 0. Row 1 has -1.0"),
        ([np.nan, 1], "finite.*Row 0 has nan"),
        ([1, np.inf], "finite.*Row 1 has inf"),
        ([0, 0], "not all be zero"),
        ([1e16, 0], "must add up to 9e\\+15 at most.*up to 1e\\+16 instead"),
        ([1e308, 1e308], "must add up to"),
        ([1, 2, 3], "each of the 2 rows. Got shape \\(3,\\)"),
        ([[1, 2]], "Got shape"),
        (1.0, "Got shape"),
        (["a", "b"], "must be numbers"),
    ],
)
def test_weights_that_cannot_be(weights, words):
    with pytest.raises(DataError, match=words):
        fit_encode([[0], [1]], weights)
    with pytest.raises(DataError, match=words):
        Encoder.fit([[0], [1]]).encode([[0], [1]], weights)


def test_weights_are_kept():
    _, data = fit_encode([[0], [1]], [0.5, 2])
    assert data.weights.tolist() == [0.5, 2.0]
    assert data.total == 2.5
    assert check_weights(None, 3) is None


# States never seen at fit


def test_unseen_states_are_missing_with_one_warning():
    encoder = Encoder.fit({"a": ["x", "y"], "b": [0, 1], "c": [1000, 2000], "d": [0.5, 1.5], "e": [True, False]})
    later = {"a": ["z", "x"], "b": [1, 7], "c": [1000, 1500], "d": [0.25, 0.5], "e": [True, False]}
    with pytest.warns(DataWarning, match="never seen.*'a' has 'z'; 'b' has 7; 'c' has 1500, and 1 more") as seen:
        data = encoder.encode(later)
    assert len(seen) == 1
    gap = int(NO_CODE)
    assert data.states().tolist() == [[gap, 1, 0, gap, 1], [0, gap, gap, 0, 0]]
    assert data.labels(0).tolist() == [None, "x"]


def test_unseen_states_may_be_an_error():
    encoder = Encoder.fit({"a": ["x", "y"]}, unseen="error")
    with pytest.raises(UnknownStateError, match="'a' has no state 'z'; its states are 'x', 'y'"):
        encoder.encode({"a": ["x", "z"]})


def test_unused_categories_are_not_unseen():
    encoder = Encoder.fit({"a": ["x", "y"]})
    data = encoder.encode(pd.DataFrame({"a": pd.Categorical(["y", "x"], ["x", "y", "z"])}))
    assert data.column(0).tolist() == [1, 0]
    many = [f"w{i}" for i in range(100)]
    data = encoder.encode(pd.DataFrame({"a": pd.Categorical(["y", "x"], ["x", "y", *many])}))
    assert data.column(0).tolist() == [1, 0]


def test_unseen_in_a_variable_of_many_states():
    encoder = Encoder.fit({"a": np.repeat(np.arange(400), 2) * 3})
    with pytest.warns(DataWarning, match="'a' has 1, 2, 4, ..."):
        data = encoder.encode({"a": [0, 1, 2, 3, 4, 5]})
    assert data.column(0).tolist() == [0, NO_CODE, NO_CODE, 1, NO_CODE, NO_CODE]


def test_numbers_match_by_value_and_text_by_spelling():
    numbers = Encoder.fit({"a": [0, 1, 2]})
    for same in ([2, 0], [2.0, 0.0], np.array([2, 0], np.int8), ["2", "0"]):
        assert numbers.encode({"a": same}).column(0).tolist() == [2, 0]
    text = Encoder((Variable("a", ("0", "1", "2")), Variable("b", ("false", "true")), Variable("c", ("0.5", "2"))))
    data = text.encode({"a": [2, 0], "b": [True, False], "c": [2.0, 0.5]})
    assert data.states().tolist() == [[2, 1, 1], [0, 0, 0]]
    flags = Encoder.fit({"a": [True, False]})
    for same in ([1, 0], ["true", "false"], ["True", "False"]):
        assert flags.encode({"a": same}).column(0).tolist() == [1, 0]


def test_equal_labels_of_two_kinds_are_spelled_each_its_own_way():
    text = Encoder((Variable("a", ("0", "1")), Variable("b", ("0", "1"))))
    with pytest.warns(DataWarning, match="'b' has False, True"):
        data = text.encode({"a": [0, 1], "b": [False, True]})
    assert data.states().tolist() == [[0, NO_CODE], [1, NO_CODE]]
    numbers = Encoder((Variable("a", (0, 1)), Variable("b", (False, True))))
    with pytest.warns(DataWarning, match="'a' has 'true'"):
        data = numbers.encode({"a": ["true"], "b": ["true"]})
    assert data.states().tolist() == [[NO_CODE, 1]]


# Columns


def test_columns_are_matched_by_name():
    encoder = Encoder.fit({"a": ["x", "y"], "b": [1, 2]})
    assert encoder.encode(pd.DataFrame({"b": [2, 1], "a": ["y", "x"]})).states().tolist() == [[1, 1], [0, 0]]


def test_extra_columns_are_ignored_and_lacking_ones_missing():
    encoder = Encoder.fit({"a": ["x", "y"], "b": [1, 2], "c": [0.5, 1.5]})
    with pytest.warns(DataWarning, match="The model does not know column 'z' of the table: ignored"):
        data = encoder.encode({"z": ["?"], "c": [1.5], "a": ["y"], "b": [1]})
    assert data.states().tolist() == [[1, 0, 1]]
    with pytest.warns(DataWarning, match=r"does not have 2 variables \('a', 'c'\) of the model: missing in every row"):
        data = encoder.encode({"b": [2, 1]})
    assert data.states().tolist() == [[NO_CODE, 1, NO_CODE], [NO_CODE, 0, NO_CODE]]


def test_no_column_in_common():
    with pytest.raises(SchemaMismatchError, match="No column .*: the table has column 'b', the model variable 'a'"):
        Encoder.fit({"a": [1, 2]}).encode({"b": [1]})


def test_arrays_are_matched_by_position():
    encoder = Encoder.fit({"a": [0, 1], "b": [5, 6]})
    assert encoder.encode(np.array([[1, 5]])).states().tolist() == [[1, 0]]
    with pytest.raises(SchemaMismatchError, match="X has 3 features, but Encoder is expecting 2 features"):
        encoder.encode(np.zeros((2, 3)))


def test_sparse_tables_with_names_are_matched_too():
    dense = np.eye(4, dtype=int)
    encoder = Encoder.fit(pd.DataFrame(dense, columns=list("abcd")))
    from quiltwork.data.columns import from_sparse

    data = encoder.encode(from_sparse(sp.csr_array(dense[:, ::-1]), "dcba"))
    assert np.array_equal(data.states(), dense)
    with pytest.warns(DataWarning, match="does not have"):
        data = encoder.encode(from_sparse(sp.csr_array(dense[:, :2]), "ab"))
    assert np.array_equal(data.states()[:, :2], dense[:, :2])
    assert (data.states()[:, 2:] == NO_CODE).all()


def test_a_sparse_table_whose_variables_are_not_binary():
    encoder = Encoder.fit(np.array([[0, 1, 2], [1, 1, 0], [0, 1, 1]]))
    with pytest.warns(DataWarning, match="'x1' has 0"):
        data = encoder.encode(sp.csr_array(np.array([[1, 0, 1], [0, 1, 0]])))
    assert data.states().tolist() == [[1, NO_CODE, 1], [0, 0, 0]]


# Datasets and columns as tables


def test_a_dataset_is_a_table():
    encoder, data = fit_encode({"a": ["x", "y", "x"], "b": [1, 2, 3]}, weights=[1, 2, 3])
    again, same = fit_encode(data)
    assert again == encoder
    assert same is data
    assert encoder.encode(data) is data
    assert encoder.encode(data, [1, 1, 2]).weights.tolist() == [1, 1, 2]
    other = Encoder((Variable("b", (3, 2, 1)), Variable("a", ("y", "x"))))
    assert other.encode(data).states().tolist() == [[2, 1], [1, 0], [0, 1]]
    assert other.encode(data).weights.tolist() == [1, 2, 3]
    with pytest.raises(DataError, match="max_states is 2"):
        fit_encode(data, max_states=2)


def test_a_dataset_with_gaps_is_fitted_by_the_policy():
    gap = from_codes(
        [Variable("a", ("x", "y")), Variable("b", (0, 1))], [np.array([0, NO_CODE, 1]), np.array([1, 0, 1])]
    )
    with pytest.raises(DataError, match="'a' has a missing value"):
        fit_encode(gap)
    assert fit_encode(gap, missing="drop")[1].states().tolist() == [[0, 1], [1, 1]]
    encoder, data = fit_encode(gap, missing="state")
    assert encoder.variables[0].states == ("x", "y", "missing")
    assert data.column(0).tolist() == [0, 2, 1]


def test_columns_are_a_table():
    table = columns_of({"a": [1, 2]})
    assert columns_of(table) is table
    assert states(table) == [(1, 2)]


def test_an_encoder_is_a_plain_value():
    encoder = Encoder.fit({"a": [1, 2]})
    assert pickle.loads(pickle.dumps(encoder)) == encoder
    with pytest.raises(AttributeError):
        encoder.missing = "drop"


# Ones by row


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, float, bool])
def test_a_sparse_binary_table_keeps_its_ones(dtype):
    dense = (np.random.default_rng(1).random((300, 40)) < 0.02).astype(dtype)
    for table in (dense, sp.csr_array(dense), sp.csc_matrix(dense), pd.DataFrame(dense)):
        _, data = fit_encode(table)
        assert np.array_equal(data.ones.toarray(), dense)
        assert data.ones.indices.dtype == data.ones.indptr.dtype == np.int32


def test_a_dense_binary_table_and_one_with_gaps_keep_none():
    dense = np.random.default_rng(1).random((300, 40)) < 0.3
    assert fit_encode(dense)[1].ones is None
    assert fit_encode(sp.csr_array(dense))[1].ones is None
    some = np.random.default_rng(1).random((640, 40)) < 0.04  # ones would take more room than the bits
    assert fit_encode(some)[1].ones is None
    assert fit_encode(sp.csr_array(some))[1].ones is not None
    few = (np.random.default_rng(1).random((300, 40)) < 0.02).astype(float)
    encoder = Encoder.fit(few)
    few[0, 0] = np.nan
    assert encoder.encode(few).ones is None


# Any order of rows, any split into pieces


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 63, 64, 65, 200]))
def test_rows_in_another_order_give_the_same_states(seed, n):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(-5, 60, n), rng.integers(0, 2, n), rng.integers(0, 3, n) * 0.5 + 1e6])
    order = rng.permutation(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        (encoder, data), (other, shuffled) = fit_encode(X), fit_encode(X[order])
    assert encoder == other
    assert np.array_equal(data.states()[order], shuffled.states())


def test_long_tables_are_read_in_pieces():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (70_001, 9))
    X[-1] = 5  # only the last row holds it
    for table in (X, X.astype(np.uint8), X.astype(float), pd.DataFrame(X).astype("category"), sp.csr_array(X)):
        encoder, data = fit_encode(table)
        assert encoder.variables[0].states == (0, 1, 2, 3, 5)
        assert all((data.labels(v) == X[:, v]).all() for v in range(9))
