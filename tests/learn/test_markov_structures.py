"""Every structure of Markov networks: planted answers, contracts, and what each is told by its parameters."""

import numpy as np
import pytest

import quiltwork as qw
from learn.test_markov import planted as ring
from naive import log_linear
from quiltwork.errors import ConvergenceWarning, DataError, ParameterError, ResourceLimitError, SchemaMismatchError
from quiltwork.learn.markov import _better_start
from quiltwork.search.weights import Penalty

STRUCTURES = ["dtsl", "l1", "dtsl+l1", "chi2", "bottom-up", "top-down", "independent"]
QUICK = {"tol": 1e-6, "edge_penalty": 3.0}


def all_on(n=4000, seed=0):
    """e is on where c and d both are; a and b are alike; f is alone, with three states."""
    rng = np.random.default_rng(seed)
    a, c, d = rng.integers(0, 2, (3, n))
    b = np.where(rng.random(n) < 0.9, a, 1 - a)
    e = np.where(c & d, rng.random(n) < 0.95, rng.random(n) < 0.05).astype(int)
    return {"a": a, "b": b, "c": c, "d": d, "e": e, "f": rng.integers(0, 3, n)}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_each_structure_predicts_better_than_none(structure, tmp_path):
    train, test = all_on(), all_on(seed=1)
    est = qw.MarkovNetwork(structure=structure, **QUICK).fit(train)
    model = est.model_
    score = est.score(test)
    independent = qw.MarkovNetwork(structure="independent", **QUICK).fit(train).score(test)
    assert score == pytest.approx(independent) if structure == "independent" else score > independent + 0.5
    assert est.converged_ and est.structure_seconds_ > 0 and est.weight_seconds_ > 0
    assert est.pseudo_log_likelihood_ == pytest.approx(4000 * est.score(train))
    features = [frozenset(said.items()) for said, _ in model.features]
    assert len(set(features)) == len(features)
    qw.save(model, tmp_path / "m.qw")
    assert qw.load(tmp_path / "m.qw").features == model.features
    assert model.provenance["parameters"]["structure"] == structure


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_same_bytes_for_any_threads_and_any_order_of_rows(structure, tmp_path):
    columns = [column.tolist() for column in all_on(400).values()]
    mixed = np.random.default_rng(2).permutation(400)
    digests = set()
    for rows in (columns, [np.array(column)[mixed] for column in columns]):
        for jobs in (1, 2):
            table = {f"v{v}": np.array(column) for v, column in enumerate(rows)}
            qw.save(qw.learn("mn", table, structure=structure, n_jobs=jobs, **QUICK), tmp_path / "m.qw")
            digests.add((tmp_path / "m.qw").read_bytes())
    assert len(digests) == 1


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (5, 1), (2, 2)])
def test_tables_of_one_row_or_one_column(structure, shape):
    X = np.arange(np.prod(shape)).reshape(shape) % 2
    est = qw.MarkovNetwork(structure=structure, k=99).fit(X)
    assert np.isfinite(est.score(X))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_constant_and_duplicate_columns(structure):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 300)
    X = np.column_stack([a, a, np.zeros(300, int), rng.integers(0, 2, 300)])
    model = qw.learn("mn", X, structure=structure, k=2, **QUICK)
    assert qw.predict_proba(model, X[:1], "x2")[0, 0] > 0.97
    assert (("x0", "x1") in model.edges) == (structure != "independent")


@pytest.mark.parametrize(
    "learner",
    [*(qw.MarkovNetwork(structure=s, edge_penalty=2.0) for s in STRUCTURES), qw.DependencyNetwork(cpd="logistic")],
    ids=[*STRUCTURES, "logistic"],
)
def test_rows_of_weight_zero_do_not_matter(learner):
    """Not even for what is a state: theirs occur nowhere else, or are missing."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, 300), rng.integers(0, 3, 300)
    table = {"a": a, "b": b, "c": (a + (rng.random(300) < 0.1)) % 2}
    weights = rng.integers(0, 3, 300).astype(float)
    odd = {"a": [x if w else None for x, w in zip(a.tolist(), weights)], "b": np.where(weights, b, 7), "c": table["c"]}
    kept = rows_of(table, weights > 0)
    alone = learner.fit(kept, sample_weight=weights[weights > 0]).model_
    found = learner.fit(odd, sample_weight=weights).model_
    assert [v.states for v in found.variables] == [(0, 1), (0, 1, 2), (0, 1)]
    assert np.array_equal(qw.log_conditionals(found, kept), qw.log_conditionals(alone, kept))
    assert np.isfinite(qw.log_conditionals(found, kept)).all()


def test_only_trees_see_that_it_takes_two():
    """Pairwise features cannot say it: with them the rows are less likely."""
    train, test = all_on(), all_on(seed=1)
    scores = {s: qw.MarkovNetwork(structure=s, **QUICK).fit(train).score(test) for s in ("dtsl", "l1", "dtsl+l1")}
    assert scores["dtsl"] > scores["l1"] + 0.02
    assert scores["dtsl+l1"] > scores["l1"] + 0.02


@pytest.mark.parametrize("features", ["default", "prune", "prune-10", "prune-5", "nonzero"])
def test_feature_generators(features):
    est = qw.MarkovNetwork(structure="dtsl", features=features, **QUICK).fit(all_on())
    said = [set(f) for f, _ in est.model_.features]
    assert {"c", "d", "e"} in said
    if features == "nonzero":
        assert all(0 not in f.values() for f, _ in est.model_.features)
    if features.startswith("prune"):
        assert {"e"} in said


def test_features_of_what_is_not_zero():
    """Zero is not the first state where states are negative, and the states of a stream are those of a table."""
    rng = np.random.default_rng(0)
    change = rng.integers(-1, 2, 2000)
    table = {"change": change, "told": np.where(rng.random(2000) < 0.9, change, -change)}
    est = qw.MarkovNetwork(structure="dtsl", features="nonzero").fit(table)
    streamed = qw.MarkovNetwork(structure="dtsl", features="nonzero", delta=0.1, tie=1.0).partial_fit(table)
    for model in (est.model_, streamed.model_):
        said = [f for f, _ in model.features]
        assert {"change": -1, "told": -1} in said and {"change": 1, "told": 1} in said
        assert all(0 not in f.values() for f in said)


def test_a_dearer_parameter_means_fewer_features():
    counts = [len(qw.learn("mn", all_on(), structure="dtsl", kappa=kappa).weights) for kappa in (1.0, 0.01, 1e-300)]
    assert counts[0] > counts[1] > counts[2]


@pytest.mark.parametrize("structure, usual", [("dtsl", 0.01), ("bottom-up", 1e-4), ("top-down", 1e-4)])
def test_kappa_is_stricter_where_features_are_chosen_from_more(structure, usual):
    table = qw.sample(qw.textbook("asia"), 1000, seed=0)
    found = {kappa: qw.learn("mn", table, structure=structure, kappa=kappa).features for kappa in (None, usual, 1.0)}
    assert found[None] == found[usual] and len(found[None]) < len(found[1.0])


@pytest.mark.parametrize("limit, told", [(30, "or use structure='dtsl'"), (120, "lower kappa")])
def test_more_candidates_than_can_be_held_are_refused(limit, told, monkeypatch):
    """With kappa=1 a feature costs nothing, and one after another is added."""
    monkeypatch.setattr("quiltwork.search.features.MAX_FEATURES", limit)
    rows = np.random.default_rng(0).integers(0, 2, (100, 12))
    with pytest.raises(ResourceLimitError, match=f"past the limit of {limit}: .*{told}"):
        qw.MarkovNetwork(structure="top-down", kappa=1.0).fit(rows)


def test_rules_for_edges():
    table = all_on(300)
    either, both = (
        set(qw.learn("mn", table, structure="l1", rule=rule, edge_penalty=6.0).edges) for rule in ("or", "and")
    )
    assert both <= either and ("a", "b") in both
    assert not qw.learn("mn", table, structure="l1", edge_penalty=1e6).edges


# Weights


def test_exact_likelihood_gives_back_a_planted_network():
    couplings, table, data = ring(100_000)
    est = qw.MarkovNetwork(k=2, objective="exact", prior_width=None).fit(data)
    features = [[(int(name[1:]), state) for name, state in said.items()] for said, _ in est.model_.features]
    found = log_linear.joint([2] * 5, features, est.model_.weights)
    assert np.abs(found - table).max() < 0.003
    pseudo = qw.MarkovNetwork(k=2, prior_width=None).fit(data)
    assert est.pseudo_log_likelihood_ <= pseudo.pseudo_log_likelihood_ + 1e-6


def test_exact_likelihood_of_too_many_variables_is_refused():
    X = np.random.default_rng(0).integers(0, 2, (20, 40))
    with pytest.raises(ResourceLimitError, match="joint states, past the limit"):
        qw.learn("mn", X, objective="exact")


def test_exact_likelihood_takes_no_batches():
    with pytest.raises(ParameterError, match="'batch' parameter of MarkovNetwork must be None with objective='exact'"):
        qw.learn("mn", np.eye(3, dtype=int), objective="exact", batch=2)


def test_a_lasso_leaves_few_weights():
    _, _, data = ring(2000)
    models = [qw.learn("mn", data, k=4, lasso=lasso) for lasso in (0.0, 20.0, 1e5)]
    counts = [sum(len(f) > 1 for f, _ in model.features) for model in models]
    assert counts[0] > counts[1] > counts[2] == 0 and models[2].edges == []
    assert all(model.weights.all() for model in models)


def test_one_width_for_each_length():
    table = all_on()
    model = qw.learn("mn", table, structure="dtsl+l1", prior_width=(10.0, 1.0, 1e-4), **QUICK)
    sizes = {length: [abs(w) for f, w in model.features if len(f) == length] for length in (1, 2, 3)}
    assert max(sizes[3]) < 1e-3 < max(sizes[2])
    same = qw.learn("mn", table, structure="dtsl", prior_width=(0.5, 0.5), **QUICK)
    assert same.weights == pytest.approx(qw.learn("mn", table, structure="dtsl", prior_width=0.5, **QUICK).weights)


def worth(est, table):
    """The pseudo-likelihood under a prior of width 1."""
    return qw.pseudo_log_likelihood(est, table).sum() - 0.5 * (est.model_.weights**2).sum()


@pytest.mark.parametrize("features", ["nonzero", "prune"])
@pytest.mark.parametrize("batch", [100, 1500])
def test_batches_end_where_full_sweeps_end(features, batch):
    """Long and short features over the same variables: their weights hang together, and steps batch by batch are slow
    to come to the end. To stop where an epoch is no better than the one before would be hundreds of nats too early."""
    table = all_on(3000)
    swept = qw.MarkovNetwork(structure="dtsl", features=features, kappa=0.1).fit(table)
    est = qw.MarkovNetwork(structure="dtsl", features=features, kappa=0.1, batch=batch).fit(table)
    assert est.converged_ and worth(est, table) == pytest.approx(worth(swept, table), abs=0.1)
    assert est.pseudo_log_likelihood_ == pytest.approx(qw.pseudo_log_likelihood(est, table).sum())


def test_batches_are_the_same_for_any_number_of_threads_and_say_when_they_are_cut_short():
    _, _, data = ring(2000)
    one, two = (qw.MarkovNetwork(k=2, batch=500, n_jobs=jobs).fit(data).model_.weights for jobs in (1, 2))
    assert np.array_equal(one, two)
    for max_iter in (1, 3):
        with pytest.warns(ConvergenceWarning, match=f"after {max_iter} iterations"):
            qw.MarkovNetwork(k=2, batch=500, max_iter=max_iter, tol=0.0).fit(data)


def test_a_batch_of_all_rows_is_a_full_sweep():
    _, _, data = ring(2000)
    whole, swept = (qw.MarkovNetwork(k=2, batch=batch).fit(data) for batch in (2000, None))
    assert np.array_equal(whole.model_.weights, swept.model_.weights) and whole.n_iter_ == swept.n_iter_


def test_swept_batches_are_kept_while_there_is_room(monkeypatch):
    """What is kept changes no number."""
    _, _, data = ring(2000)
    kept = qw.MarkovNetwork(k=2, batch=500).fit(data).model_.weights
    monkeypatch.setattr("quiltwork.search.batches.HELD", 0)
    assert np.array_equal(qw.MarkovNetwork(k=2, batch=500).fit(data).model_.weights, kept)


def test_the_trees_weights_are_a_better_start_than_none():
    """From the trees' own log-probabilities the first iteration is above where zero weights begin."""
    seen = []
    est = qw.MarkovNetwork(structure="dtsl", features="default", max_iter=1, tol=0.0)
    with pytest.warns(ConvergenceWarning):
        est.fit(all_on(), progress=lambda stage, done, total: seen.append(stage))
    assert "growing trees" in seen and "learning weights" in seen
    assert est.pseudo_log_likelihood_ / 4000 > -(5 * np.log(2) + np.log(3))


def test_a_start_worse_than_none_is_not_taken():
    """A parabola with its top at 1, of half of the rows; the prior pulls to 0."""
    near, far, flat = np.array([1.5]), np.array([2.5]), Penalty(np.zeros(1), np.zeros(1))
    parabola = lambda w: (-float((w - 1) @ (w - 1)) / 2, 1 - w)
    assert _better_start(parabola, 0.5, flat, near) is near
    assert _better_start(parabola, 0.5, flat, far) == [0.0]
    assert _better_start(parabola, 0.5, Penalty(np.ones(1), np.zeros(1)), near) == [0.0]


def test_weights_beyond_measure_stay_finite():
    """Copies and no prior: the likelihood has no maximum, and the search ends in finite weights."""
    a = np.random.default_rng(0).integers(0, 2, 200)
    est = qw.MarkovNetwork(structure="dtsl", prior_width=None, kappa=1.0).fit(np.column_stack([a, a, 1 - a]))
    assert np.isfinite(est.model_.weights).all() and np.isfinite(est.score(np.array([[0, 1, 0]])))


# Streams


def rows_of(table, part):
    return {name: column[part] for name, column in table.items()}


def test_a_stream_ends_at_the_batch_network():
    table = {name: column for name, column in all_on(30_000).items() if name != "f"}
    streamed = qw.MarkovNetwork(structure="dtsl", features="default", **QUICK)
    for low in range(0, 30_000, 10_000):
        assert streamed.partial_fit(rows_of(table, slice(low, low + 10_000))) is streamed
    batch = qw.MarkovNetwork(structure="dtsl", features="default", **QUICK).fit(table)
    test = {name: column for name, column in all_on(seed=1).items() if name != "f"}
    assert {frozenset(f.items()) for f, _ in streamed.model_.features} == {
        frozenset(f.items()) for f, _ in batch.model_.features
    }
    assert streamed.score(test) == pytest.approx(batch.score(test), abs=0.01)
    assert streamed.model_.provenance["rows"] == 30_000 == streamed.model_.state_counts[:2].sum()


def test_a_stream_is_the_same_however_it_is_cut_and_whatever_the_threads():
    table = all_on(3000)
    models = []
    for sizes, jobs in (([3000], 1), ([100, 900, 2000], 2)):
        est = qw.MarkovNetwork(structure="dtsl", memory=500, tie=0.3, n_jobs=jobs)
        low = 0
        for size in sizes:
            est.partial_fit(rows_of(table, slice(low, low + size)))
            low += size
        models.append(est.model_)
    assert models[0].features == models[1].features


def test_a_stream_whose_columns_change_is_refused():
    table = all_on(500)
    est = qw.MarkovNetwork(structure="dtsl").partial_fit(table)
    before = est.model_
    with pytest.raises(SchemaMismatchError, match="stream's first: it lacks 'f' and it has 'g' besides. Give"):
        est.partial_fit({**{k: v for k, v in table.items() if k != "f"}, "g": table["f"]})
    with pytest.raises(SchemaMismatchError, match="first: it has 'g' besides"):
        est.partial_fit({**table, "g": table["f"]})
    with pytest.raises(SchemaMismatchError, match="X has 2 features, but MarkovNetwork is expecting 6 .*: give all"):
        est.partial_fit(np.zeros((3, 2), int))
    assert est.model_ is before
    other_order = est.partial_fit(dict(reversed(table.items()))).model_
    assert other_order.provenance["rows"] == 1000


@pytest.mark.filterwarnings("ignore:.*never seen")
def test_new_states_and_missing_values_of_a_stream():
    est = qw.MarkovNetwork(structure="dtsl").partial_fit({"a": [0, 1, 0], "b": [0, 1, 1]})
    for cell, told in ((7, "7"), (0.5, "0.5"), ("x", "'x'"), (None, "a missing value")):
        with pytest.raises(DataError, match=f"Column 'b' .* first batch, 0, 1. Got {told} in row 1 of this one; show"):
            est.partial_fit({"b": ["0", cell] if cell == "x" else [0, cell], "a": [0, 1]})
    with pytest.raises(DataError, match="Column 'b' .* first batch, 0, 1. Got 7 in row 0"):
        est.partial_fit(np.array([[0, 7], [1, 1]]))
    assert est.model_.provenance["rows"] == 3
    patient = qw.MarkovNetwork(structure="dtsl", missing="drop").partial_fit({"a": [0, 1, 0], "b": [0, 1, 1]})
    patient.partial_fit({"a": [0, 1, None], "b": [0, 7, 0]})
    assert patient.model_.provenance["rows"] == 4


@pytest.mark.parametrize(
    "change",
    [
        {"kappa": 0.5}, {"delta": 0.1}, {"tie": 0.5}, {"grace": 3}, {"memory": 5}, {"random_state": 1},
        {"missing": "drop"}, {"unseen": "error"}, {"discretise": 3}, {"max_states": 9},
    ],
)  # fmt: skip
def test_what_the_first_batch_has_settled_cannot_be_set_anew(change):
    est = qw.MarkovNetwork(structure="dtsl").partial_fit(all_on(500)).set_params(**change)
    with pytest.raises(ParameterError, match=f"'{next(iter(change))}' parameter of MarkovNetwork must stay .*set it"):
        est.partial_fit(all_on(500))


def test_how_weights_are_learned_may_be_set_anew_between_batches():
    first, second = all_on(500), all_on(500, seed=1)
    changed = qw.MarkovNetwork(structure="dtsl").partial_fit(first)
    changed.set_params(features="default", prior_width=0.1, lasso=0.5, max_iter=50).partial_fit(second)
    always = qw.MarkovNetwork(structure="dtsl", features="default", prior_width=0.1, lasso=0.5, max_iter=50)
    assert changed.model_.features == always.partial_fit(first).partial_fit(second).model_.features
    with pytest.raises(ParameterError, match="'prior_width' parameter of MarkovNetwork must be"):
        changed.set_params(prior_width=-1.0).partial_fit(second)
    with pytest.raises(ParameterError, match="'batch' parameter of MarkovNetwork must be None"):
        changed.set_params(prior_width=1.0, lasso=0.0, objective="exact", batch=5).partial_fit(second)


def test_a_stream_whose_trees_would_not_fit_is_refused(monkeypatch):
    """Before the first tree (four columns of two states: 8 * 8 counts of 8 bytes), and as soon as they have grown."""
    table = {name: column for name, column in all_on(3000).items() if name in "abce"}
    monkeypatch.setattr("quiltwork.learn.markov_stream.physical_memory", lambda: 8 * 8 * 8 - 1)
    with pytest.raises(ResourceLimitError, match="counts of a stream's trees need .* GB: leave out rare columns"):
        qw.MarkovNetwork(structure="dtsl").partial_fit(table)
    monkeypatch.setattr("quiltwork.learn.markov_stream.physical_memory", lambda: 8 * 8 * 8 * 3)
    with pytest.raises(ResourceLimitError, match="or lower kappa or tie"):
        qw.MarkovNetwork(structure="dtsl", tie=1.0).partial_fit(table)


def test_only_trees_can_be_fed_and_fit_begins_anew():
    assert not hasattr(qw.MarkovNetwork(), "partial_fit")
    with pytest.raises(AttributeError, match="it needs structure='dtsl'. Got structure='l1'"):
        qw.MarkovNetwork(structure="l1").partial_fit([[0]])
    est = qw.MarkovNetwork(structure="dtsl").partial_fit(all_on(500))
    est.fit({"x": [0, 1, 1], "y": [0, 0, 1]})
    est.partial_fit({"x": [0, 1, 1], "y": [0, 0, 1]})
    assert est.model_.provenance["rows"] == 3


# Real data


def nltcs(folder):
    packed = np.load(folder / "debd" / "nltcs.npz")
    return [np.unpackbits(packed[part], axis=1)[:, :16] for part in ("train", "test")]


def test_nltcs(public_data):
    """Wanted: at least -4.945, the best of Libra's networks and of L1 regressions; LightGBM has -4.890."""
    train, test = nltcs(public_data)
    widths = (10.0, 1.0, 0.1)
    est = qw.MarkovNetwork(structure="dtsl+l1", features="nonzero", kappa=0.1, edge_penalty=5.0, prior_width=widths)
    assert est.fit(train).score(test) > -4.91


def test_exact_answers_on_nltcs(public_data):
    """Likelihood over all 65,536 states, CMLL on contiguous quarters; a DTSL network of Libra has -6.015 and -5.303."""
    train, test = nltcs(public_data)
    widths = (10.0, 1.0, 0.1)
    est = qw.MarkovNetwork(structure="dtsl", kappa=0.1, objective="exact", prior_width=widths, tol=1e-6).fit(train)
    features = [[(int(name[1:]), state) for name, state in said.items()] for said, _ in est.model_.features]
    energies = np.zeros([2] * 16)
    for feature, weight in zip(features, est.model_.weights):
        held = [slice(None)] * 16
        for v, s in feature:
            held[v] = s
        energies[tuple(held)] += weight
    log_z = np.logaddexp.reduce(energies.ravel())
    assert energies[tuple(test.T)].mean() - log_z > -6.015
    assert qw.log_likelihood(est, test).mean() == pytest.approx(energies[tuple(test.T)].mean() - log_z, abs=1e-9)
    quarters = [[f"x{v}" for v in range(low, low + 4)] for low in range(0, 16, 4)]
    found = qw.conditional_marginal_log_likelihood(est, test, quarters)
    assert found.method == "exact" and found.mean > -5.303
