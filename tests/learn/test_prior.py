"""Prior counts from a prior network: sums over its joint table, and what is said of one that does not fit."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from infer.networks import net, random_tables
from learn.test_local_structure import score_of
from naive.joint import joint
from quiltwork.data.dataset import Variable, from_codes
from quiltwork.data.encode import Encoder
from quiltwork.errors import ParameterError
from quiltwork.learn.prior import prior_boxes
from quiltwork.models.bayesian import BayesianNet
from quiltwork.stats.leaves import leaf_arrays


def slow_prior(table, equivalent, target, box, first_entry):
    """Prior counts of a box by adding up the cells of the prior network's joint table, laid out as leaf counts are."""
    n_states = table.shape
    out = np.zeros((n_states[target], sum(n_states) - len(n_states) + 1))
    for cell in itertools.product(*map(range, n_states)):
        if any(cell[v] not in states for v, states in box.items()):
            continue
        entries = [first_entry[v] + cell[v] - 1 for v in range(len(cell)) if cell[v]] + [-1]
        for c in {0, cell[target]}:
            out[c, entries] += equivalent * table[cell]
    return out


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_prior_counts_of_boxes_are_sums_over_the_prior_networks_joint(seed):
    """States in another order than the data's, and zeros among the probabilities."""
    rng = np.random.default_rng(seed)
    raw = random_tables(rng, 4, max_states=3, min_states=2, zeros=0.3 * (seed % 2))
    network, table = net(*raw), joint(*raw)
    turned = [rng.permutation(r).tolist() for r in raw[0]]
    variables = [Variable(v.name, tuple(v.states[s] for s in o)) for v, o in zip(network.variables, turned)]
    table = table[np.ix_(*turned)]
    data = from_codes(variables, [rng.integers(r, size=10).astype(np.uint16) for r in raw[0]])
    first_entry = leaf_arrays(data).first_entry
    prior = prior_boxes(network, variables, first_entry, 12.0)
    boxed = rng.choice(4, rng.integers(0, 4), replace=False).tolist()
    box = {v: frozenset(rng.choice(raw[0][v], rng.integers(1, raw[0][v] + 1), replace=False).tolist()) for v in boxed}
    for target in set(range(4)) - set(boxed):
        np.testing.assert_allclose(prior(target, box), slow_prior(table, 12.0, target, box, first_entry), atol=1e-9)


@pytest.mark.parametrize("cpd", ["tree", "graph"])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_the_prior_network_score(cpd, zeros):
    rng = np.random.default_rng(5)
    raw = random_tables(rng, 4, max_states=3, min_states=2, zeros=zeros)
    network, table = net(*raw), joint(*raw)
    data = qw.sample(network, 300, seed=1)
    est = qw.BayesianNetwork(
        cpd=cpd, score="prior-network", prior_network=network, equivalent_sample_size=6.0, kappa=0.3
    ).fit(data)
    assert est.model_.arcs
    every = np.array(list(itertools.product(*map(range, table.shape))), np.uint16)

    def alpha(own, leaf):
        here = own.leaves(every) == leaf
        counts = [6.0 * table.ravel()[here & (every[:, own.child] == c)].sum() for c in range(table.shape[own.child])]
        return np.maximum(counts, 1e-12)

    assert est.score_ == pytest.approx(score_of(est.model_, data.states(), 0.3, alpha), abs=1e-4)
    assert all((own.probs > 0).all() for own in est.model_.cpds)


@pytest.mark.parametrize("cpd", ["table", "tree"])
def test_prior_networks_that_do_not_fit_are_refused(cpd):
    """Whatever is wrong with it, the message begins with the parameter's name."""
    data = qw.sample(qw.textbook("asia"), 100, seed=0)
    other = net([3] * 8, [[]] * 8, [np.full((1, 3), 1 / 3)] * 8)
    asia = qw.textbook("asia")
    renamed = tuple(Variable(v.name, ("nein", "ja")) for v in asia.variables)
    wrong = [
        (None, "set 'prior_network' to a Bayesian network"),
        ("asia.bif", "'prior_network' must be a Bayesian network.* Got str instead"),
        (qw.MarkovTree().fit(data), "'prior_network' must be a Bayesian network.* Got DiscreteTree instead"),
        (qw.dn_from_bn(asia), "'prior_network' must be a Bayesian network.* Got DependencyNet instead"),
        (qw.BayesianNetwork(), "'prior_network' must be a Bayesian network.* Got BayesianNetwork instead"),
        (other, "'prior_network' must have all variables of the table; it lacks 'asia', 'tub', 'smoke' and 5 more"),
        (BayesianNet(Encoder(renamed), asia.cpds), "In 'prior_network' the variable 'asia' must have the 2 states"),
    ]
    for given_network, told in wrong:
        with pytest.raises(ParameterError, match=told):
            qw.BayesianNetwork(cpd=cpd, score="prior-network", prior_network=given_network).fit(data)
    learned = qw.BayesianNetwork(search="climb").fit(data)
    est = qw.BayesianNetwork(cpd=cpd, score="prior-network", prior_network=learned).fit(data)
    assert np.isfinite(est.score_)
