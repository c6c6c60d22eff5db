"""Parameters: what each kind accepts, reads and says; the constructor that a list of them makes."""

from fractions import Fraction

import numpy as np
import pytest

from quiltwork.errors import ParameterError
from quiltwork.params import Choice, Flag, Integer, Nothing, Param, Real, Thing, signature


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Nothing(), [None], [0, False, "None"]),
        (Integer(), [0, -3, np.int64(2)], [1.0, True, "1", None]),
        (Integer(1, 3), [1, 3], [0, 4]),
        (
            Real(),
            [0, 1.5, -2, 10**300, np.float64(3), np.float32(0.1)],
            [float("nan"), float("inf"), -np.inf, 10**400, True, "1"],
        ),
        (Real(0.0, 1e9), [0, 0.5, 1, np.float16(0.1), Fraction(1, 3)], [-0.1, 2e9]),
        (Real(0.0, 1.0), [0, 0.5, 1], [-0.1, 1.1]),
        (Real(0.0, above_low=True), [1e-9], [0.0, -1]),
        (Flag(), [True, False], [0, 1, "true"]),
        (Choice(("a", "b")), ["a"], ["c", 1, None]),
        (Thing("anything"), [{}, "x"], []),
    ],
    ids=str,
)
def test_what_a_kind_holds(kind, good, bad):
    assert all(kind.holds(value) for value in good)
    assert not any(kind.holds(value) for value in bad)


@pytest.mark.parametrize(
    ("kinds", "text", "value"),
    [
        ((Nothing(), Integer(0)), "none", None),
        ((Nothing(), Integer(0)), "7", 7),
        ((Real(0.0),), "1e-3", 0.001),
        ((Flag(),), "Yes", True),
        ((Flag(),), "0", False),
        ((Choice(("a", "b")),), "b", "b"),
        ((Nothing(), Thing("a list", lambda text: text.split("+"))), "x+y", ["x", "y"]),
    ],
)
def test_reading_a_word(kinds, text, value):
    assert Param("p", None, kinds, "doc").parse("Owner", text) == value


@pytest.mark.parametrize("text", ["-1", "1.5", "many", ""])
def test_a_word_that_cannot_be_read(text):
    with pytest.raises(
        ParameterError, match=r"The 'p' parameter of Owner must be None or an integer of at least 0\. Got"
    ):
        Param("p", None, (Nothing(), Integer(0)), "doc").parse("Owner", text)


def test_a_kind_may_say_it_better():
    def read(text):
        raise ParameterError("An arc must be written parent->child.")

    with pytest.raises(ParameterError, match="parent->child"):
        Param("p", None, (Nothing(), Thing("arcs", read)), "doc").parse("Owner", "a-b")


def test_ranges_are_spelled_out():
    kinds = (Integer(1, 3), Real(None, 2.0), Real(0.0, 1.0, above_low=True))
    assert Param("p", 1, kinds, "").must_be() == (
        "an integer from 1 to 3 or a number of at most 2.0 or a number above 0 and at most 1"
    )


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        ((Nothing(), Integer(0)), "None or an integer of at least 0"),
        ((Real(0.0, 1.0, above_low=True), Choice(("auto",))), "a number above 0 and at most 1, or 'auto'"),
        ((Choice(("a", "b")), Nothing()), "one of 'a', 'b', or None"),
        ((Choice(("auto",)), Real(0.0, above_low=True)), "'auto' or a number above 0"),
    ],
)
def test_kinds_in_a_row_are_read_without_stumbling(kinds, told):
    assert Param("p", None, kinds, "").must_be() == told


def test_the_signature_is_by_keyword_with_the_defaults():
    made = signature([Param("a", 1, (Integer(),), ""), Param("b", None, (Nothing(),), "")])
    assert str(made) == "(self, *, a=1, b=None)"
