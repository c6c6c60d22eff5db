"""UAI: the format of the inference competitions, numbers and nothing else.

    BAYES             the kind of network
    2                 variables
    2 3               states of each
    2                 tables
    1 0               the scope of each table: how many variables, and which; the child comes last
    2 0 1
    2                 each table: how many numbers, and they, with the last variable of the scope fastest
      0.4 0.6
    6
      0.1 0.2 0.7
      0.3 0.3 0.4

Variable i is read as "x<i>" with the states 0, 1, ...; names and states are lost when a network is written. This is the
order of the competitions; pgmpy 1.1 and pyAgrum 3.3 each order the entries of larger tables in a way of their own, so
exchange networks with those as BIF or XMLBIF.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.foreign.draft import Draft, source_of


def read(data: bytes, path: str) -> BayesianNet:
    """The network in the bytes of a UAI file; `path` is for messages.

    >>> read(b"BAYES 1 2 1 1 0 2 0.4 0.6", "one.uai").variables
    (Variable(name='x0', states=(0, 1)),)
    """
    draft = Draft(path, source_of(path))
    words = _Words(data, draft)
    kind = words.next("BAYES")
    if kind == "MARKOV":
        draft.fail("the file holds a Markov network, and only Bayesian networks (BAYES) are read so far.", words.line())
    if kind != "BAYES":
        draft.fail(f"the first word must be BAYES. Got {kind[:20]!r}.", words.line())
    n_states = words.counts(words.count("a number of variables"), "a number of states")
    words.room_for(sum(n_states))  # every state has a probability further on
    for v, count in enumerate(n_states):
        draft.declare(f"x{v}", tuple(range(count)), words.line())
    scopes = []
    for _ in range(words.count("a number of tables")):
        scope = words.counts(words.count("a number of variables"), "the number of a variable")
        scopes.append((scope, words.line()))
    for scope, line in scopes:
        if not scope:
            draft.fail("a table must have a variable.", line)
        *parents, child = (f"x{v}" for v in scope)
        members = draft.family(child, tuple(parents), line)
        n_entries = int(np.prod([member.n_states for member in members], dtype=np.int64))
        if (given := words.count("the size of a table")) != n_entries:
            draft.fail(f"the table of {child!r} must have {n_entries} numbers. Got {given}.", words.line())
        draft.fill(members, words.numbers(n_entries).reshape(-1, members[-1].n_states), words.line())
    return draft.finish()


def write(model: BayesianNet) -> str:
    """The network as UAI, without its names and states.

    >>> from quiltwork.models.textbook import textbook
    >>> write(textbook("sprinkler")).splitlines()[:8]
    ['BAYES', '4', '2 2 2 2', '4', '1 0', '2 0 1', '2 0 2', '3 1 2 3']
    """
    lines = ["BAYES", str(len(model.variables)), " ".join(str(variable.n_states) for variable in model.variables)]
    lines.append(str(len(model.cpds)))
    for cpd in model.cpds:
        scope = (*cpd.parents, cpd.child)
        lines.append(" ".join(map(str, (len(scope), *scope))))
    for cpd in model.cpds:
        lines += ["", str(cpd.probs.size)]
        lines += [" " + " ".join(map(repr, row)) for row in cpd.probs.tolist()]
    return "\n".join([*lines, ""])


class _Words:
    """The words of the file, one after another."""

    def __init__(self, data: bytes, draft: Draft):
        self._draft = draft
        self._words: list[bytes] = []
        self._ends: list[int] = []  # per line, the number of words up to its end
        for line in data.split(b"\n"):
            self._words += line.partition(b"#")[0].split()  # some write comments
            self._ends.append(len(self._words))
        self._next = 0

    def line(self) -> int:
        """The line of the last word."""
        return bisect_right(self._ends, max(self._next - 1, 0)) + 1

    def room_for(self, n_words: int) -> None:
        if n_words > len(self._words) - self._next:
            self._draft.fail(f"{n_words} more words are announced than the file has.", self.line())

    def next(self, what: str) -> str:
        if self._next == len(self._words):
            self._draft.fail(f"the file ends where {what} should stand.", len(self._ends))
        self._next += 1
        return self._words[self._next - 1].decode("latin-1")

    def count(self, what: str) -> int:
        word = self.next(what)
        if not word.isdecimal() or len(word) > 18:
            self._draft.fail(f"expected {what}, got {word[:20]!r}.", self.line())
        return int(word)

    def counts(self, how_many: int, what: str) -> list[int]:
        self.room_for(how_many)
        return [self.count(what) for _ in range(how_many)]

    def numbers(self, how_many: int) -> np.ndarray:
        self.room_for(how_many)
        words = self._words[self._next : self._next + how_many]
        try:
            numbers = np.array(list(map(float, words)))
        except ValueError as error:
            self._draft.fail(f"expected {how_many} numbers: {error}.", self.line())
        self._next += how_many
        return numbers
