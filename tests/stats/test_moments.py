"""Moments: against NumPy on shifted and scaled copies, with weights, for any blocks and threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiltwork.backends.threads import Threads
from quiltwork.data.numbers import fit_numbers
from quiltwork.errors import ResourceLimitError
from quiltwork.stats import moments as module
from quiltwork.stats.moments import CONSTANT, Moments


def table(seed, n_rows=50, n_vars=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_vars)) @ rng.normal(size=(n_vars, n_vars))


def moments_of(X, weights=None):
    return Moments.of(fit_numbers(X, weights)[1])


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 64, 200]))
def test_moments_are_numpys(seed, n_rows):
    X = table(seed, n_rows)
    found = moments_of(X)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.deviation, X.std(axis=0), rtol=1e-10)
    np.testing.assert_allclose(found.correlation, np.corrcoef(X.T), atol=1e-10)
    assert not found.constant.any() and (found.correlation == found.correlation.T).all()


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12, 1e-90, 1e90])
def test_shift_and_scale_change_nothing_but_the_units(offset, scale):
    X = table(0, 500)
    plain = moments_of(X)
    with np.errstate(all="raise"):
        found = moments_of((X + offset) * scale)
    tolerance = max(1e-12, 1e-15 * offset)  # the table itself is rounded to 16 digits
    np.testing.assert_allclose(found.deviation, plain.deviation * scale, rtol=10 * tolerance)
    np.testing.assert_allclose(found.correlation, plain.correlation, atol=10 * tolerance)


def test_values_near_1e8_keep_their_unit_variance():
    """A sum of squares would say 2.0."""
    z = np.random.default_rng(0).normal(size=10_000)
    assert moments_of((1e8 + z)[:, None]).deviation[0] == pytest.approx(z.std(), rel=1e-7)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_weights_are_repeated_rows(seed):
    X = table(seed)
    times = np.random.default_rng(seed).integers(0, 4, len(X))
    times[0] = 1
    weighted, repeated = moments_of(X, times.astype(float)), moments_of(np.repeat(X, times, axis=0))
    assert weighted.total == repeated.total
    np.testing.assert_allclose(weighted.mean, repeated.mean, atol=1e-12)
    np.testing.assert_allclose(weighted.deviation, repeated.deviation, rtol=1e-9)
    np.testing.assert_allclose(weighted.correlation, repeated.correlation, atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 7.0, 0.1, 1e8, -3e-50])
def test_a_constant_column_correlates_with_nothing(value):
    X = table(1)
    X[:, 2] = value
    found = moments_of(X)
    assert found.constant.tolist() == [False, False, True, False]
    assert found.correlation[2].tolist() == [0, 0, 1, 0]
    assert found.deviation[2] == pytest.approx(CONSTANT * (abs(value) or 1.0))


def test_rounding_is_not_variation():
    X = table(1, 100)
    X[:, 2] = np.where(np.arange(100) % 2, 0.3, 0.1 + 0.2)
    assert moments_of(X).constant[2]


def test_one_row_is_constant():
    assert moments_of(np.array([[1.0, 2.0]])).constant.all()


def test_the_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(module, "_COLUMNS", 3)
    monkeypatch.setattr(module, "_ROWS", 64)
    numbers = fit_numbers(table(2, 300, 11))[1]
    alone = Moments.of(numbers)
    with Threads(4) as threads:
        together = Moments.of(numbers, threads.run)
    assert (alone.correlation == together.correlation).all()
    np.testing.assert_allclose(alone.correlation, np.corrcoef(numbers.values.T), atol=1e-12)


def test_what_cannot_fit_is_refused_with_its_size():
    with pytest.raises(ResourceLimitError, match="correlations of 10,000,000 variables .* GB"):
        module.check_size(10_000_000)
