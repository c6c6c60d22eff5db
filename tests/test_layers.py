"""A room imports only rooms to its left, wherever the import stands: on top, in a function, for types only."""

import ast
from pathlib import Path

import pytest

ROOMS = "errors params rng data stats cpds scores models search infer backends learn rank view cli".split()
SOURCE = Path(__file__).parent.parent / "src" / "quiltwork"
DOORS = {"__init__", "__main__"}  # the front door names every room, and does no work


def imports(tree: ast.AST, package: list[str]):
    """(line, dotted name) of everything a module imports, relative names made whole."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            yield from ((node.lineno, a.value) for a in node.args if isinstance(a, ast.Constant))


def trespasses(text: str, module: str) -> list[str]:
    """The imports in `module` (a dotted name) that reach to the right, or through the front door."""
    parts = module.split(".")
    room = parts[1]
    found = []
    for line, name in imports(ast.parse(text), parts[:-1]):
        head, _, rest = name.partition(".")
        if head != "quiltwork" or rest == "__version__":
            continue
        other = rest.split(".")[0]
        if other not in ROOMS or ROOMS.index(other) > ROOMS.index(room):
            found.append(f"{module}, line {line}: {room} imports {name}")
    return found


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)


MODULES = [(p, dotted(p)) for p in sorted(SOURCE.rglob("*.py")) if not (p.parent == SOURCE and p.stem in DOORS)]


@pytest.mark.parametrize(("path", "module"), MODULES, ids=[module for _, module in MODULES])
def test_a_room_imports_only_rooms_to_its_left(path, module):
    assert trespasses(path.read_text("utf-8"), module) == []


def test_every_room_is_in_the_list():
    names = {p.stem for p in SOURCE.glob("*.py")} | {p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists()}
    assert names - DOORS <= set(ROOMS)


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("from quiltwork.learn import registry", "quiltwork.data.read"),
        ("import quiltwork.learn.bayesian", "quiltwork.stats.pairs"),
        ("from quiltwork import learn", "quiltwork.models.files"),
        ("from quiltwork import save", "quiltwork.learn.base"),
        ("def f():\n    from quiltwork.models.files import load", "quiltwork.cpds.table"),
        ("if TYPE_CHECKING:\n    from ..models import bayesian", "quiltwork.scores.bic"),
        ("importlib.import_module('quiltwork.cli')", "quiltwork.infer.exact"),
    ],
)
def test_the_rule_sees_a_trespass(line, module):
    assert len(trespasses(line, module)) == 1


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("from quiltwork.errors import DataError", "quiltwork.data.read"),
        ("from quiltwork.learn.base import Learner", "quiltwork.learn.bayesian"),
        ("from . import base", "quiltwork.learn.bayesian"),
        ("from quiltwork import __version__", "quiltwork.models.files"),
        ("import numpy.learn", "quiltwork.data.read"),
    ],
)
def test_the_rule_lets_a_neighbour_pass(line, module):
    assert trespasses(line, module) == []
