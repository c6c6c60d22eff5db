"""Theorems 1-4 of Heckerman, Chickering, Meek, Rounthwaite, Kadie (2000), section 2, on networks small enough to
write the whole Gibbs sampler down as a matrix."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from infer.networks import net, random_tables
from naive import ordered_gibbs as naive
from naive.joint import joint
from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import Variable, from_codes
from quiltwork.data.encode import Encoder
from quiltwork.errors import InputError, ResourceLimitError
from quiltwork.models.dependency import DependencyNet
from quiltwork.models.markov import MarkovNet


def encoder_of(n_states):
    return Encoder(tuple(Variable(f"v{v}", tuple(f"s{s}" for s in range(r))) for v, r in enumerate(n_states)))


def dependency_net(n_states, parents, rng):
    """Any positive tables: a network that is inconsistent as a rule."""
    cpds = []
    for v, own in enumerate(parents):
        n_configs = int(np.prod([n_states[u] for u in own], dtype=int))
        cpds.append(
            TableCPD(v, tuple(sorted(own)), rng.dirichlet(np.ones(n_states[v]), n_configs) * 0.9 + 0.1 / n_states[v])
        )
    return DependencyNet(encoder_of(n_states), tuple(cpds), np.zeros(sum(n_states)))


def chain(model, order):
    """The transition of one sweep of the ordered Gibbs sampler, by what the model says about every joint state."""
    n_states = [v.n_states for v in model.variables]
    rows = list(itertools.product(*map(range, n_states)))
    every = from_codes(model.variables, list(np.array(rows, np.uint16).T))
    out = np.eye(len(rows))
    for v in order:
        table = dict(zip(rows, qw.predict_proba(model, every, f"v{v}").tolist(), strict=True))
        out = out @ naive.local_transition(table.__getitem__, n_states, v)
    return out


@st.composite
def positive_networks(draw):
    """(Bayesian network, its joint table): up to four variables, every probability above zero."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    raw = random_tables(
        rng, draw(st.integers(2, 4)), max_states=3, min_states=2, density=draw(st.sampled_from((0.4, 0.8)))
    )
    return net(*raw), joint(*raw)


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_theorem_1_the_ordered_gibbs_sampler_has_one_stationary_distribution(seed):
    rng = np.random.default_rng(seed)
    n_states = rng.integers(2, 4, 3).tolist()
    parents = [[u for u in range(3) if u != v and rng.random() < 0.7] for v in range(3)]
    transition = chain(dependency_net(n_states, parents, rng), range(3))
    assert (transition > 0).all()
    found, second = naive.stationary(transition)
    assert second < 1 - 1e-9
    np.testing.assert_allclose(found @ transition, found, atol=1e-12)
    np.testing.assert_allclose(np.linalg.matrix_power(transition, 2000), np.tile(found, (len(found), 1)), atol=1e-9)


def test_the_sampler_draws_from_the_stationary_distribution():
    """Four standard errors on each of two queries: a false alarm once in about 4,000 seeds, and the seed is fixed."""
    model = dependency_net([2, 3, 2], [[1, 2], [0], [0, 1]], np.random.default_rng(3))
    found, _ = naive.stationary(chain(model, range(3)))
    expected = found.reshape(2, 3, 2)
    answer = qw.query(model, ["v0", "v1", "v2"], n_samples=200_000, seed=0)
    assert answer.method == "gibbs" and answer.converged
    assert np.abs(answer.probabilities - expected).max() < 4 * answer.error
    rows = qw.sample(model, 20_000, seed=0)
    drawn = np.zeros((2, 3, 2))
    np.add.at(drawn, tuple(rows.column(v) for v in range(3)), 1 / 20_000)
    assert np.abs(drawn - expected).max() < 0.02


@settings(max_examples=20)
@given(positive_networks(), st.randoms(use_true_random=False))
def test_theorem_2_the_stationary_distribution_of_a_consistent_network_is_the_joint(pair, random):
    network, expected = pair
    model = qw.dn_from_bn(network)
    order = list(range(expected.ndim))
    random.shuffle(order)
    found, _ = naive.stationary(chain(model, order))
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-10)


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_theorem_3_every_markov_network_is_a_consistent_dependency_network(seed):
    """Random potentials on the edges and triangles of a random graph; parents are neighbours."""
    rng = np.random.default_rng(seed)
    edges = [(u, v) for u, v in itertools.combinations(range(4), 2) if rng.random() < 0.6]
    scopes = edges + [t for t in itertools.combinations(range(4), 3) if set(itertools.combinations(t, 2)) <= set(edges)]
    scopes += [(v,) for v in range(4)]
    markov = MarkovNet(
        encoder_of([2] * 4), np.cumsum([0, *map(len, scopes)]), np.array([v for s in scopes for v in s], np.int64),
        np.ones(sum(map(len, scopes)), np.int64), rng.normal(size=len(scopes)), np.zeros(8),
    )  # fmt: skip
    rows = np.array(list(itertools.product((0, 1), repeat=4)))
    table = np.exp([sum(w for s, w in zip(scopes, markov.weights) if row[list(s)].all()) for row in rows])
    table = (table / table.sum()).reshape([2] * 4)
    around = [sorted({u for e in edges if v in e for u in e} - {v}) for v in range(4)]
    cpds = []
    for v, own in enumerate(around):
        together = table.sum(axis=tuple(u for u in range(4) if u not in (*own, v)))
        axes = sorted((*own, v))
        together = np.moveaxis(together, axes.index(v), -1).reshape(-1, 2)
        cpds.append(TableCPD(v, tuple(own), together / together.sum(axis=1, keepdims=True)))
    model = DependencyNet(encoder_of([2] * 4), tuple(cpds), np.zeros(8))
    assert set(model.arcs) == {arc for u, v in markov.edges for arc in ((u, v), (v, u))}
    found, _ = naive.stationary(chain(model, range(4)))
    np.testing.assert_allclose(found, table.ravel(), atol=1e-10)
    every = from_codes(model.variables, list(rows.T.astype(np.uint16)))
    np.testing.assert_allclose(qw.log_conditionals(model, every), qw.log_conditionals(markov, every), atol=1e-9)


@settings(max_examples=20)
@given(positive_networks())
def test_theorem_3_every_consistent_dependency_network_is_a_markov_network(pair):
    """Its distribution factors over the cliques of the graph with the same adjacencies."""
    network, table = pair
    near = {frozenset(arc) for arc in qw.dn_from_bn(network).arcs}
    for scope, size in naive.interactions(table).items():
        is_clique = all(frozenset((f"v{u}", f"v{v}")) in near for u, v in itertools.combinations(scope, 2))
        assert is_clique or size < 1e-9


@settings(max_examples=30)
@given(positive_networks(), st.booleans())
def test_theorem_4_a_minimal_consistent_network_is_bidirectional(pair, with_an_idle_arc):
    network, table = pair
    if with_an_idle_arc:  # the last family forgets its first parent: the blanket is then larger than it needs to be
        table = forgetful(network)
    parents = naive.neighbours(table)
    assert all(v in parents[u] for v, own in enumerate(parents) for u in own)
    n_states = list(table.shape)
    cpds = []
    for v, own in enumerate(parents):
        conditional = np.moveaxis(table / table.sum(axis=v, keepdims=True), v, -1)
        others = [u for u in range(table.ndim) if u != v]
        cells = tuple(slice(None) if u in own else 0 for u in others)  # the others make no difference
        cpds.append(TableCPD(v, tuple(sorted(own)), conditional[cells].reshape(-1, n_states[v])))
    minimal = DependencyNet(encoder_of(n_states), tuple(cpds), np.zeros(sum(n_states)))
    found, _ = naive.stationary(chain(minimal, range(table.ndim)))
    np.testing.assert_allclose(found, table.ravel(), atol=1e-10)
    blankets = qw.dn_from_bn(network)
    assert set(minimal.arcs) <= set(blankets.arcs)
    assert {(v, u) for u, v in blankets.arcs} == set(blankets.arcs)


def forgetful(network):
    """The joint of the network after one of its tables is made not to depend on its first parent."""
    child = max(range(len(network.cpds)), key=lambda v: len(network.cpds[v].parents))
    n_states, parents = [v.n_states for v in network.variables], [cpd.parents for cpd in network.cpds]
    probs = [cpd.probs for cpd in network.cpds]
    if parents[child]:
        r = n_states[parents[child][0]]
        probs[child] = np.tile(probs[child][: len(probs[child]) // r], (r, 1))
    return joint(n_states, parents, probs)


@pytest.mark.parametrize("x_first", [True, False])
def test_an_inconsistent_network_depends_on_the_order_of_visiting(x_first):
    """X hangs on Y, and Y on nothing. Drawn x and then y, the two are independent; drawn y and then x, they are not."""
    x, y = (0, 1) if x_first else (1, 0)
    cpds = {x: TableCPD(x, (y,), np.array([[0.9, 0.1], [0.2, 0.8]])), y: TableCPD(y, (), np.array([[0.6, 0.4]]))}
    model = DependencyNet(encoder_of([2, 2]), (cpds[0], cpds[1]), np.zeros(4))
    found, _ = naive.stationary(chain(model, range(2)))
    table = found.reshape(2, 2) if x_first else found.reshape(2, 2).T  # [x, y]
    p_y = np.array([0.6, 0.4])
    p_x = p_y @ np.array([[0.9, 0.1], [0.2, 0.8]])
    dependent = np.array([[0.9, 0.1], [0.2, 0.8]]).T * p_y
    np.testing.assert_allclose(table, np.outer(p_x, p_y) if x_first else dependent, atol=1e-12)
    answer = qw.query(model, [f"v{x}", f"v{y}"], n_samples=100_000, seed=1)
    assert np.abs(answer.probabilities - table).max() < 4 * answer.error


# The conversion


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_every_conditional_is_that_of_the_network(seed):
    """Zeros too, and rows with missing values."""
    rng = np.random.default_rng(seed)
    network = net(*random_tables(rng, 5, zeros=0.2 * (seed % 2)))
    model = qw.dn_from_bn(network)
    rows = qw.sample(network, 30, seed=0)
    np.testing.assert_allclose(qw.log_conditionals(model, rows), qw.log_conditionals(network, rows), atol=1e-9)
    codes = rows.states()
    codes[rng.random(codes.shape) < 0.3] = np.iinfo(np.uint16).max
    gaps = from_codes(network.variables, list(codes.T))
    for v, cpd in enumerate(model.cpds):
        np.testing.assert_allclose(cpd.weights.sum(), 1.0)
        whole = (codes[:, [u for u in range(5) if u not in (*cpd.parents, v)]] == np.iinfo(np.uint16).max).all(axis=1)
        picked = gaps.rows(np.flatnonzero(whole))  # no value outside the blanket is known, so none can tell more
        found, expected = (qw.predict_proba(m, picked, f"v{v}") for m in (model, network))
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_network_of_trees_is_converted(tmp_path):
    est = qw.BayesianNetwork(cpd="tree").fit(qw.sample(qw.textbook("asia"), 3000, seed=0))
    model = qw.dn_from_bn(est)
    rows = qw.sample(qw.textbook("asia"), 50, seed=1)
    np.testing.assert_allclose(qw.log_conditionals(model, rows), qw.log_conditionals(est, rows), atol=1e-9)
    qw.save(model, tmp_path / "m.qw")
    assert qw.load(tmp_path / "m.qw").arcs == model.arcs


def test_tables_that_would_be_too_large_are_refused_with_their_size():
    n = 2000
    star = net([2] * n, [[], *([0] for _ in range(n - 1))], [np.full((1, 2), 0.5), *[np.full((2, 2), 0.5)] * (n - 1)])
    with pytest.raises(ResourceLimitError, match="'v0' and its blanket of 1999 variables.*hrf_from_bn"):
        qw.dn_from_bn(star)
    with pytest.raises(ResourceLimitError, match="the limit is 10"):
        qw.dn_from_bn(qw.textbook("asia"), max_entries=10)
    with pytest.raises(InputError, match="needs a Bayesian network, as BayesianNetwork learns. Got DependencyNet"):
        qw.dn_from_bn(qw.dn_from_bn(qw.textbook("asia")))


def test_the_field_of_a_network_takes_an_estimator_too():
    est = qw.BayesianNetwork(cpd="tree").fit(qw.sample(qw.textbook("asia"), 500, seed=0))
    assert qw.hrf_from_bn(est).arcs == qw.hrf_from_bn(est.model_).arcs
    with pytest.raises(InputError, match="hrf_from_bn needs a Bayesian network. Got BayesianNetwork instead"):
        qw.hrf_from_bn(qw.BayesianNetwork())


def test_the_way_out_is_one_that_is_open():
    """A tree over 40 variables is no table, so a hybrid field is no way out."""
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(4000, 40))
    X = np.column_stack([X, X.sum(axis=1) > 20])
    wide = qw.BayesianNetwork(cpd="tree", kappa=1.0, search="fixed", start=[(f"x{k}", "x40") for k in range(40)]).fit(X)
    with pytest.raises(ResourceLimitError, match="too wide to be tables: learn the network with max_parents"):
        qw.dn_from_bn(wide)
    with pytest.raises(ResourceLimitError, match="max_parents"):
        qw.hrf_from_bn(wide)
