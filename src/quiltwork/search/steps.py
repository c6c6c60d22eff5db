"""Climbs, level flips and restarts as machines that stop wherever rows must be scored.

`advance` takes a search on to the next change of the graph and says which children must be scored; whoever scores them
calls it again. So one body of each search serves scorers in Python, which count tables, and scorers that are kernels
themselves, whose whole search then runs without returning (see `search.gaussian_deltas`).

    climb     the best move, until none improves
    level     flip each arc whose flip costs nothing; climb where that opens a better move, else flip it back
    restart   flip or drop a handful of arcs that lie together, climb, and go back unless that was better
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from quiltwork.search.moves import (
    DROP,
    FLIP,
    TOLERANCE,
    State,
    best_move,
    change,
    gain_since_mark,
    has_room,
    is_legal,
    mark,
    revert,
    unmark,
)

CLIMB, LEVEL, RESTART = 0, 1, 2
FINISHED, NEEDS_ROOM, PAUSED = 0, -1, -2  # what `advance` says when no row is to be scored
LEVEL_GAIN = 1e-6  # gains below this are noise
FEWEST_PERTURBED = 2  # arcs
NO_TABU = np.empty(0, np.uint64)

# Places in Job.plan
KIND, WANTED, DONE, NEXT, END, BUSY, N_TOUCHED, N_NOTES, MOST, MOVED, NOTED = range(11)


class Job(NamedTuple):
    """What a search is to do, and where it stands. (Kernels know the fields by place.)

    plan     (11,) its kind; restarts wanted and done; the next of its arcs and their end; whether it is trying (1) or
             climbing (2); how many children it has touched, scores it has noted; most arcs to perturb; whether its last
             step was a move upwards, and whether that is to be noted
    before   (1,) what the families that the last move touched scored before it
    touched  (n,) the children whose rows must be scored
    arcs     (m, 2) parent and child, to be tried or perturbed
    dice     (restarts, 1 + 3 x most) even numbers from 0 to 1, for each restart its own
    notes    (room,) scores on the way, for the history
    """

    plan: np.ndarray
    before: np.ndarray
    touched: np.ndarray
    arcs: np.ndarray
    dice: np.ndarray
    notes: np.ndarray

    @classmethod
    def of(cls, kind: int, state: State, dice: np.ndarray | None = None, most: int = 0) -> Job:
        """A job that begins from this graph; each row of `dice` is one restart."""
        n = len(state.n_parents)
        dice = np.empty((0, 0)) if dice is None else dice
        plan = np.array([kind, len(dice), 0, 0, 0, 0, 0, 0, most, 0, 0])
        arcs = np.empty((max(int(state.n_parents.sum()), most), 2), np.int64)
        plan[END] = _list_arcs(state, arcs) if kind == LEVEL else 0
        return cls(plan, np.zeros(1), np.empty(n, np.int64), arcs, dice, np.empty(64))

    @property
    def n_done(self) -> int:
        """Restarts that have been made."""
        return int(self.plan[DONE])

    @property
    def is_done(self) -> bool:
        """Whether all that were wanted have been; they end before where no arc can be moved."""
        return bool(self.plan[DONE] == self.plan[WANTED])

    def take_notes(self) -> list[float]:
        """The scores noted since they were taken last."""
        noted = self.notes[: self.plan[N_NOTES]].tolist()
        self.plan[N_NOTES] = 0
        return noted


@njit(cache=True, nogil=True)
def advance(state, job):
    """Go on until rows must be scored: how many, job.touched says which.

    Or FINISHED; or NEEDS_ROOM in the state; or PAUSED, for the notes must be taken.
    """
    if job.plan[N_NOTES] == job.notes.size:
        return PAUSED
    if job.plan[KIND] == CLIMB:
        return _step_up(state, job, True)
    return _advance_level(state, job) if job.plan[KIND] == LEVEL else _advance_restarts(state, job)


@njit(cache=True, nogil=True)
def _step_up(state, job, noted):
    """Make the best move, if it improves the score; the score that the last one led to is noted.

    A climb ends where a move that was to improve the score did not, once its rows were scored: so near to collinear
    columns, where gains are rounding, it cannot go round in circles.
    """
    if job.plan[MOVED]:
        job.plan[MOVED] = 0
        if job.plan[NOTED]:
            _note(state, job)
        if _touched_score(state, job) <= job.before[0]:
            return FINISHED
    kind, parent, child, delta = best_move(state, NO_TABU)
    if kind < 0 or delta <= TOLERANCE:
        return FINISHED
    if not has_room(state, kind, parent, child):
        state.fresh[child] = True  # looked at, and to be looked at again
        return NEEDS_ROOM
    job.plan[N_TOUCHED] = 0
    job.before[0] = state.local[child] + (state.local[parent] if kind == FLIP else 0.0)
    _make(state, job, kind, parent, child)
    job.plan[MOVED], job.plan[NOTED] = 1, noted
    return job.plan[N_TOUCHED]


@njit(cache=True, nogil=True)
def _touched_score(state, job):
    total = 0.0
    for i in range(job.plan[N_TOUCHED]):
        total += state.local[job.touched[i]]
    return total


@njit(cache=True, nogil=True)
def _advance_level(state, job):
    plan = job.plan
    if plan[BUSY] == 1:  # a flip has been tried, and its rows are scored
        kind, _, _, delta = best_move(state, NO_TABU)
        if kind >= 0 and delta > LEVEL_GAIN:
            unmark(state)
            plan[BUSY] = 2
        else:
            revert(state)
            unmark(state)
            plan[BUSY] = 0
    if plan[BUSY] == 2:
        n = _step_up(state, job, True)
        if n != FINISHED:
            return n
        plan[BUSY] = 0
    while plan[NEXT] < plan[END]:
        parent, child = job.arcs[plan[NEXT]]
        there = _is_parent(state, parent, child)
        cost = state.deltas[child, parent] + state.deltas[parent, child]
        if there and abs(cost) < LEVEL_GAIN and is_legal(state, FLIP, parent, child):
            if not has_room(state, FLIP, parent, child):
                return NEEDS_ROOM
            mark(state)
            plan[N_TOUCHED] = 0
            _make(state, job, FLIP, parent, child)
            plan[NEXT], plan[BUSY] = plan[NEXT] + 1, 1
            return plan[N_TOUCHED]
        plan[NEXT] += 1
    return FINISHED


@njit(cache=True, nogil=True)
def _advance_restarts(state, job):
    plan = job.plan
    while True:
        if plan[BUSY] == 0:
            if plan[DONE] == plan[WANTED]:
                unmark(state)
                return FINISHED
            mark(state)
            plan[NEXT], plan[END], plan[BUSY], plan[N_TOUCHED] = 0, _choose_arcs(state, job), 1, 0
        if plan[BUSY] == 1:
            if not _perturb(state, job):
                return NEEDS_ROOM
            if plan[N_TOUCHED] == 0:  # nothing can be moved, now or later
                unmark(state)
                return FINISHED
            plan[BUSY] = 2
            return plan[N_TOUCHED]
        n = _step_up(state, job, False)
        if n != FINISHED:
            return n
        if gain_since_mark(state) > TOLERANCE:
            _note(state, job)
        else:
            revert(state)
        plan[DONE] += 1
        plan[BUSY] = 0
        if plan[N_NOTES] == job.notes.size:
            return PAUSED


@njit(cache=True, nogil=True)
def _perturb(state, job):
    """Flip or drop the chosen arcs, where that is legal; False where there is no room to go on.

    What holds a graph in a local optimum is a few arcs of one place that would have to change at once.
    """
    plan = job.plan
    while plan[NEXT] < plan[END]:
        parent, child = job.arcs[plan[NEXT]]
        if not has_room(state, FLIP, parent, child):
            return False
        turned = job.dice[plan[DONE], 1 + 2 * plan[MOST] + plan[NEXT]] < 0.5
        if turned and is_legal(state, FLIP, parent, child):
            _make(state, job, FLIP, parent, child)
        elif is_legal(state, DROP, parent, child):
            _make(state, job, DROP, parent, child)
        plan[NEXT] += 1
    return True


@njit(cache=True, nogil=True)
def _choose_arcs(state, job):
    """Draw how many arcs, then so many around a random one; returns how many stand in job.arcs."""
    most, dice = job.plan[MOST], job.dice[job.plan[DONE]]
    arcs = np.empty((state.n_parents.sum(), 2), np.int64)
    n_arcs = _list_arcs(state, arcs)
    if n_arcs == 0:
        return 0
    wanted = FEWEST_PERTURBED + np.int64(dice[0] * (most + 1 - FEWEST_PERTURBED))
    together = _arcs_together(arcs[:n_arcs], np.int64(dice[1] * n_arcs), wanted, state.n_parents.size)
    n = min(wanted, together.size)
    for i in range(n):
        j = i + np.int64(dice[1 + most + i] * (together.size - i))
        together[i], together[j] = together[j], together[i]
        job.arcs[i] = arcs[together[i]]
    return n


@njit(cache=True, nogil=True)
def _arcs_together(arcs, centre, at_least, n_vars):
    """Places of the arcs around one of them, of as wide a neighbourhood as it takes to have enough."""
    near = np.zeros(n_vars, np.bool_)
    near[arcs[centre, 0]], near[arcs[centre, 1]] = True, True
    before = 0
    while True:
        wider = np.flatnonzero(near[arcs[:, 0]] | near[arcs[:, 1]])
        if wider.size >= at_least or wider.size == before:
            return wider
        before = wider.size
        for k in wider:
            near[arcs[k, 0]], near[arcs[k, 1]] = True, True


@njit(cache=True, nogil=True)
def _list_arcs(state, arcs):
    """Fill arcs with parent and child of those that are not required, by child and then by parent; returns how many."""
    m = 0
    for v in range(state.n_parents.size):
        for k in range(state.n_parents[v]):
            if is_legal(state, DROP, state.parents[v, k], v):
                arcs[m, 0], arcs[m, 1] = state.parents[v, k], v
                m += 1
    return m


@njit(cache=True, nogil=True)
def _is_parent(state, parent, child):
    for k in range(state.n_parents[child]):  # noqa: SIM110
        if state.parents[child, k] == parent:
            return True
    return False


@njit(cache=True, nogil=True)
def _make(state, job, kind, parent, child):
    """Make a move, and list the children that it touches."""
    change(state, kind, parent, child)
    _touch(job, child)
    if kind == FLIP:
        _touch(job, parent)


@njit(cache=True, nogil=True)
def _touch(job, v):
    for i in range(job.plan[N_TOUCHED]):
        if job.touched[i] == v:
            return
    job.touched[job.plan[N_TOUCHED]] = v
    job.plan[N_TOUCHED] += 1


@njit(cache=True, nogil=True)
def _note(state, job):
    job.notes[job.plan[N_NOTES]] = state.local.sum()
    job.plan[N_NOTES] += 1
