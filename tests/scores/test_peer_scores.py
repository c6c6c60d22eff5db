"""Scores against pgmpy and pyAgrum, whose answers are stored in peer_scores.json (see make_peer_scores.py)."""

import json
import warnings

import numpy as np
import pytest
from make_peer_scores import STORED, digest, network, sampled

from quiltwork.data.dataset import from_codes
from quiltwork.errors import DataWarning
from quiltwork.scores.families import FamilyScore
from quiltwork.stats.families import Arrays, count_family

PEERS = json.loads(STORED.read_text("utf-8"))


@pytest.fixture(scope="module", params=["asia", "alarm", "child", "insurance"])
def counted(request):
    """Name, states of all variables and the counts of every family, from the rows the peers saw."""
    folder = None if request.param == "asia" else request.getfixturevalue("public_data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # alarm's file has two rows that sum to 0.9999999
        net = network(request.param, folder)
    codes = sampled(net)
    assert digest(codes) == PEERS[request.param]["digest"]
    arrays = Arrays.of(from_codes(net.variables, list(codes.T.astype(np.uint16))))
    return request.param, arrays.n_states, [count_family(arrays, cpd.child, cpd.parents) for cpd in net.cpds]


def our_score(name: str, n_states: np.ndarray) -> FamilyScore:
    kind, _, size = name.partition("-")
    return FamilyScore.make(kind, PEERS["rows"], n_states, equivalent_sample_size=float(size or 1))


def is_due(peer: str, name: str, counts: np.ndarray) -> bool:
    """Whether the peer's score of a family should equal ours; the reasons are in make_peer_scores.py."""
    if (peer, name) == ("pgmpy", "uniform"):
        return bool(counts.sum(axis=1).all())
    if peer == "pgmpy" and name.startswith("bdeu"):
        return bool(counts.sum(axis=0).all())
    if (peer, name) == ("pyagrum", "bdeu-1"):
        return 100 % counts.size == 0
    return True


@pytest.mark.parametrize(
    ("peer", "name"),
    [("pgmpy", name) for name in ("loglik", "aic", "bic", "uniform", "bdeu-1", "bdeu-10")]
    + [("pyagrum", name) for name in ("loglik", "bic", "uniform", "bdeu-1")],
)
def test_scores_are_those_of_peers(counted, peer, name):
    net, n_states, families = counted
    score, theirs = our_score(name, n_states), PEERS[net][peer][name]
    due = [i for i, counts in enumerate(families) if is_due(peer, name, counts)]
    assert len(due) >= 3
    assert sum(score(families[i]) for i in due) == pytest.approx(sum(theirs[i] for i in due), rel=1e-8)
    if peer == "pgmpy":  # pyAgrum's log-gamma has seven digits
        assert [score(families[i]) for i in due] == pytest.approx([theirs[i] for i in due], rel=1e-8, abs=1e-8)
