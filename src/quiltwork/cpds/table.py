"""Tables: one distribution of the child per configuration of its parents.

Smoothing is that of the hybrid-random-field paper (Freno, Trentin, Gori 2009, Eqs 3-4): with r states,
q configurations and an equivalent sample of N rows spread evenly,

    P(child = k | configuration j) = (n_jk + N / (r q)) / (n_j + N / q).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quiltwork.data.dataset import NO_CODE


@dataclass(frozen=True, eq=False)
class TableCPD:
    """P(child | parents) as a table.

    child    column of the child
    parents  columns of the parents, ascending
    probs    (n_configs, states of the child); configurations count up with the last parent fastest
    weights  (n_configs,) how often each configuration occurs, smoothed as the table is; None where nobody asks
    """

    child: int
    parents: tuple[int, ...]
    probs: np.ndarray
    weights: np.ndarray | None = None

    kind = "table"

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        return self.probs.shape[0] * (self.probs.shape[1] - 1)

    def log_probs(self, codes: np.ndarray, n_states: np.ndarray) -> np.ndarray:
        """log P(child = s | the row's parents), (rows, states); n_states (n_vars,) tells how many each parent has.

        A missing parent is summed out: the configurations are weighted as they occurred in training. As tables and
        weights are smoothed alike, that is what smoothed counts over the parents that are known would say.

        >>> cpd = TableCPD(1, (0,), np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([3.0, 1.0]))
        >>> np.exp(cpd.log_probs(np.array([[1, 0], [NO_CODE, 0]], np.uint16), np.array([2, 2]))).round(3)
        array([[0.2  , 0.8  ], [0.725, 0.275]])
        """
        parents = codes[:, self.parents]
        weights = np.ones(len(self.probs)) if self.weights is None else self.weights
        joint = (weights[:, None] * self.probs).reshape(*n_states[list(self.parents)], -1)
        patterns, which = np.unique(parents == NO_CODE, axis=0, return_inverse=True)
        out = np.empty((len(codes), joint.shape[-1]))
        for k, absent in enumerate(patterns):
            rows = np.flatnonzero(which.ravel() == k)
            table = joint.sum(axis=tuple(np.flatnonzero(absent))) if absent.any() else self.probs.reshape(joint.shape)
            out[rows] = table[tuple(parents[np.ix_(rows, np.flatnonzero(~absent))].T)]
        out /= out.sum(axis=1, keepdims=True)
        return np.log(out, out=np.full(out.shape, -np.inf), where=out > 0)

    def log_tables(self) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """The parts of log P that are tables over parents: the table itself."""
        logs = np.log(self.probs, out=np.full(self.probs.shape, -np.inf), where=self.probs > 0)
        return [(self.parents, logs)]

    def decision_graphs(self) -> list[tuple[np.ndarray, ...]]:
        """The parts of log P that are walks: none."""
        return []

    @classmethod
    def of_families(
        cls,
        parents: list[tuple[int, ...]],
        n_states: np.ndarray,
        counts: np.ndarray,
        starts: np.ndarray,
        equivalent: float,
    ) -> tuple[TableCPD, ...]:
        """`from_counts` for all families of a graph at once; their tables lie one after another in counts.

        >>> counts, starts = np.array([3.0, 1.0, 2.0, 0.0, 0.0, 1.0]), np.array([0, 2, 6])
        >>> [cpd.probs.tolist() for cpd in TableCPD.of_families([(), (0,)], np.array([2, 2]), counts, starts, 2.0)]
        [[[0.666..., 0.333...]], [[0.833..., 0.166...], [0.25, 0.75]]]
        """
        sizes = np.diff(starts)
        smoothed = counts + np.repeat(equivalent / sizes, sizes)
        row_lengths = np.repeat(n_states, sizes // n_states)
        row_sums = np.add.reduceat(smoothed, np.concatenate([[0], np.cumsum(row_lengths)[:-1]]))
        probs = smoothed / np.repeat(row_sums, row_lengths)
        tables = zip(parents, n_states.tolist(), starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        return tuple(cls(v, own, probs[a:b].reshape(-1, r)) for v, (own, r, a, b) in enumerate(tables))

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
