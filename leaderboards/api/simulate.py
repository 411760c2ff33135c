"""Thousands of repetitions of one policy on one environment at once: `leaderboards.simulate`.

Repetition r is the run of `leaderboards.run(env, agent, repetition=r)`: the same function, noise and random numbers,
and the same choices up to the first between scores that are equal to rounding, as `agents.make_vec` has it.
Environments whose rewards are more than a mean and noise, and policies without a batched form, are played run by run,
in processes.
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from rich.console import Console
from rich.progress import Progress

from agents import BandGuarantee
from agents.core.guarantees import guarantee_status
from agents.many import VectorAgent, side_by_side, why_alone, why_no_arms
from gpbandit_envs.arguments import as_count, as_word
from gpbandit_envs.arrays import Array, Device, is_out_of_memory
from gpbandit_envs.envs.bandit import FiniteArmEnv
from gpbandit_envs.envs.episodes import features_of
from gpbandit_envs.gp.kernel_rows import as_bytes
from gpbandit_envs.gp.many import at
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.problem import Problem
from leaderboards.audit.measure import informative, misses
from leaderboards.play.build import (
    MADE,
    AgentLike,
    EnvLike,
    build_agent,
    build_env,
    check_env_ref,
    describe_agent,
    describe_env,
    horizon_of,
    layers,
    load_plugins,
    pinned,
)
from leaderboards.play.drawn import draw
from leaderboards.play.measures import cumulative, inference_regret, simple_regret
from leaderboards.play.oracle import Oracle
from leaderboards.play.protocol_checks import incompatibility, inside_feedback
from leaderboards.play.record import RunRecord
from leaderboards.play.run import Loop, instance_data, run_on, stated_problem, told
from leaderboards.play.spec import RunSpec, env_seed
from leaderboards.score.scores import subsample_times
from leaderboards.score.statistics import mean_band, score_band
from leaderboards.store.intact import write_whole
from leaderboards.store.store import Store
from leaderboards.work.executors import in_processes
from leaderboards.work.jobs import register, registrations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHUNK, _FEWEST = 2**26, 16
"""Bytes at a time on a processor, and fewest repetitions: more bring nothing, fewer do not pay for the calls."""
_ARMS, _WORK = 1_000, 6e7
"""Arms, and arms times squared evaluations, up to which a processor plays side by side. The latter is what a row a pull
costs. One by one the posterior keeps a row a distinct arm, and is three times as fast with 1,000 arms and 1,000
evaluations; with 6,000 arms the elimination of REDS is four times as fast, and GP-UCB three times. With 2,000 arms BPE
on its full posterior is faster so. `python -m benchmarks.bench_device --edge` times all policies where this ends."""
_SHARE = 0.8  # of the memory that is free, to be taken
CURVES = {"cumulative_regret": cumulative, "simple_regret": simple_regret, "inference_regret": inference_regret}
_log = logging.getLogger("gpbandit")


@dataclass
class Simulation:
    """R repetitions of one policy on one environment, T evaluations each.

    Attributes:
        spec: Repetition 0, which with another number is any of them.
        actions: What was evaluated, shape (R, T), on a box (R, T, d).
        regret: Regret of each evaluation without noise, shape (R, T), unit of the reward; NaN where it is unknown.
        times: Evaluations after which recommendations are kept, shape (p,), from 1.
        recommended: Regret of what the policy recommends after its last feedback by then, shape (R, p); NaN before it.
        bands: With `audit=True`, one row a repetition: `violated`, the first evaluation after which the mean of some
            arm was outside the band, 0 if never; `required_scaling`, the least factor of the band with which none ever
            was; `half_width`, the mean over arms and evaluations; `informative`, the share of arms whose band is at the
            end narrower than the range of the means. All NaN without a band. None without an audit.
        guarantee: What the policy says of its band.
        no_guarantee: Why no theorem guarantees the band on this environment; "" if one does.
        how: How the repetitions were played, in a line.
        seconds: What setting them up took, and playing them.
    """

    spec: RunSpec
    actions: np.ndarray
    regret: Float[np.ndarray, "R T"]
    times: Int[np.ndarray, " p"]
    recommended: Float[np.ndarray, "R p"]
    bands: pd.DataFrame | None = None
    guarantee: BandGuarantee = field(default_factory=BandGuarantee)
    no_guarantee: str = ""
    how: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        """Repetitions."""
        return len(self.actions)

    def __repr__(self) -> str:
        s = self.spec
        return f"Simulation({s.agent.label} on {s.env.label}: {len(self):,} x {s.horizon} evaluations, {self.how})"

    def curves(self, metric: str = "cumulative_regret") -> Float[np.ndarray, "R p"]:
        """A curve of each repetition at `times`, shape (R, p).

        Args:
            metric: `"cumulative_regret"`, `"simple_regret"` or `"inference_regret"`.

        Raises:
            ValueError: for another one.
        """
        as_word("metric", metric, tuple(CURVES))
        if metric == "inference_regret":
            return self.recommended
        return CURVES[metric](self.regret)[:, self.times - 1]

    def mean(self, metric: str = "cumulative_regret") -> Float[np.ndarray, " p"]:
        """The mean curve."""
        return self.curves(metric).mean(axis=0)

    def interval(self, metric: str = "cumulative_regret", level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of an interval for the mean at each time, each of shape (p,)."""
        _, low, high = (mean_band if len(self) == 1 else score_band)(self.curves(metric), level)
        return low, high

    def frame(self) -> pd.DataFrame:
        """One row for each repetition and time, with the curves as columns."""
        R, p = self.recommended.shape
        columns = {"repetition": np.repeat(np.arange(R), p), "t": np.tile(self.times, R)}
        return pd.DataFrame({**columns, **{name: self.curves(name).ravel() for name in CURVES}})

    def plot(self, metric: str = "cumulative_regret", ax: Axes | None = None, curves: int = 0) -> Axes:
        """Draw the mean curve with its interval, and some of the curves behind it, on `ax` or new axes."""
        import matplotlib.pyplot as plt

        ax = plt.subplots()[1] if ax is None else ax
        ax.plot(self.times, self.curves(metric)[:curves].T, color="0.8", linewidth=0.4)
        line = ax.plot(self.times, self.mean(metric), label=self.spec.agent.label)[0]
        ax.fill_between(self.times, *self.interval(metric), color=line.get_color(), alpha=0.3)
        ax.set(xlabel="evaluations", ylabel=metric.replace("_", " "))
        return ax


def simulate(
    env: EnvLike,
    agent: AgentLike,
    repetitions: int = 10_000,
    horizon: int | None = None,
    *,
    seed: int = 0,
    device: str | None = None,
    precision: str = "float64",
    audit: bool = False,
    points: int = 100,
    max_memory: int | str | None = None,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Simulation:
    """Play many repetitions of a policy: those that `leaderboards.run` plays one by one, in a fraction of the time.

    What was played is kept: after an interrupt, or when a chunk fails, the simulation has the chunks before it, and a
    warning says how many repetitions these are.

    Args:
        env: As for `leaderboards.run`.
        agent: As for `leaderboards.run`.
        repetitions: How many, from repetition 0 on.
        horizon: Number of evaluations; by default the time limit of the environment.
        seed: Root seed of all streams.
        device: Where repetitions are played side by side: `"torch:cuda"`, `"torch"`, `"cupy"`, `"numpy"` or another of
            `gpbandit_envs.arrays.Device`. None for NumPy, but run by run where that is faster: for more than
            1,000 arms, or 6e7 arms times squared evaluations.
        precision: `"float64"`, or `"float32"` for whitened rows of half the size. Their rounding is that of single
            precision: of 100 runs of GP-UCB with 300 arms and 200 evaluations, 67 on `GPSample` and 84 on `RKHS`
            then made another choice at some time, with the same mean regret.
        audit: Whether to follow the confidence band at all arms.
        points: At how many evaluations recommendations are kept.
        max_memory: Memory to be taken on the device, such as `"8GB"`; by default four fifths of what is free.
        workers: Processes where repetitions are played run by run; by default as many as the processor has cores.
        out: Results folder that gets the runs too, chunk by chunk; None for none. Runs that were played side by side
            have no diagnostics in it. With NumPy and double precision `gpbandit verify` confirms them, but for those
            in which a tie was decided otherwise. The file `simulated.json` in it says how they were played.
        progress: Whether to show a bar on the standard error stream, if that is a terminal.

    Raises:
        ValueError: for an unknown id, a value out of range, a policy that cannot play the environment, a `device` that
            is not there or for a policy or an environment that cannot be played side by side.
        TypeError: for an unknown keyword, or something that is neither id, class, pair nor object.
        ImportError: if the namespace of the device is not installed.
        MemoryError: if the device has no room for one repetition.
    """
    started = perf_counter()
    load_plugins()
    as_word("precision", precision, ("float64", "float32"))
    env, feedback = inside_feedback(env, None)
    env_ref, agent_ref = pinned(describe_env(env)), describe_agent(agent)
    if not isinstance(env, gym.Env):
        check_env_ref(env_ref)
    T, R = horizon_of(env, horizon), as_count("repetitions", repetitions)
    spec = RunSpec(env=env_ref, agent=agent_ref, repetition=0, horizon=T, seed=seed, feedback=feedback)
    times = subsample_times(T, min(as_count("points", points, 2), max(T, 2)))
    place = Device("numpy" if device is None else device)
    most = None if max_memory is None else as_bytes(max_memory)
    # A copy of an object: what plays side by side plays no single run any more.
    player, played = deepcopy(build_agent(agent)), build_env(env, T)
    with nullcontext() if played is env else closing(played):
        played.reset(seed=env_seed(spec))
        problem = stated_problem(played, T, spec.feedback)
        if why := incompatibility(player, problem, spec.feedback):
            raise ValueError(f"agent: {agent_ref.label} cannot play {env_ref.label}: {why}")
        why = why_alone(player) or _why_run_by_run(played, problem, spec.feedback)
        if device is not None and why:
            raise ValueError(f"device: expected None, which plays run by run, since {why}; got {device!r}")
        if not why and device is None and (problem.n_arms > _ARMS or problem.n_arms * T**2 > _WORK):
            why = "a processor is faster so with as many arms and evaluations; give a device to play side by side"
        if why:
            parts: _RunByRun | _SideBySide = _RunByRun(spec, env, agent, times, audit, workers, out)
            _log.warning("%s on %s: %s, since %s", agent_ref.label, env_ref.label, parts.where, why)
        else:
            vector = side_by_side(player, place, precision)
            parts = _SideBySide(spec, played, vector, told(problem, player), times, audit, most, out)
        found = _gathered(parts, R, progress)
    if len(found.actions) < R:
        warnings.warn(f"simulate: {len(found.actions):,} of {R:,} repetitions were played", stacklevel=2)
    guarantee = parts.guarantee if audit else BandGuarantee()
    seconds = {"set up": perf_counter() - started - found.seconds, "play": found.seconds}
    return Simulation(
        spec,
        found.actions,
        found.regret,
        times,
        found.recommended,
        pd.DataFrame(dict(zip(_BAND, found.bands.T))) if audit else None,
        guarantee,
        guarantee_status(guarantee, problem) if audit else "",
        parts.where,
        seconds,
    )


@dataclass
class _Played:
    """Some repetitions, as in `Simulation`."""

    actions: np.ndarray
    regret: np.ndarray
    recommended: np.ndarray
    bands: np.ndarray
    seconds: float


_COLUMNS = ("actions", "regret", "recommended", "bands")
_BAND = ("violated", "required_scaling", "half_width", "informative")


def _gathered(parts: _RunByRun | _SideBySide, repetitions: int, progress: bool) -> _Played:
    """All chunks, in order; what came before an interrupt or an error is kept, if it is anything."""
    done: dict[int, _Played] = {}
    console = Console(stderr=True)
    with Progress(console=console, disable=not (progress and console.is_terminal), transient=True) as bar:
        task = bar.add_task("simulating", total=repetitions)
        try:
            for first, part in parts.play(repetitions):
                done[first] = part
                bar.advance(task, len(part.actions))
        except (KeyboardInterrupt, Exception) as error:
            if not done:
                raise
            _log.warning("simulate: stopped by %s %s", type(error).__name__, str(error).partition("\n")[0])
    ordered = [done[first] for first in sorted(done)]
    joined = {name: np.concatenate([getattr(part, name) for part in ordered]) for name in _COLUMNS}
    return _Played(seconds=sum(part.seconds for part in ordered), **joined)


@dataclass
class _SideBySide:
    """In chunks that fit the memory, all repetitions of one at once."""

    spec: RunSpec
    env: gym.Env[Any, Any]
    vector: VectorAgent
    problem: Problem
    times: np.ndarray
    audit: bool
    most: int | None
    out: str | os.PathLike[str] | None

    def __post_init__(self) -> None:
        self.where = f"side by side on {self.vector.device.name}"

    @property
    def guarantee(self) -> BandGuarantee:
        return self.vector.agent.band_guarantee()

    def play(self, repetitions: int) -> Iterator[tuple[int, _Played]]:
        """The first repetition of each chunk, and what was played."""
        device, first = self.vector.device, 0
        each = self.vector.bytes_each(self.problem)
        most = int(_SHARE * device.free_bytes()) if self.most is None else self.most
        size = min(most // each, max(_CHUNK // each, _FEWEST) if device.on_processor else repetitions)
        while first < repetitions:
            try:
                if size < 1:
                    raise MemoryError
                part = self._chunk(first, min(size, repetitions - first))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                if size <= 1 and self.vector.keeps:
                    self.vector.keeps = False
                    each, size = self.vector.bytes_each(self.problem), 1
                    if each <= most:
                        self.where += ", rows computed anew"
                        continue
                if size <= 1:
                    raise MemoryError(
                        f"device: a repetition takes {each / 1e6:,.3g} MB of {device.name}, and there are "
                        f"{most / 1e6:,.3g} MB: give precision='float32', fewer evaluations or another device"
                    ) from None
                size //= 2
                continue
            yield first, part
            first += len(part.actions)

    def _chunk(self, first: int, n: int) -> _Played:
        vector, device, xp = self.vector, self.vector.device, self.vector.xp
        env: Any = self.env.unwrapped
        T, noise = self.spec.horizon, env.recipe.noise
        records: list[RunRecord] = []

        def begin_record(spec: RunSpec) -> None:
            oracle = Oracle(env, self.problem)
            records.append(RunRecord(spec, "done", facts=oracle.facts, data=instance_data(self.problem, oracle)))

        look = None if self.out is None else begin_record
        host, best, variates, rngs = draw(env, self.spec, first, n, look)
        means = device.put(host)
        # What a homoscedastic model adds is the same for every arm: all of it at once, and no way back and forth.
        added = device.put(noise.reward(np.zeros((n, T)), None, variates)) if noise.homoscedastic else None
        started = perf_counter()
        with one_blas_thread():
            vector.reset(self.problem, rngs)
            actions = device.put(np.zeros((n, T), np.int64))
            follows = _Following(vector, means) if self.audit else None
            kept, informed = set(range(1, T + 1) if records else self.times.tolist()), device.put(np.zeros(n, bool))
            recommended, ends = [], []
            for t in range(T):
                arms = vector.select()
                actions[:, t] = arms
                if added is not None:
                    rewards = at(means, arms) + added[:, t]
                else:
                    on_host = device.get(arms)
                    rewards = device.put(noise.reward(host[np.arange(n), on_host], on_host, variates[:, t]))
                vector.follow(arms, rewards)
                informed = informed | vector.told
                if records:
                    ends.append(device.get(informed & vector.told))
                if follows is not None:
                    follows.look(t + 1)
                if t + 1 in kept:
                    # Copies of numbers that are small, taken off the device at the end.
                    recommended.append(xp.where(informed, at(means, vector.recommend()), xp.nan))
            chosen = device.get(actions)
            regrets = best[:, None] - device.get(xp.stack(recommended, axis=1))
            bands = np.full((n, len(_BAND)), np.nan) if follows is None else follows.found()
        seconds, mean = perf_counter() - started, np.take_along_axis(host, chosen, axis=1)
        regret = best[:, None] - mean
        if records:
            after = np.stack([np.zeros(n, bool), *ends[:-1]], axis=1)
            columns = {
                "action": chosen,
                "reward": noise.reward(mean, chosen, variates),
                "mean": mean,
                "regret": regret,
                "batch": 1 + np.cumsum(after, axis=1),
                "policy_seconds": np.full((n, T), seconds / (n * T)),
                "inference_regret": regrets,
                "cost": np.ones((n, T)) if env.recipe.costs is None else env.recipe.costs[chosen],
            }
            for i, record in enumerate(records):
                record.trace = pd.DataFrame({"t": np.arange(1, T + 1), **{k: v[i] for k, v in columns.items()}})
                record.seconds = seconds / n
            exact = device.name == "numpy" and vector.precision == "float64"
            _keep(self.out, records, self.where, vector.precision, exact)
            regrets = regrets[:, self.times - 1]
        return _Played(chosen, regret, regrets, bands, seconds)


class _Following:
    """The band of all repetitions along the way, beside the means."""

    def __init__(self, vector: VectorAgent, means: Array) -> None:
        self._vector, self._means, self.xp = vector, means, vector.xp
        n = means.shape[0]
        zeros = vector.device.put(np.zeros(n))
        self._violated, self._scaling, self._width, self._share, self._looks = (zeros * 1.0 for _ in range(5))
        self._span = (self.xp.max(means, axis=1) - self.xp.min(means, axis=1))[:, None]
        self._none = False

    def look(self, t: int) -> None:
        """After evaluation `t`, at the repetitions that have had feedback."""
        told, xp = self._vector.told, self.xp
        band = None if told is False else self._vector.band()
        if band is None:
            self._none |= told is not False
            return
        outside, scaling = misses(*band, self._means)
        now = xp.ones_like(self._looks) * 1.0 * told
        fresh = (self._violated == 0) & xp.any(outside, axis=1) & (now > 0)
        self._violated = xp.where(fresh, float(t), self._violated)
        self._scaling = xp.where(now > 0, xp.maximum(self._scaling, xp.max(scaling, axis=1)), self._scaling)
        self._width = self._width + now * xp.mean(band[1], axis=1)
        share = xp.mean(xp.astype(2 * band[1] < self._span, self._looks.dtype), axis=1)
        self._share = xp.where(now > 0, share, self._share)
        self._looks = self._looks + now

    def found(self) -> Float[np.ndarray, "n 4"]:
        """`_BAND` of each."""
        columns = self._violated, self._scaling, self._width / self.xp.clip(self._looks, 1.0, None), self._share
        found = np.stack([self._vector.device.get(column) for column in columns], axis=1)
        return np.full_like(found, np.nan) if self._none else found


@dataclass
class _RunByRun:
    """By single agents, in processes where these build both sides themselves, and not an object that was given."""

    spec: RunSpec
    env: EnvLike
    agent: AgentLike
    times: np.ndarray
    audit: bool
    workers: int | None
    out: str | os.PathLike[str] | None
    guarantee: BandGuarantee = field(default_factory=BandGuarantee)

    def __post_init__(self) -> None:
        alone = isinstance(self.env, gym.Env) or not self.spec.rebuildable
        n = as_count("workers", (os.cpu_count() or 1) if self.workers is None else self.workers)
        self._workers, self._given = (1, {"env": self.env, "agent": self.agent}) if alone else (n, {})
        self.where = f"run by run in {self._workers} process{'es' if self._workers > 1 else ''}"

    def play(self, repetitions: int) -> Iterator[tuple[int, _Played]]:
        """The first repetition of each chunk, and what was played."""
        specs = [replace(self.spec, repetition=r) for r in range(repetitions)]
        size = max(1, min(16, repetitions // (4 * self._workers)))
        pieces = [specs[i : i + size] for i in range(0, repetitions, size)]
        how: dict[str, Any] = {"times": self.times, "audit": self.audit, "out": self.out, **self._given}
        play = partial(_play_alone, registered=registrations(specs[:1]), **how)
        for first, guarantee, part in in_processes(play, pieces, self._workers, "simulated"):
            self.guarantee = guarantee
            yield first, part


def _play_alone(
    specs: Sequence[RunSpec],
    *,
    registered: tuple[Any, ...],
    times: np.ndarray,
    audit: bool,
    out: str | os.PathLike[str] | None,
    env: EnvLike | None = None,
    agent: AgentLike | None = None,
) -> tuple[int, BandGuarantee, _Played]:
    """Some runs, one after the other: the first repetition, what the agent says of its band, and what was played.

    Raises:
        RuntimeError: if a run breaks off.
    """
    load_plugins()
    register(*registered)
    started, rows, watch = perf_counter(), [], _BandWatch()
    for spec in specs:
        played = build_env(spec.built if env is None else env, spec.horizon)
        watch = _BandWatch()
        with nullcontext() if env is played else closing(played):
            player = build_agent(spec.agent if agent is None else agent)
            record = run_on(played, player, spec, watch=watch if audit else None)
        if record.status != "done":
            raise RuntimeError(f"repetition {spec.repetition} {record.status}: {record.reason}")
        if out is not None:
            _keep(out, [record], "run by run", "float64", exact=True)
        trace = record.trace
        actions = trace.filter(regex="^action").to_numpy()
        recommended = inference_regret(trace["inference_regret"].to_numpy())[times - 1]
        rows.append((actions[:, 0] if "action" in trace else actions, trace["regret"], recommended, watch.found()))
    joined = {name: np.stack([np.asarray(row[k]) for row in rows]) for k, name in enumerate(_COLUMNS)}
    return specs[0].repetition, watch.guarantee, _Played(seconds=perf_counter() - started, **joined)


def _keep(out: Any, records: list[RunRecord], how: str, precision: str, exact: bool) -> None:
    """Write runs to a results folder, and how they were played; `exact` ones are what single runs are, bit for bit."""
    store = Store(out)
    store.write(*records)
    note = {"played": how, "precision": precision, "verifiable bit for bit": exact}
    write_whole(store.root / "simulated.json", json.dumps(note, indent=1))


class _BandWatch:
    """Follows the band of one run at all arms, or on a box at none."""

    guarantee = BandGuarantee()

    def __init__(self) -> None:
        self._rows: list[tuple[int, bool, float, float, float]] = []

    def begins(self, loop: Loop) -> None:
        """Nothing has been told yet."""
        self._deliveries = 0

    def turned(self, loop: Loop) -> None:
        """Look at the band, where there was feedback."""
        deliveries, arms = loop.turns.deliveries, loop.problem.arms
        if deliveries == self._deliveries or arms is None or not loop.oracle.known:
            return
        self._deliveries = deliveries
        if (band := loop.agent.predict(arms)) is not None:
            means = np.asarray(loop.env.unwrapped.mean(np.arange(len(arms))), np.float64)  # type: ignore[attr-defined]
            outside, scaling = misses(*band, means)
            wide = float(band[1].mean()), informative(band, means)
            self._rows.append((loop.t, bool(outside.any()), float(scaling.max()), *wide))

    def ends(self, loop: Loop) -> None:
        """What the agent says of its band, now that it has played."""
        self.guarantee = loop.agent.band_guarantee()

    def found(self) -> tuple[float, ...]:
        """`_BAND`; NaN without a band."""
        if not self._rows:
            return (np.nan,) * len(_BAND)
        t, outside, scaling, width, share = map(np.array, zip(*self._rows))
        first = float(t[outside.argmax()]) if outside.any() else 0.0
        return first, float(scaling.max()), float(width.mean()), float(share[-1])


def _why_run_by_run(env: gym.Env[Any, Any], problem: Problem, feedback: str) -> str:
    """Why repetitions of an environment cannot be played side by side; "" if they can."""
    played, name = env.unwrapped, problem.name
    if why := why_no_arms(problem):
        return f"{name} is {why}" if why.startswith("a ") else f"{name} is one {why}"
    if feedback != "on_request":
        return f"feedback comes as {feedback}, not on request"
    if not isinstance(played, FiniteArmEnv) or type(played).step is not FiniteArmEnv.step or features_of(played.recipe):
        return f"rewards of {name} are more than a mean and noise"
    others = [layer for layer in layers(env) if not isinstance(layer, MADE)]
    return f"{name} is inside {type(others[0]).__name__}" if others else ""
