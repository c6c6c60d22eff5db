"""How the rankers score the items of a user: each by a linear map of the 0/1 row, in closed form.

naive Bayes     Eq 10 of Freno, Trentin, Gori (2009): log P(j) + sum over k other than j of log P(x_k | j is chosen),
                which is log P(j is chosen and the rest is as it is). The paper does not divide by P(rest), which naive
                Bayes takes for another number for each class j, so these are not log odds.
walk            the chance to find at j a walk that starts at one of the user's items, all equally likely
Gaussian field  the mean of x_j given all the others; it need not lie between 0 and 1
latent causes   the mean of x_j given the taste that all the others speak for
stack           the weighted sum of its members' scores, each made comparable within the row

The score of an item never reads the item's own value, for its matrix has a zero diagonal, and the scores of a row do
not depend on the rows beside it; in a field of low rank both are true up to rounding.

Missing values  are summed out by naive Bayes, start no walk, and stand at their mean in a Gaussian field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from quiltwork.data.dataset import NO_CODE
from quiltwork.infer.blanket import all_logits
from quiltwork.infer.question import implementation, once_per_model
from quiltwork.models.latent import LatentItems
from quiltwork.models.rankers import GaussianItems, ItemWalk, NaiveBayesItems
from quiltwork.models.stack import StackedRankers

# Items that no walk reaches would tie at 0; popularity, at a weight too small to matter elsewhere, ranks them.
POPULARITY_WEIGHT = 1e-9


def ranker_scores(model: Any, codes: np.ndarray) -> np.ndarray:
    """Scores of all items for each row of codes, (rows, n_items)."""
    return implementation(SCORES, model, "item_scores")(model, codes)


# Naive Bayes


def _naive_bayes_scores(model: NaiveBayesItems, codes: np.ndarray) -> np.ndarray:
    of_none, log_odds = _logs(model)
    out = of_none + csr_array((codes == 1).astype(np.float64)) @ log_odds
    absent = codes == NO_CODE
    if absent.any():  # they have been counted as not chosen
        out -= csr_array(absent.astype(np.float64)) @ _log_not_chosen(model)
    return out


@once_per_model
def _logs(model: NaiveBayesItems) -> tuple[np.ndarray, np.ndarray]:
    """The score (n_items,) of each item if no other is chosen; and what choosing k adds to that of j."""
    not_chosen = _log_not_chosen(model)
    without, with_it = model.state_counts[::2], model.state_counts[1::2]
    of_none = np.log((with_it + 1) / (without + with_it + 2)) + not_chosen.sum(axis=0)
    log_odds = np.log(model.given)
    np.fill_diagonal(log_odds, 0.0)
    log_odds -= not_chosen
    return of_none, log_odds


def _log_not_chosen(model: NaiveBayesItems) -> np.ndarray:
    """log P(k is not chosen | j is chosen), with a zero diagonal."""
    logs = np.log1p(-model.given)
    np.fill_diagonal(logs, 0.0)
    return logs


# Walks


def _walk_scores(model: ItemWalk, codes: np.ndarray) -> np.ndarray:
    chosen = codes == 1
    out = csr_array(chosen.astype(np.float64)) @ model.reach
    n_others = chosen.sum(axis=1, keepdims=True) - chosen
    out /= np.maximum(n_others, 1)
    popularity = model.state_counts[1::2]
    return out + POPULARITY_WEIGHT * popularity / max(popularity.sum(), 1.0)


# Gaussian fields


def _gaussian_scores(model: GaussianItems, codes: np.ndarray) -> np.ndarray:
    values = (codes == 1).astype(np.float64)
    if model.mean.any():
        values += np.where(codes == NO_CODE, model.mean, 0.0)
    return _mean_if_none(model) + _weigh(model, values)


@once_per_model
def _mean_if_none(model: GaussianItems) -> np.ndarray:
    """The mean (n_items,) of each item if no other is chosen."""
    return model.mean - _weigh(model, model.mean[None])[0]


def _weigh(model: GaussianItems, values: np.ndarray) -> np.ndarray:
    """What the values (rows, n_items) of all other items add to the mean of each."""
    rows = csr_array(values)
    if len(model.weights):
        return rows @ model.weights
    factors = model.factors
    through = (rows @ factors) @ factors.T
    through -= values * (factors**2).sum(axis=1)
    through /= model.precision
    return through


# Latent causes


def _latent_scores(model: LatentItems, codes: np.ndarray) -> np.ndarray:
    """What the taste inferred from the other items makes of each item.

    With A the precision of the taste and all items in, the fit of item j is f_j = w_j . taste; leaving j out turns it
    into (f_j - h_j x_j) / (1 - h_j), where h_j = c_j w_j' A^-1 w_j is what j itself has in it.
    """
    vectors, confidence = model.vectors, model.confidence
    shared = vectors.T @ vectors + model.ridge * np.eye(vectors.shape[1])
    out = np.empty(codes.shape)
    for i, row in enumerate(codes):
        own, absent = vectors[row == 1], vectors[row == NO_CODE]
        inverse = np.linalg.inv(shared + confidence * (own.T @ own) - absent.T @ absent)
        spread = vectors @ inverse
        weight = np.where(row == 1, 1.0 + confidence, np.where(row == NO_CODE, 0.0, 1.0))
        share = weight * (spread * vectors).sum(axis=1)
        fit = spread @ ((1.0 + confidence) * own.sum(axis=0))
        out[i] = (fit - share * (row == 1)) / (1.0 - share)
    return out


# Stacks


def comparable_scores(model: Any, codes: np.ndarray) -> np.ndarray:
    """Scores of all items by any model, each row less its mean and over its deviation.

    A model of probabilities gives P(x_j = 1 | rest), since the fields of means give a mean too. Mean and deviation are
    taken over the items that were not chosen.
    """
    if type(model) in SCORES:
        scores = SCORES[type(model)](model, codes)
    else:
        logits = all_logits(model, codes)
        scores = np.exp(logits[:, 1::2] - np.logaddexp(logits[:, ::2], logits[:, 1::2]))
    others = codes != 1
    n = np.maximum(others.sum(axis=1, keepdims=True), 1)
    mean = np.where(others, scores, 0.0).sum(axis=1, keepdims=True) / n
    deviation = np.sqrt(np.where(others, (scores - mean) ** 2, 0.0).sum(axis=1, keepdims=True) / n)
    return (scores - mean) / np.maximum(deviation, 1e-12)


def _stack_scores(model: StackedRankers, codes: np.ndarray) -> np.ndarray:
    out = np.zeros(codes.shape)
    for weight, member in zip(model.weights, model.members, strict=True):
        if weight > 0:
            out += weight * comparable_scores(member, codes)
    return out


SCORES: dict[type, Callable[..., np.ndarray]] = {
    NaiveBayesItems: _naive_bayes_scores,
    ItemWalk: _walk_scores,
    GaussianItems: _gaussian_scores,
    LatentItems: _latent_scores,
    StackedRankers: _stack_scores,
}
