"""The posteriors over arms against the textbook, scikit-learn and BoTorch, and against what the machine can do.

    python -m benchmarks.bench_posteriors

One task throughout: A = 4,000 arms in d = 4, an SE kernel, 600 pulls of 300 distinct arms.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, against, machine, seconds
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.sketch import SketchedArmPosterior
from tests.reference.posterior import dense

A, D, PULLS, DISTINCT, LAM, LENGTHSCALE = 4_000, 4, 600, 300, 1e-2, 0.5
_RNG = np.random.default_rng(0)
X = _RNG.random((A, D))
ARMS = _RNG.permutation(A)[:DISTINCT][_RNG.integers(DISTINCT, size=PULLS)]
Y = np.sin(5 * X[ARMS, 0]) + 0.1 * _RNG.standard_normal(PULLS)
ONE = np.ones(1)
WHAT = "GP posterior, pull 601 of 300 arms, A = 4,000"


def pulls(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first `n` pulls and their rewards; beyond 600 they begin again."""
    return np.resize(ARMS, n), np.resize(Y, n)


def exact_seconds(n: int) -> float:
    """Seconds of `n` pulls, with a look at all arms after each."""
    arms, rewards = pulls(n)

    def play() -> None:
        posterior = ExactPosterior(SE(LENGTHSCALE), X, LAM)
        for arm, y in zip(arms, rewards):
            posterior.update(np.array([arm]), ONE, np.array([y]))

    return seconds(play)


def next_step() -> float:
    """Seconds of one more pull and a look at all arms, after all others; the mean of 20, of different arms."""
    posterior = ExactPosterior(SE(LENGTHSCALE), X, LAM)
    for arm, y in zip(ARMS, Y):
        posterior.update(np.array([arm]), ONE, np.array([y]))

    def steps() -> None:
        for i in range(20):
            posterior.update(ARMS[i : i + 1], ONE, Y[i : i + 1])

    return seconds(steps) / 20


def textbook() -> float:
    K = SE(LENGTHSCALE)(X, X)
    return seconds(lambda: dense(K, ARMS, Y, LAM))


def scikit_learn() -> float:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    model = GaussianProcessRegressor(RBF(LENGTHSCALE), alpha=LAM, optimizer=None)
    return seconds(lambda: model.fit(X[ARMS], Y).predict(X, return_std=True))


def botorch() -> float:
    """All arms as one joint query, or each as a query of its own: whichever is faster."""
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import RBFKernel

    x, arms, y = torch.tensor(X), torch.tensor(X[ARMS]), torch.tensor(Y)[:, None]

    def step(query: torch.Tensor) -> None:
        kernel = RBFKernel()
        kernel.lengthscale = LENGTHSCALE
        model = SingleTaskGP(arms, y, torch.full_like(y, LAM), covar_module=kernel, outcome_transform=None)
        with torch.no_grad():
            posterior = model.posterior(query)
            _ = posterior.mean, posterior.variance

    torch.set_num_threads(1)
    return min(seconds(lambda: step(x)), seconds(lambda: step(x[:, None])))


def read_once() -> Row:
    """A step reads the kernel rows of the pulled arms at least once."""
    read = 8.0 * len(np.unique(ARMS)) * A / machine().bandwidth
    return Row(WHAT, "its rows read once (roofline)", min(next_step() for _ in range(3)), read)


def refresh() -> Row:
    """A dictionary from scratch: one product of an m x m matrix with the m rows of the dictionary."""
    arms = np.unique(ARMS)
    posterior = SketchedArmPosterior(SE(LENGTHSCALE), X, LAM)
    posterior.record(arms, np.ones(len(arms)), np.zeros(len(arms)))
    posterior.embed(arms)
    positions = np.arange(len(arms))
    ours = min(seconds(lambda: posterior._refresh(positions)) for _ in range(3))
    return Row(
        "sketch from scratch, A = 4,000, m = 300",
        "its one product (roofline)",
        ours,
        2 * len(arms) ** 2 * A / machine().flops,
    )


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    yield "step-textbook", lambda: against(WHAT, "textbook, a fresh Cholesky", next_step, textbook)
    yield "step-sklearn", lambda: against(WHAT, "scikit-learn", next_step, scikit_learn)
    if importlib.util.find_spec("botorch") is not None:
        yield "step-botorch", lambda: against(WHAT, "BoTorch", next_step, botorch)
    yield "step-roofline", read_once
    yield "sketch-roofline", refresh


if __name__ == "__main__":
    with threadpool_limits(1):
        for name, case in cases():
            row = case()
            print(f"{name}: {row.case}, over {row.reference}: {row.ratio:.2f}", flush=True)
