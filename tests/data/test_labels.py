"""One column, value by value: kinds that fit together, kinds that do not, and the order of states."""

import datetime
import enum
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import packing
from quiltwork.data.labels import code_numbers, code_objects, in_order, plain_labels, spellings, with_gaps
from quiltwork.errors import DataError


class Colour(enum.StrEnum):
    RED = "red"


def shown(coded):
    """Labels by row, None where missing."""
    return [None if code < 0 else coded.labels[code] for code in coded.codes.tolist()]


@given(st.lists(st.none() | st.text(max_size=3), min_size=1))
def test_text_against_the_slow_way(values):
    if any(x is not None for x in values):
        coded = code_objects("a", values)
        states, places = packing.encode(values)
        assert list(coded.labels) == states
        assert [None if code < 0 else code for code in coded.codes.tolist()] == places


@given(st.lists(st.floats(allow_infinity=False, width=32) | st.integers(-5, 5).map(float), min_size=1))
def test_numbers_against_the_slow_way(values):
    coded = code_numbers("a", np.array(values))
    states, places = packing.encode([None if x != x else x for x in values])
    assert list(coded.labels) == states
    assert [None if code < 0 else code for code in coded.codes.tolist()] == places
    assert all(str(label) != "-0.0" for label in coded.labels)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["b", "a"], ("a", "b")),
        ([Colour.RED, "blue"], ("blue", "red")),
        ([np.str_("b"), "a"], ("a", "b")),
        ([True, False, None], (False, True)),
        ([np.True_, None], (False, True)),
        ([datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)], ("2020-01-01", "2020-01-02")),
        ([pd.Timestamp("2020-01-02"), pd.NaT], ("2020-01-02 00:00:00",)),
        ([Decimal("1.50"), Decimal("NaN")], ("1.50",)),
        ([Fraction(1, 2)], ("1/2",)),
        ([2**70, 3, None], (3, 2**70)),
        ([2**60, 2**60 + 1, None], (2**60, 2**60 + 1)),  # floats would merge these
    ],
)
def test_kinds_that_become_codes(values, labels):
    coded = code_objects("a", values)
    assert coded.labels == labels
    assert all(type(label) in (bool, int, float, str) for label in coded.labels)
    assert [x is None for x in shown(coded)] == [pd.isna(x) for x in values]


@pytest.mark.parametrize("gap", [None, np.nan, float("nan"), pd.NA, np.float32("nan")])
def test_every_kind_of_gap(gap):
    assert shown(code_objects("a", ["x", gap, "y"])) == ["x", None, "y"]
    assert np.array_equal(code_objects("a", [1, gap, 2]), [1, np.nan, 2], equal_nan=True)
    assert np.isnan(code_objects("a", [gap, gap])).all()


def test_numbers_stay_numbers():
    assert code_objects("a", [1, np.int8(2)]).dtype == np.int64
    assert code_objects("a", [1, 2.5]).tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    "values", [["1", 1], ["a", 1.5], [True, 2], [True, "yes"], [datetime.date(2020, 1, 1), "x"], [Decimal(1), 1]]
)
def test_kinds_that_do_not_mix(values):
    random.shuffle(values)
    with pytest.raises(DataError, match="'a' mixes .* and .*convert"):
        code_objects("a", values)


@pytest.mark.parametrize("value", [[1], (1,), {"k": 1}, {1}, b"x", 1j, np.zeros(2), object()])
def test_cells_that_are_no_values(value):
    with pytest.raises(DataError, match="'a' holds values of type"):
        code_objects("a", [value])


def test_infinity_is_named_with_its_row():
    with pytest.raises(DataError, match="'a' holds -inf .*row 2"):
        code_numbers("a", np.array([1.0, np.nan, -np.inf]))


def test_whole_floats_are_integers_only_beside_gaps():
    assert [type(x) for x in code_numbers("a", np.array([1.0, np.nan])).labels] == [int]
    assert [type(x) for x in code_numbers("a", np.array([1.0, 2.0])).labels] == [float, float]
    assert [type(x) for x in code_numbers("a", np.array([1e300, np.nan])).labels] == [float]


def test_integers_with_gaps():
    absent = np.array([False, True, False])
    assert np.array_equal(with_gaps("a", np.array([1, 0, 3]), absent), [1, np.nan, 3], equal_nan=True)
    big = with_gaps("a", np.array([2**53, 0, 2**53 + 1]), absent)
    assert shown(big) == [2**53, None, 2**53 + 1]
    least = with_gaps("a", np.array([-(2**63), 0, 3]), absent)
    assert shown(least) == [-(2**63), None, 3]


def test_sorting_and_forgetting_labels():
    coded = in_order(np.array([2, 0, -1, 2]), ["b", "unused", "a"])
    assert coded.labels == ("a", "b")
    assert shown(coded) == ["a", "b", None, "a"]


def test_declared_categories():
    assert plain_labels("a", ["z", "a"]) == ("z", "a")
    assert plain_labels("a", [np.int64(3), 1]) == (3, 1)
    assert plain_labels("a", [pd.Interval(0, 1)]) == ("(0, 1]",)
    with pytest.raises(DataError, match="mixes number and text"):
        plain_labels("a", [1, "1"])
    with pytest.raises(DataError, match="finite"):
        plain_labels("a", [1.0, np.inf])


@pytest.mark.parametrize("n", [1001, 200_000])
def test_too_many_states(n):
    words = "'id' has (at least 131,072|1,001) distinct values, .*1,000: leave .* bin .*65,534"
    with pytest.raises(DataError, match=words):
        code_objects("id", [f"{i}" for i in range(n)], 1000)
    with pytest.raises(DataError, match=words):
        code_numbers("id", np.arange(n), 1000)


def test_spellings():
    assert spellings(1) == ("1",)
    assert spellings(0.5) == ("0.5",)
    assert spellings(False) == ("False", "false")
