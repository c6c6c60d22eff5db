"""What rows lose where a parent is withheld: against CPDs that are asked with the parent missing, and a slow twin."""

from dataclasses import replace

import numpy as np
import pytest

import quiltwork as qw
from cpds.test_boosted_cpd import some_trees
from naive import withheld as naive
from quiltwork.data.dataset import NO_CODE
from quiltwork.infer.dependency import cpd_log_probs
from quiltwork.infer.withheld import Rows, losses_without_parents
from tables import dataset, random_table

STATES = [2, 3, 4, 2, 18, 2]


def rows_of(seed, n, n_states=STATES, weighted=False):
    """A table in which rows come back, and its rows as they are."""
    columns = [np.concatenate([c, c[: n // 2]]) for c in random_table(seed, n, n_states)]
    weights = np.random.default_rng(seed).choice([0.5, 1.0, 3.7], len(columns[0])) if weighted else None
    return dataset(columns, n_states, weights)


def losses(cpd, data):
    return sum(losses_without_parents(cpd, rows, data.n_states)[1] for rows in Rows.of(data))


def log_likelihood(cpd, codes, labels, data):
    weights = np.ones(len(codes)) if data.weights is None else data.weights
    return weights @ cpd_log_probs(cpd, codes, data.n_states)[np.arange(len(codes)), labels]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cpd", ["table", "tree", "logistic"])
def test_a_parent_that_is_withheld_is_a_parent_that_is_missing(cpd, weighted):
    data = rows_of(3, 300, weighted=weighted)
    more = {"strength": 1.0} if cpd == "logistic" else {"kappa": 0.5, "k": 3}
    model, codes = qw.learn("dn", data, cpd=cpd, **more), data.states()
    n_arcs = 0
    for own in model.cpds:
        found, labels = losses(own, data), codes[:, own.child]
        whole = log_likelihood(own, codes, labels, data)
        for p, loss in zip(own.parents, found, strict=True):
            gaps = codes.copy()
            gaps[:, p] = NO_CODE
            assert loss == pytest.approx(whole - log_likelihood(own, gaps, labels, data), rel=1e-4, abs=1e-3)
            n_arcs += 1
    assert n_arcs > 5


def as_nodes(cpd):
    """The trees as the slow twin takes them: lists of dicts."""
    trees, begin = [], 0
    for variable, state, first, branches, values in cpd.decision_graphs():
        flow = cpd.flow[begin : begin + len(branches)]
        begin += len(branches)
        trees.append(
            [
                {"values": values[first[k]].tolist()}
                if variable[k] < 0
                else {
                    "variable": variable[k],
                    "state": state[k],
                    "branches": branches[first[k] : first[k] + 2].tolist(),
                    "flow": flow[first[k] : first[k] + 2].tolist(),
                }
                for k in range(len(variable))
            ]
        )
    return trees


@pytest.mark.parametrize("n_states", [[2, 2, 2], [3, 2, 5, 4], [2, 20, 2]])
def test_boosted_trees_lose_a_parents_part(n_states):
    data = rows_of(1, 100, n_states, weighted=True)
    codes = data.states()
    for seed in range(4):
        cpd = some_trees(seed, n_states)
        found, trees, logs, start = losses(cpd, data), as_nodes(cpd), cpd.log_probs(codes), cpd.start
        for p, loss in zip(cpd.parents, found, strict=True):
            expected = 0.0
            for i, row in enumerate(codes.tolist()):
                moves = np.zeros(n_states[-1])
                for tree in trees:
                    moves += naive.moves_in_tree(tree, row, p, n_states[-1])
                if p in start.parents:
                    k = start.parents.index(p)
                    moves += start.weights[start.first[k] + row[p]] - start.means[k]
                after = naive.without_part(logs[i].tolist(), moves.tolist())
                expected += data.weights[i] * (logs[i, row[-1]] - after[row[-1]])
            assert loss == pytest.approx(expected, rel=1e-4, abs=1e-3)


def test_many_rows_at_a_time_lose_what_few_lose(monkeypatch):
    data = rows_of(2, 700, [2, 3, 2, 2])
    cpd = some_trees(1, [2, 3, 2, 2], n_trees=6)
    whole = losses(cpd, data)
    monkeypatch.setattr("quiltwork.infer.withheld.ROWS_AT_A_TIME", 64)
    monkeypatch.setattr("quiltwork.infer.withheld.CHANGES_AT_A_TIME", 1)
    np.testing.assert_allclose(losses(cpd, data), whole, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("cpd", ["table", "tree"])
def test_rows_of_a_child_of_many_states_are_judged_a_part_at_a_time(cpd, monkeypatch):
    data = rows_of(5, 300)
    cpds = qw.learn("dn", data, cpd=cpd, k=3).cpds
    whole = [losses(own, data) for own in cpds]
    monkeypatch.setattr("quiltwork.infer.dependency.CELLS_AT_A_TIME", 100)
    for own, expected in zip(cpds, whole, strict=True):
        np.testing.assert_allclose(losses(own, data), expected, rtol=1e-9, atol=1e-9)


def test_weights_and_odds_beyond_all_bounds_stay_numbers():
    data = rows_of(5, 200, [2, 2, 2])
    cpd = some_trees(2, [2, 2, 2])
    steep = replace(cpd, values=cpd.values * 1e3, start=replace(cpd.start, weights=cpd.start.weights * 1e4))
    assert np.isfinite(losses(steep, data)).all()
    assert losses(some_trees(0, [2, 2], n_trees=0), rows_of(1, 50, [2, 2])).shape == (1,)
    assert losses(qw.textbook("asia").cpds[0], qw.sample(qw.textbook("asia"), 10)).shape == (0,)


@pytest.mark.parametrize("cpd", ["logistic", "boosted", "auto"])
def test_no_arc_is_worth_more_than_the_child(cpd):
    """Columns that nearly decide each other have steep weights; yet a parent can tell no more than there is to know."""
    rng = np.random.default_rng(0)
    a = rng.integers(3, size=2000)
    b = (a + (rng.random(2000) < 0.02)) % 3
    X = np.column_stack([a, b, (a + b) % 2, rng.integers(2, size=2000)])
    est = qw.DependencyNetwork(cpd=cpd).fit(X)
    column = {variable.name: v for v, variable in enumerate(est.model_.variables)}
    for _, child, strength in est.strengths_:
        shares = np.bincount(X[:, column[child]]) / 2000
        assert 0 <= strength <= -2000 * shares @ np.log(shares)
