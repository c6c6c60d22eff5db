"""Makes peer_scores.json: what pgmpy and pyAgrum say of the generating graphs of four networks.

    pip install pgmpy pyagrum
    QUILTWORK_DATA=... python tests/scores/make_peer_scores.py

1,000 rows are drawn from each network by `sampled`, which the test uses too, and each family is scored alone. Numbers
are natural logs, larger is better; pyAgrum's are in bits and were multiplied by ln 2.

When equality is due. Some states never occur in so few rows; both peers are told the states of the network (pgmpy
by `state_names`, pyAgrum by a template), or they would count fewer parameters. pgmpy's K2 adds ln Γ(r) for every
configuration and takes it back only for those that occur, so it is compared where all do; its BDeu is compared where
every state of the child occurs. pyAgrum's BDeu is off by up to half a nat per configuration unless the pseudo-count
1 / (q r) is a multiple of 0.01 (it seems to look log-gamma up in a table), so it is compared only there; it has no
equivalent sample size but 1. pyAgrum's AIC takes one bit, not one nat, per parameter and is left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from math import log
from pathlib import Path

import numpy as np

from quiltwork.models.bayesian import BayesianNet

NETWORKS = ("asia", "alarm", "child", "insurance")
N_ROWS, SEED = 1000, 20
STORED = Path(__file__).with_name("peer_scores.json")


def network(name: str, folder: Path | None) -> BayesianNet:
    """asia is embedded; the others are in the folder of public data."""
    from quiltwork import read_network, textbook

    return textbook(name) if name == "asia" else read_network(str(folder / "bif" / f"{name}.bif.gz"))


def sampled(net: BayesianNet, n_rows: int = N_ROWS, seed: int = SEED) -> np.ndarray:
    """Codes (rows, variables) by ancestral sampling, one uniform number per cell."""
    uniform = np.random.default_rng(seed).random((len(net.variables), n_rows))
    codes = np.zeros((n_rows, len(net.variables)), np.int64)
    for v in net.structure.order():
        cpd = net.cpds[v]
        config = np.zeros(n_rows, np.int64)
        for p in cpd.parents:
            config = config * net.variables[p].n_states + codes[:, p]
        cumulative = np.cumsum(cpd.probs, axis=1)[config, :-1]
        codes[:, v] = (uniform[v][:, None] >= cumulative).sum(axis=1)
    return codes


def digest(codes: np.ndarray) -> str:
    """Tells whether the rows are those that the peers saw."""
    return hashlib.sha256(np.ascontiguousarray(codes, "<i8").tobytes()).hexdigest()[:16]


def main() -> None:
    folder = Path(os.environ["QUILTWORK_DATA"])
    stored = {"peers": versions(), "rows": N_ROWS, "seed": SEED, "note": " ".join(__doc__.split("\n\n")[3].split())}
    for name in NETWORKS:
        net = network(name, folder)
        codes = sampled(net)
        stored[name] = {"digest": digest(codes), "pgmpy": by_pgmpy(net, codes), "pyagrum": by_pyagrum(net, codes)}
    text = json.dumps(stored, indent=1, ensure_ascii=False)
    one_line_each = re.sub(r"\[[^\]]*\]", lambda found: " ".join(found[0].split()), text)
    STORED.write_text(one_line_each + "\n", "utf-8")


def versions() -> dict[str, str]:
    import pgmpy
    import pyagrum

    return {"pgmpy": pgmpy.__version__, "pyagrum": pyagrum.__version__}


def by_pgmpy(net: BayesianNet, codes: np.ndarray) -> dict[str, list[float]]:
    from pgmpy.structure_score import AIC, BIC, K2, BDeu, LogLikelihood

    frame, states = labelled(net, codes), {v.name: list(v.states) for v in net.variables}
    scores = {
        "loglik": LogLikelihood(frame, state_names=states),
        "aic": AIC(frame, state_names=states),
        "bic": BIC(frame, state_names=states),
        "uniform": K2(frame, state_names=states),
        "bdeu-1": BDeu(frame, equivalent_sample_size=1, state_names=states),
        "bdeu-10": BDeu(frame, equivalent_sample_size=10, state_names=states),
    }
    return {name: [float(score.local_score(*family)) for family in families(net)] for name, score in scores.items()}


def by_pyagrum(net: BayesianNet, codes: np.ndarray) -> dict[str, list[float]]:
    import pyagrum

    template = pyagrum.BayesNet()
    for v in net.variables:
        template.add(pyagrum.LabelizedVariable(v.name, v.name, [str(s) for s in v.states]))
    frame = labelled(net, codes)
    choices = {
        "loglik": lambda learner: learner.useScoreLog2Likelihood(),
        "bic": lambda learner: learner.useScoreBIC(),
        "uniform": lambda learner: learner.useScoreK2(),
        "bdeu-1": lambda learner: learner.useScoreBDeu(),
    }
    out = {}
    for name, choose in choices.items():
        learner = pyagrum.BNLearner(frame, template)
        learner.useNoPrior()
        choose(learner)
        out[name] = [log(2) * learner.score(*family) for family in families(net)]
    return out


def families(net: BayesianNet) -> list[tuple[str, tuple[str, ...]]]:
    names = [v.name for v in net.variables]
    return [(names[cpd.child], tuple(names[p] for p in cpd.parents)) for cpd in net.cpds]


def labelled(net: BayesianNet, codes: np.ndarray):
    """A pandas frame of state labels."""
    import pandas as pd

    return pd.DataFrame({v.name: np.array(v.states, object)[codes[:, i]] for i, v in enumerate(net.variables)})


if __name__ == "__main__":
    main()
