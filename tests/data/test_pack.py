"""The kernels between values and bit planes, against Python integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import packing
from quiltwork.data.bits import count_both, count_ones, full_plane, n_words, pack_codes, take_rows, unpack_planes
from quiltwork.data.dataset import NO_CODE, Variable, empty
from quiltwork.data.pack import (
    ELSEWHERE,
    LOW,
    N_SLOTS,
    NO_STATE,
    ones_by_row,
    pack_block,
    set_bits,
    survey,
    unpack_states,
)

SIZES = [0, 1, 63, 64, 65, 127, 128]
NO_GAPS = np.empty((0, 0), np.uint64)


def random_codes(n, n_states, seed=0):
    return np.random.default_rng(seed).integers(0, n_states, n).astype(np.uint16)


@pytest.mark.parametrize("n_states", [2, 3, 16])
@pytest.mark.parametrize("n", [*SIZES, 1000])
def test_codes_to_planes_and_back(n, n_states):
    codes = random_codes(n, n_states)
    planes = np.zeros((n_states - 1, n_words(n)), np.uint64)
    pack_codes(codes, planes)
    slow = packing.pack(codes.tolist(), n_states)
    assert planes.tolist() == [packing.words(plane, n) for plane in slow]
    out = np.zeros(n_words(n) * 64, np.uint16)
    unpack_planes(planes, out)
    assert out[:n].tolist() == packing.unpack(slow, n) == codes.tolist()
    assert not out[n:].any()


@pytest.mark.parametrize("n", [*SIZES, 10**5 - 1, 10**5, 10**5 + 1])
def test_counting_bits(n):
    a, b = np.random.default_rng(n).random((2, n)) < 0.4
    planes = np.zeros((2, n_words(n)), np.uint64)
    for plane, rows in zip(planes, (a, b)):
        pack_codes(rows.astype(np.uint16), plane[None])
    assert count_ones(planes[0]) == a.sum()
    assert count_both(planes[0], planes[1]) == (a & b).sum()
    assert count_ones(full_plane(n)) == n


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
def test_survey_finds_slots_outsiders_and_nan(dtype):
    low = 0 if dtype == np.uint8 else LOW
    block = np.array([[low, 3, 3, 9], [55, 0, 1, 9], [200, 1, 1, 9]], dtype)
    slots, outside, absent = np.zeros(3, np.uint64), np.zeros(3, bool), np.zeros(3, bool)
    survey(block, 3, slots, outside, absent)  # the fourth row is not in use
    expected = [{low, 3}, {55, 0, 1}, {1}]
    assert [{s + LOW for s in range(64) if int(bits) >> s & 1} for bits in slots] == expected
    assert outside.tolist() == [False, False, True]
    assert not absent.any()


def test_survey_of_floats():
    block = np.array([[np.nan, -0.0, 2.0], [0.5, 1, 1], [np.inf, 1, 1], [56, LOW, 1], [LOW - 1, 1, 1]])
    slots, outside, absent = np.zeros(5, np.uint64), np.zeros(5, bool), np.zeros(5, bool)
    survey(block, 3, slots, outside, absent)
    assert absent.tolist() == [True, False, False, False, False]
    assert outside.tolist() == [False, True, True, True, True]
    assert int(slots[0]) == 1 << -LOW | 1 << (2 - LOW)


@given(
    n=st.sampled_from([1, 63, 64, 65, 127, 128, 200]),
    n_states=st.lists(st.sampled_from([1, 2, 3, 16, 17, 40]), min_size=1, max_size=5),
    gaps=st.booleans(),
    dtype=st.sampled_from([np.uint8, np.int64, np.float64]),
    seed=st.integers(0, 1000),
)
def test_blocks_to_planes_and_back(n, n_states, gaps, dtype, seed):
    """Numbers 0..r-1 with some cells that are no state, in two pieces; read back by `unpack_states`."""
    rng = np.random.default_rng(seed)
    variables = tuple(Variable(f"v{v}", tuple(range(r))) for v, r in enumerate(n_states))
    data = empty(variables, n, missing=gaps)
    codes = np.array([rng.integers(0, r, n) for r in n_states])
    absent = rng.random(codes.shape) < (0.2 if gaps else 0.0)
    block = np.where(absent, 50, codes).astype(dtype)  # 50 has a slot, but is no state
    table = np.full((len(n_states), N_SLOTS + 1), NO_STATE, np.uint16)
    for v, r in enumerate(n_states):
        table[v, np.arange(r) - LOW] = np.arange(r)
    missing = data.missing if gaps else NO_GAPS
    where = np.arange(len(n_states))
    half = n // 128 * 64
    for start, stop in ((0, half), (half, n)):
        piece = np.ascontiguousarray(block[:, start:stop])
        arrays = (data.first_plane, data.code_row, data.planes, data.codes, missing)
        pack_block(piece, stop - start, start >> 6, table, where, *arrays)
    expected = np.where(absent, NO_CODE, codes)
    for v, r in enumerate(n_states):
        if r <= 16:
            slow = packing.pack(np.where(absent[v], 0, codes[v]).tolist(), r)
            mine = data.planes[data.first_plane[v] : data.first_plane[v + 1]].tolist()
            assert mine == [packing.words(plane, n) for plane in slow]
        else:
            assert data.codes[data.code_row[v]].tolist() == np.where(absent[v], 0, codes[v]).tolist()
    out = np.zeros((n, len(n_states)), np.uint16)
    unpack_states(data.planes, data.first_plane, data.codes, data.code_row, missing, out)
    assert np.array_equal(out, expected.T)


def test_a_value_outside_the_window_takes_the_last_slot_and_a_skipped_column_none():
    data = empty((Variable("a", ("x", "y")), Variable("b", (0, 1))), 3)
    block = np.array([[255, 0, 1], [1, 1, 1]], np.uint8)
    table = np.zeros((2, N_SLOTS + 1), np.uint16)
    table[:, ELSEWHERE] = 1
    pack_block(block, 3, 0, table, np.array([0, -1]), data.first_plane, data.code_row, data.planes, data.codes, NO_GAPS)
    assert data.planes.tolist() == [[0b001], [0]]


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130])
def test_sparse_ones_to_bits_and_back(n):
    from scipy.sparse import csr_array

    dense = np.random.default_rng(n).random((n, 7)) < 0.3
    matrix = csr_array(dense)
    planes = np.zeros((7, n_words(n)), np.uint64)
    set_bits(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), planes)
    assert planes.tolist() == [packing.words(packing.pack(dense[:, c], 2)[0], n) for c in range(7)]
    indptr, indices = ones_by_row(planes, n, matrix.nnz)
    rows = [indices[a:b].tolist() for a, b in zip(indptr, indptr[1:])]
    assert rows == packing.ones_by_row(dense.tolist())
    assert indices.dtype == np.int32


@pytest.mark.parametrize("n", [1, 64, 65, 130])
def test_taking_rows(n):
    rng = np.random.default_rng(n)
    codes = rng.integers(0, 2, n)
    planes = np.array([packing.words(packing.pack(codes, 2)[0], n)], np.uint64)
    for rows in (np.arange(n), rng.integers(0, n, 200), np.arange(n)[::-1].copy(), np.empty(0, np.int64)):
        expected = packing.words(packing.pack(codes[rows], 2)[0], len(rows))
        assert take_rows(planes, rows).tolist() == [expected]
