"""Features of a decision tree by the definition: the slow twin of `search/features.py`.

A tree is a leaf, ("leaf", probabilities), or a split ("split", variable, state or None, [subtrees]): with a state its
two subtrees are for "in that state" and "not"; without, one for each state.
"""


def nodes(tree, possible=None, depth=0):
    """(possible states of each variable on the way, depth, subtree) of every node."""
    possible = possible or {}
    yield possible, depth, tree
    if tree[0] == "split":
        _, v, state, branches = tree
        for b, branch in enumerate(branches):
            if state is None:
                allowed = {b}
            else:
                allowed = {state} if b == 0 else None
            yield from nodes(branch, {**possible, v: narrowed(possible, v, state, allowed)}, depth + 1)


def narrowed(possible, v, state, allowed):
    """(states it must be in or None, states it must not be in)."""
    inside, outside = possible.get(v, (None, frozenset()))
    if allowed is None:
        return inside, outside | {state}
    return frozenset(allowed), outside


def states_left(said, n):
    inside, outside = said
    return sorted((inside if inside is not None else set(range(n))) - outside)


def features(tree, child, n_states, how, zeros=None):
    """A set of frozensets of (variable, state) conditions; zeros are the states that are false, else the first."""
    zeros = zeros or [0] * len(n_states)
    deepest = {"prune-10": 10, "prune-5": 5}.get(how)
    out = set()
    for possible, depth, node in nodes(tree):
        if how in ("default", "nonzero") and node[0] != "leaf":
            continue
        if deepest is not None and depth > deepest:
            continue
        left = {v: states_left(said, n_states[v]) for v, said in possible.items()}
        for t in range(n_states[child]):
            if how == "nonzero":
                said = {**left, child: [t]}
                found = {(v, s[0]) for v, s in said.items() if len(s) == 1 and s[0] != zeros[v]}
                if found:
                    out.add(frozenset(found))
            else:
                out |= {frozenset(combination) | {(child, t)} for combination in spelled_out(left)}
    return out


def spelled_out(left):
    out = [[]]
    for v, states in left.items():
        out = [[*combination, (v, s)] for combination in out for s in states]
    return out


def distribution(tree, row):
    """P(child | row)."""
    while tree[0] == "split":
        _, v, state, branches = tree
        tree = branches[row[v]] if state is None else branches[int(row[v] != state)]
    return tree[1]
