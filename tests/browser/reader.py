"""A person in front of the viewer: a browser, a page, and what went wrong in it; and servers for the page."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiltwork.errors import QuiltworkError
from quiltwork.view import serve
from quiltwork.view.bundle import is_built

SHOTS = Path(__file__).parent / "screenshots"  # kept as artefacts, not committed
WEBGL = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
NO_WEBGL = ["--disable-gpu", "--disable-3d-apis"]

LISTEN = """
window.violations = [];
addEventListener("securitypolicyviolation", (e) => violations.push(`${e.violatedDirective} ${e.blockedURI}`));
"""


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
    """One page, and everything that went wrong in it."""

    page: Any
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, context: Any) -> Reader:
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.add_init_script(LISTEN)
        made = cls(page)
        page.on("console", made._console)
        page.on("pageerror", lambda error: made.errors.append(f"exception: {error}"))
        page.on("dialog", made._dialog)
        return made

    def _console(self, message: Any) -> None:
        expected = ("/api/other", "/favicon.ico")  # 404 where there is no second model, or no page of ours
        if message.type == "error" and not message.location.get("url", "").endswith(expected):
            self.errors.append(message.text)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def open(self, url: str, address: str = "") -> Reader:
        self.page.goto(url + address)
        self.page.wait_for_selector("[data-ready=yes], .failed")
        self.settle()
        return self

    def settle(self) -> None:
        """Wait until what was asked for is drawn: two frames, and any movement."""
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.page.wait_for_timeout(60)

    def at(self, v: int) -> tuple[float, float]:
        place = self.page.evaluate("v => quiltwork.place(v)", v)
        return place["x"], place["y"]

    def click(self, v: int) -> None:
        self.page.mouse.click(*self.at(v))
        self.settle()

    def double_click(self, v: int) -> None:
        self.page.mouse.dblclick(*self.at(v))
        self.page.wait_for_selector("dialog.distribution[open]")
        self.settle()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def find(self, words: str) -> None:
        self.page.get_by_role("combobox").fill(words)
        self.page.keyboard.press("Enter")
        self.page.wait_for_timeout(260)  # the camera may move
        self.settle()

    def give(self, state: str) -> None:
        """Set a state of the selected variable as evidence, and wait for the answer."""
        self.page.locator("button.state", has_text=state).first.click()
        self.page.wait_for_selector(".evidence .changed li")

    def text(self, selector: str) -> str:
        return self.texts(selector)[0]

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).evaluate_all("all => all.map(node => node.innerText ?? node.textContent)")

    def address(self) -> dict[str, str]:
        self.page.wait_for_timeout(300)  # it is written when the reader rests
        return dict(re.findall(r"[#&](\w)=([^&]*)", self.page.url))

    def save(self, format_: str, folder: Path, within: str = "header.top") -> Path:
        """Press a button that saves a picture, and the file it gave."""
        with self.page.expect_download() as told:
            self.page.locator(within).get_by_role("button", name=f"as {format_}").click()
        path = folder / told.value.suggested_filename
        told.value.save_as(path)
        return path

    def shot(self, name: str, **more: Any) -> None:
        SHOTS.mkdir(exist_ok=True)
        self.settle()
        self.page.screenshot(path=SHOTS / f"{name}.png", **more)

    def check_clean(self) -> None:
        """No error, no dialog, and nothing that the security policy had to stop."""
        faults = [*self.errors, *self.dialogs, *self.page.evaluate("violations")]
        assert not faults, faults


@contextlib.contextmanager
def reading(browser: Any, width: int = 960, height: int = 640, **more: Any) -> Iterator[Reader]:
    """A reader with a screen of this size; the smaller, the less there is to draw without a graphics card."""
    size = {"width": width, "height": height}
    context = browser.new_context(viewport=size, reduced_motion="reduce", **more)
    made = Reader.of(context)
    yield made
    made.check_clean()
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

    def local(self, v: int) -> Any:
        return self.document["locals"][v]

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
    deadline = time.monotonic() + 20
    while not service.server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        yield service.url
    finally:
        service.stop()
        thread.join(timeout=20)
        service.socket.close()
