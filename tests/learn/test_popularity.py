"""Popularity: counts, ties, and the doors of the network without arcs that it is."""

import math

import numpy as np
import pytest

import quiltwork as qw
from learn.some_votes import random_votes


def test_scores_are_smoothed_log_odds_of_the_counts():
    X = random_votes(0, 65)
    counts = X.sum(axis=0).tolist()
    scores = qw.item_scores(qw.Popularity().fit(X), X[:3])
    for own in scores:
        assert own == pytest.approx([math.log((n + 1) / (65 - n + 1)) for n in counts], abs=1e-12)
    assert len(np.unique(scores[0])) == len(set(counts))  # equal counts tie exactly


def test_it_is_the_bayesian_network_without_arcs():
    X = random_votes(1)
    model = qw.learn("popularity", X)
    assert (model.kind, model.arcs, model.n_parameters) == ("bn", [], 7)
    share = qw.marginals(model)["x2"][1]
    assert share == pytest.approx((X[:, 2].sum() + 1) / 42)
    assert qw.predict_proba(model, X, "x2")[:, 1] == pytest.approx(np.full(40, share))
    p = (X.sum(axis=0) + 1.0) / 42
    assert qw.log_likelihood(model, X) == pytest.approx((X * np.log(p) + (1 - X) * np.log(1 - p)).sum(axis=1))
    assert qw.Popularity().fit(X).score(X) == pytest.approx(qw.log_likelihood(model, X).mean())
