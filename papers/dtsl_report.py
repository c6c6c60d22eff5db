"""What the cells of `dtsl.py` say together: the tables of the paper, its claims, tests of significance, a figure.

A cell that was left out says why. Tables are made of those that are there, and every count names how many sets it is
out of.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import Cells, markdown

SETS = ("nltcs", "plants", "jester", "msnbc", "baudio", "bnetflix", "kdd", "msweb", "book", "tmovie", "cwebkb", "cr52",
        "c20ng")  # fmt: skip
GENERATORS = ("default", "prune", "prune-10", "prune-5", "nonzero")
RIVALS = {"l1": "L1", "bottom-up": "BLM", "top-down": "Della Pietra", "independent": "independent"}
SLOWER = {"l1": "16 times", "bottom-up": "870 times", "top-down": "slower everywhere"}  # than DTSL, in the paper

# Test PLL of dependency networks measured before: Libra's DN, Libra's DTSL, L1 regressions, LightGBM per variable
KNOWN = {
    "nltcs": (-4.968, -4.945, -4.948, -4.890), "msnbc": (-4.323, None, -6.056, -4.321),
    "kdd": (-2.067, None, -2.076, None), "plants": (-9.036, -8.745, -9.317, -8.171),
    "baudio": (-38.68, -38.01, -36.10, -36.00), "jester": (-52.31, -51.42, -48.59, -48.68),
    "bnetflix": (-54.85, -54.76, -51.02, -51.00), "msweb": (-8.392, None, None, -8.345),
    "book": (-35.29, None, None, None), "tmovie": (-51.67, None, None, None), "cwebkb": (-150.5, None, None, None),
    "cr52": (-82.01, None, None, None), "c20ng": (None, None, None, None),
}  # fmt: skip
BEST_KNOWN = (
    "nltcs",
    "plants",
    "baudio",
    "jester",
    "bnetflix",
)  # where one network is to reach the best of the first 3
EXACT_LL, EXACT_CMLL = -6.015, -5.303  # of a DTSL network of Libra's on nltcs, all states enumerated


def report(kept: Cells) -> str:
    """Everything, as Markdown."""
    measures = {
        "cmll": ("CMLL, test (first rows)", 3), "pll": ("PLL, test", 3),
        "structure_seconds": ("seconds for the structure", 2), "weight_seconds": ("seconds for the weights", 1),
    }  # fmt: skip
    of_features = {"n_features": ("number of features", 0), "length": ("conditions per feature", 2)}
    return "\n\n".join([
        "## DTSL: what the paper claims",
        claims(kept),
        "## Tables IV and V: the five generators",
        *(f"{title}\n\n{table(kept, GENERATORS, what, digits)}"
          for what, (title, digits) in {**measures, **of_features}.items()),
        "## Table VI: DTSL (the generator best on validation rows) and its rivals",
        "BLM: with its kappa; a star where the next, stricter one takes more time than there was.",
        *(rivals_table(kept, title, what, digits) for what, (title, digits) in measures.items()),
        tests_of_significance(kept),
        "## One network of DTSL and L1 features: PLL, test",
        network_table(kept),
        "## nltcs exactly: all 65,536 joint states enumerated",
        exact_table(kept),
    ])  # fmt: skip


# Cells


def value(kept: Cells, name: str, cell: str, what: str) -> float | None:
    """One number of a cell; None where it is not there or was left out."""
    return (kept.read(name, cell) or {}).get(what)


def shown(found: dict[str, Any] | None, what: str, digits: int = 3) -> str:
    if found is None:
        return ""
    return found["left_out"] if "left_out" in found else f"{found[what]:.{digits}f}"


def figure(number: float | None, digits: int = 3) -> str:
    return "" if number is None else f"{number:.{digits}f}"


def sets_with(kept: Cells, cells: Sequence[str]) -> list[str]:
    return [name for name in SETS if any(kept.read(name, cell) for cell in cells)]


def chosen_generator(kept: Cells, name: str) -> dict[str, Any] | None:
    """The generator that is best on the validation rows, as Table VI takes it."""
    found = [(how, kept.read(name, how)) for how in GENERATORS]
    done = [(how, each) for how, each in found if each and "pll" in each]
    if not done:
        return None
    how, best = max(done, key=lambda pair: pair[1]["valid_pll"])
    return {**best, "features": how}


def pairs(kept: Cells, rival: str, what: str) -> dict[str, tuple[float, float]]:
    """(DTSL, rival) on every set where both are there."""
    both = {name: (chosen_generator(kept, name), kept.read(name, rival)) for name in SETS}
    return {name: (own[what], other[what]) for name, (own, other) in both.items() if own and other and what in other}


# Claims


def claims(kept: Cells) -> str:
    """Each claim of the paper, what was seen, and whether it held."""
    rows = []
    complete = [name for name in SETS if all(kept.read(name, how) for how in GENERATORS)]
    for what in ("cmll", "pll"):
        by_set = [{how: value(kept, name, how, what) for how in GENERATORS} for name in complete]
        both = [found for found in by_set if None not in (found["prune"], found["default"])]
        n = sum(found["prune"] > found["default"] for found in both)
        rows.append([f"PRUNE beats DEFAULT on most sets ({what.upper()})", "11 of 13", *out_of(n, len(both), 0.51)])
        n = sum(best_of(found) in ("prune", "nonzero") for found in by_set)
        said = f"PRUNE or NONZERO is the best of the five almost everywhere ({what.upper()})"
        rows.append([said, "11 of 13", *out_of(n, len(by_set), 0.8)])
    for rival, paper in SLOWER.items():
        rows.append([f"DTSL finds its structure an order of magnitude faster than {RIVALS[rival]}", paper,
                     *how_much_faster(kept, rival)])  # fmt: skip
    return markdown(["claim", "paper", "here", "held"], rows)


def best_of(found: dict[str, float | None]) -> str:
    """The first of those that are the best, of what was not left out."""
    done = {how: seen for how, seen in found.items() if seen is not None}
    return max(done, key=done.__getitem__, default="")


def out_of(n: int, m: int, share: float) -> tuple[str, str]:
    """A count, and whether it is at least a share."""
    return (f"{n} of {m}", "yes" if n >= share * m else "no") if m else ("", "")


def how_much_faster(kept: Cells, rival: str) -> tuple[str, str]:
    """By what factor DTSL finds its structure faster, over sets; sets that the rival took too long for are named."""
    found = pairs(kept, rival, "structure_seconds")
    too_long = [name for name in SETS if "left_out" in (kept.read(name, rival) or {})]
    if not found:
        return f"left out: {', '.join(too_long)}" if too_long else "", ""
    factors = {name: other / own for name, (own, other) in found.items()}
    typical, least = float(np.exp(np.log(list(factors.values())).mean())), min(factors, key=factors.__getitem__)
    faster = sum(factor > 1 for factor in factors.values())
    said = (
        f"faster on {faster} of {len(factors)}, {times(typical)} (geometric mean), at least {times(factors[least])} "
        f"({least})"
    )
    if too_long:
        said += f"; more time than there was on {', '.join(too_long)}"
    return said, "yes" if typical >= 10 and faster == len(factors) else "no"


def times(factor: float) -> str:
    return f"{factor:.0f} times" if factor >= 10 else f"{factor:.1f} times"


# Tables


def table(kept: Cells, cells: Sequence[str], what: str, digits: int = 3) -> str:
    names = sets_with(kept, cells)
    rows = [[name, *(shown(kept.read(name, cell), what, digits) for cell in cells)] for name in names]
    return markdown(["set", *cells], rows)


def rivals_table(kept: Cells, title: str, what: str, digits: int) -> str:
    rows = []
    for name in sets_with(kept, (*GENERATORS, *RIVALS)):
        own = chosen_generator(kept, name)
        dtsl = "" if own is None else f"{own[what]:.{digits}f} ({own['features']})"
        found = [kept.read(name, rival) for rival in RIVALS]
        rows.append([name, dtsl, *(shown(each, what, digits) + kappa_of(each) for each in found)])
    return f"{title}\n\n" + markdown(["set", "DTSL", *RIVALS.values()], rows)


def kappa_of(found: dict[str, Any] | None) -> str:
    """In brackets, where it was chosen; with a star if there was no time for a stricter one."""
    return f" ({found['kappa']:g}{'*' if 'cut' in found else ''})" if found and "kappa" in found else ""


def tests_of_significance(kept: Cells) -> str:
    from scipy.stats import wilcoxon

    rows = []
    for rival, title in RIVALS.items():
        cells = [title]
        for what in ("cmll", "pll", "structure_seconds"):
            found = list(pairs(kept, rival, what).values())
            better = sum(a < b if what == "structure_seconds" else a > b for a, b in found)
            cells.append(f"{better} of {len(found)}")
            if len(found) >= 5:
                own, other = np.array(found).T
                cells[-1] += f" (p = {wilcoxon(own, other).pvalue:.2g})"
        rows.append(cells)
    headings = ["DTSL beside", "better CMLL", "better PLL", "faster structure"]
    return "Sets on which DTSL is better, and Wilcoxon's signed-rank test over sets\n\n" + markdown(headings, rows)


def network_table(kept: Cells) -> str:
    """One network beside dependency networks: what it is to reach, whether it does, how far the boosted ones are."""
    rows = []
    for name in SETS:
        found = kept.read(name, "network")
        if found is None:
            continue
        beside = {kind: value(kept, name, f"DN {kind}", "test") for kind in ("tree", "L1", "boosted")}
        tree = beside["tree"] if beside["tree"] is not None else value(kept, name, "kappa", "tree_dn_pll")
        own, l1 = found.get("pll"), value(kept, name, "l1", "pll")
        goal = best(KNOWN[name][:3] if name in BEST_KNOWN else (tree, beside["L1"], l1))
        reached = "" if own is None or goal is None else "yes" if own >= goal else "no"
        distance = None if own is None or beside["boosted"] is None else own - beside["boosted"]
        how = "" if own is None else f"{found['features']}, kappa {found['kappa']:g}, widths {found['widths']}"
        ours = [figure(each) for each in (tree, beside["L1"], l1, beside["boosted"])]
        rows.append([name, shown(found, "pll"), figure(goal), reached, *ours, "" if distance is None else
                     f"{distance:+.3f}", *map(figure, KNOWN[name]), how])  # fmt: skip
    headings = ["set", "one network", "to reach", "reached", "tree DN", "L1 DN", "L1 network", "boosted DN",
                "above the boosted DN", "Libra DN", "Libra DTSL", "L1 DN (liblinear)", "LightGBM DN",
                "chosen on validation rows"]  # fmt: skip
    return (
        f"To reach: the best of the networks measured before on {', '.join(BEST_KNOWN)}; the better of our tree DN and "
        f"our L1 networks on the others. What stands right of our own boosted DN was measured of other libraries.\n\n"
        + markdown(headings, rows)
    )


def best(numbers: Sequence[float | None]) -> float | None:
    return max((number for number in numbers if number is not None), default=None)


def exact_table(kept: Cells) -> str:
    rows = []
    for structure in ("dtsl", "dtsl+l1"):
        for objective in ("pseudo", "exact"):
            found = kept.read("nltcs", f"exact-{structure}-{objective}")
            if found is None or "left_out" in found:
                continue
            weights = "pseudo-likelihood" if objective == "pseudo" else "likelihood"
            how = f"{found['features']}, kappa {found['kappa']:g}, widths {found['widths']}"
            measured = (figure(found[what], 4) for what in ("ll", "quarters", "pll"))
            rows.append([structure, weights, *measured, f"{found['n_features']:,}", how])
    goal = ["to reach", "", figure(EXACT_LL), figure(EXACT_CMLL), "", "", ""]
    headings = ["features", "weights maximise", "LL, test", "CMLL on contiguous quarters, test", "PLL, test",
                "number of features", "chosen on validation rows, by what the weights maximise"]  # fmt: skip
    return markdown(headings, [*rows, goal])


# Figure


def draw(kept: Cells, path: Path) -> None:
    """Figure 2: DTSL against each rival, one point per set, -CMLL on both axes; below the line DTSL is better."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(RIVALS), figsize=(4 * len(RIVALS), 4))
    for ax, (rival, title) in zip(axes, RIVALS.items(), strict=True):
        found = -np.array(list(pairs(kept, rival, "cmll").values())).reshape(-1, 2)
        ax.loglog(found[:, 1], found[:, 0], "o")
        ends = [1, 300]
        ax.plot(ends, ends, color="grey", linestyle=":")
        ax.set(xlabel=f"-CMLL, {title}", ylabel="-CMLL, DTSL", title=f"DTSL and {title}")
    fig.tight_layout()
    fig.savefig(path, dpi=120)
