"""What a page can ask for, whoever carries the question: the server, or a notebook's kernel."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from quiltwork.errors import InputError
from quiltwork.view.compare import columns_of, compared, relabelled
from quiltwork.view.document import Document, document, local, viewable
from quiltwork.view.evidence import given
from quiltwork.view.locals import Local
from quiltwork.view.numbers import figures, short

LARGEST = sys.float_info.max  # of a number in a question; JSON knows no limit


@dataclass(frozen=True, eq=False)
class Answers:
    """A model behind a page: its document, and answers to questions.

    Local distributions are among the questions: asked for one by one, each can be told with all its detail.

    >>> from quiltwork.models.textbook import textbook
    >>> asia = Answers.of(textbook("asia"))
    >>> asia.marginals({"2": 0})["marginals"][3]
    [0.1, 0.9]
    """

    model: Any
    document: Document
    second: Any = None
    other: Document | None = None

    @classmethod
    def of(cls, model: Any, other: Any = None, names: tuple[str, str] = ("", "")) -> Answers:
        """`names` are those of the files that the models were read from."""
        model = viewable(model)
        if other is None:
            return cls(model, {**document(model, None), "name": short(names[0])})
        documents = compared(model, other, None)
        first, second = ({**shown, "name": short(name)} for shown, name in zip(documents, names, strict=True))
        return cls(model, first, viewable(other), second)

    def local(self, v: Any, other: bool = False) -> Local:
        """One local distribution, by the number of its variable; `other` is that of the second model."""
        n_vars = len(self.model.variables)
        if not isinstance(v, int) or isinstance(v, bool) or not 0 <= v < n_vars:
            raise InputError(f"A variable is a number from 0 to {n_vars - 1}. Got {_brief(v)} instead.")
        if not other:
            return local(self.model, v)
        if self.second is None:
            raise InputError("There is no second model to compare with.")
        place = columns_of(self.second, self.model)
        return relabelled(local(self.second, place.index(v)), place)

    def marginals(self, evidence: Any) -> dict[str, Any]:
        """Every variable given the states (or values) of some, both by number."""
        found = given(self.model, self._evidence(evidence))
        return {
            "marginals": [figures(part, 6) for part in found.parts],
            "method": found.method,
            "converged": found.converged,
            "error": found.error,
            "note": found.note,
        }

    def _evidence(self, evidence: Any) -> dict[int, float]:
        if not isinstance(evidence, dict):
            raise InputError(f'Evidence must be states by variable, as in {{"3": 0}}. Got {_brief(evidence)} instead.')
        known: dict[int, float] = {}
        for key, state in evidence.items():
            if not (isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 10):
                raise InputError(f"Evidence must name variables by number. Got {_brief(key)} instead.")
            if not isinstance(state, (int, float)) or isinstance(state, bool) or not abs(state) <= LARGEST:
                raise InputError(f"Evidence must be numbers of states, or values. Got {_brief(state)} instead.")
            known[int(key)] = state
        return known


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
