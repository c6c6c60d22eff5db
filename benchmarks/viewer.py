"""How long until a network of 2,000 variables and 20,000 arcs can be looked at, and how large is its file?

A dependency network with decision trees and a Bayesian network with tables are made at random (nothing is learned),
each as a document, as JSON and as one self-contained HTML file. The layout is timed beside networkx's spring_layout on
the same arcs, and both are judged by the same stress: how well distances in the picture fit steps in the graph.

Wanted: at 2,000 variables and 20,000 arcs the document in under 3 s, and the HTML file under 3 MB.

Last result: 2026-11-19 (10,000 variables 2026-11-16, beside much other work), 2 cores AMD EPYC:

    model                      arcs  document s   CPU s  JSON MB  HTML MB  peak +MB
    trees, 300 variables      3,000       0.049   0.049     0.56     0.84        16
    tables, 300 variables     2,945       0.107   0.107     0.41     0.69        38
    trees, 2,000 variables   20,000       0.559   0.559     2.58     2.86        82
    tables, 2,000 variables  19,945       0.890   0.890     2.59     2.87       243
    trees, 10,000 variables  50,000       38.74    4.71     2.84     3.09        62

    layout                                       s  times ours  stress
    quiltwork, 300 variables                 0.022         1.0   0.150
    networkx spring_layout, 300 variables    0.101         4.6   0.161
    quiltwork, 2,000 variables               0.082         1.0   0.188
    networkx spring_layout, 2,000 variables   4.94        60.6   0.173

Ours gives edges between crowded points more length on purpose, which the stress counts against it at 2,000.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import common
import numpy as np

from quiltwork.cpds.table import TableCPD
from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.dependency import DependencyNet

SIZES = {300: 3_000, 2_000: 20_000, 10_000: 50_000}  # variables -> arcs
WITHIN = 60  # columns between the ends of most arcs: variables come in neighbourhoods, as they do in real tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--repeat", type=int, default=3)
    sizes = parser.parse_args()
    print(common.machine())
    documents(sizes.sizes, sizes.repeat)
    layouts([n for n in sizes.sizes if n <= 2_000])


# Documents and files


def documents(sizes: list[int], repeat: int) -> None:
    """Seconds to make the document, and its size as JSON and as a file."""
    from quiltwork.view.bundle import is_built
    from quiltwork.view.document import document, to_json
    from quiltwork.view.html import page

    rows = []
    for n_vars in sizes:
        for name, make in (("trees", tree_network), ("tables", table_network)):
            document(make(50, 200))  # kernels are compiled, or read from the cache
            model = make(n_vars, SIZES[n_vars])
            fresh = iter([make(n_vars, SIZES[n_vars]) for _ in range(repeat)])  # what a model remembers would flatter
            common.forget_peak()
            before = common.resident_mb()
            timed = common.fastest(lambda fresh=fresh: document(next(fresh)), repeat)
            shown = timed.result
            size = f"{len(page(shown)) / 1e6:.2f}" if is_built() else "not built"
            arcs = f"{len(model.arcs):,}"
            cells = [common.seconds(timed.wall), common.seconds(timed.cpu), f"{len(to_json(shown)) / 1e6:.2f}", size]
            rows.append([f"{name}, {n_vars:,} variables", arcs, *cells, f"{common.peak_mb() - before:.0f}"])
    header = ["model", "arcs", "document s", "CPU s", "JSON MB", "HTML MB", "peak +MB"]
    common.print_rows("A model as a document, and as a file", header, rows)


def tree_network(n_vars: int, n_arcs: int, seed: int = 0) -> DependencyNet:
    """A dependency network whose trees ask about as many others, each once along a random path."""
    rng = np.random.default_rng([seed, n_vars])
    cpds, strengths = [], []
    for v, own in enumerate(_neighbours(rng, n_vars, n_arcs, before=False)):
        cpds.append(_tree(rng, v, own))
        strengths.append(cpds[-1].gain[cpds[-1].gain > 0][np.argsort(np.argsort(own))])
    return DependencyNet(_encoder(n_vars), tuple(cpds), np.full(2 * n_vars, 500.0), {}, np.concatenate(strengths))


def table_network(n_vars: int, n_arcs: int, seed: int = 0) -> BayesianNet:
    """A Bayesian network with random tables, without strengths, as one that was read from a file."""
    rng = np.random.default_rng([seed, n_vars])
    cpds = []
    for v, own in enumerate(_neighbours(rng, n_vars, n_arcs, before=True)):
        share = rng.random(2 ** len(own))
        cpds.append(TableCPD(v, tuple(sorted(own)), np.column_stack([share, 1 - share])))
    return BayesianNet(_encoder(n_vars), tuple(cpds))


def _encoder(n_vars: int) -> Encoder:
    return Encoder(tuple(Variable(f"variable {v}", ("no", "yes")) for v in range(n_vars)))


def _neighbours(rng: np.random.Generator, n_vars: int, n_arcs: int, before: bool) -> list[list[int]]:
    """For every variable, distinct others nearby (one in ten from anywhere); in sum about n_arcs."""
    out: list[list[int]] = []
    for v in range(n_vars):
        low, high = (0, v) if before else (0, n_vars)
        near = np.arange(max(low, v - WITHIN), min(high, v + WITHIN))
        far = rng.integers(low, max(high, low + 1), 2)
        others = np.setdiff1d(np.concatenate([rng.permutation(near)[: n_arcs // n_vars], far]), [v])
        out.append(rng.permutation(others[others < high])[: n_arcs // n_vars].tolist())
    return out


def _tree(rng: np.random.Generator, child: int, own: list[int]) -> TreeCPD:
    """Each of `own` splits one of the leaves that its predecessors left, with a smaller gain."""
    variable, branches_of, leaves = [-1], {}, [0]
    for u in own:
        k = leaves.pop(int(rng.integers(len(leaves))))
        variable[k] = u
        branches_of[k] = [len(variable), len(variable) + 1]
        leaves += branches_of[k]
        variable += [-1, -1]
    splits, ends = sorted(branches_of), [k for k, u in enumerate(variable) if u < 0]
    first = np.zeros(len(variable), np.int64)
    first[splits], first[ends] = 2 * np.arange(len(splits)), np.arange(len(ends))
    gain = np.zeros(len(variable))
    gain[splits] = np.sort(rng.gamma(1.0, 30.0, len(splits)) + 0.1)[::-1]
    counts = rng.integers(1, 200, (len(ends), 2)).astype(float)
    flow = np.zeros(2 * len(splits))
    rows = np.zeros(len(variable))
    rows[ends] = counts.sum(axis=1)
    for k in reversed(splits):
        flow[first[k] : first[k] + 2] = rows[branches_of[k]]
        rows[k] = flow[first[k] : first[k] + 2].sum()
    return TreeCPD(
        child=child, variable=np.array(variable), state=np.where(np.array(variable) >= 0, 1, -1), first=first,
        branches=np.array([b for k in splits for b in branches_of[k]], np.int64), flow=flow, gain=gain,
        probs=(counts + 1) / (counts + 1).sum(axis=1, keepdims=True), counts=counts,
    )  # fmt: skip


# Layouts


def layouts(sizes: list[int]) -> None:
    """Ours beside networkx's spring layout on the same arcs: seconds, and stress over random pairs."""
    from quiltwork.view.document import document
    from quiltwork.view.layout import layout

    rows = []
    for n_vars in sizes:
        arcs = document(tree_network(n_vars, SIZES[n_vars]), room=None)["arcs"]
        source, target = np.array(arcs["from"]), np.array(arcs["to"])
        ours = common.fastest(lambda ends=(source, target), n=n_vars: layout(n, *ends), 3)
        kept = slice(0, 2 * n_vars)
        results = [("quiltwork", ours.wall, ours.result)]
        try:
            results.append(("networkx spring_layout", *_spring(n_vars, source[kept], target[kept])))
        except ImportError:
            print("networkx is not installed, and left out")
        steps = _steps(n_vars, source[kept], target[kept])
        for name, wall, places in results:
            ratio = f"{wall / ours.wall:.1f}"
            rows.append(
                [f"{name}, {n_vars:,} variables", common.seconds(wall), ratio, f"{_stress(places, *steps):.3f}"]
            )
    common.print_rows("Layout", ["", "s", "times ours", "stress"], rows)


def _spring(n_vars: int, source: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(n_vars))
    graph.add_edges_from(zip(source.tolist(), target.tolist()))
    began = time.perf_counter()
    places = networkx.spring_layout(graph, seed=0)
    return time.perf_counter() - began, np.array([places[v] for v in range(n_vars)])


def _steps(n_vars: int, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random pairs that are connected, and the steps between them."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    rng = np.random.default_rng(0)
    graph = csr_array((np.ones(len(source)), (source, target)), (n_vars, n_vars))
    some = rng.choice(n_vars, min(n_vars, 100), replace=False)
    steps = dijkstra(graph, directed=False, unweighted=True, indices=some)
    one, other = np.nonzero(np.isfinite(steps) & (steps > 0))
    return some[one], other, steps[one, other]


def _stress(places: Any, one: np.ndarray, other: np.ndarray, steps: np.ndarray) -> float:
    """Mean of (distance / steps - 1)^2 at the scale that makes it least."""
    ratio = np.hypot(*(places[one] - places[other]).T) / steps
    scale = ratio.sum() / (ratio**2).sum()
    return float(((scale * ratio - 1) ** 2).mean())


if __name__ == "__main__":
    main()
