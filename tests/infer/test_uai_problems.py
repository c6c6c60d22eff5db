"""Problems of the UAI 2014 competition: marginals and log Z against its references, and against stored exact sums.

Their tables hold zeros, so they are read here straight into boxes. References have six digits.
"""

import csv
import gzip
import math

import numpy as np
import pytest

from quiltwork.infer import boxes
from quiltwork.infer.boxes import Boxes, starts
from quiltwork.infer.mcsat import mcsat_query
from quiltwork.infer.propagate import propagate
from quiltwork.infer.undirected import boxed_log_mass, boxed_marginals


class Problem:
    """A product of tables, each a factor whose entries are boxes."""

    def __init__(self, path):
        words = iter(gzip.decompress(path.read_bytes()).decode().split())
        assert next(words) == "MARKOV"
        number = lambda: int(next(words))
        n_states = [number() for _ in range(number())]
        scopes = [[number() for _ in range(number())] for _ in range(number())]
        weights, sides, lengths, ends = [], [], [], [0]
        for scope in scopes:
            order = np.argsort(scope)
            number()  # of entries
            for cell in np.ndindex(*(n_states[v] for v in scope)):
                p = float(next(words))
                weights.append(math.log(p) if p > 0 else -np.inf)
                sides += [(scope[k], cell[k]) for k in order]
                lengths.append(len(scope))
            ends.append(len(weights))
        pairs = np.array(sides, np.int64)
        self.variables = [None] * len(n_states)
        self.boxes = Boxes(
            n_states=np.array(n_states, np.int64),
            first_state=starts(n_states),
            weight=np.array(weights),
            first_side=starts(lengths),
            variable=pairs[:, 0].copy(),
            first_member=np.arange(len(pairs) + 1),
            member=pairs[:, 1].copy(),
            first_box=np.array(ends),
            fills=np.ones(len(scopes), bool),
        )


@pytest.fixture
def problem(public_data, monkeypatch):
    monkeypatch.setitem(boxes.BOXES, Problem, lambda model: model.boxes)
    folder = public_data / "uai"

    def load(name):
        """(model, codes of the evidence, reference marginals, log Z)."""
        model = Problem(folder / f"{name}.uai.gz")
        codes = np.full(len(model.variables), 65535, np.uint16)
        evidence = list(map(int, (folder / f"{name}.uai.evid").read_text().split()))
        codes[evidence[1::2]] = evidence[2::2]
        words = iter((folder / f"{name}.uai.MAR").read_text().split()[1:])
        reference = [[float(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
        stored = {
            row["problem"]: row["log10_Z"] for row in csv.DictReader((folder / "PR-exact.csv").read_text().splitlines())
        }
        return model, codes, np.concatenate(reference), float(stored[name]) * math.log(10)

    return load


@pytest.mark.parametrize("name", ["Grids_12", "Promedus_13", "Promedus_15", "Pedigree_12", "CSP_12"])
def test_exact_marginals_and_log_z(problem, name):
    model, codes, reference, log_z = problem(name)
    assert boxed_marginals(model, codes, 2**27) == pytest.approx(reference, abs=2e-6)
    assert boxed_log_mass(model, codes, 2**27) == pytest.approx(log_z, rel=1e-9, abs=1e-6)


def test_propagation_comes_close_where_loops_are_long(problem):
    """A diagnosis network with 894 variables: few and long loops."""
    model, codes, reference, log_z = problem("Promedus_13")
    left, certain = boxes.given(model.boxes, codes)
    found = propagate(left)
    free = np.repeat(codes == 65535, model.boxes.n_states)
    assert found.converged
    assert np.abs(found.marginals - reference)[free].mean() < 0.03
    assert certain + found.log_mass == pytest.approx(log_z, abs=0.5)


def test_mcsat_where_most_states_are_impossible(problem):
    """Graph colouring: of 67 variables, the marginals of three within 5 standard errors or 0.03."""
    model, codes, reference, _ = problem("CSP_12")
    first = model.boxes.first_state
    for v in range(0, 60, 20):
        found = mcsat_query(model, [v], codes, 400, 40, seed=0)
        exact = reference[first[v] : first[v + 1]]
        assert found.probabilities == pytest.approx(exact, abs=max(0.03, 5 * found.error))
