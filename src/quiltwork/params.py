"""A learner's parameters, declared once.

A learner lists its parameters; its constructor, the checks on their values, the options of the
command line and the reference in the docs are all made from that list.

>>> depth = Param("max_parents", None, (Nothing(), Integer(0)), "most parents of a variable")
>>> depth.check("BayesianNetwork", -1)
Traceback (most recent call last):
quiltwork.errors.ParameterError: The 'max_parents' parameter of BayesianNetwork must be None or an integer of at least 0. Got -1 instead.
"""  # noqa: E501

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from numbers import Integral
from numbers import Real as AnyReal
from typing import Any

from quiltwork.errors import InputError, ParameterError


@dataclass(frozen=True)
class Nothing:
    """None, often meaning "no limit" or "decide for me"."""

    def holds(self, value: object) -> bool:
        return value is None

    def parse(self, text: str) -> None:
        if text.lower() not in ("none", "null"):
            raise ValueError
        return None

    def __str__(self) -> str:
        return "None"


@dataclass(frozen=True)
class Integer:
    low: int | None = None
    high: int | None = None

    def holds(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral):
            return False
        return (self.low is None or int(value) >= self.low) and (self.high is None or int(value) <= self.high)

    def parse(self, text: str) -> int:
        return int(text)

    def __str__(self) -> str:
        return "an integer" + _range(self.low, self.high)


@dataclass(frozen=True)
class Real:
    """A finite number."""

    low: float | None = None
    high: float | None = None
    above_low: bool = False  # the lower end itself is excluded

    def holds(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, AnyReal):
            return False
        try:
            value = float(value)  # a number of another kind may not compare with all of these
        except OverflowError:
            return False
        if not isfinite(value):  # nor is anything learned from a NaN
            return False
        if self.low is not None and (value < self.low or (self.above_low and value == self.low)):
            return False
        return self.high is None or value <= self.high

    def parse(self, text: str) -> float:
        return float(text)

    def __str__(self) -> str:
        if self.above_low:
            return f"a number above {self.low:g}" + ("" if self.high is None else f" and at most {self.high:g}")
        return "a number" + _range(self.low, self.high)


@dataclass(frozen=True)
class Flag:
    def holds(self, value: object) -> bool:
        return isinstance(value, bool)

    def parse(self, text: str) -> bool:
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class Choice:
    names: tuple[str, ...]

    def holds(self, value: object) -> bool:
        return isinstance(value, str) and value in self.names

    def parse(self, text: str) -> str:
        return text

    def __str__(self) -> str:
        return ("one of " if len(self.names) > 1 else "") + ", ".join(map(repr, self.names))


@dataclass(frozen=True)
class Thing:
    """A value with a structure of its own; the learner checks it when it uses it.

    `read` makes one from a word of the command line; without it the parameter has no option there.
    """

    says: str
    read: Callable[[str], object] | None = None

    def holds(self, value: object) -> bool:
        return True

    def parse(self, text: str) -> object:
        if self.read is None:
            raise ValueError
        return self.read(text)

    def __str__(self) -> str:
        return self.says


Kind = Nothing | Integer | Real | Flag | Choice | Thing


@dataclass(frozen=True)
class Param:
    name: str
    default: object
    kinds: tuple[Kind, ...]
    doc: str

    def must_be(self) -> str:
        """What it may be, in words; a comma parts what has an "and" or commas of its own from what follows."""
        said = [str(kind) for kind in self.kinds]
        links = [", or " if " and " in told or "," in told else " or " for told in said[:-1]]
        return said[0] + "".join(link + told for link, told in zip(links, said[1:], strict=True))

    def check(self, owner: str, value: object) -> None:
        if not any(kind.holds(value) for kind in self.kinds):
            raise ParameterError(
                f"The {self.name!r} parameter of {owner} must be {self.must_be()}. Got {value!r} instead."
            )

    def parse(self, owner: str, text: str) -> object:
        """The value that a word on the command line stands for."""
        complaint: InputError = ParameterError(
            f"The {self.name!r} parameter of {owner} must be {self.must_be()}. Got {text!r} instead."
        )
        for kind in self.kinds:
            try:
                value = kind.parse(text)
            except InputError as error:  # the kind itself says it better
                complaint = error
                continue
            except (ValueError, KeyError):
                continue
            if kind.holds(value):
                return value
        raise complaint


def signature(params: Iterable[Param]) -> inspect.Signature:
    """The signature of a constructor that takes just these parameters, by keyword."""
    own = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    return inspect.Signature(
        own + [inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=p.default) for p in params]
    )


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f" of at least {low}"
    return "" if high is None else f" of at most {high}"
