"""Showing models: a web page, a notebook's widget, one self-contained file, a figure, plain text.

>>> import quiltwork as qw
>>> qw.view(qw.textbook("asia"))  # doctest: +SKIP

    document  any model as one plain value, which is all that the others read
              kinds, strengths, information, locals, evidence, layout: its parts
    compare   two documents with one order of variables
    text      in a terminal
    figure    drawn by matplotlib
    html      one self-contained file
    serve     the page's server; guard stands before it, answers behind it
    widget    the page in a notebook
    show      in whichever of the two the reader is

As with `learn`, the function `qw.view` and the room `quiltwork.view` must be one thing: this module can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    def __call__(self, model: Any, other: Any = None, *, port: int | None = None, open_browser: bool = True) -> Any:
        """Open the viewer on a model, or on two to compare."""
        from quiltwork.view.show import view

        return view(model, other, port=port, open_browser=open_browser)


sys.modules[__name__].__class__ = _CallableRoom
