"""Tables of users by items for the tests of rankers."""

import lzma

import numpy as np


def random_votes(seed, n_users=40, n_items=7):
    """0/1 rows with tastes: users of two kinds, items that each kind likes more or less; some items nobody chose."""
    rng = np.random.default_rng(seed)
    taste = rng.random((2, n_items)) * rng.choice([0.0, 0.5, 1.0], n_items)
    return (rng.random((n_users, n_items)) < taste[rng.integers(0, 2, n_users)]).astype(np.uint8)


def movielens_fold(folder, number):
    """(train, test) of a MovieLens 100k fold, 943 users by 1682 items."""
    parts = []
    for part in ("base", "test"):
        with lzma.open(folder / "ml-100k" / f"u{number}.{part}.xz", "rt") as lines:
            votes = np.loadtxt(lines, dtype=np.int64)
        parts.append(np.zeros((943, 1682), np.uint8))
        parts[-1][votes[:, 0] - 1, votes[:, 1] - 1] = 1
    return parts
