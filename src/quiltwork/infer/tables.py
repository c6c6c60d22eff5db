"""A Bayesian network laid out for inference: every CPD in one flat array.

The entry of family c (child c with its parents) for the states x is

    first_entry[c] + x_c + sum over the parents p of strides[p] * x_p

so one sum of products finds log P(x_c | parents), and changing one variable's state moves by its stride.
The layout is made once per model and shared by likelihood, blanket and elimination.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quiltwork.infer.question import once_per_model
from quiltwork.models.bayesian import BayesianNet


class FlatTables(NamedTuple):
    """What the kernels see. (Fields keep their order: kernels cached on disk know them by place.)

    n_states      (n_vars,) int64
    first_state   (n_vars + 1,) int64: where the states of v begin in a row that holds all states of all variables
    first_parent  (n_vars + 1,) int64: the parents of v are parents[first_parent[v] : first_parent[v + 1]]
    parents       (n_arcs,) int64
    strides       (n_arcs,) int64: entries between two successive states of that parent in the child's table
    first_entry   (n_vars + 1,) int64
    probs         (n_entries,) float64
    log_probs     (n_entries,) float64, -inf for what cannot happen
    """

    n_states: np.ndarray
    first_state: np.ndarray
    first_parent: np.ndarray
    parents: np.ndarray
    strides: np.ndarray
    first_entry: np.ndarray
    probs: np.ndarray
    log_probs: np.ndarray


@dataclass(frozen=True, eq=False)
class CompiledNet:
    """The flat tables, and the same structure as plain Python for the code that plans.

    parents, children  columns, by column
    order              parents before children
    possible           by column: every entry of the family's table is above zero
    in_range           no entry that can happen is too small for a float
    """

    tables: FlatTables
    n_states: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    possible: tuple[bool, ...]
    in_range: bool = True

    @property
    def n_vars(self) -> int:
        return len(self.n_states)

    def family(self, child: int) -> tuple[int, ...]:
        """The parents and, last, the child: the axes of its table. A number beyond the variables stands for a table
        that has no child (see `undirected`)."""
        return (*self.parents[child], child) if child < self.n_vars else self.parents[child]


@once_per_model
def compiled(model: BayesianNet) -> CompiledNet:
    """The layout of this model; made when first asked for."""
    model = model.tabular()
    n_states = [variable.n_states for variable in model.variables]
    parents = [tuple(map(int, cpd.parents)) for cpd in model.cpds]
    probs = np.concatenate([np.ravel(cpd.probs) for cpd in model.cpds]).astype(np.float64)
    tables = FlatTables(
        n_states=np.array(n_states, np.int64),
        first_state=_starts(n_states),
        first_parent=_starts(map(len, parents)),
        parents=np.array([p for one in parents for p in one], np.int64),
        strides=np.array([s for c, one in enumerate(parents) for s in _strides(n_states, one, c)], np.int64),
        first_entry=_starts(cpd.probs.size for cpd in model.cpds),
        probs=probs,
        log_probs=np.log(probs, out=np.full_like(probs, -np.inf), where=probs > 0),
    )
    structure = model.structure
    return CompiledNet(
        tables,
        tuple(n_states),
        tuple(parents),
        tuple(map(tuple, structure.children())),
        tuple(structure.order() or ()),
        tuple(bool(np.all(cpd.probs > 0)) for cpd in model.cpds),
    )


def distribution_rows(model: BayesianNet, v: int, codes: np.ndarray) -> np.ndarray:
    """For each row of codes, all known, the row of probs in v's CPD that holds there: a configuration, or a leaf."""
    cpd = model.cpds[v]
    if cpd.kind != "table":
        return cpd.leaves(codes)  # type: ignore[union-attr]
    out = np.zeros(len(codes), np.int64)
    for p in cpd.parents:
        out *= model.variables[p].n_states
        out += codes[:, p]
    return out


def _starts(lengths) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.fromiter(lengths, np.int64))]).astype(np.int64)


def _strides(n_states: list[int], parents: tuple[int, ...], child: int) -> list[int]:
    """Entries between successive states of each parent; the last parent varies fastest, the child faster still."""
    strides, step = [], n_states[child]
    for p in reversed(parents):
        strides.append(step)
        step *= n_states[p]
    return strides[::-1]
