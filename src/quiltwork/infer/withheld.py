"""What a parent tells: the log-likelihood of rows that is lost where its value is withheld from a CPD.

A CPD that misses a parent goes on as it can: a table and a tree sum the parent out, a regression takes its mean, and
boosted trees the mean at every split on it. So the parents in CPDs of all kinds are measured in one unit: what it would
cost to predict the same rows without them. Where parents contradict each other, as steep weights may, that can be more
than all of them together tell, and is cut down to that: to what it would cost to predict by the child's shares alone.

In regressions and boosted trees a parent has its own part of the logits, and to leave it out multiplies the odds of a
row: sum over rows of log [sum_s P(s) change(s) / change(label)]. One logarithm serves many rows that weigh the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.collapse import collapse
from quiltwork.data.dataset import NO_CODE, Dataset
from quiltwork.infer.dependency import cpd_log_probs, observed_log_probs
from quiltwork.search.deltas import Run, run_here
from quiltwork.stats.families import state_counts

ROWS_AT_A_TIME = 2**14
CHANGES_AT_A_TIME = 2**20  # of odds, while they are in the cache
LANES = 8  # rows that a processor multiplies at once
LARGEST = 1e30  # change of one row's probability: a product of four of them can be held


class Rows(NamedTuple):
    """Complete rows, as codes (rows, n_vars) and as columns, and their weights; those that weigh the same together."""

    codes: np.ndarray
    columns: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, data: Dataset) -> Iterator[Rows]:
        """All rows of a table, a part of them at a time; equal rows are one."""
        distinct = collapse(data)
        weights = np.asarray(distinct.weights, np.float64)
        order = np.argsort(-weights, kind="stable")
        for begin in range(0, len(order), ROWS_AT_A_TIME):
            some = order[begin : begin + ROWS_AT_A_TIME]
            codes = distinct.rows(some).states()
            yield cls(codes, np.ascontiguousarray(codes.T), weights[some])


def parent_strengths(cpds: Sequence[Any], data: Dataset, run: Run = run_here) -> list[np.ndarray]:
    """For each CPD what the rows would lose in log P(child) without each of its parents, at least 0.

    >>> from quiltwork.models.textbook import textbook
    >>> from quiltwork.infer.sample import sample
    >>> sprinkler = textbook("sprinkler")
    >>> strengths = parent_strengths(sprinkler.cpds, sample(sprinkler, 1000, seed=0))
    >>> strengths[3].round()
    array([274., 351.])
    """
    losses = [np.zeros(len(cpd.parents)) for cpd in cpds]
    told = np.zeros(len(cpds))  # log-likelihood beyond that of the shares
    for rows in Rows.of(data):

        def one(v: int, rows: Rows = rows) -> None:
            log_likelihood, lost = losses_without_parents(cpds[v], rows, data.n_states)
            losses[v] += lost
            told[v] += log_likelihood

        run(one, len(cpds))
    for v, counts in enumerate(np.split(state_counts(data), np.cumsum(data.n_states)[:-1])):
        told[v] -= counts[counts > 0] @ np.log(counts[counts > 0] / counts.sum())
    return [np.clip(lost, 0.0, max(0.0, most)) for lost, most in zip(losses, told.tolist(), strict=True)]


def losses_without_parents(cpd: Any, rows: Rows, n_states: np.ndarray) -> tuple[float, np.ndarray]:
    """Log-likelihood of the child in some rows, and (n_parents,) what is lost of it without each parent."""
    lost = np.zeros(len(cpd.parents))
    if cpd.kind in ("logistic", "boosted"):
        logs = cpd_log_probs(cpd, rows.codes, n_states)
        _add_losses_by_odds(cpd, rows, np.exp(logs), lost)
        return float(rows.weights @ logs[np.arange(len(logs)), rows.codes[:, cpd.child]]), lost
    known = float(rows.weights @ observed_log_probs(cpd, rows.codes, n_states))
    for k, p in enumerate(cpd.parents):
        withheld = rows.codes.copy()
        withheld[:, p] = NO_CODE
        lost[k] = known - rows.weights @ observed_log_probs(cpd, withheld, n_states)
    return known, lost


def _add_losses_by_odds(cpd: Any, rows: Rows, probs: np.ndarray, lost: np.ndarray) -> None:
    """The same where a CPD says what the odds are multiplied by."""
    n_odds, labels = probs.shape[1] - 1, rows.columns[cpd.child].astype(np.int64)
    at_a_time = max(64, CHANGES_AT_A_TIME // max(1, len(lost) * n_odds) // 64 * 64)
    for begin in range(0, len(probs) if len(lost) and n_odds else 0, at_a_time):
        some = slice(begin, begin + at_a_time)
        n = len(labels[some])
        changes = np.ones((len(lost), n_odds, n + -n % 64), np.float32)
        cpd.withhold(rows.columns[:, some], changes)
        _add_losses(changes, np.ascontiguousarray(probs[some].T), labels[some], rows.weights[some], lost)


# Kernels


@njit(cache=True, nogil=True)
def _add_losses(changes, probs, labels, weights, out):
    """Add to out (parents,) what rows lose in log P(label) as changes (parents, states - 1, rows) multiply the odds of
    probs (states, rows); equal weights lie together."""
    n = labels.size
    ratio = np.ones(n + -n % (4 * LANES))
    for k in range(out.size):
        _find_ratios(changes[k], probs, labels, ratio)
        product, weight = 1.0, weights[0]  # of rows that weigh the same, and have no logarithm yet
        for begin in range(0, n, 4 * LANES):
            end = min(n, begin + 4 * LANES)
            if weights[begin] != weight:
                out[k] += weight * np.log(product)
                product, weight = 1.0, weights[begin]
            if weights[end - 1] != weight:
                for i in range(begin, end):
                    out[k] += weights[i] * np.log(ratio[i])
                continue
            for i in range(begin, begin + LANES):
                product *= ratio[i] * ratio[i + LANES] * ratio[i + 2 * LANES] * ratio[i + 3 * LANES]
                if not 1e-100 < product < 1e100:
                    out[k] += weight * np.log(product)
                    product = 1.0
        out[k] += weight * np.log(product)


@njit(cache=True, nogil=True)
def _find_ratios(changes, probs, labels, ratio):
    """What the probability of each label is divided by, into ratio (rows,)."""
    first, one = probs[0], np.float32(1.0)
    if changes.shape[0] == 1:
        own, p = changes[0], probs[1]
        for i in range(labels.size):
            ratio[i] = _bounded((first[i] + p[i] * own[i]) / (own[i] if labels[i] == 1 else one))
        return
    for i in range(labels.size):
        total = first[i]
        for s in range(changes.shape[0]):
            total += probs[s + 1, i] * changes[s, i]
        ratio[i] = _bounded(total / (changes[labels[i] - 1, i] if labels[i] > 0 else one))


@njit(cache=True, nogil=True)
def _bounded(ratio):
    """A number that can be held; odds beyond that, which are none, lose as much as can be lost."""
    return max(ratio, 1.0 / LARGEST) if ratio < LARGEST else LARGEST
