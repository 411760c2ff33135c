"""Confidence bands along the pulls of any player, many repetitions at once.

A band that is proven for adaptive pulls is a statement about whatever is pulled, so it is read beside players that are
not its own policy, an adversary among them. All bands are read off one path.

| symbol | meaning |
|---|---|
| `f` | noise-free means of the arms, shape (R, A) |
| `ratio` | `abs(f - middle) / half_width` of a band at an arm: above 1 the mean is outside |
| `required` | largest ratio over arms and evaluations: with a smaller factor the band would have missed |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from agents.core.guarantees import BandGuarantee, guarantee_status
from agents.many import VectorAgent, side_by_side
from gpbandit_envs.arrays import Device
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.problem import Problem
from leaderboards.audit.measure import misses
from leaderboards.play.build import AgentLike, EnvLike, build_agent, build_env, describe_agent, describe_env, pinned
from leaderboards.play.drawn import draw
from leaderboards.play.run import stated_problem
from leaderboards.play.spec import RunSpec, env_seed

Strategy = Literal["edge", "push", "above", "widest"]
STRATEGIES: Mapping[Strategy, str] = {
    "edge": "the arm whose mean is nearest to the edge of its band",
    "push": "the last arm again if its last noise pushed its mean outwards, else as edge",
    "above": "the arm whose mean is nearest to the upper edge of its band",
    "widest": "of the tenth of arms that are nearest to an edge, the one whose band is widest",
}
"""What an adversary may do, that knows the means and all past noise, and never the noise to come."""


@dataclass(frozen=True)
class BandOnPath:
    """One band along the paths of a player, R repetitions.

    Attributes:
        required: Shape (R,), see above.
        held: Whether no mean was ever outside, rounding aside, shape (R,).
        informative: Share of arms whose band at the end is narrower than the range of the means, mean over repetitions.
        half_width: Mean half-width of all arms at the end, in units of that range and 1 where it is more.
        why_not: Why no theorem guarantees the band there; "" if one does.
    """

    required: Float[np.ndarray, " R"]
    held: Bool[np.ndarray, " R"]
    informative: float
    half_width: float
    why_not: str


@dataclass(frozen=True)
class Paths:
    """R repetitions of a player, with bands beside it.

    Attributes:
        bands: By label.
        regret: Cumulative regret at the end over that of uniform sampling in expectation, shape (R,).
    """

    bands: Mapping[str, BandOnPath]
    regret: Float[np.ndarray, " R"]

    @classmethod
    def joined(cls, parts: Sequence[Paths]) -> Paths:
        """Pieces with the same bands as one."""
        weights = np.array([len(part.regret) for part in parts], np.float64)
        bands = {}
        for label, one in parts[0].bands.items():
            pieces = [part.bands[label] for part in parts]
            bands[label] = BandOnPath(
                np.concatenate([piece.required for piece in pieces]),
                np.concatenate([piece.held for piece in pieces]),
                float(np.average([piece.informative for piece in pieces], weights=weights)),
                float(np.average([piece.half_width for piece in pieces], weights=weights)),
                one.why_not,
            )
        return cls(bands, np.concatenate([part.regret for part in parts]))


class Player(ABC):
    """Who pulls."""

    @abstractmethod
    def begin(self, problem: Problem, rngs: Sequence[np.random.Generator], means: np.ndarray) -> None:
        """Prepare one repetition for each generator."""

    @abstractmethod
    def pull(self, beside: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """The next arm of each repetition, shape (R,), where the bands beside it are as of the last feedback."""

    def learn(self, rewards: np.ndarray) -> None:  # noqa: B027 - an adversary knows the means
        """Take in the rewards of these arms, shape (R,)."""


class Policy(Player):
    """A policy that plays side by side, see `agents.make_vec`."""

    def __init__(self, agent: AgentLike) -> None:
        self.vector = side_by_side(build_agent(agent), Device())

    def begin(self, problem: Problem, rngs: Sequence[np.random.Generator], means: np.ndarray) -> None:
        self.vector.reset(problem, rngs)

    def pull(self, beside: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        return np.asarray(self.vector.select())

    def learn(self, rewards: np.ndarray) -> None:
        self.vector.observe(rewards)


class Adversary(Player):
    """Plays against one of the bands beside it.

    Args:
        target: Its label.
        strategy: One of `STRATEGIES`.
    """

    def __init__(self, target: str, strategy: Strategy) -> None:
        self.target, self.strategy = target, strategy

    def begin(self, problem: Problem, rngs: Sequence[np.random.Generator], means: np.ndarray) -> None:
        self._means, self._last = means, np.argmax(np.abs(means - problem.prior_mean), axis=1)
        self._before: np.ndarray | None = None

    def pull(self, beside: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        if self.target not in beside:
            return self._last
        middle, half = beside[self.target]
        with np.errstate(divide="ignore", invalid="ignore"):
            signed = np.nan_to_num((self._means - middle) / half)
        ratio = signed if self.strategy == "above" else np.abs(signed)
        chosen = ratio.argmax(axis=1)
        if self.strategy == "widest":
            near = ratio >= np.quantile(ratio, 0.9, axis=1, keepdims=True)
            chosen = np.where(near, half, -np.inf).argmax(axis=1)
        elif self.strategy == "push" and self._before is not None:
            at = np.arange(len(ratio)), self._last
            chosen = np.where(ratio[at] > self._before[at], self._last, chosen)
        self._last, self._before = chosen, ratio
        return chosen


class _Beside:
    """A band beside a path: the intersection of those of one or more policies that are given what others pull."""

    def __init__(self, agents: Sequence[AgentLike], own: VectorAgent | None = None) -> None:
        self._own = own is not None
        self._vectors = [own] if own is not None else [side_by_side(build_agent(agent), Device()) for agent in agents]

    def begin(self, problem: Problem, rngs: Sequence[np.random.Generator]) -> None:
        if not self._own:
            for vector in self._vectors:
                vector.reset(problem, rngs)

    def learn(self, arms: np.ndarray, rewards: np.ndarray) -> None:
        if not self._own:
            for vector in self._vectors:
                vector.follow(arms, rewards)

    def band(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Middle and half-width, each of shape (R, A); None before there is a band."""
        if any(vector.told is False for vector in self._vectors):
            return None
        bands = [band for vector in self._vectors if (band := vector.band()) is not None]
        if len(bands) == 1:
            return bands[0]
        upper = np.min([middle + half for middle, half in bands], axis=0)
        lower = np.max([middle - half for middle, half in bands], axis=0)
        return (lower + upper) / 2, np.maximum((upper - lower) / 2, 0.0)

    def guarantee(self) -> BandGuarantee:
        return self._vectors[0].agent.band_guarantee()


def along(
    env: EnvLike,
    player: Player,
    bands: Mapping[str, Sequence[AgentLike]],
    repetitions: int,
    horizon: int,
    seed: int = 0,
    first: int = 0,
) -> Paths:
    """Play repetitions of a player, and read bands beside it after each evaluation.

    Args:
        env: An environment with finite arms whose rewards are a mean and noise.
        player: Who pulls.
        bands: By label, the policies whose bands at level delta each are intersected: one, or several whose deltas add
            up. Without policies it is the band of the player itself, a `Policy`.
        repetitions: How many.
        horizon: Evaluations of each.
        seed: Root seed of all streams.
        first: Number of the first repetition.
    """
    played = build_env(env, horizon)
    with closing(played):
        bandit: Any = played.unwrapped
        spec = RunSpec(
            env=pinned(describe_env(env)),
            agent=describe_agent("Uniform"),  # whoever pulls, instances and noise are those of `leaderboards.run`
            repetition=first,
            horizon=horizon,
            seed=seed,
            feedback="on_request",
        )
        played.reset(seed=env_seed(spec))
        problem = stated_problem(played, horizon, spec.feedback)
        means, best, variates, rngs = draw(bandit, spec, first, repetitions)
    noise, R = bandit.recipe.noise, repetitions
    own = player.vector if isinstance(player, Policy) else None
    beside = {label: _Beside(agents, None if agents else own) for label, agents in bands.items()}
    required, held = ({label: np.full(R, start) for label in bands} for start in (0.0, True))
    regret, rows, now = np.zeros(R), np.arange(R), dict[str, tuple[np.ndarray, np.ndarray]]()
    with one_blas_thread():
        player.begin(problem, rngs, means)
        for one in beside.values():
            one.begin(problem, rngs)
        for t in range(horizon):
            arms = player.pull(now)
            rewards = noise.reward(means[rows, arms], arms, variates[:, t])
            regret += best - means[rows, arms]
            player.learn(rewards)
            for label, one in beside.items():
                one.learn(arms, rewards)
                if (band := one.band()) is not None:
                    now[label] = band
                    outside, ratio = misses(*band, means)
                    required[label] = np.maximum(required[label], ratio.max(axis=1))
                    held[label] = held[label] & ~outside.any(axis=1)
    span = np.ptp(means, axis=1)[:, None]
    found = {}
    for label, one in beside.items():
        half = now[label][1] / span
        share, mean = float((2 * half < 1).mean()), float(np.minimum(half, 1.0).mean())
        why = guarantee_status(one.guarantee(), problem)
        found[label] = BandOnPath(required[label], held[label], share, mean, why)
    uniform = horizon * (best - means.mean(axis=1))
    return Paths(found, regret / uniform)
