"""All pairs at once: counts, chi-square and mutual information of every two variables.

Pair counts are kept by plane: n11[i, j] rows are one in plane i and one in plane j, and every cell of the
contingency table of two variables follows from n11, the ones of each plane and the number of rows.
The kernel works in tiles, so that a block of planes stays in the processor's cache while it meets another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from quiltwork.data.bits import count_both, count_eight
from quiltwork.data.dataset import Dataset
from quiltwork.errors import ResourceLimitError

MAX_PAIR_BYTES = 4 * 2**30


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Co-occurrences of all planes; two halves of a table add up: `a + b` counts the rows of both.

    joint        (n_planes, n_planes) int32 rows in both planes; the diagonal is the ones of each plane
    first_plane  (n_vars + 1,) where each variable's planes start
    n_samples    rows counted
    """

    joint: np.ndarray
    first_plane: np.ndarray
    n_samples: int

    def __add__(self, other: PairCounts) -> PairCounts:
        return PairCounts(self.joint + other.joint, self.first_plane, self.n_samples + other.n_samples)

    def table(self, u: int, v: int) -> np.ndarray:
        """The contingency table of two variables, (states of u, states of v)."""
        a, b = slice(*self.first_plane[u : u + 2]), slice(*self.first_plane[v : v + 2])
        inner = self.joint[a, b].astype(np.int64)
        rows, columns = np.diag(self.joint)[a].astype(np.int64), np.diag(self.joint)[b].astype(np.int64)
        if u == v:
            inner = np.diag(rows)
        table = np.zeros((inner.shape[0] + 1, inner.shape[1] + 1), np.int64)
        table[1:, 1:] = inner
        table[1:, 0] = rows - inner.sum(axis=1)
        table[0, 1:] = columns - inner.sum(axis=0)
        table[0, 0] = self.n_samples - table.sum()
        return table


def count_pairs(data: Dataset) -> PairCounts:
    """Pair counts of all variables of a Dataset without weights.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> a, b = np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1])
    >>> count_pairs(from_codes([Variable("a", (0, 1)), Variable("b", (0, 1))], [a, b])).table(0, 1)
    array([[1, 1],
           [0, 2]])
    """
    planes, first_plane = _all_planes(data)
    n_bytes = 4 * len(planes) ** 2
    if n_bytes > MAX_PAIR_BYTES:
        raise ResourceLimitError(
            f"Pair counts of {len(planes):,} planes would take {n_bytes / 2**30:,.1f} GB, past the limit of "
            f"{MAX_PAIR_BYTES / 2**30:.0f} GB: choose fewer variables."
        )
    joint = np.zeros((len(planes), len(planes)), np.int32)
    _count_tiles(planes, joint)
    return PairCounts(joint, first_plane, data.n_samples)


def chi_square(pairs: PairCounts) -> np.ndarray:
    """Pearson's chi-square of every pair, (n_vars, n_vars) with a zero diagonal, without Yates' correction.

    A constant column has chi-square 0 with every other.
    """
    return _over_pairs(pairs.joint, pairs.first_plane, pairs.n_samples, True)


def mutual_information(pairs: PairCounts) -> np.ndarray:
    """Mutual information of every pair in nats, (n_vars, n_vars) with a zero diagonal."""
    return _over_pairs(pairs.joint, pairs.first_plane, pairs.n_samples, False)


def _all_planes(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Planes of all variables, also of those kept as codes."""
    if data.codes.shape[0] == 0:
        return data.planes, data.first_plane
    from quiltwork.data.bits import pack_codes

    first_plane = np.concatenate([[0], np.cumsum(np.maximum(data.n_states - 1, 0))]).astype(np.int64)
    planes = np.zeros((first_plane[-1], data.planes.shape[1]), np.uint64)
    for v in range(data.n_vars):
        target = planes[first_plane[v] : first_plane[v + 1]]
        if data.code_row[v] >= 0:
            pack_codes(data.codes[data.code_row[v]], target)
        else:
            target[:] = data.planes[data.first_plane[v] : data.first_plane[v + 1]]
    return planes, first_plane


# Kernels: planes in, pair statistics out


@njit(cache=True, nogil=True)
def _count_tiles(planes, joint):
    """joint (planes, planes) int32: every pair once, two planes with four at a time."""
    n_planes, n_words = planes.shape
    tile = 32
    stretch = 512  # words: 32 planes of them stay in the second-level cache
    for w0 in range(0, n_words, stretch):
        w1 = min(w0 + stretch, n_words)
        for i0 in range(0, n_planes, tile):
            for j0 in range(i0, n_planes, tile):
                j_end = min(j0 + tile, n_planes)
                for i in range(i0, min(i0 + tile, n_planes), 2):
                    a0 = planes[i, w0:w1]
                    a1 = planes[min(i + 1, n_planes - 1), w0:w1]  # the last plane may be alone
                    j = max(j0, i)
                    while j + 4 <= j_end:
                        n = count_eight(
                            a0, a1, planes[j, w0:w1], planes[j + 1, w0:w1], planes[j + 2, w0:w1], planes[j + 3, w0:w1]
                        )
                        for k in range(4):
                            joint[i, j + k] += np.int32(n[k])
                            if i + 1 < n_planes:
                                joint[i + 1, j + k] += np.int32(n[k + 4])
                        j += 4
                    while j < j_end:
                        joint[i, j] += np.int32(count_both(a0, planes[j, w0:w1]))
                        if i + 1 < n_planes:
                            joint[i + 1, j] += np.int32(count_both(a1, planes[j, w0:w1]))
                        j += 1
    for i in range(n_planes):
        for j in range(i):
            joint[i, j] = joint[j, i]


@njit(cache=True, nogil=True)
def _over_pairs(joint, first_plane, n_samples, by_chi):
    """Chi-square or mutual information of all pairs from the counts of their planes."""
    n_vars = first_plane.size - 1
    m = float(n_samples)
    out = np.zeros((n_vars, n_vars))
    for u in range(n_vars):
        a0, a1 = first_plane[u], first_plane[u + 1]
        for v in range(u + 1, n_vars):
            b0, b1 = first_plane[v], first_plane[v + 1]
            total = 0.0
            u_rest = m
            for s in range(a1 - a0 + 1):  # state 0 of u comes last, as what the other states leave
                last = s == a1 - a0
                n_u = u_rest if last else float(joint[a0 + s, a0 + s])
                u_rest -= n_u
                left, v_rest = n_u, m
                for t in range(b1 - b0 + 1):
                    if t == b1 - b0:
                        n, n_v = left, v_rest
                    else:
                        n_v = float(joint[b0 + t, b0 + t])
                        if last:
                            n = n_v
                            for k in range(a0, a1):
                                n -= joint[k, b0 + t]
                        else:
                            n = float(joint[a0 + s, b0 + t])
                        left -= n
                        v_rest -= n_v
                    expected = n_u * n_v / m
                    if by_chi:
                        if expected > 0.0:
                            total += (n - expected) * (n - expected) / expected
                    elif n > 0.0:
                        total += n / m * np.log(n / expected)
            out[u, v] = total
            out[v, u] = total
    return out
