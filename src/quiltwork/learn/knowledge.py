"""What is known before learning: arcs that must be there, arcs that must not, tiers, a graph to start from.

Names become columns here, and what contradicts itself is refused here, before any counting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from quiltwork.data.dataset import Variable, position
from quiltwork.errors import ParameterError, UnknownVariableError
from quiltwork.models.structure import Structure

Arc = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """required, start: arcs (parent, child); forbidden: (n_vars, n_vars) bool [child, parent], or None."""

    required: tuple[Arc, ...]
    forbidden: np.ndarray | None
    start: tuple[tuple[int, ...], ...]  # parents of each variable, the required ones among them

    @classmethod
    def read(
        cls,
        variables: Sequence[Variable],
        *,
        required: Iterable[Sequence[object]] | None = None,
        forbidden: Iterable[Sequence[object]] | None = None,
        tiers: Sequence[Sequence[object]] | None = None,
        start: object = None,
        max_parents: int | None = None,
    ) -> Knowledge:
        """Knowledge in columns, from knowledge in names.

        >>> abc = [Variable(name, (0, 1)) for name in "abc"]
        >>> Knowledge.read(abc, required=[("a", "b")], tiers=[["a"], ["b", "c"]]).start
        ((), (0,), ())
        """
        must = _arcs(required, variables, "required")
        banned = _forbidden(_arcs(forbidden, variables, "forbidden"), tiers, variables)
        begin = getattr(start, "model_", start)  # of a fitted estimator
        begin = begin.arcs if hasattr(begin, "arcs") else begin
        parents: list[set[int]] = [set() for _ in variables]
        for name, arcs in (("required", must), ("start", _arcs(begin, variables, "start"))):
            for parent, child in arcs:
                if banned is not None and banned[child, parent]:
                    what = f"{variables[parent].name!r} -> {variables[child].name!r}"
                    raise ParameterError(f"The arc {what} of {name!r} is also ruled out by 'forbidden' or 'tiers'.")
                parents[child].add(parent)
            _check_acyclic(parents, variables, name)
        for child, own in enumerate(parents):
            if max_parents is not None and len(own) > max_parents:
                raise ParameterError(
                    f"{variables[child].name!r} has {len(own)} parents by 'required' and 'start', "
                    f"but 'max_parents' allows {max_parents}."
                )
        return cls(must, banned, tuple(tuple(sorted(own)) for own in parents))


def read_arcs(text: str) -> list[tuple[str, str]]:
    """Arcs as written on the command line.

    >>> read_arcs("smoke->cancer, age->smoke")
    [('smoke', 'cancer'), ('age', 'smoke')]
    """
    arcs = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        parent, arrow, child = word.partition("->")
        if not arrow:
            raise ParameterError(f"An arc must be written parent->child. Got {word!r} instead.")
        arcs.append((parent.strip(), child.strip()))
    return arcs


def read_tiers(text: str) -> list[list[str]]:
    """Tiers as written on the command line, the earliest first.

    >>> read_tiers("age,sex < smoke < cancer")
    [['age', 'sex'], ['smoke'], ['cancer']]
    """
    return [[name.strip() for name in tier.split(",")] for tier in text.split("<")]


def read_order(text: str) -> list[str]:
    """An order of the variables as written on the command line.

    >>> read_order("age, smoke, cancer")
    ['age', 'smoke', 'cancer']
    """
    return [name.strip() for name in text.split(",")]


def column_of(name: object, variables: Sequence[Variable], parameter: str) -> int:
    """The column of a variable that a parameter names."""
    try:
        return position(name, variables)
    except UnknownVariableError:
        known = (variable.name for variable in variables)
        raise UnknownVariableError.of(name, known, f"in the table, and {parameter!r} names it") from None


def columns_in_order(given: object, variables: Sequence[Variable]) -> list[int]:
    """The columns in the order that is given by names: each of them once.

    >>> columns_in_order(["b", "a"], [Variable(name, (0, 1)) for name in "ab"])
    [1, 0]
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(f"'order' must be a list of all variables. Got {given!r} instead.")
    order = [column_of(name, variables, "order") for name in given]
    times = np.bincount(order, minlength=len(variables))
    for v, n in enumerate(times.tolist()):
        if n != 1:
            told = f"names {variables[v].name!r} {n} times" if n else f"lacks {variables[v].name!r}"
            raise ParameterError(f"'order' must name each of the {len(variables)} variables once; it {told}.")
    return order


def _arcs(given: object, variables: Sequence[Variable], parameter: str) -> tuple[Arc, ...]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(f"{parameter!r} must be a list of (parent, child) pairs. Got {given!r} instead.")
    arcs = []
    for pair in given:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ParameterError(f"{parameter!r} must be a list of (parent, child) pairs. Got {pair!r} in it.")
        parent, child = (column_of(name, variables, parameter) for name in pair)
        if parent == child:
            raise ParameterError(f"The {parameter!r} arc from {variables[parent].name!r} to itself is a cycle.")
        arcs.append((parent, child))
    return tuple(dict.fromkeys(arcs))


def _forbidden(arcs: tuple[Arc, ...], tiers: object, variables: Sequence[Variable]) -> np.ndarray | None:
    if not arcs and tiers is None:
        return None
    banned = np.zeros((len(variables), len(variables)), bool)
    for parent, child in arcs:
        banned[child, parent] = True
    tier_of = np.full(len(variables), -1)
    if isinstance(tiers, str) or not isinstance(tiers, Iterable | None):
        raise ParameterError(f"'tiers' must be a list of lists of variables. Got {tiers!r} instead.")
    for level, tier in enumerate(tiers or ()):
        if isinstance(tier, str) or not isinstance(tier, Iterable):
            raise ParameterError(f"'tiers' must be a list of lists of variables. Got {tier!r} in it.")
        for name in tier:
            v = column_of(name, variables, "tiers")
            if tier_of[v] >= 0:
                raise ParameterError(f"{variables[v].name!r} stands in two of the 'tiers'; it must stand in one.")
            tier_of[v] = level
    known = tier_of >= 0  # variables outside all tiers are free
    banned |= (tier_of[:, None] < tier_of[None, :]) & known[:, None] & known[None, :]
    return banned


def _check_acyclic(parents: list[set[int]], variables: Sequence[Variable], parameter: str) -> None:
    if Structure.from_parents(parents).order() is not None:
        return
    # Walk back along parents that never run out until a variable comes round again.
    alive = _on_or_below_cycles(parents)
    v = min(alive)
    path: list[int] = []
    while v not in path:
        path.append(v)
        v = min(parents[v] & alive)
    cycle = [variables[u].name for u in reversed([*path[path.index(v) :], v])]
    raise ParameterError(f"The {parameter!r} arcs form a cycle: {' -> '.join(cycle)}; leave out one of them.")


def _on_or_below_cycles(parents: list[set[int]]) -> set[int]:
    """Variables whose ancestors never end."""
    alive = set(range(len(parents)))
    while True:
        rootless = {v for v in alive if parents[v] & alive}
        if rootless == alive:
            return alive
        alive = rootless
