"""Boosted trees for many targets: how many trees each should have, and what they start from.

A target's trees are grown one after another, each on what those before it have left unexplained and each adding only a
small part of what it found (`search/gradient_trees.py`). Three things keep them from learning by heart. A tree sees a
random share of the indicators. A leaf's value is drawn towards zero as if rows of slope `l2` had been added that say
nothing. And rows that were held out tell when to stop.

A target's own held-out likelihood is a noisy judge: of hundreds of rounds the best is often the luckiest, and on rare
targets the luckiest is often far too early. So a target keeps all trees up to the last round that its held-out rows do
not reject clearly, that is, by more than `TOLERANCE`.

The trees may start from a linear predictor. It is taken at half its strength: at full strength it has fitted the
noise of the training rows as well, which no tree can undo.

Path     rows -> indicators -> trees of gradients, round by round -> BoostedCPD
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quiltwork.cpds.boosted import BoostedCPD
from quiltwork.cpds.logistic import LogisticCPD
from quiltwork.data.collapse import collapse
from quiltwork.data.dataset import NO_CODE, Dataset
from quiltwork.errors import DataError, ParameterError, SchemaMismatchError
from quiltwork.rng import stream
from quiltwork.search.boost_state import Limits, Scratch, Table, Target, Trees, indicator_states, tabulate
from quiltwork.search.climb import Progress, silent
from quiltwork.search.gradient_trees import grow_trees, log_likelihood

Run = Callable[[Callable[[int], None], int], None]

TOLERANCE = 0.7  # nats: held-out rows reject a round if they are half as likely as at the best
START_SHARE = 0.5  # of the logits of a linear start
COLLAPSE_PAYS = 4  # rows for each distinct one
MAX_LEAVES = 256
FEWEST_DRAWN = 8  # indicators
CELLS_AT_A_TIME = 2**18  # rows x rounds x states of one call, so that Ctrl-C is heard


def serial(task: Callable[[int], None], n: int) -> None:
    """Do numbered tasks one after the other."""
    for i in range(n):
        task(i)


@dataclass(frozen=True, eq=False)
class BoostedFits:
    """Boosted trees of some targets.

    cpds             by target
    log_likelihoods  (n_targets,) of the held-out rows, as a mean over them
    """

    cpds: tuple[BoostedCPD, ...]
    log_likelihoods: np.ndarray


def fit_boosted(
    train: Dataset,
    valid: Dataset,
    targets: Sequence[int] | None = None,
    *,
    start: Sequence[LogisticCPD] | None = None,
    rate: float = 0.05,
    max_leaves: int = 16,
    l2: float = 10.0,
    share: float = 0.2,
    max_rounds: int = 1000,
    patience: int = 30,
    allowed: np.ndarray | None = None,
    seed: int = 0,
    run: Run = serial,
    progress: Progress = silent,
) -> BoostedFits:
    """Boost trees for each target (all variables by default) on all other variables.

    start       a linear predictor for each target, or None to start from how often each state occurs
    rate        what part of a leaf's value is added
    max_leaves  of a tree
    l2          slope of the rows that draw a leaf's value to zero
    share       of the indicators that a tree may ask about
    max_rounds  most trees
    patience    rounds without a gain in held-out likelihood after which a target is done
    allowed     (n_vars, n_vars) bool [child, parent], who may be a parent; None for everybody

    Rows count as their Dataset weighs them. Held-out rows with a missing value do not count, nor do those in which the
    target is in a state that no training row has.

    >>> import quiltwork as qw
    >>> rows = qw.Encoder.fit(table := qw.sample(qw.textbook("asia"), 3000, seed=0)).encode(table)
    >>> fits = fit_boosted(rows.rows(slice(0, 2000)), rows.rows(slice(2000, 3000)))
    >>> names = [v.name for v in rows.variables]
    >>> either = fits.cpds[names.index("either")]
    >>> evidence = np.zeros((1, 8), np.uint16)
    >>> evidence[0, names.index("tub")] = 1
    >>> np.exp(either.log_probs(evidence)).round(1)
    array([[1., 0.]])
    """
    wanted = range(train.n_vars) if targets is None else targets
    _check(train, valid, wanted, start, rate, max_leaves, l2, share)
    if valid.missing is not None:
        valid = valid.rows((valid.states() != NO_CODE).all(axis=1))
    problem = _Problem.of(train, valid, start is not None, allowed)
    settings = _Settings(rate, max_leaves, l2, share, max_rounds, patience, seed)
    found: list[tuple[BoostedCPD, float]] = [None] * len(wanted)  # type: ignore[list-item]
    done = [0]

    def one(t: int) -> None:
        found[t] = _boost(problem, settings, wanted[t], None if start is None else start[t])
        done[0] += 1
        progress("boosting trees", done[0], len(wanted))

    run(one, len(wanted))
    return BoostedFits(tuple(cpd for cpd, _ in found), np.array([likelihood for _, likelihood in found]))


def _check(
    train: Dataset,
    valid: Dataset,
    targets: Sequence[int],
    start: Sequence[LogisticCPD] | None,
    rate: float,
    max_leaves: int,
    l2: float,
    share: float,
) -> None:
    if not train.n_samples or train.missing is not None:
        why = "has missing values" if train.n_samples else "has no rows"
        raise DataError(f"Trees cannot be boosted on a table that {why}: drop incomplete rows, or make gaps a state.")
    if valid.variables != train.variables:
        raise SchemaMismatchError("The held-out rows must have the variables of the training rows, in their order.")
    if not valid.n_samples:
        raise DataError("Boosting needs held-out rows to tell when to stop. Got none: hold out a part of the rows.")
    if not all(0 <= v < train.n_vars for v in targets):
        raise ParameterError(f"'targets' must be columns from 0 to {train.n_vars - 1}. Got {list(targets)} instead.")
    if start is not None and [cpd.child for cpd in start] != list(targets):
        raise ParameterError(f"'start' must have one CPD for each target, in their order. Got {len(start)} others.")
    if not 0 < rate <= 1 or not l2 > 0 or not 0 < share <= 1 or not 2 <= max_leaves <= MAX_LEAVES:
        raise ParameterError(
            f"'rate' and 'share' must be above 0 and at most 1, 'l2' above 0, 'max_leaves' from 2 to {MAX_LEAVES}. Got "
            f"rate={rate}, share={share}, l2={l2}, max_leaves={max_leaves} instead."
        )


@dataclass(frozen=True, eq=False)
class _Settings:
    rate: float
    max_leaves: int
    l2: float
    share: float
    max_rounds: int
    patience: int
    seed: int


@dataclass(frozen=True, eq=False)
class _Problem:
    """What all targets share. Codes are kept for a start alone, which reads them."""

    data: Dataset
    held_data: Dataset
    table: Table
    held_out: Table
    variable: np.ndarray
    state: np.ndarray
    varies: np.ndarray
    allowed: np.ndarray | None
    codes: np.ndarray | None
    held_codes: np.ndarray | None

    @classmethod
    def of(cls, train: Dataset, valid: Dataset, has_start: bool, allowed: np.ndarray | None) -> _Problem:
        train, valid = _collapsed(train), _collapsed(valid)
        table, held_out = tabulate(train, True), tabulate(valid, False)
        ones = np.bitwise_count(table.planes).sum(axis=1)
        varies = (ones > 0) & (ones < table.n_rows)
        codes, held_codes = (train.states(), valid.states()) if has_start else (None, None)
        states = indicator_states(train.n_states)
        return cls(train, valid, table, held_out, *states, varies, allowed, codes, held_codes)

    def candidates(self, v: int) -> np.ndarray:
        """Indicators that trees for v may ask about."""
        fit = self.varies & (self.variable != v)
        return np.flatnonzero(fit if self.allowed is None else fit & self.allowed[v][self.variable])


def _collapsed(data: Dataset) -> Dataset:
    """Equal rows once each, where that saves most of them."""
    if data.weights is not None:
        return data
    distinct = collapse(data)
    return distinct if distinct.n_samples * COLLAPSE_PAYS <= data.n_samples else data


# One target


def _boost(problem: _Problem, settings: _Settings, v: int, start: LogisticCPD | None) -> tuple[BoostedCPD, float]:
    """The boosted trees of one target, and the mean log-likelihood of the held-out rows under them."""
    labels, held_labels = problem.data.column(v).astype(np.int64), problem.held_data.column(v).astype(np.int64)
    counts = np.bincount(labels, problem.data.weights, problem.data.n_states[v])
    seen = np.flatnonzero(counts)
    usual = int(counts.argmax())
    channels = seen[seen != usual]
    place = np.full(len(counts), -1)  # of a state in odds
    place[channels], place[usual] = np.arange(len(channels)), len(channels)
    start = _frequencies(v, counts) if start is None else _weakened(start)
    target = Target(
        odds=_odds(start, problem.codes, channels, usual, len(labels)),
        held_odds=_odds(start, problem.held_codes, channels, usual, len(held_labels)),
        labels=_filled((labels == channels[:, None]).astype(np.uint8)),
        held_labels=place[held_labels],
        candidates=problem.candidates(v),
        random=stream(settings.seed, v).integers(2**64, size=1, dtype=np.uint64),
    )
    trees, log_likelihood_ = _rounds(problem, settings, target)
    values = np.zeros((len(trees.values), len(counts)))
    values[:, channels] = trees.values
    asks = trees.indicator >= 0
    cpd = BoostedCPD(
        child=v,
        start=start,
        n_leaves=trees.n_leaves.astype(np.int64),
        variable=np.where(asks, problem.variable[trees.indicator], -1).astype(np.int64),
        state=np.where(asks, problem.state[trees.indicator], -1).astype(np.int64),
        first=trees.first.astype(np.int64),
        branches=trees.branches.astype(np.int64),
        flow=trees.flow.astype(np.float64),
        values=values,
    )
    return cpd, log_likelihood_ / problem.held_data.total


def _rounds(problem: _Problem, settings: _Settings, target: Target) -> tuple[Trees, float]:
    """Grow trees until patience ends; those to keep, and the log-likelihood of the held-out rows under them."""
    table, held_out, n_candidates = problem.table, problem.held_out, len(target.candidates)
    curve = [log_likelihood(target.held_odds, target.held_labels, held_out.weights)]
    parts = [Trees.room_for(0, settings.max_leaves, len(target.odds))]
    if n_candidates and len(target.odds):
        n_drawn = min(n_candidates, max(FEWEST_DRAWN, round(settings.share * n_candidates)))
        ones = np.bitwise_count(table.by_row).sum() / max(1, table.n_rows)
        row_cost = 3.0 + table.by_row.shape[1] + 4.0 * ones * n_drawn / n_candidates * len(target.odds)
        limits = Limits(settings.rate, settings.l2, settings.max_leaves, n_drawn, row_cost)
        scratch = Scratch.of(table, held_out, target, limits)
        at_a_time = int(np.clip(CELLS_AT_A_TIME // target.odds.size, 1, 8))
        while len(curve) <= settings.max_rounds and len(curve) - 1 - int(np.argmax(curve)) < settings.patience:
            wanted = min(at_a_time, settings.max_rounds + 1 - len(curve))
            trees = Trees.room_for(wanted, settings.max_leaves, len(target.odds))
            likelihoods = np.empty(wanted)
            n = grow_trees(table, held_out, target, limits, scratch, trees, likelihoods)
            parts.append(trees.cut(n))
            curve += likelihoods[:n].tolist()
            if n < wanted:
                break
    kept = _last_good(curve)
    return Trees.join(parts).cut(kept), curve[kept]


def _last_good(curve: list[float]) -> int:
    """The last round that the held-out rows do not clearly reject."""
    return int(np.flatnonzero(np.array(curve) >= max(curve) - TOLERANCE)[-1])


def _frequencies(v: int, counts: np.ndarray) -> LogisticCPD:
    """A start without parents: how often each state occurs, with half a row more for each."""
    share = np.log((counts + 0.5) / (counts.sum() + 0.5 * len(counts)))
    nothing = np.zeros((0, len(counts)))
    return LogisticCPD(v, (), share, np.zeros(1, np.int64), nothing, nothing)


def _weakened(start: LogisticCPD) -> LogisticCPD:
    """A part of what the parents add; the rest of it is in the intercept, as much as they add on average."""
    intercept = start.intercept + (1.0 - START_SHARE) * start.means.sum(axis=0)
    return replace(start, intercept=intercept, weights=START_SHARE * start.weights, means=START_SHARE * start.means)


def _odds(start: LogisticCPD, codes: np.ndarray | None, channels: np.ndarray, usual: int, n_rows: int) -> np.ndarray:
    """(states, rows filled up to words) odds of the states against the usual one under the start."""
    if codes is None:
        own = start.intercept[channels] - start.intercept[usual]
        log_odds = np.broadcast_to(own[:, None], (len(channels), n_rows))
    else:
        logs = start.log_probs(codes).T
        log_odds = logs[channels] - logs[usual]
    return _filled(np.exp(np.clip(log_odds, -25, 25)).astype(np.float32))


def _filled(by_row: np.ndarray) -> np.ndarray:
    """Rows along the last axis, filled up with zeros to whole words."""
    return np.pad(by_row, ((0, 0), (0, -by_row.shape[1] % 64)))
