"""Family counts: how often each state of a child meets each configuration of its parents.

Two questions are answered here. `count_family` counts one family into a dense table, for parameters.
`count_candidates` counts, for a child and its parents, the families that come of adding each other
variable as one more parent: the inner loop of every greedy search over graphs.

Rows fall into *cells*, one per pair (configuration, child state) that occurs. Few cells are kept as bit
masks, and a candidate costs one AND + popcount sweep per cell and state. Many cells are kept as one
cell number per row, and a candidate costs one visit per row. Which is cheaper is a matter of a few
multiplications (`_masks_pay`). Cells come in ascending order either way, so the counts are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numba import njit

from quiltwork.data.bits import add_where, count_both, count_eight, count_ones, full_plane, lowest_bit, popcount
from quiltwork.data.dataset import Dataset
from quiltwork.errors import ResourceLimitError

STRETCH = 256  # words of a plane that are swept at a time
SHORT_COLUMN = 64  # words: below this a sweep across the planes beats one along each
MAX_TABLE = 2**26  # entries of one dense table: 512 MB
MAX_CONFIGS = 2**52  # configurations are numbered in int64, and multiplied by the states of the child


@dataclass(frozen=True)
class Arrays:
    """A Dataset as the plain arrays that kernels take."""

    planes: np.ndarray
    first_plane: np.ndarray
    n_states: np.ndarray
    codes: np.ndarray
    code_row: np.ndarray
    weights: np.ndarray  # empty when every row counts once
    n_samples: int
    by_word: np.ndarray  # (n_words, n_planes), the planes turned round, or empty where sweeping along them pays
    plane_ones: np.ndarray  # (n_planes,) rows in each plane
    ones_per_plane: float  # mean, which decides between masks and rows

    @classmethod
    def of(cls, data: Dataset) -> Arrays:
        ones = _ones_of_planes(data.planes)
        weights = np.empty(0) if data.weights is None else data.weights
        short = data.planes.shape[1] <= SHORT_COLUMN
        by_word = np.ascontiguousarray(data.planes.T) if short else np.empty((0, 0), np.uint64)
        return cls(
            data.planes,
            data.first_plane,
            data.n_states,
            data.codes,
            data.code_row,
            weights,
            data.n_samples,
            by_word,
            ones,
            float(ones.mean()) if len(ones) else 0.0,
        )

    @cached_property
    def first_column(self) -> np.ndarray:
        """Where the states of each variable start in a row of counts: one column per state beyond the first."""
        return np.concatenate([[0], np.cumsum(np.maximum(self.n_states - 1, 0))]).astype(np.int64)

    def swept(self) -> tuple:
        """What `count_candidates` takes before the child."""
        return (*self.plain(), self.by_word, self.plane_ones, self.ones_per_plane, self.first_column)

    def plain(self) -> tuple:
        return (self.planes, self.first_plane, self.n_states, self.codes, self.code_row, self.weights, self.n_samples)


def count_family(arrays: Arrays, child: int, parents: tuple[int, ...]) -> np.ndarray:
    """Counts (n_configs, states of the child), the last parent fastest.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> data = from_codes([Variable("a", (0, 1)), Variable("b", (0, 1))], [np.array([0, 0, 1]), np.array([1, 1, 0])])
    >>> count_family(Arrays.of(data), 1, (0,))
    array([[0., 2.],
           [1., 0.]])
    """
    n_states = [int(arrays.n_states[v]) for v in (*parents, child)]
    check_table(float(prod(n_states)))
    counts = np.zeros(prod(n_states))
    config, state, count = _count_cells(*arrays.plain(), arrays.ones_per_plane, child, np.array(parents, np.int64))
    counts[config * n_states[-1] + state] = count
    return counts.reshape(-1, n_states[-1])


def count_families(arrays: Arrays, first_parent: np.ndarray, parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts of all families of a graph at once: the tables one after another, and where each begins.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> data = from_codes([Variable("a", (0, 1)), Variable("b", (0, 1))], [np.array([0, 0, 1]), np.array([1, 1, 0])])
    >>> count_families(Arrays.of(data), np.array([0, 0, 1]), np.array([0]))
    (array([2., 1., 0., 2., 1., 0.]), array([0, 2, 6]))
    """
    sizes = arrays.n_states.astype(np.float64)  # as floats, for what no integer can hold must stay large
    np.multiply.at(sizes, np.repeat(np.arange(len(sizes)), np.diff(first_parent)), arrays.n_states[parents])
    check_table(float(sizes.sum()))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    counts = np.zeros(starts[-1])
    _count_all(*arrays.plain(), arrays.ones_per_plane, first_parent, parents, starts, counts)
    return counts, starts


def check_table(entries: float) -> None:
    """Refuse tables that would not fit, before they are made."""
    if entries > MAX_TABLE:
        raise ResourceLimitError(
            f"A table with {entries:,.0f} entries ({entries * 8 / 2**30:,.1f} GB) is past the limit of "
            f"{MAX_TABLE:,}: set max_parents, or merge states of the variables with the most states."
        )


def state_counts(data: Dataset) -> np.ndarray:
    """How often each state of each variable occurs, all variables one after another.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> state_counts(from_codes([Variable("a", (0, 1)), Variable("b", ("x", "y"))], [np.array([0, 0, 1]), np.ones(3)]))
    array([2., 1., 0., 3.])
    """
    nobody = np.zeros(data.n_vars + 1, np.int64)
    return count_families(Arrays.of(data), nobody, np.empty(0, np.int64))[0]


# Kernels: bits in, counts out


@njit(cache=True, nogil=True)
def count_candidates(
    planes, first_plane, n_states, codes, code_row, weights, n_samples,
    by_word, plane_ones, ones_per_plane, first_column, child, parents, low, high,
):  # fmt: skip
    """Counts of each cell of the family with each state of the variables u in [low, high).

    Returns cell_config, cell_state, cell_count (cells,) and joint (cells, columns): column
    first_column[u] - first_column[low] + s - 1 holds the rows of the cell that are in state s >= 1 of u.
    """
    by_mask = _masks_pay(n_states, code_row, weights, n_samples, child, parents, ones_per_plane)
    if by_mask:
        cell_id, masks, cell_count = _split_masks(planes, first_plane, n_states, n_samples, child, parents)
        cell_of = _rows_of_masks(masks, n_samples) if codes.shape[0] > 0 else np.empty(0, np.int64)
    else:
        cell_id, cell_of, cell_count = _split_rows(
            planes, first_plane, n_states, codes, code_row, weights, n_samples, child, parents
        )
        masks = np.empty((0, 0), np.uint64)
    joint = np.zeros((cell_id.size, first_column[high] - first_column[low]))
    across = by_mask and by_word.size > 0 and codes.shape[0] == 0
    if across:
        _sweep_across(by_word, first_plane[low], first_plane[high], masks, joint)
        _leave_to_last(plane_ones[first_plane[low] : first_plane[high]], joint)
    elif by_mask and first_plane[high] - first_plane[low] == joint.shape[1]:
        _sweep_along(planes[first_plane[low] : first_plane[high]], masks, joint)
        _leave_to_last(plane_ones[first_plane[low] : first_plane[high]], joint)
    else:
        for u in range(low, high):
            own = joint[:, first_column[u] - first_column[low] : first_column[u + 1] - first_column[low]]
            if code_row[u] >= 0:
                _visit_codes(codes[code_row[u]], cell_of, weights, own)
            elif by_mask:
                _sweep_along(planes[first_plane[u] : first_plane[u + 1]], masks, own)
                _leave_to_last(plane_ones[first_plane[u] : first_plane[u + 1]], own)
            else:
                _visit_bits(planes[first_plane[u] : first_plane[u + 1]], cell_of, weights, own)
    r = n_states[child]
    return cell_id // r, cell_id % r, cell_count, joint


@njit(cache=True, nogil=True)
def _count_cells(planes, first_plane, n_states, codes, code_row, weights, n_samples, ones_per_plane, child, parents):
    """The cells of one family: config, state and count of each that occurs."""
    if _masks_pay(n_states, code_row, weights, n_samples, child, parents, ones_per_plane):
        cell_id, _, count = _split_masks(planes, first_plane, n_states, n_samples, child, parents)
    else:
        cell_id, _, count = _split_rows(
            planes, first_plane, n_states, codes, code_row, weights, n_samples, child, parents
        )
    return cell_id // n_states[child], cell_id % n_states[child], count


@njit(cache=True, nogil=True)
def _count_all(
    planes, first_plane, n_states, codes, code_row, weights, n_samples, ones_per_plane,
    first_parent, parents, starts, counts,
):  # fmt: skip
    """Add the cells of every family to its part of counts."""
    for v in range(n_states.size):
        own = parents[first_parent[v] : first_parent[v + 1]]
        config, state, count = _count_cells(
            planes, first_plane, n_states, codes, code_row, weights, n_samples, ones_per_plane, v, own
        )
        for c in range(count.size):
            counts[starts[v] + config[c] * n_states[v] + state[c]] = count[c]


@njit(cache=True, nogil=True)
def _masks_pay(n_states, code_row, weights, n_samples, child, parents, ones_per_plane):
    """Whether sweeping a mask per cell beats visiting each row: the costs are nanoseconds per plane."""
    if weights.size > 0 or code_row[child] >= 0:
        return False
    cells = float(n_states[child])
    for p in parents:
        cells *= n_states[p]
        if code_row[p] >= 0:
            return False
    return cells * (4.0 + n_samples / 1024.0) <= 20.0 + 1.5 * ones_per_plane


@njit(cache=True, nogil=True)
def _split_masks(planes, first_plane, n_states, n_samples, child, parents):
    """Masks of the cells that occur: cell_id (configuration * r + state) ascending, masks, counts."""
    bound = n_states[child]
    for p in parents:
        bound *= n_states[p]
    bound = min(bound, max(n_samples, 1))
    n_words = planes.shape[1]
    # One row more than there can be cells: a cell that turns out empty is overwritten by the next.
    now, after = np.empty((bound + 1, n_words), np.uint64), np.empty((bound + 1, n_words), np.uint64)
    now_id, after_id = np.empty(bound + 1, np.int64), np.empty(bound + 1, np.int64)
    now[0] = full_plane(n_samples)
    now_id[0] = 0
    n_cells = 1
    for step in range(parents.size + 1):
        v = parents[step] if step < parents.size else child
        first = full_plane(n_samples)  # the rows in the first state of v, which has no plane of its own
        for p in range(first_plane[v], first_plane[v + 1]):
            first &= ~planes[p]
        filled = 0
        for c in range(n_cells):
            for s in range(n_states[v]):
                state = first if s == 0 else planes[first_plane[v] + s - 1]
                here, there = now[c], after[filled]
                some = np.uint64(0)
                for w in range(n_words):
                    there[w] = here[w] & state[w]
                    some |= there[w]
                if some != 0:
                    after_id[filled] = now_id[c] * n_states[v] + s
                    filled += 1
        now, after = after, now
        now_id, after_id = after_id, now_id
        n_cells = filled
    count = np.empty(n_cells)
    for c in range(n_cells):
        count[c] = count_ones(now[c])
    return now_id[:n_cells].copy(), now[:n_cells], count


@njit(cache=True, nogil=True)
def _split_rows(planes, first_plane, n_states, codes, code_row, weights, n_samples, child, parents):
    """The cell of each row: cell_id (configuration * r + state) ascending, cell_of (rows,), counts."""
    raw = np.zeros(n_samples, np.int64)
    n_ids = 1.0
    for step in range(parents.size + 1):
        v = parents[step] if step < parents.size else child
        n_ids *= n_states[v]
        raw *= n_states[v]
        if code_row[v] >= 0:
            for i in range(n_samples):
                raw[i] += codes[code_row[v], i]
        else:
            for s in range(1, n_states[v]):
                add_where(planes[first_plane[v] + s - 1], s, raw)
    if n_ids <= 4.0 * n_samples + 1024.0:
        number = np.full(np.int64(n_ids), -1, np.int64)
        for i in range(n_samples):
            number[raw[i]] = 0
        n_cells = 0
        for k in range(number.size):
            if number[k] == 0:
                number[k] = n_cells
                n_cells += 1
        cell_id = np.empty(n_cells, np.int64)
        for k in range(number.size):
            if number[k] >= 0:
                cell_id[number[k]] = k
        for i in range(n_samples):
            raw[i] = number[raw[i]]
    else:
        cell_id = np.unique(raw)
        for i in range(n_samples):
            raw[i] = np.searchsorted(cell_id, raw[i])
    count = np.zeros(cell_id.size)
    for i in range(n_samples):
        count[raw[i]] += weights[i] if weights.size > 0 else 1.0
    return cell_id, raw, count


@njit(cache=True, nogil=True)
def _rows_of_masks(masks, n_samples):
    """The cell of each row, from the masks of the cells."""
    cell_of = np.zeros(n_samples, np.int64)
    for c in range(1, masks.shape[0]):
        add_where(masks[c], c, cell_of)
    return cell_of


@njit(cache=True, nogil=True)
def _sweep_along(planes, masks, own):
    """own (cells, planes), zeroed: one AND + popcount sweep along the rows per cell but the last, eight at a time.

    In stretches of words, so that four planes and the masks they meet stay in the first-level cache.
    """
    n_planes, n_words = planes.shape
    n_cells = masks.shape[0]
    for w0 in range(0, n_words, STRETCH):
        w1 = min(w0 + STRETCH, n_words)
        for p in range(0, n_planes - 3, 4):
            b0, b1, b2, b3 = planes[p, w0:w1], planes[p + 1, w0:w1], planes[p + 2, w0:w1], planes[p + 3, w0:w1]
            for c in range(0, n_cells - 1, 2):
                n = count_eight(masks[c, w0:w1], masks[c + 1, w0:w1], b0, b1, b2, b3)
                for k in range(4):
                    own[c, p + k] += n[k]
                    own[c + 1, p + k] += n[k + 4]
        for c in range(n_cells - n_cells % 2):  # the planes that are left over
            for p in range(n_planes - n_planes % 4, n_planes):
                own[c, p] += count_both(masks[c, w0:w1], planes[p, w0:w1])


@njit(cache=True, nogil=True)
def _sweep_across(by_word, begin, end, masks, joint):
    """joint (cells but the last, planes from begin to end): for each word of a mask, all planes side by side."""
    n_words = by_word.shape[0]
    ones = np.empty(end - begin, np.uint64)
    for c in range(masks.shape[0] - 1):
        ones[:] = 0
        w = 0
        while w + 4 <= n_words:
            m0, m1, m2, m3 = masks[c, w], masks[c, w + 1], masks[c, w + 2], masks[c, w + 3]
            b0, b1 = by_word[w, begin:end], by_word[w + 1, begin:end]
            b2, b3 = by_word[w + 2, begin:end], by_word[w + 3, begin:end]
            for p in range(ones.size):
                ones[p] += popcount(b0[p] & m0) + popcount(b1[p] & m1) + popcount(b2[p] & m2) + popcount(b3[p] & m3)
            w += 4
        while w < n_words:
            mask, b = masks[c, w], by_word[w, begin:end]
            for p in range(ones.size):
                ones[p] += popcount(b[p] & mask)
            w += 1
        joint[c] = ones


@njit(cache=True, nogil=True)
def _leave_to_last(plane_ones, own):
    """The last cell has what the others leave: every row is in one cell."""
    own[-1] = plane_ones
    for c in range(own.shape[0] - 1):
        for p in range(own.shape[1]):
            own[-1, p] -= own[c, p]


@njit(cache=True, nogil=True)
def _ones_of_planes(planes):
    out = np.empty(planes.shape[0])
    for p in range(planes.shape[0]):
        out[p] = count_ones(planes[p])
    return out


@njit(cache=True, nogil=True)
def _visit_bits(planes, cell_of, weights, own):
    """own (cells, states - 1): one visit per row that is not in the first state."""
    weighted = weights.size > 0
    for s in range(planes.shape[0]):
        for w in range(planes.shape[1]):
            word = planes[s, w]
            while word != 0:
                i = (w << 6) + np.int64(lowest_bit(word))
                own[cell_of[i], s] += weights[i] if weighted else 1.0
                word &= word - np.uint64(1)


@njit(cache=True, nogil=True)
def _visit_codes(codes, cell_of, weights, own):
    """own (cells, states - 1): one visit per row."""
    weighted = weights.size > 0
    for i in range(codes.size):
        if codes[i] > 0:
            own[cell_of[i], codes[i] - 1] += weights[i] if weighted else 1.0
