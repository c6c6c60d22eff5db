"""Tables of numbers: the same matrix whatever the table came as, and one clear sentence for what is no number."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from quiltwork.data.dataset import Variable, from_codes
from quiltwork.data.numbers import NumberEncoder, Numbers, fit_numbers
from quiltwork.data.read import read_table
from quiltwork.errors import DataError, DataWarning, ParameterError, ResourceLimitError, SchemaMismatchError

VALUES = np.array([[3.2, 9.0, 1.0], [3.4, 11.0, 0.0], [3.1, 10.0, 1.0]])
COLUMNS = {"pH": [3.2, 3.4, 3.1], "alcohol": [9, 11, 10], "red": [True, False, True]}


TABLES = {
    "array": VALUES,
    "float32": VALUES.astype(np.float32),
    "fortran": np.asfortranarray(VALUES),
    "rows": VALUES.tolist(),
    "sparse": csr_array(VALUES),
    "dict": COLUMNS,
    "dict of arrays": {name: np.array(column) for name, column in COLUMNS.items()},
    "pandas": pd.DataFrame(COLUMNS),
    "pandas of one dtype": pd.DataFrame(VALUES, columns=list(COLUMNS)),
    "nullable pandas": pd.DataFrame(COLUMNS).convert_dtypes(),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "numbers": Numbers(tuple(Variable(name, ()) for name in COLUMNS), VALUES),
}


@pytest.mark.parametrize("kind", TABLES)
def test_the_same_numbers_from_every_kind_of_table(kind):
    table = TABLES[kind]
    encoder, numbers = fit_numbers(table)
    np.testing.assert_allclose(numbers.values, VALUES, rtol=1e-7)
    assert numbers.values.dtype == np.float64 and numbers.total == 3.0
    assert all(variable.states == () for variable in encoder.variables)
    again = encoder.encode(table)
    np.testing.assert_array_equal(again.values, numbers.values)


def test_a_file_with_semicolons(tmp_path):
    path = tmp_path / "wine.csv"
    path.write_text('"pH";"alcohol"\n3.2;9\n3.4;11\n')
    numbers = fit_numbers(read_table(path))[1]
    assert numbers.to_dict().keys() == {"pH", "alcohol"} and numbers.values.tolist() == [[3.2, 9.0], [3.4, 11.0]]


@pytest.mark.parametrize(
    "table",
    [
        {"a": [1.0, None, 3.0], "b": [1, 2, 3]},
        pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [1, 2, 3]}),
        pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "b": [1, 2, 3]}),
        pl.DataFrame({"a": [1.0, None, 3.0], "b": [1, 2, 3]}),
        pa.table({"a": [1.0, None, 3.0], "b": [1, 2, 3]}),
        np.ma.masked_invalid(np.array([[1.0, 1.0], [np.nan, 2.0], [3.0, 3.0]])),
    ],
    ids=lambda table: type(table).__module__.split(".")[0],
)
def test_missing_values_are_the_same_everywhere(table):
    with pytest.raises(DataError, match="Column '(a|x0)' has a missing value .* in row 1: use missing='drop'"):
        fit_numbers(table)
    encoder, numbers = fit_numbers(table, weights=[1.0, 2.0, 3.0], missing="drop")
    assert numbers.values.tolist() == [[1, 1], [3, 3]] and numbers.weights.tolist() == [1.0, 3.0]
    assert np.isnan(encoder.encode(table).values).tolist() == [[False, False], [True, False], [False, False]]


def test_columns_are_matched_by_name():
    encoder = NumberEncoder.fit(COLUMNS)
    with pytest.warns(DataWarning, match="does not know column 'extra'"):
        found = encoder.encode({"extra": [0], "red": [0], "alcohol": [12], "pH": [3.0]})
    assert found.values.tolist() == [[3.0, 12.0, 0.0]]
    with pytest.warns(DataWarning, match="does not have variable 'red'"):
        found = encoder.encode({"alcohol": [12], "pH": [3.0]})
    assert np.isnan(found.values).tolist() == [[False, False, True]]
    with pytest.raises(SchemaMismatchError, match="X has 2 features, but Encoder is expecting 3"):
        encoder.encode(VALUES[:, :2])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["3.1", "n/a", "3.2"], "Column 'a' holds the text 'n/a' in row 1, and here every cell must be a number"),
        (["red", "white", "red"], "holds the text 'red' in row 0"),
        (["3.1", "3.2", None], "holds numbers written as text: convert it"),
        ([Decimal("3.1"), Decimal("3.2"), None], "holds numbers written as text"),
        ([1.0, "x", 2.0], "Column 'a' mixes number and text"),
        ([1.0, np.inf, 2.0], "Column 'a' holds inf in row 1; a number must be 0 or between"),
        ([1.0, 2.0, -np.inf], "holds -inf in row 2"),
        ([1.0, 1e308, 2.0], "holds 1e\\+308 in row 1"),
        ([1.0, 5e-324, 2.0], "holds 4.94066e-324 in row 1"),
        ([None, None, None], "'a' has no values: every cell is missing"),
        ([1j, 2j, 3j], "Complex data not supported"),
    ],
)
def test_what_is_no_number_is_named(column, message):
    with pytest.raises(DataError, match=message):
        fit_numbers({"b": [1, 2, 3], "a": column}, missing="drop")


def test_text_in_a_numeric_column_of_a_file(tmp_path):
    path = tmp_path / "wine.csv"
    path.write_text("pH,alcohol\n3.2,9\n3.4,unknown\n")
    with pytest.raises(DataError, match="Column 'alcohol' holds the text 'unknown' in row 1"):
        fit_numbers(read_table(path))


@pytest.mark.parametrize(
    "column",
    [pd.Categorical([3, 5, 3]), pd.Categorical([3, 5, 3], categories=[5, 3, 7]), np.array([2**63 + 1, 5, 2**63 + 1])],
)
def test_few_numbers_are_numbers(column):
    numbers = fit_numbers(pd.DataFrame({"a": column, "b": [1, 2, 3]}))[1]
    np.testing.assert_array_equal(numbers.values[:, 0], np.asarray(column, float))


def test_states_that_are_numbers_are_numbers_again():
    data = from_codes([Variable("grade", (3, 5, 9))], [np.array([0, 2, 1])])
    assert fit_numbers(data)[1].values.ravel().tolist() == [3, 9, 5]


def test_the_users_matrix_is_not_copied_and_left_alone():
    X = np.random.default_rng(0).normal(size=(5, 3))
    kept = X.copy()
    assert np.shares_memory(fit_numbers(X)[1].values, X)
    np.testing.assert_array_equal(X, kept)


def test_rows_and_variables_can_be_picked():
    numbers = fit_numbers(COLUMNS, weights=[1, 2, 3])[1]
    some = numbers.rows(np.array([True, False, True])).select(["alcohol"])
    assert some.values.tolist() == [[9.0], [10.0]] and some.weights.tolist() == [1, 3] and some.n_vars == 1
    assert numbers.to_pandas().shape == numbers.to_polars().shape == (3, 3)
    assert repr(numbers).startswith("Numbers(3 rows, 3 variables")


@pytest.mark.parametrize(
    ("table", "options", "error"),
    [
        (np.empty((0, 2)), {}, DataError),
        (np.empty((2, 0)), {}, DataError),
        (np.ones((2, 2)), {"weights": [1, -1]}, DataError),
        (np.ones((2, 2)), {"weights": [0, 0]}, DataError),
        (np.ones((2, 2)), {"missing": "state"}, ParameterError),
        (np.array([[np.nan, 1.0], [1.0, np.nan]]), {"missing": "drop"}, DataError),
        (csr_array((40_000_000, 2_000)), {}, ResourceLimitError),
    ],
)
def test_what_cannot_be_used_is_refused(table, options, error):
    with pytest.raises(error):
        fit_numbers(table, **options)
