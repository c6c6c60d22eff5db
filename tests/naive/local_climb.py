"""Markov Blanket Merging by the book: plain loops over rows, every score from scratch."""

import itertools
import math


def family_score(rows, r, child, parents, spread):
    parents = sorted(parents)
    q = math.prod(r[p] for p in parents)
    table = {}
    for row in rows:
        table.setdefault(tuple(row[p] for p in parents), [0] * r[child])[row[child]] += 1
    a = spread / (q * r[child])
    fit = sum(n * math.log((n + a) / (sum(ns) + r[child] * a)) for ns in table.values() for n in ns if n)
    return fit - 0.5 * math.log(len(rows)) * q * (r[child] - 1)


def acyclic(parents):
    left = {v: set(p) for v, p in parents.items()}
    while left:
        free = [v for v, p in left.items() if not p & set(left)]
        if not free:
            return False
        for v in free:
            del left[v]
    return True


def climb(rows, r, nodes, spread):
    """nodes: the own variable first, then relatives by column. Returns {node: set of parents}."""
    parents = {v: set() for v in nodes}
    score = lambda p: sum(family_score(rows, r, v, p[v], spread) for v in nodes)
    while True:
        now, best, top = score(parents), None, 1e-9
        adds, others = [], []
        for p, c in itertools.permutations(nodes, 2):
            if p not in parents[c]:
                adds.append({**parents, c: parents[c] | {p}})
            else:
                dropped = {**parents, c: parents[c] - {p}}
                others += [dropped, {**dropped, p: parents[p] | {c}}]
        for graph in adds + others:
            if acyclic(graph) and score(graph) - now > top:
                best, top = graph, score(graph) - now + 1e-9
        if best is None:
            return parents
        parents = best


def blanket(parents, v):
    if v not in parents:
        return set()
    children = [c for c in parents if v in parents[c]]
    return (set(parents[v]) | set(children) | {p for c in children for p in parents[c]}) - {v}


def log_conditional(rows, r, parents, v, spread):
    """Sum over the rows of log P(x_v | blanket), inside the network."""
    tables = {}
    for c in [v, *(c for c in parents if v in parents[c])]:
        own = sorted(parents[c])
        counts = {}
        for row in rows:
            counts.setdefault(tuple(row[p] for p in own), [0] * r[c])[row[c]] += 1
        tables[c] = (own, counts, math.prod(r[p] for p in own))
    total = 0.0
    for row in rows:
        weights = []
        for s in range(r[v]):
            x = list(row)
            x[v] = s
            w = 1.0
            for c, (own, counts, q) in tables.items():
                ns = counts.get(tuple(x[p] for p in own), [0] * r[c])
                w *= (ns[x[c]] + spread / (r[c] * q)) / (sum(ns) + spread / q)
            weights.append(w)
        total += math.log(weights[row[v]] / sum(weights))
    return total
