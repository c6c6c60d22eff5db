"""What the scripts of this folder share: the public data, the cells of tables that take hours, and RESULTS.md."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from quiltwork.data.votes import Votes, read_votes

DEBD = (
    "nltcs", "msnbc", "kdd", "plants", "baudio", "jester", "bnetflix", "msweb", "book", "tmovie", "cwebkb", "cr52",
    "c20ng",
)  # fmt: skip
RESULTS = Path(__file__).with_name("RESULTS.md")


def data_folder() -> Path:
    """The folder of public data sets; without it a script says so and stops."""
    folder = os.environ.get("QUILTWORK_DATA")
    if not folder:
        sys.exit("QUILTWORK_DATA must name the folder with the public data sets; README.md says where they come from.")
    return Path(folder)


def movielens_folds() -> Iterator[tuple[Votes, Votes]]:
    """The five folds of MovieLens 100k that come with it: training and test votes, the ratings themselves unread."""
    for k in range(1, 6):
        parts = []
        for part in ("base", "test"):
            with lzma.open(data_folder() / "ml-100k" / f"u{k}.{part}.xz", "rt") as file:
                parts.append(read_votes([tuple(map(int, line.split()[:2])) for line in file]))
        yield parts[0], parts[1]


def citations(name: str) -> Votes:
    """Who cites whom: papers with at least three references as users, the papers they cite as items.

    A line "a b" means that b cites a. Self-citations are kept, as the counts of the paper ask for.
    """
    with gzip.open(data_folder() / "citations" / f"{name}.cites.gz", "rt") as file:
        links = [tuple(line.split()) for line in file]
    cited_by: dict[str, set[str]] = {}
    for cited, citing in links:
        cited_by.setdefault(citing, set()).add(cited)
    return read_votes([(citing, cited) for cited, citing in links if len(cited_by[citing]) >= 3])


def debd(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One of the 13 binary sets of density estimation: training, validation and test rows, 0 or 1."""
    stored = np.load(data_folder() / "debd" / f"{name}.npz")
    n_vars = int(stored["n_vars"])
    train, valid, test = (np.unpackbits(stored[part], axis=1)[:, :n_vars] for part in ("train", "valid", "test"))
    return train, valid, test


class Cells:
    """The cells of large tables, in one JSON file for each set of rows: what is there is not measured again.

    The folder `cells` holds those that RESULTS.md was made from, so that it can be added to, and told anew, without
    hours of learning. Without a folder nothing is kept.
    """

    def __init__(self, folder: Path | None):
        self._folder = folder

    def read(self, name: str, cell: str) -> dict[str, Any] | None:
        return self._of(name).get(cell)

    def fill(self, name: str, cell: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        found = self.read(name, cell)
        if found is None:
            found = measure()
            print(name, cell, found, flush=True)
            self._keep(name, cell, found)
        return found

    def _of(self, name: str) -> dict[str, Any]:
        path = self._folder / f"{name}.json" if self._folder else None
        return json.loads(path.read_text()) if path and path.exists() else {}

    def _keep(self, name: str, cell: str, found: dict[str, Any]) -> None:
        if self._folder:
            self._folder.mkdir(parents=True, exist_ok=True)
            cells = {**self._of(name), cell: found}  # read anew: another script may have filled some in the meantime
            lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(cells[key])}" for key in sorted(cells))
            (self._folder / f"{name}.json").write_text(f"{{\n{lines}\n}}\n")


def peak_mb() -> float:
    """The most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def keep(section: str, text: str) -> None:
    """Print a result and keep it in RESULTS.md under its heading, in place of what stood there."""
    print(text)
    content = RESULTS.read_text() if RESULTS.exists() else "# Results\n"
    block = f"<!-- {section} -->\n{text.strip()}\n<!-- end of {section} -->"
    pattern = re.compile(rf"<!-- {re.escape(section)} -->.*?<!-- end of {re.escape(section)} -->", re.S)
    content = pattern.sub(lambda _: block, content) if pattern.search(content) else f"{content.rstrip()}\n\n{block}\n"
    RESULTS.write_text(content)


def markdown(headings: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
