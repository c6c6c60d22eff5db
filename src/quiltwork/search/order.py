"""K2: the best parents of each variable among those that come before it (Cooper and Herskovits 1992).

With an order of the variables no cycle can arise, so each variable is solved alone: add the parent that helps
most until none helps or there are as many as allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from quiltwork.search.graph import TOLERANCE, Scorer


def k2(
    order: Sequence[int],
    scorer: Scorer,
    start: Sequence[tuple[int, ...]],
    max_parents: int | None,
    each: Callable[[int], None] = lambda done: None,
) -> list[tuple[int, ...]]:
    """Parents of every variable; `start` holds those that must be there; ties go to the lowest column."""
    n_vars = len(order)
    limit = n_vars if max_parents is None else max_parents
    chosen: list[tuple[int, ...]] = list(start)
    row = np.empty(n_vars)
    for place, child in enumerate(order):
        before = np.sort(np.array(order[:place], np.int64))
        while len(chosen[child]) < limit:
            scorer(child, chosen[child], row)
            candidates = np.setdiff1d(before, chosen[child], assume_unique=True)
            if not len(candidates):
                break
            top = row[candidates].max()
            if not top > TOLERANCE:
                break
            best = int(candidates[np.argmax(row[candidates] > top - TOLERANCE)])
            chosen[child] = tuple(sorted((*chosen[child], best)))
        each(place + 1)
    return chosen
