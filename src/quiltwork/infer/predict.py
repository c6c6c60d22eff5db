"""The best guess at a variable from the other columns: the mean of a number, the most probable of states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quiltwork.data.dataset import Variable, position
from quiltwork.infer.blanket import predict_proba
from quiltwork.infer.gaussian import gaussian_means
from quiltwork.infer.gaussian_tree import gaussian_tree_means
from quiltwork.infer.question import blocks_about, model_of
from quiltwork.models.gaussian import GaussianNet
from quiltwork.models.markov_tree import GaussianTree


def predict(model: Any, X: object, variable: str) -> np.ndarray:
    """E[variable | the other columns] of a number, else its most probable state; (rows,).

    The variable's own column may be absent from X, and is not used where it is there. Other missing values are
    integrated or summed out.

    >>> import quiltwork as qw
    >>> net = qw.learn("gbn", {"a": [0.0, 1, 2, 3], "b": [1.0, 4, 4, 7]}, required=[("a", "b")])
    >>> predict(net, {"a": [10.0]}, "b").round(2)
    array([19.3])
    """
    model = model_of(model)
    target = position(variable, model.variables)
    means = MEANS.get(type(model))
    if means is None:
        return _states(model.variables[target])[predict_proba(model, X, variable).argmax(axis=1)]
    blocks = blocks_about(model, X, target, len(model.variables))
    return np.concatenate([np.empty(0), *(means(model, values, target) for values in blocks)])


def _states(variable: Variable) -> np.ndarray:
    states = np.array(variable.states)
    return states if states.tolist() == list(variable.states) else np.array(variable.states, object)


MEANS: dict[type, Callable[..., np.ndarray]] = {GaussianNet: gaussian_means, GaussianTree: gaussian_tree_means}
