"""Whatever goes wrong, the command line says one sentence on stderr, leaves with its code, and loses nothing."""

import errno
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.cli import run

OLD = b"the old file"

ASIA = """
network n {}
variable a { type discrete [ 2 ] { yes, no }; }
variable b { type discrete [ 2 ] { yes, no }; }
"""
CYCLE = (
    "probability ( a | b ) { (yes) 0.1, 0.9; (no) 0.2, 0.8; }\nprobability ( b | a ) { (yes) 0.1, 0.9; (no) 0.2, 0.8; }"
)
BAD_SUM = "probability ( a ) { table 0.7, 0.7; }\nprobability ( b ) { table 0.5, 0.5; }"
NO_PARENT = "probability ( a | c ) { (yes) 0.1, 0.9; (no) 0.2, 0.8; }\nprobability ( b ) { table 0.5, 0.5; }"


@pytest.fixture
def fails(tmp_path, monkeypatch, capfd):
    """Run a command that must fail; returns the sentence it says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out.qw").write_bytes(OLD)
    (tmp_path / "out.csv").write_bytes(OLD)

    def call(*words, code=2, notes=0):
        before = sorted(os.listdir(tmp_path))
        assert run([str(word) for word in words]) == code
        streams = capfd.readouterr()
        assert streams.out == ""
        assert streams.err.count("\n") <= 1 + notes and streams.err.endswith(".\n"), streams.err
        assert "Traceback" not in streams.err
        assert sorted(os.listdir(tmp_path)) == before, "nothing new may lie around"
        assert (tmp_path / "out.qw").read_bytes() == OLD and (tmp_path / "out.csv").read_bytes() == OLD
        return streams.err

    return call


@pytest.fixture
def asia(tmp_path):
    path = tmp_path / "asia.qw"
    qw.save(qw.textbook("asia"), path)
    return path


# Tables


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", "empty", id="empty file"),
        pytest.param(b"a,b\n", "row", id="header only"),
        pytest.param(b"\n\n\n", "", id="zero columns"),
        pytest.param(b"a,b,a\n1,2,3\n4,5,6\n", "'a'", id="duplicate names"),
        pytest.param(b"a,b\n1,2\n3\n", "", id="ragged, too short"),
        pytest.param(b"a,b\n1,2\n3,4,5\n", "", id="ragged, too long"),
        pytest.param("a,b\nna\u00efve,1\ncaf\u00e9,2\n".encode("latin-1"), "UTF-8", id="Latin-1"),
        pytest.param(b"a,b\n1,\n0,1\n", "missing", id="missing value"),
        pytest.param(b"a,b\nNaN,1\n0.5,1\n", "'a'", id="NaN"),
        pytest.param(b"a,b\ninf,1\n0.5,1\n", "'a'", id="infinity"),
    ],
)
def test_a_table_that_cannot_be_used(fails, tmp_path, content, says):
    (tmp_path / "bad.csv").write_bytes(content)
    assert says in fails("learn", "bad.csv", "-o", "out.qw")


def test_a_million_states(fails, tmp_path):
    (tmp_path / "ids.csv").write_text("id,x\n" + "".join(f"{i},{i % 2}\n" for i in range(10**6)))
    sentence = fails("learn", "ids.csv", "-o", "out.qw")
    assert "'id'" in sentence


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "a,b\n1,2\n1,3\n1,2\n1,3\n"], ids=["one row", "constant column"])
def test_poor_tables_that_can_be_used(tmp_path, monkeypatch, content, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "poor.csv").write_text(content)
    assert run(["learn", "poor.csv", "-o", "m.qw"]) == 0
    assert qw.load("m.qw").arcs == []
    assert "Traceback" not in capfd.readouterr().err


def test_a_directory_or_nothing_as_a_table(fails, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    assert "directory" in fails("learn", "folder.csv", "-o", "out.qw")
    assert "nothing.csv" in fails("learn", "nothing.csv", "-o", "out.qw")


def test_a_table_of_another_model(fails, asia, tmp_path):
    (tmp_path / "other.csv").write_text("x,y\n1,2\n3,4\n")
    assert "variable" in fails("evaluate", "asia.qw", "other.csv")


def test_more_folds_than_rows(fails, tmp_path):
    (tmp_path / "few.csv").write_text("a,b\n1,2\n2,1\n1,1\n")
    assert "5 folds" in fails("compare", "few.csv", "--models", "bn")


# Votes, and what is ranked


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param("user,item,time\nann,tea,3\nbob,rum,soon\n", "Row 1 has 'soon'", id="a time that is a word"),
        pytest.param("user,item,time\nann,tea,2026-13-45\n", "'2026-13-45'", id="a date that is none"),
        pytest.param("user,item,time\nann,tea,3\nbob,rum,\n", "no time in row 1", id="no time"),
        pytest.param("user,item\nann,tea\nbob,\n", "'item' has no id in row 1", id="no item"),
        pytest.param("user,item\nann,1.5\n", "text or integers", id="an item that is no id"),
        pytest.param("user,item\n", "row", id="no votes"),
    ],
)
@pytest.mark.parametrize("model", ["hrf", "itemrank"])
def test_votes_that_cannot_be_used(fails, tmp_path, content, says, model):
    (tmp_path / "votes.csv").write_text(content)
    assert says in fails("learn", "votes.csv", "--model", model, "-o", "out.qw")
    qw.save(qw.learn("hrf", {"tea": [0, 1], "rum": [1, 0]}), tmp_path / "m.qw")
    assert says in fails("rank", "m.qw", "--users", "votes.csv")


@pytest.mark.parametrize("header", ["customer,product", "user,product", "buyer,item", "user,item,stars"])
def test_votes_under_other_names(fails, tmp_path, header):
    rows = [row[: header.count(",") + 1] for row in ("a15", "a23", "b14", "c35")]
    (tmp_path / "votes.csv").write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    qw.save(qw.learn("hrf", {"1": [0, 1], "2": [1, 0]}), tmp_path / "m.qw")
    sentence = fails("rank", "m.qw", "--users", "votes.csv")
    assert "user, item and perhaps time" in sentence and repr(header.split(",")[1]) in sentence
    assert "user, item and perhaps time" in fails("compare", "votes.csv", "--metric", "mrr", code=2, notes=1)


def test_a_table_that_looks_like_votes_is_noted(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("user,thing\na,x\nb,y\n")
    assert run(["learn", "t.csv", "-o", "m.qw"]) == 0
    err = capfd.readouterr().err
    assert err.startswith("Note: t.csv is read as a table of 2 columns") and err.count("\n") == 1
    assert [v.name for v in qw.load("m.qw").variables] == ["user", "thing"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--k", "0"], "'k' parameter of HybridRandomField must be an integer from 1"),
        (["--k", "5", "--k-star", "3"], "'k_star' parameter of HybridRandomField must be at least k = 5. Got 3"),
        (["--k-star", "0"], "'k_star'"),
        (["--k", "few"], "Got 'few'"),
        (["--n-models", "0"], "'n_models'"),
        (["--candidates", "0"], "'candidates'"),
    ],
)
def test_relatives_that_there_cannot_be(fails, tmp_path, options, says):
    (tmp_path / "votes.csv").write_text("user,item\nann,tea\nann,rum\nbob,rum\n")
    assert says in fails("learn", "votes.csv", "--model", "hrf", "-o", "out.qw", *options)


POOR = {
    "one user": "user,item\nann,tea\nann,rum\n",
    "one item": "user,item\nann,tea\nbob,tea\n",
    "one vote": "user,item\nann,tea\n",
    "repeated votes": "user,item\nann,tea\nann,tea\nbob,tea\nbob,rum\nann,tea\n",
    "constant columns": "tea,rum,gin\n1,1,0\n1,0,0\n1,1,0\n",
    "duplicate columns": "tea,rum,gin\n1,1,0\n0,0,1\n1,1,0\n0,0,0\n",
}


@pytest.mark.parametrize(
    "options", [["hrf"], ["hrf", "--k", "60", "--k-star", "60"], ["hrf", "--n-models", "3"], ["bn"]]
)
@pytest.mark.parametrize("content", POOR.values(), ids=POOR)
def test_poor_votes_that_can_be_used(tmp_path, monkeypatch, capfd, content, options):
    """More relatives than variables among them; whatever was learned has finite scores for a known item and none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "poor.csv").write_text(content)
    assert run(["learn", "poor.csv", "-o", "m.qw", "--model", *options]) == 0
    assert capfd.readouterr().err == ""
    model = qw.load("m.qw")
    assert np.isfinite(qw.pseudo_log_likelihood(model, {v.name: [v.states[0]] for v in model.variables})).all()
    assert run(["rank", "m.qw"]) == 0 and run(["rank", "m.qw", "--given", "rum" if "rum" in content else "tea"]) == 0
    streams = capfd.readouterr()
    assert "nan" not in streams.out and "inf" not in streams.out


@pytest.mark.parametrize("model", ["nb", "itemrank", "popularity", "gmf"])
@pytest.mark.parametrize("content", [POOR["one user"], POOR["one item"], POOR["one vote"], POOR["repeated votes"]])
def test_poor_votes_of_the_rankers(tmp_path, monkeypatch, capfd, content, model):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "poor.csv").write_text(content)
    assert run(["learn", "poor.csv", "-o", "m.qw", "--model", model]) == 0
    assert run(["rank", "m.qw"]) == 0 and run(["rank", "m.qw", "--given", "tea"]) == 0
    streams = capfd.readouterr()
    assert streams.err == "" and "nan" not in streams.out and "inf" not in streams.out


def test_repeated_votes_count_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    votes = [f"u{u},i{(u * k) % 5}" for u in range(20) for k in (1, 2, 3)]
    (tmp_path / "once.csv").write_text("\n".join(["user,item", *dict.fromkeys(votes)]) + "\n")
    (tmp_path / "often.csv").write_text("\n".join(["user,item", *votes, *votes]) + "\n")
    for name in ("once", "often"):
        assert run(["learn", f"{name}.csv", "-o", f"{name}.qw", "--model", "hrf"]) == 0
    assert (tmp_path / "once.qw").read_bytes() == (tmp_path / "often.qw").read_bytes()


def test_too_few_to_compare(fails, tmp_path):
    (tmp_path / "one.csv").write_text(POOR["one user"])
    (tmp_path / "short.csv").write_text("user,item\n" + "".join(f"u{u},i{u % 3}\n" for u in range(20)))
    assert "5 folds" in fails("compare", "one.csv", "--models", "hrf")
    assert "nobody to ask" in fails("compare", "short.csv", "--models", "hrf")
    assert "for rankings" in fails("compare", "one.csv", "--metric", "ll", "--test", "one.csv")


def test_nothing_to_rank(fails, tmp_path):
    qw.save(qw.learn("bn", {"sky": ["grey", "blue", "red"] * 4}), tmp_path / "m.qw")
    assert "two states" in fails("rank", "m.qw", "--given", "sky")
    (tmp_path / "t.csv").write_text("sky,sea\n" + "".join(f"{i % 3},{i % 2}\n" for i in range(12)))
    assert "'sky'" in fails("learn", "t.csv", "--model", "itemrank", "-o", "out.qw")
    assert "'sky' has 3 states" in fails("compare", "t.csv", "--models", "hrf", "--metric", "mrr")


def test_ranking_questions_that_contradict(fails, asia, tmp_path):
    assert "one thing at a time" in fails("rank", "asia.qw", "--given", "lung", "--similar", "smoke")
    assert "did you mean 'lung'" in fails("rank", "asia.qw", "--similar", "lungs")
    assert ".csv" in fails("rank", "asia.qw", "-o", "list.txt")
    assert "no file" in fails("rank", "asia.qw", "--users", "nobody.csv")


# Questions


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["lungs"], "did you mean 'lung'"),
        (["lung", "--given", "smoking=yes"], "no variable 'smoking'"),
        (["lung", "--given", "smoke=often"], "no state 'often'"),
        (["lung", "--given", "smoke"], "smoke"),
        (["xray", "--given", "smoke=yes", "smoke=no"], "two states"),
        (["xray", "--given", "lung=yes", "either=no"], "probability"),
        (["lung", "--given", "lung=yes"], "both"),
    ],
)
def test_a_question_without_an_answer(fails, asia, words, says):
    assert says in fails("query", "asia.qw", *words)


def test_arcs_that_cannot_be_required(fails, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n0,1,0\n1,0,1\n")
    assert "cycle" in fails("learn", "t.csv", "-o", "out.qw", "--required", "a->b, b->c, c->a")
    assert "'z'" in fails("learn", "t.csv", "-o", "out.qw", "--required", "a->z")
    assert "parent->child" in fails("learn", "t.csv", "-o", "out.qw", "--required", "a-b")


# Files


@pytest.mark.parametrize(("body", "says"), [(CYCLE, "cycle"), (BAD_SUM, "sum"), (NO_PARENT, "'c'")])
def test_a_network_that_is_none(fails, tmp_path, body, says):
    (tmp_path / "bad.bif").write_text(ASIA + body)
    assert says in fails("convert", "bad.bif", "out.qw")


def test_a_model_file_that_is_damaged(fails, asia, tmp_path):
    good = asia.read_bytes()
    flipped = bytearray(good)
    flipped[-3] ^= 4
    for name, content in {
        "short.qw": good[:-5],
        "flipped.qw": bytes(flipped),
        "empty.qw": b"",
        "text.qw": b"a,b\n1,2\n",
    }.items():
        (tmp_path / name).write_bytes(content)
        assert name in fails("query", name, "lung")
        assert name in fails("convert", name, "out.csv.bif") and name in fails("sample", name, "-o", "out.csv")


def test_a_foreign_file_as_a_model(fails, tmp_path):
    import pickle

    (tmp_path / "pickled.qw").write_bytes(pickle.dumps({"a": 1}))
    np.savez(tmp_path / "zipped.npz", a=np.zeros(3))
    (tmp_path / "zipped.npz").rename(tmp_path / "zipped.qw")
    assert "pickle" in fails("info", "pickled.qw")
    assert "zip" in fails("info", "zipped.qw")


def test_a_place_where_nothing_can_be_written(fails, asia, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n0,1\n1,0\n")
    (tmp_path / "folder").mkdir()
    assert "no such place" in fails("learn", "t.csv", "-o", "no such place/m.qw")
    assert "folder" in fails("learn", "t.csv", "-o", "folder")
    assert "no such place" in fails("sample", "asia.qw", "-o", "no such place/rows.csv")
    assert ".csv" in fails("sample", "asia.qw", "-o", "rows.xlsx")
    assert ".qw" in fails("convert", "asia.qw", "asia.txt")
    assert ".qw" in fails("learn", "t.csv", "-o", "m.bif")
    assert ".qw" in fails("learn", "t.csv", "-o", "t.csv")


def test_a_full_disk(fails, asia, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "t.csv").write_text("a,b\n0,1\n1,0\n")
    monkeypatch.setattr(os, "fsync", full)
    assert "disk is full" in fails("learn", "t.csv", "-o", "out.qw")
    assert "disk is full" in fails("sample", "asia.qw", "-o", "out.csv")
    assert "disk is full" in fails("convert", "asia.qw", "new.bif")


# Usage


@pytest.mark.parametrize(
    "words",
    [
        ["lern"],
        ["learn"],
        ["learn", "t.csv"],
        ["learn", "t.csv", "-o", "out.qw", "--modle", "bn"],
        ["learn", "t.csv", "-o", "out.qw", "--max-parents", "many"],
        ["learn", "t.csv", "-o", "out.qw", "--model", "forest"],
        ["query", "m.qw"],
        ["query", "m.qw", "a", "--given"],
        ["sample", "m.qw", "-n", "zero"],
        ["sample", "m.qw", "-n", "0"],
        ["compare", "t.csv", "--folds", "1"],
        ["evaluate", "m.qw", "t.csv", "--metric", "accuracy"],
        ["evaluate", "m.qw", "t.csv", "--metric", "mrr", "--protocol", "votes"],
        ["compare", "t.csv", "--metric", "mrr,ll"],
        ["compare", "t.csv", "--metric", "mrr", "--protocol", "all-but-2"],
        ["compare", "t.csv", "--metric", "ndcg@0"],
        ["rank"],
        ["rank", "m.qw", "--top", "0"],
        ["rank", "m.qw", "--tops", "3"],
        ["info"],
        ["--nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_usage(fails, words):
    fails(*words)


# Accidents


def test_no_memory(fails, asia, monkeypatch):
    monkeypatch.setattr("quiltwork.cli.inputs.read_model", lambda path: (_ for _ in ()).throw(MemoryError))
    assert "memory" in fails("query", "asia.qw", "lung")


def test_a_mistake_of_ours_is_owned(fails, asia, monkeypatch):
    monkeypatch.setattr("quiltwork.cli.inputs.read_model", lambda path: 1 / 0)
    assert "mistake" in fails("query", "asia.qw", "lung", code=1)


def test_a_reader_that_goes_away(asia):
    """`quiltwork sample ... | head -1` is quiet."""
    command = [sys.executable, "-m", "quiltwork", "sample", str(asia), "-n", "200000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(30) == 141
    process.stderr.close()


def wait_for_kernels(process):
    """Until the process has loaded what kernels run on: before that it is Python that starts, not ours."""
    maps = f"/proc/{process.pid}/maps"
    if not os.path.exists(maps):  # not Linux
        time.sleep(5.0)
        return
    for _ in range(600):
        with open(maps) as file:
            if "llvmlite" in file.read():
                return
        time.sleep(0.1)


DESTRUCTOR = """type("Fragile", (), {"__del__": lambda self: exec("raise KeyboardInterrupt")})()
    import time
    time.sleep(30)"""


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
@pytest.mark.parametrize("interrupted", ["raise KeyboardInterrupt", "exec('raise KeyboardInterrupt')", DESTRUCTOR])
def test_ctrl_c_stops_a_command_whatever_it_falls_into(tmp_path, interrupted):
    """Modules that are being loaded run code from strings, and destructors run at any time."""
    (tmp_path / "command.py").write_text(
        f"import quiltwork.cli as c, quiltwork.cli.show\ndef run(_):\n    {interrupted}\nc._run = run\nc.main([])\n"
    )
    done = subprocess.run([sys.executable, "-m", "command"], cwd=tmp_path, capture_output=True, text=True, timeout=25)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted; nothing was written.\n")


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
def test_ctrl_c_during_a_long_search(tmp_path):
    """Interrupted at whatever it is doing, it stops soon and leaves the old file."""
    rng = np.random.default_rng(0)
    table = (rng.random((2000, 150)) < 0.5) ^ (rng.random((2000, 1)) < 0.3)
    lines = [",".join(f"v{i}" for i in range(150)), *(",".join(row) for row in table.astype(int).astype(str))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "quiltwork", "learn", "t.csv", "-o", "out.qw"]
    # A first run fills the cache of kernels: compiling one cannot be interrupted, and is done once.
    subprocess.run([*command, "--restarts", "2"], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "out.qw").write_bytes(OLD)
    for delay in (1.0, 4.0):
        process = subprocess.Popen(
            [*command, "--budget", "100"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        wait_for_kernels(process)
        time.sleep(delay)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)  # of a budget of 100 seconds; a quiet machine needs well under one
        assert (process.returncode, out, err) == (130, "", "Interrupted; nothing was written.\n")
        assert (tmp_path / "out.qw").read_bytes() == OLD and sorted(os.listdir(tmp_path)) == ["out.qw", "t.csv"]
