"""Slow twins of what the viewer computes: one step of the layout, and information between two variables of a joint."""

import itertools
import math


def move(places, one, other, wanted, pull, push, order, step):
    """Every pair in turn is brought towards its distance; a list of [x, y] is returned."""
    places = [list(place) for place in places]
    for t in order:
        a, b = places[one[t]], places[other[t]]
        gap = [a[0] - b[0], a[1] - b[1]]
        length = math.sqrt(gap[0] * gap[0] + gap[1] * gap[1])
        if length >= 1e-12:
            way = (length - wanted[t]) / (2.0 * length)
            for axis in range(2):
                a[axis] -= min(pull[t] * step, 1.0) * way * gap[axis]
                b[axis] += min(push[t] * step, 1.0) * way * gap[axis]
    return places


def information(table, u, v, given):
    """I(u; v | given) in nats, where the table (nested like a NumPy array) is a joint distribution."""
    cells = list(itertools.product(*(range(n) for n in table.shape)))

    def share(*axes):
        sums = {}
        for cell in cells:
            key = tuple(cell[a] for a in axes)
            sums[key] = sums.get(key, 0.0) + float(table[cell])
        return sums

    both, with_u, with_v, alone = share(u, v, *given), share(u, *given), share(v, *given), share(*given)
    found = 0.0
    for (x, y, *rest), p in both.items():
        if p > 0:
            found += p * math.log(p * alone[tuple(rest)] / (with_u[(x, *rest)] * with_v[(y, *rest)]))
    return found
