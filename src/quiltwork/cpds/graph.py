"""Decision graphs: decision trees whose leaves may be merged.

A tree cannot say that two of its leaves are the same; a graph can, for several branches may lead to one node. So a
graph can express any equality among the rows of a table. It is walked exactly as a tree is.

Paper    Chickering, Heckerman, Meek (1997), section 3
"""

from __future__ import annotations

from dataclasses import dataclass

from quiltwork.cpds.tree import TreeCPD


@dataclass(frozen=True, eq=False)
class GraphCPD(TreeCPD):
    """P(child | parents) as a decision graph; the arrays are those of a tree.

    >>> import numpy as np
    >>> equal = GraphCPD(  # the child is likely 1 where its two parents differ
    ...     child=2,
    ...     variable=np.array([0, 1, 1, -1, -1]), state=np.array([1, 1, 1, -1, -1]), first=np.array([0, 2, 4, 0, 1]),
    ...     branches=np.array([1, 2, 3, 4, 4, 3]), flow=np.ones(6), gain=np.zeros(5),
    ...     probs=np.array([[0.9, 0.1], [0.1, 0.9]]), counts=np.ones((2, 2)),
    ... )
    >>> equal.leaves(np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], np.uint16))
    array([0, 1, 1, 0])
    """

    kind = "graph"

    @property
    def n_parameters(self) -> int:
        """Free parameters: every leaf is one that some row can reach."""
        return self.n_leaves * (self.probs.shape[1] - 1)
