"""The best Gaussian network of few variables: beside all graphs there are, and beside the climbs that look for it."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import gaussian as naive
from quiltwork.data.numbers import fit_numbers
from quiltwork.scores.gaussian import GaussianScore
from quiltwork.search.climb import History, climb, restarts
from quiltwork.search.gaussian_deltas import GaussianDeltas
from quiltwork.search.graph import Graph
from quiltwork.stats.moments import Moments


def table(seed, n_rows=80, n_vars=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_vars))
    for v in range(1, n_vars):
        X[:, v] += X[:, :v] @ (rng.normal(size=v) * (rng.random(v) < 0.6))
    return X[:, rng.permutation(n_vars)]


def scorer_of(X, penalty="bic", **knowledge):
    moments = Moments.of(fit_numbers(X)[1])
    score = GaussianScore.make(penalty, moments)
    return GaussianDeltas(moments.shrunk(score.shrink), score, **knowledge)


def scored(scorer, parents, limit=None):
    graph = Graph(len(parents), scorer, parents, limit)
    scorer.score_all(graph)
    return graph


def best_by_trying(X, penalty, allowed):
    """The best score of any acyclic graph whose families are all allowed."""
    n, local = X.shape[1], []
    for v in range(n):
        others = [u for u in range(n) if u != v]
        sets = [p for k in range(n) for p in itertools.combinations(others, k) if allowed(v, set(p))]
        score = naive.bge if penalty == "bge" else lambda X, v, p: naive.node_score(X, v, p, penalty)
        local.append({p: score(X, v, list(p)) for p in sets})
    graphs = (g for g in itertools.product(*local) if naive.acyclic([list(p) for p in g]))
    return max(sum(local[v][p] for v, p in enumerate(g)) for g in graphs)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 2.0, "bic", "bge"]))
def test_it_is_the_best_of_all_graphs(seed, penalty):
    X = table(seed)
    scorer = scorer_of(X, penalty)
    best = best_by_trying(X, penalty, lambda v, p: True)
    assert scored(scorer, scorer.best_graph(None)).total == pytest.approx(best, rel=1e-9)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(0, 3))
def test_it_is_the_best_that_knowledge_allows(seed, limit):
    X, rng = table(seed), np.random.default_rng(seed)
    forbidden, order = rng.random((4, 4)) < 0.3, rng.permutation(4).tolist()
    required = tuple((u, v) for u, v in itertools.combinations(order, 2) if rng.random() < 0.3 and not forbidden[v, u])
    needed = [{u for u, w in required if w == v} for v in range(4)]

    def allowed(v, p):
        return needed[v] <= p and not any(forbidden[v, u] for u in p) and (len(p) <= limit or p == needed[v])

    scorer = scorer_of(X, 1.0, forbidden=forbidden, required=required)
    found = scorer.best_graph(limit)
    assert all(allowed(v, set(p)) for v, p in enumerate(found))
    best = best_by_trying(X, 1.0, allowed)
    assert scored(scorer, found, limit).total == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("penalty", [0.5, "bic", "bge"])
@pytest.mark.parametrize("noise", [1.0, 1e-2])
def test_no_climb_is_better_also_between_columns_that_lean_on_each_other(noise, penalty):
    X = leaning(noise)
    with np.errstate(all="raise"):
        scorer = scorer_of(X, penalty)
        best = scored(scorer, scorer.best_graph(30), 30).total
    graph = scored(scorer, [()] * 8, 30)
    climb(graph, History())
    restarts(graph, History(), 300, None, 0, most_perturbed=20)
    assert scorer.knows_the_best and best >= graph.total - 1e-6


def leaning(noise):
    Z, rng = table(1, 300, 5), np.random.default_rng(2)
    return np.column_stack([Z, Z @ rng.normal(size=(5, 3)) + noise * rng.normal(size=(300, 3))])


@pytest.mark.parametrize("noise", [1e-4, 1e-6, 0.0])
def test_columns_that_nearly_follow_from_others_are_left_to_the_climb(noise):
    assert not scorer_of(leaning(noise)).knows_the_best
    assert not scorer_of(table(2, 100, 17)).knows_the_best  # and so are many of them


def test_a_constant_column_gets_no_arcs():
    parents = scorer_of(np.column_stack([table(3, 200), np.full(200, 7.0)]), 0.0).best_graph(None)
    assert parents[4] == () and not any(4 in p for p in parents)


def test_a_required_arc_from_a_constant_or_beyond_the_limit_stays():
    X = np.column_stack([table(4, 200), np.full(200, 7.0)])
    parents = scorer_of(X, required=((4, 0), (1, 0))).best_graph(1)
    assert parents[0] == (1, 4) and max(map(len, parents[1:])) == 1


def test_ties_lead_from_earlier_columns_to_later_ones():
    X = table(5, 500, 3)
    X[:, 1] = X[:, 0] + 0.1 * np.random.default_rng(0).normal(size=500)
    X[:, 2] = X[:, 1] + 0.1 * np.random.default_rng(1).normal(size=500)
    assert scorer_of(X).best_graph(None) == [(), (0,), (1,)]


@pytest.mark.parametrize("n_vars", [1, 2])
def test_hardly_any_variables(n_vars):
    assert scorer_of(np.random.default_rng(0).normal(size=(50, n_vars))).best_graph(None) == [()] * n_vars
