"""Gaussian scores: against the slow twins, equivalent graphs, units, and the tangent below the smallest share."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import gaussian as naive
from quiltwork.data.numbers import fit_numbers
from quiltwork.scores.gaussian import GaussianScore
from quiltwork.search.gaussian_deltas import GaussianDeltas
from quiltwork.stats.moments import Moments
from quiltwork.stats.partial import RANK

PENALTIES = [0.0, 2.5, "bic", "bge"]


def table(seed, n_rows=60, n_vars=4):
    rng = np.random.default_rng(seed)
    return 3.0 + rng.normal(size=(n_rows, n_vars)) @ rng.normal(size=(n_vars, n_vars))


def scorer(X, penalty, weights=None):
    moments = Moments.of(fit_numbers(X, weights)[1])
    score = GaussianScore.make(penalty, moments)
    return GaussianDeltas(moments.shrunk(score.shrink), score)


def twin(X, child, parents, penalty, weights=None):
    return naive.bge(X, child, parents) if penalty == "bge" else naive.node_score(X, child, parents, penalty, weights)


@pytest.mark.parametrize("penalty", PENALTIES)
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([5, 60, 300]))
def test_families_score_as_their_slow_twins(penalty, seed, n_rows):
    X = table(seed, n_rows)
    ours = scorer(X, penalty)
    for child in range(4):
        others = [v for v in range(4) if v != child]
        for parents in itertools.chain.from_iterable(itertools.combinations(others, k) for k in range(3)):
            assert ours.family(child, parents) == pytest.approx(twin(X, child, parents, penalty), rel=1e-7, abs=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_equivalent_graphs_score_the_same(penalty):
    X = table(5)
    ours = scorer(X, penalty)
    chains = [[(), (0,), (1,), ()], [(1,), (), (1,), ()], [(1,), (2,), (), ()]]
    totals = [sum(ours.family(v, p) for v, p in enumerate(graph)) for graph in chains]
    assert totals[0] == pytest.approx(totals[1]) == pytest.approx(totals[2])
    collider = sum(ours.family(v, p) for v, p in enumerate([(), (0, 2), (), ()]))
    assert abs(collider - totals[0]) > 1e-3


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_units_change_every_graph_by_the_same(penalty, scale, offset):
    X = table(6, 500)
    plain, moved = scorer(X, penalty), scorer((X + offset) * scale, penalty)
    for child, parents in ((0, ()), (1, (0,)), (2, (0, 1, 3))):
        expected = plain.family(child, parents) - 500 * math.log(scale)
        assert moved.family(child, parents) == pytest.approx(expected, rel=1e-8)


def test_bic_is_the_penalty_of_half_the_logarithm_of_the_rows():
    X = table(7)
    bic, penalty = scorer(X, "bic"), scorer(X, math.log(60) / 2)
    gap = [bic.family(v, p) - penalty.family(v, p) for v, p in ((0, ()), (0, (1, 2)), (3, (1,)))]
    assert gap == pytest.approx(3 * [-30 * math.log(2 * math.pi) - math.log(60)])


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_weights_are_repeated_rows(seed):
    X = table(seed, 40)
    times = np.random.default_rng(seed).integers(1, 4, 40)
    for penalty in (1.0, "bic", "bge"):
        weighted, repeated = scorer(X, penalty, times.astype(float)), scorer(np.repeat(X, times, axis=0), penalty)
        assert weighted.family(0, (1, 3)) == pytest.approx(repeated.family(0, (1, 3)), rel=1e-9)


def test_below_the_smallest_share_the_score_goes_on_along_its_tangent():
    score = GaussianScore.make(0.0, Moments.of(fit_numbers(table(8))[1]))
    values = [score.of(0, 1, share) for share in (2 * RANK, RANK, RANK / 2, 0.0)]
    assert all(b > a for a, b in itertools.pairwise(values)) and np.isfinite(values).all()
    assert values[3] - values[1] == pytest.approx(30.0)  # slope m/2, from RANK to 0


def test_bge_is_that_of_a_peer():
    """PyBNesian 0.5.1, BGe with its defaults, on columns of unit variance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    ours = scorer((X - X.mean(axis=0)) / X.std(axis=0), "bge")
    assert ours.family(0, ()) == pytest.approx(-290.03052742167984, rel=1e-11)
    assert ours.family(0, (1,)) == pytest.approx(-214.80179763794854, rel=1e-11)
    assert ours.family(2, (0, 1, 3)) == pytest.approx(-285.70427557747666, rel=1e-11)


def test_a_constant_column_scores_and_gets_no_arcs():
    X = table(9)
    X[:, 1] = 4.0
    ours = scorer(X, "bic")
    row = np.empty(4)
    assert np.isfinite(ours(1, (), row)) and (row == -np.inf).all()
    ours(0, (), row)
    assert row[1] == -np.inf and np.isfinite(row[[2, 3]]).all()
