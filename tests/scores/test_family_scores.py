import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import family_scores
from naive.counting import family_counts
from quiltwork.scores.families import NAMES, FamilyScore, dirichlet_score
from quiltwork.stats.families import Arrays, count_family
from tables import dataset, random_table, tables

counts_tables = st.integers(1, 5).flatmap(
    lambda r: st.lists(st.lists(st.integers(0, 50), min_size=r, max_size=r), min_size=1, max_size=6)
)


@pytest.mark.parametrize("name", NAMES)
@given(counts_tables, st.floats(0.01, 100), st.floats(0.001, 1.0))
def test_scores_equal_the_textbook(name, table, ess, kappa):
    counts = np.array(table, float)
    total = max(counts.sum(), 2.0)
    n_states = np.array([counts.shape[1], 7])
    score = FamilyScore.make(name, total, n_states, equivalent_sample_size=ess, kappa=kappa)
    twin = family_scores.score(name, table, total, 7, ess, kappa)
    assert score(counts) == pytest.approx(twin, rel=1e-10, abs=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_counts_that_are_no_whole_numbers(name):
    counts = np.random.default_rng(0).random((3, 4)) * 20
    score = FamilyScore.make(name, counts.sum(), np.array([4, 3]), whole=False)
    assert score(counts) == pytest.approx(family_scores.score(name, counts.tolist(), counts.sum(), 4), rel=1e-10)


@pytest.mark.parametrize("n", [10**6, 10**9])
def test_large_counts_keep_their_digits(n):
    mpmath = pytest.importorskip("mpmath")
    counts = np.array([[n, n // 3]], float)
    for ess in (1e-6, 1.0, 1e6):
        score = FamilyScore.make("bdeu", counts.sum(), np.array([2]), equivalent_sample_size=ess)
        with mpmath.workdps(40):
            a = mpmath.mpf(ess) / 2
            exact = mpmath.loggamma(2 * a) - mpmath.loggamma(2 * a + int(counts.sum()))
            exact += sum(mpmath.loggamma(a + int(c)) - mpmath.loggamma(a) for c in counts[0])
        # The score is a difference of terms of this size, so this is what double precision can give.
        size = counts.sum() * math.log(counts.sum())
        assert abs(score(counts) - float(exact)) <= 1e-14 * size + 1e-12 * abs(float(exact))


def _graph_score(score, arrays, graph):
    return sum(score(count_family(arrays, v, p)) for v, p in enumerate(graph))


@pytest.mark.parametrize("name", ["bic", "aic", "loglik", "bdeu"])
@given(tables(max_vars=3, states=(2, 3, 4)))
def test_equivalent_graphs_score_equal(name, table):
    """x -> y -> z, x <- y <- z and x <- y -> z say the same; so do all orders of a complete graph."""
    columns, n_states = table
    if len(n_states) < 3:
        return
    arrays = Arrays.of(dataset(columns, n_states))
    score = FamilyScore.make(name, len(columns[0]), np.array(n_states))
    chains = [((), (0,), (1,)), ((1,), (2,), ()), ((1,), (), (1,))]
    full = [tuple(tuple(sorted(o[: o.index(v)])) for v in range(3)) for o in itertools.permutations(range(3))]
    for family in (chains, full):
        values = [_graph_score(score, arrays, graph) for graph in family]
        assert values == pytest.approx([values[0]] * len(values), rel=1e-9, abs=1e-7)


def test_dirichlet_score_with_a_uniform_prior_network_is_bdeu():
    columns = random_table(0, 300, [3, 2, 4])
    arrays = Arrays.of(dataset(columns, [3, 2, 4]))
    counts = count_family(arrays, 0, (1, 2))
    bdeu = FamilyScore.make("bdeu", 300, np.array([3, 2, 4]), equivalent_sample_size=5.0)
    assert dirichlet_score(counts, np.full(counts.shape, 5.0 / counts.size)) == pytest.approx(bdeu(counts), rel=1e-12)


def test_dirichlet_score_is_the_product_of_sequential_predictions():
    """log P(data) = sum of log P(next row | rows before): the definition, with unequal prior counts."""
    prior = np.array([[0.5, 2.0], [1.5, 0.1]])
    rng = np.random.default_rng(1)
    rows = [(int(rng.integers(2)), int(rng.integers(2))) for _ in range(40)]
    seen, total = prior.copy(), 0.0
    for j, k in rows:
        total += math.log(seen[j, k] / seen[j].sum())
        seen[j, k] += 1
    assert dirichlet_score(seen - prior, prior) == pytest.approx(total, rel=1e-12)


def test_row_order_changes_nothing():
    columns = random_table(9, 333, [2, 3, 2])
    order = np.random.default_rng(0).permutation(333)
    a, b = (Arrays.of(dataset(c, [2, 3, 2])) for c in (columns, [c[order] for c in columns]))
    assert (count_family(a, 1, (0, 2)) == count_family(b, 1, (0, 2))).all()
    assert list(family_counts(columns, [2, 3, 2], 1, (0, 2)).values()) == count_family(a, 1, (0, 2)).tolist()
