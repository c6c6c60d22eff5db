"""Samples: small tables that come with the library, to try it on."""

from __future__ import annotations

import numpy as np

from quiltwork.data.votes import Votes, read_votes
from quiltwork.rng import stream

SHELVES = {
    "mystery": (
        "The Locked Orchard", "Nine Cold Keys", "A Clerk Too Quiet", "The Second Alibi", "Footprints in Flour",
        "The Violet Receipt", "Murder at Low Tide", "The Borrowed Butler", "Who Wound the Clock", "Ink on the Glove",
    ),
    "space": (
        "Orbit of Salt", "The Last Airlock", "Seven Suns of Marrow", "A Map of Silence", "Driftwood Station",
        "The Comet Tax", "Children of the Hull", "Slow Light", "The Ice Between Stars", "Gravity's Apprentice",
    ),
    "cooking": (
        "Bread by the Hour", "Forty Quiet Soups", "The Patient Oven", "Salt, Smoke, Thyme", "Dinner from a Drawer",
        "A Year of Beans", "The Onion Papers", "Pickles and Peace", "One Pan, Two Spoons", "Cake Without Clocks",
    ),
    "gardens": (
        "The Wall of Beans", "Moss and Mortar", "A Hedge Against Winter", "Roses for the Impatient", "Compost Diaries",
        "Tulips by Moonlight", "Ten Square Yards", "The Slug Treaty", "Pruning for Poets", "Ferns in the Hall",
    ),
    "history": (
        "The Salt Road Kings", "Bridges of the Old Delta", "A Short Reign", "Letters to the Harbour", "The Tin Armada",
        "When the Mills Stopped", "Nine Queens of Aster", "The Paper Siege", "Bells over Varn", "The Granary War",
    ),
    "poems": (
        "Small Hours, Large Moon", "The Blue Ladder", "Rain in Four Rooms", "A Grammar of Gulls", "Unposted",
        "The Weight of Lamps", "Coats in Summer", "Thirteen Doors", "Song for a Kettle", "Leaves, Mostly",
    ),
}  # fmt: skip


def digits() -> dict[str, np.ndarray]:
    """1797 handwritten digits: 64 pixels, 0 or 1 (r3c4 is row 3, column 4), and the `digit`; from scikit-learn.

    >>> table = digits()
    >>> len(table), len(table["r3c4"]), sorted(set(table["digit"].tolist()))
    (65, 1797, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    from sklearn.datasets import load_digits

    images, digit = load_digits(return_X_y=True)
    pixels = (images >= 8).astype(np.uint8)  # ink runs from 0 to 16
    table = {f"r{p // 8}c{p % 8}": pixels[:, p] for p in range(64)}
    return {**table, "digit": digit.astype(np.int64)}


def planted_votes(seed: int = 0, n_users: int = 800) -> Votes:
    """Books that readers took home, day by day: each reader has one or two favourite shelves of the six in SHELVES.

    Nine books in ten are from a favourite shelf, where the first titles are the most popular; the others from anywhere.

    >>> votes = planted_votes()
    >>> len(votes.users), len(votes.items)
    (800, 60)
    """
    rng = stream(seed)
    shelves = list(SHELVES.values())
    titles = [title for shelf in shelves for title in shelf]
    appeal = 1.0 / np.arange(1, 11) ** 0.7
    appeal /= appeal.sum()
    taken = []
    for user in range(n_users):
        favourites = rng.choice(len(shelves), size=rng.integers(1, 3), replace=False)
        day = int(rng.integers(0, 100))
        books: list[str] = []
        for _ in range(3 + rng.poisson(5)):
            if rng.random() < 0.9:
                title = shelves[rng.choice(favourites)][rng.choice(10, p=appeal)]
            else:
                title = titles[rng.integers(len(titles))]
            if title not in books:
                books.append(title)
                taken.append((f"reader {user + 1:03}", title, day))
            day += int(rng.integers(1, 20))
    return read_votes(taken)
