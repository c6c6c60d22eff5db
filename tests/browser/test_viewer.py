"""What a person does with the viewer, done in a real browser: Debian's chromium with software WebGL.

Every test ends by asking for errors, dialogs and violations of the security policy; screenshots stay in
tests/browser/screenshots.
"""

import xml.etree.ElementTree as ET

import pytest

import quiltwork as qw
from browser import documents
from browser.reader import NO_WEBGL, chromium, missing, reading, served, served_model

pytestmark = pytest.mark.skipif(missing() != "", reason=missing())

ROOT, TABLE, TREE, GRAPH, LOGISTIC, BOOSTED, GAUSSIAN, FEATURES, FIELD, NONE = range(10)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def reader(browser):
    """A fresh reader; whatever it did must have gone without errors."""
    with reading(browser) as made:
        yield made


@pytest.fixture(scope="module")
def asia():
    with served_model(qw.textbook("asia")) as url:
        yield url


@pytest.fixture(scope="module")
def every_kind():
    shown = documents.every_kind()
    with served(shown, documents.other_arcs(shown)) as url:
        yield url


# Looking


def test_opens_and_says_what_it_shows(browser, asia):
    with reading(browser, 1280, 800) as reader:
        reader.open(asia)
        assert reader.text("h1") == "Bayesian network"
        assert reader.page.title() == "Bayesian network · Quiltwork"
        assert reader.text(".summary").startswith("8 variables · 8 arcs")
        assert "token" not in reader.page.url
        assert len(reader.texts(".panel .partners li")) == 8
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
    assert slider.input_value() == "2" and reader.address()["k"] == "2"
    assert len(lines_of(reader.save("SVG", tmp_path))) == 2
    slider.focus()
    reader.press("End")
    assert len(lines_of(reader.save("SVG", tmp_path))) == 8
    reader.page.get_by_role("spinbutton").fill("5")
    reader.press("Tab")
    assert slider.input_value() == "5" and "≥" in reader.text(".weakest")


def test_finds_a_variable_by_typing(reader, asia):
    reader.open(asia)
    reader.press("/")
    reader.page.keyboard.type("LU")
    assert reader.texts("[role=option]") == ["lung"]
    reader.press("Enter")
    assert reader.text(".panel h2") == "lung"
    reader.press("/")
    reader.page.keyboard.type("no such thing")
    assert reader.texts(".found li") == ["No variable has that name."]


def test_a_click_lights_neighbours_up_by_role(reader, asia):
    reader.open(asia)
    names = [variable.name for variable in qw.textbook("asia").variables]
    reader.click(names.index("either"))
    assert reader.text(".panel h2") == "either"
    assert reader.texts(".legend li") == ["selected", "parent", "child", "spouse"]
    assert set(reader.texts(".members li")) == set(qw.blanket(qw.textbook("asia"), "either"))
    assert reader.address() == {"v": str(names.index("either"))}
    reader.shot("click")
    reader.page.mouse.click(130, 90)  # where nothing is
    assert reader.text(".panel h2") == "The network" and reader.address() == {}


def test_drags_zooms_and_pans(reader, asia):
    reader.open(asia)
    x, y = reader.at(0)
    reader.page.mouse.move(x, y)
    reader.page.mouse.down()
    reader.page.mouse.move(x + 30, y + 20, steps=3)
    reader.page.mouse.up()
    reader.settle()
    moved = reader.at(0)
    assert moved == pytest.approx((x + 30, y + 20), abs=3)
    reader.page.get_by_role("button", name="Zoom in").click()
    reader.page.wait_for_timeout(300)
    a, b = reader.at(1), reader.at(2)
    reader.page.get_by_role("button", name="Zoom out").click()
    reader.page.wait_for_timeout(300)
    c, d = reader.at(1), reader.at(2)
    assert abs(a[0] - b[0]) > abs(c[0] - d[0])
    reader.page.mouse.move(130, 90)
    reader.page.mouse.down()
    reader.page.mouse.move(180, 140, steps=3)
    reader.page.mouse.up()
    reader.page.wait_for_timeout(300)
    assert reader.at(1)[0] > c[0] + 20


# Local distributions


def test_quick_clicks_on_two_variables_are_no_double_click(reader, every_kind):
    reader.open(every_kind)
    places = [reader.at(TABLE), reader.at(TREE)]
    for place in places:
        reader.page.mouse.click(*place)
    reader.settle()
    assert reader.address()["v"] == str(TREE)
    assert not reader.page.locator("dialog.distribution[open]").count()


def test_a_double_click_opens_the_tree_and_a_split_leads_on(reader, every_kind):
    reader.open(every_kind)
    reader.double_click(TREE)
    assert reader.text("dialog h2") == "tree"
    assert reader.text("dialog .remark") == "decision tree, 3 leaves"
    words = reader.texts("dialog svg text")
    assert {"root", "table", "gain 25.5", "= yes", "75.0%", "400 cases", "100 cases"} <= set(words)
    reader.shot("tree")
    reader.page.locator("dialog svg .leads", has_text="table").click()
    reader.settle()
    assert reader.text("dialog h2") == "table" and reader.address()["v"] == str(TABLE)
    reader.page.get_by_role("button", name="Back to").click()
    reader.settle()
    assert reader.text("dialog h2") == "tree" and reader.address()["v"] == str(TREE)
    reader.press("Escape")
    assert reader.page.locator("dialog[open]").count() == 0


@pytest.mark.parametrize(
    "v, kind, words",
    [
        (TABLE, "table, 8 configurations", ["root", "80.0%", "70.0%", "The first 2 of 8 configurations are shown."]),
        (GRAPH, "decision graph, 3 leaves", ["300 cases", "500 cases", "200 cases · folded"]),
        (LOGISTIC, "logistic regression", ["intercept", "root = yes", "1.5", "-0.4"]),
        (BOOSTED, "boosted trees", ["A sum of 20 small trees.", "root", "12"]),
        (GAUSSIAN, "linear Gaussian", ["gaussian = 1.5 − 0.75 · root + ε, ε ~ N(0, 0.5²)"]),
        (FEATURES, "features, 3 weights", ["root = yes ∧ features = no", "-2.5", "The 1 heaviest of 3 features"]),
        (FIELD, "field of 1 table", ["Table of field", "60.0%", "90.0%"]),
        (NONE, "", ["This model has no distribution to show here."]),
    ],
)
def test_every_kind_of_distribution_is_shown(reader, every_kind, v, kind, words):
    reader.open(every_kind, f"#v={v}")
    reader.page.get_by_role("button", name="Show its distribution").click()
    reader.page.wait_for_selector("dialog[open] .body > *")
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


def test_a_deep_tree_is_folded_until_asked(reader):
    nodes = []
    for i in range(60):
        nodes += [documents.split(1, 1, 2 * i + 1, 2 * i + 2, 60.0 - i), documents.leaf(0.5, 10)]
    nodes.append(documents.leaf(0.5, 10))
    shown = documents.every_kind()
    shown["locals"][TREE] = {"type": "tree", "nodes": nodes, "root": 0}
    with served(shown) as url:
        reader.open(url, f"#v={TREE}")
        reader.page.get_by_role("button", name="Show its distribution").click()
        fold = reader.page.locator("dialog svg .leads", has_text="more leaves")
        assert fold.text_content().endswith("… 21 more leaves")
        fold.focus()
        reader.press("Enter")
        assert "9 more leaves" in reader.page.locator("dialog svg .leads", has_text="more leaves").text_content()


# Evidence


def test_evidence_changes_the_probabilities(reader, asia):
    model = qw.textbook("asia")
    names = [variable.name for variable in model.variables]
    reader.open(asia, f"#v={names.index('dysp')}")
    reader.give("yes")
    assert reader.texts(".chips li button.link") == ["dysp = yes"]
    assert "Exact." in reader.text(".evidence")
    reader.find("bronc")
    wanted = qw.query(model, ["bronc"], evidence={"dysp": "yes"})
    shown = dict(zip(reader.texts(".states .name"), reader.texts(".states .is")))
    assert shown == {state: f"{100 * wanted[state]:.1f}%" for state in shown}
    assert reader.texts(".states .was") != reader.texts(".states .is")
    assert reader.address()["e"] == f"{names.index('dysp')}:{model.variables[names.index('dysp')].states.index('yes')}"
    reader.shot("evidence")
    reader.page.get_by_role("button", name="Clear all").click()
    reader.settle()
    assert reader.page.locator(".evidence").count() == 0 and reader.page.locator(".is").count() == 0


def test_impossible_evidence_is_refused_in_one_sentence(reader, asia):
    names = [variable.name for variable in qw.textbook("asia").variables]
    states = qw.textbook("asia").variables[names.index("tub")].states
    yes, no = states.index("yes"), states.index("no")
    reader.open(asia, f"#e={names.index('tub')}:{yes},{names.index('either')}:{no}")
    reader.page.wait_for_selector(".evidence [role=alert]")
    assert "probability" in reader.text(".evidence [role=alert]")
    reader.errors = [error for error in reader.errors if "422" not in error]  # the browser's own remark


def test_evidence_on_a_number(reader, every_kind):
    reader.open(every_kind, f"#v={GAUSSIAN}")
    assert "mean 2.5, deviation 1.25" in reader.text(".moments")
    reader.page.get_by_label("Evidence").fill("3.5")
    reader.press("Tab")
    assert reader.address()["e"] == f"{GAUSSIAN}:3.5"
    assert reader.texts(".chips li button.link") == ["gaussian = 3.5"]


# Two models


def test_compares_two_models(reader, every_kind):
    reader.open(every_kind)
    reader.page.get_by_role("button", name="Lay the second model").click()
    reader.page.wait_for_selector(".legend .dash")
    facts = dict(zip(reader.texts(".facts dt"), reader.texts(".facts dd")))
    assert facts == {"in both": "9", "only in the first": "2", "only in the second": "2", "turned round": "1"}
    assert reader.texts(".legend li") == ["only in the first", "only in the second", "in both"]
    assert reader.address() == {"c": "1"}
    reader.shot("compare")
    reader.page.reload()
    reader.page.wait_for_selector(".legend .dash")
    assert reader.page.get_by_role("slider").input_value() == "13"


def test_real_models_are_compared_by_name(reader):
    asia = qw.textbook("asia")
    with served_model(asia, asia) as url:
        reader.open(url, "#c=1")
        reader.page.wait_for_selector(".legend .dash")
        assert reader.texts(".facts dd")[:2] == ["8", "0"]


# Taking it along


def lines_of(path):
    return ET.parse(path).getroot().findall(f"{SVG}line")


def test_saves_what_is_on_screen(reader, asia, tmp_path):
    reader.open(asia, "#v=2")
    picture = reader.save("SVG", tmp_path)
    assert picture.name == "quiltwork-network.svg"
    root = ET.parse(picture).getroot()
    names = {node.text for node in root.iter(f"{SVG}text")}
    assert qw.textbook("asia").variables[2].name in names
    assert len(root.findall(f".//{SVG}circle")) == 8
    bitmap = reader.save("PNG", tmp_path).read_bytes()
    assert bitmap[:8] == b"\x89PNG\r\n\x1a\n" and len(bitmap) > 5000
    width = int.from_bytes(bitmap[16:20], "big")
    assert width == 2 * reader.page.locator(".canvas").evaluate("node => node.clientWidth")


def test_saves_a_tree(reader, every_kind, tmp_path):
    reader.open(every_kind)
    reader.double_click(GRAPH)
    picture = reader.save("SVG", tmp_path, within="dialog.distribution")
    assert "500 cases" in {node.text for node in ET.parse(picture).getroot().iter(f"{SVG}text")}
    assert reader.save("PNG", tmp_path, within="dialog.distribution").read_bytes()[:4] == b"\x89PNG"


def test_the_address_brings_the_view_back(reader, asia):
    reader.open(asia)
    reader.click(3)
    reader.press("[", "[")
    reader.click(5)
    before = (reader.page.url, reader.text(".panel h2"), reader.page.get_by_role("slider").input_value())
    assert reader.address() == {"v": "5", "k": "6"}
    reader.page.reload()
    reader.page.wait_for_selector("[data-ready=yes]")
    assert (reader.page.url, reader.text(".panel h2"), reader.page.get_by_role("slider").input_value()) == before
    reader.page.go_back()
    reader.settle()
    assert reader.address()["v"] == "3" and reader.text(".panel h2") == qw.textbook("asia").variables[3].name


def test_an_address_that_cannot_be_is_ignored(reader, asia):
    reader.open(asia, "#v=99&k=999999&e=1:77,99:0,x:y")
    assert reader.text(".panel h2") == "The network"
    assert reader.page.get_by_role("slider").input_value() == "8"
    assert reader.page.locator(".evidence").count() == 0


# Every reader


def test_works_with_the_keyboard_alone(reader, every_kind):
    reader.open(every_kind)
    reader.press("/")
    reader.page.keyboard.type("tree")
    reader.press("Enter", "Enter")
    assert reader.text("dialog h2") == "tree"
    reader.page.locator("dialog svg .leads").first.focus()
    reader.press("Enter")
    assert reader.text("dialog h2") == "root"
    reader.press("Escape")
    assert reader.text(".panel h2") == "root"
    reader.page.locator(".network").focus()
    reader.press("ArrowLeft")
    seen = reader.text(".panel h2")
    assert seen != "root" and seen in reader.page.locator("[aria-live]").inner_text()
    reader.press("[")
    assert reader.address()["k"] == "10"
    reader.press("Escape")
    assert reader.text(".panel h2") == "The network"
    reader.press("?")
    assert "find a variable" in reader.text("dialog.help")
    reader.press("Escape", "+", "0")


def test_fits_a_narrow_screen(browser, every_kind):
    with reading(browser, 390, 844, has_touch=True, is_mobile=True) as reader:
        reader.open(every_kind)
        assert reader.page.evaluate("document.documentElement.scrollWidth") == 390
        reader.page.touchscreen.tap(*reader.at(TREE))
        reader.page.wait_for_selector(".chosen")
        assert reader.text(".panel h2") == "tree"
        reader.shot("narrow", full_page=True)
        reader.page.get_by_role("button", name="Show its distribution").tap()
        reader.page.wait_for_selector("dialog[open] svg")
        assert reader.page.evaluate("document.documentElement.scrollWidth") == 390
        reader.shot("narrow-tree")


def test_is_dark_where_the_reader_likes_it_dark(browser, asia):
    with reading(browser, 1280, 800, color_scheme="dark") as reader:
        reader.open(asia, "#v=2")
        ground = "getComputedStyle(document.querySelector('.quiltwork')).backgroundColor"
        assert reader.page.evaluate(ground) == "rgb(21, 23, 28)"
        reader.shot("dark")
        reader.page.get_by_role("button", name="Light or dark").click()
        assert reader.page.evaluate(ground) == "rgb(250, 249, 246)"


def test_without_webgl_it_says_so_and_draws_the_plain_way(browser, every_kind, tmp_path):
    plain = browser.browser_type.launch(executable_path=chromium(), args=["--no-sandbox", *NO_WEBGL])
    with reading(plain) as reader:
        reader.open(every_kind)
        assert "no WebGL" in reader.text(".notes")
        assert len(reader.page.locator("svg.plain circle").all()) == 10
        reader.shot("no-webgl")
        reader.click(TREE)
        assert reader.text(".panel h2") == "tree"
        assert len(lines_of(reader.save("SVG", tmp_path))) == 11
        reader.double_click(TREE)
        assert reader.text("dialog h2") == "tree"
    plain.close()


# Names that attack


def crawl(reader):
    """Look at everything there is to see."""
    for v in range(len(documents.ATTACKS)):
        reader.click(v)
        reader.page.mouse.move(*reader.at(v))
        reader.page.get_by_role("button", name="Show its distribution").click()
        reader.page.wait_for_selector("dialog[open] .body > *")
        reader.press("Escape")
    reader.press("/")
    reader.page.keyboard.type("alert")
    assert reader.page.locator("[role=option]").count() >= 5
    reader.press("Escape", "Escape")


def check_nothing_injected(reader):
    injected = "document.querySelectorAll('img, iframe, object, b, [onerror], [onmouseover], a[href]').length"
    assert reader.page.evaluate(injected) == 0
    programs = "[...document.scripts].filter(s => s.type !== 'application/json' && s.type !== 'module').length"
    assert reader.page.evaluate(programs) == 0
    assert reader.dialogs == []


def test_names_that_attack_stay_text(reader, tmp_path):
    shown = documents.hostile()
    with served(shown, documents.other_arcs(shown)) as url:
        reader.open(url)
        assert documents.ATTACKS[0] in reader.text(".notes")
        assert reader.text("h1") == documents.ATTACKS[1]
        crawl(reader)
        reader.click(0)
        assert reader.text(".panel h2") == documents.ATTACKS[0]
        reader.page.locator("button.state").first.click()
        reader.page.wait_for_selector(".changed li")
        reader.page.get_by_role("button", name="Lay the second model").click()
        reader.page.wait_for_selector(".legend .dash")
        check_nothing_injected(reader)
        reader.shot("attack")
        picture = reader.save("SVG", tmp_path)
        assert picture.name == "quiltwork-network.svg"
        assert {node.tag.removeprefix(SVG) for node in ET.parse(picture).iter()} <= {
            "svg", "rect", "line", "path", "circle", "g", "title", "text",
        }  # fmt: skip


def test_a_refusal_that_attacks_stays_text(reader):
    with served(documents.hostile()) as url:
        reader.open(url, "#e=0:1,1:0")
        reader.page.wait_for_selector(".evidence [role=alert]")
        assert "<b>" in reader.text(".evidence [role=alert]")
        check_nothing_injected(reader)
        reader.errors = [error for error in reader.errors if "422" not in error]


# One file


def test_the_file_works_offline(browser, tmp_path):
    qw.to_html(qw.textbook("asia"), tmp_path / "asia.html")
    with reading(browser, offline=True) as reader:
        reader.open((tmp_path / "asia.html").as_uri())
        reader.click(2)
        assert reader.text(".panel h2") == qw.textbook("asia").variables[2].name
        assert "computed by Python" in reader.text(".panel")
        reader.double_click(2)
        assert reader.page.locator("dialog .cpt tbody tr").count() >= 1
        reader.press("Escape")
        reader.page.reload()
        reader.page.wait_for_selector(".chosen")
        reader.shot("file")


def test_a_file_with_names_that_attack(browser, tmp_path):
    from quiltwork.view.html import page

    shown = documents.hostile()
    path = tmp_path / "hostile.html"
    path.write_bytes(page(shown, documents.other_arcs(shown)))
    with reading(browser, offline=True) as reader:
        reader.open(path.as_uri())
        crawl(reader)
        check_nothing_injected(reader)


def test_the_bundle_carries_its_licences(asia, reader):
    reader.open(asia)
    program, terms = reader.page.evaluate(
        "Promise.all(['app.js', 'licences.txt'].map((name) => fetch(`/assets/${name}`).then((r) => r.text())))"
    )
    for name in ("sigma", "graphology", "d3-hierarchy"):
        assert f"\n{name} " in terms
    assert "Permission is hereby granted" in terms and terms in program


# In a notebook


def test_the_bundle_is_a_widget_too(reader, every_kind):
    reader.page.goto(every_kind)
    reader.page.goto(every_kind.split("?")[0] + "assets/licences.txt")
    reader.page.evaluate(
        """async (shown) => {
            const heard = [];
            window.asked = [];
            const model = {
                get: (name) => (name === "document" ? shown : null),
                on: (event, listener) => heard.push(listener),
                off: () => {},
                send: (question) => {
                    asked.push(question);
                    const marginals = shown.variables.map(() => [0.9, 0.1]);
                    const answer = { marginals, method: "exact", converged: true, error: null, note: "" };
                    setTimeout(() => heard.forEach((listener) => listener({ id: question.id, answer })));
                },
            };
            const { default: widget } = await import("/assets/app.js");
            const el = document.createElement("div");
            document.body.replaceChildren(el);
            window.clean = widget.render({ model, el });
        }""",
        documents.every_kind(),
    )
    reader.page.wait_for_selector("[data-ready=yes]")
    reader.find("root")
    reader.give("yes")
    assert reader.page.evaluate("asked") == [{"id": 1, "ask": "marginals", "evidence": {"0": 1}}]
    assert reader.address() == {}  # a notebook's address is its own
    reader.page.evaluate("clean()")
    assert reader.page.locator("canvas").count() == 0


# Documents at the edge


def test_one_variable(reader):
    with served(documents.document(["only"], [], [documents.table([], [[0.5, 0.5]])])) as url:
        reader.open(url)
        reader.click(0)
        assert reader.text(".panel h2") == "only"
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
        reader.page.get_by_role("button", name="Show its distribution").click()
        reader.page.wait_for_selector("dialog[open] .cpt")
        reader.shot("long-names")


def test_ten_thousand_variables(reader):
    n = 10_000
    arcs = [(v, v + 1, float(n - v)) for v in range(n - 1)]
    shown = documents.document([f"v{v}" for v in range(n)], arcs, [])
    shown |= {"locals": None, "notes": ["All 10,000 variables are drawn."], "slider_start": 500}
    with served(shown) as url:
        reader.open(url)
        assert reader.texts(".notes p") == ["All 10,000 variables are drawn."]
        reader.find("v7777")
        assert reader.text(".panel h2") == "v7777"
        reader.page.get_by_role("button", name="Hide these notes").click()
        assert not reader.page.locator(".notes").is_visible()


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
        assert sentence in reader.text(".failed")
