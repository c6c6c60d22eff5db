"""What moves are worth: the deltas of a child's row, from the data.

A search asks for one row at a time, thousands of times, so this is where the time goes. A row is counted and
scored in blocks of candidates (so that the counts stay in cache), in several threads when it is long enough to pay,
and remembered by family when the search is of a kind that comes back to families it has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, prod

import numpy as np

from quiltwork.scores.families import FamilyScore, dirichlet_score, score_candidates
from quiltwork.search.graph import Graph
from quiltwork.search.scorer import Scorer
from quiltwork.stats.families import MAX_CONFIGS, Arrays, count_candidates, count_family

_BLOCK_BYTES = 2**20
_THREAD_PAYS = 2**22  # words swept: half a millisecond
_FEW_PARENTS = 4  # with so few, configurations cannot pass what int64 holds

# Calls task(i) for each i < n, perhaps in several threads.
Run = Callable[[Callable[[int], None], int], None]


def run_here(task: Callable[[int], None], n: int) -> None:
    for i in range(n):
        task(i)


class _TableScorer(Scorer):
    """A scorer of families that are tables, which must not become too large."""

    def __init__(self, arrays: Arrays, forbidden: np.ndarray | None, required: tuple[tuple[int, int], ...]):
        super().__init__(np.flatnonzero(arrays.n_states < 2), forbidden, required)
        self._arrays = arrays
        self._n_states: list[int] = arrays.n_states.tolist()

    def score_all(self, graph: Graph) -> None:
        """Score every row of a graph."""
        self._score_rows(graph)
        graph.settle_ties(self._arrays.n_states)

    def _score_rows(self, graph: Graph) -> None:
        graph.rescore(range(graph.n_vars))

    def _apply_knowledge(self, child: int, parents: tuple[int, ...], row: np.ndarray) -> None:
        super()._apply_knowledge(child, parents, row)
        if len(parents) > _FEW_PARENTS and prod(self._n_states[p] for p in parents) * max(self._n_states) > MAX_CONFIGS:
            self._only_removals(parents, row, slice(None))


class FamilyDeltas(_TableScorer):
    """Deltas of table families under one of the scores of `scores.families`."""

    def __init__(
        self,
        arrays: Arrays,
        score: FamilyScore,
        *,
        forbidden: np.ndarray | None = None,
        required: tuple[tuple[int, int], ...] = (),
        run: Run = run_here,
        n_threads: int = 1,
    ):
        super().__init__(arrays, forbidden, required)
        self._score, self._run, self._n_threads = score, run, n_threads
        self._most = max(self._n_states, default=1)
        self._counted = arrays.swept()
        self._scored = (*score.plain(), arrays.n_states, arrays.first_column)

    def _score_rows(self, graph: Graph) -> None:
        words = graph.n_vars * float(self._arrays.n_states.sum()) * self._arrays.planes.shape[1]
        if self._n_threads == 1 or words < _THREAD_PAYS:
            return super()._score_rows(graph)
        chunks = np.array_split(np.arange(graph.n_vars), min(graph.n_vars, 16 * self._n_threads))
        threads, self._n_threads = self._n_threads, 1  # the threads are taken: no row is spread over them again
        try:
            self._run(lambda i: graph.rescore(chunks[i].tolist()), len(chunks))
        finally:
            self._n_threads = threads

    def family(self, child: int, parents: tuple[int, ...]) -> float:
        return self._score(count_family(self._arrays, child, parents))

    def _fill(self, child: int, parents: tuple[int, ...], row: np.ndarray) -> float:
        arrays = self._arrays
        own = np.array(parents, np.int64)
        n_cells = self._n_states[child]
        for p in parents:
            n_cells *= self._n_states[p]
        n_cells = min(n_cells, arrays.n_samples)
        block = max(64, _BLOCK_BYTES // (8 * n_cells * self._most))
        if self._n_threads > 1 and n_cells * arrays.planes.shape[1] * len(row) > _THREAD_PAYS:
            block = min(block, -(-len(row) // self._n_threads))
        if block >= len(row):
            return self._fill_block(child, own, row, 0, len(row))
        bounds = [(low, min(low + block, len(row))) for low in range(0, len(row), block)]
        scores = [0.0] * len(bounds)

        def one_block(i: int) -> None:
            scores[i] = self._fill_block(child, own, row, *bounds[i])

        (self._run if self._n_threads > 1 else run_here)(one_block, len(bounds))
        return scores[0]

    def _fill_block(self, child: int, own: np.ndarray, row: np.ndarray, low: int, high: int) -> float:
        counts = count_candidates(*self._counted, child, own, low, high)
        return score_candidates(*self._scored, child, own, *counts, low, high, row)


class PriorDeltas(_TableScorer):
    """Deltas under Dirichlet priors whose counts come from a function of the family: one family at a time.

    prior(child, parents) gives the prior counts (n_configs, states of the child); kappa is the structure prior.
    """

    def __init__(
        self,
        arrays: Arrays,
        prior: Callable[[int, tuple[int, ...]], np.ndarray],
        kappa: float,
        *,
        forbidden: np.ndarray | None = None,
        required: tuple[tuple[int, int], ...] = (),
    ):
        super().__init__(arrays, forbidden, required)
        self._prior, self._kappa = prior, kappa
        self._scores: dict[tuple[int, frozenset[int]], float] = {}

    def _fill(self, child: int, parents: tuple[int, ...], row: np.ndarray) -> float:
        score = self.family(child, parents)
        for u in range(len(row)):
            row[u] = -np.inf if u == child else self.family(child, tuple({*parents} ^ {u})) - score
        return score

    def family(self, child: int, parents: tuple[int, ...]) -> float:
        key = (child, frozenset(parents))
        if key not in self._scores:
            own = tuple(sorted(parents))
            counts = count_family(self._arrays, child, own)
            free = counts.shape[0] * (counts.shape[1] - 1)
            self._scores[key] = dirichlet_score(counts, self._prior(child, own)) + free * log(self._kappa)
        return self._scores[key]
