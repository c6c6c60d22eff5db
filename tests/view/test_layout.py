"""The picture: the same for the same arcs, inside the unit square, no two points in one place, near what is near."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from scipy.stats import spearmanr

from naive import pictures
from quiltwork.view.layout import layout, move

NOTHING = np.empty(0, np.int64)


def least_distance(places):
    return cKDTree(places).query(places, k=2)[0][:, 1].min()


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 30))
    arcs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60))
    ends = np.array(arcs, np.int64).reshape(-1, 2)
    return n, ends[:, 0], ends[:, 1]


@given(graphs())
def test_every_graph_has_a_picture(graph):
    n = graph[0]
    places = layout(*graph)
    assert places.shape == (n, 2) and np.isfinite(places).all()
    assert (places >= 0).all() and (places <= 1).all()
    if n > 1:
        assert least_distance(places) > 0.1 / n


@pytest.mark.parametrize("n", [40, 700])
def test_the_same_arcs_give_the_same_picture(n):
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, n, (2, 3 * n))
    assert layout(n, source, target).tobytes() == layout(n, source, target).tobytes()
    assert layout(n, source, target).tobytes() == layout(n, target, source).tobytes()  # direction does not matter


@pytest.mark.parametrize(
    ("n", "source", "target"),
    [
        (1, NOTHING, NOTHING),
        (50, NOTHING, NOTHING),
        (2, np.array([0]), np.array([1])),
        (500, np.zeros(499, np.int64), np.arange(1, 500)),  # a star
        (500, np.arange(499), np.arange(1, 500)),  # a chain
        (60, *np.triu_indices(60, 1)),  # everyone with everyone
        (401, np.arange(0, 400, 2), np.arange(1, 401, 2)),  # pairs, and one alone
    ],
    ids=["one", "no arcs", "two", "star", "chain", "clique", "pairs"],
)
def test_points_keep_apart(n, source, target):
    places = layout(n, source, target)
    assert places.shape == (n, 2)
    if n > 1:
        assert least_distance(places) > 0.02 / np.sqrt(n)
        assert places.max() == pytest.approx(1.0) and places.min() == pytest.approx(0.0)


@pytest.mark.parametrize("side", [12, 25])  # every pair, and pivots
def test_near_in_the_graph_is_near_in_the_picture(side):
    number = np.arange(side * side).reshape(side, side)
    source = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    target = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    places = layout(side * side, source, target)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, side * side, (2, 500))
    steps = abs(a // side - b // side) + abs(a % side - b % side)
    assert spearmanr(steps, np.hypot(*(places[a] - places[b]).T)).statistic > 0.9


def test_parts_lie_side_by_side():
    triangles = np.arange(30).reshape(10, 3)
    source, target = triangles[:, [0, 1, 2]].ravel(), triangles[:, [1, 2, 0]].ravel()
    places = layout(30, source, target).reshape(10, 3, 2)
    low, high = places.min(axis=1), places.max(axis=1)
    for i in range(10):
        for j in range(i):
            assert (low[i] > high[j]).any() or (low[j] > high[i]).any()


def test_the_largest_part_is_on_top_and_variables_alone_are_read_from_above():
    places = layout(12, np.array([9, 10, 11]), np.array([10, 11, 9]))
    assert places[9:, 1].min() > places[:9, 1].max()
    assert places[0, 1] == places[1, 1] > places[8, 1] and places[0, 0] < places[1, 0]


def test_the_kernel_moves_as_its_slow_twin_does():
    rng = np.random.default_rng(0)
    places, pairs = rng.random((6, 2)), rng.integers(0, 6, (2, 40))
    wanted, pull, push = rng.random(40), rng.random(40), rng.random(40)
    order = rng.permutation(40)
    expected = pictures.move(places.tolist(), *pairs.tolist(), wanted, pull, push, order.tolist(), 1.7)
    move(places, *pairs, wanted, pull, push, order, 1.7)
    assert places == pytest.approx(np.array(expected), abs=1e-12)
