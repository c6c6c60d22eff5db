"""How fast is a path of L1-penalised logistic regressions beside liblinear, at the same objective?

    QUILTWORK_DATA=... python benchmarks/l1_path.py [--targets 30] [--repeat 2] [--seed 0] [--all]

Words of c20ng (11,293 x 910, 5 % ones) are regressed on all others, at strengths from one that leaves some ten weights
to one that leaves hundreds: `--targets` of them, drawn at random, the fastest of `--repeat` runs. One thread each.
liblinear, through scikit-learn, reads CSR and solves every strength anew; quiltwork takes them as a path, the strongest
first ("path"), and each alone, as liblinear does ("alone").

liblinear penalises its intercept, quiltwork does not. So liblinear is given intercept_scaling=100, under which that
part of its penalty is a hundredth; and every solution is judged by one plain function here, whose objective does not
penalise the intercept. `apart` is the largest relative difference between the two objectives of a word, positive where
quiltwork's is the higher (liblinear stops at its default tolerance).

With --all, then the automatic paths of all 910 words with validation rows, L1 and L2, on one thread and on two, as a
dependency network takes them.

Wanted: at least 3 times faster per strength, at the same objective; all words in well under 2 minutes on 2 threads.

Last result (2026-11-19, 2 cores AMD EPYC, no other work; --targets 12, CPU milliseconds per word; the objectives
themselves left out):

  strength  weights  liblinear  path  alone  times, path  times, alone     apart
  30             23       24.3   2.5    2.5          9.6           9.7  -2.2e-06
  20             34       27.8   1.8    3.7         15.2           7.5  -8.2e-07
  14             53       31.4   2.3    4.4         13.9           7.1  -6.5e-07
  10             90       36.7   3.3    6.2         11.2           5.9  -5.4e-07
  7             155       46.9   4.6    9.2         10.3           5.1  -4.6e-07
  5             241       57.3   6.5   13.7          8.8           4.2  +4.6e-07
  3.5           349       72.5  12.4   20.8          5.9           3.5  +1.0e-06
  all                    297.0  33.4   60.6          8.9           4.9
"""

from __future__ import annotations

import os

# One thread each; the number is read when NumPy is first imported.
for _library in ("OPENBLAS", "MKL", "OMP", "BLIS", "VECLIB"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial

import common
import numpy as np
from scipy.sparse import csr_array

from quiltwork.backends.threads import Threads
from quiltwork.data.encode import fit_encode
from quiltwork.search.descent import FAR, PENALTIES, PRECISION, ROUGH, STRONGEST, fit_logistic
from quiltwork.search.indicators import Indicators, indicators
from quiltwork.search.newton import look, solve
from quiltwork.search.regression import regression

STRENGTHS = (30.0, 20.0, 14.0, 10.0, 7.0, 5.0, 3.5)

Solution = tuple[float, np.ndarray]  # intercept and weights
Path = list[tuple[float, Solution]]  # CPU seconds and solution at each strength


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=30, help="words to regress, drawn at random")
    parser.add_argument("--repeat", type=int, default=2, help="runs, of which the fastest counts")
    parser.add_argument("--seed", type=int, default=0, help="of the words")
    parser.add_argument("--all", action="store_true", help="then the automatic path of all words, on 1 and 2 threads")
    given = parser.parse_args()
    folder = common.data_folder()
    if folder is None:
        raise SystemExit("QUILTWORK_DATA does not name a folder with the public data sets.")
    stored = np.load(folder / "debd" / "c20ng.npz")
    train, valid = (np.unpackbits(stored[part], axis=1)[:, : int(stored["n_vars"])] for part in ("train", "valid"))
    print(common.machine())
    targets = np.sort(np.random.default_rng(given.seed).choice(train.shape[1], given.targets, replace=False))
    compare(train, targets.tolist(), given.repeat)
    if given.all:
        whole(train, valid)


# Part 1: the same words at the same strengths


def compare(table: np.ndarray, targets: list[int], repeat: int) -> None:
    """One row for each strength: milliseconds per word of either side, and their objectives."""
    laid_out, x, labels = indicators(fit_encode(table)[1]), csr_array(table.astype(np.float64)), table.astype(np.int64)

    def quiltwork(t: int, strengths: tuple[float, ...]) -> Path:
        return quiltwork_path(laid_out, np.ascontiguousarray(labels[:, t]), t, strengths)

    def liblinear(t: int, strengths: tuple[float, ...]) -> Path:
        return [liblinear_fit(x, labels[:, t], t, strength) for strength in strengths]

    for one in (quiltwork, liblinear):
        one(targets[0], STRENGTHS[:1])  # libraries and kernels are loaded before the clock starts
    rows, sums = [], np.zeros(3)
    path_times, paths = timed(quiltwork, targets, repeat, STRENGTHS)
    for k, strength in enumerate(STRENGTHS):
        (alone,), _ = timed(quiltwork, targets, repeat, (strength,))
        (peer,), theirs = timed(liblinear, targets, repeat, (strength,))
        ours = [objective(x, labels[:, t], own[k], strength) for t, own in zip(targets, paths)]
        peers = [objective(x, labels[:, t], own[0], strength) for t, own in zip(targets, theirs)]
        times = np.array([peer, path_times[k], alone]) / len(targets)
        sums += times
        rows.append([
            f"{strength:g}", f"{np.mean([np.count_nonzero(own[k][1]) for own in paths]):.0f}",
            *(f"{1e3 * t:.1f}" for t in times), f"{times[0] / times[1]:.1f}", f"{times[0] / times[2]:.1f}",
            f"{sum(peers):.3f}", f"{sum(ours):.3f}",
            f"{max((a / b - 1.0 for a, b in zip(ours, peers)), key=abs):+.1e}",
        ])  # fmt: skip
    rows.append(["all", "", *(f"{1e3 * t:.1f}" for t in sums), f"{sums[0] / sums[1]:.1f}", f"{sums[0] / sums[2]:.1f}", "", "", ""])  # fmt: skip
    header = ["strength", "weights", "liblinear", "path", "alone", "times, path", "times, alone"]
    header += ["liblinear's objective", "quiltwork's", "apart"]
    title = f"c20ng, {len(targets)} words, one thread: CPU milliseconds per word, then the sums of the objectives"
    common.print_rows(title, header, rows)


def timed(
    follow: Callable[[int, tuple[float, ...]], Path], targets: list[int], repeat: int, strengths: tuple[float, ...]
) -> tuple[np.ndarray, list[list[Solution]]]:
    """CPU seconds by strength, summed over words (the least of the runs of each), and the solutions by word."""
    runs = [[follow(t, strengths) for t in targets] for _ in range(repeat)]
    times = np.array([[[took for took, _ in path] for path in run] for run in runs])
    return times.min(axis=0).sum(axis=0), [[found for _, found in path] for path in runs[-1]]


def quiltwork_path(x: Indicators, labels: np.ndarray, target: int, strengths: tuple[float, ...]) -> Path:
    """The first strength includes the way there, as `fit_logistic` takes it."""
    out, began = [], time.process_time()
    fit = regression(x, labels, 1, x.variable != target)
    look(x, labels, fit)
    p = labels.mean()
    loss = -len(labels) * (p * np.log(p) + (1 - p) * np.log(1 - p))
    start = STRONGEST["l1"] * (len(labels) * p * (1 - p)) ** 0.5
    while start * FAR > strengths[0]:
        start *= FAR
        solve(x, labels, start, 0.0, ROUGH * loss, fit)
    for strength in strengths:
        solve(x, labels, strength, 0.0, PRECISION * loss, fit)
        out.append((time.process_time() - began, (float(fit.intercept[0]), fit.weights[0].copy())))
        began = time.process_time()
    return out


def liblinear_fit(x: csr_array, y: np.ndarray, target: int, strength: float) -> tuple[float, Solution]:
    """Taking the word's own column out of the matrix is not counted."""
    from sklearn.linear_model import LogisticRegression

    others = np.delete(np.arange(x.shape[1]), target)
    own, weights = x[:, others], np.zeros(x.shape[1])
    model = LogisticRegression(C=1 / strength, l1_ratio=1.0, solver="liblinear", intercept_scaling=100, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        model.fit(own, y)
        took = time.process_time() - began
    weights[others] = model.coef_[0]
    return took, (float(model.intercept_[0]), weights)


def objective(x: csr_array, y: np.ndarray, solution: Solution, strength: float) -> float:
    """Loss of the rows and penalty of the weights; the intercept is free."""
    margin = x @ solution[1] + solution[0]
    return float((np.logaddexp(0.0, margin) - y * margin).sum() + strength * np.abs(solution[1]).sum())


# Part 2: all words


def whole(train: np.ndarray, valid: np.ndarray) -> None:
    """Each word on its automatic path, as a dependency network learns them."""
    encoder, data = fit_encode(train)
    held_out = encoder.encode(valid)
    rows = []
    for penalty in PENALTIES:
        for n in (1, 2):
            with Threads(n) as threads:
                fit = partial(fit_logistic, data, held_out, penalty=penalty, run=threads.run)
                done = common.fastest(fit, 1)
            n_parents = np.mean([len(cpd.parents) for cpd in done.result.cpds])
            rows.append([
                f"{penalty}, {n} thread{'s' * (n > 1)}", common.seconds(done.wall), common.seconds(done.cpu),
                f"{done.result.log_likelihoods.sum():.3f}", f"{n_parents:.0f}", f"{common.peak_mb():.0f}",
            ])  # fmt: skip
    header = ["", "wall s", "CPU s", "validation PLL", "parents", "most MB"]
    common.print_rows(f"c20ng, all {train.shape[1]} words, automatic paths", header, rows)


if __name__ == "__main__":
    main()
