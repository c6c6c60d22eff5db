"""Bins: numbers as states, cut at the quantiles of a column or at edges that the user gives.

A number belongs to the first bin whose upper edge is not below it, and a state is named by its interval: the edges 3.1
and 3.3 make the states "(-inf, 3.1]", "(3.1, 3.3]" and "(3.3, inf)". Edges travel with the variable, so that later
rows, and evidence, may be numbers too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from quiltwork.data.blocks import Block, Labels, SparseBlock
from quiltwork.data.columns import Columns
from quiltwork.data.dataset import Variable
from quiltwork.data.labels import MAX_STATES
from quiltwork.errors import DataError, ParameterError

Edges = tuple[float, ...]

SAYS = "a number of bins, or a dict from column to one or to edges"


def read_bins(text: str) -> dict[str, int | Edges]:
    """Bins as written on the command line: a number of them, or edges, for some of the columns.

    >>> read_bins("alcohol=5, pH=3.1 3.3")
    {'alcohol': 5, 'pH': (3.1, 3.3)}
    """
    bins: dict[str, int | Edges] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, numbers = part.rpartition("=")
        try:
            edges = tuple(map(float, numbers.split()))
        except ValueError:
            edges = ()
        if not equals or not edges:
            raise ParameterError(f"Bins must be written 5, or column=5, or column=3.1 3.3 with edges. Got {part!r}.")
        bins[name.strip()] = int(numbers) if numbers.strip().isdigit() else edges
    return bins


def interval_names(edges: Sequence[float]) -> tuple[str, ...]:
    """The names of the bins between edges.

    >>> interval_names([3, 3.5])
    ('(-inf, 3]', '(3, 3.5]', '(3.5, inf)')
    """
    ends = ["-inf", *(str(int(e)) if float(e).is_integer() and abs(e) < 1e15 else repr(float(e)) for e in edges), "inf"]
    return tuple(f"({low}, {high}{')' if high == 'inf' else ']'}" for low, high in pairwise(ends))


def choose_edges(columns: Columns, discretise: Any, weights: np.ndarray | None) -> dict[str, Edges]:
    """The edges of every column that is to be cut.

    discretise  None; a number of bins, for all columns with more distinct numbers than that; or a dict from the names
                of columns to numbers of bins or edges
    """
    if discretise is None:
        return {}
    if not isinstance(discretise, Mapping):
        n_bins = _n_bins(discretise)
        numbers = {name: _numbers(columns, name) for name in _columns_of_numbers(columns)}
        many = {name: values for name, values in numbers.items() if values is not None and _distinct(values) > n_bins}
        return {name: _quantiles(values, n_bins, weights) for name, values in many.items()}
    edges: dict[str, Edges] = {}
    for name, wanted in discretise.items():
        values = _numbers(columns, name) if name in columns.names else None
        if values is None:
            known = "holds no numbers" if name in columns.names else "is no column of the table"
            raise DataError(f"'discretise' names {name!r}, which {known}: name columns of numbers only.")
        if isinstance(wanted, (list, tuple, np.ndarray)):
            edges[name] = _given_edges(name, wanted)
        else:
            edges[name] = _quantiles(values, _n_bins(wanted), weights)
    return edges


def cut_columns(columns: Columns, edges: Mapping[str, Edges]) -> Columns:
    """The table with the numbers of these columns as codes of their bins; text is left for a look-up by name."""
    if not edges:
        return columns
    blocks: list[Block | SparseBlock] = []
    for block in columns.blocks:
        cut: list[tuple[int, np.ndarray, Labels]] = []
        kept = []
        for c, v in enumerate(block.where.tolist()):
            own = edges.get(columns.names[v])
            values = None if own is None else _numbers_in(block, c)
            if own is None or values is None:
                kept.append(c)
            else:
                cut.append((v, bin_of(columns.names[v], values, own), interval_names(own)))
        if not cut:
            blocks.append(block)
            continue
        if kept:
            blocks.append(block.pick(kept, block.where[kept]))
        where, codes, labels = zip(*cut)
        blocks.append(Block(np.array(where), codes, labels, (True,) * len(cut)))
    return replace(columns, blocks=tuple(blocks))


def is_cut(variables: Sequence[Variable], discretise: Any) -> bool:
    """Whether nothing about encoded variables is left to cut."""
    if discretise is None:
        return True
    named = discretise if isinstance(discretise, Mapping) else {v.name for v in variables}
    return not any(v.name in named and not v.edges and _are_numbers(v.states) for v in variables)


def bin_of(name: str, values: np.ndarray, edges: Edges) -> np.ndarray:
    """The bin of every number, -1 where missing.

    >>> bin_of("pH", np.array([3.1, 3.2, np.nan, 9.0]), (3.1, 3.3))
    array([ 0,  1, -1,  2], dtype=int32)
    """
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise DataError(
            f"Column {name!r} holds {values[row]} (inf) in row {row}; numbers must be finite: "
            "replace it by a number, or by NaN to treat it as missing."
        )
    codes = np.searchsorted(np.array(edges), values, side="left").astype(np.int32)
    codes[np.isnan(values)] = -1
    return codes


# Edges


def _n_bins(wanted: Any) -> int:
    whole = isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool)
    if not whole or not 2 <= wanted <= MAX_STATES:
        raise ParameterError(f"'discretise' must be {SAYS}; bins are from 2 to {MAX_STATES}. Got {wanted!r} instead.")
    return int(wanted)


def _given_edges(name: str, given: Any) -> Edges:
    try:
        edges = np.array(given, np.float64)
    except (TypeError, ValueError):
        edges = np.empty(0)
    if edges.ndim != 1 or not len(edges) or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise ParameterError(f"The edges of {name!r} must be finite numbers that ascend. Got {given!r} instead.")
    return tuple(edges.tolist())


def _quantiles(values: np.ndarray, n_bins: int, weights: np.ndarray | None) -> Edges:
    """Values that part the column into bins of like weight; fewer where values repeat, at least one edge."""
    there = np.isfinite(values)
    if not there.any():
        return (0.0,)  # a column without values is refused later, by name
    own = values[there]
    shares = np.arange(1, n_bins) / n_bins
    cuts = np.quantile(own, shares, method="inverted_cdf", weights=None if weights is None else weights[there])
    top = own.max()
    below = cuts[cuts < top]
    if not len(below) and (own < top).any():
        below = own[own < top].max()
    return tuple(np.unique(below).tolist()) or (float(top),)


# Numbers


def _columns_of_numbers(columns: Columns) -> list[str]:
    """Names of the columns that could have many distinct numbers."""
    names = []
    for block in columns.blocks:
        if isinstance(block, SparseBlock) and (block.binary or block.labels is not None):
            continue
        own = (
            range(len(block.where))
            if block.labels is None
            else [c for c, labels in enumerate(block.labels) if _are_numbers(labels)]
        )
        names += [columns.names[int(block.where[c])] for c in own]
    return names


def _numbers(columns: Columns, name: str) -> np.ndarray | None:
    return _numbers_in(*columns.home(columns.names.index(name)))


def _numbers_in(block: Block | SparseBlock, c: int) -> np.ndarray | None:
    """The numbers of one column, NaN where missing; None if it holds text or bools."""
    if block.labels is None:
        return np.asarray(block.column(c), np.float64)
    if not _are_numbers(block.labels[c]):
        return None
    return np.append(np.array(block.labels[c], np.float64), np.nan)[block.column(c)]  # a code of -1 takes the last


def _are_numbers(labels: Labels) -> bool:
    return bool(labels) and not any(isinstance(label, (str, bool)) for label in labels)


def _distinct(values: np.ndarray) -> int:
    return len(np.unique(values[~np.isnan(values)]))
