"""Evidence set in the page, and its answers."""

import re

import quiltwork as qw
from browser.documents import GAUSSIAN


def number(name, state=None):
    """The number of a variable of the textbook network, or of one of its states."""
    variables = qw.textbook("asia").variables
    v = [variable.name for variable in variables].index(name)
    return v if state is None else variables[v].states.index(state)


def test_evidence_changes_the_probabilities(reader, asia):
    model = qw.textbook("asia")
    reader.open(asia, f"#v={number('dysp')}")
    reader.give("yes")
    reader.shows(".chips li button.link", "dysp = yes")
    assert "Exact." in reader.text(".evidence")
    reader.find("bronc")
    wanted = qw.query(model, ["bronc"], evidence={"dysp": "yes"})
    shown = dict(zip(reader.texts(".states .name"), reader.texts(".states .is")))
    assert shown == {state: f"{100 * wanted[state]:.1f}%" for state in shown}
    assert reader.texts(".states .was") != reader.texts(".states .is")
    reader.is_at(v=number("bronc"), e=f"{number('dysp')}:{number('dysp', 'yes')}")
    told = reader.text(".changed li:first-child .number")
    assert re.fullmatch(r"= (yes|no): \d+\.\d% → \d+\.\d%", told)
    reader.press("Escape")
    reader.find("dysp")
    reader.give("no")
    reader.says("[aria-live]", "Changed most: ")
    reader.find("bronc")
    reader.shot("evidence")
    reader.page.get_by_role("button", name="Clear all").click()
    reader.has(".evidence", 0)
    reader.has(".is", 0)


def test_impossible_evidence_is_refused_in_one_sentence(reader, asia):
    reader.expected.append("422")  # the browser's own remark
    tub, either = number("tub", "yes"), number("either", "no")
    reader.open(asia, f"#e={number('tub')}:{tub},{number('either')}:{either}")
    reader.says(".evidence [role=alert]", "probability")


def test_a_question_that_was_asked_anew_is_given_up(reader, asia):
    held, given_up = [], []
    reader.page.route("**/api/marginals", lambda route: route.continue_() if held else held.append(route))
    reader.page.on("requestfailed", lambda request: given_up.append(request.url))
    reader.open(asia, f"#v={number('dysp')}")
    state = reader.page.locator("button.state")
    state.first.click()
    reader.until(lambda: len(held), 1)
    state.last.click()
    reader.page.wait_for_selector(".evidence .changed li")
    reader.until(lambda: len(given_up), 1)


def test_evidence_on_a_number(reader, every_kind):
    reader.open(every_kind, f"#v={GAUSSIAN}")
    assert "mean 2.5, deviation 1.25" in reader.text(".moments")
    reader.page.get_by_label("Evidence").fill("3.5")
    reader.press("Tab")
    reader.is_at(v=GAUSSIAN, e=f"{GAUSSIAN}:3.5")
    reader.shows(".chips li button.link", "gaussian = 3.5")
