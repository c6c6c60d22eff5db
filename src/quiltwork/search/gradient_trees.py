"""Trees grown on gradients: the rounds of boosting for one target.

Every row has, for each state s of the target but the most frequent one, the odds o_s against that one; p_s = o_s / (1 +
sum of o). A round grows one tree for the gradients y_s - p_s and their slopes p_s (1 - p_s), whose sums over some rows
are G_s and H_s. A split is worth

    sum over s of G_s^2 / (H_s + l2), added over its two sides, less the same for both together

and a leaf multiplies the odds of its rows by exp(rate G_s / (H_s + l2)), so that no row needs a logarithm or an
exponential. The leaf that gains most is split first. Where no split gains anything, yet all rows together ask for a
step (a linear start may be far off), the tree is one leaf.

Four ideas make this fast.

- Gradients and slopes are *rounded to whole numbers*, up or down by a rule that is right on average (`_round`). Sums of
  whole numbers are exact, so it does not matter in which way or order they are taken. What rounding adds to the
  variance of a sum is a fifteenth at most of what chance has put there already.
- A whole number of four bits is *four bit planes*, and its sum over the rows of a leaf that have an indicator is four
  popcounts.
- A small leaf *walks its rows* instead, and so does a table whose rows have weights. Which is cheaper is a matter of a
  few multiplications (`_sum_leaf`). Gradient and slope of a row, and so their sums, are the two halves of *one number
  of 64 bits*, and one addition does for both. A row of a sparse table is added to the indicators that it has; elsewhere
  zero is added to those that it lacks as well, for that is done for eight at a time and without a jump.
- Of two new leaves the larger one's sums are what the smaller one's *leave of their parent's*.

Papers   Friedman (2001), Greedy function approximation: a gradient boosting machine
         Shi, Ke, Chen, Zheng, Liu (2022), Quantized training of gradient boosting decision trees
Symbols  as in `search/boost_state.py`, where the tuples that the kernels take are explained
"""

from __future__ import annotations

import numpy as np
from numba import njit

from quiltwork.data.bits import count_eight, count_ones, full_plane, lowest_bit

GRADIENT_BITS, SLOPE_BITS = 4, 3
N_PLANES = 1 + GRADIENT_BITS + SLOPE_BITS  # the first one marks the rows in the state; a multiple of 4
GRADIENT_UNIT = 2**GRADIENT_BITS - 1  # what a gradient of 1 is rounded to
SLOPE_UNIT = 4 * (2**SLOPE_BITS - 1)  # the same for slopes, which are 1/4 at most
WEIGHTED_UNIT = 2.0**20  # both, for the heaviest row, where rows have weights
HALF, LOW, LARGEST_SUM = 32, 2**32 - 1, 2.0**31  # a gradient in the upper half of 64 bits, a slope in the lower
LEAST_SLOPE = 0.3  # in a leaf: that of one row or two if the odds are even, of many if they are not
LEAST_GAIN = 1e-9
LEAST_STEP = 1.0  # what a tree of one leaf must be worth
LEAST_ODDS, MOST_ODDS = np.float32(1e-12), np.float32(1e12)

_ONES = np.uint64(0x0101010101010101)  # for tricks with the eight bytes of a word
_GATHER = np.uint64(0x0102040810204080)
_SPREAD = np.uint64(0x8040201008040201)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)


# Rounds


@njit(cache=True, nogil=True)
def grow_trees(table, held_out, target, limits, scratch, trees, log_likelihoods):
    """One round per entry of log_likelihoods (those of the held-out rows); returns the rounds that found a tree."""
    gradient_unit, slope_unit = float(GRADIENT_UNIT), float(SLOPE_UNIT)
    if table.weights.size > 0:
        gradient_unit = slope_unit = min(WEIGHTED_UNIT / table.weights.max(), LARGEST_SUM / table.weights.sum())
    n_channels, first_leaf = target.odds.shape[0], 0
    factors = np.ones((n_channels, limits.max_leaves), np.float32)
    for r in range(log_likelihoods.size):
        _round(table, target, gradient_unit, slope_unit, scratch)
        if table.weights.size == 0:
            _lay_planes(target, scratch)
        _draw(target, scratch)
        n_leaves = _grow(table, held_out, limits, gradient_unit, slope_unit, scratch)
        if n_leaves == 1 and _step_worth(scratch.totals[0], limits.l2, gradient_unit, slope_unit) < LEAST_STEP:
            return r
        trees.n_leaves[r] = n_leaves
        _record(table, scratch, n_leaves, first_leaf, r, trees)
        for k in range(n_leaves):
            for c in range(n_channels):
                total = scratch.totals[k, c]
                slope = (total & LOW) / slope_unit
                step = limits.rate * (total >> HALF) / gradient_unit / (slope + limits.l2)
                trees.values[first_leaf + k, c] = step
                factors[c, k] = np.exp(step)
        first_leaf += n_leaves
        _number_leaves(scratch.masks, n_leaves, scratch.leaf)
        _number_leaves(scratch.held_masks, n_leaves, scratch.held_leaf)
        _multiply(target.odds, scratch.leaf, factors)
        _multiply(target.held_odds, scratch.held_leaf, factors)
        log_likelihoods[r] = log_likelihood(target.held_odds, target.held_labels, held_out.weights)
    return log_likelihoods.size


@njit(cache=True, nogil=True, error_model="numpy")  # a division that could raise would be done one at a time
def log_likelihood(odds, labels, weights):
    """Sum over rows of weight x log P(label); where rows have none, one logarithm serves many of them."""
    n_channels, total, product = odds.shape[0], 0.0, 1.0
    for i in range(labels.size):
        if labels[i] < 0:
            continue
        all_odds = 1.0
        for c in range(n_channels):
            all_odds += odds[c, i]
        probability = (odds[labels[i], i] if labels[i] < n_channels else 1.0) / all_odds
        if weights.size > 0:
            total += weights[i] * np.log(probability)
        else:
            product *= probability
            if product < 1e-200:
                total += np.log(product)
                product = 1.0
    return total + np.log(product)


@njit(cache=True, nogil=True)
def _multiply(odds, leaf, factors):
    for c in range(odds.shape[0]):
        row, factor = odds[c], factors[c]
        for i in range(row.size):
            row[i] = min(max(row[i] * factor[leaf[i]], LEAST_ODDS), MOST_ODDS)


@njit(cache=True, nogil=True)
def _number_leaves(masks, n_leaves, leaf):
    """The leaf of each row, from the masks of the leaves: one bit of its number at a time, for eight rows at a time."""
    n_words = masks.shape[1]
    together = np.empty(n_words, np.uint64)
    by_eight, eights = together.view(np.uint8), leaf.view(np.uint64)
    eights[:] = 0
    bit = 0
    while 1 << bit < n_leaves:
        together[:] = 0
        for k in range(n_leaves):
            if k >> bit & 1:
                mask = masks[k]
                for w in range(n_words):
                    together[w] |= mask[w]
        for j in range(by_eight.size):
            spread = np.uint64(by_eight[j]) * _ONES & _SPREAD
            eights[j] |= ((spread + _SEVENS) >> np.uint64(7) & _ONES) << np.uint64(bit)
        bit += 1


@njit(cache=True, nogil=True)
def _next(random):
    """A random word (splitmix64)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    x = random[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def _draw(target, scratch):
    """The candidates of this round, ascending: each is taken with the chance that it is one of those still needed."""
    drawn, candidates, taken = scratch.drawn, target.candidates, 0
    for j in range(candidates.size):
        left, needed = candidates.size - j, drawn.size - taken
        if needed == left or (needed > 0 and _next(target.random) % np.uint64(left) < np.uint64(needed)):
            drawn[taken] = candidates[j]
            taken += 1


# Gradients as whole numbers


@njit(cache=True, nogil=True, error_model="numpy")  # a division that could raise would be done one at a time
def _round(table, target, gradient_unit, slope_unit, scratch):
    """Gradients and slopes in their units, p and slopes rounded up with a chance of what rounding down would lose.

    The chances are those of a sequence that fills [0, 1) evenly, moved by a random amount in each round.
    """
    shift = np.uint32(_next(target.random) & np.uint64(65535))
    odds, weights = target.odds, table.weights
    all_odds = np.ones(odds.shape[1], np.float32)
    for c in range(odds.shape[0]):
        row = odds[c]
        for i in range(row.size):
            all_odds[i] += row[i]
    for c in range(odds.shape[0]):
        row, label, gradients, slopes = odds[c], target.labels[c], scratch.gradients[c], scratch.slopes[c]
        pairs = scratch.pairs[c]
        if weights.size > 0:
            for i in range(weights.size):
                chance = np.float64(np.uint32(i) * np.uint32(40503) + shift & np.uint32(65535)) / 65536.0
                p, whole = np.float64(row[i] / all_odds[i]), weights[i] * gradient_unit
                gradients[i] = np.int32(whole + 0.5) * label[i] - np.int32(whole * p + chance)
                slopes[i] = np.int32(weights[i] * slope_unit * p * (1.0 - p) + chance)
        else:
            unit, slope = np.float32(gradient_unit), np.float32(slope_unit)
            for i in range(row.size):
                luck = np.float32(np.uint32(i) * np.uint32(40503) + shift & np.uint32(65535)) * np.float32(1 / 65536)
                p = row[i] / all_odds[i]
                gradients[i] = np.int32(GRADIENT_UNIT) * np.int32(label[i]) - np.int32(p * unit + luck)
                slopes[i] = np.int32(p * (np.float32(1) - p) * slope + luck)
        for i in range(row.size):
            pairs[i] = (np.int64(gradients[i]) << HALF) + np.int64(slopes[i])


@njit(cache=True, nogil=True)
def _lay_planes(target, scratch):
    """Bit planes of p, which is the label less the gradient, and of the slopes."""
    n = target.odds.shape[1]
    eights = np.empty(n >> 3, np.uint64)
    small = eights.view(np.uint8)
    for c in range(target.odds.shape[0]):
        label, gradients, slopes = target.labels[c], scratch.gradients[c], scratch.slopes[c]
        for i in range(n):
            small[i] = np.uint8(np.int32(GRADIENT_UNIT) * np.int32(label[i]) - gradients[i])
        _split_bits(eights, GRADIENT_BITS, scratch.planes[c, 1:])
        for i in range(n):
            small[i] = np.uint8(slopes[i])
        _split_bits(eights, SLOPE_BITS, scratch.planes[c, 1 + GRADIENT_BITS :])


@njit(cache=True, nogil=True)
def _split_bits(eights, n_bits, planes):
    """Bit b of each byte into planes[b], for eight rows at a time."""
    for b in range(n_bits):
        out = planes[b].view(np.uint8)
        for j in range(eights.size):
            out[j] = np.uint8((eights[j] >> np.uint64(b) & _ONES) * _GATHER >> np.uint64(56))


# Trees


@njit(cache=True, nogil=True)
def _grow(table, held_out, limits, gradient_unit, slope_unit, scratch):
    """Split the leaf that gains most until there are enough, or none gains; returns how many there are."""
    masks, held_masks, totals, sums = scratch.masks, scratch.held_masks, scratch.totals, scratch.sums
    masks[0], held_masks[0] = full_plane(table.n_rows), full_plane(held_out.n_rows)
    gain, best = scratch.gain, scratch.best
    scratch.node[0], scratch.question[0] = 0, -1
    for c in range(scratch.gradients.shape[0]):
        totals[0, c] = scratch.pairs[c, : table.n_rows].sum()
    _sum_leaf(table, masks[0], scratch, sums[0])
    gain[0], best[0] = _find_best(sums[0], totals[0], limits.l2, gradient_unit, slope_unit, scratch.gains, scratch.side)
    n_leaves = 1
    while n_leaves < limits.max_leaves:
        old, new = gain[:n_leaves].argmax(), n_leaves
        if gain[old] <= LEAST_GAIN:
            break
        place = best[old]
        indicator = scratch.drawn[place]
        totals[new] = sums[old, :, place]
        totals[old] -= totals[new]
        _cut(masks[old], table.planes[indicator], masks[new])
        _cut(held_masks[old], held_out.planes[indicator], held_masks[new])
        _branch(old, new, indicator, scratch)
        n_leaves += 1
        if n_leaves < limits.max_leaves:
            few, many = new, old
            if count_ones(masks[new]) > count_ones(masks[old]):
                few, many = old, new
                sums[many] = sums[few]
            _sum_leaf(table, masks[few], scratch, sums[few])
            sums[many] -= sums[few]
            for leaf in (old, new):
                gain[leaf], best[leaf] = _find_best(
                    sums[leaf], totals[leaf], limits.l2, gradient_unit, slope_unit, scratch.gains, scratch.side
                )
    return n_leaves


@njit(cache=True, nogil=True)
def _cut(old, plane, new):
    """Move the rows that have the indicator to the new leaf."""
    for w in range(old.size):
        new[w] = old[w] & plane[w]
        old[w] &= ~plane[w]


@njit(cache=True, nogil=True)
def _branch(old, new, indicator, scratch):
    """Turn the node of a leaf into a split; the new leaf is where the answer is yes."""
    node, yes = scratch.node[old], 2 * new - 1
    scratch.question[node], scratch.branch[node] = indicator, yes
    scratch.question[yes], scratch.question[yes + 1] = -1 - new, -1 - old
    scratch.node[new], scratch.node[old] = yes, yes + 1


@njit(cache=True, nogil=True, error_model="numpy")  # a division that could raise would be done one at a time
def _find_best(sums, totals, l2, gradient_unit, slope_unit, gains, slopes):
    """The gain of the best split of a leaf, and its place; a tie goes to the lower indicator."""
    all_slopes, g_scale, h_scale = 0.0, 1.0 / gradient_unit, 1.0 / slope_unit
    gains[:], slopes[:] = 0.0, 0.0
    for c in range(totals.size):
        here, both = sums[c], totals[c]
        all_h = (both & LOW) * h_scale
        before = ((both >> HALF) * g_scale) ** 2 / (all_h + l2)
        all_slopes += all_h
        for k in range(gains.size):
            other = both - here[k]
            g, h = (here[k] >> HALF) * g_scale, (here[k] & LOW) * h_scale
            other_g, other_h = (other >> HALF) * g_scale, (other & LOW) * h_scale
            a, b = h + l2, other_h + l2  # one division for both sides
            gains[k] += (g * g * b + other_g * other_g * a) / (a * b) - before
            slopes[k] += h
    best, place = 0.0, -1
    for k in range(gains.size):
        if gains[k] > best and slopes[k] >= LEAST_SLOPE and all_slopes - slopes[k] >= LEAST_SLOPE:
            best, place = gains[k], k
    return best, place


@njit(cache=True, nogil=True)
def _step_worth(totals, l2, gradient_unit, slope_unit):
    """What the step of a leaf is worth."""
    worth = 0.0
    for both in totals:
        worth += ((both >> HALF) / gradient_unit) ** 2 / ((both & LOW) / slope_unit + l2)
    return worth


@njit(cache=True, nogil=True)
def _record(table, scratch, n_leaves, first_leaf, n_before, trees):
    """Lay the tree behind those before it, its nodes in the order in which they came up."""
    node0, branch0 = 2 * first_leaf - n_before, 2 * (first_leaf - n_before)
    question, branch, rows = scratch.question, scratch.branch, scratch.rows
    for node in range(2 * n_leaves - 2, -1, -1):  # children have higher numbers
        if question[node] < 0:
            rows[node] = _weight(table.weights, scratch.masks[-1 - question[node]])
        else:
            rows[node] = rows[branch[node]] + rows[branch[node] + 1]
    n_branches = 0
    for node in range(2 * n_leaves - 1):
        if question[node] < 0:
            trees.indicator[node0 + node], trees.first[node0 + node] = -1, -1 - question[node]
            continue
        trees.indicator[node0 + node], trees.first[node0 + node] = question[node], n_branches
        for side in range(2):
            trees.branches[branch0 + n_branches] = branch[node] + side
            trees.flow[branch0 + n_branches] = rows[branch[node] + side]
            n_branches += 1


@njit(cache=True, nogil=True)
def _weight(weights, mask):
    """Of the rows of a mask."""
    if weights.size == 0:
        return np.float64(count_ones(mask))
    total = 0.0
    for w in range(mask.size):
        word = mask[w]
        while word != 0:
            total += weights[(w << 6) + np.int64(lowest_bit(word))]
            word &= word - np.uint64(1)
    return total


# Sums over the rows of a leaf, for every drawn indicator


@njit(cache=True, nogil=True)
def _sum_leaf(table, mask, scratch, sums):
    """sums (c, drawn): by rows where they have weights or are few, else by planes."""
    planes_cost = float(scratch.drawn.size) * mask.size
    if table.weights.size == 0 and count_ones(mask) * table.row_cost >= planes_cost:
        _sum_planes(table.planes, mask, scratch, sums)
    elif table.starts.size > 0:
        _sum_lists(table.starts, table.lists, mask, scratch.pairs, scratch.drawn, scratch.by_indicator, sums)
    else:
        _sum_words(table.words, mask, scratch.pairs, scratch.drawn, sums)


@njit(cache=True, nogil=True)
def _sum_lists(starts, lists, mask, all_pairs, drawn, own, sums):
    """Walk the rows of the mask, and of each the indicators that it has."""
    for c in range(sums.shape[0]):
        pairs = all_pairs[c]
        own[:] = 0
        for w in range(mask.size):
            word = mask[w]
            while word != 0:
                i = (w << 6) + np.int64(lowest_bit(word))
                word &= word - np.uint64(1)
                pair = pairs[i]
                for k in range(starts[i], starts[i + 1]):
                    own[lists[k]] += pair
        for k in range(drawn.size):
            sums[c, k] = own[drawn[k]]


@njit(cache=True, nogil=True)
def _sum_words(words, mask, all_pairs, drawn, sums):
    """Walk the rows of the mask, and of each a word of 64 indicators at a time, those that it lacks adding nothing."""
    own = np.empty(64, np.int64)
    for c in range(sums.shape[0]):
        pairs, k = all_pairs[c], 0
        for v in range(words.shape[1]):
            own[:] = 0
            for w in range(mask.size):
                word = mask[w]
                while word != 0:
                    i = (w << 6) + np.int64(lowest_bit(word))
                    word &= word - np.uint64(1)
                    has, pair = np.int64(words[i, v]), pairs[i]
                    for j in range(64):
                        own[j] += pair & -(has >> j & 1)
            while k < drawn.size and drawn[k] >> 6 == v:
                sums[c, k] = own[drawn[k] & 63]
                k += 1


@njit(cache=True, nogil=True)
def _sum_planes(planes, mask, scratch, sums):
    """Popcounts of the planes of gradients and slopes within the mask, for two indicators at a time."""
    drawn, masked, n = scratch.drawn, scratch.masked, scratch.drawn.size
    for c in range(scratch.planes.shape[0]):
        for b in range(N_PLANES):
            plane, out = scratch.planes[c, b], masked[b]
            for w in range(mask.size):
                out[w] = plane[w] & mask[w]
        for k in range(0, n, 2):
            other = min(k + 1, n - 1)  # the last one may be alone
            one, two = planes[drawn[k]], planes[drawn[other]]
            g0, h0, g1, h1 = 0, 0, 0, 0
            for b in range(0, N_PLANES, 4):
                ones = count_eight(one, two, masked[b], masked[b + 1], masked[b + 2], masked[b + 3])
                for j in range(4):
                    g, h = _worth(b + j)
                    g0, h0 = g0 + g * np.int64(ones[j]), h0 + h * np.int64(ones[j])
                    g1, h1 = g1 + g * np.int64(ones[4 + j]), h1 + h * np.int64(ones[4 + j])
            sums[c, k], sums[c, other] = (g0 << HALF) + h0, (g1 << HALF) + h1


@njit(cache=True, nogil=True)
def _worth(plane):
    """What a row in this plane adds to the gradient and to the slope."""
    if plane == 0:
        return GRADIENT_UNIT, 0
    if plane <= GRADIENT_BITS:
        return -(1 << (plane - 1)), 0
    return 0, 1 << (plane - 1 - GRADIENT_BITS)
