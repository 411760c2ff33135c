"""Runs with odd numbers and odd objects: what may come of them, and a sweep over thousands of them.

`python -m benchmarks.odd_runs --runs 5000 --seed 1` plays that many, counts how they end and prints what
breaks the rule of `broken`. The tests play a share of the same.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import math
import re
import signal
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time
from types import FrameType
from typing import Any

import gymnasium as gym
import hypothesis
import numpy as np
from hypothesis import strategies as st

import agents
import leaderboards
from gpbandit_envs.arguments import shown
from gpbandit_envs.gp import SE, as_kernel
from gpbandit_envs.problem import InitialData, Problem
from leaderboards.play.protocol_checks import RunTimeout

SECONDS = 8.0
"""A run that computes for longer hangs: none has more than eight evaluations."""

ADAPTERS = ("Optuna-TPE", "Optuna-GP", "BoTorch-EI", "BoTorch-UCB")
"""They cost seconds, and have few arguments of their own."""

# One call a turn is enough to see what an argument breaks.
SMALL: dict[str, Any] = {
    **{"candidates": 8, "starts": 1, "iterations": 3, "fits": 1, "n_initial": 2, "burn_in": 3, "samples": 2},
    **{"n_features": 16, "n_simulations": 3, "raw_samples": 4, "num_restarts": 1},
}

NUMBERS: tuple[Any, ...] = (
    *(0, 0.0, -0.0, -1, -0.5, 0.3, 1, 1.0, 2, 3, 7, 50, 1000, 0.999999, 1 + 1e-12),
    *(math.nan, math.inf, -math.inf, 5e-324, 1e-300, 1e-270, 1e-160, 1e-100, 1e-60, 1e-30, 1e-16, 1e-12, 1e-6),
    *(710.0, 1e6, 1e12, 1e30, 1e60, 1e101, 1e155, 1e160, 1e300, 1.7e308, -1e300),
    *(10**6, 10**9, 2**31, 2**63, 10**18, 10**400, -(10**400)),
    *(np.float64(0.5), np.float32("nan"), np.int64(3), np.float64("inf"), np.array(1.0)),
)
COUNTS: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3, 7, 50, 1000, 1.0, 2.5, math.nan, math.inf, 10**6, 10**7, 10**9, 2**63, 10**400),
)
OBJECTS: tuple[Any, ...] = (
    *(None, True, False, "", "theory", "practical", "bayes", "growing", "double", "1", "nan", "1GB", "-1GB", "no such"),
    *([], [1.0], (), (1.0, 2.0), {}, {"double": 0.5}, {"double": "x"}, {"double": 1e300}, {"double": None}, object),
    *(np.array([1.0, 2.0]), b"x", 1j, {"arms": [0], "rewards": [1.0]}, {"arms": [0, 0], "rewards": [1e308, 1.0]}),
    *({"arms": [0], "rewards": ["x"]}, {"arms": ["x"], "rewards": [1.0]}, {"arms": [], "rewards": []}),
    *({"arms": [10**9], "rewards": [1.0]}, {"noise_bounds": (1e-300, 1e300)}, {"noise_bounds": "x"}),
    *({"variance": {"name": "gamma", "shape": 1e300, "rate": 1e300}}, {"variance_bounds": (0, 1)}, {"noise": 3}),
    *({"variance": {"name": "log_normal", "location": 1e300}}, {"lengthscale_bounds": (1e-300, 1e-299)}),
)
WORDS = (
    *("global", "global-local", "pull", "arm", "product", "sum", "kernel", "theorem", "equal"),
    *("batch", "full", "unbiased", "plain", "exp3", "alternate", "ucb", "mei", "matern52", "matern32", "se", "rbf"),
)
SCALES = (1e-300, 1e-160, 1e-60, 1e-9, 0.01, 1.0, 3.0, 1e6, 1e60, 1e160, 1e300)
SETTINGS: dict[str, tuple[Any, ...]] = {
    "kernel": (
        *({"name": "se", "lengthscale": scale} for scale in SCALES),
        *({"name": "matern", "lengthscale": scale, "nu": 1.7} for scale in SCALES),
        *({"name": "matern", "lengthscale": 0.5, "nu": nu} for nu in (1e-300, 0.5, 50.0, 100.0, 1e300, "x")),
        *({"name": "rational_quadratic", "lengthscale": 0.5, "alpha": alpha} for alpha in (1e-300, 1.0, 1e300)),
        *({"name": "linear", "offset": offset} for offset in (0.0, 1e300, -1.0, "x")),
        *({"name": "linear", "lengthscale": scale} for scale in SCALES),
        *({"name": "polynomial", "degree": degree} for degree in (1, 3, 1000, 10**9, 10**400, 1.5, "x")),
        *({"name": "scale", "variance": scale, "kernel": {"name": "se", "lengthscale": 0.5}} for scale in SCALES),
        *({"name": "se", "lengthscale": odd} for odd in ("x", [], [1.0] * 9, math.nan, True, None)),
        *({"name": "no such"}, {"lengthscale": 1.0}, "se", 3, {"name": "se", "length": 1.0}, {"name": "scale"}),
    )
}

ARMS: dict[str, np.ndarray] = {
    "one": np.array([[0.3, 0.4]]),
    "few": np.array([[0.0, 0.0], [0.5, 0.1], [1.0, 0.9], [0.2, 0.7]]),
    "same": np.full((5, 2), 0.25),
    "twins": np.array([[0.1, 0.2], [0.1, 0.2], [0.9, 0.8], [0.9, 0.8], [0.9, 0.8]]),
    "near twins": 0.5 + 1e-9 * np.arange(8.0).reshape(4, 2),
    "constant feature": np.array([[0.0, 3.0], [0.5, 3.0], [1.0, 3.0]]),
    "zero": np.zeros((3, 2)),
    "far": 1e49 * np.array([[-1.0, 1.0], [0.0, 0.5], [1.0, -1.0]]),
    "too far": 1e155 * np.array([[-1.0, 1.0], [0.0, 0.5], [1.0, -1.0]]),
    "tiny": 1e-300 * np.array([[-1.0, 1.0], [0.0, 0.5], [1.0, -1.0]]),
    "uneven": np.array([[0.0, 1e-30], [1.0, 1e30], [2.0, -1e30], [1e-12, 0.0]]),
    "many": np.random.default_rng(0).random((120, 2)),
}
FAULTS: dict[str, tuple[str, Any]] = {
    "ends": ("answer", (0, 1.0, True, False, {})),
    "always fails": ("info", {"failed": True}),
    "terminated is an array": ("answer", (0, 1.0, np.zeros(2, bool), False, {})),
}
_ANSWERS: dict[str, tuple[Any, ...]] = {
    "answer": (None, 1.0, (), (0, 1.0, False), (0, 1.0, False, {}), (0, 1.0, False, False, {}, 1)),
    "info": (None, [], "x"),
    "reward": ("much", "1", None, np.zeros(3), 1j, math.nan, math.inf, 1e51, -1e308, 10**400),
}
_INFOS: dict[str, tuple[Any, ...]] = {
    "cost": ("dear", None, -1.0, 1e308, math.nan, [1.0]),
    "failed": (np.zeros(2, bool),),
    "oracle": (
        *(None, 3, {}, [], {"mean": 1.0}, {"mean": 0.0, "regret": math.inf}, {"mean": 0.0, "regret": None}),
        *({"mean": "x", "regret": 0.0}, {"mean": math.nan, "regret": 0.0}, {"mean": 1e99, "regret": 0.0}),
    ),
}
FAULTS |= {f"{part} is {shown(odd)}": (part, odd) for part, values in _ANSWERS.items() for odd in values}
FAULTS |= {f"{part} is {shown(odd)}": ("info", {part: odd}) for part, values in _INFOS.items() for odd in values}
"""What a step answers in place of its reward, its info, or all."""
HARMLESS = ("always fails", "oracle is None")
# Means of all arms, which an environment may state for scoring; on a box of any point.
MEANS = ("true", "none", "short", "matrix", "text", "NaN", "huge", "raises")


@dataclass(frozen=True)
class Case:
    """One odd run: an agent with its arguments, and an environment with its own."""

    agent: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    arms: str | None = "few"
    pattern: str = "waves"
    scale: float = 1.0
    offset: float = 0.0
    noise: float = 0.1
    stated: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None
    means: str = "true"
    optimum: Any = None
    horizon: int = 8
    feedback: str = "on_request"

    def __str__(self) -> str:
        plain = Case(self.agent)
        odd = {name: value for name, value in vars(self).items() if repr(value) != repr(getattr(plain, name))}
        return f"{self.agent} with " + ", ".join(f"{name}={value!r}" for name, value in odd.items())


class OddEnv(gym.Env[Any, Any]):
    """Two features; rewards of any size, problem descriptions of any content, and one fault."""

    def __init__(self, case: Case) -> None:
        self.case = case
        arms = None if case.arms is None else ARMS[case.arms]
        stated = {"kernel": SE(0.5), "noise_std": 0.1, "norm_bound": 2.0, "horizon": case.horizon}
        self.problem = Problem(name="odd", dim=2, arms=arms, **{**stated, **case.stated})
        self.observation_space = gym.spaces.Discrete(1)
        box = gym.spaces.Box(0.0, 1.0, (2,), np.float64)
        self.action_space = box if arms is None else gym.spaces.Discrete(len(arms))
        if case.means != "none":
            self.mean = self._told_means
            self.optimum = case.offset + abs(case.scale) if case.optimum is None else case.optimum

    def means(self, actions: Any) -> np.ndarray:
        """True means, between `offset` and `offset + scale`."""
        x = np.asarray(actions, np.float64).reshape(len(actions), -1).sum(axis=1)
        shape = {
            "waves": np.sin(7 * x) ** 2,
            "constant": np.ones(len(x)),
            "zero": np.zeros(len(x)),
            "line": x / (1 + x),
        }
        return self.case.offset + self.case.scale * shape[self.case.pattern]

    def _told_means(self, actions: Any) -> Any:
        n = len(actions)
        odd = {"short": np.zeros(n + 1), "matrix": np.zeros((n, 2)), "text": "means", "NaN": np.full(n, math.nan)}
        return {"true": self.means(actions), "huge": np.full(n, 1e300), **odd}[self.case.means]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.rng = np.random.default_rng(seed)
        return 0, {}

    def step(self, action: Any) -> Any:
        mean = float(self.means(np.asarray([action]))[0])
        reward = mean + self.case.noise * float(self.rng.standard_normal())
        what, odd = FAULTS[self.case.fault] if self.case.fault is not None else ("none", None)
        if what == "answer":
            return odd
        return 0, odd if what == "reward" else reward, False, False, odd if what == "info" else {"cost": 1.0}


def odd_values(name: str, default: Any) -> st.SearchStrategy[Any]:
    """Values for an argument: mostly of its own kind, few of which make sense; else anything."""
    if name in SETTINGS:
        own = SETTINGS[name]
    elif isinstance(default, str) and name != "width":
        own = WORDS
    elif isinstance(default, int) or name in ("n_initial", "n_batches"):
        own = tuple(n for n in COUNTS if n != 1000 or name not in SMALL)  # a thousand fits take as long as they take
    else:
        own = NUMBERS
    anything = st.one_of(st.sampled_from(NUMBERS), st.sampled_from(OBJECTS), st.sampled_from(WORDS))
    return st.one_of(st.sampled_from(own), st.sampled_from(own), st.sampled_from(own), anything)


TRAITS: dict[str, tuple[Any, ...]] = {
    "pattern": ("constant", "zero", "line"),
    "scale": (0.0, 5e-324, 1e-300, 1e-160, 1e-60, 1e-30, 1e-9, 1e6, 1e12, 1e30, 4e49, 1e99, 1e155, 1e308),
    "offset": (1.0, 1e12, -1e12, 4e49, -4e49, 1e160, -1e308, math.nan),
    "noise": (0.0, 5e-324, 1e-300, 1e-60, 1e-9, 1e6, 1e30, 9e48, 1e100, 1e308),
    "fault": tuple(FAULTS),
    "means": MEANS,
    "optimum": (math.nan, math.inf, 1e300, "high", np.zeros(2)),
}
STATED: dict[str, tuple[Any, ...]] = {
    "noise_std": (0, 0.0, 5e-324, 1e-300, 1e-160, 1e-30, 1e-12, 3.0, 1e12, 9e48, 1e60, 1e160, 1e300, math.nan, "x"),
    "norm_bound": (None, 5e-324, 1e-300, 1e-40, 1e-12, 1e12, 9e48, 1e60, 1e160, 1e300, math.nan, "x", -1.0),
    "kernel": SETTINGS["kernel"],
    "horizon": (None, 1, 3, 8, 1000, 10**6, 10**9, 10**400, 0, "x"),
    "initial": ({"arms": [0], "rewards": [1.0]}, {"arms": [0, 0], "rewards": [9e48, -9e48]}),
}


@st.composite
def cases(draw: st.DrawFn, ids: tuple[str, ...]) -> Case:
    """An agent among `ids` with up to two odd arguments, an environment with up to three odd traits, or both."""
    id = draw(st.sampled_from(ids))
    build: Any = agents.spec(id).load()
    known = {n: p.default for n, p in inspect.signature(build).parameters.items() if n not in agents.spec(id).kwargs}
    settings = {name: SMALL[name] for name in known if name in SMALL}
    what = draw(st.sampled_from(["settings", "environment", "environment", "both"]))
    if what != "environment" and known:
        most = draw(st.sampled_from([1, 1, 2]))
        for name in draw(st.lists(st.sampled_from(list(known)), min_size=1, max_size=most, unique=True)):
            settings[name] = draw(odd_values(name, known[name]))
    finite = "box" not in build.capabilities.domains or ("finite" in build.capabilities.domains and draw(st.booleans()))
    arms, stated, traits = "few" if finite else None, {}, {}
    if what != "settings":
        if finite:
            arms = draw(st.sampled_from(list(ARMS)))
        for name in draw(st.lists(st.sampled_from([*TRAITS, *STATED, "scale", "offset", "noise"]), max_size=3)):
            if name in TRAITS:
                traits[name] = draw(st.sampled_from(TRAITS[name]))
            elif name != "initial" or finite:
                stated[name] = draw(st.sampled_from(STATED[name]))
        if "kernel" in stated:
            stated["kernel"] = _kernel(stated["kernel"])
        if "initial" in stated:
            stated["initial"] = _initial(stated["initial"])
    capabilities = build.capabilities
    rules = ["on_request", "on_request", "batch:1"]
    rules += ["batch:3"] if capabilities.batch != "sequential" else []
    rules += ["delay:0", "delay:2", "geometric:2.5", "workers:2"] if capabilities.delayed else []
    horizon, feedback = draw(st.sampled_from([1, 2, 5, 8])), draw(st.sampled_from(rules))
    return Case(id, settings, arms, stated=stated, horizon=horizon, feedback=feedback, **traits)


def _kernel(spec: Any) -> Any:
    try:
        return as_kernel(spec)
    except (TypeError, ValueError):
        return None


def _initial(data: dict[str, Any]) -> Any:
    return InitialData(arms=np.array(data["arms"]), rewards=np.array(data["rewards"], float))


@dataclass(frozen=True)
class Ending:
    """How a case ended: `refused`, or the status of its run; `broken` says what it should not have done."""

    kind: str
    reason: str = ""
    seconds: float = 0.0
    record: leaderboards.RunRecord | None = None


def play(case: Case) -> Ending:
    """Build both sides of a case and let them play; warnings are errors."""
    started = process_time()
    with warnings.catch_warnings(), _limit(SECONDS):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=ImportWarning)
        warnings.filterwarnings("ignore", "run (crashed|skipped|timed out)", UserWarning)
        try:
            env = OddEnv(case)
            agent = agents.make(case.agent, **case.settings)
        except Exception as error:
            return Ending("refused", f"{type(error).__name__}: {error}", process_time() - started)
        except RunTimeout as error:
            return Ending("timeout", f"while building: {error}", process_time() - started)
        try:
            record = leaderboards.run(env, agent, horizon=case.horizon, feedback=case.feedback)
        except Exception as error:
            return Ending("raised", f"{type(error).__name__}: {error}", process_time() - started)
        except RunTimeout as error:
            return Ending("timeout", str(error), process_time() - started)
    return Ending(record.status, str(record.reason or ""), process_time() - started, record)


_SAYS = "expected|give|need|state|cannot|unknown|missing|refuse|takes"
NAMED = re.compile(rf"(agent: )?(ValueError|TypeError): [A-Za-z_][\w ,'\"\[\]]*: .*({_SAYS}).*", re.S)


def broken(case: Case, ending: Ending) -> str | None:
    """What the ending breaks of the rule; None if nothing.

    A bad value is refused at construction or at reset, by an error that names the argument; or the run fails, with a
    reason that begins with whose fault it was; or it is done, and then every number in its trace is finite.
    """
    record: Any = ending.record
    if ending.kind == "timeout":
        return f"took longer than {SECONDS:g} s: {ending.reason}"
    if ending.kind in ("refused", "raised"):
        return None if NAMED.fullmatch(ending.reason) else f"{ending.kind} with {ending.reason}"
    if ending.kind == "skipped":
        return None
    if ending.kind == "done":
        return _unfinished(case, record)
    if "\n" in ending.reason:
        return f"a reason of several lines: {ending.reason}"
    if ending.reason.startswith("environment: "):
        return None if _to_blame(case) else f"blames the environment: {ending.reason}"
    if len(record.trace) == 0 and NAMED.fullmatch(ending.reason):
        return None
    return f"{ending.reason} ({(record.error or '').strip().splitlines()[-4:-1]})"


def _to_blame(case: Case) -> bool:
    return case.fault is not None or case.means != "true" or case.optimum is not None or not _moderate(case)


def _moderate(case: Case) -> bool:
    return all(abs(number) < 9e49 for number in (case.scale, case.offset, case.noise))


def _unfinished(case: Case, record: leaderboards.RunRecord) -> str | None:
    trace = record.trace
    if len(trace) != case.horizon:
        return f"done after {len(trace)} of {case.horizon} evaluations"
    failing = case.fault == "always fails"
    harmless = case.fault in (None, *HARMLESS) or (case.fault == "ends" and case.horizon == 1)
    if not harmless:
        return f"done although {case.fault}"
    for name, column in trace.items():
        values = column.to_numpy(np.float64)
        if np.isinf(values).any():
            return f"done with {name} infinite"
        unknown = name in ("mean", "regret", "inference_regret") or (name == "reward" and failing)
        stated = values if name in ("t", "reward", "cost", "batch", "policy_seconds") else values[-1:]
        if np.isnan(stated).any() and not unknown:
            return f"done with {name} NaN"
    return None


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    def stop(_signal: int, frame: FrameType | None) -> None:
        if frame is not None and "coverage" in frame.f_code.co_filename:
            # Its lock would stay taken, and whatever is first traced afterwards would wait for it for ever.
            signal.setitimer(signal.ITIMER_PROF, 0.001)
            return
        raise RunTimeout(f"took longer than {seconds:g} s")

    # Of its own time, so that it says the same on a busy machine.
    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, previous)


def sweep(runs: int, seed: int, ids: tuple[str, ...]) -> tuple[Counter[str], dict[str, list[str]], float]:
    """Play `runs` cases: how often each ending came, what broke the rule, by its text, and the slowest."""
    endings: Counter[str] = Counter()
    found: dict[str, list[str]] = {}
    slowest = 0.0

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=runs,
        phases=[hypothesis.Phase.generate],
        database=None,
        derandomize=False,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(cases(ids))
    def one(case: Case) -> None:
        nonlocal slowest
        ending = play(case)
        blame = "" if ending.kind != "crashed" else ": " + ending.reason.partition(":")[0]
        endings[ending.kind + blame] += 1
        slowest = max(slowest, ending.seconds)
        fault = broken(case, ending)
        if fault is not None:
            found.setdefault(fault, []).append(str(case))

    one()
    return endings, found, slowest


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--agents", nargs="*", default=[id for id in agents.registered() if id not in ADAPTERS])
    given = parser.parse_args()
    logging.getLogger("gpbandit").setLevel(logging.ERROR)  # which says that an environment tells no means
    endings, found, slowest = sweep(given.runs, given.seed, tuple(given.agents))
    for fault, told in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"{len(told)} times: {fault}\n    {told[0]}")
    counts = ", ".join(f"{n} {kind}" for kind, n in endings.most_common())
    print(f"{sum(endings.values())} runs: {counts}; slowest {slowest:.1f} s; {len(found)} faults")
    if found:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
