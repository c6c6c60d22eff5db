"""The Markov network as a value: features with weights.

    P(x) = exp(sum of the weights of the features that hold in x) / Z

A feature is a conjunction of conditions "variable = state" of any length. Two variables that share a feature are
neighbours; the graph of neighbours says who is independent of whom given the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quiltwork.data.dataset import State, Variable
from quiltwork.data.encode import Encoder
from quiltwork.errors import InputError


@dataclass(frozen=True, eq=False)
class MarkovNet:
    """All features in flat arrays.

    encoder          names and states of the variables, and how new rows are encoded
    first_condition  (n_features + 1,): the conditions of feature f are first_condition[f]:first_condition[f + 1]
    columns, states  (n_conditions,) which variable is in which state; the columns of a feature ascend
    weights          (n_features,)
    state_counts     (all states,) how often each state of each variable occurred in training
    provenance       where the model came from; plain values only

    >>> pair = Encoder((Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))))
    >>> both = MarkovNet(pair, np.array([0, 2]), np.array([0, 1]), np.array([1, 1]), np.array([1.5]), np.zeros(4))
    >>> both.features
    [({'rain': 'yes', 'wet': 'yes'}, 1.5)]
    >>> both.edges
    [('rain', 'wet')]
    """

    encoder: Encoder
    first_condition: np.ndarray
    columns: np.ndarray
    states: np.ndarray
    weights: np.ndarray
    state_counts: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind = "mn"

    def __post_init__(self) -> None:
        first, columns, states = self.first_condition, self.columns, self.states
        if (
            not (len(first) == len(self.weights) + 1 and first[0] == 0 and first[-1] == len(columns) == len(states))
            or (np.diff(first) < 0).any()
        ):
            raise InputError(
                "The features of a Markov network need one weight each, and first_condition must rise from 0 to the "
                f"number of conditions. Got {len(self.weights)} weights, {len(columns)} columns, {len(states)} states "
                f"and first_condition {np.asarray(first)}."
            )
        n_states = np.array([variable.n_states for variable in self.variables], np.int64)
        if ((columns < 0) | (columns >= len(n_states))).any() or ((states < 0) | (states >= n_states[columns])).any():
            raise InputError("A condition of a Markov network names a variable or a state that is not there.")
        descends = (np.diff(columns) <= 0) & (np.diff(self.feature_of) == 0)
        if descends.any():
            f = int(self.feature_of[descends.argmax()])
            raise InputError(
                "The columns of a feature must ascend, none of them twice. Feature "
                f"{f} of this Markov network has {columns[first[f] : first[f + 1]].tolist()}."
            )

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.encoder.variables

    @property
    def features(self) -> list[tuple[dict[str, State], float]]:
        """What each feature asks for, and its weight."""
        said = [
            (self.variables[v].name, self.variables[v].states[s])
            for v, s in zip(self.columns.tolist(), self.states.tolist(), strict=True)
        ]
        first = self.first_condition.tolist()
        return [(dict(said[first[f] : first[f + 1]]), weight) for f, weight in enumerate(self.weights.tolist())]

    @property
    def feature_of(self) -> np.ndarray:
        """The feature of each condition, (n_conditions,)."""
        return np.repeat(np.arange(len(self.weights)), np.diff(self.first_condition))

    def blanket(self, v: int) -> list[int]:
        """Columns of the neighbours of v, ascending."""
        feature_of = self.feature_of
        shared = np.zeros(len(self.weights), bool)
        shared[feature_of[self.columns == v]] = True
        around = np.unique(self.columns[shared[feature_of]])
        return around[around != v].tolist()

    @property
    def edges(self) -> list[tuple[str, str]]:
        """Names of every two neighbours, in the order of the columns."""
        names = [variable.name for variable in self.variables]
        found: set[tuple[int, int]] = set()
        for begin, end in zip(self.first_condition[:-1].tolist(), self.first_condition[1:].tolist(), strict=True):
            scope = self.columns[begin:end].tolist()
            found.update((u, v) for k, u in enumerate(scope) for v in scope[k + 1 :])
        return [(names[u], names[v]) for u, v in sorted(found)]

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """The edges; they have no direction."""
        return self.edges

    @property
    def n_parameters(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        return f"MarkovNet({len(self.variables)} variables, {len(self.edges)} edges, {len(self.weights)} features)"
