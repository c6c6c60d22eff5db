import itertools

import numpy as np
import pytest

from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ResourceLimitError
from quiltwork.search.grow import GrowthRules, grow_trees
from quiltwork.search.merge import Forest
from quiltwork.stats.leaves import leaf_arrays
from tables import dataset, random_table

N_STATES = [2, 3, 2, 4, 2]


def some_cpds():
    columns = random_table(1, 600, N_STATES)
    arrays = leaf_arrays(dataset(columns, N_STATES))
    rules = GrowthRules(1.0, complete=True)
    forest = Forest(arrays, rules, True, np.ones((5, 5), bool), acyclic=False)
    while forest.step() > 0:
        pass
    return [*grow_trees(arrays, range(5), rules), *forest.cpds()], np.array(columns).T.astype(np.uint16)


def walk(cpd, row):
    """The leaf of a row, by following the definition."""
    node = 0
    while cpd.variable[node] >= 0:
        x, first = row[cpd.variable[node]], cpd.first[node]
        if cpd.state[node] >= 0:
            node = cpd.branches[first] if x == cpd.state[node] else cpd.branches[first + 1]
        else:
            node = cpd.branches[first + x]
    return cpd.first[node]


def mean_over_branches(cpd, row, node=0):
    """The distribution where some values are missing: all branches, weighted as training rows took them."""
    if cpd.variable[node] < 0:
        return cpd.probs[cpd.first[node]]
    branches = range(cpd.first[node], cpd.end[node])
    x = row[cpd.variable[node]]
    if x == NO_CODE:
        flow = cpd.flow[list(branches)]
        weights = flow / flow.sum() if flow.sum() else np.full(len(flow), 1 / len(flow))
        return sum(w * mean_over_branches(cpd, row, cpd.branches[b]) for w, b in zip(weights, branches))
    taken = x if cpd.state[node] < 0 else int(x != cpd.state[node])
    return mean_over_branches(cpd, row, cpd.branches[cpd.first[node] + taken])


def test_leaves_probabilities_and_tables():
    cpds, codes = some_cpds()
    every = np.array(list(itertools.product(*map(range, N_STATES))), np.uint16)
    gaps = every.copy()
    gaps[np.random.default_rng(0).random(every.shape) < 0.4] = NO_CODE
    for cpd in cpds:
        expected = np.array([walk(cpd, row) for row in every])
        np.testing.assert_array_equal(cpd.leaves(every), expected)
        np.testing.assert_allclose(np.exp(cpd.log_probs(every)), cpd.probs[expected])
        means = np.array([mean_over_branches(cpd, row) for row in gaps])
        np.testing.assert_allclose(np.exp(cpd.log_probs(gaps)), means, atol=1e-12)
        table = cpd.to_table(np.array(N_STATES))
        cell = np.zeros(len(every), int)
        for p in cpd.parents:
            cell = cell * N_STATES[p] + every[:, p]
        np.testing.assert_allclose(table.probs[cell], cpd.probs[expected])
        if cpd.kind == "tree":
            np.testing.assert_array_equal(cpd.visits(codes), cpd.node_counts)


def test_a_tree_too_wide_for_a_table_is_refused_at_once():
    n = 40
    variable = np.array([*range(1, n + 1), *[-1] * (n + 1)])
    state = np.array([1] * n + [-1] * (n + 1))
    branches = np.array([[n + k, k + 1 if k + 1 < n else 2 * n] for k in range(n)]).ravel()
    first = np.array([*range(0, 2 * n, 2), *range(n + 1)])
    chain = TreeCPD(0, variable, state, first, branches, np.ones(2 * n), np.zeros(2 * n + 1), np.full((n + 1, 2), 0.5),
                    np.ones((n + 1, 2)))  # fmt: skip
    with pytest.raises(ResourceLimitError, match="a table with 2.2e\\+12 entries"):
        chain.to_table(np.full(n + 1, 2))
