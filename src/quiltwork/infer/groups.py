"""Conditional marginal log-likelihood (CMLL): how well a model predicts a part of each row from the rest.

The variables are divided into groups. Each group in turn is the query and all other variables are the evidence:

    CMLL(x) = sum over groups Q of sum over v in Q of log P(x_v | x outside of Q)

It stands between the pseudo-likelihood, where every group is a single variable, and the likelihood, where the whole row
is one; the division matters, so it is part of the answer.

In a Markov network most of a row is evidence, and evidence takes features away. What is left of a group falls into
parts that share no feature: the joint states of each part are enumerated where they are few enough (see `parts`);
otherwise they are summed out by elimination where that is narrow, and sampled by Gibbs (see `walk`) or MC-SAT where it
is not, with as much burn-in and as many samples as in the paper.

Papers   Lee, Ganapathi, Koller (2007); Lowd and Davis (2010), section IV, for four groups, 1,000 and 10,000 samples
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quiltwork.data.dataset import NO_CODE, position
from quiltwork.errors import InputError, IntractableError, ResourceLimitError
from quiltwork.infer.boxes import boxes_of, starts
from quiltwork.infer.chains import R_HAT_LIMIT, side_by_side
from quiltwork.infer.elimination import MAX_ENTRIES
from quiltwork.infer.exact import MARGINALS, impossible
from quiltwork.infer.gibbs import gibbs_batches
from quiltwork.infer.group_samples import SMALLEST, Sampler, judge, mcsat_batches, sampled_row
from quiltwork.infer.parts import enumerate_rows, part_of
from quiltwork.infer.question import model_of, rows_of
from quiltwork.infer.undirected import boxed_log_mass, boxed_marginals
from quiltwork.models.markov import MarkovNet
from quiltwork.params import Choice, Integer, Param
from quiltwork.rng import seed_of, stream

GROUPS = 4
MAX_JOINT = 2**20  # joint states of a part that are enumerated: beyond, sampling takes less time
KERNEL_ENTRIES = 2**22  # boxes and joint states visited before a kernel returns
ROWS = 256  # of one task

METHOD = Param("method", "auto", (Choice(("auto", "exact", "gibbs", "mcsat")),), "how to compute the marginals")
DRAWS = Param("n_samples", 10_000, (Integer(1),), "sweeps of the sampler that count")
BURN_IN = Param("burn_in", 1_000, (Integer(0),), "sweeps of the sampler before they count")


@dataclass(frozen=True, eq=False)
class GroupLikelihood:
    """The conditional marginal log-likelihood of rows, and how far to trust it.

    rows         (rows,) the value of each row
    groups       names of the variables of each group
    method       "exact", or how the marginals that are not were sampled
    exact        share of the marginals that are exact; of a missing value there is none, and the rest were sampled
    error        standard error of the mean over the rows that comes from sampling; 0.0 where all marginals are exact
    r_hat        how far the chains of the worst sampled marginal agree, 1 is best; 1.0 where all marginals are exact
    n_unsettled  rows of whose sampled marginals one or more have chains that disagree: their values are rough, and the
                 error bar does not say how rough

    >>> GroupLikelihood(np.array([-1.5, -0.5]), (("rain",), ("wet",)), "exact", 1.0, 0.0, 1.0, 0).converged
    True
    """

    rows: np.ndarray
    groups: tuple[tuple[str, ...], ...]
    method: str
    exact: float
    error: float
    r_hat: float
    n_unsettled: int

    @property
    def mean(self) -> float:
        return float(self.rows.mean())

    @property
    def converged(self) -> bool:
        """Whether the chains of all sampled marginals agree."""
        return self.n_unsettled == 0

    def __str__(self) -> str:
        """One sentence."""
        told = f"{self.mean:.4f} per row over {len(self.groups)} groups, by {self.method}"
        if self.method == "exact":
            return told
        told += f", {self.exact:.0%} of the marginals exact, standard error {self.error:.2g}"
        if self.converged:
            return f"{told}; the chains agree (R-hat up to {self.r_hat:.3f})"
        rows = f"{self.n_unsettled:,} of {len(self.rows):,} rows"
        return f"{told}; the chains of {rows} disagree (R-hat up to {self.r_hat:.2f})"


def conditional_marginal_log_likelihood(
    model: Any,
    X: object,
    groups: int | Sequence[Sequence[str]] | None = None,
    method: str = "auto",
    *,
    n_samples: int = 10_000,
    burn_in: int = 1_000,
    seed: object = 0,
) -> GroupLikelihood:
    """The sum of log P(x_v | the variables outside of v's group) over all v, for each row of X.

    model    a model or a fitted estimator
    groups   how many groups of about the same size to draw (by the seed), or the names in each; None draws four, or one
             for each variable where there are fewer
    method   "exact", "gibbs", "mcsat", or "auto": exact where the joint states can be enumerated, else Gibbs
    n_samples, burn_in, seed  of the sampler: draws of all chains of a row together, and of each chain before they count

    >>> import quiltwork as qw
    >>> table = qw.sample(qw.textbook("sprinkler"), 500, seed=0)
    >>> net = qw.learn("mn", table, structure="chi2", k=2)
    >>> found = conditional_marginal_log_likelihood(net, table, groups=2)
    >>> found.rows.shape, found.groups, found.method
    ((500,), (('cloudy', 'wet'), ('sprinkler', 'rain')), 'exact')
    >>> alone = conditional_marginal_log_likelihood(net, table, groups=4)  # each variable given all others
    >>> bool(abs(alone.mean - qw.pseudo_log_likelihood(net, table).mean()) < 1e-12)
    True
    """
    model = model_of(model)
    for param, value in ((METHOD, method), (DRAWS, n_samples), (BURN_IN, burn_in)):
        param.check("conditional_marginal_log_likelihood", value)
    seed = seed_of(seed, "seed")
    if not all(variable.states for variable in model.variables):
        raise IntractableError(
            f"A {type(model).__name__} is of numbers, whose groups have densities and no probabilities of states; use "
            "pseudo_log_likelihood or log_likelihood."
        )
    columns = _columns(model, min(GROUPS, len(model.variables)) if groups is None else groups, seed)
    codes = rows_of(model, X).states()
    sampler = Sampler(method, n_samples, burn_in, seed)
    of_group = _markov_group if isinstance(model, MarkovNet) else _any_group
    told = [of_group(model, np.array(group), codes, sampler) for group in columns]
    n_sampled = sum(each.n_sampled for each in told)
    n_asked = int(np.count_nonzero(codes[:, [v for group in columns for v in group]] != NO_CODE))
    r_hats = np.max([each.r_hat for each in told], axis=0, initial=1.0)
    return GroupLikelihood(
        rows=np.sum([each.logs for each in told], axis=0),
        groups=tuple(tuple(model.variables[v].name for v in group) for group in columns),
        method="exact" if not n_sampled else "gibbs" if method == "auto" else method,
        exact=1.0 - n_sampled / max(1, n_asked),
        error=math.sqrt(np.sum([each.squared for each in told])) / max(1, len(codes)),
        r_hat=float(r_hats.max(initial=1.0)),
        n_unsettled=int((r_hats > R_HAT_LIMIT).sum()),
    )


class Group(NamedTuple):
    """What is found about a group: by row the sum of its log marginals, their squared error and the largest R-hat; and
    how many marginals of all rows were sampled."""

    logs: np.ndarray
    squared: np.ndarray
    r_hat: np.ndarray
    n_sampled: int


def _columns(model: Any, groups: int | Sequence[Sequence[str]], seed: int) -> list[list[int]]:
    """The columns of each group, ascending."""
    n_vars = len(model.variables)
    if isinstance(groups, (int, np.integer)) and not isinstance(groups, bool):
        if not 1 <= groups <= n_vars:
            raise InputError(f"'groups' must be from 1 to {n_vars}, the number of variables. Got {groups} instead.")
        return [sorted(part.tolist()) for part in np.array_split(stream(seed).permutation(n_vars), groups)]
    is_lists = isinstance(groups, Iterable) and not isinstance(groups, (str, bytes, Mapping))
    named = list(groups) if is_lists else []  # type: ignore[arg-type]
    if not named or any(isinstance(names, (str, bytes)) or not isinstance(names, Iterable) for names in named):
        raise InputError(
            f"'groups' must be how many groups to draw, or a list of the names in each: [['a', 'b'], ['c']]. Got "
            f"{groups!r} instead."
        )
    columns = [sorted(position(name, model.variables) for name in names) for names in named]
    everyone = [v for group in columns for v in group]
    if len(set(everyone)) < len(everyone) or not all(columns):
        raise InputError(
            f"Every group needs a variable, and every variable may be in one group only. Got {groups!r} instead."
        )
    return columns


# Models without features


def _any_group(model: Any, group: np.ndarray, codes: np.ndarray, sampler: Sampler) -> Group:
    exact = next((MARGINALS[kind] for kind in type(model).__mro__ if kind in MARGINALS), None)
    if exact is None and sampler.method in ("exact", "mcsat"):
        what = "has no exact marginals" if sampler.method == "exact" else "is no joint distribution, as MC-SAT needs"
        raise IntractableError(f"A {type(model).__name__} {what}; use method='gibbs'.")
    logs, squared, r_hats = np.zeros(len(codes)), np.zeros(len(codes)), np.ones(len(codes))
    sampled = np.zeros(len(codes), np.int64)
    first = starts([variable.n_states for variable in model.variables])
    for i, row in enumerate(codes):
        wanted = group[row[group] != NO_CODE]
        if not len(wanted):
            continue
        known = row.copy()
        known[group] = NO_CODE
        at, flat = first[wanted] + row[wanted], None
        if exact is not None and sampler.method in ("auto", "exact"):
            try:
                flat = exact(model, known, MAX_ENTRIES)
                if flat is None:
                    raise impossible({model.variables[v].name: model.variables[v].states[s] for v, s in _seen(known)})
            except ResourceLimitError:
                if sampler.method == "exact":
                    raise
        if flat is not None:
            logs[i] = np.log(flat[at], out=np.full(len(at), -np.inf), where=flat[at] > 0).sum()
            continue
        ask = mcsat_batches if sampler.method == "mcsat" else gibbs_batches
        batches = ask(model, known, wanted, sampler.n_samples, sampler.burn_in, sampler.seed)
        told = judge(batches[:, :, at])
        logs[i], squared[i], r_hats[i], sampled[i] = told.logs.sum(), told.squared.sum(), told.r_hat, len(at)
    return Group(logs, squared, r_hats, int(sampled.sum()))


def _seen(row: np.ndarray) -> list[tuple[int, int]]:
    return [(int(v), int(row[v])) for v in np.flatnonzero(row != NO_CODE)[:8]]


# Markov networks


def _markov_group(model: MarkovNet, group: np.ndarray, codes: np.ndarray, sampler: Sampler) -> Group:
    part = part_of(boxes_of(model), group)
    limit = MAX_JOINT if sampler.method in ("auto", "exact") else 0
    whole = np.flatnonzero((codes != NO_CODE).all(axis=1))
    shape = len(codes), len(group)
    logs, squared, left = np.zeros(shape), np.zeros(shape), np.ones(shape, np.bool_)
    at_a_time = max(1, min(ROWS, KERNEL_ENTRIES // (1 + len(part.weight) + limit)))

    def some_rows(k: int) -> Iterator[None]:
        for rows in np.split(whole[k * ROWS : (k + 1) * ROWS], range(at_a_time, ROWS, at_a_time)):
            logs[rows], left[rows] = enumerate_rows(part, codes[rows], limit)
            yield

    side_by_side(some_rows, -(-len(whole) // ROWS))
    open_rows = np.flatnonzero(left.any(axis=1))
    r_hats, sampled = np.ones(len(codes)), np.zeros(len(open_rows), np.int64)

    def one_row(k: int) -> Iterator[None]:
        i = int(open_rows[k])
        wanted = left[i] & (codes[i, group] != NO_CODE)
        if not wanted.any():
            return
        known = codes[i].copy()
        known[group] = NO_CODE
        found = None
        if sampler.method in ("auto", "exact"):
            try:
                found = _eliminated(model, known, group[wanted], codes[i])
            except ResourceLimitError:
                if sampler.method == "exact":
                    raise
        if found is not None:
            logs[i, wanted] = found
            return
        told = yield from sampled_row(model, known, group[wanted], codes[i], sampler, i)
        logs[i, wanted], squared[i, wanted], r_hats[i] = told
        sampled[k] = np.count_nonzero(wanted)

    side_by_side(one_row, len(open_rows))
    return Group(logs.sum(axis=1), squared.sum(axis=1), r_hats, int(sampled.sum()))


def _eliminated(model: MarkovNet, known: np.ndarray, wanted: np.ndarray, row: np.ndarray) -> np.ndarray:
    """log P(x_v | evidence) of the wanted variables at their states in a row."""
    flat = boxed_marginals(model, known, MAX_JOINT)
    assert flat is not None  # every joint state of a Markov network is possible
    p = flat[boxes_of(model).first_state[wanted] + row[wanted]]
    logs = np.log(p, out=np.zeros(len(p)), where=p > SMALLEST)
    for k in np.flatnonzero(p <= SMALLEST):  # beyond the range of a probability, not of a logarithm
        and_this = known.copy()
        and_this[wanted[k]] = row[wanted[k]]
        logs[k] = boxed_log_mass(model, and_this, MAX_JOINT) - boxed_log_mass(model, known, MAX_JOINT)
    return logs
