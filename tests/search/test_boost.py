from dataclasses import replace

import numpy as np
import pytest

from naive import boosting
from quiltwork.backends.threads import Threads
from quiltwork.data.collapse import collapse
from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import DataError, ParameterError, ResourceLimitError, SchemaMismatchError
from quiltwork.infer.blanket import log_conditionals
from quiltwork.models.dependency import DependencyNet
from quiltwork.search import boost_state
from quiltwork.search.boost import (
    FEWEST_DRAWN,
    MOST_DRAWN,
    SIZES,
    _goes_on,
    _last_good,
    _limits,
    _Rules,
    fit_boosted,
)
from quiltwork.search.boost_state import (
    Limits,
    Scratch,
    Target,
    Trees,
    indicator_states,
    tabulate,
    with_lists,
    with_words,
)
from quiltwork.search.descent import fit_logistic
from quiltwork.search.gradient_trees import LEAST_SLOPE, grow_trees
from tables import dataset, random_table


def parted(n_states, seed=0, n=1500):
    data = dataset(random_table(seed, n, n_states), n_states)
    return data.rows(slice(0, 2 * n // 3)), data.rows(slice(2 * n // 3, n))


def likelihoods(cpds, data):
    codes = data.states()
    return np.array([cpd.log_probs(codes)[np.arange(len(codes)), codes[:, cpd.child]].mean() for cpd in cpds])


@pytest.mark.parametrize("n_states", [[2] * 6, [2, 3, 4, 2, 17]])
@pytest.mark.parametrize("led", [False, True])
def test_held_out_likelihoods_are_those_of_the_cpds(n_states, led):
    train, valid = parted(n_states)
    start = fit_logistic(train, valid, penalty="l2").cpds if led else None
    fits = fit_boosted(train, valid, start=start)
    np.testing.assert_allclose(fits.log_likelihoods, likelihoods(fits.cpds, valid), atol=1e-5)
    for cpd in fits.cpds:
        assert cpd.child not in cpd.parents
        np.testing.assert_allclose(np.exp(cpd.log_probs(valid.states())).sum(axis=1), 1.0, atol=1e-12)


def test_an_exclusive_or_is_learned_where_a_regression_cannot():
    rng = np.random.default_rng(0)
    a, b = rng.integers(2, size=(2, 3000))
    c = a ^ b ^ (rng.random(3000) < 0.05)
    data = dataset([x.astype(np.uint16) for x in (a, b, c)], [2, 2, 2])
    train, valid = data.rows(slice(0, 2000)), data.rows(slice(2000, 3000))
    boosted = fit_boosted(train, valid, [2]).log_likelihoods[0]
    linear = fit_logistic(train, valid, [2], penalty="l2").log_likelihoods[0]
    best = 0.95 * np.log(0.95) + 0.05 * np.log(0.05)
    assert boosted > best - 0.06 and linear < -0.6


def test_better_than_shares_of_the_rows():
    train, valid = parted([2] * 8, seed=3)
    codes = train.states()
    shares = np.array([codes[:, v].mean() for v in range(8)])
    plain = [np.log(np.where(valid.column(v) == 1, shares[v], 1 - shares[v])).mean() for v in range(8)]
    assert (fit_boosted(train, valid).log_likelihoods > np.array(plain) - 0.005).all()


def test_threads_change_nothing():
    train, valid = parted([2, 3, 2, 2] * 5)
    one = fit_boosted(train, valid)
    with Threads(4) as threads:
        other = fit_boosted(train, valid, run=threads.run)
    np.testing.assert_array_equal(one.log_likelihoods, other.log_likelihoods)
    for a, b in zip(one.cpds, other.cpds, strict=True):
        np.testing.assert_array_equal(a.variable, b.variable)
        np.testing.assert_array_equal(a.values, b.values)


def test_trees_are_walked_alike_by_the_cpd_and_by_inference():
    train, valid = parted([2, 3, 2, 4])
    cpds = fit_boosted(train, valid).cpds
    from quiltwork.data.encode import Encoder

    model = DependencyNet(Encoder(train.variables), cpds, np.zeros(11))
    codes = valid.states()
    expected = np.column_stack([cpd.log_probs(codes)[np.arange(len(codes)), codes[:, v]] for v, cpd in enumerate(cpds)])
    np.testing.assert_allclose(log_conditionals(model, valid), expected, atol=1e-9)


def walk_mean(cpd, row):
    """Logits of a row with gaps, by following every branch it may take."""

    def follow(t, node, nodes, branches, leaves):
        k = nodes[t] + node
        if cpd.variable[k] < 0:
            return cpd.values[leaves[t] + cpd.first[k]].astype(float)
        at = branches[t] + cpd.first[k]
        x = row[cpd.variable[k]]
        if x != NO_CODE:
            return follow(t, cpd.branches[at + int(x != cpd.state[k])], nodes, branches, leaves)
        flow = cpd.flow[at : at + 2].astype(float)
        share = flow / flow.sum()
        return sum(share[e] * follow(t, cpd.branches[at + e], nodes, branches, leaves) for e in range(2))

    logits = cpd.start.log_probs(row[None])[0]
    for t in range(cpd.n_trees):
        logits = logits + follow(t, 0, *cpd.starts)
    return logits - np.log(np.exp(logits).sum())


def test_missing_values_go_along_all_branches():
    train, valid = parted([2, 3, 2, 2])
    codes = valid.states()[:20]
    codes[np.random.default_rng(0).random(codes.shape) < 0.4] = NO_CODE
    for cpd in fit_boosted(train, valid).cpds:
        found = cpd.log_probs(codes)
        np.testing.assert_allclose(found, [walk_mean(cpd, row) for row in codes], atol=1e-6)


def test_constant_targets():
    columns = [np.zeros(300, np.uint16), np.arange(300).astype(np.uint16) % 2]
    data = dataset(columns, [2, 2])
    fits = fit_boosted(data.rows(slice(0, 200)), data.rows(slice(200, 300)))
    assert np.isfinite(fits.log_likelihoods).all()


# The kernels beside their slow twin


def under_way(
    n_states,
    target,
    seed,
    *,
    n_rows=200,
    weighted=False,
    n_drawn=None,
    row_cost=1.0,
    rows=with_lists,
    max_leaves=6,
    l2=2.0,
):
    """What the kernels take to boost one variable of a random table, and what their twin takes."""
    columns = random_table(seed, n_rows, n_states)
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 9, n_rows).astype(float) if weighted else None
    data = dataset(columns, n_states, weights)
    table, held_out = rows(tabulate(data, True)._replace(row_cost=row_cost)), tabulate(data, False)
    variable, state = indicator_states(data.n_states)
    codes = data.states()
    has = codes[:, variable] == state
    states = np.arange(1, n_states[target])
    labels = (codes[:, target] == states[:, None]).astype(np.uint8)
    odds = np.exp(rng.normal(size=labels.shape)).astype(np.float32)
    filled = ((0, 0), (0, -n_rows % 64))
    places = codes[:, target].astype(np.int64) - 1  # the first state stands for the most frequent one
    fast = Target(
        np.pad(odds, filled),
        np.pad(odds, filled),
        np.pad(labels, filled),
        np.where(places < 0, len(states), places),
        np.flatnonzero(variable != target),
        np.array([seed], np.uint64),
    )
    n_drawn = n_drawn or len(fast.candidates)
    limits = Limits(0.3, l2, max_leaves, n_drawn)
    units = (15, 28) if weights is None else (min(2.0**20 / weights.max(), 2.0**31 / weights.sum()),) * 2
    slow = (has, odds, labels, weights, fast.candidates, n_drawn, boosting.Random(seed))
    return table, held_out, fast, limits, slow, units


def grown(table, held_out, target, limits, n_rounds):
    trees = Trees.room_for(n_rounds, limits.max_leaves, len(target.odds))
    likelihoods = np.zeros(n_rounds)
    scratch = Scratch.of(table, held_out, target, limits)
    assert grow_trees(table, held_out, target, limits, scratch, trees, likelihoods) == n_rounds
    return trees.cut(n_rounds), likelihoods


def nested(trees, t):
    """Tree t as nested dictionaries, and the rows that each branch took."""
    leaf0 = int(trees.n_leaves[:t].sum())
    node0, branch0 = 2 * leaf0 - t, 2 * (leaf0 - t)

    def follow(k):
        ask, first = int(trees.indicator[node0 + k]), int(trees.first[node0 + k])
        if ask < 0:
            return {"leaf": first}
        yes, no = trees.branches[branch0 + first : branch0 + first + 2]
        return {"ask": ask, "yes": follow(yes), "no": follow(no)}

    return follow(0), trees.values[leaf0 : leaf0 + int(trees.n_leaves[t])]


CASES = [
    pytest.param([2] * 9, 4, {}, id="binary"),
    pytest.param([2, 3, 4, 2, 17, 2], 2, {}, id="many states"),
    pytest.param([2] * 9, 4, {"n_drawn": 3}, id="some drawn"),
    pytest.param([2, 3, 2, 5, 2], 0, {"weighted": True}, id="weights"),
    pytest.param([2, 3, 2, 5, 2], 0, {"weighted": True, "rows": with_words}, id="weights by words"),
    pytest.param([2] * 70, 30, {"n_drawn": 20, "n_rows": 65}, id="two words"),
]


@pytest.mark.parametrize("seed", [1, 7, 8])
@pytest.mark.parametrize("n_states, target, more", CASES)
def test_trees_are_those_grown_by_hand(n_states, target, more, seed):
    table, held_out, fast, limits, slow, units = under_way(n_states, target, seed, **more)
    trees, likelihoods = grown(table, held_out, fast, limits, 4)
    odds, labels, weights = slow[1], slow[2], slow[3]
    expected = boosting.rounds(
        *slow, 4, rate=0.3, l2=limits.l2, max_leaves=limits.max_leaves, units=units, least_slope=LEAST_SLOPE
    )
    for t, (tree, values, _) in enumerate(expected):
        found, found_values = nested(trees, t)
        assert found == tree
        np.testing.assert_allclose(found_values, values, rtol=1e-6)
    np.testing.assert_allclose(fast.odds[:, : odds.shape[1]], odds, rtol=1e-5)
    p = np.where(labels.any(axis=0), (odds * labels).sum(axis=0), 1.0) / (1.0 + odds.sum(axis=0))
    weights = np.ones(len(p)) if weights is None else weights
    assert likelihoods[-1] == pytest.approx(float((weights * np.log(p)).sum()), rel=1e-5)
    tree, _, leaves = expected[0]
    found_flows = trees.flow[: 2 * (len(leaves) - 1)].reshape(-1, 2).tolist()
    assert sorted(map(tuple, found_flows)) == flows(tree, leaves, weights)


def flows(tree, leaves, weights):
    """(rows for yes, rows for no) of all splits, sorted."""

    def rows(node):
        return leaves[node["leaf"]] if "leaf" in node else rows(node["yes"]) + rows(node["no"])

    def splits(node):
        return [] if "leaf" in node else [node, *splits(node["yes"]), *splits(node["no"])]

    return sorted((weights[rows(node["yes"])].sum(), weights[rows(node["no"])].sum()) for node in splits(tree))


@pytest.mark.parametrize("n_states, target", [([2] * 80, 5), ([2, 3, 4, 2, 17, 2], 2)])
def test_walking_rows_and_counting_bits_give_the_same_trees(n_states, target):
    ways = [{"row_cost": 1e9}, {"row_cost": 0.0}, {"row_cost": 0.0, "rows": with_words}]
    bits, *rows = (grown(*under_way(n_states, target, 3, n_rows=500, n_drawn=12, **way)[:4], 5) for way in ways)
    for trees, log_likelihoods in rows:
        for one, other in zip(trees, bits[0], strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(log_likelihoods, bits[1])


# What users may give


def test_equal_rows_may_come_as_weights():
    """Rounding differs, so the likelihoods do too, but by little."""
    columns = random_table(5, 200, [2, 2, 3, 2])
    data = dataset(columns, [2, 2, 3, 2])
    repeated, valid = data.rows(np.repeat(np.arange(200), 3)), data.rows(slice(0, 100))
    weighted = collapse(repeated)
    assert weighted.n_samples < repeated.n_samples / 4
    found = fit_boosted(weighted, valid, max_leaves=4).log_likelihoods
    np.testing.assert_allclose(found, fit_boosted(repeated, valid, max_leaves=4).log_likelihoods, atol=0.02)


def test_only_those_allowed_become_parents():
    train, valid = parted([2] * 6)
    allowed = np.zeros((6, 6), bool)
    allowed[3, [2, 4]] = True
    cpds = fit_boosted(train, valid, allowed=allowed).cpds
    assert set(cpds[3].parents) <= {2, 4} and cpds[3].n_trees > 0
    assert all(cpd.n_trees == 0 for cpd in cpds if cpd.child != 3)


def test_the_seed_and_the_variable_decide_what_is_drawn():
    train, valid = parted([2] * 20)
    size = {"max_leaves": 8, "share": 0.4, "rate": 0.05}
    one, again, other = (fit_boosted(train, valid, [4], seed=seed, **size).cpds[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.variable, again.variable)
    assert not np.array_equal(one.variable, other.variable)
    np.testing.assert_array_equal(one.variable, fit_boosted(train, valid, **size).cpds[4].variable)


def test_states_that_training_rows_do_not_have():
    columns = [np.arange(400) % 3, np.arange(400) % 2, np.arange(400) // 2 % 2]
    columns[0][300:] = 3
    data = dataset([c.astype(np.uint16) for c in columns], [4, 2, 2])
    fits = fit_boosted(data.rows(slice(0, 300)), data.rows(slice(200, 400)))
    probs = np.exp(fits.cpds[0].log_probs(data.states()))
    assert np.isfinite(fits.log_likelihoods).all()
    assert (probs[:, 3] > 0).all() and (probs[:, 3] < 0.01).all()


@pytest.mark.parametrize(
    "more, message",
    [
        ({"rate": 0.0}, "'rate' and 'share' must be above 0"),
        ({"share": 1.5}, "share=1.5"),
        ({"max_leaves": 1}, "'max_leaves' from 2 to 256"),
        ({"l2": -1.0}, "l2=-1.0"),
        ({"targets": [7]}, "'targets' must be columns from 0 to 3"),
        ({"start": []}, "'start' must have one CPD for each target"),
    ],
)
def test_parameters_that_cannot_be(more, message):
    train, valid = parted([2] * 4)
    with pytest.raises(ParameterError, match=message):
        fit_boosted(train, valid, **more)


def test_rows_that_cannot_be_learned_from():
    train, valid = parted([2] * 4)
    columns = [c.copy() for c in random_table(0, 50, [2] * 4)]
    columns[1][3] = NO_CODE
    gaps = dataset(columns, [2] * 4)
    with pytest.raises(DataError, match="has missing values"):
        fit_boosted(gaps, valid)
    with pytest.raises(DataError, match="held-out rows"):
        fit_boosted(train, valid.rows(slice(0, 0)))
    with pytest.raises(SchemaMismatchError):
        fit_boosted(train, valid.select([0, 1, 2]))
    assert np.isfinite(fit_boosted(train, gaps).log_likelihoods).all()  # its complete rows are used


def test_held_out_rows_that_all_have_gaps():
    train, valid = parted([2] * 4)
    columns = [column.copy() for column in random_table(0, 50, [2] * 4)]
    columns[1][:] = NO_CODE
    with pytest.raises(DataError, match="Every held-out row has a missing value"):
        fit_boosted(train, dataset(columns, [2] * 4))


def test_held_out_rows_without_weight():
    train, valid = parted([2] * 4)
    with pytest.raises(DataError, match="held-out rows have no weight"):
        fit_boosted(train, replace(valid, weights=np.zeros(valid.n_samples)))


def test_a_target_that_would_not_fit_in_memory_is_refused(monkeypatch):
    data = dataset(random_table(0, 2000, [200, 200]), [200, 200])
    monkeypatch.setattr(boost_state, "physical_memory", lambda: 2**23)
    with pytest.raises(ResourceLimitError, match="a target of 200 states in 4,000 rows"):
        fit_boosted(data, data)


def test_no_targets_no_rounds_no_other_variables():
    train, valid = parted([2] * 4)
    assert fit_boosted(train, valid, []).cpds == ()
    assert fit_boosted(train, valid, [1], max_rounds=0).cpds[0].n_trees == 0
    alone = fit_boosted(train.select([0]), valid.select([0]))
    assert alone.cpds[0].n_trees == 0 and np.isfinite(alone.log_likelihoods).all()


# Where trees start, when they stop, how large they are


def test_trees_start_from_half_of_the_linear_predictor():
    train, valid = parted([2, 3, 2, 4])
    start = fit_logistic(train, valid, penalty="l2").cpds
    codes = valid.states()
    for before, cpd in zip(start, fit_boosted(train, valid, start=start, max_rounds=0).cpds, strict=True):
        logits = before.intercept + 0.5 * before.means.sum(axis=0)
        for k, p in enumerate(before.parents):
            logits = logits + 0.5 * before.weights[before.first[k] + codes[:, p]]
        expected = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        np.testing.assert_allclose(cpd.log_probs(codes), expected, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_start_that_is_far_off_is_left_behind(weighted):
    rng = np.random.default_rng(5)
    child = np.where(rng.random(400) < 0.8, parent := rng.integers(0, 4, 400), 4)  # four in five copy their parent
    weights = rng.integers(1, 3, 400).astype(float) if weighted else None
    data = dataset([parent.astype(np.uint16), child.astype(np.uint16)], [4, 5], weights)
    start = fit_logistic(data, None, [1], penalty="l2", strengths=0.003).cpds  # half of it says "4" to nearly all rows
    fits = fit_boosted(data, data, [1], start=start)
    assert fits.log_likelihoods[0] > -0.56 and (fits.cpds[0].n_leaves == 1).any()


def test_trees_that_ask_the_same_become_one():
    table, held_out, target, limits, *_ = under_way([2] * 4, 1, 3, max_leaves=3)
    trees, _ = grown(table, held_out, target, limits, 30)
    merged, by_question = trees.merged(), {}
    for t in range(30):
        question, values = nested(trees, t)
        by_question.setdefault(str(question), []).append(values)
    assert len(merged.n_leaves) == len(by_question) < 30
    for t, (question, values) in enumerate(by_question.items()):
        assert str(nested(merged, t)[0]) == question
        np.testing.assert_allclose(nested(merged, t)[1], np.sum(values, axis=0), rtol=1e-6)


def test_rounds_end_when_held_out_rows_gain_nothing():
    falling, rising = [-float(k) for k in range(40)], [float(k) for k in range(40)]
    slow = [0.001 * k for k in range(40)]
    assert not _goes_on(falling, 30) and _goes_on(falling[:30], 30)
    assert _goes_on(rising, 30) and not _goes_on(slow, 30)
    assert _last_good([-9.0, -5.0, -5.6, -5.8, -5.5, -6.0]) == 4  # less likely than the best, but not by half


def test_noise_grows_hardly_any_trees():
    rng = np.random.default_rng(0)
    data = dataset([rng.integers(0, 2, 3000).astype(np.uint16) for _ in range(6)], [2] * 6)
    fits = fit_boosted(data.rows(slice(0, 2000)), data.rows(slice(2000, 3000)))
    assert max(cpd.n_trees for cpd in fits.cpds) < 100
    np.testing.assert_allclose(fits.log_likelihoods, np.log(0.5), atol=0.003)


def test_a_rule_without_exceptions_needs_few_trees():
    columns = [(np.arange(60) % 2).astype(np.uint16) for _ in range(3)]
    data = dataset(columns, [2, 2, 2])
    fits = fit_boosted(data, data)
    assert (fits.log_likelihoods > -0.02).all()
    assert max(cpd.n_trees for cpd in fits.cpds) <= 2


@pytest.mark.parametrize("share, n_drawn", [(0.01, FEWEST_DRAWN), (0.2, 60), (0.9, MOST_DRAWN), (1.0, 299)])
def test_a_share_of_the_indicators_is_drawn_and_all_of_them_where_all_are_wanted(share, n_drawn):
    assert _limits(_Rules(8, share, 0.1, 10.0, 10, 10, 0), 299).n_drawn == n_drawn


def test_rows_of_sparse_tables_are_lists_of_their_indicators():
    rng = np.random.default_rng(0)
    for share, n_vars, sparse in ((0.5, 100, False), (0.01, 100, False), (0.01, 1000, True)):
        bits = (rng.random((130, n_vars)) < share).astype(np.uint16)
        table = tabulate(dataset(list(bits.T), [2] * n_vars), True)
        assert (table.starts.size > 0, table.words.size == 0) == (sparse, sparse)
        if sparse:
            pairs = [(i, f) for i in range(130) for f in table.lists[table.starts[i] : table.starts[i + 1]].tolist()]
            assert pairs == list(zip(*np.nonzero(bits)))


def test_the_size_is_the_one_that_held_out_rows_prefer():
    """Of so few targets, all are learned in every size."""
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 2, (6000, 25))
    answers = rng.integers(0, 2, 64)  # to six bits at once; the others are noise
    bits[:, 24] = answers[bits[:, :6] @ (1 << np.arange(6))] ^ (rng.random(6000) < 0.05)
    data = dataset(list(bits.T.astype(np.uint16)), [2] * 25)
    train, valid = data.rows(slice(0, 5000)), data.rows(slice(5000, 6000))
    sizes = [fit_boosted(train, valid, [24], max_leaves=k, share=s, rate=r).log_likelihoods.sum() for k, s, r in SIZES]
    assert fit_boosted(train, valid, [24]).log_likelihoods.sum() == max(sizes) > sizes[0] + 0.05


def test_of_sizes_that_do_as_well_the_smallest_is_taken():
    train, valid = parted([2] * 10, n=3000)  # every variable leans on the one before it, that is all
    assert max(cpd.n_leaves.max() for cpd in fit_boosted(train, valid).cpds) == SIZES[0][0]
