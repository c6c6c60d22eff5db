import gzip
import hashlib
import io
import json
import os
import pickle
import re
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from some_networks import assert_equal, binary_network, network, networks

from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.errors import (
    CorruptModelError,
    FormatError,
    InputError,
    ModelFileError,
    ModelTooLargeError,
    NewerVersionError,
)
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.disk import OTHER_FORMATS
from quiltwork.models.files import load, save, to_bytes
from quiltwork.models.foreign import read_network
from quiltwork.models.textbook import textbook

# Round trips

SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(networks(states=SCALARS))
def test_what_is_saved_is_loaded_bit_for_bit(tmp_path, model):
    save(model, tmp_path / "m.qw")
    assert_equal(load(tmp_path / "m.qw"), model)


def test_types_of_states_policies_and_provenance_are_kept(tmp_path):
    variables = [Variable("a", (False, True)), Variable("b", (0, 1, "1")), Variable("c", (0.0, 2.5, -1e300))]
    provenance = {"seed": 3, "score": -12.5, "search": {"name": "climb", "tabu": None}, "tiers": [["a"], ["b"]]}
    model = network(variables, [(), (0,), (0, 1)], provenance=provenance, missing="state", unseen="error")
    save(model, tmp_path / "m.qw")
    again = load(tmp_path / "m.qw")
    assert_equal(again, model)
    assert again.provenance == provenance
    assert (again.encoder.missing, again.encoder.unseen) == ("state", "error")


def test_provenance_that_json_cannot_hold_is_kept_as_plain_values(tmp_path):
    odd = {
        "n": np.int64(3),
        "x": np.float64(0.5),
        "best": -np.inf,
        "rows": np.arange(2),
        "why": ("a", object),
        1: "one",
    }
    save(network([Variable("a", (0, 1))], [()], provenance=odd), tmp_path / "m.qw")
    back = load(tmp_path / "m.qw").provenance
    assert back == {"n": 3, "x": 0.5, "best": "-inf", "rows": [0, 1], "why": ["a", "<class 'object'>"], "1": "one"}


def test_a_network_without_variables_or_with_5000(tmp_path):
    for model in (network([], []), binary_network(5000)):
        save(model, tmp_path / "m.qw")
        assert_equal(load(tmp_path / "m.qw"), model)
    assert len(safetensors.numpy.load_file(tmp_path / "m.qw")) == 5


def test_the_strengths_of_the_arcs_come_back(tmp_path):
    asia = textbook("asia")
    for strengths in (np.arange(8.0), None):
        save(replace(asia, strengths=strengths), tmp_path / "m.qw")
        back = load(tmp_path / "m.qw").strengths
        assert back is None if strengths is None else back.tolist() == strengths.tolist()
    for strengths in (np.arange(7.0), np.full(8, np.nan)):
        with pytest.raises(InputError, match="strength"):
            save(replace(asia, strengths=strengths), tmp_path / "m.qw")


def test_any_safetensors_reader_opens_the_arrays(tmp_path):
    model = textbook("asia")
    save(model, tmp_path / "m.qw")
    tensors = safetensors.numpy.load_file(tmp_path / "m.qw")
    assert tensors["probs"].tolist() == [p for cpd in model.cpds for p in cpd.probs.ravel().tolist()]
    assert tensors["indices"].tolist() == model.structure.indices.tolist()


def test_loaded_arrays_are_of_the_kind_that_kernels_expect(tmp_path):
    save(textbook("asia"), tmp_path / "m.qw")
    for cpd in load(tmp_path / "m.qw").cpds:
        assert cpd.probs.dtype == np.float64
        assert cpd.probs.flags.c_contiguous and cpd.probs.flags.aligned and cpd.probs.flags.writeable


def test_the_same_model_gives_the_same_bytes_in_every_process():
    program = "import sys; from quiltwork.models.files import *; from quiltwork.models.textbook import textbook\n"
    program += "sys.stdout.write(__import__('hashlib').sha256(to_bytes(textbook('asia'))).hexdigest())"
    for seed in ("0", "1"):
        environment = dict(os.environ, PYTHONHASHSEED=seed, PYTHONPATH=os.pathsep.join(sys.path))
        told = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert told.stdout == hashlib.sha256(to_bytes(textbook("asia"))).hexdigest()


def test_the_format_has_not_changed_by_accident():
    """Version 1.0 of the format. If this fails, old files must still load, and VERSION may have to grow."""
    assert hashlib.sha256(to_bytes(textbook("asia"))).hexdigest() == GOLDEN_ASIA


GOLDEN_ASIA = "0c55fbca6eb50a9af8b08135ca4cb75536b442acc93d1291a739c317cbd47b56"


# What cannot be saved


@pytest.mark.parametrize("state", [float("nan"), float("inf"), np.int64(1), None, ("a",), b"a"])
def test_a_state_that_json_cannot_hold_is_refused(tmp_path, state):
    with pytest.raises(InputError, match="'odd'"):
        save(network([Variable("odd", (0, state))], [()]), tmp_path / "m.qw")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("probs", [[[0.5, 0.6]], [[1.5, -0.5]], [[np.nan, 1.0]], [[1.0]], [[0.5, 0.5], [0.5, 0.5]]])
def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path, probs):
    model = BayesianNet(Encoder((Variable("a", (0, 1)),)), (TableCPD(0, (), np.array(probs)),))
    with pytest.raises(InputError, match="cannot be saved"):
        save(model, tmp_path / "m.qw")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("thing", [None, 3, "model", textbook])
def test_only_models_are_saved(tmp_path, thing):
    with pytest.raises(InputError, match="Only a model"):
        save(thing, tmp_path / "m.qw")


@pytest.mark.parametrize("ending", [*OTHER_FORMATS, ".bif.gz", ".MN"])
def test_the_ending_of_another_format_is_refused(tmp_path, ending):
    with pytest.raises(InputError, match="use write_network"):
        save(textbook("asia"), tmp_path / f"asia{ending}")
    assert os.listdir(tmp_path) == []


def test_every_ending_of_another_format_is_read_as_such(tmp_path):
    for ending in OTHER_FORMATS:
        (tmp_path / f"x{ending}").write_text("nonsense")
        with pytest.raises(FormatError):
            read_network(tmp_path / f"x{ending}")


def test_a_name_that_is_not_text_is_refused(tmp_path):
    with pytest.raises(InputError):
        save(network([Variable("\ud800", (0, 1))], [()]), tmp_path / "m.qw")


# Damage


@pytest.fixture(scope="module")
def asia():
    return to_bytes(textbook("asia"))


def refused(tmp_path, data, error=CorruptModelError, match="", **limits):
    path = tmp_path / "m.qw"
    path.write_bytes(data)
    try:
        load(path, **limits)
    except ModelFileError as caught:  # thousands of calls: this is faster than pytest.raises
        assert type(caught) is error
        assert str(path) in str(caught)
        assert re.search(match, str(caught))
    else:
        pytest.fail("the file was loaded")


def test_a_file_cut_anywhere_is_refused(tmp_path, asia):
    for size in range(0, len(asia), 3):
        refused(tmp_path, asia[:size])


def test_a_file_with_any_byte_changed_is_refused(tmp_path, asia):
    rng = np.random.default_rng(0)
    for at in range(len(asia)):
        change = 1 << int(rng.integers(8)) if at % 2 else 0xFF
        refused(tmp_path, asia[:at] + bytes([asia[at] ^ change]) + asia[at + 1 :])


def test_a_file_with_more_behind_it_is_refused(tmp_path, asia):
    refused(tmp_path, asia + b"\0")
    refused(tmp_path, asia + asia)


@pytest.mark.parametrize("length", [0, 1, 64, 2**32, 2**63, 2**64 - 1])
def test_a_wrong_header_length_is_refused(tmp_path, asia, length):
    refused(tmp_path, length.to_bytes(8, "little") + asia[8:], match="damaged")


# Forgeries: files whose seal and digests are right


def opened(data):
    """What a file says about itself, and its tensors."""
    length = int.from_bytes(data[:8], "little")
    told = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["quiltwork"])
    return told, dict(sorted(safetensors.numpy.load(data).items()))


def forged(told, tensors=None, layout=None, before_sealing=lambda header: header, told_text=None, gap=b""):
    """A file with a right seal and right digests, made without the library's help."""
    tensors = tensors or {}
    told = dict(
        told,
        seal="0" * 64,
        digests={n: hashlib.blake2b(t.tobytes(), digest_size=32).hexdigest() for n, t in tensors.items()},
    )
    header, end = {"__metadata__": {"quiltwork": told_text or json.dumps(told, separators=(",", ":"))}}, len(gap)
    for name, tensor in tensors.items():
        dtype = {"f": "F", "i": "I"}[tensor.dtype.kind] + str(8 * tensor.dtype.itemsize)
        header[name] = {"dtype": dtype, "shape": tensor.shape, "data_offsets": [end, end := end + tensor.nbytes]}
    header.update(layout or {})
    text = before_sealing(json.dumps(header, separators=(",", ":")).encode())
    return sealed(text, gap + b"".join(t.tobytes() for t in tensors.values()))


def sealed(header, rest=b""):
    header += b" " * (-len(header) % 8)
    start = len(header).to_bytes(8, "little") + header
    seal = hashlib.blake2b(start, digest_size=32).hexdigest().encode()
    return start.replace(b"0" * 64, seal, 1) + rest


def test_the_forger_can_make_a_true_copy(tmp_path, asia):
    (tmp_path / "m.qw").write_bytes(forged(*opened(asia)))
    assert_equal(load(tmp_path / "m.qw"), textbook("asia"))


def test_versions(tmp_path, asia):
    told, tensors = opened(asia)
    refused(tmp_path, forged(dict(told, version=[2, 0]), tensors), NewerVersionError, "upgrade")
    refused(tmp_path, forged({"seal": "", "version": [2, 0], "all else": "unknown"}), NewerVersionError, "upgrade")
    refused(tmp_path, forged(dict(told, version=[0, 9]), tensors))
    refused(tmp_path, forged(dict(told, version="1"), tensors))
    refused(tmp_path, forged(dict(told, kind="no such kind"), tensors), NewerVersionError, "no such kind")
    newer = dict(told, version=[1, 7], colour="blue", model=dict(told["model"], shape="round"))
    (tmp_path / "m.qw").write_bytes(forged(newer, dict(tensors, more=np.zeros((2, 3)))))
    assert_equal(load(tmp_path / "m.qw"), textbook("asia"))


def with_tensor(name, change):
    def make(told, tensors):
        return told, dict(tensors, **{name: change(tensors[name].copy())})

    return make


def with_model(**changes):
    def make(told, tensors):
        return dict(told, model=dict(told["model"], **changes)), tensors

    return make


def put(at, value):
    def change(array):
        array[at] = value
        return array

    return change


def cyclic(told, tensors):
    """tub <- asia becomes asia <- tub as well: asia has a parent, and its table grows."""
    indptr, probs = tensors["indptr"] + 1, np.concatenate([tensors["probs"][:2], tensors["probs"]])
    indptr[0], starts = 0, tensors["starts"] + 2
    starts[0] = 0
    return told, dict(tensors, indptr=indptr, indices=np.insert(tensors["indices"], 0, 1), starts=starts, probs=probs)


IMPOSSIBLE = {
    "cycle": cyclic,
    "probability above one": with_tensor("probs", put(0, 1.01)),
    "negative probability": with_tensor("probs", put(slice(0, 2), [1.5, -0.5])),
    "not a number": with_tensor("probs", put(0, np.nan)),
    "infinite": with_tensor("probs", put(0, np.inf)),
    "row that sums to 1 + 1e-8": with_tensor("probs", put(0, 0.01 + 1e-8)),
    "parent out of range": with_tensor("indices", put(0, 8)),
    "negative parent": with_tensor("indices", put(0, -1)),
    "own parent": with_tensor("indices", put(0, 1)),
    "parents not ascending": with_tensor("indices", put(slice(3, 5), [3, 1])),
    "parent twice": with_tensor("indices", put(slice(3, 5), [3, 3])),
    "indptr that falls": with_tensor("indptr", put(1, 2)),
    "indptr that starts late": with_tensor("indptr", put(0, 1)),
    "indptr too short": with_tensor("indptr", lambda a: a[:-1]),
    "indptr empty": with_tensor("indptr", lambda a: a[:0]),
    "starts moved": with_tensor("starts", put(1, 1)),
    "starts negative": with_tensor("starts", put(1, -2)),
    "probs too short": with_tensor("probs", lambda a: a[:-2]),
    "probs too long": with_tensor("probs", lambda a: np.append(a, [0.5, 0.5])),
    "probs as a matrix": with_tensor("probs", lambda a: a.reshape(-1, 2)),
    "probs as integers": with_tensor("probs", lambda a: a.astype(np.int64)),
    "probs as single floats": with_tensor("probs", lambda a: a.astype(np.float32)),
    "no probs": lambda told, tensors: (told, {n: t for n, t in tensors.items() if n != "probs"}),
    "same name twice": with_model(names=["a"] * 8),
    "same state twice": with_model(states=[["a", "a"]] * 8),
    "states 1 and true": with_model(states=[[1, True]] * 8),
    "no states": with_model(states=[[]] * 8),
    "null state": with_model(states=[[None, 1]] * 8),
    "list as a state": with_model(states=[[[], 1]] * 8),
    "too few names": with_model(names=["a"]),
    "names that are numbers": with_model(names=list(range(8))),
    "unknown policy": with_model(missing="guess"),
    "unknown CPD": with_model(cpd="spline"),
    "a million states": with_model(states=[list(range(100_000))] + [["a", "b"]] * 7),
}


@pytest.mark.parametrize("make", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_a_network_that_cannot_be_is_refused(tmp_path, asia, make):
    refused(tmp_path, forged(*make(*opened(asia))), match="damaged")


def test_a_table_larger_than_any_number_is_refused(tmp_path):
    """70 binary parents: 2^70 rows, declared in a few hundred bytes."""
    parents = np.arange(70)
    told, _ = opened(to_bytes(network([Variable(f"v{v}", (0, 1)) for v in range(71)], [()] * 71)))
    indptr = np.append(np.zeros(71, np.int64), 70)
    tensors = {"indptr": indptr, "indices": parents, "starts": np.zeros(72, np.int64), "probs": np.full(142, 0.5)}
    refused(tmp_path, forged(told, tensors), match="larger")


LAYOUTS = {
    "overlap": {"indptr": {"dtype": "I64", "shape": [9], "data_offsets": [0, 72]}},
    "offsets beyond the end": {"probs": {"dtype": "F64", "shape": [2**60], "data_offsets": [0, 2**63]}},
    "negative offsets": {"probs": {"dtype": "F64", "shape": [1], "data_offsets": [-8, 0]}},
    "negative shape": {"probs": {"dtype": "F64", "shape": [-1, -36], "data_offsets": [0, 288]}},
    "shape overflow": {"probs": {"dtype": "F64", "shape": [2**40, 2**40], "data_offsets": [0, 288]}},
    "a thousand dimensions": {"probs": {"dtype": "F64", "shape": [2**60] * 1000, "data_offsets": [0, 288]}},
    "unknown type": {"probs": {"dtype": "OBJECT", "shape": [36], "data_offsets": [0, 288]}},
    "no offsets": {"probs": {"dtype": "F64", "shape": [36]}},
    "offsets as text": {"probs": {"dtype": "F64", "shape": [36], "data_offsets": "0"}},
    "a tensor that is a list": {"probs": [1, 2, 3]},
    "an empty tensor of odd shape": {"x": {"dtype": "F64", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}},
    "200,000 tensors": {f"t{i}": {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]} for i in range(200_000)},
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_a_layout_that_does_not_fit_is_refused(tmp_path, asia, layout):
    refused(tmp_path, forged(*opened(asia), layout=layout), max_bytes=10**9)


def test_bytes_that_no_tensor_covers_are_refused(tmp_path, asia):
    refused(tmp_path, forged(*opened(asia), gap=b"unseen!!"), match="not where it should be")


HEADERS = {
    "nested deeply": lambda header: header[:-1] + b',"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested in the envelope": lambda header: header.replace(
        b'{\\"source\\"', b'{\\"x\\":' + b"[" * 100_000 + b"]" * 100_000 + b',\\"s\\"'
    ),
    "not a number": lambda header: header[:-1] + b',"x":NaN}',
    "same key twice": lambda header: header.replace(b'"probs":', b'"indptr":'),
    "same tensor twice": lambda header: header[:-1] + header[header.index(b',"indptr"') :],
    "metadata twice": lambda header: header[:-1] + b',"__metadata__":{}}',
    "not JSON": lambda header: header[:-1],
    "two documents": lambda header: header + b"{}",
    "not text": lambda header: header[:-1] + b',"\xff\xfe":1}',
    "half a character": lambda header: header[:-1] + b',"\\ud800":{"dtype":"F64","shape":[0],"data_offsets":[0,0]}}',
    "no closing quote": lambda header: header[:200],
}


@pytest.mark.parametrize("change", HEADERS.values(), ids=HEADERS.keys())
def test_a_header_that_is_not_one_is_refused(tmp_path, asia, change):
    refused(tmp_path, forged(*opened(asia), before_sealing=change), max_bytes=10**9)


@pytest.mark.parametrize(
    "text", ["", "[]", "3", '{"seal":"' + "0" * 64 + '"}', '{"seal":"' + "0" * 64 + '","version":[1]}']
)
def test_an_envelope_that_says_too_little_is_refused(tmp_path, text):
    refused(tmp_path, forged({}, told_text=text))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_the_envelope_says_there_is_a_model_or_a_clear_error(tmp_path, asia, data):
    told, tensors = opened(asia)
    where = told if data.draw(st.booleans()) else told["model"]
    where[data.draw(st.sampled_from(sorted(where)))] = data.draw(JSON)
    name = data.draw(st.sampled_from(sorted(name for name, tensor in tensors.items() if len(tensor))))
    if data.draw(st.booleans()):
        tensors[name] = tensors[name].copy()
        tensors[name][data.draw(st.integers(0, len(tensors[name]) - 1))] = data.draw(st.integers(-(2**63), 2**63 - 1))
    (tmp_path / "m.qw").write_bytes(forged(told, tensors))
    try:
        assert isinstance(load(tmp_path / "m.qw"), BayesianNet)
    except ModelFileError:
        pass


# Limits


def test_the_caller_can_bound_the_memory(tmp_path, asia):
    refused(tmp_path, asia, ModelTooLargeError, "max_bytes", max_bytes=1000)
    load(tmp_path / "m.qw", max_bytes=10**6)


def test_a_header_that_would_grow_in_memory_is_refused_before_it_is_parsed(tmp_path, asia):
    """12 MB of empty lists would be 400 MB of Python objects."""
    told, tensors = opened(asia)
    grown = forged(told, tensors, before_sealing=lambda h: h[:-1] + b',"x":[' + b"[]," * 4_000_000 + b"[]]}")
    refused(tmp_path, grown, ModelTooLargeError)


# Other things under our suffix


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("exploded",))


def test_foreign_files_are_named_and_never_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    array, archive = io.BytesIO(), io.BytesIO()
    np.save(array, np.arange(3))
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("a", b"\0" * 10**6)
    for protocol in range(2, 6):
        refused(tmp_path, pickle.dumps(Bomb(), protocol), match="a pickle")
    refused(tmp_path, archive.getvalue(), match="zip")
    refused(tmp_path, array.getvalue(), match="NumPy array")
    refused(tmp_path, gzip.compress(b"x"), match="gzip")
    refused(tmp_path, safetensors.numpy.save({"a": np.zeros(3)}), match="safetensors")
    refused(tmp_path, b"", match="empty")
    refused(
        tmp_path,
        b"network unknown {\n}\nvariable asia {\n  type discrete [ 2 ] { yes, no };\n",
        match="not a quiltwork model",
    )
    assert not (tmp_path / "exploded").exists()
