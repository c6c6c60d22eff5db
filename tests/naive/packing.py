"""Bits the slow way: Python integers as planes, one row at a time."""

import re


def pack(codes, n_states):
    """One integer per state beyond the first: bit i is set if row i has that state."""
    planes = [0] * (n_states - 1)
    for i, code in enumerate(codes):
        if code > 0:
            planes[code - 1] |= 1 << i
    return planes


def unpack(planes, n_samples):
    """The inverse of `pack`."""
    codes = [0] * n_samples
    for s, plane in enumerate(planes):
        for i in range(n_samples):
            if plane >> i & 1:
                codes[i] = s + 1
    return codes


def words(plane, n_samples):
    """A plane as its 64-bit words, lowest first."""
    return [plane >> (64 * w) & (2**64 - 1) for w in range((n_samples + 63) // 64)]


def ones_by_row(table):
    """For each row of a 0/1 table, the columns that hold a one."""
    return [[c for c, x in enumerate(row) if x] for row in table]


def encode(values):
    """Sorted distinct values, and each value's place among them; None has no place."""
    states = sorted({x for x in values if x is not None})
    return states, [None if x is None else states.index(x) for x in values]


def fields_of_records(text, delimiter):
    """Records of delimited text as lists of fields, quotes undone; for text without faults."""
    records, record, field, quoted, i = [], [], "", False, 0
    while i < len(text):
        c = text[i]
        if quoted:
            if c == '"' and text[i + 1 : i + 2] == '"':
                field, i = field + '"', i + 1
            elif c == '"':
                quoted = False
            else:
                field += c
        elif c == '"':
            quoted = True
        elif c == delimiter:
            record, field = [*record, field], ""
        elif c == "\n":
            records, record, field = [*records, [*record, field]], [], ""
        elif c != "\r":
            field += c
        i += 1
    return records if not (record or field) else [*records, [*record, field]]


NUMBER = re.compile(r"-?(0|[1-9][0-9]*|(0|[1-9][0-9]*)?\.[0-9]+|(0|[1-9][0-9]*)\.)([eE][+-]?[0-9]+)?")


def kind(field):
    """What a field is: "", "integer", "real", "bool" or "word"."""
    if re.fullmatch(r"-?(0|[1-9][0-9]*)", field):
        return "integer" if sum(c.isdigit() for c in field) <= 18 else "word"
    if NUMBER.fullmatch(field) or field in ("nan", "NaN", "inf", "-inf"):
        return "real"
    return "bool" if field in ("true", "True", "false", "False") else ("word" if field else "")
