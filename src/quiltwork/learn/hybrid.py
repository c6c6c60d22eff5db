"""Hybrid random fields by Markov Blanket Merging: one small Bayesian network around every variable.

Each variable starts with the k others it depends on most. A hill climb over these few gives its local network,
and in it its blanket. Then neighbours tell each other: the blankets that a variable has in the networks of others are
merged into a new set of candidates, a network is learned over those, and it is kept where it predicts the
variable better. The work grows linearly with the number of variables, for no local problem is larger than k*.

Paper    Freno, Trentin, Gori (2009), sections 2-4 and Algorithm 2
Symbols  R_i relatives of X_i, BN_i its network, MB_i its blanket there, U_i the union of its blankets everywhere
Path     encode -> chi-square relatives -> local climbs -> merge until nothing changes -> tables -> HybridField
Differs  a network that is kept is cut down to X_i and its blanket, which is all that P(X_i | rest) reads, rather than
         learned again over it: so the pseudo-likelihood cannot fall. A refinement that leaves the relatives as they
         are does not count as one, or the loop might never end
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from quiltwork.backends.threads import Threads, n_threads
from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import Encoder
from quiltwork.errors import ParameterError
from quiltwork.infer.blanket import pseudo_log_likelihood
from quiltwork.learn.base import SHARED, Learner, Progress, silent
from quiltwork.models.hybrid import AveragedField, HybridField
from quiltwork.params import Integer, Param, Real
from quiltwork.rng import stream
from quiltwork.search.local import MAX_LOCAL, fill_tables, keep_better, learn_locals, table_sizes, unite_blankets
from quiltwork.stats.families import Arrays, state_counts
from quiltwork.stats.relatives import chi_square_relatives


class HybridRandomField(Learner):
    """A hybrid random field learned by Markov Blanket Merging.

    Attributes
    ----------
    model_ : HybridField, or AveragedField where n_models > 1
        The learned field or fields.
    pseudo_log_likelihoods_ : list of float
        Of one field: pseudo-log-likelihood of the training rows after each round of merging; it never falls.

    Examples
    --------
    >>> import quiltwork as qw
    >>> table = qw.sample(qw.textbook("asia"), 2000, seed=0)
    >>> est = qw.HybridRandomField(k=3, k_star=4).fit(table)
    >>> qw.blanket(est, "xray")
    ['either']

    See Also
    --------
    quiltwork.pseudo_log_likelihood, quiltwork.recommend
    """

    name = "hrf"
    parameters = (
        Param("k", 8, (Integer(1, MAX_LOCAL - 1),), "relatives that each variable starts with"),
        Param("k_star", 10, (Integer(1, MAX_LOCAL - 1),), "most relatives that merging may try; at least k"),
        Param("max_iter", 100, (Integer(0),), "most rounds of merging"),
        Param("n_models", 1, (Integer(1),), "fields to average, each from bootstrapped rows and a share of candidates"),
        Param("candidates", 0.5, (Real(0.0, 1.0, above_low=True),), "share of the columns each averaged field may use"),
        *SHARED,
    )

    model_: HybridField | AveragedField

    def fit(self, X: object, y: object = None, *, progress: Progress | None = None) -> Self:
        """Learn from a table; `progress(stage, done, total)` is called as the work goes on."""
        began = time.perf_counter()
        encoder, data = self._begin(X, None)
        if self.k_star < self.k:
            raise ParameterError(
                f"The 'k_star' parameter of HybridRandomField must be at least k = {self.k}. Got {self.k_star} instead."
            )
        counts, provenance, watch = state_counts(data), self._provenance(data), progress or silent
        with Threads(n_threads(self.n_jobs)) as threads:
            model: HybridField | AveragedField
            if self.n_models == 1:
                locals_ = merge_blankets(data, self.k, self.k_star, self.max_iter, threads, watch)
                self.pseudo_log_likelihoods_ = locals_.history
                model = HybridField(encoder, **locals_.tables(threads), state_counts=counts, provenance=provenance)
            else:
                model = AveragedField(tuple(self._fields(encoder, data, counts, threads, watch)), provenance)
        self.fit_seconds_ = time.perf_counter() - began
        return self._end(model, X)

    def _fields(
        self, encoder: Encoder, data: Dataset, counts: np.ndarray, threads: Threads, watch: Progress
    ) -> Iterator[HybridField]:
        """Fields from bootstrapped rows, each with a random share of the columns as candidate relatives."""
        for m in range(self.n_models):
            rng = stream(self._seed, m)
            rows = data.rows(rng.integers(0, data.n_samples, data.n_samples))
            allowed = rng.random(data.n_vars) < self.candidates
            locals_ = merge_blankets(rows, self.k, self.k_star, self.max_iter, threads, silent, allowed)
            yield HybridField(encoder, **locals_.tables(threads), state_counts=counts, provenance={})
            watch("learning fields", m + 1, self.n_models)

    def score_samples(self, X: object) -> np.ndarray:
        """Pseudo-log-likelihood of each row: a hybrid field has no joint distribution in closed form."""
        return pseudo_log_likelihood(self, X)


# Search: Algorithm 2


def merge_blankets(
    data: Dataset,
    k: int,
    k_star: int,
    max_iter: int,
    threads: Threads,
    progress: Progress,
    allowed: np.ndarray | None = None,
) -> Locals:
    """Learn the networks over the chi-square relatives, then merge blankets until no variable is predicted better."""
    arrays = Arrays.of(data)
    n_vars = data.n_vars
    relatives = chi_square_relatives(arrays, min(k, n_vars - 1), threads.run, allowed)
    now = Locals.over(arrays, relatives, max(k, k_star) + 1)
    now.learn(np.arange(n_vars), threads, progress)
    now.history.append(float(now.log_likelihood.sum()))
    tried = np.full((n_vars, k_star), -2, np.int64)  # the unions that were tried last
    for _ in range(max_iter):
        unions = np.full((n_vars, k_star), -1, np.int64)
        sizes = np.zeros(n_vars, np.int64)
        unite_blankets(now.nodes, now.n_nodes, now.parents, unions, sizes)
        due = np.flatnonzero((sizes > 0) & (sizes <= k_star) & (unions != tried).any(axis=1))
        if not len(due):
            break
        tried[due] = unions[due]
        new = Locals.over(arrays, unions, now.nodes.shape[1])
        new.learn(due, threads, progress)
        if not keep_better(due, now.plain(), new.plain()):
            break
        now.history.append(float(now.log_likelihood.sum()))
    return now


@dataclass
class Locals:
    """Local networks under search: nodes (n_vars, most), the own variable first; parents as bit sets over them."""

    arrays: Arrays
    nodes: np.ndarray
    n_nodes: np.ndarray
    parents: np.ndarray
    log_likelihood: np.ndarray
    history: list[float]

    @classmethod
    def over(cls, arrays: Arrays, relatives: np.ndarray, most: int) -> Locals:
        """Networks without arcs over each variable and its relatives (padded with -1), which are put in order."""
        n_vars = len(relatives)
        nodes = np.zeros((n_vars, most), np.int64)
        n_nodes = 1 + (relatives >= 0).sum(axis=1)
        nodes[:, 0] = np.arange(n_vars)
        ordered = np.sort(np.where(relatives >= 0, relatives, n_vars), axis=1)
        nodes[:, 1 : 1 + relatives.shape[1]] = np.where(ordered < n_vars, ordered, 0)
        return cls(arrays, nodes, n_nodes, np.zeros((n_vars, most), np.uint64), np.zeros(n_vars), [])

    def plain(self) -> tuple:
        return self.nodes, self.n_nodes, self.parents, self.log_likelihood

    def data(self) -> tuple:
        spread = float(self.arrays.n_states.max())
        return (*self.arrays.plain()[:5], self.arrays.n_samples, spread)

    def learn(self, problems: np.ndarray, threads: Threads, progress: Progress) -> None:
        """Learn the networks of these variables, some at a time, so that Ctrl-C is obeyed between."""
        chunks = np.array_split(problems, max(1, len(problems) // 128))
        done = [0]

        def one(i: int) -> None:
            learn_locals(*self.data(), chunks[i], *self.plain())
            done[0] += len(chunks[i])
            progress("learning local networks", done[0], len(problems))

        threads.run(one, len(chunks))

    def tables(self, threads: Threads) -> dict[str, np.ndarray]:
        """The flat arrays of a HybridField: families, parents and smoothed tables of every network."""
        n_vars = len(self.nodes)
        first_family = np.concatenate([[0], np.cumsum(self.n_nodes)])
        filled = np.arange(self.nodes.shape[1]) < self.n_nodes[:, None]
        child = self.nodes[filled]
        sets = self.parents[filled]
        is_parent = (sets[:, None] >> np.arange(self.nodes.shape[1], dtype=np.uint64)) & np.uint64(1) != 0
        members = np.repeat(self.nodes, self.n_nodes, axis=0)
        # By column, so that the parents of a family ascend; a network's own variable comes first among its nodes.
        by_column = np.argsort(members, axis=1, kind="stable")
        parents = np.take_along_axis(members, by_column, axis=1)[np.take_along_axis(is_parent, by_column, axis=1)]
        first_parent = np.concatenate([[0], np.cumsum(is_parent.sum(axis=1))])
        starts = np.concatenate([[0], np.cumsum(table_sizes(self.arrays.n_states, *self.plain()[:3]))])
        probs = np.empty(starts[-1])
        chunks = np.array_split(np.arange(n_vars), max(1, n_vars // 128))
        threads.run(
            lambda i: fill_tables(*self.data(), chunks[i], *self.plain()[:3], first_family, starts, probs), len(chunks)
        )
        return {
            "first_family": first_family,
            "child": child,
            "first_parent": first_parent,
            "parents": parents,
            "first_entry": starts,
            "probs": probs,
        }
