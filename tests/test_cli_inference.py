"""Inference on the command line: every method of a query, and likelihoods of Markov networks."""

import json

import pytest

import quiltwork as qw


@pytest.fixture(autouse=True)
def files(cli):
    """A table, a Markov network learned from it, and the network it was sampled from."""
    asia = qw.textbook("asia")
    rows = qw.sample(asia, 300, seed=0)
    rows.to_pandas().to_csv("asia.csv", index=False)
    qw.save(qw.learn("mn", rows, structure="chi2", k=2), "mn.qw")
    qw.save(asia, "bn.qw")


@pytest.mark.parametrize("method", ["exact", "gibbs", "mcsat", "bp", "mf", "auto"])
def test_every_method_answers_and_says_how_sure_it_is(cli, method):
    code, out, err = cli(
        "query", "mn.qw", "bronc", "--given", "smoke=yes", "--method", method, "--samples", "400", "--json"
    )
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["method"] == ("exact" if method == "auto" else method)
    assert sum(one["probability"] for one in answer["probabilities"]) == pytest.approx(1.0)
    sampled = method in ("gibbs", "mcsat")
    assert (answer["r_hat"] is not None) == (answer["n_effective"] is not None) == sampled
    assert (answer["error"] is None) == (method in ("bp", "mf"))


def test_answers_in_words(cli):
    assert "by mcsat: standard error" in cli("query", "mn.qw", "bronc", "--method", "mcsat", "--samples", "80")[1]
    assert "by bp, which has no error bar and settled" in cli("query", "mn.qw", "bronc", "--method", "bp")[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["bn.qw", "xray", "--given", "lung=yes", "either=no", "--method", "bp"], "probability zero"),
        (["bn.qw", "xray", "--given", "lung=yes", "either=no", "--method", "mcsat"], "No possible state"),
        (["bn.qw", "xray", "--method", "mf"], "every joint state is possible"),
        (["mn.qw", "xray", "--given", "xray=yes", "--method", "mcsat"], "cannot be both"),
        (["mn.qw", "xray", "--given", "smoke=yes", "smoke=no"], "two states"),
        (["mn.qw", "xray", "--method", "magic"], "'method'"),
    ],
)
def test_wrong_questions_end_in_one_sentence(cli, words, says):
    code, out, err = cli("query", *words)
    assert code == 2 and out == "" and says in err and err.count("\n") == 1


def test_evidence_may_be_listed_with_commas(cli):
    apart = cli("query", "mn.qw", "bronc", "--given", "smoke=yes", "xray=no", "--json")
    assert apart[0] == 0 and apart == cli("query", "mn.qw", "bronc", "--given", "smoke=yes,xray=no", "--json")
    assert apart == cli("query", "mn.qw", "bronc", "--given", "smoke=yes, xray=no", "--json")
    code, _, err = cli("query", "mn.qw", "bronc", "--given", "smoke=yes,no")
    assert code == 2 and "'smoke' has no state 'yes,no'" in err


@pytest.mark.parametrize("agree", [True, False])
def test_evaluate_tells_how_far_to_trust_a_sampled_cmll(cli, monkeypatch, agree):
    monkeypatch.setattr("quiltwork.infer.groups.MAX_JOINT", 1)
    monkeypatch.setattr("quiltwork.infer.groups.R_HAT_LIMIT", 100.0 if agree else 0.5)
    qw.sample(qw.textbook("asia"), 3, seed=0).to_pandas().to_csv("few.csv", index=False)
    told = json.loads(cli("evaluate", "mn.qw", "few.csv", "--metric", "cmll", "--json")[1])["cmll"]
    assert told["method"] == "gibbs" and told["exact"] < 1 and told["r_hat"] >= 1
    assert told["converged"] == agree and told["n_unsettled"] == (0 if agree else 3)
    said = cli("evaluate", "mn.qw", "few.csv", "--metric", "cmll")[1]
    assert "cmll is by gibbs, ±" in said and "% of it exact" in said
    assert ("; the chains agree" if agree else "; the chains of 3 rows do not agree") in said


def test_evaluate_tells_the_groups_of_cmll(cli):
    code, out, _ = cli("evaluate", "mn.qw", "asia.csv", "--metric", "ll,pll,cmll", "--json")
    found = json.loads(out)
    assert code == 0 and set(found["metrics"]) == {"ll", "pll", "cmll"}
    assert found["cmll"]["method"] == "exact" and len(found["cmll"]["groups"]) == 4
    expected = qw.conditional_marginal_log_likelihood(qw.load("mn.qw"), qw.read_table("asia.csv"))
    assert found["metrics"]["cmll"]["mean"] == pytest.approx(expected.mean)
    assert "cmll is exact; groups: " in cli("evaluate", "mn.qw", "asia.csv", "--metric", "cmll")[1]
    assert "cmll" not in cli("evaluate", "mn.qw", "asia.csv")[1]


@pytest.mark.parametrize("structure", ["dtsl", "l1", "dtsl+l1", "chi2", "bottom-up", "top-down", "independent"])
def test_every_structure_is_learned(cli, structure):
    code, out, _ = cli("learn", "asia.csv", "--model", "mn", "--structure", structure, "-o", "new.qw", "--json")
    model = qw.load("new.qw")
    assert code == 0 and json.loads(out)["variables"] == 8
    assert model.provenance["parameters"]["structure"] == structure and len(model.weights) >= 8


def test_weights_in_every_way(cli):
    rows = qw.read_table("asia.csv")
    learn = "learn", "asia.csv", "--model", "mn", "--structure", "dtsl", "-o", "new.qw"
    for words, parameters in (
        (
            ["--features", "nonzero", "--prior-width", "10,1,0.3"],
            {"features": "nonzero", "prior_width": (10.0, 1.0, 0.3)},
        ),
        (["--lasso", "2"], {"lasso": 2.0}),
        (["--batch", "100", "--tol", "1e-3"], {"batch": 100, "tol": 1e-3}),
        (["--objective", "exact"], {"objective": "exact"}),
    ):
        assert cli(*learn, *words)[0] == 0
        assert qw.load("new.qw").features == qw.learn("mn", rows, structure="dtsl", **parameters).features
    code, _, err = cli(*learn, "--objective", "exact", "--batch", "100")
    assert code == 2 and "'batch'" in err and err.count("\n") == 1


def test_libras_files_are_asked_like_any_other_and_broken_ones_end_in_one_sentence(cli, tmp_path):
    assert cli("convert", "mn.qw", "m.mn")[0] == 0
    code, out, _ = cli("query", "m.mn", "v4", "--given", "v2=1", "--json")
    expected = qw.query(qw.load("mn.qw"), ["bronc"], {"smoke": qw.load("mn.qw").variables[2].states[1]})
    assert [one["probability"] for one in json.loads(out)["probabilities"]] == pytest.approx(expected.probabilities)
    text = (tmp_path / "m.mn").read_text()
    for broken, says in ((text[:-3], "ends where '}' should stand"), (text.replace("v3_", "v33_"), "no variable v33")):
        (tmp_path / "m.mn").write_text(broken)
        code, out, err = cli("query", "m.mn", "v4")
        assert code == 2 and out == "" and says in err and err.count("\n") == 1
