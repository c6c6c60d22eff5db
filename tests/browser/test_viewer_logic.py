"""The viewer's own checks, run with npm where its packages are there: types, and unit tests of its logic."""

import shutil
import subprocess
from pathlib import Path

import pytest

VIEWER = Path(__file__).parents[2] / "viewer"

pytestmark = [
    pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm"),
    pytest.mark.skipif(
        not (VIEWER / "node_modules").is_dir(), reason="the viewer's packages are not there: make viewer"
    ),
]


@pytest.mark.parametrize("script", ["check", "test"])
def test_npm_run(script):
    ran = subprocess.run(["npm", "run", "--silent", script], cwd=VIEWER, capture_output=True, text=True, timeout=500)
    assert ran.returncode == 0, ran.stdout + ran.stderr
