"""CPDs of every kind in model files: what was saved comes back, and what cannot be true is refused."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.data.dataset import NO_CODE, from_codes
from quiltwork.errors import CorruptModelError, InputError
from quiltwork.learn.dependency_cpds import KINDS as LEARNED
from quiltwork.models import local_bayesian_file, local_dependency_file
from quiltwork.models.files import from_bytes, to_bytes
from quiltwork.models.local_file import PARTS
from tables import dataset, random_table

STATES = [2, 3, 2, 2, 20]


def some_rows(n=300, seed=0):
    return dataset(random_table(seed, n, STATES), STATES)


@cache
def tree_network():
    return qw.learn("bn", some_rows(), cpd="tree", operators="CB", kappa=0.5)


@cache
def graph_network():
    return qw.learn("bn", some_rows(), cpd="graph", operators="CBM", kappa=0.5)


@cache
def tree_dependencies():
    return qw.learn("dn", some_rows(), kappa=0.5, splits="both")


@cache
def dependencies(kind):
    return qw.learn("dn", some_rows(), cpd=kind)


MODELS = {
    "bn trees": (tree_network, local_bayesian_file),
    "bn graphs": (graph_network, local_bayesian_file),
    "dn trees": (tree_dependencies, local_dependency_file),
}
MODELS |= {
    f"dn {kind}": (partial(dependencies, kind), local_dependency_file)
    for kind in LEARNED
    if kind not in ("tree", "table")  # tables alone have a file format of their own
}
every_model = pytest.mark.parametrize("name", MODELS)


@every_model
def test_saving_keeps_every_answer(name):
    model = MODELS[name][0]()
    content = to_bytes(model)
    again = from_bytes(content)
    assert to_bytes(again) == content and type(again) is type(model)
    rows = some_rows(50, seed=1)
    codes = rows.states()
    codes[np.random.default_rng(0).random(codes.shape) < 0.3] = NO_CODE
    for X in (rows, from_codes(model.variables, list(codes.T))):
        np.testing.assert_array_equal(qw.log_conditionals(model, X), qw.log_conditionals(again, X))
    assert [cpd.kind for cpd in again.cpds] == [cpd.kind for cpd in model.cpds]
    assert again.arcs == model.arcs and again.n_parameters == model.n_parameters
    np.testing.assert_array_equal(again.strengths, model.strengths)


def test_kinds_may_be_mixed():
    """Each variable has a CPD of another kind; those of a Bayesian network may not be regressions."""
    models = [make() for name, (make, _) in MODELS.items() if name.startswith("dn")]
    models.append(dependencies("table"))
    cpds = [models[v % len(models)].cpds[v] for v in range(len(STATES))]
    mixed = replace(models[0], cpds=tuple(cpds), strengths=None)
    again = from_bytes(to_bytes(mixed))
    assert [cpd.kind for cpd in again.cpds] == [cpd.kind for cpd in cpds]
    np.testing.assert_array_equal(qw.log_conditionals(again, some_rows(20)), qw.log_conditionals(mixed, some_rows(20)))
    assert set(local_bayesian_file.KINDS) == {"table", "tree", "graph"} <= set(PARTS)


def test_a_tree_of_one_leaf_and_one_of_many(tmp_path):
    model = qw.learn("bn", {"a": [0, 1, 1], "b": ["x", "x", "x"]}, cpd="tree")
    qw.save(model, tmp_path / "m.qw")
    assert [cpd.n_leaves for cpd in qw.load(tmp_path / "m.qw").cpds] == [1, 1]
    X = np.random.default_rng(0).random((2000, 12)) < 0.5
    X[:, 11] = X[:, :11].sum(axis=1) % 2
    deep = qw.learn("bn", X, cpd="tree", kappa=1.0, tiers=[[f"x{v}" for v in range(11)], ["x11"]])
    qw.save(deep, tmp_path / "m.qw")
    assert qw.load(tmp_path / "m.qw").n_parameters == deep.n_parameters


# Numbers that no CPD can have


def spoiled(name, tensor, change):
    make, file = MODELS[name]
    description, tensors = file.pack(make())
    changed = {key: array.copy() for key, array in tensors.items()}
    changed[tensor] = change(changed[tensor])
    return file, description, changed


def put(at, value):
    def change(array):
        array[at] = value
        return array

    return change


IMPOSSIBLE = {
    "no such kind": ("kind", put(0, 99)),
    "negative kind": ("kind", put(0, -1)),
    "too few kinds": ("kind", lambda a: a[:-1]),
    "split on a variable out of range": ("tree.variable", put(0, 99)),
    "split on a variable below leaf": ("tree.variable", put(0, -2)),
    "split on a state out of range": ("tree.state", lambda a: np.where(a >= 0, 99, a)),
    "state below complete": ("tree.state", lambda a: np.where(a >= 0, -2, a)),
    "branch out of its arrays": ("tree.branches", put(0, 10**9)),
    "negative branch": ("tree.branches", put(0, -1)),
    "circle": ("tree.branches", put(0, 0)),
    "node reached twice": ("tree.branches", lambda a: put(0, a[1])(a)),
    "branches begin elsewhere": ("tree.first", put(0, 1)),
    "starts that fall": ("tree.first.start", put(1, 10**6)),
    "starts that begin late": ("tree.first.start", put(0, 1)),
    "starts too few": ("tree.first.start", lambda a: a[:-1]),
    "a node too few": ("tree.state", lambda a: a[:-1]),
    "a gain too few": ("tree.gain", lambda a: a[:-1]),
    "gain that is no number": ("tree.gain", put(0, np.nan)),
    "probability above one": ("tree.probs", put(0, 1.01)),
    "negative probability": ("tree.probs", put(slice(0, 2), [1.5, -0.5])),
    "probability that is no number": ("tree.probs", put(0, np.nan)),
    "row that sums to 1 + 1e-8": ("tree.probs", lambda a: put(0, a[0] + 1e-8)(a)),
    "a probability too few": ("tree.probs", lambda a: a[:-1]),
    "a probability too many": ("tree.probs", lambda a: np.append(a, 0.5)),
    "negative count": ("tree.counts", put(0, -1.0)),
    "infinite count": ("tree.counts", put(0, np.inf)),
    "negative flow": ("tree.flow", put(0, -1.0)),
    "flow that is no number": ("tree.flow", put(0, np.nan)),
    "a flow too few": ("tree.flow", lambda a: a[:-1]),
    "strength that is no number": ("strengths", put(0, np.nan)),
    "a strength too few": ("strengths", lambda a: a[:-1]),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
@pytest.mark.parametrize("name", ["bn trees", "bn graphs", "dn trees"])
def test_numbers_that_no_tree_can_have_are_refused(name, what):
    tensor, change = IMPOSSIBLE[what]
    if name == "bn graphs":
        if what == "node reached twice":
            pytest.skip("in a graph that is what merging does")
        tensor = tensor.replace("tree.", "graph.")
    file, description, tensors = spoiled(name, tensor, change)
    with pytest.raises(ValueError):
        file.unpack(description, tensors, {})


def test_a_node_that_no_branch_reaches_is_refused():
    file, description, tensors = spoiled("bn graphs", "graph.branches", lambda a: a)
    for at in range(len(tensors["graph.branches"])):
        own = {**tensors, "graph.branches": tensors["graph.branches"].copy()}
        target = own["graph.branches"][at]
        own["graph.branches"][own["graph.branches"] == target] = target + 1
        with pytest.raises(ValueError):
            file.unpack(description, own, {})
            pytest.fail(f"branch {at}")


@pytest.mark.parametrize("tensor", ["variable", "state", "first", "branches", "flow", "gain", "probs", "counts"])
def test_pieces_of_wrong_sizes_are_refused(tensor):
    """A piece moves from one variable to the next: the tensor is whole, but two trees have the wrong part of it."""
    file, description, tensors = spoiled("dn trees", f"tree.{tensor}.start", lambda a: a)
    starts = tensors[f"tree.{tensor}.start"]
    k = int(np.flatnonzero(np.diff(starts))[0]) + 1
    starts[k] -= 1
    with pytest.raises(ValueError):
        file.unpack(description, tensors, {})


def test_a_split_on_the_child_itself_is_refused():
    file, description, tensors = spoiled("dn trees", "tree.variable", lambda a: a)
    for v in range(len(STATES)):
        own = slice(*tensors["tree.variable.start"][v : v + 2])
        changed = {**tensors, "tree.variable": tensors["tree.variable"].copy()}
        changed["tree.variable"][own] = np.where(changed["tree.variable"][own] >= 0, v, -1)
        if (changed["tree.variable"][own] == v).any():
            with pytest.raises(ValueError, match="other variables"):
                file.unpack(description, changed, {})


def test_trees_that_make_a_cycle_are_no_bayesian_network():
    make, _ = MODELS["dn trees"]
    description, tensors = local_dependency_file.pack(make())
    mine = {name: tensors[name] for name in local_bayesian_file.TENSORS}
    with pytest.raises(InputError, match="cycle"):
        local_bayesian_file.unpack(description, mine, {})


@pytest.mark.skipif("logistic" not in LEARNED, reason="no logistic regressions")
@pytest.mark.parametrize(
    "tensor, change",
    [
        ("logistic.parents", put(0, 99)),
        ("logistic.parents", put(0, -1)),
        ("logistic.first", put(1, 10**9)),
        ("logistic.first", put(0, 1)),
        ("logistic.weights", put(0, np.nan)),
        ("logistic.weights", lambda a: a[:-1]),
        ("logistic.intercept", put(0, np.inf)),
        ("logistic.intercept", lambda a: a[:-1]),
        ("logistic.means", put(0, np.nan)),
        ("logistic.means", lambda a: a[:-1]),
    ],
)
def test_numbers_that_no_regression_can_have_are_refused(tensor, change):
    file, description, tensors = spoiled("dn logistic", tensor, change)
    with pytest.raises(ValueError):
        file.unpack(description, tensors, {})


@settings(max_examples=60)
@given(st.data())
def test_any_integer_changed_gives_a_model_that_can_be_walked_or_an_error(data):
    """Random forgeries of what says where to go: none may crash, hang or read outside its arrays."""
    file, description, tensors = spoiled("bn trees", "kind", lambda a: a)
    where = [name for name, t in tensors.items() if name.startswith("tree.") and t.dtype == np.int64 and t.size]
    name = data.draw(st.sampled_from(where))
    at = data.draw(st.integers(0, tensors[name].size - 1))
    tensors[name][at] = data.draw(st.sampled_from([-(2**63), -2, -1, 0, 1, 2, 3, 7, 2**31, 2**63 - 1]))
    try:
        model = file.unpack(description, tensors, {})
    except (ValueError, InputError):
        return
    rows = some_rows(20)
    assert np.isfinite(qw.log_likelihood(model, rows)).all()
    codes = rows.states()
    codes[:, ::2] = NO_CODE
    for cpd in model.cpds:
        np.testing.assert_allclose(np.exp(cpd.log_probs(codes)).sum(axis=1), 1)


@every_model
def test_a_damaged_file_is_refused(name, tmp_path):
    content = to_bytes(MODELS[name][0]())
    rng = np.random.default_rng(0)
    for at in [*rng.integers(0, len(content), 60).tolist(), len(content) - 1]:
        changed = bytes([content[at] ^ (1 << int(rng.integers(8)))])
        (tmp_path / "m.qw").write_bytes(content[:at] + changed + content[at + 1 :])
        with pytest.raises(CorruptModelError):
            qw.load(tmp_path / "m.qw")
