"""Ranking on the command line: recommendations for one user and for many, and rankers compared like in the papers."""

import csv
import json

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.cli import judging
from quiltwork.data.samples import planted_votes
from quiltwork.errors import ParameterError
from quiltwork.rank.protocols import all_but_1, evaluate, given_fold, row_folds

RANKERS = ["hrf", "bn", "dn", "mn", "nb", "itemrank", "popularity"]  # those of the paper


@pytest.fixture
def told(cli):
    """Run a command that must succeed without a note; returns its JSON."""

    def call(*words):
        code, out, err = cli(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


def write_votes(path, votes, header="user,item"):
    path.write_text("\n".join([header, *(",".join(map(str, vote)) for vote in votes)]) + "\n")


@pytest.fixture
def books(cli, tmp_path):
    """A folder with the planted votes in books.csv and a hybrid field learned from them in books.qw."""
    votes = planted_votes(n_users=200)
    with open(tmp_path / "books.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "item"])
        writer.writerows((votes.users[u], votes.items[i]) for u, i in zip(votes.user, votes.item))
    assert cli("learn", "books.csv", "--model", "hrf", "-o", "books.qw")[0] == 0
    return votes


# rank


def test_rank_for_one_history_is_what_the_library_recommends(told, books):
    model = qw.load("books.qw")
    history = ["Orbit of Salt", "The Last Airlock"]
    answer = told("rank", "books.qw", "--given", *history, "--top", "4")
    assert answer["given"] == history
    wanted = qw.recommend(model, history, n=4)
    assert [(one["item"], one["score"]) for one in answer["items"]] == wanted
    with_seen = told("rank", "books.qw", "--given", *history, "--top", "60", "--seen")["items"]
    assert [(one["item"], one["score"]) for one in with_seen] == qw.recommend(model, history, n=60, seen=True)
    assert len(told("rank", "books.qw", "--given", *history, "--top", "60")["items"]) == 58


def test_rank_draws_a_table(cli, books):
    code, out, err = cli("rank", "books.qw", "--given", "Slow Light", "--top", "2")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Given Slow Light" and lines[1].split() == ["rank", "item", "score"]
    assert [line.split()[0] for line in lines[3:5]] == ["1", "2"]


def test_a_user_without_a_history_gets_the_popularity_order(cli, told, books, tmp_path):
    counts = np.bincount(books.item, minlength=len(books.items))
    by_count = [books.items[i] for i in np.argsort(-counts, kind="stable")[:7]]
    for words in ([], ["--given"], ["--given", "--top", "7"]):
        assert [one["item"] for one in told("rank", "books.qw", *words)["items"]][:7] == by_count
    assert "most popular" in cli("rank", "books.qw")[1]


def test_unknown_items_are_named_once(cli, books, tmp_path):
    code, out, err = cli("rank", "books.qw", "--given", "No Such Book", "Slow Light", "Nor This", "--top", "1")
    assert code == 0 and err.count("\n") == 1 and "'No Such Book'" in err and "'Nor This'" in err
    write_votes(tmp_path / "users.csv", [("ann", "No Such Book"), ("bob", "Slow Light"), ("bob", "Nor This")])
    code, out, err = cli("rank", "books.qw", "--users", "users.csv", "--top", "1", "--json")
    assert code == 0 and err.count("\n") == 1 and "'No Such Book'" in err and "'Nor This'" in err
    ann, bob = json.loads(out)["users"]
    assert ann["items"][0]["item"] == qw.recommend(qw.load("books.qw"), [], n=1)[0][0]
    assert bob["items"][0]["item"] == qw.recommend(qw.load("books.qw"), ["Slow Light"], n=1)[0][0]


def test_rank_for_every_user_of_a_votes_file(cli, told, books, tmp_path):
    answer = told("rank", "books.qw", "--users", "books.csv", "--top", "3")
    assert [one["user"] for one in answer["users"]] == list(books.users)
    model = qw.load("books.qw")
    for place in (0, 57, 199):
        start, stop = books.indptr[place : place + 2]
        history = [books.items[i] for i in books.item[start:stop]]
        found = [(one["item"], pytest.approx(one["score"], abs=1e-12)) for one in answer["users"][place]["items"]]
        assert found == qw.recommend(model, history, n=3)
    code, out, _ = cli("rank", "books.qw", "--users", "books.csv", "--top", "1")
    assert code == 0 and out.count("rank   item") == 200 and out.startswith("reader 001\n")


def test_rank_for_the_rows_of_a_table(told, tmp_path):
    rng = np.random.default_rng(0)
    tea = rng.random(300) < 0.5
    table = {"tea": tea, "milk": tea ^ (rng.random(300) < 0.1), "rum": rng.random(300) < 0.3}
    qw.save(qw.learn("bn", {name: column.astype(int) for name, column in table.items()}), tmp_path / "m.qw")
    (tmp_path / "rows.csv").write_text("rum,tea,milk\n0,1,0\n1,0,0\n0,0,0\n")
    first, second, third = told("rank", "m.qw", "--users", "rows.csv")["users"]
    assert [one["user"] for one in (first, second, third)] == [0, 1, 2]
    assert [one["item"] for one in first["items"]] == ["milk", "rum"]
    assert {one["item"] for one in second["items"]} == {"tea", "milk"}
    assert [one["item"] for one in third["items"]][-1] == "rum"


def test_variables_that_are_no_items_are_not_ranked_but_read(told, tmp_path):
    rng = np.random.default_rng(0)
    mood = rng.integers(0, 3, 500)
    tea = (mood == 0) ^ (rng.random(500) < 0.05)
    table = {"mood": np.array(["calm", "sad", "wild"])[mood], "tea": tea.astype(int), "rum": (~tea).astype(int)}
    qw.save(qw.learn("bn", table), tmp_path / "m.qw")
    (tmp_path / "rows.csv").write_text("mood,tea,rum\ncalm,0,1\nwild,0,1\n")
    calm, wild = told("rank", "m.qw", "--users", "rows.csv", "--seen")["users"]
    assert {one["item"] for one in calm["items"]} == {"tea", "rum"}
    score = [{one["item"]: one["score"] for one in user["items"]} for user in (calm, wild)]
    assert score[0]["tea"] > score[1]["tea"]


def test_rank_beside_an_item(cli, told, books):
    from quiltwork.rank.similar import similar_items

    answer = told("rank", "books.qw", "--similar", "Slow Light", "--top", "3")
    assert [(one["item"], one["score"]) for one in answer["items"]] == similar_items(
        qw.load("books.qw"), "Slow Light", n=3
    )
    assert "Similar to Slow Light" in cli("rank", "books.qw", "--similar", "Slow Light")[1]


def test_rank_writes_a_file(cli, books, tmp_path):
    assert cli("rank", "books.qw", "--users", "books.csv", "--top", "2", "-o", "out.csv") == (0, "", "")
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 400 and list(rows[0]) == ["user", "rank", "item", "score"]
    assert [row["rank"] for row in rows[:4]] == ["1", "2", "1", "2"]
    assert cli("rank", "books.qw", "--given", "Slow Light", "-o", "one.tsv") == (0, "", "")
    assert (tmp_path / "one.tsv").read_text().startswith("rank\titem\tscore\n1\t")


def test_options_end_a_list_of_items(told, cli, books):
    answer = told("rank", "books.qw", "--given", "Slow Light", "-o", "x.csv", "--top", "1")
    assert answer["given"] == ["Slow Light"]
    code, _, err = cli("rank", "books.qw", "--given", "Slow Light", "-5")  # an item, though an unknown one
    assert code == 0 and "'-5'" in err


def test_ids_are_the_same_as_numbers_and_as_text(cli, told, tmp_path):
    """Items that are integers in the file to learn from are found under the text that prints like them."""
    rng = np.random.default_rng(1)
    votes = [(u, 12 + 5 * k) for u in range(60) for k in range(4) if rng.random() < 0.3 + 0.4 * ((u + k) % 2)]
    write_votes(tmp_path / "numbers.csv", votes)
    assert cli("learn", "numbers.csv", "--model", "hrf", "-o", "m.qw")[0] == 0
    code, out, err = cli("rank", "m.qw", "--given", "12", "--json")
    assert (code, err) == (0, "") and "12" not in [one["item"] for one in json.loads(out)["items"]]
    write_votes(tmp_path / "text.csv", [("ann", 12), ("ann", 17), ("bob", 22), ("bob", "x9")])  # x9 makes text of all
    code, out, err = cli("rank", "m.qw", "--users", "text.csv", "--json")
    assert code == 0 and err.count("\n") == 1 and "1 item(s)" in err and "'x9'" in err
    ann, bob = json.loads(out)["users"]
    assert {one["item"] for one in ann["items"]} == {"22", "27"}
    assert {one["item"] for one in bob["items"]} == {"12", "17", "27"}
    code, out, err = cli("evaluate", "m.qw", "text.csv", "--metric", "mrr", "--json")
    assert code == 0 and "'x9'" in err and json.loads(out)["queries"] == 1  # of ann, for bob has one item left
    code, out, err = cli("compare", "numbers.csv", "--test", "text.csv", "--models", "nb", "--json")
    assert code == 0 and len(json.loads(out)["models"][0]["metrics"]["mrr"]["folds"]) == 1
    write_votes(tmp_path / "more.csv", [("ann", 12)])  # and numbers again
    assert {one["item"] for one in told("rank", "m.qw", "--users", "more.csv")["users"][0]["items"]} == {
        "17",
        "22",
        "27",
    }


# compare and evaluate


@pytest.mark.parametrize("model", RANKERS)
def test_every_ranker_of_the_paper_learns_and_recommends(cli, told, books, model):
    assert cli("learn", "books.csv", "--model", model, "-o", "m.qw")[0] == 0
    items = told("rank", "m.qw", "--given", "Orbit of Salt", "The Last Airlock", "--top", "5")["items"]
    assert len(items) == 5 and not {"Orbit of Salt", "The Last Airlock"} & {one["item"] for one in items}
    assert cli("info", "m.qw")[0] == 0


def test_compare_prints_the_table_of_the_paper(cli, told, books):
    words = ["compare", "books.csv", "--models", ",".join(RANKERS), "--folds", "2"]
    code, out, err = cli(*words)
    assert (code, err) == (0, "")
    header, _, *lines = out.splitlines()
    assert header.split() == ["model", "mrr", "doa", "learning", "scoring"]
    assert [line.split()[0] for line in lines[: len(RANKERS)]] == RANKERS
    assert all(line.count("±") == 2 for line in lines[: len(RANKERS)])
    by_name = {one["model"]: one["metrics"] for one in told(*words)["models"]}
    for name in ("hrf", "bn", "nb"):
        assert by_name[name]["mrr"]["mean"] > by_name["popularity"]["mrr"]["mean"] + 0.05
    means = by_name["hrf"]["doa"]
    assert means["deviation"] == pytest.approx(np.std(means["folds"], ddof=1))


def test_compare_is_what_the_library_gives(told, books):
    words = ["--models", "hrf:k=3:k_star=4", "--folds", "3", "--seed", "2"]
    answer = told("compare", "books.csv", *words, "--metric", "mrr,doa,micro-doa,auc,ndcg@10,recall@20,cf")
    found = {name: one["folds"] for name, one in answer["models"][0]["metrics"].items()}
    names = {"doa": "macro_doa", "micro-doa": "micro_doa", "cf": "cf_accuracy"}
    for f, fold in enumerate(row_folds(books, lambda rows: all_but_1(rows, random_state=2), 3, 2)):
        model = qw.HybridRandomField(k=3, k_star=4, random_state=2).fit(fold.train).model_
        means = evaluate(lambda histories: qw.item_scores(model, histories), fold.queries).means()
        for name, values in found.items():
            assert values[f] == pytest.approx(means[names.get(name, name)], abs=1e-12)


@pytest.mark.parametrize("protocol", ["all-but-1-first", "all-but-1-fair", "given-2", "votes"])
def test_every_protocol_separates_good_from_bad(told, books, protocol):
    words = ["--models", "popularity,gmf", "--folds", "2", "--protocol", protocol]
    popularity, gmf = told("compare", "books.csv", *words, "--metric", "auc,recall@5")["models"]
    assert gmf["metrics"]["auc"]["mean"] > popularity["metrics"]["auc"]["mean"] + 0.05
    assert all(0 < one["metrics"]["recall@5"]["mean"] < 1 for one in (popularity, gmf))


def test_compare_on_votes_that_somebody_else_held_out(cli, told, books, tmp_path):
    rng = np.random.default_rng(0)
    held = rng.random(len(books)) < 0.2
    for name, which in (("train.csv", ~held), ("test.csv", held)):
        votes = zip(books.user[which], books.item[which])
        write_votes(tmp_path / name, [(u, f'"{books.items[i]}"') for u, i in votes])
    answer = told("compare", "train.csv", "--test", "test.csv", "--models", "gmf", "--metric", "doa,micro-doa")
    assert answer["folds"] == 1
    fold = given_fold(qw.read_votes("train.csv"), qw.read_votes("test.csv"))
    model = qw.GaussianField().fit(fold.train).model_
    means = evaluate(lambda histories: qw.item_scores(model, histories), fold.queries).means()
    found = answer["models"][0]["metrics"]
    assert found["doa"]["mean"] == pytest.approx(means["macro_doa"], abs=1e-12)
    assert found["micro-doa"]["mean"] == pytest.approx(means["micro_doa"], abs=1e-12)
    assert found["doa"]["deviation"] is None
    out = cli("compare", "train.csv", "--test", "test.csv", "--models", "gmf,popularity")[1]
    assert "±" not in out and "*" in out


def test_a_binary_table_can_be_ranked_too(told, tmp_path):
    rng = np.random.default_rng(0)
    shelf = rng.integers(0, 2, 200)
    rows = rng.random((200, 6)) < np.where(np.arange(6) // 3 == shelf[:, None], 0.7, 0.1)
    lines = [",".join("abcdef"), *(",".join("no yes".split()[x] for x in row) for row in rows.astype(int))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    hrf, popularity = told("compare", "t.csv", "--models", "hrf,popularity", "--metric", "mrr", "--folds", "2")[
        "models"
    ]
    assert hrf["metrics"]["mrr"]["mean"] > popularity["metrics"]["mrr"]["mean"] + 0.05


def test_what_a_model_cannot_tell_is_a_dash(cli, told, tmp_path):
    qw.save(qw.textbook("asia"), tmp_path / "asia.qw")
    cli("sample", "asia.qw", "-n", "300", "-o", "asia.csv")
    words = ["compare", "asia.csv", "--models", "hrf,bn:search=climb", "--folds", "2"]
    hrf, bn = told(*words)["models"]
    assert hrf["metrics"]["ll"]["mean"] is None and bn["metrics"]["ll"]["mean"] < 0
    assert hrf["metrics"]["pll"]["mean"] < 0
    line = next(line for line in cli(*words)[1].splitlines() if line.startswith("hrf"))
    assert line.split()[1] == "-" and line.count("±") == 1


def test_evaluate_tells_what_the_model_can(cli, told, books):
    assert list(told("evaluate", "books.qw", "books.csv")["metrics"]) == ["pll"]
    code, _, err = cli("evaluate", "books.qw", "books.csv", "--metric", "ll")
    assert code == 2 and "HybridField" in err
    cli("learn", "books.csv", "--model", "itemrank", "-o", "walk.qw")
    answer = told("evaluate", "walk.qw", "books.csv")
    assert list(answer["metrics"]) == ["mrr", "doa"] and answer["queries"] == 200
    queries = all_but_1(books, random_state=0)
    means = evaluate(lambda histories: qw.item_scores(qw.load("walk.qw"), histories), queries).means()
    assert answer["metrics"]["mrr"]["mean"] == pytest.approx(means["mrr"], abs=1e-12)
    out = cli("evaluate", "books.qw", "books.csv", "--metric", "mrr", "--protocol", "given-3")[1]
    assert "queries, given-3" in out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("accuracy", "no metric 'accuracy'"),
        ("ndcg@0", "no metric"),
        ("recall", "no metric"),
        ("mrr,ll", "two commands"),
        ("", "no metric ''"),
    ],
)
def test_a_wrong_metric_is_explained(text, says):
    with pytest.raises(ParameterError, match=says):
        judging.metrics(text)


@pytest.mark.parametrize("protocol", ["all", "given-0", "given-", "given-two", "votes "])
def test_a_wrong_protocol_is_explained(protocol):
    with pytest.raises(ParameterError, match="no protocol"):
        judging.asker(protocol, 0)


# query, sample and info of hybrid fields


def test_query_says_how_sure_gibbs_is(cli, told, books):
    answer = told("query", "books.qw", "Slow Light", "--given", "Orbit of Salt=1")
    assert answer["method"] == "gibbs" and answer["converged"] is True and 0 < answer["error"] < 0.01
    out = cli("query", "books.qw", "Slow Light", "--given", "Orbit of Salt=1")[1]
    assert "standard error" in out and "chains agree" in out
    assert cli("query", "books.qw", "Slow Light", "--method", "exact")[0] == 2
    assert cli("query", "books.qw", "Slow Light", "--method", "magic")[0] == 2


def test_gibbs_agrees_with_the_exact_answer(told, tmp_path):
    qw.save(qw.textbook("earthquake"), tmp_path / "m.qw")
    exact = told("query", "m.qw", "alarm", "--given", "john_calls=yes")
    gibbs = told("query", "m.qw", "alarm", "--given", "john_calls=yes", "--method", "gibbs", "--samples", "20000")
    assert exact["method"] == "exact" and exact["error"] == 0.0
    for one, other in zip(exact["probabilities"], gibbs["probabilities"]):
        assert other["probability"] == pytest.approx(one["probability"], abs=6 * gibbs["error"])


@pytest.mark.parametrize("model", ["dn", "mn"])
def test_query_and_sample_of_the_other_fields(cli, told, books, model):
    cli("learn", "books.csv", "--model", model, "-o", "m.qw")
    answer = told("query", "m.qw", "Slow Light", "--given", "Orbit of Salt=1")
    assert answer["method"] == {"dn": "gibbs", "mn": "exact"}[model]
    assert sum(one["probability"] for one in answer["probabilities"]) == pytest.approx(1)
    assert len(cli("sample", "m.qw", "-n", "4")[1].splitlines()) == 5
    assert "pll" in told("evaluate", "m.qw", "books.csv")["metrics"]


def test_sample_of_a_hybrid_field(cli, books):
    code, out, err = cli("sample", "books.qw", "-n", "3", "--seed", "1")
    assert (code, err) == (0, "")
    header, *rows = csv.reader(out.splitlines())
    assert header == list(books.items) and len(rows) == 3 and {x for row in rows for x in row} == {"0", "1"}


def test_info_shows_blankets_and_one_local_network(cli, told, books):
    model = qw.load("books.qw")
    answer = told("info", "books.qw")
    assert answer["kind"] == "hrf" and answer["relatives"]["Slow Light"] == model.relatives("Slow Light")
    out = cli("info", "books.qw")[1]
    assert "Blankets" in out and "relatives" in out
    around = told("info", "books.qw", "Slow Light")
    assert around["blanket"] == qw.blanket(model, "Slow Light")
    assert [(arc["parent"], arc["child"]) for arc in around["arcs_list"]] == model.network("Slow Light").arcs
    assert "local network" in cli("info", "books.qw", "Slow Light")[1]
    code, _, err = cli("info", "books.qw", "Slow Lite")
    assert code == 2 and "did you mean 'Slow Light'" in err
    assert cli("info", "books.csv", "Slow Light")[0] == 2


def test_edges_have_no_direction(cli, told, books):
    assert told("learn", "books.csv", "--model", "mn", "-o", "m.qw")["edges"] == len(qw.load("m.qw").edges)
    answer = told("info", "m.qw")
    assert "arcs" not in answer and [tuple(edge) for edge in answer["edges_list"]] == qw.load("m.qw").edges
    around = told("info", "m.qw", "Slow Light")["edges_list"]
    assert around and all("Slow Light" in edge for edge in around)
    out = cli("info", "m.qw")[1]
    assert "—" in out and "→" not in out


def test_info_of_a_variable_of_a_bayesian_network(told, tmp_path):
    qw.save(qw.textbook("asia"), tmp_path / "asia.qw")
    around = told("info", "asia.qw", "lung")
    assert around["blanket"] == ["tub", "smoke", "either"]
    assert around["arcs_list"] == [{"parent": "smoke", "child": "lung"}, {"parent": "lung", "child": "either"}]
