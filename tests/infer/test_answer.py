"""The labelled result."""

import dataclasses

import numpy as np
import pytest

from quiltwork.errors import InputError, UnknownStateError
from quiltwork.infer.answer import Answer

TWO = Answer(("rain", "dice"), (("no", "yes"), (1, 2, 10)), np.array([[0.1, 0.2, 0.3], [0.1, 0.1, 0.2]]), "exact")


def test_lookup_by_states():
    assert TWO["yes", 10] == 0.2
    assert TWO["no", "10"] == 0.3  # text stands for the state that prints like it
    with pytest.raises(UnknownStateError, match="dice"):
        TWO["no", 3]
    with pytest.raises(InputError, match="rain, dice"):
        TWO["no"]


def test_to_dict_follows_the_order_of_the_states():
    assert list(TWO.to_dict().items())[2:4] == [(("no", 10), 0.3), (("yes", 1), 0.1)]


def test_str_is_a_table():
    assert str(TWO).splitlines()[0].split() == ["rain", "dice", "probability"]
    assert str(TWO).splitlines()[3] == "no    10       0.300000"
    assert len({len(line) for line in str(TWO).splitlines()}) == 1


def test_an_answer_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TWO.method = "guess"
    with pytest.raises(ValueError, match="read-only"):
        TWO.probabilities[0, 0] = 1.0
