"""Recommendation: scores against the full joint table, orders, histories, and what is left out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infer.networks import dataset, net, random_rows, random_tables
from naive import joint as naive
from quiltwork.errors import DataWarning, InputError, ParameterError, UnknownVariableError
from quiltwork.infer.marginals import marginals
from quiltwork.rank import recommend as room
from quiltwork.rank.recommend import item_scores, recommend


def binary_net(seed, n_vars=6, zeros=0.0):
    raw = random_tables(np.random.default_rng(seed), n_vars, min_states=2, max_states=2, zeros=zeros)
    return net(*raw), naive.joint(*raw)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_scores_are_log_odds_of_the_full_joint_and_never_read_the_item(seed):
    model, table = binary_net(seed)
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, model, 5, missing=rng.choice([0.0, 0.3]))
    with np.errstate(all="raise"):
        scores = item_scores(model, dataset(model, rows))
    for i, row in enumerate(rows):
        for v in range(6):
            p = naive.conditional(table, v, row)
            assert scores[i, v] == pytest.approx(math.log(p[1] / p[0]), abs=1e-11)
    flipped = [[None if s is None else 1 - s if v == 2 else s for v, s in enumerate(row)] for row in rows]
    assert np.array_equal(item_scores(model, dataset(model, flipped))[:, 2], scores[:, 2])


def test_scores_of_certain_and_of_impossible_items():
    copy = [[1.0, 0.0], [0.0, 1.0]]
    model = net([2, 2, 2], [[], [0], [1]], [[[0.5, 0.5]], copy, copy])
    with np.errstate(all="raise"):
        scores = item_scores(model, dataset(model, [[0, 0, 0], [1, 1, 1], [0, 1, 1]]))
    assert scores.tolist() == [[-np.inf] * 3, [np.inf] * 3, [np.inf, 0, np.inf]]


def test_items_must_be_binary_or_named():
    model = net([2, 3, 2], [[], [0], [1]], [[[0.5, 0.5]], np.full((2, 3), 1 / 3), [[0.1, 0.9], [0.5, 0.5], [0.9, 0.1]]])
    rows = dataset(model, [[0, 0, 1], [1, 2, 1]])
    with pytest.raises(InputError, match="'v1' has 3.*items="):
        item_scores(model, rows)
    found = item_scores(model, rows, items=["v2", "v0"])
    assert found[:, 0] == pytest.approx([math.log(9), -math.log(9)])
    assert found[:, 1] == pytest.approx([0, 0])
    with pytest.raises(UnknownVariableError):
        item_scores(model, rows, items=["v9"])
    # Of a user known by items alone, v1 is unknown and summed out
    (best,) = recommend(model, ["v0"], items=["v2", "v0"])
    assert best[1] == pytest.approx(math.log((0.9 + 0.5 + 0.1) / (0.1 + 0.5 + 0.9)))


# Recommending


def test_one_user_and_a_table_of_users_agree():
    model, _ = binary_net(1)
    rows = [[1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 1, 0, 0, 0]]
    tables = recommend(model, dataset(model, rows), n=3)
    for row, found in zip(rows, tables):
        history = [f"v{v}" for v, s in enumerate(row) if s]
        assert recommend(model, history, n=3) == found
        assert not {item for item, _ in found} & set(history)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert tables[2] == []
    scores = item_scores(model, dataset(model, rows))
    assert dict(recommend(model, ["v0", "v3"], n=9)) == {f"v{v}": scores[0, v] for v in (1, 2, 4, 5)}


def test_seen_items_on_request():
    model, _ = binary_net(1)
    assert {item for item, _ in recommend(model, ["v0", "v3"], n=6, seen=True)} == {f"v{v}" for v in range(6)}


def test_an_empty_history_ranks_by_popularity(monkeypatch):
    model, table = binary_net(2)
    shares = {f"v{v}": naive.posterior(table, [v], [None] * 6)[1] for v in range(6)}
    found = recommend(model, [])
    assert [item for item, _ in found] == sorted(shares, key=shares.get, reverse=True)
    assert [score for _, score in found] == pytest.approx([math.log(shares[i] / (1 - shares[i])) for i, _ in found])
    # Too wide for exact marginals: counted in a sample, to five standard errors
    again, _ = binary_net(2)
    monkeypatch.setattr(room, "POPULARITY_ENTRIES", 1)
    for item, score in recommend(again, []):
        p = shares[item]
        assert 1 / (1 + math.exp(-score)) == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / 20_000))
    assert marginals(model)["v0"][1] == pytest.approx(shares["v0"])


def test_unknown_items_are_named_in_one_warning():
    model, _ = binary_net(3)
    with pytest.warns(DataWarning, match=r"2 item\(s\).*'bread', 'salt'") as caught:
        found = recommend(model, ["salt", "v1", "bread", "salt"])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert found == recommend(model, ["v1"])
    with pytest.warns(DataWarning):
        assert recommend(model, ["salt"]) == recommend(model, [])


def test_ties_go_to_the_lower_column():
    """A hundred items, for small arrays are sorted stably by any method."""
    model = net([2] * 100, [[]] * 100, [[[0.5, 0.5]]] * 99 + [[[0.2, 0.8]]])
    assert [item for item, _ in recommend(model, ["v1"], n=100)] == ["v99", "v0"] + [f"v{v}" for v in range(2, 99)]


@pytest.mark.parametrize("kind", [list, tuple, set, np.array, "pandas", "polars"])
def test_histories_come_in_many_kinds(kind):
    model, _ = binary_net(4)
    names = ["v2", "v5"]
    history = pytest.importorskip(kind).Series(names) if isinstance(kind, str) else kind(names)
    assert recommend(model, history) == recommend(model, names)
    assert recommend(model, "v2") == recommend(model, ["v2"])


def test_integer_ids_are_names_not_columns():
    from quiltwork.data.dataset import Variable
    from quiltwork.data.encode import Encoder
    from quiltwork.models.bayesian import BayesianNet

    model, _ = binary_net(5)
    named = BayesianNet(Encoder(tuple(Variable(n, (0, 1)) for n in ("50", "181", "7", "0", "1", "2"))), model.cpds)
    assert [i for i, _ in recommend(named, [50, 181])] == [i for i, _ in recommend(named, ["50", "181"])]
    assert "181" not in dict(recommend(named, [181]))


def test_the_number_of_items_is_checked():
    model, _ = binary_net(1)
    for n in (0, -3, 1.5, None):
        with pytest.raises(ParameterError, match="'n' parameter of recommend"):
            recommend(model, ["v0"], n=n)
