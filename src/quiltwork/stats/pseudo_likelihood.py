"""The pseudo-likelihood of a log-linear model: its value and gradient, as often as an optimiser asks.

A feature is a conjunction of conditions "variable = state", and exp(sum of the weights of the features that hold)
is the probability of a row but for a constant. The constant is out of reach, but it cancels in

    P(v = s | rest) = exp(logit of s) / sum over the states t of v of exp(logit of t),
    logit of s      = sum of the weights of the features that hold once v is put into state s.

The pseudo-log-likelihood of a row is the sum over v of log P(x_v | rest). A condition v = s of a feature is *active*
in a row if the other conditions of the feature hold, so the logit of s is the sum of the weights of the features
whose conditions v = s are active, and the derivative by a weight is the sum over the feature's conditions v = s and
the rows in which they are active of the residual [x_v = s] - P(v = s | rest).

Which conditions are active does not depend on the weights. So the rows are swept once: for each variable they fall
into few *situations*, sets of rows in which the same of its conditions are active, and from then on a situation
costs what a row would. It is told by its *changes*: the conditions that are active though they are usually not, or the
other way round. For sparse items these are the few that were chosen among the neighbours of v.

Threads  a condition belongs to one variable, and a variable to one task, so every sum is made in one order
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.data.bits import count_ones, full_plane, lowest_bit
from quiltwork.data.dataset import Dataset, physical_memory
from quiltwork.errors import ResourceLimitError

Run = Callable[[Callable[[int], None], int], None]

TASKS = 8  # of one evaluation; more would spend their time on being handed out


class Conditions(NamedTuple):
    """The features, as kernels see them. (Fields keep their order: kernels cached on disk know them by place.)

    first     (n_features + 1,) feature f has the conditions first[f]:first[f + 1], no variable twice
    variable  (n_conditions,) and state, feature: what each condition says, and whose it is
    first_of  (n_vars + 1,) and among: the conditions on v are among[first_of[v]:first_of[v + 1]]
    """

    first: np.ndarray
    variable: np.ndarray
    state: np.ndarray
    feature: np.ndarray
    first_of: np.ndarray
    among: np.ndarray


class Situations(NamedTuple):
    """The situations of all variables, one after another.

    first         (n_vars + 1,) those of v are first[v]:first[v + 1]
    first_change  (n_situations + 1,) and change: the conditions that are not as usual
    first_count   (n_vars + 1,) and counts: by variable a table (situations, states) of summed row weights
    usual         (n_conditions,) whether a condition is active in most rows
    """

    first: np.ndarray
    first_change: np.ndarray
    change: np.ndarray
    first_count: np.ndarray
    counts: np.ndarray
    usual: np.ndarray


@dataclass(frozen=True, eq=False)
class PseudoLikelihood:
    """The pseudo-log-likelihood of some rows as a function of the weights of features.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> data = from_codes([Variable("a", (0, 1)), Variable("b", (0, 1))], [np.array([0, 1, 1]), np.array([0, 1, 0])])
    >>> run = lambda task, n: [task(i) for i in range(n)]
    >>> both = PseudoLikelihood.of(data, np.array([0, 2]), np.array([0, 1]), np.array([1, 1]), run)  # a = 1 and b = 1
    >>> value, gradient = both(np.array([0.0]), run)
    >>> round(value / np.log(0.5)), gradient
    (6, array([0.5]))
    """

    n_states: np.ndarray
    conditions: Conditions
    situations: Situations
    cuts: np.ndarray  # the variables at which the tasks of an evaluation begin and end

    @classmethod
    def of(
        cls, data: Dataset, first_condition: np.ndarray, variables: np.ndarray, states: np.ndarray, run: Run
    ) -> PseudoLikelihood:
        """Sweep the rows of `data`, which must not have missing values.

        Feature f says variables[c] = states[c] for every c in first_condition[f]:first_condition[f + 1].
        """
        feature = np.repeat(np.arange(len(first_condition) - 1), np.diff(first_condition))
        among = np.argsort(variables, kind="stable")
        first_of = np.searchsorted(variables[among], np.arange(data.n_vars + 1))
        conditions = Conditions(first_condition, variables, states, feature, first_of, among)
        situations = _find_situations(data, conditions, run)
        work = np.cumsum(np.diff(situations.first_change[situations.first]) + np.diff(situations.first_count))
        cuts = np.searchsorted(work, np.linspace(0, work[-1], TASKS + 1)[1:-1]) if data.n_vars else np.empty(0, int)
        return cls(data.n_states, conditions, situations, np.array([0, *cuts, data.n_vars], np.int64))

    def __call__(self, weights: np.ndarray, run: Run) -> tuple[float, np.ndarray]:
        """The pseudo-log-likelihood at these weights, and its gradient."""
        values, by_condition = np.zeros(len(self.n_states)), np.zeros(len(self.conditions.variable))

        def one(k: int) -> None:
            own = self.cuts[k], self.cuts[k + 1]
            _evaluate(self.n_states, self.conditions, self.situations, weights, *own, values, by_condition)

        run(one, len(self.cuts) - 1)
        return float(values.sum()), np.bincount(self.conditions.feature, by_condition, len(weights))


def _find_situations(data: Dataset, conditions: Conditions, run: Run) -> Situations:
    """The situations of every variable."""
    columns = data.planes, data.first_plane, data.codes, data.code_row
    row_weights = np.ones(data.n_samples) if data.weights is None else data.weights
    found: list[tuple[np.ndarray, ...]] = [()] * data.n_vars
    usual = np.zeros(len(conditions.variable), np.bool_)
    held = [0]  # bytes, twice: in the end they are joined

    def one(v: int) -> None:
        found[v] = _split(*columns, conditions, v, data.column(v), int(data.n_states[v]), row_weights, usual)
        held[0] += 2 * sum(part.nbytes for part in found[v])
        if held[0] > physical_memory():
            raise ResourceLimitError(
                f"The rows differ too much for so many features: some of the {data.n_vars:,} variables already take "
                f"{held[0] / 2**30:.1f} GB, more than this machine has. Take fewer features, or a sample of the rows."
            )

    run(one, data.n_vars)
    n_changes, change, counts = ([part[k] for part in found] for k in range(3))
    return Situations(
        first=_starts([len(part) for part in n_changes]),
        first_change=_starts(np.concatenate([np.empty(0, np.int64), *n_changes])),
        change=np.concatenate([np.empty(0, np.int32), *change]),
        first_count=_starts([part.size for part in counts]),
        counts=np.concatenate([np.empty(0), *(part.ravel() for part in counts)]),
        usual=usual,
    )


def _starts(lengths: list[int] | np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


# Kernels: one sweep over the rows, variable by variable


@njit(cache=True, nogil=True)
def _split(planes, first_plane, codes, code_row, conditions, v, column, n_states, row_weights, usual):
    """The situations of v: n_changes (situations,), change, count (situations, n_states); usual of its conditions.

    The rows start in one set, and each condition splits off from every set the rows in which it is not as usual. A
    set is a node of a tree: its changes are the conditions on its path to the root. Nodes are numbered by the sets
    they come from, never by rows, so the order of the rows does not matter.
    """
    all_rows = full_plane(column.size)
    of_row = np.zeros(column.size, np.int64)
    above, by = [np.int64(-1)], [np.int64(-1)]  # of each node: the one it was split off from, and by which condition
    for k in range(conditions.first_of[v], conditions.first_of[v + 1]):
        c = conditions.among[k]
        active = _active(planes, first_plane, codes, code_row, conditions, c, all_rows)
        usual[c] = 2 * count_ones(active) > column.size
        rows = _ones(active ^ all_rows if usual[c] else active)
        old = np.unique(of_row[rows])
        new = len(above)
        for node in old:
            above.append(node)
            by.append(c)
        for i in rows:
            of_row[i] = new + np.searchsorted(old, of_row[i])
    return _collect(of_row, column, n_states, row_weights, above, by)


@njit(cache=True, nogil=True)
def _ones(plane):
    """The rows that are one in a plane."""
    out, n = np.empty(count_ones(plane), np.int64), 0
    for w in range(plane.size):
        word = plane[w]
        while word != 0:
            out[n] = (w << 6) + np.int64(lowest_bit(word))
            n += 1
            word &= word - np.uint64(1)
    return out


@njit(cache=True, nogil=True)
def _collect(of_row, column, n_states, row_weights, above, by):
    """What `_split` returns, from the node of each row: nodes without rows are left out."""
    number = np.full(len(above), -1, np.int64)
    for i in range(of_row.size):
        number[of_row[i]] = 0
    n = 0
    for node in range(number.size):
        if number[node] == 0:
            number[node] = n
            n += 1
    count, n_changes = np.zeros((n, n_states)), np.zeros(n, np.int64)
    for i in range(of_row.size):
        count[number[of_row[i]], column[i]] += row_weights[i]
    for node in range(number.size):
        if number[node] >= 0:
            up = node
            while above[up] >= 0:
                n_changes[number[node]] += 1
                up = above[up]
    change = np.empty(n_changes.sum(), np.int32)
    at = 0
    for node in range(number.size):
        if number[node] >= 0:
            up = node
            while above[up] >= 0:
                change[at] = by[up]
                at += 1
                up = above[up]
    return n_changes, change, count


@njit(cache=True, nogil=True)
def _active(planes, first_plane, codes, code_row, conditions, c, all_rows):
    """The rows in which condition c is active: all other conditions of its feature hold."""
    out = all_rows.copy()
    f = conditions.feature[c]
    for other in range(conditions.first[f], conditions.first[f + 1]):
        if other == c:
            continue
        u, s = conditions.variable[other], conditions.state[other]
        if code_row[u] >= 0:
            column = codes[code_row[u]]
            for i in range(column.size):
                if column[i] != s:
                    out[i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))
        elif s > 0:
            out &= planes[first_plane[u] + s - 1]
        else:
            for p in range(first_plane[u], first_plane[u + 1]):
                out &= ~planes[p]
    return out


# Kernels: value and gradient, situation by situation


@njit(cache=True, nogil=True)
def _evaluate(n_states, conditions, situations, weights, low, high, values, gradient):
    """values (n_vars,) and gradient (n_conditions,) of the variables from low to high."""
    for v in range(low, high):
        r = n_states[v]
        usual_logits, logits, residuals, sums = np.zeros(r), np.empty(r), np.empty(r), np.zeros(r)
        own = conditions.among[conditions.first_of[v] : conditions.first_of[v + 1]]
        for c in own:
            if situations.usual[c]:
                usual_logits[conditions.state[c]] += weights[conditions.feature[c]]
        at = situations.first_count[v]
        for g in range(situations.first[v], situations.first[v + 1]):
            logits[:] = usual_logits
            changes = situations.change[situations.first_change[g] : situations.first_change[g + 1]]
            for c in changes:
                weight = weights[conditions.feature[c]]
                logits[conditions.state[c]] += -weight if situations.usual[c] else weight
            values[v] += _residuals(logits, situations.counts[at : at + r], residuals)
            at += r
            for s in range(r):
                sums[s] += residuals[s]
            for c in changes:
                residual = residuals[conditions.state[c]]
                gradient[c] += -residual if situations.usual[c] else residual
        for c in own:
            if situations.usual[c]:
                gradient[c] += sums[conditions.state[c]]


@njit(cache=True, nogil=True)
def _residuals(logits, count, out):
    """Counts less expected counts of the states, into out (states,); returns the log-likelihood of the counts."""
    top, rows = logits[0], 0.0
    for s in range(logits.size):
        top = max(top, logits[s])
        rows += count[s]
    total = 0.0
    for s in range(logits.size):
        out[s] = 1.0 if logits[s] == top else math.exp(logits[s] - top)
        total += out[s]
    log_total, value = math.log(total), 0.0
    for s in range(logits.size):
        value += count[s] * (logits[s] - top - log_total)
        out[s] = count[s] - rows * out[s] / total
    return value
