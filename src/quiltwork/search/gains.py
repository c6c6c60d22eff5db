"""What one more feature would gain in pseudo-likelihood while all other weights stay as they are.

Both greedy learners of features, from single conditions up (`top_down`) and from whole rows down (`bottom_up`), ask
this of very many candidates. A feature with weight w changes P(v = s | rest) = p of its condition v = s, in the rows
where its other conditions hold, to p e^w / (1 - p + p e^w), so that the gain is

    sum over conditions and such rows of  [x_v = s] w - log(1 - p + p e^w),  less the prior's w^2 / (2 width^2)

which is concave in w, and Newton's method finds the best w in a few steps. In a row that matters the feature holds
(then it matters to all of its variables), or just one of its conditions does not (then it matters to that one).

Most candidates are not worth their cost, and slope g and curvature h of the gain at w = 0 tell of most of them. The
third derivative of log(1 - p + p e^w) is at most its second, so the curvature at w is at least h e^-|w|, and the gain
at most |g| |w| - h (e^-|w| + |w| - 1): with r = |g| / h < 1 never more than h (r + (1 - r) log(1 - r)), about g^2 / 2h.
(Bach 2010, Self-concordant analysis for logistic regression.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numba import njit

from quiltwork.data.bits import full_plane, list_ones, lowest_bit, take_rows
from quiltwork.data.dataset import Dataset, physical_memory
from quiltwork.errors import ResourceLimitError
from quiltwork.stats.conjunctions import Condition, Conjunctions

Feature = tuple[Condition, ...]
Refit = Callable[[Conjunctions, np.ndarray], np.ndarray]  # features, weights so far -> their best weights

GROWTH = 1.1  # of the number of features, from one learning of all weights to the next
STEEPEST = 8.0  # a weight beyond this says "never" or "always" about as well

_TOGETHER = 8  # words of 64 rows: a line of the cache


class Conditionals:
    """P(v = s | rest) in every row under the features so far; rows (distinct, weighted) must have no missing values.

    >>> from quiltwork.data.dataset import Variable, from_codes
    >>> a = np.repeat([0, 0, 1, 1], 25)
    >>> data = from_codes([Variable("a", (0, 1)), Variable("b", (0, 1))], [a, a], np.ones(100))
    >>> now = Conditionals(data, prior_width=1.0)
    >>> both = now.places([(0, 1), (1, 1)])
    >>> weight, gain = now.gain(both)
    >>> now.add(both, weight)
    >>> gain > 10, now.gain(both)[1] < gain / 10
    (True, True)
    """

    def __init__(self, rows: Dataset, prior_width: float):
        assert rows.weights is not None
        self.rows = rows
        self.first_state = np.concatenate([[0], np.cumsum(rows.n_states)]).astype(np.int64)
        self.precision = prior_width**-2.0
        self.variable = np.repeat(np.arange(rows.n_vars), rows.n_states)  # of each condition
        n_all = int(self.first_state[-1])
        needed = n_all * rows.n_samples * 8.2
        if needed > 0.5 * physical_memory():
            raise ResourceLimitError(
                f"The conditionals of {rows.n_samples:,} distinct rows and {n_all:,} states take {needed / 2**30:.1f} "
                "GB, too much for this machine: take a sample of the rows, or structure='dtsl'."
            )
        self.holds = np.zeros((n_all, rows.planes.shape[1]), np.uint64)  # the rows in which v is in state s
        for v in range(rows.n_vars):
            _spread(rows.column(v), self.holds[self.first_state[v] : self.first_state[v + 1]])
        self.probs = np.empty((n_all, rows.n_samples))
        self.start(Conjunctions.of([]), np.empty(0))

    def start(self, features: Conjunctions, weights: np.ndarray) -> None:
        """Forget what was added; these are the features."""
        self.probs[:] = 0.0
        where = self.first_state[features.columns] + features.states
        for f in range(len(features)):
            own = where[features.first_condition[f] : features.first_condition[f + 1]]
            _add_logits(self.holds, own, weights[f], self.rows.n_samples, self.probs)
        for v in range(self.rows.n_vars):
            own = self.probs[self.first_state[v] : self.first_state[v + 1]]
            own -= own.max(axis=0)
            np.exp(own, out=own)
            own /= own.sum(axis=0)

    def places(self, feature: Sequence[Condition]) -> np.ndarray:
        """The conditions of a feature by number, as all below takes them: the states of all variables in one row."""
        pairs = np.array(feature, np.int64).reshape(-1, 2)
        return self.first_state[pairs[:, 0]] + pairs[:, 1]

    def conditions(self, places: np.ndarray) -> Feature:
        """The conditions with these numbers."""
        variables = self.variable[places]
        return tuple(zip(variables.tolist(), (places - self.first_state[variables]).tolist()))

    def gain(self, places: np.ndarray, cost: float = 0.0) -> tuple[float, float]:
        """The best weight of a feature, and what it would gain; both 0 where it surely gains no more than its cost."""
        known = self.holds, self.probs, self.rows.weights, places
        return _best_weight(*known, self.rows.n_samples, self.precision, cost)

    def gains_together(
        self, places: np.ndarray, others: np.ndarray, first: np.ndarray, cost: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same of a feature's conjunctions with each of the others, which lie one behind the other from `first` on.

        The conditions of each are in order. What contradicts itself, or is one of the two again, gains nothing.
        """
        known = self.holds, self.probs, self.rows.weights, places
        return _best_weights(*known, others, first, self.variable, self.rows.n_samples, self.precision, cost)

    def add(self, places: np.ndarray, weight: float) -> None:
        """Give the network one more feature; with less than nothing for its weight, one is taken back."""
        _reweigh(self.holds, places, weight, self.rows.n_samples, self.first_state, self.probs)

    def nearest(self, places: np.ndarray, k: int, most: int) -> np.ndarray:
        """The k rows in which fewest conditions fail, one at least and `most` at most; of equals the first."""
        return _nearest(self.holds, places, self.rows.n_samples, k, most)


# Kernels


@njit(cache=True, nogil=True)
def _spread(column, planes):
    for i in range(column.size):
        planes[column[i], i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@njit(cache=True, nogil=True)
def _best_weight(holds, probs, row_weights, where, n_rows, precision, cost):
    """The weight at which the feature gains most, and what; without looking for it if that is surely at most `cost`."""
    all_hold, all_but_one = _nearly(holds, where, n_rows)
    return _best_of_rows(holds, probs, row_weights, where, all_hold, all_but_one, precision, cost)


@njit(cache=True, nogil=True)
def _best_weights(holds, probs, row_weights, feature, others, first, variable, n_rows, precision, cost):
    """The same of the conjunctions of a feature with each of the others."""
    weights, gains = np.zeros(first.size - 1), np.zeros(first.size - 1)
    own_hold, own_but_one = _nearly(holds, feature, n_rows)
    matter = np.empty(n_rows, np.int64)  # no other row matters to any conjunction
    matter = matter[: list_ones(own_hold | own_but_one, matter)]
    holds, probs, row_weights = take_rows(holds, matter), probs[:, matter], row_weights[matter]
    own_hold, own_but_one = _nearly(holds, feature, matter.size)
    all_hold, all_but_one = np.empty_like(own_hold), np.empty_like(own_hold)
    both, new = np.empty(variable.size, np.int64), np.empty(variable.size, np.int64)
    for k in range(first.size - 1):
        other = others[first[k] : first[k + 1]]
        n_both, n_new = _union(feature, other, variable, both, new)
        if n_new > 0 and n_both > other.size:
            all_hold[:], all_but_one[:] = own_hold, own_but_one
            _narrow(holds, new[:n_new], all_hold, all_but_one)
            where = both[:n_both]
            weights[k], gains[k] = _best_of_rows(
                holds, probs, row_weights, where, all_hold, all_but_one, precision, cost
            )
    return weights, gains


@njit(cache=True, nogil=True)
def _union(feature, other, variable, both, new):
    """Conditions of both features, and those of the other alone: how many there are; 0, 0 if they contradict."""
    i, n_both, n_new = 0, 0, 0
    for place in other:
        while i < feature.size and feature[i] < place:
            both[n_both] = feature[i]
            i, n_both = i + 1, n_both + 1
        if i < feature.size and feature[i] == place:
            i += 1
        else:
            if n_both > 0 and variable[both[n_both - 1]] == variable[place]:
                return 0, 0
            if i < feature.size and variable[feature[i]] == variable[place]:
                return 0, 0
            new[n_new] = place
            n_new += 1
        both[n_both] = place
        n_both += 1
    both[n_both : n_both + feature.size - i] = feature[i:]
    return n_both + feature.size - i, n_new


@njit(cache=True, nogil=True)
def _best_of_rows(holds, probs, row_weights, where, all_hold, all_but_one, precision, cost):
    """The same of a feature of which is known in which rows all conditions hold, and in which all but one do."""
    slope, curve = _steepness(holds, probs, row_weights, where, all_hold, all_but_one)
    if _most_gain(slope, curve + precision) <= cost:
        return 0.0, 0.0
    row, place, n_holding = _pairs(holds, where, all_hold, all_but_one)
    p, m, held = np.empty(row.size), np.empty(row.size), 0.0
    for k in range(row.size):
        p[k], m[k] = probs[place[k], row[k]], row_weights[row[k]]
        if k < n_holding:
            held += m[k]
    weight = 0.0
    for _ in range(30):
        slope, curve = held - precision * weight, precision
        e = math.exp(weight)
        for k in range(p.size):
            q = p[k] * e / (1.0 - p[k] + p[k] * e)
            slope -= m[k] * q
            curve += m[k] * q * (1.0 - q)
        step = min(max(slope / curve, -2.0), 2.0)
        weight = min(max(weight + step, -STEEPEST), STEEPEST)
        if abs(step) < 1e-6 or abs(weight) == STEEPEST:
            break
    gain, e = held * weight - 0.5 * precision * weight**2, math.exp(weight) - 1.0
    for k in range(p.size):
        gain -= m[k] * math.log1p(p[k] * e)
    return weight, gain


@njit(cache=True, nogil=True)
def _most_gain(slope, curve):
    """More than no weight can gain, told from slope and curvature where the weight is 0."""
    ratio = abs(slope) / curve
    return np.inf if ratio >= 1.0 else curve * (ratio + (1.0 - ratio) * math.log1p(-ratio))


@njit(cache=True, nogil=True)
def _steepness(holds, probs, row_weights, where, all_hold, all_but_one):
    """Slope and curvature of the gain where the weight is 0, but for what the prior adds to the curvature."""
    held, expected, curve = 0.0, 0.0, 0.0
    for w in range(all_hold.size):
        if all_hold[w] | all_but_one[w] == 0:
            continue
        word = all_hold[w]
        while word != 0:
            held += row_weights[(w << 6) + np.int64(lowest_bit(word))]
            word &= word - np.uint64(1)
        for place in where:
            word = all_hold[w] | (all_but_one[w] & ~holds[place, w])
            while word != 0:
                i = (w << 6) + np.int64(lowest_bit(word))
                word &= word - np.uint64(1)
                share = row_weights[i] * probs[place, i]
                expected += share
                curve += share * (1.0 - probs[place, i])
    return held * where.size - expected, curve


@njit(cache=True, nogil=True)
def _nearly(holds, where, n_rows):
    """Planes of the rows in which all conditions hold, and of those in which all but one do."""
    all_hold, all_but_one = full_plane(n_rows), np.zeros(holds.shape[1], np.uint64)
    _narrow(holds, where, all_hold, all_but_one)
    return all_hold, all_but_one


@njit(cache=True, nogil=True)
def _narrow(holds, where, all_hold, all_but_one):
    """Bring more conditions into both planes."""
    for low in range(0, all_hold.size, _TOGETHER):
        high = min(low + _TOGETHER, all_hold.size)
        for place in where:
            left = np.uint64(0)
            for w in range(low, high):
                word = holds[place, w]
                all_but_one[w] = (all_but_one[w] & word) | (all_hold[w] & ~word)
                all_hold[w] &= word
                left |= all_hold[w] | all_but_one[w]
            if left == 0:  # two conditions fail in every row
                break


@njit(cache=True, nogil=True)
def _pairs(holds, where, all_hold, all_but_one):
    """Rows and conditions that the feature matters to: row, place (an entry of where), and how many pairs hold."""
    row, place, n = np.empty(64, np.int64), np.empty(64, np.int64), 0
    n_holding = 0
    for turn in range(2):
        plane = all_hold if turn == 0 else all_but_one
        for w in range(plane.size):
            word = plane[w]
            while word != 0:
                bit = word & (~word + np.uint64(1))
                i = (w << 6) + np.int64(lowest_bit(word))
                word ^= bit
                while row.size < n + where.size:
                    row, place = np.concatenate((row, row)), np.concatenate((place, place))
                for p in where:
                    if turn == 0 or holds[p, w] & bit == 0:
                        row[n], place[n] = i, p
                        n += 1
                        if turn == 1:  # no other fails
                            break
        if turn == 0:
            n_holding = n
    return row[:n], place[:n], n_holding


@njit(cache=True, nogil=True)
def _add_logits(holds, where, weight, n_rows, logits):
    row, place, _ = _pairs(holds, where, *_nearly(holds, where, n_rows))
    for k in range(row.size):
        logits[place[k], row[k]] += weight


@njit(cache=True, nogil=True)
def _reweigh(holds, where, weight, n_rows, first_state, probs):
    """Change the conditionals as one more feature with this weight does."""
    row, place, _ = _pairs(holds, where, *_nearly(holds, where, n_rows))
    e = math.exp(weight) - 1.0
    for k in range(row.size):
        v = np.searchsorted(first_state, place[k], side="right") - 1
        scale = 1.0 / (1.0 + probs[place[k], row[k]] * e)
        for s in range(first_state[v], first_state[v + 1]):
            probs[s, row[k]] *= scale * (1.0 + e) if s == place[k] else scale


@njit(cache=True, nogil=True)
def _nearest(holds, where, n_rows, k, most):
    """The k rows with 1 to `most` failures, fewest first, by counting sort."""
    failures = _count_failures(holds, where, n_rows)
    place = np.zeros(max(most, 1) + 2, np.int64)  # of the next row with so many failures
    for n in failures:
        if 0 < n <= most:
            place[n + 1] += 1
    place = np.cumsum(place)
    out = np.empty(min(k, place[-1]), np.int64)
    for i in range(n_rows):
        n = failures[i]
        if 0 < n <= most:
            if place[n] < out.size:
                out[place[n]] = i
            place[n] += 1
    return out


@njit(cache=True, nogil=True)
def _count_failures(holds, where, n_rows):
    """How many conditions fail in each row: 64 rows at once, bit b of their counts in one word, carried as in sums."""
    n_bits = 1
    while where.size >> n_bits:
        n_bits += 1
    counts, out = np.empty((n_bits, holds.shape[1]), np.uint64), np.zeros(n_rows, np.int32)
    counts[:] = 0
    for place in where:
        for w in range(holds.shape[1]):
            carry, b = ~holds[place, w], 0
            while carry != 0 and b < n_bits:  # rows beyond the last may count too far; nobody asks for them
                counts[b, w], carry = counts[b, w] ^ carry, counts[b, w] & carry
                b += 1
    for b in range(n_bits):
        for i in range(n_rows):
            out[i] |= np.int32((counts[b, i >> 6] >> np.uint64(i & 63)) & np.uint64(1)) << b
    return out
