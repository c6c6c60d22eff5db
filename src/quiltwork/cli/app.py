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
Model = Annotated[
    Path,
    typer.Argument(help="A model: .qw, .bif, .xmlbif, .uai, Libra's .bn, .dn or .mn (.gz too).", show_default=False),
]
Table = Annotated[
    Path,
    typer.Argument(help="A table (.csv, .tsv, .parquet, .arrow, .npz, .data) or votes: columns user, item[, time]."),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metric",
        help="Comma-separated: ll (log-likelihood), pll (pseudo-log-likelihood), cmll (conditional marginal "
        "log-likelihood of four groups); or, of rankings, "
        "mrr, doa, micro-doa, auc, ndcg@10, recall@20, cf.",
        show_default=False,
    ),
]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol", help="What rankings hide of each user: all-but-1, all-but-1-first, all-but-1-fair, given-K."
    ),
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
    metric: Metrics = None,
    split: Annotated[
        str, typer.Option("--split", help="Part of a bit-packed .npz set: train, valid or test.")
    ] = "test",
    protocol: Protocol = "all-but-1",
    json: Json = False,
) -> None:
    """Tell how likely a model finds the rows of a table, or how high it ranks hidden items.

    Likelihoods are means per row, with a standard error: by default those that the model can tell. Rankings are means
    over users, and the default for models without likelihoods.
    """
    from quiltwork.cli.learning import evaluate

    evaluate(model, table, metric, split, protocol, json)


@app.command()
def compare(
    table: Table,
    models: Annotated[
        str, typer.Option("--models", help="Comma-separated learners with parameters: hrf,bn:search=climb:score=bdeu.")
    ] = "bn",
    folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation.", min=2)] = 5,
    metric: Metrics = None,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="What rankings hide: all-but-1, all-but-1-first, all-but-1-fair or given-K of the users in a fold, or "
            "a fold of all votes: votes.",
        ),
    ] = "all-but-1",
    test: Annotated[
        Path | None,
        typer.Option("--test", help="Votes to hide, of the same users, in place of folds.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Decides the folds, and the learners' own chance.", min=0)] = 0,
    json: Json = False,
) -> None:
    """Cross-validate several learners on one table, or on votes.

    Tables are compared by likelihoods, means per held-out row (ll,pll); votes by rankings of hidden items, means over
    users (mrr,doa). Each is told as mean ± standard deviation over the folds; "-" is what a model cannot tell.
    Times are medians per fold.
    """
    from quiltwork.cli.comparing import compare

    compare(table, models, folds, metric, protocol, test, seed, json)


class WithHistory(TyperCommand):
    """A command in which one `--given` takes all the items that follow it, or none: `--given "A" "B"`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = {name for param in self.params for name in (*param.opts, "--help", "-h") if name.startswith("-")}
        words: list[str] = []
        listing = False
        for word in args:
            is_option = word.startswith("--") or word in options
            listing = word == "--given" or (listing and not is_option)
            if word == "--given":
                ctx.meta["given"] = True  # perhaps followed by nothing
            else:
                words.append(f"--given={word}" if listing else word)
        return super().parse_args(ctx, words)


@app.command(cls=WithHistory)
def rank(
    context: typer.Context,
    model: Model,
    given: Annotated[
        list[str] | None,
        typer.Option("--given", help='Items that a user has chosen: --given "A" "B".', show_default=False),
    ] = None,
    users: Annotated[
        Path | None,
        typer.Option(
            "--users", help="Votes (user, item[, time]), or a table with one row per user.", show_default=False
        ),
    ] = None,
    similar: Annotated[
        str | None, typer.Option("--similar", help="Items that become likelier with this one.", show_default=False)
    ] = None,
    top: Annotated[int, typer.Option("--top", help="How many items.", min=1)] = 10,
    seen: Annotated[bool, typer.Option("--seen", help="Also items that the user has chosen already.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .csv or .tsv file; the screen without it.")
    ] = None,
    json: Json = False,
) -> None:
    """Recommend items to a user, to every user in a file, or beside an item.

    A user without a history gets the most popular items. Items that the model does not know are named in a note.
    """
    from quiltwork.cli.ranking import rank

    given = list(given or []) if given or context.meta.get("given") else None
    rank(model, given, users, similar, top, seen, output, json)


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
        list[str] | None,
        typer.Option("--given", help="Evidence: --given smoke=yes xray=no, or smoke=yes,xray=no.", show_default=False),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="exact, gibbs or mcsat (sampling), bp (belief propagation), mf (mean field), or auto: exact where the "
            "model allows it.",
        ),
    ] = "auto",
    samples: Annotated[int, typer.Option("--samples", help="Sweeps of a sampler that count.", min=1)] = 10_000,
    json: Json = False,
) -> None:
    """Ask for the distribution of variables, given the states of others."""
    from quiltwork.cli.asking import query

    query(model, variables, given or [], method, samples, json)


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
    """Write a model in another format: .qw, .bif, .xmlbif, .uai, Libra's .bn, .dn or .mn; all but .qw take .gz too."""
    from quiltwork.cli.asking import convert

    convert(source, target, json)


@app.command()
def info(
    path: Annotated[Path, typer.Argument(help="A model, a network or a table.", show_default=False)],
    variable: Annotated[
        str | None, typer.Argument(help="A variable of the model, to look at closely.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Tell what is in a model, a network or a table; or what a model knows about one variable."""
    from quiltwork.cli.looking import info

    info(path, variable, json)


Compare = Annotated[
    Path | None,
    typer.Option("--compare", help="A second model of the same variables, to compare with.", show_default=False),
]
Port = Annotated[
    int | None,
    typer.Option("--port", help="Port of the server; the first free one without it.", min=0, max=65535),
]


@app.command()
def view(
    model: Model,
    compare: Compare = None,
    port: Port = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only tell the address.")] = False,
) -> None:
    """Look at a model in the browser: its network, its local distributions, and what evidence changes.

    The page is served to this machine only, until Ctrl-C.
    """
    from quiltwork.cli.viewing import view

    view(model, compare, "127.0.0.1", port, not no_browser)


@app.command()
def serve(
    model: Model,
    compare: Compare = None,
    port: Port = None,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; another than this machine's own lets others in.")
    ] = "127.0.0.1",
) -> None:
    """Serve the viewer's page and open no browser; with --host also to other machines.

    Whoever has the printed address can read the model, and what is sent is not encrypted.
    """
    from quiltwork.cli.viewing import view

    view(model, compare, host, port, browser=False)


def _value_of(option: str, words: list[str], default: str) -> str:
    """The value of an option in words that are not parsed yet."""
    for word, following in zip(words, [*words[1:], default]):
        if word == option:
            return following
        if word.startswith(option + "="):
            return word.removeprefix(option + "=")
    return default
