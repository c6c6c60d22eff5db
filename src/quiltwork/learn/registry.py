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
    "dn": "quiltwork.learn.dependency:DependencyNetwork",
    "mn": "quiltwork.learn.markov:MarkovNetwork",
    "tree": "quiltwork.learn.markov_tree:MarkovTree",
    "gbn": "quiltwork.learn.gaussian:GaussianNetwork",
    "gmf": "quiltwork.learn.gaussian_field:GaussianField",
    "nb": "quiltwork.learn.naive_bayes:NaiveBayes",
    "itemrank": "quiltwork.learn.item_rank:ItemRank",
    "popularity": "quiltwork.learn.popularity:Popularity",
    "latent": "quiltwork.learn.latent:LatentCauses",
    "stack": "quiltwork.rank.stack:RankStack",
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


def read_learner(text: str) -> tuple[type[Learner], dict[str, Any]]:
    """A learner and its parameters as written on the command line.

    >>> learner, parameters = read_learner("bn:search=climb:max_parents=2")
    >>> learner.__name__, parameters
    ('BayesianNetwork', {'search': 'climb', 'max_parents': 2})
    """
    name, *settings = text.split(":")
    learner = learner_class(name)
    known = {param.name: param for param in learner.parameters}
    given = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        key = key.replace("-", "_")
        if not equals or key not in known:
            raise ParameterError(
                f"{text!r} must be written like bn:search=climb:max_parents=2; {setting!r} is not known."
            )
        given[key] = known[key].parse(learner.__name__, value)
    return learner, given


def learn(name: str, X: object, **params: Any) -> Any:
    """Learn a model in one line: the learner's name, the table, the learner's parameters.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (100, 3))
    >>> learn("bn", X, search="climb").kind
    'bn'
    """
    return learner_class(name)(**params).fit(X).model_
