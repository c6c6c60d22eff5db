"""The view document: the contract that page, widget, file, text and figure read."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from some_models import LEARNED, NASTY, model_of, network

import quiltwork as qw
from quiltwork.errors import InputError, ModelFileError, ResourceLimitError
from quiltwork.view import document as module
from quiltwork.view.compare import compared
from quiltwork.view.document import document, to_json
from quiltwork.view.evidence import marginals
from quiltwork.view.layout import layout
from quiltwork.view.numbers import LONGEST, figures, short


@pytest.mark.parametrize("kind", LEARNED)
def test_the_contract(kind):
    model = model_of(kind)
    shown = document(model)
    n_vars = len(model.variables)
    assert (shown["format"], shown["version"], shown["kind"]) == ("quiltwork-view", 1, model.kind)
    assert json.loads(to_json(shown)) == shown, "plain values, and no number that JSON lacks"
    assert [len(shown[key]) for key in ("variables", "positions", "locals")] == [n_vars] * 3
    arcs = shown["arcs"]
    assert len(arcs["from"]) == len(arcs["to"]) == len(arcs["strength"]) == shown["summary"]["arcs"]
    assert arcs["strength"] == sorted(arcs["strength"], reverse=True)
    assert shown["slider_start"] == min(2 * n_vars, len(arcs["from"]))
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in shown["positions"])
    assert shown["title"] and shown["strength"]["name"] and isinstance(shown["directed"], bool)
    for variable, told in zip(model.variables, shown["variables"]):
        assert told["name"] == variable.name and told["states"] == [str(state) for state in variable.states]
        if variable.states:
            assert math.fsum(told["marginal"]) == pytest.approx(1.0, abs=1e-3) and told["numeric"] is None
        else:
            assert told["marginal"] == [] and told["numeric"]["deviation"] > 0


@pytest.mark.parametrize("kind", ["bn", "hrf", "latent"])
def test_the_same_model_gives_the_same_document(kind, tmp_path):
    model = model_of(kind)
    qw.save(model, tmp_path / "m.qw")
    assert to_json(document(qw.load(tmp_path / "m.qw"))) == to_json(document(model))


def test_a_model_is_laid_out_once_and_two_that_are_compared_together(monkeypatch):
    laid = []
    monkeypatch.setattr(module, "layout", lambda *arcs: laid.append(arcs) or layout(*arcs))
    first, second = replace(model_of("bn")), replace(model_of("hrf"))
    document(first)
    document(first, room=None)["positions"][0][0] = 7.0  # whoever changes a document changes no other
    shown, other = compared(first, second)
    assert len(laid) == 1 and shown["positions"] == other["positions"] == document(model_of("bn"))["positions"]


def test_a_fitted_estimator_stands_for_its_model():
    table = {"rain": [0, 1, 1, 0] * 25, "wet": [0, 1, 1, 0] * 25}
    fitted = qw.BayesianNetwork(search="climb").fit(table)
    assert document(fitted)["summary"] == {"variables": 2, "arcs": 1, "parameters": 3, "rows": 100}


def test_blankets_of_a_field_are_told():
    model = model_of("hrf")
    shown = document(model)
    assert shown["blankets"] == [model.blanket(v) for v in range(8)]
    assert shown["relatives"][3] == [u for u in model.members(3).tolist() if u != 3]
    assert document(model_of("bn"))["blankets"] is None


def test_only_models_that_have_probabilities_take_evidence():
    assert document(model_of("dn"))["evidence"] and not document(model_of("nb"))["evidence"]


# Bad and large input


def test_one_variable():
    shown = document(network(1, [()]))
    assert shown["positions"] == [[0.5, 0.5]] and shown["slider_start"] == 0 and len(shown["locals"]) == 1
    assert "no arcs" in " ".join(shown["notes"])


def test_no_arcs():
    shown = document(network(30, [()] * 30))
    assert shown["arcs"] == {"from": [], "to": [], "strength": []}
    assert len({tuple(place) for place in shown["positions"]}) == 30


def test_ten_thousand_variables():
    rng = np.random.default_rng(0)
    parents = [sorted({*rng.integers(max(0, v - 50), v, 2).tolist()}) if v else () for v in range(10_000)]
    shown = document(network(10_000, parents), room=None)
    assert len(shown["variables"]) == 10_000 and shown["locals"] is None and shown["locals_omitted"]
    said = " ".join(shown["notes"])
    assert "All 10,000 variables" in said and "strongest arcs" in said and "find a variable" in said


def test_too_many_arcs_keeps_the_strongest(monkeypatch):
    monkeypatch.setattr(module, "MAX_ARCS", 5)
    model = replace(model_of("hrf"))  # another one, for a layout is remembered
    whole, part = document(model, room=None), document(model)
    assert part["arcs"]["strength"] == whole["arcs"]["strength"] and len(part["arcs"]["from"]) == 5
    assert part["summary"]["arcs"] == len(model.arcs) > 5
    assert "The strongest 5 of" in part["notes"][0]


def test_too_many_variables_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_VARIABLES", 3)
    with pytest.raises(ResourceLimitError, match="up to 3 variables, and this model has 8.*quiltwork info"):
        document(model_of("bn"))


def test_long_names_and_states_are_shortened():
    states = ("a" * 10_000 + "1", "a" * 10_000 + "2")
    shown = document(network(2, [(), (0,)], names=["n" * 20_000, "m"], states=states))
    assert len(to_json(shown)) < 3000
    assert [len(variable["name"]) for variable in shown["variables"]] == [LONGEST, 1]
    first, second = shown["variables"][0]["states"]
    assert len(first) == LONGEST and first != second and "…" in first


def test_local_distributions_fit_in_their_room():
    model = network(40, [tuple(range(max(0, v - 7), v)) for v in range(40)])
    room = 30_000 + len(to_json(document(model, room=None)))
    shown = document(model, room=room)
    assert len(to_json(shown)) <= room + 200  # what is cut is told in a note
    assert max(local["total"] for local in shown["locals"]) == 128 > max(local["shown"] for local in shown["locals"])
    n_cut = sum(local["shown"] < local["total"] for local in shown["locals"])
    assert 30 <= n_cut < 40 and f"the {n_cut} largest local distributions are here in part" in shown["notes"][-1]


def test_what_long_names_take_the_local_distributions_give():
    parents = [tuple(range(max(0, v - 7), v)) for v in range(40)]
    for length in (1, 300):
        names = [f"{v:02}" * (length // 2 + 1) for v in range(40)]
        shown = document(network(40, parents, names=names), room=30_000)
        assert 25_000 < len(to_json(shown)) <= 30_200  # what is cut is told in a note


def test_a_distribution_too_large_for_a_file_is_counted_even_where_there_is_room():
    model = network(8, [()] * 7 + [tuple(range(7))])
    assert "the 1 largest local distributions" in document(model, room=10**9)["notes"][-1]
    assert document(model, room=None)["notes"] == []


def test_nasty_names_are_kept_as_they_are():
    shown = document(network(4, [()] * 4, names=NASTY, states=tuple(NASTY)))
    assert [variable["name"] for variable in shown["variables"]] == NASTY
    assert shown["variables"][0]["states"] == NASTY


def test_what_is_no_model_is_refused():
    with pytest.raises(InputError, match="model or a fitted estimator"):
        document({"a": [1]})


@pytest.mark.parametrize("content", [b"", b"\x80\x04 a pickle", b'{"format": "another"}' + b" " * 100])
def test_a_foreign_file_never_comes_as_far_as_a_document(content, tmp_path):
    (tmp_path / "m.qw").write_bytes(content)
    with pytest.raises(ModelFileError):
        document(qw.load(tmp_path / "m.qw"))


# Numbers and words


def test_marginals_of_training_are_shares_of_its_rows():
    model = model_of("dn")
    counts = model.state_counts[:2]
    assert marginals(model).parts[0] == pytest.approx(counts / counts.sum())


def test_figures_keep_their_first_digits():
    assert figures([123456.789, -0.00012345678, 0.0, 1e-320, np.inf, np.nan]) == [
        123460.0,
        -0.00012346,
        0.0,
        0.0,
        0.0,
        0.0,
    ]


def test_text_that_is_no_text_is_shown_anyway():
    assert short("\ud800x") == "?x" and short(3.5) == "3.5" and short(True) == "True"
