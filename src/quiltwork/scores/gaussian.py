"""Scores of linear Gaussian families: log-likelihood less a penalty per arc, BIC, and BGe.

With m rows (or their weight), k parents, and s the share of the child's variance that its parents leave, every one of
these scores of a family is

    offset[child] + constants[k] - slopes[k] log s - determinant log |C_parents|

λ      Wenig, Graphical Models Lab, section 2.4: the variance of the residuals is σ² = s · var(child), and
       S = -m log σ - m/2 - λ k. The constant -(m/2) log 2π is left out, as it is there.
bic    the log-likelihood, 2π and all, less (log m)/2 for each parameter: k weights, an intercept and a variance.
       Its differences are those of λ = (log m)/2.
bge    the log marginal likelihood under a normal-Wishart prior: Geiger and Heckerman (1994), as corrected by Kuipers,
       Moffa and Heckerman (2014), "Addendum on the scoring of Gaussian directed acyclic graphical models". Equivalent
       graphs score the same. α_μ = 1, α_w = n + 2 for n variables; prior means are the columns' means, and the prior
       matrix T is t = α_μ (α_w - n - 1) / (α_μ + 1) times the columns' variances. (Others take t I, which is
       the same for columns of unit variance, and else makes the answer depend on units.) Adding T to the scatter
       matrix is shrinking the correlations by m / (m + t).

Below `RANK` the logarithm of a share goes on along its tangent. For λ and bic this is the log-likelihood of a model
whose variances are never below RANK times the column's, and a share of 0 is no special case.

A gain that may be rounding is none: the gains that a search goes by are the lower ends of what they can be, or
equivalent graphs of columns that nearly depend on each other would be climbed in circles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.special import gammaln

from quiltwork.stats.moments import Moments
from quiltwork.stats.partial import RANK


@dataclass(frozen=True, eq=False)
class GaussianScore:
    """What a family scores, by the number of its parents.

    offset       (n_vars,) the part that depends on the child alone
    constants    (n_vars,) and slopes (n_vars,), by number of parents
    determinant  the factor of log |C_parents|
    shrink       what correlations must be multiplied by before anything is worked out from them

    >>> from quiltwork.data.numbers import fit_numbers
    >>> moments = Moments.of(fit_numbers({"a": [1, 2, 3, 4], "b": [1, 0, 1, 0]})[1])
    >>> round(GaussianScore.make(0.0, moments).of(0, 0, 1.0), 4) == round(-4 * math.log(1.25**0.5) - 2, 4)
    True
    """

    offset: np.ndarray
    constants: np.ndarray
    slopes: np.ndarray
    determinant: float = 0.0
    shrink: float = 1.0

    @classmethod
    def make(cls, penalty: float | str, moments: Moments) -> GaussianScore:
        """The score that a penalty stands for: a number per arc, "bic" or "bge"."""
        if penalty == "bge":
            return _bge(moments)
        m, arcs = moments.total, np.arange(moments.n_vars)
        offset = -m * np.log(moments.deviation) - np.where(moments.constant, 0.0, m / 2)  # no row of a constant is off
        per_arc = float(penalty) if penalty != "bic" else max(math.log(m), 0.0) / 2
        if penalty == "bic":
            offset -= m / 2 * math.log(2 * math.pi) + 2 * per_arc
        return cls(offset, -per_arc * arcs, np.full(len(arcs), m / 2))

    def of(self, child: int, n_parents: int, share: float, log_det: float = 0.0) -> float:
        """The score of one family."""
        left = log_share.py_func(share)  # as plain Python, for calling a kernel takes longer
        own = self.offset[child] + self.constants[n_parents] - self.slopes[n_parents] * left
        return float(own) - self.determinant * log_det


def _bge(moments: Moments) -> GaussianScore:
    m, n = moments.total, moments.n_vars
    alpha_mu, alpha_w = 1.0, n + 2.0
    t = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)
    k = np.arange(n)
    prior = alpha_w - n + k + 1  # degrees of freedom of the family
    constants = (
        -m / 2 * math.log(math.pi)
        + math.log(alpha_mu / (alpha_mu + m)) / 2
        + gammaln((m + prior) / 2)
        - gammaln(prior / 2)
        + (prior + k) / 2 * math.log(t)
        - (m + prior + k) / 2 * math.log(m + t)
    )
    return GaussianScore(-m * np.log(moments.deviation), constants, (m + prior) / 2, 0.5, m / (m + t))


@njit(cache=True, nogil=True)
def score_changes(constants, slopes, determinant, parents, left, left_off, after, own, after_off, own_off, row):
    """Fill row (n,) with what the score gains if u came to the parents, or left them; -inf where it may not come.

    left is the child's share now; after and own (n,), and what they may be wrong by, are those of
    `stats.partial.changed_shares`.
    """
    k = parents.size
    now = constants[k] - slopes[k] * log_share(left)
    doubt = slopes[k] * left_off / max(left, RANK)
    row[:] = -np.inf
    if k + 1 < constants.size and left >= RANK:
        for u in range(row.size):
            if own[u] > 0.0:
                row[u] = constants[k + 1] - slopes[k + 1] * log_share(after[u]) - now
                row[u] -= doubt + slopes[k + 1] * after_off[u] / max(after[u], RANK)
                if determinant != 0.0:
                    row[u] -= determinant * (math.log(own[u]) + own_off[u] / own[u])
    for u in parents:
        row[u] = constants[k - 1] - slopes[k - 1] * log_share(after[u]) - now
        row[u] -= doubt + slopes[k - 1] * after_off[u] / max(after[u], RANK)
        if determinant != 0.0:
            row[u] += determinant * (math.log(own[u]) - own_off[u] / own[u])


@njit(cache=True, nogil=True)
def log_share(share):
    """log of a share; below RANK along its tangent there."""
    return math.log(share) if share >= RANK else math.log(RANK) + share / RANK - 1.0
