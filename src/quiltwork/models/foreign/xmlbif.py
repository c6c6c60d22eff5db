"""XMLBIF (version 0.3): BIF with angle brackets.

    <BIF VERSION="0.3"><NETWORK><NAME>asia</NAME>
    <VARIABLE TYPE="nature"><NAME>smoke</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
    <DEFINITION><FOR>lung</FOR><GIVEN>smoke</GIVEN><TABLE>0.1 0.9 0.01 0.99</TABLE></DEFINITION>
    </NETWORK></BIF>

In a table the child's state is fastest, then the last parent. The internal DTD that most files carry is passed over;
one that declares an entity is refused, for entities can make a short file endless or read other files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from quiltwork.errors import InputError
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.foreign.draft import Draft, as_text, source_of

MAX_DEPTH = 16  # a network needs four


def read(data: bytes, path: str) -> BayesianNet:
    """The network in the bytes of an XMLBIF file; `path` is for messages.

    >>> read(b"<BIF><NETWORK><VARIABLE><NAME>a</NAME></VARIABLE></NETWORK></BIF>", "a.xml")
    Traceback (most recent call last):
    quiltwork.errors.FormatError: a.xml: line 1: variable 'a' has no states.
    """
    draft = Draft(path, source_of(path))
    network = _network(_parse(data, draft), draft)
    for variable in network.named("VARIABLE"):
        if variable.type != "nature":
            draft.fail(f"a variable of type {variable.type!r} cannot be part of a Bayesian network.", variable.line)
        name = variable.one("NAME", draft).words
        draft.declare(name, tuple(outcome.words for outcome in variable.named("OUTCOME", "VALUE")), variable.line)
    for definition in network.named("DEFINITION", "PROBABILITY"):
        parents = tuple(given.words for given in definition.named("GIVEN"))
        members = draft.family(definition.one("FOR", draft).words, parents, definition.line)
        table = definition.one("TABLE", draft)
        try:
            numbers = np.array([float(number) for number in table.words.split()])
        except ValueError as error:
            draft.fail(f"the table of {members[-1].name!r} must consist of numbers: {error}.", table.line)
        n_entries = int(np.prod([member.n_states for member in members], dtype=np.int64))
        if len(numbers) != n_entries:
            draft.fail(
                f"the table of {members[-1].name!r} must have {n_entries} numbers. Got {len(numbers)}.", table.line
            )
        draft.fill(members, numbers.reshape(-1, members[-1].n_states), table.line)
    return draft.finish()


def write(model: BayesianNet) -> str:
    """The network as XMLBIF.

    >>> from quiltwork.models.textbook import textbook
    >>> "<FOR>wet</FOR><GIVEN>sprinkler</GIVEN>" in write(textbook("sprinkler"))
    True
    """
    variables = [(_text(name), [_text(state) for state in states]) for name, states in as_text(model)]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>", "<NAME>unknown</NAME>"]
    for name, states in variables:
        outcomes = "".join(f"<OUTCOME>{state}</OUTCOME>" for state in states)
        lines.append(f'<VARIABLE TYPE="nature"><NAME>{name}</NAME>{outcomes}</VARIABLE>')
    for cpd in model.cpds:
        given = "".join(f"<GIVEN>{variables[parent][0]}</GIVEN>" for parent in cpd.parents)
        lines += [f"<DEFINITION><FOR>{variables[cpd.child][0]}</FOR>{given}", "<TABLE>"]
        lines += [" ".join(map(repr, row)) for row in cpd.probs.tolist()]
        lines += ["</TABLE>", "</DEFINITION>"]
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def _text(text: str) -> str:
    allowed = all(c >= " " or c in "\t\n" for c in text) and not {"\ufffe", "\uffff"} & set(text)
    if not allowed or not text or text != text.strip():
        raise InputError(
            f"XMLBIF cannot hold the name or state {text!r}: it must not be empty, begin or end with a space, "
            f"or have control characters; BIF can hold it."
        )
    return escape(text)


# Elements


@dataclass
class _Element:
    tag: str
    type: str
    line: int
    text: list[str] = field(default_factory=list)
    inside: list[_Element] = field(default_factory=list)

    @property
    def words(self) -> str:
        return "".join(self.text).strip()

    def named(self, *tags: str) -> Iterator[_Element]:
        return (element for element in self.inside if element.tag in tags)

    def one(self, tag: str, draft: Draft) -> _Element:
        found = list(self.named(tag))
        if len(found) != 1:
            draft.fail(f"a {self.tag} must have one {tag}. Got {len(found)}.", self.line)
        return found[0]


def _network(root: _Element, draft: Draft) -> _Element:
    bif = root.one("BIF", draft) if next(root.named("BIF"), None) else draft.fail("the document is not a <BIF>.", 1)
    return bif.one("NETWORK", draft)


def _parse(data: bytes, draft: Draft) -> _Element:
    """The elements of a document, under one that stands for the document itself."""
    root = _Element("document", "nature", 1)
    open_elements = [root]
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > MAX_DEPTH:
            draft.fail("elements are nested too deeply for a network.", parser.CurrentLineNumber)
        element = _Element(tag.upper(), attributes.get("TYPE", "nature"), parser.CurrentLineNumber)
        open_elements[-1].inside.append(element)
        open_elements.append(element)

    def refuse(*_: Any) -> Any:
        draft.fail("a document with entities of its own is refused.", parser.CurrentLineNumber)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: open_elements.pop()
    parser.CharacterDataHandler = lambda text: open_elements[-1].text.append(text)
    parser.EntityDeclHandler = parser.SkippedEntityHandler = parser.ExternalEntityRefHandler = refuse
    parser.buffer_text = True
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        draft.fail(f"this is not well-formed XML: {expat.ErrorString(error.code)}.", error.lineno)
    except (LookupError, ValueError) as error:  # an encoding that nobody knows
        draft.fail(f"the document cannot be decoded: {error}.", 1)
    return root
