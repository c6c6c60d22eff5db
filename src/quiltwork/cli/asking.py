"""query, sample, convert: what a model knows, and in which file it is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from quiltwork.cli import inputs, show
from quiltwork.cli.looking import counts, in_words

if TYPE_CHECKING:
    from quiltwork.infer.gaussian import GaussianAnswer


def query(
    model_path: Path, variables: Sequence[str], given: Sequence[str], method: str, samples: int, json: bool
) -> None:
    from quiltwork.infer.gaussian import GaussianAnswer
    from quiltwork.infer.query import query

    model = inputs.read_model(model_path)
    known = inputs.evidence(given, [v.name for v in model.variables])
    answer = query(model, list(variables), evidence=known, method=method, n_samples=samples)
    if isinstance(answer, GaussianAnswer):
        return _show_gaussian(answer, known, json)
    rows = [(*states, p) for states, p in zip(product(*answer.states), answer.probabilities.ravel().tolist())]
    if json:
        show.as_json(
            {
                "variables": answer.variables,
                "evidence": known,
                "method": answer.method,
                "converged": answer.converged,
                "error": answer.error,
                "r_hat": answer.r_hat,
                "n_effective": answer.n_effective,
                "width": answer.width,
                "probabilities": [{"states": states, "probability": p} for *states, p in rows],
            }
        )
        return
    title = "P({}{})".format(", ".join(answer.variables), _conditions(known))
    show.table([*answer.variables, "probability"], [(*s, show.number(p, 6)) for *s, p in rows], title)
    if answer.error is None:
        settled = "settled" if answer.converged else "did not settle: take it as rough"
        show.say(f"by {answer.method}, which has no error bar and {settled}\n")
    elif answer.method != "exact":
        settled = "the chains agree" if answer.converged else "the chains do not agree yet: more --samples may help"
        show.say(f"by {answer.method}: standard error {show.number(answer.error, 6)} at most; {settled}\n")


def _show_gaussian(answer: GaussianAnswer, known: dict[str, str], json: bool) -> None:
    """Mean, deviation and the interval that holds a number with probability 0.95."""
    told = list(zip(answer.variables, answer.mean.tolist(), answer.deviation.tolist(), answer.interval(0.95).tolist()))
    if json:
        numbers = [{"variable": v, "mean": m, "deviation": d, "interval": ends} for v, m, d, ends in told]
        show.as_json(
            {
                "variables": answer.variables,
                "evidence": known,
                "method": answer.method,
                "numbers": numbers,
                "covariance": answer.covariance.tolist(),
            }
        )
        return
    rows = [(name, *(f"{number:.6g}" for number in (mean, deviation, *ends))) for name, mean, deviation, ends in told]
    title = "P({}{})".format(", ".join(answer.variables), _conditions(known))
    show.table(["variable", "mean", "deviation", "95 % from", "to"], rows, title)


def sample(model_path: Path, n: int, output: Path | None, seed: int) -> None:
    from quiltwork.infer.sample import sample

    if output is not None:
        inputs.check_target(output, [".csv", ".tsv"])
    data = sample(inputs.read_model(model_path), n, seed=seed)
    columns = [data.labels(v) for v in range(data.n_vars)]
    show.write_rows(output, [variable.name for variable in data.variables], zip(*columns))


def convert(source: Path, target: Path, json: bool) -> None:
    from quiltwork.models.disk import OTHER_FORMATS
    from quiltwork.models.files import save
    from quiltwork.models.foreign import write_network

    inputs.check_target(target, [".qw", *OTHER_FORMATS, *(ending + ".gz" for ending in OTHER_FORMATS)])
    model = inputs.read_model(source)
    if inputs.is_network(target):
        write_network(model, target)
    else:
        save(model, target)
    show.written.append(target)
    if json:
        show.as_json({"source": str(source), "target": str(target), **counts(model)})
    else:
        show.say(f"{show.one_line(target)}: {in_words(counts(model))}")


def _conditions(evidence: dict[str, str]) -> str:
    return " | " + ", ".join(f"{name}={state}" for name, state in evidence.items()) if evidence else ""
