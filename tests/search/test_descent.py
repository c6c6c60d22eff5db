"""Penalised logistic regression, against scikit-learn and against proximal gradient steps."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import logistic
from quiltwork.backends.threads import Threads
from quiltwork.data.collapse import collapse
from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ConvergenceWarning, DataError, ParameterError, ResourceLimitError, SchemaMismatchError
from quiltwork.search import descent, newton
from quiltwork.search import indicators as layouts
from quiltwork.search import regression as regressions
from quiltwork.search.descent import fit_logistic
from quiltwork.search.indicators import indicators
from quiltwork.search.newton import look, solve
from quiltwork.search.regression import regression
from tables import dataset, random_table

MIXED = [2, 3, 4, 2, 2, 17, 2]
PENALTIES = [(3.0, 0.0), (0.0, 2.0), (2.0, 2.0)]


def design(columns, n_states):
    """Indicators as a dense matrix, and the variable of each."""
    pairs = [(v, s) for v, r in enumerate(n_states) for s in range(1, r)]
    return np.column_stack([columns[v] == s for v, s in pairs]).astype(float), np.array([v for v, _ in pairs])


def objective(x, y, row_weights, intercept, weights, l1, l2):
    logits = x @ weights.T + intercept
    logits = np.column_stack([np.zeros(len(y)), logits]) if len(intercept) == 1 else logits
    own = logits[np.arange(len(y)), y] - np.logaddexp.reduce(logits, axis=1)
    return -(row_weights @ own) + l1 * np.abs(weights).sum() + l2 / 2 * (weights**2).sum()


def solved(data, target, l1, l2, error=1e-8):
    x = indicators(data)
    labels, r = data.column(target).astype(np.int64), data.variables[target].n_states
    fit = regression(x, labels, 1 if r == 2 else r, x.variable != target)
    look(x, labels, fit)
    assert solve(x, labels, l1, l2, error, fit)
    return fit


def by_scikit_learn(x, y, row_weights, l1, l2):
    from sklearn.linear_model import LogisticRegression

    if l1:
        model = LogisticRegression(
            C=1 / (l1 + l2), l1_ratio=l1 / (l1 + l2), solver="saga", tol=1e-9, max_iter=20_000, random_state=0
        )
    else:
        model = LogisticRegression(C=1 / l2, solver="newton-cg", tol=1e-10, max_iter=1_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names of parameters change between versions
        return model.fit(x, y, sample_weight=row_weights)


@pytest.fixture(params=["lists", "packed"])
def layout(request, monkeypatch):
    monkeypatch.setattr(layouts, "PACKED_PAYS", np.inf if request.param == "lists" else 0.0)
    return request.param


# The optimum


# Saga does not settle on L1 alone with several classes: there the slow twin is the judge.
@pytest.mark.parametrize(
    "target, l1, l2", [(0, 3.0, 0.0), (0, 0.0, 2.0), (0, 2.0, 2.0), (2, 0.0, 2.0), (2, 2.0, 2.0), (5, 0.0, 2.0)]
)
def test_the_objective_is_that_of_scikit_learn(layout, target, l1, l2):
    columns = random_table(1, 300, MIXED)
    row_weights = np.random.default_rng(1).integers(1, 4, 300).astype(float)
    fit = solved(dataset(columns, MIXED, row_weights), target, l1, l2)
    x, variable = design(columns, MIXED)
    others, y = variable != target, columns[target].astype(int)
    peer = by_scikit_learn(x[:, others], y, row_weights, l1, l2)
    ours = objective(x, y, row_weights, fit.intercept, fit.weights, l1, l2)
    theirs = objective(x[:, others], y, row_weights, peer.intercept_, peer.coef_, l1, l2)
    assert ours == pytest.approx(theirs, rel=1e-6)
    assert fit.weights[:, others] == pytest.approx(peer.coef_, abs=2e-3)
    assert not fit.weights[:, ~others].any()


@settings(max_examples=12)
@given(
    st.integers(0, 10**6),
    st.sampled_from([[2, 2, 2, 2], [3, 2, 2], [4, 3, 2, 2], [2, 5, 18]]),
    st.sampled_from([*PENALTIES, (0.5, 0.0), (20.0, 0.0)]),
)
def test_the_objective_is_that_of_the_slow_twin(seed, n_states, penalty):
    columns = random_table(seed, 80, n_states)
    columns[0][: n_states[0]] = np.arange(n_states[0])  # every state occurs
    row_weights = np.random.default_rng(seed).integers(1, 4, 80).astype(float)
    fit = solved(dataset(columns, n_states, row_weights), 0, *penalty)
    rows = list(zip(*(c.tolist() for c in columns)))
    problem = (rows, row_weights.tolist(), n_states, 0)
    best = logistic.objective(*problem, *logistic.fit(*problem, *penalty), *penalty)
    own = fit.weights[:, indicators(dataset(columns, n_states)).variable != 0]
    assert logistic.objective(*problem, fit.intercept, own, *penalty) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("target", [0, 2])
def test_a_kernel_that_returns_after_every_step_goes_on_from_there(target, monkeypatch):
    """Ctrl-C is heard between two calls; how often there is one changes nothing."""
    data = dataset(random_table(1, 300, MIXED), MIXED)
    fits, calls = [], [0]
    go_on = newton._go_on

    def counted(*known):
        calls[0] += 1
        return go_on(*known)

    monkeypatch.setattr(newton, "_go_on", counted)
    for cells in (newton.CELLS_AT_A_TIME, 1):
        monkeypatch.setattr(newton, "CELLS_AT_A_TIME", cells)
        fits.append(solved(data, target, 2.0, 1.0))
    assert calls[0] > 10
    np.testing.assert_array_equal(fits[0].weights, fits[1].weights)
    np.testing.assert_array_equal(fits[0].intercept, fits[1].intercept)


def test_no_weight_can_be_improved(layout):
    """At the optimum a weight's gradient is minus its penalty's, and at zero no larger than l1."""
    columns = random_table(5, 400, MIXED)
    for target in range(len(MIXED)):
        fit = solved(dataset(columns, MIXED), target, 4.0, 0.0, error=1e-10)
        x, variable = design(columns, MIXED)
        logits = x @ fit.weights.T + fit.intercept
        logits = np.column_stack([np.zeros(400), logits]) if MIXED[target] == 2 else logits
        p = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
        slope = ((p - (columns[target][:, None] == np.arange(MIXED[target]))).T @ x)[-len(fit.intercept) :]
        held = fit.weights != 0
        assert slope[held] == pytest.approx(-4.0 * np.sign(fit.weights[held]), abs=2e-3)
        assert np.abs(slope[:, variable != target]).max() <= 4.0 + 0.1


def test_members_take_turns_where_the_gram_matrix_has_no_room_for_all(layout, monkeypatch):
    n_states = [2] * 30
    data = dataset(random_table(2, 500, n_states), n_states)
    whole = [solved(data, 0, l1, l2).weights for l1, l2 in PENALTIES]
    monkeypatch.setattr(regressions, "GRAM_BYTES", 8 * 9 * 9)
    parts = [solved(data, 0, l1, l2) for l1, l2 in PENALTIES]
    assert all(len(part.members) == 10 for part in parts)
    for part, weights in zip(parts, whole):
        assert part.weights == pytest.approx(weights, abs=1e-3)


def test_a_column_that_says_it_all_does_no_harm():
    """Separable, nearly constant and repeated columns."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    rare = np.zeros(200, int)
    rare[3] = 1
    columns = [y, y.copy(), y.copy(), 1 - y, np.ones(200, int), np.zeros(200, int), rare]
    fit = solved(dataset(columns, [2] * 7), 0, 0.1, 0.0)
    assert np.isfinite(fit.weights).all() and np.abs(fit.weights).max() < 50


def test_regressions_that_do_not_settle_are_told_of(monkeypatch):
    monkeypatch.setattr(descent, "solve", lambda *_: False)
    data = dataset(random_table(0, 50, [2, 2, 2]), [2, 2, 2])
    with pytest.warns(ConvergenceWarning, match="3 of 3 logistic regressions had not settled"):
        fit_logistic(data, strengths=1.0)


# Many targets


def planted(n_rows, seed):
    """Six binary columns: the last leans on the first and the second, which are coins like the others."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 2, n_rows) for _ in range(5)]
    logits = 2.0 * columns[0] - 1.5 * columns[1] - 0.5
    return dataset([*columns, (rng.random(n_rows) < 1 / (1 + np.exp(-logits))).astype(int)], [2] * 6)


@pytest.mark.parametrize("penalty", list(descent.PENALTIES))
def test_planted_weights_come_back(penalty):
    (cpd,) = fit_logistic(planted(8000, 0), planted(4000, 1), [5], penalty=penalty).cpds
    weights = dict(zip(cpd.parents, cpd.weights[cpd.first[:-1] + 1, 1]))
    assert weights.pop(0) == pytest.approx(2.0, abs=0.15) and weights.pop(1) == pytest.approx(-1.5, abs=0.15)
    assert all(abs(w) < 0.15 for w in weights.values())
    assert cpd.intercept == pytest.approx([0.0, -0.5], abs=0.15)


def test_validation_likelihoods_are_those_of_the_cpds(layout):
    train, valid = (dataset(random_table(k, 400, MIXED), MIXED) for k in (0, 1))
    fits = fit_logistic(train, valid)
    codes = valid.states()
    for v, cpd in enumerate(fits.cpds):
        assert cpd.child == v and v not in cpd.parents
        assert list(cpd.parents) == sorted(cpd.parents)
        own = cpd.log_probs(codes)[np.arange(len(codes)), codes[:, v]].mean()
        assert fits.log_likelihoods[v] == pytest.approx(own, abs=1e-9)


def test_means_are_what_parents_added_in_training():
    data = dataset(random_table(2, 300, [2, 3, 2, 4]), [2, 3, 2, 4], np.arange(300) % 3 + 1.0)
    codes = data.states()
    for cpd in fit_logistic(data, strengths=1.0).cpds:
        added = [data.weights @ cpd.weights[a + codes[:, p]] / data.total for p, a in zip(cpd.parents, cpd.first)]
        assert cpd.means == pytest.approx(np.array(added))


def test_both_layouts_give_the_same(monkeypatch):
    train, valid = (dataset(random_table(k, 300, MIXED), MIXED) for k in (3, 4))
    found = []
    for pays in (0.0, np.inf):
        monkeypatch.setattr(layouts, "PACKED_PAYS", pays)
        found.append(fit_logistic(train, valid))
    assert (found[0].strengths == found[1].strengths).all()
    assert found[0].log_likelihoods == pytest.approx(found[1].log_likelihoods, abs=1e-5)


def test_weights_stand_for_repeated_rows():
    n_states = [2, 2, 3, 2]
    data, valid = (dataset(random_table(k, 500, n_states), n_states) for k in (0, 1))
    once = collapse(data)
    assert once.n_samples < 30
    a, b = fit_logistic(data, valid), fit_logistic(once, collapse(valid))
    assert a.strengths == pytest.approx(b.strengths)
    assert a.log_likelihoods == pytest.approx(b.log_likelihoods, abs=1e-5)


def test_threads_change_nothing():
    train, valid = (dataset(random_table(k, 300, [2] * 70), [2] * 70) for k in (0, 1))
    alone = fit_logistic(train, valid)
    with Threads(3) as threads:
        together = fit_logistic(train, valid, run=threads.run)
    assert (alone.strengths == together.strengths).all()
    for a, b in zip(alone.cpds, together.cpds):
        assert a.parents == b.parents and (a.weights == b.weights).all() and (a.intercept == b.intercept).all()


def test_progress_counts_targets():
    seen = []
    data = dataset(random_table(0, 60, [2] * 3), [2] * 3)
    fit_logistic(data, strengths=2.0, progress=lambda stage, done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_parents_that_are_not_allowed_stay_out():
    n_states = [2, 2, 3, 2, 2]
    allowed = np.zeros((5, 5), bool)
    allowed[2, [1, 3]] = allowed[0, 1] = True
    fits = fit_logistic(dataset(random_table(0, 300, n_states), n_states), strengths=0.5, allowed=allowed)
    assert [cpd.parents for cpd in fits.cpds] == [(1,), (), (1, 3), (), ()]


# Strengths


def test_a_fixed_strength_gives_the_probabilities_of_scikit_learn():
    columns = random_table(7, 300, [3, 2, 2, 4])
    data = dataset(columns, [3, 2, 2, 4])
    fits = fit_logistic(data, strengths=1.5, penalty="l2")
    assert (fits.strengths == 1.5).all() and fits.log_likelihoods is None
    x, variable = design(columns, [3, 2, 2, 4])
    for v, cpd in enumerate(fits.cpds):
        peer = by_scikit_learn(x[:, variable != v], columns[v].astype(int), np.ones(300), 0.0, 1.5)
        assert np.exp(cpd.log_probs(data.states())) == pytest.approx(peer.predict_proba(x[:, variable != v]), abs=5e-3)


def test_each_target_may_have_its_own_strength():
    data = dataset(random_table(0, 200, [2] * 3), [2] * 3)
    own = np.array([0.5, 2.0, 1e6])
    fits = fit_logistic(data, strengths=own)
    assert (fits.strengths == own).all() and fits.cpds[2].parents == ()
    for v, strength in enumerate(own):
        (alone,) = fit_logistic(data, targets=[v], strengths=strength).cpds
        assert (alone.weights == fits.cpds[v].weights).all()


def test_validation_chooses_about_as_well_as_the_best_strength():
    data = dataset(random_table(5, 900, [2] * 8), [2] * 8)
    train, valid = data.rows(slice(0, 600)), data.rows(slice(600, 900))
    chosen = fit_logistic(train, valid).log_likelihoods.sum()
    for strength in (0.1, 1.0, 10.0, 100.0):
        assert chosen >= fit_logistic(train, valid, strengths=[strength]).log_likelihoods.sum() - 0.01


def test_given_strengths_are_a_path_and_shared_takes_one_of_them():
    train, valid = (dataset(random_table(k, 200, [2] * 6), [2] * 6) for k in (0, 1))
    path = [0.1, 30.0, 3.0, 1.0, 10.0]
    assert np.isin(fit_logistic(train, valid, strengths=path).strengths, path).all()
    together = fit_logistic(train, valid, strengths=path, shared=True)
    assert len(set(together.strengths.tolist())) == 1
    codes = valid.states()
    for v, cpd in enumerate(together.cpds):
        own = cpd.log_probs(codes)[np.arange(200), codes[:, v]].mean()
        assert together.log_likelihoods[v] == pytest.approx(own, abs=1e-9)
    sums = [fit_logistic(train, valid, strengths=[s], shared=True).log_likelihoods.sum() for s in path]
    assert together.log_likelihoods.sum() == pytest.approx(max(sums), abs=1e-4)


def test_a_curve_that_was_not_walked_to_its_end_falls_on():
    walks = [descent._Walk([None] * 3, [-3.0, -1.0, -2.0]), descent._Walk([None] * 4, [-4.0, -3.5, -3.2, -3.1])]
    assert descent._whole_curve(walks[0].likelihoods, 5).tolist() == [-3.0, -1.0, -2.0, -3.0, -4.0]
    assert descent._choose(walks, 5, shared=True).tolist() == [1, 1]
    assert descent._choose(walks, 5, shared=False).tolist() == [1, 1]  # the second, left alone, would take 3
    assert descent._choose(walks[1:], 5, shared=False).tolist() == [3]


# Bad input, and what training rows never showed


def test_a_target_that_never_varies_has_no_parents():
    columns = [np.zeros(50, int), *random_table(0, 50, [2, 2])]
    data = dataset(columns, [2, 2, 2])
    for fits in (fit_logistic(data, data), fit_logistic(data, strengths=1.0)):
        assert fits.cpds[0].parents == ()
        assert np.exp(fits.cpds[0].log_probs(data.states()))[0] == pytest.approx([50 / 50.5, 0.5 / 50.5])


def test_a_variable_of_one_state_is_certain():
    data = dataset([np.zeros(50, int), *random_table(0, 50, [2, 2])], [1, 2, 2])
    cpd = fit_logistic(data, data).cpds[0]
    assert cpd.parents == () and (cpd.log_probs(data.states()) == 0.0).all()


@pytest.mark.parametrize("seen", [2, 3])
def test_a_state_never_seen_gets_half_a_row(seen):
    data = dataset(random_table(0, 400, [seen, 2, 2]), [5, 2, 2])
    cpd = fit_logistic(data, data, strengths=[5.0]).cpds[0]
    probs = np.exp(cpd.log_probs(data.states()))
    assert probs.sum(axis=1) == pytest.approx(1.0)
    assert probs[:, seen:].mean(axis=0) == pytest.approx(0.5 / 400, rel=0.2)
    nothing_known = np.full((1, 3), NO_CODE, np.uint16)
    assert np.exp(cpd.log_probs(nothing_known))[0, seen:] == pytest.approx(0.5 / (400 + 0.5 * (5 - seen)))


def test_validation_rows_that_cannot_count_do_not():
    n_states = [3, 2, 2]
    train = dataset(random_table(0, 300, [2, 2, 2]), n_states)
    codes = np.column_stack(random_table(1, 300, [2, 2, 2]))
    codes[:10, 0], codes[10:20, 1] = 2, NO_CODE
    fits = fit_logistic(train, dataset(list(codes.T), n_states))
    kept = codes[(codes != NO_CODE).all(axis=1)]
    own = fits.cpds[0].log_probs(kept)[np.arange(len(kept)), kept[:, 0]]
    assert fits.log_likelihoods[0] == pytest.approx(own[kept[:, 0] < 2].sum() / len(kept), abs=2e-3)


@pytest.mark.parametrize(
    "given, match",
    [
        ({"penalty": "l3"}, "'penalty' must be one of 'l1', 'l2', 'elastic'. Got 'l3' instead."),
        ({"strengths": "best"}, "'strengths' must be 'auto' or numbers above 0"),
        ({"strengths": []}, "'strengths' must be"),
        ({"strengths": [1.0, -1.0]}, "'strengths' must be"),
        ({"strengths": 0.0}, "'strengths' must be"),
        ({"strengths": np.nan}, "'strengths' must be"),
        ({"strengths": None}, "'strengths' must be"),
        ({"valid": None}, "a number above 0, or one for each target .there are no validation rows."),
        ({"valid": None, "strengths": [1.0, 2.0]}, "one for each target"),
        ({"targets": [3]}, "'targets' must be columns from 0 to 2"),
        ({"allowed": np.ones((2, 3), bool)}, "'allowed' must be"),
    ],
)
def test_parameters_that_cannot_be_are_refused(given, match):
    data = dataset(random_table(0, 40, [2, 2, 2]), [2, 2, 2])
    with pytest.raises(ParameterError, match=match):
        fit_logistic(data, **{"valid": data, **given})


def test_tables_that_cannot_be_used_are_refused():
    data = dataset(random_table(0, 40, [2, 2, 2]), [2, 2, 2])
    gaps = random_table(0, 40, [2, 2, 2])
    gaps[1][5] = NO_CODE
    with pytest.raises(DataError, match="has missing values"):
        fit_logistic(dataset(gaps, [2, 2, 2]), data)
    with pytest.raises(DataError, match="has no rows"):
        fit_logistic(data.rows(slice(0, 0)), data)
    with pytest.raises(SchemaMismatchError, match="Validation rows"):
        fit_logistic(data, data.select([0, 1]))
    with pytest.raises(DataError, match="Every held-out row has a missing value"):
        fit_logistic(data, dataset([np.full(40, NO_CODE), *gaps[:2]], [2, 2, 2]))
    with pytest.raises(DataError, match="held-out rows have no weight"):
        fit_logistic(data, dataset(random_table(0, 40, [2, 2, 2]), [2, 2, 2], np.zeros(40)))
    with pytest.raises(DataError, match="held-out rows have no rows"):
        fit_logistic(data, data.rows(slice(0, 0)))


def test_what_does_not_fit_in_memory_is_refused_before_it_starts(monkeypatch):
    data = dataset(random_table(0, 40, [2, 2, 2]), [2, 2, 2])
    monkeypatch.setattr(descent, "physical_memory", lambda: 100)
    with pytest.raises(ResourceLimitError, match="A regression of 1 logits on 3 indicators in 80 rows"):
        fit_logistic(data, data)
    answers = iter([1e12, 100])
    monkeypatch.setattr(descent, "physical_memory", lambda: next(answers))
    with pytest.raises(ResourceLimitError, match="The paths of 3 targets under 'l2' take"):
        fit_logistic(data, data, penalty="l2")
    monkeypatch.setattr(layouts, "physical_memory", lambda: 10)
    with pytest.raises(ResourceLimitError, match="The ones of 40 rows and 3 variables take"):
        fit_logistic(data, data)
