"""One instance of an environment as a function of points in true units, which all adapters evaluate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from jaxtyping import Float, Real

from gpbandit_envs.arguments import as_word, shown
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.envs.bandit import BanditEnv, BoxEnv, FiniteArmEnv, as_points

ARM = "arm"
"""Name of the one parameter of a problem on arms: the number of the arm, whose order says nothing."""

_PLAIN = (gym.wrappers.TimeLimit, gym.wrappers.OrderEnforcing, gym.wrappers.PassiveEnvChecker)


class Instance:
    """The mean function that a seed draws, its noisy feedback and its certified maximum.

    On a box, a point holds the value of each dimension in its own unit, choices by number; on arms, it is the number of
    an arm.

    Args:
        env: Id of an environment, or an environment that no other has wrapped but those of `gymnasium.make`.
        seed: Seed of the instance and of its noise.
        kwargs: Keywords of `gymnasium.make` for an id.

    Attributes:
        env: The environment, reset.
        problem: What a policy may know of it.
        domain: The dimensions of a point.
        finite: Whether points are arms.
        optimum: Largest mean; None where it is unknown.
        best: A point where it is attained, shape `(D,)`; None where it is unknown.

    Raises:
        TypeError: if `env` is no environment of this package, or an environment comes with keywords.
        ValueError: if it has contexts, a mean that changes, late feedback, or a single arm.
    """

    def __init__(self, env: str | gym.Env[Any, Any], seed: int, kwargs: dict[str, Any]) -> None:
        self.env = _made(env, kwargs)
        self.env.reset(seed=seed)
        self.problem = self.env.problem
        for name, refused in (("contexts", self.problem.contexts), ("a mean that changes", self.problem.time_varying)):
            if refused:
                raise ValueError(f"env: expected one mean over all of the domain, got {self.problem.name} with {name}")
        self.finite = self.problem.is_finite
        self.domain = _domain(self.env)
        self.optimum = self.env.optimum
        self.best = None if self.optimum is None else self._best()

    def mean(self, points: Real[np.ndarray, "n D"] | Sequence[Sequence[float]]) -> Float[np.ndarray, " n"]:
        """Noise-free means; for scoring.

        Raises:
            ValueError: if a point is outside the domain.
        """
        return self.env.mean(self._actions(points))

    def feedback(self, point: Sequence[float] | Real[np.ndarray, " D"]) -> float:
        """One noisy evaluation; NaN if it failed.

        Raises:
            ValueError: if the point is outside the domain.
        """
        (action,) = self._actions(np.asarray(point, np.float64)[None])
        _, reward, _, _, info = self.env.step(int(action) if self.finite else action)
        return math.nan if info.get("failed") else float(reward)

    def point(self, params: Mapping[str, Any]) -> Float[np.ndarray, " D"]:
        """The point with these values by the name of the dimension, of choices the choice itself.

        Raises:
            TypeError: if a value is no number.
            ValueError: if it is none of the choices.
        """
        found = []
        for name, d in zip(self.names(), self.domain):
            value = params[name]
            if d.choices:
                value = d.choices.index(as_word(name, value, d.choices))
            elif not isinstance(value, SupportsFloat):
                raise TypeError(f"{name}: expected a number, got {shown(value)}")
            found.append(float(value))
        return np.array(found)

    def at(self, unit: Sequence[float] | Real[np.ndarray, " d"]) -> Float[np.ndarray, " D"]:
        """The point of a box that a point of the unit cube stands for.

        Raises:
            TypeError, ValueError: if it is none, or outside.
        """
        return self.domain.values(as_points(unit, (self.domain.dim,))[None])[0]

    def names(self) -> list[str]:
        """Names of the dimensions; `x0`, `x1`, ... where they have none, with an underscore where another is so."""
        taken = {dimension.name for dimension in self.domain}
        names = []
        for i, dimension in enumerate(self.domain):
            name = dimension.name or f"x{i}"
            while not dimension.name and name in taken:
                name += "_"
            names.append(name)
        return names

    def bounds(self) -> list[tuple[float, float]]:
        """Smallest and largest value of each dimension; of choices, their numbers."""
        return [(0.0, len(d.choices) - 1.0) if d.choices else (float(d.low), float(d.high)) for d in self.domain]

    def _best(self) -> Float[np.ndarray, " D"] | None:
        action = self.env.certificate.optimal_action
        if self.finite:
            return np.array([action], np.float64)
        return self.domain.values(np.array([action], np.float64))[0] if action != () else None

    def _actions(self, points: Any) -> Any:
        """The actions that stand for points: numbers of arms, or points of the unit cube."""
        values = np.asarray(points, np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.domain):
            raise ValueError(f"points: expected shape (n, {len(self.domain)}), got {values.shape}")
        for values_of, (low, high), dimension, name in zip(values.T, self.bounds(), self.domain, self.names()):
            whole = dimension.levels is not None
            wrong = ~((values_of >= low) & (values_of <= high) & ((values_of == np.round(values_of)) | (not whole)))
            if wrong.any():
                kind, given = "an integer" if whole else "a number", float(values_of[wrong][0])
                raise ValueError(f"{name}: expected {kind} in [{low:g}, {high:g}], got {given!r}")
        return values[:, 0].astype(np.int64) if self.finite else self.domain.unit(values)


def _made(env: str | gym.Env[Any, Any], kwargs: dict[str, Any]) -> BanditEnv:
    if isinstance(env, str):
        env = gym.make(env, **kwargs)
    elif kwargs:
        raise TypeError(f"{next(iter(kwargs))}: expected no keywords beside an environment, which is made already")
    if not isinstance(env, gym.Env) or not isinstance(env.unwrapped, BanditEnv):
        raise TypeError(f"env: expected an environment of this package, or its id, got {shown(env)}")
    wrapped: Any = env
    while wrapped is not env.unwrapped:
        if not isinstance(wrapped, _PLAIN):
            raise ValueError(f"env: expected feedback at once and one by one, got {type(wrapped).__name__} around it")
        wrapped = wrapped.env
    return env.unwrapped


def _domain(env: BanditEnv) -> Domain:
    if isinstance(env, FiniteArmEnv):
        n_arms = env.problem.n_arms
        if n_arms < 2:
            raise ValueError(f"env: expected at least two arms, got {n_arms}")
        return Domain((Dimension(0, n_arms - 1, integer=True, name=ARM),))
    assert isinstance(env, BoxEnv)
    stated: Any = env.problem.notes.get("domain")
    if stated is not None:
        return Domain.from_spec(stated)
    return Domain(tuple(Dimension(float(low), float(high)) for low, high in zip(env.low, env.high)))
