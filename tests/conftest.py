"""Shared by all tests: what is collected, hypothesis without deadlines (a first call may compile), the public data."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from kernel_caches import forget_stale_kernels

# The same examples in every run, so that a change is refused for what it changed; `pytest --hypothesis-profile=explore`
# looks for new ones.
common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quiltwork", derandomize=True, **common)
settings.register_profile("explore", max_examples=500, **common)
settings.load_profile("quiltwork")

# Hypothesis also tries the constants of whatever modules are imported by then, which depends on the tests before.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants


def pytest_configure(config: pytest.Config) -> None:
    forget_stale_kernels()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Examples in docstrings are looked for in the library; here only tests are, not what they are made with."""
    return True if collection_path.suffix == ".py" and not collection_path.name.startswith("test_") else None


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public data sets that QUILTWORK_DATA names."""
    folder = os.environ.get("QUILTWORK_DATA")
    if not folder:
        pytest.skip("QUILTWORK_DATA does not name a folder with the public data sets")
    return Path(folder)


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; returns its exit code, stdout and stderr."""
    from quiltwork.cli import run

    monkeypatch.chdir(tmp_path)

    def call(*words):
        code = run([str(word) for word in words])
        streams = capsys.readouterr()
        return code, streams.out, streams.err

    return call
