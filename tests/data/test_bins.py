"""Bins: quantiles and edges, the names of intervals, and numbers met later, in rows, evidence and model files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import quiltwork as qw
from quiltwork.data.bins import bin_of, interval_names, read_bins
from quiltwork.data.encode import Encoder, fit_encode
from quiltwork.errors import DataError, DataWarning, ParameterError, UnknownStateError
from quiltwork.models.files import to_bytes


def table(n=200):
    rng = np.random.default_rng(0)
    return {"pH": rng.normal(3.3, 0.2, n), "grade": rng.integers(3, 7, n), "kind": rng.choice(["red", "white"], n)}


def test_quantiles_share_the_rows_evenly():
    encoder, data = fit_encode(table(), discretise=4)
    pH, grade, kind = encoder.variables
    assert [len(v.states) for v in encoder.variables] == [4, 4, 2]
    assert np.bincount(data.column(0)).tolist() == [50, 50, 50, 50]
    assert grade.states == (3, 4, 5, 6) and grade.edges == () and kind.edges == ()
    assert pH.states == interval_names(pH.edges) and set(pH.edges) <= set(table()["pH"].tolist())


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=60), st.integers(2, 6))
def test_every_bin_has_rows_and_none_is_lost(values, n_bins):
    X = {"x": np.array(values, float), "y": np.arange(len(values)) % 2}
    encoder, data = fit_encode(X, discretise={"x": n_bins})
    counts = np.bincount(data.column(0), minlength=encoder.variables[0].n_states)
    distinct = len(set(values))
    assert counts.sum() == len(values)
    assert len(counts) == 2 and distinct == 1 or (counts > 0).all() and 2 <= len(counts) <= n_bins
    for value, code in zip(values, data.column(0).tolist()):
        low, high = [-np.inf, *encoder.variables[0].edges][code], [*encoder.variables[0].edges, np.inf][code]
        assert low < value <= high


def test_weights_are_repeated_rows():
    X, times = table(), np.random.default_rng(1).integers(0, 4, 200)
    repeated = {name: np.repeat(column, times) for name, column in X.items()}
    weighted = fit_encode(X, times.astype(float), discretise=3)[0]
    assert weighted.variables[0].edges == fit_encode(repeated, discretise=3)[0].variables[0].edges


def test_given_edges_make_the_states_that_they_name():
    encoder = Encoder.fit(table(), discretise={"pH": [3.0, 3.25, 9.5]})
    assert encoder.variables[0].states == ("(-inf, 3]", "(3, 3.25]", "(3.25, 9.5]", "(9.5, inf)")
    later = encoder.encode({"pH": [3.0, 3.1, 100.0, -5.0], "grade": [3] * 4, "kind": ["red"] * 4})
    assert later.column(0).tolist() == [0, 1, 3, 0]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, dict])
def test_the_same_bins_from_every_kind_of_table(frame):
    assert Encoder.fit(frame(table()), discretise=5) == Encoder.fit(table(), discretise=5)


def test_sparse_numbers_are_cut_and_sparse_items_are_not():
    counts = csr_array(np.random.default_rng(0).poisson(2.0, (100, 3)))
    assert [v.n_states for v in Encoder.fit(counts, discretise=3).variables] == [3, 3, 3]
    assert not any(v.edges for v in Encoder.fit(csr_array(np.eye(4)), discretise=3).variables)


def test_missing_values_stay_missing():
    X = {"x": [1.0, np.nan, 3.0, 4.0, 5.0, 6.0]}
    with pytest.raises(DataError, match="'x' has a missing value"):
        fit_encode(X, discretise=2)
    encoder, data = fit_encode(X, discretise=2, missing="state")
    assert encoder.variables[0].states == ("(-inf, 4]", "(4, inf)", "missing") and data.column(0)[1] == 2
    assert len(fit_encode(X, discretise=2, missing="drop")[1]) == 5


def test_states_and_numbers_are_both_understood_later():
    encoder, data = fit_encode(table(), discretise=4)
    by_name = encoder.encode(data.to_dict())
    np.testing.assert_array_equal(by_name.states(), data.states())
    assert encoder.encode(data) is data


def test_evidence_may_be_a_number():
    model = qw.learn("bn", table(), discretise=4)
    pH = model.variables[0]
    by_number = qw.query(model, "grade", {"pH": 3.3})
    by_text = qw.query(model, "grade", {"pH": "3.3"})
    by_state = qw.query(model, "grade", {"pH": pH.states[pH.index(3.3)]})
    assert by_number.to_dict() == by_text.to_dict() == by_state.to_dict()
    assert pH.index(pH.edges[0]) == 0 and pH.index(1e9) == 3
    for state in ("sour", float("nan"), "nan"):
        with pytest.raises(UnknownStateError):
            pH.index(state)


@pytest.mark.parametrize("kind", ["bn", "hrf", "dn", "mn", "nb"])
def test_bins_travel_in_model_files(kind, tmp_path):
    X = {name: column for name, column in table().items() if name != "grade"}
    model = qw.learn(kind, X, discretise=2)
    qw.save(model, tmp_path / "m.qw")
    loaded = qw.load(tmp_path / "m.qw")
    assert loaded.encoder == model.encoder and loaded.encoder.variables[0].edges
    np.testing.assert_array_equal(loaded.encoder.encode(X).states(), model.encoder.encode(X).states())


def test_models_without_bins_are_saved_as_before():
    assert b"edges" not in to_bytes(qw.textbook("asia"))


def test_a_learner_takes_a_table_that_is_binned_already():
    data = fit_encode(table(), discretise=3)[1]
    model = qw.learn("bn", data, discretise=5)
    assert model.variables == data.variables
    raw = fit_encode({"grade": table()["grade"], "kind": table()["kind"]})[1]
    assert qw.learn("bn", raw, discretise=2).variables[0].n_states == 2


@pytest.mark.parametrize(
    ("discretise", "error", "message"),
    [
        (1, ParameterError, "bins are from 2 to 65534. Got 1"),
        (2.5, ParameterError, "Got 2.5"),
        (True, ParameterError, "Got True"),
        ("five", ParameterError, "Got 'five'"),
        ({"ph": 3}, DataError, "names 'ph', which is no column of the table"),
        ({"kind": 3}, DataError, "names 'kind', which holds no numbers"),
        ({"pH": [3.4, 3.1]}, ParameterError, "edges of 'pH' must be finite numbers that ascend"),
        ({"pH": [3.1, float("inf")]}, ParameterError, "finite"),
        ({"pH": []}, ParameterError, "finite"),
        ({"pH": ["a"]}, ParameterError, "finite"),
    ],
)
def test_bad_bins_are_named(discretise, error, message):
    with pytest.raises(error, match=message):
        fit_encode(table(), discretise=discretise)


def test_infinity_is_named():
    encoder = Encoder.fit(table(), discretise=4)
    with pytest.raises(DataError, match="Column 'pH' holds inf .* row 1"):
        encoder.encode({"pH": [3.0, np.inf], "grade": [3, 3], "kind": ["red", "red"]})


def test_words_of_the_command_line():
    assert read_bins("a=3, b = 1 2.5,c d=4.0") == {"a": 3, "b": (1.0, 2.5), "c d": (4.0,)}
    for text in ("a", "a=", "a=x y"):
        with pytest.raises(ParameterError, match="Bins must be written"):
            read_bins(text)
    assert interval_names([0.1 + 0.2, 1e20])[1] == "(0.30000000000000004, 1e+20]"
    assert bin_of("x", np.array([1, 2, 3]), (1.0, 2.0)).tolist() == [0, 1, 2]


# Numbers with many values in front of a discrete learner


def test_a_measurement_is_noticed():
    X = {"pH": np.round(np.random.default_rng(0).normal(3.3, 0.3, 2000), 2), "red": np.arange(2000) % 2}
    with pytest.warns(DataWarning, match="50 distinct numbers with decimals in column 'pH': .*discretise=5.*Gaussian"):
        qw.learn("bn", X)
    with pytest.warns(DataWarning, match="more distinct values than half .*discretise=5"):
        qw.learn("bn", {"pH": np.random.default_rng(0).normal(size=300), "red": np.arange(300) % 2})
    with pytest.raises(DataError, match="2,000 distinct values, and max_states is 1,000: .*discretise=5"):
        qw.learn("bn", {"pH": np.random.default_rng(0).normal(size=2000), "red": np.arange(2000) % 2})
    qw.learn("bn", X, discretise=5)
