import numpy as np
import pytest

from quiltwork.data.collapse import collapse
from quiltwork.data.dataset import NO_CODE
from quiltwork.infer.blanket import log_conditionals
from quiltwork.models.dependency import DependencyNet
from quiltwork.search.boost import fit_boosted
from quiltwork.search.descent import fit_logistic
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


def test_the_same_for_any_order_of_the_work_and_for_repeated_rows():
    train, valid = parted([2, 3, 2, 2])
    one = fit_boosted(train, valid)

    def backwards(task, n):
        for i in reversed(range(n)):
            task(i)

    other = fit_boosted(train, valid, run=backwards)
    for a, b in zip(one.cpds, other.cpds, strict=True):
        np.testing.assert_array_equal(a.values, b.values)
    assert np.isfinite(fit_boosted(collapse(train), valid).log_likelihoods).all()


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
