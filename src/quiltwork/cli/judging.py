"""What a model is judged by: how likely it finds rows that were held out, or where it ranks items that were hidden.

    ll, pll                       log-likelihood and pseudo-log-likelihood, mean per row
    cmll                          conditional marginal log-likelihood, mean per row (see `quiltwork.infer.groups`)
    mrr doa micro-doa auc         rankings; each is a mean over users, but for micro-doa, which is over all pairs
    ndcg@K recall@K cf            (see `quiltwork.rank.metrics`)

A trial is a table to learn from and a judge of the model that comes out; a command draws its trials from the rows of a
table or, for rankings, by a protocol (see `quiltwork.rank.protocols`):

    all-but-1          folds of users; one random item of each held-out user is hidden
    all-but-1-first    the same, but the first vote of the user
    all-but-1-fair     every item in turn, by a query of its own
    given-K            folds of users; K random items are shown and the rest is hidden
    votes              folds of votes: learned from all users, and the votes of the fold are hidden

Where the user has a test file, the votes of the first file are learned from and shown, and those of the second hidden.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from quiltwork.errors import DataError, IntractableError, ParameterError, ResourceLimitError

if TYPE_CHECKING:
    import numpy as np

    from quiltwork.data.votes import Votes

LIKELIHOODS = ("ll", "pll", "cmll")
USUAL_LIKELIHOODS = ("ll", "pll")  # cmll may take long
RANKINGS = ("mrr", "doa", "micro-doa", "auc", "ndcg@10", "recall@20", "cf")  # of the two with @, any length
IN_REPORTS = {"doa": "macro_doa", "micro-doa": "micro_doa", "cf": "cf_accuracy"}  # where they have other names
USUAL_RANKINGS = ("mrr", "doa")  # those of the hybrid-random-field paper
PROTOCOLS = ("all-but-1", "all-but-1-first", "all-but-1-fair", "given-5")  # of given-, any number

CANNOT_TELL = (IntractableError, ResourceLimitError)  # what a model raises that has no answer

Judge = Callable[[Any], tuple[dict[str, float], float]]  # model -> values by metric, and the seconds they took


@dataclass(frozen=True)
class Trials:
    """What learners are tried on: `of(learner)` gives, for each fold, a table to learn from and a judge."""

    metrics: tuple[str, ...]
    folds: int
    of: Callable[[Any], Iterator[tuple[Any, Judge]]]


def metrics(text: str) -> tuple[str, ...]:
    """The metrics in a list like `ll,pll` or `mrr,recall@5`; likelihoods and rankings are asked for apart.

    >>> metrics("mrr, recall@5")
    ('mrr', 'recall@5')
    """
    chosen = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",")))
    for name in chosen:
        if name not in (*LIKELIHOODS, *RANKINGS) and not re.fullmatch(r"(ndcg|recall)@[1-9]\d{0,8}", name):
            raise ParameterError(f"There is no metric {name!r}; there are {', '.join((*LIKELIHOODS, *RANKINGS))}.")
    if len({name in LIKELIHOODS for name in chosen}) > 1:
        raise ParameterError(
            f"Likelihoods ({', '.join(LIKELIHOODS)}) are of rows and rankings of hidden items; ask for them in two "
            f"commands. Got {text!r} instead."
        )
    return chosen


# Likelihoods


def likelihood(name: str) -> Callable[[Any, Any], np.ndarray]:
    """The function (model, rows) -> one number per row behind a metric."""
    from quiltwork.infer.blanket import pseudo_log_likelihood
    from quiltwork.infer.groups import conditional_marginal_log_likelihood
    from quiltwork.infer.likelihood import log_likelihood

    if name == "cmll":
        return lambda model, rows: conditional_marginal_log_likelihood(model, rows).rows
    return {"ll": log_likelihood, "pll": pseudo_log_likelihood}[name]


def row_trials(rows: Any, chosen: tuple[str, ...], folds: int, seed: int) -> Trials:
    """Cross-validation by row; the states of the variables are those of the whole table."""

    def of(learner: Any) -> Iterator[tuple[Any, Judge]]:
        data = learner._encode(rows)[1]
        for train, test in _folds(data.n_samples, folds, seed):
            yield data.rows(train), partial(_mean_likelihoods, chosen, data.rows(test))

    return Trials(chosen, folds, of)


def _mean_likelihoods(chosen: Sequence[str], rows: Any, model: Any) -> tuple[dict[str, float], float]:
    began = time.perf_counter()
    means = {}
    for name in chosen:
        try:
            means[name] = float(likelihood(name)(model, rows).mean())
        except CANNOT_TELL:
            means[name] = float("nan")
    return means, time.perf_counter() - began


def _folds(n: int, folds: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(places to learn from, places to test on) of each fold; a place is tested in one fold."""
    import numpy as np

    from quiltwork.rng import stream

    if n < folds:
        raise DataError(f"{folds} folds need at least {folds} rows. Got {n} instead; use fewer folds or more rows.")
    fold_of = stream(seed).permutation(n) % folds
    for fold in range(folds):
        yield np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)


# Rankings


def vote_trials(
    votes: Votes, test: Votes | None, chosen: tuple[str, ...], protocol: str, folds: int, seed: int
) -> Trials:
    """Rankings of the votes of a test file, or of votes that a protocol hides."""
    from quiltwork.data.columns import from_sparse
    from quiltwork.rank.protocols import given_fold, row_folds

    if test is not None:
        parts = [given_fold(votes, test)]
    elif protocol == "votes":
        parts = [given_fold(train, hidden) for train, hidden in _vote_folds(votes, folds, seed)]
    else:
        parts = list(row_folds(votes, asker(protocol, seed), folds, seed))

    def of(learner: Any) -> Iterator[tuple[Any, Judge]]:
        for part in parts:
            yield from_sparse(part.train, part.items), partial(rank_hidden, chosen, part.queries)

    return Trials(chosen, len(parts), of)


def asker(protocol: str, seed: int) -> Callable[[Any], Any]:
    """The function from choices to queries behind a protocol of the users in a table."""
    from quiltwork.rank.protocols import all_but_1, given_k

    if re.fullmatch(r"given-[1-9]\d{0,8}", protocol):
        return lambda table: given_k(table, int(protocol.removeprefix("given-")), seed)
    which = {"all-but-1": "random", "all-but-1-first": "first", "all-but-1-fair": "fair"}.get(protocol)
    if which is None:
        raise ParameterError(
            f"There is no protocol {protocol!r} here; there are {', '.join(PROTOCOLS)} (or another number) and, to "
            "compare, votes."
        )
    return lambda table: all_but_1(table, which, seed)


def rank_hidden(chosen: Sequence[str], queries: Any, model: Any) -> tuple[dict[str, float], float]:
    """How high a model ranks what is hidden from it, and the seconds it took to score."""
    from quiltwork.rank.metrics import ndcg_at, recall_at
    from quiltwork.rank.protocols import evaluate
    from quiltwork.rank.recommend import item_scores

    report = evaluate(lambda histories: item_scores(model, histories), queries)
    values = dict(report.values)
    for name in chosen:
        measure, _, length = name.partition("@")
        if length:
            values[name] = (ndcg_at if measure == "ndcg" else recall_at)(report.places, int(length))
    means = replace(report, values=values).means()
    return {name: means[IN_REPORTS.get(name, name)] for name in chosen}, report.score_seconds


def _vote_folds(votes: Votes, folds: int, seed: int) -> Iterator[tuple[Votes, Votes]]:
    """(votes to learn from, votes to hide) of each fold; a repeated vote counts once."""
    import numpy as np

    _, once = np.unique(votes.user.astype(np.int64) * len(votes.items) + votes.item, return_index=True)
    for train, test in _folds(len(once), folds, seed):
        yield _part(votes, once[train]), _part(votes, once[test])


def _part(votes: Votes, which: np.ndarray) -> Votes:
    return replace(votes, user=votes.user[which], item=votes.item[which], times=None)
