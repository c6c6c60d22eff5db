"""Markov trees in model files."""

from dataclasses import replace

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.data.dataset import NO_CODE, from_codes
from quiltwork.errors import CorruptModelError
from quiltwork.models import gaussian_tree_file, markov_tree_file
from tables import random_table


def discrete():
    columns = random_table(0, 300, [2, 3, 2, 1, 20])
    return qw.learn("tree", {f"v{k}": c.astype(int) for k, c in enumerate(columns)}, missing="drop", unseen="error")


def gaussian():
    X = np.random.default_rng(0).normal(size=(100, 5)).cumsum(axis=1)
    return qw.learn("tree", {f"v{k}": c for k, c in enumerate(X.T)}, missing="drop")


def test_saving_keeps_every_answer_of_a_discrete_tree(tmp_path):
    tree = discrete()
    qw.save(tree, tmp_path / "m.qw")
    again = qw.load(tmp_path / "m.qw")
    rows = qw.sample(tree, 50, seed=1)
    gaps = from_codes(tree.variables, [np.full(3, NO_CODE)] * 4 + [rows.column(4)[:3]])
    for X in (rows, gaps):
        np.testing.assert_array_equal(qw.log_likelihood(tree, X), qw.log_likelihood(again, X))
    assert (again.edges, again.provenance, again.encoder) == (tree.edges, tree.provenance, tree.encoder)
    np.testing.assert_array_equal(again.strengths, tree.strengths)
    np.testing.assert_array_equal(again.state_counts, tree.state_counts)


def test_saving_keeps_every_answer_of_a_gaussian_tree(tmp_path):
    tree = gaussian()
    qw.save(tree, tmp_path / "m.qw")
    again = qw.load(tmp_path / "m.qw")
    rows = qw.sample(tree, 50, seed=1)
    np.testing.assert_array_equal(qw.log_likelihood(tree, rows), qw.log_likelihood(again, rows))
    assert (again.edges, again.provenance, again.encoder) == (tree.edges, tree.provenance, tree.encoder)
    np.testing.assert_array_equal(again.strengths, tree.strengths)


@pytest.mark.parametrize(
    "tensor, value",
    [("parent", 9), ("parent", -2), ("parent", 0), ("first_entry", 1), ("probs", 0.7), ("probs", np.nan),
     ("state_counts", -1.0)],
)  # fmt: skip
def test_numbers_that_no_discrete_tree_can_have_are_refused(tensor, value):
    refused(markov_tree_file, discrete(), tensor, value)


@pytest.mark.parametrize(
    "tensor, value",
    [("parent", 9), ("parent", 0), ("mean", np.inf), ("deviation", 0.0), ("deviation", np.nan), ("correlation", 0.5),
     ("correlation", -1.0)],
)  # fmt: skip
def test_numbers_that_no_gaussian_tree_can_have_are_refused(tensor, value):
    refused(gaussian_tree_file, gaussian(), tensor, value)


def refused(file, tree, tensor, value):
    description, tensors = file.pack(tree)
    assert file.unpack(description, tensors, {}).edges == tree.edges
    spoiled = {name: array.copy() for name, array in tensors.items()}
    spoiled[tensor][0] = value
    with pytest.raises(ValueError):
        file.unpack(description, spoiled, {})
    with pytest.raises(ValueError):
        file.unpack(description, {**tensors, tensor: tensors[tensor][:-1]}, {})


def test_a_cycle_or_the_same_name_twice_is_refused():
    for file, tree in ((markov_tree_file, discrete()), (gaussian_tree_file, gaussian())):
        description, tensors = file.pack(tree)
        last = int(np.flatnonzero(tree.parent >= 0)[-1])
        looped = tensors["parent"].copy()
        looped[looped < 0] = last
        with pytest.raises(ValueError, match="cycle"):
            file.unpack(description, {**tensors, "parent": looped}, {})
        description.names[1] = description.names[0]
        with pytest.raises(ValueError, match="same name"):
            file.unpack(description, tensors, {})


@pytest.mark.parametrize("make", [discrete, gaussian])
def test_a_damaged_file_is_refused(make, tmp_path):
    qw.save(make(), tmp_path / "m.qw")
    data = bytearray((tmp_path / "m.qw").read_bytes())
    data[-9] ^= 1
    (tmp_path / "m.qw").write_bytes(data)
    with pytest.raises(CorruptModelError):
        qw.load(tmp_path / "m.qw")


def test_ten_thousand_variables_are_four_tensors(tmp_path):
    X = np.random.default_rng(0).random((50, 10_000)) < 0.3
    tree = replace(qw.learn("tree", X[:, :200]), provenance={})
    qw.save(tree, tmp_path / "small.qw")
    assert len(markov_tree_file.pack(tree)[1]) == 4
    assert qw.load(tmp_path / "small.qw").n_parameters == tree.n_parameters == 2 * 200 - 1
