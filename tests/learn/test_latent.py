import numpy as np
import pytest

import quiltwork as qw
from quiltwork.errors import InputError, ParameterError


def tastes(seed=0, n_users=200, n_items=30):
    rng = np.random.default_rng(seed)
    groups = np.repeat(rng.random((n_users, 5)) < 0.3, n_items // 5, axis=1)
    return (rng.random((n_users, n_items)) < np.where(groups, 0.6, 0.03)).astype(int)


def objective(X, tastes_, vectors, confidence, ridge):
    """Minus twice the log posterior, up to a constant."""
    weight = 1 + confidence * X
    return (weight * (X - tastes_ @ vectors.T) ** 2).sum() + ridge * ((tastes_**2).sum() + (vectors**2).sum())


def infer_tastes(X, vectors, confidence, ridge):
    out = []
    for row in X:
        weight = np.diag(1 + confidence * row.astype(float))
        out.append(
            np.linalg.solve(vectors.T @ weight @ vectors + ridge * np.eye(vectors.shape[1]), vectors.T @ weight @ row)
        )
    return np.array(out)


def test_taking_turns_never_makes_the_posterior_worse():
    X, values = tastes(), []
    for turns in (1, 2, 4, 8):
        vectors = qw.learn("latent", X, rank=5, ridge=2.0, max_iter=turns).vectors
        values.append(objective(X, infer_tastes(X, vectors, 10.0, 2.0), vectors, 10.0, 2.0))
    assert values == sorted(values, reverse=True)


def test_a_score_is_the_mean_given_the_other_items():
    """Leaving an item out by its share equals inferring the taste from the others alone."""
    X = tastes(n_users=60)
    model = qw.learn("latent", X, rank=4, confidence=5.0, ridge=1.0)
    scores = qw.item_scores(model, X[:5])
    for i, row in enumerate(X[:5]):
        for j in range(X.shape[1]):
            rest = np.delete(np.arange(X.shape[1]), j)
            taste = infer_tastes(row[None, rest], model.vectors[rest], 5.0, 1.0)[0]
            assert scores[i, j] == pytest.approx(model.vectors[j] @ taste, abs=1e-9)


def test_planted_groups_are_recommended():
    X = tastes(1)
    model = qw.learn("latent", X, rank=5, ridge=5.0)
    best = [item for item, _ in qw.recommend(model, ["x0", "x1", "x2"], n=3)]
    assert set(best) == {"x3", "x4", "x5"}


def test_threads_and_files_change_nothing(tmp_path):
    X = tastes()
    files = []
    for jobs in (1, 2):
        qw.save(qw.learn("latent", X, rank=4, n_jobs=jobs), tmp_path / "m.qw")
        files.append((tmp_path / "m.qw").read_bytes())
    assert files[0] == files[1]
    again = qw.load(tmp_path / "m.qw")
    np.testing.assert_array_equal(qw.item_scores(again, X), qw.item_scores(qw.learn("latent", X, rank=4), X))


def test_bad_input():
    with pytest.raises(InputError, match="two states"):
        qw.LatentCauses().fit({"a": [0, 1, 2]})
    with pytest.raises(ParameterError, match="'rank'"):
        qw.LatentCauses(rank=0).fit(tastes())
