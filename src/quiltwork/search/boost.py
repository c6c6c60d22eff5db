"""Boosted trees for many targets: how many trees each should have, and what they start from.

A target's trees are grown one after another, each on what those before it have left unexplained and each adding only a
small part of what it found (`search/gradient_trees.py`). Three things keep them from learning by heart. A tree sees a
random share of the indicators. A leaf's value is drawn towards zero as if rows of slope `l2` had been added that say
nothing. And rows that were held out tell when to stop.

How much a tree should see and say depends on the table. Where everything hangs together weakly and noise is strong,
small trees that see few indicators and say little do best; where a few variables decide together, only large trees
that see all of them find out, and may say it at once. So some targets are learned in one size after another (`SIZES`)
until a larger one does not make their held-out rows clearly likelier, and then the others in the last that did. Where
there are many targets, those that are hard to guess and those that are easy choose apart.

A target's own held-out likelihood is a noisy judge: of hundreds of rounds the best is often the luckiest, and on rare
targets the luckiest is often far too early. So a target keeps all trees up to the last round that its held-out rows do
not reject clearly, that is, by more than `TOLERANCE`. It is done when the last rounds, as many as `patience` says,
have together gained next to nothing.

The trees may start from a linear predictor. It is taken at half its strength: at full strength it has fitted the
noise of the training rows as well, which no tree can undo.

Path     rows -> indicators -> trees of gradients, round by round -> BoostedCPD
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quiltwork.cpds.boosted import BoostedCPD
from quiltwork.cpds.logistic import LogisticCPD
from quiltwork.data.collapse import collapse
from quiltwork.data.dataset import Dataset
from quiltwork.errors import DataError, ParameterError, SchemaMismatchError
from quiltwork.rng import stream
from quiltwork.search.boost_state import (
    Limits,
    Scratch,
    Table,
    Target,
    Trees,
    indicator_states,
    refuse_huge_target,
    tabulate,
)
from quiltwork.search.climb import Progress, silent
from quiltwork.search.gradient_trees import grow_trees, log_likelihood
from quiltwork.search.judges import complete_rows

Run = Callable[[Callable[[int], None], int], None]
_Fit = tuple[BoostedCPD, float]

TOLERANCE = 0.7  # nats: held-out rows reject what makes them half as likely as the best does
START_SHARE = 0.5  # of the logits of a linear start
PROGRESS = 0.05  # nats: what rounds must gain for the held-out rows to go on
SIZES = ((8, 0.2, 0.05), (32, 0.2, 0.05), (128, 1.0, 0.2))  # max_leaves, share and rate
MOST_LEAVES = 256
FEWEST_DRAWN, MOST_DRAWN = 8, 128  # indicators
MOST_GROUPS, IN_A_GROUP = 4, 100  # targets that choose a size together
FEWEST_TRIED, ONE_IN = 4, 16  # of them that try it
COLLAPSE_PAYS = 4  # rows for each distinct one
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
    max_leaves: int | None = None,
    share: float | None = None,
    rate: float | None = None,
    l2: float = 10.0,
    max_rounds: int = 1000,
    patience: int = 30,
    allowed: np.ndarray | None = None,
    seed: int = 0,
    run: Run = serial,
    progress: Progress = silent,
) -> BoostedFits:
    """Boost trees for each target (all variables by default) on all other variables.

    start       a linear predictor for each target, or None to start from how often each state occurs
    max_leaves  of a tree
    share       of the indicators that a tree may ask about, less where that is very many; 1 for all of them
    rate        what part of a leaf's value is added
    l2          slope of the rows that draw a leaf's value to zero
    max_rounds  most trees
    patience    rounds without progress in held-out likelihood after which a target is done
    allowed     (n_vars, n_vars) bool [child, parent], who may be a parent; None for everybody

    Of max_leaves, share and rate, those that are None are chosen by held-out rows, for all targets alike. Rows count as
    their Dataset weighs them. Held-out rows with a missing value do not count, nor do those in which the target is in a
    state that no training row has.

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
    _check(train, valid, wanted, start, max_leaves, share, rate, l2)
    valid = complete_rows(valid)
    problem = _Problem.of(train, valid, start is not None, allowed)
    sizes = dict.fromkeys((max_leaves or k, share or s, rate or r) for k, s, r in SIZES)

    def learn(rules: _Rules, some: list[int], stage: str) -> dict[int, _Fit]:
        found: dict[int, _Fit] = {}

        def one(i: int) -> None:
            t = some[i]
            found[t] = _boost(problem, rules, wanted[t], None if start is None else start[t])
            progress(stage, len(found), len(some))

        run(one, len(some))
        return found

    fits: dict[int, _Fit] = {}
    for group in _alike(train, wanted):
        tried = group[:: min(ONE_IN, -(-len(group) // FEWEST_TRIED))] if len(sizes) > 1 else []
        best: dict[int, _Fit] = {}
        for size in sizes:
            larger = _Rules(*size, l2, max_rounds, patience, seed)
            trial = learn(larger, tried, "choosing the size of trees")
            gain = problem.held_data.total * sum(trial[t][1] - best[t][1] for t in best)
            if best and gain <= TOLERANCE * len(best):
                break
            best, rules = trial, larger
        fits |= best | learn(rules, [t for t in group if t not in best], "boosting trees")
    in_order = [fits[t] for t in range(len(wanted))]
    return BoostedFits(tuple(cpd for cpd, _ in in_order), np.array([likelihood for _, likelihood in in_order]))


def _alike(data: Dataset, targets: Sequence[int]) -> list[list[int]]:
    """Places of the targets in groups, by how hard they are to guess without any parent (by entropy)."""
    entropies = np.zeros(len(targets))
    for t, v in enumerate(targets):
        counts = np.bincount(data.column(v), data.weights)
        shares = counts[counts > 0] / counts.sum()
        entropies[t] = -shares @ np.log(shares)
    n_groups = min(MOST_GROUPS, 1 + len(targets) // IN_A_GROUP)
    groups = np.array_split(np.argsort(-entropies, kind="stable"), n_groups)
    return [group.tolist() for group in groups if len(group)]


def _check(
    train: Dataset,
    valid: Dataset,
    targets: Sequence[int],
    start: Sequence[LogisticCPD] | None,
    max_leaves: int | None,
    share: float | None,
    rate: float | None,
    l2: float,
) -> None:
    if not train.n_samples or train.missing is not None:
        why = "has missing values" if train.n_samples else "has no rows"
        raise DataError(f"Trees cannot be boosted on a table that {why}: drop incomplete rows, or make gaps a state.")
    if valid.variables != train.variables:
        raise SchemaMismatchError("The held-out rows must have the variables of the training rows, in their order.")
    if not all(0 <= v < train.n_vars for v in targets):
        raise ParameterError(f"'targets' must be columns from 0 to {train.n_vars - 1}. Got {list(targets)} instead.")
    if start is not None and [cpd.child for cpd in start] != list(targets):
        raise ParameterError(f"'start' must have one CPD for each target, in their order. Got {len(start)} others.")
    parts_fit = all(part is None or 0 < part <= 1 for part in (share, rate))
    if not parts_fit or not l2 > 0 or not (max_leaves is None or 2 <= max_leaves <= MOST_LEAVES):
        raise ParameterError(
            f"'rate' and 'share' must be above 0 and at most 1, 'l2' above 0, 'max_leaves' from 2 to {MOST_LEAVES}. "
            f"Got rate={rate}, share={share}, l2={l2}, max_leaves={max_leaves} instead."
        )


@dataclass(frozen=True, eq=False)
class _Rules:
    max_leaves: int
    share: float
    rate: float
    l2: float
    max_rounds: int
    patience: int
    seed: int


@dataclass(frozen=True, eq=False)
class _Problem:
    """What all targets share: rows, indicators, which ones vary; codes, if a start needs them."""

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


def _boost(problem: _Problem, rules: _Rules, v: int, start: LogisticCPD | None) -> _Fit:
    """The boosted trees of one target, and the mean log-likelihood of the held-out rows under them."""
    labels, held_labels = problem.data.column(v).astype(np.int64), problem.held_data.column(v).astype(np.int64)
    counts = np.bincount(labels, problem.data.weights, problem.data.n_states[v])
    seen = np.flatnonzero(counts)
    usual = int(counts.argmax())
    channels = seen[seen != usual]
    refuse_huge_target(len(channels), problem.table, problem.held_out)
    place = np.full(len(counts), -1)  # of a state in odds
    place[channels], place[usual] = np.arange(len(channels)), len(channels)
    start = _frequencies(v, counts) if start is None else _weakened(start)
    target = Target(
        odds=_odds(start, problem.codes, channels, usual, len(labels)),
        held_odds=_odds(start, problem.held_codes, channels, usual, len(held_labels)),
        labels=_filled((labels == channels[:, None]).astype(np.uint8)),
        held_labels=place[held_labels],
        candidates=problem.candidates(v),
        random=stream(rules.seed, v).integers(2**64, size=1, dtype=np.uint64),
    )
    trees, log_likelihood_ = _rounds(problem, rules, target)
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


def _rounds(problem: _Problem, rules: _Rules, target: Target) -> tuple[Trees, float]:
    """Grow trees until patience ends; those to keep, and the log-likelihood of the held-out rows under them."""
    table, held_out, n_candidates = problem.table, problem.held_out, len(target.candidates)
    curve = [log_likelihood(target.held_odds, target.held_labels, held_out.weights)]
    parts = [Trees.room_for(0, rules.max_leaves, len(target.odds))]
    if n_candidates and len(target.odds):
        limits = _limits(rules, n_candidates)
        scratch = Scratch.of(table, held_out, target, limits)
        at_a_time = int(np.clip(CELLS_AT_A_TIME // target.odds.size, 1, 8))
        while len(curve) <= rules.max_rounds and _goes_on(curve, rules.patience):
            wanted = min(at_a_time, rules.max_rounds + 1 - len(curve))
            trees = Trees.room_for(wanted, rules.max_leaves, len(target.odds))
            likelihoods = np.empty(wanted)
            n = grow_trees(table, held_out, target, limits, scratch, trees, likelihoods)
            parts.append(trees.cut(n))
            curve += likelihoods[:n].tolist()
            if n < wanted:
                break
    kept = _last_good(curve)
    return Trees.join(parts).cut(kept).merged(), curve[kept]


def _limits(rules: _Rules, n_candidates: int) -> Limits:
    most = n_candidates if rules.share == 1.0 else max(MOST_DRAWN, 2 * math.isqrt(n_candidates))
    n_drawn = min(n_candidates, max(FEWEST_DRAWN, min(most, round(rules.share * n_candidates))))
    return Limits(rules.rate, rules.l2, rules.max_leaves, n_drawn)


def _goes_on(curve: list[float], patience: int) -> bool:
    """Whether the last rounds have made the held-out rows likelier."""
    return len(curve) <= patience or max(curve[-patience:]) > max(curve[:-patience]) + PROGRESS


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
