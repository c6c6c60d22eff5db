"""Random tables for tests: mixed numbers of states, a little dependence, any number of rows."""

import numpy as np
from hypothesis import strategies as st

from quiltwork.data.dataset import Dataset, Variable, from_codes


def random_table(seed: int, n_samples: int, n_states: list[int]) -> list[np.ndarray]:
    """Columns of codes; every column leans on the one before it."""
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for v, r in enumerate(n_states):
        column = rng.integers(0, r, n_samples)
        if v:
            copied = rng.random(n_samples) < 0.6
            column = np.where(copied, columns[v - 1] % r, column)
        columns.append(column.astype(np.uint16))
    return columns


def dataset(columns: list[np.ndarray], n_states: list[int], weights=None) -> Dataset:
    variables = [Variable(f"v{k}", tuple(range(r))) for k, r in enumerate(n_states)]
    return from_codes(variables, columns, weights)


@st.composite
def tables(draw, max_vars=6, states=(1, 2, 3, 5, 17, 20), sizes=(1, 2, 63, 64, 65, 127, 128, 300)):
    """(columns, n_states): 17 and 20 states are kept as codes, the others as planes."""
    n_states = draw(st.lists(st.sampled_from(states), min_size=2, max_size=max_vars))
    return random_table(draw(st.integers(0, 10**6)), draw(st.sampled_from(sizes)), n_states), n_states
