"""Every kind of table in memory: the same columns, whatever held them."""

import numpy as np
import pytest
import scipy.sparse as sp

from quiltwork.data.columns import columns_of, from_array, from_parts, names_of
from quiltwork.data.encode import fit_encode
from quiltwork.errors import DataError


def labels(X, **options):
    return [v.states for v in fit_encode(X, **options)[0].variables]


def types(X, **options):
    return [{type(s) for s in states} for states in labels(X, **options)]


NUMBERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("order", "CF")
def test_integers_of_every_size(dtype, order):
    X = np.array([[3, 0], [1, 1], [3, 7]], dtype, order=order)
    assert labels(X) == [(1, 3), (0, 1, 7)]
    assert types(X) == [{int}, {int}]
    assert np.array_equal(fit_encode(X)[1].states(), [[1, 0], [0, 1], [1, 2]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, ">f8"])
def test_floats_of_every_size(dtype):
    X = np.array([[3, 0.5], [1, 1], [3, 7]], dtype)
    assert labels(X) == [(1.0, 3.0), (0.5, 1.0, 7.0)]
    assert types(X) == [{float}, {float}]


def test_integers_at_the_ends_of_their_type():
    far = [[-(2**63), 2**63 - 1], [2**63 - 1, 5]]
    assert labels(np.array(far)) == [(-(2**63), 2**63 - 1), (5, 2**63 - 1)]
    assert labels(np.array([[2**64 - 1], [0], [2**63]], np.uint64)) == [(0, 2**63, 2**64 - 1)]
    assert labels(np.array([[255], [0], [128]], np.uint8)) == [(0, 128, 255)]
    assert labels(np.array([[-128], [127]], np.int8)) == [(-128, 127)]


def test_a_number_that_wraps_round_in_a_smaller_type_is_not_mistaken():
    assert labels(np.array([[2**64 - 1], [1]], np.uint64)) == [(1, 2**64 - 1)]
    assert labels(np.array([[256 + 255], [1]])) == [(1, 511)]


def test_bools_always_have_both_states():
    assert labels(np.ones((3, 2), bool)) == [(False, True)] * 2
    assert types(np.ones((3, 2), bool)) == [{bool}] * 2
    assert labels({"a": [True, True], "b": [1, 2]}) == [(False, True), (1, 2)]


@pytest.mark.parametrize("X", [np.array([["b", "x"], ["a", "x"]]), np.array([[b"b", b"x"], [b"a", b"x"]])])
def test_text_arrays(X):
    assert labels(X) == [("a", "b"), ("x",)]


def test_bytes_that_are_no_text():
    with pytest.raises(DataError, match="'x0' holds bytes"):
        columns_of(np.array([[b"\xff"]]))


def test_object_arrays_and_lists_keep_each_column_apart():
    rows = [["a", 1, True, 0.5], ["b", 2, False, None]]
    expected = [("a", "b"), (1, 2), (False, True), (0.5, "missing")]
    for X in (rows, [tuple(row) for row in rows], np.array(rows, object), dict(zip("abcd", zip(*rows)))):
        assert labels(X, missing="state") == expected
        assert types(X, missing="state") == [{str}, {int}, {bool}, {float, str}]


def test_the_same_digit_as_text_and_number_never_merge():
    with pytest.raises(DataError, match="mixes number and text"):
        columns_of(np.array([["1"], [1]], object))


def test_dates():
    days = np.array([["2020-01-02"], ["NaT"], ["2020-01-01"]], "datetime64[D]")
    assert labels(days, missing="drop") == [("2020-01-01", "2020-01-02")]
    expected = [("2020-01-01 00:00:00", "2020-01-02 00:00:00")]
    for unit in ("s", "ms", "us", "ns"):
        assert labels(days.astype(f"datetime64[{unit}]"), missing="drop") == expected
    tick = np.array([["2020-01-01T00:00:00.000000001"]], "datetime64[ns]")
    assert labels(tick) == [("2020-01-01T00:00:00.000000001",)]


def test_masked_cells_are_missing():
    X = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert fit_encode(X, missing="drop")[1].to_dict()["x1"].tolist() == [4]
    with pytest.raises(DataError, match="'x1' has a missing value .*row 0"):
        fit_encode(X)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64, bool])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_sparse_of_every_format_is_as_dense(kind, dtype, make):
    dense = (np.random.default_rng(0).random((70, 9)) < 0.2).astype(dtype)
    encoder, data = fit_encode(make(dense).asformat(kind))
    as_dense, expected = fit_encode(dense)
    assert encoder == as_dense
    assert np.array_equal(data.planes, expected.planes)
    assert types(dense) == [{bool if dtype is bool else int}] * 9


def test_sparse_counts_are_as_dense():
    dense = np.random.default_rng(0).poisson(0.3, (100, 12)) * 30
    (sparse_encoder, sparse), (encoder, data) = fit_encode(sp.csr_array(dense)), fit_encode(dense)
    assert sparse_encoder == encoder
    assert np.array_equal(sparse.states(), data.states())


def test_sparse_zeros_and_duplicates_are_settled_and_the_matrix_is_not_touched():
    X = sp.csr_array((np.array([1, 0, 1]), np.array([1, 0, 2]), np.array([0, 1, 3])), shape=(2, 3))
    assert np.array_equal(fit_encode(X)[1].states(), [[0, 1, 0], [0, 0, 1]])
    assert X.nnz == 3
    twice = sp.coo_array(([1, 1], ([0, 0], [1, 1])), shape=(2, 2))
    assert labels(twice)[1] == (0, 2)


def test_a_sparse_table_with_nan():
    X = sp.csr_array(np.array([[1.0, np.nan], [0.0, 2.0], [1.0, 0.0]]))
    assert labels(X, missing="drop") == [(0, 1), (0, 2)]
    assert labels(X, missing="state") == [(0.0, 1.0), (0, 2, "missing")]


def test_a_broken_sparse_table():
    X = sp.csr_array(np.eye(3))
    X.indices = np.array([0, 1, 99], np.int32)
    with pytest.raises(DataError, match="broken"):
        columns_of(X)


def test_names():
    assert columns_of(np.zeros((2, 3))).names == ("x0", "x1", "x2")
    assert columns_of({1: [0], "b": [1]}).names == ("1", "b")
    assert from_array(np.zeros((2, 2)), ["p", "q"]).names == ("p", "q")
    assert names_of(columns_of(np.zeros((2, 3)))) == ()
    with pytest.raises(DataError, match="unique.*'1'"):
        columns_of({1: [0], "1": [1]})


ODD_NAMES = [
    "",
    " ",
    "a\nb",
    "a\0b",
    "\u00e9",
    "e\u0301",
    "\u05e9\u05dc\u05d5\u05dd",
    "\U0001f9f5",
    "n" * 10_000,
    "1",
    "None",
]


def test_odd_names_are_kept():
    table = {name: [0, 1] for name in ODD_NAMES}
    assert list(fit_encode(table)[1].to_dict()) == ODD_NAMES


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((3, 0)), "0 feature"),
        (np.zeros((0, 3), object), "0 sample"),
        ({}, "0 feature"),
        ({"a": []}, "0 sample"),
        ([], "0 feature"),
        ([[], []], "0 feature"),
        (sp.csr_array((0, 3)), "0 sample"),
        (np.zeros(3), "2 dimensions.*Reshape"),
        (np.zeros((2, 2, 2)), "2 dimensions"),
        (np.array(3), "2 dimensions"),
        (np.zeros(3, [("a", int)]), "2 dimensions"),
        ([1, 2, 3], "list of rows"),
        (["ab", "cd"], "list of rows"),
        ([[1, 2], [3]], "row 0 has 2 cells and row 1 has 1"),
        ({"a": [1, 2], "b": [1]}, "'a' has 2 rows, 'b' has 1"),
        ({"a": np.zeros((2, 2))}, "'a' must have 1 dimension"),
        ({"a": 3}, "'a' must be a list"),
        (np.zeros((2, 2), complex), "Complex data not supported"),
        (sp.csr_array(np.eye(2) * 1j), "64 bits, or bools. Got dtype complex128"),
        (sp.csr_array(np.eye(2, dtype=np.longdouble)), "64 bits"),
        (sp.csr_array(np.array([[2**64 - 1]], np.uint64)), "below 2\\*\\*63"),
        (3, "Got int instead"),
        (None, "Got NoneType instead"),
        ("table.csv", "Got str instead"),
    ],
)
def test_what_is_no_table(X, words):
    with pytest.raises(DataError, match=words):
        columns_of(X)


def test_the_input_is_neither_changed_nor_shared():
    for X in (
        np.random.default_rng(0).integers(0, 3, (100, 5)),
        np.random.default_rng(0).integers(0, 30, (100, 5)).astype(np.uint8),
        np.random.default_rng(0).random((100, 5)) < 0.5,
        np.random.default_rng(0).random((100, 5)).round(1),
    ):
        before = X.copy()
        X.flags.writeable = False  # nothing may write, not even to put it back
        _, data = fit_encode(X)
        X.flags.writeable = True
        shown = data.states().copy()
        assert np.array_equal(X, before)
        X[:] = 0
        assert np.array_equal(data.states(), shown)
    S = sp.csr_array(np.eye(50))
    weights = np.ones(50)
    _, data = fit_encode(S, weights)
    S.indices[:] = 0
    weights[:] = 0
    assert np.array_equal(data.ones.toarray(), np.eye(50))
    assert data.total == 50


def test_more_columns_than_a_block_holds():
    X = np.random.default_rng(0).integers(0, 2, (10, 9000), dtype=np.uint8)
    for table in (X, X.astype(bool), sp.csr_array(X), sp.csr_array(X * 3), np.asfortranarray(X.astype(float))):
        _, data = fit_encode(table)
        assert all((data.labels(v) > 0).tolist() == (X[:, v] > 0).tolist() for v in range(0, 9000, 97))


def test_parts_of_one_kind_share_a_block():
    parts = [np.zeros(4, np.int8), np.zeros(4), np.zeros(4, np.int32), np.zeros(4, np.float32)]
    table = from_parts("abcd", parts)
    assert [block.where.tolist() for block in table.blocks] == [[0, 2], [1, 3]]


def test_array_likes():
    class Like:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1, 2], [3, 4]])

    assert labels(Like()) == [(1, 3), (2, 4)]


def test_a_million_sparse_columns_are_not_made_dense():
    rng = np.random.default_rng(0)
    X = sp.coo_array((np.ones(20_000), (rng.integers(0, 500, 20_000), rng.integers(0, 10**6, 20_000))), (500, 10**6))
    block = columns_of(X).blocks[0]
    assert block.matrix.nnz <= 20_000
