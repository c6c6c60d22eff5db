"""Mutual information, one row of the matrix of all pairs at a time: counted, weighed and forgotten.

What an edge between u and v is worth is the log-likelihood that it gains, m times their mutual information:

    m I(u; v) = sum of f(n_uv) over cells - sum of f(n_u) and of f(n_v) over states + f(m),  where f(x) = x log x

Counts are those of the rows and of N rows more that are spread evenly over all states, whichever two variables are
looked at: a cell gets N / (states of u * states of v). Marginals of smoothed tables then agree with each other.

Every f(x) is rounded to a multiple of one power of two, small enough not to matter and large enough that no sum ever
needs rounding. So a worth does not depend on the order of its terms, and pairs whose tables hold the same numbers tie
exactly.

A row of binary variables is one sweep of bits, or, where the ones are few, a visit to the rows that hold them; either
way four look-ups in a table of f per pair. With weights or more states, rows that hold few states beyond the first are
visited too; others count families (see `families`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from quiltwork.data.bits import count_both, lowest_bit
from quiltwork.data.dataset import Dataset
from quiltwork.stats.families import Arrays, count_candidates, state_counts

Run = Callable[[Callable[[int], None], int], None]
Row = Callable[[int, np.ndarray], None]  # (variable, out): what it is worth to join it with each variable, into out

_SHARED_ENTRIES = 2**21  # words of one sweep, above which it is shared among threads
_BLOCKS = 16  # parts of a shared sweep
_BITS_A_VISIT = 192  # bits of one plane with another that are swept in the time of a visit
_FEWEST_CELLS = 8  # for each that is listed


def information_rows(data: Dataset, smoothing: float, run: Run) -> Row:
    """A function (v, out) that writes m I(v; u) of every variable u into out (n_vars,).

    It is 0 with a variable that is constant in these rows, and with v itself. `smoothing` is N, above; `run` calls
    numbered tasks, perhaps in threads.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> a, b, c = np.array([0, 1, 1, 0]), np.array([0, 1, 1, 0]), np.array([1, 0, 1, 0])
    >>> data = from_codes([Variable(name, (0, 1)) for name in "abc"], [a, b, c])
    >>> worth = np.empty(3)
    >>> information_rows(data, 0.0, lambda task, n: [task(i) for i in range(n)])(0, worth)
    >>> worth.round(6)
    array([0.      , 2.772589, 0.      ])
    """
    total = data.total + smoothing
    grain = 2.0 ** (np.ceil(np.log2(total * np.log(total + 2.0))) - 51)
    counts = state_counts(data)
    first_state = np.concatenate([[0], np.cumsum(data.n_states)])
    own = _terms(counts + np.repeat(smoothing / data.n_states, data.n_states), grain)
    own = np.add.reduceat(own, first_state[:-1])
    varies = np.add.reduceat(counts > 0, first_state[:-1]) > 1
    whole = float(_terms(np.array([total]), grain)[0])
    if data.weights is None and (data.n_states <= 2).all():
        term = _terms(np.arange(data.n_samples + 1.0) + smoothing / 4.0, grain)
        ones = counts[first_state[1:] - 1].astype(np.int64)  # of a variable with one state they are not looked at
        return _binary_rows(data, ones, own, varies, term, whole, run)
    return _other_rows(data, counts, own, varies, smoothing, grain, whole, run)


def _binary_rows(
    data: Dataset, ones: np.ndarray, own: np.ndarray, varies: np.ndarray, term: np.ndarray, whole: float, run: Run
) -> Row:
    m, n_vars = data.n_samples, data.n_vars
    n_words = data.planes.shape[1]
    together = np.empty(n_vars, np.int32)
    items = data.ones
    visits = np.inf if items is None else float((np.diff(items.indptr).astype(np.float64) ** 2).sum())
    if items is not None and visits < n_vars * n_vars * n_words / 8:  # nanoseconds of each way
        by_item = items.tocsc()
        arrays = [a.astype(np.int64) for a in (items.indptr, items.indices, by_item.indptr, by_item.indices)]

        def sparse_row(v: int, out: np.ndarray) -> None:
            _count_visits(*arrays, v, together)
            _weigh_binary(m, v, 0, n_vars, ones, varies, own, term, whole, together, out)

        return sparse_row

    def dense_row(v: int, out: np.ndarray) -> None:
        def part(low: int, high: int) -> None:
            _count_ones(data.planes, data.first_plane, v, low, high, together)
            _weigh_binary(m, v, low, high, ones, varies, own, term, whole, together, out)

        _in_parts(part, n_vars, n_vars * n_words, run)

    return dense_row


def _other_rows(
    data: Dataset, counts: np.ndarray, own: np.ndarray, varies: np.ndarray, smoothing: float, grain: float,
    whole: float, run: Run,
) -> Row:  # fmt: skip
    arrays = Arrays.of(data)
    nobody = np.empty(0, np.int64)
    listed = _list_by_row(arrays)
    if listed is not None:
        first_state = np.concatenate([[0], np.cumsum(data.n_states)])
        beyond = np.delete(counts, first_state[:-1])  # of the states beyond the first

        def visiting_row(v: int, out: np.ndarray) -> None:
            joint = np.zeros((data.n_states[v], len(beyond)))
            _visit_rows(*_columns(arrays), arrays.weights, *listed, v, joint)
            joint[0] = beyond - joint.sum(axis=0)
            count = counts[first_state[v] : first_state[v + 1]]
            _weigh(v, 0, data.n_vars, data.n_states, count, joint, varies, own, smoothing, grain, whole, out)

        return visiting_row

    def row(v: int, out: np.ndarray) -> None:
        def part(low: int, high: int) -> None:
            _, _, count, joint = count_candidates(*arrays.swept(), v, nobody, low, high)
            _weigh(v, low, high, data.n_states, count, joint, varies, own, smoothing, grain, whole, out)

        _in_parts(part, data.n_vars, data.n_samples * data.n_vars // 16, run)

    return row


def _list_by_row(arrays: Arrays) -> tuple[np.ndarray, np.ndarray] | None:
    """The states beyond the first that each row holds, by column of counts: where each row begins, and the list.

    None where rows hold so many of them that sweeping the columns is cheaper than visiting, or the list would be large.
    """
    n_columns, n_vars = int(arrays.first_column[-1]), len(arrays.n_states)
    held = np.zeros(arrays.n_samples, np.int64)
    _list_states(*_columns(arrays), held, np.empty(0, np.int32))
    visits, swept = float((held.astype(np.float64) ** 2).sum()), n_columns**2 * arrays.n_samples / _BITS_A_VISIT
    if held.sum() * _FEWEST_CELLS > n_vars * arrays.n_samples or (arrays.weights.size == 0 and visits > swept):
        return None
    first_item = np.concatenate([[0], np.cumsum(held)])
    items = np.empty(first_item[-1], np.int32)
    _list_states(*_columns(arrays), first_item[:-1].copy(), items)
    return first_item, items


def _columns(arrays: Arrays) -> tuple[np.ndarray, ...]:
    return arrays.planes, arrays.first_plane, arrays.codes, arrays.code_row, arrays.first_column


def _in_parts(part: Callable[[int, int], None], n: int, size: int, run: Run) -> None:
    """part(low, high) over all of range(n): at once, or shared among threads where it is long."""
    if size < _SHARED_ENTRIES:
        part(0, n)
        return
    ends = [n * k // _BLOCKS for k in range(_BLOCKS + 1)]
    run(lambda k: part(ends[k], ends[k + 1]), _BLOCKS)


# Kernels: counts in, worths out


@njit(cache=True, nogil=True)
def _count_ones(planes, first_plane, v, low, high, together):
    """together[u]: rows that are one in the planes of both v and u, for u in [low, high)."""
    if first_plane[v] == first_plane[v + 1]:
        return
    mine = planes[first_plane[v]]
    for u in range(low, high):
        if first_plane[u] < first_plane[u + 1]:
            together[u] = count_both(mine, planes[first_plane[u]])


@njit(cache=True, nogil=True)
def _count_visits(first_item, items, first_row, rows, v, together):
    """together[u]: rows with ones of both v and u, by visiting every one of the rows of v."""
    together[:] = 0
    for k in range(first_row[v], first_row[v + 1]):
        i = rows[k]
        for j in range(first_item[i], first_item[i + 1]):
            together[items[j]] += 1


@njit(cache=True, nogil=True)
def _list_states(planes, first_plane, codes, code_row, first_column, at, items):
    """Write the column of every state beyond the first into items, at[i] onwards for row i, and move at[i] on.

    With no room in items, at (rows,) is all that moves.
    """
    for v in range(code_row.size):
        first = first_column[v]
        if code_row[v] >= 0:
            column = codes[code_row[v]]
            for i in range(column.size):
                if column[i] > 0:
                    if items.size > 0:
                        items[at[i]] = first + column[i] - 1
                    at[i] += 1
        else:
            for p in range(first_plane[v], first_plane[v + 1]):
                for w in range(planes.shape[1]):
                    word = planes[p, w]
                    while word != 0:
                        row = (w << 6) + np.int64(lowest_bit(word))
                        if items.size > 0:
                            items[at[row]] = first + p - first_plane[v]
                        at[row] += 1
                        word &= word - np.uint64(1)


@njit(cache=True, nogil=True)
def _visit_rows(planes, first_plane, codes, code_row, first_column, weights, first_item, items, v, joint):
    """joint[s, c], zeroed: rows, or their weight, in state s >= 1 of v that hold the state of column c."""
    if code_row[v] >= 0:
        column = codes[code_row[v]]
        for i in range(column.size):
            if column[i] > 0:
                _visit_row(weights, first_item, items, i, joint[column[i]])
    else:
        for p in range(first_plane[v], first_plane[v + 1]):
            for w in range(planes.shape[1]):
                word = planes[p, w]
                while word != 0:
                    row = (w << 6) + np.int64(lowest_bit(word))
                    _visit_row(weights, first_item, items, row, joint[p - first_plane[v] + 1])
                    word &= word - np.uint64(1)


@njit(cache=True, nogil=True)
def _visit_row(weights, first_item, items, i, out):
    weight = weights[i] if weights.size > 0 else 1.0
    for k in range(first_item[i], first_item[i + 1]):
        out[items[k]] += weight


@njit(cache=True, nogil=True)
def _weigh_binary(m, v, low, high, ones, varies, own, term, whole, together, out):
    """m I(v; u) from the rows that both have, for u in [low, high); term[k] is f of a cell with k rows."""
    n_v = ones[v]
    rest = whole - own[v]
    for u in range(low, high):
        if not (varies[v] and varies[u]) or u == v:
            out[u] = 0.0
            continue
        both = together[u]
        cells = term[both] + term[n_v - both] + term[ones[u] - both] + term[m - n_v - ones[u] + both]
        out[u] = cells - own[u] + rest


@njit(cache=True, nogil=True)
def _weigh(v, low, high, n_states, count, joint, varies, own, smoothing, grain, whole, out):
    """m I(v; u) for u in [low, high) from the counts of the states of v that occur, as `count_candidates` has them."""
    column = 0
    for u in range(low, high):
        begin, end = column, column + n_states[u] - 1
        column = end
        if not (varies[v] and varies[u]) or u == v:
            out[u] = 0.0
            continue
        extra = smoothing / (n_states[u] * n_states[v])
        empty = n_states[u] * n_states[v]
        cells = 0.0
        for s in range(count.size):
            left = count[s]
            for t in range(begin, end + 1):  # the first state of u comes last, as what the others leave
                n = left if t == end else joint[s, t]
                left -= n
                if n > 0.0:
                    cells += _term(n + extra, grain)
                    empty -= 1
        if extra > 0.0:
            cells += empty * _term(extra, grain)
        out[u] = cells - own[u] - own[v] + whole


@njit(cache=True, nogil=True)
def _terms(x, grain):
    out = np.empty(x.size)
    for k in range(x.size):
        out[k] = _term(x[k], grain)
    return out


@njit(cache=True, nogil=True)
def _term(x, grain):
    """x log x to the nearest multiple of the grain."""
    return np.rint(x * np.log(x) / grain) * grain if x > 0.0 else 0.0
