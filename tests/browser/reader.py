"""A person in front of the viewer: a browser, a page, and what went wrong in it; and servers for the page."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import socket
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiltwork.errors import QuiltworkError
from quiltwork.view import serve
from quiltwork.view.bundle import is_built

SHOTS = Path(__file__).parent / "screenshots"  # kept as artefacts, not committed
WEBGL = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
NO_WEBGL = ["--disable-gpu", "--disable-3d-apis"]

PATIENCE = 90  # seconds, for anything; a test that fails takes so long, and no other waits

LISTEN = """
window.violations = [];
addEventListener("securitypolicyviolation", (e) => violations.push(`${e.violatedDirective} ${e.blockedURI}`));
"""


# The place of a variable in two frames after each other.
STANDS_STILL = """async (v) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (let before = null; ; ) {
    await frame();
    const now = quiltwork.place(v);
    if (before !== null && now.x === before.x && now.y === before.y) return now;
    before = now;
  }
}"""


SVG = "{http://www.w3.org/2000/svg}"


def lines_of(picture: Path) -> list[ET.Element]:
    """The arcs of an SVG file of a network."""
    return ET.parse(picture).getroot().findall(f"{SVG}line")


def chromium() -> str | None:
    """Where the browser is, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def missing() -> str:
    """Why there can be no browser test here; empty if there can."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed (it is part of quiltwork[test])"
    if chromium() is None:
        return "there is no chromium ('make test' installs Debian's where it may)"
    if not is_built():
        return "the viewer is not built ('make viewer' does, and needs npm)"
    return ""


@dataclass
class Reader:
    """One page, and everything that went wrong in it.

    What is done shows when it shows, on a machine that may have much else to do: nothing here waits for a time, and
    whatever is asked of the page is asked again until it is so (`until`), or PATIENCE is at its end.
    """

    page: Any
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # parts of errors on the console that shall be there

    @classmethod
    def of(cls, context: Any) -> Reader:
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.add_init_script(LISTEN)
        made = cls(page)
        page.on("console", made._console)
        page.on("pageerror", lambda error: made.errors.append(f"exception: {error}"))
        page.on("dialog", made._dialog)
        return made

    def _console(self, message: Any) -> None:
        if message.type == "error" and not message.location.get("url", "").endswith("/favicon.ico"):  # no page of ours
            self.errors.append(message.text)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    # Waiting

    def until(self, read: Callable[[], Any], wanted: Any = True) -> None:
        """What is read becomes what is wanted."""
        deadline = time.monotonic() + PATIENCE
        while (got := read()) != wanted and time.monotonic() < deadline:
            self.page.wait_for_timeout(20)
        assert got == wanted

    def shows(self, selector: str, wanted: str | list[str]) -> None:
        """An element comes to have this text, or some come to have these."""
        self.until(lambda: self.texts(selector), [wanted] if isinstance(wanted, str) else wanted)

    def says(self, selector: str, part: str) -> None:
        """An element comes to have this text in it."""
        self.until(lambda: any(part in text for text in self.texts(selector)))

    def has(self, selector: str, count: int = 1) -> None:
        """There come to be so many."""
        self.until(self.page.locator(selector).count, count)

    def is_at(self, **address: Any) -> None:
        """The address comes to carry this and nothing else; it is written when the reader rests."""
        wanted = {name: str(value) for name, value in address.items()}
        self.until(lambda: dict(re.findall(r"[#&](\w)=([^&]*)", self.page.url)), wanted)

    def at(self, v: int) -> tuple[float, float]:
        """Where a variable stands, once it stands still."""
        place = self.page.evaluate(STANDS_STILL, v)
        return place["x"], place["y"]

    # Doing

    def open(self, url: str, address: str = "") -> Reader:
        self.page.goto(url + address)
        self.page.wait_for_selector("[data-ready=yes], .failed")
        return self

    def click(self, v: int) -> None:
        self.page.mouse.click(*self.at(v))
        self.is_selected(v)

    def double_click(self, v: int) -> None:
        self.page.mouse.dblclick(*self.at(v))
        self.distribution()

    def is_selected(self, v: int) -> None:
        self.until(lambda: re.findall(r"[#&]v=(\d+)", self.page.url), [str(v)])

    def show_distribution(self) -> None:
        self.page.get_by_role("button", name="Show its distribution").click()
        self.distribution()

    def distribution(self) -> None:
        """One is shown, and all of it."""
        self.page.wait_for_selector("dialog.distribution[open] .body[aria-busy=false] > *")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def find(self, name: str) -> None:
        self.page.get_by_role("combobox").fill(name)
        self.page.locator("[role=option]").first.wait_for()
        self.page.keyboard.press("Enter")
        self.shows(".panel .chosen h2", name)

    def give(self, state: str) -> None:
        """Set a state of the selected variable as evidence, and wait for the answer."""
        self.page.locator("button.state", has_text=state).first.click()
        self.page.wait_for_selector(".evidence .changed li")

    def save(self, format_: str, folder: Path, within: str = "header.top") -> Path:
        """Press a button that saves a picture, and the file it gave."""
        with self.page.expect_download() as told:
            self.page.locator(within).get_by_role("button", name=f"as {format_}").click()
        path = folder / told.value.suggested_filename
        told.value.save_as(path)
        return path

    # Seeing

    def text(self, selector: str) -> str:
        return self.texts(selector)[0]

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).evaluate_all("all => all.map(node => node.innerText ?? node.textContent)")

    def shot(self, name: str, **more: Any) -> None:
        SHOTS.mkdir(exist_ok=True)
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.page.screenshot(path=SHOTS / f"{name}.png", **more)

    def check_clean(self) -> None:
        """No error but those that are expected, no dialog, and nothing that the security policy had to stop."""
        violations = self.page.evaluate("violations")  # whatever the page has said so far has arrived with this answer
        errors = [error for error in self.errors if not any(part in error for part in self.expected)]
        assert not [*errors, *self.dialogs, *violations]


@contextlib.contextmanager
def reading(browser: Any, width: int = 960, height: int = 640, **more: Any) -> Iterator[Reader]:
    """A reader with a screen of this size; the smaller, the less there is to draw without a graphics card."""
    size = {"width": width, "height": height}
    context = browser.new_context(viewport=size, reduced_motion="reduce", **more)
    try:
        made = Reader.of(context)
        yield made
        made.check_clean()
    finally:
        context.close()


@contextlib.contextmanager
def served_model(model: Any, other: Any = None) -> Iterator[str]:
    """The address of the real server with a real model."""
    with _running(serve.serve(model, other, port=0)) as url:
        yield url


@dataclass
class Scripted:
    """Documents made by hand behind the real server; evidence moves every variable to its first state."""

    document: dict[str, Any]
    other: dict[str, Any] | None = None

    def local(self, v: int, other: bool = False) -> Any:
        return (self.other if other and self.other else self.document)["locals"][v]

    def marginals(self, evidence: dict[str, float]) -> dict[str, Any]:
        if "0" in evidence and evidence["0"] == 1 and "1" in evidence:
            raise QuiltworkError("This evidence cannot be: <b>it has probability zero</b>.")
        parts = [[0.9] + [0.1 / (len(v["states"]) - 1)] * (len(v["states"]) - 1) for v in self.document["variables"]]
        return {"marginals": parts, "method": "gibbs", "converged": True, "error": 0.004, "note": ""}


@contextlib.contextmanager
def served(document: dict[str, Any], other: dict[str, Any] | None = None) -> Iterator[str]:
    """The address of the real server with documents made by hand."""
    import uvicorn

    from quiltwork.view.guard import Punctual

    listening = socket.create_server(("127.0.0.1", 0))
    port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    app = serve.application(Scripted(document, other), serve.LOOPBACK, port, token)
    config = uvicorn.Config(app, http=Punctual, ws="none", lifespan="off", log_config=None, access_log=False)
    url = f"http://127.0.0.1:{port}/?token={token}"
    service = serve.Service(url=url, server=uvicorn.Server(config), socket=listening)
    with _running(service) as url:
        yield url


@contextlib.contextmanager
def _running(service: serve.Service) -> Iterator[str]:
    thread = threading.Thread(target=service.run, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not service.server.started:
            assert time.monotonic() < deadline and thread.is_alive(), "the server does not start"
            time.sleep(0.01)
        yield service.url
    finally:
        service.stop()
        thread.join(timeout=PATIENCE)
        service.socket.close()
