"""Greedy search over directed acyclic graphs: climbs, tabu walks, perturbed restarts.

`climb` makes the best of all legal additions, drops and flips until none improves the score: Algorithm 1 of
the hybrid-random-field paper (Freno, Trentin, Gori 2009). `level_flips` then tries each flip that costs nothing, since
the equivalent graph it leads to has other neighbours, and climbs on where one of them is better.

`tabu` is Algorithm 1 of the Gaussian-tabu report (Wenig): after a climb, `walks` times walk by the best
move that leads to no graph of the tabu list, even downhill, until the walk beats its start or has taken
`walk_steps` steps, and climb again; then `restarts` times make `restart_steps` random moves, climb, and walk again.

`restarts` keeps the best graph, turns or drops a handful of arcs in one random place of it, climbs again, and goes back
unless that was better. Only the children it touches are scored anew, so a restart costs a small part of a climb.

Both are reproducible by their counts; a budget in seconds only decides how many are made. Every step returns to
Python, so that Ctrl-C is obeyed and progress can be shown.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from quiltwork.rng import stream
from quiltwork.search.graph import ADD, DROP, FLIP, TOLERANCE, Graph, Move

LEVEL = 1e-6  # gains below this are noise
_TRIES = 10_000  # draws after which no legal move is believed to be left
FEWEST_PERTURBED, MOST_PERTURBED = 2, 8

Progress = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


@dataclass
class History:
    """How a search went: the score after each step, and the phase the step belonged to."""

    scores: list[float] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)

    def note(self, score: float, phase: str) -> None:
        self.scores.append(score)
        self.phases.append(phase)

    def forget(self) -> None:
        """Begin again: what was noted belonged to a trial."""
        self.scores.clear()
        self.phases.clear()


def climb(graph: Graph, history: History, phase: str = "climb", progress: Progress = silent) -> None:
    """Make the best move until none improves the score."""
    score, steps = graph.total, 0
    while (move := graph.best_move()) is not None and move.delta > TOLERANCE:
        graph.rescore(graph.change(move))
        score += move.delta
        history.note(score, phase)
        steps += 1
        if steps % 16 == 0:
            progress("climbing", steps, 0)


def level_flips(graph: Graph, history: History, phase: str = "climb") -> None:
    """Flip each arc whose flip costs nothing, and keep the flip where it opens a better move.

    Such a flip leads to an equivalent graph, which has other neighbours.
    """
    for parent, child in graph.arcs().tolist():
        flip = Move(FLIP, parent, child, 0.0)
        level = parent in graph.parents(child) and abs(graph.delta(child, parent) + graph.delta(parent, child)) < LEVEL
        if level and graph.is_legal(flip):
            graph.mark()
            graph.rescore(graph.change(flip))
            move = graph.best_move()
            if move is not None and move.delta > LEVEL:
                climb(graph, history, phase)
            else:
                graph.revert()
    graph.unmark()


def restarts(
    graph: Graph,
    history: History,
    n_restarts: int | None,
    budget: float | None,
    seed: int,
    progress: Progress = silent,
    most_perturbed: int = MOST_PERTURBED,
) -> int:
    """Perturb the best graph and climb again, `n_restarts` times or for `budget` seconds; returns how many."""
    began = time.monotonic()
    done = 0
    while not _is_over(done, n_restarts, began, budget):
        graph.mark()
        touched = _perturb(graph, stream(seed, done), most_perturbed)
        done += 1
        if not touched:
            break
        graph.rescore(touched)
        while (move := graph.best_move()) is not None and move.delta > TOLERANCE:
            graph.rescore(graph.change(move))
        if graph.gain_since_mark() > TOLERANCE:
            history.note(graph.total, "restart")
        else:
            graph.revert()
        progress("restarting", done, n_restarts or 0)
    graph.unmark()
    return done


def tabu(
    graph: Graph,
    history: History,
    *,
    walks: int,
    walk_steps: int,
    tabu_length: int,
    n_restarts: int,
    restart_steps: int,
    seed: int,
    progress: Progress = silent,
) -> list[tuple[int, ...]]:
    """Tabu walks and random restarts from a graph that was climbed; returns the parents in the best graph seen."""
    best_score, best = graph.total, graph.all_parents()
    rounds = n_restarts + 1
    for round_ in range(rounds):
        if round_ > 0:
            if not _random_moves(graph, history, restart_steps, stream(seed, round_)):
                break
            climb(graph, history, "climb")
        for walk in range(walks):
            _walk(graph, history, walk_steps, tabu_length)
            climb(graph, history, "climb")
            if graph.total > best_score + TOLERANCE:
                best_score, best = graph.total, graph.all_parents()
            progress("walking", round_ * walks + walk + 1, rounds * walks)
        if graph.total > best_score + TOLERANCE:
            best_score, best = graph.total, graph.all_parents()
    return best


def _walk(graph: Graph, history: History, steps: int, tabu_length: int) -> None:
    """Take the best move to a graph not visited lately, whatever it costs, until the start is beaten."""
    start = score = graph.total
    visited: deque[np.uint64] = deque([graph.hash], maxlen=tabu_length)
    for _ in range(steps):
        move = graph.best_move(np.array(visited, np.uint64))
        if move is None or move.delta == -np.inf:
            return
        graph.rescore(graph.change(move))
        visited.append(graph.hash)
        score += move.delta
        history.note(score, "walk")
        if score > start + TOLERANCE:
            return


def _perturb(graph: Graph, rng: np.random.Generator, most: int) -> list[int]:
    """Flip or drop a handful of arcs that lie together, where that is legal; returns the children touched.

    What holds a graph in a local optimum is a few arcs of one place that would have to change at once.
    """
    arcs = graph.arcs()
    n_moves = int(rng.integers(FEWEST_PERTURBED, most + 1))
    touched: set[int] = set()
    for k in rng.permutation(_arcs_together(arcs, n_moves, graph.n_vars, rng))[:n_moves]:
        parent, child = map(int, arcs[k])
        flip, drop = Move(FLIP, parent, child, 0.0), Move(DROP, parent, child, 0.0)
        if rng.random() < 0.5 and graph.is_legal(flip):
            touched.update(graph.change(flip))
        elif graph.is_legal(drop):
            touched.update(graph.change(drop))
    return sorted(touched)


def _arcs_together(arcs: np.ndarray, at_least: int, n_vars: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of the arcs around a random one, of as wide a neighbourhood as it takes to have enough."""
    if not len(arcs):
        return np.empty(0, np.int64)
    near = np.zeros(n_vars, bool)
    near[arcs[rng.integers(len(arcs))]] = True
    found = np.empty(0, np.int64)
    while True:
        wider = np.flatnonzero(near[arcs[:, 0]] | near[arcs[:, 1]])
        if len(wider) >= at_least or len(wider) == len(found):
            return wider
        found = wider
        near[arcs[found]] = True


def _random_moves(graph: Graph, history: History, steps: int, rng: np.random.Generator) -> bool:
    """Make moves drawn evenly from all legal ones: arcs are drawn until one can be moved; False if none can."""
    for _ in range(steps):
        for _ in range(_TRIES):
            parent, child, which = rng.integers([graph.n_vars, graph.n_vars, 2]).tolist()
            kinds = (DROP, FLIP) if parent in graph.parents(child) else (ADD,)
            if (
                parent != child
                and which < len(kinds)
                and graph.is_legal(move := Move(kinds[which], parent, child, 0.0))
            ):
                graph.rescore(graph.change(move))
                history.note(graph.total, "random")
                break
        else:
            return False
    return True


def _is_over(done: int, n_restarts: int | None, began: float, budget: float | None) -> bool:
    if n_restarts is not None and done >= n_restarts:
        return True
    return budget is not None and time.monotonic() - began >= budget
