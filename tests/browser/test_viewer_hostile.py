"""Names, states, notes and refusals that try to become markup or programs."""

import xml.etree.ElementTree as ET

from browser import documents
from browser.reader import SVG, reading, served
from quiltwork.view.html import page


def crawl(reader):
    """Look at everything there is to see."""
    for v in range(len(documents.ATTACKS)):
        reader.click(v)
        reader.page.mouse.move(*reader.at(v))
        reader.show_distribution()
        reader.press("Escape")
        reader.has("dialog[open]", 0)
    reader.press("/")
    reader.page.keyboard.type("alert")
    reader.until(lambda: reader.page.locator("[role=option]").count() >= 5)
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
        reader.shows(".panel h2", documents.ATTACKS[0])
        reader.page.locator("button.state").first.click()
        reader.page.wait_for_selector(".changed li")
        reader.click(len(documents.ATTACKS) - 1)  # its name and its states turn what follows round
        reader.page.locator("button.state").first.click()
        reader.until(lambda: len(reader.texts(".chips li button.link")), 2)
        assert reader.texts(".chips li button.link")[1].count("\u2069") == 2
        reader.page.get_by_role("button", name="Compare").click()
        reader.has(".legend .dash", 3)
        check_nothing_injected(reader)
        reader.shot("attack")
        picture = reader.save("SVG", tmp_path)
        assert picture.name == "quiltwork-network.svg"
        assert {node.tag.removeprefix(SVG) for node in ET.parse(picture).iter()} <= {
            "svg", "rect", "line", "path", "circle", "g", "title", "text",
        }  # fmt: skip


def test_a_refusal_that_attacks_stays_text(reader):
    reader.expected.append("422")  # the browser's own remark
    with served(documents.hostile()) as url:
        reader.open(url, "#e=0:1,1:0")
        reader.says(".evidence [role=alert]", "<b>")
        check_nothing_injected(reader)


def test_a_file_with_names_that_attack(browser, tmp_path):
    shown = documents.hostile()
    path = tmp_path / "hostile.html"
    path.write_bytes(page(shown, documents.other_arcs(shown)))
    with reading(browser, offline=True) as reader:
        reader.open(path.as_uri())
        crawl(reader)
        check_nothing_injected(reader)
