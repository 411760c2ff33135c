"""Speed of the finite-arm policies: ratio against the published form, side by side with one BLAS thread.

    python benchmarks/bench_policies.py [--case NAME] [--rounds N]

Both sides of a ratio play the same problem and seeds in turn; the median of the rounds' ratios is printed, with the
machine's rate of a dense 2000 x 2000 product, in which absolute times are counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from threadpoolctl import threadpool_limits

import agents
from agents import Feedback, Pending
from benchmarks.published import QR, PublishedSketch, play
from gpbandit_envs import problem_of
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import Problem

XI = 0.01
Published: TypeAlias = Callable[..., PublishedSketch]
T_DUAL = 400  # evaluations of the cases of DMM


@dataclass(frozen=True)
class Case:
    """One row: two timed sides and the ratio asked for."""

    name: str
    goal: float
    fast: Callable[[], float]
    slow: Callable[[], float]


def abalone(lengthscale: float, horizon: int) -> tuple[Problem, np.ndarray]:
    env = gymnasium.make("GPBandit/Abalone-v0", horizon=horizon, kernel={"name": "se", "lengthscale": lengthscale})
    env.reset(seed=0)
    problem = problem_of(env)
    return problem, env.unwrapped.mean(np.arange(problem.n_arms))  # type: ignore[attr-defined]


def synthetic(n_arms: int, lengthscale: float, horizon: int) -> tuple[Problem, np.ndarray]:
    """Correlated features of the size of Cadata, and a smooth function of them."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(n_arms, 3))
    X = common @ rng.normal(size=(3, 8)) + 0.3 * rng.normal(size=(n_arms, 8))
    X /= X.std(axis=0)
    mean = np.tanh(X[:, 0]) + 0.5 * np.cos(X[:, 1] + X[:, 2])
    mean = (mean - mean.min()) / np.ptp(mean)
    problem = Problem(
        name="synthetic", dim=8, arms=X, kernel=SE(lengthscale), noise_std=XI, norm_bound=1.0, horizon=horizon
    )
    return problem, mean


def noisy(mean: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    return lambda arms: mean[arms] + XI * rng.standard_normal(len(arms))


def seconds_of_agent(id: str, problem: Problem, mean: np.ndarray, **kwargs: Any) -> float:
    agent = agents.make(id, width="practical", **kwargs)
    feedback, nothing = noisy(mean, 1), Pending.empty(problem)
    assert problem.horizon is not None
    start, played = time.process_time(), 0
    agent.reset(problem, np.random.default_rng(0))
    one = agent.capabilities.batch != "adaptive"
    while played < problem.horizon:
        arms = agent.select(1 if one else problem.horizon - played, nothing)
        agent.observe(Feedback.of(np.arange(played, played + len(arms)), arms, feedback(arms)))
        played += len(arms)
    return time.process_time() - start


AS_PRINTED = partial(PublishedSketch, lazy=False)
AS_THE_AUTHORS = partial(PublishedSketch, form=QR)


def seconds_of_published(policy: str, problem: Problem, mean: np.ndarray, published: Published) -> float:
    assert problem.arms is not None
    assert problem.kernel is not None
    assert problem.horizon is not None
    start = time.process_time()
    run = published(problem.kernel, problem.arms, XI, 1.0, 1 / problem.horizon, 2.0, 0)
    play(run, policy, problem.horizon, noisy(mean, 1))
    return time.process_time() - start


def sketched_case(
    name: str,
    goal: float,
    id: str,
    policy: str,
    task: tuple[Problem, np.ndarray],
    published: Published = PublishedSketch,
    **kw: Any,
) -> Case:
    return Case(
        name,
        goal,
        lambda: seconds_of_agent(id, *task, draws="arm", **kw),
        lambda: seconds_of_published(policy, *task, published),
    )


def authors_case(
    what: str, goal: float, id: str, policy: str, lengthscale: float, horizon: int, **kw: Any
) -> Callable[[], Case]:
    """Against the form of the authors' code: QR decompositions."""
    name = f"{what}, Abalone {lengthscale:g}, T = {horizon:,}, over the authors' form (QR)"
    return lambda: sketched_case(name, goal, id, policy, abalone(lengthscale, horizon), AS_THE_AUTHORS, **kw)


def dense_variance_step(K: np.ndarray, arms: np.ndarray, lam: float) -> None:
    """One step of a textbook policy: factor the t x t matrix, solve for the variance of all arms."""
    L = np.linalg.cholesky(K[np.ix_(arms, arms)] + lam * np.eye(len(arms)))
    G = np.linalg.solve(L, K[arms])
    np.einsum("ij,ij->j", G, G)


def stepper(problem: Problem, mean: np.ndarray) -> tuple[Callable[[], None], list[int], list[float]]:
    """A function that plays one step of GP-UCB, with the arms and rewards so far."""
    agent = agents.make("GP-UCB", width="practical")
    agent.reset(problem, np.random.default_rng(0))
    arms: list[int] = []
    rewards: list[float] = []
    feedback, nothing = noisy(mean, 1), Pending.empty(problem)

    def step() -> None:
        arm = agent.select(1, nothing)
        reward = feedback(arm)
        agent.observe(Feedback.of([len(arms)], arm, reward))
        arms.append(int(arm[0]))
        rewards.append(float(reward[0]))

    return step, arms, rewards


def gp_ucb_step_case() -> Case:
    problem, mean = abalone(5.0, 10_000)
    assert problem.arms is not None
    K = SE(5.0)(problem.arms, problem.arms)
    step, arms, _ = stepper(problem, mean)
    for _ in range(400):
        step()

    def fast() -> float:
        start = time.process_time()
        for _ in range(20):
            step()
        return (time.process_time() - start) / 20

    def slow() -> float:
        start = time.process_time()
        dense_variance_step(K, np.array(arms[:400]), XI**2)
        return time.process_time() - start

    return Case("GP-UCB step, t = 400, over a fresh Cholesky", 48, fast, slow)


def gp_aucb_case() -> Case:
    """All of GP-AUCB up to t = 871, against the dense step at every pick, sampled at every 30th and scaled up."""
    problem, mean = abalone(5.0, 871)
    assert problem.arms is not None
    K = SE(5.0)(problem.arms, problem.arms)
    arms = np.random.default_rng(0).integers(0, problem.n_arms, 871)

    def slow() -> float:
        total = 0.0
        for t in range(30, 871, 60):
            start = time.process_time()
            dense_variance_step(K, arms[:t], XI**2)
            total += 60 * (time.process_time() - start)
        return total

    return Case("GP-AUCB, t = 871, over dense", 400, lambda: seconds_of_agent("GP-AUCB", problem, mean), slow)


def bpe_task() -> tuple[SE, np.ndarray, float, int]:
    """Kernel, a 50 x 50 grid, noise variance and length of a batch of maximum-variance sampling."""
    axis = np.linspace(0, 1, 50)
    return SE(0.5), np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2), 4e-4, 2000


def bpe_seconds() -> float:
    """Seconds of one batch of `bpe_task`."""
    kernel, X, lam, N = bpe_task()
    start = time.process_time()
    posterior = ExactPosterior(kernel, X, lam)
    for _ in range(N):
        posterior.pull(int(np.argmax(posterior.ahead())))
    return time.process_time() - start


def bpe_case() -> Case:
    """Maximum-variance sampling of N = 2000 arms of a 50 x 50 grid."""
    kernel, X, lam, N = bpe_task()
    K = kernel(X, X)
    arms = np.random.default_rng(0).integers(0, len(X), N)

    def slow() -> float:
        total = 0.0
        for t in range(100, N, 200):
            start = time.process_time()
            dense_variance_step(K, arms[:t], lam)
            total += 200 * (time.process_time() - start)
        return total

    return Case("BPE maximum-variance sampling, N = 2000, over dense", 300, bpe_seconds, slow)


def refit_case() -> Case:
    """A step of GP-UCB at t = 400 against fitting scikit-learn's model anew and predicting at all arms."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    problem, mean = abalone(5.0, 10_000)
    assert problem.arms is not None
    X = problem.arms
    step, arms, rewards = stepper(problem, mean)
    for _ in range(400):
        step()
    fitted, seen = X[arms], np.array(rewards)

    def fast() -> float:
        start = time.process_time()
        for _ in range(20):
            step()
        return (time.process_time() - start) / 20

    def slow() -> float:
        start = time.process_time()
        model = GaussianProcessRegressor(RBF(5.0), alpha=1e-4, optimizer=None)
        model.fit(fitted, seen).predict(X, return_std=True)
        return time.process_time() - start

    return Case("GP-UCB step, t = 400, Abalone, over a refit of scikit-learn", 40, fast, slow)


def async_ts_case() -> Case:
    """A batch of 30 of ASYNC-TS on 20,640 arms against one dense product of 2000 x 2000 matrices."""
    A, rank, size = 20_640, 1_000, 30
    X = np.random.default_rng(0).standard_normal((A, 8))
    problem = Problem(name="large", dim=8, arms=X, kernel=SE(10.0), noise_std=0.01, horizon=10_000)
    mean = np.sin(X[:, 0])

    def fast() -> float:
        agent, noise = agents.make("ASYNC-TS", batch_size=size, max_rank=rank, width=0.1), np.random.default_rng(1)
        nothing, spent = Pending.empty(problem), []
        agent.reset(problem, np.random.default_rng(0))
        for batch in range(10):
            start = time.process_time()
            arms = agent.select(size, nothing)
            rewards = mean[arms] + 0.01 * noise.standard_normal(size)
            agent.observe(Feedback.of(np.arange(size) + size * batch, arms, rewards))
            spent.append(time.process_time() - start)
        return float(np.median(spent))

    return Case("ASYNC-TS, a batch of 30, A = 20,640, over one dense 2000 x 2000 product", 0.5, fast, product_seconds)


def product_seconds() -> float:
    """One dense 2000 x 2000 x 2000 float64 product."""
    A = np.random.default_rng(0).random((2000, 2000))
    A @ A
    start = time.process_time()
    A @ A
    return time.process_time() - start


def dmm_case(n_arms: int) -> Case:
    """A step of GP-UCB with DMM, against as many plain steps as its grid has regularisers."""
    problem, mean = synthetic(n_arms, 2.0, T_DUAL)
    arms = np.random.default_rng(2).integers(n_arms // 10, size=T_DUAL)  # the same for both, some pulled again
    rewards = noisy(mean, 1)(arms)

    def seconds_of_step(width: str) -> float:
        agent, nothing = agents.make("GP-UCB", width=width), Pending.empty(problem)
        agent.reset(problem, np.random.default_rng(0))
        start = time.process_time()
        for t in range(T_DUAL):
            agent.select(1, nothing)
            agent.observe(Feedback.of([t], arms[t : t + 1], rewards[t : t + 1]))
        return (time.process_time() - start) / T_DUAL

    n = 6  # regularisers of "dmm"
    return Case(
        f"step of GP-UCB with DMM, {n} regularisers, A = {n_arms:,}, T = {T_DUAL}, over {n} plain steps",
        1 / 1.3,
        lambda: seconds_of_step("dmm"),
        lambda: n * seconds_of_step("theory"),
    )


CASES: dict[str, Callable[[], Case]] = {
    "bbkb-17.5": lambda: sketched_case("BBKB, Abalone 17.5, T = 10,000", 30, "BBKB", "bbkb", abalone(17.5, 10_000)),
    "bbkb-5": lambda: sketched_case("BBKB, Abalone 5, T = 10,000", 18, "BBKB", "bbkb", abalone(5.0, 10_000)),
    "local-17.5": lambda: sketched_case(
        "BBKB-GlobalLocal, Abalone 17.5, T = 10,000", 80, "BBKB-GlobalLocal", "bbkb-local", abalone(17.5, 10_000)
    ),
    "local-5": lambda: sketched_case(
        "BBKB-GlobalLocal, Abalone 5, T = 10,000", 35, "BBKB-GlobalLocal", "bbkb-local", abalone(5.0, 10_000)
    ),
    "bbkb-17.5-printed": lambda: sketched_case(
        "BBKB, Abalone 17.5, over Alg. 1 as printed", 30, "BBKB", "bbkb", abalone(17.5, 10_000), AS_PRINTED
    ),
    "bbkb-5-printed": lambda: sketched_case(
        "BBKB, Abalone 5, over Alg. 1 as printed", 18, "BBKB", "bbkb", abalone(5.0, 10_000), AS_PRINTED
    ),
    "local-17.5-printed": lambda: sketched_case(
        "BBKB-GlobalLocal, Abalone 17.5, over Alg. 1 as printed",
        80,
        "BBKB-GlobalLocal",
        "bbkb-local",
        abalone(17.5, 10_000),
        AS_PRINTED,
    ),
    "bkb-17.5": lambda: sketched_case("BKB, Abalone 17.5, T = 2,000", 17, "BKB", "bkb", abalone(17.5, 2000)),
    "bkb-5": lambda: sketched_case("BKB, Abalone 5, T = 2,000", 25, "BKB", "bkb", abalone(5.0, 2000)),
    "bbkb-20640": lambda: sketched_case(
        "BBKB, A = 20,640, T = 2,000", 8, "BBKB", "bbkb", synthetic(20_640, 12.5, 2000)
    ),
    "bbkb-17.5-qr": authors_case("BBKB", 100, "BBKB", "bbkb", 17.5, 10_000),
    "bbkb-5-qr": authors_case("BBKB", 40, "BBKB", "bbkb", 5.0, 10_000),
    "local-5-qr": authors_case("BBKB-GlobalLocal", 80, "BBKB-GlobalLocal", "bbkb-local", 5.0, 10_000),
    "bkb-5-qr": authors_case("BKB", 50, "BKB", "bkb", 5.0, 2000),
    "gp-ucb-step": gp_ucb_step_case,
    "gp-ucb-dmm": lambda: dmm_case(1_000),
    "gp-ucb-dmm-4000": lambda: dmm_case(4_000),
    "gp-aucb": gp_aucb_case,
    "bpe": bpe_case,
    "gp-ucb-refit": refit_case,
    "async-ts-20640": async_ts_case,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=sorted(CASES), action="append", help="only these")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with threadpool_limits(1):
        product = product_seconds()
        print(f"one dense 2000 x 2000 x 2000 product: {product:.3f} s, {16 / product:.0f} GFLOP/s, one thread\n")
        print("| case | seconds | products | published or dense over ours | asked |\n|---|---|---|---|---|")
        for name in arguments.case or CASES:
            case = CASES[name]()
            pairs = [(case.fast(), case.slow()) for _ in range(arguments.rounds)]
            fast, ratio = np.median([a for a, _ in pairs]), np.median([b / a for a, b in pairs])
            print(f"| {case.name} | {fast:.4f} | {fast / product:.3f} | {ratio:.1f} | {case.goal:g} |", flush=True)


if __name__ == "__main__":
    main()
