"""How far do the trees of a dependency network scale: thousands of sparse columns, and Bayesian networks with trees?

    python benchmarks/trees_scaling.py [--columns 1000,10000,50000] [--rows 10000] [--networks]

Sparse tables: 1 % ones, every tenth column leaning on the one before it, so that there is something to find. Each is
fitted once, with the default kappa; `+MB` is what memory grew by at most during the fit, the table itself not counted.

With `--networks` (and QUILTWORK_DATA) Bayesian networks with trees and graphs are then grown on plants and msweb, the
fastest of three runs each, and judged by the mean log-likelihood of test rows. Libra's own figures, measured on another
machine, stand beside them: 20 CPU s for trees on plants, none for graphs on msweb after four minutes.
`--columns "" --networks` leaves the sparse tables out.

Wanted: 10,000 columns in under 60 s, 50,000 tried; trees on plants 20 times faster than Libra, graphs on msweb under 60 s.

Last result: 2026-11-19, 2 cores AMD EPYC, no other work.

  columns  wall, s  cpu, s  +MB    arcs
  1,000     0.0740  0.0924    9     250
  10,000      2.34    4.12   92  11,149
  50,000       170     334  516  492,932  (beside other work; with so many columns chance makes most arcs)

  set       cpd  wall, s  cpu, s  Libra, cpu s  test LL
  plants   tree   0.0849  0.0849            20  -12.744
  plants  graph    0.119   0.119                -12.844
  msweb    tree    0.112   0.112                 -9.719
  msweb   graph    0.147   0.147         > 240   -9.735
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.sparse as sp
from common import data_folder, fastest, forget_peak, machine, peak_mb, print_rows, resident_mb, seconds
from trees import load

import quiltwork as qw

LIBRA = {("plants", "tree"): "20", ("msweb", "graph"): "> 240"}


def sparse_table(n_rows: int, n_columns: int, seed: int = 0) -> sp.csr_array:
    """1 % ones; column 10 k + 1 is a noisy copy of column 10 k."""
    rng = np.random.default_rng(seed)
    n_ones = n_rows * n_columns // 100
    row, column = rng.integers(n_rows, size=n_ones), rng.integers(n_columns, size=n_ones)
    source = column % 10 == 0
    copied = source & (rng.random(n_ones) < 0.6) & (column + 1 < n_columns)
    row, column = np.concatenate([row, row[copied]]), np.concatenate([column, column[copied] + 1])
    table = sp.coo_array((np.ones(len(row), np.uint8), (row, column)), (n_rows, n_columns)).tocsr()
    table.data[:] = 1
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", default="1000,10000")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--networks", action="store_true")
    asked = parser.parse_args()
    print(machine())
    qw.learn("dn", sparse_table(500, 100))  # kernels are compiled before the clock starts
    rows = []
    for n in map(int, filter(None, asked.columns.split(","))):
        table = sparse_table(asked.rows, n)
        forget_peak()
        before = resident_mb()
        timed = fastest(lambda table=table: qw.learn("dn", table), 1)
        arcs = len(timed.result.structure.indices)
        rows.append([f"{n:,}", seconds(timed.wall), seconds(timed.cpu), f"{peak_mb() - before:.0f}", f"{arcs:,}"])
    print_rows(f"Trees of sparse columns, {asked.rows:,} rows", ["columns", "wall, s", "cpu, s", "+MB", "arcs"], rows)
    if asked.networks and data_folder() is not None:
        rows = []
        for name, cpd in (("plants", "tree"), ("plants", "graph"), ("msweb", "tree"), ("msweb", "graph")):
            train, _, test = load(name)
            qw.learn("bn", train[:200, :20], cpd=cpd)
            timed = fastest(lambda train=train, cpd=cpd: qw.BayesianNetwork(cpd=cpd).fit(train), 3)
            likelihood = qw.log_likelihood(timed.result, test).mean()
            peer = LIBRA.get((name, cpd), "")
            rows.append([name, cpd, seconds(timed.wall), seconds(timed.cpu), peer, f"{likelihood:.3f}"])
        print_rows("Bayesian networks", ["set", "cpd", "wall, s", "cpu, s", "Libra, cpu s", "test LL"], rows)


if __name__ == "__main__":
    main()
