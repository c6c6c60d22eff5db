"""P(x_v | all the others) in a dependency network: one look-up in the table of v.

Missing parents are summed out with the weights that the configurations of the parents had in training. As tables and
weights are smoothed alike, P(x_v | the observed parents) is then just what smoothed counts over the observed parents
alone would say; a variable with no parent observed gets its smoothed share of the training rows.
"""

from __future__ import annotations

import numpy as np

from quiltwork.data.dataset import NO_CODE
from quiltwork.infer.conditionals import conditionals, factor_logits
from quiltwork.models.dependency import DependencyNet


def dependency_logits(model: DependencyNet, codes: np.ndarray, target: int | None) -> np.ndarray:
    """Logits of all states of all variables (or of the target alone) given each row's other values."""
    out, gaps = factor_logits(model, codes, target)
    first = conditionals(model).first_state
    for v in np.flatnonzero(gaps.any(axis=0)):
        rows = np.flatnonzero(gaps[:, v])
        out[rows, first[v] : first[v + 1]] = _summed_out(model, int(v), codes[rows])
    return out


def _summed_out(model: DependencyNet, v: int, codes: np.ndarray) -> np.ndarray:
    """Logits (rows, states of v) where some parents are missing."""
    cpd = model.cpds[v]
    parents = codes[:, cpd.parents]
    weighted = model.config_weights[v][:, None] * cpd.probs
    joint = weighted.reshape(*(model.variables[p].n_states for p in cpd.parents), -1)
    patterns, which = np.unique(parents == NO_CODE, axis=0, return_inverse=True)
    out = np.empty((len(codes), joint.shape[-1]))
    for k, absent in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == k)
        table = joint.sum(axis=tuple(np.flatnonzero(absent)))
        out[rows] = table[tuple(parents[np.ix_(rows, np.flatnonzero(~absent))].T)]
    return np.log(out, out=np.full(out.shape, -np.inf), where=out > 0)
