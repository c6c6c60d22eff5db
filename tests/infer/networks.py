"""Networks for the tests of inference and ranking: random small ones, and raw tables made into models."""

import numpy as np
from hypothesis import strategies as st

from naive.joint import joint
from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import NO_CODE, Variable, from_codes
from quiltwork.data.encode import Encoder
from quiltwork.models.bayesian import BayesianNet


def net(n_states, parents, probs):
    """A model from raw tables; variable 3 is called "v3" and its states "s0", "s1", ..."""
    variables = tuple(Variable(f"v{v}", tuple(f"s{s}" for s in range(r))) for v, r in enumerate(n_states))
    cpds = tuple(TableCPD(v, tuple(own), np.asarray(p, float)) for v, (own, p) in enumerate(zip(parents, probs)))
    return BayesianNet(Encoder(variables), cpds)


def random_tables(rng, n_vars, max_states=4, min_states=1, density=0.5, zeros=0.0, max_parents=4):
    """(n_states, parents, probs) of a random network; arcs go along a random order of the variables."""
    n_states = rng.integers(min_states, max_states + 1, n_vars).tolist()
    order = rng.permutation(n_vars).tolist()
    parents = [[] for _ in range(n_vars)]
    for i, v in enumerate(order):
        chosen = [u for u in order[:i] if rng.random() < density]
        parents[v] = sorted(chosen[:max_parents])
    probs = []
    for v in range(n_vars):
        n_configs = int(np.prod([n_states[u] for u in parents[v]], dtype=int))
        table = rng.random((n_configs, n_states[v])) + 1e-3
        table[rng.random(table.shape) < zeros] = 0.0
        table[np.arange(n_configs), rng.integers(n_states[v], size=n_configs)] += 0.1  # something is always possible
        probs.append(table / table.sum(axis=1, keepdims=True))
    return n_states, parents, probs


@st.composite
def small_networks(draw, min_states=1, zeros=(0.0, 0.4)):
    """(model, full joint table, rng for what is asked)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_vars = draw(st.integers(1, 6))
    density, share = draw(st.sampled_from((0.2, 0.5, 0.8))), draw(st.sampled_from(zeros))
    raw = random_tables(rng, n_vars, min_states=min_states, density=density, zeros=share)
    return net(*raw), joint(*raw), rng


def random_rows(rng, model, n, missing=0.0):
    """Rows of states, None for a missing value."""
    return [
        [None if rng.random() < missing else int(rng.integers(variable.n_states)) for variable in model.variables]
        for _ in range(n)
    ]


def dataset(model, rows):
    """The same rows as a Dataset."""
    codes = np.array([[NO_CODE if s is None else s for s in row] for row in rows], np.uint16)
    return from_codes(model.variables, list(codes.reshape(len(rows), len(model.variables)).T))


def evidence_of(model, row):
    return {variable.name: variable.states[s] for variable, s in zip(model.variables, row) if s is not None}
