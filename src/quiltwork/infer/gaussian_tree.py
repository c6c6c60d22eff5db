"""Gaussian Markov trees answer exactly in time that grows with the number of variables: two sweeps of messages.

The messages are those of `markov_tree`, with integrals for sums. Numbers are taken in deviations from their mean,
z = (x - mean) / deviation, so that z_v given its parent is Normal(r z_p, 1 - r^2), with r their correlation. What is
said about a variable is always exp(b z - a z^2 / 2), so a message is two numbers: the precision a and the pull b.

    up    the integral over z_v of Normal(z_v; r z_p, s) exp(b z_v - a z_v^2 / 2), s = 1 - r^2, is
          (1 + s a)^(-1/2) exp((b r z_p - a r^2 z_p^2 / 2 + s b^2 / 2) / (1 + s a))
    down  if z_p is Normal(m, V) by all that is not below v, then z_v is Normal(r m, r^2 V + s)

As there, no message is ever taken out of a sum again, so no precision is lost and none comes out below zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log, pi
from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.errors import ResourceLimitError
from quiltwork.infer.gaussian import GaussianAnswer, gaussian_sample
from quiltwork.infer.question import once_per_model
from quiltwork.models.gaussian import GaussianNet
from quiltwork.models.markov_tree import GaussianTree

LOG_2PI = log(2 * pi)


class Said(NamedTuple):
    """Precisions (row 0) and pulls (row 1) about each variable, (2, n_vars), in one row of data.

    told    by the children of v, together
    up      by v about its parent
    later   by those siblings of v, about their parent, that come after it in the order
    down    about v by all that is not below it
    sooner  by those children of v that the way down has passed
    """

    told: np.ndarray
    up: np.ndarray
    later: np.ndarray
    down: np.ndarray
    sooner: np.ndarray

    @classmethod
    def nothing(cls, n_vars: int) -> Said:
        return cls(*np.zeros((5, 2, n_vars)))


# Whole tables


def gaussian_tree_log_likelihood(model: GaussianTree, values: np.ndarray) -> np.ndarray:
    """log p(row), (rows,), of the values that are there."""
    out = np.empty(len(values))
    standard = _standard(model, values)
    _add_rows(*_tree(model), standard, Said.nothing(values.shape[1]), out)
    return out - np.where(np.isnan(values), 0.0, np.log(model.deviation)).sum(axis=1)


def gaussian_tree_log_conditionals(model: GaussianTree, values: np.ndarray) -> np.ndarray:
    """log p(x_v | the others that are there), (rows, variables); 0 where x_v is missing."""
    standard = _standard(model, values)
    mean, precision = _conditionals(model, standard)
    with np.errstate(invalid="ignore"):
        out = (np.log(precision) - LOG_2PI - precision * (standard - mean) ** 2) / 2 - np.log(model.deviation)
    return np.where(np.isnan(values), 0.0, out)


def gaussian_tree_means(model: GaussianTree, values: np.ndarray, target: int) -> np.ndarray:
    """E[x_target | the others that are there], (rows,); its own values are not read."""
    standard = _standard(model, values)
    standard[:, target] = np.nan
    return model.mean[target] + model.deviation[target] * _conditionals(model, standard)[0][:, target]


def gaussian_tree_sample(model: GaussianTree, n: int, seed: int) -> np.ndarray:
    """Rows drawn from the model, (n, variables)."""
    return gaussian_sample(_directed(model), n, seed)


# Single questions


def gaussian_tree_query(
    model: GaussianTree, asked: list[int], known: Mapping[int, float], max_entries: int
) -> GaussianAnswer:
    """The distribution of some variables given the numbers that others, by column, have.

    With the evidence told upwards, z_v = base + slope z_p + noise all the way down from the roots, and no two noises
    depend on each other: how much of each noise a variable holds gives all covariances.
    """
    row = np.full(len(model.variables), np.nan)
    for v, number in known.items():
        row[v] = (number - model.mean[v]) / model.deviation[v]
    mean, slope, spread = _settled(model, row)
    loadings = _loadings(model, asked, slope, spread, max_entries) * model.deviation[asked, None]
    names = tuple(model.variables[v].name for v in asked)
    return GaussianAnswer(names, model.mean[asked] + model.deviation[asked] * mean[asked], loadings @ loadings.T)


def _settled(model: GaussianTree, row: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of every variable, given what is known: its mean, its slope on its parent, and the variance of its noise."""
    said = Said.nothing(len(row))
    order, parent, correlation = _tree(model)
    _collect(order, parent, correlation, row, said)
    mean, slope, spread = np.zeros((3, len(row)))
    _settle(order, parent, correlation, row, said.told, mean, slope, spread)
    return mean, slope, spread


def _loadings(
    model: GaussianTree, asked: list[int], slope: np.ndarray, spread: np.ndarray, max_entries: int
) -> np.ndarray:
    """How much of the noise of each variable on the way to the roots those asked for hold, (asked, on the way)."""
    found = model.upwards(asked)
    on_the_way = [v for v in model.order if v in found]
    if len(asked) * len(on_the_way) > max_entries:
        raise ResourceLimitError(
            f"A question about {len(asked)} variables, {len(on_the_way)} with those between them and the root, needs "
            f"{len(asked) * len(on_the_way):,} numbers, past max_entries={max_entries:,}: ask about fewer variables."
        )
    place = {v: k for k, v in enumerate(on_the_way)}
    out = np.zeros((len(asked), len(on_the_way)), order="F")
    out[np.arange(len(asked)), [place[v] for v in asked]] = 1.0
    for v in reversed(on_the_way):
        if model.parent[v] >= 0:
            out[:, place[int(model.parent[v])]] += slope[v] * out[:, place[v]]
        out[:, place[v]] *= np.sqrt(spread[v])
    return out


def _standard(model: GaussianTree, values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray((values - model.mean) / model.deviation)


def _conditionals(model: GaussianTree, standard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and precision of every variable given the others, (rows, variables)."""
    mean, precision = np.empty(standard.shape), np.empty(standard.shape)
    _condition_rows(*_tree(model), standard, Said.nothing(standard.shape[1]), mean, precision)
    return mean, precision


@once_per_model
def _tree(model: GaussianTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.array(model.order, np.int64), model.parent, model.correlation


@once_per_model
def _directed(model: GaussianTree) -> GaussianNet:
    return model.directed()


# Kernels: NaN where a value is missing


@njit(cache=True, nogil=True)
def _add_rows(order, parent, correlation, rows, said, out):
    """log p of what is observed in each row, of numbers in deviations."""
    for i in range(rows.shape[0]):
        out[i] = _collect(order, parent, correlation, rows[i], said)


@njit(cache=True, nogil=True)
def _condition_rows(order, parent, correlation, rows, said, mean, precision):
    """Mean and precision of every variable given the others of its row."""
    for i in range(rows.shape[0]):
        _collect(order, parent, correlation, rows[i], said)
        _distribute(order, parent, correlation, rows[i], said)
        for v in range(rows.shape[1]):
            precision[i, v] = said.down[0, v] + said.told[0, v]
            mean[i, v] = (said.down[1, v] + said.told[1, v]) / precision[i, v]


@njit(cache=True, nogil=True)
def _collect(order, parent, correlation, row, said):
    """Messages from the leaves to the roots; log p of what is observed."""
    said.told[:] = 0.0
    log_likelihood = 0.0
    for k in range(order.size - 1, -1, -1):
        v = order[k]
        p, r, z = parent[v], correlation[v], row[v]
        s = 1.0 - r * r
        a, b = said.told[0, v], said.told[1, v]
        if np.isnan(z):
            grown = 1.0 + s * a
            log_likelihood += 0.5 * (s * b * b / grown - np.log(grown))
            a, b = r * r * a / grown, r * b / grown
        else:
            log_likelihood += b * z - 0.5 * (a * z * z + z * z / s + np.log(s) + LOG_2PI)
            a, b = r * r / s, r * z / s
        said.up[0, v], said.up[1, v] = a, b
        if p >= 0:
            said.later[0, v], said.later[1, v] = said.told[0, p], said.told[1, p]
            said.told[0, p] += a
            said.told[1, p] += b
    return log_likelihood


@njit(cache=True, nogil=True)
def _distribute(order, parent, correlation, row, said):
    """Messages from the roots to the leaves, after `_collect`."""
    said.sooner[:] = 0.0
    for v in order:
        p, r = parent[v], correlation[v]
        mean, variance = 0.0, 0.0  # of the parent, by all that is not below v
        if p >= 0 and not np.isnan(row[p]):
            mean = row[p]
        elif p >= 0:
            variance = 1.0 / (said.down[0, p] + said.sooner[0, p] + said.later[0, v])
            mean = variance * (said.down[1, p] + said.sooner[1, p] + said.later[1, v])
            said.sooner[0, p] += said.up[0, v]
            said.sooner[1, p] += said.up[1, v]
        said.down[0, v] = 1.0 / (r * r * variance + 1.0 - r * r)
        said.down[1, v] = said.down[0, v] * r * mean


@njit(cache=True, nogil=True)
def _settle(order, parent, correlation, row, told, mean, slope, spread):
    """Given what was told, z_v = base + slope z_p + noise: mean, slope and variance of the noise, roots first."""
    for v in order:
        if not np.isnan(row[v]):
            mean[v] = row[v]
            continue
        r = correlation[v]
        s = 1.0 - r * r
        grown = 1.0 + s * told[0, v]
        slope[v], spread[v] = r / grown, s / grown
        mean[v] = spread[v] * told[1, v]
        if parent[v] >= 0:
            mean[v] += slope[v] * mean[parent[v]]
