"""The linear Gaussian distribution: a number whose mean is a weighted sum of its parents.

    x_child | parents ~ Normal(intercept + sum of weight_p x_p, variance)

Maximum-likelihood estimates are those of a linear regression, and follow from the moments alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quiltwork.stats.moments import Moments
from quiltwork.stats.partial import RANK, regress


@dataclass(frozen=True, eq=False)
class LinearGaussianCPD:
    """The distribution of a number given numbers.

    child      its column
    parents    their columns, ascending
    intercept  the child's mean where all parents are 0
    weights    (parents,) what the mean gains with each unit of a parent
    variance   of the child around its mean; above 0

    >>> from quiltwork.data.numbers import fit_numbers
    >>> moments = Moments.of(fit_numbers({"a": [0, 1, 2, 3], "b": [1, 4, 4, 7]})[1])
    >>> LinearGaussianCPD.from_moments(moments, 1, [0])
    x1 = 1.3 + 1.8 x0 ± 0.67082
    """

    child: int
    parents: tuple[int, ...]
    intercept: float
    weights: np.ndarray
    variance: float

    @classmethod
    def from_moments(cls, moments: Moments, child: int, parents: Sequence[int]) -> LinearGaussianCPD:
        """Regress the child on its parents.

        A parent that is a linear function of those before it gets weight 0; and however well the child is
        explained, its variance stays at least `RANK` times what it was.
        """
        own = tuple(sorted(map(int, parents)))
        columns = np.array(own, np.int64)
        standard, left = regress(moments.correlation, child, columns)
        weights = standard * moments.deviation[child] / moments.deviation[columns]
        intercept = moments.mean[child] - weights @ moments.mean[columns]
        variance = max(left, RANK) * moments.deviation[child] ** 2
        return cls(int(child), own, float(intercept), weights, float(variance))

    @property
    def deviation(self) -> float:
        """The standard deviation around the mean."""
        return float(np.sqrt(self.variance))

    @property
    def n_parameters(self) -> int:
        """Weights, intercept and variance."""
        return len(self.parents) + 2

    def means(self, values: np.ndarray) -> np.ndarray:
        """The child's mean in each row of values (rows, all variables)."""
        return self.intercept + values[:, list(self.parents)] @ self.weights

    def __repr__(self) -> str:
        terms = "".join(f" {'-' if w < 0 else '+'} {abs(w):g} x{p}" for p, w in zip(self.parents, self.weights))
        return f"x{self.child} = {self.intercept:g}{terms} ± {self.deviation:g}"
