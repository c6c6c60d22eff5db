"""The ordered Gibbs sampler as a Markov chain over all joint states, and what a joint table says about structure."""

import itertools

import numpy as np


def local_transition(table_of, n_states, v):
    """(joint states, joint states) P(next | now) when v alone is drawn anew; table_of(row) is P(v | the others)."""
    rows = list(itertools.product(*map(range, n_states)))
    number = {row: i for i, row in enumerate(rows)}
    out = np.zeros((len(rows), len(rows)))
    for row in rows:
        for s, p in enumerate(table_of(row)):
            out[number[row], number[(*row[:v], s, *row[v + 1 :])]] = p
    return out


def stationary(transition):
    """The distribution that a transition leaves as it is, and the size of the second largest eigenvalue."""
    n = len(transition)
    system = np.vstack([transition.T - np.eye(n), np.ones(n)])
    found = np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0]
    return found, np.sort(np.abs(np.linalg.eigvals(transition)))[-2]


def neighbours(joint):
    """For each v the variables on which P(v | all others) depends: its parents in a minimal consistent network."""
    out = []
    for v in range(joint.ndim):
        conditional = joint / joint.sum(axis=v, keepdims=True)
        spread = [np.ptp(conditional, axis=u).max() for u in range(joint.ndim)]
        out.append({u for u in range(joint.ndim) if u != v and spread[u] > 1e-9})
    return out


def interactions(joint):
    """Scope -> the largest size of its term in the expansion of log joint around the state 0 (Hammersley, Clifford)."""
    logs, out = np.log(joint), {}
    for size in range(joint.ndim + 1):
        for scope in itertools.combinations(range(joint.ndim), size):
            term = np.zeros([joint.shape[v] if v in scope else 1 for v in range(joint.ndim)])
            for k in range(size + 1):
                for part in itertools.combinations(scope, k):
                    cells = tuple(slice(None) if v in part else slice(0, 1) for v in range(joint.ndim))
                    term = term + (-1) ** (size - k) * logs[cells]
            out[scope] = np.abs(term).max()
    return out
