"""Tables and figures of Freno, Trentin, Gori (2009), Scalable pseudo-likelihood estimation in hybrid random fields.

    python papers/hybrid_random_fields.py movielens citations figures

movielens  Table 3: degree of agreement on MovieLens 100k, the five folds that come with it
citations  Tables 1 and 2: mean reciprocal rank on CiteSeer and Cora, 3 partitions into 5 folds; the paper does not say
           which reference is hidden, so both `first` (in file order) and `fair` (each in turn) are given
figures    Figures 1-4: learning time against the number of variables, carried on from 75 to 10,000

"plain reference" is an implementation written from the paper alone, with which ours was compared.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from common import citations, keep, markdown, movielens_folds
from scipy.sparse import csr_array

import quiltwork as qw
from quiltwork.rank.protocols import Queries, RankingReport, all_but_1, evaluate, given_fold, over_folds, row_folds

INNER = {"chosen": "inside the training fold"}
LATENT_GRID = [
    {"rank": rank, "confidence": confidence, "ridge": ridge}
    for rank in (32, 64)
    for confidence in (5.0, 10.0, 20.0)
    for ridge in (20.0, 60.0, 100.0)
]
CHOSEN: dict[int, dict] = {}  # by fold, each of which is alive while the table is made

# label, learner, parameters, and macro / micro DOA: of the paper, of the plain reference
MOVIELENS = [
    ("HRF k=8 k*=10", "hrf", {}, ".8983 / .8807", ".8985 / .8809"),
    ("MRF k=3", "mn", {"structure": "chi2", "k": 3}, ".8947 / .8809", ".8957 / .8820"),
    ("NB", "nb", {}, ".8887 / .8666", ".8878 / .8666"),
    ("DN k=8, tables", "dn", {"k": 8}, ".8051 / .8133", ".8916 / .8721 (trees)"),
    ("ItemRank", "itemrank", {}, ".8776 / .8706", ".8528 / .8565"),
    ("popularity", "popularity", {}, "", ".8571 / .8524"),
    ("48 averaged HRFs", "hrf", {"n_models": 48}, "", ".9290 / .9160"),
    ("Gaussian field, ridge 1000 (EASE)", "gmf", {"ridge": 1000.0}, "", ".9328 / .9177"),
    ("latent causes (iALS)", "latent", INNER, "", ".9398 / .9250"),
    ("stack: 24 HRFs + latent causes", "stack", INNER, "", ""),
]  # fmt: skip

STACK = {
    "members": ("hrf:n_models=15", "itemrank:steps=1", "gmf:ridge=3:centre=true", "mn:k=8"),
    "metric": "mrr",
    "steps": 5,
    "splits": 5,
}
GAUSSIAN = {"ridge": 3.0, "centre": True}
K2 = {"search": "k2", "score": "loglik"}

# label, learner, parameters, and for CiteSeer and Cora: paper, plain reference first / fair
CITATIONS = [
    ("HRF k=8 k*=10", "hrf", {}, (".2865", ".3001 / .2807"), (".2647", ".2872 / .2420")),
    ("BN by K2, 2 parents", "bn", {**K2, "max_parents": 2}, (".2823", ".2865 / .2604"), (".2916", ".2967 / .2426")),
    ("BN by K2, 3 parents", "bn", {**K2, "max_parents": 3}, ("", ""), ("", "")),
    ("MRF k=3", "mn", {"structure": "chi2", "k": 3}, (".1771", ".2732 / .2575"), (".0704", ".2964 / .2208")),
    ("NB", "nb", {}, (".0537", ".0541 / .0590"), (".1519", ".1493 / .0615")),
    ("DN k=8, tables", "dn", {"k": 8}, (".0130", ".2844 / .2557 (trees)"), (".0417", ".2628 / .2067 (trees)")),
    ("ItemRank, one step", "itemrank", {"steps": 1}, ("", ".3023 / .3030"), ("", ".3828 / .2912")),
    ("popularity", "popularity", {}, ("", ""), ("", "")),
    ("15 averaged HRFs", "hrf", {"n_models": 15}, ("", ".3306 / .3046"), ("", ".3173 / .2701")),
    ("Gaussian field, ridge 3, centred", "gmf", GAUSSIAN, ("", ".3089 / .3039"), ("", ".3573 / .2781")),
    ("stack: HRFs + walk + fields", "stack", STACK, ("", ""), ("", "")),
]  # fmt: skip


def learned(learner: str, parameters: dict, train: object) -> tuple[object, float]:
    """The model, and the seconds that learning took (the choice of parameters apart)."""
    if parameters is INNER:
        latent = chosen_inside(train)
        text = "latent:" + ":".join(f"{name}={value}" for name, value in latent.items())
        parameters = latent if learner == "latent" else {"members": ("hrf:n_models=24", text)}
    began = time.perf_counter()
    model = qw.learn(learner, train, **parameters)
    return model, time.perf_counter() - began


def chosen_inside(train: csr_array) -> dict:
    """The settings of latent causes that rank a hidden fifth of the training votes best; no test vote is looked at."""
    if id(train) in CHOSEN:
        return CHOSEN[id(train)]
    votes = train.tocoo()
    hidden = np.random.default_rng(0).random(votes.nnz) < 0.2
    parts = [csr_array((votes.data[p], (votes.row[p], votes.col[p])), shape=votes.shape) for p in (~hidden, hidden)]
    inner = given_fold(*parts)
    found = [judged(qw.learn("latent", inner.train, **one), inner.queries).means()["macro_doa"] for one in LATENT_GRID]
    CHOSEN[id(train)] = LATENT_GRID[int(np.argmax(found))]
    print("chosen inside the training fold:", CHOSEN[id(train)], flush=True)
    return CHOSEN[id(train)]


def judged(model: object, queries: Queries) -> RankingReport:
    """Rank for every query. DOA counts ties as wrong, as the paper does; a rank among equals is their mean rank."""
    return evaluate(partial(qw.item_scores, model), queries, ties="mean")


def movielens() -> None:
    folds = [given_fold(train, test) for train, test in movielens_folds()]
    rows = []
    for label, learner, parameters, paper, reference in MOVIELENS:
        models = [learned(learner, parameters, fold.train) for fold in folds]
        reports = [judged(model, fold.queries) for (model, _), fold in zip(models, folds, strict=True)]
        means = over_folds(reports)
        doa = " / ".join(f"{means[m][0]:.4f} ± {means[m][1]:.4f}" for m in ("macro_doa", "micro_doa"))
        others = [f"{means[m][0]:.3f}" for m in ("ndcg@10", "recall@20", "mrr")]
        learning = np.median([seconds for _, seconds in models])
        scoring = np.median([report.score_seconds for report in reports])
        rows.append([label, doa, paper, reference, *others, f"{learning:.2f} s", f"{scoring:.2f} s"])
        print(" | ".join(rows[-1]), flush=True)
    headings = [
        "ranker",
        "macro / micro DOA",
        "paper",
        "plain reference",
        "NDCG@10",
        "Recall@20",
        "MRR",
        "learning",
        "scoring",
    ]
    keep("movielens", "## Table 3: MovieLens 100k, degree of agreement\n\n" + markdown(headings, rows))


def citation_tables() -> None:
    for column, name in enumerate(("citeseer", "cora")):
        votes = citations(name)
        rows = []
        for label, learner, parameters, *published in CITATIONS:
            paper, reference = published[column]
            found: dict[str, list[RankingReport]] = {"first": [], "fair": []}
            seconds = []
            for partition in range(3):
                asked = [row_folds(votes, partial(all_but_1, which=which), 5, partition) for which in found]
                for first, fair in zip(*asked, strict=True):  # the same rows, asked about in two ways
                    model, took = learned(learner, parameters, first.train)
                    found["first"].append(judged(model, first.queries))
                    found["fair"].append(judged(model, fair.queries))
                    seconds.append(took)
            mrr = [over_folds(found[which])["mrr"] for which in found]
            cells = " / ".join(f"{mean:.4f} ± {deviation:.4f}" for mean, deviation in mrr)
            rows.append([label, cells, paper, reference, f"{np.median(seconds):.2f} s"])
            print(name, " | ".join(rows[-1]), flush=True)
        number = column + 1
        title = f"## Table {number}: {name}, mean reciprocal rank, `first` / `fair`"
        headings = ["ranker", "MRR first / fair", "paper", "plain reference first / fair", "learning"]
        keep(name, title + "\n\n" + markdown(headings, rows))


# Figures 1-4

LEARNERS = {  # learner, parameters, most variables
    "BN (Algorithm 1)": ("bn", {"search": "climb", "score": "mdl"}, 10_000),
    "BN (K2, 3 parents)": ("bn", {"search": "k2", "score": "loglik", "max_parents": 3}, 10_000),
    "DN": ("dn", {"k": 8}, 10_000),
    "MRF": ("mn", {"structure": "chi2", "k": 6}, 10_000),
    "HRF": ("hrf", {"k": 8, "k_star": 10}, 10_000),
}
SIZES = (25, 50, 75, 150, 300, 600, 1250, 2500, 5000, 10_000)
PAPER_75 = dict(zip(LEARNERS, ("about 1,300 s", "about 70 s", "about 8 s", "about 85 s", "about 18 s"), strict=True))


def binary_table(n_vars: int, n_samples: int = 1000, seed: int = 0) -> np.ndarray:
    """Rows of a random sparse binary network: up to three parents among the variables before, columns shuffled."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n_samples, n_vars), np.uint8)
    for v in range(n_vars):
        parents = rng.choice(v, min(v, int(rng.integers(0, 4))), replace=False)
        config = X[:, parents] @ (1 << np.arange(len(parents)))
        X[:, v] = rng.random(n_samples) < rng.beta(0.5, 0.5, 2 ** len(parents))[config.astype(int)]
    return X[:, rng.permutation(n_vars)]


def figures() -> None:
    seconds: dict[str, dict[int, float]] = {label: {} for label in LEARNERS}
    for n_vars in SIZES:
        X = binary_table(n_vars)
        for label, (learner, parameters, largest) in LEARNERS.items():
            if n_vars <= largest:
                qw.learn(learner, X[:, :12], **parameters)  # kernels are compiled or loaded before the clock starts
                began = time.perf_counter()
                qw.learn(learner, X, **parameters)
                seconds[label][n_vars] = time.perf_counter() - began
        print(n_vars, {label: round(s[n_vars], 3) for label, s in seconds.items() if n_vars in s}, flush=True)
    rows = [
        [label, PAPER_75[label], *(f"{s[n]:.3g}" if n in s else "-" for n in SIZES)] for label, s in seconds.items()
    ]
    text = "## Figures 1-4: seconds to learn from 1,000 rows\n\n"
    text += markdown(["learner", "paper, 75 variables", *(f"{n:,}" for n in SIZES)], rows)
    text += "\n\nThe paper's times are read off its figures (2.34 GHz PC, Java). "
    text += "The figure is `learning_time.png`, drawn by this script."
    keep("figures", text)
    draw(seconds)


def draw(seconds: dict[str, dict[int, float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(8, 5))
    for label, own in seconds.items():
        ax.loglog(list(own), list(own.values()), marker="o", label=label)
    ax.axvline(75, color="grey", linestyle=":", label="where the paper's figures end")
    ax.set(xlabel="number of variables", ylabel="seconds", title="Learning time, 1,000 rows, binary variables")
    ax.legend()
    fig.savefig(Path(__file__).with_name("learning_time.png"), dpi=120)


if __name__ == "__main__":
    parts = {"movielens": movielens, "citations": citation_tables, "figures": figures}
    for part in sys.argv[1:] or parts:
        parts[part]()
