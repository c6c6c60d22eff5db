"""House rules that matter are programs: each test here is one rule, with the reason beside it."""

import ast
import inspect
from pathlib import Path

import pytest

import quiltwork
from kernel_caches import KERNEL_LIBRARIES

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "quiltwork"
FILES = sorted(SOURCE.rglob("*.py"))
LONG_FILES: set[str] = set()  # files that may pass 450 lines; each needs a reason here

by_name = [pytest.param(path, id=str(path.relative_to(SOURCE))) for path in FILES]


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@pytest.mark.parametrize("path", [p for p in by_name if "cli" not in p.id])
def test_the_library_does_not_print(path):
    """Only the command line speaks to a person; a library that prints cannot be used in a pipe."""
    calls = [n for n in ast.walk(tree_of(path)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    assert [c.lineno for c in calls if c.func.id == "print"] == []


@pytest.mark.parametrize("path", by_name)
def test_a_file_is_read_in_one_sitting(path):
    if path.name not in LONG_FILES:
        assert len(path.read_text("utf-8").splitlines()) <= 450


# Kernels


def decorators(function: ast.FunctionDef) -> dict[str, dict[str, object]]:
    """Name -> keywords of each decorator."""
    found = {}
    for d in function.decorator_list:
        name = ast.unparse(d.func if isinstance(d, ast.Call) else d).split(".")[-1]
        found[name] = {k.arg: ast.unparse(k.value) for k in d.keywords} if isinstance(d, ast.Call) else {}
    return found


def kernels(tree: ast.Module) -> list[tuple[ast.FunctionDef, dict[str, object]]]:
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    return [(f, decorators(f)["njit"]) for f in functions if "njit" in decorators(f)]


def kernel_faults(tree: ast.Module) -> list[str]:
    """Kernels that are not cached, hold the GIL, loosen arithmetic, or call a kernel whose changes the cache misses."""
    elsewhere = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("quiltwork.")
        if node.module not in KERNEL_LIBRARIES
        for alias in node.names
    }
    faults = []
    for function, options in kernels(tree):
        if options.get("cache") != "True" or options.get("nogil") != "True":
            faults.append(f"{function.name}: @njit needs cache=True and nogil=True")
        if "fastmath" in options:
            faults.append(f"{function.name}: fastmath makes log 0 undefined")
        called = {n.func.id for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        if called & elsewhere:
            faults.append(f"{function.name}: calls {called & elsewhere} of another file")
    return faults


@pytest.mark.parametrize("path", by_name)
def test_kernels_are_cached_release_the_gil_and_keep_arithmetic(path):
    assert kernel_faults(tree_of(path)) == []


@pytest.mark.parametrize(
    "code",
    [
        "@njit\ndef k(): pass",
        "@numba.njit(cache=True)\ndef k(): pass",
        "@njit(cache=True, nogil=True, fastmath=True)\ndef k(): pass",
        "from quiltwork.stats.pairs import g\n@njit(cache=True, nogil=True)\ndef k(): g()",
    ],
)
def test_the_kernel_rule_sees_a_fault(code):
    assert len(kernel_faults(ast.parse(code))) == 1


def test_there_are_kernels_to_check():
    assert sum(len(kernels(tree_of(path))) for path in FILES) >= 5


# Slow twins


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "naive").rglob("*.py")), ids=lambda p: p.name)
def test_a_slow_twin_owes_nothing_to_its_fast_one(path):
    for node in ast.walk(tree_of(path)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(n.split(".")[0] == "quiltwork" for n in names)


# Public names

CALLABLE_ROOMS = {"learn": "learn.registry", "view": "view.show"}  # a room's function -> the file that defines it


@pytest.mark.parametrize("name", quiltwork.__all__)
def test_every_public_name_shows_an_example(name):
    assert ">>>" in (inspect.getdoc(getattr(quiltwork, name)) or "")


@pytest.mark.parametrize("name", quiltwork.__all__)
def test_every_public_name_is_in_the_reference(name):
    page = (ROOT / "docs" / "reference.md").read_text("utf-8").splitlines()
    assert f"::: quiltwork.{CALLABLE_ROOMS[name] + '.' + name if name in CALLABLE_ROOMS else name}" in page


def test_type_checkers_see_every_public_name():
    """The lazy table and the imports for editors must name the same things."""
    guarded = next(n for n in tree_of(SOURCE / "__init__.py").body if isinstance(n, ast.If))
    seen = {(node.module, a.name) for node in guarded.body for a in node.names if isinstance(node, ast.ImportFrom)}
    rooms = {(f"quiltwork.{home}", name) for name, home in CALLABLE_ROOMS.items()}
    assert seen == {(home, name) for name, home in quiltwork._HOME.items()} | rooms
