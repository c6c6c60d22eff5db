"""Records: delimited text, looked through byte by byte before it is read.

A field is plain, or enclosed in quotes, where line breaks and delimiters are text and a quote is doubled. A record is a
line of fields. Readers differ in what they forgive; here nothing is forgiven but blank lines at the end.

Readers also differ in what they take for a number. Here the whole column decides, and a number is one way of
writing it: 7, -7, 7.5, .5, 1e-3, nan, inf, but not +7, 007 or a space before it, nor an integer of more than 18
digits, which is an identifier. So text never loses what tells it apart.
"""

from __future__ import annotations

import numpy as np
from numba import njit

RAGGED, BLANK, STRAY_QUOTE, UNCLOSED_QUOTE = 1, 2, 3, 4  # faults of a record
INTEGER, REAL, BOOL, WORD = 1, 2, 4, 8  # kinds of fields; a column that has several holds their sum

_START, _PLAIN, _QUOTED, _CLOSED = 0, 1, 2, 3  # where in a field
_QUOTE, _LINE_FEED, _RETURN = 34, 10, 13

# Where in a number: before anything, after the sign, in the integer, after a leading zero, after a point with no digit
# yet, after a point, after e, after its sign, in the exponent, not in a number.
_SIGN, _FIRST, _WHOLE, _ZERO, _BARE, _POINT, _E, _E_SIGN, _POWER, _NEVER = range(10)

# The bytes of words that are no text, as integers.
_BOOLS = (0x74727565, 0x54727565, 0x66616C7365, 0x46616C7365)  # true, True, false, False
_NOT_FINITE = (0x6E616E, 0x4E614E, 0x696E66, 0x2D696E66)  # nan, NaN, inf, -inf


@njit(cache=True, nogil=True)
def scan_records(data, delimiter):
    """First fault of text (n,) uint8: (fault or 0, its line, its fields, fields of the header, end of the header,
    end of the last record, records). A record of one field may be blank: its value is missing."""
    line, begun, blank_line, quote_line = 1, 1, 0, 0
    n_fields, expected, n_records, header_end, body_end = 1, 0, 0, 0, 0
    state, blank = _START, True
    for i in range(data.size + 1):
        at_end = i == data.size
        byte = _LINE_FEED if at_end else data[i]
        if at_end and i > 0 and data[i - 1] == _LINE_FEED and state != _QUOTED:
            break
        if state == _QUOTED:
            if at_end:
                return np.array([UNCLOSED_QUOTE, quote_line, 0, expected, 0, 0, 0])
            if byte == _QUOTE:
                state = _CLOSED
            elif byte == _LINE_FEED:
                line += 1
        elif byte == _QUOTE:
            if state == _PLAIN:
                return np.array([STRAY_QUOTE, line, 0, expected, 0, 0, 0])
            if state == _START:
                quote_line = line
            state, blank = _QUOTED, False
        elif byte == delimiter:
            n_fields += 1
            state, blank = _START, False
        elif byte == _LINE_FEED:
            if n_records == 0:
                expected, header_end = n_fields, min(i + 1, data.size)
            if blank and expected > 1:
                blank_line = blank_line if blank_line > 0 else begun
            elif blank_line > 0:
                return np.array([BLANK, blank_line, 0, expected, 0, 0, 0])
            elif n_fields != expected:
                return np.array([RAGGED, begun, n_fields, expected, 0, 0, 0])
            else:
                n_records, body_end = n_records + 1, min(i + 1, data.size)
            line += 1
            begun, n_fields, state, blank = line, 1, _START, True
        elif byte != _RETURN:
            if state == _CLOSED:
                return np.array([STRAY_QUOTE, line, 0, expected, 0, 0, 0])
            state, blank = _PLAIN, False
    return np.array([0, 0, 0, expected, header_end, body_end, n_records])


@njit(cache=True, nogil=True)
def kinds_of_fields(data, start, stop, delimiter, n_fields):
    """Kinds (n_fields,) uint8 that the columns of data[start:stop] hold; the records are known to be whole."""
    kinds = np.zeros(n_fields, np.uint8)
    field, state, length, digits, word, quoted, closed = 0, _SIGN, 0, 0, 0, False, False
    for i in range(start, stop + 1):
        byte = _LINE_FEED if i == stop else int(data[i])
        if i == stop and data[i - 1] == _LINE_FEED and not quoted:
            break
        if byte == _QUOTE and not (quoted or closed):
            quoted = True
        elif byte == _QUOTE and quoted:
            quoted, closed = False, True
        elif not quoted and byte in (delimiter, _LINE_FEED):
            if length > 0:
                kinds[field] |= _kind(state, length, digits, word)
            field = 0 if byte == _LINE_FEED else field + 1
            state, length, digits, word, closed = _SIGN, 0, 0, 0, False
        elif quoted or byte != _RETURN or (i + 1 < stop and data[i + 1] != _LINE_FEED):
            quoted = quoted or byte == _QUOTE  # the second of a doubled quote
            state, length = _advance(state, byte), length + 1
            digits += 48 <= byte <= 57
            word = word << 8 | byte if length <= 5 else 0
    return kinds


@njit(cache=True, nogil=True)
def _advance(state, byte):
    """Where in a number one is after one more byte."""
    if 48 <= byte <= 57:
        if state in (_SIGN, _FIRST):
            return _ZERO if byte == 48 else _WHOLE
        if state == _WHOLE:
            return _WHOLE
        if state in (_BARE, _POINT):
            return _POINT
        return _POWER if state in (_E, _E_SIGN, _POWER) else _NEVER
    if byte == 45 and state == _SIGN:
        return _FIRST
    if byte == 46:
        return _BARE if state <= _FIRST else (_POINT if state in (_WHOLE, _ZERO) else _NEVER)
    if byte in (101, 69) and state in (_WHOLE, _ZERO, _POINT):
        return _E
    return _E_SIGN if byte in (45, 43) and state == _E else _NEVER


@njit(cache=True, nogil=True)
def _kind(state, length, digits, word):
    if state in (_WHOLE, _ZERO):
        return INTEGER if digits <= 18 else WORD
    if state in (_POINT, _POWER):
        return REAL
    if length > 5:
        return WORD
    if word in _BOOLS:
        return BOOL
    return REAL if word in _NOT_FINITE else WORD
