"""Dependency networks: one conditional distribution per variable, each learned alone.

P(x_v | all others) is a regression of one column on all the others, and any that selects its inputs will do: a
decision tree (the default, and the paper's), a table over a few parents, a logistic regression, boosted trees, or for
each variable the one that predicts held-out rows best. Together they define a Gibbs sampler.

Papers   Heckerman, Chickering, Meek, Rounthwaite, Kadie (2000), sections 2-3
         Freno, Trentin, Gori (2009), section 6: k chi-square neighbours as the candidates of a table
Symbols  m rows, n variables, k candidates, kappa the prior of a free parameter
Path     encode -> hold rows out where something is chosen -> the CPDs of one kind (`dependency_cpds`) -> DependencyNet
Differs  a tree predicts with the mean of all its prunings instead of its leaves alone (`search.prune`); set
         smoothing="laplace" for the paper's leaves. A table over all k neighbours has 2^k rows, far more than there is
         data for, so parents enter one at a time while the score grows
"""

from __future__ import annotations

import time
import warnings
from typing import Self

import numpy as np

from quiltwork.backends.threads import Threads, n_threads
from quiltwork.data.dataset import Dataset
from quiltwork.data.encode import Encoder
from quiltwork.errors import DataWarning, ParameterError
from quiltwork.infer.blanket import pseudo_log_likelihood
from quiltwork.infer.withheld import parent_strengths
from quiltwork.learn.base import SHARED, Learner, Progress, silent
from quiltwork.learn.dependency_cpds import KINDS, MOST_STATES, Learned, Task, judged
from quiltwork.learn.held_out import given_rows, hold_out
from quiltwork.learn.prior import read_prior
from quiltwork.models.dependency import DependencyNet
from quiltwork.params import Choice, Integer, Nothing, Param, Real, Thing
from quiltwork.stats.families import state_counts

_ABOVE_ZERO, _SHARE = Real(0.0, above_low=True), Real(0.0, 1.0, above_low=True)
_ROWS = Real(0.0, 1e9, above_low=True)  # beyond, log-gammas of prior counts lose their digits
_AUTO = Choice(("auto",))
CHOSEN = ("kappa", "penalty", "strength")  # by cpd="auto", for each variable


class DependencyNetwork(Learner):
    """A dependency network: for every variable its distribution given all the others.

    Where something is chosen by how well it predicts (kappa or strength "auto", boosted trees, cpd="auto"), rows are
    held out: those of `fit(X, validation=V)`, or else a share of X, after which all of X is learned from again (boosted
    trees keep to the other rows). Where nothing is to be chosen, the rows of V are only judged.

    Parameters serve the kinds they are told for. cpd="auto" chooses kappa, penalty and strength itself, and refuses
    others; what else is said of its kinds it obeys. Variables of more than 64 states get trees in the place of
    regressions, under the parameters of trees.

    The distributions are learned apart and need not fit together: what the Gibbs sampler says of a variable (`query`,
    `marginals`, `sample`) may lean away from its shares in training, which is not warned of. Compare them where it
    matters, or take `BayesianNetwork(cpd="tree")`.

    Attributes
    ----------
    model_ : DependencyNet
        The learned network.
    strengths_ : list of (parent, child, strength)
        The arcs, strongest first. With cpd="tree": the greatest further penalty on a split under which the arc would
        still be there. With "table": what the score gained when the parent entered. With all others, whatever kind a
        variable has got: the log-likelihood that the rows of the table lose without the parent.
    validation_score_ : float or None
        Mean pseudo-log-likelihood of the rows of `fit(X, validation=V)`, or of those that were held out.

    Examples
    --------
    >>> import quiltwork as qw
    >>> table = qw.sample(qw.textbook("asia"), 2000, seed=0)
    >>> est = qw.DependencyNetwork().fit(table)
    >>> qw.blanket(est, "xray")
    ['either']
    >>> [(parent, child) for parent, child, strength in est.strengths_][:2]
    [('dysp', 'bronc'), ('bronc', 'dysp')]

    See Also
    --------
    quiltwork.BayesianNetwork : trees too (cpd="tree"), without cycles.
    quiltwork.HybridRandomField : local networks that tell each other about their neighbours.
    quiltwork.pseudo_log_likelihood, quiltwork.recommend
    """

    name = "dn"
    parameters = (
        Param("cpd", "tree", (Choice((*KINDS,)),), "how a variable depends on the others"),
        Param("kappa", 0.01, (_SHARE, _AUTO), "trees: prior factor for each free parameter; auto: by held-out rows"),
        Param("smoothing", "average", (Choice(("average", "laplace")),),
              "trees: a leaf predicts with the mean of all prunings (uniform prior), or its own counts plus the prior"),
        Param("prior", "uniform", (Choice(("uniform", "bdeu", "prior-network")),),
              "trees: prior of the parameters in the score"),
        Param("equivalent_sample_size", 10.0, (_ROWS,), "trees: rows that the prior is worth (bdeu, prior-network)"),
        Param("prior_network", None, (Nothing(), Thing("a Bayesian network", read_prior)),
              "trees: network that prior counts come from; on the command line its file"),
        Param("splits", "binary", (Choice(("binary", "complete", "both")),), "trees: one state or the rest, or all"),
        Param("min_leaf", 1, (Integer(1),), "trees: fewest rows, or the least weight of them, in a leaf that has any"),
        Param("max_leaves", None, (Nothing(), Integer(1)), "trees: most leaves; None for no limit"),
        Param("penalty", "l1", (Choice(("l1", "l2")),), "logistic: what weights cost; l1 leaves many of them out"),
        Param("strength", "auto", (_AUTO, _ABOVE_ZERO), "logistic: strength of the penalty; auto: by held-out rows"),
        Param("k", None, (Nothing(), Integer(1)),
              "most chi-square neighbours that may be parents; None for all (tables: 8)"),
        Param("held_out", 0.1, (Real(0.0, 0.5, above_low=True),), "share of the rows held out to choose by"),
        *SHARED,
    )  # fmt: skip

    model_: DependencyNet

    def fit(
        self,
        X: object,
        y: object = None,
        *,
        sample_weight: object = None,
        validation: object = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from a table; `progress(stage, done, total)` is called as the work goes on."""
        began = time.perf_counter()
        encoder, data = self._begin(X, sample_weight)
        took = self._took()
        _warn_of_wide_targets(self.cpd, data)
        with Threads(n_threads(self.n_jobs)) as threads:
            task = Task(self.get_params(), threads, progress or silent)
            learned = self._learn(task, encoder, data, validation)
            strengths = learned.strengths
            if strengths is None:
                strengths = np.concatenate([np.empty(0), *parent_strengths(learned.cpds, data, threads.run)])
        self.validation_score_ = learned.held_out_score
        self.fit_seconds_ = time.perf_counter() - began
        said = self._provenance(data, took, **learned.chosen)
        model = DependencyNet(encoder, learned.cpds, state_counts(data), said, strengths)
        names = [v.name for v in model.variables]
        arcs = model.structure.arcs()
        by_strength = np.argsort(-strengths, kind="stable").tolist()
        self.strengths_ = [(names[arcs[k][0]], names[arcs[k][1]], float(strengths[k])) for k in by_strength]
        return self._end(model, X)

    def score_samples(self, X: object) -> np.ndarray:
        """Pseudo-log-likelihood of each row: a dependency network has no joint distribution in closed form."""
        return pseudo_log_likelihood(self, X)

    def _learn(self, task: Task, encoder: Encoder, data: Dataset, validation: object) -> Learned:
        kind = KINDS[self.cpd]
        given = None if validation is None else given_rows(encoder, validation)
        if not kind.chooses(task):
            return judged(kind.learn(task, data, None), given)
        if given is not None:
            return kind.learn(task, data, given)
        why = f"DependencyNetwork(cpd={self.cpd!r})"
        train, held_out = hold_out(data, self.held_out, self._seed, why, kind.instead)
        return kind.again(task, data, kind.learn(task, train, held_out))

    def _took(self) -> dict[str, str]:
        """Parameters that another value was taken for; what cpd="auto" chooses cannot be given as well."""
        took = {} if self.smoothing == "average" and self.prior == "uniform" else {"smoothing": "laplace"}
        if self.cpd == "auto":
            for param in self.parameters:
                if param.name in CHOSEN and self.__dict__[param.name] not in (param.default, "auto"):
                    raise ParameterError(
                        f"cpd='auto' chooses {param.name!r} by held-out rows, so it must be left out. "
                        f"Got {self.__dict__[param.name]!r} instead."
                    )
            took |= dict.fromkeys(CHOSEN, "auto")
        return took


def _warn_of_wide_targets(cpd: str, data: Dataset) -> None:
    wide = [variable for variable in data.variables if variable.n_states > MOST_STATES]
    if wide and cpd in ("logistic", "boosted", "auto"):
        widest = max(wide, key=lambda variable: variable.n_states)
        warnings.warn(
            f"{widest.name!r} has {widest.n_states:,} states, and what is regressed may have {MOST_STATES}: "
            f"{'it gets' if len(wide) == 1 else f'{len(wide)} such variables get'} decision trees; give them fewer "
            "states, with discretise or by hand, to have them regressed too.",
            DataWarning,
            stacklevel=3,
        )
