"""What the kernels of boosting see: tables of indicators, a target under way, its trees, and room to work in.

An *indicator* says whether a variable is in one of its states. A variable of two states has one, for its second; one of
more has one for each. Arrays by row are filled up to whole words of 64 rows.

Symbols  m rows in w words, n indicators, c states of the target but the most frequent one, k leaves at most
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.bits import add_where, full_plane, lowest_bit, pack_codes
from quiltwork.data.dataset import Dataset, physical_memory
from quiltwork.errors import ResourceLimitError
from quiltwork.search.gradient_trees import N_PLANES

_NO_WORDS, _NO_STARTS, _NO_LISTS = np.empty((0, 0), np.uint64), np.empty(0, np.int64), np.empty(0, np.int32)

# Fields of these tuples keep their order: kernels cached on disk know them by place.


class Table(NamedTuple):
    """Rows as indicators.

    planes   (n, w) uint64, the rows that have each indicator
    words    (m, n / 64) uint64, the indicators that each row has; empty if they are in lists, or rows only judged
    starts   (m + 1,) where the list of each row begins; empty if there are none
    lists    int32, the indicators that each row of a sparse table has, ascending
    row_cost of walking a row, where a word of all planes costs 1
    weights  (m,), or empty where every row counts once
    n_rows   m
    """

    planes: np.ndarray
    words: np.ndarray
    starts: np.ndarray
    lists: np.ndarray
    row_cost: float
    weights: np.ndarray
    n_rows: int


class Target(NamedTuple):
    """The boosting of one target under way; `grow_trees` carries it on.

    odds         (c, 64 w) float32 of the rows learned from
    held_odds    the same of the rows held out
    labels       (c, 64 w) uint8, 1 where the row is in the state
    held_labels  (rows held out,) int64, the place of the row's state in odds; c for the most frequent state, -1 for a
                 row that does not count
    candidates   indicators that may be asked about, ascending
    random       (1,) uint64, state of the random numbers
    """

    odds: np.ndarray
    held_odds: np.ndarray
    labels: np.ndarray
    held_labels: np.ndarray
    candidates: np.ndarray
    random: np.ndarray


class Limits(NamedTuple):
    """How trees are grown; n_drawn candidates take part in a round."""

    rate: float
    l2: float
    max_leaves: int
    n_drawn: int


class Trees(NamedTuple):
    """Trees one after another, as in `cpds/boosted.py`, but with indicators, and no value for the most frequent state.

    n_leaves   (rounds,)
    indicator  (nodes,) int32, what a node asks for, -1 for a leaf
    first, branches, flow
    values     (leaves, c) float32
    """

    n_leaves: np.ndarray
    indicator: np.ndarray
    first: np.ndarray
    branches: np.ndarray
    flow: np.ndarray
    values: np.ndarray

    @classmethod
    def room_for(cls, rounds: int, max_leaves: int, n_channels: int) -> Trees:
        n_branches = rounds * (2 * max_leaves - 2)
        return cls(
            n_leaves=np.zeros(rounds, np.int64),
            indicator=np.empty(n_branches + rounds, np.int32),
            first=np.empty(n_branches + rounds, np.int32),
            branches=np.empty(n_branches, np.int32),
            flow=np.empty(n_branches, np.float32),
            values=np.empty((rounds * max_leaves, n_channels), np.float32),
        )

    def cut(self, rounds: int) -> Trees:
        """The first trees."""
        leaves = int(self.n_leaves[:rounds].sum())
        nodes, branches = slice(2 * leaves - rounds), slice(2 * (leaves - rounds))
        parts = self.indicator[nodes], self.first[nodes], self.branches[branches], self.flow[branches]
        return Trees(self.n_leaves[:rounds], *parts, self.values[:leaves])

    @classmethod
    def join(cls, parts: list[Trees]) -> Trees:
        return cls(*(np.concatenate(pieces) for pieces in zip(*parts, strict=True)))

    def apart(self) -> list[Trees]:
        """Each tree alone."""
        leaves = np.cumsum([0, *self.n_leaves]).tolist()
        out = []
        for t, (a, b) in enumerate(pairwise(leaves)):
            nodes, branches = slice(2 * a - t, 2 * b - t - 1), slice(2 * (a - t), 2 * (b - t - 1))
            parts = self.indicator[nodes], self.first[nodes], self.branches[branches], self.flow[branches]
            out.append(Trees(self.n_leaves[t : t + 1], *parts, self.values[a:b]))
        return out

    def merged(self) -> Trees:
        """Trees that ask the same as one tree, whose values are the sums of theirs: few variables, few trees."""
        alike: dict[bytes, list[Trees]] = {}
        for tree in self.apart():
            key = b"".join(part.tobytes() for part in (tree.indicator, tree.first, tree.branches))
            alike.setdefault(key, []).append(tree)
        sums = [same[0]._replace(values=np.sum([tree.values for tree in same], axis=0)) for same in alike.values()]
        return Trees.join([self.cut(0), *sums])


class Scratch(NamedTuple):
    """Room to work in, for one target.

    gradients, slopes  (c, 64 w) int32, rounded
    pairs              (c, 64 w) int64, both of a row in one number
    planes             (c, N_PLANES, w) bit planes of the labels, of p and of the slopes
    masked             (N_PLANES, w) those of one state within a leaf
    sums               (k, c, n_drawn) of pairs, G and H of the rows of each leaf that have each drawn indicator
    totals             (k, c) of all rows of the leaf
    gains, side        (n_drawn,) of the leaf in hand, what each split gains, and the slopes of its one side
    gain, best         (k,) the best of them for each leaf, and its place among the drawn
    masks, held_masks  (k, w) the rows of each leaf
    leaf, held_leaf    (64 w) uint8, the leaf of each row
    drawn              (n_drawn,) the indicators of this round
    by_indicator       (n,) sums of pairs
    node               (k,) the node of each leaf
    question           (2 k - 1,) the indicator that a node asks for, or -1 less the number of its leaf
    branch             (2 k - 1,) the node for yes; that for no is the next
    rows               (2 k - 1,) weight of the rows at a node
    """

    gradients: np.ndarray
    slopes: np.ndarray
    pairs: np.ndarray
    planes: np.ndarray
    masked: np.ndarray
    sums: np.ndarray
    totals: np.ndarray
    gains: np.ndarray
    side: np.ndarray
    gain: np.ndarray
    best: np.ndarray
    masks: np.ndarray
    held_masks: np.ndarray
    leaf: np.ndarray
    held_leaf: np.ndarray
    drawn: np.ndarray
    by_indicator: np.ndarray
    node: np.ndarray
    question: np.ndarray
    branch: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, table: Table, held_out: Table, target: Target, limits: Limits) -> Scratch:
        (c, n_filled), (n, words), held_words = target.labels.shape, table.planes.shape, held_out.planes.shape[1]
        k, drawn = limits.max_leaves, limits.n_drawn
        _refuse_if_huge(8 * k * c * drawn, f"{c + 1} states of a target and {n:,} states of its parents")
        planes = np.zeros((c, N_PLANES, words), np.uint64)
        planes[:, 0] = np.packbits(target.labels, axis=1, bitorder="little").view(np.uint64)
        return cls(
            gradients=np.empty((c, n_filled), np.int32),
            slopes=np.empty((c, n_filled), np.int32),
            pairs=np.empty((c, n_filled), np.int64),
            planes=planes,
            masked=np.empty((N_PLANES, words), np.uint64),
            sums=np.empty((k, c, drawn), np.int64),
            totals=np.empty((k, c), np.int64),
            gains=np.empty(drawn),
            side=np.empty(drawn),
            gain=np.empty(k),
            best=np.empty(k, np.int64),
            masks=np.empty((k, words), np.uint64),
            held_masks=np.empty((k, held_words), np.uint64),
            leaf=np.empty(n_filled, np.uint8),
            held_leaf=np.empty(64 * held_words, np.uint8),
            drawn=np.empty(drawn, np.int64),
            by_indicator=np.empty(n, np.int64),
            node=np.empty(k, np.int64),
            question=np.empty(2 * k - 1, np.int64),
            branch=np.empty(2 * k - 1, np.int64),
            rows=np.empty(2 * k - 1),
        )


def refuse_huge_target(n_channels: int, table: Table, held_out: Table) -> None:
    """Odds, labels, gradients, slopes and their planes, and what computing the first odds takes, for a while."""
    n_bytes = 32.0 * n_channels * (table.n_rows + held_out.n_rows)
    _refuse_if_huge(n_bytes, f"a target of {n_channels + 1:,} states in {table.n_rows + held_out.n_rows:,} rows")


# Indicators


def indicator_states(n_states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The variable and the state of every indicator."""
    own = [np.arange(r) if r > 2 else np.arange(1, r) for r in n_states.tolist()]
    variable = np.repeat(np.arange(len(own)), [len(states) for states in own])
    return variable.astype(np.int32), np.concatenate([np.empty(0), *own]).astype(np.int32)


def tabulate(data: Dataset, to_learn: bool) -> Table:
    """The indicators of all rows; by row too if they are learned from, in lists if they are sparse."""
    variable, _ = indicator_states(data.n_states)
    width = data.planes.shape[1]
    _refuse_huge_table(8 * width * len(variable), data, len(variable))
    planes = data.planes
    if (data.n_states > 2).any():
        planes = np.empty((len(variable), width), np.uint64)
        for v, r in enumerate(data.n_states.tolist()):
            planes[variable == v] = _planes_of(data, v)[int(r == 2) :] if r > 1 else 0
    weights = np.empty(0) if data.weights is None else data.weights
    table = Table(planes, _NO_WORDS, _NO_STARTS, _NO_LISTS, 0.0, weights, data.n_samples)
    if not to_learn:
        return table
    n_words, n_ones = (len(variable) + 63) // 64, int(np.bitwise_count(planes).sum())
    ones_per_row = n_ones / data.n_samples
    # A word is 64 additions; a list costs a jump that no processor foresees, and less for each entry.
    words_cost, lists_cost = 20.0 * n_words, 60.0 + 3.0 * ones_per_row
    if words_cost <= lists_cost:
        _refuse_huge_table(8 * n_words * data.n_samples, data, len(variable))
        return with_words(table._replace(row_cost=words_cost))
    _refuse_huge_table(4 * n_ones, data, len(variable))
    return with_lists(table._replace(row_cost=lists_cost))


def with_words(table: Table) -> Table:
    """The rows as words of indicators."""
    words = np.zeros((table.n_rows, (len(table.planes) + 63) // 64), np.uint64)
    _turn(table.planes, words)
    return table._replace(words=words, starts=_NO_STARTS, lists=_NO_LISTS)


def with_lists(table: Table) -> Table:
    """The rows as lists of indicators."""
    ends = np.zeros(table.n_rows, np.int64)
    _count(table.planes, ends)
    starts = np.concatenate([[0], np.cumsum(ends)])
    lists = np.empty(starts[-1], np.int32)
    _list(table.planes, starts[:-1].copy(), lists)
    return table._replace(words=_NO_WORDS, starts=starts, lists=lists)


def _planes_of(data: Dataset, v: int) -> np.ndarray:
    """(states, words) of one variable, its first state included."""
    planes = np.zeros((data.n_states[v], data.planes.shape[1]), np.uint64)
    if data.code_row[v] >= 0:
        pack_codes(data.codes[data.code_row[v]], planes[1:])
    else:
        planes[1:] = data.planes[data.first_plane[v] : data.first_plane[v + 1]]
    planes[0] = full_plane(data.n_samples) & ~np.bitwise_or.reduce(planes[1:], axis=0)
    return planes


def _refuse_huge_table(n_bytes: float, data: Dataset, n_indicators: int) -> None:
    _refuse_if_huge(n_bytes, f"{data.n_samples:,} rows of variables with {n_indicators:,} states in all")


def _refuse_if_huge(n_bytes: float, of_what: str) -> None:
    if n_bytes > physical_memory() / 2:
        raise ResourceLimitError(
            f"Boosting takes {n_bytes / 2**30:.1f} GB for {of_what}, more than half this machine's memory: leave out "
            "the variables of most states, or take a sample of the rows."
        )


@njit(cache=True, nogil=True)
def _turn(planes, words):
    """The bits of planes (n, w) into words (m, n / 64), zeroed."""
    for f in range(planes.shape[0]):
        bit = np.uint64(1) << np.uint64(f & 63)
        for w in range(planes.shape[1]):
            word = planes[f, w]
            while word != 0:
                words[(w << 6) + np.int64(lowest_bit(word)), f >> 6] |= bit
                word &= word - np.uint64(1)


@njit(cache=True, nogil=True)
def _count(planes, counts):
    """Ones of each row of planes (n, w), added to counts (m,)."""
    for f in range(planes.shape[0]):
        add_where(planes[f], 1, counts)


@njit(cache=True, nogil=True)
def _list(planes, ends, lists):
    """The ones of each row of planes (n, w) into its list, from ends (m,) on, which move to where the list ends."""
    for f in range(planes.shape[0]):
        for w in range(planes.shape[1]):
            word = planes[f, w]
            while word != 0:
                i = (w << 6) + np.int64(lowest_bit(word))
                lists[ends[i]] = f
                ends[i] += 1
                word &= word - np.uint64(1)
