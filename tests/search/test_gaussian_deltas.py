"""The scorer of Gaussian networks: every delta against regressions from the rows, and the same engine on top of it."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import gaussian as naive
from quiltwork.backends.threads import Threads
from quiltwork.data.numbers import fit_numbers
from quiltwork.scores.gaussian import GaussianScore
from quiltwork.search import gaussian_deltas
from quiltwork.search.climb import History, climb, level_flips, restarts, tabu
from quiltwork.search.gaussian_deltas import GaussianDeltas
from quiltwork.search.graph import ADD, DROP, FLIP, Graph, Move
from quiltwork.stats.moments import Moments

PENALTIES = [0.0, 3.0, "bic", "bge"]


def table(seed, n_rows=80, n_vars=5):
    """Every variable leans on those before it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_vars))
    for v in range(1, n_vars):
        X[:, v] += X[:, :v] @ (rng.normal(size=v) * (rng.random(v) < 0.5))
    return X[:, rng.permutation(n_vars)]


def start(X, penalty="bic", parents=None, max_parents=None, **options):
    moments = Moments.of(fit_numbers(X)[1])
    score = GaussianScore.make(penalty, moments)
    scorer = GaussianDeltas(moments.shrunk(score.shrink), score, **options)
    graph = Graph(moments.n_vars, scorer, parents or [()] * moments.n_vars, max_parents)
    scorer.score_all(graph)
    return graph


def family(X, child, parents, penalty):
    parents = sorted(parents)
    return naive.bge(X, child, parents) if penalty == "bge" else naive.node_score(X, child, parents, penalty)


def walk(graph, rng, steps):
    """Random legal moves, scored as they come."""
    for _ in range(steps):
        pairs = itertools.permutations(range(graph.n_vars), 2)
        moves = [Move(kind, u, v, 0.0) for u, v in pairs for kind in (ADD, DROP, FLIP)]
        there = [m for m in moves if (m.parent in graph.parents(m.child)) == (m.kind != ADD)]
        legal = [m for m in there if graph.is_legal(m)]
        graph.rescore(graph.change(legal[rng.integers(len(legal))]))


@pytest.mark.parametrize("penalty", PENALTIES)
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(0, 12))
def test_every_delta_is_a_difference_of_scores(penalty, seed, steps):
    X = table(seed)
    graph = start(X, penalty)
    walk(graph, np.random.default_rng(seed), steps)
    for child in range(5):
        own = set(graph.parents(child))
        now = family(X, child, own, penalty)
        assert graph.local[child] == pytest.approx(now, rel=1e-8, abs=1e-6)
        for u in set(range(5)) - {child}:
            assert graph.delta(child, u) == pytest.approx(
                family(X, child, own ^ {u}, penalty) - now, rel=1e-5, abs=1e-5
            )
        assert graph.delta(child, child) == -np.inf


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_updated_factors_are_fresh_factors(seed):
    """After any walk the rows are those of a scorer that has seen nothing else."""
    X = table(seed, 60, 7)
    graph = start(X)
    walk(graph, np.random.default_rng(seed), 30)
    again = start(X, parents=graph.all_parents())
    np.testing.assert_allclose(graph.state.deltas, again.state.deltas, rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(graph.local, again.local, rtol=1e-12)


def best_of_all(X, penalty):
    """The best score of any acyclic graph of four variables, by trying all 543."""
    subsets = [
        [p for k in range(4) for p in itertools.combinations([u for u in range(4) if u != v], k)] for v in range(4)
    ]
    local = [{p: family(X, v, p, penalty) for p in subsets[v]} for v in range(4)]
    graphs = itertools.product(*subsets)
    return max(sum(local[v][p] for v, p in enumerate(g)) for g in graphs if naive.acyclic(g))


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.sampled_from([2.0, "bic", "bge"]))
def test_the_engine_finds_the_best_graph_of_four_variables(seed, penalty):
    X = table(seed, 100, 4)
    best = best_of_all(X, penalty)
    graph = start(X, penalty)
    climb(graph, History())
    climbed = graph.total
    graph._scorer.remember()
    found = tabu(graph, History(), walks=3, walk_steps=10, tabu_length=50, n_restarts=5, restart_steps=6, seed=0)
    graph = start(X, penalty, found)
    assert climbed - 1e-9 <= graph.total <= best + 1e-5
    restarts(graph, History(), 60, None, 0)
    assert graph.total == pytest.approx(best, rel=1e-9, abs=1e-5)


def test_memory_of_rows_changes_nothing(monkeypatch):
    X, results = table(3, 100, 8), []
    for limit in (None, 2**28, 3 * 8 * 8):
        monkeypatch.setattr("quiltwork.search.scorer._REMEMBERED_BYTES", limit or 0)
        graph = start(X)
        climb(graph, History())
        if limit:
            graph._scorer.remember()
        level_flips(graph, History())
        restarts(graph, History(), 30, None, 0)
        results.append((graph.arcs().tolist(), graph.total))
    assert results[0] == results[1] == results[2]


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(gaussian_deltas, "_CHUNK", 2)
    X = table(4, 100, 9)
    with Threads(3) as threads:
        together = start(X, run=threads.run)
    assert (together.state.deltas == start(X).state.deltas).all()


def test_knowledge_is_kept():
    X = table(5)
    forbidden = np.zeros((5, 5), bool)
    forbidden[0, 1] = True
    graph = start(X, 0.0, [(), (), (1,), (), ()], forbidden=forbidden, required=((1, 2),))
    assert graph.delta(0, 1) == -np.inf and graph.delta(2, 1) == -np.inf
    walk(graph, np.random.default_rng(0), 40)
    assert 1 in graph.parents(2) and 1 not in graph.parents(0)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-9])
def test_a_copy_is_found_and_then_never_stands_beside_its_twin(noise):
    X = table(6, 200)
    X = np.column_stack([X, X[:, 0] + noise * np.random.default_rng(0).normal(size=200)])
    with np.errstate(all="raise"):
        graph = start(X, 2.0)
        climb(graph, History())
        level_flips(graph, History())
    assert 5 in graph.parents(0) or 0 in graph.parents(5)
    assert not any({0, 5} <= set(p) for p in graph.all_parents())
    assert np.isfinite(graph.total)
    walk(graph, np.random.default_rng(1), 60)
    assert not any({0, 5} <= set(p) for p in graph.all_parents()) and np.isfinite(graph.total)


def test_a_sum_of_others_has_them_for_parents():
    X = table(7, 300)
    X[:, 4] = X[:, 0] - 2 * X[:, 1] + 0.5 * X[:, 2]
    graph = start(X, "bic")
    climb(graph, History())
    full = [set(graph.parents(v)) | {v} for v in (0, 1, 2, 4)]
    assert any(own >= {0, 1, 2, 4} for own in full)
    assert np.isfinite(graph.total)


def test_no_move_left_ends_the_restarts():
    history = History()
    graph = start(table(8), max_parents=0)
    found = tabu(graph, history, walks=1, walk_steps=5, tabu_length=9, n_restarts=10**9, restart_steps=5, seed=0)
    assert found == [()] * 5 and history.scores == []


def test_ties_go_to_the_lower_column():
    z = np.random.default_rng(0).normal(size=100)
    X = np.column_stack([z, z + 1e-3 * np.random.default_rng(1).normal(size=100)])
    move = start(X).best_move()
    assert (move.child, move.parent) == (0, 1)
