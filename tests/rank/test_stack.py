import itertools

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.errors import InputError, ParameterError
from quiltwork.rank.stack import _hide, _simplex


def tastes(seed=0, n_users=300, n_items=40):
    rng = np.random.default_rng(seed)
    groups = np.repeat(rng.random((n_users, 5)) < 0.3, n_items // 5, axis=1)
    return (rng.random((n_users, n_items)) < np.where(groups, 0.5, 0.04)).astype(int)


def test_weights_go_to_the_member_that_knows():
    est = qw.RankStack(members=("popularity", "gmf:ridge=20")).fit(tastes())
    assert est.weights_["gmf:ridge=20"] > 0.6
    assert sum(est.weights_.values()) == pytest.approx(1.0)


def test_scores_are_the_weighted_sum_and_travel_as_one_file(tmp_path):
    X = tastes()
    model = qw.learn("stack", X, members=("hrf:k=3:k_star=4", "gmf:ridge=20", "latent:rank=4:ridge=1"))
    qw.save(model, tmp_path / "m.qw")
    again = qw.load(tmp_path / "m.qw")
    np.testing.assert_array_equal(qw.item_scores(again, X), qw.item_scores(model, X))
    assert qw.recommend(again, ["x0", "x1"], n=3) == qw.recommend(model, ["x0", "x1"], n=3)
    others = X != 1
    expected = np.zeros(X.shape)
    for weight, member in zip(model.weights, model.members, strict=True):
        own = qw.item_scores(member, X)
        own = 1 / (1 + np.exp(-own)) if member.kind == "hrf" else own
        for i in range(len(X)):
            rest = own[i, others[i]]
            expected[i] += weight * (own[i] - rest.mean()) / max(rest.std(), 1e-12)
    np.testing.assert_allclose(qw.item_scores(model, X), expected, atol=1e-9)


def test_a_truncated_member_is_refused(tmp_path):
    qw.save(qw.learn("stack", tastes(), members=("popularity", "gmf")), tmp_path / "m.qw")
    content = (tmp_path / "m.qw").read_bytes()
    (tmp_path / "m.qw").write_bytes(content[:-16])
    with pytest.raises(qw.errors.ModelFileError):
        qw.load(tmp_path / "m.qw")


def test_the_seed_decides_and_one_member_needs_no_choice():
    X = tastes()
    a, b = (qw.learn("stack", X, members=("gmf", "popularity"), random_state=3).weights for _ in range(2))
    assert (a == b).all()
    assert qw.learn("stack", X, members=("gmf",)).weights.tolist() == [1.0]


@pytest.mark.parametrize("members", [(), ("gmf:colour=red",), ("nobody",)])
def test_members_that_cannot_be(members):
    with pytest.raises(ParameterError):
        qw.RankStack(members=members).fit(tastes())


def test_columns_that_are_no_items():
    with pytest.raises(InputError, match="two states"):
        qw.RankStack().fit({"a": [0, 1, 2], "b": [0, 1, 0]})


def test_more_splits_ask_more_users():
    est = qw.RankStack(members=("popularity", "gmf:ridge=20"), splits=5, steps=4).fit(tastes())
    assert est.weights_["gmf:ridge=20"] >= 0.5


def test_weights_cover_the_simplex():
    found = _simplex(3, 4)
    assert sorted(found) == sorted(
        tuple(k / 4 for k in c) for c in itertools.product(range(5), repeat=3) if sum(c) == 4
    )


def test_a_fifth_is_hidden_and_nothing_is_lost():
    from scipy.sparse import csr_array

    X = tastes()
    shown, hidden = _hide(csr_array(X), np.random.default_rng(0))
    asked = X.sum(axis=1) >= 2
    assert ((shown + hidden).toarray().astype(int) == X[asked]).all()
    assert (hidden.sum(axis=1) == np.maximum(1, (0.2 * X[asked].sum(axis=1)).astype(int))).all()
