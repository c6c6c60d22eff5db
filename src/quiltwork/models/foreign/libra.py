"""Libra: networks as factors, numbers and nothing else (`.mn`, `.bn`, `.dn`).

    2,2,3                        states of each variable
    MN {                         a Markov network: weights add up to the logarithm of the probability, but for log Z
    1.5 +v0_1 -v2_0              a feature: its weight, where v0 is in state 1 and v2 is not in state 0
    features {                   features together, each on a line
    0.25 +v1_0
    }
    table {                      one feature for each joint state
    -0.1 +v0_0 +v1_0
    ...
    }
    tree {                       (test yes no): the weight is that of the leaf that is reached
    (v0_1 0.7 (v1_0 -0.2 0.3))
    }
    }

A Bayesian network (BN) or a dependency network (DN) has one table or tree for each variable, of log-probabilities; the
tests on the variable itself stand lowest in its tree:

    BN {
    v0 {
    tree {
    (v1_0 (v0_0 -0.105 -2.303) (v0_0 -1.609 -0.223))
    }
    }
    ...
    }

Variables are read as v0, v1, ... with the states 0, 1, ...; names and states are lost when a network is written. "Not
in state s" is read as one feature for each other state, all with the same weight, which says the same. Logarithms
are written with all their digits. Libra writes seven, so distributions are rescaled, unless they miss one by 0.001.

(User Manual for Libra 1.1.2, section "File formats", and the models that come with it. `data/libra.py` has the rows.)
"""

from __future__ import annotations

import os
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import Encoder, fit_encode
from quiltwork.data.libra import libra_schema, libra_text, libra_variables
from quiltwork.errors import FormatError, InputError
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.dependency import DependencyNet
from quiltwork.models.disk import write_atomically
from quiltwork.models.foreign.draft import source_of
from quiltwork.models.foreign.libra_factors import Words, conjunctions_of, cpd_of, read_factor, table_text, tree_text
from quiltwork.models.markov import MarkovNet
from quiltwork.stats.conjunctions import Conjunctions, distinct

KINDS = {"mn": "MN", "bn": "BN", "dn": "DN"}  # of models, and how files call them
LOWEST_WEIGHT = -1e300  # a Markov network has no weight of -inf


def read(data: bytes, path: str) -> MarkovNet | BayesianNet | DependencyNet:
    """The network in the bytes of a Libra file; `path` is for messages.

    >>> read(b"2,2\\nMN {\\n1.5 +v0_1 +v1_1\\n}\\n", "pair.mn").features
    [({'v0': 1, 'v1': 1}, 1.5)]
    """
    lines = data.decode("latin-1").splitlines()
    if not lines:
        raise FormatError("the file is empty.", path)
    n_states = libra_schema(lines[0].encode("latin-1"), path, 1)
    words = Words(lines, path, n_states)
    line, kind = words.line, words.next("MN, BN or DN")
    if kind not in KINDS.values():
        words.fail(f"expected MN, BN or DN, got {kind[:20]!r}.", line)
    words.expect("{")
    encoder, provenance = Encoder(libra_variables(n_states)), {"source": source_of(path)}
    model = _read_markov(words, encoder, provenance) if kind == "MN" else _read_cpds(words, kind, encoder, provenance)
    words.expect("}")
    if words.peek():
        words.fail(f"nothing may stand after the network. Got {words.peek()[:20]!r}.")
    return model


def write(model: Any) -> str:
    """The network as a Libra file, without its names and states.

    >>> from quiltwork.models.textbook import textbook
    >>> write(textbook("sprinkler")).splitlines()[:5]
    ['2,2,2,2', 'BN {', 'v0 {', 'table {', '-0.6931471805599453 +v0_0']
    """
    if getattr(model, "kind", None) not in KINDS:
        raise InputError(
            f"Libra has Markov, Bayesian and dependency networks. Got {type(model).__name__} instead; save it as .qw."
        )
    n_states = np.array([variable.n_states for variable in model.variables], np.int64)
    body = _features_text(model) if model.kind == "mn" else _cpds_text(model, n_states)
    return "\n".join([",".join(map(str, n_states.tolist())), f"{KINDS[model.kind]} {{", *body, "}", ""])


def write_libra_data(X: Any, path: str | os.PathLike[str], *, missing: str = "error") -> None:
    """Write a table as a Libra data file, and its schema beside it in a file of the same name ending in `.schema`.

    A state is written as its number among those of this table. Rows for a network that was learned from another table
    are `model.encoder.encode(X)`: they have the numbers of its states, and may have missing values. Of any other table
    rows with missing values are refused, left out (missing="drop"), or have a state of their own there ("state").

    >>> import tempfile
    >>> from quiltwork.data.read import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_libra_data({"rain": ["no", "yes"], "wet": ["no", "yes"]}, f"{folder}/two.data")
    ...     read_table(f"{folder}/two.data").to_dict()
    {'v0': array([0, 1]), 'v1': array([0, 1])}
    """
    data = X if isinstance(X, Dataset) else fit_encode(X, missing=missing)[1]
    rows, schema = libra_text(data)
    write_atomically(Path(path).with_suffix(".schema"), schema.encode())
    write_atomically(path, rows.encode())


# Markov networks


def _read_markov(words: Words, encoder: Encoder, provenance: dict[str, Any]) -> MarkovNet:
    features, weights = [], []
    while words.peek() not in ("}", ""):
        for conditions, weight in conjunctions_of(read_factor(words, LOWEST_WEIGHT), words):
            features.append(conditions)
            weights.append(weight)
    found, which = distinct([Conjunctions.of(features)])
    total = np.bincount(which, weights, len(found)) if len(found) else np.empty(0)
    with np.errstate(over="ignore"):
        if not np.isfinite(np.abs(total).sum()):
            words.fail("the weights are so large that their sum is no finite number.")
    n_all = sum(variable.n_states for variable in encoder.variables)
    arrays = found.first_condition, found.columns, found.states, total
    return MarkovNet(encoder, *arrays, np.zeros(n_all), provenance)


def _features_text(model: MarkovNet) -> list[str]:
    pairs = [f"+v{v}_{s}" for v, s in zip(model.columns.tolist(), model.states.tolist(), strict=True)]
    first = model.first_condition.tolist()
    return [" ".join([repr(w), *pairs[first[f] : first[f + 1]]]) for f, w in enumerate(model.weights.tolist())]


# Bayesian and dependency networks


def _read_cpds(words: Words, kind: str, encoder: Encoder, provenance: dict[str, Any]) -> BayesianNet | DependencyNet:
    cpds: dict[int, Any] = {}
    while words.peek() not in ("}", ""):
        line, name = words.line, words.next("a variable")
        if not (name[0] == "v" and name[1:].isdecimal() and len(name) < 11):
            words.fail(f"expected a variable such as v0, got {name[:20]!r}.", line)
        v = int(name[1:])
        if v >= len(encoder.variables):
            words.fail(f"there is no variable {name}: the first line says {len(encoder.variables)} variables.", line)
        if v in cpds:
            words.fail(f"variable {name} has two distributions.", line)
        words.expect("{")
        cpds[v] = cpd_of(read_factor(words, -inf), v, words)
        words.expect("}")
    if len(cpds) < len(encoder.variables):
        lacking = next(v for v in range(len(encoder.variables)) if v not in cpds)
        words.fail(f"the network ends, and v{lacking} has no distribution.")
    ordered = tuple(cpds[v] for v in range(len(encoder.variables)))
    if kind == "DN":
        n_all = sum(variable.n_states for variable in encoder.variables)
        return DependencyNet(encoder, ordered, np.zeros(n_all), provenance)
    try:
        return BayesianNet(encoder, ordered, provenance)
    except InputError:
        words.fail("the arcs of a Bayesian network must not form a cycle; these do.")


def _cpds_text(model: BayesianNet | DependencyNet, n_states: np.ndarray) -> list[str]:
    out = []
    for v, cpd in enumerate(model.cpds):
        if cpd.kind not in ("table", "tree"):
            raise InputError(
                f"Libra's files have tables and trees; {model.variables[v].name!r} has a {cpd.kind} distribution: save "
                "the network as .qw."
            )
        text = table_text(cpd, n_states) if cpd.kind == "table" else tree_text(cpd, n_states)
        out += [f"v{v} {{", text, "}"]
    return out
