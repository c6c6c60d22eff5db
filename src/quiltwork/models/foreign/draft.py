"""A network while its file is being read: what the formats share, checked in one place.

A reader declares variables, asks how large a family's table must be, hands over the table, and at the end gets the
network. Every complaint is a `FormatError` with the place in the file.
"""

from __future__ import annotations

import math
import os
import warnings
from typing import NoReturn

import numpy as np

from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import State, Variable
from quiltwork.data.encode import Encoder
from quiltwork.data.labels import MAX_STATES
from quiltwork.errors import DataWarning, FormatError, InputError
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.structure import Structure

MAX_ENTRIES = 2**24  # probabilities of a whole network: 128 MB
ROUNDING = 1e-12  # how far from one the floats of a row can end up on their own
CARELESS = 1e-3  # how far from one a row may be and still be rescaled


class Draft:
    def __init__(self, path: str, source: str):
        self.path, self.source = path, source
        self._columns: dict[str, int] = {}
        self._variables: list[Variable] = []
        self._cpds: dict[int, TableCPD] = {}
        self._n_entries = 0
        self._rescaled: list[tuple[float, str, float]] = []  # how far off, where, the sum

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        raise FormatError(message, self.path, line)

    def declare(self, name: str, states: tuple[State, ...], line: int | None = None) -> None:
        """A variable; its column is the number of variables declared before it."""
        if name in self._columns:
            self.fail(f"variable {name!r} is declared twice.", line)
        if not states:
            self.fail(f"variable {name!r} has no states.", line)
        if len(states) > MAX_STATES:
            self.fail(
                f"variable {name!r} has {len(states)} states, more than the {MAX_STATES} a variable can have.", line
            )
        if len(set(states)) != len(states):
            self.fail(f"variable {name!r} has two states with the same name.", line)
        self._columns[name] = len(self._variables)
        self._variables.append(Variable(name, states))

    def family(self, child: str, parents: tuple[str, ...], line: int | None = None) -> tuple[Variable, ...]:
        """The variables of a family, the child last, once its table is known to be new and not too large."""
        for name in (child, *parents):
            if name not in self._columns:
                role = "table" if name == child else f"parent of {child!r}"
                self.fail(f"there is a {role} named {name!r}, and no variable of that name.", line)
        if len({child, *parents}) <= len(parents):
            self.fail(f"a variable stands twice in the family of {child!r}.", line)
        if self._columns[child] in self._cpds:
            self.fail(f"variable {child!r} has two tables.", line)
        members = tuple(self._variables[self._columns[name]] for name in (*parents, child))
        self._n_entries += math.prod(member.n_states for member in members)
        if self._n_entries > MAX_ENTRIES:
            self.fail(
                f"with the table of {child!r} and its {len(parents)} parents the network has {self._n_entries} "
                f"probabilities, more than the {MAX_ENTRIES} that are read.",
                line,
            )
        return members

    def fill(self, members: tuple[Variable, ...], probs: np.ndarray, line: int | None = None) -> None:
        """The table of a family: rows by configuration, the last parent as listed fastest."""
        *parents, child = members
        probs = self._checked(parents, child, probs, line)
        columns = [self._columns[parent.name] for parent in parents]
        ascending = sorted(range(len(columns)), key=columns.__getitem__)
        cube = probs.reshape([member.n_states for member in members]).transpose([*ascending, len(parents)])
        v = self._columns[child.name]
        self._cpds[v] = TableCPD(v, tuple(sorted(columns)), np.ascontiguousarray(cube).reshape(-1, child.n_states))

    def finish(self) -> BayesianNet:
        """The network, if every variable has its table and no arcs form a cycle."""
        if not self._variables:
            self.fail("the file declares no variables.")
        for name, v in self._columns.items():
            if v not in self._cpds:
                self.fail(f"variable {name!r} has no table.")
        cpds = tuple(self._cpds[v] for v in range(len(self._variables)))
        structure = Structure.from_parents(cpd.parents for cpd in cpds)
        if structure.order() is None:
            names = [self._variables[v].name for v in _a_cycle(structure)]
            self.fail(f"the arcs form a cycle: {' -> '.join(names)}.")
        self._warn()
        return BayesianNet(Encoder(tuple(self._variables)), cpds, {"source": self.source})

    def _checked(self, parents: list[Variable], child: Variable, probs: np.ndarray, line: int | None) -> np.ndarray:
        def place(row: int) -> str:
            return f"variable {child.name!r}" + (f", row {configuration(parents, row)}" if parents else "")

        wrong = ~(np.isfinite(probs) & (probs >= 0)).all(axis=1)
        if wrong.any():
            row = int(wrong.argmax())
            shown = ", ".join(f"{p:g}" for p in probs[row])
            self.fail(f"{place(row)}: probabilities must be numbers of at least 0. Got {shown}.", line)
        sums = probs.sum(axis=1)
        off = np.abs(sums - 1)
        worst = int(off.argmax())
        if off[worst] > CARELESS:
            self.fail(f"{place(worst)}: the probabilities must sum to 1. They sum to {sums[worst]:.6g}.", line)
        loose = off > ROUNDING
        if not loose.any():
            return probs
        self._rescaled.append((off[worst], place(worst), sums[worst]))
        return np.where(loose[:, None], probs / sums[:, None], probs)

    def _warn(self) -> None:
        if self._rescaled:
            _, place, total = max(self._rescaled)
            warnings.warn(
                f"{self.path}: {len(self._rescaled)} of {len(self._cpds)} tables have rows that do not sum to 1 and "
                f"were rescaled; the worst, {place}, sums to {total:.12g}.",
                DataWarning,
                stacklevel=5,
            )


def configuration(parents: list[Variable], row: int) -> str:
    """The states of the parents in a row of a table, as one reads them: (yes, no)."""
    states = []
    for parent in reversed(parents):
        row, code = divmod(row, parent.n_states)
        states.append(str(parent.states[code]))
    return f"({', '.join(reversed(states))})"


def as_text(model: BayesianNet) -> list[tuple[str, list[str]]]:
    """Names and states as the formats with names write them: states as they print, each different from the others."""
    out = []
    for variable in model.variables:
        states = [str(state) for state in variable.states]
        if len(set(states)) != len(states):
            raise InputError(f"Two states of {variable.name!r} print alike, so no text format can tell them apart.")
        out.append((variable.name, states))
    return out


def source_of(path: str) -> str:
    """Where a network came from, without the folders of whoever read it."""
    return os.path.basename(path)


def _a_cycle(structure: Structure) -> list[int]:
    """Variables around one cycle, in the direction of the arcs, the first one again at the end."""
    n_vars = structure.n_vars
    live = set(range(n_vars))
    waiting = np.diff(structure.indptr).tolist()
    children = structure.children()
    ready = [v for v in live if not waiting[v]]
    while ready:  # what remains has a parent among what remains, so walking up parents must meet itself
        v = ready.pop()
        live.discard(v)
        for child in children[v]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    path = [min(live)]
    while path[-1] not in path[:-1]:
        path.append(next(p for p in structure.parents(path[-1]) if p in live))
    return path[path.index(path[-1]) :][::-1]
