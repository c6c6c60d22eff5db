"""Votes: who chose what, and when.

A vote is `user, item[, time]`. Users and items are kept under the ids they came with and stand in sorted order
(numbers ascending, text by code point), so that the order of the votes in a file does not matter. The votes
of a user stand together, by time where there is one and as given where there is none.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.data.columns import Columns, columns_of, from_sparse, names_of
from quiltwork.data.dataset import State
from quiltwork.data.labels import Coded, code_numbers
from quiltwork.errors import DataError


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes, grouped by user.

    users, items  ids, sorted
    user, item    (n_votes,) int32 positions among them; ascending by user, then by time
    times         (n_votes,) int64, float64 or datetime64, or None
    """

    users: tuple[State, ...]
    items: tuple[State, ...]
    user: np.ndarray
    item: np.ndarray
    times: np.ndarray | None = None

    @cached_property
    def indptr(self) -> np.ndarray:
        """(n_users + 1,): the votes of user u are those from indptr[u] to indptr[u + 1]."""
        return np.searchsorted(self.user, np.arange(len(self.users) + 1))

    def table(self, items: Sequence[str] | None = None) -> Columns:
        """The sparse table of users by items, one where a user chose an item at least once; `Encoder` takes it.

        items  names of the columns, chosen by somebody or not, such as a model's; without it, the items of the votes

        >>> votes = read_votes([("ann", "tea"), ("bob", "rum"), ("ann", "tea")])
        >>> votes.table(), votes.table(["gin", "rum", "tea"])
        (Columns(2 rows, 2 columns), Columns(2 rows, 3 columns))
        """
        from scipy.sparse import coo_array

        names = [str(item) for item in self.items]
        columns = names if items is None else list(items)
        place = {name: column for column, name in enumerate(columns)}
        column_of = np.array([place.get(name, -1) for name in names], np.int64)[self.item]
        known = column_of >= 0
        once = np.unique(self.user[known].astype(np.int64) * len(columns) + column_of[known])
        where = np.divmod(once, len(columns))
        matrix = coo_array((np.ones(len(once), np.uint8), where), shape=(len(self.users), len(columns)))
        return from_sparse(matrix, columns, self.users)

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        return f"Votes({len(self)} votes, {len(self.users)} users, {len(self.items)} items)"


def is_votes(table: Any) -> bool:
    """Whether a table has the columns of votes, user and item and perhaps time, in any order, and no others.

    >>> is_votes({"item": ["tea"], "user": ["ann"]}), is_votes({"user": ["ann"], "age": [40]})
    (True, False)
    """
    return set(names_of(table)) in ({"user", "item"}, {"user", "item", "time"})


def read_votes(source: Any) -> Votes:
    """Votes from a file or a table with the columns user, item and perhaps time, or from a list of such tuples.

    Times are numbers, dates, or text as in ISO 8601. Other columns are not read.

    >>> votes = read_votes([("bob", "rum", 2), ("ann", "tea", 5), ("ann", "gin", 3)])
    >>> votes.users, votes.items
    (('ann', 'bob'), ('gin', 'rum', 'tea'))
    >>> votes.item[votes.indptr[0] : votes.indptr[1]].tolist(), votes.times.tolist()
    ([0, 2], [3, 5, 2])
    """
    table = _vote_columns(source)
    users, user = _ids(table, "user")
    items, item = _ids(table, "item")
    times = _times(table) if "time" in table.names else None
    order = np.lexsort((user,) if times is None else (times, user))  # stable: equal times stay as given
    return Votes(users, items, user[order], item[order], None if times is None else times[order])


def _vote_columns(source: Any) -> Columns:
    if isinstance(source, (str, os.PathLike)):
        from quiltwork.data.read import read_table

        source = read_table(source)
    columns = columns_of(source)
    if not columns.named and len(columns.names) in (2, 3):
        columns = replace(columns, names=("user", "item", "time")[: len(columns.names)])
    for name in ("user", "item"):
        if name not in columns.names:
            raise DataError(
                f"Votes need a column {name!r}, beside 'user', 'item' and perhaps 'time'; this table has "
                f"{', '.join(map(repr, columns.names[:6]))}."
            )
    return columns


def _ids(table: Columns, name: str) -> tuple[tuple[State, ...], np.ndarray]:
    """The ids of a column, sorted, and each row's place among them."""
    part = table.part(name)
    codes, labels, _ = part if isinstance(part, Coded) else code_numbers(name, part)
    absent = np.flatnonzero(codes < 0)
    if len(absent):
        raise DataError(f"Column {name!r} has no id in row {absent[0]}: leave such votes out.")
    if not all(isinstance(label, (str, int)) and not isinstance(label, bool) for label in labels):
        raise DataError(f"Column {name!r} must hold ids, which are text or integers. Got {labels[0]!r} instead.")
    used = np.unique(codes)
    order = sorted(used.tolist(), key=labels.__getitem__)
    place = np.zeros(len(labels), np.int32)
    place[order] = np.arange(len(order))
    return tuple(labels[code] for code in order), place[codes]


def _times(table: Columns) -> np.ndarray:
    part = table.part("time")
    if isinstance(part, Coded):
        moments = np.array([_moment(label) for label in part.labels] + ["NaT"], "datetime64[us]")
        times = moments[part.codes]  # a code of -1 takes the last
        bad = np.isnat(times)
    else:
        times = np.asarray(part)
        bad = ~np.isfinite(times)
    if bad.any():
        row, got = _unreadable(part, np.flatnonzero(bad))
        raise DataError(
            f"Column 'time' must be a number, a date or ISO 8601 text in every row. Row {row} has {got!r} instead."
            if got is not None
            else f"Column 'time' has no time in row {row}: leave such votes out, or the whole column."
        )
    return times


def _unreadable(part: np.ndarray | Coded, rows: np.ndarray) -> tuple[int, State | None]:
    """The row to blame and what it has: rather a word than a number, for one word makes text of all the numbers."""
    if not isinstance(part, Coded):
        return int(rows[0]), None
    labels = (*part.labels, None)  # a code of -1 takes the last
    blamed = next((row for row in rows if not _is_number(labels[part.codes[row]])), rows[0])
    return int(blamed), labels[part.codes[blamed]]


def _is_number(label: State | None) -> bool:
    try:
        return label is not None and math.isfinite(float(label))
    except ValueError:
        return False


def _moment(label: State) -> np.datetime64:
    try:
        moment = datetime.datetime.fromisoformat(str(label))
    except ValueError:
        return np.datetime64("NaT")
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(moment)
