"""Who is shown what: the ways to test a ranker on choices it has not seen.

A query is a history to score and the items hidden from it. Three protocols make queries of the rows of users that the
ranker was not learned from, and one takes folds as they are given:

all_but_1   one item of each user is hidden (Breese, Heckerman, Kadie 1998; section 6.1.2 of the hybrid-random-field
            paper): a random one, the "first" one, or, in turn, every one ("fair": no luck in which one it was)
given_k     k random items are the history and the rest is hidden; the paper of dependency networks takes 2, 5 and 10
row_folds   cross-validation by row: learn from four fifths of the users, ask about the others by one of the above
given_fold  a pair of training and test votes of the same users, such as u1.base and u1.test of MovieLens

A ranker is any function from histories (CSR of bool, users by items) to scores (larger is better), so that models,
nearest neighbours and walks on graphs are judged alike:

    evaluate(lambda histories: item_scores(model, histories), queries).means()

A table of choices is what `read_votes` gives, or a matrix of users by items, dense or sparse, not zero where chosen.
A user with too few items to keep a history and to hide one is not asked.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.data.dataset import physical_memory
from quiltwork.data.votes import Votes
from quiltwork.errors import DataWarning, InputError, ResourceLimitError
from quiltwork.params import Choice, Integer, Param
from quiltwork.rank.metrics import (
    TIES,
    Places,
    as_choices,
    choices_of,
    join_places,
    mean_log_probabilities,
    measure,
    place_hidden,
)
from quiltwork.rng import seed_of, stream

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ranker = Callable[["csr_array"], np.ndarray]

WHICH = Param("which", "random", (Choice(("random", "first", "fair")),), "which item of a user is hidden")
GIVEN = Param("k", 5, (Integer(1),), "items in the history of each user")
FOLDS = Param("n_folds", 5, (Integer(2),), "parts that the rows fall into")
BLOCK_ENTRIES = 2**24  # scores held at once: 128 MB
ENTRY_BYTES = 32  # of one item of one history, while queries are made


@dataclass(frozen=True, eq=False)
class Queries:
    """Histories to score, and what is hidden from each.

    histories  (n_queries, n_items) CSR of bool
    hidden     (n_queries, n_items) CSR of bool, at least one item in each row, none of them in the history
    users      (n_queries,) int64: the row of the user in the table that was asked about; some may have several queries
    """

    histories: csr_array
    hidden: csr_array
    users: np.ndarray

    def __post_init__(self) -> None:
        if not self.histories.shape == self.hidden.shape == (len(self.users), self.hidden.shape[1]):
            raise InputError(
                f"Queries need as many histories, hidden rows and users. Got shapes {self.histories.shape}, "
                f"{self.hidden.shape} and {self.users.shape} instead."
            )
        empty = np.flatnonzero(np.diff(self.hidden.indptr) == 0)
        if len(empty):
            raise InputError(f"A query must have a hidden item. Query {empty[0]} has none; leave it out.")

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        return f"Queries({len(self)} of {len(np.unique(self.users))} users, {self.hidden.nnz} hidden items)"


@dataclass(frozen=True, eq=False)
class Fold:
    """What to learn from, and what to ask then.

    train    (n_rows, n_items) CSR of bool
    queries  about the same items
    items    names of the columns where they are known, or None
    """

    train: csr_array
    queries: Queries
    items: tuple[str, ...] | None = None


# Judging


def evaluate(ranker: Ranker, queries: Queries, ties: str = "mean", log_odds: bool = False) -> RankingReport:
    """Score every query and judge the lists.

    ranker    histories (CSR of bool) -> scores (rows, items), larger is better; what it says of the history is not read
    ties      the order of equal scores: "worst", "mean" or "best", see `quiltwork.rank.metrics`
    log_odds  whether scores are log odds, so that the report can have the mean "log_probability" too

    >>> import numpy as np
    >>> bought = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1]])
    >>> by_number_of_buyers = lambda histories: np.tile(bought.sum(axis=0), (histories.shape[0], 1))
    >>> evaluate(by_number_of_buyers, all_but_1(bought, "fair")).means()["macro_doa"]
    0.5
    """
    TIES.check("evaluate", ties)
    n_queries, n_items = queries.histories.shape
    step = max(1, BLOCK_ENTRIES // max(1, n_items))
    places, log_probabilities, seconds = [], [], 0.0
    for start in range(0, n_queries, step):
        histories, hidden = queries.histories[start : start + step], queries.hidden[start : start + step]
        began = time.perf_counter()
        scores = ranker(histories)
        seconds += time.perf_counter() - began
        if np.asarray(scores).shape != histories.shape:
            raise InputError(
                f"A ranker must return a dense array of shape {histories.shape}. Got {type(scores).__name__} of shape "
                f"{np.shape(scores)} instead."
            )
        places.append(place_hidden(scores, histories, hidden))
        if log_odds:
            log_probabilities.append(mean_log_probabilities(scores, histories, hidden))
    joined = join_places(places, queries.users)
    values = measure(joined, ties)
    if log_odds:
        values["log_probability"] = np.concatenate(log_probabilities)
    return RankingReport(joined, values, seconds)


@dataclass(frozen=True, eq=False)
class RankingReport:
    """The judgement of one ranker on one set of queries; made by `evaluate`.

    places         where the hidden items stood
    values         measure -> (n_queries,) values
    score_seconds  how long the ranker took
    """

    places: Places
    values: Mapping[str, np.ndarray]
    score_seconds: float = 0.0

    def means(self) -> dict[str, float]:
        """Each measure, averaged over a user's queries and then over users, and micro-DOA.

        >>> places = place_hidden([[0.9, 0.7, 0.8, 0.1]], history=[[1, 0, 0, 0]], hidden=[[0, 1, 0, 0]])
        >>> {name: round(mean, 3) for name, mean in RankingReport(places, measure(places)).means().items()}
        {'macro_doa': 0.5, 'micro_doa': 0.5, 'auc': 0.5, 'mrr': 0.5, 'ndcg@10': 0.631, 'recall@20': 1.0,
         'cf_accuracy': 93.303}
        """
        _, user, n_queries = np.unique(self.places.users, return_inverse=True, return_counts=True)
        of_users = {name: np.bincount(user, weights=values) / n_queries for name, values in self.values.items()}
        means = {name: float(values.mean()) for name, values in of_users.items()}
        pairs = self.places.n_pairs
        micro = float(np.average(self.values["doa"], weights=pairs)) if pairs.any() else 1.0
        return {"macro_doa": means.pop("doa"), "micro_doa": micro, **means}


def over_folds(reports: Sequence[RankingReport]) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation (of a sample; 0 of one fold) of each average over folds.

    >>> lists = [[0.9, 0.7, 0.8]], [[0.9, 0.8, 0.7]]
    >>> folds = [place_hidden(scores, history=[[1, 0, 0]], hidden=[[0, 1, 0]]) for scores in lists]
    >>> over_folds([RankingReport(places, measure(places)) for places in folds])["mrr"]
    (0.75, 0.3535...)
    """
    means = [report.means() for report in reports]
    table = {name: np.array([fold[name] for fold in means]) for name in means[0]}
    return {name: (float(v.mean()), float(v.std(ddof=1)) if len(v) > 1 else 0.0) for name, v in table.items()}


# Protocols


def all_but_1(table: Any, which: str = "random", random_state: object = 0) -> Queries:
    """Hide one item of each user who has two or more.

    which  "random"
           "first": the first vote in the order that `read_votes` keeps, which is that of the file where votes have no
           times; of a matrix, the lowest column
           "fair": every item in turn, each by a query of its own; `evaluate` averages them by user

    >>> queries = all_but_1([[1, 1, 0, 1], [0, 0, 1, 0]], "fair")
    >>> queries.histories.toarray().astype(int).tolist(), queries.hidden.indices.tolist(), queries.users.tolist()
    ([[0, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 0]], [0, 1, 3], [0, 0, 0])
    """
    WHICH.check("all_but_1", which)
    choices = _choices(table)
    n_chosen = np.diff(choices.indptr)
    users = _askable(n_chosen, 2)
    first = choices.indptr[users].astype(np.int64)
    if which == "fair":
        _check_room(n_chosen[users])
        users = np.repeat(users, n_chosen[users])
        entries = np.flatnonzero(np.repeat(n_chosen >= 2, n_chosen))
    elif which == "first":
        entries = first
    else:
        entries = first + stream(seed_of(random_state)).integers(n_chosen[users])
    shown = choices[users]
    is_hidden = shown.indices == np.repeat(choices.indices[entries], n_chosen[users])
    return _split(shown, is_hidden, users)


def given_k(table: Any, k: int = 5, random_state: object = 0) -> Queries:
    """Keep k random items of each user who has more than k as the history, and hide the rest.

    >>> queries = given_k([[1, 1, 1, 0], [0, 1, 1, 0]], k=2)
    >>> queries.users.tolist(), queries.histories.sum(axis=1).tolist(), queries.hidden.sum(axis=1).tolist()
    ([0], [2], [1])
    """
    GIVEN.check("given_k", k)
    choices = _choices(table)
    n_chosen = np.diff(choices.indptr)
    users = _askable(n_chosen, k + 1)
    shown = choices[users]
    row = np.repeat(np.arange(len(users)), n_chosen[users])
    shuffled = np.lexsort((stream(seed_of(random_state)).random(len(row)), row))
    is_hidden = np.ones(len(row), bool)
    for place in range(k):
        is_hidden[shuffled[shown.indptr[:-1] + place]] = False
    return _split(shown, is_hidden, users)


def row_folds(table: Any, ask: Callable[[Any], Queries], n_folds: int = 5, random_state: object = 0) -> Iterator[Fold]:
    """Cross-validation by row: learn from the rows of the other parts, ask about the users of one part.

    ask  a protocol, from rows to queries, such as `all_but_1` or `lambda rows: given_k(rows, 2)`

    >>> folds = row_folds(np.ones((10, 4)), all_but_1, n_folds=5)
    >>> [(fold.train.shape[0], len(fold.queries)) for fold in folds]
    [(8, 2), (8, 2), (8, 2), (8, 2), (8, 2)]
    """
    FOLDS.check("row_folds", n_folds)
    choices = _choices(table)
    n_rows = choices.shape[0]
    if n_rows < n_folds:
        raise InputError(f"{n_rows} rows cannot be split into {n_folds} folds: ask for at most {n_rows}.")
    names = tuple(map(str, table.items)) if isinstance(table, Votes) else None
    for part in np.array_split(stream(seed_of(random_state)).permutation(n_rows), n_folds):
        asked = ask(choices[part])
        train = choices[np.setdiff1d(np.arange(n_rows), part)]
        yield Fold(_sorted(train), Queries(asked.histories, asked.hidden, part[asked.users]), names)


def given_fold(train: Any, test: Any) -> Fold:
    """Learn from all training votes; show each user's training votes, hide the test votes.

    Two `Votes` are matched by what their ids print, so 7 and "7" are one item, and the columns are the items of both.
    Two matrices must have the same shape. A test vote for an item that the user already chose in training cannot be
    predicted and is left out with a warning.

    >>> from quiltwork.data.votes import read_votes
    >>> fold = given_fold(read_votes([("ann", "tea"), ("bob", "rum")]), read_votes([("ann", "gin")]))
    >>> fold.items, fold.train.shape, fold.queries
    (('gin', 'rum', 'tea'), (2, 3), Queries(1 of 1 users, 1 hidden items))
    """
    names = None
    if isinstance(train, Votes) and isinstance(test, Votes):
        users, names = _all_ids(train.users, test.users), _all_ids(train.items, test.items)
        known, wanted = _choices(train, users, names), _choices(test, users, names)
        learned = known[np.flatnonzero(np.diff(known.indptr))]
    else:
        learned = known = as_choices(train, "training votes")
        wanted = as_choices(test, "test votes", known.shape)
    again = wanted.multiply(known)
    if again.nnz:
        warnings.warn(
            f"{again.nnz} test vote(s) are for items that the same user chose in training; they were left out.",
            DataWarning,
            stacklevel=2,
        )
        wanted = (wanted > known).tocsr()
    asked = _askable(np.diff(wanted.indptr), 1)
    return Fold(_sorted(learned), Queries(_sorted(known[asked]), _sorted(wanted[asked]), asked), names)


# Tables of choices


def _choices(table: Any, users: tuple[str, ...] | None = None, items: tuple[str, ...] | None = None) -> csr_array:
    """Users by items, CSR of bool; the items of a user stand in the order of the votes."""
    if not isinstance(table, Votes):
        return as_choices(table)
    if users is None or items is None:
        return choices_of(table.user, table.item, (len(table.users), len(table.items)))
    row, item = _places_in(users, table.users)[table.user], _places_in(items, table.items)[table.item]
    order = np.argsort(row, kind="stable")
    return choices_of(row[order], item[order], (len(users), len(items)))


def _all_ids(*ids: tuple[Any, ...]) -> tuple[str, ...]:
    """The ids of several tables as text: numbers ascending where all are numbers, else by code point."""
    found = {str(one): one for some in ids for one in some}
    numbers = all(isinstance(one, int) for one in found.values())
    return tuple(sorted(found, key=int if numbers else None))


def _places_in(names: tuple[str, ...], ids: tuple[Any, ...]) -> np.ndarray:
    place = {name: p for p, name in enumerate(names)}
    return np.array([place[str(one)] for one in ids], np.int64)


def _askable(n_chosen: np.ndarray, needed: int) -> np.ndarray:
    users = np.flatnonzero(n_chosen >= needed)
    if not len(users):
        raise InputError(f"There is nobody to ask: no user has {needed} items or more.")
    return users


def _check_room(n_chosen: np.ndarray) -> None:
    """Every item of a user in turn takes room for the square of their number."""
    needed = ENTRY_BYTES * float((n_chosen.astype(float) ** 2).sum())
    if needed > physical_memory():
        raise ResourceLimitError(
            f"{n_chosen.sum():,} removals take {needed / 2**30:.1f} GB, and this machine has "
            f"{physical_memory() / 2**30:.1f} GB: take which='random', or fewer users."
        )


def _split(shown: csr_array, is_hidden: np.ndarray, users: np.ndarray) -> Queries:
    """Queries from rows of choices and a mark on each entry that is to be hidden."""
    return Queries(_keep(shown, ~is_hidden), _keep(shown, is_hidden), users)


def _keep(table: csr_array, kept: np.ndarray) -> csr_array:
    from scipy.sparse import csr_array

    before = np.concatenate([[0], np.cumsum(kept)])
    part = csr_array((np.ones(before[-1], bool), table.indices[kept], before[table.indptr]), shape=table.shape)
    return _sorted(part)


def _sorted(table: csr_array) -> csr_array:
    """The same with ascending columns in every row, as other code expects; votes lose their order."""
    table = table.copy()
    table.sort_indices()
    return table
