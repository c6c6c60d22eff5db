"""Protocols: what is shown and what is hidden, folds, and judging; at the end the public folds of MovieLens."""

import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from infer.networks import net
from naive import ranking as naive
from quiltwork.data.votes import read_votes
from quiltwork.errors import DataWarning, InputError, ParameterError, ResourceLimitError
from quiltwork.rank import protocols as room
from quiltwork.rank.metrics import measure, place_hidden
from quiltwork.rank.protocols import (
    Queries,
    RankingReport,
    all_but_1,
    evaluate,
    given_fold,
    given_k,
    over_folds,
    row_folds,
)
from quiltwork.rank.recommend import item_scores


def sets(table):
    return [set(np.flatnonzero(row).tolist()) for row in table.toarray()]


def shown_and_hidden(queries):
    return list(zip(queries.users.tolist(), sets(queries.histories), sets(queries.hidden)))


@st.composite
def tables(draw, max_rows=8, max_items=7):
    """A random table of choices in which at least one user has chosen everything."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(1, max_rows)), draw(st.integers(2, max_items))
    table = rng.random(shape) < rng.random()
    table[rng.integers(shape[0])] = True
    return table


# All but one


@given(tables(), st.sampled_from((np.asarray, csr_array, lambda t: 3 * t.astype(float))))
def test_fair_removes_every_item_once(table, kind):
    rows = [set(np.flatnonzero(row).tolist()) for row in table]
    queries = all_but_1(kind(table), "fair")
    assert shown_and_hidden(queries) == [(u, history, {item}) for u, history, item in naive.removals(rows)]
    assert queries.histories.has_canonical_format and queries.hidden.has_canonical_format


@given(tables(), st.integers(0, 99))
def test_one_removal_is_one_of_the_fair_ones(table, seed):
    fair = shown_and_hidden(all_but_1(table, "fair"))
    users = np.flatnonzero(table.sum(axis=1) >= 2).tolist()
    for which in ("random", "first"):
        found = shown_and_hidden(all_but_1(table, which, random_state=seed))
        assert [query[0] for query in found] == users
        assert all(query in fair for query in found)
        assert found == shown_and_hidden(all_but_1(table, which, random_state=seed))
    assert [min(hidden) < min(history) for _, history, hidden in found] == [True] * len(users)


def test_random_removal_favours_no_item():
    """Chi-square with 3 degrees of freedom; a fair draw passes 21.1 once in 10,000 runs, and the seed is fixed."""
    hidden = all_but_1(np.ones((4000, 4)), "random", random_state=5).hidden.sum(axis=0)
    assert ((hidden - 1000) ** 2 / 1000).sum() < 21.1
    other = all_but_1(np.ones((4000, 4)), "random", random_state=6).hidden.sum(axis=0)
    assert hidden.tolist() != other.tolist()


VOTES = [("bob", "rum"), ("ann", "tea"), ("ann", "gin"), ("bob", "gin"), ("ann", "tea"), ("ann", "rum"), ("cid", "gin")]


def test_first_is_the_first_vote_in_the_file():
    votes = read_votes(VOTES)  # items gin, rum, tea; users ann, bob, cid
    assert shown_and_hidden(all_but_1(votes, "first")) == [(0, {0, 1}, {2}), (1, {0}, {1})]
    timed = read_votes([(*vote, time) for time, vote in zip((2, 9, 4, 1, 9, 3, 0), VOTES)])
    assert shown_and_hidden(all_but_1(timed, "first")) == [(0, {0, 2}, {1}), (1, {1}, {0})]


def test_folds_keep_the_order_of_votes():
    votes = read_votes([(user, item) for user in range(6) for item in "zayb"])
    for fold in row_folds(votes, lambda rows: all_but_1(rows, "first"), n_folds=3):
        assert fold.items == ("a", "b", "y", "z")
        assert sets(fold.queries.hidden) == [{3}, {3}]
        assert fold.train.has_canonical_format


# Given k


@given(tables(), st.integers(1, 4), st.integers(0, 99))
def test_given_k_shows_k_and_hides_the_rest(table, k, seed):
    users = np.flatnonzero(table.sum(axis=1) > k).tolist()
    if not users:
        with pytest.raises(InputError, match=f"no user has {k + 1} items"):
            given_k(table, k)
        return
    found = shown_and_hidden(given_k(table, k, random_state=seed))
    assert [user for user, _, _ in found] == users
    for user, history, hidden in found:
        assert len(history) == k and hidden and not history & hidden
        assert history | hidden == set(np.flatnonzero(table[user]).tolist())
    assert found == shown_and_hidden(given_k(table, k, random_state=seed))


def test_given_k_favours_no_item():
    """Each of 5 items is shown to 2/5 of 4000 users, to five standard errors."""
    shown = given_k(np.ones((4000, 5)), 2).histories.sum(axis=0)
    assert np.all(np.abs(shown - 1600) < 5 * np.sqrt(4000 * 0.4 * 0.6))


# Folds


@given(st.integers(5, 23), st.integers(2, 5), st.integers(0, 99))
def test_row_folds_ask_about_each_user_once_and_never_learn_from_them(n_rows, n_folds, seed):
    rng = np.random.default_rng(seed)
    table = rng.random((n_rows, 9)) < 0.4
    table[:, 7:] = True
    table[:, 0] = np.arange(n_rows) % 2
    asked = []
    for fold in row_folds(table, all_but_1, n_folds, random_state=seed):
        assert fold.items is None
        assert n_rows - fold.train.shape[0] == len(fold.queries)
        asked += fold.queries.users.tolist()
        others = np.delete(table, fold.queries.users, axis=0)
        assert np.array_equal(fold.train.toarray(), others)
        assert np.array_equal((fold.queries.histories + fold.queries.hidden).toarray(), table[fold.queries.users])
        assert len(fold.queries) in (n_rows // n_folds, n_rows // n_folds + 1)
    assert sorted(asked) == list(range(n_rows))


def test_folds_depend_on_the_seed_alone():
    def users(seed):
        return [fold.queries.users.tolist() for fold in row_folds(np.ones((20, 3)), all_but_1, 4, random_state=seed)]

    assert users(3) == users(3) != users(4)


def test_a_given_fold_matches_ids_by_what_they_print():
    train = read_votes({"user": [1, 1, 2, 10], "item": [7, 30, 30, 100]})
    test = read_votes({"user": ["10", "1", "3"], "item": ["7", "8", "30"]})
    fold = given_fold(train, test)
    assert fold.items == ("100", "30", "7", "8")  # some ids are text, so all are sorted as text
    assert sets(fold.train) == [{1, 2}, {0}, {1}]  # users 1, 10, 2
    assert shown_and_hidden(fold.queries) == [(0, {1, 2}, {3}), (1, {0}, {2}), (3, set(), {1})]
    numbers = given_fold(train, read_votes({"user": [10, 1, 3], "item": [7, 8, 30]}))
    assert numbers.items == ("7", "8", "30", "100")
    assert shown_and_hidden(numbers.queries) == [(0, {0, 2}, {1}), (2, set(), {2}), (3, {3}, {0})]


def test_a_given_fold_of_matrices():
    train, test = [[1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 1, 1], [0, 0, 0], [0, 0, 1]]
    fold = given_fold(train, csr_array(test))
    assert fold.items is None and fold.train.toarray().astype(int).tolist() == train
    assert shown_and_hidden(fold.queries) == [(0, {0}, {1, 2}), (2, {0, 1}, {2})]


def test_a_test_vote_already_in_training_is_left_out():
    with pytest.warns(DataWarning, match=r"2 test vote\(s\)") as caught:
        fold = given_fold([[1, 0, 1], [1, 1, 0]], [[1, 1, 0], [1, 0, 0]])
    assert caught[0].filename == __file__
    assert shown_and_hidden(fold.queries) == [(0, {0, 2}, {1})]


# Judging


@settings(max_examples=50)
@given(tables(), st.sampled_from(("fair", "random", "given")), st.integers(1, 20))
def test_blocks_do_not_matter_and_users_count_alike(table, protocol, block):
    try:
        queries = given_k(table, 2) if protocol == "given" else all_but_1(table, protocol)
    except InputError:
        return  # too few items
    weights = np.random.default_rng(0).integers(0, 3, (table.shape[1], table.shape[1]))

    def ranker(histories):
        return histories @ weights - 1.5

    whole = evaluate(ranker, queries, log_odds=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "BLOCK_ENTRIES", block)
        parts = evaluate(ranker, queries, log_odds=True)
    assert whole.values.keys() == parts.values.keys()
    for name, values in whole.values.items():
        assert np.array_equal(values, parts.values[name]), name
    means = whole.means()
    assert means == parts.means() and means["log_probability"] <= 0
    scores = ranker(queries.histories).tolist()
    rows = list(zip(scores, sets(queries.histories), sets(queries.hidden)))
    macro, micro = naive.macro_and_micro_doa(rows)
    assert means["micro_doa"] == pytest.approx(micro)
    if protocol != "fair":
        assert means["macro_doa"] == pytest.approx(macro)
    by_user = {}
    for user, row in zip(queries.users.tolist(), rows):
        by_user.setdefault(user, []).append(naive.reciprocal_rank(*row, "mean"))
    assert means["mrr"] == pytest.approx(np.mean([np.mean(ranks) for ranks in by_user.values()]))


def test_averages_of_users_with_unequal_numbers_of_pairs():
    scores, history = [[3, 2, 1, 0, 0], [0, 1, 2, 3, 4]], [[0, 0, 0, 0, 1], [0] * 5]
    hidden = [[1, 0, 0, 1, 0], [1, 0, 0, 0, 0]]
    places = place_hidden(scores, history, hidden)
    means = RankingReport(places, measure(places)).means()
    assert means["macro_doa"] == pytest.approx((2 / 4 + 0 / 4) / 2)
    assert means["micro_doa"] == pytest.approx(2 / 8)
    assert means["mrr"] == pytest.approx((1 + 1 / 5) / 2)


def test_mean_and_deviation_over_folds():
    def report(*ranks):
        hidden = np.eye(9)[[r - 1 for r in ranks]]
        places = place_hidden(np.tile(-np.arange(9), (len(ranks), 1)), np.zeros((len(ranks), 9)), hidden)
        return RankingReport(places, measure(places))

    reports = [report(1, 2), report(4), report(1)]  # .75, .25, 1
    assert over_folds(reports)["mrr"] == pytest.approx((2 / 3, np.sqrt((1 / 144 + 25 / 144 + 16 / 144) / 2)))
    assert over_folds(reports[:1])["mrr"] == pytest.approx((0.75, 0.0))


def test_a_withheld_diagonal_comes_back():
    """Even users choose even items, odd users odd ones, each all but its own: co-occurrence finds the missing one."""
    user, item = np.indices((50, 50))
    train = (user % 2 == item % 2) & (user != item)
    fold = given_fold(train, np.eye(50))

    def co_occurrence(histories):
        return histories @ (train.T.astype(float) @ train)

    means = evaluate(co_occurrence, fold.queries, ties="worst").means()
    assert [means[m] for m in ("mrr", "macro_doa", "micro_doa", "ndcg@10", "recall@20")] == pytest.approx([1] * 5)
    by_column = evaluate(lambda h: np.tile(-np.arange(50), (h.shape[0], 1)), fold.queries).means()
    assert by_column["macro_doa"] == pytest.approx(0.5, abs=0.03)


def test_a_model_of_pairs_finds_the_missing_half():
    """Items come in pairs, bought together or not at all, nine times in ten."""
    copy = [[0.95, 0.05], [0.1, 0.9]]
    model = net([2] * 8, [[], [0], [], [2], [], [4], [], [6]], [[[0.6, 0.4]], copy] * 4)
    whole_pairs = np.repeat(np.array([[a, b, c, d] for a, b, c, d in np.ndindex(2, 2, 2, 2)]), 2, axis=1)
    queries = all_but_1(whole_pairs, "fair")

    def ranker(histories):
        return item_scores(model, np.where(histories.toarray(), "s1", "s0"))

    report = evaluate(ranker, queries, log_odds=True)
    means = report.means()
    assert means["mrr"] == means["macro_doa"] == means["recall@20"] == 1
    assert means["cf_accuracy"] == pytest.approx(100)
    assert np.log(0.5) < means["log_probability"] < 0
    assert report.score_seconds > 0


# Bad input


def test_bad_protocols():
    with pytest.raises(ParameterError, match="'which' parameter of all_but_1"):
        all_but_1(np.ones((2, 3)), "last")
    with pytest.raises(ParameterError, match="'k' parameter of given_k"):
        given_k(np.ones((2, 3)), 0)
    with pytest.raises(ParameterError, match="'random_state'"):
        given_k(np.ones((2, 3)), 1, random_state="x")
    with pytest.raises(ParameterError, match="'n_folds' parameter of row_folds"):
        next(row_folds(np.ones((2, 3)), all_but_1, 1))
    with pytest.raises(InputError, match="2 rows cannot be split into 3 folds"):
        next(row_folds(np.ones((2, 3)), all_but_1, 3))
    with pytest.raises(InputError, match="no user has 2 items or more"):
        all_but_1(np.eye(3))
    with pytest.raises(InputError, match="no user has 2 items or more"):
        all_but_1(read_votes([("ann", "tea"), ("ann", "tea")]))
    with pytest.raises(InputError, match=r"test votes must be .* of shape \(2, 3\)"):
        given_fold(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(InputError, match="2 dimensions"):
        all_but_1([1, 0, 1])


def test_removals_that_cannot_fit_are_refused(monkeypatch):
    monkeypatch.setattr(room, "physical_memory", lambda: 32 * 2 * 3**2 - 1)
    with pytest.raises(ResourceLimitError, match="6 removals take .* which='random'"):
        all_but_1(np.ones((2, 3)), "fair")
    assert len(all_but_1(np.ones((2, 3)), "random")) == 2
    assert len(all_but_1(np.tri(2, 3, 1), "fair")) == 5


def test_bad_rankers_and_queries():
    queries = all_but_1(np.ones((2, 3)))
    with pytest.raises(InputError, match=r"dense array of shape \(2, 3\). Got ndarray of shape \(2, 2\)"):
        evaluate(lambda h: np.zeros((2, 2)), queries)
    with pytest.raises(InputError, match="Got csr_array"):
        evaluate(lambda h: h.astype(float), queries)
    with pytest.raises(InputError, match="Row 1 has NaN for item 2"):
        evaluate(lambda h: np.array([[1, 2, 3], [1, 2, np.nan]]), queries)
    with pytest.raises(ParameterError, match="'ties' parameter of evaluate"):
        evaluate(lambda h: h.toarray(), queries, ties="lucky")
    with pytest.raises(InputError, match="Query 1 has none"):
        Queries(queries.histories, csr_array(np.diag([1, 0, 0])[:2]), queries.users)
    with pytest.raises(InputError, match="as many histories"):
        Queries(queries.histories[:1], queries.hidden, queries.users)


# Public data


def test_the_definitions_give_the_published_figures_of_ease(public_data):
    """EASE is one formula, so whoever measures it on the MovieLens folds must get the same numbers."""
    reports = []
    for k in range(1, 6):
        votes = []
        for part in ("base", "test"):
            with lzma.open(public_data / "ml-100k" / f"u{k}.{part}.xz", "rt") as file:
                user, item, *_ = np.loadtxt(file, dtype=np.int64).T
            votes.append(read_votes({"user": user, "item": item}))
        fold = given_fold(*votes)
        assert fold.train.shape == (943, 1682) and fold.items[:3] == ("1", "2", "3")
        assert fold.queries.hidden.nnz == 20_000
        counts = (fold.train.T.astype(float) @ fold.train.astype(float)).toarray()
        precision = np.linalg.inv(counts + 1000 * np.eye(1682))
        weights = -precision / np.diag(precision)
        np.fill_diagonal(weights, 0)
        reports.append(evaluate(lambda histories, weights=weights: histories @ weights, fold.queries))
    means = {name: mean for name, (mean, _) in over_folds(reports).items()}
    assert [means[m] for m in ("macro_doa", "micro_doa")] == pytest.approx([0.9328, 0.9177], abs=6e-5)
    assert [means[m] for m in ("ndcg@10", "recall@20", "mrr")] == pytest.approx([0.468, 0.338, 0.703], abs=6e-4)
