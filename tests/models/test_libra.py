"""Libra's files: what they mean, what comes back, and what is refused with the line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quiltwork as qw
from naive import log_linear
from quiltwork.cpds.table import TableCPD
from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.encode import Encoder
from quiltwork.data.libra import libra_variables
from quiltwork.errors import FormatError, InputError
from quiltwork.models.foreign import libra

MARKOV = b"""2,2,3
MN {
-6.931472e-01 +v0_1 -v2_0
features {
2.5e-01 +v1_0
}

table {
-1.590647e-01 +v0_1 +v1_1
-1.916923e+00 +v0_0 +v1_1
-1.916923e+00 +v0_1 +v1_0
-1.590647e-01 +v0_0 +v1_0
}

tree {
(v2_1
    (v0_0 0.5 -0.25)
    (v2_0
        1.5
        (v1_1 -2.0e+00 0.125)))
}

}
"""

DEPENDENCY = b"""3,2
DN {
v0 {
tree {
(v1_0
   (v0_0 -1.609 (v0_1 -1.2039 -0.6931))
   (v0_0 -0.6931 (v0_1 -1.2039 -1.609)))
}

}
v1 {
table {
-6.931472e-01 +v1_1
-6.931472e-01 +v1_0
}

}
}
"""


def meant(row):
    """The energy of a row under MARKOV, by reading it."""
    a, b, c = row
    total = -0.6931472 * (a == 1 and c != 0) + 0.25 * (b == 0)
    total += -0.1590647 if a == b else -1.916923
    if c == 1:
        return total + (0.5 if a == 0 else -0.25)
    return total + (1.5 if c == 0 else (-2.0 if b == 1 else 0.125))


def test_a_markov_network_means_what_it_says():
    model = libra.read(MARKOV, "m.mn")
    features = [list(zip(f.keys(), f.values())) for f, _ in model.features]
    features = [[(int(name[1:]), state) for name, state in feature] for feature in features]
    for row in np.ndindex(2, 2, 3):
        assert log_linear.energy(features, model.weights, row) == pytest.approx(meant(row))
    assert [v.name for v in model.variables] == ["v0", "v1", "v2"] and model.provenance == {"source": "m.mn"}
    assert len({tuple(feature) for feature in features}) == len(features)


def test_a_dependency_network_means_what_it_says():
    model = libra.read(DEPENDENCY, "d.dn")
    assert [cpd.kind for cpd in model.cpds] == ["tree", "table"] and model.arcs == [("v1", "v0")]
    found = qw.predict_proba(model, np.array([[0, 0], [0, 1]]), "v0")
    assert found == pytest.approx(np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]), abs=1e-4)
    assert qw.predict_proba(model, np.array([[0, 0]]), "v1")[0] == pytest.approx([0.5, 0.5])


def random_tree(rng, child, n_states, depth=3):
    """A tree with binary and complete splits, in the flat arrays of TreeCPD."""
    variable, state, first, branches, probs = [], [], [], [], []
    waiting = [(0, 0)]
    n_nodes = 1
    for _, level in waiting:
        others = [v for v, n in enumerate(n_states) if v != child and n > 1]
        if level < depth and others and rng.random() < 0.7:
            v = int(rng.choice(others))
            complete = rng.random() < 0.4
            width = n_states[v] if complete else 2
            variable.append(v), state.append(-1 if complete else int(rng.integers(n_states[v])))
            first.append(len(branches))
            branches += range(n_nodes, n_nodes + width)
            waiting += [(k, level + 1) for k in range(n_nodes, n_nodes + width)]
            n_nodes += width
        else:
            variable.append(-1), state.append(-1), first.append(len(probs))
            probs.append(rng.dirichlet(np.ones(n_states[child])))
    i = lambda values: np.array(values, np.int64)  # noqa: E731
    zeros = np.zeros(len(branches)), np.zeros(len(variable))
    arrays = i(variable), i(state), i(first), i(branches), *zeros
    return TreeCPD(child, *arrays, np.array(probs), np.zeros((len(probs), 1)))


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([".bn", ".dn"]))
def test_networks_of_tables_and_trees_come_back(tmp_path_factory, seed, ending):
    rng = np.random.default_rng(seed)
    n_states = rng.integers(1, 4, rng.integers(1, 5)).tolist()
    cpds = []
    for v in range(len(n_states)):
        if v and rng.random() < 0.5:
            parents = tuple(range(v))
            cpds.append(TableCPD(v, parents, rng.dirichlet(np.ones(n_states[v]), int(np.prod(n_states[:v])))))
        elif ending == ".dn":
            cpds.append(random_tree(rng, v, n_states))
        else:
            cpds.append(random_tree(rng, v, [n if u <= v else 1 for u, n in enumerate(n_states)]))
    encoder = Encoder(libra_variables(np.array(n_states)))
    if ending == ".bn":
        model = qw.BayesianNet(encoder, tuple(cpds))
    else:
        model = qw.DependencyNet(encoder, tuple(cpds), np.zeros(sum(n_states)))
    path = tmp_path_factory.mktemp("libra") / f"m{ending}"
    qw.write_network(model, path)
    again = qw.read_network(path)
    rows = np.array(list(np.ndindex(*n_states)), np.uint16)
    for old, new in zip(model.cpds, again.cpds):
        if old.kind == "table":
            assert new.parents == old.parents and new.probs == pytest.approx(old.probs, abs=1e-14)
        else:
            assert new.log_probs(rows) == pytest.approx(old.log_probs(rows), abs=1e-12)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_markov_networks_come_back_bit_for_bit(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    table = {f"v{v}": rng.integers(0, 3, 60) for v in range(3)}
    model = qw.learn("mn", table, k=1, max_states=10)
    path = tmp_path_factory.mktemp("libra") / "m.mn.gz"
    qw.write_network(model, path)
    assert qw.read_network(path).features == model.features


def test_certain_states_are_written_as_minus_infinity():
    model = qw.BayesianNet(Encoder(libra_variables(np.array([2]))), (TableCPD(0, (), np.array([[1.0, 0.0]])),))
    assert "-inf +v0_1" in libra.write(model)
    assert libra.read(libra.write(model).encode(), "x.bn").cpds[0].probs.tolist() == [[1.0, 0.0]]


def test_a_tree_deeper_than_the_stack_is_read():
    n = 1200
    text = "".join(f"(v0_{k} {k}.0 " for k in range(n - 1)) + "0.5" + ")" * (n - 1)
    model = libra.read(f"{n}\nMN {{\ntree {{\n{text}\n}}\n}}\n".encode(), "deep.mn")
    assert len(model.weights) == n


@pytest.mark.parametrize("text, line, said", [
    (b"", None, "the file is empty"),
    (b"2,x\nMN {\n}\n", 1, "a schema must be the number of states.*from 1 to 65534. Got 'x'"),
    (b"2,0\nMN {\n}\n", 1, "from 1 to 65534. Got '0'"),
    (b"2,99999999999999999999\nMN {\n}\n", 1, "from 1 to 65534. Got '99999999999999999999'"),
    (b"2,-3\nMN {\n}\n", 1, "from 1 to 65534. Got '-3'"),
    (b"2,2\nMN {\n1 +v99999999999_1\n}\n", 3, "expected a condition such as"),
    (b"2,2\nMN {\n1.5 +v0_", 3, "expected a condition such as"),
    (b"2,2\n", 1, "the file ends where MN, BN or DN should stand"),
    (b"2,2\nXY {\n}\n", 2, "expected MN, BN or DN, got 'XY'"),
    (b"2,2\nMN {\n1.0 +v2_0\n}\n", 3, "there is no variable v2: the first line says 2 variables"),
    (b"2,2\nMN {\n1.0 +v1_2\n}\n", 3, "v1 has no state 2"),
    (b"2,2\nMN {\n1.0 +v1_1\n", 3, "the file ends where '}' should stand"),
    (b"2,2\nMN {\ntree {\n(v0_0 1.0\n", 4, "the file ends where a number should stand"),
    (b"2,2\nMN {\ntree {\n(v0_0 1.0 2.0 3.0)\n}\n}\n", 4, "expected '\\)', got '3.0'"),
    (b"2,2\nMN {\nheavy +v1_1\n}\n", 3, "expected a number, got 'heavy'"),
    (b"2,2\nMN {\n1e999 +v1_1\n}\n", 3, "a weight must be a finite number. Got '1e999'"),
    (b"2,2\nMN {\n-inf +v1_1\n}\n", 3, "must be a finite number. Got '-inf'; -1000 says nearly the same"),
    (b"2,2\nMN {\nnan +v1_1\n}\n", 3, "a weight must be a finite number"),
    (b"2,2\nMN {\n1e308 +v1_1\n1e308 +v1_1\n}\n", 5, "so large that their sum is no finite number"),
    (b"2,2\nMN {\n1.0 +v1_1\n}\nmore\n", 5, "nothing may stand after the network"),
    (b"2\nBN {\nv1 {\n", 3, "there is no variable v1"),
    (b"2\nBN {\nw0 {\n", 3, "expected a variable such as v0"),
    (b"2\nBN {\nv0 {\nfeatures {\n0.0 +v0_1\n}\n}\n}\n", 4, "only tables and trees"),
    (b"2\nBN {\nv0 {\ntable {\n-0.7 +v0_1\n}\n}\n}\n", 4, "must have 2 lines. Got 1"),
    (b"2\nBN {\nv0 {\ntable {\n-0.7 +v0_1\n-0.7 +v0_1\n}\n}\n}\n", 4, "speak of the same states"),
    (b"2\nBN {\nv0 {\ntable {\n-0.7 -v0_1\n-0.7 +v0_1\n}\n}\n}\n", 5, "must say the state of each"),
    (b"2\nBN {\nv0 {\ntable {\n-0.7 +v0_1\n-1.7 +v0_0\n}\n}\n}\n", 4, "must sum to 1. Somewhere they sum to 0.679"),
    (b"2\nBN {\nv0 {\ntable {\n900.0 +v0_1\n-1.7 +v0_0\n}\n}\n}\n", 4, "must sum to 1"),
    (b"2,2\nBN {\nv0 {\ntree {\n(v0_0 -0.7 (v1_0 -0.7 -0.7))\n}\n}\n", 4, "must test no other variable"),
    (b"2,2\nBN {\nv0 {\ntree {\n(v0_0 -0.6931472 -0.6931472)\n}\n}\n}\n", 8, "v1 has no distribution"),
])  # fmt: skip
def test_what_cannot_be_read_is_refused_with_the_line(text, line, said):
    with pytest.raises(FormatError, match=said) as caught:
        libra.read(text, "bad.mn")
    assert caught.value.line == line


def test_every_truncation_is_refused_or_a_network():
    for text in (MARKOV, DEPENDENCY):
        for end in range(0, len(text.rstrip()) - 1):
            with pytest.raises(FormatError):
                libra.read(text[:end], "cut")


def test_a_cycle_is_refused_in_a_bayesian_network_and_fine_in_a_dependency_network():
    pair = "v{0} {{\ntree {{\n(v{1}_0 (v{0}_0 -0.6931472 -0.6931472) (v{0}_0 -0.6931472 -0.6931472))\n}}\n}}\n"
    body = pair.format(0, 1) + pair.format(1, 0)
    assert libra.read(f"2,2\nDN {{\n{body}}}\n".encode(), "d.dn").arcs == [("v1", "v0"), ("v0", "v1")]
    with pytest.raises(FormatError, match="must not form a cycle"):
        libra.read(f"2,2\nBN {{\n{body}}}\n".encode(), "d.bn")


def test_each_ending_takes_its_own_kind(tmp_path):
    with pytest.raises(InputError, match="dependency networks as .dn. Got BayesianNet for"):
        qw.write_network(qw.textbook("asia"), tmp_path / "asia.mn")
    assert not list(tmp_path.iterdir())


# Data


def test_data_and_schema_come_back(tmp_path):
    table = qw.sample(qw.textbook("asia"), 50, seed=0)
    qw.write_libra_data(table, tmp_path / "asia.data")
    assert (tmp_path / "asia.schema").read_text() == "2,2,2,2,2,2,2,2\n"
    again = qw.read_table(tmp_path / "asia.data")
    assert np.array_equal(again.states(), table.states()) and again.variables[0].states == (0, 1)


def test_rows_are_written_with_the_states_of_a_network_that_other_rows_have_taught(tmp_path):
    rows = {"rain": ["no", "some", "much", "no"] * 20, "wet": ["no", "yes", "yes", "no"] * 20}
    test = {"rain": ["some", "much", None], "wet": ["yes", "yes", "no"]}
    model = qw.learn("mn", rows, structure="dtsl")
    qw.write_network(model, tmp_path / "rain.mn")
    qw.write_libra_data(model.encoder.encode(test), tmp_path / "test.data")
    assert (tmp_path / "test.data").read_text() == "2,1\n0,1\n*,0\n"
    again = qw.read_network(tmp_path / "rain.mn"), qw.read_table(tmp_path / "test.data")
    assert qw.pseudo_log_likelihood(*again) == pytest.approx(qw.pseudo_log_likelihood(model, test))


def test_missing_values_weights_and_states_without_a_schema(tmp_path):
    (tmp_path / "x.data").write_text("0,2\n1,*\n2.5|0,0\n")
    data = qw.read_table(tmp_path / "x.data")
    assert [v.states for v in data.variables] == [(0, 1), (0, 1, 2)]
    assert data.labels(1).tolist() == [2, None, 0] and data.weights.tolist() == [1.0, 1.0, 2.5]
    qw.write_libra_data(data, tmp_path / "y.data")
    assert (tmp_path / "y.data").read_text() == "1.0|0,2\n1.0|1,*\n2.5|0,0\n"


def test_missing_values_of_a_table_are_refused_left_out_or_a_state(tmp_path):
    table, path = {"a": ["x", None, "y"], "b": [0, 1, 1]}, tmp_path / "x.data"
    with pytest.raises(InputError, match="missing='drop'"):
        qw.write_libra_data(table, path)
    assert not list(tmp_path.iterdir())
    qw.write_libra_data(table, path, missing="drop")
    assert path.read_text() == "0,0\n1,1\n"
    qw.write_libra_data(table, path, missing="state")
    assert path.read_text() == "0,0\n2,1\n1,1\n" and path.with_suffix(".schema").read_text() == "3,2\n"


@pytest.mark.parametrize("rows, schema, line, said", [
    ("0,1\n0\n", None, 2, "a row must have 2 values, as the first has. Got 1"),
    ("0,1\n0,x\n", None, 2, "a value must be a whole number below 65534, or \\*. Got 'x'"),
    ("0,1\n0,99999999999999999999999\n", None, 2, "Got '99999999999999999999'"),
    ("0,1\n0,0000000000000000000000099\n", None, 2, "Got '0000"),
    ("0,--1\n", None, 1, "Got '--1'"),
    ("0,*1\n", None, 1, "Got '\\*1'"),
    ("0,1_0\n", None, 1, "Got '1_0'"),
    ("0,65534\n", None, 1, "v1 must be from 0 to 65533, or \\*. Got 65534"),
    ("0,-2\n", None, 1, "or \\*. Got -2"),
    ("0,1\n0,-2\n", None, 2, "Got -2"),
    ("0,1\n0,2\n", "2,2\n", 2, "v1 must be from 0 to 1, or \\*. Got 2"),
    ("0,1\n", "2,2,2\n", 1, "the schema says 3"),
    ("x|0,1\n", None, 1, "a weight must be a finite number of at least 0. Got 'x'"),
    ("\n\n", None, None, "no rows"),
])  # fmt: skip
def test_data_that_cannot_be_read_is_refused_with_the_line(tmp_path, rows, schema, line, said):
    (tmp_path / "x.data").write_text(rows)
    if schema:
        (tmp_path / "x.schema").write_text(schema)
    with pytest.raises(FormatError, match=said) as caught:
        qw.read_table(tmp_path / "x.data")
    assert caught.value.line == line
