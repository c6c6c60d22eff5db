import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from infer.networks import small_networks
from naive import local_climb
from quiltwork.cpds.table import TableCPD
from quiltwork.errors import ParameterError
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.hybrid import HybridField, hrf_from_bn
from tables import dataset, random_table


def frame(seed=0, n_samples=300, n_states=(2, 3, 2, 2, 4, 2)):
    return {f"v{k}": c.astype(int) for k, c in enumerate(random_table(seed, n_samples, list(n_states)))}


# Markov Blanket Merging


def merge_by_the_book(columns, n_states, k, k_star):
    """Algorithm 2 with the slow twin's climbs; returns the networks {v: {node: parents}}."""
    from quiltwork.stats.families import Arrays
    from quiltwork.stats.relatives import chi_square_relatives

    rows, n, spread = list(zip(*(c.tolist() for c in columns))), len(n_states), max(n_states)
    run = lambda task, m: [task(i) for i in range(m)]
    relatives = chi_square_relatives(Arrays.of(dataset(columns, n_states)), k, run)
    learn = lambda v, around: local_climb.climb(rows, n_states, [v, *sorted(around)], spread)
    likelihood = lambda v, net: local_climb.log_conditional(rows, n_states, net, v, spread)
    nets = {v: learn(v, [u for u in relatives[v] if u >= 0]) for v in range(n)}
    while True:
        unions = {v: set().union(*(local_climb.blanket(nets[j], v) for j in range(n))) for v in range(n)}
        new = {}
        for v in range(n):
            if not 0 < len(unions[v]) <= k_star:
                continue
            candidate = learn(v, unions[v])
            around = local_climb.blanket(candidate, v)
            if likelihood(v, candidate) > likelihood(v, nets[v]) + 1e-9 and around != set(nets[v]) - {v}:
                kept = {v, *around}
                new[v] = {node: candidate[node] & kept for node in kept}
        if not new:
            return nets
        nets |= new


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([[2] * 7, [2, 3, 2, 3, 2, 2]]), st.sampled_from([(2, 4), (3, 3), (1, 5)]))
def test_merging_equals_algorithm_two(seed, n_states, ks):
    columns = random_table(seed, 60, n_states)
    model = qw.learn("hrf", dataset(columns, n_states), k=ks[0], k_star=ks[1])
    twin = merge_by_the_book(columns, n_states, *ks)
    for v in range(len(n_states)):
        network = model.network(f"v{v}")
        names = {variable.name: k for k, variable in enumerate(network.variables)}
        assert set(names) == {f"v{u}" for u in twin[v]}
        for u, parents in twin[v].items():
            own = network.cpds[names[f"v{u}"]]
            assert {network.variables[p].name for p in own.parents} == {f"v{p}" for p in parents}


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(4, 14))
def test_the_pseudo_likelihood_never_falls(seed, n_vars):
    columns = random_table(seed, 100, [2] * n_vars)
    est = qw.HybridRandomField(k=2, k_star=5).fit(dataset(columns, [2] * n_vars))
    history = est.pseudo_log_likelihoods_
    assert all(b > a for a, b in itertools.pairwise(history))
    rows = dataset(columns, [2] * n_vars)
    assert qw.pseudo_log_likelihood(est, rows).sum() == pytest.approx(history[-1], rel=1e-9)


def test_blankets_of_a_known_network_come_back():
    asia = qw.textbook("asia")
    model = qw.learn("hrf", qw.sample(asia, 50_000, seed=0), k=7, k_star=7)
    for name in ("xray", "dysp", "smoke", "asia"):
        assert set(qw.blanket(model, name)) == set(qw.blanket(asia, name))


def test_the_same_bytes_for_any_threads_and_any_order_of_rows(tmp_path):
    X = np.random.default_rng(0).random((300, 400)) < 0.1
    X[:, 1::2] |= X[:, ::2] & (np.random.default_rng(1).random((300, 200)) < 0.7)
    digests = set()
    for rows in (X, X[np.random.default_rng(2).permutation(300)]):
        for jobs in (1, 2):
            qw.save(qw.learn("hrf", rows, n_jobs=jobs), tmp_path / "m.qw")
            digests.add((tmp_path / "m.qw").read_bytes())
    assert len(digests) == 1


def test_saving_keeps_every_answer(tmp_path):
    X = frame()
    model = qw.learn("hrf", X, k=3, k_star=4)
    qw.save(model, tmp_path / "m.qw")
    again = qw.load(tmp_path / "m.qw")
    np.testing.assert_array_equal(qw.log_conditionals(model, X), qw.log_conditionals(again, X))
    assert again.arcs == model.arcs and again.provenance == model.provenance


# The theorems


@given(small_networks(), st.integers(0, 99))
def test_a_network_and_its_field_have_the_same_conditionals(drawn, seed):
    net = drawn[0]
    rows = qw.sample(net, 20, seed=seed)
    np.testing.assert_allclose(qw.log_conditionals(hrf_from_bn(net), rows), qw.log_conditionals(net, rows), atol=1e-12)


def test_theorem_one_the_product_of_a_field_can_be_the_joint_of_a_network():
    """With MB_i = parents of X_i in every local network, the pseudo-likelihood is the joint of the network."""
    net = qw.textbook("sprinkler")
    families = [(v, cpd.parents, cpd.probs) for v, cpd in enumerate(net.cpds)]
    field = field_of(net.encoder, families)
    rows = qw.sample(net, 200, seed=0)
    np.testing.assert_allclose(qw.pseudo_log_likelihood(field, rows), qw.log_likelihood(net, rows), atol=1e-12)


def test_theorem_two_a_cycle_of_four_that_no_network_can_express():
    """a - b - c - d - a: a and c separated by {b, d}, and b and d by {a, c}; a Bayesian network has one of the two."""
    encoder = qw.Encoder(tuple(qw.Variable(name, (0, 1)) for name in "abcd"))
    rng = np.random.default_rng(0)
    families = []
    for v, around in ((0, (1, 3)), (1, (0, 2)), (2, (1, 3)), (3, (0, 2))):
        p = rng.uniform(0.1, 0.9, 4)
        families.append((v, around, np.column_stack([1 - p, p])))
    field = field_of(encoder, families)
    assert qw.blanket(field, "a") == ["b", "d"] == qw.blanket(field, "c")
    assert qw.blanket(field, "b") == ["a", "c"] == qw.blanket(field, "d")
    grid = np.array(list(itertools.product((0, 1), repeat=4)))
    a = qw.predict_proba(field, grid, "a")[:, 1].reshape(2, 2, 2, 2)
    assert np.ptp(a, axis=2).max() == 0 and np.ptp(a, axis=1).max() > 0  # c says nothing given b and d; b does
    b = qw.predict_proba(field, grid, "b")[:, 1].reshape(2, 2, 2, 2)
    assert np.ptp(b, axis=3).max() == 0 and np.ptp(b, axis=0).max() > 0


def field_of(encoder, families):
    """A field whose local networks are v with its parents: families (v, parents, probs)."""
    child, parents, tables, sizes = [], [], [], []
    for v, own, probs in families:
        sizes.append(1 + len(own))
        child += [v, *own]
        parents += [tuple(own)] + [()] * len(own)
        tables += [np.ravel(probs)] + [
            np.full(encoder.variables[p].n_states, 1 / encoder.variables[p].n_states) for p in own
        ]
    starts = lambda lengths: np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n_all = sum(v.n_states for v in encoder.variables)
    return HybridField(
        encoder, starts(sizes), np.array(child), starts([len(p) for p in parents]),
        np.array([p for own in parents for p in own], np.int64), starts([len(t) for t in tables]),
        np.concatenate(tables), np.zeros(n_all),
    )  # fmt: skip


# Doors and bad input


def test_missing_values_are_summed_out_in_the_local_network():
    X = frame(n_samples=500)
    model = qw.learn("hrf", X, k=3, k_star=4)
    rows = {name: column[:10].astype(float) for name, column in X.items()}
    rows["v1"][:] = np.nan
    network = model.network("v0")
    inside = {name: rows[name] for name in (v.name for v in network.variables)}
    np.testing.assert_allclose(qw.predict_proba(model, rows, "v0"), qw.predict_proba(network, inside, "v0"), atol=1e-12)


def test_a_field_has_no_joint_and_says_so():
    model = qw.learn("hrf", frame(), k=2, k_star=3)
    with pytest.raises(qw.errors.IntractableError, match="HybridField"):
        qw.log_likelihood(model, frame())
    with pytest.raises(qw.errors.IntractableError, match="exact"):
        qw.query(model, ["v0"], method="exact")


def test_k_and_k_star_by_cross_validation():
    from sklearn.model_selection import GridSearchCV

    X = np.column_stack(random_table(0, 120, [2] * 8))
    search = GridSearchCV(qw.HybridRandomField(), {"k": [1, 3], "k_star": [4]}, cv=3).fit(X)
    assert search.best_params_["k"] in (1, 3) and search.best_score_ < 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"k": 0}, "'k' parameter .* an integer from 1"), ({"k": 5, "k_star": 3}, "'k_star' .* at least k = 5. Got 3")],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ParameterError, match=message):
        qw.HybridRandomField(**parameters).fit(frame())


def test_more_relatives_than_variables_constant_and_duplicate_columns_and_one_column():
    X = frame(n_samples=100)
    model = qw.learn("hrf", {**X, "same": np.ones(100, int), "twin": X["v0"]})
    assert qw.blanket(model, "same") == [] and "twin" in qw.blanket(model, "v0")
    assert "same" not in {u for arc in model.arcs for u in arc}
    assert qw.learn("hrf", {"a": [0, 1, 0]}).arcs == []
    assert qw.learn("hrf", {"a": [0], "b": [1]}).arcs == []


def test_a_local_network_is_a_bayesian_network():
    model = qw.learn("hrf", frame(), k=3, k_star=4)
    network = model.network("v2")
    assert isinstance(network, BayesianNet) and all(isinstance(cpd, TableCPD) for cpd in network.cpds)
    assert {v.name for v in network.variables} == {"v2", *model.relatives("v2")}


# Averaged fields


def test_an_averaged_field_averages_probabilities():
    X = frame(n_samples=200)
    model = qw.learn("hrf", X, k=2, k_star=3, n_models=3)
    mean = np.mean([qw.predict_proba(one, X, "v1") for one in model.fields], axis=0)
    np.testing.assert_allclose(qw.predict_proba(model, X, "v1"), mean, atol=1e-12)
    conditionals = np.mean([np.exp(qw.log_conditionals(one, X)) for one in model.fields], axis=0)
    np.testing.assert_allclose(np.exp(qw.log_conditionals(model, X)), conditionals, atol=1e-12)


def test_averaged_fields_predict_better_than_one_and_travel_as_one_file(tmp_path):
    rng = np.random.default_rng(0)
    taste = rng.random((400, 5)) < 0.3
    X = (rng.random((400, 40)) < np.where(np.repeat(taste, 8, axis=1), 0.5, 0.05)).astype(int)
    one, many = (qw.learn("hrf", X[:200], n_models=n, k=4, k_star=5) for n in (1, 12))
    assert qw.pseudo_log_likelihood(many, X[200:]).mean() > qw.pseudo_log_likelihood(one, X[200:]).mean()
    qw.save(many, tmp_path / "m.qw")
    again = qw.load(tmp_path / "m.qw")
    np.testing.assert_array_equal(qw.item_scores(again, X), qw.item_scores(many, X))
    assert qw.recommend(again, ["x0", "x1"], n=3) == qw.recommend(many, ["x0", "x1"], n=3)


def test_the_fields_do_not_depend_on_the_threads(tmp_path):
    X = frame(n_samples=200)
    files = []
    for jobs in (1, 3):
        qw.save(qw.learn("hrf", X, n_models=3, k=2, k_star=3, n_jobs=jobs), tmp_path / "m.qw")
        files.append((tmp_path / "m.qw").read_bytes())
    assert files[0] == files[1]
