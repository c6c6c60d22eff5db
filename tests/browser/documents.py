"""Documents for the browser tests, made by hand: one local distribution of every kind, and names that attack."""

from __future__ import annotations

import copy
import math
from typing import Any

Document = dict[str, Any]

ROOT, TABLE, TREE, GRAPH, LOGISTIC, BOOSTED, GAUSSIAN, FEATURES, FIELD, NONE = range(10)  # of `every_kind`
YES_NO = ["no", "yes"]

ATTACKS = [
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "javascript:alert(1)",
    "</script><script>alert(1)</script>",
    "`${alert(1)}` {{alert(1)}}",
    "' onmouseover='alert(1)",
    "&lt;b&gt; <b>bold</b> <!--",
    "\u202egnp.exe \u0000\u0007 tail",
]


def document(
    names: list[str],
    arcs: list[tuple[int, int, float]],
    locals_: list[Document],
    kind: str = "bn",
    states: list[list[str]] | None = None,
    **more: Any,
) -> Document:
    """A whole document around names, arcs (from, to, strength; strongest first) and local distributions."""
    n = len(names)
    states = states or [YES_NO] * n
    variables = [
        {"name": name, "states": own, "marginal": [1 / len(own)] * len(own), "numeric": None}
        for name, own in zip(names, states)
    ]
    return {
        "format": "quiltwork-view",
        "version": 1,
        "kind": kind,
        "title": "Bayesian network" if kind == "bn" else "Network",
        "directed": kind not in ("mn", "tree"),
        "summary": {"variables": n, "arcs": len(arcs), "parameters": 40, "rows": 1000},
        "strength": {"name": "score lost without the arc", "unit": "nats"},
        "notes": [],
        "variables": variables,
        "positions": [circle(v, n) for v in range(n)],
        "arcs": {
            "from": [a for a, _, _ in arcs],
            "to": [b for _, b, _ in arcs],
            "strength": [s for _, _, s in arcs],
        },
        "slider_start": len(arcs),
        "blankets": None,
        "evidence": True,
        "locals": locals_,
    } | more


def circle(v: int, n: int) -> list[float]:
    angle = 2 * math.pi * v / n
    return [0.5 + 0.45 * math.cos(angle), 0.5 + 0.45 * math.sin(angle)]


def leaf(p: float, cases: int, **more: Any) -> Document:
    return {"leaf": True, "probs": [1 - p, p], "cases": cases} | more


def split(variable: int, state: int, yes: int, no: int, gain: float) -> Document:
    branches = [{"label": "= yes", "to": yes}, {"label": "= no", "to": no}]
    return {"split": variable, "state": state, "branches": branches, "gain": gain}


def table(parents: list[int], rows: list[list[float]], **more: Any) -> Document:
    return {"type": "table", "parents": parents, "rows": rows, "shown": len(rows), "total": len(rows)} | more


def tree_of(nodes: list[Document], **more: Any) -> Document:
    shown = sum("leaf" in node and "folded" not in node for node in nodes)
    return {"type": "tree", "nodes": nodes, "root": 0, "shown": shown, "total": shown} | more


def gaussian(weights: list[float], **more: Any) -> Document:
    """Every weight is one of the first variable."""
    told = [{"variable": 0, "weight": weight} for weight in weights]
    counts = {"shown": len(told), "total": len(told)}
    return {"type": "gaussian", "intercept": 1.5, "weights": told, "deviation": 0.5, **counts} | more


def every_kind() -> Document:
    """Ten variables, each with another kind of local distribution."""
    names = ["root", "table", "tree", "graph", "logistic", "boosted", "gaussian", "features", "field", "none"]
    arcs = [(0, v, 100.0 - 10 * v) for v in range(1, 10)] + [(1, 2, 4.0), (2, 3, 3.0)]
    weights = [{"variable": 0, "state": 1, "weight": [-1.5, 1.5]}, {"variable": 1, "state": 1, "weight": [0.4, -0.4]}]
    tree = [split(0, 1, 1, 2, 25.5), leaf(0.75, 400), split(1, 1, 3, 4, 8.25), leaf(0.1, 500), leaf(0.5, 100)]
    graph = [split(0, 1, 1, 2, 9.0), split(2, 1, 3, 4, 5.0), split(1, 1, 4, 5, 4.0), leaf(0.9, 300), leaf(0.4, 500)]
    locals_ = [
        table([], [[0.5, 0.5]]),
        table([0], [[0.8, 0.2], [0.3, 0.7]], total=8),
        tree_of(tree),
        tree_of([*graph, leaf(0.2, 200, folded=True)], total=4) | {"type": "graph"},
        {"type": "logistic", "intercept": [0.25, -0.25], "weights": weights, "shown": 2, "total": 2},
        {
            "type": "boosted",
            "intercept": [0.0, 0.1],
            "weights": [],
            "shown": 0,
            "total": 0,
            "importance": [{"variable": 0, "gain": 12.0}],
            "asked": 3,
            "trees": 20,
        },
        gaussian([-0.75]),
        {
            "type": "features",
            "features": [{"conditions": [{"variable": 0, "state": 1}, {"variable": 7, "state": 0}], "weight": -2.5}],
            "shown": 1,
            "total": 3,
        },
        {"type": "field", "parents": [0], "families": [table([0], [[0.6, 0.4], [0.1, 0.9]], child=8)]},
        {"type": "none", "reason": "This model has no distribution to show here."},
    ]
    made = document(names, arcs, locals_, kind="dn", title="Dependency network")
    made["variables"][6] |= {"states": [], "marginal": [], "numeric": {"mean": 2.5, "deviation": 1.25}}
    return made


def hostile() -> Document:
    """Names, states, branches, notes and titles that try to become markup or programs."""
    n = len(ATTACKS)
    states = [[attack, f"not {attack}"] for attack in ATTACKS]
    nodes = [split(1, 1, 1, 2, 3.0), leaf(0.2, 10), leaf(0.9, 20)]
    nodes[0]["branches"] = [{"label": f"= {ATTACKS[0]}", "to": 1}, {"label": f"≠ {ATTACKS[1]}", "to": 2}]
    locals_: list[Document] = [tree_of(nodes)]
    locals_ += [table([v - 1], [[0.2, 0.8], [0.7, 0.3]]) for v in range(1, n - 1)]
    locals_ += [{"type": "none", "reason": ATTACKS[0]}]
    arcs = [(v, v + 1, float(n - v)) for v in range(n - 1)]
    return document(
        ATTACKS,
        arcs,
        locals_,
        states=states,
        title=ATTACKS[1],
        notes=[ATTACKS[0], ATTACKS[3]],
        strength={"name": ATTACKS[0], "unit": ATTACKS[1]},
        summary={"variables": n, ATTACKS[0]: 3, "rows": None},
    )


def other_arcs(shown: Document) -> Document:
    """The same variables with the last arc gone, the first turned round, and a new one."""
    made = copy.deepcopy(shown)
    arcs = made["arcs"]
    for column in arcs.values():
        column.pop()
    arcs["from"][0], arcs["to"][0] = arcs["to"][0], arcs["from"][0]
    arcs["from"].append(len(made["variables"]) - 1)
    arcs["to"].append(1)
    arcs["strength"].append(arcs["strength"][-1] / 2)
    made["slider_start"] = len(arcs["from"])
    return made
