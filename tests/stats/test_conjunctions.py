"""Conjunctions in flat arrays, against lists and sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.stats.conjunctions import Conjunctions, count_holding, distinct
from tables import dataset, tables


def random_features(rng, n_states, n):
    out = []
    for _ in range(n):
        scope = rng.choice(len(n_states), int(rng.integers(0, min(4, len(n_states)) + 1)), replace=False).tolist()
        out.append([(v, int(rng.integers(n_states[v]))) for v in scope])
    return out


@given(st.integers(0, 10**6), st.integers(0, 12), st.integers(0, 12))
def test_distinct_keeps_each_once_in_order(seed, n, m):
    rng = np.random.default_rng(seed)
    parts = [random_features(rng, [2, 2, 3], k) for k in (n, m)]
    found, which = distinct([Conjunctions.of(part) for part in parts])
    listed = [tuple(sorted(feature)) for part in parts for feature in part]
    assert list(found) == list(dict.fromkeys(listed))
    assert [list(found)[k] for k in which] == listed


@given(tables(max_vars=5), st.integers(0, 10**6), st.booleans())
def test_counts_are_those_of_a_loop(table, seed, weighted):
    columns, n_states = table
    rng = np.random.default_rng(seed)
    weights = rng.random(len(columns[0])) if weighted else None
    features = random_features(rng, n_states, 6)
    found = count_holding(dataset(columns, n_states, weights), Conjunctions.of(features))
    for feature, count in zip(features, found):
        holds = np.all([columns[v] == s for v, s in feature], axis=0) if feature else np.ones(len(columns[0]), bool)
        assert np.isclose(count, holds.sum() if weights is None else weights[holds].sum())


def test_some_of_them():
    features = Conjunctions.of([[(0, 1)], [], [(2, 0), (1, 1)], [(1, 0)]])
    assert list(features.take(np.array([2, 1]))) == [((1, 1), (2, 0)), ()]
    assert list(features.take(np.array([True, False, False, True]))) == [((0, 1),), ((1, 0),)]
    assert features.lengths.tolist() == [1, 0, 2, 1] and len(features) == 4
    assert features.feature.tolist() == [0, 2, 2, 3]
