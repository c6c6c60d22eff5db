"""Layout: a place in the unit square for every variable, so that near in the graph is near in the picture.

The picture is made of the arcs a reader sees first, the strongest ones, and of the strongest that hold the rest
together (a spanning forest). In each connected part the distance between two points shall be the length of the shortest
way between them, and near pairs count more:

    stress = sum over pairs of (|x_i - x_j| - d_ij)^2 / d_ij^2

An edge is the longer, the more edges meet at both its ends, so that crowded regions get room. The stress is lowered by
moving one pair at a time towards its distance, in a shuffled order and by ever smaller steps. In a large part not all
pairs are taken: those joined by an edge, those with a few pivots that stand for the points around them, and some at
random, with the way over the best pivot for a distance. So the work grows like n, not like n^2. Points that still meet
are pushed apart, and the parts are laid side by side, the largest first, the variables without an arc last.

Everything is seeded: the same arcs always give the same picture.

Papers   Zheng, Pawar, Goodman (2019), Graph drawing by stochastic gradient descent, sections 2-3
         Ortmann, Klimenta, Brandes (2017), A sparse stress model, for the pivots and their weights
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from quiltwork.rng import stream

ARCS_PER_VARIABLE = 2  # that shape the picture
ALL_PAIRS = 300  # points of a part up to which every pair is a term of the stress
PIVOTS = 50
RANDOM_PAIRS = 10  # per point
ROUNDS = 20
LAST_STEP = 0.1
APART = 0.5  # least distance between two points, where the shortest edges have length one
PUSHES = 100
MARGIN = 1.5  # between two parts


def layout(n_vars: int, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Places (n_vars, 2) in the unit square; the arcs come strongest first, and their direction does not matter.

    >>> places = layout(4, np.array([0, 1, 2]), np.array([1, 2, 0]))
    >>> bool((places >= 0).all() and (places <= 1).all())
    True
    """
    graph = _graph(n_vars, *_skeleton(n_vars, source, target))
    parts, alone = _parts(graph)
    blocks = [(own, _upright(_apart(_stress_layout(graph[own][:, own])))) for own in parts]
    if len(alone):
        blocks.append((alone, _lattice(len(alone))))
    places = np.zeros((n_vars, 2))
    for (own, inside), corner in zip(blocks, _shelves([_size(inside) for _, inside in blocks]), strict=True):
        places[own] = inside - inside.min(axis=0) + corner
    return _to_unit_square(places * [1.0, -1.0])  # read from above: y grows upwards


def _skeleton(n_vars: int, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges (low < high) that shape the picture: the strongest, and the strongest spanning forest of all."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    low, high = np.minimum(source, target), np.maximum(source, target)
    _, first = np.unique(low * n_vars + high, return_index=True)  # an arc and its reverse are one edge
    first = np.sort(first[low[first] != high[first]])
    low, high = low[first], high[first]
    rank = np.arange(1.0, len(low) + 1)
    forest = minimum_spanning_tree(csr_array((rank, (low, high)), (n_vars, n_vars))).data.astype(np.int64) - 1
    chosen = np.union1d(np.arange(min(len(low), ARCS_PER_VARIABLE * n_vars)), forest)
    return low[chosen], high[chosen]


def _graph(n_vars: int, low: np.ndarray, high: np.ndarray) -> Any:
    """The edges with their lengths, as a symmetric sparse matrix."""
    from scipy.sparse import csr_array

    ends = np.concatenate([low, high])
    degree = np.bincount(ends, minlength=n_vars)
    length = np.sqrt(np.minimum(degree[low], degree[high]))
    return csr_array((np.tile(length, 2), (ends, np.concatenate([high, low]))), (n_vars, n_vars))


def _parts(graph: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """The connected parts of two or more points, largest first, and the points that stand alone."""
    from scipy.sparse.csgraph import connected_components

    n_parts, part_of = connected_components(graph, directed=False)
    ends = np.cumsum(np.bincount(part_of, minlength=n_parts))
    members = np.split(np.argsort(part_of, kind="stable"), ends[:-1])
    parts = sorted((own for own in members if len(own) > 1), key=lambda own: (-len(own), own[0]))
    return parts, np.array([own[0] for own in members if len(own) == 1], np.int64)


# One connected part


class Terms(NamedTuple):
    """Terms of the stress: two points, their distance, and the weights with which the first and the second moves."""

    one: np.ndarray
    other: np.ndarray
    wanted: np.ndarray
    pull: np.ndarray
    push: np.ndarray


def _stress_layout(graph: Any) -> np.ndarray:
    """Places (n, 2) of the points of a connected graph."""
    n = graph.shape[0]
    rng = stream(0, n)
    places = rng.random((n, 2)) * math.sqrt(n)
    terms = _all_pairs(graph) if n <= ALL_PAIRS else _some_pairs(graph, rng)
    for step in np.geomspace(1.0 / terms.pull.min(), LAST_STEP / terms.pull.max(), ROUNDS):
        move(places, *terms, rng.permutation(len(terms.one)), step)
    return places


def _all_pairs(graph: Any) -> Terms:
    from scipy.sparse.csgraph import shortest_path

    one, other = np.triu_indices(graph.shape[0], 1)
    wanted = shortest_path(graph, method="D")[one, other]
    return Terms(one, other, wanted, wanted**-2, wanted**-2)


def _some_pairs(graph: Any, rng: np.random.Generator) -> Terms:
    """Edges; every point with every pivot, where the point alone is moved; and random pairs."""
    n = graph.shape[0]
    one, other = graph.nonzero()
    one, other = one[one < other], other[one < other]
    length = graph[one, other]
    found = [Terms(one, other, length, length**-2, length**-2)]
    pivots, distance = _from_pivots(graph, rng)
    nearest = distance.argmin(axis=0)
    for p, far in enumerate(distance):
        others = np.flatnonzero(far > 0)
        around = np.sort(far[nearest == p])  # a pivot stands for those around it that are half as near
        weight = np.searchsorted(around, far[others] / 2, side="right") / far[others] ** 2
        found.append(Terms(others, np.full(len(others), pivots[p]), far[others], weight, np.zeros(len(others))))
    a, b = rng.integers(n, size=(2, RANDOM_PAIRS * n))
    a, b = a[a != b], b[a != b]
    way = (distance[:, a] + distance[:, b]).min(axis=0)
    found.append(Terms(a, b, way, way**-2, way**-2))
    joined = Terms(*(np.concatenate(columns) for columns in zip(*found, strict=True)))
    return Terms(*(column[joined.pull > 0] for column in joined))


def _from_pivots(graph: Any, rng: np.random.Generator) -> tuple[list[int], np.ndarray]:
    """Points that lie far from each other, and the distances (PIVOTS, n) from them."""
    from scipy.sparse.csgraph import dijkstra

    pivots: list[int] = [int(rng.integers(graph.shape[0]))]
    rows = [dijkstra(graph, indices=np.array(pivots))[0]]
    nearest = rows[0]
    while len(rows) < PIVOTS:
        pivots.append(int(nearest.argmax()))
        rows.append(dijkstra(graph, indices=np.array(pivots[-1:]))[0])
        nearest = np.minimum(nearest, rows[-1])
    return pivots, np.array(rows)


def _apart(places: np.ndarray) -> np.ndarray:
    """Make room, then push apart points that are closer than APART, until none are or patience ends."""
    from scipy.spatial import cKDTree

    nearest = np.sort(np.asarray(cKDTree(places).query(places, k=2)[0])[:, 1])
    places = places * max(1.0, 0.8 * APART / max(nearest[len(nearest) // 2], 1e-3))
    for _ in range(PUSHES):
        pairs = cKDTree(places).query_pairs(APART, output_type="ndarray")
        if not len(pairs):
            break
        one, other = pairs[np.lexsort(pairs.T)].T
        gap = places[one] - places[other]
        length = np.hypot(gap[:, 0], gap[:, 1])
        met = length < 1e-9  # two points at the same place part in a direction of their own
        gap[met] = np.column_stack([np.cos(one[met]), np.sin(one[met])]) * 1e-9
        length = np.maximum(length, 1e-9)
        push = gap * ((0.55 * (APART - length) + 0.01) / length)[:, None]
        places = places.copy()
        np.add.at(places, one, push)
        np.add.at(places, other, -push)
    return places


def _upright(places: np.ndarray) -> np.ndarray:
    """Turn the part so that it is wide rather than high, as screens and names are."""
    centred = places - places.mean(axis=0)
    (a, b), (_, c) = (centred.T @ centred).tolist()
    angle = 0.5 * math.atan2(2 * b, a - c)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return centred @ turn


# All parts together


def _lattice(n: int) -> np.ndarray:
    """Points in rows, for the variables without an arc."""
    width = math.ceil(math.sqrt(2 * n))
    return np.column_stack([np.arange(n) % width, np.arange(n) // width]).astype(float)


def _size(inside: np.ndarray) -> tuple[float, float]:
    wide, high = (inside.max(axis=0) - inside.min(axis=0) + MARGIN).tolist()
    return wide, high


def _shelves(sizes: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Corners of boxes laid on shelves, in their order, in a block about as high as wide."""
    if not sizes:
        return []
    width = max(max(wide for wide, _ in sizes), 1.1 * math.sqrt(sum(wide * high for wide, high in sizes)))
    corners, x, y, top = [], 0.0, 0.0, 0.0
    for wide, high in sizes:
        if x > 0 and x + wide > width:
            x, y, top = 0.0, y + top, 0.0
        corners.append((x, y))
        x, top = x + wide, max(top, high)
    return corners


def _to_unit_square(places: np.ndarray) -> np.ndarray:
    if len(places) < 2:
        return np.full((len(places), 2), 0.5)
    low, high = places.min(axis=0), places.max(axis=0)
    return np.clip(0.5 + (places - (low + high) / 2) / (high - low).max(), 0.0, 1.0)


@njit(cache=True, nogil=True)
def move(places, one, other, wanted, pull, push, order, step):
    """Move the points (n, 2) of every pair, in this order, towards their distance; by at most the whole way."""
    for t in order:
        i, j = one[t], other[t]
        dx, dy = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
        length = math.sqrt(dx * dx + dy * dy)
        if length < 1e-12:
            continue
        way = (length - wanted[t]) / (2.0 * length)
        a, b = min(pull[t] * step, 1.0), min(push[t] * step, 1.0)
        places[i, 0] -= a * way * dx
        places[i, 1] -= a * way * dy
        places[j, 0] += b * way * dx
        places[j, 1] += b * way * dy
