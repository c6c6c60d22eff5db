"""Votes: ids in are ids out, histories in the order of time, a sparse table that the Encoder takes."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.data.encode import fit_encode
from quiltwork.data.votes import is_votes, read_votes
from quiltwork.errors import DataError

ROWS = [("bob", "rum", 2), ("ann", "tea", 5), ("ann", "gin", 3), ("bob", "rum", 1)]


def histories(votes):
    """(user, item[, time]) of every vote, in the order kept."""
    times = [None] * len(votes) if votes.times is None else votes.times.tolist()
    return [(votes.users[u], votes.items[i], t) for u, i, t in zip(votes.user.tolist(), votes.item.tolist(), times)]


def frames(rows):
    columns = dict(zip(("user", "item", "time"), zip(*rows)))
    yield pd.DataFrame(columns)
    yield pl.DataFrame({name: list(values) for name, values in columns.items()})
    yield pa.table({name: list(values) for name, values in columns.items()})
    yield {name: list(columns[name]) for name in reversed(columns)}
    yield rows


def test_every_source_gives_the_same_votes(tmp_path):
    expected = [("ann", "gin", 3), ("ann", "tea", 5), ("bob", "rum", 1), ("bob", "rum", 2)]
    for source in frames(ROWS):
        votes = read_votes(source)
        assert histories(votes) == expected
        assert votes.indptr.tolist() == [0, 2, 4]
    path = tmp_path / "votes.csv"
    path.write_text("item,time,user\n" + "".join(f"{item},{time},{user}\n" for user, item, time in ROWS))
    assert histories(read_votes(path)) == histories(read_votes(str(path))) == expected


def test_without_times_the_order_given_is_kept():
    votes = read_votes([("b", "y"), ("a", "z"), ("b", "x"), ("a", "y")])
    assert histories(votes) == [("a", "z", None), ("a", "y", None), ("b", "y", None), ("b", "x", None)]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=30))
def test_votes_are_grouped_by_user_and_sorted_by_time(rows):
    votes = read_votes(rows)
    assert histories(votes) == sorted(rows, key=lambda row: (row[0], row[2]))
    assert votes.users == tuple(sorted({u for u, _, _ in rows}))
    assert votes.items == tuple(sorted({i for _, i, _ in rows}))
    for u in range(len(votes.users)):
        assert set(votes.user[votes.indptr[u] : votes.indptr[u + 1]].tolist()) == {u}


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(-(2**62), 2**62)), min_size=1, max_size=20))
def test_the_table_has_a_one_for_each_pair_and_keeps_ids(rows):
    votes = read_votes(rows)
    table = votes.table()
    assert table.row_names == votes.users == tuple(sorted({u for u, _ in rows}))
    assert table.names == tuple(str(i) for i in sorted({i for _, i in rows}))
    encoder, data = fit_encode(table)
    assert all(v.states == (0, 1) for v in encoder.variables)
    pairs = {(table.row_names[u], table.names[i]) for u, i in zip(*np.nonzero(data.states()))}
    assert pairs == {(u, str(i)) for u, i in rows}


def test_the_table_of_a_models_items():
    table = read_votes([("ann", "tea"), ("bob", "rum"), ("bob", "ale")]).table(["gin", "tea", "rum"])
    assert table.names == ("gin", "tea", "rum")
    assert fit_encode(table)[1].states().tolist() == [[0, 1, 0], [0, 0, 1]]  # ale is no item of the model


def test_times_may_be_dates_or_text():
    when = [datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 1, 12)]
    for times in (
        when,
        [t.isoformat() for t in when],
        ["2020-01-02", "2020-01-01T13:00:00+01:00"],
        ["2020-01-02", "2020-01-01T12:00Z"],
    ):
        votes = read_votes({"user": [1, 1], "item": ["a", "b"], "time": times})
        assert [votes.items[i] for i in votes.item] == ["b", "a"]
        assert votes.times.tolist() == when[::-1]
    assert read_votes([(1, "a", 0.5), (1, "b", 0.25)]).times.tolist() == [0.25, 0.5]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([("a", "x"), (None, "y")], "'user' has no id in row 1"),
        ([("a", "x"), ("b", None)], "'item' has no id in row 1"),
        ({"user": [1.0, np.nan], "item": [1, 2]}, "'user' has no id in row 1"),
        ({"user": [1.5, 2.5], "item": [1, 2]}, "'user' must hold ids, which are text or integers. Got 1.5"),
        ({"user": [True, False], "item": [1, 2]}, "'user' must hold ids"),
        ([("a", "x", 1), ("b", "y", None)], "'time' has no time in row 1"),
        ([("a", "x", 1.0), ("b", "y", np.inf)], "'time' has no time in row 1"),
        ([("a", "x", "2020-01-01"), ("b", "y", "soon")], "'time' must be .*ISO 8601.* Row 1 has 'soon'"),
        ({"user": ["a"], "thing": ["x"]}, "need a column 'item', .* has 'user', 'thing'"),
        ({"who": ["a"], "item": ["x"]}, "need a column 'user'"),
        ([("a", "x", 1, 2)], "need a column 'user'"),
        ([("a", "x"), ("b",)], "equally long"),
        ([], "0 feature"),
    ],
)
def test_votes_that_cannot_be_read(source, words):
    with pytest.raises(DataError, match=words):
        read_votes(source)


def test_items_that_print_alike():
    votes = read_votes(pd.DataFrame({"user": [1, 2], "item": ["1", "01"]}))
    assert votes.table().names == ("01", "1")


def test_other_columns_are_not_read():
    votes = read_votes({"user": [1], "item": [2], "rating": [5], "time": [7]})
    assert histories(votes) == [(1, 2, 7)]


@pytest.mark.parametrize(
    ("names", "votes"),
    [
        (["user", "item"], True),
        (["time", "item", "user"], True),
        (["user", "item", "rating"], False),
        (["user", "age"], False),
        (["item"], False),
    ],
)
def test_votes_are_known_by_their_header(names, votes):
    columns = {name: [1] for name in names}
    for table in (columns, pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert is_votes(table) is votes
    assert not is_votes(np.zeros((2, 2)))
