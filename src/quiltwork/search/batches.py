"""The pseudo-likelihood of a table too large to be swept at once: some of its rows at a time.

Before its rows can be read as often as an optimiser asks, a batch must be swept (`stats/pseudo_likelihood.py`), which
takes ten times as long as reading it. Each epoch divides the rows anew, at random. The division of epoch 0 is asked for
again and again by `maximise_in_batches`, so as many of its batches as HELD bytes hold stay swept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from quiltwork.data.dataset import Dataset
from quiltwork.rng import stream
from quiltwork.search.weights import Objective
from quiltwork.stats.conjunctions import Conjunctions
from quiltwork.stats.pseudo_likelihood import PseudoLikelihood, Run

HELD = 2**28


class RowBatches:
    """Batches of `size` rows of `data` as objectives: calling it with an epoch yields each with its number of rows."""

    def __init__(self, data: Dataset, features: Conjunctions, size: int, seed: int, run: Run):
        self._data, self._features, self._size, self._seed, self._run = data, features, size, seed, run
        self._ready: dict[int, tuple[Objective, float]] = {}
        self._room = HELD

    def __call__(self, epoch: int) -> Iterator[tuple[Objective, float]]:
        order = stream(self._seed, epoch).permutation(self._data.n_samples)
        for low in range(0, len(order), self._size):
            if epoch == 0 and low in self._ready:
                yield self._ready[low]
                continue
            rows = self._data.rows(np.sort(order[low : low + self._size]))
            if rows.total == 0:
                continue
            swept = PseudoLikelihood.of(rows, self._features, self._run)
            batch = partial(swept, run=self._run), rows.total
            if epoch == 0 and swept.nbytes <= self._room:
                self._ready[low] = batch
                self._room -= swept.nbytes
            yield batch
