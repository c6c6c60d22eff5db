"""How do the rankers stand beside today's recommenders: accuracy, learning time, scoring time, memory?

    python benchmarks/recommenders.py [--fold 1]

One fold of MovieLens 100k (QUILTWORK_DATA), everything in one run: quiltwork's rankers, implicit's ALS (pip install
implicit) and EASE in one line of NumPy. Each method runs in a process of its own, once small before the clock starts;
`+MB` is what its memory grew by at most. Scoring is all users on all items.

Last result: 2026-11-16, 2 cores AMD EPYC (other work beside it), fold 1, implicit 0.7.3.

| method             | macro | micro | NDCG@10 | learning | scoring | +MB |
|--------------------|-------|-------|---------|----------|---------|-----|
| EASE, one line     | .9288 | .9126 | .560    | 0.32 s   | 0.01 s  | 110 |
| implicit ALS       | .9363 | .9205 | .551    | 0.12 s   | 0.07 s  |  53 |
| hybrid field       | .8891 | .8704 | .398    | 0.24 s   | 0.06 s  |  27 |
| 16 averaged fields | .9184 | .9039 | .536    | 3.1 s    | 0.83 s  |  60 |
| Gaussian field     | .9288 | .9126 | .560    | 0.13 s   | 0.04 s  |  41 |
| latent causes      | .9364 | .9207 | .550    | 2.4 s    | 0.36 s  |  18 |
| stack of both      | .9370 | .9215 | .570    | 12 s     | 1.0 s   |  64 |

implicit learns latent causes 20 times faster than we do: its turns take one conjugate-gradient step each, ours solve.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "papers"))

Ranker = Callable[[object], Callable[[object], np.ndarray]]  # training rows -> (histories -> scores)


def ours(name: str, **parameters: object) -> Ranker:
    import quiltwork as qw

    def fit(train: object) -> Callable[[object], np.ndarray]:
        model = qw.learn(name, train, **parameters)
        return lambda histories: qw.item_scores(model, histories)

    return fit


def ease(train: object) -> Callable[[object], np.ndarray]:
    """EASE in one line, ridge 1000."""
    X = train.astype(np.float64)  # type: ignore[attr-defined]
    P = np.linalg.inv((X.T @ X).toarray() + 1000.0 * np.eye(X.shape[1]))
    B = np.eye(X.shape[1]) - P / np.diag(P)
    return lambda histories: histories.astype(np.float64) @ B  # type: ignore[attr-defined]


def implicit_als(train: object) -> Callable[[object], np.ndarray]:
    """implicit's ALS with the settings of our latent causes."""
    from implicit.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    als = AlternatingLeastSquares(factors=64, alpha=10.0, regularization=60.0, iterations=12, random_state=0)
    als.fit(csr_matrix(train.astype(np.float32)), show_progress=False)  # type: ignore[attr-defined]

    def score(histories: object) -> np.ndarray:
        rows = csr_matrix(histories.astype(np.float32))  # type: ignore[attr-defined]
        users = np.vstack([als.recalculate_user(i, rows[i]) for i in range(rows.shape[0])])
        return np.asarray(users @ als.item_factors.T, np.float64)

    return score


METHODS: dict[str, Callable[[], Ranker]] = {
    "EASE, one line": lambda: ease,
    "implicit ALS": lambda: implicit_als,
    "hybrid field": lambda: ours("hrf"),
    "16 averaged fields": lambda: ours("hrf", n_models=16),
    "Gaussian field": lambda: ours("gmf", ridge=1000.0),
    "latent causes": lambda: ours("latent"),
    "stack of both": lambda: ours("stack", members=("hrf:n_models=16", "latent")),
}


def measure(method: str, fold: int) -> dict[str, float]:
    from common import movielens_folds

    from quiltwork.rank.protocols import evaluate, given_fold

    fold_ = given_fold(*next(islice(movielens_folds(), fold - 1, None)))
    fit = METHODS[method]()
    small = fold_.train[:80, :70]
    fit(small)(small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    score = fit(fold_.train)
    learning = time.perf_counter() - began
    report = evaluate(score, fold_.queries)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {**report.means(), "learning": learning, "scoring": report.score_seconds, "megabytes": grown / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fold", type=int, default=1)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.fold)))
        return
    if not os.environ.get("QUILTWORK_DATA"):
        sys.exit("QUILTWORK_DATA must name the folder with the public data sets; README.md says where they come from.")
    print(f"{'method':20} {'macro':>7} {'micro':>7} {'NDCG@10':>8} {'learning':>10} {'scoring':>9} {'+MB':>6}")
    for method in METHODS:
        command = [sys.executable, __file__, "--one", method, "--fold", str(arguments.fold)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{method:20} left out: {done.stderr.strip().splitlines()[-1]}")
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{method:20} {found['macro_doa']:7.4f} {found['micro_doa']:7.4f} {found['ndcg@10']:8.3f} "
            f"{found['learning']:8.2f} s {found['scoring']:7.2f} s {found['megabytes']:6.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
