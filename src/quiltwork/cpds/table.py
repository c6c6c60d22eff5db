"""Tables: one distribution of the child per configuration of its parents.

Smoothing is that of the hybrid-random-field paper (Freno, Trentin, Gori 2009, Eqs 3-4): with r states,
q configurations and an equivalent sample of N rows spread evenly,

    P(child = k | configuration j) = (n_jk + N / (r q)) / (n_j + N / q).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class TableCPD:
    """P(child | parents) as a table.

    child    column of the child
    parents  columns of the parents, ascending
    probs    (n_configs, states of the child); configurations count up with the last parent fastest
    """

    child: int
    parents: tuple[int, ...]
    probs: np.ndarray

    kind = "table"

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        return self.probs.shape[0] * (self.probs.shape[1] - 1)

    @classmethod
    def from_counts(cls, child: int, parents: tuple[int, ...], counts: np.ndarray, equivalent: float) -> TableCPD:
        """Smoothed estimates from counts (n_configs, states) and the size of the equivalent sample.

        >>> TableCPD.from_counts(0, (), np.array([[3.0, 1.0]]), 2.0).probs
        array([[0.66666667, 0.33333333]])
        """
        n_configs, n_states = counts.shape
        smoothed = counts + equivalent / (n_states * n_configs)
        total = smoothed.sum(axis=1, keepdims=True)
        # Without smoothing a configuration never seen has no estimate; it gets the uniform one.
        uniform = np.full_like(smoothed, 1.0 / n_states)
        return cls(child, tuple(parents), np.divide(smoothed, total, out=uniform, where=total > 0))
