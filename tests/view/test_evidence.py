"""Probabilities given evidence: exact where that is possible, sampled where not, and one sentence where neither is."""

import numpy as np
import pytest
from some_models import model_of, network

import quiltwork as qw
from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import InputError, IntractableError, QuiltworkError, ZeroEvidenceError
from quiltwork.infer.gibbs import KERNEL_UPDATES, LANES, LookupChains, gibbs_marginals, work
from quiltwork.view import evidence as module
from quiltwork.view.answers import Answers
from quiltwork.view.evidence import can_answer, given, marginals


def test_a_narrow_network_answers_exactly():
    model = qw.textbook("asia")
    found = given(model, {2: 0, 6: 1})
    expected = qw.marginals(model, {"smoke": "yes", "xray": "no"})
    assert found.method == "exact" and found.error is None
    for variable, part in zip(model.variables, found.parts):
        assert part == pytest.approx(expected[variable.name])


def test_a_wide_network_samples_and_says_so(monkeypatch):
    model = network(8, [(), (0,), (0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 6)])
    exact = given(model, {7: 1})
    monkeypatch.setattr(module, "NARROW", 0)
    monkeypatch.setattr("quiltwork.infer.exact._plan_without_evidence", lambda model: None)
    sampled = given(model, {7: 1})
    assert sampled.method == "gibbs" and sampled.converged and 0 < sampled.error < 0.02
    assert "Gibbs sampling" in sampled.note and "standard error" in sampled.note
    for a, b in zip(exact.parts, sampled.parts):
        assert a == pytest.approx(b, abs=5 * sampled.error)
    assert sampled.parts[7].tolist() == [0.0, 1.0]
    before = marginals(network(8, [(), (0,), (0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 6)]))
    assert before.method == "sampled" and "sampled rows" in before.note


@pytest.mark.parametrize("kind", ["dn", "hrf", "mn", "tree-cpds"])
def test_models_without_a_closed_form_are_sampled(kind):
    model = model_of(kind)
    found = given(model, {0: 1})
    assert found.method in ("gibbs", "exact") and found.parts[0][1] == 1.0
    assert all(part.sum() == pytest.approx(1.0) for part in found.parts)
    assert [a.tolist() for a in given(model, {0: 1}).parts] == [a.tolist() for a in found.parts]


def test_sampled_marginals_agree_with_sums():
    model = network(4, [(), (0,), (0, 1), (1, 2)])
    codes = np.array([65535, 65535, 65535, 1], np.uint16)
    flat, agree, error = gibbs_marginals(model, codes, 20_000, 200, seed=3)
    exact = np.concatenate(given(model, {3: 1}).parts)
    assert agree and flat == pytest.approx(exact, abs=5 * error)


def test_sampling_is_the_shorter_the_longer_a_draw_takes():
    """Eighteen variables with a few look-ups each, and as many that ask hundreds of trees."""
    chosen = np.random.default_rng(0).random((300, 18)) < 0.4
    chosen[:, 1:] |= chosen[:, :-1]
    sweeps = {}
    for cpd in ("tree", "boosted"):
        model = qw.learn("dn", chosen.astype(int), cpd=cpd)
        asked = [n for n in given(model, {0: 1}).note.split() if n[1:2].isdigit()]
        sweeps[cpd] = int(asked[0].strip("(").replace(",", ""))
        assert sweeps[cpd] * work(model) < 1.1 * module.UPDATES
        chains = LookupChains(model, np.full(18, NO_CODE, np.uint16), 4, seed=0)
        assert sum(1 for _ in chains.sweeps(0, 200)) >= 200 * LANES * work(model) / KERNEL_UPDATES  # Ctrl-C is heard
    assert 400 <= sweeps["boosted"] < sweeps["tree"] / 10


def test_numbers_have_a_mean_and_a_deviation():
    model = model_of("gbn")
    answer = qw.query(model, ["river"], evidence={"rain": 7.0})
    found = given(model, {0: 7.0})
    assert found.parts[1] == pytest.approx([answer.mean[0], answer.deviation[0]])
    assert found.parts[0].tolist() == [7.0, 0.0]
    with pytest.raises(InputError, match="'rain' must be a finite number"):
        given(model, {0: float("inf")})
    assert [part.tolist() for part in given(model, {0: 1.0, 1: 2.0, 2: 0.5}).parts] == [[1, 0], [2, 0], [0.5, 0]]


@pytest.mark.parametrize("kind", ["nb", "stack", "latent"])
def test_rankers_cannot_be_asked(kind):
    assert not can_answer(model_of(kind))
    with pytest.raises(IntractableError, match="cannot be asked for probabilities given evidence"):
        given(model_of(kind), {0: 1})


def test_evidence_that_cannot_happen():
    with pytest.raises(ZeroEvidenceError, match="tub = yes, either = no"):
        given(qw.textbook("asia"), {1: 0, 5: 1})


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (None, "states by variable"),
        ([], "states by variable"),
        ({"x": 0}, "by number"),
        ({"-1": 0}, "by number"),
        ({"²": 0}, "by number"),
        ({"9" * 5000: 0}, "by number"),
        ({"99": 0}, "There is no variable 99"),
        ({"0": 2}, "numbered from 0 to 1. Got 2"),
        ({"0": -1}, "Got -1"),
        ({"0": 0.5}, "Got 0.5"),
        ({"0": "yes"}, "numbers of states"),
        ({"0": True}, "numbers of states"),
        ({"0": None}, "numbers of states"),
        ({"0": [0] * 1000}, "…"),
        ({"0": 10**400}, "numbers of states"),
        ({"0": float("nan")}, "Got nan"),
        ({"0": float("inf")}, "Got inf"),
    ],
)
def test_evidence_that_makes_no_sense_is_refused_in_a_sentence(evidence, said):
    with pytest.raises(QuiltworkError, match=said) as refused:
        Answers.of(qw.textbook("asia")).marginals(evidence)
    assert len(str(refused.value)) < 200


def test_an_answer_is_plain():
    told = Answers.of(qw.textbook("asia")).marginals({"2": 0})
    assert told["marginals"][3] == [0.1, 0.9]
    assert {key: told[key] for key in ("method", "converged", "error", "note")} == {
        "method": "exact", "converged": True, "error": None, "note": "",
    }  # fmt: skip


@pytest.mark.parametrize("v", [-1, 8, "0", 1.0, None, True])
def test_a_variable_is_a_number(v):
    with pytest.raises(InputError, match="from 0 to 7"):
        Answers.of(qw.textbook("asia")).local(v)


def test_a_model_is_served_without_its_local_distributions_which_are_asked_for():
    answers = Answers.of(qw.textbook("asia"), qw.textbook("asia"))
    assert answers.document["locals"] is None and answers.other["locals_omitted"]
    assert answers.local(3)["type"] == "table"
    large = Answers.of(network(8, [()] * 7 + [tuple(range(7))]))
    assert large.local(7)["shown"] == large.local(7)["total"] == 128
