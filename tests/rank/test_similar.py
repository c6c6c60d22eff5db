"""Similar items: against log odds ratios of the full joint table, and what is not similar."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infer.networks import net, random_tables
from naive import joint as naive
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.errors import InputError, ParameterError, UnknownVariableError
from quiltwork.models.bayesian import BayesianNet
from quiltwork.rank import similar as room
from quiltwork.rank.similar import similar_items


def binary_net(seed, n_vars=6):
    raw = random_tables(np.random.default_rng(seed), n_vars, min_states=2, max_states=2)
    return net(*raw), naive.joint(*raw)


def log_odds_ratio(table, a, b):
    def p(x, y):
        cell = [0] * table.ndim
        cell[a], cell[b] = x, y
        return table[tuple(cell)]

    return math.log(p(1, 1) * p(0, 0) / (p(1, 0) * p(0, 1)))


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_similarities_are_log_odds_ratios_of_the_full_joint(seed):
    model, table = binary_net(seed)
    found = [dict(similar_items(model, f"v{v}")) for v in range(6)]
    for a in range(6):
        assert list(found[a].values()) == sorted(found[a].values(), reverse=True)
        assert f"v{a}" not in found[a]
        for b in range(6):
            if a != b:
                ratio = log_odds_ratio(table, a, b)
                assert found[a].get(f"v{b}", 0.0) == pytest.approx(max(ratio, 0.0), abs=1e-11)


def test_planted_friends_come_first_and_strangers_not_at_all():
    """v0 goes with v1, more weakly with v2, against v3; v4 stands alone."""
    model = net(
        [2] * 5,
        [[], [0], [0], [0], []],
        [[[0.5, 0.5]], [[0.9, 0.1], [0.1, 0.9]], [[0.7, 0.3], [0.3, 0.7]], [[0.3, 0.7], [0.7, 0.3]], [[0.2, 0.8]]],
    )
    found = similar_items(model, "v0")
    assert [name for name, _ in found] == ["v1", "v2"]
    assert [similarity for _, similarity in found] == pytest.approx([4 * math.log(3), 2 * math.log(7 / 3)])
    assert similar_items(model, "v0", n=1) == found[:1]
    assert similar_items(model, "v4") == []
    assert similar_items(model, "v3") == []
    assert [name for name, _ in similar_items(model, "v2")] == ["v0"]


def test_ties_go_to_the_lower_column():
    model = net([2] * 60, [[]] + [[0]] * 59, [[[0.5, 0.5]]] + [[[0.8, 0.2], [0.2, 0.8]]] * 59)
    assert [name for name, _ in similar_items(model, "v0", n=59)] == [f"v{v}" for v in range(1, 60)]


def test_certain_items_neither_warn_nor_answer_nonsense():
    copy = [[1.0, 0.0], [0.0, 1.0]]
    model = net([2] * 4, [[], [0], [], [2]], [[[0.5, 0.5]], copy, [[1.0, 0.0]], [[0.9, 0.1], [0.5, 0.5]]])
    with np.errstate(all="raise"):
        assert similar_items(model, "v0") == [("v1", math.inf)]
        assert similar_items(model, "v1") == [("v0", math.inf)]
        for name in ("v2", "v3"):
            assert all(not math.isnan(similarity) for _, similarity in similar_items(model, name))


def test_variables_that_are_no_items_are_unknown():
    """v1 has three states and is summed out: P(v2 | v0) decides."""
    tables = [[[0.5, 0.5]], [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]]
    model = net([2, 3, 2], [[], [0], [1]], tables)
    p = np.array(tables[1]) @ np.array(tables[2])
    ((name, similarity),) = similar_items(model, "v2", items=["v2", "v0"])
    assert name == "v0" and similarity == pytest.approx(math.log(p[1, 1] * p[0, 0] / (p[1, 0] * p[0, 1])))
    with pytest.raises(InputError, match="'v1' has 3"):
        similar_items(model, "v2")
    with pytest.raises(UnknownVariableError, match="'v1'"):
        similar_items(model, "v1", items=["v2", "v0"])


def test_no_item_is_similar_to_itself(monkeypatch):
    """Not even for a ranker that scores what was chosen higher."""
    model, _ = binary_net(3)
    monkeypatch.setattr(room, "item_scores", lambda model, X, items: X.states() @ (np.eye(6) * 5 + np.arange(6)))
    assert similar_items(model, "v2") == [(f"v{v}", float(v)) for v in (5, 4, 3, 1)]


def test_ids_in_ids_out():
    model, _ = binary_net(3)
    names = ("50", "181", "7", "0", "1", "2")
    named = BayesianNet(Encoder(tuple(Variable(n, (0, 1)) for n in names)), model.cpds)
    expected = [(names[int(v[1:])], s) for v, s in similar_items(model, "v4")]
    assert similar_items(named, 1) == similar_items(named, "1") == expected
    with pytest.raises(UnknownVariableError, match="'181x'.*'181'"):
        similar_items(named, "181x")


def test_the_number_of_items_is_checked():
    model, _ = binary_net(1)
    for n in (0, 1.5, None):
        with pytest.raises(ParameterError, match="'n' parameter of similar_items"):
            similar_items(model, "v0", n=n)
