from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from quiltwork.data.collapse import collapse, equal_rows
from quiltwork.data.dataset import NO_CODE, Variable, from_codes
from tables import dataset, tables


@settings(max_examples=60)
@given(tables(max_vars=4), st.booleans())
def test_distinct_rows_with_their_weights(table, weighted):
    columns, n_states = table
    weights = np.random.default_rng(0).integers(1, 4, len(columns[0])).astype(float) if weighted else None
    found = collapse(dataset(columns, n_states, weights))
    expected = Counter()
    for row, weight in zip(
        zip(*(c.tolist() for c in columns)), np.ones(len(columns[0])) if weights is None else weights
    ):
        expected[row] += weight
    rows = [tuple(row) for row in found.states().tolist()]
    assert rows == list(expected) and found.weights.tolist() == list(expected.values())


def test_a_missing_value_equals_only_a_missing_value():
    data = from_codes([Variable("a", (0, 1, 2))], [np.array([0, NO_CODE, 0, NO_CODE, 1])])
    groups, first = equal_rows(data)
    assert groups.tolist() == [0, 1, 0, 1, 2] and first.tolist() == [0, 1, 4]
