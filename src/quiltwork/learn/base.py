"""What every learner shares: scikit-learn's conventions, without importing scikit-learn.

A learner lists its `parameters`; its keyword-only constructor is made from them and only stores. `fit` checks
them, encodes the table, and leaves the frozen model in `model_`. Importing scikit-learn takes longer
than learning most networks, so its protocol is spoken here by hand (`get_params`, `set_params`, tags), and
its own classes are loaded only when it asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from quiltwork.data.bins import SAYS, read_bins
from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import check_weights, fit_encode
from quiltwork.errors import ParameterError
from quiltwork.params import Choice, Integer, Nothing, Param, Thing, signature
from quiltwork.rng import seed_of
from quiltwork.search.climb import Progress, silent

if TYPE_CHECKING:
    import numpy as np

__all__ = ["SHARED", "Learner", "Progress", "ScoreName", "silent"]

# Every learner has these: how the table is encoded, and how the work is run.
SHARED = (
    Param(
        "missing", "error", (Choice(("error", "drop", "state")),), "a missing value: an error, a dropped row, a state"
    ),
    Param(
        "unseen", "missing", (Choice(("missing", "error")),), "a state first met after learning: missing, or an error"
    ),
    Param("max_states", 1000, (Integer(2, 65_534),), "most states of a column"),
    Param(
        "discretise", None, (Nothing(), Integer(2, 65_534), Thing(SAYS, read_bins)), "bins that columns of numbers make"
    ),
    Param("random_state", 0, (Nothing(), Integer(0), Thing("a NumPy generator")), "seed; None for a new one each time"),
    Param("n_jobs", None, (Nothing(), Integer()), "threads; None for all cores"),
)


class Learner:
    """Base of all learners."""

    name: ClassVar[str]
    parameters: ClassVar[tuple[Param, ...]]

    if TYPE_CHECKING:  # the constructor stores each parameter under its name

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls) -> None:
        def __init__(self: Learner, **given: object) -> None:
            known = {p.name: p.default for p in cls.parameters}
            for name in given:
                if name not in known:
                    raise TypeError(_no_parameter(cls.__name__, name, known))
            self.__dict__.update({**known, **given})

        __init__.__signature__ = signature(cls.parameters)  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[assignment]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters and their values."""
        return {p.name: self.__dict__[p.name] for p in self.parameters}

    def set_params(self, **given: object) -> Self:
        """Change parameters by name."""
        known = self.get_params()
        for name, value in given.items():
            if name not in known:
                raise ParameterError(_no_parameter(type(self).__name__, name, known))
            self.__dict__[name] = value
        return self

    def score_samples(self, X: object) -> np.ndarray:
        """Log-likelihood of each row."""
        from quiltwork.infer.likelihood import log_likelihood

        return log_likelihood(self, X)

    def score(self, X: object, y: object = None) -> float:
        """Mean log-likelihood of a row, so that scikit-learn's model selection can compare learners."""
        return float(self.score_samples(X).mean())

    def _begin(self, X: object, weights: object) -> tuple[Any, Any]:
        """Check the parameters, then read and encode the table; rows of weight 0 say nothing, and are left out."""
        self._check_parameters()
        self._seed = seed_of(self.random_state)
        encoder, data = self._encode(X, weights)
        return encoder, with_weight(data)

    def _check_parameters(self) -> None:
        for param in self.parameters:
            param.check(type(self).__name__, self.__dict__[param.name])

    def _encode(self, X: object, weights: object = None) -> tuple[Any, Any]:
        """The table as this learner takes it: an encoder, and what it makes of the rows."""
        return fit_encode(
            X,
            weights,
            missing=self.missing,
            unseen=self.unseen,
            max_states=self.max_states,
            discretise=self.discretise,
        )

    def _provenance(self, data: Dataset, took: Mapping[str, object] | None = None, **more: object) -> dict[str, Any]:
        """Where a model comes from, in plain values; the number of threads never matters, so it is left out.

        `took` tells parameters that had another value than the one given.
        """
        given = {k: _plain(v) for k, v in {**self.get_params(), **(took or {})}.items() if k != "n_jobs"}
        values = {k: v for k, v in given.items() if _is_plain(v)}
        return {"learner": self.name, "parameters": values, "rows": data.n_samples, **more}

    def _end(self, model: Any, X: object) -> Self:
        """Keep the model; the names of columns that had names are kept as scikit-learn does."""
        self.model_ = model
        self.n_features_in_ = len(model.variables)
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            import numpy as np

            self.feature_names_in_ = np.array([v.name for v in model.variables], object)
        else:
            self.__dict__.pop("feature_names_in_", None)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type="density_estimator",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True, categorical=True, string=True),
        )

    def __repr__(self) -> str:
        values = self.get_params()
        changed = [p.name for p in self.parameters if repr(values[p.name]) != repr(p.default)]
        return f"{type(self).__name__}({', '.join(f'{name}={values[name]!r}' for name in changed)})"


def _no_parameter(learner: str, name: str, known: Iterable[str]) -> str:
    told = f"{learner} has no parameter {name!r}"
    if name == "discretise":
        told += ", for it takes numbers as they are; BayesianNetwork and others of states cut them into bins"
    return f"{told}; it has {', '.join(known)}."


def _plain(value: Any) -> Any:
    """A value as a model file gives it back: NumPy's numbers are Python's, and several of them are a list."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, str) else value


def _is_plain(value: object) -> bool:
    several = value if isinstance(value, list) else [value]
    return all(isinstance(one, (str, int, float, bool, type(None))) for one in several)


def with_weight(data: Any) -> Any:
    """The rows that count; refused where none does."""
    weights = check_weights(data.weights, data.n_samples) if data.n_samples else None
    return data if weights is None or weights.all() else data.rows(weights > 0)


class ScoreName(str):
    """The name of a score that can be called like scikit-learn's method `score`.

    In this field "score" is what a graph is judged by; in scikit-learn it is the method that judges a fitted
    estimator. A learner with a parameter of that name serves both: `est.score == "bic"`, `est.score(X)`.
    """

    learner: Learner

    def __call__(self, X: object, y: object = None) -> float:
        return Learner.score(self.learner, X, y)
