"""Gaussian networks in model files: bit for bit, the same bytes, and what cannot be true of one."""

import hashlib

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.cpds.linear_gaussian import LinearGaussianCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.numbers import NumberEncoder
from quiltwork.errors import CorruptModelError, InputError
from quiltwork.models import gaussian_file
from quiltwork.models.files import from_bytes, to_bytes

NAMES = ("pH", "Säure\n", "alcohol")


def small(weight=0.5, variance=2.0):
    encoder = NumberEncoder(tuple(Variable(name, ()) for name in NAMES), "drop")
    cpds = (
        LinearGaussianCPD(0, (), 3.25, np.empty(0), 0.0625),
        LinearGaussianCPD(1, (0,), -1.0, np.array([weight]), 1.0),
        LinearGaussianCPD(2, (0, 1), 10.0, np.array([-2.0, 1e-12]), variance),
    )
    return qw.GaussianNet(encoder, cpds, {"rows": 7}, np.array([3.0, 2.0, 1.0]))


def test_what_is_saved_is_loaded_bit_for_bit(tmp_path):
    model = small()
    qw.save(model, tmp_path / "m.qw")
    again = qw.load(tmp_path / "m.qw")
    assert again.encoder == model.encoder and again.arcs == model.arcs and again.provenance == model.provenance
    assert again.strengths.tolist() == [3.0, 2.0, 1.0] and again.n_parameters == 9
    for one, other in zip(again.cpds, model.cpds):
        assert (one.child, one.parents, one.intercept, one.variance) == (
            other.child, other.parents, other.intercept, other.variance,
        )  # fmt: skip
        assert one.weights.tolist() == other.weights.tolist()
    rows = qw.sample(model, 20)
    assert (qw.log_likelihood(again, rows) == qw.log_likelihood(model, rows)).all()


def test_the_format_has_not_changed_by_accident():
    """Version 1.0 of the format. If this fails, old files must still load, and VERSION may have to grow."""
    assert hashlib.sha256(to_bytes(small())).hexdigest() == GOLDEN


GOLDEN = "27652c6e887b9342df2ecbfa78b05bf476bdd016b03cc2f37a817071da6d3333"


def test_every_flipped_byte_is_noticed():
    content = to_bytes(small())
    for at in range(0, len(content), 97):
        broken = bytearray(content)
        broken[at] ^= 0x10
        with pytest.raises(qw.errors.ModelFileError):
            from_bytes(bytes(broken))


@pytest.mark.parametrize(
    ("tensor", "value", "message"),
    [
        ("variances", np.array([1.0, 1.0, 0.0]), "every variance above 0"),
        ("variances", np.array([1.0, 1.0, -1.0]), "every variance above 0"),
        ("variances", np.array([1.0, 1.0]), "do not fit"),
        ("intercepts", np.array([np.nan, 0.0, 0.0]), "finite"),
        ("weights", np.array([np.inf, 0.0, 0.0]), "finite"),
        ("weights", np.zeros(2), "do not fit"),
        ("indices", np.array([0, 0, 5]), "not one of the variables"),
        ("indices", np.array([0, 1, 0]), "ascending"),
        ("indices", np.array([2, 0, 1]), "cycle"),
        ("strengths", np.array([1.0]), "strength"),
    ],
)
def test_what_cannot_be_a_network_is_refused(tensor, value, message):
    description, tensors = gaussian_file.pack(small())
    with pytest.raises(ValueError, match=message):
        gaussian_file.unpack(description, {**tensors, tensor: value}, {})


def test_names_must_differ():
    description, tensors = gaussian_file.pack(small())
    description.names = ["a", "a", "b"]
    with pytest.raises(ValueError, match="same name"):
        gaussian_file.unpack(description, tensors, {})


@pytest.mark.parametrize("model", [small(weight=np.nan), small(variance=0.0)])
def test_what_could_not_be_loaded_is_not_saved(model, tmp_path):
    with pytest.raises(InputError, match="cannot be saved"):
        qw.save(model, tmp_path / "m.qw")


def test_a_cycle_is_refused():
    loop = (LinearGaussianCPD(0, (1,), 0.0, np.ones(1), 1.0), LinearGaussianCPD(1, (0,), 0.0, np.ones(1), 1.0))
    with pytest.raises(InputError, match="must not form a cycle"):
        qw.GaussianNet(NumberEncoder((Variable("a", ()), Variable("b", ()))), loop)


def test_exchange_formats_are_for_tables(tmp_path):
    with pytest.raises(InputError, match="Bayesian networks .* Got GaussianNet"):
        qw.write_network(small(), tmp_path / "m.bif")


def test_damage_is_told(tmp_path):
    content = to_bytes(small())
    (tmp_path / "m.qw").write_bytes(content[:-8])
    with pytest.raises(CorruptModelError):
        qw.load(tmp_path / "m.qw")
