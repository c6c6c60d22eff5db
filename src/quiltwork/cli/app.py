"""The commands: their arguments, their options and their help. The work is done in the files beside this one.

Nothing heavy is imported until a command runs, so that help appears at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from quiltwork import __version__

app = typer.Typer(
    add_completion=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Probabilistic graphical models from tables: learn, compare, ask, recommend.",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for a machine instead of a table.")]
Model = Annotated[Path, typer.Argument(help="A model: .qw, .bif, .xmlbif or .uai (.gz too).", show_default=False)]
Table = Annotated[
    Path,
    typer.Argument(help="A table (.csv, .tsv, .parquet, .arrow, .npz) or votes with columns user, item[, time]."),
]
Metrics = Annotated[
    str, typer.Option("--metric", help="Comma-separated: ll (log-likelihood), pll (pseudo-log-likelihood).")
]


@app.callback(invoke_without_command=True)
def quiltwork(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"quiltwork {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--output", "-o", help="Where the demo leaves its files.")] = Path(
        "quiltwork-demo"
    ),
) -> None:
    """Take the tour, on data that comes with the package."""
    from quiltwork.cli.demo import demo

    demo(folder)


class WithLearnerOptions(TyperCommand):
    """A command that also takes the parameters of the learner that `--model` names, and lists them in its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        from quiltwork.cli.options import describe, split_options

        own = [name for param in self.params for name in param.opts] + ["--help"]
        args, ctx.meta["learner"] = split_options(args, own)
        if "--help" in args or "-h" in args:
            from quiltwork.cli import show

            typer.echo(ctx.get_help())
            model = _value_of("--model", args, default="bn")
            show.table(["option", "default", "meaning"], describe(model), title=f"Options of the model {model!r}")
            ctx.exit()
        ctx.meta["own"] = own
        return super().parse_args(ctx, args)


@app.command(cls=WithLearnerOptions)
def learn(
    context: typer.Context,
    table: Table,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write (.qw).", show_default=False)],
    model: Annotated[str, typer.Option("--model", help="Which learner.")] = "bn",
    json: Json = False,
) -> None:
    """Learn a model from a table and save it.

    Every parameter of the learner is an option.

    Arcs are written "smoke->lung, age->smoke", tiers "age, sex < smoke < lung", an order "age, smoke, lung".
    """
    from quiltwork.cli.learning import learn
    from quiltwork.cli.options import parameters

    learn(table, output, model, parameters(context.meta["learner"], model, context.meta["own"]), json)


@app.command()
def evaluate(
    model: Model,
    table: Table,
    metric: Metrics = "ll,pll",
    split: Annotated[
        str, typer.Option("--split", help="Part of a bit-packed .npz set: train, valid or test.")
    ] = "test",
    json: Json = False,
) -> None:
    """Tell how likely a model finds the rows of a table.

    Each metric is a mean per row, with its standard error.
    """
    from quiltwork.cli.learning import evaluate

    evaluate(model, table, metric, split, json)


@app.command()
def compare(
    table: Table,
    models: Annotated[
        str, typer.Option("--models", help="Comma-separated learners with parameters: bn,bn:search=climb:score=bdeu.")
    ] = "bn",
    folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation.", min=2)] = 5,
    metric: Metrics = "ll,pll",
    seed: Annotated[int, typer.Option("--seed", help="Decides the folds, and the learners' own chance.", min=0)] = 0,
    json: Json = False,
) -> None:
    """Cross-validate several learners on one table.

    Each metric is a mean per held-out row: its mean and standard deviation over the folds. Times are medians per fold.
    """
    from quiltwork.cli.learning import compare

    compare(table, models, folds, metric, seed, json)


class WithEvidence(TyperCommand):
    """A command in which one `--given` takes all the assignments that follow it: `--given A=yes B=no`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words: list[str] = []
        listing = False  # the last word was evidence, or asked for it
        for word in args:
            if listing and "=" in word and not word.startswith("--") and words[-1] != "--given":
                words.append("--given")
            listing = word.startswith("--given") or words[-1:] == ["--given"]
            words.append(word)
        return super().parse_args(ctx, words)


@app.command(cls=WithEvidence)
def query(
    model: Model,
    variables: Annotated[list[str], typer.Argument(help="The variables whose joint distribution is asked for.")],
    given: Annotated[
        list[str] | None, typer.Option("--given", help="Evidence: --given smoke=yes xray=no.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Ask for the distribution of variables, given the states of others."""
    from quiltwork.cli.asking import query

    query(model, variables, given or [], json)


@app.command()
def sample(
    model: Model,
    n: Annotated[int, typer.Option("-n", help="How many rows.", min=1)] = 1000,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .csv or .tsv file; standard output without it.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same rows.", min=0)] = 0,
) -> None:
    """Draw rows from a model, as CSV.

    Cells are written as they are, also those that begin with = + - or @, which a spreadsheet may take for formulas.
    """
    from quiltwork.cli.asking import sample

    sample(model, n, output, seed)


@app.command()
def convert(
    source: Model,
    target: Annotated[Path, typer.Argument(help="The file to write; its ending says the format.", show_default=False)],
    json: Json = False,
) -> None:
    """Write a model in another format: .qw, .bif, .xmlbif, .uai, and the last three with .gz."""
    from quiltwork.cli.asking import convert

    convert(source, target, json)


@app.command()
def info(
    path: Annotated[Path, typer.Argument(help="A model, a network or a table.", show_default=False)],
    json: Json = False,
) -> None:
    """Tell what is in a model, a network or a table."""
    from quiltwork.cli.asking import info

    info(path, json)


def _value_of(option: str, words: list[str], default: str) -> str:
    """The value of an option in words that are not parsed yet."""
    for word, following in zip(words, [*words[1:], default]):
        if word == option:
            return following
        if word.startswith(option + "="):
            return word.removeprefix(option + "=")
    return default
