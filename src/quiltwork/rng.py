"""One seed, many independent streams of random numbers.

A stream is named by the seed and a few integers (which variable, which restart, which
chain). What a stream yields depends on nothing else, so an answer never depends on the
number of threads or on the order in which work was done.
"""

from __future__ import annotations

import numpy as np

from quiltwork.errors import ParameterError


def seed_of(random_state: object, name: str = "random_state") -> int:
    """The integer seed meant by scikit-learn's `random_state`: None, an int, or a generator; `name` is for messages."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    raise ParameterError(
        f"{name!r} must be None, an integer of at least 0 or a NumPy generator. Got {random_state!r} instead."
    )


def stream(seed: int, *key: int) -> np.random.Generator:
    """The stream that belongs to `seed` and `key`.

    >>> stream(0, 3).random() == stream(0, 3).random()
    True
    >>> stream(0, 3).random() == stream(0, 4).random()
    False
    """
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=key)))
