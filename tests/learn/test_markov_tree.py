import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import quiltwork as qw
from naive.trees import kruskal, smoothed_pair, worth
from quiltwork.errors import DataError, DataWarning, ParameterError
from quiltwork.learn.markov_tree import MarkovTree
from quiltwork.models.files import to_bytes
from quiltwork.models.markov_tree import DiscreteTree, GaussianTree
from tables import dataset, random_table, tables


def planted(rng, n, m, stay=0.85):
    """(edges, rows): a random tree of binary variables, each of them its parent with probability `stay`."""
    columns, edges = [rng.random(m) < 0.5], []
    for v in range(1, n):
        p = int(rng.integers(v))
        columns.append(np.where(rng.random(m) < stay, columns[p], ~columns[p]))
        edges.append((p, v))
    return [(f"x{p}", f"x{v}") for p, v in sorted(edges)], np.array(columns).T


# Discrete tables


@settings(max_examples=40)
@given(tables(states=(1, 2, 3, 5, 18)), st.sampled_from((0.0, 1.0, 4.0)), st.booleans())
def test_it_is_the_heaviest_tree_and_its_tables_hold_smoothed_counts(table, smoothing, weighted):
    columns, n_states = table
    weights = np.random.default_rng(0).random(len(columns[0])) + 0.5 if weighted else None
    tree = qw.learn("tree", dataset(columns, n_states, weights), smoothing=smoothing)
    n = len(columns)
    pairs = {
        (u, v): smoothed_pair(columns[u], columns[v], n_states[u], n_states[v], smoothing, weights)
        for u in range(n)
        for v in range(n)
    }
    varies = [len(set(column.tolist())) > 1 for column in columns]
    worths = [[round(worth(pairs[u, v]), 7) * varies[u] * varies[v] for v in range(n)] for u in range(n)]
    best = kruskal(worths, 1e-6)
    assert sum(worths[u][v] for u, v in tree.ends) == pytest.approx(sum(worths[u][v] for u, v in best), abs=1e-5)
    total = len(columns[0]) if weights is None else weights.sum()
    np.testing.assert_allclose(
        tree.strengths, [worth(pairs[u, v]) / (total + smoothing) for u, v in tree.ends.tolist()], atol=1e-9
    )
    for v, p in enumerate(tree.parent.tolist()):
        pair = np.array(pairs[p, v]) if p >= 0 else np.array(pairs[v, v]).sum(axis=0, keepdims=True)
        shares = pair.sum(axis=1, keepdims=True)
        wanted = np.divide(pair, shares, out=np.full(pair.shape, 1 / n_states[v]), where=shares > 0)
        np.testing.assert_allclose(tree.table(v), wanted, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_tree_comes_back(seed):
    edges, X = planted(np.random.default_rng(seed), 40, 3000)
    assert qw.learn("tree", X).edges == edges


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_where_the_root_lies_changes_no_probability(seed):
    """Marginals of smoothed pairs agree, so the reversed table is just the column order the other way round."""
    columns = random_table(seed, 60, [2, 3, 2, 4])
    X = np.array(columns).T
    there = qw.learn("tree", {f"v{k}": X[:, k] for k in range(4)})
    back = qw.learn("tree", {f"v{k}": X[:, k] for k in (3, 2, 1, 0)})
    rows = {f"v{k}": X[:, k] for k in range(4)}
    if {frozenset(e) for e in there.edges} == {frozenset(e) for e in back.edges}:  # ties may go another way
        np.testing.assert_allclose(qw.log_likelihood(there, rows), qw.log_likelihood(back, rows), rtol=1e-10)
    np.testing.assert_allclose(there.strengths.sum(), back.strengths.sum(), rtol=1e-9)


def test_constant_columns_get_no_edges_and_the_rest_a_tree():
    edges, X = planted(np.random.default_rng(0), 6, 2000)
    X = np.insert(X, [0, 3], [[False, True]], axis=1)
    tree = qw.learn("tree", X)
    assert len(tree.edges) == 5 and not {"x0", "x4"} & {name for edge in tree.edges for name in edge}
    assert tree.parent.tolist()[0] == tree.parent.tolist()[4] == -1
    assert qw.marginals(tree)["x0"] == pytest.approx([2000.5 / 2001, 0.5 / 2001])
    assert np.isfinite(qw.log_likelihood(tree, ~X)).all()


def test_columns_of_nothing_but_constants():
    tree = qw.learn("tree", {"a": ["x"] * 5, "b": [1] * 5, "c": ["y"] * 5})
    assert tree.edges == [] and qw.log_likelihood(tree, {"a": ["x"], "b": [1], "c": ["y"]})[0] == 0.0


def test_duplicates_tie_to_the_lower_column():
    a = np.random.default_rng(0).integers(0, 2, 300)
    tree = qw.learn("tree", np.column_stack([a, 1 - a, a, a, np.random.default_rng(1).integers(0, 2, 300)]))
    assert tree.edges[:3] == [("x0", "x1"), ("x0", "x2"), ("x0", "x3")]


def test_the_same_bytes_for_any_threads_any_order_of_rows_and_any_form():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 120)) < 0.04).astype(int)
    X[:, 1::2] |= X[:, ::2] & (rng.random((300, 60)) < 0.7)
    forms = [X, X[rng.permutation(300)], csr_array(X), X.astype(np.int8), X.astype(float)]
    assert len({to_bytes(qw.learn("tree", form, n_jobs=jobs)) for form in forms for jobs in (1, 2)}) == 1


def test_columns_may_be_permuted():
    edges, X = planted(np.random.default_rng(3), 12, 2000)
    order = np.random.default_rng(4).permutation(12)
    moved = qw.learn("tree", {f"x{v}": X[:, v] for v in order})
    assert {frozenset(e) for e in moved.edges} == {frozenset(e) for e in edges}


def test_a_weight_of_two_is_a_row_seen_twice():
    columns = random_table(3, 200, [2, 3, 2])
    counts = np.random.default_rng(2).integers(1, 3, 200)
    X = np.array(columns).T
    one = MarkovTree().fit(X, sample_weight=counts).model_
    other = MarkovTree().fit(np.repeat(X, counts, axis=0)).model_
    assert one.edges == other.edges
    np.testing.assert_allclose(one.probs, other.probs, atol=1e-12)


def test_missing_values_by_policy():
    table = {"a": ["x", "y", None, "y", "x", "x"], "b": [0, 1, 1, None, 0, 0]}
    with pytest.raises(DataError, match="'a' has a missing value"):
        qw.learn("tree", table)
    assert qw.learn("tree", table, missing="drop").provenance["rows"] == 4
    assert qw.learn("tree", table, missing="state").variables[0].states == ("x", "y", "missing")


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (5, 1), (2, 2)])
def test_tables_of_one_row_or_one_column(shape):
    X = np.arange(np.prod(shape)).reshape(shape) % 2
    est = MarkovTree().fit(X)
    assert np.isfinite(est.score(X)) and len(qw.recommend(est, X, seen=True)) == shape[0]


def test_without_smoothing_what_was_never_seen_is_impossible():
    X = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]}
    tree = qw.learn("tree", X, smoothing=0.0)
    assert qw.log_likelihood(tree, {"a": [0, 0], "b": [0, 1]}).tolist() == [np.log(0.5), -np.inf]
    assert np.isfinite(qw.log_likelihood(qw.learn("tree", X), {"a": [0], "b": [1]})).all()


def test_the_likelihood_of_training_rows_is_that_of_no_other_tree():
    """Chow and Liu: without smoothing the learned tree beats every tree there is."""
    from naive.trees import all_trees

    columns = random_table(8, 400, [2, 3, 2, 2])
    X = np.array(columns).T
    best = qw.log_likelihood(qw.learn("tree", X, smoothing=0.0), X).sum()
    for edges in all_trees(4):
        order, arcs = [0], []
        for v in order:
            fresh = [u for e in edges if v in e for u in e if u not in order]
            arcs += [(f"x{v}", f"x{u}") for u in fresh]
            order += fresh
        other = qw.learn("bn", X, search="climb", required=arcs, max_parents=1, score="loglik")
        assert best >= qw.log_likelihood(other, X).sum() - 1e-6


def test_progress_is_told():
    told = []
    MarkovTree().fit(np.eye(5, dtype=int), progress=lambda *said: told.append(said))
    assert told[-1] == ("growing the tree", 5, 5)


@pytest.mark.parametrize("wrong", [{"smoothing": -1}, {"smoothing": "much"}, {"family": "normal"}, {"family": None}])
def test_parameters_are_checked(wrong):
    with pytest.raises(ParameterError, match=f"'{next(iter(wrong))}' parameter of MarkovTree must be"):
        MarkovTree(**wrong).fit(np.eye(3, dtype=int))


# Gaussian tables


def measurements(seed=0, m=2000):
    """a -> b -> c and a -> d, with units of their own."""
    rng = np.random.default_rng(seed)
    a = rng.normal(10, 2, m)
    b = 3 * a + rng.normal(0, 3, m)
    c = -0.1 * b + rng.normal(0, 0.2, m)
    d = 1000 * a + rng.normal(0, 3000, m)
    return {"a": a, "b": b, "c": c, "d": d}


def test_a_gaussian_tree_comes_back():
    table = measurements()
    tree = qw.learn("tree", table)
    assert isinstance(tree, GaussianTree)
    assert tree.edges == [("a", "b"), ("a", "d"), ("b", "c")]
    X = np.array(list(table.values()))
    np.testing.assert_allclose(tree.mean, X.mean(axis=1))
    np.testing.assert_allclose(tree.deviation, X.std(axis=1))
    found = dict(zip(tree.edges, tree.strengths))
    for u, v in tree.edges:
        r = np.corrcoef(table[u], table[v])[0, 1]
        assert found[u, v] == pytest.approx(-0.5 * np.log(1 - r**2))


def test_units_and_offsets_do_not_matter():
    table = measurements(1)
    moved = {name: column * 10.0**k + 1e8 for k, (name, column) in enumerate(table.items())}
    one, other = qw.learn("tree", table), qw.learn("tree", moved)
    assert one.edges == other.edges
    np.testing.assert_allclose(one.strengths, other.strengths, rtol=1e-6)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, lambda t: np.array(list(t.values())).T])
def test_numbers_that_are_not_whole_are_measurements(form):
    assert isinstance(qw.learn("tree", form(measurements())), GaussianTree)


def test_whole_numbers_text_and_bins_are_states():
    whole = {"a": [0.0, 1.0, 2.0] * 5, "b": [3, 4, 9] * 5}
    assert isinstance(qw.learn("tree", whole), DiscreteTree)
    assert isinstance(qw.learn("tree", whole, family="gaussian", missing="drop"), GaussianTree)
    with pytest.warns(DataWarning, match="'b' holds text or bools, so every column, 'a' too, is taken as states"):
        assert isinstance(qw.learn("tree", {"a": [0.5, 1.5] * 5, "b": ["x", "y"] * 5}), DiscreteTree)
    assert isinstance(qw.learn("tree", {"a": [0.5, 1.5] * 5}, family="discrete"), DiscreteTree)
    assert isinstance(qw.learn("tree", measurements(), discretise=3), DiscreteTree)
    with pytest.raises(ParameterError, match="give discretise or family"):
        qw.learn("tree", measurements(), discretise=3, family="gaussian")


@pytest.mark.filterwarnings("ignore:These columns:quiltwork.errors.DataWarning")
def test_constant_duplicated_and_few():
    a = np.random.default_rng(0).normal(size=50)
    X = np.column_stack([a, np.full(50, 7.5), a, -2 * a + 1, np.random.default_rng(1).normal(size=50)])
    tree = qw.learn("tree", X)
    assert tree.edges[:2] == [("x0", "x2"), ("x0", "x3")] and len(tree.edges) == 3
    assert tree.parent[1] == -1 and np.isfinite(tree.strengths).all()
    assert np.isfinite(qw.log_likelihood(tree, X)).all() and qw.is_perfect(tree)
    few = qw.learn("tree", np.random.default_rng(2).normal(size=(3, 20)))
    assert len(few.edges) == 19 and np.isfinite(qw.log_conditionals(few, np.ones((2, 20)))).all()
    assert np.isfinite(qw.learn("tree", [[0.5, 1.5]]).mean).all()


def test_trouble_is_told():
    a = np.random.default_rng(0).normal(size=50)
    with pytest.warns(DataWarning, match="do not vary, get no edges and a tiny variance: 'x1'"):
        qw.learn("tree", np.column_stack([a, np.full(50, 7.5)]))
    with pytest.warns(DataWarning, match="follow exactly from a neighbour, and keep a tiny variance: 'x1'"):
        qw.learn("tree", np.column_stack([a, 3 * a]))


def test_bad_numbers():
    table = measurements()
    for bad, says in ((np.inf, "inf"), (np.nan, "missing value")):
        spoiled = {**table, "b": np.where(np.arange(2000) == 7, bad, table["b"])}
        with pytest.raises(DataError, match=says):
            qw.learn("tree", spoiled, family="gaussian")
    with pytest.raises(DataError, match="holds the text"):
        qw.learn("tree", {**table, "b": ["tall"] * 2000}, family="gaussian")
    with pytest.raises(ParameterError, match="'missing' must be 'error' or 'drop'"):
        qw.learn("tree", table, missing="state")


def test_weights_and_threads_of_numbers():
    X = np.array(list(measurements().values())).T
    counts = np.random.default_rng(0).integers(1, 3, len(X))
    one = MarkovTree().fit(X, sample_weight=counts).model_
    other = MarkovTree().fit(np.repeat(X, counts, axis=0)).model_
    np.testing.assert_allclose(one.correlation, other.correlation, atol=1e-12)
    assert to_bytes(qw.learn("tree", X, n_jobs=1)) == to_bytes(qw.learn("tree", X, n_jobs=2))


# The public sets


def unpacked(path):
    held = np.load(path)
    return [np.unpackbits(held[part], axis=1)[:, : int(held["n_vars"])] for part in ("train", "valid", "test")]


# Test log-likelihoods of an independent program (NumPy and SciPy), its smoothing chosen on the validation rows.
REFERENCE = {
    "nltcs": -6.759, "msnbc": -6.540, "kdd": -2.295, "plants": -16.524, "baudio": -44.375, "jester": -58.230,
    "bnetflix": -60.250, "msweb": -10.193, "book": -37.839, "tmovie": -64.791, "cwebkb": -163.471, "cr52": -94.399,
    "c20ng": -164.129,
}  # fmt: skip


@pytest.mark.parametrize("name", REFERENCE)
def test_likelihoods_of_the_public_sets(name, public_data):
    train, valid, test = unpacked(public_data / "debd" / f"{name}.npz")
    trees = [qw.learn("tree", train, smoothing=smoothing) for smoothing in (0.04, 0.4, 4.0)]
    chosen = max(trees, key=lambda tree: qw.log_likelihood(tree, valid).mean())
    assert qw.log_likelihood(chosen, test).mean() == pytest.approx(REFERENCE[name], abs=0.005)


def test_wine_is_a_gaussian_tree(public_data):
    table = pd.read_csv(public_data / "wine" / "winequality-red.csv", sep=";")
    tree = qw.learn("tree", table)
    assert isinstance(tree, GaussianTree) and len(tree.edges) == 11
    assert ("fixed acidity", "pH") in tree.edges and qw.is_perfect(tree)
