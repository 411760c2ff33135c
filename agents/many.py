"""Many repetitions of one policy on one problem, side by side on a device: `agents.make_vec(id, device=..., **kwargs)`.

    agent.reset(problem, rngs)          # one generator for each repetition
    arms = agent.select()               # one arm for each
    agent.observe(rewards)              # what came of them

Repetition r chooses what a single agent with the same generator chooses of the same rewards, up to the first choice
that differs, which is one between scores that are equal to rounding. Each repetition gets its feedback on request: a
policy that plays batches sees none of a batch before that is complete.

It is the same object that plays a single episode: it is given beliefs about all repetitions, and formulas of widths and
acquisition functions take the arrays of either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from agents.core.batch_rules import BatchOfArms, SequentialRule
from agents.core.many_beliefs import ManyBeliefs, Room, Streams
from agents.core.protocol import Agent, Pending
from agents.core.registry import make
from gpbandit_envs.arguments import as_word, shown
from gpbandit_envs.arrays import Array, Device
from gpbandit_envs.gp.many import CovarianceRows, bytes_of
from gpbandit_envs.problem import Problem

if TYPE_CHECKING:
    from agents.core.finite import FiniteArmAgent
    from agents.core.gp_agent import GPAgent
    from agents.few_batches.bpe import BPE


class VectorAgent(ABC):
    """R repetitions of one policy on one problem with finite arms.

    Args:
        agent: The policy, which nobody else plays.
        device: Where the arrays are.
        precision: Type of the whitened rows, most of the memory: `"float64"` or `"float32"`.

    Attributes:
        told: The repetitions that have had feedback after the last evaluation: a mask of shape (R,), or True for all of
            them and False for none.
        keeps: Whether whitened rows are kept. One repetition that has no room for them can do without: they are
            computed anew at each evaluation.
    """

    def __init__(self, agent: Agent, device: Device, precision: str = "float64") -> None:
        self.agent: Any = agent
        self.device, self.xp, self.precision = device, device.xp, precision
        self.told: Array | bool = False
        self.keeps = True
        self._rows: CovarianceRows | None = None
        self._rngs: Sequence[np.random.Generator] = ()
        self._arms: Array | None = None

    def reset(self, problem: Problem, rngs: Sequence[np.random.Generator]) -> None:
        """Forget everything and prepare one repetition for each generator.

        Raises:
            TypeError: if `rngs` are no generators.
            ValueError: if the problem does not state what the policy needs or a horizon, is a box, offers only some of
                its arms, changes with time or comes with existing data.
        """
        if why := why_no_arms(problem):
            raise ValueError(f"problem: expected finite arms, all of them offered, got {problem.name}, {why}")
        if problem.horizon is None:
            raise ValueError(f"problem: expected one that states a horizon, got {problem.name}")
        if not isinstance(rngs, Sequence) or not all(isinstance(rng, np.random.Generator) for rng in rngs):
            raise TypeError(f"rngs: expected a list of generators, one a repetition, got {shown(rngs)}")
        self.problem, self._rngs, self._arms, self.n_pulls = problem, list(rngs), None, 0
        self._none = Pending.empty(problem)
        self._begin(problem.horizon)

    def covariances(self, kernel: Any) -> CovarianceRows:
        """Those of the problem's arms, made once for many resets."""
        arms, known = self.problem.arms, self._rows
        assert arms is not None
        if known is None or known.X is not arms or known.kernel != kernel:
            self._rows = known = CovarianceRows(kernel, arms, self.device)
        return known

    def bytes_each(self, problem: Problem) -> int:
        """Bytes that a repetition takes on the device."""
        return bytes_of(problem.n_arms, problem.horizon or 0, 1, self.precision, self.keeps)

    @abstractmethod
    def _begin(self, horizon: int) -> None:
        """Prepare the repetitions of `self._rngs` on `self.problem`."""

    def select(self) -> Array:
        """The arm that each repetition evaluates next, shape (R,), on the device; raises before `reset`."""
        if not self._rngs:
            raise ValueError("select: expected reset(problem, rngs) before it, with a generator for each repetition")
        self._arms = arms = self._choose()
        return arms

    @abstractmethod
    def _choose(self) -> Array: ...

    def observe(self, rewards: Array) -> None:
        """Take in the rewards of the arms last selected, shape (R,), an array of the device.

        Raises:
            ValueError: if they are of another shape or not all finite, or nothing was selected since the last ones.
        """
        arms = self._arms
        if arms is None:
            raise ValueError("observe: expected select() before it, once for each")
        if getattr(rewards, "shape", None) != arms.shape or not bool(self.xp.all(self.xp.isfinite(rewards))):
            raise ValueError(f"rewards: expected an array of {len(self._rngs)} finite numbers, got {shown(rewards)}")
        self._arms = None
        self.follow(arms, rewards)

    def follow(self, arms: Array, rewards: Array) -> None:
        """Take in the rewards of arms that somebody selected, shape (R,), which are not looked at."""
        self.n_pulls += 1
        self._learn(arms, rewards)

    @abstractmethod
    def _learn(self, arms: Array, rewards: Array) -> None: ...

    @abstractmethod
    def recommend(self) -> Array:
        """The arm that each repetition would deploy after its last feedback, shape (R,)."""

    def band(self) -> tuple[Array, Array] | None:
        """Middle and half-width of the band at all arms after the last feedback, shape (R, A); None without a model."""
        return None


class _Posteriors(VectorAgent):
    """A policy that plays on mean and variance of an exact posterior."""

    agent: GPAgent

    def __init__(self, agent: Agent, device: Device, precision: str = "float64") -> None:
        super().__init__(agent, device, precision)
        self._waits = agent.capabilities.batch == "adaptive"
        if self._waits:
            # By the bounds that each next pick has, which in a single episode it gets from fewer arms at a time.
            self._rule: BatchOfArms = self.agent.batch_rule  # type: ignore[attr-defined]
            self.agent.batch_rule = SequentialRule()  # type: ignore[attr-defined]

    def bytes_each(self, problem: Problem) -> int:
        posteriors = len(getattr(getattr(self.agent, "schedule", None), "grid", (1.0,)))
        return bytes_of(problem.n_arms, problem.horizon or 0, posteriors, self.precision, self.keeps)

    def _begin(self, horizon: int) -> None:
        agent, R = self.agent, len(self._rngs)
        model = agent.model_on(self.problem)
        room = Room(self.covariances(model.kernel), R, horizon, self.precision, self._waits, self.keeps)
        agent.arm_beliefs = lambda _: agent.many_beliefs(room)  # type: ignore[method-assign,assignment,return-value]
        agent.reset(self.problem, Streams(self._rngs))
        self._beliefs = cast("ManyBeliefs", agent.beliefs)
        start = agent.planned
        self._start = np.broadcast_to(start if start.ndim == 2 else start[:, None], (len(start), R))
        self._total = self._ones = self.device.put(np.ones(R))

    def _choose(self) -> Array:
        if self.n_pulls < len(self._start):
            return self.device.put(self._start[self.n_pulls])
        return self.agent.next_actions(1, self._none)[0, ...]

    def _learn(self, arms: Array, rewards: Array) -> None:
        beliefs, start = self._beliefs, len(self._start)
        beliefs.take_in(arms, rewards - self.problem.prior_mean)
        self.told = True
        if self._waits and self.n_pulls < self.problem.horizon:  # type: ignore[operator]
            if self.n_pulls > start:
                self._total, self.told = self._rule.grown(self._total, beliefs.first_leverage, beliefs.leverage)
            else:
                self.told = self.n_pulls == start
        self._close(self.told)

    def _close(self, who: Any) -> None:
        """The next choices of these repetitions begin a batch."""
        if who is False:
            return
        agent, old = self.agent, self.agent.current_width
        self._beliefs.show(None if who is True else who)
        agent.begin_batch()
        if who is True:
            self._total = self._ones
        else:
            self._total = self.xp.where(who, self._ones, self._total)
            agent.current_width = self.xp.where(who, self._ones * agent.current_width, self._ones * old)

    def recommend(self) -> Array:
        return self._beliefs.recommend()

    def band(self) -> tuple[Array, Array]:
        assert self.problem.arms is not None
        return self.agent.predict(self.problem.arms)


class _Eliminations(VectorAgent):
    """A policy that plans its batches in advance and eliminates arms after each."""

    agent: BPE

    def _begin(self, horizon: int) -> None:
        agent, R = self.agent, len(self._rngs)
        agent.reset(self.problem, Streams(self._rngs))
        rows = self.covariances(agent.model.kernel)
        pulls = horizon if agent.keeps_all else max(agent.batch_lengths)
        self._posteriors = Room(rows, R, pulls, self.precision, keeps=self.keeps).posteriors(agent.model.noise_of())
        self._alive = self.device.put(np.ones((R, self.problem.n_arms), bool))
        self._best = self.device.put(np.zeros(R, np.int64))
        self._known = self._posteriors.mean * 1.0, self._posteriors.v * 1.0, agent.current_width
        self._begin_batch()

    def _begin_batch(self) -> None:
        agent = self.agent
        self._left = agent.batch_lengths[min(agent.batch, len(agent.batch_lengths) - 1)]
        agent.current_width = agent.planned_width()
        if agent.draws_uniformly:
            alive = self.device.get(self._alive)
            draws = [
                np.flatnonzero(row)[rng.integers(row.sum(), size=self._left)] for row, rng in zip(alive, self._rngs)
            ]
            self._draws = self.device.put(np.stack(draws, axis=1))

    def _choose(self) -> Array:
        if self.agent.draws_uniformly:
            return self._draws[-self._left, :]
        return self.xp.argmax(self._among(self._posteriors.v), axis=1)

    def _among(self, values: Array) -> Array:
        return self.xp.where(self._alive, values, -np.inf)

    def _learn(self, arms: Array, rewards: Array) -> None:
        agent, posteriors, xp = self.agent, self._posteriors, self.xp
        posteriors.update(arms, rewards - self.problem.prior_mean)
        self._left -= 1
        self.told = self._left == 0
        if not self.told:
            return
        mean, variance = posteriors.mean * 1.0, xp.clip(posteriors.v, 0.0, None)
        half = agent.current_width * xp.sqrt(variance)
        self._known = mean, variance, agent.current_width
        self._best = xp.argmax(self._among(mean), axis=1)
        self._alive = self._alive & agent.may_be_best(mean + half, self._among(mean - half))
        agent.batch, agent.n_pulls = agent.batch + 1, self.n_pulls
        if not agent.keeps_all:
            posteriors.forget()
        if self.n_pulls < self.problem.horizon:  # type: ignore[operator]
            self._begin_batch()

    def recommend(self) -> Array:
        return self._best

    def band(self) -> tuple[Array, Array]:
        mean, variance, width = self._known
        return mean + self.problem.prior_mean, width * self.xp.sqrt(self.xp.clip(variance, 0.0, None))


class _Counts(VectorAgent):
    """A policy that knows nothing but how often each arm was pulled and what for; on the processor."""

    agent: FiniteArmAgent

    def bytes_each(self, problem: Problem) -> int:
        return 8 * 6 * problem.n_arms

    def _begin(self, horizon: int) -> None:
        agent, shape = self.agent, (len(self._rngs), self.problem.n_arms)
        agent.reset(self.problem, Streams(self._rngs))
        agent.counts, agent.sums = np.zeros(shape), np.zeros(shape)
        agent.recommend = lambda: np.argmax(agent.empirical_means(), axis=-1)  # type: ignore[method-assign]
        self._each = np.arange(shape[0])

    def _choose(self) -> Array:
        return self.device.put(np.broadcast_to(self.agent.select(1, self._none)[0], self._each.shape))

    def _learn(self, arms: Array, rewards: Array) -> None:
        where = self._each, self.device.get(arms)
        self.agent.counts[where] += 1
        self.agent.sums[where] += self.device.get(rewards)
        self.agent.n_pulls += 1
        self.told = True

    def recommend(self) -> Array:
        return self.device.put(self.agent.recommend())


def why_no_arms(problem: Problem) -> str:
    """Why repetitions of a problem cannot be played side by side; "" if they can."""
    if not problem.is_finite:
        return "a box"
    if problem.contexts:
        return "which offers some of its arms at a time"
    if problem.time_varying:
        return "which changes with time"
    return "which comes with existing data" if problem.initial is not None else ""


def why_alone(agent: Agent) -> str:
    """Why an agent has no form that plays many repetitions side by side; "" if it has."""
    name = type(agent).__name__
    if not vars(type(agent)).get("side_by_side", False):
        return f"{name} has no batched form"
    settings, schedule = getattr(agent, "settings", None), getattr(agent, "schedule", None)
    if settings is not None and settings.doubling:
        return f"{name} doubles its norm bound, which each run does by itself"
    if settings is not None and settings.initial is not None:
        return f"{name} was given existing data"
    if schedule is not None and not schedule.takes_arrays:
        return f"the width of {name} is a schedule of one's own"
    return ""


def side_by_side(agent: Agent, device: Device, precision: str = "float64") -> VectorAgent:
    """Many repetitions of the policy `agent`, which is nobody else's from now on.

    Raises:
        ValueError: if it has no form that plays them; the message says why.
    """
    if why := why_alone(agent):
        raise ValueError(f"agent: {why}; leaderboards.simulate plays its repetitions one by one")
    form = (
        _Posteriors if hasattr(agent, "many_beliefs") else _Eliminations if hasattr(agent, "plan_lengths") else _Counts
    )
    return form(agent, device, precision)


def make_vec(id: str, *, device: str | None = None, precision: str = "float64", **kwargs: Any) -> VectorAgent:
    """The agent `id` over many repetitions of one problem on finite arms; `reset(problem, rngs)` says how many.

    Args:
        id: Id of the agent.
        device: `"torch:cuda"`, `"torch"`, `"cupy"` or another of `gpbandit_envs.arrays.Device`; None for NumPy.
        precision: `"float64"`, or `"float32"` for rows of half the size; means and variances are float64 always.
        kwargs: Settings of the agent.

    Raises:
        ValueError: for an unknown id, a bad value, an agent without such a form, or a device that is not there.
        TypeError: for an unknown keyword; the message lists those that exist.
        ImportError: if the namespace of the device is not installed.
    """
    as_word("precision", precision, ("float64", "float32"))
    return side_by_side(make(id, **kwargs), Device("numpy" if device is None else device), precision)
