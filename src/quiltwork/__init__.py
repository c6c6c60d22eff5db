"""Quiltwork: probabilistic graphical models from tables with thousands of columns, in seconds.

>>> import quiltwork as qw
>>> table = qw.sample(qw.textbook("asia"), 20_000, seed=0)
>>> model = qw.learn("bn", table)
>>> print(qw.query(model, ["lung"], evidence={"smoke": "yes", "xray": "yes"}))
lung  probability
yes      0.641432
no       0.358568

Importing does no work: a name is loaded from the file that defines it when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# name -> the file that defines it, along the path of the data
_HOME = {
    "read_table": "quiltwork.data.read",
    "read_votes": "quiltwork.data.votes",
    "Variable": "quiltwork.data.dataset",
    "Dataset": "quiltwork.data.dataset",
    "Encoder": "quiltwork.data.encode",
    "Numbers": "quiltwork.data.numbers",
    "BayesianNet": "quiltwork.models.bayesian",
    "HybridField": "quiltwork.models.hybrid",
    "hrf_from_bn": "quiltwork.models.hybrid",
    "GaussianNet": "quiltwork.models.gaussian",
    "DependencyNet": "quiltwork.models.dependency",
    "MarkovNet": "quiltwork.models.markov",
    "DiscreteTree": "quiltwork.models.markov_tree",
    "GaussianTree": "quiltwork.models.markov_tree",
    "tree_from_bn": "quiltwork.models.markov_tree",
    "save": "quiltwork.models.files",
    "load": "quiltwork.models.files",
    "read_network": "quiltwork.models.foreign",
    "write_network": "quiltwork.models.foreign",
    "write_libra_data": "quiltwork.models.foreign.libra",
    "textbook": "quiltwork.models.textbook",
    "Answer": "quiltwork.infer.answer",
    "GaussianAnswer": "quiltwork.infer.gaussian",
    "query": "quiltwork.infer.query",
    "marginals": "quiltwork.infer.marginals",
    "log_likelihood": "quiltwork.infer.likelihood",
    "log_partition": "quiltwork.infer.partition",
    "conditional_marginal_log_likelihood": "quiltwork.infer.groups",
    "pseudo_log_likelihood": "quiltwork.infer.blanket",
    "log_conditionals": "quiltwork.infer.blanket",
    "predict_proba": "quiltwork.infer.blanket",
    "predict": "quiltwork.infer.predict",
    "blanket": "quiltwork.infer.blanket",
    "separated": "quiltwork.infer.separation",
    "is_perfect": "quiltwork.infer.separation",
    "dn_from_bn": "quiltwork.infer.consistent",
    "rules": "quiltwork.infer.rules",
    "Rule": "quiltwork.infer.rules",
    "Condition": "quiltwork.infer.rules",
    "sample": "quiltwork.infer.sample",
    "BayesianNetwork": "quiltwork.learn.bayesian",
    "HybridRandomField": "quiltwork.learn.hybrid",
    "DependencyNetwork": "quiltwork.learn.dependency",
    "MarkovNetwork": "quiltwork.learn.markov",
    "MarkovTree": "quiltwork.learn.markov_tree",
    "LatentCauses": "quiltwork.learn.latent",
    "RankStack": "quiltwork.rank.stack",
    "GaussianNetwork": "quiltwork.learn.gaussian",
    "GaussianField": "quiltwork.learn.gaussian_field",
    "NaiveBayes": "quiltwork.learn.naive_bayes",
    "ItemRank": "quiltwork.learn.item_rank",
    "Popularity": "quiltwork.learn.popularity",
    "item_scores": "quiltwork.rank.recommend",
    "recommend": "quiltwork.rank.recommend",
    "similar_items": "quiltwork.rank.similar",
    "document": "quiltwork.view.document",
    "to_html": "quiltwork.view.html",
    "to_text": "quiltwork.view.text",
    "to_networkx": "quiltwork.view.networks",
    "figure": "quiltwork.view.figure",
}
_ROOMS = ("errors", "learn", "view")  # rooms that can be called: qw.learn("bn", X), qw.view(model)

__all__ = sorted([*_HOME, "learn", "view"])

if TYPE_CHECKING:
    from quiltwork.data.dataset import Dataset, Variable
    from quiltwork.data.encode import Encoder
    from quiltwork.data.numbers import Numbers
    from quiltwork.data.read import read_table
    from quiltwork.data.votes import read_votes
    from quiltwork.infer.answer import Answer
    from quiltwork.infer.blanket import blanket, log_conditionals, predict_proba, pseudo_log_likelihood
    from quiltwork.infer.consistent import dn_from_bn
    from quiltwork.infer.gaussian import GaussianAnswer
    from quiltwork.infer.groups import conditional_marginal_log_likelihood
    from quiltwork.infer.likelihood import log_likelihood
    from quiltwork.infer.marginals import marginals
    from quiltwork.infer.partition import log_partition
    from quiltwork.infer.predict import predict
    from quiltwork.infer.query import query
    from quiltwork.infer.rules import Condition, Rule, rules
    from quiltwork.infer.sample import sample
    from quiltwork.infer.separation import is_perfect, separated
    from quiltwork.learn.bayesian import BayesianNetwork
    from quiltwork.learn.dependency import DependencyNetwork
    from quiltwork.learn.gaussian import GaussianNetwork
    from quiltwork.learn.gaussian_field import GaussianField
    from quiltwork.learn.hybrid import HybridRandomField
    from quiltwork.learn.item_rank import ItemRank
    from quiltwork.learn.latent import LatentCauses
    from quiltwork.learn.markov import MarkovNetwork
    from quiltwork.learn.markov_tree import MarkovTree
    from quiltwork.learn.naive_bayes import NaiveBayes
    from quiltwork.learn.popularity import Popularity
    from quiltwork.learn.registry import learn
    from quiltwork.models.bayesian import BayesianNet
    from quiltwork.models.dependency import DependencyNet
    from quiltwork.models.files import load, save
    from quiltwork.models.foreign import read_network, write_network
    from quiltwork.models.foreign.libra import write_libra_data
    from quiltwork.models.gaussian import GaussianNet
    from quiltwork.models.hybrid import HybridField, hrf_from_bn
    from quiltwork.models.markov import MarkovNet
    from quiltwork.models.markov_tree import DiscreteTree, GaussianTree, tree_from_bn
    from quiltwork.models.textbook import textbook
    from quiltwork.rank.recommend import item_scores, recommend
    from quiltwork.rank.similar import similar_items
    from quiltwork.rank.stack import RankStack
    from quiltwork.view.document import document
    from quiltwork.view.figure import figure
    from quiltwork.view.html import to_html
    from quiltwork.view.networks import to_networkx
    from quiltwork.view.show import view
    from quiltwork.view.text import to_text


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"quiltwork.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'quiltwork' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # the next use is a plain lookup
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
