"""A stack of rankers: several models rank together, with weights that held-out users chose.

Different models err on different items, so a weighted sum of their scores ranks better than each. Scores of different
kinds (probabilities, means, walks) are first made comparable: within a row, less their mean, over their deviation.

The weights are chosen inside the training rows: a share of the users is set aside, the members are learned from the
rest, a fifth of what each held-out user chose is hidden, and the weights that rank the hidden items best are kept. Then
the members are learned again from all rows. No row outside the training table is ever looked at.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from quiltwork.data.dataset import Dataset
from quiltwork.errors import ParameterError
from quiltwork.infer.rankers import comparable_scores
from quiltwork.learn.base import SHARED, Progress, silent
from quiltwork.learn.items import ItemLearner, choices
from quiltwork.learn.registry import read_learner
from quiltwork.models.stack import StackedRankers
from quiltwork.params import Choice, Integer, Param, Real, Thing
from quiltwork.rank.metrics import auc, choices_of, ndcg_at, place_hidden, reciprocal_ranks
from quiltwork.rng import stream

METRICS = {"auc": auc, "mrr": reciprocal_ranks, "ndcg": ndcg_at}
HIDDEN_SHARE = 0.2


def read_members(text: str) -> tuple[str, ...]:
    """Members as written on the command line.

    >>> read_members("hrf:n_models=8+gmf")
    ('hrf:n_models=8', 'gmf')
    """
    return tuple(text.split("+"))


class RankStack(ItemLearner):
    """Several learners whose rankings are combined by weights chosen on held-out users.

    Attributes
    ----------
    model_ : StackedRankers
        The members, learned from all rows, and their weights.
    weights_ : dict
        The weight of each member.

    Examples
    --------
    >>> import quiltwork as qw
    >>> from quiltwork.data.samples import planted_votes
    >>> est = qw.RankStack(members=("popularity", "gmf:ridge=20")).fit(planted_votes().table())
    >>> est.weights_["gmf:ridge=20"] >= 0.5
    True

    See Also
    --------
    quiltwork.HybridRandomField, quiltwork.GaussianField, quiltwork.LatentCauses
    """

    name = "stack"
    parameters = (
        Param("members", ("hrf:n_models=24", "latent"), (Thing("a list of learners", read_members),), "who ranks"),
        Param("metric", "auc", (Choice(tuple(METRICS)),), "what the weights must be good at"),
        Param("steps", 10, (Integer(1),), "weights are multiples of one over this"),
        Param("held_out", 0.2, (Real(0.0, 0.9, above_low=True),), "share of the users set aside to choose the weights"),
        Param("splits", 1, (Integer(1),), "how often users are set aside, others each time; more for small tables"),
        *SHARED,
    )

    model_: StackedRankers

    def fit(self, X: object, y: object = None, *, progress: Progress | None = None) -> Self:
        """Learn from a table of users by items; `progress(stage, done, total)` is called as the work goes on."""
        began = time.perf_counter()
        _, data = self._begin_items(X, None)
        watch = progress or silent
        weights = self._choose(data, watch)
        members = self._learn(data, watch)
        self.weights_ = dict(zip(self.members, weights.tolist(), strict=True))
        self.fit_seconds_ = time.perf_counter() - began
        return self._end(StackedRankers(tuple(members), weights, self._provenance(data, weights=self.weights_)), X)

    def _learn(self, data: Dataset, watch: Progress) -> list:
        models = []
        for k, member in enumerate(self.members):
            learner, given = read_learner(member)
            models.append(learner(**{"random_state": self._seed, "n_jobs": self.n_jobs, **given}).fit(data).model_)
            watch("learning members", k + 1, len(self.members))
        return models

    def _choose(self, data: Dataset, watch: Progress) -> np.ndarray:
        """The weights that rank what held-out users chose best; ties go to the first in the list of weights."""
        if len(self.members) == 0:
            raise ParameterError("The 'members' parameter of RankStack must name at least one learner. Got none.")
        n_held = int(self.held_out * data.n_samples)
        if len(self.members) == 1 or n_held < 1 or data.n_samples - n_held < 2:
            return np.full(len(self.members), 1.0 / len(self.members))
        candidates = _simplex(len(self.members), self.steps)
        gained = np.zeros(len(candidates))
        order = stream(self._seed).permutation(data.n_samples)
        for split in range(min(self.splits, data.n_samples // n_held)):
            held = order[split * n_held : (split + 1) * n_held]
            gained += self._try(data, np.sort(held), candidates, watch)
        return np.array(candidates[int(np.argmax(gained))])

    def _try(
        self, data: Dataset, held: np.ndarray, candidates: Sequence[tuple[float, ...]], watch: Progress
    ) -> np.ndarray:
        """The sum of the metric over the held-out users, for each of the weights."""
        shown, hidden = _hide(choices(data)[held], stream(self._seed, int(held[0])))
        if shown.shape[0] == 0:
            return np.zeros(len(candidates))
        codes = shown.toarray().astype(np.uint16)
        models = self._learn(data.rows(np.setdiff1d(np.arange(data.n_samples), held)), watch)
        parts = [comparable_scores(model, codes) for model in models]
        judge = METRICS[self.metric]
        return np.array(
            [judge(place_hidden(sum(map(np.multiply, weights, parts)), shown, hidden)).sum() for weights in candidates]
        )


def _simplex(n: int, steps: int) -> Sequence[tuple[float, ...]]:
    """All weights that are multiples of 1 / steps and sum to one, the most even first."""
    grid = [c for c in itertools.product(range(steps + 1), repeat=n) if sum(c) == steps]
    return [tuple(k / steps for k in c) for c in sorted(grid, key=lambda c: (max(c), c))]


def _hide(rows: csr_array, rng: np.random.Generator) -> tuple[csr_array, csr_array]:
    """Hide a fifth, but at least one, of the choices of every user who has two or more."""
    user, item, hide = [], [], []
    n_users = 0
    for i in range(rows.shape[0]):
        own = rng.permutation(rows.indices[rows.indptr[i] : rows.indptr[i + 1]])
        if len(own) < 2:
            continue
        n_hidden = max(1, int(HIDDEN_SHARE * len(own)))
        user += [n_users] * len(own)
        item += own.tolist()
        hide += [True] * n_hidden + [False] * (len(own) - n_hidden)
        n_users += 1
    marks, shape = np.array(hide, bool), (n_users, rows.shape[1])
    users, items = np.array(user, np.int64), np.array(item, np.int64)
    return choices_of(users[~marks], items[~marks], shape), choices_of(users[marks], items[marks], shape)
