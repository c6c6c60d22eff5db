from dataclasses import replace

import numpy as np
import pytest

from quiltwork.cpds.boosted import BoostedCPD, mean_of
from quiltwork.cpds.logistic import LogisticCPD
from quiltwork.data.dataset import NO_CODE


def some_trees(seed: int, n_states: list[int], n_trees: int = 5) -> BoostedCPD:
    """Random trees for the last variable, with a start that reads the first."""
    rng = np.random.default_rng(seed)
    child, r = len(n_states) - 1, n_states[-1]
    weights = rng.normal(size=(n_states[0], r))
    start = LogisticCPD(
        child, (0,), rng.normal(size=r), np.array([0, n_states[0]]), weights, weights.mean(axis=0, keepdims=True)
    )
    n_leaves, variable, state, first, branches = [], [], [], [], []
    for _ in range(n_trees):
        asks = [-1]
        nexts = {}
        while 2 * len(nexts) + 1 < 9 and rng.random() < 0.9:
            node = int(rng.choice([k for k, v in enumerate(asks) if v < 0]))
            asks[node] = int(rng.integers(child))
            nexts[node] = [len(asks), len(asks) + 1]
            asks += [-1, -1]
        splits, leaves = sorted(nexts), [k for k, v in enumerate(asks) if v < 0]
        n_leaves.append(len(leaves))
        variable += asks
        state += [int(rng.integers(n_states[v])) if v >= 0 else -1 for v in asks]
        first += [2 * splits.index(k) if v >= 0 else leaves.index(k) for k, v in enumerate(asks)]
        branches += [node for k in splits for node in nexts[k]]
    flow, values = rng.integers(1, 50, len(branches)).astype(float), rng.normal(size=(sum(n_leaves), r))
    nodes = (np.array(one, np.int64) for one in (n_leaves, variable, state, first, branches))
    return BoostedCPD(child, start, *nodes, flow, values)


def by_hand(cpd: BoostedCPD, row: np.ndarray) -> np.ndarray:
    """Logits of one row: the start, and of each graph the leaf it leads to, or the mean over both branches of a gap."""
    logits = cpd.start.log_probs(row[None])[0]
    branches_before = 0
    for variable, state, first, branches, values in cpd.decision_graphs():
        flow = cpd.flow[branches_before : branches_before + len(branches)]
        branches_before += len(branches)

        def follow(k):
            if variable[k] < 0:
                return values[first[k]]
            x, at = row[variable[k]], first[k]
            if x == NO_CODE:
                yes = flow[at] / (flow[at] + flow[at + 1])
                return yes * follow(branches[at]) + (1 - yes) * follow(branches[at + 1])
            return follow(branches[at + (x != state[k])])

        logits = logits + follow(0)
    return logits - np.log(np.exp(logits).sum())


@pytest.mark.parametrize("n_states", [[2, 2, 2], [3, 2, 5, 4], [2, 20, 2]])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_log_probs_are_those_of_a_walk_by_hand(n_states, missing):
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, r, 60) for r in n_states]).astype(np.uint16)
    codes[rng.random(codes.shape) < missing] = NO_CODE
    for seed in range(5):
        cpd = some_trees(seed, n_states)
        expected = np.array([by_hand(cpd, row) for row in codes])
        np.testing.assert_allclose(cpd.log_probs(codes), expected, atol=1e-12)
        codes[:, -1] = NO_CODE  # the child's own value is never read
        np.testing.assert_allclose(cpd.log_probs(codes), expected, atol=1e-12)


def test_many_rows_are_told_apart_like_few():
    """By planes of bits, a block of words at a time; the first row of each table is walked, for it lacks a value."""
    rng = np.random.default_rng(2)
    codes = np.column_stack([rng.integers(0, r, 4200) for r in (3, 2, 5, 4)]).astype(np.uint16)
    cpd = some_trees(4, [3, 2, 5, 4], n_trees=8)
    each = np.concatenate([cpd.log_probs(codes[k : k + 60]) for k in range(0, 4200, 60)])
    for n in (1, 63, 64, 65, 4096, 4097, 4200):
        np.testing.assert_array_equal(cpd.log_probs(codes[:n]), each[:n])
    gap = np.vstack([np.full((1, 4), NO_CODE, np.uint16), codes])
    np.testing.assert_array_equal(cpd.log_probs(gap)[1:], each)


def test_the_parts_of_log_p_add_up_to_it():
    cpd = some_trees(3, [2, 3, 2])
    codes = np.indices((2, 3, 2)).reshape(3, -1).T.astype(np.uint16)
    logits = np.zeros((len(codes), 2))
    for parents, table in cpd.log_tables():
        logits += table[codes[:, parents[0]]] if parents else table
    logits += np.array([by_hand(cpd, row) - cpd.start.log_probs(row[None])[0] for row in codes])  # up to a constant
    logits -= np.logaddexp.reduce(logits, axis=1, keepdims=True)
    np.testing.assert_allclose(cpd.log_probs(codes), logits, atol=1e-12)


def test_parents_and_parameters():
    cpd = some_trees(0, [2, 2, 2, 3], n_trees=1)
    asked = set(cpd.variable[cpd.variable >= 0].tolist())
    assert cpd.parents == tuple(sorted(asked | {0})) and cpd.child not in cpd.parents
    assert cpd.n_trees == 1 and len(cpd.decision_graphs()) == 1
    assert cpd.n_parameters == cpd.start.n_parameters + 2 * int(cpd.n_leaves.sum())


def test_no_trees_at_all():
    cpd = some_trees(0, [2, 2], n_trees=0)
    codes = np.array([[0, 0], [1, 0], [NO_CODE, 0]], np.uint16)
    np.testing.assert_allclose(cpd.log_probs(codes), cpd.start.log_probs(codes), atol=1e-12)
    assert cpd.decision_graphs() == [] and cpd.parents == (0,)


def test_the_mean_of_two_is_half_the_logits_of_each():
    codes = np.indices((2, 3, 2)).reshape(3, -1).T.astype(np.uint16)
    codes[::3, 0] = NO_CODE
    one, led = some_trees(1, [2, 3, 2]), some_trees(2, [2, 3, 2])
    nothing = np.empty((0, 2))
    alone = replace(one, start=LogisticCPD(2, (), np.array([0.3, -0.2]), np.zeros(1, np.int64), nothing, nothing))
    logits = (alone.log_probs(codes) + led.log_probs(codes)) / 2
    mean = mean_of(alone, led)
    expected = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    np.testing.assert_allclose(mean.log_probs(codes), expected, atol=1e-12)
    assert (mean.log_probs(codes) >= logits - 1e-12).all()  # never less likely than both on average
    assert mean.n_trees == 10 and mean.parents == tuple(sorted({*alone.parents, *led.parents}))
