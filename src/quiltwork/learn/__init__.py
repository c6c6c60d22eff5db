"""Learners, one file per paper; and, called, the shortest way to a model.

>>> import quiltwork as qw
>>> qw.learn("bn", {"rain": [0, 1, 1, 0] * 25, "wet": [0, 1, 1, 0] * 25}, search="climb").arcs
[('wet', 'rain')]

Python binds an imported room to its name in the package, so the function `qw.learn` and the room
`quiltwork.learn` must be one thing: this module can be called, and calls `registry.learn`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    def __call__(self, name: str, X: object, **params: Any) -> Any:
        """Learn a model: the learner's name, the table, the learner's parameters."""
        from quiltwork.learn.registry import learn

        return learn(name, X, **params)


sys.modules[__name__].__class__ = _CallableRoom
