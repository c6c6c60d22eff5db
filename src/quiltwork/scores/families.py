"""Scores of a family: counts in, one number out; natural log, larger is better.

All scores of tables here have one form. With counts n_jk of the child's r states k in the q parent
configurations j, and their sums n_j,

    score = sum_jk f(n_jk, a) - sum_j f(n_j, r a) + cost * q (r - 1)

| score     | f(n, a)               | a         | cost per parameter |
|-----------|-----------------------|-----------|--------------------|
| loglik    | n log n               | -         | 0                  |
| aic       | n log n               | -         | -1                 |
| bic       | n log n               | -         | -(log m) / 2       |
| mdl       | n log (n + a)         | N / (r q) | -(log m) / 2       |
| uniform   | lnG(n + a) - lnG(a)   | 1         | log kappa          |
| bdeu      | lnG(n + a) - lnG(a)   | N / (r q) | log kappa          |

`mdl` is Eq 6 of the hybrid-random-field paper with its smoothed estimates (Eqs 3-4) inside the likelihood, N
the largest number of states; `uniform` is K2's metric; `bdeu` has equivalent sample size N; kappa is the
structure prior per free parameter of the decision-graph paper. A configuration that never occurs adds
nothing to any of them, so only the cells that occur are visited.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log

import numpy as np
from numba import njit

NAMES = ("loglik", "aic", "bic", "mdl", "uniform", "bdeu")

_LIKELIHOOD, _SMOOTHED, _DIRICHLET = 0, 1, 2
_MAX_LOOKUP = 2**20


@dataclass(frozen=True, eq=False)
class FamilyScore:
    """One of the scores above, made ready for a number of rows.

    spread      equivalent sample shared by the q r entries of a table (N above), or 0
    each        pseudo-count of every entry whatever the table's size (1 for uniform), or 0
    cost        of one free parameter
    lookup      f(n, a) for whole n where a is the same for all tables, else empty
    """

    name: str
    form: int
    spread: float
    each: float
    cost: float
    lookup: np.ndarray

    @classmethod
    def make(
        cls,
        name: str,
        total: float,
        n_states: np.ndarray,
        *,
        whole: bool = True,
        equivalent_sample_size: float = 10.0,
        kappa: float = 1.0,
    ) -> FamilyScore:
        """The score `name` for data of total weight `total`; `whole`: all counts are whole numbers.

        >>> score = FamilyScore.make("bic", 4, np.array([2]))
        >>> round(score(np.array([[2.0, 2.0]])), 6)
        -3.465736
        """
        most = int(n_states.max(initial=1))
        limit = int(min(total, _MAX_LOOKUP)) + most + 2 if whole else 0
        n = np.arange(limit, dtype=float)
        if name in ("loglik", "aic", "bic"):
            cost = {"loglik": 0.0, "aic": -1.0, "bic": -0.5 * log(max(total, 1.0))}[name]
            return cls(name, _LIKELIHOOD, 0.0, 0.0, cost, n * np.log(np.maximum(n, 1.0)))
        if name == "mdl":
            return cls(name, _SMOOTHED, float(most), 0.0, -0.5 * log(max(total, 1.0)), np.empty(0))
        if name == "uniform":
            return cls(name, _DIRICHLET, 0.0, 1.0, log(kappa), np.cumsum(np.log(np.maximum(n, 1.0))))
        if name == "bdeu":
            return cls(name, _DIRICHLET, equivalent_sample_size, 0.0, log(kappa), np.empty(0))
        raise ValueError(name)

    def __call__(self, counts: np.ndarray) -> float:
        """Score of a dense table of counts (n_configs, states)."""
        n_configs, n_states = counts.shape
        config, state = np.nonzero(counts)
        return float(
            _score_cells(*self.plain(), n_configs, n_states, config, np.ascontiguousarray(counts[config, state], float))
        )

    def plain(self) -> tuple:
        return self.form, self.spread, self.each, self.cost, self.lookup


def dirichlet_score(counts: np.ndarray, prior: np.ndarray) -> float:
    """Log marginal likelihood of a table of counts (n_configs, states) under Dirichlet priors of its shape.

    >>> table = np.array([[2.0, 1.0], [0.0, 3.0]])
    >>> bdeu = FamilyScore.make("bdeu", 6, np.array([2, 2]), equivalent_sample_size=1.0)
    >>> abs(dirichlet_score(table, np.full((2, 2), 0.25)) - bdeu(table)) < 1e-12
    True
    """
    from scipy.special import gammaln

    cells = (gammaln(prior + counts) - gammaln(prior)).sum()
    return float(cells + (gammaln(prior.sum(1)) - gammaln(prior.sum(1) + counts.sum(1))).sum())


# Kernels: counts in, scores out


@njit(cache=True, nogil=True)
def score_candidates(
    form, spread, each, cost, lookup, n_states, first_column, child, parents,
    cell_config, cell_state, cell_count, joint, low, high, out,
):  # fmt: skip
    """Fill out[low:high] with what adding each variable as a parent would gain, from what `count_candidates` counted.

    The entries of the parents get what dropping each would gain. Returns the score of the family as it is.
    """
    r = n_states[child]
    q = 1.0
    for p in parents:
        q *= n_states[p]
    base = _score_cells(form, spread, each, cost, lookup, q, r, cell_config, cell_count)
    shift = np.int64(max(r * each - 1.0, 0.0))
    if cell_count.sum() + shift < lookup.size and n_states[low:high].max() <= 2:
        gain = np.empty(joint.shape[1])  # a constant has no column
        _score_binary(cost, lookup, shift, q, r, base, cell_config, cell_count, joint, gain)
        for u in range(low, high):
            out[u] = gain[first_column[u] - first_column[low]] if n_states[u] == 2 else 0.0
    else:
        for u in range(low, high):
            own = joint[:, first_column[u] - first_column[low] : first_column[u + 1] - first_column[low]]
            out[u] = _score_one(form, spread, each, cost, lookup, q, r, cell_config, cell_count, own) - base
    _score_drops(
        form,
        spread,
        each,
        cost,
        lookup,
        n_states,
        r,
        q,
        parents,
        cell_config,
        cell_state,
        cell_count,
        base,
        low,
        high,
        out,
    )
    if low <= child < high:
        out[child] = -np.inf
    return base


@njit(cache=True, nogil=True)
def _score_one(form, spread, each, cost, lookup, q, r, cell_config, cell_count, own):
    """Score with one more parent; own (cells, its states - 1), the cells of a configuration together."""
    r_u = own.shape[1] + 1
    a = each + spread / (q * r_u * r)
    total = 0.0
    first = 0  # of the cells of this configuration
    for c in range(cell_config.size):
        rest = cell_count[c]
        for t in range(r_u - 1):
            total += _f(form, lookup, own[c, t], a)
            rest -= own[c, t]
        total += _f(form, lookup, rest, a)
        if c + 1 == cell_config.size or cell_config[c + 1] != cell_config[c]:
            rest = 0.0
            for k in range(first, c + 1):
                rest += cell_count[k]
            for t in range(r_u - 1):
                n = 0.0
                for k in range(first, c + 1):
                    n += own[k, t]
                total -= _f(form, lookup, n, r * a)
                rest -= n
            total -= _f(form, lookup, rest, r * a)
            first = c + 1
    return total + cost * q * r_u * (r - 1)


@njit(cache=True, nogil=True)
def _score_binary(cost, lookup, shift, q, r, base, cell_config, cell_count, joint, out):
    """`_score_one` for many binary candidates side by side, where f(n, a) = lookup[n] and
    f(n, r a) = lookup[n + shift] - lookup[shift].
    """
    n_candidates = out.size
    ones = np.zeros(n_candidates, np.int64)
    out[:] = cost * q * 2.0 * (r - 1) - base
    config_count = np.int64(0)
    for c in range(cell_config.size):
        count = np.int64(cell_count[c])
        for u in range(n_candidates):
            n = np.int64(joint[c, u])
            ones[u] += n
            out[u] += lookup[n] + lookup[count - n]
        config_count += count
        if c + 1 == cell_config.size or cell_config[c + 1] != cell_config[c]:
            for u in range(n_candidates):
                out[u] -= lookup[ones[u] + shift] + lookup[config_count - ones[u] + shift] - 2.0 * lookup[shift]
                ones[u] = 0
            config_count = np.int64(0)


@njit(cache=True, nogil=True)
def _score_cells(form, spread, each, cost, lookup, q, r, cell_config, cell_count):
    """Score of a family from the cells that occur, the cells of a configuration together."""
    a = each + spread / (q * r)
    total = 0.0
    n_j = 0.0
    for c in range(cell_config.size):
        total += _f(form, lookup, cell_count[c], a)
        n_j += cell_count[c]
        if c + 1 == cell_config.size or cell_config[c + 1] != cell_config[c]:
            total -= _f(form, lookup, n_j, r * a)
            n_j = 0.0
    return total + cost * q * (r - 1)


@njit(cache=True, nogil=True)
def _score_drops(
    form, spread, each, cost, lookup, n_states, r, q, parents, cell_config, cell_state, cell_count, base, low, high, out
):
    """out[p] for each parent p: the score without p, less the score with it."""
    n_cells = cell_config.size
    key = np.empty(n_cells, np.int64)
    place = 1  # how many configurations one step of this parent's state spans
    for k in range(parents.size - 1, -1, -1):
        p = parents[k]
        if not low <= p < high:
            place *= n_states[p]
            continue
        for c in range(n_cells):
            above = cell_config[c] // (place * n_states[p])
            key[c] = (above * place + cell_config[c] % place) * r + cell_state[c]
        by_key = np.argsort(key, kind="mergesort")
        merged_config = np.empty(n_cells, np.int64)
        merged_count = np.empty(n_cells)
        n_merged = 0
        for i in range(n_cells):
            c = by_key[i]
            if i > 0 and key[c] == key[by_key[i - 1]]:
                merged_count[n_merged - 1] += cell_count[c]
            else:
                merged_config[n_merged] = key[c] // r
                merged_count[n_merged] = cell_count[c]
                n_merged += 1
        without = _score_cells(
            form, spread, each, cost, lookup, q / n_states[p], r, merged_config[:n_merged], merged_count[:n_merged]
        )
        out[p] = without - base
        place *= n_states[p]


@njit(cache=True, nogil=True)
def _f(form, lookup, n, a):
    """f(n, a) of the module's table; 0 for n = 0 (and for the trace that sums of weights may leave below it)."""
    if n <= 0.0:
        return 0.0
    if form == _LIKELIHOOD:
        i = np.int64(n)
        if i == n and i < lookup.size:
            return lookup[i]
        return n * np.log(n)
    if form == _SMOOTHED:
        return n * np.log(n + a)
    if lookup.size > 0:  # uniform: a is 1 for an entry and r for their sum, so log-gammas come from one table
        i, shift = np.int64(n), np.int64(a) - 1
        if i == n and i + shift < lookup.size:
            return lookup[i + shift] - lookup[shift]
    return lgamma(n + a) - lgamma(a)
