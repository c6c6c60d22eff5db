"""Rows with missing values: sum over what is missing, exactly and no more widely than needed.

In one row the families that touch a missing value fall into groups that share no missing value. Each group is
a small elimination problem of its own, usually one missing variable with its children. The same group comes back
in many rows, so rows are gathered by group and each group is planned once.

A missing value without an observed descendant sums to one and is left out before the groups are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from quiltwork.data.dataset import NO_CODE
from quiltwork.infer.elimination import joint_rows, make_plan
from quiltwork.infer.tables import CompiledNet


class Group(NamedTuple):
    """Missing variables that hang together, and the families in which they take part; both ascending."""

    missing: tuple[int, ...]
    families: tuple[int, ...]


def add_log_likelihood(net: CompiledNet, codes: np.ndarray, out: np.ndarray) -> None:
    """Add to out (rows,) what the families with missing values contribute to log P(what is observed)."""
    for group, rows in _groups(net, codes):
        plan = make_plan(net, group.families, group.missing)
        out[rows] += joint_rows(plan, codes[rows])[:, 0]


def add_logits(net: CompiledNet, codes: np.ndarray, out: np.ndarray, target: int | None = None) -> None:
    """Add to out (rows, all states) what the families with missing values say about each observed variable.

    Where v is observed, out[:, states of v] gains log P(v = s, the other observed values) up to a constant.
    With a target, only its states are served, in all rows, and its own values are not read.
    """
    if target is not None:
        codes = codes.copy()
        codes[:, target] = 0  # counts as observed, so that it is not summed out; its value is not used
    first = net.tables.first_state
    for group, rows in _groups(net, codes):
        around = {v for c in group.families for v in net.family(c)} - set(group.missing)
        for v in sorted(around if target is None else around & {target}):
            plan = make_plan(net, group.families, (*group.missing, v), (v,))
            evidence = codes[rows]
            evidence[:, v] = NO_CODE
            out[rows, first[v] : first[v + 1]] += joint_rows(plan, evidence)


def _groups(net: CompiledNet, codes: np.ndarray) -> Iterator[tuple[Group, np.ndarray]]:
    """Every group that occurs in the rows, with the rows in which it occurs."""
    absent = codes == NO_CODE
    some = np.flatnonzero(absent.any(axis=1))
    patterns, which = np.unique(np.packbits(absent[some], axis=1), axis=0, return_inverse=True)
    which = which.ravel()
    missing = np.unpackbits(patterns, axis=1, count=codes.shape[1])
    where: dict[Group, list[int]] = {}
    for p, pattern in enumerate(missing):
        for group in _groups_of(net, np.flatnonzero(pattern).tolist()):
            where.setdefault(group, []).append(p)
    rows_of_pattern = np.split(some[np.argsort(which, kind="stable")], np.cumsum(np.bincount(which))[:-1])
    for group, holders in where.items():
        yield group, np.sort(np.concatenate([rows_of_pattern[p] for p in holders]))


def _groups_of(net: CompiledNet, missing: list[int]) -> Iterator[Group]:
    """The groups of one pattern of missing variables."""
    absent, left = set(missing), _not_barren(net, missing)
    while left:
        waiting = [min(left)]
        members, families = set(waiting), set()
        while waiting:
            v = waiting.pop()
            for c in (v, *net.children[v]):
                if c in absent and c not in left:
                    continue  # barren
                families.add(c)
                fresh = [u for u in net.family(c) if u in left and u not in members]
                members.update(fresh)
                waiting += fresh
        left -= members
        yield Group(tuple(sorted(members)), tuple(sorted(families)))


def _not_barren(net: CompiledNet, missing: list[int]) -> set[int]:
    """The missing variables that have an observed descendant."""
    rank = {v: i for i, v in enumerate(net.order)}
    absent, needed = set(missing), set()
    for v in sorted(missing, key=rank.__getitem__, reverse=True):
        if any(c not in absent or c in needed for c in net.children[v]):
            needed.add(v)
    return needed
