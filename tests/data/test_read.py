"""Files into tables: every format, and every fault with a sentence that says where and what to do."""

import contextlib
import gzip
import io
import os
import subprocess
import sys
import tracemalloc
import warnings
import zipfile

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.data.encode import Encoder, fit_encode
from quiltwork.data.read import read_table
from quiltwork.errors import DataError, DataWarning, MissingDependencyError, QuiltworkError, ResourceLimitError

TEXT = b"sky,rain,wind\ngrey,1,0.5\nblue,0,\ngrey,1,2.0\n"
FRAME = pl.DataFrame({"sky": ["grey", "blue", "grey"], "rain": [1, 0, 1], "wind": [0.5, None, 2.0]})


@pytest.fixture
def write(tmp_path):
    def write(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


# Text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.csv", TEXT),
        ("t.CSV", TEXT),
        ("t.csv", TEXT.replace(b"\n", b"\r\n")),
        ("t.csv", TEXT[:-1]),
        ("t.csv", TEXT + b"\n\n"),
        ("t.csv", b"\xef\xbb\xbf" + TEXT),
        ("t.csv", TEXT.replace(b",", b";")),
        ("t.csv", b'"sky","rain","wind"\n' + TEXT.partition(b"\n")[2]),
        ("t.tsv", TEXT.replace(b",", b"\t")),
        ("t.csv.gz", gzip.compress(TEXT, mtime=0)),
        ("t.tsv.gz", gzip.compress(TEXT.replace(b",", b"\t"), mtime=0)),
    ],
)
def test_text(write, name, data):
    assert read_table(write(name, data)).equals(FRAME)


def test_quotes_over_lines_and_delimiters(write):
    path = write("t.csv", b'name,"a, b"\n"two\nlines","say ""hi"""\n"x",\n')
    assert read_table(path).rows() == [("two\nlines", 'say "hi"'), ("x", None)]


def test_kinds_of_columns(write):
    path = write("t.csv", b"i,f,b,t,d,m\n1,1,true,1,2020-01-01,\n-2,2.5,false,x,2020-01-02,\n")
    assert read_table(path).dtypes == [pl.Int64, pl.Float64, pl.Boolean, pl.String, pl.String, pl.String]


def test_text_that_looks_like_a_number_keeps_what_tells_it_apart(write):
    frame = read_table(write("t.csv", b"zip,id,plus\n01234,9999999999999999999,+1\n1234,1,1\n"))
    assert frame.rows() == [("01234", "9999999999999999999", "+1"), ("1234", "1", "1")]


def test_a_kind_that_changes_late_in_the_file(write):
    rows = b"".join(b"%d,1\n" % (i % 3) for i in range(20_000))
    frame = read_table(write("t.csv", b"a,b\n" + rows + b"x,2.5\n"))
    assert frame.dtypes == [pl.String, pl.Float64]
    assert frame.height == 20_001


def test_five_thousand_columns(write):
    X = np.random.default_rng(0).integers(0, 2, (20, 5000))
    lines = [",".join(f"v{c}" for c in range(5000)), *(",".join(map(str, row)) for row in X)]
    assert np.array_equal(fit_encode(read_table(write("t.csv", "\n".join(lines).encode())))[1].states(), X)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty: a table needs a header"),
        (b"\n \n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"a,b\n", "header and no rows"),
        (b"a,b", "header and no rows"),
        (b"a,b\n1,2\n3\n", "line 3 has 1 field where the header has 2"),
        (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 fields where the header has 2"),
        (b"a,b\n1,2\n\n3,4\n", "line 3 is blank"),
        (b'a,b\n5" disk,2\n', "line 2 has a quote inside a field: .*double"),
        (b'a,b\n"x,2\n', "line 2 opens a quote that is never closed"),
        (b"a,b,a\n1,2,3\n", "line 1: .*unique.*'a'"),
        ("a,b\n1,2\ncafé,3\n".encode("latin-1"), "line 3: byte 0xe9 is not UTF-8.*Latin-1.*iconv"),
        ("naïve,b\n1,2\n".encode("latin-1"), "line 1: byte 0xef is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16.*UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-be"), "UTF-16"),
        ("a,b\n1,é".encode()[:-1], "line 2: byte 0xc3 is not UTF-8"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_text_that_is_refused(write, data, words, packed):
    path = write("t.csv.gz", gzip.compress(data, mtime=0)) if packed else write("t.csv", data)
    with pytest.raises(DataError, match=words) as fault:
        read_table(path)
    assert str(path) in str(fault.value)


def test_a_stray_byte_far_into_the_file(write):
    data = b"a,b\n" + b"1,2\n" * (5 << 20) + b"\xe9,2\n"
    with pytest.raises(DataError, match=f"line {(5 << 20) + 2:d}: byte 0xe9"):
        read_table(write("t.csv", data))


def test_a_character_cut_by_the_edge_of_a_piece(write, monkeypatch):
    monkeypatch.setattr("quiltwork.data.read._PIECE", 5)
    assert read_table(write("t.csv", "a,b\né,é\néé,é\n".encode())).rows() == [("é", "é"), ("éé", "é")]
    with pytest.raises(DataError, match="line 3: byte 0xe9"):
        read_table(write("u.csv", "a,b\né,é\n".encode() + b"x,\xe9\n"))
    with pytest.raises(DataError, match="line 2: byte 0xc3"):
        read_table(write("v.csv", b"a,b\n\xc3x,1\n"))


labels = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5).filter(
    lambda t: not t.strip() or not t.strip()[0].isdigit()
)


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=6))
def test_text_written_with_quotes_comes_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("text") / "t.csv"
    quoted = [",".join('"' + f.replace('"', '""') + '"' for f in ("p" + a, "q" + b)) for a, b in rows]
    path.write_bytes(("a,b\n" + "\n".join(quoted)).encode())
    assert read_table(path).rows() == [("p" + a, "q" + b) for a, b in rows]


# Columns with types


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather"])
def test_columns_with_types(tmp_path, name):
    path = tmp_path / name
    FRAME.write_parquet(path) if name == "t.parquet" else FRAME.write_ipc(path)
    assert read_table(path).equals(FRAME)
    data = path.read_bytes()
    none = FRAME.clear()
    none.write_parquet(path) if name == "t.parquet" else none.write_ipc(path)
    with pytest.raises(DataError, match="has no rows"):
        read_table(path)
    for damaged in (data[: len(data) // 2], data[:8], b"not " + data, data[:-1]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="damaged|does not begin like"):
            read_table(path)


def test_an_arrow_stream_in_a_file(tmp_path):
    FRAME.write_ipc_stream(tmp_path / "t.arrow")
    assert read_table(tmp_path / "t.arrow").equals(FRAME)


def test_a_name_with_a_star_is_one_file(tmp_path):
    FRAME.write_parquet(tmp_path / "a*.parquet")
    FRAME.head(1).write_parquet(tmp_path / "ab.parquet")
    assert read_table(tmp_path / "a*.parquet").height == 3


# Matrices


def states_of(path, **options):
    encoder, data = fit_encode(read_table(path, **options))
    return [v.name for v in encoder.variables], data.states().tolist()


def test_arrays(tmp_path):
    X = np.array([[0, 1, 1], [1, 1, 0]])
    np.save(tmp_path / "t.npy", X)
    np.savez(tmp_path / "x.npz", X=X, other=np.zeros(3))
    np.savez_compressed(tmp_path / "only.npz", table=X)
    np.savez(tmp_path / "names.npz", X=X, names=np.array(["a", "b", "c"]))
    for name in ("t.npy", "x.npz", "only.npz"):
        assert states_of(tmp_path / name) == (["x0", "x1", "x2"], X.tolist())
    assert states_of(tmp_path / "names.npz") == (["a", "b", "c"], X.tolist())


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_arrays(tmp_path, kind):
    X = np.eye(5, dtype=int)
    sp.save_npz(tmp_path / "t.npz", sp.csr_array(X).asformat(kind))
    assert states_of(tmp_path / "t.npz")[1] == X.tolist()


def save_bits(path, n_vars=11, rows=(5, 3, 2)):
    parts = [np.random.default_rng(n).integers(0, 2, (n, n_vars), dtype=np.uint8) for n in rows]
    packed = {name: np.packbits(part, axis=1) for name, part in zip(("train", "valid", "test"), parts)}
    np.savez_compressed(path, n_vars=n_vars, n_rows=np.array(rows), **packed)
    return parts


def test_a_set_of_bits(tmp_path):
    path = tmp_path / "t.npz"
    train, valid, test = save_bits(path)
    assert states_of(path)[1] == train.tolist()
    assert states_of(path, split="valid")[1] == valid.tolist()
    assert states_of(path, split="test")[1] == test.tolist()
    with pytest.raises(DataError, match="train, valid, test. Got split='all'"):
        read_table(path, split="all")


def test_a_set_of_bits_that_lies_about_its_size(tmp_path):
    np.savez(tmp_path / "t.npz", train=np.zeros((2, 1), np.uint8), valid=0, test=0, n_vars=10**9, n_rows=[2, 0, 0])
    with pytest.raises(DataError, match="damaged: part 'train' does not hold 2 rows of 1000000000 bits"):
        read_table(tmp_path / "t.npz")


def test_python_objects_are_never_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    X = np.array([[Trap()]], object)
    np.savez(tmp_path / "t.npz", X=X)
    np.save(tmp_path / "t.npy", X)
    np.savez(tmp_path / "n.npz", X=np.zeros((1, 1)), names=X[0])
    for name in ("t.npz", "t.npy", "n.npz"):
        with pytest.raises(DataError, match="Python objects|plain numbers"):
            read_table(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"a": np.zeros((1, 1)), "b": np.zeros((1, 1))}, "one array, or one named 'X'; it holds a, b"),
        ({"X": np.zeros((1, 2)), "names": np.array(["a"])}, "'names' must be text, one name for each column"),
        ({"X": np.zeros((1, 1)), "names": np.array([1])}, "'names' must be text"),
        ({"X": np.zeros((1, 2)), "names": np.array(["a", "a"])}, "unique"),
        ({"X": np.zeros(3)}, "2 dimensions"),
        ({"X": np.zeros((0, 3))}, "0 sample"),
    ],
)
def test_archives_that_hold_no_table(tmp_path, arrays, words):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(DataError, match=words):
        read_table(tmp_path / "t.npz")


def npy_header(shape, dtype="|u1"):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
    return out.getvalue()


def test_a_shape_that_is_larger_than_its_array(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", npy_header((10**6, 10**6)) + b"\0" * 10)
    with pytest.raises(DataError, match="not as large as its shape"):
        read_table(tmp_path / "t.npz")
    (tmp_path / "t.npy").write_bytes(npy_header((10**6, 10**6)) + b"\0" * 10)
    with pytest.raises(DataError, match="not a whole NumPy array"):
        read_table(tmp_path / "t.npy")


def test_a_sparse_shape_that_a_few_cells_claim(tmp_path):
    parts = {"format": np.array(b"coo"), "data": np.ones(1), "row": np.zeros(1, int), "col": np.zeros(1, int)}
    for shape in ([1, 10**12], [10**12, 1], [10**6, 10**8]):
        np.savez(tmp_path / "t.npz", shape=np.array(shape), **parts)
        with pytest.raises(ResourceLimitError, match="sparse table of .* GB"):
            read_table(tmp_path / "t.npz")


def test_what_would_not_fit_is_refused_before_it_is_inflated(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((4000, 5000), np.uint8))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a\n" + b"0\n" * 10**7, mtime=0))
    monkeypatch.setattr("quiltwork.data.read.physical_memory", lambda: 2e7)
    monkeypatch.setattr("quiltwork.data.read._PIECE", 1 << 20)
    for name in ("t.npz", "t.csv.gz"):
        tracemalloc.start()
        with pytest.raises(ResourceLimitError, match="GB, more than half the memory"):
            read_table(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 1.5e7
        tracemalloc.stop()


def test_damaged_archives(tmp_path):
    np.savez_compressed(tmp_path / "t.npz", X=np.random.default_rng(0).integers(0, 2, (50, 50)))
    data = (tmp_path / "t.npz").read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 0xFF
    for damaged in (data[: len(data) // 2], b"PK", b"hello", bytes(flipped)):
        (tmp_path / "t.npz").write_bytes(damaged)
        with pytest.raises(DataError, match="NPZ file"):
            read_table(tmp_path / "t.npz")


@pytest.mark.parametrize("name", ["t.npz", "t.npy", "s.npz", "t.csv", "t.csv.gz"])
def test_any_bytes_give_a_table_or_an_error_of_ours(tmp_path, name):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (20, 5))
    path = tmp_path / name
    if name == "t.npz":
        np.savez_compressed(path, X=X, names=np.array(list("abcde")))
    elif name == "s.npz":
        sp.save_npz(path, sp.csr_array(X))
    elif name == "t.npy":
        np.save(path, X)
    else:
        path.write_bytes(gzip.compress(TEXT) if name.endswith("gz") else TEXT)
    data = path.read_bytes()
    for _ in range(100):
        damaged = bytearray(data)
        for at in rng.integers(0, len(data) - 10, rng.integers(1, 4)):
            how = rng.integers(3)
            damaged[at : at + how] = rng.bytes(2) if how < 2 else b""
        path.write_bytes(damaged)
        with contextlib.suppress(QuiltworkError), warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            fit_encode(read_table(path), missing="state")


# What is no file


def test_no_file(tmp_path):
    with pytest.raises(DataError, match="There is no file .*gone.csv"):
        read_table(tmp_path / "gone.csv")
    with pytest.raises(DataError, match="There is no file"):
        read_table(tmp_path / "gone" / "t.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="folder.csv is a directory"):
        read_table(tmp_path / "folder.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="pipe.csv is a pipe or a device"):
        read_table(tmp_path / "pipe.csv")
    os.symlink("/dev/zero", tmp_path / "zero.csv")
    with pytest.raises(DataError, match="zero.csv is a pipe or a device"):
        read_table(tmp_path / "zero.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_table("a\0b.csv")
    with pytest.raises(DataError, match="cannot be read: File name too long"):
        read_table("n" * 5000 + ".csv")


def test_a_name_that_says_nothing(write):
    with pytest.raises(DataError, match="must end in one of .csv, .csv.gz"):
        read_table(write("t.xlsx", b"PK"))


def test_without_polars_the_way_out_is_named(write):
    code = (
        "import sys; sys.modules['polars'] = None\n"
        "from quiltwork.data.read import read_table\n"
        "from quiltwork.errors import MissingDependencyError\n"
        "try: read_table(sys.argv[1])\n"
        "except MissingDependencyError as fault: print(fault)"
    )
    ran = subprocess.run([sys.executable, "-c", code, write("t.csv", TEXT)], capture_output=True, text=True)
    assert "pip install 'quiltwork[io]'" in ran.stdout, ran.stderr
    assert issubclass(MissingDependencyError, ImportError)


def test_public_sets(public_data):
    nltcs = read_table(public_data / "debd" / "nltcs.npz", split="test")
    assert (nltcs.n_samples, len(nltcs.names)) == (3236, 16)
    wine = read_table(public_data / "wine" / "winequality-red.csv")
    assert wine.shape == (1599, 12)
    assert Encoder.fit(wine.select("quality")).variables[0].states == (3, 4, 5, 6, 7, 8)
