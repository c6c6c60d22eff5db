"""Greedy search over directed acyclic graphs: climbs, tabu walks, perturbed restarts.

`climb` makes the best of all legal additions, drops and flips until none improves the score: Algorithm 1 of
the hybrid-random-field paper (Freno, Trentin, Gori 2009). `level_flips` then tries each flip that costs nothing, since
the equivalent graph it leads to has other neighbours, and climbs on where one of them is better.

`tabu` is Algorithm 1 of the Gaussian-tabu report (Wenig): after a climb, `walks` times walk by the best
move that leads to no graph of the tabu list, even downhill, until the walk beats its start or has taken
`walk_steps` steps, and climb again; then `restarts` times make `restart_steps` random moves, climb, and walk again. A
restart that ends below the best graph is taken back: else they drift away from it where variables are many.

`restarts` keeps the best graph, turns or drops a handful of arcs in one random place of it, climbs again, and goes back
unless that was better. Only the children it touches are scored anew, so a restart costs a small part of a climb.

What a climb, a level flip and a restart do step by step is in `search.steps`; this file says how often, and lets Ctrl-C
and progress in between. All are reproducible by their counts; a budget in seconds only decides how many are made.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from quiltwork.rng import stream
from quiltwork.search.graph import ADD, DROP, FLIP, TOLERANCE, Graph, Move
from quiltwork.search.steps import CLIMB, LEVEL, RESTART, Job

_TRIES = 100  # draws after which legal moves are so rare that they are listed
MOST_PERTURBED = 8
DICE = 64  # restarts whose random numbers are drawn together

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
    _run(graph, graph.job(CLIMB), history, phase, progress)


def level_flips(graph: Graph, history: History, phase: str = "climb") -> None:
    """Flip each arc whose flip costs nothing, and keep the flip where it opens a better move.

    Such a flip leads to an equivalent graph, which has other neighbours.
    """
    _run(graph, graph.job(LEVEL), history, phase)


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
    done, at_once = 0, DICE if graph.runs_by_itself and budget is None else 1
    while not _is_over(done, n_restarts, began, budget):
        if done % DICE == 0:
            dice = stream(seed, done // DICE).random((DICE, 1 + 3 * most_perturbed))
        some = dice[done % DICE :][:at_once]
        job = graph.job(RESTART, some if n_restarts is None else some[: n_restarts - done], most_perturbed)
        _run(graph, job, history, "restart")
        done += job.n_done
        progress("restarting", done, n_restarts or 0)
        if not job.is_done:  # nothing can be moved
            break
    return done


def _run(graph: Graph, job: Job, history: History, phase: str, progress: Progress = silent) -> None:
    """Do a job to its end; note the scores on the way."""
    steps, told, more = 0, 0, True
    while more:
        more = graph.go_on(job)
        for score in job.take_notes():
            history.note(score, phase)
            steps += 1
        if steps >= told + 16:
            told = steps
            progress("climbing", steps, 0)


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
    """Tabu walks and random restarts from a graph that was climbed; returns the parents in the best graph seen.

    The walks between two restarts share one tabu list: one that fell back into the maximum it left would otherwise be
    followed by the same walk again.
    """
    best = _Best(graph)
    rounds = n_restarts + 1
    for round_ in range(rounds):
        if round_ > 0:
            graph.mark()
            if not _random_moves(graph, history, restart_steps, stream(seed, round_)):
                break
            climb(graph, history, "climb")
            best.look_at(graph)
        visited: deque[np.uint64] = deque([graph.hash], maxlen=tabu_length)
        for walk in range(walks):
            _walk(graph, history, walk_steps, visited)
            best.look_at(graph)
            climb(graph, history, "climb")
            best.look_at(graph)
            progress("walking", round_ * walks + walk + 1, rounds * walks)
        if round_ > 0 and graph.total < best.score - TOLERANCE:
            graph.revert()
    return best.parents


class _Best:
    """The best graph seen."""

    def __init__(self, graph: Graph):
        self.score, self.parents = graph.total, graph.all_parents()

    def look_at(self, graph: Graph) -> None:
        if graph.total > self.score + TOLERANCE:
            self.score, self.parents = graph.total, graph.all_parents()


def _walk(graph: Graph, history: History, steps: int, visited: deque[np.uint64]) -> None:
    """Take the best move to a graph not visited lately, whatever it costs, until the start is beaten."""
    start = graph.total
    for _ in range(steps):
        move = graph.best_move(np.array(visited, np.uint64))
        if move is None or move.delta == -np.inf:
            return
        graph.rescore(graph.change(move))
        visited.append(graph.hash)
        history.note(graph.total, "walk")
        if graph.total > start + TOLERANCE:
            return


def _random_moves(graph: Graph, history: History, steps: int, rng: np.random.Generator) -> bool:
    """Make moves drawn evenly from all legal ones; False where none is left."""
    for _ in range(steps):
        move = _drawn(graph, rng)
        if move is None:
            return False
        graph.rescore(graph.change(move))
        history.note(graph.total, "random")
    return True


def _drawn(graph: Graph, rng: np.random.Generator) -> Move | None:
    """A legal move; pairs are drawn until there is one, for listing all moves takes longer where many are legal."""
    for _ in range(_TRIES):
        parent, child, which = rng.integers([graph.n_vars, graph.n_vars, 2]).tolist()
        kinds = (DROP, FLIP) if parent in graph.parents(child) else (ADD,)
        if parent != child and which < len(kinds) and graph.is_legal(move := Move(kinds[which], parent, child, 0.0)):
            return move
    legal = graph.legal_moves()
    return legal[int(rng.integers(len(legal)))] if legal else None


def _is_over(done: int, n_restarts: int | None, began: float, budget: float | None) -> bool:
    if n_restarts is not None and done >= n_restarts:
        return True
    return budget is not None and time.monotonic() - began >= budget
