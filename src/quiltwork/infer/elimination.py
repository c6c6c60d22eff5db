"""Variable elimination: sum the variables out one at a time, in an order that keeps the tables small.

Each eliminated variable has a cluster: the product of the tables and messages in which it takes part. The
variable is summed out of the product, and the rest goes as a message to the cluster of the next of its
variables to be eliminated. So the clusters form a tree. Messages from the leaves to the root (`collect`) leave
the joint distribution of the variables that were kept; messages back (`distribute`) leave the marginal of every
variable, for the price of about two eliminations.

A plan knows which variables may be free, not which states the others have, so one plan serves many rows of
evidence; a variable that turns out to be known has one state, and its axis costs nothing.

Papers   Dechter (1999), Bucket elimination; Jensen, Lauritzen, Olesen (1990) for the two passes
Order    min-fill: next is the variable that adds the fewest edges; ties go to the lowest column
Numbers  Tables are probabilities, scaled by powers of two as they shrink; the log of the scale is carried along.
         Where scaling is not enough (a product fell out of the range of a float), the kernels report it, and the
         work is done again with logarithms, which lose nothing.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from quiltwork.data.dataset import NO_CODE
from quiltwork.errors import ResourceLimitError
from quiltwork.infer.messages import Clusters, collect, collect_rows, distribute
from quiltwork.infer.tables import CompiledNet

MAX_ENTRIES = 2**27  # a gigabyte of probabilities
MANY = 1000  # variables, for which a search that ends in a refusal would take long
STRETCH = 2**22  # entries between two returns to Python, so that Ctrl-C is heard


@dataclass(frozen=True, eq=False)
class Plan:
    """How to eliminate: which clusters, in which order, and how much room they take.

    kept         variables of the answer, in the order of its axes
    width        variables in the largest table
    n_entries    entries held at the worst moment
    stretches    runs of the schedule between which control returns to Python
    """

    net: CompiledNet
    clusters: Clusters
    kept: tuple[int, ...]
    width: int
    n_entries: int
    stretches: tuple[tuple[int, int], ...]


# What a plan is for


def joint(plan: Plan, codes: np.ndarray) -> tuple[np.ndarray, float]:
    """(table, log_scale): P(kept variables, evidence) is table * exp(log_scale); codes is one row of evidence."""
    work, log_scale, log_domain = _collected(plan, codes)
    root = plan.clusters.table_at[plan.clusters.schedule[-1]]
    shape = [plan.net.n_states[v] for v in plan.kept]
    table = work[root : root + math.prod(shape)].reshape(shape)
    if log_domain:
        top = table.max()
        log_scale += top
        table = np.exp(table - top) if top > -np.inf else np.zeros_like(table)
    return table, log_scale


def joint_rows(plan: Plan, rows: np.ndarray) -> np.ndarray:
    """log P(kept variables, evidence) for each row of evidence: (rows, configurations of the kept variables)."""
    out = np.empty((len(rows), math.prod(plan.net.n_states[v] for v in plan.kept)))
    collect_rows(plan.net.tables, plan.clusters, rows, np.empty(plan.n_entries), out)
    return out


def all_marginals(plan: Plan, codes: np.ndarray) -> tuple[np.ndarray, float]:
    """P(v | evidence) of all variables in one flat row, and log P(evidence); needs a plan made `both_ways`."""
    tables, clusters = plan.net.tables, plan.clusters
    known = np.flatnonzero(codes != NO_CODE)
    out = np.zeros(tables.first_state[-1])
    out[tables.first_state[known] + codes[known]] = 1.0
    work, log_scale, log_domain = _collected(plan, codes)
    if log_scale > -np.inf:
        for start, stop in reversed(plan.stretches):
            distribute(tables, clusters, codes, work, start, stop, log_domain, out)
    return out, log_scale


def _collected(plan: Plan, codes: np.ndarray) -> tuple[np.ndarray, float, bool]:
    """(workspace, log_scale, whether it holds logarithms): probabilities if they do, logarithms if they must."""
    work = np.empty(plan.n_entries)
    log_scale, lost = _climb_up(plan, codes, work, False) if plan.net.in_range else (0.0, True)
    if lost:
        log_scale, _ = _climb_up(plan, codes, work, True)
    return work, log_scale, lost


def _climb_up(plan: Plan, codes: np.ndarray, work: np.ndarray, log_domain: bool) -> tuple[float, bool]:
    total = 0.0
    for start, stop in plan.stretches:
        log_scale, lost = collect(plan.net.tables, plan.clusters, codes, work, start, stop, log_domain)
        total += log_scale
        if lost:
            return total, True
    return total, False


# Planning


def make_plan(
    net: CompiledNet,
    families: Iterable[int],
    free: Iterable[int],
    kept: Sequence[int] = (),
    *,
    order: Sequence[int] | None = None,
    both_ways: bool = False,
    max_entries: int = MAX_ENTRIES,
) -> Plan:
    """Plan the elimination of the free variables that are not kept from the product of these families.

    Every variable of the families that is not free must be known when the plan is used. `order` replaces min-fill.
    Raises ResourceLimitError before anything large is allocated.
    """
    families, free = list(families), set(free)
    scopes = [[v for v in net.family(c) if v in free] for c in families]
    if order is None:
        order = min_fill_order(net.n_states, scopes, kept, max_entries)
    members, homes, parent = _cluster_tree(scopes, order, kept)
    factors = [[families[f] for f in own] for own in homes]
    axes = [*order, *kept]
    clusters = [[axes[rank] for rank in cluster] for cluster in members]
    entries = [math.prod(net.n_states[v] for v in cluster) for cluster in clusters]
    children: list[list[int]] = [[] for _ in clusters]
    for k, p in enumerate(parent[:-1]):
        children[p].append(k)
    schedule = _depth_first(children)
    separators = [math.prod(net.n_states[v] for v in cluster[1:]) for cluster in clusters[:-1]] + [0]
    arrange = _side_by_side if both_ways else _stacked
    table_at, message_at, n_entries = arrange(schedule, children, entries, separators)
    widest = max(range(len(entries)), key=entries.__getitem__)
    check_size(len(clusters[widest]), n_entries, max_entries)
    arrays = Clusters(
        np.array(schedule, np.int64),
        np.array(parent, np.int64),
        *_ragged(clusters),
        *_ragged(children),
        *_ragged(factors),
        _strides(net, clusters, factors),
        np.array(table_at, np.int64),
        np.array(message_at, np.int64),
    )
    stretches = tuple(_stretches([entries[k] for k in schedule]))
    return Plan(net, arrays, tuple(kept), len(clusters[widest]), n_entries, stretches)


def min_fill_order(
    n_states: Sequence[int], scopes: Iterable[Sequence[int]], kept: Sequence[int] = (), max_entries: int = MAX_ENTRIES
) -> list[int]:
    """The variables of the scopes, less the kept ones, in min-fill order; ties go to the lowest column.

    The neighbours of a variable are the bits of one integer. `fill[v]` counts the pairs of neighbours of v that are
    not neighbours of each other, and is kept true as edges come and variables go.

    >>> min_fill_order([2, 2, 2, 2], [[0, 1], [1, 2], [2, 3], [0, 3]])
    [0, 1, 2, 3]
    """
    scopes = list(scopes)
    columns = sorted({v for scope in scopes for v in scope})
    if len(columns) > MANY:
        width = least_width([[v for v in scope if n_states[v] > 1] for scope in scopes], max_entries.bit_length() - 1)
        check_size(width + 1, 2 ** (width + 1), max_entries)
    place = {v: i for i, v in enumerate(columns)}
    near = [0] * len(columns)
    for scope in scopes:
        everyone = sum(1 << place[v] for v in set(scope))
        for v in scope:
            near[place[v]] |= everyone & ~(1 << place[v])
    fill = [sum((around & ~near[j]).bit_count() - 1 for j in _ones(around)) // 2 for around in near]
    waiting = sum(1 << i for i, v in enumerate(columns) if v not in set(kept))
    heap = [(fill[i], i) for i in _ones(waiting)]
    heapq.heapify(heap)
    order = []
    while heap:
        cost, i = heapq.heappop(heap)
        if cost != fill[i] or not waiting >> i & 1:
            continue  # an old entry
        around = near[i]
        neighbours = list(_ones(around))
        size = math.prod(n_states[columns[j]] for j in neighbours) * n_states[columns[i]]
        check_size(len(neighbours) + 1, size, max_entries)
        touched = around | (_connect(near, fill, around) if cost else 0)
        for j in neighbours:
            near[j] &= ~(1 << i)
            fill[j] -= (near[j] & ~around).bit_count()
        waiting &= ~(1 << i)
        order.append(columns[i])
        for j in _ones(touched & waiting):
            heapq.heappush(heap, (fill[j], j))
    return order


def _connect(near: list[int], fill: list[int], around: int) -> int:
    """Make these variables neighbours of each other; the variables whose fill changed, as bits."""
    touched = 0
    for a in _ones(around):
        for b in _ones(around & ~near[a] & ~((2 << a) - 1)):
            common = near[a] & near[b]
            for w in _ones(common):
                fill[w] -= 1
            fill[a] += (near[a] & ~near[b]).bit_count()
            fill[b] += (near[b] & ~near[a]).bit_count()
            near[a] |= 1 << b
            near[b] |= 1 << a
            touched |= common
    return touched


def _ones(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def least_width(scopes: Iterable[Sequence[int]], enough: int) -> int:
    """A number that the width of no order stays below; the search for a greater one ends at `enough`.

    A graph is at least as wide as any of its minors, and a minor at least as its smallest number of neighbours. So the
    variable with the fewest neighbours is drawn into the one of them that has the fewest, again and again.

    Paper  Bodlaender, Koster, Wolle (2006), Contraction and treewidth lower bounds

    >>> least_width([[0, 1], [1, 2], [2, 3], [0, 3]], 10)
    2
    """
    near: dict[int, set[int]] = {}
    for scope in scopes:
        for v in scope:
            near.setdefault(v, set()).update(scope)
    for v, around in near.items():
        around.discard(v)
    heap = [(len(around), v) for v, around in near.items()]
    heapq.heapify(heap)
    width = 0
    while heap and width < enough:
        degree, v = heapq.heappop(heap)
        if v not in near or degree != len(near[v]):
            continue  # an old entry
        width, around = max(width, degree), near.pop(v)
        into = min(around, key=lambda u: (len(near[u]), u), default=v)
        for u in around:
            near[u].discard(v)
            if u != into:
                near[u].add(into)
                near[into].add(u)
        for u in around:
            heapq.heappush(heap, (len(near[u]), u))
    return width


def check_size(width: int, n_entries: int, max_entries: int) -> None:
    if n_entries > max_entries:
        size = float(min(n_entries, 10**300))  # the true number may be beyond a float
        raise ResourceLimitError(
            f"The exact answer needs a table over {width} variables or more and room for at least {size:.3g} numbers "
            f"({8 * size / 2**20:.3g} MB) where max_entries allows {max_entries:.3g}; ask for fewer variables at a "
            "time, give more evidence, raise max_entries, or estimate the answer: query with method='gibbs', 'mcsat' "
            "or 'bp', log_partition with method='ais', or count in sample(model, n)."
        )


def _cluster_tree(
    scopes: Sequence[Sequence[int]], order: Sequence[int], kept: Sequence[int]
) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """(ranks in each cluster, factors of each cluster, parent of each cluster); the rank of a variable is its
    place in the order, kept variables last, and cluster k eliminates rank k. The root is the last cluster."""
    rank = {v: k for k, v in enumerate([*order, *kept])}
    root = len(order)
    members = [{k} for k in range(root)] + [set(range(root, len(rank)))]
    factors: list[list[int]] = [[] for _ in members]
    for f, scope in enumerate(scopes):
        ranks = {rank[v] for v in scope}
        home = min(ranks | {root})
        members[home] |= ranks
        factors[home].append(f)
    parent = []
    for k in range(root):
        separator = members[k] - {k}
        parent.append(min(separator | {root}))
        members[parent[k]] |= separator
    return [sorted(cluster) for cluster in members], factors, [*parent, -1]


def _depth_first(children: Sequence[Sequence[int]]) -> list[int]:
    """Children before parents, each subtree in one run, so that messages can be kept on a stack."""
    backwards, waiting = [], [len(children) - 1]
    while waiting:
        k = waiting.pop()
        backwards.append(k)
        waiting.extend(children[k])
    return backwards[::-1]


def _stacked(schedule, children, entries, separators) -> tuple[list[int], list[int], int]:
    """Room for one pass: a message takes the place of the messages it was made from, and of the beginning of its
    table, which the sum has read by then."""
    table_at, message_at = [0] * len(entries), [0] * len(entries)
    top = most = 0
    for k in schedule:
        message_at[k] = min((message_at[c] for c in children[k]), default=top)
        table_at[k] = top
        most = max(most, top + entries[k])
        top = message_at[k] + separators[k]
    return table_at, message_at, most


def _side_by_side(schedule, children, entries, separators) -> tuple[list[int], list[int], int]:
    """Room for two passes: every table and message keeps its place; one more message is on its way at a time."""
    ends = np.cumsum([0, *entries, *separators], dtype=object).tolist()
    n = len(entries)
    return ends[:n], ends[n : 2 * n], ends[-1] + max(separators)


def _ragged(lists: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    return starts, np.array([item for one in lists for item in one], np.int64)


def _strides(net: CompiledNet, clusters: Sequence[Sequence[int]], factors: Sequence[Sequence[int]]) -> np.ndarray:
    """(n_factors, most axes): the step of each factor in its own table along each axis of its cluster."""
    out = np.zeros((sum(map(len, factors)), max(map(len, clusters))), np.int64)
    row = 0
    for cluster, own in zip(clusters, factors):
        axis = {v: a for a, v in enumerate(cluster)}
        for c in own:
            step = 1
            for v in reversed(net.family(c)):
                if v in axis:
                    out[row, axis[v]] = step
                step *= net.n_states[v]
            row += 1
    return out


def _stretches(entries: Sequence[int]) -> Iterator[tuple[int, int]]:
    start = total = 0
    for k, size in enumerate(entries):
        if total + size > STRETCH and k > start:
            yield start, k
            start, total = k, 0
        total += size
    yield start, len(entries)
