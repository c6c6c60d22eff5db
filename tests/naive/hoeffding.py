"""Hoeffding trees row by row, with dictionaries: the slow twin of `search/hoeffding.py`."""

import math


def worth(counts):
    """Log marginal likelihood of counts under a uniform prior."""
    r, n = len(counts), sum(counts)
    return math.lgamma(r) - math.lgamma(r + n) + sum(math.lgamma(1 + c) for c in counts)


class Tree:
    def __init__(self, target, n_states, kappa, delta, tie, grace):
        self.target, self.n_states = target, n_states
        self.kappa, self.delta, self.tie, self.grace = kappa, delta, tie, grace
        self.root = {"rows": [], "asked": 0}

    def see(self, row):
        node = self.root
        while "split" in node:
            v, s = node["split"]
            node = node["branches"][int(row[v] != s)]
        node["rows"].append(tuple(row))
        if len(node["rows"]) - node["asked"] >= self.grace:
            node["asked"] = len(node["rows"])
            self.try_split(node)

    def counts(self, rows):
        return [sum(row[self.target] == t for row in rows) for t in range(self.n_states[self.target])]

    def try_split(self, node):
        rows, r = node["rows"], self.n_states[self.target]
        gains = []
        for v, n in enumerate(self.n_states):
            for s in range(1 if n == 2 else 0, n):
                inside = [row for row in rows if row[v] == s]
                if v == self.target or n < 2 or not inside or len(inside) == len(rows):
                    continue
                outside = [row for row in rows if row[v] != s]
                gain = worth(self.counts(inside)) + worth(self.counts(outside)) - worth(self.counts(rows))
                gains.append((gain + (r - 1) * math.log(self.kappa), -v, -s))
        if not gains:
            return
        (best, v, s), *others = sorted(gains, reverse=True)
        second = max([0.0, *(gain for gain, _, _ in others)])
        epsilon = math.log(r) * math.sqrt(math.log(1 / self.delta) / (2 * len(rows)))
        if best > 0 and ((best - second) / len(rows) > epsilon or epsilon < self.tie):
            node["split"] = -v, -s
            node["branches"] = [{"rows": [], "asked": 0}, {"rows": [], "asked": 0}]

    def splits(self, node=None):
        node = node or self.root
        if "split" not in node:
            return None
        return (node["split"], *(self.splits(branch) for branch in node["branches"]))
