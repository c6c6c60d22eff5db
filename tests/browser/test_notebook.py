"""The viewer in a notebook's cell: the bundle as anywidget loads it, and the kernel's answers behind it."""

import quiltwork as qw
from browser.reader import reading
from quiltwork.view.answers import Answers
from quiltwork.view.bundle import FOLDER
from quiltwork.view.widget import reply

# What a notebook does: it imports the module, gives it a model and an element, and carries messages.
CELL = """
async ({ code, traits }) => {
  const { default: widget } = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const listeners = [];
  const model = {
    get: (name) => traits[name],
    on: (event, heard) => event === "msg:custom" && listeners.push(heard),
    off: () => listeners.splice(0),
    send: async (content) => {
      const answer = await kernel(content);
      listeners.forEach((heard) => heard(answer, []));
    },
  };
  window.leave = widget.render({ model, el: document.querySelector("#cell") });
}
"""


def test_a_cell_shows_a_model_and_asks_the_kernel(browser):
    answers = Answers.of(qw.textbook("asia"), None)
    with reading(browser) as reader:
        page = reader.page
        page.goto("about:blank")
        page.set_content("<div id='cell' style='width: 900px'></div>")
        page.expose_function("kernel", lambda content: reply(answers, content))
        page.add_style_tag(content=(FOLDER / "app.css").read_text())
        traits = {"document": answers.document, "other": answers.other}
        page.evaluate(CELL, {"code": (FOLDER / "app.js").read_text(), "traits": traits})
        page.wait_for_selector("[data-ready=yes]")
        reader.find("smoke")
        reader.give("yes")  # evidence goes to the kernel, and its answer comes back
        assert "Exact." in reader.text(".evidence")
        reader.show_distribution()
        reader.until(lambda: page.locator("dialog[open] .cpt tbody tr").count() >= 1)
        reader.press("Escape")
        reader.shot("notebook")
        page.evaluate("leave()")
        assert page.evaluate("document.querySelector('#cell').childElementCount") == 0
