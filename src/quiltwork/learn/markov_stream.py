"""A stream of rows on its way to a Markov network: trees that grow as it passes, and a sample of it for the weights.

Trees need each row once (`search/hoeffding.py`). Weights need rows again and again, so a uniform sample of all rows so
far is kept: row i (from 0) enters a full sample of s rows with probability s / (i + 1), in the place of a random one
(reservoir sampling). What comes out depends on the rows and their order, not on how they were cut into batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from quiltwork.backends.threads import Threads
from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.columns import Columns, columns_of
from quiltwork.data.dataset import NO_CODE, Dataset, Variable, from_codes, physical_memory
from quiltwork.data.encode import Encoder
from quiltwork.errors import DataError, ParameterError, ResourceLimitError, SchemaMismatchError
from quiltwork.rng import stream
from quiltwork.search.hoeffding import HoeffdingTree, StreamRules

ROWS_AT_A_TIME = 4096  # whose codes are held at once
SETTLED = (  # parameters that the first batch settles: how rows are read and kept, and how trees grow
    "kappa", "delta", "tie", "grace", "memory", "missing", "unseen", "max_states", "discretise", "random_state",
)  # fmt: skip


class Stream:
    """What is kept of the rows so far.

    encoder       names and states of the variables, as the first batch had them
    sample        rows of codes, uniformly drawn from all so far
    n_seen        rows so far
    state_counts  (all states,) how often each state of each variable occurred so far
    """

    def __init__(self, encoder: Encoder, rules: StreamRules, memory: int, seed: int, settings: Mapping[str, object]):
        n_states = np.array([variable.n_states for variable in encoder.variables], np.int64)
        _check_memory(8.0 * float(n_states.sum()) ** 2)
        self.encoder, self.n_seen = encoder, 0
        self.sample = np.empty((0, len(n_states)), np.uint16)
        self.state_counts = np.zeros(n_states.sum())
        self._first = np.cumsum(n_states) - n_states
        self._rules, self._memory, self._rng = rules, memory, stream(seed)
        self._growing = [HoeffdingTree(v, n_states) for v in range(len(n_states))]
        self._settled = {name: repr(settings[name]) for name in SETTLED}

    def check_settled(self, settings: Mapping[str, object]) -> None:
        """Refuse other values of what the first batch has settled."""
        for name, was in self._settled.items():
            if repr(settings[name]) != was:
                raise ParameterError(
                    f"The {name!r} parameter of MarkovNetwork must stay {was} while a stream goes on: its trees have "
                    f"grown with it. Got {settings[name]!r} instead; set it back, or begin anew with another learner."
                )

    def encode(self, X: object) -> Dataset:
        """The rows of a later batch, which must have the columns of the first and no missing values."""
        columns = columns_of(X)
        _check_columns(columns, [variable.name for variable in self.encoder.variables])
        data = self.encoder.encode(columns)
        if data.missing is None:
            return data
        gaps = np.array([data.column(v) == NO_CODE for v in range(data.n_vars)])
        if self.encoder.missing != "drop":
            v = int(gaps.any(axis=1).argmax())
            raise _not_of_the_first_batch(self.encoder.variables[v], columns, v, int(gaps[v].argmax()))
        whole = data.rows(np.flatnonzero(~gaps.any(axis=0)))
        return from_codes(whole.variables, [whole.column(v) for v in range(whole.n_vars)])

    def feed(self, data: Dataset, threads: Threads) -> None:
        """Let rows pass: every tree sees each of them once."""
        for low in range(0, data.n_samples, ROWS_AT_A_TIME):
            codes = data.rows(slice(low, low + ROWS_AT_A_TIME)).states()
            threads.run(partial(self._grow, codes), len(self._growing))
            self._keep(codes)
            self.state_counts += np.bincount((codes + self._first).ravel(), minlength=len(self.state_counts))
            self.n_seen += len(codes)
            _check_memory(2 * sum(tree.nbytes for tree in self._growing))  # each may double next

    def _grow(self, codes: np.ndarray, v: int) -> None:
        self._growing[v].feed(codes, self._rules)

    def trees(self) -> list[TreeCPD]:
        """The trees as they are now."""
        return [tree.cpd() for tree in self._growing]

    def rows(self) -> Dataset:
        """The sample as a Dataset; each of its rows stands for as many of the stream."""
        weights = np.full(len(self.sample), self.n_seen / max(1, len(self.sample)))
        return from_codes(self.encoder.variables, list(self.sample.T), weights)

    def _keep(self, codes: np.ndarray) -> None:
        free = self._memory - len(self.sample)
        places = (self._rng.random(len(codes)) * (self.n_seen + 1 + np.arange(len(codes)))).astype(np.int64)
        self.sample = np.concatenate([self.sample, codes[:free]])
        for i in range(min(free, len(codes)), len(codes)):
            if places[i] < self._memory:
                self.sample[places[i]] = codes[i]


def _check_columns(columns: Columns, names: list[str]) -> None:
    if not columns.named:
        if len(columns.names) != len(names):
            raise SchemaMismatchError(
                f"X has {len(columns.names)} features, but MarkovNetwork is expecting {len(names)} features as input, "
                "those of the stream's first batch: give all of them, or start a new learner for other columns."
            )
        return
    lacking, more = (
        ", ".join(map(repr, these[:3])) + (", ..." if len(these) > 3 else "")
        for these in (sorted(set(names) - set(columns.names)), sorted(set(columns.names) - set(names)))
    )
    told = [f"it lacks {lacking}"] * bool(lacking) + [f"it has {more} besides"] * bool(more)
    if told:
        raise SchemaMismatchError(
            f"A batch must have the {len(names)} columns of the stream's first: {' and '.join(told)}. Give just those, "
            "in any order, or start a new learner for other columns."
        )


def _not_of_the_first_batch(variable: Variable, columns: Columns, v: int, row: int) -> DataError:
    """What to raise where a cell of a later batch has no code; columns without names are in the order of variables."""
    part: Any = columns.part(variable.name if columns.named else columns.names[v])
    value = part[row] if isinstance(part, np.ndarray) else (*part.labels, None)[part.codes[row]]
    value = value.item() if isinstance(value, np.generic) else value
    shown = ", ".join(map(repr, variable.states[:8])) + (", ..." if variable.n_states > 8 else "")
    got = "a missing value" if value is None or value != value else repr(value)
    return DataError(
        f"Column {variable.name!r} of the stream has the states of its first batch, {shown}. Got {got} in row {row} of "
        "this one; show all states in the first batch, or begin anew with missing='drop', which leaves such rows out."
    )


def _check_memory(n_bytes: float) -> None:
    if n_bytes > physical_memory():
        raise ResourceLimitError(
            f"The counts of a stream's trees need {n_bytes / 2**30:.1f} GB: leave out rare columns, or lower kappa or "
            "tie."
        )
