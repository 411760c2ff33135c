"""What it costs to learn the kernel: fits against scikit-learn's, policies against each other, one BLAS thread.

    python -m benchmarks.bench_learned [--rounds N] [--horizon T] [--skip-mcmc]

Both sides of a ratio do the same work in turn in one process; medians over the rounds are printed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator

import gymnasium
import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk
from threadpoolctl import threadpool_limits

import agents
from agents import Feedback, Pending
from agents.core.acquisition import UpperConfidenceBound
from agents.core.finite import Offer
from agents.core.space import ArmSpace
from benchmarks.measure import Row, against
from gpbandit_envs import problem_of
from gpbandit_envs.gp.hyperparameters import Flat, Hyperparameters, HyperPrior, map_estimate
from gpbandit_envs.gp.kernels import Matern
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import Problem

FLAT = HyperPrior(Flat(), Flat(), Flat())
PROBLEMS = ("GPBandit/Deceptive-v0", "GPBandit/Hartmann3-v0", "GPBandit/Hartmann6-v0")


def timed(work: Callable[[], object]) -> tuple[float, object]:
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def data(n: int, dim: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A draw from the model of which a third of the features matter."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, dim))
    relevant = np.arange(dim) < max(1, dim // 3)
    true = Hyperparameters(1.0, 0.01, tuple(np.where(relevant, 0.7, 5.0)))
    K = true.kernel()(X, X) + true.noise * np.eye(n)
    return X, np.linalg.cholesky(K) @ rng.standard_normal(n)


def fit_theirs(X: np.ndarray, y: np.ndarray) -> float:
    dim = X.shape[1]
    kernel = sk.ConstantKernel(1.0, FLAT.variance_bounds) * sk.Matern(
        [0.4 * np.sqrt(dim)] * dim, FLAT.lengthscale_bounds, nu=2.5
    ) + sk.WhiteKernel(1e-2, FLAT.noise_bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of irrelevant lengthscales that end at their bounds
        return float(
            GaussianProcessRegressor(kernel, alpha=0.0, normalize_y=True).fit(X, y).log_marginal_likelihood_value_
        )


def fit_ours(X: np.ndarray, y: np.ndarray, starts: int) -> float:
    return map_estimate(X, y, np.random.default_rng(0), prior=FLAT, starts=starts).log_posterior


def fits(rounds: int) -> None:
    print("MAP fit, Matern 5/2 ARD with noise; the same bounds and first start as scikit-learn's")
    print(
        f"{'n':>5}{'d':>4}  {'ours, 1 start':>14}{'ours, 3 starts':>15}{'scikit-learn':>14}{'ratio':>7}  log lik. gap"
    )
    for n, dim in ((50, 2), (100, 6), (200, 12)):
        ones, threes, theirs, gaps = [], [], [], []
        for seed in range(rounds):
            X, y = data(n, dim, seed)
            seconds, ours = timed(lambda X=X, y=y: fit_ours(X, y, 1))  # type: ignore[misc]
            ones.append(seconds)
            threes.append(timed(lambda X=X, y=y: fit_ours(X, y, 3))[0])  # type: ignore[misc]
            seconds, value = timed(lambda X=X, y=y: fit_theirs(X, y))  # type: ignore[misc]
            theirs.append(seconds)
            gaps.append(ours - value)  # type: ignore[operator]
        ratio = np.median(np.array(theirs) / np.array(ones))
        row = f"{n:5d}{dim:4d}  {np.median(ones):12.3f} s{np.median(threes):13.3f} s{np.median(theirs):12.3f} s"
        print(f"{row}{ratio:6.1f}x  {min(gaps):+.1e} to {max(gaps):+.1e}")


def policy_seconds(id: str, env_id: str, horizon: int, seed: int) -> float:
    """Processor seconds of the policy, without those of the environment."""
    env = gymnasium.make(env_id, horizon=horizon)
    env.reset(seed=seed)
    problem = problem_of(env)
    agent, nothing, spent = agents.make(id), Pending.empty(problem), 0.0
    agent.reset(problem, np.random.default_rng(seed))
    for t in range(horizon):
        seconds, actions = timed(lambda: agent.select(1, nothing))
        reward = env.step(actions[0])[1]  # type: ignore[index]
        feedback = Feedback.of([t], actions, [float(reward)])
        spent += seconds + timed(lambda feedback=feedback: agent.observe(feedback))[0]  # type: ignore[misc]
    return spent


class Table:
    """20,000 arms with three features, and 400 evaluations of a draw from the model."""

    width = 1.96

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.features, self.kernel, self.noise = rng.random((20_000, 3)), Matern(0.3), 1e-2
        self.X = self.features[rng.integers(len(self.features), size=400)]
        factor = np.linalg.cholesky(self.kernel(self.X, self.X) + 1e-8 * np.eye(len(self.X)))
        self.y = factor @ rng.standard_normal(len(self.X)) + 0.1 * rng.standard_normal(len(self.X))
        problem = Problem(name="table", dim=3, arms=self.features, noise_std=0.1)
        self.space, self.every = ArmSpace(problem), Offer.all(problem)

    def ours(self) -> int:
        posterior = GPRegression(self.kernel, self.X, self.y, self.noise)
        score, rng = UpperConfidenceBound(self.width), np.random.default_rng(0)
        self.space.best(posterior, np.zeros(0, np.int64), self.every)
        return int(self.space.best_score(score, posterior, self.X, rng, self.every)[0])

    def plain(self) -> int:
        """The textbook's posterior at all arms."""
        L = cholesky(self.kernel(self.X, self.X) + self.noise * np.eye(len(self.X)), lower=True)
        K = self.kernel(self.features, self.X)
        half = solve_triangular(L, K.T, lower=True)
        mean = K @ solve_triangular(L, solve_triangular(L, self.y, lower=True), lower=True, trans=1)
        return int(np.argmax(mean + self.width * np.sqrt(1 - np.square(half).sum(axis=0))))


def next_arm() -> Row:
    table = Table()
    assert table.ours() == table.plain()
    return against(
        "Next of 20,000 arms and the best one, after 400 evaluations, new lengthscale",
        "posterior at all arms",
        lambda: timed(table.ours)[0],
        lambda: timed(table.plain)[0],
    )


def policies(rounds: int, horizon: int, with_mcmc: bool) -> None:
    ids = ["MAP-UCB", "UHE-BO", "Random+EXP3", "Portfolio", "A-GP-UCB", "Wang-deFreitas"]
    ids += ["MCMC-UCB"] if with_mcmc else []
    print(f"\nPolicy seconds over {horizon} evaluations, and the ratio to MAP-UCB's")
    for env_id in PROBLEMS:
        seconds = {id: [policy_seconds(id, env_id, horizon, seed) for seed in range(rounds)] for id in ids}
        base = np.array(seconds["MAP-UCB"])
        cells = [f"{id} {np.median(s):.2f} s ({np.median(np.array(s) / base):.2f}x)" for id, s in seconds.items()]
        print(f"{env_id}: " + ", ".join(cells), flush=True)


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """For `benchmarks.run`: a fit and the next arm of a table, each against the plain form; UHE-BO against others."""
    X, y = data(200, 12, 0)
    yield (
        "map-fit",
        lambda: against(
            "MAP fit, Matern 5/2 ARD, n = 200, d = 12",
            "scikit-learn, same bounds and start",
            lambda: timed(lambda: fit_ours(X, y, 1))[0],
            lambda: timed(lambda: fit_theirs(X, y))[0],
        ),
    )
    yield "next-arm", next_arm
    yield (
        "uhe-bo-map",
        lambda: against(
            "UHE-BO, 24 evaluations of Hartmann3",
            "MAP-UCB",
            lambda: policy_seconds("UHE-BO", PROBLEMS[1], 24, 0),
            lambda: policy_seconds("MAP-UCB", PROBLEMS[1], 24, 0),
        ),
    )
    yield (
        "uhe-bo",
        lambda: against(
            "UHE-BO, 24 evaluations of Hartmann3",
            "MCMC-UCB",
            lambda: policy_seconds("UHE-BO", PROBLEMS[1], 24, 0),
            lambda: policy_seconds("MCMC-UCB", PROBLEMS[1], 24, 0),
            rounds=1,
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--horizon", type=int, default=60)
    parser.add_argument("--skip-mcmc", action="store_true", help="leave out the policy that takes ten times as long")
    options = parser.parse_args()
    with threadpool_limits(1):
        fits(options.rounds)
        policies(options.rounds, options.horizon, not options.skip_mcmc)


if __name__ == "__main__":
    main()
