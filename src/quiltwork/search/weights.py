"""Weights that maximise a concave objective under a prior: L-BFGS, OWL-QN, and steps over random batches of rows.

The objective is a (pseudo-)log-likelihood with its gradient. What is maximised is

    objective(w) - sum of precision * w^2 / 2 - sum of lasso * |w|

Without the last term this is smooth, and SciPy's L-BFGS climbs it. With it the slope jumps where a weight passes zero;
OWL-QN (Andrew, Gao, 2007) is L-BFGS inside one orthant at a time: a weight that would change its sign is put to zero.

For data too large to be swept, `maximise_in_batches` sees some rows at a time and goes up the slope of each batch,
with steps that shrink where a weight has moved much (AdaGrad; Duchi, Hazan, Singer, 2011). Its answer is the mean of
the weights over the last epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
Watch = Callable[[int], None]  # is told how many iterations are done

MEMORY = 10  # steps that OWL-QN remembers
STEP = 0.3  # of AdaGrad, at first


@dataclass(frozen=True)
class Penalty:
    """What large weights cost, each (n,): precision, one over the prior's variance; lasso, the slope of the corner."""

    precision: np.ndarray
    lasso: np.ndarray

    def smooth(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        slope = self.precision * weights
        return 0.5 * float(slope @ weights), slope

    def corner(self, weights: np.ndarray) -> float:
        return float(self.lasso @ np.abs(weights))


@dataclass(frozen=True)
class Found:
    weights: np.ndarray
    n_iter: int
    converged: bool


def maximise(
    objective: Objective, start: np.ndarray, penalty: Penalty, total: float, max_iter: int, tol: float, watch: Watch
) -> Found:
    """The weights where the objective less the penalty is greatest; `total` rows scale it to a mean.

    >>> everywhere = Penalty(np.ones(2), np.array([0.0, 3.0]))
    >>> parabola = lambda w: (-float((w - 2) @ (w - 2)) / 2, 2 - w)
    >>> maximise(parabola, np.zeros(2), everywhere, 1.0, 100, 1e-12, lambda done: None).weights.round(6)
    array([1., 0.])
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    if not len(start):
        return Found(start, 0, True)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective(weights)
        cost, slope = penalty.smooth(weights)
        return (cost - value) / total, (slope - gradient) / total

    # The steps add up short vectors: more threads of BLAS would only wait for each other, and round differently.
    with threadpool_limits(1, user_api="blas"):
        if penalty.lasso.any():
            return _owl_qn(loss, start, penalty.lasso / total, max_iter, tol, watch)
        return _l_bfgs(loss, start, max_iter, tol, watch)


def maximise_in_batches(
    batches: Callable[[int], Iterator[tuple[Objective, float]]],
    start: np.ndarray,
    penalty: Penalty,
    total: float,
    max_iter: int,
    tol: float,
    watch: Watch,
) -> Found:
    """The same from batches: batches(epoch) yields each batch's objective and its number of rows.

    An iteration is an epoch. The mean objective of a row, seen on the way, tells when to stop: when it is better by
    less than `tol` of itself than in the epoch before.
    """
    weights, moved = start.copy(), np.full(len(start), 1e-8)
    before, mean, epoch, converged = -np.inf, start, 0, False
    while epoch < max_iter and not converged:
        seen, value, steps = 0.0, 0.0, 0
        mean = np.zeros(len(start))
        for objective, n_rows in batches(epoch):
            own, gradient = objective(weights)
            slope = gradient / n_rows - penalty.precision * weights / total
            moved += slope**2
            pace = STEP / np.sqrt(moved)
            weights = weights + pace * slope
            weights = np.sign(weights) * np.maximum(np.abs(weights) - pace * penalty.lasso / total, 0.0)
            value, seen, steps = value + own, seen + n_rows, steps + 1
            mean += weights
        mean /= steps
        converged = value / seen - before < tol * abs(value / seen)
        before = value / seen
        epoch += 1
        watch(epoch)
    return Found(mean, epoch, converged)


def _l_bfgs(loss: Objective, start: np.ndarray, max_iter: int, tol: float, watch: Watch) -> Found:
    from scipy.optimize import minimize

    done = [0]

    def told(intermediate_result: object) -> None:
        done[0] += 1
        watch(done[0])

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": tol, "gtol": tol}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", callback=told, options=options)  # type: ignore[call-overload]
    return Found(found.x, int(found.nit), bool(found.success))


def _owl_qn(loss: Objective, start: np.ndarray, lasso: np.ndarray, max_iter: int, tol: float, watch: Watch) -> Found:
    weights = start.copy()
    value, gradient = loss(weights)
    value += float(lasso @ np.abs(weights))
    steps: list[np.ndarray] = []
    changes: list[np.ndarray] = []
    for done in range(max_iter):
        slope = _steepest(weights, gradient, lasso)
        if np.abs(slope).max(initial=0.0) <= tol:
            return Found(weights, done, True)
        direction = -_inverse_hessian_times(slope, steps, changes)
        direction[direction * slope >= 0] = 0.0
        orthant = np.where(weights != 0, np.sign(weights), -np.sign(slope))
        pace = 1.0 if steps else 1.0 / max(1.0, float(np.linalg.norm(slope)))
        while True:
            new = weights + pace * direction
            new[new * orthant < 0] = 0.0
            new_value, new_gradient = loss(new)
            new_value += float(lasso @ np.abs(new))
            if new_value <= value + 1e-4 * float(slope @ (new - weights)):
                break
            pace /= 2
            if pace < 1e-12:  # rounding is all that is left
                return Found(weights, done, True)
        gain = value - new_value
        if float((new_gradient - gradient) @ (new - weights)) > 0:
            steps, changes = [*steps, new - weights][-MEMORY:], [*changes, new_gradient - gradient][-MEMORY:]
        weights, value, gradient = new, new_value, new_gradient
        watch(done + 1)
        if gain <= tol * max(abs(value), 1.0):
            return Found(weights, done + 1, True)
    return Found(weights, max_iter, False)


def _steepest(weights: np.ndarray, gradient: np.ndarray, lasso: np.ndarray) -> np.ndarray:
    """The slope of the loss with its corners: at zero the side that goes down, if either does."""
    at_zero = np.where(gradient > lasso, gradient - lasso, np.where(gradient < -lasso, gradient + lasso, 0.0))
    return np.where(weights != 0, gradient + np.sign(weights) * lasso, at_zero)


def _inverse_hessian_times(slope: np.ndarray, steps: list[np.ndarray], changes: list[np.ndarray]) -> np.ndarray:
    """The two loops of L-BFGS: what the remembered steps say about the curvature, applied to the slope."""
    out, kept = slope.copy(), []
    for step, change in zip(reversed(steps), reversed(changes), strict=True):
        share = float(step @ out) / float(step @ change)
        out -= share * change
        kept.append(share)
    if steps:
        out *= float(steps[-1] @ changes[-1]) / float(changes[-1] @ changes[-1])
    for step, change, share in zip(steps, changes, reversed(kept), strict=True):
        out += step * (share - float(change @ out) / float(step @ change))
    return out
