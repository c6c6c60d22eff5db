"""Does learning a hybrid random field take time in proportion to the number of variables?

    python benchmarks/hrf_scaling.py [--largest 50000]

1,000 rows; dense: a random sparse network of binary variables; sparse: independent groups, 1% ones. Each size runs in a
process of its own, kernels loaded before the clock starts; peak memory is that of the process. Where QUILTWORK_DATA
names the public data, also one fold of MovieLens and of each citation graph.

Last result: 2026-11-16, 2 cores AMD EPYC. One fold of MovieLens is learned in 0.16 s (1 thread 0.27 s), of CiteSeer in
0.06 s, of Cora in 0.07 s; all MovieLens users are scored in 0.10 s, one user in 0.2 ms.

| variables | dense          | sparse, 1% ones |
|-----------|----------------|-----------------|
| 1,000     | 0.27 s         | 0.11 s          |
| 2,000     | 0.42 s         | 0.25 s          |
| 5,000     | 1.08 s         | 0.68 s          |
| 10,000    | 2.7 s, 224 MB  | 1.9 s           |
| 20,000    |                | 5.9 s           |
| 50,000    |                | 37 s, 460 MB    |

The local networks cost the same for each variable; what grows beyond is the search for relatives, which looks at every
pair.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000)


def dense_table(n_vars: int, n_samples: int = 1000, seed: int = 0) -> np.ndarray:
    """Up to three parents among the 200 variables before, so that sampling stays cheap; columns shuffled."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n_samples, n_vars), np.uint8)
    for v in range(n_vars):
        before = np.arange(max(0, v - 200), v)
        parents = rng.choice(before, min(len(before), int(rng.integers(0, 4))), replace=False)
        config = X[:, parents] @ (1 << np.arange(len(parents)))
        X[:, v] = rng.random(n_samples) < rng.beta(0.5, 0.5, 2 ** len(parents))[config.astype(int)]
    return X[:, rng.permutation(n_vars)]


def sparse_table(n_vars: int, n_samples: int = 1000, seed: int = 0) -> object:
    """Groups of ten items that are chosen together; one cell in a hundred is a one."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(seed)
    n_groups = n_vars // 10
    user, group = np.divmod(rng.choice(n_samples * n_groups, n_samples * n_groups // 50, replace=False), n_groups)
    user, item = np.repeat(user, 10), (group[:, None] * 10 + np.arange(10)).ravel()
    kept = rng.random(len(user)) < 0.5
    return csr_array((np.ones(kept.sum(), np.uint8), (user[kept], item[kept])), shape=(n_samples, n_vars))


def measure(kind: str, n_vars: int) -> dict[str, float]:
    import quiltwork as qw

    X = dense_table(n_vars) if kind == "dense" else sparse_table(n_vars)
    qw.learn("hrf", dense_table(50))
    began, cpu = time.perf_counter(), time.process_time()
    est = qw.HybridRandomField().fit(X)
    return {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "rounds": len(est.pseudo_log_likelihoods_),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def real_folds() -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent / "papers"))
    from common import citations, movielens_folds

    import quiltwork as qw
    from quiltwork.rank.protocols import all_but_1, given_fold, row_folds

    sets = {"MovieLens u1": given_fold(*next(movielens_folds()))}
    for name in ("citeseer", "cora"):
        sets[name] = next(iter(row_folds(citations(name), all_but_1)))
    print(f"{'one fold of':14} {'learning, 2 threads':>20} {'1 thread':>10} {'scoring all':>12} {'one user':>10}")
    for name, fold in sets.items():
        times = {jobs: best(partial(qw.learn, "hrf", fold.train, n_jobs=jobs)) for jobs in (2, 1)}
        model = qw.learn("hrf", fold.train)
        scoring = best(partial(qw.item_scores, model, fold.train))
        history = [model.variables[v].name for v in fold.train.indices[:10]]
        one = best(partial(qw.recommend, model, history))
        print(f"{name:14} {times[2]:18.3f} s {times[1]:8.3f} s {scoring:10.3f} s {one * 1000:7.2f} ms")


def best(task, repeat: int = 5) -> float:
    """The least seconds of several runs."""
    found = []
    for _ in range(repeat + 1):
        began = time.perf_counter()
        task()
        found.append(time.perf_counter() - began)
    return min(found[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=50_000)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one[0], int(arguments.one[1]))))
        return
    if os.environ.get("QUILTWORK_DATA"):
        real_folds()
    print(
        f"{'table':8} {'variables':>9} {'seconds':>9} {'CPU s':>8} {'µs per variable':>16} {'rounds':>7} {'peak MB':>8}"
    )
    for kind in ("dense", "sparse"):
        for n_vars in SIZES:
            if n_vars > arguments.largest or (kind == "dense" and n_vars > 10_000):
                continue
            command = [sys.executable, __file__, "--one", kind, str(n_vars)]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            per = found["seconds"] / n_vars * 1e6
            print(
                f"{kind:8} {n_vars:9,} {found['seconds']:9.2f} {found['cpu']:8.2f} {per:16.0f} {found['rounds']:7.0f} "
                f"{found['megabytes']:8.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
