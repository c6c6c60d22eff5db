"""Answer: a labelled table of probabilities, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from quiltwork.data.dataset import State, Variable
from quiltwork.errors import InputError


@dataclass(frozen=True, eq=False)
class Answer:
    """The joint probabilities of the variables that were asked for, in the order of their states.

    variables      names, one per axis
    states         their states, one tuple per axis
    probabilities  one axis per variable; sums to one
    method         how it was computed
    converged      whether the method came to its end: chains that agree, messages that settled
    error          the largest standard error of the probabilities; 0.0 for an exact answer, None where the method
                   (belief propagation, mean field) has no error bar
    r_hat          how far the chains of a sampler agree, 1 is best; None for other methods
    n_effective    independent draws that the samples are worth; None for other methods
    width          how many variables the largest table of an exact answer was over; None for other methods

    >>> rain = Answer(("rain",), (("no", "yes"),), np.array([0.8, 0.2]), "exact")
    >>> rain["yes"]
    0.2
    >>> rain.to_dict()
    {'no': 0.8, 'yes': 0.2}
    >>> print(rain)
    rain  probability
    no       0.800000
    yes      0.200000
    """

    variables: tuple[str, ...]
    states: tuple[tuple[State, ...], ...]
    probabilities: np.ndarray
    method: str
    converged: bool = True
    error: float | None = 0.0
    r_hat: float | None = None
    n_effective: float | None = None
    width: int | None = None

    def __post_init__(self) -> None:
        self.probabilities.setflags(write=False)

    def __getitem__(self, labels: object) -> float:
        """The probability of one state of each variable: answer["yes"], or answer["yes", "no"]."""
        labels = labels if isinstance(labels, tuple) else (labels,)
        if len(labels) != len(self.variables):
            raise InputError(
                f"This answer is over {len(self.variables)} variables ({', '.join(self.variables)}) and needs one "
                f"state of each. Got {labels!r} instead."
            )
        at = [Variable(n, s).index(label) for n, s, label in zip(self.variables, self.states, labels)]
        return float(self.probabilities[tuple(at)])

    def to_dict(self) -> dict:
        """Probabilities by state, or by tuple of states where there are several variables."""
        labels = self.states[0] if len(self.variables) == 1 else product(*self.states)
        return dict(zip(labels, self.probabilities.ravel().tolist()))

    def __str__(self) -> str:
        rows = [(*map(str, labels),) for labels in product(*self.states)]
        widths = [max(map(len, column)) for column in zip(self.variables, *rows)]
        lines = ["  ".join([*(n.ljust(w) for n, w in zip(self.variables, widths)), "probability"])]
        for labels, p in zip(rows, self.probabilities.ravel()):
            lines.append("  ".join([*(label.ljust(w) for label, w in zip(labels, widths)), f"{p:11.6f}"]))
        return "\n".join(lines)


class Marginals(dict[str, Any]):
    """The distribution of each variable by name, and how far to trust them.

    A variable with states has the array of their probabilities, a number its `Normal(mean, deviation)`.

    method, converged, error  as in `Answer`

    >>> found = Marginals({"rain": np.array([0.8, 0.2])}, "bp", True, None)
    >>> found["rain"].tolist(), found.method
    ([0.8, 0.2], 'bp')
    """

    def __init__(
        self, by_name: Mapping[str, Any], method: str, converged: bool = True, error: float | None = 0.0
    ) -> None:
        super().__init__(by_name)
        self.method, self.converged, self.error = method, converged, error
