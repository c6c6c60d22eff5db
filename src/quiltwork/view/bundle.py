"""The page's files: built from `viewer/` by `make viewer`, carried by the wheel, and never anything else.

Only the names listed here are ever read, so no request can lead to another file.
"""

from __future__ import annotations

from pathlib import Path

from quiltwork.errors import MissingDependencyError

FOLDER = Path(__file__).parent / "static"
NAMES = {  # file -> how it is served
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "licences.txt": "text/plain; charset=utf-8",
}


def is_built() -> bool:
    return all((FOLDER / name).is_file() for name in NAMES)


def check_bundle() -> None:
    """Say in one sentence what to do where the page is missing."""
    if not is_built():
        raise MissingDependencyError(
            "The viewer's page is not built yet: run 'make viewer' in the source folder (it needs npm), or install a "
            "released wheel, which carries it; qw.figure, qw.to_text and 'quiltwork info' work without it."
        )


def read_bundle(name: str) -> bytes:
    """The content of one of the files."""
    if name not in NAMES:
        raise KeyError(name)
    check_bundle()
    return (FOLDER / name).read_bytes()
