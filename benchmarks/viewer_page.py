"""How long until the viewer's page can be used, and how soon does it answer; and cytoscape on the same network?

Chromium with software WebGL (SwiftShader), a page of 1280 x 800 pixels, a random dependency network with trees
(`viewer.py` makes it).

Loading    from the start of the navigation: first paint; ready, which is when the network is drawn and can be clicked
Answers    from a click or a key until the browser has painted what it led to (the Event Timing API, in steps of 8 ms)
Sliding    a reader drags the slider without a pause: time of a frame, with one step of the slider in each

cytoscape draws the same variables, arcs, arrowheads and names at the same places on a canvas of the same size, and is
slid through the same arcs; it is fetched with npm into a temporary folder. Wall milliseconds swell beside other work;
CPU milliseconds, over all of the browser's processes, hardly do.

Wanted: at 2,000 variables and 20,000 arcs ready within 3 s of loading; at 300 variables the first paint within 1 s and
every answer within 100 ms.

Last result: 2026-11-19, software WebGL, no other work:

    2 cores, AMD EPYC, Python 3.11.7, load 0.9

    Loading 300 variables, 3,000 arcs, best of 3
                       ms
      first paint     256
      ready           391
      CPU until then  710

    Answers
                                         median ms  most ms  CPU ms
      step the slider                           32       88     143
      click a variable                          36       72     140
      step the slider with one selected         36       48     132
      find a variable, each key                 32       64      83
      open and close a distribution             40       56     123
      zoom                                      36       40      55
      light or dark                             48       56      83

    A frame while sliding
                                           ms  CPU ms  cytoscape ms  CPU ms  times ours  by CPU
      sliding through the strongest tenth  18      33            55     100         3.1     3.0
      sliding through up to a half         21      37           106     203         5.0     5.5
      sliding through all                  25      48           247     475         9.7     9.8
      cytoscape is drawn 539 ms after it has the document

    Loading 2,000 variables, 20,000 arcs, best of 3
                        ms
      first paint      184
      ready            504
      CPU until then  1000

    Answers
                                         median ms  most ms  CPU ms
      step the slider                           48       96     158
      click a variable                          44       80     152
      step the slider with one selected         52       72     162
      find a variable, each key                 48       72      93
      open and close a distribution             40       72     126
      zoom                                      48       48      75
      light or dark                             84       96     135

    A frame while sliding
                                           ms  CPU ms  cytoscape ms  CPU ms  times ours  by CPU
      sliding through the strongest tenth  21      39           287     579        13.4    14.8
      sliding through up to a half         29      54           814    1598        28.0    29.5
      sliding through all                  63     118          2198    4350        34.7    36.8
      cytoscape is drawn 2855 ms after it has the document
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import common
import viewer

CYTOSCAPE = "cytoscape@3.34.4"
FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
]  # fmt: skip
FRAMES = 12  # of a drag
PAUSE = 300  # milliseconds between two inputs
DRAGS = {"the strongest tenth": (0.02, 0.1), "up to a half": (0.1, 0.5), "all": (0.5, 1.0)}  # shares of the arcs

LISTEN = """
window.answers = [];
new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.interactionId) answers.push([entry.interactionId, entry.duration]);
}).observe({ type: "event", durationThreshold: 16, buffered: true });
window.slid = async (show, from, to, frames) => {  // mean milliseconds of a frame
    await new Promise((done) => requestAnimationFrame(done));
    const began = performance.now();
    for (let i = 1; i <= frames; i++) {
        show(Math.round(from + ((to - from) * i) / frames));
        await new Promise((done) => requestAnimationFrame(done));
    }
    return (performance.now() - began) / frames;
};
"""

OURS = """(count) => {
    const slider = document.querySelector("input[type=range]");
    slider.value = count;
    slider.dispatchEvent(new Event("input"));
}"""

THEIRS = """
window.draw = async (shown) => {
    const began = performance.now();
    const place = ([x, y]) => ({ x: 700 * x, y: 700 * (1 - y) });
    const elements = shown.variables.map((v, i) => ({
        data: { id: `v${i}`, name: v.name }, position: place(shown.positions[i]),
    }));
    const { from, to } = shown.arcs;
    from.forEach((a, i) => elements.push({ data: { id: `a${i}`, source: `v${a}`, target: `v${to[i]}` } }));
    const style = [
        { selector: "node", style: {
            width: 6, height: 6, "background-color": "#64748b", label: "data(name)", "font-size": 12,
            "min-zoomed-font-size": 12 } },
        { selector: "edge", style: {
            width: 1, "line-color": "#7d8694", "curve-style": "straight", "target-arrow-shape": "triangle",
            "target-arrow-color": "#7d8694", "arrow-scale": 0.5, "line-opacity": 0.4 } },
        { selector: ".hidden", style: { display: "none" } },
    ];
    const container = document.getElementById("peer");
    const cy = cytoscape({ container, elements, style, layout: { name: "preset" }, pixelRatio: 1 });
    const arcs = from.map((_, i) => cy.getElementById(`a${i}`));
    let now = arcs.length;
    window.show = (count) => {  // only arcs that change are told
        cy.batch(() => {
            for (let i = count; i < now; i++) arcs[i].addClass("hidden");
            for (let i = now; i < count; i++) arcs[i].removeClass("hidden");
        });
        now = count;
        cy.forceRender();
    };
    show(shown.slider_start);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - began;
};
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 2_000], choices=list(viewer.SIZES))
    parser.add_argument("--repeat", type=int, default=3, help="loads of the page")
    options = parser.parse_args()
    reason = missing()
    if reason:
        print(f"Left out: {reason}.")
        return
    print(common.machine())
    for n_vars in options.sizes:
        measure(n_vars, options.repeat)


def missing() -> str:
    """Why nothing can be measured here."""
    from quiltwork.view.bundle import is_built

    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    if shutil.which("chromium") is None:
        return "there is no chromium"
    return "" if is_built() else "the viewer is not built"


def measure(n_vars: int, repeat: int) -> None:
    """Loading, answers, and the slider beside cytoscape's."""
    from playwright.sync_api import sync_playwright

    from quiltwork.view.serve import serve

    service = serve(viewer.tree_network(n_vars, viewer.SIZES[n_vars]), port=0)
    threading.Thread(target=service.run, daemon=True).start()
    mark = f"--quiltwork-benchmark={os.getpid()}"
    cpu = partial(_cpu_seconds, mark)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*FLAGS, mark])
        loads = [_load(browser, service.url, cpu) for _ in range(repeat)]
        page = loads[-1]["page"]
        shown = page.evaluate("fetch('/api/document').then((response) => response.json())")
        title = f"{n_vars:,} variables, {len(shown['arcs']['from']):,} arcs"
        names = [("first paint", "paint"), ("ready", "ready"), ("CPU until then", "cpu")]
        rows = [[name, f"{min(load[key] for load in loads):.0f}"] for name, key in names]
        common.print_rows(f"Loading {title}, best of {repeat}", ["", "ms"], rows)
        rows = [[name, *_answers(page, act, cpu)] for name, act in ANSWERS.items()]
        common.print_rows("Answers", ["", "median ms", "most ms", "CPU ms"], rows)
        page = _load(browser, service.url, cpu)["page"]
        ours = _drags(page, OURS, shown, cpu)
        page.context.close()
        with _peer_page(browser) as peer:
            drawn = peer and peer.evaluate("(text) => draw(JSON.parse(text))", json.dumps(shown))
            theirs = peer and _drags(peer, "show", shown, cpu)
        browser.close()
    service.stop()
    header = ["", "ms", "CPU ms"] + (["cytoscape ms", "CPU ms", "times ours", "by CPU"] if theirs else [])
    rows = []
    for i, name in enumerate(DRAGS):
        both = [ours[i], theirs[i]] if theirs else [ours[i]]
        ratios = [f"{b / a:.1f}" for a, b in zip(*both)] if theirs else []
        rows.append([f"sliding through {name}", *(f"{value:.0f}" for side in both for value in side), *ratios])
    common.print_rows("A frame while sliding", header, rows)
    if theirs:
        print(f"  cytoscape is drawn {drawn:.0f} ms after it has the document")


def _load(browser: Any, url: str, cpu: Callable[[], float]) -> dict[str, Any]:
    """Milliseconds from the start of the navigation, in a fresh context."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce").new_page()
    page.add_init_script(LISTEN)
    before = cpu()
    page.goto(url)
    page.wait_for_selector("[data-ready=yes]")
    spent = 1000 * (cpu() - before)
    page.wait_for_timeout(1000)
    at = "(name) => performance.getEntriesByName(name)[0]?.startTime ?? NaN"
    paint, ready = page.evaluate(at, "first-contentful-paint"), page.evaluate(at, "quiltwork-ready")
    return {"page": page, "paint": paint, "ready": ready, "cpu": spent}


# Answers: what a reader does, by hand; one input after the other, with a pause


def _click(page: Any) -> Iterator[None]:
    for v in range(0, 300, 50):
        at = page.evaluate("(v) => quiltwork.place(v)", v)
        page.mouse.click(at["x"], at["y"])
        yield


def _slide(page: Any) -> Iterator[None]:
    page.get_by_role("slider").focus()
    for key in ("PageUp", "PageDown", "ArrowUp", "PageUp", "ArrowDown", "PageDown"):
        page.keyboard.press(key)
        yield


def _find(page: Any) -> Iterator[None]:
    for name in ("17", "250"):
        page.get_by_role("combobox").focus()
        for key in (*name, "Enter"):
            page.keyboard.press(key)
            yield


def _open(page: Any) -> Iterator[None]:
    for _ in range(4):
        page.get_by_role("button", name="Show its distribution").click()
        page.wait_for_selector("dialog .body[aria-busy=false] > *")
        yield
        page.keyboard.press("Escape")
        yield


def _press(*buttons: str) -> Callable[[Any], Iterator[None]]:
    def act(page: Any) -> Iterator[None]:
        for name in buttons:
            page.get_by_role("button", name=name).click()
            yield

    return act


ANSWERS = {
    "step the slider": _slide,
    "click a variable": _click,
    "step the slider with one selected": _slide,
    "find a variable, each key": _find,
    "open and close a distribution": _open,
    "zoom": _press("Zoom in", "Zoom in", "Zoom out", "Zoom out"),
    "light or dark": _press(*["Light or dark"] * 4),
}


def _answers(page: Any, act: Callable[[Any], Iterator[None]], cpu: Callable[[], float]) -> list[str]:
    """Median and most milliseconds from an input to its paint (those under 16 are not told apart), and CPU of one."""
    page.evaluate("answers.length = 0")
    before, inputs = cpu(), 0
    for _ in act(page):
        page.wait_for_timeout(PAUSE)
        inputs += 1
    spent = 1000 * (cpu() - before) / inputs
    longest: dict[int, float] = {}
    for number, took in page.evaluate("answers"):
        longest[number] = max(took, longest.get(number, 0))
    took = sorted(longest.values()) or [16]
    return [f"{statistics.median(took):.0f}", f"{took[-1]:.0f}", f"{spent:.0f}"]


def _drags(page: Any, show: str, shown: Any, cpu: Callable[[], float]) -> list[tuple[float, float]]:
    """Wall and CPU milliseconds of a frame while the slider is dragged."""
    arcs = len(shown["arcs"]["from"])
    out = []
    for low, high in DRAGS.values():
        page.evaluate(f"slid({show}, {arcs * low}, {arcs * low}, 2)")
        before = cpu()
        took = page.evaluate(f"slid({show}, {arcs * low}, {arcs * high}, {FRAMES})")
        out.append((took, 1000 * (cpu() - before) / FRAMES))
    return out


# The peer


@contextlib.contextmanager
def _peer_page(browser: Any) -> Iterator[Any]:
    """A page with cytoscape in it, or None where it cannot be fetched."""
    with tempfile.TemporaryDirectory() as folder:
        npm = ["npm", "install", "--prefix", folder, "--silent", "--no-audit", "--no-fund", CYTOSCAPE]
        if shutil.which("npm") is None or subprocess.run(npm, capture_output=True).returncode != 0:
            print("cytoscape cannot be fetched with npm, and is left out")
            yield None
            return
        text = (
            '<!doctype html><script src="cytoscape.js"></script><div id="peer" style="width:848px;height:740px"></div>'
        )
        Path(folder, "index.html").write_text(text)
        shutil.copy(Path(folder, "node_modules/cytoscape/dist/cytoscape.min.js"), Path(folder, "cytoscape.js"))
        handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        page.add_init_script(LISTEN + THEIRS)
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        yield page
        page.context.close()
        server.shutdown()


def _cpu_seconds(mark: str) -> float:
    """CPU of a browser's processes: the one with the mark on its command line, and its descendants."""
    ticks, parent, chosen = {}, {}, set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                pid = int(folder.name)
                parent[pid], ticks[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
                if mark.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                    chosen.add(pid)
    grown = True
    while grown:
        more = {pid for pid, above in parent.items() if above in chosen} - chosen
        chosen, grown = chosen | more, bool(more)
    return sum(ticks[pid] for pid in chosen) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
