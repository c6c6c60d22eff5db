"""How fast are the weights of a Markov network learned?

For each set: trees are grown (kappa as Libra's networks of the table below had it), read as features (DEFAULT, which is
what Libra's DTSL writes), and their weights learned by 80 iterations of L-BFGS on the pseudo-likelihood, prior width 1.
The sweep over the rows that comes before the first iteration is counted. CPU seconds of one thread, the fastest of
--repeat runs; wall seconds on all cores beside them.

The peer is Libra's `mnlearnw` (OCaml and C, feature cache on). It is not installed here; its CPU seconds on these sets,
with features of the same kind, were measured earlier on the same kind of machine: 6 on plants, 9 on baudio, 4 on
jester, 7 on bnetflix. Beside them runs a plain peer that anyone can write: for each variable a sparse matrix of rows by
features, SciPy's products, and its L-BFGS. It runs on a tenth of the rows for 8 iterations, and its seconds are scaled up
to all rows and 80 iterations, which flatters it.

Wanted: no more than half of Libra's CPU seconds.

Last result: 2026-11-19, 2 cores AMD EPYC, no other work.

|          | features | length | CPU s | wall s, 2 cores | Libra CPU s | times Libra | plain CPU s | times plain |
|----------|----------|--------|-------|-----------------|-------------|-------------|-------------|-------------|
| plants   |    7,969 |    8.1 |  0.70 |            0.40 |           6 |         8.6 |          22 |          32 |
| baudio   |    7,292 |    6.8 |  1.66 |            0.88 |           9 |         5.4 |          19 |          12 |
| jester   |    6,074 |    6.3 |  0.92 |            0.51 |           4 |         4.4 |          13 |          14 |
| bnetflix |    8,006 |    6.7 |  1.60 |            0.90 |           7 |         4.4 |          21 |          13 |
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path

import common
import numpy as np
from common import seconds

from quiltwork.backends.threads import Threads, n_threads
from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import fit_encode
from quiltwork.search.features import tree_features
from quiltwork.search.grow import GrowthRules, grow_trees
from quiltwork.search.weights import Penalty, maximise
from quiltwork.stats.conjunctions import Conjunctions
from quiltwork.stats.leaves import leaf_arrays
from quiltwork.stats.pseudo_likelihood import PseudoLikelihood

LIBRA = {"plants": 6.0, "baudio": 9.0, "jester": 4.0, "bnetflix": 7.0}  # CPU seconds of its weight learner
KAPPA = {"plants": 0.1, "baudio": 0.01, "jester": 0.01, "bnetflix": 0.01}
ITERATIONS = 80


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=LIBRA, default=list(LIBRA), metavar="SET", help=" ".join(LIBRA))
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the fastest counts")
    parser.add_argument("--features", default="default", help="default, prune or nonzero")
    given = parser.parse_args()
    folder = common.data_folder()
    if folder is None:
        raise SystemExit("QUILTWORK_DATA does not name a folder with the public data sets.")
    print(common.machine())
    rows = []
    for name in given.sets:
        data = training_rows(folder, name)
        with Threads(n_threads(None)) as threads:
            rules = GrowthRules(kappa=KAPPA[name])
            trees = grow_trees(leaf_arrays(data), range(data.n_vars), rules, run=threads.run)
            features, start = tree_features(trees, data.n_states, given.features)
            before = common.resident_mb()
            common.forget_peak()
            alone = common.fastest(partial(learn, data, features, start, Threads(1)), given.repeat)
            grown = common.peak_mb() - before
            together = common.fastest(partial(learn, data, features, start, threads), given.repeat)
        peer = 100 * plain_seconds(data.rows(slice(0, data.n_samples // 10)), features, ITERATIONS // 10)
        rows.append([
            name, f"{len(features):,}", f"{features.lengths.mean():.1f}", seconds(alone.cpu), seconds(together.wall),
            f"{LIBRA[name]:.0f}", f"{LIBRA[name] / alone.cpu:.1f}", seconds(peer), f"{peer / alone.cpu:.0f}",
            f"{alone.result:.3f}", f"{grown:.0f}",
        ])  # fmt: skip
    header = ["", "features", "length", "CPU s", "wall s, all cores", "Libra CPU s", "times Libra", "plain CPU s",
              "times plain", "mean PLL", "+MB"]  # fmt: skip
    common.print_rows(f"{ITERATIONS} iterations of L-BFGS, features '{given.features}'", header, rows)


def training_rows(folder: Path, name: str) -> Dataset:
    packed = np.load(folder / "debd" / f"{name}.npz")
    return fit_encode(np.unpackbits(packed["train"], axis=1)[:, : int(packed["n_vars"])])[1]


def learn(data: Dataset, features: Conjunctions, start: np.ndarray, threads: Threads) -> float:
    """The mean pseudo-log-likelihood after 80 iterations."""
    likelihood = PseudoLikelihood.of(data, features, threads.run)
    penalty = Penalty(np.ones(len(features)), np.zeros(len(features)))
    found = maximise(
        lambda weights: likelihood(weights, threads.run), start, penalty, data.total, ITERATIONS, 0.0, lambda done: None
    )
    return likelihood(found.weights, threads.run)[0] / data.total


def plain_seconds(data: Dataset, features: Conjunctions, iterations: int) -> float:
    """CPU seconds of some iterations with sparse matrices: for each variable, rows by features, the logit of state 1."""
    from scipy.optimize import minimize
    from scipy.sparse import csr_array

    codes = data.states()
    began = time.process_time()
    found: list[list[tuple[np.ndarray, int, float]]] = [[] for _ in range(data.n_vars)]
    for f, feature in enumerate(features):
        for v, own in feature:
            others = [codes[:, u] == s for u, s in feature if u != v]
            active = np.flatnonzero(np.all(others, axis=0)) if others else np.arange(len(codes))
            found[v].append((active, f, 1.0 if own else -1.0))
    designs = []
    for v, entries in enumerate(found):
        row = np.concatenate([active for active, _, _ in entries])
        column = np.concatenate([np.full(len(active), f) for active, f, _ in entries])
        sign = np.concatenate([np.full(len(active), sign) for active, _, sign in entries])
        design = csr_array((sign, (row, column)), shape=(len(codes), len(features)))
        designs.append((design, design.T.tocsr(), codes[:, v].astype(float)))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = 0.5 * float(weights @ weights), weights.copy()
        for design, turned, own in designs:
            logits = design @ weights
            total += float(np.logaddexp(0, logits).sum() - own @ logits)
            slope -= turned @ (own - 1 / (1 + np.exp(-logits)))
        return total / len(codes), slope / len(codes)

    setup = time.process_time() - began
    began = time.process_time()
    minimize(loss, np.zeros(len(features)), jac=True, method="L-BFGS-B", options={"maxiter": iterations})
    return setup / 10 + (time.process_time() - began)  # the sweep is made once, not for every ten iterations


if __name__ == "__main__":
    main()
