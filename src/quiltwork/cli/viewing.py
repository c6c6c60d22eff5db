"""view, serve: a model in the browser."""

from __future__ import annotations

import sys
from pathlib import Path

from quiltwork.cli import inputs
from quiltwork.cli.show import one_line


def view(model_path: Path, compare: Path | None, host: str, port: int | None, browser: bool) -> None:
    """Serve the page, open the browser on it if asked to, and return when Ctrl-C ends it."""
    from quiltwork.view.serve import serve
    from quiltwork.view.show import open_page

    model = inputs.read_model(model_path)
    other = None if compare is None else inputs.read_model(compare)
    names = (model_path.name, "" if compare is None else compare.name)
    service = serve(model, other, names=names, host=host, port=port)
    if service.warning:
        _tell(f"Note: {service.warning}")
    shown = f"{model_path} beside {compare}" if compare is not None else str(model_path)
    _tell(f"{shown} is shown at {service.url}")
    if browser and not open_page(service.url):
        _tell("No browser was found; open the address yourself.")
    _tell("Ctrl-C ends it.")
    service.run()


def _tell(sentence: str) -> None:
    """On stderr: stdout may be a file, and nobody would see the address."""
    sys.stderr.write(one_line(sentence) + "\n")
    sys.stderr.flush()
