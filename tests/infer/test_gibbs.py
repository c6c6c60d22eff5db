"""The sampler against exact answers.

False alarms: every check is fixed by its seed; over seeds, an estimate lies further than 5 of its own standard errors
from the truth about once in 100,000 (Student's t with 79 degrees of freedom).
"""

import numpy as np
import pytest
from hypothesis import given, settings

import quiltwork as qw
from infer.markov_networks import network
from infer.networks import small_networks
from quiltwork.errors import ConvergenceWarning, ResourceLimitError
from quiltwork.infer.chains import r_hat
from quiltwork.infer.conditionals import conditionals, factor_logits
from quiltwork.models.hybrid import hrf_from_bn


@given(small_networks())
def test_factors_give_the_conditionals_of_the_network(drawn):
    net, _, _ = drawn
    rows = qw.sample(net, 10, seed=0)
    logits, gaps = factor_logits(net, rows.states(), np.arange(rows.n_vars))
    first = conditionals(net).first_state
    assert not gaps.any()
    expected = qw.log_conditionals(net, rows)
    for v in range(len(net.variables)):
        own = logits[:, first[v] : first[v + 1]]
        own = own - np.logaddexp.reduce(own, axis=1, keepdims=True)
        observed = own[np.arange(10), rows.column(v)]
        np.testing.assert_allclose(observed, expected[:, v], atol=1e-12)


@settings(max_examples=25)
@given(small_networks(min_states=2, zeros=(0.0,)))
def test_posteriors_agree_with_exact_ones(drawn):
    net, _, rng = drawn
    names = [v.name for v in net.variables]
    asked = names[: 1 + int(rng.integers(min(2, len(names))))]
    evidence = {names[-1]: net.variables[-1].states[0]} if len(names) > 2 else {}
    estimate = qw.query(net, asked, evidence, method="gibbs", n_samples=20_000, seed=1)
    exact = qw.query(net, asked, evidence, method="exact").probabilities
    assert estimate.method == "gibbs" and estimate.probabilities.sum() == pytest.approx(1.0)
    if estimate.converged:
        assert np.abs(estimate.probabilities - exact).max() <= 5 * estimate.error + 1e-9


def test_chains_that_cannot_meet_are_reported():
    """Two coins that always agree: Gibbs never leaves the state it starts in."""
    from infer.networks import net

    stuck = net([2, 2], [(), (0,)], [np.array([[0.5, 0.5]]), np.array([[1.0, 0.0], [0.0, 1.0]])])
    answer = qw.query(stuck, [stuck.variables[0].name], method="gibbs")
    assert not answer.converged
    with pytest.warns(ConvergenceWarning, match="not mixed"):
        qw.sample(hrf_from_bn(stuck), 2000)


def test_samples_of_a_field_follow_the_network_it_came_from():
    net = qw.textbook("cancer")
    rows = qw.sample(hrf_from_bn(net), 4000, seed=3)
    for v, exact in enumerate(qw.marginals(net).values()):
        observed = np.bincount(rows.column(v), minlength=len(exact)) / 4000
        # thinned rows are nearly independent; 5 standard errors with room for what is left
        assert (np.abs(observed - exact) <= 5 * np.sqrt(2 * exact * (1 - exact) / 4000) + 1e-9).all()


def test_the_seed_decides_and_the_evidence_holds():
    field = hrf_from_bn(qw.textbook("cancer"))
    a, b, c = (qw.query(field, ["cancer"], {"smoker": "yes"}, seed=s).probabilities for s in (1, 1, 2))
    assert (a == b).all() and (a != c).any()


def test_too_many_joint_states_are_refused():
    X = np.random.default_rng(0).integers(0, 2, (50, 14))
    field = qw.learn("hrf", X, k=2, k_star=2)
    with pytest.raises(ResourceLimitError, match="16,384"):
        qw.query(field, [f"x{i}" for i in range(14)])


def test_r_hat_is_about_one_for_equal_chains_and_large_for_others():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 500)
    equal = rng.binomial(125, p, (8, 10, 500)) / 125  # batches of independent draws
    assert r_hat(equal).max() < 1.01
    halves = np.where(np.arange(8)[:, None, None] < 4, 0.1, 0.9) * np.ones((8, 10, 3))
    assert r_hat(halves).min() > 1.3
    assert r_hat(np.ones((8, 10, 3))).max() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [1, 40, 700, 3000])
@pytest.mark.parametrize("n_vars", [2, 100])
def test_a_sample_of_chains_that_are_caught_says_so_however_many_rows_it_has(n, n_vars):
    """One pair that agrees all but always, among variables that are free; and without the pair there is silence."""
    caught = network([2] * n_vars, [[(0, 0), (1, 0)], [(0, 1), (1, 1)]], [14.0, 14.0])
    with pytest.warns(ConvergenceWarning, match="have not mixed"):
        qw.sample(caught, n, seed=0)
    qw.sample(network([2] * n_vars, [[(0, 0), (1, 0)]], [1.0]), n, seed=0)
