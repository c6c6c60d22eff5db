"""Exact answers of a Gaussian network: every marginal and every conditional is a Gaussian again.

The network says x_v = intercept_v + sum of weight_vp x_p + σ_v ε_v, with ε independent and standard. Two ways of
reading it serve all questions, and neither ever squares a matrix, so no variance comes out below zero:

    x - mean = F ε        a few rows of F say how some variables depend on the noise; given x_e, the noise is known
                          along the rows F_e, and free across them (an orthogonal factor of F_e tells which is which)
    ε = K (x - mean)      K has one sparse row per family; a row of data has the log-density
                          -|K (x - mean)|² / 2 - sum of log σ_v - n/2 log 2π

Missing values are integrated out: they are filled in by their conditional means, which make |K (x - mean)| least, and
the room they had, |M|/2 log 2π - log |K_M|, is added to the log-density. Rows that miss the same values are done
together.

    P(x_v | the others)   its precision is |K_v|², what is left of column v of K across the columns of missing values
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite, log, pi
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from quiltwork.data.dataset import position
from quiltwork.errors import DataWarning, InputError, ResourceLimitError
from quiltwork.infer.question import once_per_model
from quiltwork.models.gaussian import GaussianNet
from quiltwork.rng import stream

CONTRADICTION = 1e4  # standard deviations
_DEPENDENT = 1e-7  # of a unit row: evidence that other evidence leaves so little of says nothing new


class Normal(NamedTuple):
    """A number's mean and standard deviation."""

    mean: float
    deviation: float


@dataclass(frozen=True, eq=False)
class GaussianAnswer:
    """The Gaussian distribution of the variables that were asked for.

    variables   names
    mean        (variables,)
    covariance  (variables, variables)
    method, converged, error  as in `Answer`; a Gaussian answer is always exact

    >>> answer = GaussianAnswer(("pH", "alcohol"), np.array([3.2, 10.5]), np.array([[0.04, 0.0], [0.0, 1.0]]))
    >>> answer["pH"]
    Normal(mean=3.2, deviation=0.2)
    >>> answer.interval(0.95).round(2)
    array([[ 2.81,  3.59],
           [ 8.54, 12.46]])
    >>> print(answer)
    variable  mean  deviation
    pH         3.2        0.2
    alcohol   10.5          1
    """

    variables: tuple[str, ...]
    mean: np.ndarray
    covariance: np.ndarray

    method = "exact"
    converged = True
    error = 0.0

    def __post_init__(self) -> None:
        self.mean.setflags(write=False)
        self.covariance.setflags(write=False)

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviations, (variables,)."""
        return np.sqrt(self.covariance.diagonal())

    def interval(self, level: Any = 0.95) -> np.ndarray:
        """Lower and upper ends, (variables, 2), between which each variable lies with this probability."""
        if not isinstance(level, int | float) or not 0.0 < level < 1.0:
            raise InputError(f"The level of an interval must lie between 0 and 1. Got {level!r} instead.")
        reach = NormalDist().inv_cdf((1.0 + level) / 2) * self.deviation
        return np.column_stack([self.mean - reach, self.mean + reach])

    def __getitem__(self, name: str) -> Normal:
        """Mean and deviation of one variable: answer["alcohol"]."""
        if name not in self.variables:
            raise InputError(f"This answer is about {', '.join(self.variables)}. Got {name!r} instead.")
        v = self.variables.index(name)
        return Normal(float(self.mean[v]), float(self.deviation[v]))

    def to_dict(self) -> dict[str, Normal]:
        """Mean and deviation by name."""
        return {name: self[name] for name in self.variables}

    def __str__(self) -> str:
        rows = [("variable", "mean", "deviation")]
        rows += [(name, f"{mean:.6g}", f"{deviation:.6g}") for name, (mean, deviation) in self.to_dict().items()]
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows)


# Questions


def gaussian_query(
    model: GaussianNet, asked: list[int], known: Mapping[int, float], max_entries: int
) -> GaussianAnswer:
    """The distribution of some variables given the numbers that others, by column, have."""
    given = list(known)
    net = compiled(model)
    loadings = _loadings(net, [*asked, *given], max_entries)
    ours, theirs = loadings[: len(asked)], loadings[len(asked) :]
    mean = net.mean[asked]
    if given:
        size = np.linalg.norm(theirs, axis=1)
        along, corner = np.linalg.qr((theirs / size[:, None]).T)
        if (np.abs(corner.diagonal()) < _DEPENDENT).any():
            told = ", ".join(repr(model.variables[v].name) for v in given)
            raise InputError(f"Some of the evidence ({told}) follows from the rest of it; give a part of it only.")
        away = (np.array(list(known.values())) - net.mean[given]) / size
        surprise = np.linalg.solve(corner.T, away)  # in deviations, each given those before it
        _warn_of_surprise(model, given, np.abs(surprise))
        mean = mean + ours @ along @ surprise
        ours = ours - (ours @ along) @ along.T
    names = tuple(model.variables[v].name for v in asked)
    return GaussianAnswer(names, mean, ours @ ours.T)


def _warn_of_surprise(model: GaussianNet, given: list[int], deviations: np.ndarray) -> None:
    """Evidence so far out that it contradicts the network, as far as numbers can."""
    v = int(deviations.argmax())
    if deviations[v] > CONTRADICTION:
        warnings.warn(
            f"The evidence for {model.variables[given[v]].name!r} is {deviations[v]:.3g} standard deviations from what "
            "the model expects given the rest: the answer is exact, but the model has not seen anything like it.",
            DataWarning,
            stacklevel=4,
        )


def evidence_numbers(model: Any, evidence: Mapping[str, object] | None) -> dict[int, float]:
    """What is known, by column; text is read as a number."""
    known: dict[int, float] = {}
    if not isinstance(evidence, Mapping | None):
        raise InputError(f"Evidence must be a dictionary from names to values. Got {evidence!r} instead.")
    for name, value in (evidence or {}).items():
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not isfinite(number):
            raise InputError(f"The evidence for {name!r} must be a finite number. Got {value!r} instead.")
        known[position(name, model.variables)] = number
    return known


def gaussian_log_likelihood(model: GaussianNet, values: np.ndarray) -> np.ndarray:
    """log p(row), (rows,), of the values that are there."""
    net = compiled(model)
    out = np.empty(len(values))
    for rows, missing in _patterns(values):
        gap = _Gap(net, missing)
        noise = net.noise(gap.fill(values[rows]))
        out[rows] = gap.log_room - (noise**2).sum(axis=1) / 2
    return out - net.log_sigma - len(net.mean) / 2 * log(2 * pi)


def gaussian_log_conditionals(model: GaussianNet, values: np.ndarray) -> np.ndarray:
    """log p(x_v | the others that are there), (rows, variables); 0 where x_v is missing."""
    net = compiled(model)
    out = np.zeros(values.shape)
    for rows, missing in _patterns(values):
        gap = _Gap(net, missing)
        pull = net.noise(gap.fill(values[rows])) @ net.unit  # of the noise, along each column of K
        left = gap.left()
        there = ~missing
        squares = pull[:, there] ** 2 / left[there]
        precision = np.log(left[there]) / 2 + np.log(net.size[there])
        out[np.ix_(rows, there)] = precision - log(2 * pi) / 2 - squares / 2
    return out


def gaussian_means(model: GaussianNet, values: np.ndarray, target: int) -> np.ndarray:
    """E[x_target | the others that are there], (rows,); its own values are not read."""
    net = compiled(model)
    values = values.copy()
    values[:, target] = np.nan
    out = np.empty(len(values))
    for rows, missing in _patterns(values):
        out[rows] = _Gap(net, missing).fill(values[rows])[:, target]
    return out


def gaussian_sample(model: GaussianNet, n: int, seed: int) -> np.ndarray:
    """Rows drawn from the model, (n, variables): parents before children, each variable from a stream of its own."""
    out = np.empty((n, len(model.variables)), order="F")
    for v in model.structure.order() or ():
        cpd = model.cpds[v]
        out[:, v] = cpd.means(out) + cpd.deviation * stream(seed, v).standard_normal(n)
    return out


# The network as linear algebra


@dataclass(frozen=True, eq=False)
class CompiledGaussian:
    """mean (n,); log_sigma, the sum of log σ; unit, the sparse K with columns of length one; size (n,), their lengths.

    order and parents are those of the structure, weights (one array per variable) and sigma those of the CPDs.
    """

    mean: np.ndarray
    log_sigma: float
    unit: Any
    size: np.ndarray
    order: list[int]
    parents: list[tuple[int, ...]]
    weights: list[np.ndarray]
    sigma: np.ndarray

    def noise(self, values: np.ndarray) -> np.ndarray:
        """The noise ε that complete rows stand for, (rows, n)."""
        return (self.unit @ ((values - self.mean) * self.size).T).T


@once_per_model
def compiled(model: GaussianNet) -> CompiledGaussian:
    """What all questions to one model share."""
    from scipy.sparse import csc_array

    n = len(model.variables)
    order = model.structure.order() or []
    sigma = np.sqrt([cpd.variance for cpd in model.cpds])
    mean = np.empty(n)
    for v in order:
        mean[v] = model.cpds[v].intercept + model.cpds[v].weights @ mean[list(model.cpds[v].parents)]
    rows = np.repeat(np.arange(n), [1 + len(cpd.parents) for cpd in model.cpds])
    columns = np.array([u for cpd in model.cpds for u in (cpd.child, *cpd.parents)])
    entries = np.concatenate([np.append(1.0, -cpd.weights) / sigma[cpd.child] for cpd in model.cpds])
    size = np.sqrt(np.bincount(columns, entries**2, minlength=n))
    unit = csc_array((entries / size[columns], (rows, columns)), shape=(n, n))
    parents, weights = [cpd.parents for cpd in model.cpds], [cpd.weights for cpd in model.cpds]
    return CompiledGaussian(mean, float(np.log(sigma).sum()), unit, size, order, parents, weights, sigma)


def _loadings(net: CompiledGaussian, wanted: list[int], max_entries: int) -> np.ndarray:
    """F for some variables, (wanted, n): how much of each variable's noise they hold, walking up from children."""
    n = len(net.mean)
    if len(wanted) * n > max_entries:
        raise ResourceLimitError(
            f"A question about {len(wanted)} variables of {n} needs {len(wanted) * n:,} numbers, past max_entries="
            f"{max_entries:,}: ask about fewer variables, or raise max_entries."
        )
    out = np.zeros((len(wanted), n), order="F")
    out[np.arange(len(wanted)), wanted] = 1.0
    for v in reversed(net.order):
        for p, weight in zip(net.parents[v], net.weights[v].tolist()):
            out[:, p] += weight * out[:, v]
        out[:, v] *= net.sigma[v]
    return out


# Missing values


def _patterns(values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(rows, which variables they miss) for every set of missing variables."""
    absent = np.isnan(values)
    if not absent.any():
        yield np.arange(len(values)), np.zeros(values.shape[1], bool)
        return
    sets, which = np.unique(absent, axis=0, return_inverse=True)
    for k, missing in enumerate(sets):
        yield np.flatnonzero(which.ravel() == k), missing


class _Gap:
    """What it takes to do without some variables: an orthogonal basis of their columns of K."""

    def __init__(self, net: CompiledGaussian, missing: np.ndarray):
        self._net, self._missing = net, missing
        self.log_room = 0.0
        if missing.any():
            columns = net.unit[:, missing]
            self._touched = np.unique(columns.indices)  # families with a missing member
            self._basis, self._corner = np.linalg.qr(columns[self._touched].toarray())
            size = np.log(np.abs(self._corner.diagonal())).sum() + np.log(net.size[missing]).sum()
            self.log_room = float(missing.sum() / 2 * log(2 * pi) - size)

    def fill(self, values: np.ndarray) -> np.ndarray:
        """The rows with missing values at their conditional means."""
        if not self._missing.any():
            return values
        net, missing = self._net, self._missing
        filled = values.copy()
        filled[:, missing] = net.mean[missing]
        noise = net.noise(filled)[:, self._touched]
        steps = np.linalg.solve(self._corner, -(noise @ self._basis).T).T
        filled[:, missing] += steps / net.size[missing]
        return filled

    def left(self) -> np.ndarray:
        """What is left of each unit column of K across those of the missing variables, squared; (n,)."""
        if not self._missing.any():
            return np.ones(len(self._missing))
        inside = self._basis.T @ self._net.unit[self._touched].toarray()
        return np.maximum(1.0 - (inside**2).sum(axis=0), np.finfo(np.float64).tiny)
