import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import counting, family_scores
from quiltwork.search.parents import choose_parents
from quiltwork.stats.families import Arrays
from tables import dataset, random_table, tables


def choose(data, candidates):
    chosen, gains = np.full(candidates.shape, -7, np.int64), np.full(candidates.shape, 7.0)
    everyone = np.arange(data.n_vars)
    choose_parents(*Arrays.of(data).plain(), float(data.n_states.max()), everyone, candidates, chosen, gains)
    return chosen, gains


def greedy(columns, n_states, child, candidates, weights):
    """Parents one by one, each family counted and scored afresh; [(parent, gain)]."""
    total = len(columns[0]) if weights is None else sum(weights)

    def score(parents):
        table = counting.family_counts(columns, n_states, child, parents, weights)
        return family_scores.score("mdl", list(table.values()), max(total, 1.0), max(n_states))

    parents, out = [], []
    while True:
        best = None
        for u in candidates:
            if u not in parents:
                gain = score([*parents, u]) - score(parents)
                if gain > 1e-9 and (best is None or gain > best[1] + 1e-9):
                    best = (u, gain)
        if best is None:
            return out
        parents.append(best[0])
        out.append(best)


@settings(max_examples=60)
@given(tables(max_vars=5, states=(1, 2, 3, 18), sizes=(1, 64, 65, 300)), st.integers(0, 10**6), st.booleans())
def test_parents_enter_as_they_do_by_the_definition(table, seed, weighted):
    columns, n_states = table
    rng = np.random.default_rng(seed)
    n = len(n_states)
    candidates = np.array([[*rng.permutation([u for u in range(n) if u != v]), -1] for v in range(n)])
    weights = rng.random(len(columns[0])) * 3 if weighted else None
    chosen, gains = choose(dataset(columns, n_states, weights), candidates)
    for v in range(n):
        expected = greedy(columns, n_states, v, candidates[v, :-1].tolist(), weights)
        filled = len(expected)
        assert chosen[v, :filled].tolist() == [u for u, _ in expected]
        assert (chosen[v, filled:] == -1).all() and (gains[v, filled:] == 0).all()
        np.testing.assert_allclose(gains[v, :filled], [gain for _, gain in expected], atol=1e-8)


def test_both_parents_of_an_exclusive_or_are_found():
    """Of two even coins neither alone would help; one of them is loaded, so the other one does, and then both."""
    rng = np.random.default_rng(0)
    a, b = rng.random(2000) < 0.5, rng.random(2000) < 0.7
    columns = [x.astype(np.uint16) for x in (a, b, a ^ b)]
    chosen, _ = choose(dataset(columns, [2, 2, 2]), np.array([[1, 2], [0, 2], [0, 1]]))
    assert sorted(chosen[2].tolist()) == [0, 1]


def test_of_two_equal_candidates_the_first_enters():
    column = random_table(0, 200, [2])[0]
    data = dataset([column, column, column], [2, 2, 2])
    chosen, _ = choose(data, np.array([[2, 1], [0, 2], [1, 0]]))
    assert chosen.tolist() == [[2, -1], [0, -1], [1, -1]]


def test_a_parent_with_too_many_states_is_passed_over_uncounted():
    """300 states for the parent of a child with 300: a table of 90,000 entries costs more than it can explain."""
    rng = np.random.default_rng(0)
    column = rng.integers(0, 300, 600).astype(np.uint16)
    chosen, _ = choose(dataset([column, column], [300, 300]), np.array([[1], [0]]))
    assert chosen.tolist() == [[-1], [-1]]
