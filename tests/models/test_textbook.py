from itertools import product

import numpy as np
import pytest
from some_networks import assert_equal

from quiltwork.errors import InputError
from quiltwork.models.foreign import read_network
from quiltwork.models.textbook import names, textbook


def marginal(model, **wanted):
    """P(wanted) by adding up the joint distribution."""
    total = 0.0
    positions = {v.name: i for i, v in enumerate(model.variables)}
    for codes in product(*(range(v.n_states) for v in model.variables)):
        if any(model.variables[positions[n]].states[codes[positions[n]]] != s for n, s in wanted.items()):
            continue
        probability = 1.0
        for cpd in model.cpds:
            row = 0
            for parent in cpd.parents:
                row = row * model.variables[parent].n_states + codes[parent]
            probability *= cpd.probs[row, codes[cpd.child]]
        total += probability
    return total


@pytest.mark.parametrize("name", names())
def test_every_textbook_network_is_a_distribution(name):
    assert marginal(textbook(name)) == pytest.approx(1, abs=1e-12)


def test_answers_that_the_books_print():
    asia = textbook("asia")  # Lauritzen and Spiegelhalter (1988): prior probabilities of the diseases
    assert marginal(asia, tub="yes") == pytest.approx(0.0104, abs=1e-12)
    assert marginal(asia, lung="yes") == pytest.approx(0.055, abs=1e-12)
    assert marginal(asia, bronc="yes") == pytest.approx(0.45, abs=1e-12)
    cancer = textbook("cancer")  # Korb and Nicholson (2010): P(cancer) = 0.0116
    assert marginal(cancer, cancer="yes") == pytest.approx(0.01163, abs=1e-6)
    sprinkler = textbook("sprinkler")  # Murphy's tutorial: P(wet) = 0.6471, P(sprinkler | wet) = 0.2781 / 0.6471
    assert marginal(sprinkler, wet="yes") == pytest.approx(0.6471, abs=1e-12)
    assert marginal(sprinkler, wet="yes", sprinkler="yes") == pytest.approx(0.2781, abs=1e-12)
    quake = textbook("earthquake")
    assert marginal(quake, alarm="yes") == pytest.approx(
        0.01 * 0.02 * 0.95 + 0.01 * 0.98 * 0.94 + 0.99 * 0.02 * 0.29 + 0.99 * 0.98 * 0.001
    )


def test_asia_is_the_repository_s(public_data):
    assert_equal(textbook("asia"), read_network(public_data / "bif" / "asia.bif.gz"))


def test_a_network_that_nobody_wrote_down():
    for name in ("alarm", "", "../textbook/asia", "asia.bif", None):
        with pytest.raises(InputError, match="asia, cancer, earthquake, sprinkler"):
            textbook(name)


def test_tables_are_arrays_of_doubles():
    assert all(cpd.probs.dtype == np.float64 for name in names() for cpd in textbook(name).cpds)
