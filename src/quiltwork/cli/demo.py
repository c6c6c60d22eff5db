"""The tour: the main jobs of the library on data that comes with it, in well under a minute.

Each step prints what it found and leaves its files in the demo's folder, so that the commands in the last lines work.
"""

from __future__ import annotations

import csv
import math
import os
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from quiltwork.cli import inputs, judging, show
from quiltwork.cli.comparing import Result, cross_validate, draw_comparison
from quiltwork.cli.options import learner_named, model_spec

MODELS = ("bn:max_parents=1", "bn:search=climb", "bn", "bn:score=bdeu", "hrf")
RANKERS = ("popularity", "nb", "bn", "hrf", "gmf")
QUESTIONS: tuple[dict[str, str], ...] = (
    {},
    {"smoke": "yes"},
    {"smoke": "yes", "xray": "yes"},
    {"smoke": "yes", "xray": "yes", "tub": "yes"},
)
READERS: tuple[list[str], ...] = (["The Locked Orchard", "Nine Cold Keys"], ["Orbit of Salt", "Bread by the Hour"], [])


def demo(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    began = time.perf_counter()
    table = read_a_table(folder)
    best = compare_models(table)
    learn_and_save(table, best, folder / "digits.qw")
    ask_questions(folder / "asia.qw")
    recommend_books(folder / "books.csv", folder / "books.qw")
    show.say(f"All of this took {show.seconds(time.perf_counter() - began)}.\n")
    what_next(folder)


def read_a_table(folder: Path) -> Any:
    from quiltwork.data.samples import digits

    step("1. A table is read")
    path = folder / "digits.csv"
    table = digits()
    write_csv(path, list(table), zip(*(column.tolist() for column in table.values())))
    began = time.perf_counter()
    rows = inputs.as_rows(inputs.read_source(path))
    show.say(f"{path}: {len(rows)} handwritten digits, 65 columns, read in {since(began)}.\n")
    return rows


def compare_models(table: Any) -> Result:
    step("2. Models are compared by 5-fold cross-validation")
    show.say("(On a new machine the kernels are compiled first, once; this takes a while.)\n")
    with show.progress() as progress:
        trials = judging.row_trials(table, judging.USUAL_LIKELIHOODS, folds=5, seed=0)
        results = cross_validate(trials, list(MODELS), 0, progress)
    draw_comparison(results)
    show.say("ll, pll: log-likelihood and pseudo-log-likelihood of a row that was held out,")
    show.say("mean ± deviation over the folds; times are medians per fold. A hybrid random")
    show.say("field (hrf) has no joint distribution in closed form, hence no ll.\n")
    return max((one for one in results if not math.isnan(one.mean("ll"))), key=lambda one: one.mean("ll"))


def learn_and_save(table: Any, best: Result, path: Path) -> None:
    from quiltwork.models.files import save

    step("3. The best is learned on all rows, saved, and looked at")
    name, parameters = model_spec(best.model)
    with show.progress() as progress:
        learner = learner_named(name)(**parameters).fit(table, progress=progress)
    save(learner.model_, path)
    show.written.append(path)
    model = learner.model_
    show.say(f"{path}: {len(model.arcs)} arcs, {model.n_parameters} parameters, {path.stat().st_size / 1000:.0f} kB.\n")
    strongest = [(p, "→", c, show.number(s, 1)) for p, c, s in learner.strengths_[:8]]
    show.table(["parent", "", "child", "strength"], strongest, "Strongest arcs: what the score loses without them")


def ask_questions(path: Path) -> None:
    from quiltwork.infer.query import query
    from quiltwork.infer.sample import sample
    from quiltwork.learn.registry import learn
    from quiltwork.models.files import save
    from quiltwork.models.textbook import textbook

    step("4. Questions are asked")
    truth = textbook("asia")
    began = time.perf_counter()
    learned = learn("bn", sample(truth, 20_000, seed=0))
    show.say(f"The 'asia' network of the textbooks, learned again from 20,000 rows in {since(began)}:\n")
    save(learned, path)
    show.written.append(path)
    answers = []
    for known in QUESTIONS:
        yes: list[Any] = [query(net, ["lung"], evidence=known)["yes"] for net in (learned, truth)]
        answers.append((_question("lung", known), *(show.number(one) for one in yes)))
    show.table(["question", "learned", "truth"], answers)


def recommend_books(votes_path: Path, path: Path) -> None:
    from quiltwork.cli.ranking import draw_list, title_of
    from quiltwork.data.samples import planted_votes
    from quiltwork.learn.registry import learn
    from quiltwork.models.files import save
    from quiltwork.rank.recommend import recommend

    step("5. Books are recommended")
    votes = planted_votes()
    write_csv(votes_path, ["user", "item"], ((votes.users[u], votes.items[i]) for u, i in zip(votes.user, votes.item)))
    show.say(f"{votes_path}: {len(votes)} loans by {len(votes.users)} readers.")
    show.say("One book of each reader in a fold is hidden: how high is it ranked?\n")
    with show.progress() as progress:
        trials = judging.vote_trials(votes, None, judging.USUAL_RANKINGS, "all-but-1", folds=5, seed=0)
        draw_comparison(cross_validate(trials, list(RANKERS), 0, progress))
    show.say("mrr: mean of 1 / rank; doa: share of the other books that it precedes.\n")
    model = learn("hrf", inputs.as_rows(inputs.read_source(votes_path)))
    save(model, path)
    show.written.append(path)
    show.say("The hybrid random field, learned from all readers, recommends:\n")
    for history in READERS:
        pairs: Any = recommend(model, history, n=3)
        draw_list(title_of(history), pairs)


def what_next(folder: Path) -> None:
    show.say("What to try next", style="bold")
    for words in (
        f"info {folder / 'digits.qw'}",
        f"query {folder / 'asia.qw'} bronc dysp --given smoke=yes",
        f'rank {folder / "books.qw"} --given "Slow Light" --top 5',
        f"learn {folder / 'books.csv'} -o mine.qw --model hrf --k 4",
        f"compare {folder / 'books.csv'} --models hrf,bn,itemrank",
        f"convert {folder / 'asia.qw'} asia.bif",
        "learn your-table.csv -o yours.qw",
    ):
        show.say(f"  {_this_command()} {words}")


def step(text: str) -> None:
    show.say(text, style="bold cyan")


def since(began: float) -> str:
    return show.seconds(time.perf_counter() - began)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    show.written.append(path)


def _this_command() -> str:
    """How the user can call us again: by name if that is found, else by the path that was used."""
    called = Path(sys.argv[0])
    by_path = called.name == "quiltwork" and shutil.which("quiltwork") is None
    return os.path.relpath(called) if by_path else "quiltwork"


def _question(variable: str, known: dict[str, str]) -> str:
    given = " | " + ", ".join(f"{name}={state}" for name, state in known.items()) if known else ""
    return f"P({variable}=yes{given})"
