"""Local distributions in a terminal."""

import pytest
from some_models import LEARNED, features, model_of, network, trees

import quiltwork as qw
from quiltwork.errors import UnknownVariableError
from quiltwork.view.text import local_text, to_text


@pytest.mark.parametrize("kind", LEARNED)
def test_every_kind_has_its_words(kind):
    for variable in model_of(kind).variables:
        assert to_text(model_of(kind), variable.name).strip()


def test_a_tree():
    assert to_text(trees()[0], "a").splitlines() == [
        "P(a | …) as a decision tree",
        "c?",
        "├── = no: lo ▊ 0.20  mid █▎ 0.30  hi ██ 0.50  (30 cases)",
        "└── = yes: b?",
        "    ├── = 1: lo ██▍ 0.60  mid █▎ 0.30  hi ▍ 0.10  (50 cases)",
        "    └── = 0: lo ▍ 0.10  mid ▍ 0.10  hi ███▎ 0.80  (20 cases)",
    ]


def test_a_graph_tells_a_shared_node_once():
    text = to_text(trees()[0], "c")
    assert text.splitlines() == [
        "P(c | …) as a decision graph",
        "a?",
        "├── = hi: (1) no █▎ 0.30  yes ██▊ 0.70  (65 cases)",
        "└── ≠ hi: b?",
        "    ├── = 1: → (1)",
        "    └── = 0: no ███▎ 0.80  yes ▊ 0.20  (35 cases)",
    ]


def test_features():
    assert to_text(features(), "c").splitlines() == [
        "Features with c, the heaviest first",
        "feature                      weight",
        "───────────────────────────────────",
        "b = no ∧ c = yes            +0.7000",
        "a = yes ∧ b = no ∧ c = yes  +0.1000",
    ]


def test_a_formula():
    text = to_text(model_of("gbn"), "wind")
    assert text.startswith("wind = ") and "±" in text


def test_logistic_and_boosted():
    variables = [{"name": "a", "states": ["no", "yes"]}, {"name": "b", "states": ["x", "y"]}]
    weights = [{"variable": 1, "state": 1, "weight": [-0.5, 0.5]}]
    logistic = {"type": "logistic", "intercept": [0.0, 0.25], "weights": weights, "shown": 1, "total": 4}
    assert local_text(variables, 0, logistic).splitlines()[-3:] == [
        "intercept  +0.0000  +0.2500",
        "b = y      -0.5000  +0.5000",
        "… and 3 more weights",
    ]
    importance = [{"variable": 1, "gain": 12.5}]
    boosted = {**logistic, "type": "boosted", "importance": importance, "asked": 2, "trees": 7}
    text = local_text(variables, 0, boosted)
    assert "7 small trees" in text and "12.5" in text and text.endswith("… and 1 more variables")


def test_a_long_formula_ends_and_its_terms_are_listed():
    variables = [{"name": f"x{v}", "states": []} for v in range(30)]
    weights = [{"variable": v, "weight": 30.0 - v} for v in range(1, 21)]
    told = {"type": "gaussian", "intercept": 1.0, "weights": weights, "deviation": 2.0, "shown": 20, "total": 29}
    lines = local_text(variables, 0, told).splitlines()
    assert lines[0].endswith("+ 18 x12 … and 17 smaller terms ± 2")
    assert len(lines) == 1 + 2 + 20 + 1 and lines[-1] == "… and 9 more weights"


def test_long_tables_and_trees_end():
    model = network(12, [()] * 11 + [tuple(range(11))])
    assert "… and 1,024 more configurations" in to_text(model, "x11")


def test_control_characters_are_spelled_out():
    text = to_text(network(2, [(), (0,)], names=["a\x1b[2J", "b\nb"]), "b\nb")
    assert "\x1b" not in text and "b\\nb" in text


def test_an_unknown_variable_is_named():
    with pytest.raises(UnknownVariableError, match="did you mean 'lung'"):
        to_text(qw.textbook("asia"), "lungs")


def test_a_large_tree_ends():
    variables = [{"name": "v", "states": ["a", "b"]}]
    nodes = []
    for k in range(400):
        nodes.append(
            {"split": 0, "state": 0, "gain": 1.0, "branches": [{"label": "=", "to": 400}, {"label": "≠", "to": k + 1}]}
        )
    nodes.append({"leaf": True, "probs": [0.5, 0.5], "cases": None})
    text = local_text(variables, 0, {"type": "graph", "nodes": nodes, "root": 0})
    assert 100 < len(text.splitlines()) <= 202 and "… and more" in text
