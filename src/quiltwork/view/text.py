"""A local distribution in a terminal: tables in columns, trees as trees, weights as a list.

It reads the same plain values as the page (see `locals`). Names are never obeyed: control characters in them are
spelled out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from quiltwork.data.dataset import position
from quiltwork.infer.question import model_of
from quiltwork.view.document import local, told_variables
from quiltwork.view.locals import Local

STATES = 8  # of a distribution on one line; the likeliest
TERMS = 12  # of a formula
LINES = 200  # of a tree; a terminal is no place for more
BAR = "▏▎▍▌▋▊▉█"

Variables = Sequence[dict[str, Any]]


def to_text(model: Any, variable: str) -> str:
    """What a model knows about one variable given the others it hangs on, for a terminal.

    >>> from quiltwork.models.textbook import textbook
    >>> print(to_text(textbook("asia"), "either"))
    P(either | tub, lung)
    tub  lung     yes      no
    ─────────────────────────
    yes  yes   1.0000  0.0000
    yes  no    1.0000  0.0000
    no   yes   1.0000  0.0000
    no   no    0.0000  1.0000
    """
    model = model_of(model)
    v = position(variable, model.variables)
    return local_text(told_variables(model), v, local(model, v))


def local_text(variables: Variables, child: int, told: Local) -> str:
    """A local distribution of a document as lines of text."""
    return "\n".join(_TEXT[told["type"]](variables, child, told))


def plain(text: object) -> str:
    """Text that stays on its line.

    >>> plain("a\\nb\\x1b[2J")
    'a\\\\nb\\\\x1b[2J'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def _name(variables: Variables, v: int) -> str:
    return plain(variables[v]["name"])


def _states(variables: Variables, v: int) -> list[str]:
    return [plain(state) for state in variables[v]["states"]]


def _columns(header: list[str], rows: list[list[str]], n_left: int) -> list[str]:
    """Cells in columns under a line; the first n_left columns stand to the left, the others to the right."""
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = (c.ljust(w) if k < n_left else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True)))
        lines.append("  ".join(cells).rstrip())
    return [lines[0], "─" * max(map(len, lines)), *lines[1:]]


def _left_out(more: int, what: str) -> list[str]:
    return [f"… and {more:,} more {what}"] if more else []


# Tables


def _table(variables: Variables, child: int, told: Local) -> list[str]:
    parents = [_name(variables, p) for p in told["parents"]]
    given = f" | {', '.join(parents)}" if parents else ""
    configurations = product(*(_states(variables, p) for p in told["parents"]))
    rows = [[*states, *(f"{p:.4f}" for p in probs)] for states, probs in zip(configurations, told["rows"])]
    lines = [f"P({_name(variables, child)}{given})"]
    lines += _columns([*parents, *_states(variables, child)], rows, len(parents))
    return lines + _left_out(told["total"] - told["shown"], "configurations")


def _field(variables: Variables, child: int, told: Local) -> list[str]:
    lines = [f"P({_name(variables, child)} | the others) is in proportion to the product of"]
    for family in told["families"]:
        lines += ["", *_table(variables, family["child"], family)]
    return lines


# Trees and graphs


def _tree(variables: Variables, child: int, told: Local) -> list[str]:
    name, nodes = _name(variables, child), told["nodes"]
    entries: dict[int, int] = {}  # how many branches lead to each node
    for node in nodes:
        for branch in node.get("branches", ()):
            entries[branch["to"]] = entries.get(branch["to"], 0) + 1
    lines, met = [f"P({name} | …) as a decision {told['type']}"], set()

    def walk(k: int, opening: str, indent: str) -> None:
        if len(lines) >= LINES:
            return
        mark = f"({k}) " if entries.get(k, 0) > 1 else ""
        if k in met:
            lines.append(f"{opening}→ ({k})")
            return
        met.add(k)
        node = nodes[k]
        if node.get("leaf"):
            lines.append(f"{opening}{mark}{_distribution(_states(variables, child), node)}")
            return
        lines.append(f"{opening}{mark}{_name(variables, node['split'])}?")
        for i, branch in enumerate(node["branches"]):
            last = i == len(node["branches"]) - 1
            tee, bar = ("└── ", "    ") if last else ("├── ", "│   ")
            walk(branch["to"], f"{indent}{tee}{plain(branch['label'])}: ", indent + bar)

    walk(told["root"], "", "")
    if len(lines) >= LINES:
        lines.append("… and more, which the viewer shows")
    return lines


def _distribution(states: list[str], leaf: Local) -> str:
    probs = leaf["probs"]
    likeliest = sorted(range(len(probs)), key=lambda s: -probs[s])[:STATES]
    parts = [f"{states[s]} {_bar(probs[s])} {probs[s]:.2f}" for s in sorted(likeliest)]
    more = f"  (+{len(probs) - STATES} states)" if len(probs) > STATES else ""
    folded = ", more splits below" if leaf.get("folded") else ""
    cases = "" if leaf["cases"] is None else f"  ({leaf['cases']:,.10g} cases{folded})"
    return "  ".join(parts) + more + cases


def _bar(p: float) -> str:
    """Up to four cells of a bar."""
    eighths = round(32 * p)
    return "█" * (eighths // 8) + (BAR[eighths % 8 - 1] if eighths % 8 else "")


# Weights


def _gaussian(variables: Variables, child: int, told: Local) -> list[str]:
    """A formula of the largest terms; where there are more, all in a list."""
    rows = [(_name(variables, one["variable"]), one["weight"]) for one in told["weights"]]
    terms = "".join(f" {'-' if weight < 0 else '+'} {abs(weight):.4g} {name}" for name, weight in rows[:TERMS])
    smaller = told["total"] - min(len(rows), TERMS)
    if smaller:
        terms += f" … and {smaller:,} smaller terms"
    lines = [f"{_name(variables, child)} = {told['intercept']:.4g}{terms} ± {told['deviation']:.4g}"]
    if smaller:
        listed = [[name, f"{weight:+.4g}"] for name, weight in rows]
        lines += _columns(["variable", "weight"], listed, 1) + _left_out(told["total"] - told["shown"], "weights")
    return lines


def _logistic(variables: Variables, child: int, told: Local) -> list[str]:
    states = _states(variables, child)
    rows = [["intercept", *(f"{w:+.4f}" for w in told["intercept"])]]
    for one in told["weights"]:
        label = _name(variables, one["variable"])
        if one.get("state") is not None:
            label += f" = {_states(variables, one['variable'])[one['state']]}"
        rows.append([label, *(f"{w:+.4f}" for w in one["weight"])])
    head = f"log P({_name(variables, child)} | …) up to a constant"
    return [head, *_columns(["", *states], rows, 1), *_left_out(told["total"] - told["shown"], "weights")]


def _boosted(variables: Variables, child: int, told: Local) -> list[str]:
    lines = [f"P({_name(variables, child)} | …) as a sum of {told['trees']} small trees; gain by variable"]
    rows = [[_name(variables, one["variable"]), f"{one['gain']:.4g}"] for one in told["importance"]]
    if not rows:
        return [*lines, "no other variable helps"]
    return lines + _columns(["variable", "gain"], rows, 1) + _left_out(told["asked"] - len(rows), "variables")


def _features(variables: Variables, child: int, told: Local) -> list[str]:
    rows = []
    for feature in told["features"]:
        said = (
            f"{_name(variables, one['variable'])} = {_states(variables, one['variable'])[one['state']]}"
            for one in feature["conditions"]
        )
        rows.append([" ∧ ".join(said), f"{feature['weight']:+.4f}"])
    lines = [f"Features with {_name(variables, child)}, the heaviest first", *_columns(["feature", "weight"], rows, 1)]
    return lines + _left_out(told["total"] - told["shown"], "features")


def _none(variables: Variables, child: int, told: Local) -> list[str]:
    return [plain(told["reason"])]


_TEXT = {
    "table": _table,
    "field": _field,
    "tree": _tree,
    "graph": _tree,
    "gaussian": _gaussian,
    "logistic": _logistic,
    "boosted": _boosted,
    "features": _features,
    "none": _none,
}
