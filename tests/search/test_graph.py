"""The graph under search: every delta, every legal move, every ancestor, against doing it from scratch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.models.structure import Structure
from quiltwork.scores.families import NAMES, FamilyScore
from quiltwork.search.deltas import FamilyDeltas
from quiltwork.search.graph import ADD, DROP, FLIP, Graph, Move
from quiltwork.stats.families import Arrays, count_family
from tables import dataset, random_table, tables


def make(columns, n_states, name="bic", start=None, max_parents=None, **knowledge):
    arrays = Arrays.of(dataset(columns, n_states))
    score = FamilyScore.make(name, len(columns[0]), np.array(n_states))
    graph = Graph(len(n_states), FamilyDeltas(arrays, score, **knowledge), start or [()] * len(n_states), max_parents)
    graph.rescore(range(graph.n_vars))
    return graph, arrays, score


def all_moves(graph):
    """Every move there is, legal or not, and the parents it leads to."""
    for child in range(graph.n_vars):
        for parent in range(graph.n_vars):
            if parent == child:
                continue
            parents = [set(p) for p in graph.all_parents()]
            if parent in parents[child]:
                parents[child].remove(parent)
                yield Move(DROP, parent, child, 0.0), [set(p) for p in parents]
                parents[parent].add(child)
                yield Move(FLIP, parent, child, 0.0), parents
            else:
                parents[child].add(parent)
                yield Move(ADD, parent, child, 0.0), parents


def delta_of(graph, move):
    if move.kind == FLIP:
        return graph.delta(move.child, move.parent) + graph.delta(move.parent, move.child)
    return graph.delta(move.child, move.parent)


def total_of(score, arrays, parents):
    return sum(score(count_family(arrays, v, tuple(sorted(p)))) for v, p in enumerate(parents))


def walk(graph, seed, steps):
    """Random legal moves, scored as they come."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        legal = [m for m, parents in all_moves(graph) if Structure.from_parents(parents).order() is not None]
        graph.rescore(graph.change(legal[rng.integers(len(legal))]))


@pytest.mark.parametrize("name", NAMES)
@given(tables(max_vars=5, states=(2, 2, 3, 4, 17)), st.integers(0, 99))
def test_every_delta_is_a_difference_of_scores(name, table, seed):
    columns, n_states = table
    graph, arrays, score = make(columns, n_states, name)
    walk(graph, seed, 4)
    now = total_of(score, arrays, graph.all_parents())
    assert graph.total == pytest.approx(now, rel=1e-9, abs=1e-7)
    for move, parents in all_moves(graph):
        assert delta_of(graph, move) == pytest.approx(total_of(score, arrays, parents) - now, rel=1e-7, abs=1e-6)


@given(st.integers(0, 10**6), st.integers(3, 8), st.integers(0, 40))
def test_legality_is_acyclicity_and_the_best_move_is_the_best(seed, n_vars, steps):
    columns = random_table(seed, 60, [2] * n_vars)
    graph, _, _ = make(columns, [2] * n_vars)
    rng = np.random.default_rng(seed)
    for _ in range(steps + 1):
        acyclic = {m: Structure.from_parents(parents).order() is not None for m, parents in all_moves(graph)}
        assert all(graph.is_legal(move) == legal for move, legal in acyclic.items())
        best = graph.best_move()
        assert best.delta == pytest.approx(max(delta_of(graph, m) for m, legal in acyclic.items() if legal), abs=1e-8)
        assert acyclic[best._replace(delta=0.0)]
        # sometimes the best move, sometimes any: the remembered additions must survive both
        legal = [m for m, ok in acyclic.items() if ok]
        move = best if rng.random() < 0.5 else legal[rng.integers(len(legal))]
        graph.rescore(graph.change(move))


@given(st.integers(0, 10**6), st.integers(0, 30))
def test_the_limit_on_parents_binds_additions_and_flips(seed, steps):
    columns = random_table(seed, 80, [2] * 7)
    graph, _, _ = make(columns, [2] * 7, "loglik", max_parents=2)
    for _ in range(steps):
        graph.rescore(graph.change(graph.best_move()))
        assert max(len(p) for p in graph.all_parents()) <= 2


@given(st.integers(0, 10**6))
def test_the_tabu_list_keeps_the_search_from_graphs_it_names(seed):
    columns = random_table(seed, 100, [2] * 5)
    graph, _, _ = make(columns, [2] * 5)
    visited = [graph.hash]
    seen = {frozenset(map(tuple, graph.arcs().tolist()))}
    for _ in range(25):
        move = graph.best_move(np.array(visited, np.uint64))
        graph.rescore(graph.change(move))
        visited.append(graph.hash)
        arcs = frozenset(map(tuple, graph.arcs().tolist()))
        assert arcs not in seen
        seen.add(arcs)


def test_equal_graphs_have_equal_hashes_whatever_the_way():
    columns = random_table(0, 50, [2] * 4)
    one, _, _ = make(columns, [2] * 4, start=[(), (0,), (0, 1), ()])
    other, _, _ = make(columns, [2] * 4)
    for move in (Move(ADD, 1, 2, 0.0), Move(ADD, 1, 0, 0.0), Move(FLIP, 1, 0, 0.0), Move(ADD, 0, 2, 0.0)):
        other.change(move)
    assert one.hash == other.hash and one.all_parents() == other.all_parents()


def test_revert_restores_everything():
    columns = random_table(2, 200, [2, 3, 2, 2, 3, 2])
    graph, _, _ = make(columns, [2, 3, 2, 2, 3, 2])
    walk(graph, 0, 6)
    before = (
        graph.all_parents(),
        graph.local.copy(),
        graph.state.deltas.copy(),
        graph.state.ancestors.copy(),
        graph.hash,
    )
    first = graph.best_move()
    graph.mark()
    walk(graph, 1, 10)
    graph.revert()
    after = (graph.all_parents(), graph.local, graph.state.deltas, graph.state.ancestors, graph.hash)
    assert before[0] == after[0] and before[4] == after[4]
    for a, b in zip(before[1:4], after[1:4]):
        np.testing.assert_array_equal(a, b)
    assert graph.best_move() == first


def test_ties_go_to_the_lowest_child_then_the_lowest_parent():
    same = np.random.default_rng(0).integers(0, 2, 100).astype(np.uint16)
    graph, _, _ = make([same, same, same], [2, 2, 2])
    move = graph.best_move()
    assert (move.kind, move.child, move.parent) == (ADD, 0, 1)


def test_more_parents_than_the_first_guess():
    n = 14
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 30).astype(np.uint16) for _ in range(n)]
    graph, arrays, score = make(columns, [2] * n, start=[tuple(range(1, n))] + [()] * (n - 1))
    assert graph.parents(0) == tuple(range(1, n))
    assert graph.total == pytest.approx(total_of(score, arrays, graph.all_parents()))


def test_constant_columns_get_and_give_no_arcs():
    a, b = random_table(0, 200, [2, 2])
    graph, _, _ = make([a, np.zeros_like(a), b], [2, 1, 2])
    while (move := graph.best_move()) and move.delta > 1e-9:
        graph.rescore(graph.change(move))
    assert not any(1 in arc for arc in graph.arcs().tolist())
    assert len(graph.arcs()) == 1
