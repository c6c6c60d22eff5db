"""What the benchmarks share: tables to learn from, judges of graphs, clocks, and a way to print.

The judges (`bic`, `shd`) are written here in plain NumPy and Python and owe nothing to quiltwork or to its
peers, so that every side is judged by the same function. Tables are sampled here too, with their columns
permuted: greedy searches break ties by column, and a table whose columns are in topological order flatters them.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

import numpy as np

Parents = list[tuple[int, ...]]


# Tables: sampled from networks, with the graph that generated them


@dataclass(frozen=True)
class Table:
    """Rows sampled from a known network.

    names    of the columns
    codes    (rows, columns) uint8; every state of a column occurs, the first is 0
    parents  of each column in the generating graph
    """

    names: list[str]
    codes: np.ndarray
    parents: Parents

    def columns(self) -> dict[str, np.ndarray]:
        """Columns of text by name."""
        labels = np.array([f"s{k}" for k in range(256)])
        return {name: labels[self.codes[:, v]] for v, name in enumerate(self.names)}

    def frame(self) -> Any:
        """A pandas DataFrame of categoricals: what all sides read."""
        import pandas as pd

        n_states = self.codes.max(axis=0).astype(int) + 1
        columns = {
            name: pd.Categorical.from_codes(self.codes[:, v].astype(np.int16), [f"s{k}" for k in range(n_states[v])])
            for v, name in enumerate(self.names)
        }
        return pd.DataFrame(columns)

    def save(self, path: Path) -> None:
        np.savez(path, names=np.array(self.names), codes=self.codes)

    @classmethod
    def load(cls, path: Path) -> Table:
        """The table alone, without the graph that generated it."""
        stored = np.load(path)
        return cls(stored["names"].tolist(), stored["codes"], [])


def data_folder() -> Path | None:
    """The folder of public data sets that QUILTWORK_DATA names."""
    folder = os.environ.get("QUILTWORK_DATA")
    return Path(folder) if folder else None


def sampled_network(name: str, n_rows: int, seed: int) -> Table:
    """Rows of a network of the public repository, such as "alarm"."""
    from quiltwork.models.foreign import read_network

    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("QUILTWORK_DATA does not name a folder with the public data sets")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ALARM's file has two rows that sum to 0.9999999
        net = read_network(str(folder / "bif" / f"{name}.bif.gz"))
    parents = [cpd.parents for cpd in net.cpds]
    return _sample([v.name for v in net.variables], parents, [cpd.probs for cpd in net.cpds], n_rows, seed)


def random_network(n_vars: int, n_rows: int, seed: int) -> Table:
    """Rows of a random sparse binary network.

    Variable v has 0 to 3 parents (each number as likely) drawn from the variables before it, and
    P(v = 1 | configuration) is drawn from Beta(1/2, 1/2) for every configuration: most tables are strong, some weak.
    """
    rng = np.random.default_rng([seed, n_vars])
    parents: Parents = []
    probs = []
    for v in range(n_vars):
        n_parents = min(v, int(rng.integers(0, 4)))
        parents.append(tuple(sorted(rng.choice(v, n_parents, replace=False).tolist())))
        one = rng.beta(0.5, 0.5, 2**n_parents)
        probs.append(np.column_stack([1.0 - one, one]))
    return _sample([f"x{v}" for v in range(n_vars)], parents, probs, n_rows, seed)


def _sample(names: Sequence[str], parents: Parents, probs: Sequence[np.ndarray], n_rows: int, seed: int) -> Table:
    """Ancestral sampling, then a permutation of the columns; states that never occur are dropped."""
    rng = np.random.default_rng([seed, n_rows])
    codes = np.zeros((n_rows, len(names)), np.int64, order="F")
    for v in _parents_first(parents):
        config = np.zeros(n_rows, np.int64)
        for p in parents[v]:
            config = config * probs[p].shape[1] + codes[:, p]
        cumulative = np.cumsum(probs[v], axis=1)[config, :-1]
        codes[:, v] = (rng.random(n_rows)[:, None] >= cumulative).sum(axis=1)
    place = rng.permutation(len(names))  # the column that stands at each place
    now_at = np.argsort(place)
    seen = [np.unique(codes[:, v], return_inverse=True)[1] for v in place]
    return Table(
        [names[v] for v in place],
        np.column_stack(seen).astype(np.uint8),
        [tuple(sorted(int(now_at[p]) for p in parents[v])) for v in place],
    )


def _parents_first(parents: Parents) -> list[int]:
    order: list[int] = []
    placed: set[int] = set()
    waiting = list(range(len(parents)))
    while waiting:
        ready = [v for v in waiting if placed.issuperset(parents[v])]
        if not ready:
            raise ValueError("the arcs form a cycle")
        order += ready
        placed.update(ready)
        waiting = [v for v in waiting if v not in placed]
    return order


# Judges: how good is a graph


def parents_of(names: Sequence[str], arcs: Iterable[tuple[str, str]]) -> Parents:
    """Parents of each column from (parent, child) names."""
    at = {name: v for v, name in enumerate(names)}
    parents: list[list[int]] = [[] for _ in names]
    for parent, child in arcs:
        parents[at[child]].append(at[parent])
    return [tuple(sorted(own)) for own in parents]


def bic(codes: np.ndarray, parents: Parents) -> float:
    """BIC in nats, larger is better: maximum log-likelihood less (log m) / 2 per free parameter.

    >>> round(bic(np.array([[0, 0], [0, 0], [1, 1], [1, 1]]), [(), (0,)]), 6)
    -4.85203
    """
    n_rows = len(codes)
    n_states = codes.max(axis=0).astype(int) + 1
    total = 0.0
    for v, own in enumerate(parents):
        config = np.zeros(n_rows, np.int64)
        n_configs = 1
        for p in own:
            config = config * n_states[p] + codes[:, p]
            n_configs *= int(n_states[p])
        n_jk = np.unique(config * n_states[v] + codes[:, v], return_counts=True)[1]
        n_j = np.unique(config, return_counts=True)[1]
        total += float((n_jk * np.log(n_jk)).sum() - (n_j * np.log(n_j)).sum())
        total -= 0.5 * log(n_rows) * n_configs * (int(n_states[v]) - 1)
    return total


def essential_graph(parents: Parents) -> dict[tuple[int, int], int]:
    """The essential graph (CPDAG): (low, high) -> 0 for an edge, 1 for low -> high, 2 for high -> low.

    Chickering (1995), "A transformational characterization of equivalent Bayesian network structures", section 4:
    arcs are visited from the roots on, and each is compelled by a compelled arc before it, compelled by a
    collider, or reversible.

    >>> essential_graph([(), (0,), (1,)])
    {(0, 1): 0, (1, 2): 0}
    >>> essential_graph([(), (), (0, 1), (2,)])
    {(0, 2): 1, (1, 2): 1, (2, 3): 1}
    """
    order = _parents_first(parents)
    rank = {v: i for i, v in enumerate(order)}
    sets = [set(own) for own in parents]
    compelled: dict[tuple[int, int], bool] = {}
    for y in order:
        for x in sorted(sets[y], key=rank.__getitem__, reverse=True):
            if (x, y) in compelled:
                continue
            before = [w for w in sets[x] if compelled[w, x]]
            if any(w not in sets[y] for w in before):
                compelled.update(((z, y), True) for z in sets[y])
                break
            compelled.update(((w, y), True) for w in before)
            collides = any(z != x and z not in sets[x] for z in sets[y])
            compelled.update(((z, y), collides) for z in sets[y] if (z, y) not in compelled)
    marks = {True: 1, False: 2}
    return {(min(arc), max(arc)): marks[arc[0] < arc[1]] if forced else 0 for arc, forced in compelled.items()}


def shd(parents: Parents, others: Parents) -> int:
    """Structural Hamming distance: pairs of variables that the two essential graphs join differently.

    >>> shd([(), (0,)], [(1,), ()])
    0
    """
    a, b = essential_graph(parents), essential_graph(others)
    return sum(a.get(pair) != b.get(pair) for pair in a.keys() | b.keys())


# Clocks


@dataclass(frozen=True)
class Timed:
    """What a task returned, and the fastest of its runs."""

    result: Any
    wall: float
    cpu: float


def fastest(task: Callable[[], Any], repeat: int, enough: float = 10.0) -> Timed:
    """Run a task `repeat` times, or until that took `enough` seconds; keep the least wall and CPU time."""
    walls, cpus = [], []
    while True:
        wall, cpu = time.perf_counter(), time.process_time()
        result = task()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        if len(walls) >= repeat or sum(walls) > enough:
            return Timed(result, min(walls), min(cpus))


def resident_mb() -> float:
    """Memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


def forget_peak() -> None:
    """Let `peak_mb` count from now on, without what earlier work freed and the allocator has kept (Linux)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """The most memory this process has held, since `forget_peak` where that is possible."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)


# Print


def print_rows(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table in plain text: the first column to the left, the others to the right."""
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    print(f"\n{title}")
    for row in [header, *rows]:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
        print("  " + "  ".join(cells).rstrip())
    sys.stdout.flush()


def seconds(value: float) -> str:
    """Three figures or so.

    >>> seconds(0.01234), seconds(0.1234), seconds(12.34), seconds(123.4)
    ('0.0123', '0.123', '12.34', '123')
    """
    digits = 4 if value < 0.1 else 3 if value < 1 else 2 if value < 100 else 0
    return f"{value:.{digits}f}"


def machine() -> str:
    """The machine in words, for the line of the last result."""
    model, cpuinfo = "an unknown processor", Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = (line for line in cpuinfo.read_text().splitlines() if line.startswith("model name"))
        model = next(lines, f":{model}").split(":")[1].strip()
    return f"{os.cpu_count()} cores, {model}, Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}"
