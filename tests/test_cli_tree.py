"""Markov trees on the command line: over states and over numbers."""

import json

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.cli import run


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    qw.sample(qw.textbook("cancer"), 3000, seed=0).to_pandas().to_csv("cancer.csv", index=False)
    rng = np.random.default_rng(0)
    sun = rng.normal(6, 2, 300)
    sugar = 10 + 1.5 * sun + rng.normal(0, 1, 300)
    np.savetxt("wine.csv", np.column_stack([sun, sugar]), delimiter=",", header="sun,sugar", comments="")


def told(capsys, *words):
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_states(capsys):
    assert told(capsys, "learn", "cancer.csv", "--model", "tree", "-o", "t.qw")["edges"] == 4
    tree = qw.load("t.qw")
    info = told(capsys, "info", "t.qw")
    assert [tuple(edge) for edge in info["edges_list"]] == tree.edges and info["strengths"] == tree.strengths.tolist()
    around = told(capsys, "info", "t.qw", "smoker")
    assert around["edges_list"] == [["smoker", "cancer"]] and len(around["strengths"]) == 1
    answer = told(capsys, "query", "t.qw", "cancer", "--given", "xray=positive")
    exact = qw.query(tree, ["cancer"], {"xray": "positive"})
    assert [row["probability"] for row in answer["probabilities"]] == exact.probabilities.tolist()
    assert told(capsys, "evaluate", "t.qw", "cancer.csv")["metrics"]["ll"]["mean"] < 0
    assert run(["info", "t.qw"]) == 0
    assert "strength" in capsys.readouterr().out


def test_numbers(capsys):
    assert told(capsys, "learn", "wine.csv", "--model", "tree", "-o", "w.qw")["edges"] == 1
    tree = qw.load("w.qw")
    assert tree.kind == "gaussian-tree"
    assert "strengths" in told(capsys, "info", "w.qw", "sun")
    assert run(["query", "w.qw", "sugar", "--given", "sun=9"]) == 0
    assert f"{qw.query(tree, ['sugar'], {'sun': 9})['sugar'].mean:.4g}"[:4] in capsys.readouterr().out
    assert run(["sample", "w.qw", "-n", "3", "-o", "rows.csv"]) == 0
    assert np.loadtxt("rows.csv", delimiter=",", skiprows=1).shape == (3, 2)
    capsys.readouterr()
    (model,) = told(capsys, "compare", "wine.csv", "--models", "tree", "--folds", "3")["models"]
    assert np.isfinite(model["metrics"]["ll"]["mean"])


def test_a_parameter_of_the_learner_is_an_option(capsys):
    assert run(["learn", "cancer.csv", "--model", "tree", "--smoothing", "-1", "-o", "t.qw"]) == 2
    assert "'smoothing' parameter of MarkovTree must be" in capsys.readouterr().err
    assert (
        run(["learn", "wine.csv", "--model", "tree", "--family", "discrete", "--max-states", "10", "-o", "t.qw"]) == 2
    )
