"""Markov networks for the tests of inference: random ones, and features made into models."""

import numpy as np

import quiltwork as qw
from infer.networks import net
from quiltwork.data.dataset import NO_CODE
from quiltwork.data.encode import Encoder

NOTHING = np.uint16(NO_CODE)


def network(n_states, features, weights):
    """A model of features, each a list of (column, state); variable 3 is called "v3", its states 0, 1, ..."""
    encoder = Encoder(tuple(qw.Variable(f"v{v}", tuple(range(r))) for v, r in enumerate(n_states)))
    pairs = np.array([pair for feature in features for pair in feature], np.int64).reshape(-1, 2)
    first = np.cumsum([0, *map(len, features)])
    return qw.MarkovNet(encoder, first, pairs[:, 0], pairs[:, 1], np.array(weights, float), np.zeros(sum(n_states)))


def random_features(rng, n_vars, n_features, max_states=3, min_states=1, longest=4, scale=1.0):
    """(n_states, features, weights): conjunctions of up to `longest` conditions."""
    n_states = rng.integers(min_states, max_states + 1, n_vars).tolist()
    features = []
    for _ in range(n_features):
        scope = sorted(rng.choice(n_vars, min(int(rng.integers(0, longest + 1)), n_vars), replace=False).tolist())
        features.append([(v, int(rng.integers(n_states[v]))) for v in scope])
    return n_states, features, rng.normal(size=n_features) * scale


def random_tree(rng, n_vars, max_states=3, scale=2.0):
    """(n_states, features, weights) whose pairs of neighbours form a tree, each with one or several features."""
    n_states = rng.integers(2, max_states + 1, n_vars).tolist()
    features = [[(v, int(rng.integers(n_states[v])))] for v in range(n_vars)]
    for v in range(1, n_vars):
        u = int(rng.integers(v))
        for _ in range(int(rng.integers(1, 5))):
            features.append([(u, int(rng.integers(n_states[u]))), (v, int(rng.integers(n_states[v])))])
    return n_states, features, rng.normal(size=len(features)) * scale


def random_polytree(rng, n_vars, max_states=3, zeros=0.0):
    """A Bayesian network with tables in which any two variables are joined by one way at most."""
    n_states = rng.integers(2, max_states + 1, n_vars).tolist()
    parents = [[] for _ in range(n_vars)]
    for v in range(1, n_vars):
        child, parent = (v, int(rng.integers(v)))[:: 1 if rng.random() < 0.5 else -1]
        parents[child].append(parent)
    parents = [sorted(own) for own in parents]
    probs = []
    for v in range(n_vars):
        table = rng.random((int(np.prod([n_states[u] for u in parents[v]], dtype=int)), n_states[v]))
        table[rng.random(table.shape) < zeros] = 0.0
        table[:, 0] += 0.1
        probs.append(table / table.sum(axis=1, keepdims=True))
    return net(n_states, parents, probs)


def codes_of(row):
    """A row of states, None where unknown, as codes."""
    return np.array([NO_CODE if s is None else s for s in row], np.uint16)
