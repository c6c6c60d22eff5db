"""Networks of decision trees and graphs in formats that hold tables."""

import os

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.errors import ResourceLimitError
from quiltwork.models.foreign import MAX_TEXT
from tables import dataset, random_table


def learned(cpd):
    n_states = [2, 3, 2, 4]
    return qw.learn("bn", dataset(random_table(0, 300, n_states), n_states), cpd=cpd, kappa=0.5)


@pytest.mark.parametrize("cpd", ["tree", "graph"])
@pytest.mark.parametrize("suffix", [".bif", ".xmlbif", ".uai", ".bif.gz"])
def test_trees_are_written_out_as_tables(tmp_path, cpd, suffix):
    model = learned(cpd)
    qw.write_network(model, tmp_path / f"m{suffix}")
    assert not model.is_tabular
    again = qw.read_network(tmp_path / f"m{suffix}")
    assert again.is_tabular and len(again.arcs) == len(model.arcs) > 0
    for one, other in zip(model.tabular().cpds, again.cpds, strict=True):
        assert one.parents == other.parents
        np.testing.assert_array_equal(one.probs, other.probs)


def test_tables_that_could_not_be_read_again_are_not_written(tmp_path):
    """A tree over some thirty parents has a table of 2^31 entries."""
    rng = np.random.default_rng(0)
    X = rng.random((4000, 31)) < 0.08
    first = np.argmax(np.column_stack([X[:, :30], np.ones(4000, bool)]), axis=1)
    X[:, 30] = (first % 2 == 0) ^ (rng.random(4000) < 0.02)
    names = [f"x{v}" for v in range(31)]
    model = qw.learn("bn", X, cpd="tree", kappa=1.0, search="fixed", start=[(name, "x30") for name in names[:30]])
    with pytest.raises(ResourceLimitError, match=r"m.bif' would hold tables, .* save it as a model file"):
        qw.write_network(model, tmp_path / "m.bif")
    assert os.listdir(tmp_path) == [] and MAX_TEXT > 2**20
    qw.write_network(model, tmp_path / "m.bn")  # Libra's format holds trees
    again = qw.read_network(tmp_path / "m.bn")
    rows = X[:50].astype(int)
    np.testing.assert_allclose(qw.log_likelihood(again, rows), qw.log_likelihood(model, X[:50]), atol=1e-9)
