import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiltwork.models.structure import Structure
from quiltwork.scores.families import FamilyScore
from quiltwork.search import climb as strategies
from quiltwork.search.climb import History, climb, level_flips, restarts, tabu
from quiltwork.search.deltas import FamilyDeltas, PriorDeltas
from quiltwork.search.graph import ADD, Graph, Move
from quiltwork.search.order import k2
from quiltwork.stats.families import Arrays, count_family
from tables import dataset, random_table


def start(columns, n_states, name="bic", remember=True, **options):
    scorer = FamilyDeltas(
        Arrays.of(dataset(columns, n_states)), FamilyScore.make(name, len(columns[0]), np.array(n_states)), **options
    )
    graph = Graph(len(n_states), scorer, [()] * len(n_states), None)
    scorer.score_all(graph)
    if remember:
        scorer.remember()
    return graph


def best_of_all(columns, n_states, name="bic"):
    """The best score of any acyclic graph, by trying them all (four variables: 543 graphs)."""
    arrays = Arrays.of(dataset(columns, n_states))
    score = FamilyScore.make(name, len(columns[0]), np.array(n_states))
    n = len(n_states)
    subsets = [
        [tuple(c) for k in range(n) for c in itertools.combinations([u for u in range(n) if u != v], k)]
        for v in range(n)
    ]
    local = [{p: score(count_family(arrays, v, p)) for p in subsets[v]} for v in range(n)]
    return max(
        sum(local[v][p] for v, p in enumerate(graph))
        for graph in itertools.product(*subsets)
        if Structure.from_parents(graph).order() is not None
    )


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([[2, 2, 2, 2], [2, 3, 2, 3]]))
def test_restarts_find_the_best_graph_of_four_variables(seed, n_states):
    columns = random_table(seed, 150, n_states)
    graph = start(columns, n_states)
    climb(graph, History())
    restarts(graph, History(), 60, None, 0)
    assert graph.total == pytest.approx(best_of_all(columns, n_states), abs=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_a_climb_ends_where_no_move_helps_and_its_history_rises(seed, n_vars):
    graph = start(random_table(seed, 200, [2] * n_vars), [2] * n_vars)
    history = History()
    climb(graph, history)
    assert graph.best_move().delta <= 1e-9
    assert all(b > a for a, b in itertools.pairwise(history.scores))
    if history.scores:
        assert history.scores[-1] == pytest.approx(graph.total)


@given(st.integers(0, 10**6))
def test_no_search_ends_below_the_climb(seed):
    columns, n_states = random_table(seed, 120, [2, 3, 2, 2, 3, 2, 2]), [2, 3, 2, 2, 3, 2, 2]
    graph = start(columns, n_states)
    climb(graph, History())
    climbed, score = graph.total, graph._scorer
    best = tabu(graph, History(), walks=3, walk_steps=8, tabu_length=20, n_restarts=2, restart_steps=4, seed=seed)
    again = Graph(len(n_states), score, best, None)
    score.score_all(again)
    assert again.total >= climbed - 1e-9
    graph = start(columns, n_states)
    climb(graph, History())
    restarts(graph, History(), 20, None, seed)
    assert graph.total >= climbed - 1e-9
    assert graph.total == pytest.approx(graph.local.sum())


def test_a_tabu_restart_that_ends_below_the_best_graph_is_taken_back():
    columns, n_states = random_table(3, 200, [2, 3, 2, 2, 3, 2, 2, 3]), [2, 3, 2, 2, 3, 2, 2, 3]
    graph, history = start(columns, n_states), History()
    climb(graph, History())
    for seed in range(8):
        found = tabu(graph, history, walks=0, walk_steps=8, tabu_length=20, n_restarts=1, restart_steps=9, seed=seed)
        best = Graph(len(n_states), graph._scorer, found, None)
        graph._scorer.score_all(best)
        assert graph.total == pytest.approx(best.total)
    ends = [a for (a, phase), (_, then) in itertools.pairwise(zip(history.scores, history.phases)) if phase != then]
    assert min(ends) < graph.total - 1e-6  # some of them did


@given(st.integers(0, 10**6), st.integers(3, 9))
def test_level_flips_keep_only_what_opens_a_better_move(seed, n_vars):
    graph = start(random_table(seed, 150, [2] * n_vars), [2] * n_vars)
    climb(graph, History())
    before, arcs = graph.total, graph.arcs().tolist()
    history = History()
    level_flips(graph, history)
    if history.scores:
        assert graph.total > before
    else:
        assert graph.total == before and graph.arcs().tolist() == arcs
    assert graph.best_move().delta <= 1e-9 and Structure.from_parents(graph.all_parents()).order() is not None


def test_a_level_flip_finds_what_a_climb_cannot():
    """Of 60 tables some are climbed into a graph whose equivalent has a better neighbour."""
    gained = 0
    for seed in range(60):
        graph = start(random_table(seed, 100, [2, 3, 2, 2, 3, 2]), [2, 3, 2, 2, 3, 2])
        climb(graph, History())
        before = graph.total
        level_flips(graph, History())
        gained += graph.total > before + 1e-6
    assert gained > 0


def test_ties_are_settled_for_the_child_with_more_states():
    a, b = random_table(0, 200, [2, 4])
    assert start([a, b], [2, 4]).best_move()[1:3] == (0, 1)
    assert start([b, a], [4, 2]).best_move()[1:3] == (1, 0)


def test_a_restart_that_does_not_help_leaves_no_trace():
    graph = start(random_table(1, 300, [2] * 6), [2] * 6)
    climb(graph, History())
    restarts(graph, History(), 200, None, 0)
    arcs, score = graph.arcs().tolist(), graph.total
    history = History()
    restarts(graph, history, 50, None, 99)
    assert not history.scores
    assert graph.arcs().tolist() == arcs and graph.total == score


def test_memory_of_rows_changes_nothing(monkeypatch):
    columns = random_table(7, 200, [2] * 12)
    results = []
    for remember, limit in ((False, 0), (True, 2**28), (True, 3 * 12 * 8)):
        monkeypatch.setattr("quiltwork.search.scorer._REMEMBERED_BYTES", limit)
        graph = start(columns, [2] * 12, remember=remember)
        climb(graph, History())
        restarts(graph, History(), 30, None, 0)
        results.append((graph.arcs().tolist(), graph.total))
    assert results[0] == results[1] == results[2]


def test_a_budget_ends_the_restarts():
    graph = start(random_table(7, 200, [2] * 12), [2] * 12)
    climb(graph, History())
    assert restarts(graph, History(), None, 0.0, 0) == 0
    assert restarts(graph, History(), None, 0.05, 0) > 0


def test_blocks_and_threads_change_nothing(monkeypatch):
    from quiltwork.backends.threads import Threads

    columns, n_states = random_table(3, 300, [2, 3, 2, 4] * 10), [2, 3, 2, 4] * 10
    whole = start(columns, n_states)
    climb(whole, History())
    monkeypatch.setattr("quiltwork.search.deltas._BLOCK_BYTES", 1)
    monkeypatch.setattr("quiltwork.search.deltas._THREAD_PAYS", 0)
    with Threads(3) as threads:
        parts = start(columns, n_states, run=threads.run, n_threads=3)
        climb(parts, History())
    assert whole.arcs().tolist() == parts.arcs().tolist()
    assert (whole.local == parts.local).all()


@given(st.integers(0, 10**6), st.integers(0, 3))
def test_k2_adds_the_best_predecessor_until_none_helps(seed, limit):
    n_states = [2, 3, 2, 2, 2]
    columns = random_table(seed, 200, n_states)
    arrays = Arrays.of(dataset(columns, n_states))
    score = FamilyScore.make("uniform", 200, np.array(n_states))
    order = np.random.default_rng(seed).permutation(5).tolist()
    found = k2(order, FamilyDeltas(arrays, score), [()] * 5, limit)
    for place, child in enumerate(order):
        parents: tuple[int, ...] = ()
        while len(parents) < limit:
            now = score(count_family(arrays, child, parents))
            gains = {
                u: score(count_family(arrays, child, tuple(sorted((*parents, u))))) - now
                for u in sorted(order[:place])
                if u not in parents
            }
            if not gains or max(gains.values()) <= 1e-9:
                break
            parents = tuple(sorted((*parents, max(gains, key=lambda u: (round(gains[u], 6), -u)))))
        assert found[child] == parents


def test_a_uniform_prior_network_searches_like_bdeu():
    columns, n_states = random_table(11, 200, [2, 3, 2, 2]), [2, 3, 2, 2]
    arrays = Arrays.of(dataset(columns, n_states))

    def uniform(child, parents):
        q = int(np.prod([n_states[p] for p in parents], dtype=int))
        return np.full((q, n_states[child]), 10.0 / (q * n_states[child]))

    graphs = []
    for scorer in (
        PriorDeltas(arrays, uniform, 1.0),
        FamilyDeltas(arrays, FamilyScore.make("bdeu", 200, np.array(n_states), equivalent_sample_size=10.0)),
    ):
        graph = Graph(4, scorer, [()] * 4, None)
        scorer.score_all(graph)
        climb(graph, History())
        graphs.append(graph)
    assert graphs[0].arcs().tolist() == graphs[1].arcs().tolist()
    assert graphs[0].total == pytest.approx(graphs[1].total)


def test_random_moves_are_legal_and_reproducible():
    arcs = []
    for _ in range(2):
        graph = start(random_table(0, 50, [2] * 6), [2] * 6)
        strategies._random_moves(graph, History(), 15, np.random.default_rng(4))
        assert Structure.from_parents(graph.all_parents()).order() is not None
        arcs.append(graph.arcs().tolist())
    assert arcs[0] == arcs[1]


def test_restarts_go_on_beside_arcs_that_must_stay():
    """What is perturbed is drawn from the arcs that can be moved: one that cannot, alone in its place, ends nothing."""
    n_states = [2] * 8
    columns = random_table(2, 300, n_states)
    columns[7] = np.where(np.random.default_rng(0).random(300) < 0.1, 1 - columns[6], columns[6])
    graph = start(columns, n_states, required=((6, 7),))
    graph.rescore(graph.change(Move(ADD, 6, 7, 0.0)))
    climb(graph, History())
    assert len(graph.arcs()) > 1
    assert restarts(graph, History(), 50, None, 1) == 50
    assert 6 in graph.parents(7)


def test_random_moves_are_found_where_few_are_legal():
    n_states = [2] * 30
    forbidden = np.ones((30, 30), bool)
    forbidden[4, 2] = forbidden[17, 9] = False
    graph = start(random_table(0, 50, n_states), n_states, forbidden=forbidden)
    seen = set()
    for seed in range(20):
        assert strategies._random_moves(graph, History(), 5, np.random.default_rng(seed))
        seen.add(tuple(map(tuple, graph.arcs().tolist())))
    assert seen == {(), ((2, 4),), ((9, 17),), ((2, 4), (9, 17))}
    nothing = start(random_table(0, 50, n_states), n_states, forbidden=np.ones((30, 30), bool))
    assert not strategies._random_moves(nothing, History(), 5, np.random.default_rng(0))
