"""Penalised logistic regressions of many targets, and how strong each one's penalty should be.

Each target is regressed on the indicators of all other variables; `search/newton.py` solves one at one strength. A path
starts at a strong penalty, under which few weights are not zero, and weakens it step by step, each solution being the
start of the next; it ends when validation rows are predicted no better.

Which strength a target gets is decided by validation too, but not by its own curve alone: the validation rows of one
rare target say little, and the best of a dozen strengths by such a curve is often the luckiest. All targets are of one
table, and their curves look alike once strengths are measured in units of what chance does (`_Target.unit`). So a
target takes the strength that is best by its own curve and the mean curve of all together, which weighs `POOLING`
times as much.

Symbols  lambda strength, N weight of all rows, p_s share of the target's state s
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from quiltwork.cpds.logistic import LogisticCPD
from quiltwork.data.dataset import Dataset, physical_memory
from quiltwork.errors import ConvergenceWarning, DataError, ParameterError, ResourceLimitError, SchemaMismatchError
from quiltwork.search.climb import Progress, silent
from quiltwork.search.indicators import Indicators, indicators
from quiltwork.search.judges import complete_rows
from quiltwork.search.newton import log_likelihood, look, solve
from quiltwork.search.regression import GRAM_BYTES, regression

Run = Callable[[Callable[[int], None], int], None]

PENALTIES = {"l1": (1.0, 0.0), "l2": (0.0, 1.0), "elastic": (1.0, 2.0)}  # l1 and l2 of a strength of 1
STRONGEST = {"l1": 1.5, "l2": 512.0, "elastic": 1.5}  # where automatic paths begin, in units of chance
RATIO = {"l1": 0.7, "l2": 0.5, "elastic": 0.7}  # of each strength to the one before
MOST_STRENGTHS = 24
PATIENCE = 2  # strengths without a gain after which a path ends
LEAST_GAIN = 1e-5  # in validation likelihood, relative, that counts as one
POOLING = 10.0
PRECISION = 5e-7  # error tolerated in the objective, relative to that of the intercept alone
ROUGH = 1e-4  # and on the way to a far strength,
FAR = 0.25  # which is reached by strengths in this ratio
BY_ROW, BY_INDICATOR = 3, 2  # numbers that a regression under way holds for each logit


def serial(task: Callable[[int], None], n: int) -> None:
    """Do numbered tasks one after the other."""
    for i in range(n):
        task(i)


@dataclass(frozen=True, eq=False)
class LogisticFits:
    """The regressions of some targets.

    cpds             by target
    strengths        (n_targets,) lambda of each
    log_likelihoods  (n_targets,) of the validation rows, as a mean over them; None where there are none
    """

    cpds: tuple[LogisticCPD, ...]
    strengths: np.ndarray
    log_likelihoods: np.ndarray | None


def fit_logistic(
    train: Dataset,
    valid: Dataset | None = None,
    targets: Sequence[int] | None = None,
    *,
    penalty: str = "l1",
    strengths: str | float | Sequence[float] | np.ndarray = "auto",
    shared: bool = False,
    allowed: np.ndarray | None = None,
    run: Run = serial,
    progress: Progress = silent,
) -> LogisticFits:
    """Regress each target (all variables by default) on all other variables.

    penalty    added to the loss, which is summed over rows: "l1" lambda sum |w|, which leaves few weights that are not
               zero; "l2" lambda / 2 sum w^2; "elastic" lambda sum (|w| + w^2)
    strengths  lambda. With validation rows "auto", or numbers for every target's path to go through; without them one
               number, or one for each target
    shared     whether all targets take the same place on their paths
    allowed    (n_vars, n_vars) bool [child, parent], who may be a parent; None for everybody

    Rows count as their Dataset weighs them. Validation rows with a missing value do not count, nor do those in which
    the target is in a state that no training row has.

    >>> import quiltwork as qw
    >>> rows = qw.Encoder.fit(table := qw.sample(qw.textbook("asia"), 3000, seed=0)).encode(table)
    >>> fits = fit_logistic(rows.rows(slice(0, 2000)), rows.rows(slice(2000, 3000)))
    >>> names = [v.name for v in rows.variables]
    >>> [names[p] for p in fits.cpds[names.index("either")].parents]
    ['tub', 'lung', 'xray']
    """
    wanted = range(train.n_vars) if targets is None else targets
    _check(train, valid, wanted, penalty, allowed)
    valid = None if valid is None else complete_rows(valid)
    table = _Table(train, indicators(train), None if valid is None else indicators(valid), penalty, allowed)
    problems = [_Target.of(v, table.x, train, valid) for v in wanted]
    paths = _paths(problems, penalty, strengths, valid is not None)
    _check_room(table.x, problems, paths, penalty)
    walks: list[_Walk] = [_Walk()] * len(problems)
    at_a_time = max(1, min(16, len(problems) // 32))  # targets of one task
    done = [0]

    def some(block: int) -> None:
        for t in range(block * at_a_time, min((block + 1) * at_a_time, len(problems))):
            walks[t] = table.walk(problems[t], paths[t])
            done[0] += 1
        progress("fitting logistic regressions", done[0], len(problems))

    run(some, -(-len(problems) // at_a_time))
    chosen = _choose(walks, paths.shape[1], shared)
    for t in range(len(problems)):
        if chosen[t] >= len(walks[t].solutions) and problems[t].n_logits:  # shared, and its path ended before
            paths[t, 0], chosen[t] = paths[t, chosen[t]], 0
            walks[t] = table.walk(problems[t], paths[t, :1])
    _warn(walks)
    return LogisticFits(
        tuple(table.cpd(problem, walks[t].solutions[chosen[t]]) for t, problem in enumerate(problems)),
        paths[np.arange(len(problems)), chosen],
        None if valid is None else np.array([walks[t].likelihoods[chosen[t]] for t in range(len(problems))]),
    )


def _check(
    train: Dataset, valid: Dataset | None, targets: Sequence[int], penalty: str, allowed: np.ndarray | None
) -> None:
    if penalty not in PENALTIES:
        raise ParameterError(f"'penalty' must be one of {', '.join(map(repr, PENALTIES))}. Got {penalty!r} instead.")
    if not train.n_samples or train.missing is not None:
        why = "has missing values" if train.n_samples else "has no rows"
        raise DataError(f"A table that {why} cannot be regressed: drop its incomplete rows, or make them a state.")
    if valid is not None and valid.variables != train.variables:
        raise SchemaMismatchError(
            "Validation rows must have the variables of the training rows, in their order: encode them by one encoder."
        )
    if not all(0 <= v < train.n_vars for v in targets):
        raise ParameterError(f"'targets' must be columns from 0 to {train.n_vars - 1}. Got {list(targets)} instead.")
    if allowed is not None and allowed.shape != (train.n_vars, train.n_vars):
        raise ParameterError(f"'allowed' must be (n_vars, n_vars), {train.n_vars} each. Got {allowed.shape} instead.")


def _check_room(x: Indicators, problems: list[_Target], paths: np.ndarray, penalty: str) -> None:
    """What one target's logits take in all rows; and, without zeros among the weights, all weights of all paths."""
    widest = max(problems, key=lambda problem: problem.n_logits, default=None)
    if widest is not None:
        n_rows = len(widest.labels) + len(widest.held_out_labels)
        n_bytes = 8.0 * widest.n_logits * (BY_ROW * n_rows + BY_INDICATOR * len(x.variable)) + GRAM_BYTES
        if n_bytes > physical_memory():
            raise ResourceLimitError(
                f"A regression of {widest.n_logits:,} logits on {len(x.variable):,} indicators in {n_rows:,} rows "
                f"takes {n_bytes / 2**30:.1f} GB, more than this machine has: give the target fewer states, or take a "
                "sample of the rows."
            )
    n_bytes = 8.0 * paths.size * len(x.variable)
    if PENALTIES[penalty][0] == 0.0 and n_bytes > physical_memory():
        raise ResourceLimitError(
            f"The paths of {len(paths):,} targets under {penalty!r} take up to {n_bytes / 2**30:.1f} GB, more than "
            "this machine has: fix the strength, regress fewer targets at a time, or choose penalty='l1'."
        )


# Targets


@dataclass(frozen=True, eq=False)
class _Target:
    """What is regressed: labels are places among the states seen in training, -1 for a state that was not.

    n_logits  1 for two states, the number of states for more, 0 for a target that never varies
    loss      of the intercept alone
    unit      of the strength, by penalty. What chance makes of a weight's gradient has a variance of at most
              N p (1 - p), and "l1" must exceed it. The lambda of "l2" is one over the variance of the weights, and its
              unit the same but for N
    """

    variable: int
    seen: np.ndarray
    labels: np.ndarray
    held_out_labels: np.ndarray
    n_logits: int
    loss: float
    unit: dict[str, float]

    @classmethod
    def of(cls, v: int, x: Indicators, train: Dataset, valid: Dataset | None) -> _Target:
        column = train.column(v)
        counts = np.bincount(column, x.weights, train.variables[v].n_states)
        seen = np.flatnonzero(counts > 0)
        place = np.full(len(counts), -1, np.int64)
        place[seen] = np.arange(len(seen))
        total, shares = counts.sum(), counts[seen] / counts.sum()
        smoothed = (counts + 0.5) / (total + 0.5 * len(counts))
        spread = float(np.sqrt(max(smoothed @ (1.0 - smoothed), 1e-12) / 2.0))
        return cls(
            v,
            seen,
            place[column],
            np.empty(0, np.int64) if valid is None else place[valid.column(v)],
            n_logits=len(seen) if len(seen) > 2 else len(seen) - 1,
            loss=float(-total * (shares @ np.log(shares))),
            unit={"l1": spread * total**0.5, "l2": 2.0 * spread, "elastic": spread * total**0.5},
        )


@dataclass(frozen=True, eq=False)
class _Solution:
    """Weights (n_logits, n_columns) of the indicators that have some."""

    intercept: np.ndarray
    columns: np.ndarray
    weights: np.ndarray


@dataclass
class _Walk:
    """The solutions of one target along its path, and the mean log-likelihood of the validation rows under each."""

    solutions: list[_Solution] = field(default_factory=list)
    likelihoods: list[float] = field(default_factory=list)
    settled: bool = True


@dataclass(frozen=True, eq=False)
class _Table:
    """What all targets share."""

    train: Dataset
    x: Indicators
    held_out: Indicators | None
    penalty: str
    allowed: np.ndarray | None

    def walk(self, target: _Target, path: np.ndarray) -> _Walk:
        """Solve one target at the strengths of its path, until validation says that it is enough."""
        if target.n_logits == 0:
            nothing = _Solution(np.empty(0), np.empty(0, np.int64), np.empty((0, 0)))
            return _Walk([nothing] * len(path), [] if self.held_out is None else [0.0] * len(path))
        fit = regression(self.x, target.labels, target.n_logits, self._may_join(target.variable))
        look(self.x, target.labels, fit)
        l1, l2 = PENALTIES[self.penalty]
        strength = STRONGEST[self.penalty] * target.unit[self.penalty]
        while l1 and strength * FAR > path[0]:
            strength *= FAR
            solve(self.x, target.labels, strength * l1, strength * l2, ROUGH * target.loss, fit)
        walk, best, since = _Walk(), -np.inf, 0
        for strength in path:
            walk.settled &= solve(self.x, target.labels, strength * l1, strength * l2, PRECISION * target.loss, fit)
            columns = np.flatnonzero(fit.weights.any(axis=0))
            walk.solutions.append(_Solution(fit.intercept.copy(), columns, fit.weights[:, columns]))
            if self.held_out is None:
                continue
            now = log_likelihood(self.held_out, target.held_out_labels, fit.intercept, fit.weights)
            walk.likelihoods.append(now / self.held_out.weights.sum())
            since = 0 if now > best + LEAST_GAIN * abs(now) else since + 1
            best = max(best, now)
            if since == PATIENCE:
                break
        return walk

    def _may_join(self, v: int) -> np.ndarray:
        """(n_indicators,) which of them the regression of v may use."""
        others = self.x.variable != v
        return others if self.allowed is None else others & self.allowed[v][self.x.variable]

    def cpd(self, target: _Target, solution: _Solution) -> LogisticCPD:
        """The weights by state of the parent, and a logit also for the states that no training row has."""
        x, n_states = self.x, self.train.n_states
        total, r = x.weights.sum(), int(n_states[target.variable])
        logits = target.seen if target.n_logits > 1 else target.seen[1:]
        parents, parent = np.unique(x.variable[solution.columns], return_inverse=True)
        first = np.concatenate([[0], np.cumsum(n_states[parents])]).astype(np.int64)
        state = 1 + solution.columns - np.searchsorted(x.variable, parents)[parent]
        weights, means, intercept = np.zeros((first[-1], r)), np.zeros((len(parents), r)), np.zeros(r)
        intercept[logits] = solution.intercept
        for k, s in enumerate(logits):
            weights[first[parent] + state, s] = solution.weights[k]
            means[:, s] = np.bincount(parent, solution.weights[k] * x.ones[solution.columns] / total, len(parents))
        usual = np.logaddexp.reduce((intercept + means.sum(axis=0))[target.seen])
        unseen = np.setdiff1d(np.arange(r), target.seen)
        intercept[unseen] = usual + np.log(0.5 / total)  # half a row, where the parents add what is usual
        return LogisticCPD(target.variable, tuple(parents.tolist()), intercept, first, weights, means)


# Strengths


def _paths(problems: list[_Target], penalty: str, strengths: object, is_held_out: bool) -> np.ndarray:
    """(n_targets, n_strengths) the strengths that each target goes through, the strongest first."""
    if isinstance(strengths, str) and strengths == "auto" and is_held_out:
        units = np.array([problem.unit[penalty] for problem in problems])
        return units[:, None] * STRONGEST[penalty] * RATIO[penalty] ** np.arange(MOST_STRENGTHS)
    is_numbers = isinstance(strengths, (Real, Sequence, np.ndarray)) and not isinstance(strengths, str)
    numbers = np.atleast_1d(np.asarray(strengths, np.float64)) if is_numbers else np.empty(0)
    fits = len(numbers) > 0 if is_held_out else len(numbers) in (1, len(problems))
    if numbers.ndim != 1 or not fits or not (np.isfinite(numbers) & (numbers > 0)).all():
        kind = "'auto' or numbers above 0" if is_held_out else "a number above 0, or one for each target"
        raise ParameterError(
            f"'strengths' must be {kind}{'' if is_held_out else ' (there are no validation rows)'}. "
            f"Got {strengths!r} instead."
        )
    if is_held_out:
        return np.repeat(np.sort(numbers)[None, ::-1], len(problems), axis=0)
    return np.broadcast_to(numbers[:, None], (len(problems), 1)).copy()


def _choose(walks: list[_Walk], n_strengths: int, shared: bool) -> np.ndarray:
    """The place on its path that each target takes."""
    if not any(walk.likelihoods for walk in walks):
        return np.zeros(len(walks), np.int64)
    curves = np.array([_whole_curve(walk.likelihoods, n_strengths) for walk in walks])
    if shared:
        return np.full(len(walks), curves.mean(axis=0).argmax())
    chosen = (curves + POOLING * curves.mean(axis=0)).argmax(axis=1)
    return np.minimum(chosen, [len(walk.solutions) - 1 for walk in walks])


def _whole_curve(likelihoods: list[float], length: int) -> np.ndarray:
    """A curve to the end of the path: past the last strength that was tried it falls on as steeply."""
    fall = min(0.0, likelihoods[-1] - likelihoods[-2]) if len(likelihoods) > 1 else 0.0
    return np.concatenate([likelihoods, likelihoods[-1] + fall * np.arange(1, length - len(likelihoods) + 1)])


def _warn(walks: list[_Walk]) -> None:
    unsettled = sum(not walk.settled for walk in walks)
    if unsettled:
        warnings.warn(
            f"{unsettled} of {len(walks)} logistic regressions had not settled when their steps ran out; stronger "
            "penalties settle sooner.",
            ConvergenceWarning,
            stacklevel=3,
        )
