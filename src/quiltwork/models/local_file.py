"""How CPDs of any kind lie in a model file.

Each kind lists its arrays. An array of all variables lies in one tensor, piece after piece, with the places where the
pieces begin beside it; a variable of another kind has an empty piece. So a network of 5,000 trees is a few dozen
tensors, and a kind of CPD is one line in `PARTS` and one function that checks what cannot be true.

    kind                   (n_vars,) which kind of CPD each variable has, by its place among those of the model
    <kind>.<array>         the arrays of all CPDs of that kind
    <kind>.<array>.start   (n_vars + 1,) where the piece of each variable begins
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from quiltwork.cpds.boosted import BoostedCPD
from quiltwork.cpds.graph import GraphCPD
from quiltwork.cpds.logistic import LogisticCPD
from quiltwork.cpds.table import TableCPD
from quiltwork.cpds.tree import LEAF, TreeCPD
from quiltwork.models.packing import check_counts, check_rows, check_starts

Pieces = dict[str, np.ndarray]

TREE = dict.fromkeys(("variable", "state", "first", "branches"), "I64") | dict.fromkeys(
    ("flow", "gain", "probs", "counts"), "F64"
)
LINEAR = dict.fromkeys(("parents", "first"), "I64") | dict.fromkeys(("intercept", "weights", "means"), "F64")
TREES = dict.fromkeys(("n_leaves", "variable", "state", "first", "branches"), "I64") | dict.fromkeys(
    ("flow", "values"), "F64"
)


def pack_cpds(cpds: Sequence[Any], kinds: Sequence[str] | None = None) -> Pieces:
    """The tensors of these CPDs, which are of some kinds; None for any."""
    parts = _parts_of(kinds)
    number = {kind: k for k, kind in enumerate(parts)}
    out = {"kind": np.array([number[cpd.kind] for cpd in cpds], np.int64)}
    for kind, (fields, to_pieces, _) in parts.items():
        pieces = [to_pieces(cpd) if cpd.kind == kind else None for cpd in cpds]
        for name, dtype in fields.items():
            own = [np.empty(0) if piece is None else np.ravel(piece[name]) for piece in pieces]
            out[f"{kind}.{name}"] = np.concatenate([np.empty(0), *own]).astype(_NUMPY[dtype])
            out[f"{kind}.{name}.start"] = np.cumsum([0, *map(len, own)], dtype=np.int64)
    return out


def unpack_cpds(
    tensors: Mapping[str, np.ndarray], n_states: np.ndarray, kinds: Sequence[str] | None = None
) -> tuple[Any, ...]:
    """The CPDs again; a ValueError says what cannot be true of one."""
    parts = _parts_of(kinds)
    n_vars, names = len(n_states), list(parts)
    if len(tensors["kind"]) != n_vars or not np.isin(tensors["kind"], np.arange(len(names))).all():
        raise ValueError("every variable must have one of the known kinds of distribution.")
    for kind, (fields, *_) in parts.items():
        for name in fields:
            check_starts(tensors[f"{kind}.{name}.start"], n_vars, len(tensors[f"{kind}.{name}"]))
    cpds = []
    for v in range(n_vars):
        kind = names[int(tensors["kind"][v])]
        fields, _, from_pieces = parts[kind]
        cpds.append(from_pieces(v, {name: _piece(tensors, f"{kind}.{name}", v) for name in fields}, n_states))
    return tuple(cpds)


def _piece(tensors: Mapping[str, np.ndarray], name: str, v: int) -> np.ndarray:
    start = tensors[f"{name}.start"]
    return tensors[name][start[v] : start[v + 1]]


# Tables


def _table_pieces(cpd: TableCPD) -> Pieces:
    weights = np.ones(len(cpd.probs)) if cpd.weights is None else cpd.weights
    return {"parents": np.array(cpd.parents, np.int64), "probs": cpd.probs, "weights": weights}


def _table(v: int, pieces: Pieces, n_states: np.ndarray) -> TableCPD:
    parents = check_parents(v, pieces["parents"], n_states)
    n_configs = prod(int(n_states[p]) for p in parents)
    if len(pieces["probs"]) != n_configs * n_states[v]:
        raise ValueError("the tables do not have the sizes that the parents and states ask for.")
    check_rows(pieces["probs"], np.full(n_configs, n_states[v]))
    check_counts(pieces["weights"], n_configs)
    return TableCPD(v, parents, pieces["probs"].reshape(n_configs, -1), pieces["weights"])


def check_parents(v: int, parents: np.ndarray, n_states: np.ndarray) -> tuple[int, ...]:
    """Other variables, ascending."""
    if ((parents < 0) | (parents >= len(n_states)) | (parents == v)).any() or (np.diff(parents) <= 0).any():
        raise ValueError("a variable's parents must be other variables, ascending.")
    return tuple(parents.tolist())


# Trees and graphs


def _tree_pieces(cpd: TreeCPD) -> Pieces:
    return {name: getattr(cpd, name) for name in TREE}


def _tree(cls: type[TreeCPD]) -> Callable[[int, Pieces, np.ndarray], TreeCPD]:
    def from_pieces(v: int, pieces: Pieces, n_states: np.ndarray) -> TreeCPD:
        check_nodes(v, pieces, n_states, merged=cls is GraphCPD)
        r, n_leaves = int(n_states[v]), int((pieces["variable"] == LEAF).sum())
        for name in ("probs", "counts"):
            if len(pieces[name]) != n_leaves * r:
                raise ValueError("every leaf of a tree must have one number for each state.")
        check_rows(pieces["probs"], np.full(n_leaves, r))
        check_counts(pieces["counts"], n_leaves * r)
        check_counts(pieces["flow"], len(pieces["branches"]))
        if len(pieces["gain"]) != len(pieces["variable"]) or not np.isfinite(pieces["gain"]).all():
            raise ValueError("every node of a tree must have one gain, a finite number.")
        return cls(v, **{**pieces, "probs": pieces["probs"].reshape(-1, r), "counts": pieces["counts"].reshape(-1, r)})

    return from_pieces


def check_nodes(v: int, pieces: Pieces, n_states: np.ndarray, merged: bool = False) -> None:
    """Nodes that can be walked: every split asks about another variable, every branch leads to a later node."""
    variable, state, first, branches = (pieces[name] for name in ("variable", "state", "first", "branches"))
    n = len(variable)
    if n == 0 or len(state) != n or len(first) != n:
        raise ValueError("a tree must have a root, and every node its split or leaf.")
    splits = np.flatnonzero(variable != LEAF)
    asked = variable[splits]
    if ((asked < 0) | (asked >= len(n_states)) | (asked == v)).any():
        raise ValueError("a tree must ask about other variables of the model.")
    if ((state[splits] < -1) | (state[splits] >= n_states[asked])).any():
        raise ValueError("a tree must ask about states that its variables have.")
    widths = np.where(state[splits] < 0, n_states[asked], 2)
    if not np.array_equal(first[splits], np.cumsum(widths) - widths) or widths.sum() != len(branches):
        raise ValueError("the branches of a tree do not fit its splits.")
    if not np.array_equal(np.sort(first[variable == LEAF]), np.arange(n - len(splits))):
        raise ValueError("every leaf of a tree must have a number of its own.")
    if ((branches <= np.repeat(splits, widths)) | (branches >= n)).any():
        raise ValueError("a branch of a tree leads out of its arrays or in a circle.")
    entries = np.bincount(branches, minlength=n)[1:]
    if (entries == 0).any() or (not merged and (entries > 1).any()):
        raise ValueError("a node must be reached by some branch, and in a tree by one alone.")


# Logistic regressions


def _logistic_pieces(cpd: LogisticCPD) -> Pieces:
    return {
        "parents": np.array(cpd.parents, np.int64),
        **{name: getattr(cpd, name) for name in LINEAR if name != "parents"},
    }


def _logistic(v: int, pieces: Pieces, n_states: np.ndarray) -> LogisticCPD:
    return LogisticCPD(v, **check_linear(v, pieces, n_states))


def check_linear(v: int, pieces: Pieces, n_states: np.ndarray) -> dict[str, Any]:
    """The fields of a linear predictor, their sizes and numbers checked."""
    parents, r = check_parents(v, pieces["parents"], n_states), int(n_states[v])
    n_rows = np.cumsum([0, *n_states[list(parents)]])
    if not np.array_equal(pieces["first"], n_rows):
        raise ValueError("the weights of a regression do not fit its parents.")
    sizes = {"intercept": r, "weights": n_rows[-1] * r, "means": len(parents) * r}
    for name, size in sizes.items():
        if len(pieces[name]) != size or not np.isfinite(pieces[name]).all():
            raise ValueError("a regression must have one finite weight for each state of its child and parents.")
    return {
        "parents": parents,
        "intercept": pieces["intercept"],
        "first": pieces["first"],
        "weights": pieces["weights"].reshape(-1, r),
        "means": pieces["means"].reshape(-1, r),
    }


# Boosted trees: what they start from, and the trees


def _boosted_pieces(cpd: BoostedCPD) -> Pieces:
    trees = {name: getattr(cpd, name) for name in TREES}
    return {**trees, **{f"start_{name}": piece for name, piece in _logistic_pieces(cpd.start).items()}}


def _boosted(v: int, pieces: Pieces, n_states: np.ndarray) -> BoostedCPD:
    start = _logistic(v, {name: pieces[f"start_{name}"] for name in LINEAR}, n_states)
    r, n_leaves = int(n_states[v]), pieces["n_leaves"]
    values = pieces["values"]
    few = (n_leaves >= 1) & (n_leaves <= len(values))  # so that their sum cannot overflow
    if not few.all() or len(values) != n_leaves.sum() * r or not np.isfinite(values).all():
        raise ValueError("every leaf of every tree must have one finite value for each state.")
    check_counts(pieces["flow"], len(pieces["branches"]))
    trees = {name: pieces[name] for name in TREES} | {"values": values.reshape(-1, r)}
    cpd = BoostedCPD(child=v, start=start, **trees)
    nodes, branches, _ = cpd.starts
    sizes = {"variable": nodes[-1], "state": nodes[-1], "first": nodes[-1], "branches": branches[-1]}
    if any(len(pieces[name]) != size for name, size in sizes.items()):
        raise ValueError("the nodes of a tree do not fit its leaves.")
    for t in range(cpd.n_trees):
        own = {name: pieces[name][nodes[t] : nodes[t + 1]] for name in ("variable", "state", "first")}
        own["branches"] = pieces["branches"][branches[t] : branches[t + 1]]
        if ((own["state"] < 0) & (own["variable"] != LEAF)).any():
            raise ValueError("boosted trees have binary splits only.")
        check_nodes(v, own, n_states)
    return cpd


PARTS: dict[str, tuple[dict[str, str], Callable[[Any], Pieces], Callable[[int, Pieces, np.ndarray], Any]]] = {
    "table": ({"parents": "I64", "probs": "F64", "weights": "F64"}, _table_pieces, _table),
    "tree": (TREE, _tree_pieces, _tree(TreeCPD)),
    "graph": (TREE, _tree_pieces, _tree(GraphCPD)),
    "logistic": (LINEAR, _logistic_pieces, _logistic),
    "boosted": (TREES | {f"start_{name}": dtype for name, dtype in LINEAR.items()}, _boosted_pieces, _boosted),
}

_NUMPY = {"I64": np.int64, "F64": np.float64}


def _parts_of(kinds: Sequence[str] | None) -> dict[str, Any]:
    return PARTS if kinds is None else {kind: PARTS[kind] for kind in kinds}


def cpd_tensors(kinds: Sequence[str] | None = None) -> dict[str, tuple[str, int]]:
    """Type and dimensions of every tensor of CPDs of these kinds; None for all."""
    return {"kind": ("I64", 1)} | {
        name: shape
        for kind, (fields, *_) in _parts_of(kinds).items()
        for field, dtype in fields.items()
        for name, shape in ((f"{kind}.{field}", (dtype, 1)), (f"{kind}.{field}.start", ("I64", 1)))
    }
