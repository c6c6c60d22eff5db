"""What holds for every learner that ranks items, and how well each ranks films."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import quiltwork as qw
from learn.some_votes import movielens_fold, random_votes
from naive import rankers as naive
from quiltwork.data.dataset import NO_CODE, Variable, from_codes
from quiltwork.errors import DataWarning, InputError, IntractableError, ModelFileError, ResourceLimitError
from quiltwork.learn import items
from quiltwork.learn.base import silent
from quiltwork.learn.items import chosen_together, invert

LEARNERS = [
    qw.NaiveBayes(),
    qw.Popularity(),
    qw.ItemRank(),
    qw.ItemRank(steps=1),
    qw.GaussianField(ridge=3.0),
    qw.GaussianField(ridge=3.0, centre=True),
    qw.GaussianField(ridge=3.0, rank=3),
    qw.GaussianField(ridge=3.0, rank=3, centre=True),
]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
FULL = [learner for learner in LEARNERS if getattr(learner, "rank", None) is None]  # exact to the last bit


def scores_of(learner, table, rows=None, **fit):
    """Scores by a new learner with the same parameters."""
    fresh = type(learner)(**learner.get_params()).fit(table, **fit)
    return qw.item_scores(fresh, table if rows is None else rows)


# Input


@every_learner
def test_tables_come_in_many_kinds(learner):
    X = random_votes(0)
    X = X[X.any(axis=1)]  # in a list of votes there is no user without any
    names = [str(k) for k in range(X.shape[1])]
    votes = qw.read_votes([(int(user), int(item)) for user, item in zip(*X.nonzero())])
    expected = scores_of(learner, X)
    for same in (csr_array(X), X.astype(bool), X.tolist(), dict(zip(names, X.T)), votes.table(names)):
        assert scores_of(learner, same) == pytest.approx(expected, abs=1e-9)


@every_learner
def test_two_states_of_any_name_will_do(learner):
    X = random_votes(1)
    X[0], X[1] = 0, 1  # so that every column has both
    words = {f"x{k}": np.array(["no", "yes"])[X[:, k]] for k in range(X.shape[1])}
    assert scores_of(learner, words) == pytest.approx(scores_of(learner, X), abs=1e-9)


@every_learner
def test_a_column_that_is_no_item_is_named(learner):
    with pytest.raises(InputError, match=r"'age' has 3; leave it out") as caught:
        scores_of(learner, {"tea": [0, 1, 1], "age": [20, 30, 40]})
    assert type(learner).__name__ in str(caught.value)
    with pytest.raises(InputError, match="'kind' has 1"):
        scores_of(learner, {"tea": [0, 1, 1], "kind": ["a", "a", "a"]})


@every_learner
def test_a_failed_fit_leaves_nothing(learner):
    fresh = type(learner)(**learner.get_params())
    with pytest.raises(InputError):
        fresh.fit(np.arange(12).reshape(4, 3))
    assert not hasattr(fresh, "model_")


@pytest.mark.parametrize("learner", FULL, ids=repr)
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (5, 1)])
def test_one_user_and_one_item(learner, shape):
    for X in (np.zeros(shape, np.uint8), np.ones(shape, np.uint8)):
        with np.errstate(all="raise"):
            scores = scores_of(learner, X)
        assert scores.shape == shape
        assert np.isfinite(scores).all()


@every_learner
def test_weights_are_repeated_rows(learner):
    X = random_votes(2)
    weights = np.random.default_rng(2).integers(0, 4, len(X))
    repeated = np.repeat(X, weights, axis=0)
    assert scores_of(learner, X, sample_weight=weights) == pytest.approx(scores_of(learner, repeated, X), abs=1e-9)


# Symmetries


@every_learner
def test_the_order_of_rows_and_items_does_not_matter(learner):
    X = random_votes(3)
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    expected = scores_of(learner, X)
    assert scores_of(learner, X[rows], X) == pytest.approx(expected, abs=1e-9)
    assert scores_of(learner, X[:, columns]) == pytest.approx(expected[:, columns], abs=1e-9)


@every_learner
def test_an_items_own_value_is_never_read(learner):
    X = random_votes(4)
    est = type(learner)(**learner.get_params()).fit(X)
    expected = qw.item_scores(est, X)
    for v in range(X.shape[1]):
        flipped = X.copy()
        flipped[:, v] = 1 - flipped[:, v]
        found = qw.item_scores(est, flipped)
        assert found[:, v] == pytest.approx(expected[:, v], abs=1e-12)
        if learner in FULL:
            assert np.array_equal(found[:, v], expected[:, v])


@every_learner
def test_items_and_missing_values_on_request(learner):
    """Asking for a few items gives the same scores; a value that nobody knows is no error."""
    X = random_votes(5)
    est = type(learner)(**learner.get_params()).fit(X)
    assert np.array_equal(qw.item_scores(est, X, items=["x4", "x1"]), qw.item_scores(est, X)[:, [4, 1]])
    codes = X.astype(np.uint16)
    codes[::2, 3] = NO_CODE
    found = qw.item_scores(est, from_codes(est.model_.variables, list(codes.T)))
    assert np.isfinite(found).all()
    assert found[1::2] == pytest.approx(qw.item_scores(est, X)[1::2], abs=1e-12)
    assert found[:, 3] == pytest.approx(qw.item_scores(est, X)[:, 3], abs=1e-12)


# Doors


@every_learner
def test_recommendations(learner):
    X = random_votes(6)
    est = type(learner)(**learner.get_params()).fit(X)
    scores = qw.item_scores(est, X)
    for row, own, found in zip(X, scores, qw.recommend(est, X, n=3)):
        history = [f"x{v}" for v in np.flatnonzero(row)]
        assert [item for item, _ in qw.recommend(est, history, n=3)] == [item for item, _ in found]
        if history:
            unseen = [v for v in np.argsort(-own, kind="stable") if not row[v]][:3]
            assert found == [(f"x{v}", pytest.approx(own[v])) for v in unseen]
    with pytest.warns(DataWarning, match="'bread'"):
        qw.recommend(est, ["bread", "x1"])


@every_learner
def test_an_empty_history_ranks_by_popularity(learner):
    X = random_votes(7)
    est = type(learner)(**learner.get_params()).fit(X)
    popular = np.argsort(-X.sum(axis=0).astype(int), kind="stable")
    assert [item for item, _ in qw.recommend(est, [])] == [f"x{v}" for v in popular]


@every_learner
def test_saved_and_loaded(learner, tmp_path):
    X = random_votes(8)
    est = type(learner)(**learner.get_params()).fit(X)
    qw.save(est, tmp_path / "m.qw")
    loaded = qw.load(tmp_path / "m.qw")
    assert np.array_equal(qw.item_scores(loaded, X), qw.item_scores(est, X))
    assert qw.recommend(loaded, ["x1"]) == qw.recommend(est, ["x1"])
    assert repr(loaded) == repr(est.model_)
    assert loaded.n_parameters == est.model_.n_parameters > 0
    assert (loaded.variables, loaded.arcs) == (est.model_.variables, [])
    assert loaded.provenance == est.model_.provenance
    assert loaded.provenance["learner"] == learner.name
    whole = (tmp_path / "m.qw").read_bytes()
    (tmp_path / "m.qw").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ModelFileError):
        qw.load(tmp_path / "m.qw")


@pytest.mark.parametrize("learner", [e for e in LEARNERS if e.name != "popularity"], ids=repr)
def test_what_a_ranker_cannot_answer_it_says(learner):
    X = random_votes(9)
    est = type(learner)(**learner.get_params()).fit(X)
    for door in (qw.log_likelihood, qw.pseudo_log_likelihood, qw.log_conditionals):
        with pytest.raises(IntractableError, match=type(est.model_).__name__):
            door(est, X)
    with pytest.raises(IntractableError):
        qw.predict_proba(est, X, "x0")
    if learner.name != "gmf":  # which has a score of its own
        with pytest.raises(IntractableError):
            est.score(X)


@every_learner
def test_the_same_by_its_name(learner):
    X = random_votes(10)
    again = qw.learn(learner.name, X, **learner.get_params())
    assert np.array_equal(qw.item_scores(again, X), scores_of(learner, X))


# Sizes


@pytest.mark.parametrize("learner", [qw.NaiveBayes(), qw.ItemRank(), qw.GaussianField()], ids=repr)
def test_what_cannot_fit_is_refused_at_once(learner):
    n_items = 20_000
    X = csr_array(([1, 1], ([0, 1], [3, 5])), shape=(3, n_items), dtype=np.uint8)
    with pytest.raises(ResourceLimitError, match=r"20,000 items would take 4\.5 GB.*limit of 4 GB") as caught:
        learner.fit(X)
    assert ("'rank'" in str(caught.value)) == (learner.name == "gmf")


def test_counts_of_pairs():
    X = random_votes(11, 70)
    variables = [Variable(f"x{k}", (0, 1)) for k in range(7)]
    weights = np.random.default_rng(0).random(70)
    own = X.astype(float)
    assert np.array_equal(chosen_together(from_codes(variables, list(X.T))), own.T @ own)
    weighted = chosen_together(from_codes(variables, list(X.T), weights))
    assert weighted == pytest.approx((own.T * weights) @ own, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 30])
def test_the_inverse(monkeypatch, n):
    monkeypatch.setattr(items, "BLOCK", 8)
    A = np.random.default_rng(n).normal(size=(n, n + 3))
    matrix = A @ A.T + 0.1 * np.eye(n)
    expected = np.linalg.inv(matrix)
    calls = []
    invert(matrix, lambda *call: calls.append(call))
    assert matrix == pytest.approx(expected, rel=1e-8, abs=1e-10)
    assert calls[-1] == ("inverting", n, n)
    silent("inverting", 0, 1)


# MovieLens 100k, fold u1; the mean over the five folds is what the paper prints


@pytest.fixture(scope="module")
def fold(public_data):
    return movielens_fold(public_data, 1)


@pytest.mark.parametrize(
    ("learner", "macro", "micro"),
    [
        (qw.NaiveBayes(), 0.88204, 0.86323),
        (qw.Popularity(), 0.85569, 0.85093),
        (qw.ItemRank(), 0.85332, 0.85676),
        (qw.ItemRank(steps=1), 0.89239, 0.87922),
        (qw.GaussianField(), 0.92455, 0.91036),
        (qw.GaussianField(ridge=1000.0), 0.92876, 0.91258),
        (qw.GaussianField(rank=16), 0.93001, 0.91443),
    ],
    ids=repr,
)
def test_how_well_each_ranks_films(fold, learner, macro, micro):
    train, test = fold
    found = naive.degree_of_agreement(qw.item_scores(learner.fit(train), train), train, test)
    assert found == pytest.approx((macro, micro), abs=2e-5)
