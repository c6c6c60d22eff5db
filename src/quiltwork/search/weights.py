"""Weights that maximise a concave objective under a prior: L-BFGS, over all rows at once or batch after batch.

The objective is a (pseudo-)log-likelihood with its gradient. What is maximised is

    objective(w) - sum of precision * w^2 / 2 - sum of lasso * |w|

Without the last term this is smooth, and SciPy's L-BFGS climbs it. With it the slope jumps where a weight passes zero.
So a weight that has a lasso is written as the difference of two that must not be negative, w = a - b, for which the
lasso is the plain slope of a + b and zero is a bound; L-BFGS-B (Byrd, Lu, Nocedal, Zhu, 1995) minds bounds, and stops
where they and the slopes agree, so that the zeros are settled too. (OWL-QN, which minds the corner itself, needs two to
four times as many iterations here.)

For data too large to be swept, `maximise_in_batches` sees some rows at a time. It goes up the slope of each batch, with
steps that shrink where a weight has moved much (AdaGrad; Duchi, Hazan, Singer, 2011), as long as that is fast, and
judges the mean of each epoch's weights on all rows. From the best of them L-BFGS goes on, adding up the batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
Batches = Callable[[int], Iterator[tuple[Objective, float]]]  # epoch -> objective and number of rows of each batch
Watch = Callable[[int], None]  # is told how many iterations are done

MEMORY = 20  # steps that L-BFGS remembers where there are bounds
SETTLED = 1e-3  # share of the lasso that a slope may miss in the end
STEEP = 100.0  # times tol: the slope of a mean row that is too much, however small a share of the lasso it is
ROUNDING = 1e-15  # relative gain that is none
STEP = 0.3  # of AdaGrad, at first
FAST = 1e-3  # gain of an epoch, relative to the objective, below which L-BFGS takes over
PATIENCE = 2  # epochs that may pass without such a gain


@dataclass(frozen=True)
class Penalty:
    """What large weights cost, each (n,): precision, one over the prior's variance; lasso, the slope of the corner."""

    precision: np.ndarray
    lasso: np.ndarray

    def smooth(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        slope = self.precision * weights
        return 0.5 * float(slope @ weights), slope

    def cost(self, weights: np.ndarray) -> float:
        """All of it, the corner too."""
        return self.smooth(weights)[0] + float(self.lasso @ np.abs(weights))


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
            return _with_bounds(loss, start, penalty.lasso / total, max_iter, tol, watch)
        return _l_bfgs(loss, start, max_iter, watch, ftol=tol, gtol=tol)


def maximise_in_batches(
    batches: Batches, start: np.ndarray, penalty: Penalty, total: float, max_iter: int, tol: float, watch: Watch
) -> Found:
    """The same from batches, all of which make an epoch; an iteration is an epoch, or a step of L-BFGS."""
    best, n_epochs = _by_single_batches(batches, start, penalty, total, max_iter, watch)
    if n_epochs == max_iter:
        return Found(best, n_epochs, False)

    def all_rows(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = 0.0, np.zeros(len(weights))
        for objective, _ in batches(0):
            own, slope = objective(weights)
            value += own
            gradient += slope
        return value, gradient

    rest = max_iter - n_epochs
    found = maximise(all_rows, best, penalty, total, rest, tol, lambda done: watch(n_epochs + done))
    return Found(found.weights, n_epochs + found.n_iter, found.converged)


def _by_single_batches(
    batches: Batches, start: np.ndarray, penalty: Penalty, total: float, max_iter: int, watch: Watch
) -> tuple[np.ndarray, int]:
    """The best mean weights of an epoch of AdaGrad, or the start; and how many epochs were run.

    The mean of an epoch is judged in the next, while its batches are at hand. After one that is not better than the
    best so far the pace is halved.
    """
    best, highest, late = start, -np.inf, 0
    weights, mean, moved, step = start, start, np.full(len(start), 1e-8), STEP
    for epoch in range(max_iter):
        judged, total_weights, n_steps = -penalty.cost(mean), np.zeros(len(start)), 0
        for objective, n_rows in batches(epoch):
            judged += objective(mean)[0]
            slope = objective(weights)[1] / n_rows - penalty.precision * weights / total
            moved += slope**2
            pace = step / np.sqrt(moved)
            weights = weights + pace * slope
            weights = np.sign(weights) * np.maximum(np.abs(weights) - pace * penalty.lasso / total, 0.0)
            total_weights += weights
            n_steps += 1
        watch(epoch + 1)
        late = 0 if judged - highest > FAST * abs(judged) else late + 1
        if judged > highest:
            best, highest = mean, judged
        else:
            step /= 2
        mean = total_weights / n_steps
        if late == PATIENCE:
            return best, epoch + 1
    last = sum(objective(mean)[0] for objective, _ in batches(0)) - penalty.cost(mean)
    return (mean if last > highest else best), max_iter


def _with_bounds(
    loss: Objective, start: np.ndarray, lasso: np.ndarray, max_iter: int, tol: float, watch: Watch
) -> Found:
    """The same where some weights w = a - b have a lasso; what is searched is (w or a of each, b of those)."""
    n, cornered = len(start), np.flatnonzero(lasso)

    def joined(parts: np.ndarray) -> np.ndarray:
        weights = parts[:n].copy()
        weights[cornered] -= parts[n:]
        return weights

    def cornered_loss(parts: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = loss(joined(parts))
        value += float(lasso @ parts[:n]) + float(lasso[cornered] @ parts[n:])
        return value, np.concatenate([slope + lasso, lasso[cornered] - slope[cornered]])

    parts = np.concatenate([np.where(lasso > 0, np.maximum(start, 0.0), start), np.maximum(-start[cornered], 0.0)])
    lowest = np.concatenate([np.where(lasso > 0, 0.0, -np.inf), np.zeros(len(cornered))])
    bounds = np.stack([lowest, np.full(len(lowest), np.inf)], axis=1)
    settled = max(tol, min(STEEP * tol, SETTLED * float(lasso[cornered].min())))
    how = {"maxcor": MEMORY, "ftol": ROUNDING, "gtol": settled}
    found = _l_bfgs(cornered_loss, parts, max_iter, watch, bounds, **how)
    return Found(joined(found.weights), found.n_iter, found.converged)


def _l_bfgs(
    loss: Objective, start: np.ndarray, max_iter: int, watch: Watch, bounds: np.ndarray | None = None, **how: float
) -> Found:
    from scipy.optimize import minimize

    done = [0]

    def told(intermediate_result: object) -> None:
        done[0] += 1
        watch(done[0])

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, **how}
    found = minimize(  # type: ignore[call-overload]
        loss, start, jac=True, method="L-BFGS-B", callback=told, bounds=bounds, options=options
    )
    return Found(found.x, int(found.nit), bool(found.success))
