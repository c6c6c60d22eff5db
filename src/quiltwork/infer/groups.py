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
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quiltwork.data.dataset import NO_CODE, position
from quiltwork.errors import InputError, IntractableError, ResourceLimitError
from quiltwork.infer.boxes import Boxes, boxes_of, given, starts
from quiltwork.infer.chains import batch_ends, side_by_side
from quiltwork.infer.elimination import MAX_ENTRIES
from quiltwork.infer.exact import MARGINALS, impossible
from quiltwork.infer.gibbs import gibbs_marginals
from quiltwork.infer.mcsat import sample_boxes
from quiltwork.infer.parts import enumerate_rows, part_of
from quiltwork.infer.question import model_of, rows_of
from quiltwork.infer.undirected import boxed_marginals, reached
from quiltwork.infer.walk import field_of, look_around, sweep, walker_at
from quiltwork.models.markov import MarkovNet
from quiltwork.params import Choice, Integer, Param
from quiltwork.rng import seed_of, stream

MAX_JOINT = 2**20  # joint states of a part that are enumerated: beyond, sampling takes less time
KERNEL_ENTRIES = 2**22  # boxes and joint states visited before a kernel returns
KERNEL_DRAWS = 2**19  # variables drawn before a kernel returns
ROWS = 256  # of one task

METHOD = Param("method", "auto", (Choice(("auto", "exact", "gibbs", "mcsat")),), "how to compute the marginals")
DRAWS = Param("n_samples", 10_000, (Integer(1),), "sweeps of the sampler that count")
BURN_IN = Param("burn_in", 1_000, (Integer(0),), "sweeps of the sampler before they count")


@dataclass(frozen=True, eq=False)
class GroupLikelihood:
    """The conditional marginal log-likelihood of rows, and how far to trust it.

    rows       (rows,) the value of each row
    groups     names of the variables of each group
    method     "exact", or how the marginals that are not were sampled
    exact      share of the marginals that are exact
    error      standard error of the mean over the rows that comes from sampling; 0.0 where all marginals are exact
    """

    rows: np.ndarray
    groups: tuple[tuple[str, ...], ...]
    method: str
    exact: float
    error: float

    @property
    def mean(self) -> float:
        return float(self.rows.mean())


def conditional_marginal_log_likelihood(
    model: Any,
    X: object,
    groups: int | Sequence[Sequence[str]] = 4,
    method: str = "auto",
    *,
    n_samples: int = 10_000,
    burn_in: int = 1_000,
    seed: object = 0,
) -> GroupLikelihood:
    """The sum of log P(x_v | the variables outside of v's group) over all v, for each row of X.

    model    a model or a fitted estimator
    groups   how many groups of about the same size to draw (by the seed), or the names in each
    method   "exact", "gibbs", "mcsat", or "auto": exact where the joint states can be enumerated, else Gibbs
    n_samples, burn_in, seed  of the sampler

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
    columns = _columns(model, groups, seed_of(seed))
    codes = rows_of(model, X).states()
    sampler = Sampler(method, n_samples, burn_in, seed_of(seed))
    of_group = _markov_group if isinstance(model, MarkovNet) else _any_group
    rows, squared, n_sampled = np.zeros(len(codes)), np.zeros(len(codes)), 0
    for group in columns:
        logs, errors, sampled = of_group(model, np.array(group), codes, sampler)
        rows += logs
        squared += errors
        n_sampled += sampled
    n_marginals = max(1, len(codes) * sum(map(len, columns)))
    return GroupLikelihood(
        rows=rows,
        groups=tuple(tuple(model.variables[v].name for v in group) for group in columns),
        method="exact" if not n_sampled else "gibbs" if method == "auto" else method,
        exact=1.0 - n_sampled / n_marginals,
        error=math.sqrt(squared.sum()) / max(1, len(codes)),
    )


class Sampler(NamedTuple):
    """How marginals are found where they are not exact."""

    method: str
    n_samples: int
    burn_in: int
    seed: int


def _columns(model: Any, groups: int | Sequence[Sequence[str]], seed: int) -> list[list[int]]:
    """The columns of each group, ascending."""
    n_vars = len(model.variables)
    if isinstance(groups, (int, np.integer)):
        if not 1 <= groups <= n_vars:
            raise InputError(f"'groups' must be from 1 to {n_vars}, the number of variables. Got {groups} instead.")
        return [sorted(part.tolist()) for part in np.array_split(stream(seed).permutation(n_vars), groups)]
    columns = [sorted(position(name, model.variables) for name in names) for names in groups]
    everyone = [v for group in columns for v in group]
    if len(set(everyone)) < len(everyone) or not all(columns):
        raise InputError("Every group needs a variable, and every variable may be in one group only.")
    return columns


# Models without boxes


def _any_group(
    model: Any, group: np.ndarray, codes: np.ndarray, sampler: Sampler
) -> tuple[np.ndarray, np.ndarray, int]:
    """(log marginals, summed over the group; their squared errors; how many were sampled) of each row."""
    exact = next((MARGINALS[kind] for kind in type(model).__mro__ if kind in MARGINALS), None)
    if exact is None and sampler.method == "exact":
        raise IntractableError(f"A {type(model).__name__} has no exact marginals; use method='gibbs'.")
    first = starts([variable.n_states for variable in model.variables])
    logs, squared = np.zeros(len(codes)), np.zeros(len(codes))
    by_gibbs = exact is None or sampler.method == "gibbs"
    for i, row in enumerate(codes):
        known = row.copy()
        known[group] = NO_CODE
        flat, error = None, 0.0
        if by_gibbs:
            flat, _, error = gibbs_marginals(model, known, sampler.n_samples, sampler.burn_in, sampler.seed)
        elif exact is not None:
            flat = exact(model, known, MAX_ENTRIES)
        if flat is None:
            raise impossible({model.variables[v].name: model.variables[v].states[s] for v, s in _seen(known)})
        observed = group[row[group] != NO_CODE]
        p = flat[first[observed] + row[observed]]
        logs[i] = np.log(p, out=np.full(len(p), -np.inf), where=p > 0).sum()
        squared[i] = np.sum((error / np.maximum(p, error + 1e-300)) ** 2)
    return logs, squared, by_gibbs * len(codes) * len(group)


def _seen(row: np.ndarray) -> list[tuple[int, int]]:
    return [(int(v), int(row[v])) for v in np.flatnonzero(row != NO_CODE)[:8]]


# Markov networks


def _markov_group(
    model: MarkovNet, group: np.ndarray, codes: np.ndarray, sampler: Sampler
) -> tuple[np.ndarray, np.ndarray, int]:
    """(log marginals, summed over the group; their squared errors; how many were sampled) of each row."""
    part = part_of(boxes_of(model), group)
    limit = MAX_JOINT if sampler.method in ("auto", "exact") else 1
    whole = np.flatnonzero((codes != NO_CODE).all(axis=1))
    shape = len(codes), len(group)
    logs, squared, left = np.zeros(shape), np.zeros(shape), np.ones(shape, np.bool_)
    at_a_time = max(1, min(ROWS, KERNEL_ENTRIES // (len(part.weight) + limit)))

    def some_rows(k: int) -> Iterator[None]:
        table = np.empty(limit)
        for rows in np.split(whole[k * ROWS : (k + 1) * ROWS], range(at_a_time, ROWS, at_a_time)):
            logs[rows], left[rows] = enumerate_rows(part, codes[rows], table)
            yield

    side_by_side(some_rows, -(-len(whole) // ROWS))
    open_rows = np.flatnonzero(left.any(axis=1))
    sampled = np.zeros(len(open_rows), np.int64)

    def one_row(k: int) -> Iterator[None]:
        i = open_rows[k]
        wanted = left[i] & (codes[i, group] != NO_CODE)
        known = codes[i].copy()
        known[group] = NO_CODE
        p, errors = yield from _one_row(model, known, group[wanted], codes[i], sampler, int(i))
        logs[i, wanted], squared[i, wanted] = np.log(p), (errors / p) ** 2
        sampled[k] = np.count_nonzero(errors)

    side_by_side(one_row, len(open_rows))
    return logs.sum(axis=1), squared.sum(axis=1), int(sampled.sum())


def _one_row(
    model: MarkovNet, known: np.ndarray, wanted: np.ndarray, row: np.ndarray, sampler: Sampler, i: int
) -> Generator[None, None, tuple[np.ndarray, np.ndarray]]:
    """P(x_v | evidence) of the wanted variables at their states in a row, and standard errors: by elimination where it
    is narrow, else by sampling."""
    boxes, _ = given(boxes_of(model), known)
    at = boxes.first_state[wanted] + row[wanted]
    if sampler.method in ("auto", "exact"):
        try:
            return boxed_marginals(model, known, MAX_JOINT)[at], np.zeros(len(at))  # type: ignore[index]
        except ResourceLimitError:
            if sampler.method == "exact":
                raise
    boxes = reached(boxes, wanted)
    if sampler.method == "mcsat":
        batches = sample_boxes(boxes, wanted, 0, sampler.n_samples, sampler.burn_in, sampler.seed + i, n_chains=1)
    else:
        batches = yield from _gibbs(boxes, sampler, i)
    found = batches[0][:, at]  # type: ignore[index]
    return found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found))


def _gibbs(boxes: Boxes, sampler: Sampler, i: int) -> Generator[None, None, np.ndarray]:
    """Batch means (1, batches, all states) of the conditionals of all variables along one walk."""
    rng = stream(sampler.seed, 2, i)
    field, ends = field_of(boxes), batch_ends(sampler.n_samples, 1)
    walker = walker_at(field, rng.random(len(boxes.n_states)) * boxes.n_states, rng)
    base, nobody = np.zeros(boxes.first_state[-1]), np.empty(0, np.int64)
    batches = np.zeros((1, len(ends), boxes.first_state[-1]))
    at_a_time = max(1, KERNEL_DRAWS // max(1, len(field.free)))
    for k, n in enumerate([sampler.burn_in, *np.diff([0, *ends]).tolist()]):
        sums = batches[0, k - 1] if k else np.empty(0)
        for done in range(0, n, at_a_time):
            look_around(field, walker)  # so that rounding does not add up
            sweep(field, walker, base, 1.0, min(at_a_time, n - done), nobody, False, sums)
            yield
        sums /= n
    return batches
