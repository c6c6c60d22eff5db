"""P(x_v | all the others) in a dependency network: the CPD of v alone.

A parent that is missing is summed out as its CPD can. In a table the configurations are weighted as they occurred in
training; as tables and weights are smoothed alike, P(x_v | the observed parents) is then just what smoothed counts over
the observed parents alone would say, and a variable with no parent observed gets its smoothed share of the rows.
Trees go on along all branches, weighted as the training rows took them; linear predictors take the mean.

Boosted trees are many. For few rows they are walked like any other tree; for many, a CPD does all rows at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quiltwork.infer.conditionals import factor_logits
from quiltwork.models.dependency import DependencyNet

MANY = 32  # rows that are worth telling apart by planes of bits
CELLS_AT_A_TIME = 2**22  # of rows x states


def dependency_logits(model: DependencyNet, codes: np.ndarray, target: int | None) -> np.ndarray:
    """Logits of all states of all variables (or of the target alone) given each row's other values."""
    asked = range(len(model.cpds)) if target is None else [target]
    first = np.cumsum([0, *(variable.n_states for variable in model.variables)])
    whole = [v for v in asked if model.cpds[v].kind == "boosted" and len(codes) >= MANY]
    gaps = np.zeros((len(codes), len(model.cpds)), np.bool_)
    out = np.zeros((len(codes), first[-1]))
    if len(whole) < len(asked):
        out, gaps = factor_logits(model, codes, np.setdiff1d(asked, whole))
    for v in whole:
        out[:, first[v] : first[v + 1]] = model.cpds[v].log_probs(codes)
    for v in np.flatnonzero(gaps.any(axis=0)).tolist():
        rows = np.flatnonzero(gaps[:, v])
        out[rows, first[v] : first[v + 1]] = cpd_log_probs(model.cpds[v], codes[rows], np.diff(first))
    return out


def cpd_log_probs(cpd: Any, codes: np.ndarray, n_states: np.ndarray) -> np.ndarray:
    """log P(child = s | the row's parents) under a CPD of any kind, (rows, states)."""
    found: np.ndarray = cpd.log_probs(codes, n_states) if cpd.kind == "table" else cpd.log_probs(codes)
    return found


def observed_log_probs(cpd: Any, codes: np.ndarray, n_states: np.ndarray) -> np.ndarray:
    """(rows,) log P of the state that the child is in, which is known in all rows, under a CPD of any kind."""
    out, at_a_time = np.empty(len(codes)), max(1, CELLS_AT_A_TIME // int(n_states[cpd.child]))
    for begin in range(0, len(codes), at_a_time):
        some = codes[begin : begin + at_a_time]
        out[begin : begin + at_a_time] = cpd_log_probs(cpd, some, n_states)[np.arange(len(some)), some[:, cpd.child]]
    return out
