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


def gain_of(rows, target, n_states, v, s, kappa, n_possible=None):
    r, pieces = n_states[target], parts(rows, n_states, v, s)
    after = sum(leaf_score(piece, target, r) for piece in pieces)
    n_more = (n_possible or len(pieces)) - 1
    return after - leaf_score(rows, target, r) + n_more * (r - 1) * math.log(kappa)


def grow(rows, target, n_states, kappa, binary=True, complete=False, min_leaf=1, left=None):
    """A tree as nested tuples: (variable, state, gain, branches), or the list of counts at a leaf.

    `left` are the states that each variable may still be in here.
    """
    left = left or [set(range(r)) for r in n_states]
    best = None
    others = [v for v in range(len(n_states)) if v != target and n_states[v] > 1]
    for v, s in splits(n_states, others, binary, complete):
        pieces = parts(rows, n_states, v, s)
        sizes = [len(piece) for piece in pieces if piece]
        if len(sizes) < 2 or min(sizes) < min_leaf:
            continue
        gain = gain_of(rows, target, n_states, v, s, kappa, len(left[v]) if s < 0 else 2)
        if gain > TOLERANCE and (best is None or gain > best[2] + TOLERANCE):
            best = (v, s, gain)
    if best is None:
        return [sum(row[target] == c for row in rows) for c in range(n_states[target])]
    v, s, _ = best
    inside = [{k} for k in range(n_states[v])] if s < 0 else [{s}, left[v] - {s}]
    branches = [
        grow(piece, target, n_states, kappa, binary, complete, min_leaf, [*left[:v], own, *left[v + 1 :]])
        for piece, own in zip(parts(rows, n_states, v, s), inside)
    ]
    return (*best, branches)


def prunings(tree, kappa, gone=()):
    """Every pruning as (leaves: [(path, counts)], log prior): a split has the odds kappa for each parameter it adds.

    `gone` are the (variable, state) that the way here leaves out: a complete split has no parameters for them.
    """
    if isinstance(tree, list):
        yield [((), tree)], 0.0
        return
    v, s, _, branches = tree
    n_ways = 2 if s >= 0 else len(branches) - sum(u == v for u, _ in gone)
    odds = kappa ** ((n_ways - 1) * (len(total(tree)) - 1))
    yield [((), total(tree))], math.log(1 / (1 + odds))
    ways = [gone, {*gone, (v, s)}] if s >= 0 else [gone] * len(branches)
    for combination in itertools.product(*(list(prunings(b, kappa, way)) for b, way in zip(branches, ways))):
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
    """The greedy search over decision graphs and the network at once: every operator tried anew at every step.

    A leaf is the rows that reach it, and the configurations of all variables that do: a leaf without any is none.
    `alpha` is the size of an equivalent sample spread evenly over the configurations, None for the uniform prior.
    """

    def __init__(self, rows, n_states, kappa, binary, complete, merging, alpha=None):
        self.n_states, self.kappa, self.alpha = n_states, kappa, alpha
        self.binary, self.complete, self.merging = binary, complete, merging
        self.n_configs = math.prod(n_states)
        every = list(itertools.product(*map(range, n_states)))
        self.leaves = [[(list(rows), every)] for _ in n_states]
        self.parents = [set() for _ in n_states]

    def descendants(self, v):
        found = {c for c, own in enumerate(self.parents) if v in own}
        for c in list(found):
            found |= self.descendants(c)
        return found

    def worth(self, leaf, t):
        rows, configs = leaf
        r = self.n_states[t]
        alpha = None if self.alpha is None else [self.alpha * len(configs) / self.n_configs / r] * r
        return leaf_score(rows, t, r, alpha)

    def pieces(self, leaf, v, s):
        rows, configs = leaf
        both = zip(parts(rows, self.n_states, v, s), parts(configs, self.n_states, v, s))
        return [(own, some) for own, some in both if some]

    def operators(self):
        for t, leaves in enumerate(self.leaves):
            free = (self.n_states[t] - 1) * math.log(self.kappa)
            may = [
                v for v in range(len(self.n_states)) if v != t and v not in self.descendants(t) and self.n_states[v] > 1
            ]
            for k, leaf in enumerate(leaves):
                for v, s in splits(self.n_states, may, self.binary, self.complete):
                    pieces = self.pieces(leaf, v, s)
                    if sum(bool(rows) for rows, _ in pieces) >= 2:
                        after = sum(self.worth(piece, t) for piece in pieces) + (len(pieces) - 1) * free
                        yield after - self.worth(leaf, t), t, "split", (k, v, s)
            if self.merging:
                for a, b in itertools.combinations(range(len(leaves)), 2):
                    merged = (leaves[a][0] + leaves[b][0], leaves[a][1] + leaves[b][1])
                    apart = self.worth(leaves[a], t) + self.worth(leaves[b], t)
                    yield self.worth(merged, t) - apart - free, t, "merge", (a, b)

    def step(self):
        """Apply the best operator; its gain, or 0."""
        known = list(self.operators())
        most = max((gain for gain, *_ in known), default=0.0)
        if most <= TOLERANCE:
            return 0.0
        gain, t, kind, what = next(o for o in known if o[0] >= most - TOLERANCE)  # of equals, the first
        leaves = self.leaves[t]
        if kind == "split":
            k, v, s = what
            leaves[k : k + 1] = self.pieces(leaves[k], v, s)
            self.parents[t].add(v)
        else:
            a, b = what
            other = leaves.pop(b)
            leaves[a] = (leaves[a][0] + other[0], leaves[a][1] + other[1])
        return gain
