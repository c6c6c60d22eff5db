"""The pseudo-likelihood of a log-linear model: its value and gradient, as often as an optimiser asks.

A feature is a conjunction of conditions "variable = state", and exp(sum of the weights of the features that hold)
is the probability of a row but for a constant. The constant is out of reach, but it cancels in

    P(v = s | rest) = exp(logit of s) / sum over the states t of v of exp(logit of t),
    logit of s      = sum of the weights of the features that hold once v is put into state s.

The pseudo-log-likelihood of a row is the sum over v of log P(x_v | rest). A condition v = s of a feature is *active*
in a row if the other conditions of the feature hold, so the logit of s is the sum of the weights of the features
whose conditions v = s are active, and the derivative by a weight is the sum over the feature's conditions v = s and
the rows in which they are active of the residual [x_v = s] - P(v = s | rest).

Which conditions are active does not depend on the weights, so the rows are swept once (`situations.py`), and from then
on one evaluation reads short lists: forth along them for the logits, back along them for the gradient. In between
every situation needs an exponential and a logarithm, written out here so that the processor does eight at a time.

Threads  a condition belongs to one variable, and a variable to one task, so every sum is made in one order
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from quiltwork.data.collapse import collapse, row_keys
from quiltwork.data.dataset import Dataset, physical_memory
from quiltwork.errors import ResourceLimitError
from quiltwork.stats.conjunctions import Conjunctions
from quiltwork.stats.situations import BLOCK, Conditions, Panels, find_situations

Run = Callable[[Callable[[int], None], int], None]

TASKS = 8  # of one evaluation, unless it is long: more would spend their time on being handed out
TASK_ENTRIES = 2**24  # a task of this many entries takes some tens of milliseconds


@dataclass(frozen=True, eq=False)
class PseudoLikelihood:
    """The pseudo-log-likelihood of some rows as a function of the weights of features.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> data = from_codes([Variable("a", (0, 1)), Variable("b", (0, 1))], [np.array([0, 1, 1]), np.array([0, 1, 0])])
    >>> run = lambda task, n: [task(i) for i in range(n)]
    >>> both = PseudoLikelihood.of(data, Conjunctions.of([[(0, 1), (1, 1)]]), run)  # a = 1 and b = 1
    >>> value, gradient = both(np.array([0.0]), run)
    >>> round(value / np.log(0.5)), gradient
    (6, array([0.5]))
    """

    n_states: np.ndarray
    conditions: Conditions
    panels: Panels
    cuts: np.ndarray  # the panels at which the tasks of an evaluation begin and end; never amid those of a variable

    @classmethod
    def of(cls, data: Dataset, features: Conjunctions, run: Run) -> PseudoLikelihood:
        """Sweep the rows of `data`, which must not have missing values."""
        conditions = Conditions.of(data.n_states, features.first_condition, features.columns, features.states)
        panels = _find_panels(rows_in_order(data), conditions, run)
        entries = np.diff(panels.first_entry[panels.first_node])
        work = np.cumsum(entries + np.diff(panels.first_node) + 4 * np.diff(panels.first_count))
        first_panel = np.searchsorted(panels.variable, np.arange(data.n_vars + 1))
        n_tasks = max(TASKS, int(work[-1]) // TASK_ENTRIES) if len(work) else 1
        near = np.searchsorted(work, np.linspace(0, work[-1], n_tasks + 1)[1:-1]) if len(work) else np.empty(0, int)
        cuts = first_panel[np.searchsorted(first_panel, near)]
        return cls(data.n_states, conditions, panels, np.array([0, *cuts, len(panels.variable)], np.int64))

    def __call__(self, weights: np.ndarray, run: Run) -> tuple[float, np.ndarray]:
        """The pseudo-log-likelihood at these weights, and its gradient."""
        values, by_condition = np.zeros(len(self.panels.variable)), np.zeros(len(self.conditions.variable))

        def one(k: int) -> None:
            own = self.cuts[k], self.cuts[k + 1]
            _evaluate(self.n_states, self.conditions, self.panels, weights, *own, values, by_condition)

        run(one, len(self.cuts) - 1)
        return float(values.sum()), np.bincount(self.conditions.feature, by_condition, len(weights))

    @property
    def nbytes(self) -> int:
        """What the swept rows take."""
        return sum(array.nbytes for array in self.panels)


def rows_in_order(data: Dataset) -> Dataset:
    """The distinct rows with weights, in an order that depends on their values alone."""
    rows = collapse(data)
    return rows.rows(np.lexsort(row_keys(rows)))


def _find_panels(data: Dataset, conditions: Conditions, run: Run) -> Panels:
    """The panels of every variable."""
    columns = data.planes, data.first_plane, data.codes, data.code_row
    n_blocks = max(1, -(-data.n_samples // BLOCK))
    found: list[tuple[np.ndarray, ...]] = [()] * (data.n_vars * n_blocks)
    held = [0]  # bytes, twice: in the end they are joined

    def one(v: int) -> None:
        column = data.column(v)
        for block in range(n_blocks):
            low, n_states = block * BLOCK, int(data.n_states[v])
            own = column[low : low + BLOCK]
            part = find_situations(*columns, conditions, v, n_states, own, data.weights, low)
            found[v * n_blocks + block] = part
            held[0] += 2 * sum(array.nbytes for array in part)
            if held[0] > physical_memory():
                raise ResourceLimitError(
                    f"The rows differ too much for so many features: some of the {data.n_vars:,} variables already "
                    f"take {held[0] / 2**30:.1f} GB, more than this machine has. Take fewer features, or a sample of "
                    "the rows."
                )

    run(one, data.n_vars)
    return Panels.join(np.repeat(np.arange(data.n_vars), n_blocks).tolist(), found)


# Kernels


@njit(cache=True, nogil=True)
def _evaluate(n_states, conditions, panels, weights, low, high, values, gradient):
    """values (n_panels,) and gradient (n_conditions,) of the panels from low to high."""
    for panel in range(low, high):
        r = n_states[panels.variable[panel]]
        counts = panels.counts[panels.first_count[panel] : panels.first_count[panel + 1]].reshape(-1, r)
        logits = np.empty((1 if r == 2 else r, counts.shape[0]))
        _add_logits(conditions, panels, weights, panel, logits)
        values[panel] = _binary_residuals(counts, logits[0]) if r == 2 else _residuals(counts, logits)
        _add_gradient(conditions, panels, panel, logits, gradient)


@njit(cache=True, nogil=True)
def _add_logits(conditions, panels, weights, panel, logits):
    """Forth along the lists: logits (logits of the variable, situations)."""
    everywhere = np.zeros(logits.shape[0])
    for c in panels.always[panels.first_always[panel] : panels.first_always[panel + 1]]:
        everywhere[conditions.logit[c]] += conditions.sign[c] * weights[conditions.feature[c]]
    for s in range(logits.shape[0]):
        logits[s] = everywhere[s]
    first, last = panels.first_node[panel], panels.first_node[panel + 1]
    value = np.empty(last - first)
    for k in range(first, last):
        c = panels.condition[k]
        weight = panels.sign[k] * weights[conditions.feature[c]]
        if panels.parent[k] >= 0:
            weight += value[panels.parent[k]]
        value[k - first] = weight
        line = logits[conditions.logit[c]]
        for i in panels.entry[panels.first_entry[k] : panels.first_entry[k + 1]]:
            line[i] += weight


@njit(cache=True, nogil=True)
def _add_gradient(conditions, panels, panel, residuals, gradient):
    """Back along the lists: what each condition of the panel adds, from residuals (logits, situations)."""
    first, last = panels.first_node[panel], panels.first_node[panel + 1]
    slope = np.empty(last - first)
    for k in range(first, last):
        line = residuals[conditions.logit[panels.condition[k]]]
        own = panels.entry[panels.first_entry[k] : panels.first_entry[k + 1]]
        a, b, c, d, fours = 0.0, 0.0, 0.0, 0.0, own.size // 4 * 4
        for j in range(0, fours, 4):  # four sums at once: none waits for another
            a += line[own[j]]
            b += line[own[j + 1]]
            c += line[own[j + 2]]
            d += line[own[j + 3]]
        for j in range(fours, own.size):
            a += line[own[j]]
        slope[k - first] = (a + b) + (c + d)
    for k in range(last - 1, first - 1, -1):  # a node comes before its children
        if panels.parent[k] >= 0:
            slope[panels.parent[k]] += slope[k - first]
        gradient[panels.condition[k]] += panels.sign[k] * slope[k - first]
    everywhere = np.empty(residuals.shape[0])
    for s in range(residuals.shape[0]):
        everywhere[s] = residuals[s].sum()
    for c in panels.always[panels.first_always[panel] : panels.first_always[panel + 1]]:
        gradient[c] += conditions.sign[c] * everywhere[conditions.logit[c]]


@njit(cache=True, nogil=True)
def _residuals(counts, logits):
    """Puts counts less expected counts into logits (states, situations); returns the log-likelihood of the counts."""
    value = 0.0
    for i in range(counts.shape[0]):
        top, rows, total = -np.inf, 0.0, 0.0
        for s in range(counts.shape[1]):
            top = max(top, logits[s, i])
            rows += counts[i, s]
        for s in range(counts.shape[1]):
            total += math.exp(logits[s, i] - top)
        log_total = math.log(total)
        for s in range(counts.shape[1]):
            log_share = logits[s, i] - top - log_total
            value += counts[i, s] * log_share
            logits[s, i] = counts[i, s] - rows * math.exp(log_share)
    return value


AT_ONCE = 512  # situations: their numbers stay in the first cache
MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it leaves a whole number in the low bits
MAGIC_BITS = 0x4338000000000000


@njit(cache=True, nogil=True, error_model="numpy")  # a division that could raise would be done one at a time
def _binary_residuals(counts, logits):
    """Puts the count of the second state less its expected count into logits (situations,); returns as `_residuals`.

    With z = exp(-|logit|) the probabilities are 1 / (1 + z) and z / (1 + z), and log(1 + z) = 2 atanh(z / (2 + z)).
    """
    shifted, z, loss = np.empty(AT_ONCE), np.empty(AT_ONCE), np.empty(AT_ONCE)
    bits = shifted.view(np.int64)
    value = 0.0
    for start in range(0, logits.size, AT_ONCE):
        line, count = logits[start : start + AT_ONCE], counts[start : start + AT_ONCE]
        n = line.size
        for i in range(n):
            shifted[i] = min(abs(line[i]), 700.0) * 1.4426950408889634 + MAGIC
        for i in range(n):  # exp(r), where -|logit| = r - k log 2
            k = shifted[i] - MAGIC
            r = k * 0.6931471803691238 - min(abs(line[i]), 700.0) + k * 1.9082149292705877e-10
            q = r * r
            even = 1 / 720 + q * (1 / 40320 + q * (1 / 3628800 + q * (1 / 479001600)))
            odd = 1 / 5040 + q * (1 / 362880 + q * (1 / 39916800))
            even = 1.0 + q * (0.5 + q * (1 / 24 + q * even))
            odd = 1.0 + q * (1 / 6 + q * (1 / 120 + q * odd))
            z[i] = even + r * odd
        for i in range(n):
            bits[i] = (1023 - (bits[i] - MAGIC_BITS)) << 52
        for i in range(n):
            z[i] *= shifted[i]  # times 2^-k
            t = z[i] / (2.0 + z[i])
            q = t * t
            p = q * q
            even = 1 / 17 + p * (1 / 21 + p * (1 / 25 + p * (1 / 29)))
            odd = 1 / 19 + p * (1 / 23 + p * (1 / 27 + p * (1 / 31)))
            even = 1.0 + p * (1 / 5 + p * (1 / 9 + p * (1 / 13 + p * even)))
            odd = 1 / 3 + p * (1 / 7 + p * (1 / 11 + p * (1 / 15 + p * odd)))
            loss[i] = 2.0 * t * (even + q * odd)  # log(1 + z)
        for i in range(n):
            x, n0, n1 = line[i], count[i, 0], count[i, 1]
            loss[i] = (n0 + n1) * loss[i] + n0 * max(x, 0.0) - n1 * min(x, 0.0)
            share = 1.0 / (1.0 + z[i])
            line[i] = n1 - (n0 + n1) * (share if x >= 0.0 else z[i] * share)
        value -= loss[:n].sum()
    return value
