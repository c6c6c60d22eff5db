"""Measures of rankings: against all orders that ties leave open, and what must not change them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

from naive import ranking as naive
from quiltwork.errors import InputError, ParameterError
from quiltwork.rank.metrics import (
    as_choices,
    auc,
    cf_accuracy,
    choices_of,
    doa,
    join_places,
    mean_log_probabilities,
    measure,
    ndcg_at,
    place_hidden,
    recall_at,
    reciprocal_ranks,
)

TIES = ("worst", "mean", "best")


@st.composite
def queries(draw, max_items=6, max_rows=4, levels=(-math.inf, -1.5, 0.0, 0.25, 2.0, math.inf)):
    """(scores, history, hidden): few levels, so that many scores are equal; at least one row hides something."""
    n_items, n_rows = draw(st.integers(1, max_items)), draw(st.integers(1, max_rows))

    def table(cells):
        size = n_rows * n_items
        return np.array(draw(st.lists(cells, min_size=size, max_size=size))).reshape(n_rows, n_items)

    part = table(st.integers(0, 2))
    part[0, draw(st.integers(0, n_items - 1))] = 1
    return table(st.sampled_from(levels)), part == 2, part == 1


def rows_of(scores, history, hidden):
    """The judged rows as the slow twin wants them."""
    for s, known, mine in zip(scores.tolist(), history, hidden):
        if mine.any():
            yield s, set(np.flatnonzero(known).tolist()), set(np.flatnonzero(mine).tolist())


@settings(max_examples=150)
@given(queries(), st.sampled_from(TIES), st.integers(1, 7), st.sampled_from((0.5, 3, 10)))
def test_every_measure_against_all_orders(query, ties, k, half_life):
    places = place_hidden(*query)
    with np.errstate(all="raise"):
        found = zip(
            reciprocal_ranks(places, ties),
            ndcg_at(places, k, ties),
            recall_at(places, k, ties),
            cf_accuracy(places, half_life, ties),
            doa(places),
            auc(places),
        )
    rows = list(rows_of(*query))
    assert len(places) == len(rows)
    for row, values in zip(rows, found, strict=True):
        points = [naive.agreement(*row, for_equal) for for_equal in (0, 0.5)]
        slow = [
            naive.reciprocal_rank(*row, ties),
            naive.ndcg(*row, k, ties),
            naive.recall(*row, k, ties),
            naive.cf_accuracy(*row, half_life, ties),
            *(p / pairs if pairs else 1 for p, pairs in points),
        ]
        assert values == pytest.approx(slow, abs=1e-12)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_counts_of_long_lists(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, rng.choice([3, 30, 10**6]), (5, 90)) / 8
    part = rng.choice(3, (5, 90), p=rng.dirichlet((1, 1, 1)))
    part[0, 0] = 1
    places = place_hidden(scores, part == 2, part == 1)
    counts = zip(places.other_above, places.other_equal, places.hidden_above, places.hidden_equal)
    rows = list(rows_of(scores, part == 2, part == 1))
    assert [tuple(map(int, c)) for c in counts] == [c for row in rows for c in naive.stand(*row)]
    assert places.n_hidden.tolist() == [len(hidden) for _, _, hidden in rows]
    assert places.n_other.tolist() == [90 - len(history) - len(hidden) for _, history, hidden in rows]
    assert places.users.tolist() == np.flatnonzero((part == 1).any(axis=1)).tolist()


@given(queries(levels=(-800.0, -3.0, -0.5, 0.0, 0.5, 3.0, 30.0)))
def test_log_probabilities_sum_to_one_over_the_candidates(query):
    with np.errstate(all="raise", under="ignore"):
        found = mean_log_probabilities(*query)
    for (s, history, hidden), value in zip(rows_of(*query), found, strict=True):
        if min(s) > -700:
            assert value == pytest.approx(naive.mean_log_probability(s, history, hidden), abs=1e-12)
        candidates = [item for item in range(len(s)) if item not in history]
        each = [np.isin(np.arange(len(s)), [item])[None] for item in candidates]
        known = np.isin(np.arange(len(s)), list(history))[None]
        total = sum(math.exp(mean_log_probabilities([s], known, one)[0]) for one in each)
        assert total == pytest.approx(1, abs=1e-12)


def test_log_probabilities_of_the_impossible_and_the_certain():
    inf = math.inf
    log_odds = [[-inf, 0.0, 0.0], [-inf, -inf, 5.0], [inf, -inf, -inf], [-1e5, -1e5, -1e5]]
    history = [[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    hidden = [[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0]]
    with np.errstate(all="raise", under="ignore"):
        found = mean_log_probabilities(log_odds, history, hidden)
    assert found == pytest.approx([-inf, -inf, 0.0, -math.log(3)])


# What must not matter


@given(queries(), st.integers(0, 2**32 - 1))
def test_only_the_order_of_the_candidates_matters(query, seed):
    scores, history, hidden = query
    rng = np.random.default_rng(seed)
    values = measure(place_hidden(*query))
    moved = rng.permutation(scores.shape[1])
    rescaled = np.arctan(scores) * 3 + 1
    unread = np.where(history, rng.normal(size=scores.shape), scores)
    for again in (
        (scores[:, moved], history[:, moved], hidden[:, moved]),
        (rescaled, history, hidden),
        (unread, history, hidden),
        (np.asfortranarray(scores), csc_array(history * 3), csr_array(hidden.astype(float))),
        (scores.astype(np.float32), history.astype(int), hidden.tolist()),
    ):
        for name, found in measure(place_hidden(*again)).items():
            assert np.array_equal(found, values[name]), name


def test_the_best_and_the_worst_lists():
    hidden = np.eye(4, 9, dtype=bool) | np.eye(4, 9, 4, dtype=bool)
    history = np.zeros((4, 9), bool)
    perfect, upside_down, silent = (
        measure(place_hidden(s, history, hidden)) for s in (hidden * 1.0, hidden * -1.0, hidden * 0.0)
    )
    assert all(v == pytest.approx(100 if name == "cf_accuracy" else 1) for name, v in perfect.items())
    assert upside_down["doa"] == pytest.approx(0) and upside_down["auc"] == pytest.approx(0)
    assert upside_down["mrr"] == pytest.approx(1 / 8)
    assert silent["doa"] == pytest.approx(0) and silent["auc"] == pytest.approx(0.5)
    # Of nine items in any order the first of two hidden ones stands on place (9 + 1) / (2 + 1) on average
    assert silent["mrr"] == pytest.approx(3 / 10)


def test_ties_order_the_measures():
    rng = np.random.default_rng(0)
    scores, part = rng.integers(0, 4, (50, 30)), rng.integers(0, 4, (50, 30))
    places = place_hidden(scores, part == 0, part == 1)
    for function in (reciprocal_ranks, ndcg_at, recall_at, cf_accuracy):
        worst, mean, best = (function(places, ties=ties) for ties in TIES)
        assert np.all(worst <= mean + 1e-12) and np.all(mean <= best + 1e-12) and np.any(worst < best)


@given(queries(max_rows=6))
def test_blocks_join_to_the_whole(query):
    scores, history, hidden = query
    whole = place_hidden(*query)
    parts = [place_hidden(*(t[[row]] for t in query)) for row in np.flatnonzero(hidden.any(axis=1))]
    joined = join_places(parts, whole.users)
    for name in vars(whole):
        assert np.array_equal(getattr(joined, name), getattr(whole, name)), name


# Choices


def test_choices_keep_the_order_of_votes_and_count_repeats_once():
    table = choices_of(np.array([0, 0, 0, 2, 2]), np.array([4, 1, 4, 3, 3]), (3, 5))
    assert table.indptr.tolist() == [0, 2, 2, 3] and table.indices.tolist() == [4, 1, 3]
    assert as_choices(table).indices.tolist() == [4, 1, 3]
    with_zero_and_repeat = csr_array((np.array([1.0, 0.0, 2.0, 1.0]), np.array([3, 1, 0, 3]), np.array([0, 4])), (1, 4))
    assert as_choices(with_zero_and_repeat).indices.tolist() == [3, 0]
    assert with_zero_and_repeat.data.tolist() == [1, 0, 2, 1]  # what was given stays as it is


# Bad input

ONE = ([[0.1, 0.2, 0.3]], [[1, 0, 0]], [[0, 1, 0]])


@pytest.mark.parametrize(
    "place, value, message",
    [
        (0, [[0.1, math.nan, 0.3]], "Row 0 has NaN for item 1"),
        (0, [0.1, 0.2, 0.3], "by row and item"),
        (0, [["a", "b", "c"]], "Scores must be numbers"),
        (1, [[1, 0]], r"history must be .* of shape \(1, 3\)"),
        (2, [[0, 1, 0], [0, 1, 0]], r"hidden must be .* of shape \(1, 3\)"),
        (1, [[math.nan, 0, 0]], "history must be 0 where .* Got NaN"),
        (2, [[1, 0, 0]], "Item 0 of row 0 is in the history and hidden"),
        (2, [[0, 0, 0]], "no row has a hidden item"),
    ],
)
@pytest.mark.parametrize("function", [place_hidden, mean_log_probabilities])
def test_bad_tables(function, place, value, message):
    given_ = list(ONE)
    given_[place] = value
    with pytest.raises(InputError, match=message):
        function(*given_)


@pytest.mark.parametrize(
    "function, parameters",
    [
        (reciprocal_ranks, {"ties": "random"}),
        (ndcg_at, {"k": 0}),
        (ndcg_at, {"ties": None}),
        (recall_at, {"k": 2.5}),
        (cf_accuracy, {"half_life": 0}),
        (cf_accuracy, {"ties": 1}),
    ],
)
def test_bad_parameters(function, parameters):
    with pytest.raises(ParameterError, match=f"'{next(iter(parameters))}' parameter of {function.__name__}"):
        function(place_hidden(*ONE), **parameters)
