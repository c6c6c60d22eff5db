"""Naive Bayes as a ranker, against Eq 10 taken literally."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from learn.some_votes import random_votes
from naive import rankers as naive
from quiltwork.data.dataset import NO_CODE, from_codes
from quiltwork.models import naive_bayes_file


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 40, 65]))
def test_scores_are_those_of_equation_10(seed, n_users):
    X = random_votes(seed, n_users)
    asked = random_votes(seed + 1, 4)
    with np.errstate(all="raise"):
        found = qw.item_scores(qw.NaiveBayes().fit(X), asked)
    for user, scores in zip(asked.tolist(), found):
        assert scores == pytest.approx([naive.naive_bayes_score(X.tolist(), user, j) for j in range(7)], abs=1e-10)


def test_missing_values_are_summed_out():
    X, asked = random_votes(1), random_votes(2, 4)
    est = qw.NaiveBayes().fit(X)
    codes = asked.astype(np.uint16)
    codes[1, 2] = codes[1, 5] = codes[3, 0] = NO_CODE
    found = qw.item_scores(est, from_codes(est.model_.variables, list(codes.T)))
    for user, scores in zip(codes.tolist(), found):
        known = [None if value == NO_CODE else value for value in user]
        assert scores == pytest.approx([naive.naive_bayes_score(X.tolist(), known, j) for j in range(7)], abs=1e-10)


def test_probabilities_by_hand():
    """Two of three users chose tea; one of these also milk."""
    model = qw.NaiveBayes().fit({"tea": [1, 1, 0], "milk": [1, 0, 0]}).model_
    assert model.given[1, 0] == pytest.approx(1.5 / 3)  # P(milk | tea)
    assert model.given[0, 1] == pytest.approx(1.5 / 2)  # P(tea | milk)
    ((item, score),) = qw.recommend(model, ["tea"])
    assert (item, score) == ("milk", pytest.approx(math.log(2 / 5) + math.log(0.75)))
    assert repr(model) == "NaiveBayesItems(2 items)"


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("given", np.full((7, 7), 1.0), "between 0 and 1"),
        ("given", np.full((7, 7), np.nan), "between 0 and 1"),
        ("given", np.full((6, 7), 0.5), "every two items"),
        ("state_counts", np.zeros(13), "do not fit"),
        ("state_counts", np.full(14, -1.0), "at least 0"),
        ("state_counts", np.full(14, np.inf), "finite"),
    ],
)
def test_a_file_that_cannot_be_true_is_refused(name, value, complaint):
    described, tensors = naive_bayes_file.pack(qw.NaiveBayes().fit(random_votes(0)).model_)
    with pytest.raises(ValueError, match=complaint):
        naive_bayes_file.unpack(described, {**tensors, name: value}, {})
    described.states[0] = [0, 1, 2]
    with pytest.raises(ValueError, match="two states"):
        naive_bayes_file.unpack(described, tensors, {})
