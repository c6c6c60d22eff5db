"""What a hand does on the network: clicks that tremble, slow double clicks, drags, fingers."""

import math

import pytest

from browser.documents import TABLE, TREE
from browser.reader import reading


def test_a_click_that_trembles_is_a_click_and_moves_nothing(reader, asia):
    reader.open(asia)
    x, y = reader.at(3)
    reader.page.mouse.move(x, y)
    reader.page.mouse.down()
    reader.page.mouse.move(x + 2, y - 1, steps=2)
    reader.page.mouse.move(x - 1, y + 2, steps=2)
    reader.page.mouse.up()
    reader.is_at(v=3)
    assert reader.at(3) == pytest.approx((x, y), abs=0.01)


def test_a_click_beside_the_network_that_trembles_clears_the_selection(reader, asia):
    reader.open(asia, "#v=3")
    before = reader.at(1)
    reader.page.mouse.move(130, 90)
    reader.page.mouse.down()
    reader.page.mouse.move(132, 92, steps=2)
    reader.page.mouse.up()
    reader.shows(".panel h2", "The network")
    assert reader.at(1) == pytest.approx(before, abs=0.01)


def test_a_drag_moves_a_variable_and_selects_nothing(reader, asia):
    reader.open(asia)
    x, y = reader.at(0)
    others = [reader.at(v) for v in range(1, 8)]
    reader.page.mouse.move(x, y)
    reader.page.mouse.down()
    reader.page.mouse.move(x + 30, y + 20, steps=3)
    reader.page.mouse.up()
    assert reader.at(0) == pytest.approx((x + 30, y + 20), abs=3)
    assert [reader.at(v) for v in range(1, 8)] == others
    reader.shows(".panel h2", "The network")
    reader.click(0)  # where it stands now


def test_zooms_and_pans(reader, asia):
    reader.open(asia)
    before = math.dist(reader.at(1), reader.at(2))
    reader.page.get_by_role("button", name="Zoom in").click()
    reader.until(lambda: math.dist(reader.at(1), reader.at(2)) > 1.4 * before)
    reader.page.get_by_role("button", name="Zoom out").click()
    reader.until(lambda: math.dist(reader.at(1), reader.at(2)) < 1.1 * before)
    x, y = reader.at(1)
    reader.page.mouse.move(130, 90)
    reader.page.mouse.down()
    reader.page.mouse.move(180, 140, steps=3)
    reader.page.mouse.up()
    reader.until(lambda: reader.at(1) == pytest.approx((x + 50, y + 50), abs=1))
    reader.page.mouse.move(*reader.at(1))
    reader.page.mouse.wheel(0, -400)
    reader.until(lambda: math.dist(reader.at(1), reader.at(2)) > 2 * before)
    assert reader.at(1) == pytest.approx((x + 50, y + 50), abs=1)  # what is under the pointer stays there


def test_a_slow_double_click_opens_the_distribution(reader, every_kind):
    reader.open(every_kind)
    mouse = reader.page.mouse
    mouse.move(*reader.at(TREE))
    mouse.down()
    mouse.up()
    reader.page.wait_for_timeout(600)  # a hand in no hurry; the browser is told that it is a double click
    mouse.down(click_count=2)
    mouse.up(click_count=2)
    reader.distribution()
    reader.shows("dialog.distribution h2", "tree")


def test_quick_clicks_on_two_variables_are_no_double_click(reader, every_kind):
    reader.open(every_kind)
    mouse, (first, second) = reader.page.mouse, (reader.at(TABLE), reader.at(TREE))
    mouse.click(*first)
    mouse.move(*second)
    mouse.down(click_count=2)  # as a system says that minds only the time
    mouse.up(click_count=2)
    reader.is_at(v=TREE)
    assert not reader.page.locator("dialog.distribution[open]").count()


def test_the_name_of_what_is_under_the_pointer_is_shown(reader, every_kind):
    reader.open(every_kind)
    reader.page.mouse.move(*reader.at(TREE))
    reader.shows(".hover", "tree")
    reader.page.mouse.move(130, 90)
    reader.page.locator(".hover").wait_for(state="hidden")


# Fingers


@pytest.fixture
def touching(browser, every_kind):
    with reading(browser, 390, 844, has_touch=True, is_mobile=True) as reader:
        yield reader.open(every_kind)


def touch(reader, *frames):
    """Fingers at these places, frame after frame."""
    told = reader.page.context.new_cdp_session(reader.page)

    def tell(kind, places):
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]
        told.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    tell("touchStart", frames[0])
    for places in frames[1:]:
        tell("touchMove", places)
    tell("touchEnd", [])


def test_a_tap_that_trembles_is_a_tap_and_moves_nothing(touching):
    x, y = touching.at(TREE)
    touch(touching, [(x, y)], [(x + 3, y - 2)], [(x + 5, y + 4)])
    touching.is_at(v=TREE)
    assert touching.at(TREE) == pytest.approx((x, y), abs=0.01)


def test_a_tap_beside_a_variable_finds_it(touching):
    x, y = touching.at(TREE)
    touching.page.touchscreen.tap(x + 16, y)
    touching.is_at(v=TREE)


def test_a_finger_pans_and_two_zoom(touching):
    before, (x, y) = math.dist(touching.at(1), touching.at(2)), touching.at(TREE)
    touch(touching, [(60, 200)], [(70, 215)], [(90, 240)])
    touching.until(lambda: touching.at(TREE) == pytest.approx((x + 30, y + 40), abs=1))
    touch(touching, [(150, 300), (220, 300)], [(130, 300), (240, 300)], [(115, 300), (255, 300)])
    touching.until(lambda: math.dist(touching.at(1), touching.at(2)) == pytest.approx(2 * before, rel=0.05))
    assert touching.page.locator(".chosen").count() == 0
