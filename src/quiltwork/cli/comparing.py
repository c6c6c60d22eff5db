"""compare: several learners on the same folds, as a table like those in papers."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

from quiltwork.cli import inputs, judging, show
from quiltwork.cli.options import learner_named, model_spec
from quiltwork.errors import ParameterError


def compare(
    table: Path,
    models: str,
    folds: int,
    metric: str | None,
    protocol: str,
    test: Path | None,
    seed: int,
    json: bool,
) -> None:
    """Votes are compared by rankings and tables by likelihoods, unless a metric is asked for."""
    chosen = None if metric is None else judging.metrics(metric)
    source = inputs.read_to_learn(table)
    if chosen is None:
        chosen = judging.USUAL_RANKINGS if inputs.holds_votes(source) or test is not None else judging.USUAL_LIKELIHOODS
    if chosen[0] in judging.LIKELIHOODS and test is not None:
        raise ParameterError(f"A test file of votes is for rankings. Got the metrics {', '.join(chosen)} instead.")
    if chosen[0] in judging.LIKELIHOODS:
        trials = judging.row_trials(inputs.as_rows(source), chosen, folds, seed)
    else:
        hidden = None if test is None else inputs.as_votes(inputs.read_source(test), test)
        trials = judging.vote_trials(inputs.as_votes(source, table), hidden, chosen, protocol, folds, seed)
    with show.progress() as progress:
        results = cross_validate(trials, [name.strip() for name in models.split(",")], seed, progress)
    if json:
        told = {"table": str(table), "folds": trials.folds, "seed": seed}
        show.as_json({**told, "models": [result.document() for result in results]})
    else:
        draw_comparison(results)


@dataclass
class Result:
    """What one learner reached on each fold: metrics (NaN for one that its models cannot tell), and seconds.

    Likelihoods of numbers are densities, which depend on units and cannot be compared with probabilities of states.
    Times are told as medians, because the first fold may have to compile kernels or load them.
    """

    model: str
    metrics: dict[str, list[float]]
    learning: list[float] = field(default_factory=list)
    scoring: list[float] = field(default_factory=list)
    of_numbers: bool = False

    def mean(self, metric: str) -> float:
        return fmean(self.metrics[metric])

    def deviation(self, metric: str) -> float:
        """Standard deviation over the folds; NaN of a single one."""
        values, mean = self.metrics[metric], self.mean(metric)
        return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else math.nan

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
    trials: judging.Trials, models: list[str], seed: int, progress: show.Report | None = None
) -> list[Result]:
    """Every learner on every fold."""
    specs = [model_spec(model) for model in models]
    results = [Result(model, {name: [] for name in trials.metrics}) for model in models]
    report = progress or (lambda stage, done, total: None)
    report("Cross-validation", 0, trials.folds * len(models))
    for (name, parameters), result in zip(specs, results):
        learner_class, settings = learner_named(name), {"random_state": seed, **parameters}
        for train, judge in trials.of(learner_class(**settings)):
            began = time.perf_counter()
            learner = learner_class(**settings).fit(train)
            result.learning.append(time.perf_counter() - began)
            result.of_numbers = learner.model_.variables[0].n_states == 0
            values, seconds = judge(learner.model_)
            result.scoring.append(seconds)
            for metric, value in values.items():
                result.metrics[metric].append(value)
            report("Cross-validation", sum(len(one.learning) for one in results), trials.folds * len(models))
    return results


def draw_comparison(results: list[Result], title: str | None = None) -> None:
    """One line per learner, the best mean of each metric marked with a star, among numbers and among states."""
    metrics = list(results[0].metrics)
    lines = [
        (
            result.model,
            *(_cell(result, metric, results) for metric in metrics),
            show.seconds(median(result.learning)),
            show.seconds(median(result.scoring)),
        )
        for result in results
    ]
    show.table(["model", *metrics, "learning", "scoring"], lines, title)
    if len({result.of_numbers for result in results}) == 2:
        numbers = ", ".join(result.model for result in results if result.of_numbers)
        show.say(f"The likelihoods of {numbers} are densities of numbers; do not compare them with those of states.")


def _cell(result: Result, metric: str, results: list[Result]) -> str:
    """The mean ± deviation; a dash where there is no mean, and no deviation where there is one fold."""
    mean, deviation = result.mean(metric), result.deviation(metric)
    if math.isnan(mean):
        return "-  "
    digits = 3 if metric in (*judging.LIKELIHOODS, "cf") else 4  # the others lie between 0 and 1
    spread = "" if math.isnan(deviation) else f" ± {show.number(deviation, digits)}"
    alike = (one.mean(metric) for one in results if one.of_numbers == result.of_numbers)
    best = max(value for value in alike if not math.isnan(value))
    return f"{show.number(mean, digits)}{spread}" + (" *" if mean == best else "  ")
