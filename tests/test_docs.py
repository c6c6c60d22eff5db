"""What the documents show was run: Python examples as doctests, commands with the output they print."""

import doctest
import re
import runpy
import shlex
from pathlib import Path

import pytest

from quiltwork.cli import run

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "tour.md",
    ROOT / "docs" / "viewer.md",
    ROOT / "docs" / "cli.md",
    ROOT / "docs" / "formats.md",
    ROOT / "docs" / "local_structure.md",
    ROOT / "docs" / "markov_trees.md",
    ROOT / "docs" / "markov_networks.md",
    ROOT / "docs" / "inference.md",
    ROOT / "docs" / "gaussian.md",
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

by_name = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@pytest.fixture(scope="module")
def toured(tmp_path_factory):
    """A folder in which the demo was run."""
    folder = tmp_path_factory.mktemp("toured")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["demo"]) == 0
    return folder


def commands(text: str) -> list[tuple[str, str]]:
    """(command, what it prints) in the console blocks of a page."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


@by_name
def test_python_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    results = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    assert results.failed == 0


@by_name
def test_commands(page, toured, monkeypatch, capsys):
    monkeypatch.chdir(toured)
    for command, wanted in commands(page.read_text("utf-8")):
        program, *words = shlex.split(command)
        assert program == "quiltwork"
        code = run(words)
        streams = capsys.readouterr()
        assert code == (2 if streams.err else 0), command
        printed = streams.out + streams.err
        assert doctest.OutputChecker().check_output(wanted, printed, FLAGS), f"$ {command}\n{printed}"


def test_the_readme_has_examples_to_run():
    text = PAGES[0].read_text("utf-8")
    assert len(commands(text)) >= 7 and text.count(">>>") >= 15


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda script: script.name)
def test_examples_run(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out
