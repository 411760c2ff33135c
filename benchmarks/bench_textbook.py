"""Exact policies and posteriors against `benchmarks.textbook`: the rank-one update in twelve lines of NumPy.

    python -m benchmarks.run --only textbook

Both sides play the same problem with the same noise and a constant confidence width.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

import agents
from agents import Feedback, Pending
from benchmarks.bench_policies import XI, bpe_seconds, bpe_task, synthetic
from benchmarks.bench_posteriors import LAM, LENGTHSCALE, WHAT, X, exact_seconds, next_step, pulls
from benchmarks.measure import Row, against
from benchmarks.textbook import RankOne, gp_ucb, maximum_variance
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem

WIDTH = 2.0
N_ARMS = 4_177  # of Abalone
BANDWIDTH = 2.0
SAMPLED_EVERY = 1_000
TEXTBOOK = "textbook, a rank-one row a pull"


def noise_of(horizon: int) -> np.ndarray:
    """Noise of each evaluation, whichever the arm."""
    return XI * np.random.default_rng(1).standard_normal(horizon)


def agent_play(problem: Problem, mean: np.ndarray, noise: np.ndarray) -> tuple[float, list[int]]:
    """Seconds of GP-UCB over `len(noise)` evaluations, and its arms."""
    agent, nothing, arms = agents.make("GP-UCB", width=WIDTH), Pending.empty(problem), []
    start = time.process_time()
    agent.reset(problem, np.random.default_rng(0))
    for t, one in enumerate(noise):
        arm = agent.select(1, nothing)
        agent.observe(Feedback.of([t], arm, mean[arm] + one))
        arms.append(int(arm[0]))
    return time.process_time() - start, arms


def textbook_play(problem: Problem, mean: np.ndarray, noise: np.ndarray) -> tuple[float, list[int]]:
    """The same of the plain loop."""
    start = time.process_time()
    left = iter(noise)
    posterior = textbook(problem, len(noise))
    arms = gp_ucb(posterior, WIDTH, len(noise), lambda x: float(mean[x] + next(left)))
    return time.process_time() - start, arms


def textbook(problem: Problem, T: int) -> RankOne:
    assert problem.kernel is not None
    assert problem.arms is not None
    return RankOne(problem.kernel, problem.arms, XI**2, T)


def textbook_sampled(problem: Problem, T: int) -> float:
    """Seconds of the plain loop over `T` pulls, from one pull in each `SAMPLED_EVERY`."""
    posterior = textbook(problem, T)
    posterior.W[:] = 1e-3  # any small row takes as long as a true one
    total = 0.0
    for t in range(SAMPLED_EVERY // 2, T, SAMPLED_EVERY):
        posterior.t = t
        posterior.variance[:] = 1.0
        start = time.process_time()
        gp_ucb(posterior, WIDTH, 1, lambda _: 0.0)
        total += SAMPLED_EVERY * (time.process_time() - start)
        posterior.W[t] = 1e-3
    return total


def gp_ucb_row(T: int, rounds: int) -> Row:
    problem, mean = synthetic(N_ARMS, BANDWIDTH, T)
    noise = noise_of(T)
    return against(
        f"GP-UCB, A = 4,177, d = 8, T = {T:,}",
        TEXTBOOK,
        lambda: agent_play(problem, mean, noise)[0],
        lambda: textbook_play(problem, mean, noise)[0],
        rounds,
    )


def gp_ucb_long_row(T: int = 10_000) -> Row:
    problem, mean = synthetic(N_ARMS, BANDWIDTH, T)
    noise = noise_of(T)
    return against(
        f"GP-UCB, A = 4,177, d = 8, T = {T:,}",
        f"{TEXTBOOK}, one in {SAMPLED_EVERY:,} timed",
        lambda: agent_play(problem, mean, noise)[0],
        lambda: textbook_sampled(problem, T),
        rounds=1,
    )


def textbook_posterior(n: int) -> RankOne:
    """After `n` pulls of 300 arms, with room for a few more."""
    posterior = RankOne(SE(LENGTHSCALE), X, LAM, n + 20)
    for arm, y in zip(*pulls(n)):
        posterior.pull(int(arm), float(y))
    return posterior


def textbook_step() -> float:
    """Seconds of one pull after 600; the mean of 20, of different arms."""
    posterior, (arms, y) = textbook_posterior(600), pulls(20)
    start = time.process_time()
    for arm, reward in zip(arms, y):
        posterior.pull(int(arm), float(reward))
    return (time.process_time() - start) / 20


def textbook_seconds(n: int) -> float:
    start = time.process_time()
    textbook_posterior(n)
    return time.process_time() - start


def textbook_bpe() -> float:
    kernel, grid, lam, N = bpe_task()
    start = time.process_time()
    maximum_variance(RankOne(kernel, grid, lam, N), N)
    return time.process_time() - start


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """What goes into the table of `benchmarks.run`."""
    yield "gp-ucb-420", lambda: gp_ucb_row(420, rounds=3)
    yield "gp-ucb-1000", lambda: gp_ucb_row(1_000, rounds=3)
    yield "gp-ucb-10000", gp_ucb_long_row
    yield "step", lambda: against(WHAT, TEXTBOOK, next_step, textbook_step)
    for n in (600, 2_000):
        what = f"GP posterior at all arms after each of {n:,} pulls of 300 arms, A = 4,000"
        yield (
            f"pulls-{n}",
            lambda n=n, what=what: against(  # type: ignore[misc]
                what, TEXTBOOK, lambda: exact_seconds(n), lambda: textbook_seconds(n)
            ),
        )
    yield (
        "bpe",
        lambda: against(
            "BPE maximum-variance sampling, N = 2000 on 50 x 50", TEXTBOOK, bpe_seconds, textbook_bpe, rounds=1
        ),
    )
