"""Bits in words: the small base that every counting kernel stands on.

A column of m rows is ceil(m / 64) words; row i is bit i % 64 of word i // 64, and the bits past the
last row are zero. `popcount` compiles to the processor's own instruction (AVX-512 `vpopcntq` where
there is one), which is why counting bits beats every other way of counting.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


def n_words(n_samples: int) -> int:
    return (n_samples + 63) // 64


@intrinsic
def popcount(typingctx, word):
    """Number of ones in a uint64."""
    if word != types.uint64:
        return None

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def lowest_bit(typingctx, word):
    """Position of the lowest one in a uint64 that is not zero."""
    if word != types.uint64:
        return None

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@njit(cache=True, nogil=True)
def count_ones(a):
    """Ones in a plane."""
    total = np.uint64(0)
    for w in range(a.size):
        total += popcount(a[w])
    return np.int64(total)


@njit(cache=True, nogil=True)
def count_both(a, b):
    """Rows that are one in both planes."""
    total = np.uint64(0)
    for w in range(a.size):
        total += popcount(a[w] & b[w])
    return np.int64(total)


@njit(cache=True, nogil=True)
def list_ones(plane, out):
    """Write the rows that are one in a plane into out, and return how many they are."""
    n = 0
    for w in range(plane.size):
        word = plane[w]
        while word != 0:
            out[n] = (w << 6) + np.int64(lowest_bit(word))
            n += 1
            word &= word - np.uint64(1)
    return n


@njit(cache=True, nogil=True)
def add_where(plane, amount, out):
    """Add an amount to out (rows,) for every row that is one in the plane."""
    for w in range(plane.size):
        word = plane[w]
        while word != 0:
            out[(w << 6) + np.int64(lowest_bit(word))] += amount
            word &= word - np.uint64(1)


@njit(cache=True, nogil=True)
def count_eight(a0, a1, b0, b1, b2, b3):
    """Rows that are one in both, for each of two planes with each of four: six loads serve eight counts."""
    n0, n1, n2, n3 = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    n4, n5, n6, n7 = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for w in range(a0.size):
        n0 += popcount(a0[w] & b0[w])
        n1 += popcount(a0[w] & b1[w])
        n2 += popcount(a0[w] & b2[w])
        n3 += popcount(a0[w] & b3[w])
        n4 += popcount(a1[w] & b0[w])
        n5 += popcount(a1[w] & b1[w])
        n6 += popcount(a1[w] & b2[w])
        n7 += popcount(a1[w] & b3[w])
    return n0, n1, n2, n3, n4, n5, n6, n7


@njit(cache=True, nogil=True)
def full_plane(n_samples):
    """A plane with every row set and the bits past the last row clear."""
    plane = np.empty((n_samples + 63) // 64, np.uint64)
    plane[:] = ~np.uint64(0)
    if n_samples % 64:
        plane[-1] = (np.uint64(1) << np.uint64(n_samples % 64)) - np.uint64(1)
    return plane


@njit(cache=True, nogil=True)
def pack_codes(codes, planes):
    """Write codes (m,) into zeroed planes (states - 1, words): plane s - 1 holds the rows of state s."""
    for i in range(codes.size):
        s = codes[i]
        if s > 0:
            planes[s - 1, i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@njit(cache=True, nogil=True)
def unpack_planes(planes, out):
    """The inverse of `pack_codes`: out (m,) must be zeroed."""
    for s in range(planes.shape[0]):
        for w in range(planes.shape[1]):
            word = planes[s, w]
            while word != 0:
                out[(w << 6) + np.int64(lowest_bit(word))] = s + 1
                word &= word - np.uint64(1)


@njit(cache=True, nogil=True)
def take_rows(planes, rows):
    """Planes of some rows, in the order given."""
    out = np.zeros((planes.shape[0], (rows.size + 63) >> 6), np.uint64)
    for p in range(planes.shape[0]):
        for i in range(rows.size):
            bit = (planes[p, rows[i] >> 6] >> np.uint64(rows[i] & 63)) & np.uint64(1)
            out[p, i >> 6] |= bit << np.uint64(i & 63)
    return out
