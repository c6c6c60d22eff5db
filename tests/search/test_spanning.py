"""The heaviest spanning tree: against every tree there is up to 8 variables, and networkx at 500."""

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.trees import heaviest_tree, kruskal
from quiltwork.errors import ResourceLimitError
from quiltwork.search.spanning import LEAST, spanning_forest


def forest(weights):
    """(edges, parents) of the forest found from the rows of a matrix."""
    parent = spanning_forest(len(weights), lambda v, out: np.copyto(out, weights[v]))
    edges = sorted((min(v, int(p)), max(v, int(p))) for v, p in enumerate(parent) if p >= 0)
    return edges, parent


def random_weights(seed, n, values=None):
    rng = np.random.default_rng(seed)
    draws = rng.random((n, n)) if values is None else rng.choice(values, (n, n))
    upper = np.triu(draws.astype(float), 1)
    return upper + upper.T


def total(weights, edges):
    return math.fsum(weights[u, v] for u, v in edges)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_no_tree_is_heavier(seed, n):
    weights = random_weights(seed, n)
    edges, _ = forest(weights)
    assert len(edges) == n - 1
    assert total(weights, edges) == pytest.approx(heaviest_tree(weights.tolist()), abs=1e-12)


@pytest.mark.parametrize("n", [7, 8])
def test_no_tree_over_seven_or_eight_is_heavier(n):
    weights = random_weights(n, n)
    assert total(weights, forest(weights)[0]) == pytest.approx(heaviest_tree(weights.tolist()), abs=1e-12)


@settings(max_examples=200)
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_of_equal_edges_those_with_the_lower_columns_win(seed, n):
    """Few distinct weights, so that nearly every choice is a tie; zeros leave a forest."""
    weights = random_weights(seed, n, [0.0, 1.0, 2.0])
    assert forest(weights)[0] == kruskal(weights.tolist(), LEAST)


def test_all_weights_equal_is_a_star():
    edges, parent = forest(np.ones((6, 6)))
    assert edges == [(0, v) for v in range(1, 6)]
    assert parent.tolist() == [-1, 0, 0, 0, 0, 0]


def test_the_lowest_variable_of_every_tree_is_its_root():
    weights = np.zeros((6, 6))
    for u, v in ((5, 1), (1, 3), (4, 2)):
        weights[u, v] = weights[v, u] = 1.0 + v
    edges, parent = forest(weights)
    assert edges == [(1, 3), (1, 5), (2, 4)]
    assert parent.tolist() == [-1, -1, -1, 1, 2, 1]


def test_as_heavy_as_networkx_at_500():
    weights = random_weights(0, 500)
    graph = nx.from_numpy_array(weights)
    peer = nx.maximum_spanning_tree(graph)
    edges, _ = forest(weights)
    assert total(weights, edges) == pytest.approx(peer.size(weight="weight"), rel=1e-12)
    assert {*edges} == {(min(e), max(e)) for e in peer.edges}


def test_too_many_pairs_are_refused_before_anything_is_asked():
    with pytest.raises(ResourceLimitError, match="1,000,000 variables has 499,999,500,000 pairs"):
        spanning_forest(1_000_000, lambda v, out: pytest.fail("a row was asked for"))


def test_each_row_is_asked_for_once_and_progress_is_told():
    asked, done = [], []
    weights = random_weights(3, 30)

    def row(v, out):
        asked.append(v)
        np.copyto(out, weights[v])

    spanning_forest(30, row, done.append)
    assert len(asked) == len(set(asked)) == 29
    assert done == list(range(1, 31))
