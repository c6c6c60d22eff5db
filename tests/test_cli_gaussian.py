"""The command line on numbers: learn, query, evaluate, compare, sample and info of Gaussian networks, and bins."""

import csv
import json

import numpy as np
import pytest

import quiltwork as qw


@pytest.fixture(autouse=True)
def table(cli):
    """wine.csv: 400 rows of numbers."""
    rng = np.random.default_rng(0)
    sugar, pH = rng.normal(5, 2, 400), rng.normal(3.2, 0.2, 400)
    alcohol = 8 + 0.4 * sugar - 2 * (pH - 3.2) + rng.normal(0, 0.5, 400)
    quality = np.clip(np.round(alcohol / 2 + rng.normal(0, 0.5, 400)), 3, 9).astype(int)
    with open("wine.csv", "w") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["residual sugar", "pH", "alcohol", "quality"])
        writer.writerows(zip(sugar.round(2), pH.round(2), alcohol.round(2), quality))


@pytest.fixture
def wine(cli, tmp_path):
    assert cli("learn", "wine.csv", "--model", "gbn", "-o", "wine.qw", "--penalty", "bic", "--search", "climb")[0] == 0
    return qw.load(tmp_path / "wine.qw")


def as_json(outcome):
    code, out, err = outcome
    assert (code, err) == (0, "")
    return json.loads(out)


def test_learn_says_what_was_learned(cli, tmp_path):
    code, out, err = cli("learn", "wine.csv", "--model", "gbn", "-o", "m.qw", "--penalty", "3.5", "--restarts", "20")
    assert (code, err) == (0, "")
    model = qw.load(tmp_path / "m.qw")
    assert model.kind == "gbn" and model.provenance["parameters"]["penalty"] == 3.5
    for word in ("rows", "400", "arcs", str(len(model.arcs)), "parameters", "score"):
        assert word in out


def test_query_shows_mean_deviation_and_an_interval(cli, wine):
    code, out, err = cli("query", "wine.qw", "alcohol", "--given", "pH=3.2")
    assert (code, err) == (0, "")
    answer = qw.query(wine, "alcohol", {"pH": 3.2})
    low, high = answer.interval()[0]
    assert "P(alcohol | pH=3.2)" in out and "mean" in out and "deviation" in out
    for number in (*answer["alcohol"], low, high):
        assert f"{number:.6g}" in out
    told = as_json(cli("query", "wine.qw", "alcohol", "quality", "--given", "pH=3.2", "residual sugar=4", "--json"))
    assert told["method"] == "exact" and [n["variable"] for n in told["numbers"]] == ["alcohol", "quality"]
    assert np.array(told["covariance"]).shape == (2, 2)
    code, _, err = cli("query", "wine.qw", "alcohol", "--given", "pH=sour")
    assert code == 2 and err == "The evidence for 'pH' must be a finite number. Got 'sour' instead.\n"


def test_evaluate_and_compare(cli, wine):
    told = as_json(cli("evaluate", "wine.qw", "wine.csv", "--json"))
    rows = qw.read_table("wine.csv")
    assert told["metrics"]["ll"]["mean"] == pytest.approx(qw.log_likelihood(wine, rows).mean())
    assert told["metrics"]["pll"]["mean"] == pytest.approx(qw.pseudo_log_likelihood(wine, rows).mean())
    models = "gbn:search=climb:penalty=2,gbn:search=climb:penalty=100000,bn:search=climb:discretise=4"
    found = as_json(cli("compare", "wine.csv", "--models", models, "--folds", "3", "--json"))["models"]
    few, none, bins = (one["metrics"]["ll"]["mean"] for one in found)
    assert few > none and np.isfinite(bins)
    code, out, err = cli("compare", "wine.csv", "--models", models, "--folds", "3")
    starred = [line for line in out.splitlines() if "*" in line]
    assert (code, err) == (0, "") and "densities of numbers; do not compare" in out
    assert sum("gbn" in line for line in starred) >= 1 and sum(line.startswith("bn") for line in starred) == 1


def test_sample_is_a_table_that_can_be_learned_from(cli, wine, tmp_path):
    assert cli("sample", "wine.qw", "-n", "50", "-o", "more.csv") == (0, "", "")
    rows = qw.read_table(tmp_path / "more.csv")
    np.testing.assert_allclose(rows.to_numpy(), qw.sample(wine, 50).values)
    assert cli("learn", "more.csv", "--model", "gbn", "-o", "m.qw", "--search", "climb")[0] == 0


def test_info_tells_every_regression(cli, wine):
    code, out, err = cli("info", "wine.qw")
    assert (code, err) == (0, "") and "'gbn'" in out and "mean given its parents" in out and "penalty=bic" in out
    told = as_json(cli("info", "wine.qw", "--json"))
    cpd = wine.cpds[2]
    assert told["numbers"]["alcohol"]["intercept"] == cpd.intercept
    assert list(told["numbers"]["alcohol"]["weights"].values()) == cpd.weights.tolist()
    code, out, err = cli("info", "wine.qw", "alcohol")
    assert (code, err) == (0, "") and "blanket" in out and f"{cpd.deviation:.6g}" in out
    assert as_json(cli("info", "wine.qw", "alcohol", "--json"))["deviation"] == cpd.deviation


def test_trouble_is_told_in_one_sentence(cli, tmp_path):
    (tmp_path / "bad.csv").write_text("pH,kind\n3.2,red\n3.3,white\n3.1,red\n")
    code, out, err = cli("learn", "bad.csv", "--model", "gbn", "-o", "m.qw")
    assert (code, out) == (2, "") and err.startswith("Column 'kind' holds the text 'red' in row 0, and here every cell")
    code, out, err = cli("learn", "wine.csv", "--model", "gbn", "-o", "m.qw", "--penalty", "-1")
    assert (code, out) == (2, "") and "'penalty' parameter of GaussianNetwork must be" in err and "Got '-1'" in err
    assert cli("convert", "wine.csv", "wine.bif")[0] == 2
    assert not (tmp_path / "m.qw").exists()


def test_bins_on_the_command_line(cli, tmp_path):
    assert cli("learn", "wine.csv", "-o", "b.qw", "--discretise", "3", "--search", "climb")[0] == 0
    model = qw.load(tmp_path / "b.qw")
    assert [v.n_states for v in model.variables][:3] == [3, 3, 3]
    by_number = as_json(cli("query", "b.qw", "quality", "--given", "alcohol=9.99", "--json"))
    state = model.variables[2].states[model.variables[2].index(9.99)]
    assert (
        by_number["probabilities"]
        == as_json(cli("query", "b.qw", "quality", "--given", f"alcohol={state}", "--json"))["probabilities"]
    )
    edges = "alcohol=9 11, pH=3.2 3.3, residual sugar=2"
    assert cli("learn", "wine.csv", "-o", "b.qw", "--discretise", edges, "--search", "climb")[0] == 0
    model = qw.load(tmp_path / "b.qw")
    assert model.variables[2].states == ("(-inf, 9]", "(9, 11]", "(11, inf)") and model.variables[0].n_states == 2
    code, _, err = cli("learn", "wine.csv", "-o", "c.qw", "--discretise", "alcohol")
    assert code == 2 and "Bins must be written" in err


@pytest.mark.parametrize(
    "metric, says", [("mrr", "no items to rank; evaluate it by ll or pll"), ("cmll", "use pseudo_")]
)
def test_what_numbers_do_not_have_is_refused(cli, wine, metric, says):
    code, out, err = cli("evaluate", "wine.qw", "wine.csv", "--metric", metric)
    assert code == 2 and out == "" and says in err and err.count("\n") == 1
