import gzip
import os
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from some_networks import assert_equal, binary_network, network, networks

from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.errors import DataWarning, FormatError, InputError
from quiltwork.models import foreign
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.foreign import bif, read_network, uai, write_network, xmlbif
from quiltwork.models.textbook import textbook

REPOSITORY = ["alarm", "andes", "asia", "child", "hailfinder", "hepar2", "insurance"]
SHAPES = {  # variables, arcs, free parameters, as the repository states them
    "alarm": (37, 46, 509),
    "andes": (223, 338, 1157),
    "asia": (8, 8, 18),
    "child": (20, 25, 230),
    "hailfinder": (56, 66, 2656),
    "hepar2": (70, 123, 1453),
    "insurance": (27, 52, 1008),
}
SUFFIXES = [".bif", ".bif.gz", ".xmlbif", ".xml.gz", ".bifxml", ".uai", ".UAI.gz"]


def repository(public_data, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # several have rows that are rounded to seven digits
        return read_network(public_data / "bif" / f"{name}.bif.gz")


def table(model, child, *parents):
    """P(child | parents) by name, as a cube with the parents in the order given."""
    names = [v.name for v in model.variables]
    cpd = model.cpds[names.index(child)]
    assert sorted(parents) == sorted(names[p] for p in cpd.parents)
    cube = cpd.probs.reshape([model.variables[p].n_states for p in cpd.parents] + [-1])
    return cube.transpose([[names[p] for p in cpd.parents].index(name) for name in parents] + [len(parents)])


# Round trips


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_bit_for_bit(tmp_path, suffix):
    model = network(
        [Variable(f"x{v}", tuple(range(r))) for v, r in enumerate((2, 3, 1, 4))], [(1, 3), (), (0, 1, 3), (1,)]
    )
    write_network(model, tmp_path / f"net{suffix}")
    again = read_network(tmp_path / f"net{suffix}")
    if "uai" not in suffix.lower():
        model = BayesianNet(
            Encoder(tuple(Variable(v.name, tuple(map(str, v.states))) for v in model.variables)), model.cpds
        )
    assert_equal(again, model)
    assert again.provenance == {"source": f"net{suffix}"}


# Everything that could end a word, hide in a comment, or look like the format itself.
NASTY = st.text(st.sampled_from("abé ,;|{}()[]\"\\/*'\n\r\t\0<>&=#%\u2028\x85\xa0\ufeff😀"), max_size=6)


@given(networks(names=NASTY | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)))
def test_bif_holds_any_name_and_any_state(model):
    assert_equal(bif.read(bif.write(model).encode(), "any.bif"), model)


XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1, max_size=6
)


@given(
    networks(
        names=(XML_TEXT | st.sampled_from(["<a>", "&amp;", "a\nb", "]]>"])).filter(lambda text: text == text.strip())
    )
)
def test_xmlbif_holds_any_name_and_state_that_xml_can(model):
    assert_equal(xmlbif.read(xmlbif.write(model).encode(), "any.xml"), model)


@given(networks())
def test_uai_holds_the_numbers(model):
    again = uai.read(uai.write(model).encode(), "any.uai")
    for a, b in zip(again.cpds, model.cpds, strict=True):
        assert (a.parents, a.probs.tobytes()) == (b.parents, b.probs.tobytes())


@pytest.mark.parametrize("name", ["", " a", "a\n", "\0", "\r", "a\x0b", "\uffff"])
def test_xmlbif_refuses_what_it_cannot_hold(tmp_path, name):
    for model in (network([Variable(name, ("a", "b"))], [()]), network([Variable("a", (name, "b"))], [()])):
        with pytest.raises(InputError, match="BIF can hold it"):
            write_network(model, tmp_path / "net.xml")
    assert os.listdir(tmp_path) == []


def test_what_no_text_can_hold_is_refused(tmp_path):
    for states in [(1, "1"), (True, "True")]:
        for suffix in (".bif", ".xml"):
            with pytest.raises(InputError, match="print alike"):
                write_network(network([Variable("a", states)], [()]), tmp_path / f"net{suffix}")
    with pytest.raises(InputError, match="UTF-8"):
        write_network(network([Variable("\ud800", (0, 1))], [()]), tmp_path / "net.bif")
    with pytest.raises(InputError, match="Bayesian networks are written as"):
        write_network("model", tmp_path / "net.bif")
    assert os.listdir(tmp_path) == []


def test_numbers_keep_all_their_digits(tmp_path):
    tiny = np.array([[5e-324, 1 - 2**-53, 2**-53], [0.1 + 0.2, 0.7 - 1e-16, 0.0]])
    model = BayesianNet(
        Encoder((Variable("x0", (0, 1)), Variable("x1", (0, 1, 2)))),
        (TableCPD(0, (), np.array([[1 / 3, 2 / 3]])), TableCPD(1, (0,), tiny)),
    )
    for suffix in SUFFIXES:
        write_network(model, tmp_path / f"net{suffix}")
        again = read_network(tmp_path / f"net{suffix}")
        assert [c.probs.tobytes() for c in again.cpds] == [c.probs.tobytes() for c in model.cpds]


def test_the_same_model_gives_the_same_file(tmp_path):
    for suffix in SUFFIXES:
        write_network(textbook("asia"), tmp_path / f"a{suffix}")
        write_network(textbook("asia"), tmp_path / f"b{suffix}")
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


# The networks of the repository


@pytest.mark.parametrize("name", REPOSITORY)
def test_networks_of_the_repository(public_data, tmp_path, name):
    model = repository(public_data, name)
    assert (len(model.variables), len(model.arcs), model.n_parameters) == SHAPES[name]
    for cpd in model.cpds:
        assert np.abs(cpd.probs.sum(axis=1) - 1).max() < 1e-12
    for suffix in (".bif", ".xmlbif"):
        write_network(model, tmp_path / f"net{suffix}")
        assert_equal(read_network(tmp_path / f"net{suffix}"), model)


def test_a_large_network_is_read_at_once(public_data):
    repository(public_data, "asia")
    repository(public_data, "andes")


def test_rows_rounded_to_seven_digits_are_rescaled_with_one_warning(public_data):
    with pytest.warns(DataWarning, match="2 of 37 tables.*'HRSAT'") as told:
        read_network(public_data / "bif" / "alarm.bif.gz")
    assert len(told) == 1
    assert told[0].filename == __file__


# BIF as others write it

HEAD = "network n {}\nvariable a { type discrete [2] {x, y}; }\nvariable b { type discrete [3] {p, q, r}; }\n"
A = "probability ( a ) { table 0.25, 0.75; }\n"
B = "probability ( b | a ) { (x) 0.1, 0.2, 0.7; (y) 0.3, 0.3, 0.4; }\n"


def parsed(text):
    return bif.read(text.encode(), "net.bif")


@pytest.mark.parametrize(
    "text",
    [
        HEAD + A + B,
        B + A + HEAD,  # any order
        "\ufeff" + (HEAD + A + B).replace("\n", "\r\n"),
        HEAD + A + "probability ( b | a ) { (y) 0.3 0.3 0.4; (x) 0.1 0.2 0.7; }",
        HEAD + A + "probability ( b a ) { table 0.1 0.3  0.2 0.3  0.7 0.4 ; }",  # JavaBayes: child slowest, no bar
        HEAD + A + "probability ( b | a ) { default 0.1, 0.2, 0.7; (y) 0.3, 0.3, 0.4; }",
        HEAD + A + "probability(b|a){(x)1e-1,.2,7E-1;(y)0.3,0.3,0.4;}",
        "// one ; two\n/* { three\n */" + HEAD + A + B.replace("0.2", "0.2 // so ; much\n").replace("0.7", "/*;*/ 0.7"),
        (HEAD + A + B)
        .replace(" a ", ' "a" ')
        .replace("b ", '"b" ')
        .replace("(x)", '("x")')
        .replace("{x, y}", '{"x" "y"}'),
        HEAD.replace("{}", '{ property "author = me; you"; property version 3 ; }')
        + A
        + B.replace("{", "{ property p ;", 1),
        HEAD.replace("{ type", "{ property position = (1, 2) ; type").replace("network n", "network") + A + B,
    ],
)
def test_dialects_of_bif(text):
    model = parsed(text)
    names = [v.name for v in model.variables]
    assert sorted(names) == ["a", "b"]
    assert model.variables[names.index("b")].states == ("p", "q", "r")
    np.testing.assert_array_equal(table(model, "a"), [0.25, 0.75])
    np.testing.assert_array_equal(table(model, "b", "a"), [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])


def test_parents_in_any_order_give_the_same_table():
    head = HEAD + "variable c { type discrete [2] {u, v}; }\n" + A + "probability ( b ) { table 0.2, 0.3, 0.5; }\n"
    cells = {(s, t): i for i, (s, t) in enumerate((s, t) for s in "xy" for t in "pqr")}
    rows = "".join(f"({s}, {t}) {i / 10}, {1 - i / 10};" for (s, t), i in cells.items())
    turned = "".join(f"({t}, {s}) {i / 10}, {1 - i / 10};" for (s, t), i in cells.items())
    one = parsed(head + f"probability ( c | a, b ) {{ {rows} }}")
    other = parsed(head + f"probability ( c | b, a ) {{ {turned} }}")
    assert_equal(one, other)
    assert one.cpds[2].parents == (0, 1)
    np.testing.assert_array_equal(table(one, "c", "a", "b")[..., 0], [[0.0, 0.1, 0.2], [0.3, 0.4, 0.5]])


BAD_BIF = {
    "nothing": ("", "no variables"),
    "another language": ("hello", "line 1: expected 'network'"),
    "cycle": (HEAD + "probability ( a | b ) { default 0.5, 0.5; }\n" + B, "cycle: (a -> b -> a|b -> a -> b)"),
    "own parent": (HEAD + B + "probability ( a | a ) { default 0.5, 0.5; }", "line 5: .*twice in the family of 'a'"),
    "parent twice": (HEAD + A + "probability ( b | a, a ) { default 0.1, 0.2, 0.7; }", "twice in the family of 'b'"),
    "unknown parent": (
        HEAD + A + "probability ( b | z ) { default 0.1, 0.2, 0.7; }",
        "line 5: .*parent of 'b' named 'z'",
    ),
    "unknown child": (HEAD + A + B + "\nprobability ( z ) { table 1; }", "line 7: .*'z'"),
    "no table": (HEAD + A, "'b' has no table"),
    "empty table": (HEAD + A + "probability ( b | a ) { }", r"line 5: variable 'b' has no row \(x\)"),
    "empty root": (HEAD + B + "probability ( a ) { }", "line 5: variable 'a' has no table"),
    "two tables": (HEAD + A + A + B, "line 5: variable 'a' has two tables"),
    "variable twice": (HEAD + HEAD + A + B, "line 5: variable 'a' is declared twice"),
    "state twice": (HEAD.replace("x, y", "x, x") + A + B, "line 2: .*same name"),
    "no states": ("variable a { type discrete [0] { }; }", "line 1: variable 'a' has no states"),
    "too many states": (
        f"variable a {{ type discrete [70000] {{ {' '.join(map(str, range(70000)))} }}; }}",
        "70000 states",
    ),
    "no type": ("variable a { }", "line 1: variable 'a' has no 'type discrete'"),
    "continuous": ("variable a {\n type continuous; }", "line 2: .*'continuous'"),
    "wrong number of states": (
        HEAD.replace("[3]", "[4]") + A + B,
        "line 3: variable 'b' declares 4 states and lists 3",
    ),
    "negative": (
        HEAD + "probability ( a ) { table -0.25, 1.25; }" + B,
        "line 4: variable 'a': .*at least 0. Got -0.25",
    ),
    "not a number": (HEAD + "probability ( a ) { table nan, 1; }" + B, "line 4: .*Got nan"),
    "infinite": (HEAD + "probability ( a ) { table inf, 1; }" + B, "line 4: .*Got inf"),
    "no sum": (HEAD + A + B.replace("0.4", "0.5"), r"line 5: variable 'b', row \(y\): .*sum to 1. They sum to 1.1"),
    "sum off by 0.002": (HEAD + A + B.replace("0.4", "0.402"), r"row \(y\)"),
    "missing row": (HEAD + A + "probability ( b | a ) { (y) 0.1, 0.2, 0.7; }", r"'b' has no row \(x\)"),
    "row twice": (
        HEAD + A + "probability ( b | a ) { (y) 0.1, 0.2, 0.7;\n (y) 0.1, 0.2, 0.7; }",
        r"line 6: .*two rows for \(y\)",
    ),
    "unknown state": (HEAD + A + B.replace("(x)", "(z)"), "'a' has no state 'z'"),
    "too many states in a row": (HEAD + A + B.replace("(x)", "(x, x)"), "2 states for 1 parents"),
    "too few numbers": (HEAD + A + B.replace("0.1, ", ""), r"row \(x\) of 'b' must have 3 numbers. Got 2"),
    "too many numbers": (HEAD + A.replace("0.25", "0.25, 0.1") + B, "table of 'a' must have 2 numbers. Got 3"),
    "default too short": (
        HEAD + A + "probability ( b | a ) { default 1; }",
        "default of 'b' must have 3 numbers. Got 1",
    ),
    "words for numbers": (HEAD + A + B.replace("0.1", "much"), "line 5: expected a number, got 'much'"),
    "no semicolon": (HEAD + A + B.replace("0.4;", "0.4"), "line 5: expected a number, got '}'"),
    "no end": (HEAD + A + B.replace("; }", ";"), "expected '}', got 'the end of the file'"),
    "open comment": (HEAD + A + "/* " + B, "line 5: .*does not end"),
    "open quotation": (HEAD + A + B.replace("(x)", '("x)'), "line 5: .*does not end"),
    "strange entry": (HEAD + A + B.replace("(x)", "{x}"), "line 5: did not expect '{'"),
    "bracket for a name": (HEAD + A + B.replace("( b", "( ;"), "line 5: expected a name, got ';'"),
}


@pytest.mark.parametrize("text, says", BAD_BIF.values(), ids=BAD_BIF.keys())
def test_bad_bif(text, says):
    with pytest.raises(FormatError, match=says) as caught:
        parsed(text)
    assert str(caught.value).startswith("net.bif: ")


def test_rows_a_little_off_are_rescaled_with_one_warning():
    with pytest.warns(DataWarning, match="2 of 2 tables.*'b', row .y., sums to 1.001") as told:
        model = parsed(HEAD + A.replace("0.75", "0.7499") + B.replace("0.4", "0.401"))
    assert len(told) == 1
    np.testing.assert_allclose(table(model, "b", "a")[1], np.array([0.3, 0.3, 0.401]) / 1.001, rtol=1e-15)
    np.testing.assert_array_equal(table(model, "b", "a")[0], [0.1, 0.2, 0.7])  # a good row is left as it is


def test_a_huge_table_is_refused_before_it_is_made():
    names = [f"v{i}" for i in range(60)]
    text = "".join(
        f"variable {n} {{ type discrete [2] {{0, 1}}; }}\nprobability ( {n} ) {{ table 0.5, 0.5; }}\n" for n in names
    )
    text += "variable c { type discrete [2] {0, 1}; }\n"
    for entry in ("default 0.5, 0.5;", "table 0.5, 0.5;", ""):
        with pytest.raises(FormatError, match=f"60 parents the network has {2**61 + 120} probabilities"):
            parsed(text + f"probability ( c | {', '.join(names)} ) {{ {entry} }}")


@given(
    st.binary(max_size=200)
    | NASTY.map(str.encode)
    | st.lists(st.sampled_from(HEAD.split() + A.split() + B.split())).map(" ".join).map(str.encode)
)
def test_any_bytes_give_a_network_or_a_format_error(data):
    for reader in (bif, xmlbif, uai):
        try:
            reader.read(data, "any")
        except FormatError:
            pass


@given(st.data())
def test_a_damaged_file_gives_a_network_or_a_format_error(data):
    writer = data.draw(st.sampled_from([bif, xmlbif, uai]))
    good = writer.write(textbook("cancer")).encode()
    at = data.draw(st.integers(0, len(good) - 1))
    length = data.draw(st.integers(0, 20))
    bad = (
        good[:at]
        + data.draw(st.binary(max_size=3) | st.sampled_from([b"9", b"1e99", b"-", b"{", b"<", b"("]))
        + good[at + length :]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            writer.read(bad, "any")
        except FormatError:
            pass


# XMLBIF

DOCTYPE = """<?xml version="1.0" encoding="US-ASCII"?>
<!-- Bayesian network in XMLBIF v0.3 -->
<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*>
  <!ATTLIST BIF VERSION CDATA #REQUIRED>
  <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
  <!ELEMENT NAME (#PCDATA)>
]>
"""
XML = """<BIF VERSION="0.3"><NETWORK><NAME>dog</NAME><PROPERTY>by = hand</PROPERTY>
<VARIABLE TYPE="nature"><NAME> out </NAME><OUTCOME>true</OUTCOME><OUTCOME>false</OUTCOME><PROPERTY/></VARIABLE>
<VARIABLE><NAME>light</NAME><OUTCOME>on</OUTCOME><OUTCOME>&lt;off&gt;</OUTCOME></VARIABLE>
<DEFINITION><FOR>light</FOR><GIVEN>out</GIVEN><TABLE>0.6 0.4 <!-- if out -->
 0.05 0.95</TABLE></DEFINITION>
<DEFINITION><FOR>out</FOR><TABLE>0.15 0.85</TABLE></DEFINITION></NETWORK></BIF>
"""


@pytest.mark.parametrize("start", ["", DOCTYPE, '<!DOCTYPE BIF SYSTEM "http://example.org/bif.dtd">'])
def test_xmlbif_as_others_write_it(start):
    model = xmlbif.read((start + XML).encode(), "dog.xml")
    assert [(v.name, v.states) for v in model.variables] == [("out", ("true", "false")), ("light", ("on", "<off>"))]
    np.testing.assert_array_equal(table(model, "light", "out"), [[0.6, 0.4], [0.05, 0.95]])


LAUGHS = '<!DOCTYPE BIF [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
BAD_XML = {
    "nothing": ("", "not well-formed XML"),
    "not XML": ("network n {", "line 1: .*not well-formed"),
    "unclosed": (XML[:-10], "not well-formed"),
    "another document": ("<html/>", "not a <BIF>"),
    "no network": ("<BIF/>", "one NETWORK. Got 0"),
    "two networks": ("<BIF><NETWORK/><NETWORK/></BIF>", "one NETWORK. Got 2"),
    "empty": ("<BIF><NETWORK/></BIF>", "no variables"),
    "entities": (LAUGHS + XML, "line 1: .*entities"),
    "parameter entity": ('<!DOCTYPE BIF [<!ENTITY % a "x">]>' + XML, "entities"),
    "a file as an entity": ('<!DOCTYPE BIF [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + XML, "entities"),
    "unknown entity": (XML.replace("dog", "&dog;"), "line 1: .*undefined entity"),
    "unknown entity, outer DTD": ('<!DOCTYPE BIF SYSTEM "x.dtd">' + XML.replace("dog", "&dog;"), "line 1: .*entities"),
    "unknown encoding": ('<?xml version="1.0" encoding="klingon"?>' + XML, "line 1"),
    "nested deeply": ("<BIF>" * 100_000, "nested too deeply"),
    "decision": (XML.replace('"nature"', '"decision"'), "line 2: .*'decision'"),
    "no name": (XML.replace("<NAME> out </NAME>", ""), "line 2: a VARIABLE must have one NAME. Got 0"),
    "no states": (
        XML.replace("<OUTCOME>on</OUTCOME><OUTCOME>&lt;off&gt;</OUTCOME>", ""),
        "line 3: variable 'light' has no states",
    ),
    "no child": (XML.replace("<FOR>light</FOR>", ""), "line 4: a DEFINITION must have one FOR"),
    "no numbers": (XML.replace("0.15 0.85", ""), "line 6: the table of 'out' must have 2 numbers. Got 0"),
    "unknown parent": (XML.replace("<GIVEN>out", "<GIVEN>in"), "line 4: .*parent of 'light' named 'in'"),
    "cycle": (XML.replace("<FOR>out</FOR><TABLE>", "<FOR>out</FOR><GIVEN>light</GIVEN><TABLE>0.5 0.5 "), "cycle"),
    "word for a number": (XML.replace("0.15", "some"), "line 6: .*must consist of numbers.*some"),
    "no sum": (XML.replace("0.05", "0.5"), r"line 4: variable 'light', row \(false\): .*sum to 1.45"),
    "negative": (XML.replace("0.15", "-0.15"), "at least 0"),
}


@pytest.mark.parametrize("text, says", BAD_XML.values(), ids=BAD_XML.keys())
def test_bad_xmlbif(text, says):
    with pytest.raises(FormatError, match=says):
        xmlbif.read(text.encode(), "net.xml")


# UAI


def test_uai_as_others_write_it():
    text = (
        b"BAYES\n3\n2 2 3\n3\n1 0   # first\n3 2 0 1\n1 2\n\n2\n .4 .6\n\n12\n"
        + b" .1 .9 .2 .8\n .3 .7 .4 .6\n .5 .5 .6 .4\n"
    )
    model = uai.read(text + b"3 0.2 0.3 0.5", "net.uai")
    assert [v.name for v in model.variables] == ["x0", "x1", "x2"]
    assert model.variables[2].states == (0, 1, 2)
    np.testing.assert_array_equal(table(model, "x1", "x2", "x0")[..., 0], [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])


BAD_UAI = {
    "nothing": ("", "ends where BAYES should stand"),
    "Markov": ("MARKOV\n1\n2\n0", "line 1: .*Markov network"),
    "another": ("BIF 1", "must be BAYES. Got 'BIF'"),
    "words": ("BAYES\nmany", "line 2: expected a number of variables, got 'many'"),
    "negative": ("BAYES\n-1", "line 2: expected a number of variables, got '-1'"),
    "cut": ("BAYES 1 2 1 1 0 2 0.5", "2 more words are announced"),
    "cut earlier": ("BAYES 1 2 1 1 0", "ends where the size of a table"),
    "too many variables": (f"BAYES {10**17} 2", f"{10**17} more words"),
    "too many digits": (f"BAYES {'9' * 5000}", "expected a number of variables"),
    "too many states": (f"BAYES 1 {10**17} 1 1 0 2 0.5 0.5", f"{10**17} more words"),
    "no states": ("BAYES 1 0 1 1 0 0", "no states"),
    "no scope": ("BAYES 1 2 1 0 2 0.5 0.5", "must have a variable"),
    "unknown variable": ("BAYES 1 2 1 1 7 2 0.5 0.5", "'x7'"),
    "wrong size": ("BAYES\n1\n2\n1\n1 0\n3\n0.5 0.5", "line 6: the table of 'x0' must have 2 numbers. Got 3"),
    "no sum": ("BAYES 1 2 1 1 0 2 0.5 0.6", "sum to 1.1"),
    "not numbers": ("BAYES 1 2 1 1 0 2 a b", "expected 2 numbers"),
    "cycle": ("BAYES 2 2 2 2 2 0 1 2 1 0 4 .5 .5 .5 .5 4 .5 .5 .5 .5", "cycle"),
    "no table": ("BAYES 2 2 2 1 1 0 2 0.5 0.5", "'x1' has no table"),
    "two tables": ("BAYES 1 2 2 1 0 1 0 2 0.5 0.5 2 0.5 0.5", "two tables"),
    "huge table": (
        f"BAYES 61 {'2 ' * 61} 1 61 {' '.join(map(str, range(61)))} {2**61} " + "0.5 " * 200,
        f"{2**61} probabilities",
    ),
}


@pytest.mark.parametrize("text, says", BAD_UAI.values(), ids=BAD_UAI.keys())
def test_bad_uai(text, says):
    with pytest.raises(FormatError, match=says):
        uai.read(text.encode(), "net.uai")


def test_markov_problems_of_the_competition_are_refused_by_name(public_data):
    with pytest.raises(FormatError, match="Markov network"):
        read_network(public_data / "uai" / "Grids_11.uai.gz")


# Files


def test_files_that_are_none(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.bif")
    (tmp_path / "net.bif").write_bytes(gzip.compress(b"x"))
    (tmp_path / "net.bif.gz").write_bytes(b"network n {}")
    (tmp_path / "cut.bif.gz").write_bytes(gzip.compress(bif.write(textbook("asia")).encode())[:-20])
    (tmp_path / "latin.bif").write_bytes(b"network n {}\nvariable na\xefve")
    (tmp_path / "folder.bif").mkdir()
    for name, error, says in [
        ("net.txt", InputError, "suffix"),
        ("net", InputError, "suffix"),
        (".gz", InputError, "suffix"),
        ("absent.bif", InputError, "no file"),
        ("folder.bif", InputError, "directory"),
        ("pipe.bif", InputError, "pipe"),
        ("net.bif", FormatError, "line 1: the text must be UTF-8"),
        ("net.bif.gz", FormatError, "gzip"),
        ("cut.bif.gz", FormatError, "cannot be read"),
        ("latin.bif", FormatError, "line 2: the text must be UTF-8, and byte 24"),
    ]:
        with pytest.raises(error, match=says) as caught:
            read_network(tmp_path / name)
        assert name in str(caught.value)
    for name in ("net.txt", "absent/net.bif", "folder.bif", "pipe.bif"):
        with pytest.raises(InputError):
            write_network(textbook("asia"), tmp_path / name)


def test_a_small_file_that_unzips_to_a_large_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign, "MAX_TEXT", 10**6)
    (tmp_path / "net.bif.gz").write_bytes(gzip.compress(b" " * 2 * 10**6))
    with pytest.raises(FormatError, match="more than"):
        read_network(tmp_path / "net.bif.gz")


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    write_network(textbook("asia"), tmp_path / "net.bif")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    with pytest.raises(InputError, match="Input/output error"):
        write_network(binary_network(50), tmp_path / "net.bif")
    monkeypatch.undo()
    assert_equal(read_network(tmp_path / "net.bif"), textbook("asia"))


# Other programs read what we write, and we read what they write

PEER_NETWORKS = ["asia", "alarm", "insurance", "hailfinder", "hepar2", "andes"]


def assert_same_by_name(one, other, tolerance):
    states = {v.name: tuple(map(str, v.states)) for v in one.variables}
    assert {v.name: tuple(map(str, v.states)) for v in other.variables} == states
    for cpd in one.cpds:
        child, parents = one.variables[cpd.child].name, [one.variables[p].name for p in cpd.parents]
        np.testing.assert_allclose(table(other, child, *parents), table(one, child, *parents), rtol=0, atol=tolerance)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", [".bif", ".xml"])
@pytest.mark.parametrize("name", PEER_NETWORKS)
def test_pgmpy_reads_ours_and_we_read_its(public_data, tmp_path, name, suffix):
    formats = pytest.importorskip("pgmpy.readwrite")
    reader, writer = (
        (formats.BIFReader, formats.BIFWriter) if suffix == ".bif" else (formats.XMLBIFReader, formats.XMLBIFWriter)
    )
    model = repository(public_data, name)
    write_network(model, tmp_path / f"ours{suffix}")
    theirs = reader(str(tmp_path / f"ours{suffix}")).get_model()
    for cpd in model.cpds:
        other = theirs.get_cpds(model.variables[cpd.child].name)
        assert other.variables[1:] == [model.variables[p].name for p in cpd.parents]
        np.testing.assert_array_equal(other.get_values().T, cpd.probs)
    writer(theirs).write(str(tmp_path / f"theirs{suffix}"))
    assert_same_by_name(model, read_network(tmp_path / f"theirs{suffix}"), 1e-12)


# pyAgrum reads the numbers of BIF in single precision, and writes about eight digits in any format.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix, tolerance", [(".bif", 1e-7), (".bifxml", 0)])
@pytest.mark.parametrize("name", PEER_NETWORKS)
def test_pyagrum_reads_ours_and_we_read_its(public_data, tmp_path, name, suffix, tolerance):
    gum = pytest.importorskip("pyagrum")
    model = repository(public_data, name)
    write_network(model, tmp_path / f"ours{suffix}")
    theirs = gum.loadBN(str(tmp_path / f"ours{suffix}"))
    for cpd in model.cpds:
        child, *parents = (model.variables[v].name for v in (cpd.child, *cpd.parents))
        other = theirs.cpt(child)
        assert theirs.variable(child).labels() == model.variables[cpd.child].states
        axes = [list(other.names[::-1]).index(member) for member in (*parents, child)]
        cube = other.toarray().transpose(axes).reshape(cpd.probs.shape)
        np.testing.assert_allclose(cube, cpd.probs, rtol=0, atol=tolerance)
    gum.saveBN(theirs, str(tmp_path / f"theirs{suffix}"))
    assert_same_by_name(model, read_network(tmp_path / f"theirs{suffix}"), 1e-6)
