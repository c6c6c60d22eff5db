"""Boosting by hand: rows, indicators and leaves one at a time.

The same rounding of gradients to whole numbers and the same random words as the fast one, so that trees can be
compared question by question.
"""

import math

import numpy as np

WORD = 2**64 - 1
EVEN = np.float32(1 / 65536)


class Random:
    """splitmix64, as its authors wrote it."""

    def __init__(self, state):
        self.state = int(state)

    def word(self):
        self.state = self.state + 0x9E3779B97F4A7C15 & WORD
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
        z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
        return z ^ z >> 31


def draw(candidates, n, random):
    out = []
    for j, candidate in enumerate(candidates):
        left, needed = len(candidates) - j, n - len(out)
        if needed == left or (needed > 0 and random.word() % left < needed):
            out.append(int(candidate))
    return out


def gradients(odds, labels, weights, units, random):
    """Whole numbers (rows, states): gradients, slopes. odds and labels are (states, rows)."""
    shift = random.word() & 65535
    n_channels, n_rows = odds.shape
    g, h = np.zeros((n_rows, n_channels), int), np.zeros((n_rows, n_channels), int)
    for i in range(n_rows):
        all_odds = np.float32(1)
        for c in range(n_channels):
            all_odds += odds[c, i]
        chance = np.float32(i * 40503 + shift & 65535) * EVEN
        for c in range(n_channels):
            p = odds[c, i] / all_odds
            if weights is None:
                g[i, c] = units[0] * int(labels[c, i]) - int(p * np.float32(units[0]) + chance)
                h[i, c] = int(p * (np.float32(1) - p) * np.float32(units[1]) + chance)
            else:
                p, whole = float(p), float(weights[i]) * units[0]
                g[i, c] = int(whole + 0.5) * int(labels[c, i]) - int(whole * p + float(chance))
                h[i, c] = int(weights[i] * units[1] * p * (1.0 - p) + float(chance))
    return g, h


def worth(g, h, units, l2):
    """G^2 / (H + l2) of every state."""
    return [(gc / units[0]) ** 2 / (hc / units[1] + l2) for gc, hc in zip(g.tolist(), h.tolist(), strict=True)]


def best_split(rows, has, drawn, g, h, units, l2, least_slope):
    """(gain, indicator) of the best question about these rows."""
    all_g, all_h = g[rows].sum(axis=0), h[rows].sum(axis=0)
    best = (0.0, -1)
    for f in drawn:
        yes = [i for i in rows if has[i, f]]
        yes_g, yes_h = g[yes].sum(axis=0), h[yes].sum(axis=0)
        sides = yes_h.sum() / units[1], (all_h - yes_h).sum() / units[1]
        parts = zip(
            worth(yes_g, yes_h, units, l2),
            worth(all_g - yes_g, all_h - yes_h, units, l2),
            worth(all_g, all_h, units, l2),
            strict=True,
        )
        gain = sum(a + b - before for a, b, before in parts)
        if gain > best[0] and min(sides) >= least_slope:
            best = (gain, f)
    return best


def grow(has, drawn, g, h, units, l2, max_leaves, least_slope):
    """A tree {"ask", "yes", "no"} whose leaves are {"leaf": number}, and the rows of each leaf."""
    leaves = [list(range(len(has)))]
    found = [best_split(leaves[0], has, drawn, g, h, units, l2, least_slope)]
    tree = {"leaf": 0}
    at = [tree]
    while len(leaves) < max_leaves:
        old = max(range(len(leaves)), key=lambda k: (found[k][0], -k))
        gain, f = found[old]
        if gain <= 1e-9:
            break
        new = len(leaves)
        yes, no = [i for i in leaves[old] if has[i, f]], [i for i in leaves[old] if not has[i, f]]
        leaves[old] = no
        leaves.append(yes)
        node = at[old]
        node.clear()
        node.update(ask=f, yes={"leaf": new}, no={"leaf": old})
        at[old] = node["no"]
        at.append(node["yes"])
        found[old] = best_split(no, has, drawn, g, h, units, l2, least_slope)
        found.append(best_split(yes, has, drawn, g, h, units, l2, least_slope))
    return tree, leaves


def rounds(
    has, odds, labels, weights, candidates, n_drawn, random, n_rounds, *, rate, l2, max_leaves, units, least_slope
):
    """[(tree, values (leaves, states), rows of each leaf)] of so many rounds; odds (states, rows), float32, change."""
    out = []
    for _ in range(n_rounds):
        g, h = gradients(odds, labels, weights, units, random)
        drawn = draw(candidates, n_drawn, random)
        tree, leaves = grow(has, drawn, g, h, units, l2, max_leaves, least_slope)
        values = np.zeros((len(leaves), len(odds)))
        for k, rows in enumerate(leaves):
            for c in range(len(odds)):
                values[k, c] = rate * g[rows, c].sum() / units[0] / (h[rows, c].sum() / units[1] + l2)
                odds[c, rows] *= np.float32(math.exp(values[k, c]))
        out.append((tree, values, leaves))
    return out
