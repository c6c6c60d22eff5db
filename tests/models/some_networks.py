"""Networks to test with, random and planted."""

import numpy as np
from hypothesis import strategies as st

from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.models.bayesian import BayesianNet


def network(variables, parents, seed=0, provenance=None, **policies):
    """Random tables for a given graph."""
    rng = np.random.default_rng(seed)
    cpds = []
    for v, own in enumerate(parents):
        n_configs = int(np.prod([variables[p].n_states for p in own], dtype=int))
        probs = rng.dirichlet(np.ones(variables[v].n_states), n_configs)
        cpds.append(TableCPD(v, tuple(sorted(own)), probs))
    return BayesianNet(Encoder(tuple(variables), **policies), tuple(cpds), provenance or {})


def binary_network(n_vars, seed=0):
    """A large sparse network."""
    rng = np.random.default_rng(seed)
    variables = [Variable(f"v{v}", ("no", "yes")) for v in range(n_vars)]
    return network(variables, [set(rng.integers(0, v, 2).tolist()) if v else () for v in range(n_vars)], seed)


@st.composite
def networks(draw, names=None, states=None):
    """Up to five variables with up to three parents each, in any order of columns."""
    names = names if names is not None else st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    states = states if states is not None else names
    labels = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    variables = [Variable(n, tuple(draw(st.lists(states, min_size=1, max_size=4, unique=True)))) for n in labels]
    order = draw(st.permutations(range(len(labels))))
    parents = [()] * len(labels)
    for i, v in enumerate(order):
        parents[v] = draw(st.sets(st.sampled_from(order[:i]), max_size=3)) if i else ()
    return network(variables, parents, draw(st.integers(0, 9999)))


def assert_equal(one, other):
    """Bit for bit the same network, by column."""
    assert [v.name for v in one.variables] == [v.name for v in other.variables]
    for a, b in zip(one.variables, other.variables, strict=True):
        assert [(type(s), s) for s in a.states] == [(type(s), s) for s in b.states]
    for a, b in zip(one.cpds, other.cpds, strict=True):
        assert (a.child, a.parents, a.probs.shape) == (b.child, b.parents, b.probs.shape)
        assert a.probs.tobytes() == b.probs.tobytes()
    assert (one.encoder.missing, one.encoder.unseen) == (other.encoder.missing, other.encoder.unseen)
