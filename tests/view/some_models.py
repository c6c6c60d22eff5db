"""A small model of every kind that can be shown, and a page for where none is built."""

from functools import cache

import numpy as np

import quiltwork as qw
from quiltwork.cpds.boosted import BoostedCPD
from quiltwork.cpds.graph import GraphCPD
from quiltwork.cpds.logistic import LogisticCPD
from quiltwork.cpds.table import TableCPD
from quiltwork.cpds.tree import TreeCPD
from quiltwork.data.dataset import Variable
from quiltwork.data.encode import Encoder
from quiltwork.models.bayesian import BayesianNet
from quiltwork.models.dependency import DependencyNet
from quiltwork.models.hybrid import AveragedField
from quiltwork.models.markov import MarkovNet
from quiltwork.models.stack import StackedRankers

PAGE = {
    "index.html": (
        "<!doctype html>\n<html>\n  <head>\n    <title>Quiltwork</title>\n"
        '    <link rel="stylesheet" href="/assets/app.css">\n'
        '    <script type="module" src="/assets/app.js"></script>\n'
        '  </head>\n  <body>\n    <div id="quiltwork-app"></div>\n  </body>\n</html>\n'
    ),
    "app.js": "const end = '</script><!--'; export default { render() {} };\n",
    "app.css": "body { color: black }\n",
    "licences.txt": "none\n",
}
NASTY = [
    '<img src=x onerror="alert(1)">',
    "</script><script>alert(1)</script>",
    "javascript:alert(1)",
    "`${1}`\u2028&amp;",
]


def put_page(folder, monkeypatch):
    """Let the viewer find a tiny page in this folder."""
    for name, text in PAGE.items():
        (folder / name).write_text(text, "utf-8")
    monkeypatch.setattr("quiltwork.view.bundle.FOLDER", folder)


@cache
def rows(n=400):
    return qw.sample(qw.textbook("asia"), n, seed=1)


@cache
def votes():
    chosen = np.random.default_rng(0).random((200, 12)) < np.linspace(0.2, 0.6, 12)
    chosen[:, 1] |= chosen[:, 0]
    return chosen.astype(int)


@cache
def numbers():
    rng = np.random.default_rng(0)
    rain = rng.normal(5, 2, 300)
    river = 2 + 0.5 * rain + rng.normal(0, 0.5, 300)
    return {"rain": rain, "river": river, "wind": rng.normal(0, 1, 300)}


LEARNED = {
    "bn": lambda: qw.learn("bn", rows(), search="climb"),
    "dn": lambda: qw.learn("dn", rows(), cpd="table", k=3),
    "dn-tree": lambda: qw.learn("dn", rows()),
    "hrf": lambda: qw.learn("hrf", rows(), k=3, k_star=4),
    "mn": lambda: features(),
    "tree": lambda: qw.learn("tree", rows()),
    "gbn": lambda: qw.learn("gbn", numbers()),
    "gaussian-tree": lambda: qw.learn("tree", numbers()),
    "gmf": lambda: qw.learn("gmf", votes()),
    "nb": lambda: qw.learn("nb", votes()),
    "itemrank": lambda: qw.learn("itemrank", votes()),
    "latent": lambda: qw.learn("latent", votes()),
    "popularity": lambda: qw.learn("popularity", votes()),
    "hrf-average": lambda: AveragedField((model_of("hrf"), qw.hrf_from_bn(model_of("read")))),
    "stack": lambda: StackedRankers((model_of("latent"), model_of("gmf")), np.array([0.3, 0.7])),
    "tree-cpds": lambda: trees()[0],
    "logistic": lambda: regressions(),
    "read": lambda: qw.textbook("asia"),
}


@cache
def model_of(kind):
    return LEARNED[kind]()


def network(n_vars, parents, seed=0, names=None, states=("no", "yes")):
    """A Bayesian network with random tables."""
    rng = np.random.default_rng(seed)
    variables = tuple(Variable(names[v] if names else f"x{v}", tuple(states)) for v in range(n_vars))
    r = len(states)
    tables = [TableCPD(v, tuple(own), rng.dirichlet(np.ones(r), r ** len(own))) for v, own in enumerate(parents)]
    return BayesianNet(Encoder(variables), tuple(tables))


def features():
    """A Markov network with features over one, two and three of four variables, the last of which has none."""
    encoder = Encoder(tuple(Variable(name, ("no", "yes")) for name in "abcd"))
    columns, states = np.array([0, 0, 1, 0, 1, 1, 2, 0, 1, 2]), np.array([1, 1, 1, 0, 1, 0, 1, 1, 0, 1])
    first = np.array([0, 1, 3, 5, 7, 10])
    return MarkovNet(encoder, first, columns, states, np.array([0.2, 1.5, -0.5, 0.7, 0.1]), np.full(8, 5.0))


def regressions():
    """A dependency network of logistic regressions; the second variable has no parents."""
    encoder = Encoder((Variable("a", ("lo", "mid", "hi")), Variable("b", (0, 1))))
    weights = np.array([[0.0, -0.5, 0.25], [0.0, 1.5, 0.0]])
    of_a = LogisticCPD(0, (1,), np.array([0.0, 0.1, 0.2]), np.array([0, 2]), weights, weights.mean(axis=0)[None])
    of_b = LogisticCPD(1, (), np.array([0.0, 0.3]), np.array([0]), np.empty((0, 2)), np.empty((0, 2)))
    return DependencyNet(encoder, (of_a, of_b), np.array([1.0, 2, 3, 4, 2]))


def boosted():
    """A dependency network in which two small trees predict the first of three variables."""
    encoder = Encoder(tuple(Variable(name, ("no", "yes")) for name in "abc"))

    def start(v):
        return LogisticCPD(v, (), np.zeros(2), np.zeros(1, int), np.empty((0, 2)), np.empty((0, 2)))

    of_a = BoostedCPD(
        child=0, start=start(0), n_leaves=np.array([2, 2]),
        variable=np.array([1, -1, -1, 2, -1, -1]), state=np.array([1, 0, 0, 1, 0, 0]),
        first=np.array([0, 0, 1, 0, 0, 1]), branches=np.array([1, 2, 1, 2]), flow=np.array([10.0, 30, 20, 20]),
        values=np.array([[0.0, 2.0], [0.0, -2.0], [0.0, 1.0], [0.0, -1.0]]),
    )  # fmt: skip
    return DependencyNet(encoder, (of_a, start(1), start(2)), np.full(6, 20.0))


def trees():
    """A dependency network whose CPDs are two trees (one with a complete split) and a graph."""
    encoder = Encoder((Variable("a", ("lo", "mid", "hi")), Variable("b", (0, 1)), Variable("c", ("no", "yes"))))
    of_a = TreeCPD(  # asks about c, and where it is "yes" about b
        child=0,
        variable=np.array([2, -1, 1, -1, -1]), state=np.array([0, -1, 1, -1, -1]), first=np.array([0, 0, 2, 1, 2]),
        branches=np.array([1, 2, 3, 4]), flow=np.array([30.0, 70.0, 50.0, 20.0]), gain=np.array([3.0, 0, 9.0, 0, 0]),
        probs=np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]),
        counts=np.array([[6.0, 9, 15], [30, 15, 5], [2, 2, 16]]),
    )  # fmt: skip
    of_b = TreeCPD(  # one branch for each state of a
        child=1,
        variable=np.array([0, -1, -1, -1]), state=np.full(4, -1), first=np.array([0, 0, 1, 2]),
        branches=np.array([1, 2, 3]), flow=np.array([40.0, 30.0, 30.0]), gain=np.array([5.0, 0, 0, 0]),
        probs=np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]),
        counts=np.array([[36.0, 4], [15, 15], [3, 27]]),
    )  # fmt: skip
    of_c = GraphCPD(  # two branches lead to the same leaf
        child=2,
        variable=np.array([0, 1, -1, -1]), state=np.array([2, 1, -1, -1]), first=np.array([0, 2, 0, 1]),
        branches=np.array([2, 1, 2, 3]), flow=np.array([30.0, 70.0, 35.0, 35.0]), gain=np.array([7.0, 2.0, 0, 0]),
        probs=np.array([[0.3, 0.7], [0.8, 0.2]]),
        counts=np.array([[20.0, 45], [28, 7]]),
    )  # fmt: skip
    cpds = (of_a, of_b, of_c)
    net = DependencyNet(encoder, cpds, np.array([33.0, 27, 40, 54, 46, 48, 52]))
    return net, cpds
