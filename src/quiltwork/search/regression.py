"""One logistic regression under way, as the arrays that `search/newton.py` works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quiltwork.search.indicators import Indicators

GRAM_BYTES = 2**26  # of the Gram matrices of one target; members that find no place in them take turns


class Regression(NamedTuple):
    """The regression of one target under way; `solve` changes it. (Fields keep their order.)

    intercept  (k,)
    weights    (k, n)
    margin     (k, m) intercept + sum of weights, but for a part common to all logits
    odds       (k, m) their exponentials
    slope      (k, n) gradients of the loss at the last look at all indicators
    allowed    (n,) which indicators may join
    members    (c,) those that have joined, from place 1 on
    place      (n,) where they are, or 0
    n_members  (1,) places taken
    gram       (k, c, c)
    curvature  (k, m) weights of the rows in it
    stale      (k,) whether it must be computed anew
    residual   (m,) weight * (probability - 1 where it came true), of one logit
    """

    intercept: np.ndarray
    weights: np.ndarray
    margin: np.ndarray
    odds: np.ndarray
    slope: np.ndarray
    allowed: np.ndarray
    members: np.ndarray
    place: np.ndarray
    n_members: np.ndarray
    gram: np.ndarray
    curvature: np.ndarray
    stale: np.ndarray
    residual: np.ndarray


def regression(x: Indicators, labels: np.ndarray, n_logits: int, allowed: np.ndarray) -> Regression:
    """The regression of labels (m,) before any indicator has joined: intercepts that give their frequencies.

    With one logit the labels are 0 and 1, and it is that of 1; else logit k is that of label k. Each must occur.
    """
    m, n = len(labels), len(x.variable)
    places = 1 + min(n, max(8, int((GRAM_BYTES / 8 / n_logits) ** 0.5)))
    shares = np.bincount(labels, x.weights) / x.weights.sum()
    intercept = np.log(shares[1:] / shares[0]) if n_logits == 1 else np.log(shares)
    margin = np.repeat(intercept[:, None], m, axis=1)
    return Regression(
        intercept,
        weights=np.zeros((n_logits, n)),
        margin=margin,
        odds=np.exp(margin),
        slope=np.zeros((n_logits, n)),
        allowed=allowed,
        members=np.zeros(places, np.int64),
        place=np.zeros(n, np.int64),
        n_members=np.ones(1, np.int64),
        gram=np.empty((n_logits, places, places)),
        curvature=np.empty((n_logits, m)),
        stale=np.ones(n_logits, np.bool_),
        residual=np.empty(m),
    )
