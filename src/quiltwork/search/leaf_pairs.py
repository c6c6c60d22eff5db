"""All pairs of leaves of one decision graph, and which of them to merge.

What a merge gains follows from the counts of the two leaves alone, so a new leaf costs one row of gains, and a leaf
that is gone costs nothing.

Paper  Chickering, Heckerman, Meek (1997), section 4.1
"""

from __future__ import annotations

import numpy as np

from quiltwork.errors import ResourceLimitError
from quiltwork.scores.splits import TOLERANCE, UNIFORM, merge_gains

MOST_LEAVES = 2**13  # their pairs take half a gigabyte


class LeafPairs:
    """What the merge of any two leaves gains, for a target of r states; leaves live in slots that are used again."""

    def __init__(self, r: int, table: np.ndarray, penalty: float, uniform: bool):
        self._table, self._penalty, self._uniform = table, penalty, uniform
        self._node: list[int] = []
        self._own, self._prior = np.zeros((0, r)), np.zeros((0, r))
        self._gains = np.empty((0, 0))

    def add(self, node: int, own: np.ndarray, prior: np.ndarray) -> None:
        n = len(self._node)
        if n == MOST_LEAVES:
            raise ResourceLimitError(
                f"A decision graph would have more than {MOST_LEAVES:,} leaves, too many for every two to be compared; "
                "take cpd='tree', only binary splits (operators='BM'), or a larger min_leaf."
            )
        self._node.append(node)
        if n == len(self._own):
            size = min(2 * n + 8, MOST_LEAVES)
            self._own = np.concatenate([self._own, np.zeros((size - n, len(own)))])
            self._prior = np.concatenate([self._prior, np.zeros((size - n, len(own)))])
            grown = np.full((size, size), -np.inf)
            grown[:n, :n] = self._gains
            self._gains = grown
        self._own[n] = own
        if not self._uniform:
            self._prior[n] = prior
        row = np.empty(n + 1)
        priors = UNIFORM if self._uniform else self._prior[: n + 1]
        merge_gains(self._table, self._own[: n + 1], priors, self._penalty, n, row)
        self._gains[n, : n + 1] = row  # the lower triangle holds each pair once

    def remove(self, node: int) -> None:
        """The last slot takes the place of the one that goes."""
        gone, last = self._node.index(node), len(self._node) - 1
        if gone != last:
            pairs = self._gains[last, :last].copy()
            pairs[gone] = -np.inf
            self._node[gone], self._own[gone], self._prior[gone] = self._node[last], self._own[last], self._prior[last]
            self._gains[gone, :gone] = pairs[:gone]
            self._gains[gone + 1 : last, gone] = pairs[gone + 1 :]
        self._gains[last, : last + 1] = -np.inf
        self._node.pop()

    def best(self) -> tuple[float, int, int]:
        n = len(self._node)
        if n < 2:
            return -np.inf, -1, -1
        gains = self._gains[:n, :n]
        at = int(np.argmax(gains >= gains.max() - TOLERANCE))
        return float(self._gains[at // n, at % n]), self._node[at // n], self._node[at % n]
