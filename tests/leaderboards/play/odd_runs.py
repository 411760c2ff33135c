"""Runs with odd numbers and odd objects: what may come of them, and a sweep over thousands of them.

`python -m tests.leaderboards.play.odd_runs --runs 5000 --seed 1` plays that many, counts how they end and prints what
breaks the rule of `broken`. The tests play a share of the same.
"""

from __future__ import annotations

import argparse
import inspect
import math
import re
import signal
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import gymnasium as gym
import hypothesis
import numpy as np
from hypothesis import strategies as st

import agents
import leaderboards
from gpbandit_envs.problem import Problem
from leaderboards.play.protocol_checks import RunTimeout

__all__ = ["ADAPTERS", "Case", "OddEnv", "broken", "cases", "play"]

SECONDS = 8.0
"""A run that takes longer hangs: all of them have at most a dozen evaluations."""

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
OBJECTS: tuple[Any, ...] = (
    *(None, True, False, "", "theory", "practical", "bayes", "growing", "double", "1", "nan", "1GB", "-1GB", "no such"),
    *([], [1.0], (), (1.0, 2.0), {}, {"double": 0.5}, {"double": "x"}, {"double": 1e300}, {"double": None}, object),
    *(np.array([1.0, 2.0]), b"x", 1j, {"arms": [0], "rewards": [1.0]}, {"arms": [0, 0], "rewards": [1e308, 1.0]}),
    *({"arms": [0], "rewards": ["x"]}, {"arms": ["x"], "rewards": [1.0]}, {"arms": [], "rewards": []}),
    *({"arms": [10**9], "rewards": [1.0]}, {"noise_bounds": (1e-300, 1e300)}, {"noise_bounds": "x"}),
    *({"variance": {"name": "gamma", "shape": 1e300, "rate": 1e300}}, {"variance_bounds": (0, 1)}, {"noise": 3}),
    *({"variance": {"name": "log_normal", "location": 1e300}}, {"lengthscale_bounds": (1e-300, 1e-299)}),
)
WORDS = ("global", "global-local", "pull", "arm", "fresh", "coupled", "product", "sum", "kernel", "theorem", "equal")
WORDS += ("batch", "full", "unbiased", "plain", "exp3", "alternate", "ucb", "mei", "matern52", "matern32", "se", "rbf")
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
FAULTS: dict[str, Any] = {
    "info is None": lambda reward, arm: (0, reward, False, False, None),
    "info is a list": lambda reward, arm: (0, reward, False, False, []),
    "three values": lambda reward, arm: (0, reward, False),
    "four values": lambda reward, arm: (0, reward, False, {}),
    "six values": lambda reward, arm: (0, reward, False, False, {}, 1),
    "None": lambda reward, arm: None,
    "a number": lambda reward, arm: reward,
    "reward is text": lambda reward, arm: (0, "much", False, False, {}),
    "reward is None": lambda reward, arm: (0, None, False, False, {}),
    "reward is an array": lambda reward, arm: (0, np.zeros(3), False, False, {}),
    "reward is complex": lambda reward, arm: (0, 1j, False, False, {}),
    "cost is text": lambda reward, arm: (0, reward, False, False, {"cost": "dear"}),
    "cost is None": lambda reward, arm: (0, reward, False, False, {"cost": None}),
    "cost is negative": lambda reward, arm: (0, reward, False, False, {"cost": -1.0}),
    "cost is huge": lambda reward, arm: (0, reward, False, False, {"cost": 1e308}),
    "oracle is a number": lambda reward, arm: (0, reward, False, False, {"oracle": 3}),
    "oracle is empty": lambda reward, arm: (0, reward, False, False, {"oracle": {}}),
    "oracle is text": lambda reward, arm: (0, reward, False, False, {"oracle": {"mean": "x", "regret": 0.0}}),
    "oracle is NaN": lambda reward, arm: (0, reward, False, False, {"oracle": {"mean": math.nan, "regret": 0.0}}),
    "regret is infinite": lambda reward, arm: (0, reward, False, False, {"oracle": {"mean": 0.0, "regret": math.inf}}),
    "oracle is None": lambda reward, arm: (0, reward, False, False, {"oracle": None}),
    "always fails": lambda reward, arm: (0, reward, False, False, {"failed": True}),
    "fails on arm 0": lambda reward, arm: (0, reward, False, False, {"failed": bool(np.all(arm == 0))}),
    "failed is an array": lambda reward, arm: (0, reward, False, False, {"failed": np.zeros(2, bool)}),
    "ends": lambda reward, arm: (0, reward, True, False, {}),
}
# Means of all arms, which an environment may state for scoring; on a box of any point.
MEANS: dict[str, Any] = {
    "none": None,
    "true": lambda env, actions: env.means(actions),
    "short": lambda env, actions: np.zeros(1),
    "matrix": lambda env, actions: np.zeros((len(actions), 2)),
    "text": lambda env, actions: "means",
    "NaN": lambda env, actions: np.full(len(actions), np.nan),
    "huge": lambda env, actions: np.full(len(actions), 1e300),
    "raises": lambda env, actions: [][1],
}


@dataclass(frozen=True)
class Case:
    """One odd run: an agent with its arguments, and an environment with its own."""

    agent: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    arms: str | None = "few"
    pattern: str = "random"
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
        stated = {"kernel": agents.core.check.SE(0.5), "noise_std": 0.1, "norm_bound": 2.0, "horizon": case.horizon}
        self.problem = Problem(name="odd", dim=2, arms=arms, **{**stated, **case.stated})
        self.observation_space = gym.spaces.Discrete(1)
        box = gym.spaces.Box(0.0, 1.0, (2,), np.float64)
        self.action_space = box if arms is None else gym.spaces.Discrete(len(arms))
        if case.means != "none":
            self.mean = lambda actions: MEANS[case.means](self, actions)
            self.optimum = case.offset + abs(case.scale) if case.optimum is None else case.optimum

    def means(self, actions: Any) -> np.ndarray:
        """True means, between `offset` and `offset + scale`."""
        x = np.asarray(actions, np.float64).reshape(len(actions), -1).sum(axis=1)
        shape = {"random": np.sin(7 * x) ** 2, "constant": np.ones(len(x)), "zero": np.zeros(len(x)), "line": x / 4}
        return self.case.offset + self.case.scale * shape[self.case.pattern]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.rng = np.random.default_rng(seed)
        return 0, {}

    def step(self, action: Any) -> Any:
        mean = float(self.means(np.asarray([action]))[0])
        reward = mean + self.case.noise * float(self.rng.standard_normal())
        if self.case.fault is not None:
            return FAULTS[self.case.fault](reward, action)
        return 0, reward, False, False, {"cost": 1.0}


def odd_values(name: str) -> st.SearchStrategy[Any]:
    """Values for an argument of this name, few of which make sense."""
    own = st.sampled_from(SETTINGS[name]) if name in SETTINGS else st.sampled_from(NUMBERS)
    anything = st.one_of(st.sampled_from(NUMBERS), st.sampled_from(OBJECTS), st.sampled_from(WORDS))
    return st.one_of(own, own, anything)


@st.composite
def cases(draw: st.DrawFn, ids: tuple[str, ...]) -> Case:
    """An agent among `ids` with up to two odd arguments, an environment with up to a few odd traits, or both."""
    id = draw(st.sampled_from(ids))
    build = agents.spec(id).load()
    known = [name for name in inspect.signature(build).parameters if name not in agents.spec(id).kwargs]
    settings = {name: SMALL[name] for name in known if name in SMALL}
    what = draw(st.sampled_from(["settings", "environment", "both"]))
    if what != "environment" and known:
        for name in draw(st.lists(st.sampled_from(known), min_size=1, max_size=2, unique=True)):
            settings[name] = draw(odd_values(name))
    finite = id not in ADAPTERS and draw(st.booleans())
    if what == "settings":
        more: dict[str, Any] = {"arms": "few" if finite else None}
    else:
        more = {
            "arms": draw(st.sampled_from(list(ARMS))) if finite else None,
            "pattern": draw(st.sampled_from(["random", "random", "constant", "zero", "line"])),
            "scale": draw(st.sampled_from([1.0, 1.0, 0.0, 5e-324, 1e-300, 1e-30, 1e12, 9e49, 1e99, 1e155, 1e308])),
            "offset": draw(st.sampled_from([0.0, 0.0, 0.0, 1e12, -1e12, 9e49, -9e49, 1e160, -1e308, math.nan])),
            "noise": draw(st.sampled_from([0.1, 0.1, 0.0, 1e-300, 1e12, 9e48, 1e100, 1e308])),
            "stated": draw(stated_fields()),
            "fault": draw(st.one_of(st.none(), st.none(), st.sampled_from(list(FAULTS)))),
            "means": draw(st.sampled_from(["true", "true", "true", "none", *MEANS])),
            "optimum": draw(st.sampled_from([None] * 6 + [math.nan, math.inf, 1e300, "high", np.zeros(2)])),
        }
    capabilities = build.capabilities
    rules = ["on_request", "on_request", "batch:1"]
    rules += ["batch:3"] if capabilities.batch != "sequential" else []
    rules += ["delay:0", "delay:2", "geometric:2.5", "workers:2"] if capabilities.delayed else []
    return Case(
        id, settings, horizon=draw(st.sampled_from([1, 2, 5, 8])), feedback=draw(st.sampled_from(rules)), **more
    )


def stated_fields() -> st.SearchStrategy[dict[str, Any]]:
    """Fields of a problem description, in place of ordinary ones."""
    small = (None, 0, 0.0, 5e-324, 1e-300, 1e-160, 1e-30, 1e-12, 1e12, 9e48, 1e60, 1e160, 1e300, math.nan, "x", -1.0)
    initial = (
        {"arms": [0], "rewards": [1.0]},
        {"arms": [0, 0], "rewards": [9e48, -9e48]},
        {"arms": [0], "rewards": [0]},
    )
    odd: dict[str, st.SearchStrategy[Any]] = {
        "noise_std": st.sampled_from(small),
        "norm_bound": st.sampled_from(small),
        "kernel": st.sampled_from(SETTINGS["kernel"]).map(_kernel),
        "horizon": st.sampled_from([None, 1, 3, 8, 1000, 10**9, 10**400, 0, "x"]),
        "initial": st.sampled_from(initial).map(_initial),
    }
    one = st.one_of([value.map(lambda value, name=name: {name: value}) for name, value in odd.items()])
    return st.one_of(st.just({}), one, st.tuples(one, one).map(lambda pair: {**pair[0], **pair[1]}))


def _kernel(spec: Any) -> Any:
    from gpbandit_envs.gp import as_kernel

    try:
        return as_kernel(spec)
    except (TypeError, ValueError):
        return None


def _initial(data: dict[str, Any]) -> Any:
    from gpbandit_envs.problem import InitialData

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
    started = perf_counter()
    with warnings.catch_warnings(), _limit(SECONDS):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=ImportWarning)
        try:
            env = OddEnv(case)
            agent = agents.make(case.agent, **case.settings)
        except Exception as error:
            return Ending("refused", f"{type(error).__name__}: {error}", perf_counter() - started)
        except RunTimeout as error:
            return Ending("timeout", f"while building: {error}", perf_counter() - started)
        try:
            record = leaderboards.run(env, agent, horizon=case.horizon, feedback=case.feedback)
        except Exception as error:
            return Ending("raised", f"{type(error).__name__}: {error}", perf_counter() - started)
        except RunTimeout as error:
            return Ending("timeout", str(error), perf_counter() - started)
    return Ending(record.status, str(record.reason or ""), perf_counter() - started, record)


NAMED = re.compile(
    r"(ValueError|TypeError): [A-Za-z_][\w ,'\"\[\]]*: .*(expected|got|give|needs|state|cannot|at most).*", re.S
)


def broken(case: Case, ending: Ending) -> str | None:
    """What the ending breaks of the rule; None if nothing.

    A bad value is refused at construction or at reset, by an error that names the argument; or the run fails, with a
    reason that begins with whose fault it was; or it is done, and then every number in its trace is finite.
    """
    record = ending.record
    if ending.kind == "timeout":
        return f"took longer than {SECONDS:g} s: {ending.reason}"
    if ending.kind in ("refused", "raised"):
        return None if NAMED.fullmatch(ending.reason) else f"{ending.kind} with {ending.reason}"
    assert record is not None
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
    return max(abs(case.scale), abs(case.offset), abs(case.noise)) < 9e49


def _unfinished(case: Case, record: leaderboards.RunRecord) -> str | None:
    trace = record.trace
    if len(trace) != case.horizon:
        return f"done after {len(trace)} of {case.horizon} evaluations"
    failing = case.fault in ("always fails", "fails on arm 0")
    if case.fault is not None and not failing and case.fault != "oracle is None":
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
    def stop(_signal: int, _frame: object) -> None:
        raise RunTimeout(f"took longer than {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)


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
    endings, found, slowest = sweep(given.runs, given.seed, tuple(given.agents))
    for fault, told in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"{len(told)} times: {fault}\n    {told[0]}")  # noqa: T201
    counts = ", ".join(f"{n} {kind}" for kind, n in endings.most_common())
    print(f"{sum(endings.values())} runs: {counts}; slowest {slowest:.1f} s; {len(found)} faults")  # noqa: T201
    if found:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
