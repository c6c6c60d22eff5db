"""What every door accepts: models, estimators, and tables of many kinds."""

import gc
import weakref

import numpy as np
import pytest
from scipy.sparse import csr_array

from infer.networks import net, random_tables
from quiltwork.errors import DataWarning, InputError, ParameterError, SchemaMismatchError
from quiltwork.infer.blanket import log_conditionals, predict_proba
from quiltwork.infer.exact import log_evidence
from quiltwork.infer.likelihood import log_likelihood
from quiltwork.infer.marginals import marginals
from quiltwork.infer.partition import log_partition
from quiltwork.infer.query import query
from quiltwork.infer.question import once_per_model, row_blocks
from quiltwork.infer.sample import sample
from quiltwork.models.textbook import textbook


def test_tables_are_matched_by_name():
    asia = textbook("asia")
    rows = sample(asia, 50, seed=0)
    turned = dict(reversed(rows.to_dict().items()))
    assert np.array_equal(log_conditionals(asia, turned), log_conditionals(asia, rows))
    assert np.array_equal(log_likelihood(asia, rows.to_pandas()), log_likelihood(asia, rows))


def test_the_column_to_predict_may_be_absent():
    asia = textbook("asia")
    rows = sample(asia, 50, seed=0)
    expected = predict_proba(asia, rows, "lung")
    without = {name: column for name, column in rows.to_dict().items() if name != "lung"}
    assert np.array_equal(predict_proba(asia, without, "lung"), expected)  # and no warning
    unnamed = np.stack(list(without.values()), axis=1)
    assert np.array_equal(predict_proba(asia, unnamed, "lung"), expected)
    assert np.array_equal(predict_proba(asia, rows.select(list(without)), "lung"), expected)
    with pytest.raises(SchemaMismatchError):
        predict_proba(asia, unnamed[:, 1:], "lung")
    del without["smoke"]
    with pytest.warns(DataWarning, match="'smoke'"):
        found = predict_proba(asia, without, "lung")
    missing = rows.to_dict() | {"smoke": [None] * 50}
    assert np.array_equal(predict_proba(asia, missing, "lung"), found)


def test_sparse_rows_are_rows():
    from quiltwork.cpds.table import TableCPD
    from quiltwork.data.dataset import Variable
    from quiltwork.data.encode import Encoder
    from quiltwork.models.bayesian import BayesianNet
    from quiltwork.rank.recommend import item_scores, recommend

    raw = random_tables(np.random.default_rng(0), 6, min_states=2, max_states=2)
    variables = tuple(Variable(f"x{v}", (0, 1)) for v in range(6))
    model = BayesianNet(Encoder(variables), tuple(TableCPD(v, tuple(raw[1][v]), raw[2][v]) for v in range(6)))
    dense = (np.random.default_rng(1).random((20, 6)) < 0.3).astype(int)
    assert np.array_equal(item_scores(model, csr_array(dense)), item_scores(model, dense))
    assert recommend(model, csr_array(dense)) == recommend(model, dense)


def test_blocks_cover_all_rows_once(monkeypatch):
    monkeypatch.setattr("quiltwork.infer.question.BLOCK_ENTRIES", 1)
    model = net(*random_tables(np.random.default_rng(0), 3, max_states=30))  # bit planes, codes, single states
    for n in (0, 1, 63, 64, 65, 130):
        rows = sample(model, n, seed=0)
        blocks = list(row_blocks(rows, 10))
        assert [b.start for b, _ in blocks] == list(range(0, n, 64))
        together = np.concatenate([np.empty((0, 3), np.uint16)] + [codes for _, codes in blocks])
        assert np.array_equal(together, rows.states())


def test_what_is_remembered_of_a_model_goes_with_it():
    made = []

    @once_per_model
    def nothing(model):
        made.append(model.kind)

    model = textbook("asia")
    assert nothing(model) is nothing(model) is None
    assert made == ["bn"]
    marginals(model)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_an_estimator_that_was_not_fitted_is_refused():
    class Learner:
        pass

    with pytest.raises(InputError, match="Learner.*fit"):
        marginals(Learner())


@pytest.mark.parametrize("evidence", [["smoke"], "smoke", "", 0, 3, [("smoke", "yes")], np.zeros(8)])
def test_evidence_that_is_no_dictionary_is_refused(evidence):
    for ask in (marginals, log_evidence, log_partition, lambda model, known: query(model, "lung", known)):
        with pytest.raises(InputError, match="Evidence must be a dictionary from names to states. Got"):
            ask(textbook("asia"), evidence)


@pytest.mark.parametrize("ask", [lambda model, **more: query(model, "lung", **more), marginals])
def test_limits_and_seeds_that_are_none_are_named(ask):
    for wrong in (1.5, "x", None, 0):
        with pytest.raises(ParameterError, match="max_entries"):
            ask(textbook("asia"), max_entries=wrong)
    with pytest.raises(ParameterError, match="seed"):
        ask(textbook("asia"), method="gibbs", seed="x")


@pytest.mark.parametrize("variables", [None, 1, 3.5])
def test_names_that_are_none_are_refused(variables):
    with pytest.raises(InputError, match="needs the names of the variables to ask for"):
        query(textbook("asia"), variables)
