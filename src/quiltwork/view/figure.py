"""A static figure, for a paper or a report: the network, or the local distribution of one variable.

matplotlib draws it from the document; nothing else is needed, and no window is opened.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quiltwork.data.dataset import position
from quiltwork.errors import InputError, MissingDependencyError
from quiltwork.view.document import Document, document, told_variables, viewable
from quiltwork.view.kinds import kind_of
from quiltwork.view.locals import MOST, Local
from quiltwork.view.text import local_text

NAMES = 150  # variables whose names are written
LONGEST_NAME = 18  # characters
SMALLEST, LARGEST = 5.0, 9.0  # points of text
LINE, CHARACTER = 1.25, 0.62  # height and width of a character in such text
SIDES = ((0, 1, "center", "bottom"), (1, 0, "left", "center"), (-1, 0, "right", "center"), (0, -1, "center", "top"))
ACCENT, INK, LIGHT = "#0072b2", "#222222", "#d9d9d9"  # blue and greys: the same to all eyes, and on paper


def figure(model: Any, variable: str | None = None, *, n_arcs: int | None = None, ax: Any = None) -> Any:
    """Draw the network of a model (or of a fitted estimator), or with `variable` that variable's local distribution.

    n_arcs  how many of the strongest arcs; None for about two per variable
    ax      matplotlib axes to draw into; None for a new figure

    Returns the matplotlib figure.

    >>> import quiltwork as qw
    >>> qw.figure(qw.textbook("asia")).savefig("asia.pdf")  # doctest: +SKIP
    """
    model = viewable(model)
    axes = _axes(ax)
    axes.set_axis_off()
    if variable is None:
        _draw_network(axes, document(model, room=None), n_arcs)
    else:
        v = position(variable, model.variables)
        variables, told = told_variables(model), kind_of(model).local(model, v, MOST)
        if told["type"] == "tree":
            _draw_tree(axes, variables, v, told)
        else:
            _draw_text(axes, local_text(variables, v, told).split("\n"))
    return axes.figure


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError.of("matplotlib", "plot", "Drawing a figure") from None
    return Figure(figsize=(10, 7), layout="constrained").add_subplot()


# The network


def _draw_network(axes: Any, shown: Document, n_arcs: int | None) -> None:
    from matplotlib.patheffects import withStroke

    arcs = shown["arcs"]
    if n_arcs is not None and n_arcs < 0:
        raise InputError(f"'n_arcs' must be a number of arcs, or None. Got {n_arcs!r} instead.")
    count = min(len(arcs["from"]), shown["slider_start"] if n_arcs is None else n_arcs)
    places = np.array(shown["positions"]).reshape(-1, 2)
    width, reach = _widths(arcs["strength"][:count]), min(14.0, 40 / np.sqrt(max(1, len(places))))
    for k in range(count - 1, -1, -1):  # the strongest on top
        tail, head = places[arcs["from"][k]], places[arcs["to"][k]]
        style = "-|>,head_width=.25,head_length=.5" if shown["directed"] else "-"
        arrow = {
            "arrowstyle": style,
            "color": INK,
            "alpha": 0.55,
            "lw": width[k],
            "shrinkA": reach / 2,
            "shrinkB": reach / 2,
        }
        axes.annotate("", head, tail, arrowprops=arrow)
    axes.scatter(*places.T, s=reach**2, color=ACCENT, zorder=3, clip_on=False)
    if len(places) <= NAMES:
        ends = np.array([arcs["from"][:count], arcs["to"][:count]], np.int64)
        halo = [withStroke(linewidth=1.5, foreground="white")]
        for v, (x, y, ha, va) in enumerate(_sides(places, ends)):
            offset = x * (reach / 2 + 2), y * (reach / 2 + 2)
            axes.annotate(
                _brief(shown["variables"][v]["name"]), places[v], offset, textcoords="offset points",
                ha=ha, va=va, size=8, color=INK, zorder=4, parse_math=False, path_effects=halo,
            )  # fmt: skip
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.set_title(f"{shown['title']}: {_counted(len(places), 'variable')}, {_how_many(shown, count)}")


def _sides(places: np.ndarray, ends: np.ndarray) -> list[tuple[int, int, str, str]]:
    """On which side of each point its name stands: where the nearest of its arcs is farthest."""
    nearest = np.full((len(places), len(SIDES)), -1.0)  # cosine of the angle to the nearest arc
    for one, other in (ends, ends[::-1]):
        way = places[other] - places[one]
        way /= np.maximum(np.hypot(*way.T), 1e-12)[:, None]
        np.maximum.at(nearest, one, way @ np.array([side[:2] for side in SIDES]).T)
    return [SIDES[k] for k in nearest.argmin(axis=1).tolist()]


def _how_many(shown: Document, count: int) -> str:
    line, total = "arc" if shown["directed"] else "edge", shown["summary"]["arcs"]
    return _counted(total, line) if count == total else f"the strongest {count:,} of {_counted(total, line)}"


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _widths(strength: list[float]) -> np.ndarray:
    """Widths of lines from 0.4 to 2.2, by strength."""
    size = np.abs(np.array(strength, np.float64))
    return 0.4 + 1.8 * np.sqrt(size / size.max()) if len(size) and size.max() > 0 else np.full(len(size), 0.8)


# A tree


def _draw_tree(axes: Any, variables: list[Document], child: int, told: Local) -> None:
    """Splits from left to right; at each leaf a bar for every state and the number of cases."""
    places = _tree_places(told)
    for k, node in enumerate(told["nodes"]):
        x, y = places[k]
        for branch in node.get("branches", ()):
            to_x, to_y = places[branch["to"]]
            axes.plot([x, x + 0.35, to_x], [y, to_y, to_y], color=LIGHT, zorder=1)
            axes.text(x + 0.4, to_y, _brief(branch["label"]), size=7, va="bottom", color=INK, parse_math=False)
        if node.get("leaf"):
            _draw_leaf(axes, x, y, node)
        else:
            name = _brief(variables[node["split"]]["name"])
            box = {"boxstyle": "round", "facecolor": "white", "edgecolor": ACCENT}
            axes.text(x, y, name, size=8, ha="center", va="center", bbox=box, zorder=3, parse_math=False)
    states = ", ".join(_brief(state) for state in variables[child]["states"][:6])
    axes.set_title(f"{_brief(variables[child]['name'])}: bars for {states}", parse_math=False)
    axes.invert_yaxis()
    axes.margins(0.08)


def _tree_places(told: Local) -> dict[int, tuple[float, float]]:
    """Depth and height of every node; leaves stand one below the other, a split in the middle of its branches."""
    places: dict[int, tuple[float, float]] = {}
    leaves = 0

    def place(k: int, depth: int) -> float:
        nonlocal leaves
        branches = told["nodes"][k].get("branches", ())
        if branches:
            heights = [place(branch["to"], depth + 1) for branch in branches]
            y = (heights[0] + heights[-1]) / 2
        else:
            y, leaves = float(leaves), leaves + 1
        places[k] = (float(depth), y)
        return y

    place(told["root"], 0)
    return places


def _draw_leaf(axes: Any, x: float, y: float, leaf: Local) -> None:
    probs = leaf["probs"][:6]
    step = 0.8 / len(probs)
    heights = [y - 0.4 + step * (s + 0.5) for s in range(len(probs))]
    axes.barh(heights, [0.5 * p for p in probs], 0.8 * step, x, color=ACCENT, zorder=2)
    axes.barh(heights, [0.5] * len(probs), 0.8 * step, x, color=LIGHT, alpha=0.4, zorder=1)
    cases = "" if leaf["cases"] is None else f"{leaf['cases']:,.10g}"
    axes.text(x + 0.54, y, cases, size=7, va="center", color=INK)


# Text


def _draw_text(axes: Any, lines: list[str]) -> None:
    """As large as it fits; what does not fit in the smallest size is left out, and said to be."""
    extent, points = axes.get_window_extent(), 72 / axes.figure.dpi
    high, wide = extent.height * points / LINE, extent.width * points / CHARACTER
    size = float(np.clip(min(high / len(lines), wide / max(map(len, lines))), SMALLEST, LARGEST))
    most, longest = max(2, int(high / size)), max(2, int(wide / size))
    if len(lines) > most:
        lines = [*lines[: most - 1], f"… and {len(lines) - most + 1:,} more lines, which to_text tells"]
    text = "\n".join(line if len(line) <= longest else f"{line[: longest - 1]}…" for line in lines)
    axes.text(0, 1, text, family="monospace", va="top", size=size, parse_math=False, transform=axes.transAxes)


def _brief(text: str) -> str:
    printable = "".join(c if c.isprintable() else "·" for c in text)
    return printable if len(printable) <= LONGEST_NAME else printable[: LONGEST_NAME - 1] + "…"
