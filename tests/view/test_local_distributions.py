"""What a double click opens: every kind of local distribution as plain values, kept to a size."""

import json

import numpy as np
import pytest
from some_models import LEARNED, boosted, features, model_of, network, trees

import quiltwork as qw
from quiltwork.view.document import local
from quiltwork.view.kinds import kind_of
from quiltwork.view.locals import is_cut, table

TYPES = {
    **dict.fromkeys(["bn", "dn", "tree", "popularity", "read"], "table"),
    **dict.fromkeys(["gbn", "gaussian-tree", "gmf"], "gaussian"),
    **dict.fromkeys(["nb", "itemrank", "latent", "stack", "hrf-average"], "none"),
    "hrf": "field",
    "logistic": "logistic",
    "mn": "features",
    **dict.fromkeys(["tree-cpds", "dn-tree"], "tree"),
}


@pytest.mark.parametrize("kind", LEARNED)
def test_every_kind_tells_every_variable(kind):
    model = model_of(kind)
    for v in range(len(model.variables)):
        told = local(model, v)
        assert json.loads(json.dumps(told)) == told
        assert told["type"] == TYPES[kind] or kind == "tree-cpds"


def test_a_table_has_a_row_for_every_configuration():
    model = network(3, [(), (), (0, 1)])
    told = local(model, 2)
    assert told["parents"] == [0, 1] and told["shown"] == told["total"] == 4
    assert np.array(told["rows"]) == pytest.approx(model.cpds[2].probs, abs=5e-5)


def test_a_long_table_is_cut_and_counted():
    told = table(range(10), np.full((1024, 2), 0.5), 64)
    assert (len(told["rows"]), told["shown"], told["total"]) == (64, 64, 1024)
    assert table((), np.full((100, 1000), 0.001), 64)["shown"] == 1


# Trees


def paths(told, k=None, conditions=()):
    """(conditions, leaf) of every way from the root."""
    node = told["nodes"][told["root"] if k is None else k]
    if node.get("leaf"):
        return [(conditions, node)]
    found = []
    for branch in node["branches"]:
        found += paths(told, branch["to"], (*conditions, (node["split"], branch["label"])))
    return found


def test_a_tree_says_what_its_leaves_say():
    net, _ = trees()
    told = local(net, 0)
    leaves = {conditions: (leaf["probs"], leaf["cases"]) for conditions, leaf in paths(told)}
    assert leaves == {
        ((2, "= no"),): ([0.2, 0.3, 0.5], 30.0),
        ((2, "= yes"), (1, "= 1")): ([0.6, 0.3, 0.1], 50.0),
        ((2, "= yes"), (1, "= 0")): ([0.1, 0.1, 0.8], 20.0),
    }
    splits = [node for node in told["nodes"] if "split" in node]
    assert [(node["split"], node["state"], node["gain"]) for node in splits] == [(2, 0, 3.0), (1, 1, 9.0)]


def test_a_complete_split_has_a_branch_for_every_state():
    told = local(trees()[0], 1)
    root = told["nodes"][0]
    assert root["state"] is None
    assert [branch["label"] for branch in root["branches"]] == ["= lo", "= mid", "= hi"]


def test_in_a_graph_branches_meet():
    told = local(trees()[0], 2)
    assert told["type"] == "graph"
    ends = [branch["to"] for node in told["nodes"] for branch in node.get("branches", ())]
    assert len(ends) == 4 and len(set(ends)) == 3
    labels = [branch["label"] for branch in told["nodes"][0]["branches"]]
    assert labels == ["= hi", "≠ hi"]


def test_a_tree_without_room_folds_what_is_weakest():
    net, cpds = trees()
    told = kind_of(net).local(net, 0, 3)
    assert len(told["nodes"]) == 3
    (folded,) = (node for node in told["nodes"] if node.get("folded"))
    expected = (50 * cpds[0].probs[1] + 20 * cpds[0].probs[2]) / 70
    assert folded["cases"] == 70 and folded["probs"] == pytest.approx(expected, abs=5e-5)
    alone = kind_of(net).local(net, 0, 1)["nodes"]
    assert len(alone) == 1 and alone[0]["folded"] and alone[0]["cases"] == 100


def test_what_is_shown_of_a_distribution_is_counted():
    net, _ = trees()
    counts = [(told["shown"], told["total"]) for told in (kind_of(net).local(net, 0, most) for most in (64, 3, 1))]
    assert counts == [(3, 3), (1, 3), (0, 3)]
    assert [is_cut(kind_of(net).local(net, 0, most)) for most in (64, 3)] == [False, True]
    gaussian = kind_of(model_of("gmf")).local(model_of("gmf"), 3, 2)
    assert gaussian["shown"] == len(gaussian["weights"]) == 2 < gaussian["total"] <= 11 and is_cut(gaussian)
    field = model_of("hrf")
    assert any(is_cut(kind_of(field).local(field, v, 1)) for v in range(8))
    assert not any(is_cut(local(field, v)) for v in range(8)) and not is_cut(local(model_of("nb"), 0))


def test_boosted_trees_count_their_variables_too():
    net = boosted()
    told, part = local(net, 0), kind_of(net).local(net, 0, 1)
    assert told["asked"] == len(told["importance"]) > 1 and not is_cut(told)
    assert len(part["importance"]) == 1 and part["asked"] == told["asked"] and is_cut(part)


# Weights, features, fields


def test_weights_come_largest_first():
    told = local(model_of("gmf"), 3)
    sizes = [abs(one["weight"]) for one in told["weights"]]
    assert sizes == sorted(sizes, reverse=True) and all(one["variable"] != 3 for one in told["weights"])


def test_a_gaussian_field_of_low_rank_tells_the_weights_of_the_full_one():
    rng = np.random.default_rng(0)
    factors, precision = rng.normal(size=(4, 2)), rng.random(4) + 1
    weights = factors @ factors.T / precision
    np.fill_diagonal(weights, 0.0)
    from quiltwork.data.encode import Encoder
    from quiltwork.models.rankers import GaussianItems

    encoder = Encoder(tuple(qw.Variable(f"i{v}", (0, 1)) for v in range(4)))
    rest = (encoder, np.ones(8), rng.random(4), precision)
    full = GaussianItems(*rest, weights, np.empty((4, 0)))
    low = GaussianItems(*rest, np.empty((0, 0)), factors)
    for v in range(4):
        one, other = local(full, v), local(low, v)
        assert [w["variable"] for w in one["weights"]] == [w["variable"] for w in other["weights"]]
        assert one["intercept"] == pytest.approx(other["intercept"], rel=1e-3)
        for a, b in zip(one["weights"], other["weights"]):
            assert a["weight"] == pytest.approx(b["weight"], rel=1e-3)


def test_a_regression_tells_what_each_state_adds():
    told = local(model_of("logistic"), 0)
    assert told["intercept"] == [0.0, 0.1, 0.2]
    assert told["weights"] == [
        {"variable": 1, "state": 1, "weight": [0.0, 1.5, 0.0]},
        {"variable": 1, "state": 0, "weight": [0.0, -0.5, 0.25]},
    ]
    nothing = {"weights": [], "shown": 0, "total": 0}
    assert local(model_of("logistic"), 1) == {"type": "logistic", "intercept": [0.0, 0.3], **nothing}
    net = model_of("logistic")
    part = kind_of(net).local(net, 0, 1)
    assert (len(part["weights"]), part["shown"], part["total"]) == (1, 1, 2)


def test_features_are_those_that_mention_the_variable():
    told = local(features(), 1)
    assert told["total"] == 4
    assert [feature["weight"] for feature in told["features"]] == [1.5, 0.7, -0.5, 0.1]
    assert told["features"][1]["conditions"] == [{"variable": 1, "state": 0}, {"variable": 2, "state": 1}]
    assert local(features(), 3) == {"type": "features", "features": [], "shown": 0, "total": 0}
    part = kind_of(features()).local(features(), 1, 2)
    assert (len(part["features"]), part["shown"], part["total"]) == (2, 2, 4)


def test_a_field_is_the_tables_that_multiply_to_the_conditional():
    net = network(4, [(), (0,), (0, 1), (2,)])
    field = qw.hrf_from_bn(net)
    told = local(field, 1)
    assert told["parents"] == [0, 2]
    assert [(family["child"], family["parents"]) for family in told["families"]] == [(1, [0]), (2, [0, 1])]
    row = np.array([1, 0, 1, 0])
    product = np.ones(2)
    for family in told["families"]:
        for s in range(2):
            states = np.where(np.arange(4) == 1, s, row)
            config = int("".join(str(states[p]) for p in family["parents"]), 2)
            product[s] *= family["rows"][config][states[family["child"]]]
    table = {f"x{v}": ["no" if s == 0 else "yes"] for v, s in enumerate(row)}
    assert product / product.sum() == pytest.approx(qw.predict_proba(field, table, "x1")[0], abs=1e-3)
