"""Repetitions side by side: beside twelve plain lines in the same namespace, and beside runs one by one.

    python -m benchmarks.bench_device                        # the card, if there is one, else NumPy
    python -m benchmarks.bench_device --device torch
    python -m benchmarks.bench_device --choices --runs 200   # equal choices, by policy
    python -m benchmarks.bench_device --edge                 # a processor at the edge of the rule that falls back

A ratio is of two times of this process, one after the other. On a processor small cases stand for the large ones.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import leaderboards
from agents.many import make_vec
from benchmarks.ties import BLIND, POLICIES, compare
from gpbandit_envs.arrays import Array, Device
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.many import at
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.problem import Problem
from leaderboards.api import simulate as module
from leaderboards.api.simulate import simulate

WIDTH, NOISE, LENGTHSCALE = 2.0, 0.1, 0.2
CARD = [(10_000, 300, 300), (1_000, 1_000, 1_000), (200, 4_177, 1_000), (1, 10**6, 500), (1, 10**6, 2_000)]
PROCESSOR = [(64, 300, 300), (16, 1_000, 300), (1, 20_000, 200)]
LARGE = [("GP-UCB", {"width": "dmm"}, 1, 10**5, 500), ("BPE", {}, 1, 200_000, 1_000)]
EDGE = [
    (20, 300),
    (300, 440),
    (1_000, 240),
]  # arms and evaluations: small, and where `simulate` last plays side by side


def plain(device: Device, X: np.ndarray, means: Array, noise: Array) -> Array:
    """GP-UCB of all repetitions in twelve lines, the arms that it chooses."""
    xp, (R, T), A, lam = device.xp, noise.shape, len(X), NOISE**2
    W, points = xp.empty((R, T, A), dtype=xp.float64, device=noise.device), device.put(X / LENGTHSCALE)
    K = device.put(SE(LENGTHSCALE)(X, X)) if A <= 8_192 else None
    mean, var, chosen = means * 0.0, means * 0.0 + 1.0, []
    for t in range(T):
        arm = xp.argmax(mean + WIDTH * xp.sqrt(xp.clip(var, 0.0, None)), axis=1)
        row = xp.exp(-0.5 * xp.sum((points - points[arm]) ** 2, axis=1))[None] if K is None else K[arm]
        if t:
            row = row - (xp.take_along_axis(W[:, :t], arm[:, None, None], axis=2).swapaxes(1, 2) @ W[:, :t])[:, 0]
        root = xp.sqrt(at(row, arm) + lam)
        W[:, t] = row = row / root[:, None]
        mean += ((at(means, arm) + noise[:, t] - at(mean, arm)) / root)[:, None] * row
        var -= row**2
        chosen.append(arm)
    return xp.stack(chosen, axis=1)


def engine(device: Device, X: np.ndarray, means: Array, noise: Array, id: str = "GP-UCB", **kwargs: Any) -> Array:
    """The same by the engine of `agents.make_vec`."""
    (R, T), xp = noise.shape, device.xp
    problem = Problem(name="bench", dim=2, arms=X, kernel=SE(LENGTHSCALE), noise_std=NOISE, norm_bound=2.0, horizon=T)
    many, chosen = make_vec(id, device=device.name, **(kwargs or {"width": WIDTH})), []
    many.reset(problem, [np.random.default_rng(r) for r in range(R)])
    for t in range(T):
        chosen.append(many.select())
        many.follow(chosen[-1], at(means, chosen[-1]) + noise[:, t])
    return xp.stack(chosen, axis=1)


def seconds(device: Device, call: Callable[[], Array]) -> tuple[float, np.ndarray]:
    """Wall time of a call up to the last number on the processor, and what it returns."""
    start = time.perf_counter()
    found = device.get(call())
    return time.perf_counter() - start, found


def instance(device: Device, R: int, A: int, T: int) -> tuple[np.ndarray, Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.random((A, 2))
    means = np.sin(5 * X[:, 0] + np.arange(R)[:, None]) * np.cos(3 * X[:, 1])
    return X, device.put(means), device.put(NOISE * rng.standard_normal((R, T)))


def hardware(device: Device) -> str:
    """Bytes and operations a second, as a product of a row with a matrix and of two matrices show."""
    xp, n = device.xp, 2_000 if device.on_processor else 16_000
    A = device.put(np.ones((n, n)))
    best = [min(seconds(device, lambda x=x: xp.sum(x @ A))[0] for _ in range(5)) for x in (A[:1], A)]  # type: ignore[misc]
    return f"{8 * n * n / best[0] / 1e9:,.0f} GB/s, {2 * n**3 / best[1] / 1e12:.3g} Tflop/s"


def beside_plain_lines(device: Device) -> None:
    print(f"{'R x A x T':>24} {'engine s':>9} {'plain s':>9} {'plain/engine':>12} {'equal choices':>13}")
    for R, A, T in PROCESSOR if device.on_processor else CARD:
        X, means, noise = instance(device, R, A, T)
        engine(device, X, means, noise[:, :2])  # what is compiled or loaded at first use
        ours, mine = seconds(device, partial(engine, device, X, means, noise))
        theirs, other = seconds(device, partial(plain, device, X, means, noise))
        equal = (mine == other).all(axis=1).mean()
        print(f"{f'{R:,} x {A:,} x {T:,}':>24} {ours:9.2f} {theirs:9.2f} {theirs / ours:12.2f} {equal:13.0%}")
    if not device.on_processor:
        for id, kwargs, R, A, T in LARGE:
            X, means, noise = instance(device, R, A, T)
            ours, _ = seconds(device, partial(engine, device, X, means, noise, id, **kwargs))
            theirs, _ = seconds(device, partial(engine, device, X, means, noise))
            print(f"{id} {kwargs or ''} {R:,} x {A:,} x {T:,}: {ours:.2f} s, {ours / theirs:.1f} times GP-UCB")


def beside_one_by_one(device: Device, repetitions: int) -> None:
    """The whole call of `simulate` and runs of `leaderboards.run`, on one core."""
    env, agent = ("GPBandit/RKHS-v0", {"n_arms": 300}), ("GP-UCB", {"width": WIDTH})
    simulate(env, agent, 2, 5, device=device.name, progress=False)
    leaderboards.run(env, agent, 0, 300)
    few = 20 if device.on_processor else 5
    with one_blas_thread():
        start = time.process_time() if device.on_processor else time.perf_counter()
        found = simulate(env, agent, repetitions, 300, device=device.name, progress=False)
        between = time.process_time() if device.on_processor else time.perf_counter()
        for r in range(few):
            leaderboards.run(env, agent, r, 300)
        end = time.process_time() if device.on_processor else time.perf_counter()
    each, single = (between - start) / repetitions, (end - between) / few
    parts = ", ".join(f"{name} {value:.2f} s" for name, value in found.seconds.items())
    print(f"simulate {repetitions:,} x 300 x 300: {1e3 * each:.3g} ms a run ({parts})")
    print(f"one by one {1e3 * single:.3g} ms: {single / each:.1f} times")


def choices(device: Device, runs: int, horizon: int) -> None:
    """By policy, in how many runs every choice is that of `leaderboards.run`; where one differs it must be a tie."""
    print(f"{'policy':28} {'equal':>10}  largest difference of scores where they part")
    for name, agent in POLICIES.items():
        env = ("GPBandit/RKHS-v0", {"n_arms": 100, "dim": 1 if name in BLIND else 2})
        simulation = simulate(env, agent, runs, horizon, device=device.name, progress=False)
        parted = [compare(simulation, r) for r in range(runs)]
        ties = [off for t, off in parted if t is not None]
        print(f"{name:28} {runs - len(ties):4} of {runs:3}  {f'{max(ties):.1e}' if ties else '-'}", flush=True)


def edge(runs: int) -> None:
    """By policy, the processor time of runs one by one over that of the same runs side by side."""
    print(f"{'policy':28}" + "".join(f"{f'{A:,} x {T}':>14}" for A, T in EDGE))
    work = module._WORK
    for name, agent in POLICIES.items():
        ratios = []
        for A, T in EDGE:
            env, seconds_of = ("GPBandit/RKHS-v0", {"n_arms": A}), []
            for module._WORK in (0.0, work):
                simulate(env, agent, 2, 5, workers=1, progress=False)
                start = time.process_time()
                how = simulate(env, agent, runs, T, workers=1, progress=False).how
                seconds_of.append(time.process_time() - start)
            assert how == "side by side on numpy", how
            ratios.append(seconds_of[0] / seconds_of[1])
        print(f"{name:28}" + "".join(f"{ratio:14.2f}" for ratio in ratios), flush=True)


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None)
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--edge", action="store_true")
    parser.add_argument("--runs", type=int, default=None)
    parser.add_argument("--horizon", type=int, default=300)
    given = parser.parse_args()
    device = Device(given.device or _best())
    card = "" if device.on_processor else f"{__import__('torch').cuda.get_device_name()}, "
    print(f"{device.name}: {card}{hardware(device)}, {os.cpu_count()} cores")
    if given.edge:
        edge(given.runs or 16)
        return
    if given.choices:
        choices(device, given.runs or 200, given.horizon)
        return
    with one_blas_thread():
        beside_plain_lines(device)
    beside_one_by_one(device, given.runs or (200 if device.on_processor else 10_000))


def _best() -> str:
    try:
        Device("torch:cuda")
    except (ImportError, ValueError):
        return "numpy"
    return "torch:cuda"


if __name__ == "__main__":
    main()
