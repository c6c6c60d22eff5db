"""How fast is the Chow-Liu tree beside NumPy and SciPy, and do 10,000 sparse columns fit?

The line of NumPy and SciPy that everybody writes: pair counts by a float32 matrix product, mutual information of all pairs
at once, and `scipy.sparse.csgraph.minimum_spanning_tree` of its negative. pyAgrum (BNClassifier, Chow-Liu) and pgmpy
(TreeSearch) are the libraries that have the algorithm; they are far slower and run on plants only. All sides read the same
uint8 table, or, of the 10,000 columns, the same SciPy CSR matrix of 20,000 rows with 100 ones or so in each; NumPy
would need some gigabytes for that one and is left out.

`whole` is everything from the table on: for quiltwork encoding (`encode` is that part of it), tree, tables and model;
for NumPy and SciPy the edges alone. `times the line` is the time of NumPy and SciPy over the method's own, each the lesser
of wall and CPU seconds. Every method runs in a process of its own, after one run on a few columns, and the fastest run counts. `sum of MI` is
that of the tree's edges, computed by one plain function from counts: whose is larger has the better tree. `+MB` is what
memory grew by at most during the fits.

Wanted: at least as fast as NumPy and SciPy on c20ng, the same sum of mutual information; 10,000 sparse columns in under
10 s.

Last result: 2026-11-16, 2 cores AMD EPYC under much other work (so read CPU seconds), pyAgrum 3.3.1, pgmpy 1.1.2.

| table        | method              | CPU s  | encode s | times the line | edges | sum of MI |  +MB |
|--------------|---------------------|--------|----------|----------------|-------|-----------|------|
| plants       | NumPy + SciPy       | 0.0045 |          |           1.00 |    67 | 15.010020 |    5 |
|              | pyAgrum             |  22.98 |          |           0.00 |    68 | 15.010020 |   29 |
|              | pgmpy               |  18.39 |          |           0.00 |     0 |           |   12 |
|              | quiltwork           | 0.0058 |   0.0047 |           0.77 |    67 | 15.010020 |    1 |
| c20ng        | NumPy + SciPy       |  0.319 |          |           1.00 |   909 |  9.999469 |   99 |
|              | quiltwork           | 0.0879 |   0.0505 |           3.62 |   909 |  9.999469 |    3 |
| sparse-10000 | quiltwork           |   1.24 |   0.0363 |                |  9999 | 75.348769 |   65 |

Of plants, where one column is constant, pgmpy returns a tree without edges, and pyAgrum joins the constant by an edge of
no information. On so small a table most of quiltwork's time is encoding; tree, tables and model take 1.2 ms. On
2026-11-19, without other work: c20ng 0.046 s against 0.157 s wall and 0.301 s CPU, sparse-10000 0.48 s. Threads share a
sweep only where one variable has more than two million words to sweep, so they make no difference here.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from math import log
from pathlib import Path
from typing import Any

import common
import numpy as np
from scipy.sparse import csr_array, load_npz, save_npz

Edges = list[tuple[int, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help=" ".join(SETS))
    parser.add_argument("--repeat", type=int, default=7, help="runs, of which the fastest counts (fewer when slow)")
    parser.add_argument("--worker", nargs=2, metavar=("METHOD", "TABLE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return work(given.worker[0], Path(given.worker[1]), given.repeat)
    print(common.machine())
    for name in given.sets:
        try:
            table = SETS[name]()
        except FileNotFoundError as reason:
            print(f"\n{name} is left out: {reason}.")
            continue
        compare(name, table, given.repeat)


# Tables


def debd(name: str) -> csr_array:
    """The training rows of a binary set of the density-estimation collection."""
    folder = common.data_folder()
    if folder is None:
        raise FileNotFoundError("QUILTWORK_DATA does not name a folder with the public data sets")
    stored = np.load(folder / "debd" / f"{name}.npz")
    return csr_array(np.unpackbits(stored["train"], axis=1)[:, : int(stored["n_vars"])])


def sparse_columns(n_vars: int = 10_000, n_rows: int = 20_000, per_row: int = 100) -> csr_array:
    """Rows that draw their ones from a long-tailed popularity, in pairs that go together half of the time."""
    rng = np.random.default_rng(0)
    popularity = np.arange(1, n_vars + 1) ** -0.8
    drawn = rng.choice(n_vars, (n_rows, per_row // 2), p=popularity / popularity.sum())
    partner = np.where(rng.random(drawn.shape) < 0.5, (drawn * 7919 + 13) % n_vars, drawn)
    columns = np.concatenate([drawn, partner], axis=1)
    rows = np.repeat(np.arange(n_rows), columns.shape[1])
    table = csr_array((np.ones(columns.size, np.uint8), (rows, columns.ravel())), shape=(n_rows, n_vars))
    table.data[:] = 1
    return table


SETS: dict[str, Callable[[], csr_array]] = {
    "plants": lambda: debd("plants"),
    "c20ng": lambda: debd("c20ng"),
    "sparse-10000": sparse_columns,
}


# One table, every method


def compare(name: str, table: csr_array, repeat: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        save_npz(path, table)
        results = {method: measured(method, path, table.shape[1], repeat) for method in METHODS}
    line = least(results["NumPy + SciPy"])
    rows = []
    for method, r in results.items():
        if "edges" not in r:
            rows.append([method, r["why"], *[""] * 6])
            continue
        rows.append([
            method, common.seconds(r["wall"]), common.seconds(r["cpu"]),
            common.seconds(r["encode"]) if r["encode"] else "", f"{line / least(r):.2f}" if line else "",
            str(len(r["edges"])),
            f"{information(table, r['edges']):.6f}", f"{r['grown_mb']:.0f}",
        ])  # fmt: skip
    header = ["", "whole s", "CPU s", "encode s", "times the line", "edges", "sum of MI", "+MB"]
    common.print_rows(
        f"{name}: {table.shape[0]:,} rows, {table.shape[1]:,} variables, {table.nnz:,} ones", header, rows
    )


def least(result: dict[str, Any]) -> float:
    """Wall or CPU seconds, whichever is less: a loaded machine swells the first, a second thread the second."""
    return min(result["wall"], result["cpu"]) if "wall" in result else 0.0


def measured(method: str, path: Path, n_vars: int, repeat: int) -> dict[str, Any]:
    """Run a method in a new process; {"why": ...} where it has no result."""
    _, package, most = METHODS[method]
    if not find_spec(package):
        return {"why": "not installed"}
    if n_vars > most:
        return {"why": "not run"}
    command = [sys.executable, __file__, "--repeat", str(repeat), "--worker", method, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        return {"why": "failed: " + ran.stderr.strip().splitlines()[-1][:60]}
    return json.loads(ran.stdout.splitlines()[-1])


def work(method: str, path: Path, repeat: int) -> None:
    """In the new process: fit, and print the measurements as JSON."""
    warnings.simplefilter("ignore")
    table = load_npz(path)
    if table.shape[1] <= 2000:
        table = table.toarray()
    fit = METHODS[method][0]
    fit(table[:, :20])  # libraries and kernels are loaded before the clock starts
    before = common.resident_mb()
    common.forget_peak()
    timed = common.fastest(lambda: fit(table), repeat)
    result = {"wall": timed.wall, "cpu": timed.cpu, "edges": timed.result, "grown_mb": common.peak_mb() - before}
    encode = common.fastest(lambda: encoded(table), repeat) if method.startswith("quiltwork") else None
    print(json.dumps({**result, "encode": encode and min(encode.wall, encode.cpu)}))


def information(table: csr_array, edges: Edges) -> float:
    """The mutual information of the pairs, in nats, from their counts."""
    columns, m = table.tocsc(), table.shape[0]
    held = [set(columns.indices[columns.indptr[v] : columns.indptr[v + 1]].tolist()) for v in range(table.shape[1])]
    total = 0.0
    for u, v in edges:
        both, n_u, n_v = len(held[u] & held[v]), len(held[u]), len(held[v])
        for n, a, b in (
            (both, n_u, n_v),
            (n_u - both, n_u, m - n_v),
            (n_v - both, m - n_u, n_v),
            (m - n_u - n_v + both, m - n_u, m - n_v),
        ):
            total += n / m * log(n * m / (a * b)) if n else 0.0
    return total


# Methods


def quiltwork_fit(table: Any, **parameters: Any) -> Edges:
    from quiltwork import MarkovTree

    return MarkovTree(smoothing=0.0, **parameters).fit(table).model_.ends.tolist()


def encoded(table: Any) -> Any:
    from quiltwork.data.encode import fit_encode

    return fit_encode(table)


def numpy_scipy(table: Any) -> Edges:
    from scipy.sparse.csgraph import minimum_spanning_tree

    x = table.astype(np.float32)
    m = len(x)
    both = (x.T @ x).astype(np.float64)
    ones = both.diagonal()
    n_u, n_v = ones[:, None], ones[None, :]
    total = np.zeros_like(both)
    with np.errstate(divide="ignore", invalid="ignore"):
        for n, a, b in (
            (both, n_u, n_v),
            (n_u - both, n_u, m - n_v),
            (n_v - both, m - n_u, n_v),
            (m - n_u - n_v + both, m - n_u, m - n_v),
        ):
            total += np.where(n > 0, n / m * np.log(n * m / (a * b)), 0.0)
    np.fill_diagonal(total, 0.0)
    tree = minimum_spanning_tree(-total).tocoo()
    return sorted((min(u, v), max(u, v)) for u, v in zip(tree.row.tolist(), tree.col.tolist()))


def pyagrum_fit(table: Any) -> Edges:
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    processor = DiscreteTypeProcessor(defaultNumberOfBins=2, discretizationThreshold=3)
    classifier = BNClassifier(learningMethod="Chow-Liu", type_processor=processor)
    classifier.fit(table[:, :-1].astype(int), table[:, -1].astype(int))  # which of the columns is the class is all one
    names = classifier.variableNameIndexDictionary_
    at = {n: names.get(classifier.bn_.variable(n).name(), table.shape[1] - 1) for n in classifier.bn_.nodes()}
    return sorted((min(at[a], at[b]), max(at[a], at[b])) for a, b in classifier.bn_.arcs())


def pgmpy_fit(table: Any) -> Edges:
    import pandas as pd
    from pgmpy.estimators import TreeSearch

    frame = pd.DataFrame(table, columns=[str(v) for v in range(table.shape[1])])
    found = TreeSearch(frame, root_node="0", n_jobs=1).estimate(estimator_type="chow-liu", show_progress=False)
    return sorted((min(int(a), int(b)), max(int(a), int(b))) for a, b in found.edges())


METHODS: dict[str, tuple[Callable[[Any], Edges], str, int]] = {  # fit, package, most variables
    "NumPy + SciPy": (numpy_scipy, "scipy", 2000),
    "pyAgrum": (pyagrum_fit, "pyagrum", 100),
    "pgmpy": (pgmpy_fit, "pgmpy", 100),
    "quiltwork, 1 thread": (lambda table: quiltwork_fit(table, n_jobs=1), "quiltwork", 10**9),
    "quiltwork, 2 threads": (lambda table: quiltwork_fit(table, n_jobs=2), "quiltwork", 10**9),
}


if __name__ == "__main__":
    main()
