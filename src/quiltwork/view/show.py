"""Show a model: in the cell of a notebook, or in the browser."""

from __future__ import annotations

import sys
from typing import Any


def view(model: Any, other: Any = None, *, port: int | None = None, open_browser: bool = True) -> Any:
    """Open the viewer on a model (or a fitted estimator's), or on two models of the same variables to compare.

    In a notebook it returns a widget. Elsewhere it serves the page on this machine, opens the browser, and returns
    when Ctrl-C ends it.

    port          of the server; None for the first that is free
    open_browser  False only tells the address, on stderr

    >>> import quiltwork as qw
    >>> qw.view(qw.textbook("asia"))  # doctest: +SKIP
    """
    if in_notebook():
        from quiltwork.view.widget import widget

        return widget(model, other)
    from quiltwork.view.serve import serve

    service = serve(model, other, port=port)
    sys.stderr.write(f"Viewing at {service.url} (Ctrl-C ends it)\n")
    if open_browser:
        open_page(service.url)
    service.run()
    return None


def open_page(url: str) -> bool:
    """Ask the system for a browser; False where there is none."""
    import webbrowser

    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
