"""Decision trees and graphs the slow way: rows are lists, every operator is tried by scoring whole leaves again."""

import itertools
import math

TOLERANCE = 1e-9


def leaf_score(rows, target, r, alpha=None):
    """The Bayesian score of a leaf: its rows one after another, each predicted from the prior and those before it."""
    counts = [1.0] * r if alpha is None else list(alpha)
    score = 0.0
    for row in rows:
        score += math.log(counts[row[target]] / sum(counts))
        counts[row[target]] += 1
    return score


def splits(n_states, variables, binary, complete):
    """(variable, state) of every split, state -1 for a complete one; the two binary splits of two states are one."""
    for v in variables:
        if binary:
            yield from ((v, s) for s in ([1] if n_states[v] == 2 else range(n_states[v])))
        if complete and (n_states[v] > 2 or not binary):
            yield v, -1


def parts(rows, n_states, v, s):
    if s < 0:
        return [[row for row in rows if row[v] == k] for k in range(n_states[v])]
    return [[row for row in rows if row[v] == s], [row for row in rows if row[v] != s]]


def gain_of(rows, target, n_states, v, s, kappa):
    r, pieces = n_states[target], parts(rows, n_states, v, s)
    after = sum(leaf_score(piece, target, r) for piece in pieces)
    return after - leaf_score(rows, target, r) + (len(pieces) - 1) * (r - 1) * math.log(kappa)


def grow(rows, target, n_states, kappa, binary=True, complete=False, min_leaf=1):
    """A tree as nested tuples: (variable, state, gain, branches), or the list of counts at a leaf."""
    best = None
    others = [v for v in range(len(n_states)) if v != target and n_states[v] > 1]
    for v, s in splits(n_states, others, binary, complete):
        pieces = parts(rows, n_states, v, s)
        filled = [piece for piece in pieces if len(piece) >= max(min_leaf, 1)]
        if len(filled) < 2 or (s >= 0 and len(filled) < len(pieces)):
            continue
        gain = gain_of(rows, target, n_states, v, s, kappa)
        if gain > TOLERANCE and (best is None or gain > best[2] + TOLERANCE):
            best = (v, s, gain)
    if best is None:
        return [sum(row[target] == c for row in rows) for c in range(n_states[target])]
    branches = [grow(p, target, n_states, kappa, binary, complete, min_leaf) for p in parts(rows, n_states, *best[:2])]
    return (*best, branches)


def prunings(tree, kappa):
    """Every pruning as (leaves: [(path, counts)], log prior): a split has the odds kappa for each parameter it adds."""
    if isinstance(tree, list):
        yield [((), tree)], 0.0
        return
    odds = kappa ** ((len(tree[3]) - 1) * (len(total(tree)) - 1))
    yield [((), total(tree))], math.log(1 / (1 + odds))
    for combination in itertools.product(*(list(prunings(branch, kappa)) for branch in tree[3])):
        leaves = [((k, *path), counts) for k, (own, _) in enumerate(combination) for path, counts in own]
        yield leaves, math.log(odds / (1 + odds)) + sum(log_prior for _, log_prior in combination)


def total(tree):
    if isinstance(tree, list):
        return tree
    return [sum(column) for column in zip(*(total(branch) for branch in tree[3]))]


def averaged(tree, kappa):
    """The prediction at every leaf (by path): the mean over all prunings, weighted by prior times evidence."""
    weights, predictions = [], []
    for leaves, log_weight in prunings(tree, kappa):
        for _, counts in leaves:
            r = len(counts)
            log_weight += math.lgamma(r) - math.lgamma(r + sum(counts)) + sum(math.lgamma(n + 1) for n in counts)
        weights.append(log_weight)
        predictions.append(leaves)
    top = max(weights)
    weights = [math.exp(w - top) for w in weights]
    paths = [path for path, _ in max(predictions, key=len)]  # of the whole tree
    out = {}
    for path in paths:
        mean = None
        for weight, leaves in zip(weights, predictions):
            counts = next(c for p, c in leaves if path[: len(p)] == p)
            probs = [(n + 1) / (sum(counts) + len(counts)) for n in counts]
            mean = [weight * p + (0 if mean is None else m) for p, m in zip(probs, mean or probs)]
        out[path] = [m / sum(weights) for m in mean]
    return out


class Forest:
    """The greedy search over decision graphs and the network at once: every operator tried anew at every step."""

    def __init__(self, rows, n_states, kappa, binary, complete, merging):
        self.n_states, self.kappa = n_states, kappa
        self.binary, self.complete, self.merging = binary, complete, merging
        self.leaves = [[list(rows)] for _ in n_states]
        self.parents = [set() for _ in n_states]

    def descendants(self, v):
        found = {c for c, own in enumerate(self.parents) if v in own}
        for c in list(found):
            found |= self.descendants(c)
        return found

    def operators(self):
        for t, leaves in enumerate(self.leaves):
            r = self.n_states[t]
            free = (r - 1) * math.log(self.kappa)
            may = [
                v for v in range(len(self.n_states)) if v != t and v not in self.descendants(t) and self.n_states[v] > 1
            ]
            for k, rows in enumerate(leaves):
                for v, s in splits(self.n_states, may, self.binary, self.complete):
                    pieces = parts(rows, self.n_states, v, s)
                    if sum(map(bool, pieces)) >= 2:
                        yield gain_of(rows, t, self.n_states, v, s, self.kappa), t, "split", (k, v, s)
            if self.merging:
                for a, b in itertools.combinations(range(len(leaves)), 2):
                    apart = leaf_score(leaves[a], t, r) + leaf_score(leaves[b], t, r)
                    yield leaf_score(leaves[a] + leaves[b], t, r) - apart - free, t, "merge", (a, b)

    def step(self):
        """Apply the best operator; its gain, or 0."""
        gain, t, kind, what = max(self.operators(), key=lambda o: o[0], default=(0, 0, "", ()))
        if gain <= TOLERANCE:
            return 0.0
        leaves = self.leaves[t]
        if kind == "split":
            k, v, s = what
            leaves[k : k + 1] = parts(leaves[k], self.n_states, v, s)
            self.parents[t].add(v)
        else:
            a, b = what
            leaves[a] = leaves[a] + leaves.pop(b)
        return gain
