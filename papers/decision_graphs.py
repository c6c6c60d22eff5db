"""Chickering, Heckerman, Meek (1997), "A Bayesian approach to learning Bayesian networks with local structure", again.

    QUILTWORK_DATA=... python papers/decision_graphs.py [--rows 10000] [--seed 0]

Six sets of operators (C complete splits, B binary splits, M merges) and, where there is one, the model with complete
tables (COMP) are compared by the score of what greedy search finds with them: Promoter and Splice (uniform prior and
U-PN with five equivalent sample sizes), and ALARM, where the global structure is the generating one (S), found by the
search (U), or found among the structures that respect the generating order (C). As in the paper, a value
is the natural logarithm of how many times more probable a model is than the worst of its row.

The paper leaves Splice with U-PN out; here it takes a minute, for a prior network is asked for every path that merges
lead together, and with a large equivalent sample these are tens of thousands.

Ambiguous letters in Splice are states of their own. The digits of the paper's tables are lost in the copy at hand, so
its three claims stand beside ours instead of its numbers.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from common import data_folder, keep, markdown

import quiltwork as qw

SETS = ("C", "B", "CB", "CM", "BM", "CBM")


def genes(name: str) -> dict[str, np.ndarray]:
    """The class and the nucleotides of every sequence, by column."""
    lines = (data_folder() / "genes" / f"{name}.data").read_text().splitlines()
    fields = [[field.strip() for field in line.split(",")] for line in lines if line.strip()]
    letters = np.array([list(sequence.upper()) for _, _, sequence in fields])
    columns = {f"x{k}": letters[:, k] for k in range(letters.shape[1])}
    return {"class": np.array([label for label, *_ in fields]), **columns}


def score(X: object, operators: str, **more: object) -> float:
    """The score of what greedy search finds with these operators, every structure equally probable beforehand."""
    cpd = "graph" if "M" in operators else "tree"
    return qw.BayesianNetwork(cpd=cpd, operators=operators, kappa=1.0, **more).fit(X).score_


def relative(scores: list[float]) -> list[str]:
    return [f"{one - min(scores):,.0f}" for one in scores]


def classification(name: str, sizes: list[float | None]) -> tuple[list[list[str]], list[list[float]]]:
    """One row per prior: the graph of the class over all nucleotides."""
    X = genes(name)
    fixed = {"search": "fixed", "start": [(column, "class") for column in X if column != "class"]}
    rows, scores = [], []
    for size in sizes:
        prior = {} if size is None else {"score": "bdeu", "equivalent_sample_size": size}
        scores.append([score(X, operators, **fixed, **prior) for operators in SETS])
        rows.append([name, "uniform" if size is None else f"U-PN {size:g}", *relative(scores[-1])])
    return rows, scores


def alarm(n_rows: int, seed: int) -> dict[str, list[float]]:
    """Scores by experiment: COMP, then the six sets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two rows of the file sum to 0.9999999
        net = qw.read_network(data_folder() / "bif" / "alarm.bif.gz")
    X = qw.sample(net, n_rows, seed=seed)
    children: dict[str, set[str]] = {v.name: set() for v in net.variables}
    for parent, child in net.arcs:
        children[parent].add(child)

    def below(name: str) -> set[str]:
        return children[name].union(*(below(child) for child in children[name]))

    against = [(later, name) for name in children for later in below(name)]
    tables = {"cpd": "table", "score": "uniform", "kappa": 1.0}
    out = {}
    for title, comp, more in (
        ("S", {"search": "fixed", "start": net}, {"search": "fixed", "start": net}),
        ("U", {"search": "climb"}, {}),
        ("C", {"search": "climb", "start": net, "forbidden": against}, {"forbidden": against}),
    ):
        whole = qw.BayesianNetwork(**tables, **comp).fit(X).score_
        out[title] = [whole, *(score(X, operators, **more) for operators in SETS)]
    return out


def claims(rows: list[list[float]], experiments: dict[str, list[float]]) -> list[str]:
    """What the paper concludes, and whether it holds here."""
    everything = [*rows, *(one[1:] for one in experiments.values())]
    merging = sum(one[with_m] > one[without] for one in everything for without, with_m in ((0, 3), (1, 4), (2, 5)))
    hurt = sum(one[2] < one[1] for one in everything)
    return [
        f"Merging always helps: in {merging} of {3 * len(everything)} comparisons.",
        f"Complete splits beside binary ones hurt trees (CB below B): in {hurt} of {len(everything)} rows.",
        "Graphs beat complete tables on the generating structure: by "
        f"{max(experiments['S'][4:]) - experiments['S'][0]:,.0f} nats.",
        "Every graph found together with its structure beats every model on the generating one: "
        + ("yes." if min(experiments["U"][4:]) > max(experiments["S"]) else "no."),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    began = time.perf_counter()
    priors = [None, 10, 20, 30, 40, 50]
    promoter, promoter_scores = classification("promoters", priors)
    splice, splice_scores = classification("splice", priors)
    experiments = alarm(asked.rows, asked.seed)
    worst = min(min(one) for one in experiments.values())
    across = [[title, *(f"{one - worst:,.0f}" for one in scores)] for title, scores in experiments.items()]
    within = [[title, *relative(scores)] for title, scores in experiments.items()]
    text = "\n\n".join(
        [
            "## Decision graphs (papers/decision_graphs.py)",
            f"ALARM with {asked.rows:,} cases, seed {asked.seed}; {time.perf_counter() - began:.0f} s in all.",
            markdown(["data", "prior", *SETS], [*promoter, *splice]),
            "ALARM, each experiment against its worst (S static, U unconstrained, C constrained structure):",
            markdown(["", "COMP", *SETS], within),
            "ALARM, all experiments against the worst of all:",
            markdown(["", "COMP", *SETS], across),
            "\n".join(f"- {claim}" for claim in claims(promoter_scores + splice_scores, experiments)),
        ]
    )
    keep("decision graphs", text)


if __name__ == "__main__":
    main()
