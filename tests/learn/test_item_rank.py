"""ItemRank: walks against the paper's iteration, the limit, and items that no walk reaches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from learn.some_votes import random_votes
from naive import rankers as naive
from quiltwork.errors import ParameterError
from quiltwork.infer.rankers import POPULARITY_WEIGHT
from quiltwork.models import item_walk_file


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5, None]), st.sampled_from([0.3, 0.85]))
def test_scores_are_those_of_the_iteration(seed, steps, alpha):
    X, asked = random_votes(seed), random_votes(seed + 1, 3)
    with np.errstate(all="raise"):
        found = qw.item_scores(qw.ItemRank(alpha=alpha, steps=steps).fit(X), asked)
    for user, scores in zip(asked.tolist(), found):
        twin = [naive.item_rank_score(X.tolist(), user, j, alpha, steps or 150) for j in range(7)]
        assert scores == pytest.approx(twin, abs=1e-8)


@pytest.mark.parametrize("steps", [None, 1, 3])
def test_walks_stay_in_the_graph(steps):
    """From an item with links a walk is somewhere; reach and what the walk leaves at home make one."""
    X = random_votes(3, 60)
    reach = qw.ItemRank(steps=steps).fit(X).model_.reach
    together = X.T.astype(float) @ X
    np.fill_diagonal(together, 0)
    step = together / np.maximum(together.sum(axis=1, keepdims=True), 1)
    walk = np.eye(7)
    for _ in range(steps or 400):
        walk = 0.85 * step @ walk + 0.15 * np.eye(7)
    linked = together.any(axis=1)
    assert walk[linked].sum(axis=1) == pytest.approx(1)
    assert (reach + np.diag(np.diag(walk))) == pytest.approx(walk, abs=1e-9)
    assert not np.diag(reach).any()


def test_items_out_of_reach_are_ranked_by_popularity():
    """Tea and milk go together; coal and wood too, but nobody chose both of a pair and of the other."""
    users = {
        "coal": [0, 0, 0, 1, 0, 0],
        "tea": [1, 1, 0, 0, 0, 0],
        "milk": [1, 1, 1, 0, 0, 0],
        "wood": [0, 0, 0, 1, 1, 1],
    }
    for steps in (1, None):
        est = qw.ItemRank(steps=steps).fit(users)
        ranked = qw.recommend(est, ["tea"])
        assert [item for item, _ in ranked] == ["milk", "wood", "coal"]
        assert ranked[1][1] == pytest.approx(POPULARITY_WEIGHT * 3 / 9, rel=1e-9)


@pytest.mark.parametrize(("name", "value"), [("alpha", 0), ("alpha", 1.0), ("steps", 0), ("steps", 1.5)])
def test_parameters(name, value):
    with pytest.raises(ParameterError, match=f"'{name}' parameter of ItemRank"):
        qw.ItemRank(**{name: value}).fit(random_votes(0))


def test_progress():
    calls = []
    qw.ItemRank().fit(random_votes(0), progress=lambda *call: calls.append(call))
    qw.ItemRank(steps=3).fit(random_votes(0), progress=lambda *call: calls.append(call))
    assert calls == [("inverting", 7, 7), ("walking", 2, 3), ("walking", 3, 3)]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [(np.full((7, 7), 0.1), "to itself"), (np.full((7, 7), np.nan), "from 0 to 1"), (np.zeros((7, 6)), "every two")],
)
def test_a_file_that_cannot_be_true_is_refused(value, complaint):
    described, tensors = item_walk_file.pack(qw.ItemRank().fit(random_votes(0)).model_)
    with pytest.raises(ValueError, match=complaint):
        item_walk_file.unpack(described, {**tensors, "reach": value}, {})
