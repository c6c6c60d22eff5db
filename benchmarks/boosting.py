"""How fast are boosted trees learned for many targets, beside LightGBM in a loop over them, at the same accuracy?

    QUILTWORK_DATA=... python benchmarks/boosting.py [--sets plants,jester,msweb] [--targets 16] [--both]

One thread each; the same rows; both stop by the same validation rows. Quiltwork learns all variables of a set, each from
all others, and chooses the size of its trees on the way. LightGBM is timed on `--targets` of them drawn at random, its
time scaled up, and the test log-likelihood per row is that of the same targets, computed by one function. It learns as
in the anchors kept with the public data: at a rate of 0.05 or 0.1, with 4, 8 or 32 leaves (and 128, which suit some sets
better), the best of these by the validation rows of the targets; only the run with these settings is counted. Times are
CPU seconds; putting the columns into LightGBM's table is counted, compiling quiltwork's kernels is not. `+MB` is what
the memory of the process grew by at most. With `--both`, quiltwork once more as a dependency network takes it: the mean
of these trees and of others that start from a penalised regression, whose learning is counted too.

Wanted: LightGBM's likelihood in at most a fifth of its time.

Last result (2 cores, AMD EPYC, Python 3.11.7, LightGBM 4.7.0, beside other work; --sets nltcs,plants,jester,msweb --both):

  set     vars  rate, leaves  LightGBM s  +MB     test  quiltwork test      s  +MB  times  both: test      s  +MB  times
  nltcs     16        0.1, 8        1.69    1  -4.8940         -4.8828  0.279    3    6.1     -4.8808  0.595   10    2.8
  plants    69       0.1, 32       16.93    0  -1.7949         -1.7655   2.92   56    5.8     -1.7502   7.45  237    2.3
  jester   100        0.1, 8       15.06    0  -7.7600         -7.7113   1.11    0   13.5     -7.7026   3.39    0    4.4
  msweb    294      0.1, 128       65.82   33  -0.7800         -0.7624   7.79    0    8.5     -0.7615  25.18  133    2.6

Trees alone take from a sixth to a fourteenth of LightGBM's time and predict better on all four. The mean of both takes
two to three times as long, a quarter to two fifths of it in the regression, and predicts better still. Of the time for
trees, three fifths go into sums over the rows of leaves.
"""

from __future__ import annotations

import os

# One thread each; the number is read when NumPy is first imported.
for _library in ("OPENBLAS", "MKL", "OMP", "BLIS", "VECLIB"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from common import Timed, data_folder, fastest, forget_peak, machine, peak_mb, print_rows, resident_mb, seconds

from quiltwork.cpds.boosted import mean_of
from quiltwork.data.encode import fit_encode
from quiltwork.search.boost import fit_boosted
from quiltwork.search.descent import fit_logistic

SETTINGS = [(0.1, leaves) for leaves in (8, 32, 128)]  # of LightGBM
PARTS = ("train", "valid", "test")

Tables = list[np.ndarray]  # training, validation and test rows


def load(name: str) -> Tables:
    folder = data_folder()
    if folder is None:
        sys.exit("QUILTWORK_DATA must name the folder with the public data sets")
    stored = np.load(folder / "debd" / f"{name}.npz")
    return [np.unpackbits(stored[part], axis=1)[:, : int(stored["n_vars"])] for part in PARTS]


def likelihood(rows: np.ndarray, target: int, p: np.ndarray) -> float:
    """Mean log P of a column, p the probability of its ones."""
    return float(np.log(np.where(rows[:, target] == 1, p, 1.0 - p)).mean())


# LightGBM


def lightgbm_fits(tables: Tables, targets: Sequence[int], rate: float, n_leaves: int) -> list[Any]:
    """A booster for each target, its target's column left out; the share of ones where that does not vary."""
    import lightgbm

    train, valid, _ = tables
    how = {"objective": "binary", "learning_rate": rate, "num_leaves": n_leaves, "num_threads": 1, "verbose": -1}
    how |= {"max_bin": 2, "min_data_in_bin": 1, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1.0, "lambda_l2": 1.0}
    out: list[Any] = []
    for v in targets:
        if train[:, v].min() == train[:, v].max():
            out.append((train[:, v].sum() + 0.5) / (len(train) + 1))
            continue
        x = lightgbm.Dataset(np.delete(train, v, axis=1), train[:, v], params=how)
        held_out = lightgbm.Dataset(np.delete(valid, v, axis=1), valid[:, v], reference=x)
        stop = lightgbm.early_stopping(30, verbose=False)
        out.append(lightgbm.train(how, x, 1000, valid_sets=[held_out], callbacks=[stop]))
    return out


def lightgbm_likelihood(fits: list[Any], targets: Sequence[int], rows: np.ndarray) -> float:
    total = 0.0
    for v, fit in zip(targets, fits, strict=True):
        p = np.full(len(rows), fit) if isinstance(fit, float) else fit.predict(np.delete(rows, v, axis=1))
        total += likelihood(rows, v, np.clip(p, 1e-12, 1.0 - 1e-12))
    return total


# Quiltwork


def quiltwork_fits(tables: Tables, targets: Sequence[int], both: bool) -> Sequence[Any]:
    """Conditional distributions from plain tables, encoding included."""
    encoder, train = fit_encode(tables[0])
    valid = encoder.encode(tables[1])
    alone = fit_boosted(train, valid, targets).cpds
    if not both:
        return alone
    start = fit_logistic(train, valid, targets, penalty="l2").cpds
    led = fit_boosted(train, valid, targets, start=start).cpds
    return [mean_of(one, other) for one, other in zip(alone, led, strict=True)]


def quiltwork_likelihood(cpds: Sequence[Any], targets: Sequence[int], rows: np.ndarray) -> float:
    codes = rows.astype(np.uint16)
    return sum(likelihood(rows, v, np.exp(cpd.log_probs(codes)[:, 1])) for v, cpd in zip(targets, cpds, strict=True))


# Both


def compare(name: str, n_targets: int, both: bool) -> list[str]:
    tables = load(name)
    n_vars = tables[0].shape[1]
    targets = np.sort(np.random.default_rng(0).permutation(n_vars)[:n_targets]).tolist()
    few = targets[:: max(1, len(targets) // 6)]
    rate, leaves = max(SETTINGS, key=lambda s: lightgbm_likelihood(lightgbm_fits(tables, few, *s), few, tables[1]))
    peer, peer_mb = measured(lambda: lightgbm_fits(tables, targets, rate, leaves))
    peer_seconds = peer.cpu * n_vars / len(targets)
    row = [name, f"{n_vars}", f"{rate:g}, {leaves}", seconds(peer_seconds), f"{peer_mb:.0f}"]
    row.append(f"{lightgbm_likelihood(peer.result, targets, tables[2]):.4f}")
    for with_start in (False, True)[: 1 + both]:
        ours, our_mb = measured(lambda with_start=with_start: quiltwork_fits(tables, range(n_vars), with_start))
        picked = [ours.result[v] for v in targets]
        row += [f"{quiltwork_likelihood(picked, targets, tables[2]):.4f}", seconds(ours.cpu), f"{our_mb:.0f}"]
        row.append(f"{peer_seconds / ours.cpu:.1f}")
    return row


def measured(task: Any) -> tuple[Timed, float]:
    """One run, and by how many MB the process grew."""
    forget_peak()
    before = resident_mb()
    timed = fastest(task, 1)
    return timed, peak_mb() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="nltcs,plants,jester,msweb,c20ng")
    parser.add_argument("--targets", type=int, default=16)
    parser.add_argument("--both", action="store_true")
    asked = parser.parse_args()
    if not find_spec("lightgbm"):
        sys.exit("LightGBM is not installed: pip install 'quiltwork[bench]' brings it")
    print(machine())
    few = [np.random.default_rng(0).integers(0, 2, (300, 5)).astype(np.uint8) for _ in PARTS]
    quiltwork_fits(few, [0, 1], True)  # kernels are compiled, or loaded, before the clock starts
    header = ["set", "vars", "rate, leaves", "LightGBM s", "+MB", "test"]
    header += ["quiltwork test", "s", "+MB", "times"] + ["both: test", "s", "+MB", "times"] * asked.both
    rows = [compare(name, asked.targets, asked.both) for name in asked.sets.split(",")]
    print_rows("Boosted trees for all variables: CPU seconds, test log-likelihood of some targets", header, rows)


if __name__ == "__main__":
    main()
