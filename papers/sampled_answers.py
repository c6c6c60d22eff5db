"""How far sampled and approximate answers lie from exact ones, by how large the weights of a network are.

    python papers/sampled_answers.py

Random Markov networks of 3 to 10 variables with up to three states and three features a variable, conjunctions of up to
four conditions with normal weights. Of each the distribution of one variable is asked for, with and without another for
evidence, and the logarithm of Z. Samplers draw as many samples as they do by default. Needs no data; two minutes.
"""

from __future__ import annotations

import numpy as np
from common import keep, markdown

import quiltwork as qw
from quiltwork.data.encode import Encoder

DEVIATIONS = (1.5, 3.0, 6.0, 12.0)  # of the weights
N_NETWORKS = 100  # for each deviation
SAMPLERS, APPROXIMATIONS = ("gibbs", "mcsat"), ("bp", "mf")


def random_network(rng: np.random.Generator, deviation: float) -> qw.MarkovNet:
    n_vars = int(rng.integers(3, 11))
    n_states = rng.integers(2, 4, n_vars)
    features = []
    for _ in range(3 * n_vars):
        scope = rng.choice(n_vars, int(rng.integers(1, min(4, n_vars) + 1)), replace=False)
        features.append([(int(v), int(rng.integers(n_states[v]))) for v in sorted(scope)])
    encoder = Encoder(tuple(qw.Variable(f"v{v}", tuple(range(r))) for v, r in enumerate(n_states.tolist())))
    first, pairs = np.cumsum([0, *map(len, features)]), np.array([pair for own in features for pair in own])
    weights = deviation * rng.normal(size=len(features))
    return qw.MarkovNet(encoder, first, pairs[:, 0], pairs[:, 1], weights, np.zeros(int(n_states.sum())))


def answers(method: str, deviation: float) -> list[tuple[bool, float, float]]:
    """(whether it converged, distance from the truth, its own error) of every question."""
    found = []
    for seed in range(N_NETWORKS):
        rng = np.random.default_rng(seed)
        model = random_network(rng, deviation)
        asked, given = (f"v{v}" for v in rng.choice(len(model.variables), 2, replace=False))
        for evidence in ({}, {given: 0}):
            exact = qw.query(model, asked, evidence, method="exact")
            answer = qw.query(model, asked, evidence, method=method)
            far = float(np.abs(answer.probabilities - exact.probabilities).max())
            found.append((bool(answer.converged), far, float(answer.error or 0.0)))
    return found


def sampled() -> str:
    rows = []
    for deviation in DEVIATIONS:
        for method in SAMPLERS:
            found = answers(method, deviation)
            agreed = [(far, error) for converged, far, error in found if converged]
            beyond = [far for far, error in agreed if far > 4 * error]
            largest = max((far / error for far, error in agreed), default=0.0)
            rows.append([
                f"{deviation:g}", method, f"{len(agreed)} of {len(found)}", f"{len(beyond)}", f"{largest:.1f}",
                f"{sum(far > 0.01 for far in beyond)}",
            ])  # fmt: skip
    headings = ["deviation of the weights", "method", "answers whose chains agree", "beyond 4 errors of the truth",
                "largest distance in errors", "beyond 4 errors and by more than 0.01"]  # fmt: skip
    return markdown(headings, rows)


def approximate() -> str:
    rows = []
    for deviation in DEVIATIONS:
        for method in APPROXIMATIONS:
            found = answers(method, deviation)
            far = np.array([distance for converged, distance, _ in found if converged])
            rows.append([
                f"{deviation:g}", method, f"{len(far)} of {len(found)}", f"{np.median(far):.3f}", f"{far.max():.3f}",
            ])  # fmt: skip
    return markdown(["deviation of the weights", "method", "answers that settled", "median error", "largest"], rows)


def annealed() -> str:
    rows = []
    for deviation in DEVIATIONS:
        inside, settled, distances = 0, 0, []
        for seed in range(N_NETWORKS):
            model = random_network(np.random.default_rng(seed), deviation)
            exact, found = (qw.log_partition(model, method=method) for method in ("exact", "ais"))
            assert found.lower is not None and found.upper is not None
            inside += found.lower - 1e-9 <= exact.value <= found.upper + 1e-9
            if found.converged:
                settled += 1
                distances.append(abs(found.value - exact.value) / max(found.error or 0.0, 1e-12))
        beyond = sum(distance > 4 for distance in distances)
        rows.append([
            f"{deviation:g}", f"{settled} of {N_NETWORKS}", f"{beyond}", f"{max(distances):.1f}", f"{inside}",
        ])  # fmt: skip
    headings = ["deviation of the weights", "walks of both directions agree", "of these beyond 4 errors",
                "largest distance in errors", "truth between the two directions"]  # fmt: skip
    return markdown(headings, rows)


if __name__ == "__main__":
    parts = {
        "Sampled answers beside exact ones": sampled,
        "Loopy belief propagation and mean field beside exact answers": approximate,
        "Annealed log Z beside the exact one": annealed,
    }
    keep("sampled answers", "\n\n".join(f"## {title}\n\n{tell()}" for title, tell in parts.items()))
