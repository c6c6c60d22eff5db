"""Starting is cheap: importing loads no library, and help needs no kernel."""

import subprocess
import sys

import pytest

HEAVY = {"numpy", "numba", "sklearn", "scipy", "polars", "pandas", "pyarrow", "matplotlib", "typer", "rich"}


def modules_after(code: str) -> set[str]:
    """Top-level names in sys.modules of a new process that ran this code."""
    tail = "; import sys; print('\\n' + ' '.join(sorted({m.split('.')[0] for m in sys.modules})))"
    ran = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True, check=True)
    return set(ran.stdout.splitlines()[-1].split())


def test_importing_loads_nothing_heavy():
    assert modules_after("import quiltwork") & HEAVY == set()


def test_dir_names_everything_and_loads_nothing():
    assert modules_after("import quiltwork; assert set(quiltwork.__all__) <= set(dir(quiltwork))") & HEAVY == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["query", "--help"], ["compare", "--help"]])
def test_help_needs_no_kernel(arguments):
    code = f"import quiltwork.cli\ntry: quiltwork.cli.main({arguments!r})\nexcept SystemExit as e: assert not e.code"
    loaded = modules_after(f"exec({code!r})")
    assert loaded & (HEAVY - {"numpy", "scipy", "typer", "rich"}) == set()


def test_an_unknown_name_is_an_attribute_error():
    import quiltwork

    with pytest.raises(AttributeError, match="no attribute 'HybridRandomForest'"):
        quiltwork.HybridRandomForest  # noqa: B018
