"""What is taken along: pictures, and the whole view as one file; and the page as a widget of its own."""

import xml.etree.ElementTree as ET

import quiltwork as qw
from browser import documents
from browser.documents import GRAPH
from browser.reader import SVG, reading


def test_saves_what_is_on_screen(reader, asia, tmp_path):
    reader.open(asia, "#v=2")
    reader.shows(".legend li", ["selected", "parent", "child", "spouse"])
    picture = reader.save("SVG", tmp_path)
    assert picture.name == "quiltwork-network.svg"
    root = ET.parse(picture).getroot()
    names = {node.text for node in root.iter(f"{SVG}text")}
    assert qw.textbook("asia").variables[2].name in names
    assert len(root.findall(f"{SVG}g[@data-variable]/{SVG}circle")) == 8
    assert {"selected", "parent", "child", "spouse"} <= names  # what the colours mean
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


def test_the_file_works_offline(browser, tmp_path):
    qw.to_html(qw.textbook("asia"), tmp_path / "asia.html")
    with reading(browser, offline=True) as reader:
        reader.open((tmp_path / "asia.html").as_uri())
        reader.click(2)
        reader.shows(".panel h2", qw.textbook("asia").variables[2].name)
        assert "computed by Python" in reader.text(".panel")
        reader.double_click(2)
        assert reader.page.locator("dialog .cpt tbody tr").count() >= 1
        reader.press("Escape")
        reader.has("dialog[open]", 0)
        reader.page.reload()
        reader.page.wait_for_selector(".chosen")
        reader.shot("file")


def test_the_file_works_within_another_page(browser, tmp_path):
    """A sandboxed frame has no address of its own to write."""
    qw.to_html(qw.textbook("asia"), tmp_path / "asia.html")
    with reading(browser, offline=True) as reader:
        reader.page.goto("about:blank")
        reader.page.evaluate(
            """(page) => {
                const frame = document.createElement("iframe");
                frame.sandbox = "allow-scripts";
                frame.width = 900;
                frame.height = 600;
                frame.srcdoc = page;
                document.body.append(frame);
            }""",
            (tmp_path / "asia.html").read_text(),
        )
        within = reader.page.frame_locator("iframe")
        within.locator("[data-ready=yes]").wait_for()
        within.get_by_role("combobox").fill("lung")
        within.get_by_role("option").first.wait_for()
        reader.press("Enter", "[")
        within.locator(".panel h2", has_text="lung").wait_for()
        reader.page.wait_for_timeout(400)  # the address would have followed by now


def test_the_bundle_carries_its_licences(asia, reader):
    reader.open(asia)
    program, terms = reader.page.evaluate(
        "Promise.all(['app.js', 'licences.txt'].map((name) => fetch(`/assets/${name}`).then((r) => r.text())))"
    )
    for name in ("sigma", "graphology", "d3-hierarchy"):
        assert f"\n{name} " in terms
    assert "Permission is hereby granted" in terms and terms in program


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
    reader.is_at()  # a notebook's address is its own
    reader.page.evaluate("clean()")
    reader.has("canvas", 0)


def test_a_widget_that_is_taken_away_at_once_draws_nothing(reader, every_kind):
    reader.page.goto(every_kind)
    reader.page.goto(every_kind.split("?")[0] + "assets/licences.txt")
    reader.page.evaluate(
        """async (shown) => {
            const model = { get: (name) => (name === "document" ? shown : null), on() {}, off() {}, send() {} };
            const { default: widget } = await import("/assets/app.js");
            const el = document.createElement("div");
            document.body.replaceChildren(el);
            widget.render({ model, el })();
            await new Promise((done) => setTimeout(done, 500));
        }""",
        documents.every_kind(),
    )
    assert reader.page.locator("canvas, .quiltwork").count() == 0
