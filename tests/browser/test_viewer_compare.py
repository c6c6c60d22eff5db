"""Two models laid over each other."""

import pytest

import quiltwork as qw
from browser import documents
from browser.documents import TABLE, TREE
from browser.reader import lines_of, served, served_model


@pytest.fixture(scope="module")
def named(browser):
    """Two documents that know their files."""
    shown = documents.every_kind() | {"name": "one.qw"}
    other = documents.other_arcs(shown) | {"name": "two.qw", "title": "Another network"}
    other["locals"][TREE] = documents.table([0], [[0.25, 0.75], [0.125, 0.875]])
    with served(shown, other) as url:
        yield url


def test_compares_two_models(reader, every_kind):
    reader.open(every_kind)
    reader.page.get_by_role("button", name="Compare").click()
    reader.has(".legend .dash", 3)
    facts = dict(zip(reader.texts(".facts dt"), reader.texts(".facts dd")))
    assert facts == {"in both": "9", "only in the first": "2", "only in the second": "2", "turned round": "1"}
    assert reader.texts(".legend li") == ["only in the first", "only in the second", "in both"]
    reader.is_at(c=1)
    reader.shot("compare")
    reader.page.reload()
    reader.has(".legend .dash", 3)
    assert reader.page.get_by_role("slider").input_value() == "13"


def test_says_which_model_is_which(reader, named):
    reader.open(named)
    reader.says(".summary", "one.qw")
    assert reader.page.title() == "one.qw · Dependency network · Quiltwork"
    reader.page.get_by_role("button", name="Compare").click()
    reader.shows(".legend li", ["only in one.qw", "only in two.qw", "in both"])
    reader.shows("h1", "one.qw beside two.qw")
    assert reader.page.title() == "one.qw beside two.qw · Quiltwork"
    assert reader.texts(".panel .model") == ["one.qw: Dependency network, 11 arcs", "two.qw: Another network, 11 arcs"]
    assert reader.texts(".panel .pairs .number")[0] == "#1"  # a place, for strengths have no common unit
    assert reader.text(".weakest") == "to place 11"


def test_shows_the_distributions_of_both(reader, named):
    reader.open(named, f"#c=1&v={TREE}")
    reader.has(".legend .dash", 3)
    reader.show_distribution()
    reader.shows("dialog .choice button", ["one.qw", "two.qw"])
    assert reader.text("dialog .what .remark") == "decision tree, 3 leaves"
    reader.page.locator("dialog").get_by_role("button", name="two.qw").click()
    reader.shows("dialog .what .remark", "table, 2 configurations")
    assert "87.5%" in reader.text("dialog .body")
    reader.page.locator("dialog tbody th, dialog thead .link").first.click()
    reader.shows("dialog.distribution h2", "root")
    reader.press("Escape")
    reader.has("dialog[open]", 0)
    reader.page.get_by_role("button", name="Compare").click()
    reader.has(".legend .dash", 0)
    reader.show_distribution()
    reader.has("dialog .choice button", 0)


def test_neighbours_have_no_role_and_nobody_a_blanket(reader, named, tmp_path):
    reader.open(named, f"#c=1&v={TABLE}")
    reader.shows(".legend li", ["selected", "neighbour", "only in one.qw", "only in two.qw", "in both"])
    assert "Markov blanket" not in reader.text(".panel")
    reader.says(".panel h3", "Probabilities by one.qw")
    dashed = [line for line in lines_of(reader.save("SVG", tmp_path)) if line.get("stroke-dasharray")]
    assert len(dashed) == 2  # as many as are only in the second


def test_real_models_are_compared_by_name(reader):
    asia = qw.textbook("asia")
    with served_model(asia, asia) as url:
        reader.open(url, "#c=1&v=3")
        reader.has(".legend .dash", 3)
        reader.show_distribution()
        reader.shows("dialog .choice button", ["the first", "the second"])
        reader.page.locator("dialog").get_by_role("button", name="the second").click()
        reader.page.locator("dialog .choice [aria-pressed=true]", has_text="second").wait_for()
        reader.distribution()
        reader.says("dialog .what .remark", "table")
        reader.press("Escape", "Escape")
        reader.shows(".panel h2", "Two networks")
        assert reader.texts(".facts dd")[:2] == ["8", "0"]
