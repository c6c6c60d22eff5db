"""ItemRank: a walk over the graph of items that keeps coming back to what the user has chosen.

Two items are linked by the users who chose both. At each step a walker follows a link with probability alpha, and a
strong link more often than a weak one; otherwise the walk begins again at one of the user's items. The share of time
that it spends at an item is the item's score.

Paper    Gori, Pucci (2007), ItemRank: A Random-Walk Based Scoring Algorithm for Recommender Engines
Symbols  J[k, j] users who chose both, s[k] the sum of row k without the diagonal, T = J / s the steps of the walk,
         IR = alpha T' IR + (1 - alpha) d with d spread evenly over the user's items
Path     encode -> pair counts -> T -> (1 - alpha) (I - alpha T)^-1 -> ItemWalk; `infer.rankers` averages its rows
Differs  IR is linear in d, so the walks from all items are solved once, in closed form, where the paper iterates for
         each user. With `steps` they are cut short; one step ranks far better than the limit, in
         which all walks look alike. Items that no walk reaches are ranked by popularity
"""

from __future__ import annotations

import time
from typing import Self

import numpy as np

from quiltwork.learn.base import SHARED, Progress, silent
from quiltwork.learn.items import ItemLearner, check_size, chosen_together, invert
from quiltwork.models.rankers import ItemWalk
from quiltwork.params import Integer, Nothing, Param, Real
from quiltwork.stats.families import state_counts


class ItemRank(ItemLearner):
    """Items ranked by random walks over the graph of items chosen together.

    Every column must have two states; the second means chosen.

    Attributes
    ----------
    model_ : ItemWalk
        Where the walks lead.

    Examples
    --------
    >>> import quiltwork as qw
    >>> users = {"tea": [1, 1, 1, 0, 0, 0], "milk": [1, 1, 0, 0, 1, 0], "coal": [0, 0, 0, 1, 1, 1]}
    >>> est = qw.ItemRank().fit(users)
    >>> [(item, round(score, 3)) for item, score in qw.recommend(est, ["tea"])]
    [('milk', 0.459), ('coal', 0.13)]

    See Also
    --------
    quiltwork.item_scores, quiltwork.recommend
    """

    name = "itemrank"
    parameters = (
        Param("alpha", 0.85, (Real(0.0, 0.999, above_low=True),), "chance to go on rather than begin again"),
        Param("steps", None, (Nothing(), Integer(1)), "steps of a walk; None for walking for ever"),
        *SHARED,
    )

    model_: ItemWalk

    def fit(
        self, X: object, y: object = None, *, sample_weight: object = None, progress: Progress | None = None
    ) -> Self:
        """Learn from a table of users by items; `progress(stage, done, total)` is called as the work goes on."""
        began = time.perf_counter()
        encoder, data = self._begin_items(X, sample_weight)
        check_size(data.n_vars, "The walks of ItemRank", "choose fewer items")
        links = chosen_together(data)
        np.fill_diagonal(links, 0.0)
        if self.steps is None:
            _walk_for_ever(links, self.alpha, progress or silent)
        else:
            links = _walk(links, self.alpha, self.steps, progress or silent)
        np.fill_diagonal(links, 0.0)
        model = ItemWalk(encoder, state_counts(data), links, self._provenance(data))
        self.fit_seconds_ = time.perf_counter() - began
        return self._end(model, X)


def _walk_for_ever(links: np.ndarray, alpha: float, progress: Progress) -> None:
    """Turn the links into (1 - alpha) (I - alpha T)^-1, in place.

    With D the diagonal of the sums, T = D^-1 J is no symmetric matrix, but D^1/2 T D^-1/2 is, and it is
    I - alpha times that which is inverted.
    """
    root = np.sqrt(_sums(links))
    links *= -alpha / root
    links /= root[:, None]
    links[np.diag_indices_from(links)] = 1.0
    invert(links, progress)
    links *= (1 - alpha) * root
    links /= root[:, None]
    np.clip(links, 0.0, 1.0, out=links)  # what rounding may have left below 0


def _walk(links: np.ndarray, alpha: float, steps: int, progress: Progress) -> np.ndarray:
    """The sum of (1 - alpha) (alpha T)^t over t < steps, and (alpha T)^steps."""
    step = links * (alpha / _sums(links)[:, None])
    walk = step.copy()
    walk[np.diag_indices_from(walk)] += 1 - alpha
    for done in range(1, steps):
        walk = step @ walk
        walk[np.diag_indices_from(walk)] += 1 - alpha
        progress("walking", done + 1, steps)
    return np.clip(walk, 0.0, 1.0)


def _sums(links: np.ndarray) -> np.ndarray:
    """The strength of all links of each item; 1 for an item without links, which has nothing to divide."""
    sums = links.sum(axis=1)
    return np.where(sums > 0, sums, 1.0)
