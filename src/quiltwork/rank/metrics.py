"""How good is a ranking? The measures of the hybrid-random-field paper and of the recommender literature.

A user's items fall into three parts: the history L that the ranker was shown, the hidden items T that it should rank
high, and all others N. The candidates are T and N: what is in the history is never ranked. Users with nothing hidden
are not judged. All but the last of these measures depend only on where T stands among the candidates, so scores are
looked at once: `place_hidden` counts, for each hidden item, the candidates above it and level with it.

reciprocal rank  1 / rank of the best hidden item; Eq 12, where one item is hidden. Its mean is MRR
DOA              share of the pairs T x N in the right order; equal scores are wrong (Eqs 13-14)
AUC              the same, with half a point for equal scores
NDCG@k           sum of 1 / log2(rank + 1) over the hidden items in the first k, over the most it could be
Recall@k         share of the hidden items that are in the first k (of all of them, not of the first k places)
CF accuracy      100 * sum of p(rank - 1) over the hidden items, over the most it could be, p(k) = 2^(-k / half-life)
                 (Heckerman et al. 2000; with one hidden item per query it is the next-vote form of Zimdars et al. 2001)
log-probability  mean over the hidden items of log(p / sum of p over the candidates), from scores that are log odds

Ties      Equal scores leave the order open. ties="best" puts hidden items before the others of their score and "worst"
          after them; "mean" averages over all orders: the rank in MRR, the sum in the others. The paper does not say
          which it takes, and its deviation over folds hides the difference (HRF on CiteSeer: .294, .301, .317 for
          "worst", "mean", "best"). "best" flatters a ranker that knows nothing of most items (one step of ItemRank
          there: .51, where "mean" gives .29), so the default is "mean".
Averages  Each measure is averaged over a user's queries, then over users; that of DOA is the paper's macro-DOA (Eq 15).
          Micro-DOA (Eq 16) is the share of all pairs of all users in the right order.
Checked   EASE with its ridge at 1000, measured independently on the MovieLens 100k folds, has macro-DOA .9328,
          micro-DOA .9177, NDCG@10 .468, Recall@20 .338 and MRR .703; so it has by these definitions.

Paper     Freno, Trentin, Gori (2009), section 6.1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from quiltwork.errors import InputError
from quiltwork.params import Choice, Integer, Param, Real

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TIES = Param("ties", "mean", (Choice(("worst", "mean", "best")),), "how candidates of equal score are ordered")
LENGTH = Param("k", 10, (Integer(1),), "places at the top of the list that count")
HALF_LIFE = Param("half_life", 10, (Real(0, above_low=True),), "places after which an item is seen half as often")


@dataclass(frozen=True, eq=False)
class Places:
    """Where the hidden items of each query stand among its candidates; made by `place_hidden`.

    users         (n_queries,) int64: whose query it is; a user may have several
    n_items       all items, candidates or not
    n_other       (n_queries,) int64: |N|, the candidates that are not hidden
    indptr        (n_queries + 1,): the hidden items of query q are those from indptr[q] to indptr[q + 1], best first
    other_above   (n_hidden,) int64: how many of N score higher than the hidden item
    other_equal   (n_hidden,) int64: how many of N score the same
    hidden_above  (n_hidden,) int64: how many hidden items of the query score higher
    hidden_equal  (n_hidden,) int64: how many hidden items of the query score the same, itself included
    """

    users: np.ndarray
    n_items: int
    n_other: np.ndarray
    indptr: np.ndarray
    other_above: np.ndarray
    other_equal: np.ndarray
    hidden_above: np.ndarray
    hidden_equal: np.ndarray

    @cached_property
    def n_hidden(self) -> np.ndarray:
        """|T| of each query, never 0."""
        return np.diff(self.indptr)

    @cached_property
    def n_pairs(self) -> np.ndarray:
        """|T| · |N| of each query: the weights of micro-DOA."""
        return self.n_hidden * self.n_other

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        return f"Places({len(self)} queries, {len(self.other_above)} hidden items)"


def place_hidden(scores: Any, history: Any, hidden: Any) -> Places:
    """Find the hidden items of each row among all items that are not in its history.

    scores           (rows, items), larger is better
    history, hidden  tables of the same shape, dense or sparse, not zero where an item is in the history or is hidden

    Rows without hidden items are left out; the `users` of the others are their row numbers.

    >>> scores = [[0.9, 0.7, 0.8, 0.1], [0.5, 0.5, 0.2, 0.1]]
    >>> places = place_hidden(scores, history=[[1, 0, 0, 0], [0, 0, 0, 1]], hidden=[[0, 1, 0, 0], [0, 1, 0, 0]])
    >>> places.other_above.tolist(), places.other_equal.tolist()
    ([1, 0], [0, 1])
    """
    scores, history, hidden = _checked(scores, history, hidden)
    n_items, n_hidden = scores.shape[1], np.diff(hidden.indptr)
    rows = np.flatnonzero(n_hidden)
    n_other = n_items - np.diff(history.indptr)[rows] - n_hidden[rows]
    indptr = np.concatenate([[0], np.cumsum(n_hidden[rows])])
    counts = np.zeros((4, hidden.nnz), np.int64)
    _stand(np.ascontiguousarray(scores, float), *_plain(history), *_plain(hidden), counts)
    return Places(rows, n_items, n_other, indptr, *counts)


def join_places(parts: Sequence[Places], users: np.ndarray) -> Places:
    """Places of blocks of queries as one, with the users that the queries belong to.

    >>> part = place_hidden([[0.9, 0.7]], history=[[0, 0]], hidden=[[0, 1]])
    >>> join_places([part, part], np.array([4, 4])).users.tolist()
    [4, 4]
    """
    ends = np.cumsum([0, *(part.indptr[-1] for part in parts)])
    indptr = np.concatenate([[0], *(part.indptr[1:] + end for part, end in zip(parts, ends))])
    names = ("other_above", "other_equal", "hidden_above", "hidden_equal")
    counts = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return Places(users, parts[0].n_items, np.concatenate([part.n_other for part in parts]), indptr, *counts)


# The measures, one value per query


def reciprocal_ranks(places: Places, ties: str = "mean") -> np.ndarray:
    """1 / rank of the best hidden item; the mean over queries is MRR.

    >>> places = place_hidden([[0.9, 0.7, 0.7, 0.1]], history=[[0, 0, 0, 0]], hidden=[[0, 1, 0, 0]])
    >>> [round(float(reciprocal_ranks(places, ties)[0]), 4) for ties in ("worst", "mean", "best")]
    [0.3333, 0.4, 0.5]
    """
    TIES.check("reciprocal_ranks", ties)
    best = places.indptr[:-1]
    level, hidden = places.other_equal[best], places.hidden_equal[best]
    before = {"worst": level, "mean": level / (hidden + 1), "best": 0 * level}[ties]  # others of its score that precede
    return 1.0 / (1 + places.other_above[best] + before)


def doa(places: Places) -> np.ndarray:
    """Degree of agreement: the share of the pairs of a hidden and another candidate in strictly the right order.

    Where there is no other candidate no order is wrong, and it is 1.

    >>> places = place_hidden([[0.9, 0.7, 0.7, 0.1]], history=[[1, 0, 0, 0]], hidden=[[0, 1, 0, 0]])
    >>> float(doa(places)[0]), float(auc(places)[0])
    (0.5, 0.75)
    """
    return 1.0 - _share_of_pairs(places, places.other_above + places.other_equal)


def auc(places: Places) -> np.ndarray:
    """As `doa`, with half a point for equal scores: the area under the ROC curve.

    >>> places = place_hidden([[0.3, 0.3, 0.3, 0.3]], history=[[1, 0, 0, 0]], hidden=[[0, 1, 0, 0]])
    >>> float(doa(places)[0]), float(auc(places)[0])
    (0.0, 0.5)
    """
    return 1.0 - _share_of_pairs(places, places.other_above + 0.5 * places.other_equal)


def ndcg_at(places: Places, k: int = 10, ties: str = "mean") -> np.ndarray:
    """Normalised discounted cumulative gain of the first k places; 1 where hidden items fill as many as they can.

    >>> places = place_hidden([[0.9, 0.8, 0.7, 0.1]], history=[[1, 0, 0, 0]], hidden=[[0, 0, 1, 0]])
    >>> round(float(ndcg_at(places, k=2)[0]), 4), float(ndcg_at(places, k=1)[0])
    (0.6309, 0.0)
    """
    TIES.check("ndcg_at", ties)
    LENGTH.check("ndcg_at", k)
    place = np.arange(places.n_items)
    return _share_of_best(places, np.where(place < k, 1 / np.log2(place + 2), 0.0), ties)


def recall_at(places: Places, k: int = 20, ties: str = "mean") -> np.ndarray:
    """The share of a query's hidden items that are in the first k places.

    >>> places = place_hidden([[0.9, 0.8, 0.7, 0.1]], history=[[0, 0, 0, 0]], hidden=[[0, 1, 0, 1]])
    >>> float(recall_at(places, k=2)[0])
    0.5
    """
    TIES.check("recall_at", ties)
    LENGTH.check("recall_at", k)
    return _gained(places, (np.arange(places.n_items) < k).astype(float), ties) / places.n_hidden


def cf_accuracy(places: Places, half_life: float = 10, ties: str = "mean") -> np.ndarray:
    """Collaborative-filtering accuracy, 0 to 100: the chance of reading on to the next place is 2^(-1 / half-life).

    >>> places = place_hidden([[0.9, 0.8, 0.7, 0.1]], history=[[0, 0, 0, 0]], hidden=[[0, 1, 0, 0]])
    >>> float(cf_accuracy(places, half_life=1)[0])
    50.0
    """
    TIES.check("cf_accuracy", ties)
    HALF_LIFE.check("cf_accuracy", half_life)
    return 100.0 * _share_of_best(places, np.exp2(-np.arange(places.n_items) / half_life), ties)


def mean_log_probabilities(log_odds: Any, history: Any, hidden: Any) -> np.ndarray:
    """Mean log-probability of a row's hidden items, probabilities made to sum to one over its candidates.

    One value per row with hidden items, as in `place_hidden`; -inf where a hidden item was held impossible.
    For scores that are log odds, such as those of `item_scores`.

    >>> log_odds = np.log([[0.6, 0.3, 0.1]]) - np.log([[0.4, 0.7, 0.9]])
    >>> round(float(np.exp(mean_log_probabilities(log_odds, history=[[1, 0, 0]], hidden=[[0, 1, 0]])[0])), 4)
    0.75
    """
    log_odds, history, hidden = _checked(log_odds, history, hidden)
    log_p = np.minimum(log_odds, 0.0) - np.log1p(np.exp(-np.abs(log_odds)))
    log_p[_row_of(history), history.indices] = -np.inf
    top = np.maximum(log_p.max(axis=1), np.finfo(float).min)
    total = np.exp(log_p - top[:, None]).sum(axis=1)  # 0 where no candidate is possible: the hidden ones stay so
    log_total = top + np.log(np.where(total > 0, total, 1.0))
    row = _row_of(hidden)
    sums = np.bincount(row, weights=log_p[row, hidden.indices] - log_total[row], minlength=len(log_p))
    n_hidden = np.diff(hidden.indptr)
    return sums[n_hidden > 0] / n_hidden[n_hidden > 0]


def measure(places: Places, ties: str = "mean") -> dict[str, np.ndarray]:
    """All measures of every query, at their usual lengths.

    >>> sorted(measure(place_hidden([[0.9, 0.7]], history=[[0, 0]], hidden=[[0, 1]])))
    ['auc', 'cf_accuracy', 'doa', 'mrr', 'ndcg@10', 'recall@20']
    """
    return {
        "doa": doa(places),
        "auc": auc(places),
        "mrr": reciprocal_ranks(places, ties),
        "ndcg@10": ndcg_at(places, 10, ties),
        "recall@20": recall_at(places, 20, ties),
        "cf_accuracy": cf_accuracy(places, 10, ties),
    }


# Sums over the hidden items of a query


def _share_of_pairs(places: Places, of_each: np.ndarray) -> np.ndarray:
    """The sum of a count of pairs over the hidden items, as a share of all pairs; 0 where there are none."""
    return _sum_by_query(places, of_each) / np.maximum(places.n_pairs, 1)


def _share_of_best(places: Places, gains: np.ndarray, ties: str) -> np.ndarray:
    """What the hidden items gained, as a share of what they would at the top of the list."""
    return _gained(places, gains, ties) / _up_to(gains)[places.n_hidden]


def _gained(places: Places, gains: np.ndarray, ties: str) -> np.ndarray:
    """The sum of the gains of the places where hidden items stand.

    Level with a hidden item are h hidden items and o others, on places first to first + h + o. On average over all
    orders each gains the mean of these places; the h hidden gain the first h at best and the last h at worst.
    """
    first = places.other_above + places.hidden_above
    h, o = places.hidden_equal, places.other_equal
    start, stop = {"worst": (o, o + h), "mean": (0, o + h), "best": (0, h)}[ties]
    up_to = _up_to(gains)
    return _sum_by_query(places, (up_to[first + stop] - up_to[first + start]) / (stop - start))


def _up_to(gains: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(gains)])


def _sum_by_query(places: Places, of_each: np.ndarray) -> np.ndarray:
    return np.add.reduceat(of_each, places.indptr[:-1]).astype(float)


# What was given


def as_choices(table: Any, name: str = "table", shape: tuple[int, ...] | None = None) -> csr_array:
    """A table of users by items as CSR of bool, true where it is not zero.

    >>> as_choices([[0, 2, 1], [0, 0, 0]]).indices.tolist()
    [1, 2]
    """
    from scipy.sparse import csr_array, issparse

    table = table if issparse(table) else np.asarray(table)
    if table.ndim != 2 or table.dtype.kind not in "biuf" or (shape is not None and table.shape != shape):
        wanted = "2 dimensions" if shape is None else f"shape {shape}"
        raise InputError(f"The {name} must be numbers or bools of {wanted}. Got {table.dtype} of shape {table.shape}.")
    found = csr_array(table)
    if np.isnan(found.data).any():
        raise InputError(f"The {name} must be 0 where an item was not chosen. Got NaN instead; put 0 there.")
    found = csr_array((found.data != 0, found.indices.copy(), found.indptr.copy()), shape=found.shape)
    found.eliminate_zeros()
    return found if found.has_canonical_format else choices_of(_row_of(found), found.indices, found.shape)


def choices_of(row: np.ndarray, item: np.ndarray, shape: tuple[int, int]) -> csr_array:
    """CSR of bool from votes grouped by row: a repeated vote counts once, and a row keeps the order of its votes.

    >>> choices_of(np.array([0, 0, 0, 1]), np.array([2, 1, 2, 0]), (2, 3)).indices.tolist()
    [2, 1, 0]
    """
    from scipy.sparse import csr_array

    _, first = np.unique(row.astype(np.int64) * shape[1] + item, return_index=True)
    first.sort()
    indptr = np.searchsorted(row[first], np.arange(shape[0] + 1))
    return csr_array((np.ones(len(first), bool), item[first], indptr), shape=shape)


def _checked(scores: Any, history: Any, hidden: Any) -> tuple[np.ndarray, csr_array, csr_array]:
    scores = np.asarray(scores)
    if scores.ndim != 2 or scores.dtype.kind not in "biuf":
        raise InputError(f"Scores must be numbers by row and item. Got {scores.dtype} of shape {scores.shape} instead.")
    unknown = np.isnan(scores)
    if unknown.any():
        row, item = np.argwhere(unknown)[0]
        raise InputError(f"Scores must be numbers. Row {row} has NaN for item {item}; give it -inf to rank it last.")
    history, hidden = as_choices(history, "history", scores.shape), as_choices(hidden, "hidden", scores.shape)
    if not hidden.nnz:
        raise InputError("There is nothing to judge: no row has a hidden item.")
    both = history.multiply(hidden)
    if both.nnz:
        row, item = (where[0] for where in both.nonzero())
        raise InputError(f"Item {item} of row {row} is in the history and hidden too: leave it out of one of them.")
    return scores, history, hidden


def _plain(table: csr_array) -> tuple[np.ndarray, np.ndarray]:
    return table.indptr.astype(np.int64), table.indices.astype(np.int64)


def _row_of(table: csr_array) -> np.ndarray:
    """The row of each stored entry."""
    return np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))


# Kernel


@njit(cache=True, nogil=True)
def _stand(scores, history_indptr, history_items, hidden_indptr, hidden_items, counts):
    """Counts (4, hidden) as in `Places`, zeroed before, from scores (rows, items) and two tables in CSR.

    The hidden items of a row are few and get sorted; each of the others is looked up among them.
    """
    other = np.ones(scores.shape[1], np.bool_)
    for row in range(scores.shape[0]):
        start, stop = hidden_indptr[row], hidden_indptr[row + 1]
        if start == stop:
            continue
        known = history_items[history_indptr[row] : history_indptr[row + 1]]
        hidden = hidden_items[start:stop]
        other[known] = False
        other[hidden] = False
        minus = np.sort(-scores[row][hidden])  # best first
        above, equal, hidden_above, hidden_equal = counts[0], counts[1], counts[2], counts[3]
        for item in range(scores.shape[1]):
            if other[item]:
                i = _first_at_least(minus, -scores[row, item])
                if i < minus.size and minus[i] == -scores[row, item]:
                    equal[start + i] += 1
                elif i < minus.size:
                    above[start + i] += 1
        so_far, i = 0, 0
        while i < minus.size:  # one level of equal scores after the other
            so_far += above[start + i]
            level = equal[start + i]
            end = i + 1
            while end < minus.size and minus[end] == minus[i]:
                end += 1
            above[start + i : start + end] = so_far
            equal[start + i : start + end] = level
            hidden_above[start + i : start + end] = i
            hidden_equal[start + i : start + end] = end - i
            so_far += level
            i = end
        other[known] = True
        other[hidden] = True


@njit(cache=True, nogil=True)
def _first_at_least(ascending, x):
    """The first place whose value is at least x, without a branch that the processor could guess wrong."""
    low, length = 0, ascending.size
    while length > 1:
        half = length >> 1
        low += half * (ascending[low + half - 1] < x)
        length -= half
    return low + (ascending[low] < x)
