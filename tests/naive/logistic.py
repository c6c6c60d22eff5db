"""Logistic regression the slow way: rows as lists of states, proximal gradient steps until nothing moves."""

import math

import numpy as np


def columns_of(n_states, target):
    """(variable, state) of every indicator: the states beyond the first of all variables but the target."""
    return [(v, s) for v in range(len(n_states)) if v != target for s in range(1, n_states[v])]


def objective(rows, weights, n_states, target, intercept, coefficients, l1, l2):
    """Weighted loss and penalty; coefficients[k][j] of logit k and indicator j. One logit: that of state 1."""
    total = 0.0
    for row, weight in zip(rows, weights):
        logits = [
            b + sum(w for w, (v, s) in zip(own, columns_of(n_states, target)) if row[v] == s)
            for b, own in zip(intercept, coefficients)
        ]
        logits = [0.0, *logits] if len(logits) == 1 else logits
        top = max(logits)
        total -= weight * (logits[row[target]] - top - math.log(sum(math.exp(z - top) for z in logits)))
    flat = [w for own in coefficients for w in own]
    return total + l1 * sum(map(abs, flat)) + l2 / 2 * sum(w * w for w in flat)


def fit(rows, weights, n_states, target, l1, l2, steps=6000):
    """(intercept, coefficients) by accelerated proximal gradient (Beck and Teboulle 2009), restarted when it climbs."""
    x = np.array([[1.0, *(float(row[v] == s) for v, s in columns_of(n_states, target))] for row in rows])
    y = np.array([row[target] for row in rows])
    w = np.asarray(weights, float)
    n_logits = 1 if n_states[target] == 2 else n_states[target]
    truth = (y == 1)[:, None] if n_logits == 1 else y[:, None] == np.arange(n_logits)
    step = 1.0 / (0.5 * np.linalg.norm(np.sqrt(w)[:, None] * x, 2) ** 2 + l2)
    now = ahead = np.zeros((n_logits, x.shape[1]))
    speed = 1.0
    for _ in range(steps):
        z = x @ ahead.T
        z = np.column_stack([np.zeros(len(z)), z]) if n_logits == 1 else z
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p = (p / p.sum(axis=1, keepdims=True))[:, -n_logits:]
        slope = (w[:, None] * (p - truth)).T @ x
        slope[:, 1:] += l2 * ahead[:, 1:]
        new = ahead - step * slope
        new[:, 1:] = np.sign(new[:, 1:]) * np.maximum(np.abs(new[:, 1:]) - step * l1, 0.0)
        faster = (1 + math.sqrt(1 + 4 * speed * speed)) / 2
        if ((ahead - new) * (new - now)).sum() > 0:
            faster = speed = 1.0
        ahead = new + (speed - 1) / faster * (new - now)
        now, speed = new, faster
    return now[:, 0], now[:, 1:]


def log_probs(row, intercept, tables, means):
    """log P(child = s | row) from one table (states of the parent, of the child) for each parent; None is missing."""
    logits = list(intercept)
    for parent, table in tables.items():
        part = means[parent] if row[parent] is None else table[row[parent]]
        logits = [z + add for z, add in zip(logits, part)]
    top = max(logits)
    total = top + math.log(sum(math.exp(z - top) for z in logits))
    return [z - total for z in logits]
