"""What a person sees of a network, in a real browser: Debian's chromium with software WebGL.

Every test ends by asking for errors, dialogs and violations of the security policy; screenshots stay in
tests/browser/screenshots.
"""

import pytest

import quiltwork as qw
from browser import documents
from browser.documents import TREE
from browser.reader import NO_WEBGL, chromium, lines_of, reading, served


def names_of_asia():
    return [variable.name for variable in qw.textbook("asia").variables]


def test_opens_and_says_what_it_shows(browser, asia):
    with reading(browser, 1280, 800) as reader:
        reader.open(asia)
        reader.shows("h1", "Bayesian network")
        assert reader.page.title() == "Bayesian network · Quiltwork"
        reader.says(".summary", "8 variables · 8 arcs")
        assert "token" not in reader.page.url
        reader.has(".panel .partners li", 8)
        assert reader.page.locator(".canvas canvas").count() > 0
        reader.shot("open")


def test_the_same_model_gives_the_same_picture(reader, asia):
    reader.open(asia)
    first = [reader.at(v) for v in range(8)]
    reader.open(asia)
    assert [reader.at(v) for v in range(8)] == first


def test_slides_from_the_strongest_arcs_to_all(reader, asia, tmp_path):
    reader.open(asia)
    slider = reader.page.get_by_role("slider")
    assert slider.input_value() == "8"
    slider.focus()
    reader.press("Home", "ArrowUp", "ArrowUp")
    reader.is_at(k=2)
    assert slider.input_value() == "2"
    assert len(lines_of(reader.save("SVG", tmp_path))) == 2
    slider.focus()
    reader.press("End")
    reader.is_at(k=8)
    assert len(lines_of(reader.save("SVG", tmp_path))) == 8
    reader.page.get_by_role("spinbutton").fill("5")
    reader.press("Tab")
    reader.is_at(k=5)
    assert slider.input_value() == "5" and "≥" in reader.text(".weakest")
    reader.page.get_by_role("spinbutton").fill("")
    reader.press("Tab")
    reader.until(reader.page.get_by_role("spinbutton").input_value, "5")


def test_finds_a_variable_by_typing(reader, asia):
    reader.open(asia)
    reader.press("/")
    reader.page.keyboard.type("LU")
    reader.shows("[role=option]", "lung")
    reader.press("Enter")
    reader.shows(".panel h2", "lung")
    reader.press("/")
    reader.page.keyboard.type("no such thing")
    reader.shows(".found li", "No variable has that name.")


def test_a_click_lights_neighbours_up_by_role(reader, asia):
    reader.open(asia)
    either = names_of_asia().index("either")
    reader.click(either)
    reader.shows(".panel h2", "either")
    reader.shows(".legend li", ["selected", "parent", "child", "spouse"])
    assert set(reader.texts(".members li")) == set(qw.blanket(qw.textbook("asia"), "either"))
    reader.is_at(v=either)
    reader.shot("click")
    reader.page.mouse.click(130, 90)  # where nothing is
    reader.shows(".panel h2", "The network")
    reader.is_at()


def test_the_address_brings_the_view_back(reader, asia):
    reader.open(asia)
    reader.click(3)
    reader.press("[", "[")
    reader.is_at(v=3, k=6)
    reader.click(5)
    reader.is_at(v=5, k=6)
    reader.page.reload()
    reader.page.wait_for_selector("[data-ready=yes]")
    reader.is_at(v=5, k=6)
    reader.shows(".panel h2", names_of_asia()[5])
    assert reader.page.get_by_role("slider").input_value() == "6"
    reader.page.go_back()
    reader.shows(".panel h2", names_of_asia()[3])


def test_an_address_that_cannot_be_is_ignored(reader, asia):
    reader.open(asia, "#v=99&k=999999&e=1:77,99:0,x:y")
    reader.shows(".panel h2", "The network")
    assert reader.page.get_by_role("slider").input_value() == "8"
    assert reader.page.locator(".evidence").count() == 0


def test_a_variable_that_is_found_again_is_brought_into_sight(reader, asia):
    reader.open(asia)
    reader.find("lung")
    lung = names_of_asia().index("lung")
    reader.page.mouse.move(130, 90)
    reader.page.mouse.down()
    reader.page.mouse.move(930, 600, steps=3)
    reader.page.mouse.up()
    reader.until(lambda: reader.at(lung)[0] > 700)
    reader.find("lung")
    inside = reader.page.locator(".canvas").bounding_box()
    reader.until(lambda: inside["x"] < reader.at(lung)[0] < inside["x"] + inside["width"])


def test_arcs_that_the_slider_hides_can_be_shown(reader, asia):
    reader.open(asia, f"#v={names_of_asia().index('asia')}&k=0")
    reader.says(".panel .remark", "1 arc, 0 shown")
    reader.shows(".legend li", ["selected", "parent", "child", "spouse"])
    dots = "all => all.map((dot) => dot.style.color)"
    (before,) = reader.page.locator(".partners .dot").evaluate_all(dots)
    reader.page.get_by_role("button", name="show all").click()
    reader.until(lambda: "shown" not in reader.text(".panel .remark"))
    assert int(reader.page.get_by_role("slider").input_value()) > 0
    assert reader.page.locator(".partners .dot").evaluate_all(dots) != [before]  # it has a role now


# Every reader


def focused(reader):
    return reader.page.evaluate("document.activeElement.className")


def test_the_focus_is_never_lost(reader, every_kind):
    reader.open(every_kind, f"#v={TREE}")
    reader.give("yes")
    reader.page.get_by_role("button", name="Take back").click()  # with the chip goes its button
    reader.has(".chips", 0)
    reader.until(lambda: focused(reader), "panel")
    reader.page.locator(".partners button.link").first.click()
    reader.shows(".panel h2", "root")
    reader.until(lambda: focused(reader), "panel")
    reader.page.get_by_role("button", name="Show its distribution").focus()
    reader.press("Escape")
    reader.shows(".panel h2", "The network")
    reader.until(lambda: focused(reader), "panel")
    reader.double_click(TREE)
    reader.page.locator("dialog svg .leads").first.click()
    reader.shows("dialog.distribution h2", "root")
    reader.press("Escape")
    reader.until(lambda: focused(reader), "network")


def test_hiding_the_notes_leaves_the_focus_to_the_network(reader):
    with served(documents.every_kind() | {"notes": ["Something was left out."]}) as url:
        reader.open(url)
        reader.page.get_by_role("button", name="Hide these notes").click()
        reader.until(lambda: focused(reader), "network")


def test_works_with_the_keyboard_alone(reader, every_kind):
    reader.open(every_kind)
    reader.press("/")
    reader.page.keyboard.type("tree")
    reader.shows("[role=option]", "tree")
    reader.press("Enter")
    reader.shows(".panel h2", "tree")
    reader.press("Enter")
    reader.distribution()
    reader.shows("dialog h2", ["tree", "Keys"])
    reader.page.locator("dialog svg .leads").first.focus()
    reader.press("Enter")
    reader.shows("dialog h2", ["root", "Keys"])
    reader.press("Escape")
    reader.shows(".panel h2", "root")
    reader.page.locator(".network").focus()
    reader.press("ArrowLeft")
    reader.until(lambda: reader.text(".panel h2") != "root")
    reader.says("[aria-live]", reader.text(".panel h2"))
    reader.press("[")
    reader.until(lambda: "k=10" in reader.page.url)
    reader.press("Escape")
    reader.shows(".panel h2", "The network")
    reader.press("?")
    reader.page.locator("dialog.help[open]").wait_for()
    assert "find a variable" in reader.text("dialog.help")
    reader.press("Escape", "+", "0")


def test_fits_a_narrow_screen(browser, every_kind):
    with reading(browser, 390, 844, has_touch=True, is_mobile=True) as reader:
        reader.open(every_kind)
        assert reader.page.evaluate("document.documentElement.scrollWidth") == 390
        reader.page.touchscreen.tap(*reader.at(TREE))
        reader.shows(".panel h2", "tree")
        reader.shot("narrow", full_page=True)
        reader.page.get_by_role("button", name="Show its distribution").tap()
        reader.distribution()
        assert reader.page.evaluate("document.documentElement.scrollWidth") == 390
        reader.shot("narrow-tree")


def test_is_dark_where_the_reader_likes_it_dark(browser, asia):
    with reading(browser, 1280, 800, color_scheme="dark") as reader:
        reader.open(asia, "#v=2")
        ground = "getComputedStyle(document.querySelector('.quiltwork')).backgroundColor"
        reader.until(lambda: reader.page.evaluate(ground), "rgb(21, 23, 28)")
        reader.shot("dark")
        reader.page.get_by_role("button", name="Light or dark").click()
        reader.until(lambda: reader.page.evaluate(ground), "rgb(250, 249, 246)")


def test_without_webgl_it_says_so_and_draws_the_plain_way(browser, every_kind, tmp_path):
    plain = browser.browser_type.launch(executable_path=chromium(), args=["--no-sandbox", *NO_WEBGL])
    try:
        with reading(plain) as reader:
            reader.open(every_kind)
            reader.says(".notes", "no WebGL")
            reader.has("svg.plain circle", 10)
            reader.shot("no-webgl")
            reader.click(TREE)
            reader.shows(".panel h2", "tree")
            assert len(lines_of(reader.save("SVG", tmp_path))) == 11
            reader.double_click(TREE)
            reader.shows("dialog.distribution h2", "tree")
    finally:
        plain.close()


def test_without_webgl_less_of_a_large_network_is_drawn_and_what_is_lit_always(browser):
    chain = [(v, v + 1, 1000.0 - v) for v in range(999)]
    shown = documents.document([f"v{v}" for v in range(1000)], chain, [documents.table([], [[0.5, 0.5]])] * 1000)
    plain = browser.browser_type.launch(executable_path=chromium(), args=["--no-sandbox", *NO_WEBGL])
    try:
        with served(shown) as url, reading(plain) as reader:
            reader.open(url)
            reader.says(".notes", "up to 600 arcs, the strongest")
            reader.has("svg.plain circle", 601)
            reader.find("v900")
            reader.has("svg.plain circle", 604)  # it, and one neighbour on each side
    finally:
        plain.close()


def test_where_webgl_is_taken_away_it_goes_on_the_plain_way(reader, every_kind):
    reader.open(every_kind, f"#v={TREE}")
    reader.page.evaluate(
        """() => [...document.querySelectorAll(".drawn canvas")].forEach((canvas) =>
            canvas.getContext("webgl2")?.getExtension("WEBGL_lose_context")?.loseContext())"""
    )
    reader.says(".notes", "The browser took WebGL away from this page")
    reader.has("svg.plain circle", 10)
    reader.page.keyboard.press("Tab")
    assert reader.page.locator("svg.plain [tabindex]").count() == 0  # the arrow keys lead through the network
    reader.click(documents.TABLE)


# Documents at the edge


def test_one_variable(reader):
    with served(documents.document(["only"], [], [documents.table([], [[0.5, 0.5]])])) as url:
        reader.open(url)
        reader.click(0)
        reader.shows(".panel h2", "only")
        assert "no arc touches it" in reader.text(".panel")
        reader.press("]", "[", "ArrowLeft")


def test_long_names_and_states_do_not_break_the_page(reader):
    long = "state " * 2000
    shown = documents.document(
        ["n" * 10_000, "b"], [(0, 1, 1.0)], [documents.table([], [[0.5, 0.5]])] * 2, states=[[long, "x"], ["no", "yes"]]
    )
    with served(shown) as url:
        reader.open(url, "#v=0")
        assert reader.page.evaluate("document.documentElement.scrollWidth") == 960
        reader.show_distribution()
        reader.has("dialog[open] .cpt")
        reader.shot("long-names")


def test_ten_thousand_variables(reader):
    n = 10_000
    arcs = [(v, v + 1, float(n - v)) for v in range(n - 1)]
    shown = documents.document([f"v{v}" for v in range(n)], arcs, [])
    shown |= {"locals": None, "notes": ["All 10,000 variables are drawn."], "slider_start": 500}
    with served(shown) as url:
        reader.open(url)
        reader.shows(".notes p", "All 10,000 variables are drawn.")
        reader.find("v7777")
        reader.page.get_by_role("button", name="Hide these notes").click()
        reader.page.locator(".notes").wait_for(state="hidden")


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"format": "netlist"}, "not a Quiltwork view"),
        ({"version": 2}, "this page reads version 1"),
        ({"arcs": {"from": [0], "to": [77], "strength": [1.0]}}, "variable 77, and there are 10"),
    ],
)
def test_a_document_that_cannot_be_shown_is_refused_in_one_sentence(reader, change, sentence):
    with served(documents.every_kind() | change) as url:
        reader.open(url)
        reader.says(".failed", sentence)
