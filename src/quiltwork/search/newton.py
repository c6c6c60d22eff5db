"""One penalised logistic regression: Newton's quadratics, each solved one coordinate at a time.

    minimise over intercepts and weights    sum_i w_i (-log P(y_i | row i)) + l1 |weights| + l2 / 2 |weights|^2

A target of two states has one logit. One of more has a logit for each, and they take turns: with the others held
fixed, each is a regression with an offset. Adding the same to an indicator's weight in all logits changes no
probability, so after every round that common part is set to what costs least. Four ideas make this fast.

- The quadratic is kept as a *Gram* matrix over the *members*, the indicators that have a weight or want one, with the
  intercept swept out: a sweep of coordinate descent touches no row. The matrix is kept from one strength of the
  penalty to the next, and computed anew only where a step shows that it no longer describes the loss.
- Exponentials, one per row, are taken once per step. The slope at its end says whether it went too far.
- When the members are settled, one look at the gradients of all indicators tells which should join.
- Sums over rows are taken over lists or over packed bytes.

In kernels x is the table (`search/indicators.py`), fit the regression under way (`search/regression.py`).

Papers   Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models by coordinate descent
         Yuan, Ho, Lin (2012), An improved GLMNET for L1-regularized logistic regression
Symbols  m rows, n indicators, k logits, c places for members (place 0 is the intercept)
"""

from __future__ import annotations

import numpy as np
from numba import njit

from quiltwork.search.indicators import Indicators
from quiltwork.search.regression import Regression

FLATTEST = 1e-6  # least p (1 - p) that the quadratic believes in
INNER = 0.05  # a sweep that gains less than this share of all sweeps so far is the last
REFRESH = 0.6  # how far, relative to its gain, a step may stray from the quadratic before that is computed anew
PROMISE = 0.01  # an indicator joins if it promises to gain this share of the tolerated error
NEWCOMERS = 15  # this many, and as many as there are members, may join at a time
MOST_STEPS = 200
CELLS_AT_A_TIME = 2**22  # rows x logits x steps of one kernel call

GOES_ON, SETTLED, GAVE_UP = 0, 1, 2  # what a call of the kernel ends with
BEGUN, LOGIT, GAIN, ROUNDS, LOOKS = _PLACES = range(5)  # of what `solve` remembers between two calls


def solve(x: Indicators, labels: np.ndarray, l1: float, l2: float, error: float, fit: Regression) -> bool:
    """Move `fit` to the optimum, to within an objective of about `error`; whether that was reached.

    The kernel returns after some steps, so that Ctrl-C is heard, and takes up where it was.
    """
    n_steps = max(1, CELLS_AT_A_TIME // fit.margin.size)
    at, told = np.zeros(len(_PLACES)), GOES_ON
    while told == GOES_ON:
        told = _go_on(x, labels, l1, l2, error, fit, at, n_steps)
    return bool(told == SETTLED)


# Kernels: the whole problem at one strength of the penalty


@njit(cache=True, nogil=True)
def _go_on(x, labels, l1, l2, error, fit, at, n_steps):
    """Some more steps, from where `at` says: has it begun, the logit whose turn it is, what this round gained, rounds
    since the last look at all indicators, looks.
    """
    n_logits = fit.intercept.size
    if at[BEGUN] == 0.0:
        at[BEGUN] = 1.0
        _admit(x, l1, l2, error, fit)
    for _ in range(n_steps):
        at[GAIN] += _step(x, labels, np.int64(at[LOGIT]), l1, l2, error, fit)
        at[LOGIT] += 1.0
        if at[LOGIT] < n_logits:
            continue
        if n_logits > 1:
            _balance(l1, l2, fit)
        settled = at[GAIN] <= error
        at[LOGIT], at[GAIN], at[ROUNDS] = 0.0, 0.0, at[ROUNDS] + 1.0
        if settled or at[ROUNDS] == MOST_STEPS:
            at[ROUNDS], at[LOOKS] = 0.0, at[LOOKS] + 1.0
            look(x, labels, fit)
            if not _admit(x, l1, l2, error, fit):
                return SETTLED if settled else GAVE_UP
            if at[LOOKS] == MOST_STEPS:
                return GAVE_UP
    return GOES_ON


@njit(cache=True, nogil=True)
def log_likelihood(x, labels, intercept, weights):
    """Weighted log-likelihood of labels (m,); a row with a negative label does not count."""
    n_logits, n = weights.shape
    margin, everyone, moves = np.empty((n_logits, labels.size)), np.arange(-1, n), np.empty(n + 1)
    for k in range(n_logits):
        moves[0], moves[1:] = intercept[k], weights[k]
        _add_up(x, everyone, moves, margin[k])
    total = 0.0
    for i in range(labels.size):
        if labels[i] >= 0:
            own = margin[labels[i], i] if n_logits > 1 else labels[i] * margin[0, i]
            top = 0.0 if n_logits == 1 else own
            for k in range(n_logits):
                top = max(top, margin[k, i])
            mass = np.exp(-top) if n_logits == 1 else 0.0
            for k in range(n_logits):
                mass += np.exp(margin[k, i] - top)
            total += x.weights[i] * (own - top - np.log(mass))
    return total


@njit(cache=True, nogil=True)
def look(x, labels, fit):
    """Gradients of the loss for all indicators and logits, into fit.slope."""
    total = _odds_but(-1, fit)
    for k in range(fit.intercept.size):
        _take_residuals(x, labels, k, total, fit)
        _sum_up(x, np.arange(x.variable.size), fit.residual, fit.slope[k])


@njit(cache=True, nogil=True)
def _admit(x, l1, l2, error, fit):
    """Let indicators join that promise to lower the objective, the most promising first; whether there were any."""
    n_logits, places, gains = fit.intercept.size, fit.members.size, np.zeros(x.variable.size)
    all_odds = _odds_but(-1, fit)
    for k in range(n_logits):
        bend, total = 0.0, 0.0
        for i in range(x.weights.size):
            p = fit.odds[k, i] / all_odds[i]
            bend += x.weights[i] * max(p * (1.0 - p), FLATTEST)
            total += x.weights[i]
        for j in range(gains.size):
            if fit.allowed[j] and fit.place[j] == 0:
                weight = fit.weights[k, j]
                slope = fit.slope[k, j] + l2 * weight
                excess = abs(slope) - l1 if weight == 0.0 else abs(slope + l1 * np.sign(weight))
                if excess > 0.0:
                    gains[j] = max(gains[j], 0.5 * excess * excess / (x.ones[j] * bend / total + l2))
    bar = PROMISE * error
    if not _count_above(bar, gains):
        return False
    if fit.n_members[0] == places:  # those who have places make room
        fit.place[:] = 0
        fit.n_members[0] = 1
        fit.stale[:] = True
    old = fit.n_members[0]
    end = places if l1 == 0.0 else min(places, 2 * old + NEWCOMERS)
    while _count_above(bar, gains) > end - old and _count_above(2.0 * bar, gains):
        bar *= 2.0
    for j in range(gains.size):
        if gains[j] > bar and fit.n_members[0] < end:
            fit.members[fit.n_members[0]], fit.place[j] = j, fit.n_members[0]
            fit.n_members[0] += 1
    for k in range(n_logits):
        if not fit.stale[k]:
            _fill_gram(x, k, old, fit)
    return True


@njit(cache=True, nogil=True)
def _count_above(bar, values):
    count = 0
    for value in values:
        count += value > bar
    return count


@njit(cache=True, nogil=True)
def _balance(l1, l2, fit):
    """Take the common part that costs least from each indicator's weights: their median, mean, or between.

    The least of l1 sum_k |w_k - s| + l2 / 2 sum_k (w_k - s)^2 is at a weight or at one of r + 1 places about the mean.
    """
    r = fit.intercept.size
    for t in range(1, fit.n_members[0]):
        own = fit.weights[:, fit.members[t]]
        best, least, mean = 0.0, np.inf, _total(own) / r
        for a in range(2 * r + 1 if l2 > 0.0 else r):
            common = own[a] if a < r else mean + l1 / l2 * (3.0 * r - 2.0 * a) / r
            cost = 0.0
            for k in range(r):
                cost += l1 * abs(own[k] - common) + 0.5 * l2 * (own[k] - common) ** 2
            if cost < least or (cost == least and abs(common) < abs(best)):
                best, least = common, cost
        for k in range(r):
            own[k] -= best


# Kernels: one step of one logit


@njit(cache=True, nogil=True)
def _step(x, labels, k, l1, l2, error, fit):
    """Move one logit to the minimum of its quadratic, or less far; what the quadratic promised to gain."""
    n = fit.n_members[0]
    members, weights, margin, odds = fit.members[:n], fit.weights[k], fit.margin[k], fit.odds[k]
    others = _odds_but(k, fit)
    total = others + odds
    _take_residuals(x, labels, k, total, fit)
    if fit.stale[k]:
        for i in range(margin.size):
            p = odds[i] / total[i]
            fit.curvature[k, i] = x.weights[i] * max(p * (1.0 - p), FLATTEST)
        _fill_gram(x, k, 0, fit)
    _sum_up(x, members[1:], fit.residual, fit.slope[k])
    start, slopes, moves = np.zeros(n), np.empty(n), np.zeros(n)
    slopes[0] = _total(fit.residual)
    for t in range(1, n):
        start[t], slopes[t] = weights[members[t]], fit.slope[k, members[t]]
    first_slopes = slopes.copy()
    gain = _descend(fit.gram[k], slopes, start, moves, l1, l2, error)
    if gain <= 0.0:
        fit.stale[k] = False
        return 0.0
    change = np.empty(margin.size)
    _add_up(x, members, moves, change)
    first = first_slopes[0] * moves[0] + _slope_along(start, first_slopes, moves, 0.0, l1, l2)
    believed = _slope_along(start, slopes, moves, 1.0, l1, l2)
    done, length = 0.0, 1.0
    while True:
        for i in range(margin.size):
            margin[i] += (length - done) * change[i]
            odds[i] = np.exp(min(margin[i], 500.0))
            total[i] = others[i] + odds[i]
        _take_residuals(x, labels, k, total, fit)
        found = _slope_along(start, np.zeros(n), moves, length, l1, l2)
        for i in range(margin.size):
            found += fit.residual[i] * change[i]
        is_whole = length == 1.0
        fit.stale[k] = not is_whole or abs(found - believed) > 2.0 * REFRESH * gain
        # Downhill to the very end, or past the valley by so little that the objective must have fallen.
        if found <= 0.0 or found <= (believed + 1.5 * gain if is_whole else -0.5 * first) or length < 1e-9:
            break
        done, length = length, length * first / (first - found)
    fit.intercept[k] += length * moves[0]
    for t in range(1, n):
        weights[members[t]] = start[t] + length * moves[t]
    return gain


@njit(cache=True, nogil=True)
def _slope_along(start, slopes, moves, length, l1, l2):
    """Slope, `length` of the way along the moves, of the penalty and of what has these slopes; the intercept aside."""
    total = 0.0
    for t in range(1, moves.size):
        if moves[t] != 0.0:
            at = start[t] + length * moves[t]
            side = np.sign(at)
            if side == 0.0:  # about to leave zero, or just arrived there
                side = np.sign(moves[t]) if length == 0.0 else -np.sign(moves[t])
            total += moves[t] * (slopes[t] + l1 * side + l2 * at)
    return total


@njit(cache=True, nogil=True)
def _descend(gram, slopes, start, moves, l1, l2, error):
    """Coordinate descent on the quadratic: fills moves, brings slopes up to date, returns the gain."""
    n = moves.size
    pull = slopes[0] / gram[0, 0]
    gain = 0.5 * slopes[0] * pull
    for t in range(1, n):
        slopes[t] -= pull * gram[t, 0]
    for _ in range(MOST_STEPS):
        gained = 0.0
        for t in range(1, n):
            bend, old = gram[t, t], start[t] + moves[t]
            wanted = bend * old - slopes[t]
            new = 0.0
            if abs(wanted) > l1:
                new = (wanted - np.sign(wanted) * l1) / (bend + l2)
            move = new - old
            if move != 0.0:
                gained -= move * (slopes[t] + 0.5 * bend * move)
                gained -= l1 * (abs(new) - abs(old)) + 0.5 * l2 * (new * new - old * old)
                moves[t] += move
                row = gram[t]
                for s in range(n):
                    slopes[s] += move * row[s]
        gain += gained
        if gained <= INNER * gain or gained <= 0.01 * error:
            break
    moves[0] = -pull
    for t in range(1, n):
        moves[0] -= gram[t, 0] * moves[t] / gram[0, 0]
    return gain


# Kernels: sums over rows


@njit(cache=True, nogil=True)
def _total(values):
    total = 0.0
    for value in values:
        total += value
    return total


@njit(cache=True, nogil=True)
def _odds_but(k, fit):
    """(m,) sum of the odds of all states but that of logit k, that of the state without a logit included."""
    out = np.ones(fit.odds.shape[1]) if fit.intercept.size == 1 else np.zeros(fit.odds.shape[1])
    for other in range(fit.intercept.size):
        if other != k:
            out += fit.odds[other]
    return out


@njit(cache=True, nogil=True)
def _take_residuals(x, labels, k, total, fit):
    """Weight x (probability of logit k - 1 where it came true), into fit.residual; total (m,) odds of all states."""
    label, odds = 1 if fit.intercept.size == 1 else k, fit.odds[k]
    for i in range(labels.size):
        fit.residual[i] = x.weights[i] * (odds[i] / total[i] - (labels[i] == label))


@njit(cache=True, nogil=True)
def _sum_up(x, members, values, out):
    """out[j]: the sum of the values (m,) of the rows of indicator j, for the members; for all where packed."""
    if x.packed.size:
        sums = np.zeros((x.packed.shape[1], 256))
        for i in range(values.size):
            for b in range(sums.shape[0]):
                sums[b, x.packed[i, b]] += values[i]
        _fold(sums, 0, out)
        return
    for j in members:
        rows = x.rows[x.first_row[j] : x.first_row[j + 1]]
        whole = rows.size & ~3
        one, two, three, four = 0.0, 0.0, 0.0, 0.0  # for each addition waits for the one before
        for t in range(0, whole, 4):
            one += values[rows[t]]
            two += values[rows[t + 1]]
            three += values[rows[t + 2]]
            four += values[rows[t + 3]]
        for t in range(whole, rows.size):
            one += values[rows[t]]
        out[j] = (one + two) + (three + four)


@njit(cache=True, nogil=True)
def _add_up(x, members, moves, out):
    """out (m,): moves[0], and the sum of the moves of the members that are one in the row."""
    out[:] = moves[0]
    if x.packed.size:
        tables = np.zeros((x.packed.shape[1], 256))
        for t in range(1, members.size):
            tables[members[t] >> 3, 1 << (members[t] & 7)] = moves[t]
        for b in range(tables.shape[0]):
            for byte in range(3, 256):
                rest = byte & (byte - 1)
                if rest:
                    tables[b, byte] = tables[b, rest] + tables[b, byte ^ rest]
        for i in range(out.size):
            for b in range(tables.shape[0]):
                out[i] += tables[b, x.packed[i, b]]
        return
    for t in range(1, members.size):
        if moves[t] != 0.0:
            for i in x.rows[x.first_row[members[t]] : x.first_row[members[t] + 1]]:
                out[i] += moves[t]


@njit(cache=True, nogil=True)
def _fill_gram(x, k, old, fit):
    """The rows of the Gram matrix from place `old` on, and their mirror images; the intercept is swept out."""
    gram, n = fit.gram[k], fit.n_members[0]
    gram[old:n] = 0.0
    if old == 0:
        gram[0, 0] = _total(fit.curvature[k])
        old = 1
    if x.packed.size:
        _fill_packed(x.packed, fit.members[:n], fit.place, old, fit.curvature[k], gram)
    else:
        _fill_lists(x, fit.members[:n], old, fit.curvature[k], gram)
    for a in range(old, n):
        share = gram[a, 0] / gram[0, 0]
        for b in range(1, a + 1):
            gram[a, b] -= share * gram[b, 0]
            gram[b, a] = gram[a, b]
        gram[a, a] = max(gram[a, a], 1e-9 * gram[0, 0])


@njit(cache=True, nogil=True)
def _fill_lists(x, members, old, curvature, gram):
    """The members that are one in each row are gathered, and every two of them get its curvature."""
    ends = np.zeros(curvature.size + 1, np.int64)
    for j in members[1:]:
        for i in x.rows[x.first_row[j] : x.first_row[j + 1]]:
            ends[i + 1] += 1
    for i in range(curvature.size):
        ends[i + 1] += ends[i]
    places = np.empty(ends[-1], np.uint16)
    for t in range(1, members.size):
        for i in x.rows[x.first_row[members[t]] : x.first_row[members[t] + 1]]:
            places[ends[i]] = t
            ends[i] += 1
    flat, width = gram.ravel(), np.uint64(gram.shape[1])
    begin = 0
    for i in range(curvature.size):
        own = places[begin : ends[i]]
        begin = ends[i]
        for s in range(own.size - 1, -1, -1):  # places ascend, so the new ones come last
            if own[s] < old:
                break
            row = np.uint64(own[s]) * width
            flat[row] += curvature[i]
            for t in range(s + 1):
                flat[row + np.uint64(own[t])] += curvature[i]


@njit(cache=True, nogil=True)
def _fill_packed(packed, members, place, old, curvature, gram):
    """For each new member the sums of the curvature over its rows, by byte and then by bit."""
    sums, folded = np.empty((packed.shape[1], 256)), np.empty(place.size)
    for t in range(old, members.size):
        byte, bit = members[t] >> 3, np.uint8(1 << (members[t] & 7))
        begin = byte if old == 1 else 0  # where all are new, each pair is met at its lower indicator
        sums[begin:] = 0.0
        for i in range(packed.shape[0]):
            if packed[i, byte] & bit:
                for b in range(begin, packed.shape[1]):
                    sums[b, packed[i, b]] += curvature[i]
        _fold(sums, begin, folded)
        gram[t, 0] = folded[members[t]]
        for j in range(8 * begin, place.size):
            if place[j] > 0 and (place[j] < old or j >= members[t]):
                gram[max(t, place[j]), min(t, place[j])] = folded[j]


@njit(cache=True, nogil=True)
def _fold(sums, begin, out):
    """From sums by byte (n_bytes, 256) to sums by bit, out (n,), from byte `begin` on."""
    for j in range(8 * begin, out.size):
        out[j] = 0.0
        for byte in range(256):
            if byte & (1 << (j & 7)):
                out[j] += sums[j >> 3, byte]
