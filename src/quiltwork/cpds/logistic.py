"""Logistic regressions: every parent adds its own part to the child's logits.

    log P(child = s | row) = intercept[s] + sum over parents p of weights[state of p][s] - log Z

A table over k parents has a row for each of their configurations; this has a row for each of their states, so hundreds
of parents may speak at once. A parent whose value is missing adds what it added on average in training.

The weights lie in one array, a row for each state of each parent, so that kernels can walk them and a file can hold
them. A child of two states has one free logit: the column of its first state is zero throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from quiltwork.data.dataset import NO_CODE

LARGEST = 40.0  # nats by which a parent may change a logit and leave odds that can be held


@dataclass(frozen=True, eq=False)
class LogisticCPD:
    """P(child | parents) as a softmax of sums.

    child      column of the child
    parents    columns of the parents, ascending
    intercept  (states of the child,)
    first      (n_parents + 1,) where the rows of each parent begin in `weights`
    weights    (states of all parents, states of the child)
    means      (n_parents, states of the child) what each parent added on average in training

    >>> cpd = LogisticCPD(
    ...     child=1, parents=(0,), intercept=np.zeros(2), first=np.array([0, 2]),
    ...     weights=np.array([[0.0, 0.0], [0.0, 2.0]]), means=np.array([[0.0, 1.0]]),
    ... )
    >>> np.exp(cpd.log_probs(np.array([[0, 0], [1, 0], [NO_CODE, 0]], np.uint16))).round(3)
    array([[0.5  , 0.5  ], [0.119, 0.881], [0.269, 0.731]])
    >>> cpd.n_parameters
    2
    """

    child: int
    parents: tuple[int, ...]
    intercept: np.ndarray
    first: np.ndarray
    weights: np.ndarray
    means: np.ndarray

    kind = "logistic"

    @property
    def n_parameters(self) -> int:
        """Free parameters: the intercepts but one, and the weights that are not zero."""
        return len(self.intercept) - 1 + int(np.count_nonzero(self.weights))

    def log_probs(self, codes: np.ndarray) -> np.ndarray:
        """log P(child = s | the row's parents), (rows, states); a missing parent adds its mean."""
        out = np.empty((len(codes), len(self.intercept)))
        columns = np.array(self.parents, np.int64)
        _add_parts(columns, self.intercept, self.first, self.weights, self.means, codes, out)
        return out

    def withhold(self, columns: np.ndarray, changes: np.ndarray) -> None:
        """Change odds to what they are if a parent adds its mean, whatever its state in columns (n_vars, rows).

        changes (n_parents, states - 1, rows), float32, are multiplied: the odds of each state against the first.
        """
        moves = np.repeat(self.means, np.diff(self.first), axis=0) - self.weights
        factors = np.exp(np.clip(moves[:, 1:] - moves[:, :1], -LARGEST, LARGEST)).astype(np.float32)
        _multiply_parts(columns[np.array(self.parents, np.int64)], self.first, factors, changes)

    def log_tables(self) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """The parts of log P before it is normalised: the intercept, then one table for each parent."""
        pieces = zip(self.parents, self.first[:-1].tolist(), self.first[1:].tolist(), strict=True)
        return [((), self.intercept[None]), *(((p,), self.weights[a:b]) for p, a, b in pieces)]

    def decision_graphs(self) -> list[tuple[np.ndarray, ...]]:
        """The parts of log P that are walks: none."""
        return []


# Kernels


@njit(cache=True, nogil=True)
def _add_parts(parents, intercept, first, weights, means, codes, out):
    """Into out (rows, states) the sums of what the parents add, normalised."""
    n_states = intercept.size
    for i in range(codes.shape[0]):
        row = out[i]
        if n_states == 2:  # two numbers that stay at hand
            one, other = intercept[0], intercept[1]
            for k in range(parents.size):
                x = codes[i, parents[k]]
                at = first[k] + x
                one += means[k, 0] if x == NO_CODE else weights[at, 0]
                other += means[k, 1] if x == NO_CODE else weights[at, 1]
            row[0], row[1] = one, other
        else:
            row[:] = intercept
            for k in range(parents.size):
                x = codes[i, parents[k]]
                part = means[k] if x == NO_CODE else weights[first[k] + x]
                for s in range(n_states):
                    row[s] += part[s]
        top = row[0]
        for s in range(1, n_states):
            top = max(top, row[s])
        total = 0.0
        for s in range(n_states):
            total += np.exp(row[s] - top)
        log_total = top + np.log(total)
        for s in range(n_states):
            row[s] -= log_total


@njit(cache=True, nogil=True)
def _multiply_parts(codes, first, factors, changes):
    """Multiply changes (parents, states - 1, rows) by the factors of the state that each parent is in."""
    for k in range(codes.shape[0]):
        for s in range(changes.shape[1]):
            own, column = changes[k, s], np.ascontiguousarray(factors[first[k] : first[k + 1], s])
            for i in range(codes.shape[1]):
                own[i] *= column[codes[k, i]]
