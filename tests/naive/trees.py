"""Trees the slow way: mutual information by loops, every spanning tree there is, Kruskal, paths one by one, and
independence read off a full joint table or a covariance matrix."""

import itertools
import math

import numpy as np


def smoothed_pair(a, b, n_a, n_b, smoothing, weights=None):
    """Counts of two columns, and `smoothing` rows more that are spread evenly over the cells."""
    table = [[smoothing / (n_a * n_b)] * n_b for _ in range(n_a)]
    for i, (x, y) in enumerate(zip(a, b)):
        table[int(x)][int(y)] += 1.0 if weights is None else weights[i]
    return table


def worth(table):
    """The number of rows times the mutual information of a table of counts."""
    m = sum(map(sum, table))
    rows, columns = [sum(r) for r in table], [sum(c) for c in zip(*table)]
    terms = []
    for i, j in itertools.product(range(len(rows)), range(len(columns))):
        if table[i][j] > 0:
            terms.append(table[i][j] * math.log(table[i][j] * m / (rows[i] * columns[j])))
    return math.fsum(terms)


# Spanning trees


def all_trees(n):
    """The edges of every tree over n labelled vertices, by their Prüfer sequences."""
    if n == 1:
        yield []
        return
    for sequence in itertools.product(range(n), repeat=n - 2):
        degree = [1 + sequence.count(v) for v in range(n)]
        edges = []
        for v in sequence:
            leaf = degree.index(1)
            edges.append((min(leaf, v), max(leaf, v)))
            degree[leaf] -= 1
            degree[v] -= 1
        edges.append(tuple(v for v in range(n) if degree[v] == 1))
        yield edges


def heaviest_tree(weights):
    """The largest sum of weights that any spanning tree has."""
    n = len(weights)
    return max(math.fsum(weights[u][v] for u, v in edges) for edges in all_trees(n))


def kruskal(weights, least=0.0):
    """Edges of the heaviest forest, heaviest first; of equal ones that with the lower columns first."""
    n = len(weights)
    part = list(range(n))
    chosen = []
    for u, v in sorted(itertools.combinations(range(n), 2), key=lambda e: (-weights[e[0]][e[1]], e)):
        if weights[u][v] > least and part[u] != part[v]:
            chosen.append((u, v))
            part = [part[u] if p == part[v] else p for p in part]
    return sorted(chosen)


# Separation


def separated_by_paths(n, edges, a, b, c):
    """Whether every simple path between a and b passes through c."""
    near = [set() for _ in range(n)]
    for u, v in edges:
        near[u].add(v)
        near[v].add(u)

    def reaches(path):
        v = path[-1]
        return v in b or any(reaches([*path, w]) for w in near[v] if w not in path and w not in c)

    return not any(reaches([v]) for v in a)


def d_separated(parents, a, b, c):
    """By the moral graph over the ancestors of all three (Lauritzen et al. 1990)."""
    above = set(a) | set(b) | set(c)
    while True:
        more = above | {p for v in above for p in parents[v]}
        if more == above:
            break
        above = more
    edges = {(p, v) for v in above for p in parents[v]}
    edges |= {pair for v in above for pair in itertools.combinations(sorted(parents[v]), 2)}
    return separated_by_paths(len(parents), edges, set(a), set(b), set(c))


def subsets(things):
    return itertools.chain.from_iterable(itertools.combinations(things, k) for k in range(len(things) + 1))


# Independence


def dependence(joint, a, b, given):
    """How far two variables are from independent given the others: the largest |P(abc) P(c) - P(ac) P(bc)|, over P(c)^2
    where P(c) is not zero."""
    others = [v for v in range(joint.ndim) if v not in (a, b, *given)]
    table = joint.sum(axis=tuple(others), keepdims=True)
    order = [a, b, *given, *others]
    table = table.transpose(order).reshape(joint.shape[a], joint.shape[b], -1)
    total = table.sum(axis=(0, 1))
    apart = table * total - table.sum(axis=1)[:, None] * table.sum(axis=0)[None]
    return float((np.abs(apart).max(axis=(0, 1))[total > 0] / total[total > 0] ** 2).max())


def partial_correlation(covariance, a, b, given):
    """The correlation of a and b that is left when the others are known."""
    inner = np.linalg.inv(covariance[np.ix_([a, b, *given], [a, b, *given])])
    return float(-inner[0, 1] / math.sqrt(inner[0, 0] * inner[1, 1]))
