"""Learners by the names of the command line."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork.errors import ParameterError

if TYPE_CHECKING:
    from quiltwork.learn.base import Learner

LEARNERS = {
    "bn": "quiltwork.learn.bayesian:BayesianNetwork",
    "hrf": "quiltwork.learn.hybrid:HybridRandomField",
}


def learner_class(name: str) -> type[Learner]:
    """The learner with this name.

    >>> learner_class("bn").__name__
    'BayesianNetwork'
    """
    if name not in LEARNERS:
        raise ParameterError(f"There is no learner {name!r}; there are {', '.join(LEARNERS)}.")
    module, attribute = LEARNERS[name].split(":")
    return getattr(import_module(module), attribute)


def learn(name: str, X: object, **params: Any) -> Any:
    """Learn a model in one line: the learner's name, the table, the learner's parameters.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (100, 3))
    >>> learn("bn", X, search="climb").kind
    'bn'
    """
    return learner_class(name)(**params).fit(X).model_
