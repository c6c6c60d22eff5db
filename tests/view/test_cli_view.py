"""`quiltwork view`, `quiltwork serve` and `quiltwork info MODEL VARIABLE`."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from some_models import model_of, network, put_page, trees

import quiltwork as qw
from quiltwork.cli import run
from quiltwork.view import serve
from quiltwork.view.serve import Service

pytest.importorskip("uvicorn")


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command in a folder with asia.qw and a page; a server that is asked to run returns at once."""
    monkeypatch.chdir(tmp_path)
    put_page(tmp_path, monkeypatch)
    monkeypatch.setattr(serve, "PORT", 20_000 + os.getpid() % 20_000)
    qw.save(qw.textbook("asia"), "asia.qw")
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    monkeypatch.setattr(Service, "run", lambda service: service.socket.close())

    def call(*words):
        code = run(list(words))
        streams = capsys.readouterr()
        return code, streams.out, streams.err, list(opened)

    return call


def test_view_opens_the_browser(cli):
    code, out, err, opened = cli("view", "asia.qw")
    (url,) = opened
    assert (code, out) == (0, "") and url in err and url.startswith("http://127.0.0.1:") and "Ctrl-C" in err


def test_view_without_a_browser_tells_the_address(cli, monkeypatch):
    assert cli("view", "asia.qw", "--no-browser")[3] == []
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    code, _, err, _ = cli("view", "asia.qw")
    assert code == 0 and "No browser was found" in err


def test_view_compares(cli):
    qw.save(model_of("bn"), "other.qw")
    code, _, err, _ = cli("view", "asia.qw", "--compare", "other.qw")
    assert code == 0 and "asia.qw beside other.qw" in err


def test_view_reads_exchange_formats(cli):
    qw.write_network(qw.textbook("asia"), "asia.bif")
    assert cli("view", "asia.bif")[0] == 0


def test_view_refuses_in_a_sentence(cli, tmp_path):
    qw.save(network(2, [(), (0,)]), "two.qw")
    (tmp_path / "foreign.qw").write_bytes(b"PK\x03\x04 something else")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = str(other.getsockname()[1])
        for words, said in [
            (["asia.qw", "--compare", "two.qw"], "same variables"),
            (["asia.qw", "--port", taken], f"Port {taken} is taken"),
            (["asia.qw", "--port", "70000"], "65535"),
            (["none.qw"], "There is no file"),
            (["foreign.qw"], "is not a quiltwork model but a zip archive"),
        ]:
            code, out, err, opened = cli("view", *words)
            assert (code, out, opened) == (2, "", []) and said in err and err.count("\n") == 1
    (tmp_path / "app.css").unlink()
    code, _, err, _ = cli("view", "asia.qw")
    assert code == 2 and "make viewer" in err


def test_serve_opens_nothing_and_warns_about_other_machines(cli, monkeypatch):
    code, _, err, opened = cli("serve", "asia.qw")
    assert code == 0 and opened == [] and "Note" not in err
    monkeypatch.setattr(serve, "_listen", lambda host, port: socket.create_server(("127.0.0.1", 0)))
    code, _, err, _ = cli("serve", "asia.qw", "--host", "192.168.1.7")
    assert code == 0 and "Note: Other machines can reach the viewer" in err and "token=" in err
    code, _, err, _ = cli("serve", "asia.qw", "--host", "0.0.0.0")
    assert code == 2 and "give the one address" in err


PROGRAM = """
import sys
from pathlib import Path
import quiltwork.view.bundle as bundle
bundle.FOLDER = Path(sys.argv[1])
from quiltwork.cli import main
main(["view", sys.argv[2], "--no-browser", "--port", "0"])
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM)])
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_ends_it_in_peace(cli, tmp_path, number, code):
    words = [sys.executable, "-c", PROGRAM, str(tmp_path), str(tmp_path / "asia.qw")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address = process.stderr.readline().rpartition("is shown at ")[2].strip()
        assert "Ctrl-C" in process.stderr.readline()
        with closing(HTTPConnection(urlsplit(address).netloc, timeout=120)) as asking:  # once it answers it runs
            asking.request("GET", "/")
            assert asking.getresponse().status == 401
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out, err) == (code, "", "")


# info


def test_info_shows_a_table(cli):
    code, out, err, _ = cli("info", "asia.qw", "either")
    assert (code, err) == (0, "") and "P(either | tub, lung)" in out and "no   no    0.0000  1.0000" in out
    told = json.loads(cli("info", "asia.qw", "either", "--json")[1])
    assert told["local"]["rows"] == [[1, 0], [1, 0], [1, 0], [0, 1]] and told["blanket"]


def test_info_cuts_long_states_and_names(cli):
    long = ("a" * 10_000, "b" * 10_000)
    qw.save(network(3, [(), (0,), (1,)], names=["n" * 10_000, "m", "k"], states=long), "long.qw")
    for words in (["long.qw"], ["long.qw", "m"]):
        code, out, err, _ = cli("info", *words)
        assert (code, err) == (0, "") and max(map(len, out.splitlines())) < 500
    assert json.loads(cli("info", "long.qw", "--json")[1])["states"]["m"] == list(long)


def test_info_shows_a_tree(cli):
    qw.save(trees()[0], "trees.qw")
    out = cli("info", "trees.qw", "a")[1]
    assert "├── = no: lo" in out and "(30 cases)" in out


def test_info_names_what_is_wrong(cli):
    code, _, err, _ = cli("info", "asia.qw", "lungs")
    assert code == 2 and "did you mean 'lung'" in err


@pytest.mark.parametrize("kind", ["gmf", "itemrank", "gaussian-tree", "popularity"])
def test_info_tells_about_a_variable_of_any_kind(kind, cli):
    qw.save(model_of(kind), "any.qw")
    name = model_of(kind).variables[0].name
    code, out, err, _ = cli("info", "any.qw", name)
    assert (code, err) == (0, "") and name in out
    told = json.loads(cli("info", "any.qw", name, "--json")[1])
    assert told["variable"] == name and ("blanket" in told) == (kind not in ("gmf", "itemrank"))
