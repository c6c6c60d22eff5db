"""How a Gaussian network lies in a model file.

Names and the policy for missing values are the description; numbers are flat tensors:

    indptr, indices         the parents of variable v are indices[indptr[v]:indptr[v + 1]], ascending
    weights                 of the arcs, in the order of `indices`
    intercepts, variances   of the variables
    strengths               of the arcs, in the order of `indices`; empty where they are not known
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from quiltwork.cpds.linear_gaussian import LinearGaussianCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.numbers import NumberEncoder
from quiltwork.models.bayesian_file import strengths_of, structure_of
from quiltwork.models.gaussian import GaussianNet

TENSORS = {
    **dict.fromkeys(("indptr", "indices"), ("I64", 1)),
    **dict.fromkeys(("weights", "intercepts", "variances", "strengths"), ("F64", 1)),
}


class Description(Struct):
    """Names of the variables, and what a missing value was when they were learned."""

    names: list[str]
    missing: Annotated[str, Meta(pattern="^(error|drop)$")]


SCHEMA = Description


def pack(model: GaussianNet) -> tuple[Description, dict[str, np.ndarray]]:
    """The network as a description and tensors."""
    names = [variable.name for variable in model.variables]
    return Description(names, model.encoder.missing), {
        "indptr": model.structure.indptr,
        "indices": model.structure.indices,
        "weights": np.concatenate([np.empty(0), *(cpd.weights for cpd in model.cpds)]),
        "intercepts": np.array([cpd.intercept for cpd in model.cpds]),
        "variances": np.array([cpd.variance for cpd in model.cpds]),
        "strengths": np.empty(0) if model.strengths is None else np.asarray(model.strengths, np.float64),
    }


def unpack(description: Description, tensors: Mapping[str, np.ndarray], provenance: dict[str, Any]) -> GaussianNet:
    """The network again; a ValueError says what cannot be true of one."""
    names = description.names
    if not names or len(set(names)) != len(names):
        raise ValueError("there must be variables, and no two of the same name.")
    structure = structure_of(tensors["indptr"], tensors["indices"], len(names))
    weights, intercepts, variances = (tensors[name] for name in ("weights", "intercepts", "variances"))
    if (len(weights), len(intercepts), len(variances)) != (structure.n_arcs, len(names), len(names)):
        raise ValueError("its numbers do not fit the variables and their parents.")
    if not all(np.isfinite(numbers).all() for numbers in (weights, intercepts, variances)) or not (variances > 0).all():
        raise ValueError("every weight, intercept and variance must be finite, and every variance above 0.")
    encoder = NumberEncoder(tuple(Variable(name, ()) for name in names), description.missing)
    cpds = tuple(
        LinearGaussianCPD(v, structure.parents(v), intercept, weights[start:stop], variance)
        for v, (intercept, variance, start, stop) in enumerate(
            zip(intercepts.tolist(), variances.tolist(), structure.indptr[:-1], structure.indptr[1:])
        )
    )
    strengths = strengths_of(tensors["strengths"], structure)
    return GaussianNet(encoder, cpds, provenance, strengths)  # which refuses a cycle
