"""Models that rank items and do nothing else: what they hold is one number for every two items.

A variable with two states is an item, and its second state means that a user chose it. None of these models has a
joint distribution to ask for; `infer.rankers` says how each scores the items of a user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder


class _Items:
    """What the rankers share."""

    encoder: Encoder

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.encoder.variables

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """None: the score of an item reads all others, and a graph with every edge says nothing."""
        return []


@dataclass(frozen=True, eq=False)
class NaiveBayesItems(_Items):
    """Every item in turn is the class of a naive Bayes classifier, the others are its features.

    encoder       names and states of the items
    state_counts  (2 n_items,) for each item the users without and with it
    given         (n_items, n_items): given[k, j] = P(item k is chosen | item j is chosen); the diagonal is not read
    provenance    where the model came from; plain values only
    """

    encoder: Encoder
    state_counts: np.ndarray
    given: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind = "nb"

    @property
    def n_parameters(self) -> int:
        return len(self.given) ** 2  # those off the diagonal, and the share of each item

    def __repr__(self) -> str:
        return f"NaiveBayesItems({len(self.given)} items)"


@dataclass(frozen=True, eq=False)
class ItemWalk(_Items):
    """Where random walks over the graph of items lead.

    encoder       names and states of the items
    state_counts  (2 n_items,) for each item the users without and with it
    reach         (n_items, n_items): reach[k, j] = the chance to find at j a walk that starts at k; zero diagonal
    provenance    where the model came from; plain values only
    """

    encoder: Encoder
    state_counts: np.ndarray
    reach: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind = "itemrank"

    @property
    def n_parameters(self) -> int:
        return len(self.reach) * (len(self.reach) - 1) // 2  # users who chose both, for every two items

    def __repr__(self) -> str:
        return f"ItemWalk({len(self.reach)} items)"


@dataclass(frozen=True, eq=False)
class GaussianItems(_Items):
    """A Gaussian Markov field over items that are 0 or 1.

    The mean of an item given all others is mean[j] + sum over k of weight[k, j] (x[k] - mean[k]), and its variance
    1 / precision[j]. The weights are a full matrix, or of low rank: factors[k] · factors[j] / precision[j].

    encoder       names and states of the items
    state_counts  (2 n_items,) for each item the users without and with it
    mean          (n_items,) of each item; all zero where the field is not centred
    precision     (n_items,) the diagonal of the precision matrix
    weights       (n_items, n_items) with a zero diagonal, or (0, 0) where the field is of low rank
    factors       (n_items, rank), or (n_items, 0) where it is not
    provenance    where the model came from; plain values only
    """

    encoder: Encoder
    state_counts: np.ndarray
    mean: np.ndarray
    precision: np.ndarray
    weights: np.ndarray
    factors: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind = "gmf"

    @property
    def n_parameters(self) -> int:
        """Free entries of the precision matrix, and the means that are not fixed at zero."""
        n_items = len(self.precision)
        entries = n_items * (n_items + 1) // 2 if len(self.weights) else self.factors.size + n_items
        return entries + int(np.count_nonzero(self.mean))

    def __repr__(self) -> str:
        rank = "" if len(self.weights) else f", rank {self.factors.shape[1]}"
        return f"GaussianItems({len(self.precision)} items{rank})"
