"""The judge of ranking: every order that the scores leave open is written out and looked at, one query at a time.

A query is a list of scores, the set of items in its history and the set of items hidden from it.
"""

import itertools
import math


def orders(scores, history):
    """All lists of the candidates along which the score never rises."""
    candidates = [item for item in range(len(scores)) if item not in history]
    levels = [[c for c in candidates if scores[c] == s] for s in sorted({scores[c] for c in candidates}, reverse=True)]
    for parts in itertools.product(*map(itertools.permutations, levels)):
        yield list(itertools.chain(*parts))


def settle(values, ties):
    """What a tie rule makes of the values of a measure, larger being better, under all open orders."""
    return {"worst": min(values), "mean": sum(values) / len(values), "best": max(values)}[ties]


def reciprocal_rank(scores, history, hidden, ties):
    ranks = []
    for order in orders(scores, history):
        rank = 1
        while order[rank - 1] not in hidden:
            rank += 1
        ranks.append(rank)
    return 1 / -settle([-rank for rank in ranks], ties)


def ndcg(scores, history, hidden, k, ties):
    def gain(relevant):
        return sum(1 / math.log2(rank + 1) for rank, r in enumerate(relevant, 1) if r and rank <= k)

    best = gain([True] * len(hidden))
    return settle([gain([item in hidden for item in order]) / best for order in orders(scores, history)], ties)


def recall(scores, history, hidden, k, ties):
    found = [sum(item in hidden for item in order[:k]) / len(hidden) for order in orders(scores, history)]
    return settle(found, ties)


def cf_accuracy(scores, history, hidden, half_life, ties):
    """100 · sum_k delta_k p(k) / sum_{k < K} p(k), p(k) = 2^(-k / half_life), k from 0."""

    def p(k):
        return 2 ** (-k / half_life)

    most = sum(p(k) for k in range(len(hidden)))
    seen = [sum(p(k) for k, item in enumerate(order) if item in hidden) for order in orders(scores, history)]
    return 100 * settle(seen, ties) / most


def agreement(scores, history, hidden, for_equal):
    """(points, pairs): a point for each hidden item above another candidate, `for_equal` for one level with it."""
    points, pairs = 0.0, 0
    for a in hidden:
        for b in range(len(scores)):
            if b not in history and b not in hidden:
                pairs += 1
                points += 1 if scores[a] > scores[b] else for_equal if scores[a] == scores[b] else 0
    return points, pairs


def macro_and_micro_doa(queries):
    """Equations 14-16 over a list of (scores, history, hidden); a query without pairs agrees by definition."""
    of_each = [agreement(*query, for_equal=0) for query in queries if query[2]]
    macro = sum(points / pairs if pairs else 1 for points, pairs in of_each) / len(of_each)
    all_pairs = sum(pairs for _, pairs in of_each)
    return macro, sum(points for points, _ in of_each) / all_pairs if all_pairs else 1


def mean_log_probability(log_odds, history, hidden):
    p = [1 / (1 + math.exp(-s)) for s in log_odds]
    total = sum(p[item] for item in range(len(p)) if item not in history)
    return sum(math.log(p[item] / total) for item in hidden) / len(hidden)


def stand(scores, history, hidden):
    """(other_above, other_equal, hidden_above, hidden_equal) of each hidden item, best first."""
    found = []
    others = [scores[item] for item in range(len(scores)) if item not in history and item not in hidden]
    mine = [scores[item] for item in hidden]
    for s in sorted(mine, reverse=True):
        found.append((sum(o > s for o in others), others.count(s), sum(m > s for m in mine), mine.count(s)))
    return found


def removals(rows):
    """Every (user, history, hidden item) of all-but-1, for users with two items or more, in order."""
    return [(u, row - {item}, item) for u, row in enumerate(rows) if len(row) >= 2 for item in sorted(row)]
