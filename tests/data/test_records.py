"""The shape of delimited text, byte by byte."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import packing
from quiltwork.data.records import (
    BLANK,
    BOOL,
    INTEGER,
    RAGGED,
    REAL,
    STRAY_QUOTE,
    UNCLOSED_QUOTE,
    WORD,
    kinds_of_fields,
    scan_records,
)

KINDS = {"": 0, "integer": INTEGER, "real": REAL, "bool": BOOL, "word": WORD}


def scan(text, delimiter=","):
    return scan_records(np.frombuffer(text.encode(), np.uint8), ord(delimiter)).tolist()


@pytest.mark.parametrize(
    ("text", "fault", "line", "n_fields"),
    [
        ("a,b\n1\n", RAGGED, 2, 1),
        ("a,b\n1,2\n1,2,3", RAGGED, 3, 3),
        ('a,b\n"x\ny",2\n1,2,3\n', RAGGED, 4, 3),
        ("a,b\n1,2\n\n3,4\n", BLANK, 3, 0),
        ("a,b\r\n1,2\r\n\r\n3,4\r\n", BLANK, 3, 0),
        ('a,b\n5" disk,2\n', STRAY_QUOTE, 2, 0),
        ('a,b\n"x"y,2\n', STRAY_QUOTE, 2, 0),
        ('a,b\n1,2\n"x,2\n1,2\n', UNCLOSED_QUOTE, 3, 0),
        ('a,"', UNCLOSED_QUOTE, 1, 0),
    ],
)
def test_faults_are_named_with_their_line(text, fault, line, n_fields):
    assert scan(text)[:3] == [fault, line, n_fields]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "a,b\n1,2", "a,b\r\n1,2\r\n", "a,b\n1,2\n\n\n", "a,b\r\n1,2\r\n\r\n"])
def test_ends_of_lines_and_of_files(text):
    fault, _, _, expected, header_end, body_end, n_records = scan(text)
    assert (fault, expected, n_records) == (0, 2, 2)
    assert text[:header_end].strip() == "a,b"
    assert text[header_end:body_end].strip() == "1,2"


def test_one_column_may_have_blank_fields():
    assert scan("a\n1\n\n3\n")[-1] == 4


fields = st.text('ab,;"\n\r \té', max_size=4)


@given(st.integers(1, 4).flatmap(lambda k: st.lists(st.lists(fields, min_size=k, max_size=k), min_size=1, max_size=5)))
def test_whatever_is_written_with_quotes_is_whole(rows):
    text = "".join(",".join('"' + f.replace('"', '""') + '"' for f in row) + "\n" for row in rows)
    fault, _, _, expected, header_end, body_end, n_records = scan(text)
    assert packing.fields_of_records(text, ",") == rows
    assert (fault, expected, n_records, body_end) == (0, len(rows[0]), len(rows), len(text.encode()))
    assert packing.fields_of_records(text.encode()[:header_end].decode(), ",") == rows[:1]


def kinds(text, n_fields):
    data = np.frombuffer(text.encode(), np.uint8)
    return kinds_of_fields(data, 0, len(data), ord(","), n_fields).tolist()


NUMBERS = ["7", "-7", "0", "-0", "7.5", ".5", "-.5", "5.", "1e5", "1E-3", "1.5e+3", "0.25", "9" * 18, "nan", "-inf"]
WORDS = [
    "+7",
    "007",
    "-01",
    "00.5",
    " 7",
    "7 ",
    "1_0",
    "0x1",
    "--5",
    ".",
    "-",
    "e5",
    "1e",
    "1.2.3",
    "9" * 19,
    "Inf",
    "TRUE",
]


@pytest.mark.parametrize("field", [*NUMBERS, *WORDS, "true", "False", "a", "truex", "é"])
def test_what_a_field_is(field):
    expected = KINDS[packing.kind(field)]
    assert (field in NUMBERS) == bool(expected & (INTEGER | REAL))
    for text in (f"{field}", f"{field}\n", f"{field}\r\n", f'"{field}"', f'"{field}"\r\n'):
        assert kinds(text, 1) == [expected]


cells = st.text("0159+-.eEtrufalsnai ", max_size=5) | st.sampled_from(
    [*NUMBERS, *WORDS, "true", "", "\n", ",", '"', '"1"']
)


@given(
    st.integers(1, 4).flatmap(lambda k: st.lists(st.lists(cells, min_size=k, max_size=k), min_size=1, max_size=5)),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_kinds_of_columns_against_the_slow_way(rows, line_end, closed):
    def written(field):
        plain = not set(field) & set('",\n') and len(field) % 2 == 0
        return field if plain else '"' + field.replace('"', '""') + '"'

    text = line_end.join(",".join(map(written, row)) for row in rows)
    text += line_end if closed or not text else ""
    expected = [0] * len(rows[0])
    for row in rows:
        for c, field in enumerate(row):
            expected[c] |= KINDS[packing.kind(field)]
    assert kinds(text, len(rows[0])) == expected
