"""Every error a user can meet, as one family.

A message is one sentence that names the thing, says what it must be, what it got,
and the way out. Errors about what the user gave also are `ValueError`s, so code
written against scikit-learn's conventions keeps working.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class QuiltworkError(Exception):
    """Base of all errors that quiltwork raises on purpose."""


class InputError(QuiltworkError, ValueError):
    """Something the user gave cannot be used as it is."""


class ParameterError(InputError):
    """A learner's or function's parameter has a value it cannot have."""


class DataError(InputError):
    """A table that cannot be read or encoded."""


class SchemaMismatchError(DataError):
    """The columns of a table do not fit the variables of a model."""


class UnknownVariableError(InputError):
    """A name that no variable of the model has."""

    @classmethod
    def of(cls, name: object, known: Iterable[str], where: str = "in this model") -> UnknownVariableError:
        return cls(f"There is no variable {name!r} {where}{_nearest(str(name), known)}.")


class UnknownStateError(InputError):
    """A state that the variable does not have."""

    @classmethod
    def of(cls, state: object, variable: str, states: Iterable[object]) -> UnknownStateError:
        shown = ", ".join(repr(s) for s in list(states)[:12])
        return cls(f"Variable {variable!r} has no state {state!r}; its states are {shown}.")


class ZeroEvidenceError(InputError):
    """Evidence that has probability zero under the model: nothing can be conditioned on it."""


class FormatError(InputError):
    """A file in an exchange format (BIF, XMLBIF, UAI) that breaks the format's rules."""

    def __init__(self, message: str, path: str | None = None, line: int | None = None):
        where = "" if path is None else f"{path}: "
        where += "" if line is None else f"line {line}: "
        super().__init__(where + message)
        self.path, self.line = path, line


class ModelFileError(QuiltworkError):
    """A model file that cannot be loaded."""


class CorruptModelError(ModelFileError):
    """The bytes are not those that were saved, or not a model of ours at all."""


class ModelTooLargeError(ModelFileError):
    """The file asks for more memory than the caller allows."""


class NewerVersionError(ModelFileError):
    """The file was written by a newer quiltwork than this one."""


class ResourceLimitError(QuiltworkError):
    """Work that was sized before it began and does not fit; the message says the size and what to do."""


class IntractableError(QuiltworkError):
    """A question this kind of model cannot answer exactly; the message names one that can."""


class MissingDependencyError(QuiltworkError, ImportError):
    """An optional package is needed and not installed."""

    @classmethod
    def of(cls, package: str, extra: str, purpose: str) -> MissingDependencyError:
        return cls(f"{purpose} needs the package {package!r}: pip install 'quiltwork[{extra}]'.")


class DataWarning(UserWarning):
    """The data was usable, but something in it deserves a look."""


class ConvergenceWarning(UserWarning):
    """An iterative answer that had not settled when its budget ended."""


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""
