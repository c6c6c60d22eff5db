"""Small networks from the textbooks, to try things on.

- asia: dyspnoea after a visit to Asia. Lauritzen and Spiegelhalter (1988), J. Royal Statistical Society B 50(2).
- cancer: lung cancer, its causes and signs. Korb and Nicholson (2010), Bayesian Artificial Intelligence, section 2.2.
- earthquake: a burglar alarm. Pearl (1988), with the numbers of Korb and Nicholson (2010), section 2.5.
- sprinkler: wet grass. Russell and Norvig, Artificial Intelligence: A Modern Approach, 3rd edition, section 14.5.
"""

from __future__ import annotations

from importlib.resources import files

from quiltwork.errors import InputError
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.foreign import bif


def textbook(name: str) -> BayesianNet:
    """A network by its name.

    >>> textbook("sprinkler").arcs
    [('cloudy', 'sprinkler'), ('cloudy', 'rain'), ('sprinkler', 'wet'), ('rain', 'wet')]
    >>> textbook("lawn")
    Traceback (most recent call last):
    quiltwork.errors.InputError: There is no textbook network 'lawn'; there are asia, cancer, earthquake, sprinkler.
    """
    if name not in names():
        raise InputError(f"There is no textbook network {name!r}; there are {', '.join(names())}.")
    file = files("quiltwork.data") / "textbook" / f"{name}.bif"
    return bif.read(file.read_bytes(), file.name)


def names() -> list[str]:
    """The names `textbook` knows.

    >>> names()
    ['asia', 'cancer', 'earthquake', 'sprinkler']
    """
    folder = files("quiltwork.data") / "textbook"
    return sorted(file.name.removesuffix(".bif") for file in folder.iterdir() if file.name.endswith(".bif"))
