"""What holds for every learner of states; learners that only rank items have a list of their own."""

from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone

import quiltwork as qw
from quiltwork.errors import DataWarning, InputError
from quiltwork.models.files import to_bytes
from tables import random_table

N_STATES = [2, 3, 2, 4, 2, 3]
LEARNERS = [
    qw.BayesianNetwork(restarts=20),
    qw.BayesianNetwork(search="climb", score="bdeu"),
    qw.BayesianNetwork(search="tabu", restarts=1),
    qw.BayesianNetwork(search="k2", score="uniform", max_parents=2),
    qw.BayesianNetwork(cpd="tree"),
    qw.BayesianNetwork(cpd="tree", operators="CB", score="bdeu"),
    qw.BayesianNetwork(cpd="graph"),
    qw.BayesianNetwork(cpd="graph", operators="CBM", smoothing="laplace"),
    qw.HybridRandomField(k=3, k_star=4),
    qw.DependencyNetwork(),
    qw.DependencyNetwork(splits="complete", smoothing="laplace", prior="bdeu"),
    qw.DependencyNetwork(cpd="table", k=3),
    qw.DependencyNetwork(cpd="logistic", strength=2.0),
    qw.DependencyNetwork(cpd="logistic", penalty="l2", strength=2.0),
    qw.DependencyNetwork(cpd="boosted"),
    qw.DependencyNetwork(cpd="auto"),
    qw.MarkovNetwork(k=2),
    qw.MarkovNetwork(structure="dtsl"),
    qw.MarkovNetwork(structure="l1", edge_penalty=2.0),
    qw.MarkovNetwork(structure="independent"),
    qw.MarkovTree(),
]
NEAR = 0.01  # regressions stop where the objective hardly changes; all others differ by rounding
# Those that boost or choose hold rows out, others where the rows come in another order.
BY_HELD_OUT_ROWS = [one for one in LEARNERS if getattr(one, "cpd", None) in ("boosted", "auto")]
OTHERS = [one for one in LEARNERS if one not in BY_HELD_OUT_ROWS]
WITH_WEIGHTS = [one for one in OTHERS if "sample_weight" in signature(one.fit).parameters]

every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def names(columns) -> dict[str, np.ndarray]:
    """A table of words."""
    return {f"v{k}": np.array([f"s{code}" for code in column]) for k, column in enumerate(columns)}


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    return np.column_stack(random_table(3, 400, N_STATES))


@every_learner
def test_the_same_seed_gives_the_same_bytes_for_any_number_of_threads(learner, table):
    found = {to_bytes(clone(learner).set_params(n_jobs=jobs).fit(table).model_) for jobs in (1, 2, 2, 3)}
    assert len(found) == 1


@every_learner
def test_what_is_given_is_not_changed(learner, table):
    mine = table.copy()
    mine.flags.writeable = False
    before = learner.get_params()
    est = clone(learner).fit(mine)
    qw.pseudo_log_likelihood(est, mine)
    assert np.array_equal(mine, table)
    assert est.get_params() == before


@pytest.mark.parametrize("learner", OTHERS, ids=repr)
def test_the_order_of_rows_does_not_matter(learner, table):
    shuffled = table[np.random.default_rng(0).permutation(len(table))]
    own, other = (clone(learner).fit(rows) for rows in (table, shuffled))
    assert qw.log_conditionals(other, table) == pytest.approx(qw.log_conditionals(own, table), abs=NEAR)


@pytest.mark.parametrize("learner", WITH_WEIGHTS, ids=repr)
def test_weights_are_repeated_rows(learner, table):
    weights = np.random.default_rng(1).integers(0, 4, len(table))
    encoder = clone(learner).fit(table).model_.encoder  # rows of weight 0 have states too
    weighted = clone(learner).fit(encoder.encode(table), sample_weight=weights)
    repeated = clone(learner).fit(encoder.encode(np.repeat(table, weights, axis=0)))
    assert qw.log_conditionals(weighted, table) == pytest.approx(qw.log_conditionals(repeated, table), abs=NEAR)


@every_learner
def test_states_by_any_name(learner, table):
    """Names say which state a code is; nothing is read into them."""
    coded, named = clone(learner).fit(table), clone(learner).fit(names(table.T))
    assert qw.log_conditionals(named, names(table.T)) == pytest.approx(qw.log_conditionals(coded, table), abs=1e-12)


@every_learner
def test_conditionals_are_distributions_and_a_table_is_its_rows(learner, table):
    est = clone(learner).fit(table)
    logs = qw.log_conditionals(est, table)
    for v, (name, r) in enumerate(zip((f"x{v}" for v in range(len(N_STATES))), N_STATES)):
        probs = qw.predict_proba(est, table, name)
        assert probs.shape == (len(table), r)
        assert probs.sum(axis=1) == pytest.approx(np.ones(len(table)), abs=1e-12)
        assert np.log(probs[np.arange(len(table)), table[:, v]]) == pytest.approx(logs[:, v], abs=1e-9)
    assert qw.pseudo_log_likelihood(est, table) == pytest.approx(logs.sum(axis=1), abs=1e-12)
    for i in (0, 63, 64, 399):
        assert qw.log_conditionals(est, table[i : i + 1])[0] == pytest.approx(logs[i], abs=1e-12)


@every_learner
def test_a_variables_own_value_is_not_read(learner, table):
    est = clone(learner).fit(table)
    for v, r in enumerate(N_STATES):
        other = table.copy()
        other[:, v] = (other[:, v] + 1) % r
        assert np.array_equal(qw.predict_proba(est, other, f"x{v}"), qw.predict_proba(est, table, f"x{v}"))


@every_learner
def test_loaded_as_saved(learner, table, tmp_path):
    est = clone(learner).fit(table)
    qw.save(est, tmp_path / "m.qw")
    loaded = qw.load(tmp_path / "m.qw")
    assert np.array_equal(qw.log_conditionals(loaded, table), qw.log_conditionals(est, table))
    assert to_bytes(loaded) == to_bytes(est.model_)
    assert repr(loaded) == repr(est.model_)
    assert loaded.provenance["learner"] == learner.name


@every_learner
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (5, 1), (2, 2)], ids=str)
def test_tables_of_one_row_or_one_column(learner, shape):
    X = np.arange(np.prod(shape)).reshape(shape) % 2
    est = clone(learner).fit(X, **({"validation": X} if learner in BY_HELD_OUT_ROWS else {}))
    assert np.isfinite(qw.pseudo_log_likelihood(est, X)).all()
    assert est.model_.n_parameters >= 0


@every_learner
def test_constant_and_duplicate_columns(learner):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 300)
    X = np.column_stack([a, a, np.zeros(300, int), rng.integers(0, 2, 300)])
    est = clone(learner).fit(X)
    assert qw.predict_proba(est, X, "x2")[:, 0].min() > 0.97
    if getattr(learner, "structure", None) != "independent":
        assert (qw.predict(est, X, "x0") == a).all()
    assert qw.recommend(est, X, n=1, seen=True)


@every_learner
def test_unseen_states_are_missing(learner, table):
    est = clone(learner).fit(table)
    strange = table[:3].astype(int)
    strange[0, 1] = 9
    with pytest.warns(DataWarning):
        found = qw.log_conditionals(est, strange)
    assert np.isfinite(found[:, [0, 2, 3, 4, 5]]).all()
    assert found[1:] == pytest.approx(qw.log_conditionals(est, table[1:3]), abs=1e-12)


@every_learner
def test_an_empty_table_is_refused_and_leaves_nothing(learner):
    fresh = clone(learner)
    with pytest.raises(InputError):
        fresh.fit(np.empty((0, 3), int))
    assert not hasattr(fresh, "model_")
