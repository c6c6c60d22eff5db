"""Slow twins of the rankers: one user and one item at a time, each from its definition."""

import math

import numpy as np


def naive_bayes_score(rows, user, item):
    """Eq 10 of the hybrid-random-field paper, with N = 2; None in `user` is a value nobody knows."""
    n_item = sum(row[item] for row in rows)
    score = math.log((n_item + 1) / (len(rows) + 2))
    for k, value in enumerate(user):
        if k == item or value is None:
            continue
        n_both = sum(row[item] and row[k] == value for row in rows)
        score += math.log((n_both + 0.5) / (n_item + 1))
    return score


def item_rank_score(rows, user, item, alpha, steps):
    """Iterate IR = alpha C IR + (1 - alpha) d from IR = d; d is spread evenly over the user's other items."""
    n_items = len(user)
    items = range(n_items)
    together = [[sum(row[i] and row[j] for row in rows) if i != j else 0 for j in items] for i in items]
    start = [float(value == 1 and k != item) for k, value in enumerate(user)]
    if not any(start):
        return 0.0
    start = [share / sum(start) for share in start]
    rank = start
    for _ in range(steps):
        moved = [0.0] * n_items
        for k in items:
            for j in items:
                if together[k][j]:
                    moved[j] += rank[k] * together[k][j] / sum(together[k])
        rank = [alpha * m + (1 - alpha) * d for m, d in zip(moved, start)]
    return rank[item]


def ridge_regression_score(rows, user, item, ridge, centre):
    """The ridge regression of one item on all others."""
    rows = np.array(rows, float)
    mean = rows.mean(axis=0) if centre else np.zeros(rows.shape[1])
    others = [k for k in range(rows.shape[1]) if k != item]
    X, y = (rows - mean)[:, others], (rows - mean)[:, item]
    coefficients = np.linalg.solve(X.T @ X + ridge * np.eye(len(others)), X.T @ y)
    return float(mean[item] + (np.array(user, float) - mean)[others] @ coefficients)


def low_rank_score(rows, user, item, ridge, centre, rank):
    """The Gaussian conditional mean where the covariance keeps `rank` singular vectors and the whole diagonal."""
    rows = np.array(rows, float)
    mean = rows.mean(axis=0) if centre else np.zeros(rows.shape[1])
    _, values, vectors = np.linalg.svd(rows - mean, full_matrices=False)
    kept = (vectors[:rank].T * values[:rank] ** 2) @ vectors[:rank]
    whole = (rows - mean).T @ (rows - mean)
    np.fill_diagonal(kept, np.diag(whole) + ridge)
    others = [k for k in range(rows.shape[1]) if k != item]
    coefficients = np.linalg.solve(kept[np.ix_(others, others)], kept[others, item])
    return float(mean[item] + (np.array(user, float) - mean)[others] @ coefficients)


def degree_of_agreement(scores, train, test):
    """(macro, micro) DOA, Eqs 14-16: the share of (hidden, never chosen) pairs in the right order; ties are wrong."""
    shares, right, pairs = [], 0, 0
    for own, history, hidden in zip(scores, train, test):
        wanted, never = own[hidden > 0], np.sort(own[(hidden == 0) & (history == 0)])
        if len(wanted):
            won = int(np.searchsorted(never, wanted, side="left").sum())
            right, pairs = right + won, pairs + len(wanted) * len(never)
            shares.append(won / (len(wanted) * len(never)))
    return sum(shares) / len(shares), right / pairs
