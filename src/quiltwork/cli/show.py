"""What a person sees: tables on stdout, progress bars and notes on stderr; or JSON for a machine.

Bars are drawn only on a terminal, so a pipe carries results and nothing else. Names come from the
user's file: they are never read as markup, and control characters in them are shown, not obeyed.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Report = Callable[[str, int, int], None]

_NUMBER = re.compile(r"([-+]?\d[\d.,]*|-)( |$)")  # a dash stands for a number that there is not

written: list[Path] = []  # files this command has finished, for the sentence after Ctrl-C


def one_line(text: object) -> str:
    """Text that stays on its line: control characters are spelled out.

    >>> one_line("a\\nb\\x1b[2J")
    'a\\\\nb\\\\x1b[2J'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def console(stderr: bool = False) -> Any:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """Print a table under its title; a column of numbers stands to the right. Only a terminal folds long lines.

    >>> table(["state", "probability"], [["yes", "0.25"], ["no", "0.75"]], title="Rain")
    Rain
    state   probability
    ───────────────────
    yes            0.25
    no             0.75
    <BLANKLINE>
    """
    from rich import box
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    cells = [[one_line(cell) for cell in row] for row in rows]
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, show_header=any(columns))
    for c, name in enumerate(columns):
        numeric = bool(cells) and all(_NUMBER.match(row[c]) for row in cells)
        drawn.add_column(Text(one_line(name)), justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        drawn.add_row(*map(Text, row))
    if title is not None:
        say(one_line(title), style="bold")
    screen = console()
    if not screen.is_terminal:
        unbounded = screen.options.update(max_width=sys.maxsize)
        screen.width = max(screen.width, Measurement.get(screen, unbounded, drawn).maximum)
    screen.print(drawn)
    say()


def say(text: str = "", style: str | None = None) -> None:
    """Print a line for a person."""
    console().print(text, style=style, markup=False, soft_wrap=True)


def as_json(document: object) -> None:
    """Print a document for a machine; a number that is not finite becomes null, as JSON has none."""
    sys.stdout.write(json.dumps(_finite(document), indent=2, ensure_ascii=False) + "\n")


def write_rows(path: Path | None, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a .csv or .tsv file whole or not at all, or CSV to standard output.

    Cells are written as they are, so that what is read back is what was written.
    """
    separator = "\t" if path is not None and path.suffix.lower() == ".tsv" else ","
    file: Any = sys.stdout if path is None else io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    if path is not None:
        from quiltwork.models.disk import write_atomically

        write_atomically(path, file.getvalue().encode())
        written.append(path)


def number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}f}"


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 0.095 else f"{1000 * value:.1f} ms"


@contextmanager
def progress() -> Iterator[Report | None]:
    """A function (stage, done, total) that moves a bar on the terminal, or None where nobody looks."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    if not screen.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield report


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
