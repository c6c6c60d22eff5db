"""Records: the shape of delimited text, checked byte by byte before it is read.

A field is plain, or enclosed in quotes, where line breaks and delimiters are text and a quote is doubled. A record is a
line of fields. Readers differ in what they forgive; here nothing is forgiven but blank lines at the end.
"""

from __future__ import annotations

import numpy as np
from numba import njit

RAGGED, BLANK, STRAY_QUOTE, UNCLOSED_QUOTE = 1, 2, 3, 4

_START, _PLAIN, _QUOTED, _CLOSED = 0, 1, 2, 3  # where in a field
_QUOTE, _LINE_FEED, _RETURN = 34, 10, 13


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
