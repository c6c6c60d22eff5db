"""BIF, the interchange format for Bayesian networks (version 0.15): the text that most programs read.

    network asia { }
    variable smoke { type discrete [ 2 ] { yes, no }; }
    probability ( lung | smoke ) {
      (yes) 0.1, 0.9;         // one row per configuration of the parents
      default 0.01, 0.99;     // for the configurations without a row of their own
    }

Commas are white space; `//` and `/* */` are comments; `property` lines are passed over. A `table` entry of a variable
with parents lists all its probabilities with the child slowest and the last parent fastest, as JavaBayes does. A name
or state that a bare word cannot hold is written in quotes, with \\", \\\\, \\n and \\r for what would end it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np

from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.foreign.draft import Draft, as_text, configuration, source_of

_SKIP = re.compile(r"(?:[\s,]++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_BARE = r'(?:[^\s,;{}()\[\]|"/]|/(?![/*]))++'
_TOKEN = re.compile(rf'(?P<mark>[{{}}()\[\];|])|(?P<word>{_BARE})|"(?P<quoted>(?:[^"\\]|\\.)*+)"', re.DOTALL)
_BARE_WORD = re.compile(_BARE)
_ESCAPE = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_UNESCAPE = {after: before for before, after in _ESCAPE.items()}


def read(data: bytes, path: str) -> BayesianNet:
    """The network in the bytes of a BIF file; `path` is for messages.

    >>> text = b"variable a { type discrete [2] {no, yes}; } probability ( a ) { table 0.2, 0.8; }"
    >>> read(text, "a.bif")
    BayesianNet(1 variables, 0 arcs, 1 parameters)
    """
    draft = Draft(path, source_of(path))
    try:
        words = _Words(data.decode("utf-8-sig"), draft)
    except UnicodeDecodeError as error:
        draft.fail(f"the text must be UTF-8, and byte {error.start} is not.", data.count(b"\n", 0, error.start) + 1)
    tables = []
    while (keyword := words.next()).kind != "end":
        if keyword.text == "network":
            _read_network(words)
        elif keyword.text == "variable":
            _read_variable(words, draft)
        elif keyword.text == "probability":
            tables.append(_read_probability(words))
        else:
            words.fail(f"expected 'network', 'variable' or 'probability', got {keyword.text!r}.")
    for table in tables:  # only now, for a table may stand before a variable it needs
        _fill(table, draft)
    return draft.finish()


def write(model: BayesianNet) -> str:
    """The network as BIF.

    >>> from quiltwork.models.textbook import textbook
    >>> print(write(textbook("sprinkler")))
    network unknown {
    }
    variable cloudy {
      type discrete [ 2 ] { no, yes };
    }
    ...
    probability ( wet | sprinkler, rain ) {
      (no, no) 1.0, 0.0;
      (no, yes) 0.1, 0.9;
      (yes, no) 0.1, 0.9;
      (yes, yes) 0.01, 0.99;
    }
    <BLANKLINE>
    """
    variables = [(_word(name), [_word(state) for state in states]) for name, states in as_text(model)]
    lines = ["network unknown {", "}"]
    for name, states in variables:
        lines += [f"variable {name} {{", f"  type discrete [ {len(states)} ] {{ {', '.join(states)} }};", "}"]
    for cpd in model.cpds:
        name, given = variables[cpd.child][0], [variables[parent][0] for parent in cpd.parents]
        lines.append(f"probability ( {name}{' | ' if given else ''}{', '.join(given)} ) {{")
        shape = [len(variables[parent][1]) for parent in cpd.parents]
        for codes, row in zip(np.ndindex(*shape), cpd.probs.tolist(), strict=True):
            states = [variables[parent][1][code] for parent, code in zip(cpd.parents, codes, strict=True)]
            lines.append(f"  {'(' + ', '.join(states) + ')' if given else 'table'} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join([*lines, ""])


def _word(text: str) -> str:
    return text if _BARE_WORD.fullmatch(text) else '"' + re.sub(r'["\\\n\r]', lambda c: _ESCAPE[c[0]], text) + '"'


# Blocks


@dataclass
class _Table:
    """A probability block as it stands in the file."""

    line: int
    child: str
    parents: tuple[str, ...]
    rows: dict[tuple[str, ...], list[float]]
    default: list[float] | None = None
    table: list[float] | None = None


def _read_network(words: _Words) -> None:
    if (word := words.next()).kind != "mark":
        word = words.next()
    words.check(word, "{")
    for keyword in words.until("}"):
        _pass_over(keyword, words)


def _read_variable(words: _Words, draft: Draft) -> None:
    name, line = words.name(), words.line()
    states: tuple[str, ...] | None = None
    words.expect("{")
    for keyword in words.until("}"):
        if keyword.text != "type":
            _pass_over(keyword, words)
            continue
        if (kind := words.name()) != "discrete":
            words.fail(f"variable {name!r} is of type {kind!r}; only discrete variables are read.")
        words.expect("[")
        count = words.name()
        words.expect("]")
        words.expect("{")
        states = tuple(words.text_of(state) for state in words.until("}"))
        words.expect(";")
        if count != str(len(states)):
            words.fail(f"variable {name!r} declares {count} states and lists {len(states)}.")
    if states is None:
        draft.fail(f"variable {name!r} has no 'type discrete' entry.", line)
    draft.declare(name, states, line)


def _read_probability(words: _Words) -> _Table:
    words.expect("(")
    child = words.name()
    family = _Table(words.line(), child, tuple(words.text_of(n) for n in words.until(")") if n != ("mark", "|")), {})
    words.expect("{")
    for keyword in words.until("}"):
        if keyword == ("mark", "("):
            states = tuple(words.text_of(state) for state in words.until(")"))
            if states in family.rows:
                words.fail(f"variable {child!r} has two rows for ({', '.join(states)}).")
            family.rows[states] = words.numbers()
        elif keyword == ("word", "table"):
            family.table = words.numbers()
        elif keyword == ("word", "default"):
            family.default = words.numbers()
        else:
            _pass_over(keyword, words)
    return family


def _pass_over(keyword: _Word, words: _Words) -> None:
    if keyword.text != "property":
        words.fail(f"did not expect {keyword.text!r} here.")
    for _ in words.until(";"):
        pass


def _fill(table: _Table, draft: Draft) -> None:
    """The rows of a block, in the order of the configurations."""
    members = draft.family(table.child, table.parents, table.line)
    *parents, child = members

    def checked(values: list[float], n_values: int, what: str) -> list[float]:
        if len(values) != n_values:
            draft.fail(f"{what} of {child.name!r} must have {n_values} numbers. Got {len(values)}.", table.line)
        return values

    n_configs = int(np.prod([parent.n_states for parent in parents], dtype=np.int64))
    if table.table is not None:
        values = checked(table.table, n_configs * child.n_states, "the table")
        return draft.fill(members, np.array(values).reshape(child.n_states, n_configs).T, table.line)
    codes = [{state: code for code, state in enumerate(parent.states)} for parent in parents]
    default = None if table.default is None else checked(table.default, child.n_states, "the default")
    rows: list[list[float] | None] = [default] * n_configs
    for states, values in table.rows.items():
        if len(states) != len(parents):
            draft.fail(f"a row of {child.name!r} has {len(states)} states for {len(parents)} parents.", table.line)
        row = 0
        for parent, known, state in zip(parents, codes, states, strict=True):
            if state not in known:
                draft.fail(f"a row of {child.name!r}: {parent.name!r} has no state {state!r}.", table.line)
            row = row * parent.n_states + known[state]
        rows[row] = checked(values, child.n_states, f"row {configuration(parents, row)}")
    if None in rows:
        missing = f"row {configuration(parents, rows.index(None))}" if parents else "table"
        draft.fail(f"variable {child.name!r} has no {missing}.", table.line)
    draft.fill(members, np.array(rows), table.line)


# Words


class _Word(NamedTuple):
    kind: str  # "mark" (a bracket, bar or semicolon), "word", "quoted" or "end"
    text: str


class _Words:
    """The words of the text, one after another."""

    def __init__(self, text: str, draft: Draft):
        self.text, self._draft = text, draft
        self._position = 0  # after the last word
        self._line, self._counted = 1, 0

    def line(self) -> int:
        self._line += self.text.count("\n", self._counted, self._position)
        self._counted = self._position
        return self._line

    def fail(self, message: str) -> NoReturn:
        self._draft.fail(message, self.line())

    def next(self) -> _Word:
        start = _SKIP.match(self.text, self._position)
        self._position = start.end() if start else self._position
        found = _TOKEN.match(self.text, self._position)
        if found is None:
            if self._position < len(self.text):
                self.fail("a quotation or a comment begins here and does not end.")
            return _Word("end", "the end of the file")
        self._position = found.end()
        kind = found.lastgroup or "mark"
        text = found[kind]
        if kind == "quoted" and "\\" in text:
            text = re.sub(r'\\["\\nr]', lambda c: _UNESCAPE[c[0]], text)
        return _Word(kind, text)

    def check(self, word: _Word, mark: str) -> None:
        if word != ("mark", mark):
            self.fail(f"expected {mark!r}, got {word.text!r}.")

    def expect(self, mark: str) -> None:
        self.check(self.next(), mark)

    def text_of(self, word: _Word) -> str:
        if word.kind not in ("word", "quoted"):
            self.fail(f"expected a name, got {word.text!r}.")
        return word.text

    def name(self) -> str:
        return self.text_of(self.next())

    def until(self, mark: str) -> Iterator[_Word]:
        while (word := self.next()) != ("mark", mark):
            if word.kind == "end":
                self.fail(f"expected {mark!r}, got {word.text!r}.")
            yield word

    def numbers(self) -> list[float]:
        """The numbers up to the next semicolon; most of a file is read here, so the plain case is one split."""
        end = self.text.find(";", self._position)
        plain = self.text[self._position : end]
        if end < 0 or "/" in plain:
            return [self._number(word.text) for word in self.until(";")]
        try:
            numbers = [float(number) for number in plain.replace(",", " ").split()]
        except ValueError:
            return [self._number(word.text) for word in self.until(";")]
        self._position = end + 1
        return numbers

    def _number(self, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            self.fail(f"expected a number, got {text!r}.")
