"""Gaussian networks the slow way: one regression per family from the rows, and every answer from the whole covariance.

Owes nothing to quiltwork. A network is a list of (parents, intercept, weights, variance) by variable.
"""

import math

import numpy as np


def residual_variance(X, child, parents, weights=None):
    """Mean of the squared residuals of a regression with an intercept, from the rows."""
    w = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    root = np.sqrt(w)[:, None]
    centre = w @ X / w.sum()
    design = np.column_stack([np.ones(len(X)), (X - centre)[:, list(parents)]]) * root
    target = (X - centre)[:, child] * root[:, 0]
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    return float(((target - design @ solution) ** 2).sum() / w.sum())


def node_score(X, child, parents, penalty, weights=None):
    """The report's S_i less its part of the penalty, or a family's part of BIC."""
    m = float(len(X) if weights is None else np.sum(weights))
    sigma = math.sqrt(residual_variance(X, child, parents, weights))
    if penalty == "bic":
        likelihood = -m * math.log(sigma) - m / 2 - m / 2 * math.log(2 * math.pi)
        return likelihood - (len(parents) + 2) / 2 * math.log(m)
    return -m * math.log(sigma) - m / 2 - penalty * len(parents)


def log_multigamma(p, a):
    return p * (p - 1) / 4 * math.log(math.pi) + sum(math.lgamma(a - j / 2) for j in range(p))


def bge_of_subset(X, columns):
    """log p(D^Y) of Kuipers, Moffa and Heckerman (2014), equation (4), for columns Y, with T = t diag(variances)."""
    m, n = X.shape
    columns = list(columns)
    size = len(columns)
    if not size:
        return 0.0
    alpha_mu, alpha_w = 1.0, n + 2.0
    t = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)
    Y = X[:, columns]
    scatter = (Y - Y.mean(axis=0)).T @ (Y - Y.mean(axis=0))
    T = t * np.diag(Y.var(axis=0))
    free = alpha_w - n + size
    return (
        size / 2 * math.log(alpha_mu / (m + alpha_mu))
        + log_multigamma(size, (m + free) / 2)
        - size * m / 2 * math.log(math.pi)
        - log_multigamma(size, free / 2)
        + free / 2 * np.linalg.slogdet(T)[1]
        - (m + free) / 2 * np.linalg.slogdet(T + scatter)[1]
    )


def bge(X, child, parents):
    return bge_of_subset(X, sorted([*parents, child])) - bge_of_subset(X, sorted(parents))


# Answers from the joint distribution


def joint(network):
    """Mean and covariance of all variables; the network's variables come after their parents."""
    n = len(network)
    mean, covariance = np.zeros(n), np.zeros((n, n))
    for v, (parents, intercept, weights, variance) in enumerate(network):
        own = np.zeros(n)
        own[list(parents)] = weights
        mean[v] = intercept + own @ mean
        covariance[v] = covariance[:, v] = covariance @ own
        covariance[v, v] = variance + own @ covariance @ own
    return mean, covariance


def conditional(mean, covariance, asked, known):
    """Mean and covariance of some variables given the numbers of others."""
    asked, given = list(asked), list(known)
    if not given:
        return mean[asked], covariance[np.ix_(asked, asked)]
    gain = covariance[np.ix_(asked, given)] @ np.linalg.inv(covariance[np.ix_(given, given)])
    away = np.array([known[v] - mean[v] for v in given])
    return mean[asked] + gain @ away, covariance[np.ix_(asked, asked)] - gain @ covariance[np.ix_(given, asked)]


def log_density(mean, covariance, row):
    """Of the numbers that are there."""
    there = np.flatnonzero(~np.isnan(row))
    if not len(there):
        return 0.0
    away, own = row[there] - mean[there], covariance[np.ix_(there, there)]
    distance = away @ np.linalg.inv(own) @ away
    return float(-(distance + np.linalg.slogdet(own)[1] + len(there) * math.log(2 * math.pi)) / 2)


def log_conditional(mean, covariance, row, v):
    """log p(x_v | the others that are there); 0 where x_v is missing."""
    if np.isnan(row[v]):
        return 0.0
    without = row.copy()
    without[v] = np.nan
    return log_density(mean, covariance, row) - log_density(mean, covariance, without)


def acyclic(parents):
    """Whether parents can be peeled off until nothing is left."""
    left = {v: set(own) for v, own in enumerate(parents)}
    while left:
        roots = [v for v, own in left.items() if not own]
        if not roots:
            return False
        for root in roots:
            del left[root]
        for own in left.values():
            own.difference_update(roots)
    return True
