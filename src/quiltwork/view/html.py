"""One file that holds a whole view: page, style, program and document; it works offline and can be mailed.

Nothing in it can be mistaken for a program. The documents are JSON in a block that browsers do not run, with every `<`
written \\u003c, so that no name can end the block. The program and the style are known to the file's security policy by
their hashes; whatever else might find its way in is not run, and nothing is ever loaded from elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
from typing import Any

from quiltwork.models.disk import write_atomically
from quiltwork.view.bundle import read_bundle
from quiltwork.view.compare import compared
from quiltwork.view.document import Document, document, to_json

STYLE = '<link rel="stylesheet" href="/assets/app.css">'  # as they stand in the bundle's index.html
PROGRAM = '<script type="module" src="/assets/app.js"></script>'


def to_html(model: Any, path: str | os.PathLike[str], other: Any = None) -> None:
    """Write a model (or a fitted estimator's) as one self-contained page; with `other`, two models to compare.

    >>> import quiltwork as qw
    >>> qw.to_html(qw.textbook("asia"), "asia.html")  # doctest: +SKIP
    """
    read_bundle("index.html")  # says so before any work is done, if the page is not built
    shown, second = (document(model), None) if other is None else compared(model, other)
    write_atomically(path, page(shown, second))


def page(shown: Document, other: Document | None = None) -> bytes:
    """The page as UTF-8."""
    style = read_bundle("app.css").decode().replace("</style", "<\\/style")
    program = read_bundle("app.js").decode().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    policy = (
        f"default-src 'none'; script-src '{_hash(program)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    documents = json_block("quiltwork-document", shown)
    if other is not None:
        documents += json_block("quiltwork-other", other)
    index = read_bundle("index.html").decode()
    parts = {
        "<head>": f'<head>\n    <meta http-equiv="Content-Security-Policy" content="{policy}">',
        "<title>Quiltwork</title>": f"<title>{html.escape(title(shown))}</title>",
        STYLE: f"<style>{style}</style>",
        PROGRAM: f'<script type="module">{program}</script>',
        "</body>": f"{documents}</body>",
    }
    for place in parts:
        if index.count(place) != 1:
            raise ValueError(f"The viewer's index.html must hold {place!r} once; build it again with 'make viewer'.")
    for place, content in parts.items():
        index = index.replace(place, content, 1) if place != "</body>" else _before_end(index, content)
    return index.encode()


def title(shown: Document) -> str:
    """What the browser's tab says.

    >>> title({"title": "Bayesian network", "summary": {"variables": 8}})
    'Bayesian network, 8 variables · Quiltwork'
    """
    return f"{shown['title']}, {shown['summary']['variables']:,} variables · Quiltwork"


def json_block(name: str, value: Any) -> str:
    r"""A block of JSON that no text in it can end.

    >>> json_block("a", ["</script><!--"])
    '<script type="application/json" id="a">["\\u003c/script\\u003e\\u003c!--"]</script>'
    """
    text = to_json(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _before_end(index: str, content: str) -> str:
    """Put the documents at the end of the body; the last `</body>`, for a program may contain one too."""
    head, _, tail = index.rpartition("</body>")
    return head + content + tail


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
