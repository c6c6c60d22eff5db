"""Sampling: goodness of fit, with the chance of a false alarm written down; determinism."""

import numpy as np
import pytest
from scipy.stats import chi2

from infer.networks import net, random_tables
from naive.joint import joint
from quiltwork.errors import ParameterError, ResourceLimitError
from quiltwork.infer.sample import sample
from quiltwork.models.textbook import textbook


@pytest.mark.parametrize("seed", range(5))
def test_samples_fit_the_joint(seed):
    """Pearson's test on all cells of the joint. The seeds are fixed, so this fails always or never; had they not
    been, it would fail falsely in one of 10^6 runs per case."""
    raw = random_tables(np.random.default_rng(seed), 5, max_states=3)
    expected = joint(*raw).ravel() * 100_000
    states = sample(net(*raw), 100_000, seed=seed).states()
    observed = np.bincount(np.ravel_multi_index(states.T.astype(int), raw[0]), minlength=expected.size)
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert chi2.sf(statistic, max(1, expected.size - 1)) > 1e-6


def test_what_cannot_happen_never_does():
    """Rounding leaves (0.1 * 3, 0.1 * 7) short of one; the state after them has probability zero."""
    raw = random_tables(np.random.default_rng(3), 6, max_states=4, zeros=0.5)
    states = sample(net(*raw), 50_000, seed=0).states().astype(int)
    assert joint(*raw)[tuple(states.T)].min() > 0
    short = net([12], [[]], [[[0.0] + [0.1] * 10 + [0.0]]])
    seen = np.unique(sample(short, 100_000, seed=1).states())
    assert seen.tolist() == list(range(1, 11))


def test_the_last_state_possible_takes_what_rounding_leaves():
    from quiltwork.infer.sample import _cumulative, _draw

    out = np.empty(2, np.uint16)
    _draw(
        np.array([0.0, 1 - 2.0**-53]), np.zeros(2, np.int64), _cumulative(np.array([[0.0] + [0.1] * 10 + [0.0]])), out
    )
    assert out.tolist() == [1, 10]


def test_the_seed_decides_and_a_longer_sample_begins_like_a_shorter_one():
    asia = textbook("asia")
    long, short = sample(asia, 1000, seed=7).states(), sample(asia, 300, seed=7).states()
    assert np.array_equal(long[:300], short)
    assert not np.array_equal(short, sample(asia, 300, seed=8).states())


def test_shapes_and_wrong_numbers_of_rows():
    asia = textbook("asia")
    assert sample(asia, 0).states().shape == (0, 8)
    assert sample(asia, 5).variables == asia.variables
    for n in (10**13, 10**15):
        with pytest.raises(ResourceLimitError, match="rows of 8 variables take .* GB.*several samples"):
            sample(asia, n)
    for n in (-1, 2.5, True, "10", 10**400):
        with pytest.raises(ParameterError, match="'n' parameter of sample"):
            sample(asia, n)


def test_variables_with_very_many_states():
    big = net([1000, 2], [[], [0]], [np.full((1, 1000), 1e-3), np.tile([[0.25, 0.75]], (1000, 1))])
    states = sample(big, 20_000, seed=0).states()
    assert states[:, 0].max() > 255
    assert states[:, 1].mean() == pytest.approx(0.75, abs=5 * np.sqrt(0.75 * 0.25 / 20_000))
