"""learn, evaluate: from a table to a model, and how good it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiltwork.cli import inputs, judging, show
from quiltwork.cli.looking import counts
from quiltwork.cli.options import learner_named

if TYPE_CHECKING:
    import numpy as np


def learn(table: Path, output: Path, model_name: str, parameters: dict[str, Any], json: bool) -> None:
    from quiltwork.models.files import save

    inputs.check_target(output, [".qw"])
    began = time.perf_counter()
    rows = inputs.as_rows(inputs.read_to_learn(table))
    with show.progress() as progress:
        learner = learner_named(model_name)(**parameters).fit(rows, progress=progress)
    model = learner.model_
    save(model, output)
    show.written.append(output)
    document = {
        "file": str(output),
        "rows": model.provenance.get("rows"),
        **counts(model),
        "score": getattr(learner, "score_", None),  # not every learner ends with one number
        "seconds": time.perf_counter() - began,
    }
    if json:
        show.as_json(document)
    else:
        lines = [(k, show.number(v) if isinstance(v, float) else v) for k, v in document.items() if v is not None]
        show.table(["", ""], lines)


# evaluate

CMLL = ("groups", "method", "exact", "error", "converged", "n_unsettled", "r_hat")  # what is told of one


def evaluate(model_path: Path, table: Path, metric: str | None, split: str, protocol: str, json: bool) -> None:
    """By the metrics asked for; else by the likelihoods the model can tell, or by rankings if there are none."""
    chosen = judging.USUAL_LIKELIHOODS if metric is None else judging.metrics(metric)
    ask = judging.asker(protocol, seed=0)
    model = inputs.read_model(model_path)
    source = inputs.read_source(table, split)
    told: dict[str, Any] = {"model": str(model_path), "table": str(table)}
    if chosen[0] in judging.LIKELIHOODS:
        data = model.encoder.encode(inputs.as_rows(source, [variable.name for variable in model.variables]))
        values = _likelihoods(model, data, chosen, told, all_of_them=metric is not None)
        if values:
            return _show_likelihoods({**told, "rows": data.n_samples}, values, json)
        chosen = judging.USUAL_RANKINGS
    queries = ask(inputs.votes_about(model, source))
    means, _ = judging.rank_hidden(chosen, queries, model)
    _show_rankings({**told, "protocol": protocol, "queries": len(queries)}, means, json)


def _likelihoods(
    model: Any, data: Any, chosen: Sequence[str], told: dict[str, Any], all_of_them: bool
) -> dict[str, np.ndarray]:
    """Values per row of each metric; one that the model cannot tell is an error only where all of them are wanted."""
    from quiltwork.infer.groups import conditional_marginal_log_likelihood

    values = {}
    for name in chosen:
        try:
            if name == "cmll":
                found = conditional_marginal_log_likelihood(model, data)
                values[name] = found.rows
                told["cmll"] = {k: getattr(found, k) for k in CMLL}
            else:
                values[name] = judging.likelihood(name)(model, data)
        except judging.CANNOT_TELL:
            if all_of_them:
                raise
    return values


def _show_likelihoods(told: dict[str, Any], values: dict[str, np.ndarray], json: bool) -> None:
    results = {name: _mean_and_error(of_rows) for name, of_rows in values.items()}
    if json:
        named = {name: {"mean": mean, "standard_error": error} for name, (mean, error) in results.items()}
        show.as_json({**told, "metrics": named})
    else:
        rows = [(name, show.number(mean), show.number(error)) for name, (mean, error) in results.items()]
        show.table(["metric", "mean per row", "± standard error"], rows, f"{told['rows']} rows")
        if "cmll" in told:
            cmll = told["cmll"]
            sure = "exact" if cmll["method"] == "exact" else _sampled(cmll)
            show.say(f"cmll is {sure}; groups: " + " | ".join(", ".join(group) for group in cmll["groups"]) + "\n")


def _sampled(cmll: dict[str, Any]) -> str:
    settled = "the chains agree" if cmll["converged"] else f"the chains of {cmll['n_unsettled']} rows do not agree"
    return f"by {cmll['method']}, ± {show.number(cmll['error'], 6)}, {cmll['exact']:.0%} of it exact; {settled}"


def _show_rankings(told: dict[str, Any], values: dict[str, float], json: bool) -> None:
    if json:
        show.as_json({**told, "metrics": {name: {"mean": value} for name, value in values.items()}})
    else:
        rows = [(name, show.number(value)) for name, value in values.items()]
        show.table(["metric", "mean"], rows, f"{told['queries']} queries, {told['protocol']}")


def _mean_and_error(values: np.ndarray) -> tuple[float, float]:
    error = float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else float("nan")
    return float(values.mean()), error
