"""The distribution of every variable: each method beside the exact answer, numbers, and what cannot be exact."""

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.errors import InputError, IntractableError, ZeroEvidenceError

GIVEN = {"smoke": "yes", "dysp": "yes"}


@pytest.fixture(scope="module")
def network():
    """Weights of Asia that leave every joint state possible."""
    table = qw.sample(qw.textbook("asia"), 3000, seed=0)
    return qw.learn("mn", table, structure="chi2", k=1)


@pytest.mark.parametrize(("method", "room"), [("gibbs", 0.03), ("mcsat", 0.05), ("bp", 1e-6), ("mf", 0.2)])
def test_every_method_is_near_the_exact_answer(network, method, room):
    """A forest, on which belief propagation is exact; mean field gives up dependence."""
    exact, found = qw.marginals(network, GIVEN), qw.marginals(network, GIVEN, method, n_samples=20_000)
    assert (exact.method, exact.error, exact.converged) == ("exact", 0.0, True)
    assert found.method == method and list(found) == list(exact)
    assert (found.error is None) == (method in ("bp", "mf"))
    for name, shares in exact.items():
        np.testing.assert_allclose(found[name], shares, atol=room)
    known = network.variables[[v.name for v in network.variables].index("smoke")]
    assert found["smoke"].tolist() == [float(state == "yes") for state in known.states]


def test_a_model_without_a_joint_distribution_is_sampled():
    dn = qw.learn("dn", qw.sample(qw.textbook("asia"), 5000, seed=0))
    found = qw.marginals(dn, {"smoke": "yes"}, n_samples=4000)
    assert found.method == "gibbs" and found.error > 0 and found["lung"].sum() == pytest.approx(1.0)
    with pytest.raises(IntractableError, match="marginals"):
        qw.marginals(dn, method="exact")


def test_what_is_too_wide_is_sampled_and_says_so(network):
    assert qw.marginals(network, max_entries=2, n_samples=100).method == "gibbs"


def test_numbers_have_a_mean_and_a_deviation():
    rng = np.random.default_rng(0)
    x = rng.normal(2.0, 1.0, 2000)
    table = {"x": x, "y": 3 * x + rng.normal(size=2000)}
    for kind in ("gbn", "tree"):
        model = qw.learn(kind, table)
        free, given = qw.marginals(model), qw.marginals(model, {"x": 1.0})
        assert free["x"] == pytest.approx((x.mean(), x.std()), rel=1e-2)
        assert given["x"] == (1.0, 0.0)
        assert given["y"] == pytest.approx(tuple(qw.query(model, "y", {"x": 1.0})["y"]))
        with pytest.raises(InputError, match="must be 'auto' or 'exact'. Got 'gibbs' instead"):
            qw.marginals(model, method="gibbs")
        assert qw.marginals(model, {"x": 1.0, "y": 2.0})["y"] == (2.0, 0.0)


def test_impossible_evidence_is_told():
    for method in ("auto", "gibbs", "bp"):
        with pytest.raises(ZeroEvidenceError):
            qw.marginals(qw.textbook("asia"), {"lung": "yes", "either": "no"}, method)


def test_exact_answers_say_how_wide_they_were():
    """Of a chain, whatever its length, no table is over more than two variables; sampled answers have no width."""
    asia = qw.textbook("asia")
    assert 2 <= qw.query(asia, "dysp").width <= 4
    assert qw.query(asia, ["lung", "bronc", "tub", "xray"]).width >= 4
    assert qw.query(asia, "dysp", method="gibbs", n_samples=100).width is None
