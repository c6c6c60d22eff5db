"""How many variables does the Gibbs sampler draw per second, and how many states does MC-SAT?

On ALARM (37 variables of 2 to 4 states, the real one where QUILTWORK_DATA names the public data, else a random network
of its size), in one run:

    quiltwork gibbs   all posterior marginals by 8 chains on all cores; an update is one variable drawn
    pyAgrum gibbs     the same by `GibbsSampling`, one chain that draws every variable in turn, on one core
    quiltwork mcsat   MC-SAT; a sample moves all variables

and the same samplers of quiltwork on a Markov network learned from the same table, whose engine is another (see
`infer/walk.py`). `per CPU s` divides by the seconds of all cores together, and is what to compare on a machine that does
other work. `error` is the mean distance of all marginals from the exact ones: speed is worth nothing without it.

Wanted: at least 20 million updates per second on 2 cores (pyAgrum: 0.14 to 0.2 million).

Last result: 2026-11-19, 2 cores AMD EPYC, no other work, pyAgrum 3.3.1. 171 million updates per second, 620 times
pyAgrum's 0.276 million (per CPU second 324 times); on a Markov network 43 million. Peak memory 224 MB.

|                                          | samples | wall s | CPU s  | samples/s | updates/s | per CPU s | error  |
|------------------------------------------|--------:|-------:|-------:|----------:|----------:|----------:|-------:|
| ALARM: quiltwork gibbs                   | 400,000 | 0.0863 |  0.165 | 4,633,873 |     171 M |    89.5 M | 0.0079 |
| ALARM: pyAgrum 3.3.1 gibbs               |  74,712 |  10.00 |  10.00 |     7,471 |   0.276 M |   0.276 M | 0.0176 |
| ALARM: quiltwork mcsat                   |   5,000 |  0.627 |   1.21 |     7,972 |   0.295 M |   0.153 M | 0.0083 |
| Markov network of ALARM: quiltwork gibbs |  40,000 | 0.0341 | 0.0656 | 1,173,089 |    43.4 M |    22.6 M | 0.0097 |
| Markov network of ALARM: quiltwork mcsat |  20,000 |  0.174 |  0.335 |   115,133 |    4.26 M |    2.21 M | 0.0079 |
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import common
import numpy as np

import quiltwork as qw
from quiltwork.infer.boxes import boxes_of, given
from quiltwork.infer.chains import CHAINS
from quiltwork.infer.exact import MARGINALS
from quiltwork.infer.gibbs import gibbs_marginals
from quiltwork.infer.mcsat import sample_boxes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", type=int, default=400_000, help="of the Gibbs sampler")
    parser.add_argument("--samples", type=int, default=20_000, help="of MC-SAT")
    parser.add_argument("--peer-seconds", type=float, default=10.0, help="for pyAgrum")
    asked = parser.parse_args()
    print(common.machine())
    net = network()
    field = qw.learn("mn", qw.sample(net, 5000, seed=0), structure="chi2", k=3)
    rows = []
    for name, model in (("ALARM", net), ("Markov network of ALARM", field)):
        nothing = np.full(len(model.variables), 65535, np.uint16)
        exact = MARGINALS[type(model)](model, nothing, 2**27)
        boxes = given(boxes_of(model), nothing)[0]
        everyone, n = np.arange(len(nothing)), len(nothing)
        gibbs = partial(gibbs_all, model, nothing)
        mcsat = partial(mcsat_all, boxes, everyone)
        rows.append(timed(f"{name}: quiltwork gibbs", gibbs, asked.sweeps // (1 if model is net else 10), n, exact))
        if model is net and find_spec("pyagrum"):
            rows.append(pyagrum_gibbs(net, exact, asked.peer_seconds))
        rows.append(timed(f"{name}: quiltwork mcsat", mcsat, asked.samples // (4 if model is net else 1), n, exact))
    header = ["", "samples", "wall s", "CPU s", "samples/s", "updates/s", "per CPU s", "error"]
    common.print_rows(f"All marginals, {CHAINS} chains of quiltwork's; M = million", header, rows)
    print(f"\npeak memory {common.peak_mb():.0f} MB")


def gibbs_all(model: Any, evidence: np.ndarray, n: int) -> np.ndarray:
    return gibbs_marginals(model, evidence, n, 0, seed=0)[0]


def mcsat_all(boxes: Any, asked: np.ndarray, n: int) -> np.ndarray:
    return sample_boxes(boxes, asked, 0, n, 0, seed=0).mean(axis=(0, 1))


def network() -> Any:
    """ALARM, or a random network of about its size."""
    folder = common.data_folder()
    if folder is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # two rows of ALARM's file sum to 0.9999999
            return qw.read_network(folder / "bif" / "alarm.bif.gz")
    table = common.random_network(37, 5000, 0)
    return qw.learn("bn", table.frame())


def timed(name: str, task: Callable[[int], np.ndarray], n_samples: int, n_vars: int, exact: np.ndarray) -> list[str]:
    task(100)  # compiled, and conditionals spelled out
    wall, cpu = time.perf_counter(), time.process_time()
    found = task(n_samples)
    return row(name, n_samples, n_vars, time.perf_counter() - wall, time.process_time() - cpu, found, exact)


def pyagrum_gibbs(net: Any, exact: np.ndarray, seconds: float) -> list[str]:
    """One chain that draws all variables in turn for so many seconds."""
    import tempfile

    import pyagrum as gum  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder:
        qw.write_network(net, f"{folder}/net.bif")
        peer = gum.loadBN(f"{folder}/net.bif")
    sampler = gum.GibbsSampling(peer)
    sampler.setNbrDrawnVar(len(net.variables))
    sampler.setDrawnAtRandom(False)
    sampler.setBurnIn(0)
    sampler.setEpsilon(1e-100)
    sampler.setMinEpsilonRate(1e-100)
    sampler.setPeriodSize(1000)
    sampler.setMaxIter(10**7)
    sampler.setMaxTime(seconds)
    wall, cpu = time.perf_counter(), time.process_time()
    sampler.makeInference()
    spent = time.perf_counter() - wall, time.process_time() - cpu
    parts = []
    for variable in net.variables:
        posterior, labels = sampler.posterior(variable.name), list(peer.variable(variable.name).labels())
        parts += [posterior[labels.index(str(state))] for state in variable.states]
    return row(
        f"ALARM: pyAgrum {gum.__version__} gibbs", sampler.nbrIterations(), len(net.variables), *spent, parts, exact
    )


def row(name: str, samples: int, n_vars: int, wall: float, cpu: float, found: Any, exact: np.ndarray) -> list[str]:
    rates = [f"{samples / wall:,.0f}", *(f"{samples * n_vars / spent / 1e6:.3g} M" for spent in (wall, cpu))]
    error = float(np.abs(np.asarray(found) - exact).mean())
    return [name, f"{samples:,}", common.seconds(wall), common.seconds(cpu), *rates, f"{error:.4f}"]


if __name__ == "__main__":
    main()
