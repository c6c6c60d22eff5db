"""Becker, Geiger, Meek (2000): perfect tree-like Markovian distributions. What the paper proves, seen at work.

    python papers/perfect_markov_trees.py                 # all; the results are kept in RESULTS.md
    python papers/perfect_markov_trees.py likelihoods     # one part: likelihoods, theorem, limits

The paper has no experiments. `likelihoods` are those of Chow and Liu's trees on 13 binary sets of the literature on
density estimation, beside an independent program (NumPy and SciPy); smoothing is chosen on the validation rows.
`theorem` compares separation with independence for every question there is about many small trees. `limits` are
distributions where the theorem says nothing, and what goes wrong there.
"""

from __future__ import annotations

import itertools
import sys
import time

import numpy as np
from common import data_folder, keep, markdown

import quiltwork as qw
from quiltwork.cpds.table import TableCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.data.numbers import NumberEncoder
from quiltwork.models.bayesian import BayesianNet

# Chow-Liu, mean test log-likelihood of a row, by the independent program
REFERENCE = {
    "nltcs": -6.759, "msnbc": -6.540, "kdd": -2.295, "plants": -16.524, "baudio": -44.375, "jester": -58.230,
    "bnetflix": -60.250, "msweb": -10.193, "book": -37.839, "tmovie": -64.791, "cwebkb": -163.471, "cr52": -94.399,
    "c20ng": -164.129,
}  # fmt: skip
SMOOTHINGS = (0.04, 0.4, 4.0)  # 0.01, 0.1 or 1 row in each cell of a pair


# Likelihoods


def likelihoods() -> None:
    rows = []
    for name, reference in REFERENCE.items():
        stored = np.load(data_folder() / "debd" / f"{name}.npz")
        train, valid, test = (
            np.unpackbits(stored[part], axis=1)[:, : int(stored["n_vars"])] for part in ("train", "valid", "test")
        )
        trees = {smoothing: qw.learn("tree", train, smoothing=smoothing) for smoothing in SMOOTHINGS}
        best = max(trees, key=lambda smoothing: qw.log_likelihood(trees[smoothing], valid).mean())
        seconds, default = min((timed(train) for _ in range(5)), key=lambda run: run[0])
        ours, plain = (float(qw.log_likelihood(tree, test).mean()) for tree in (trees[best], default))
        rows.append([
            name, str(len(default.variables)), str(len(default.edges)), f"{ours:.3f}", f"{reference:.3f}",
            f"{ours - reference:+.4f}", f"{best:g}", f"{plain:.3f}", "yes" if qw.is_perfect(default) else "no",
            f"{seconds:.3f} s",
        ])  # fmt: skip
        print(" | ".join(rows[-1]), flush=True)
    headings = [
        "set", "variables", "edges", "test LL", "reference", "difference", "smoothing", "LL with smoothing 1",
        "perfect", "learning",
    ]  # fmt: skip
    keep("chow-liu", "## Chow-Liu trees: mean test log-likelihood of a row\n\n" + markdown(headings, rows))


def timed(train: np.ndarray) -> tuple[float, qw.DiscreteTree]:
    began = time.perf_counter()
    tree = qw.learn("tree", train)
    return time.perf_counter() - began, tree


# The theorem: in a perfect tree whatever is independent is separated


def theorem(n_trees: int = 200, n_vars: int = 5) -> None:
    rows = []
    for family in ("binary", "Gaussian"):
        for broken in (False, True):
            asked = wrong = perfect = 0
            for seed in range(n_trees):
                tree, dependence = (binary if family == "binary" else gaussian)(seed, n_vars, broken)
                perfect += qw.is_perfect(tree)
                for a, b, c in questions(n_vars):
                    separated = qw.separated(tree, f"v{a}", f"v{b}", [f"v{v}" for v in c])
                    asked += 1
                    wrong += separated != (dependence(a, b, c) < 1e-10)
            rows.append([
                f"{family}, one edge without dependence" if broken else family, str(n_trees), str(perfect),
                f"{asked:,}", f"{wrong:,}",
            ])  # fmt: skip
    headings = ["trees", "number", "perfect by the edge test", "questions", "separation and independence differ in"]
    text = f"## The theorem: all questions about random trees of {n_vars} variables\n\n" + markdown(headings, rows)
    keep("perfect-trees", text)


def questions(n: int):
    """Every two variables, and every set of others that may be given."""
    for a, b in itertools.combinations(range(n), 2):
        others = [v for v in range(n) if v not in (a, b)]
        for k in range(len(others) + 1):
            for c in itertools.combinations(others, k):
                yield a, b, c


def random_parents(rng: np.random.Generator, n: int) -> list[int]:
    return [-1, *(int(rng.integers(v)) for v in range(1, n))]


def binary(seed: int, n: int, broken: bool):
    """A strictly positive binary tree, and how far two variables are from independent given others."""
    rng = np.random.default_rng(seed)
    parent = random_parents(rng, n)
    tables = []
    for p in parent:
        ones = rng.permutation([rng.uniform(0.1, 0.4), rng.uniform(0.6, 0.9)])[: 1 if p < 0 else 2]
        tables.append(np.column_stack([1 - ones, ones]))
    if broken:
        v = int(rng.integers(1, n))
        tables[v][1] = tables[v][0]
    encoder = Encoder(tuple(Variable(f"v{v}", (0, 1)) for v in range(n)))
    tree = qw.DiscreteTree.of_tables(encoder, parent, tables)
    joint = np.array([
        np.prod([tables[v][0 if p < 0 else cell[p], cell[v]] for v, p in enumerate(parent)])
        for cell in itertools.product((0, 1), repeat=n)
    ]).reshape((2,) * n)  # fmt: skip
    return tree, lambda a, b, c: dependence(joint, a, b, c)


def gaussian(seed: int, n: int, broken: bool):
    """A Gaussian tree, and the size of partial correlations in it."""
    rng = np.random.default_rng(seed)
    parent = np.array(random_parents(rng, n))
    correlation = np.where(parent >= 0, rng.uniform(0.3, 0.8, n) * rng.choice([-1, 1], n), 0.0)
    if broken:
        correlation[rng.integers(1, n)] = 0.0
    covariance = np.eye(n)
    for v in range(1, n):
        covariance[v, :v] = covariance[:v, v] = correlation[v] * covariance[parent[v], :v]
    encoder = NumberEncoder(tuple(Variable(f"v{v}", ()) for v in range(n)))

    def partial(a: int, b: int, c: tuple[int, ...]) -> float:
        inverse = np.linalg.inv(covariance[np.ix_([a, b, *c], [a, b, *c])])
        return abs(inverse[0, 1]) / np.sqrt(inverse[0, 0] * inverse[1, 1])

    return qw.GaussianTree(encoder, parent, np.zeros(n), np.ones(n), correlation), partial


def dependence(joint: np.ndarray, a: int, b: int, c: tuple[int, ...]) -> float:
    """The largest |P(ab | c) - P(a | c) P(b | c)|."""
    others = tuple(v for v in range(joint.ndim) if v not in (a, b, *c))
    order = np.argsort(np.argsort([a, b, *c]))
    table = joint.sum(axis=others).transpose(order).reshape(joint.shape[a], joint.shape[b], -1)
    table = table / np.maximum(table.sum(axis=(0, 1)), 1e-300)
    return float(np.abs(table - table.sum(axis=1)[:, None] * table.sum(axis=0)[None]).max())


# Where the theorem says nothing


def limits() -> None:
    coin = [[0.5, 0.5]]
    xor = [[0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.9, 0.1]]
    switch = [[0.8, 0.2], [0.9, 0.1], [0.3, 0.7], [0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7], [0.4, 0.6]]
    three = [[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]]
    hat = [[0.3, 0.7], [0.9, 0.1], [0.3, 0.7]]
    copy = [[1.0, 0.0], [0.0, 1.0]]
    cases = [
        ("polytree a → c ← b, c a noisy exclusive or",
         {"a": ((), coin), "b": ((), coin), "c": ("ab", xor)}, "a", "c", ""),
        ("polytree a, b, d → c, where d decides whether c listens to a or b",
         {"a": ((), [[0.4, 0.6]]), "b": ((), [[0.3, 0.7]]), "d": ((), coin), "c": ("abd", switch)}, "a", "b", "cd"),
        ("chain a − c − e, three states of c",
         {"c": ((), [[1 / 3] * 3]), "a": ("c", three), "e": ("c", hat)}, "a", "e", ""),
        ("chain a − b − c of copies, zeros",
         {"a": ((), coin), "b": ("a", copy), "c": ("b", copy)}, "a", "b", "c"),
    ]  # fmt: skip
    rows = []
    for what, tables, one, other, given in cases:
        network, joint = small_network(tables)
        names = list(tables)
        weakest = min(
            dependence(joint, names.index(p), names.index(v), ()) for v, (own, _) in tables.items() for p in own
        )
        far = dependence(joint, names.index(one), names.index(other), tuple(map(names.index, given)))
        separated = qw.separated(network, one, other, list(given))
        rows.append([
            what, f"{weakest:.3f}", f"{one}, {other}" + (f" given {', '.join(given)}" if given else ""),
            "yes" if far < 1e-12 else "no", "yes" if separated else "no", refusal(network),
        ])  # fmt: skip
    headings = ["distribution", "weakest edge", "question", "independent", "separated", "what `is_perfect` says"]
    keep("imperfect-trees", "## Where the theorem ends\n\n" + markdown(headings, rows))


def small_network(tables: dict) -> tuple[BayesianNet, np.ndarray]:
    """The network with these parents and tables by name, and its joint distribution."""
    names = list(tables)
    n_states = [len(table[0]) for _, table in tables.values()]
    encoder = Encoder(tuple(Variable(name, tuple(range(r))) for name, r in zip(names, n_states)))
    cpds = tuple(
        TableCPD(v, tuple(map(names.index, own)), np.array(table)) for v, (own, table) in enumerate(tables.values())
    )
    joint = np.empty(n_states)
    for cell in itertools.product(*map(range, n_states)):
        p = 1.0
        for cpd in cpds:
            config = 0
            for u in cpd.parents:
                config = config * n_states[u] + cell[u]
            p *= cpd.probs[config, cell[cpd.child]]
        joint[cell] = p
    return BayesianNet(encoder, cpds), joint


def refusal(network: BayesianNet) -> str:
    try:
        return str(qw.is_perfect(network))
    except qw.errors.InputError as reason:
        return f"“{reason}”"


if __name__ == "__main__":
    parts = {"likelihoods": likelihoods, "theorem": theorem, "limits": limits}
    for part in sys.argv[1:] or parts:
        parts[part]()
