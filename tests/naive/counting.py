"""Counting by loops over rows: the slow twin of everything in stats."""

import itertools
import math


def family_counts(columns, n_states, child, parents, weights=None):
    """{configuration: [count of each child state]}, every configuration listed, the last parent fastest."""
    table = {c: [0.0] * n_states[child] for c in itertools.product(*(range(n_states[p]) for p in parents))}
    for i in range(len(columns[child])):
        config = tuple(int(columns[p][i]) for p in parents)
        table[config][int(columns[child][i])] += 1.0 if weights is None else weights[i]
    return table


def pair_table(a, b, n_a, n_b):
    table = [[0] * n_b for _ in range(n_a)]
    for x, y in zip(a, b):
        table[int(x)][int(y)] += 1
    return table


def chi_square(table):
    m = sum(map(sum, table))
    rows = [sum(r) for r in table]
    cols = [sum(c) for c in zip(*table)]
    out = 0.0
    for i, r in enumerate(rows):
        for j, c in enumerate(cols):
            expected = r * c / m
            if expected > 0:
                out += (table[i][j] - expected) ** 2 / expected
    return out


def mutual_information(table):
    m = sum(map(sum, table))
    rows = [sum(r) for r in table]
    cols = [sum(c) for c in zip(*table)]
    out = 0.0
    for i, r in enumerate(rows):
        for j, c in enumerate(cols):
            if table[i][j] > 0:
                out += table[i][j] / m * math.log(table[i][j] * m / (r * c))
    return out
