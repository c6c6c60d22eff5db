"""learn, evaluate, compare: from a table to a model, and how good it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from quiltwork.cli import inputs, show
from quiltwork.cli.options import learner_named, model_spec
from quiltwork.errors import DataError

if TYPE_CHECKING:
    import numpy as np


def learn(table: Path, output: Path, model_name: str, parameters: dict[str, Any], json: bool) -> None:
    from quiltwork.models.files import save

    inputs.check_target(output, [".qw"])
    began = time.perf_counter()
    rows = inputs.read_rows(table)
    with show.progress() as progress:
        learner = learner_named(model_name)(**parameters).fit(rows, progress=progress)
    model = learner.model_
    save(model, output)
    show.written.append(output)
    document = {
        "file": str(output),
        "rows": model.provenance.get("rows"),
        "variables": len(model.variables),
        "arcs": len(model.arcs),
        "parameters": model.n_parameters,
        "score": getattr(learner, "score_", None),  # not every learner ends with one number
        "seconds": time.perf_counter() - began,
    }
    if json:
        show.as_json(document)
    else:
        lines = [(k, show.number(v) if isinstance(v, float) else v) for k, v in document.items() if v is not None]
        show.table(["", ""], lines)


def evaluate(model_path: Path, table: Path, metric: str, split: str, json: bool) -> None:
    functions = inputs.metrics(metric)
    model = inputs.read_model(model_path)
    data = model.encoder.encode(inputs.read_rows(table, [variable.name for variable in model.variables], split))
    results = {name: _mean_and_error(function(model, data)) for name, function in functions.items()}
    if json:
        named = {name: {"mean": mean, "standard_error": error} for name, (mean, error) in results.items()}
        show.as_json({"model": str(model_path), "table": str(table), "rows": data.n_samples, "metrics": named})
    else:
        rows = [(name, show.number(mean), show.number(error)) for name, (mean, error) in results.items()]
        show.table(["metric", "mean per row", "± standard error"], rows, f"{data.n_samples} rows")


def compare(table: Path, models: str, folds: int, metric: str, seed: int, json: bool) -> None:
    names = [name.strip() for name in models.split(",")]
    with show.progress() as progress:
        results = cross_validate(inputs.read_rows(table), names, folds, metric, seed, progress)
    if json:
        show.as_json({"table": str(table), "folds": folds, "seed": seed, "models": [r.document() for r in results]})
    else:
        draw_comparison(results)


# Cross-validation


@dataclass
class Result:
    """What one learner reached on each fold: metrics per row, and seconds.

    Times are told as medians, because the first fold may have to compile kernels or load them.
    """

    model: str
    metrics: dict[str, list[float]]
    learning: list[float] = field(default_factory=list)
    scoring: list[float] = field(default_factory=list)

    def mean(self, metric: str) -> float:
        return sum(self.metrics[metric]) / len(self.metrics[metric])

    def deviation(self, metric: str) -> float:
        values, mean = self.metrics[metric], self.mean(metric)
        return (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5

    def document(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "metrics": {
                m: {"mean": self.mean(m), "deviation": self.deviation(m), "folds": self.metrics[m]}
                for m in self.metrics
            },
            "learning_seconds": median(self.learning),
            "scoring_seconds": median(self.scoring),
        }


def cross_validate(
    rows: Any, models: list[str], folds: int, metric: str, seed: int, progress: show.Report | None = None
) -> list[Result]:
    """Every learner on every fold; the states of the variables are those of the whole table."""
    functions = inputs.metrics(metric)
    specs = [model_spec(model) for model in models]
    results = [Result(model, {name: [] for name in functions}) for model in models]
    report = progress or (lambda stage, done, total: None)
    report("Cross-validation", 0, folds * len(models))
    for (name, parameters), result in zip(specs, results):
        learner_class = learner_named(name)
        settings = {"random_state": seed, **parameters}
        data = _encoded(rows, learner_class(**settings))
        for train, test in _folds(data.n_samples, folds, seed):
            began = time.perf_counter()
            learner = learner_class(**settings).fit(data.rows(train))
            learned = time.perf_counter()
            held_out = data.rows(test)
            for metric_name, function in functions.items():
                result.metrics[metric_name].append(float(function(learner.model_, held_out).mean()))
            result.learning.append(learned - began)
            result.scoring.append(time.perf_counter() - learned)
            done = sum(len(one.learning) for one in results)
            report("Cross-validation", done, folds * len(models))
    return results


def draw_comparison(results: list[Result], title: str | None = None) -> None:
    """One line per learner, the best mean of each metric marked with a star."""
    metrics = list(results[0].metrics)
    best = {m: max(result.mean(m) for result in results) for m in metrics}
    lines = [
        (
            result.model,
            *(
                f"{show.number(result.mean(m), 3)} ± {show.number(result.deviation(m), 3)}"
                + (" *" if result.mean(m) == best[m] else "  ")
                for m in metrics
            ),
            show.seconds(median(result.learning)),
            show.seconds(median(result.scoring)),
        )
        for result in results
    ]
    show.table(["model", *metrics, "learning", "scoring"], lines, title)


def _encoded(rows: Any, learner: Any) -> Any:
    from quiltwork.data.encode import fit_encode

    return fit_encode(rows, None, missing=learner.missing, unseen=learner.unseen, max_states=learner.max_states)[1]


def _folds(n_samples: int, folds: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(training rows, test rows) of each fold; a row is in the test rows of one fold."""
    import numpy as np

    from quiltwork.rng import stream

    if n_samples < folds:
        raise DataError(
            f"{folds} folds need at least {folds} rows. Got {n_samples} instead; use fewer folds or more rows."
        )
    fold_of = stream(seed).permutation(n_samples) % folds
    for fold in range(folds):
        yield np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)


def _mean_and_error(values: np.ndarray) -> tuple[float, float]:
    error = float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else float("nan")
    return float(values.mean()), error
