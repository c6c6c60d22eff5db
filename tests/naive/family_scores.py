"""Scores of one family straight from the textbooks, with math.lgamma and math.log: the slow twin of scores."""

import math


def score(name, table, total, most_states, ess=10.0, kappa=1.0):
    """table: list of rows of counts, one row per parent configuration, the empty ones too."""
    q, r = len(table), len(table[0])
    free = q * (r - 1)
    if name in ("loglik", "aic", "bic"):
        fit = sum(n * math.log(n / sum(row)) for row in table for n in row if n > 0)
        return fit - free * {"loglik": 0.0, "aic": 1.0, "bic": 0.5 * math.log(total)}[name]
    if name == "mdl":
        N = most_states
        fit = sum(n * math.log((n + N / (r * q)) / (sum(row) + N / q)) for row in table for n in row if n > 0)
        return fit - free * 0.5 * math.log(total)
    a = 1.0 if name == "uniform" else ess / (q * r)
    out = free * math.log(kappa)
    for row in table:
        out += math.lgamma(r * a) - math.lgamma(r * a + sum(row))
        out += sum(math.lgamma(a + n) - math.lgamma(a) for n in row)
    return out
