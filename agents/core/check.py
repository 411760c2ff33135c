"""`check_agent` tests an agent against the protocol on small problems."""

from __future__ import annotations

import copy
import inspect
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from agents.core import registry
from agents.core.finite import FiniteArmAgent
from agents.core.protocol import PROBLEM_FIELDS, Agent, Capabilities, Feedback, Need, Pending
from agents.core.space import BoxAgent
from agents.core.turns import AgentError, Turns, check_actions, check_recommendation
from gpbandit_envs.channels import Channel
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem

_SLOW_SECONDS, _LEAST_HORIZON = 30.0, 10  # ten evaluations are enough for all clauses to see something
_DELAY, _BATCH = 3, 3
_SHARE = 0.4
_SEVERAL, _BOX = "twelve arms", "box"
_STATED: tuple[Need, ...] = ("kernel", "noise", "norm", "horizon")
"""What the problems of the check state."""


class AgentCheckError(AssertionError):
    """An agent violates the protocol; the message names the clause and the problem."""


def check_agent(
    agent: Callable[[], Agent] | Agent | str,
    horizon: int = 40,
    *,
    show: Callable[[str], object] | None = print,
) -> None:
    """Test fresh agents against every clause of the protocol.

    The clauses: actions are valid, not too many, and never none while nothing is pending, of an agent with fixed
    batches exactly as many as are asked for; so are recommendations, from before the first feedback on; a band has a
    mean and a half-width for each arm, none of them NaN; selecting does not change beliefs, neither the band nor the
    recommendation nor what a base class counts; an agent that declares contexts selects and recommends among the arms
    offered to it, and plays as before if these are all; inputs are not modified; equal seeds give equal actions, also
    after an episode before; a fresh agent with a restored state continues with the same actions; the order within a
    delivery of feedback does not matter; problems with a single arm and with duplicated arms work, and so does one that
    states only what the agent `needs`; a failed evaluation raises no error; a base class keeps something of the
    feedback. An agent that declares `delayed` also gets feedback three evaluations late, and is restored while
    evaluations are pending. It may ignore them, as Uniform does.

    Args:
        agent: A class without required arguments, a function that builds the agent, an agent, an id such as `"GP-UCB"`,
            or `"module:Class"`.
        horizon: Evaluations to play on each problem.
        show: Takes a line for each problem as soon as it is passed, one at the end, and once 30 s are over how to
            shorten the check; None for no such lines.

    Raises:
        AgentCheckError: at the first broken clause.
        TypeError, ValueError: if `agent` is none of these.
    """
    make = _maker(agent)
    show = str if show is None else show
    if not isinstance(getattr(make(), "capabilities", None), Capabilities):
        raise AgentCheckError(
            f"capabilities: expected a Capabilities as an attribute of the class, got none on {type(make()).__name__}"
        )
    problems = [replace(problem, horizon=horizon) for problem in _problems(make().capabilities.domains)]
    begun, shorter = time.monotonic(), max(_LEAST_HORIZON, horizon // 4)
    for problem in problems:
        show(f"{problem.name}: {', '.join(_passed_on(problem, make))}")
        if time.monotonic() - begun >= _SLOW_SECONDS and shorter < horizon:
            fewer = f"horizon={shorter} plays fewer evaluations, and checks the same clauses"
            show(f"{_SLOW_SECONDS:.0f} s are over; {fewer}")
            shorter = horizon  # which is said once
    show(f"{make()!r} keeps the protocol: {len(problems)} problems, {horizon} evaluations each")


def _passed_on(problem: Problem, make: Callable[[], Agent]) -> list[str]:
    """The clauses that agents keep on one problem, after all have been checked."""
    assert problem.horizon is not None
    passed = ["actions", "recommendations", "determinism", "resumption", "order", "failures"]
    reference = _check_seeds(make, problem)
    for stop in (1, problem.horizon // 2):
        if not np.array_equal(reference, _play(make, problem, _Disturbance(resume_after=stop))):
            raise AgentCheckError(f"resume: restored after {stop} evaluations, play differs on {problem.name}")
    if not np.array_equal(reference, _play(make, problem, _Disturbance(permute=True))):
        raise AgentCheckError(f"order: feedback permuted within a delivery changes play on {problem.name}")
    advice = "feedback.succeeded() has the actions and rewards of the others"
    with _raises_nothing(f"failures: on {problem.name}, where an evaluation failed", advice):
        _play(make, problem, _Disturbance(fail_every=5))
    if make().capabilities.batch == "fixed":
        _check_batch(make, problem)
    if problem.name in (_SEVERAL, _BOX):
        _check_needs(make, problem)
        passed.append("needs")
    if problem.name == _SEVERAL and make().capabilities.contexts:
        _check_offers(make, problem, reference)
        passed.append("offers")
    if make().capabilities.delayed:
        passed.append("late feedback")
        late = _play(make, problem, _Disturbance(delay=_DELAY))
        for stop in (problem.horizon // 2, 2):  # after feedback, and between two picks before any
            resumed = _play(make, problem, _Disturbance(delay=_DELAY, resume_after=stop))
            if not np.array_equal(late, resumed):
                raise AgentCheckError(
                    f"resume: restored with {min(stop, _DELAY)} tickets open, play differs on {problem.name}; open "
                    "evaluations are those in pending, or part of the state"
                )
        _play(make, problem, _Disturbance(delay=_DELAY, fail_every=5))
    return passed


def _maker(agent: Callable[[], Agent] | Agent | str) -> Callable[[], Agent]:
    if isinstance(agent, Agent):
        return partial(copy.deepcopy, agent)
    if isinstance(agent, str):
        return _loaded(agent) if ":" in agent else partial(registry.make, agent)
    if not callable(agent):
        raise TypeError(f"agent: expected an agent, its class, a function that builds it or its id, got {agent!r}")
    return agent


def required_arguments(factory: Callable[..., Agent]) -> list[str]:
    """Names of the arguments that have no default."""
    listed = inspect.signature(factory).parameters.values()
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in listed if one.default is one.empty and one.kind not in variable]


def _loaded(id: str) -> Callable[[], Agent]:
    """What `"module:Class"` names."""
    try:
        found = registry.load_entry_point(id)
    except ValueError as error:
        raise ValueError(f"agent: {str(error).removeprefix('entry_point: ')}") from None
    if required := required_arguments(found):
        name, values = id.rpartition(":")[2], ", ".join(f"{one}=..." for one in required)
        raise TypeError(
            f"agent: {id!r} needs {', '.join(required)}: give it a default in the class, or a function that builds the "
            f"agent, check_agent(lambda: {name}({values}))"
        )
    return found


def _check_seeds(make: Callable[[], Agent], problem: Problem) -> np.ndarray:
    """The actions of an episode, which are the same in a second one of the same agent, as in one of a fresh agent."""
    used = make()
    first = _play(lambda: used, problem)
    if np.array_equal(first, _play(lambda: used, problem)):
        return first
    if np.array_equal(first, _play(make, problem)):
        raise AgentCheckError(f"reset: in a second episode it plays otherwise than a fresh agent on {problem.name}")
    raise AgentCheckError(f"determinism: two plays with equal seeds differ on {problem.name}")


def _check_needs(make: Callable[[], Agent], problem: Problem) -> None:
    needs = make().capabilities.needs
    stated = f"{', '.join(sorted(needs))} alone, as its needs are" if needs else "none of " + ", ".join(_STATED)
    advice = "Capabilities(needs=...) names what a policy reads, and decides with which others it is ranked"
    with _raises_nothing(f"needs: on {problem.name}, where the problem states {stated}", advice):
        _play(make, problem, _Disturbance(unstated=frozenset(_STATED) - needs))


@contextmanager
def _raises_nothing(where: str, advice: str) -> Iterator[None]:
    """Say of an error of the agent where it came, and what to do."""
    try:
        yield
    except AgentCheckError:
        raise
    except Exception as error:
        raise AgentCheckError(f"{where}, it raised {type(error).__name__}: {error}; {advice}") from error


def _check_offers(make: Callable[[], Agent], problem: Problem, reference: np.ndarray) -> None:
    if not np.array_equal(reference, _play(make, problem, _Disturbance(share=1.0))):
        raise AgentCheckError(f"offer: offered all arms at each step, play differs on {problem.name}")
    assert problem.horizon is not None
    contextual, half = replace(problem, contexts=True), problem.horizon // 2
    offered = _play(make, contextual, _Disturbance(share=_SHARE))
    if not np.array_equal(offered, _play(make, contextual, _Disturbance(share=_SHARE, resume_after=half))):
        raise AgentCheckError(f"resume: with some arms offered at a time, play differs on {problem.name}")


@dataclass(frozen=True)
class _Disturbance:
    resume_after: int = 0
    permute: bool = False
    fail_every: int = 0
    delay: int = 0
    share: float | None = None
    """Probability with which each arm is offered; None if `offer` is not called."""
    unstated: frozenset[Need] = frozenset()
    """What the problem does not state, of `_STATED`."""


def _problems(domains: frozenset[str]) -> Iterator[Problem]:
    X = np.random.default_rng(0).random((12, 2))
    fields: dict[str, Any] = {"kernel": SE(0.5), "noise_std": 0.1, "norm_bound": 2.0}
    if "finite" in domains:
        yield Problem(name=_SEVERAL, dim=2, arms=X, **fields)
        yield Problem(name="one arm", dim=2, arms=X[:1], **fields)
        yield Problem(name="duplicated arms", dim=2, arms=X[np.arange(12) // 3], **fields)
    if "box" in domains:
        yield Problem(name=_BOX, dim=2, **fields)


def _play(make: Callable[[], Agent], problem: Problem, disturbance: _Disturbance | None = None) -> np.ndarray:
    """All actions of one run, with feedback on request or with a delay."""
    disturb = disturbance or _Disturbance()
    noise, offers = np.random.default_rng(2), np.random.default_rng(4)
    player = _Probed(make, problem, disturb)
    T, share = problem.horizon, disturb.share
    assert T is not None
    if share is not None:
        player.offer(_offered(problem, share, offers))
    player.check_recommendation()
    channel = Channel("delay", (disturb.delay,)) if disturb.delay else Channel("on_request")
    most = T if player.capabilities.batch == "adaptive" and share is None else 1
    turns = Turns(player, problem, channel.queue(noise, most), T)
    stop = disturb.resume_after
    while (action := turns.action()) is not None:
        failed = bool(disturb.fail_every) and turns.t % disturb.fail_every == 1
        reward = math.nan if failed else _mean(np.array([action]), problem).item() + 0.1 * noise.standard_normal()
        turns.tell(reward, 1.0, failed, None if share is None else _offered(problem, share, offers))
        if stop and turns.t >= stop and turns.t == turns.chosen:
            player.resume()
            stop = 0
    if not disturb.fail_every:
        _check_kept(player.agent, problem, turns.t)
    return turns.actions


class _Probed:
    """A fresh agent on a problem; what it answers is checked, and what it hears may be disturbed."""

    def __init__(self, make: Callable[[], Agent], problem: Problem, disturb: _Disturbance) -> None:
        unstated: dict[str, Any] = {PROBLEM_FIELDS[need]: None for need in disturb.unstated}
        self._make, self._problem, self._told = make, problem, replace(problem, **unstated)
        self._permute, self._shuffle = disturb.permute, np.random.default_rng(3)
        self._offered: np.ndarray | None = None
        self.agent = self._begun(1)

    def _begun(self, seed: int) -> Agent:
        agent = self._make()
        agent.reset(self._told, np.random.default_rng(seed))
        return agent

    @property
    def capabilities(self) -> Capabilities:
        return self.agent.capabilities

    def resume(self) -> None:
        """Let a fresh agent with the state of this one go on."""
        try:
            state = copy.deepcopy(self.agent.state_dict())
        except TypeError as error:
            raise AgentCheckError(f"resume: the state cannot be saved on {self._problem.name}: {error}") from error
        self.agent = self._begun(99)
        self.agent.load_state_dict(state)

    def offer(self, arms: np.ndarray) -> None:
        self._offered = arms
        self.agent.offer(arms.copy())

    def select(self, n: int, pending: Pending) -> np.ndarray:
        agent, problem = self.agent, self._problem
        pending = Pending(pending.tickets.copy(), pending.actions.copy())
        before = copy.deepcopy(pending)
        X = np.random.default_rng(5).random((5, problem.dim)) if problem.arms is None else problem.arms
        prediction, counted, recommended = agent.predict(X), _counted(agent), agent.recommend()
        actions = agent.select(n, pending)
        _unchanged("pending", before, pending)
        changed = [] if np.array_equal(recommended, agent.recommend()) else ["recommendation"]
        if not all(np.array_equal(*pair, equal_nan=True) for pair in zip(counted, _counted(agent))):
            changed.append("counts of the feedback")
        if prediction is not None:
            _check_band(prediction, len(X), problem)
            after = agent.predict(X)
            if after is None or not all(map(np.array_equal, prediction, after)):
                changed.append("band")
        if changed:
            raise AgentCheckError(f"select: beliefs changed by selecting on {problem.name}: {', '.join(changed)}")
        with self._named():
            actions = check_actions(actions, n, False, problem)
        if len(actions) == 0 and len(pending) == 0:
            raise AgentCheckError(f"select: expected an action on {problem.name}, got none while no ticket is pending")
        if self._offered is not None and not np.isin(actions, self._offered).all():
            offered = self._offered.tolist()
            raise AgentCheckError(f"offer: offered {offered} on {problem.name}, it selected {actions[0]}")
        return actions

    def observe(self, feedback: Feedback) -> None:
        n = len(feedback)
        order = self._shuffle.permutation(n) if self._permute else np.arange(n)
        # Copies, so that an agent may write into them, and is found out.
        feedback = Feedback(**{name: values[order] for name, values in vars(feedback).items()})
        before = copy.deepcopy(feedback)
        self.agent.observe(feedback)
        _unchanged("feedback", before, feedback)
        if not all(np.isfinite(value) for value in self.agent.diagnostics().values()):
            raise AgentCheckError(f"diagnostics: expected finite numbers, got {dict(self.agent.diagnostics())}")
        self.check_recommendation()

    def check_recommendation(self) -> None:
        """Check the recommendation, which is an action of the problem, and one that is offered."""
        problem, offered = self._problem, self._offered
        found: object = self.agent.recommend()
        with self._named():
            if not problem.is_finite and not isinstance(found, np.ndarray):
                raise AgentError(f"recommend: expected an array of shape ({problem.dim},), got {found!r}")
            check_recommendation(found, problem)
        if offered is not None and found not in offered:
            raise AgentCheckError(f"offer: offered {offered.tolist()} on {problem.name}, it recommended {found}")

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the problem in what is said of an answer."""
        try:
            yield
        except AgentError as error:
            raise AgentCheckError(f"{error} on {self._problem.name}") from None


def _check_kept(agent: Agent, problem: Problem, played: int) -> None:
    """An agent that overrides `observe` of its base class may have forgotten to call it."""
    name, kept, hook = "", played, ""
    if isinstance(agent, FiniteArmAgent):
        name, kept, hook = "self.n_pulls", agent.n_pulls, ", or override `learn(arms, counts, sums)` in its place"
    elif isinstance(agent, BoxAgent):
        name, kept = "len(self.y)", len(agent.y)
    if kept == 0:
        raise AgentCheckError(
            f"observe: {played} evaluations were delivered on {problem.name}, and {name} is 0; call "
            f"`super().observe(feedback)`{hook}"
        )


def _counted(agent: Agent) -> list[np.ndarray]:
    """Copies of what a base class counts of the feedback."""
    if isinstance(agent, FiniteArmAgent):
        return [np.array(each) for each in (agent.n_pulls, agent.counts, agent.sums)]
    return [agent.X.copy(), agent.y.copy()] if isinstance(agent, BoxAgent) else []


def _check_band(prediction: Any, n: int, problem: Problem) -> None:
    shapes = [np.shape(each) for each in prediction]
    if shapes != [(n,)] * 2:
        raise AgentCheckError(
            f"predict: expected a mean and a half-width for each of {n} {'arms' if problem.is_finite else 'points'} on "
            f"{problem.name}, got arrays of shapes {', '.join(map(str, shapes))}"
        )
    mean, half = map(np.asarray, prediction)
    if np.isnan(mean).any() or np.isnan(half).any():
        raise AgentCheckError(
            f"predict: expected numbers on {problem.name}, got NaN; a half-width is infinite where nothing is known"
        )
    if (half < 0).any():
        raise AgentCheckError(f"predict: expected half-widths of at least 0 on {problem.name}, got {half.min():g}")


def _check_batch(make: Callable[[], Agent], problem: Problem) -> None:
    """An agent whose batches have any requested size gives exactly as many actions."""
    agent = make()
    agent.reset(problem, np.random.default_rng(1))
    actions = agent.select(_BATCH, Pending.empty(problem))
    if len(actions) != _BATCH:
        raise AgentCheckError(
            f"select: {len(actions)} actions where {_BATCH} were asked for on {problem.name}; with batch='fixed' it "
            "has to give exactly as many, with batch='adaptive' it may end a batch"
        )


def _offered(problem: Problem, share: float, rng: np.random.Generator) -> np.ndarray:
    """Each arm with probability `share`, and one of them at least."""
    u = rng.random(problem.n_arms)
    return np.flatnonzero((u < share) | (u == u.min()))


def _unchanged(name: str, before: Any, after: Any) -> None:
    for field in vars(before):
        if not np.array_equal(getattr(before, field), getattr(after, field), equal_nan=field == "rewards"):
            raise AgentCheckError(f"{name}: the agent changed {field}, which it was given to read")


def _mean(actions: np.ndarray, problem: Problem) -> np.ndarray:
    X = actions if problem.arms is None else problem.arms[actions]
    return np.sin(4 * X[:, 0]) + X[:, 1]
