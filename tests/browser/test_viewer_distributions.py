"""Local distributions in the page: every kind, with all its numbers, whole or with a word of what is left out."""

import numpy as np
import pytest

from browser import documents
from browser.documents import (
    BOOSTED,
    FEATURES,
    FIELD,
    GAUSSIAN,
    GRAPH,
    LOGISTIC,
    NONE,
    TABLE,
    TREE,
)
from browser.reader import reading, served, served_model
from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.models.bayesian import BayesianNet


def test_a_double_click_opens_the_tree_and_a_split_leads_on(reader, every_kind):
    reader.open(every_kind)
    reader.double_click(TREE)
    reader.shows("dialog.distribution h2", "tree")
    assert reader.text("dialog .remark") == "decision tree, 3 leaves"
    words = reader.texts("dialog svg text")
    assert {"root", "table", "gain 25.5", "= yes", "75.0%", "400 cases", "100 cases"} <= set(words)
    reader.shot("tree")
    reader.page.locator("dialog svg .leads", has_text="table").click()
    reader.shows("dialog.distribution h2", "table")
    reader.is_at(v=TABLE)
    reader.distribution()
    reader.page.get_by_role("button", name="Back to").click()
    reader.shows("dialog.distribution h2", "tree")
    reader.is_at(v=TREE)
    reader.press("Escape")
    reader.has("dialog[open]", 0)


@pytest.mark.parametrize(
    "v, kind, words",
    [
        (TABLE, "table, 8 configurations", ["root", "80.0%", "70.0%", "The first 2 of 8 configurations are shown."]),
        (GRAPH, "decision graph, 2 of 4 leaves shown", ["300 cases", "500 cases", "200 cases · folded"]),
        (LOGISTIC, "logistic regression", ["intercept", "root = yes", "1.5", "-0.4"]),
        (BOOSTED, "boosted trees", ["A sum of 20 small trees.", "root", "12", "The 1 largest of 3 variables"]),
        (GAUSSIAN, "linear Gaussian", ["gaussian = 1.5 − 0.75 · root + ε, ε ~ N(0, 0.5²)"]),
        (FEATURES, "features, 3 weights", ["root = yes ∧ features = no", "-2.5", "The 1 largest of 3 features"]),
        (FIELD, "field of 1 table", ["Table of field", "60.0%", "90.0%"]),
        (NONE, "", ["This model has no distribution to show here."]),
    ],
)
def test_every_kind_of_distribution_is_shown(reader, every_kind, v, kind, words):
    reader.open(every_kind, f"#v={v}")
    reader.show_distribution()
    assert reader.page.locator("dialog .what .remark").inner_text() == kind
    inside = reader.page.locator("dialog .body").evaluate("node => node.textContent").replace("\xa0", " ")
    for word in words:
        assert word in " ".join(inside.split())
    reader.shot(f"distribution-{v}")


def test_distributions_left_out_of_a_document_are_asked_for(reader):
    shown = documents.every_kind()
    with served({**shown, "locals": shown["locals"]}) as url:
        reader.page.route("**/api/document", lambda route: route.fulfill(json={**shown, "locals": None}))
        reader.open(url)
        reader.double_click(TREE)
        assert "400 cases" in reader.texts("dialog svg text")


def test_a_table_of_a_real_model_is_shown_whole(reader):
    encoder = Encoder(tuple(Variable(f"x{v}", ("no", "yes")) for v in range(8)))
    tables = [TableCPD(v, (), np.array([[0.5, 0.5]])) for v in range(7)]
    tables.append(TableCPD(7, tuple(range(7)), np.full((128, 2), 0.5)))  # twice what a file has room for
    with served_model(BayesianNet(encoder, tuple(tables))) as url:
        reader.open(url, "#v=7")
        assert not reader.page.locator(".notes").is_visible()
        reader.show_distribution()
        reader.has("dialog tbody tr", 128)
        assert "are shown" not in reader.text("dialog .body")


def test_a_long_formula_ends(reader):
    shown = documents.every_kind()
    shown["locals"][GAUSSIAN] = documents.gaussian([20.5 - i for i in range(20)], total=31)
    with served(shown) as url:
        reader.open(url, f"#v={GAUSSIAN}")
        reader.show_distribution()
        formula = reader.text("dialog .formula").replace("\xa0", " ")
        assert formula.count("root") == 12 and "9.5 · root … and 19 smaller terms + ε" in formula
        reader.has("dialog tbody tr", 20)
        assert "The 20 largest of 31 weights are shown." in reader.text("dialog .body")


def test_a_deep_tree_is_folded_until_asked(reader):
    nodes = []
    for i in range(60):
        nodes += [documents.split(1, 1, 2 * i + 1, 2 * i + 2, 60.0 - i), documents.leaf(0.5, 10)]
    nodes.append(documents.leaf(0.5, 10))
    shown = documents.every_kind()
    shown["locals"][TREE] = documents.tree_of(nodes)
    with served(shown) as url:
        reader.open(url, f"#v={TREE}")
        reader.show_distribution()
        fold = reader.page.locator("dialog svg .leads", has_text="more leaves")
        assert fold.text_content().endswith("… 21 more leaves")
        fold.focus()
        reader.press("Enter")
        reader.until(lambda: fold.text_content().endswith("… 9 more leaves"))


def test_a_tall_tree_opens_with_its_root_in_sight(reader):
    """One split of the root leads to a leaf above, the other to forty below each other."""
    nodes = [documents.split(1, 1, 1, 2, 99.0), documents.leaf(0.5, 10)]
    for i in range(30):
        nodes += [documents.split(0, 1, 2 * i + 3, 2 * i + 4, 60.0 - i), documents.leaf(0.5, 10)]
    nodes.append(documents.leaf(0.5, 10))
    shown = documents.every_kind()
    shown["locals"][TREE] = documents.tree_of(nodes)
    with served(shown) as url:
        reader.open(url, f"#v={TREE}")
        reader.show_distribution()
        root = reader.page.locator("dialog svg .leads", has_text="gain 99")
        body = reader.page.locator("dialog .body").bounding_box()
        assert body["y"] <= root.bounding_box()["y"] <= body["y"] + body["height"] - 40


def test_the_names_of_splits_fit_in_their_boxes(reader):
    shown = documents.every_kind()
    shown["variables"][0]["name"] = "WWWW MMMM wide letters WWWW"
    shown["locals"][TREE]["nodes"][0]["branches"][0]["label"] = "in (10.4375, 11.40625]"
    with served(shown) as url:
        reader.open(url, f"#v={TREE}")
        reader.show_distribution()
        reader.shot("wide-names")
        split = reader.page.locator("dialog svg .leads", has_text="WWWW")
        words, box = (split.locator(part).first.bounding_box() for part in ("text", "rect"))
        assert box["x"] < words["x"] and words["x"] + words["width"] < box["x"] + box["width"]
        assert "in (10.4375, 11.40625]" in reader.texts("dialog svg text")  # whole


# What arrives late


def test_a_late_answer_is_not_shown_under_another_name(reader):
    """The tree is asked for, then the table; the answers come the other way round."""
    shown = documents.every_kind()
    with served(shown) as url:
        reader.page.route("**/api/document", lambda route: route.fulfill(json={**shown, "locals": None}))
        held = []
        reader.page.route(f"**/api/local/{TREE}", lambda route: held.append(route))
        reader.open(url)
        reader.page.mouse.dblclick(*reader.at(TREE))
        reader.shows("dialog .body[aria-busy=true]", "Loading…")
        reader.shows("dialog.distribution h2", "tree")
        reader.until(lambda: len(held), 1)
        reader.press("Escape")
        reader.has("dialog[open]", 0)
        reader.double_click(TABLE)
        assert reader.text("dialog .what .remark") == "table, 8 configurations"
        with reader.page.expect_response(f"**/api/local/{TREE}"):
            held[0].fulfill(json=shown["locals"][TREE])
        reader.page.evaluate("new Promise(done => setTimeout(done))")  # the page has had its turn
        assert reader.text("dialog.distribution h2") == "table"
        assert reader.text("dialog .what .remark") == "table, 8 configurations"
        reader.has("dialog .body .cpt")


def test_a_distribution_that_cannot_be_had_is_a_sentence(reader):
    shown = documents.every_kind()
    with served(shown) as url:
        reader.page.route("**/api/document", lambda route: route.fulfill(json={**shown, "locals": None}))
        reader.page.route("**/api/local/*", lambda route: route.fulfill(status=404, json={"error": "It is not here."}))
        reader.expected.append("404")
        reader.open(url)
        reader.double_click(TREE)
        reader.shows("dialog [role=alert]", "It is not here.")
        assert not reader.page.locator("dialog.distribution .tools").is_visible()


# Tables that can be read


def test_the_words_of_a_table_stay_words(browser):
    states = [["LessUnstable", "MoreUnstable"], *[["None of these", "A few of these"]] * 5, ["no", "yes"]]
    names = [*(f"CompPlainsForecast{v}" for v in range(6)), "child"]
    rows = [[0.25, 0.75]] * 64
    table = documents.table(list(range(6)), rows)
    shown = documents.document(names, [(v, 6, 9.0 - v) for v in range(6)], [table] * 7, states=states)
    for width in (1280, 390):
        with served(shown) as url, reading(browser, width, 800) as reader:
            reader.open(url, "#v=6")
            reader.show_distribution()
            reader.shot(f"table-{width}")
            heights = "all => all.map((cell) => cell.getBoundingClientRect().height)"
            assert max(reader.page.locator("dialog tbody th").evaluate_all(heights)) < 60  # two lines
            assert max(reader.page.locator("dialog thead th").evaluate_all(heights)) < 60
