"""What a row's log-probability loses without one parent, from plain lists and dicts."""

import math


def without_part(log_probs, moves):
    """log P of all states once the parent's moves of the logits are taken back."""
    logits = [p - move for p, move in zip(log_probs, moves)]
    top = max(logits)
    total = top + math.log(sum(math.exp(one - top) for one in logits))
    return [one - total for one in logits]


def mean_below(tree, node):
    """The mean of the leaves below a node over the rows that reached them."""
    if "values" in tree[node]:
        return tree[node]["values"]
    parts = [(flow, mean_below(tree, child)) for child, flow in zip(tree[node]["branches"], tree[node]["flow"])]
    total = sum(flow for flow, _ in parts)
    return [sum(flow * mean[s] for flow, mean in parts) / total for s in range(len(parts[0][1]))]


def moves_in_tree(tree, row, parent, n_states):
    """How far the splits on the parent, on the row's way to its leaf, move the mean of the logits."""
    moves, node = [0.0] * n_states, 0
    while "values" not in tree[node]:
        asked = tree[node]
        child = asked["branches"][0 if row[asked["variable"]] == asked["state"] else 1]
        if asked["variable"] == parent:
            here, there = mean_below(tree, node), mean_below(tree, child)
            moves = [move + b - a for move, a, b in zip(moves, here, there)]
        node = child
    return moves
