"""The learners under scikit-learn's own checks and tools; each exception is listed with its reason."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import quiltwork as qw

LEARNERS = [
    qw.BayesianNetwork(search="climb", max_parents=2),
    qw.BayesianNetwork(cpd="tree"),
    qw.BayesianNetwork(cpd="graph", max_parents=2),
    qw.HybridRandomField(k=2, k_star=3),
    qw.DependencyNetwork(),
    qw.DependencyNetwork(cpd="table", k=2),
    qw.MarkovNetwork(k=1),
    qw.MarkovNetwork(structure="dtsl", features="default"),
    qw.MarkovTree(),
]
EXCEPTIONS: dict[str, str] = {}


with warnings.catch_warnings():
    # Learners speak scikit-learn's protocol without inheriting from it (learn/base.py says why), which it remarks on.
    warnings.filterwarnings("ignore", "Estimator .* does not inherit from `sklearn.base.BaseEstimator`")
    all_checks = parametrize_with_checks(LEARNERS, expected_failed_checks=lambda estimator: EXCEPTIONS)


@pytest.mark.filterwarnings("ignore")
@all_checks
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("learner", LEARNERS)
def test_clone_cross_validation_and_grid_search(learner):
    X = np.random.default_rng(0).integers(0, 2, (90, 5))
    assert clone(learner).get_params() == learner.get_params()
    assert cross_val_score(learner, X, cv=3).shape == (3,)
    search = GridSearchCV(learner, {"max_states": [10, 20]}, cv=3).fit(X)
    assert search.best_params_["max_states"] == 10 and search.best_score_ < 0


def test_repr_shows_what_differs_from_the_defaults():
    assert repr(qw.BayesianNetwork(score="bdeu", max_parents=2)) == "BayesianNetwork(score='bdeu', max_parents=2)"
