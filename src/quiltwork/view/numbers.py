"""Numbers and names as the document holds them: short, finite, and text whatever they were."""

from __future__ import annotations

from typing import Any

import numpy as np

LONGEST = 64  # characters of a name or a state
DECIMALS = 4  # of a probability


def short(text: object) -> str:
    """Text of bounded length; of a longer one the beginning and the end, which tell it from others.

    >>> short("rain"), short("x" * 10_000 + "7")[-3:]
    ('rain', 'xx7')
    """
    words = str(text).encode(errors="replace").decode()
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 16]}…{words[-15:]}"


def probabilities(values: np.ndarray) -> list[Any]:
    """Rounded, as nested lists.

    >>> probabilities(np.array([2 / 3, 1 / 3]))
    [0.6667, 0.3333]
    """
    return np.round(values, DECIMALS).tolist()


def figures(values: Any, digits: int = 5) -> list[Any]:
    """Rounded to so many significant digits, as nested lists.

    >>> figures(np.array([1234567.0, 0.00012345678, 0.0]))
    [1234600.0, 0.00012346, 0.0]
    """
    values = np.asarray(values, np.float64)
    sizes = np.abs(values)
    exponent = np.floor(np.log10(sizes, out=np.zeros_like(sizes), where=sizes > 0))
    scale = 10.0 ** np.clip(digits - 1 - exponent, -300, 300)
    return np.where(np.isfinite(values), np.round(values * scale) / scale, 0.0).tolist()
