"""Inference by writing everything out: the slow twins of belief propagation, mean field and the samplers.

A factor is a function of a full state; factors and states are plain Python, and every sum goes over all states.
"""

import itertools
import math

import numpy as np


def table_of(n_states, scope, function):
    """The factor as a table over its scope; `function` reads a full state, of which only the scope matters."""
    table = np.empty([n_states[v] for v in scope])
    state = [0] * len(n_states)
    for cell in itertools.product(*(range(n_states[v]) for v in scope)):
        for v, s in zip(scope, cell):
            state[v] = s
        table[cell] = function(state)
    return table


def feature(conditions, weight):
    """exp(weight) where all (variable, state) conditions hold, else 1."""
    return lambda x: math.exp(weight) if all(x[v] == s for v, s in conditions) else 1.0


def propagate(n_states, factors, n_rounds):
    """Beliefs after so many rounds of parallel messages; factors are (scope, table)."""
    to_variable = [{v: np.ones(n_states[v]) / n_states[v] for v in scope} for scope, _ in factors]
    for _ in range(n_rounds):
        fresh = []
        for f, (scope, table) in enumerate(factors):
            heard = {}
            for v in scope:
                others = [to_variable[g][v] for g, (s, _) in enumerate(factors) if g != f and v in s]
                heard[v] = np.prod([np.ones(n_states[v]), *others], axis=0)
            messages = {}
            for v in scope:
                product = table.copy()
                for axis, u in enumerate(scope):
                    if u != v:
                        product *= heard[u].reshape([-1 if a == axis else 1 for a in range(len(scope))])
                message = product.sum(axis=tuple(a for a, u in enumerate(scope) if u != v))
                messages[v] = message / message.sum()
            fresh.append(messages)
        to_variable = fresh
    beliefs = []
    for v, r in enumerate(n_states):
        belief = np.prod([np.ones(r), *(m[v] for m in to_variable if v in m)], axis=0)
        beliefs.append(belief / belief.sum())
    return beliefs


def mean_field_bound(n_states, features, weights, q):
    """E_q[sum of the weights that hold] + the entropy of q, over all states; q is a list of distributions."""
    total = 0.0
    for x in itertools.product(*map(range, n_states)):
        p = math.prod(q[v][s] for v, s in enumerate(x))
        if p > 0:
            total += p * (sum(w for f, w in zip(features, weights) if all(x[v] == s for v, s in f)) - math.log(p))
    return total


def log_z(n_states, features, weights, row=None):
    """log of the sum over all states that agree with the row."""
    logs = [
        sum(w for f, w in zip(features, weights) if all(x[v] == s for v, s in f))
        for x in itertools.product(*map(range, n_states))
        if row is None or all(r is None or r == s for r, s in zip(row, x))
    ]
    top = max(logs)
    return top + math.log(sum(math.exp(log - top) for log in logs))


def solutions(n_states, clauses):
    """All states in which every clause, a list of (variable, state), has a variable that is in another state."""
    return [
        x
        for x in itertools.product(*map(range, n_states))
        if all(any(x[v] != s for v, s in clause) for clause in clauses)
    ]


def mcsat(n_states, features, weights, n_samples, rng):
    """MC-SAT with uniform draws from the list of all states that satisfy the constraints: mean of [x_v = s]."""
    states = list(itertools.product(*map(range, n_states)))
    holds = [[all(x[v] == s for v, s in f) for f in features] for x in states]
    at, counts = int(rng.integers(len(states))), [np.zeros(r) for r in n_states]
    for _ in range(n_samples):
        wanted = [
            (f, holds[at][f])
            for f, w in enumerate(weights)
            if holds[at][f] == (w > 0) and rng.random() < 1 - math.exp(-abs(w))
        ]
        left = [k for k in range(len(states)) if all(holds[k][f] == value for f, value in wanted)]
        at = left[int(rng.integers(len(left)))]
        for v, s in enumerate(states[at]):
            counts[v][s] += 1 / n_samples
    return counts


def gibbs_logits(n_states, features, weights, x):
    """For each variable, the weight of what would hold in each of its states, given the other states."""
    return [
        [
            sum(w for f, w in zip(features, weights) if (v, s) in f and all(x[u] == t for u, t in f if u != v))
            for s in range(r)
        ]
        for v, r in enumerate(n_states)
    ]
