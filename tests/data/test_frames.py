"""pandas, polars and Arrow: equal results from each, for every kind of column."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.data.columns import columns_of
from quiltwork.data.encode import Encoder, fit_encode
from quiltwork.errors import DataError


def as_arrow_stream(table):
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    return Stream()


LIBRARIES = {
    "dict": lambda columns: columns,
    "pandas": pd.DataFrame,
    "pandas objects": lambda columns: pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in columns.items()}),
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "polars chunks": lambda columns: pl.concat([pl.DataFrame(columns)[:2], pl.DataFrame(columns)[2:]], rechunk=False),
    "arrow": pa.table,
    "arrow chunks": lambda columns: pa.concat_tables([pa.table(columns)[:2], pa.table(columns)[2:]]),
    "arrow stream": lambda columns: as_arrow_stream(pa.table(columns)),
    "rows": None,
}

COLUMNS = {
    "whole": [3, 1, 3, 60, 1],
    "wide": [2001, -40, 2001, 7, 2001],
    "real": [0.5, 1.0, 0.5, -2.25, 1.0],
    "text": ["b", "a", "é", "b", ""],
    "flag": [True, True, False, True, True],
    "day": [datetime.date(2020, 1, d) for d in (2, 1, 2, 3, 1)],
}

GAPS = {
    "whole": [3, None, 3, 60, 1],
    "wide": [2001, -40, None, 7, 2001],
    "real": [0.5, 1.0, 0.5, None, 1.0],
    "text": ["b", "a", "é", "b", None],
    "flag": [True, None, False, True, True],
    "day": [datetime.date(2020, 1, 2), None, None, None, datetime.date(2020, 1, 1)],
}


def make(library, columns):
    return list(zip(*columns.values())) if library == "rows" else LIBRARIES[library](columns)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("missing", ["state", "drop"])
@pytest.mark.parametrize("columns", [COLUMNS, GAPS], ids=["whole", "gaps"])
def test_every_library_gives_the_same_states_and_codes(library, missing, columns):
    encoder, data = fit_encode(make(library, columns), missing=missing)
    expected, expected_data = fit_encode(columns, missing=missing)
    assert [v.states for v in encoder.variables] == [v.states for v in expected.variables]
    assert [[type(s) for s in v.states] for v in encoder.variables] == [
        [type(s) for s in v.states] for v in expected.variables
    ]
    assert np.array_equal(data.states(), expected_data.states())


def test_what_those_states_are():
    assert {v.name: v.states for v in Encoder.fit(COLUMNS).variables} == {
        "whole": (1, 3, 60),
        "wide": (-40, 7, 2001),
        "real": (-2.25, 0.5, 1.0),
        "text": ("", "a", "b", "é"),
        "flag": (False, True),
        "day": ("2020-01-01", "2020-01-02", "2020-01-03"),
    }


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "rows"])
def test_gaps_are_refused_with_column_and_row(library):
    for name, values in GAPS.items():
        with pytest.raises(DataError, match=f"'{name}' has a missing value .*row {values.index(None)}:.*drop.*state"):
            fit_encode(make(library, {name: values, "other": [1, 2, 3, 4, 5]}))


cells = st.one_of(
    st.lists(st.text(max_size=4), min_size=5, max_size=5),
    st.lists(st.integers(-100, 100), min_size=5, max_size=5),
    st.lists(st.booleans(), min_size=5, max_size=5),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=5, max_size=5),
)


@given(st.lists(cells, min_size=1, max_size=4), st.sampled_from(list(LIBRARIES)))
def test_labels_in_are_labels_out(columns, library):
    if all(set(c) <= {0, 1} for c in columns):
        return  # a table of items: its numbers are 0 and 1 whatever their type
    table = {f"c{c}": values for c, values in enumerate(columns)}
    _, data = fit_encode(make(library, table))
    assert [list(values) for values in data.to_dict().values()] == columns


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "rows"])
def test_times_and_decimals_become_their_text(library):
    table = {
        "at": [datetime.datetime(2020, 1, 1, 12, 30), datetime.datetime(2019, 1, 1)],
        "cost": [Decimal("1.5"), Decimal("0.5")],
    }
    assert [v.states for v in Encoder.fit(make(library, table)).variables] == [
        ("2019-01-01 00:00:00", "2020-01-01 12:30:00"),
        ("0.5", "1.5"),
    ]


def test_declared_categories_keep_their_order_and_their_unused():
    values, declared = ["low", "high", None], ["low", "mid", "high"]
    tables = [
        pd.DataFrame({"a": pd.Categorical(values, declared)}),
        pd.DataFrame({"a": pd.Categorical(values, declared, ordered=True)}),
        pl.DataFrame({"a": pl.Series(values, dtype=pl.Enum(declared))}),
        pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0, 2, None]), pa.array(declared), ordered=True)}),
        {"a": pd.Series(pd.Categorical(values, declared))},
        {"a": pl.Series(values, dtype=pl.Enum(declared))},
    ]
    for table in tables:
        encoder, data = fit_encode(table, missing="state")
        assert encoder.variables[0].states == ("low", "mid", "high", "missing")
        assert data.states().ravel().tolist() == [0, 2, 3]


def test_categories_nobody_declared_are_text():
    tables = [
        pl.DataFrame({"a": pl.Series(["z", "b", "z"], dtype=pl.Categorical)}),
        pa.table({"a": pa.array(["z", "b", "z"]).dictionary_encode()}),
        pa.table(
            {"a": pa.chunked_array([pa.array(["z"]).dictionary_encode(), pa.array(["b", "z"]).dictionary_encode()])}
        ),
    ]
    for table in tables:
        encoder, data = fit_encode(table)
        assert encoder.variables[0].states == ("b", "z")
        assert data.states().ravel().tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("categories", "states"), [([3, 1], (3, 1)), ([0.5, 0.25], (0.5, 0.25)), ([True, False], (True, False))]
)
def test_categories_that_are_not_text(categories, states):
    table = pd.DataFrame({"a": pd.Categorical(categories, categories)})
    assert Encoder.fit(table).variables[0].states == states


def test_many_categories():
    words = [f"w{i:03}" for i in range(300)]
    for n in (50, 56, 57, 300):
        values = [words[i * 7 % n] for i in range(2 * n)]
        for table in (
            pd.DataFrame({"a": pd.Categorical(values)}),
            pl.DataFrame({"a": values}),
            pa.table({"a": values}),
        ):
            assert fit_encode(table)[1].labels(0).tolist() == values


def test_categories_of_two_kinds():
    with pytest.raises(DataError, match="'a' mixes number and text"):
        Encoder.fit(pd.DataFrame({"a": pd.Categorical(["1", 1])}))


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"a": [[1], [2]]}),
        pl.DataFrame({"a": [{"b": 1}, {"b": 2}]}),
        pl.DataFrame({"a": [b"x", b"y"]}),
        pa.table({"a": [[1], [2]]}),
    ],
)
def test_nested_columns(table):
    with pytest.raises(DataError, match="'a' holds values of type"):
        Encoder.fit(table)


def test_integers_that_floats_would_merge():
    big = [2**60, 2**60 + 1, None]
    for table in (pl.DataFrame({"a": big}), pa.table({"a": big}), pd.DataFrame({"a": pd.array(big, "Int64")})):
        assert fit_encode(table, missing="drop")[1].labels(0).tolist() == big[:2]
    assert Encoder.fit(pl.DataFrame({"a": pl.Series([2**100, 1], dtype=pl.Int128)})).variables[0].states == (1, 2**100)


@pytest.mark.parametrize("names", [["a", "a"], [1, "1"]])
def test_names_that_occur_twice(names):
    with pytest.raises(DataError, match="must be unique.*'(a|1)'"):
        columns_of(pd.DataFrame([[1, 2]], columns=names))
    with pytest.raises(DataError, match="must be unique.*'a'"):
        columns_of(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))


def test_names_that_are_not_text():
    assert columns_of(pd.DataFrame([[1, 2]])).names == ("0", "1")
    assert columns_of(pd.DataFrame([[1, "x"]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))).names == (
        "('a', 1)",
        "('a', 2)",
    )


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pd.DataFrame(), "0 feature"),
        (pd.DataFrame({"a": []}), "0 sample"),
        (pl.DataFrame(), "0 feature"),
        (pl.DataFrame({"a": []}), "0 sample"),
        (pa.table({"a": pa.array([], pa.string())}), "0 sample"),
        (pl.DataFrame({"a": [1]}).lazy(), "LazyFrame.*collected"),
    ],
)
def test_frames_that_are_no_tables(table, words):
    with pytest.raises(DataError, match=words):
        columns_of(table)


def test_a_column_of_nothing():
    for table in (
        pd.DataFrame({"a": [1, 2], "b": [None, None]}),
        pd.DataFrame({"a": [1, 2], "b": [np.nan, np.nan]}),
        pl.DataFrame({"a": [1, 2], "b": [None, None]}),
        pa.table({"a": [1, 2], "b": pa.nulls(2)}),
        pd.DataFrame({"a": [1, 2], "b": pd.Categorical([None, None], ["x"])}),
        pl.DataFrame({"a": [1, 2], "b": pl.Series([None, None], dtype=pl.String)}),
    ):
        with pytest.raises(DataError, match="'b' has no values"):
            Encoder.fit(table, missing="state")


def test_a_million_ids_are_refused_at_once():
    ids = [f"id{i}" for i in range(200_000)]
    for table in (pd.DataFrame({"id": ids}), pl.DataFrame({"id": ids}), pa.table({"id": ids})):
        with pytest.raises(DataError, match="'id' has at least 131,072 distinct values"):
            Encoder.fit(table)
    with pytest.raises(DataError, match="'id' has 200,000 distinct values"):
        Encoder.fit(pd.DataFrame({"id": pd.Categorical(ids)}))


def test_a_frame_is_not_changed():
    for table in (pd.DataFrame(GAPS), pd.DataFrame(COLUMNS), pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 4.0]})):
        before = table.copy(deep=True)
        fit_encode(table, missing="drop")
        pd.testing.assert_frame_equal(table, before)
