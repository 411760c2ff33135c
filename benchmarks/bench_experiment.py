"""Experiments with many candidates, words, evaluations or rows of data: what each further one costs.

Where a case grows in proportion to its number, four times as many take four times as long, and the ratio is about 1; it
was 0.3 where it grew with the square.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

import agents
from agents.core.acquisition import Predictive
from agents.core.protocol import Actions
from agents.learned.base import Mixture
from agents.learned.gp_bucb import MAPBUCB
from benchmarks.measure import Row, against, seconds
from gpbandit_envs.gp.hyperparameters import HyperPrior, map_estimate
from gpbandit_envs.gp.regression import GPRegression

_TIMES = 4


def _candidates(n: int) -> float:
    frame = pd.DataFrame(np.random.default_rng(0).random((n, 4)), columns=list("abcd"))
    return seconds(lambda: agents.Experiment(frame, "Random"))


def _words(n: int) -> float:
    frame = pd.DataFrame([(f"word{i % n}", i // n) for i in range(8_000)], columns=["word", "t"])
    return seconds(lambda: agents.Experiment(frame, "Random"))


def _levels(n: int) -> float:
    return seconds(lambda: agents.Experiment({"n": range(0, 7 * n, 7)}, "Random").ask())


def _tells(n: int) -> float:
    lab = agents.Experiment({"a": (0, 1), "b": (0, 1)}, "Random")
    points = np.random.default_rng(0).random((n, 2)).tolist()
    start = time.process_time()
    for a, b in points:
        lab.tell({"a": a, "b": b}, a)
    return time.process_time() - start


def _estimate(n: int) -> tuple[float, float]:
    """Seconds of the default policy with `n` rows of data, and of its estimate from all of them alone."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(n)
    data = pd.DataFrame(X, columns=list("abc")).assign(outcome=y)
    ours = seconds(lambda: agents.Experiment({name: (0, 1) for name in "abc"}, data=data))
    return ours, seconds(lambda: map_estimate(X, y, np.random.default_rng(0), prior=HyperPrior()))


def _late() -> tuple[agents.Experiment, Callable[[], float]]:
    """An experiment of 96 outcomes on 2,000 candidates of 10 columns, and what scikit-learn takes for them."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    rng = np.random.default_rng(0)
    X = rng.random((2_000, 10))
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    y = np.sin(5 * X[:96, 0]) + X[:96, 1] ** 2 + X[:96, 2] + 0.1 * rng.standard_normal(96)
    kernel = ConstantKernel() * Matern(np.ones(10), nu=2.5) + WhiteKernel(0.1)

    def fitted() -> float:
        model = GaussianProcessRegressor(kernel, normalize_y=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # lengthscales at their bounds
            return seconds(lambda: model.fit(X[:96], y).predict(X, return_std=True))

    return agents.Experiment(frame, data=frame[:96].assign(outcome=y)), fitted


class Anew(MAPBUCB):
    """MAP-BUCB as it is written down: the posterior is built anew for each point of a plate."""

    def _hallucinated(self, actions: Actions) -> Predictive:
        if isinstance(self.posterior, Mixture) or len(actions) == 0:
            return self.posterior
        Z = self.space.coordinates(actions)
        X, y = np.concatenate([self.X, Z]), np.concatenate([self.y, self.posterior.at(Z)[0]])
        return GPRegression(self.posterior.kernel, X, y, self.posterior.lam, self.prior_mean)


def _plate(agent: str) -> float:
    """Seconds of a second plate of 384 points on six ranges."""
    lab, rng = agents.Experiment({name: (0.0, 1.0) for name in "abcdef"}, agent, seed=0), np.random.default_rng(0)
    for point in lab.ask(384):
        lab.tell(point, sum((x - 0.3) ** 2 for x in point.values()) + 0.05 * rng.standard_normal())
    return seconds(lambda: lab.ask(384))


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """The cases of this module."""
    for name, case, what, n in (
        ("candidates", _candidates, "candidates of 4 numbers to construct", 2_000),
        ("words", _words, "words in a column of 8,000 candidates", 500),
        ("levels", _levels, "levels of a range, of which one is asked", 1_000_000),
        ("tells", _tells, "points to tell", 500),
    ):

        def row(case: Callable[[int], float] = case, what: str = what, n: int = n) -> Row:
            reference = f"{_TIMES} times as long as {n:,}"
            return against(f"{_TIMES * n:,} {what}", reference, lambda: case(_TIMES * n), lambda: _TIMES * case(n))

        yield name, row

    for name, what in (("ask", "an outcome more, and a plate of 8"), ("outlook", "an outlook")):

        def late(name: str = name, what: str = what) -> Row:
            lab, reference = _late()
            lab.ask()

            def plate() -> None:
                lab.tell(lab.open[0], 1.0)
                lab.ask(8)

            ours = plate if name == "ask" else lab.outlook
            case = f"{what} after 96 outcomes, 2,000 candidates of 10 columns"
            return against(case, "one fit and prediction of scikit-learn's", lambda: seconds(ours), reference)

        yield name, late

    def plate() -> Row:
        anew = "the posterior built anew for each point"
        return against(
            "a second plate of 384 points", anew, lambda: _plate("MAP-BUCB"), lambda: _plate(f"{__name__}:Anew")
        )

    yield "plate", plate

    def estimated() -> Row:
        ours, theirs = _estimate(2_400)
        return Row(
            "2,400 rows of data, to the first question", "the estimate of its kernel from all rows", ours, theirs
        )

    yield "data", estimated
