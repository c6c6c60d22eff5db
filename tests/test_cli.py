"""Every command does its job, for a person and for a machine, and says it in the places where it is looked for."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.cli.app import app
from quiltwork.cli.options import describe, model_spec, parameters, split_options
from quiltwork.errors import ParameterError

ROOT = Path(__file__).parent.parent
COMMANDS = [c.name or c.callback.__name__ for c in app.registered_commands]


@pytest.fixture
def asia(cli, tmp_path):
    """A folder with asia.qw and 2,000 of its rows in asia.csv."""
    qw.save(qw.textbook("asia"), tmp_path / "asia.qw")
    assert cli("sample", "asia.qw", "-n", "2000", "--seed", "1", "-o", "asia.csv") == (0, "", "")
    return tmp_path


def as_json(outcome):
    code, out, err = outcome
    assert (code, err) == (0, "")
    return json.loads(out)


# The commands


def test_learn_writes_a_model_and_says_what_it_is(cli, asia):
    code, out, err = cli("learn", "asia.csv", "-o", "m.qw", "--search", "climb", "--max-parents", "2")
    assert (code, err) == (0, "")
    model = qw.load(asia / "m.qw")
    assert model.provenance["parameters"]["max_parents"] == 2
    for word in ("rows", "2000", "variables", "arcs", str(len(model.arcs)), "parameters", "score", "seconds", "m.qw"):
        assert word in out


def test_learn_in_json(cli, asia):
    told = as_json(cli("learn", "asia.csv", "--output=m.qw", "--restarts=2", "--json"))
    assert list(told) == ["file", "rows", "variables", "arcs", "parameters", "score", "seconds"]
    assert (told["file"], told["rows"], told["variables"]) == ("m.qw", 2000, 8)


def test_learn_takes_knowledge_as_words(cli, asia):
    words = ["--required", "asia->dysp", "--forbidden", "either->xray, xray->either", "--restarts", "1"]
    assert cli("learn", "asia.csv", "-o", "m.qw", *words)[0] == 0
    arcs = qw.load("m.qw").arcs
    assert ("asia", "dysp") in arcs
    assert not {("either", "xray"), ("xray", "either")} & set(arcs)


def test_learn_reads_a_prior_network_from_its_file(cli, asia):
    words = ["--score", "prior-network", "--search", "climb", "--max-parents", "2"]
    cli("convert", "asia.qw", "asia.bif")
    assert cli("learn", "asia.csv", "-o", "m.qw", *words, "--prior-network", "asia.qw")[0] == 0
    assert cli("learn", "asia.csv", "-o", "n.qw", *words, "--prior-network", "asia.bif")[0] == 0
    assert qw.load("m.qw").arcs == qw.load("n.qw").arcs != []
    code, _, err = cli("learn", "asia.csv", "-o", "n.qw", *words, "--prior-network", "asia.csv")
    assert code == 2 and ".bif" in err


def test_learn_reads_votes(cli, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["user,item"]
    for user in range(300):
        first = rng.random() < 0.5
        lines += [f"u{user},tea"] * first + [f"u{user},milk"] * (first ^ (rng.random() < 0.1)) + [f"u{user},bread"]
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n")
    told = as_json(cli("learn", "votes.csv", "-o", "m.qw", "--json"))
    assert (told["rows"], told["variables"]) == (300, 3)
    model = qw.load("m.qw")
    assert {frozenset(arc) for arc in model.arcs} == {frozenset(("tea", "milk"))}
    assert as_json(cli("evaluate", "m.qw", "votes.csv", "--json"))["rows"] == 300


def test_an_item_that_nobody_chose_was_not_chosen(cli, tmp_path):
    (tmp_path / "all.csv").write_text("user,item\na,tea\nb,tea\nc,rum\nd,gin\n")
    (tmp_path / "some.csv").write_text("item,user,time\ntea,e,3\ncola,f,4\n")
    cli("learn", "all.csv", "-o", "m.qw", "--max-parents", "0")
    told = as_json(cli("evaluate", "m.qw", "some.csv", "--metric", "ll", "--json"))
    rows = {"gin": [0, 0], "rum": [0, 0], "tea": [1, 0]}
    assert told["metrics"]["ll"]["mean"] == pytest.approx(qw.log_likelihood(qw.load("m.qw"), rows).mean())


def test_evaluate_is_the_mean_over_rows(cli, asia):
    told = as_json(cli("evaluate", "asia.qw", "asia.csv", "--json"))
    model, rows = qw.load("asia.qw"), qw.read_table("asia.csv")
    for name, function in (("ll", qw.log_likelihood), ("pll", qw.pseudo_log_likelihood)):
        values = function(model, rows)
        assert told["metrics"][name]["mean"] == pytest.approx(values.mean(), rel=1e-12)
        assert told["metrics"][name]["standard_error"] == pytest.approx(values.std(ddof=1) / 2000**0.5, rel=1e-9)
    code, out, _ = cli("evaluate", "asia.qw", "asia.csv", "--metric", "pll")
    assert code == 0 and "pll" in out and "ll " not in out.replace("pll", "")


def test_evaluate_reads_the_test_part_of_a_set(cli, tmp_path):
    rows = np.random.default_rng(0).random((90, 9)) < 0.3
    parts = {"train": rows[:50], "valid": rows[50:70], "test": rows[70:]}
    packed = {name: np.packbits(part, axis=1) for name, part in parts.items()}
    np.savez_compressed(tmp_path / "set.npz", n_vars=9, n_rows=[50, 20, 20], **packed)
    assert as_json(cli("learn", "set.npz", "-o", "m.qw", "--json"))["rows"] == 50
    told = as_json(cli("evaluate", "m.qw", "set.npz", "--metric", "ll", "--json"))
    test = qw.log_likelihood(qw.load("m.qw"), rows[70:].astype(int))
    assert told["rows"] == 20 and told["metrics"]["ll"]["mean"] == pytest.approx(test.mean())
    assert as_json(cli("evaluate", "m.qw", "set.npz", "--split", "train", "--json"))["rows"] == 50


def test_compare_says_who_is_better(cli, asia):
    words = ["--models", "bn:max_parents=0,bn:search=climb", "--folds", "3", "--seed", "4"]
    told = as_json(cli("compare", "asia.csv", *words, "--json"))
    empty, climbed = told["models"]
    assert climbed["metrics"]["ll"]["mean"] > empty["metrics"]["ll"]["mean"] + 0.1
    assert len(climbed["metrics"]["pll"]["folds"]) == 3
    folds = climbed["metrics"]["ll"]["folds"]
    assert climbed["metrics"]["ll"]["deviation"] == pytest.approx(np.std(folds, ddof=1))
    again = as_json(cli("compare", "asia.csv", *words, "--json"))
    assert [m["metrics"] for m in again["models"]] == [m["metrics"] for m in told["models"]]
    code, out, _ = cli("compare", "asia.csv", *words)
    starred = [line for line in out.splitlines() if "*" in line]
    assert code == 0 and len(starred) == 1 and "bn:search=climb" in starred[0] and "±" in starred[0]


def test_query_answers_like_the_library(cli, asia):
    told = as_json(cli("query", "asia.qw", "lung", "bronc", "--given", "smoke=yes", "xray=no", "--json"))
    answer = qw.query(qw.textbook("asia"), ["lung", "bronc"], evidence={"smoke": "yes", "xray": "no"})
    for row in told["probabilities"]:
        assert row["probability"] == pytest.approx(answer[tuple(row["states"])], abs=1e-12)
    assert len(told["probabilities"]) == 4 and told["evidence"] == {"smoke": "yes", "xray": "no"}
    code, out, _ = cli("query", "asia.qw", "--given", "smoke=yes", "--given=xray=no", "lung")
    assert code == 0 and "P(lung | smoke=yes, xray=no)" in out


def test_sample_goes_to_a_file_or_to_the_pipe(cli, asia):
    code, out, err = cli("sample", "asia.qw", "-n", "5", "--seed", "3")
    assert (code, err) == (0, "")
    header, *rows = csv.reader(out.splitlines())
    assert header == [v.name for v in qw.textbook("asia").variables]
    assert rows == [list(r) for r in zip(*qw.sample(qw.textbook("asia"), 5, seed=3).to_dict().values())]
    assert cli("sample", "asia.qw", "-n", "5", "--seed", "3", "-o", "rows.tsv") == (0, "", "")
    assert (asia / "rows.tsv").read_text() == out.replace(",", "\t")


def test_sample_writes_cells_as_they_are(cli, tmp_path):
    names = {"a": ["=1+1", "+x", "-y", "@z", 'q"q', "c,d", "two\nlines"] * 4}
    qw.save(qw.learn("bn", names), tmp_path / "m.qw")
    cli("sample", "m.qw", "-n", "200", "-o", "rows.csv")
    with open(tmp_path / "rows.csv", newline="") as file:
        drawn = {row["a"] for row in csv.DictReader(file)}
    assert drawn == set(names["a"])


@pytest.mark.parametrize("ending", ["bif", "xmlbif", "bif.gz", "xmlbif.gz"])
def test_convert_there_and_back(cli, asia, ending):
    assert as_json(cli("convert", "asia.qw", f"asia.{ending}", "--json"))["arcs"] == 8
    assert cli("convert", f"asia.{ending}", "back.qw")[0] == 0
    there, back = qw.load("asia.qw"), qw.load("back.qw")
    assert there.arcs == back.arcs
    for one, other in zip(there.cpds, back.cpds):
        assert np.array_equal(one.probs, other.probs)


def test_convert_to_uai_keeps_the_numbers(cli, asia):
    assert cli("convert", "asia.qw", "asia.uai")[0] == 0
    told = as_json(cli("info", "asia.uai", "--json"))
    assert (told["variables"], told["arcs"], told["parameters"]) == (8, 8, 18)


def test_info_of_a_model_a_network_and_a_table(cli, asia):
    cli("learn", "asia.csv", "-o", "m.qw", "--restarts", "1")
    told = as_json(cli("info", "m.qw", "--json"))
    assert told["kind"] == "bn" and told["states"]["smoke"] == ["no", "yes"]
    assert told["provenance"]["rows"] == 2000 and all("strength" in arc for arc in told["arcs_list"])
    code, out, _ = cli("info", "m.qw")
    assert code == 0 and all(word in out for word in ("smoke", "no, yes", "strength", "Where it came from"))
    cli("convert", "asia.qw", "asia.bif")
    assert as_json(cli("info", "asia.bif", "--json"))["parameters"] == 18
    table = as_json(cli("info", "asia.csv", "--json"))
    assert (table["kind"], table["rows"], table["variables"]) == ("table", 2000, 8)


def test_a_long_list_is_cut_for_a_person_and_whole_for_a_machine(cli, tmp_path):
    names = [f"v{i:02}" for i in range(30)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + "\n".join(",".join("01"[i % 2] * 30) for i in range(6)))
    assert "10 more variables" in cli("info", "wide.csv")[1]
    assert len(as_json(cli("info", "wide.csv", "--json"))["states"]) == 30


def test_names_are_not_markup_and_do_not_steer_the_terminal(cli, tmp_path):
    qw.save(qw.learn("bn", {"[red]x[/red]": ["\x1b[2J", "[bold]"] * 5}), tmp_path / "m.qw")
    out = cli("info", "m.qw")[1]
    assert "[red]x[/red]" in out and "[bold]" in out and "\x1b" not in out


def test_demo_takes_the_whole_tour(cli, tmp_path):
    code, out, err = cli("demo")
    assert (code, err) == (0, "")
    for word in ("Cross-validation", "Strongest arcs", "P(", "recommend", "What to try next"):
        assert word.lower() in out.lower()
    assert max(map(len, out.splitlines())) <= 80
    models = list((tmp_path / "quiltwork-demo").glob("*.qw"))
    assert models and all(qw.load(path).arcs for path in models)


# Options of the learner


def test_every_parameter_has_an_option_and_help(cli):
    code, out, _ = cli("learn", "--model", "bn", "--help")
    assert code == 0
    for option, default, _ in describe("bn"):
        assert option in out
    assert "--max-parents" in out and "restarts" in out


def test_options_can_stand_anywhere():
    words = ["--restarts", "3", "t.csv", "--score=bdeu", "-o", "m.qw"]
    mine, others = split_options(words, ["-o", "--output"])
    assert mine == ["t.csv", "-o", "m.qw"]
    assert parameters(others, "bn") == {"restarts": 3, "score": "bdeu"}


def test_a_model_spec_reads_parameters():
    assert model_spec("bn:search=climb:max_parents=2") == ("bn", {"search": "climb", "max_parents": 2})


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("bm", "no learner 'bm'"),
        ("bn:serch=climb", "did you mean '--search'"),
        ("bn:search=climbing", "must be one of"),
        ("bn:climb", "has no '='"),
        ("bn:restarts=-1", "at least 0"),
        ("bn:score=bic:score=aic", "twice"),
    ],
)
def test_a_wrong_model_spec_is_explained(spec, says):
    with pytest.raises(ParameterError, match=says):
        model_spec(spec)


# Places where a command must be found


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_is_documented(cli, command):
    code, out, err = cli(command, "--help")
    assert (code, err) == (0, "") and "Usage" in out
    assert f"quiltwork {command}" in (ROOT / "README.md").read_text("utf-8")
    assert f"quiltwork {command}" in (ROOT / "docs" / "cli.md").read_text("utf-8")


def test_the_list_of_commands():
    assert COMMANDS == [
        "demo", "learn", "evaluate", "compare", "rank", "query", "sample", "convert", "info", "view", "serve",
    ]  # fmt: skip


def test_version_and_bare_call(cli):
    assert cli("--version") == (0, f"quiltwork {qw.__version__}\n", "")
    code, out, err = cli()
    assert code == 0 and "Usage" in out and err == ""


def test_python_dash_m():
    ran = subprocess.run([sys.executable, "-m", "quiltwork", "--version"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, f"quiltwork {qw.__version__}\n")
