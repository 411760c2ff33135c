"""A controller that lands on the moon: twelve parameters."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from gpbandit_envs.arguments import positive_int
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.envs.entry_point import EntryPoint
from gpbandit_envs.envs.live_training import BestKnown, Training, training_recipe
from gpbandit_envs.envs.recipe import EnvRecipe, KernelLike, NoiseLike
from gpbandit_envs.lazy import optional

# Which terrains are flown over is part of the task's definition: another number would be another version.
_TERRAINS = 20191
_LIMIT, _FRAMES_PER_SECOND = 1_000, 50
_IDLE, _LEFT, _MAIN, _RIGHT = range(4)

_BEST_KNOWN = BestKnown(
    (
        1.05018,
        1.08479,
        0.279365,
        0.191534,
        0.933763,
        0.716721,
        0.496909,
        0.727819,
        0.000677827,
        0.258834,
        0.040211,
        0.112561,
    ),
    "python benchmarks/best_known.py LunarLanding --sobol 64 --local 400 --starts 1",
)


class LunarController(Training):
    """Gymnasium's lunar lander under a proportional-derivative controller with parameters `w_0, ..., w_11`.

    | | |
    |---|---|
    | target angle | `w_0 x + w_1 vx`, at most `w_2` in size |
    | target height | `w_3 abs(x)` |
    | turn | `w_4 (target angle - angle) - w_5 angular velocity`; `w_8` once a leg touches the ground |
    | lift | `w_6 (target height - y) - w_7 vy`; `-w_9 vy` once a leg touches the ground |
    | main engine | if lift exceeds `abs(turn)` and `w_10` |
    | side engines | else if turn exceeds `w_11` in size |

    Score: return, averaged over terrains, starts and initial pushes that are always the same. A flight ends after
    1,000 frames. Cost: simulated seconds, all flights together.

    The bound on the score: the return is the change of the lander's potential, at most 20 for two legs on the ground
    minus the potential at the start, less fuel, plus 100 for a landing.

    Args:
        n_terrains: How many are flown over.

    Raises:
        ImportError: if Box2D is not installed.
    """

    domain = Domain(tuple(Dimension(0.0, 2.0, name=f"w{i}") for i in range(12)))
    floor = -1_000.0
    best_known = _BEST_KNOWN

    def __init__(self, n_terrains: int) -> None:
        super().__init__()
        self._n_terrains = n_terrains
        self._seeds = np.random.SeedSequence(_TERRAINS).generate_state(n_terrains).tolist()
        # Box2D's wrapper warns of its own types, and crashes the interpreter where warnings are errors.
        names = ("Box2D", "gymnasium.envs.box2d.lunar_lander")
        self._world: Any = optional("GPBandit/LunarLanding needs Box2D", "lunar", *names)[1].LunarLander()
        self.ceiling = float(np.mean([120.0 - _potential(self._start(seed)) for seed in self._seeds]))

    def run(self, values: tuple[float, ...]) -> tuple[float, float]:
        flights = [self._fly(seed, values) for seed in self._seeds]
        score = math.fsum(total for total, _ in flights) / len(flights)
        return score, sum(frames for _, frames in flights) / _FRAMES_PER_SECOND

    def _start(self, seed: int) -> list[float]:
        state: list[float] = self._world.reset(seed=seed)[0].tolist()
        return state

    def _fly(self, seed: int, w: tuple[float, ...]) -> tuple[float, int]:
        state, total, frames, over = self._start(seed), 0.0, 0, False
        while not over and frames < _LIMIT:
            observation, reward, over, _, _ = self._world.step(_steer(state, w))
            state = observation.tolist()
            total += float(reward)
            frames += 1
        return total, frames

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return controller, (self._n_terrains,)


@lru_cache(maxsize=4)
def controller(n_terrains: int) -> LunarController:
    """The task on `n_terrains` terrains, one in a process, so that environments share its results."""
    return LunarController(n_terrains)


@EntryPoint
def lunar_landing(
    *, n_terrains: int = 50, noise_std: float = 5.0, kernel: KernelLike = None, noise: NoiseLike = None
) -> EnvRecipe:
    """Lunar landing: find the twelve parameters of a controller with the highest mean return over fixed terrains.

    Each parameter in [0, 2]. An evaluation flies Gymnasium's lunar lander over 50 fixed terrains, as Eriksson et al.
    (2019) do, up to 1,000 frames each; see `LunarController` for the controller. Controller, ranges and number of
    terrains are theirs, which Ha et al. (2023) take over; which terrains those are is not known, the simulator here is
    a later version, and they add no noise. Mean: mean return. Cost: simulated seconds. Real work: a few tenths of a
    second an evaluation. Needs the extra `lunar`.

    The optimum is the best known value; the maximum is unknown, and `certificate.optimum_tol` is its distance to an
    upper bound on the return: no fuel, and a landing on two legs. A policy that beats it has negative regret. The noise
    is added to the mean return, as the flights are deterministic.

    Args:
        n_terrains: Number of terrains.
    """
    training = controller(positive_int("n_terrains", n_terrains))
    return training_recipe(training, noise_std, kernel, noise, {"cost": "simulated seconds"})


def _steer(s: list[float], w: tuple[float, ...]) -> int:
    """The engine to fire in state `s = (x, y, vx, vy, angle, angular velocity, left leg, right leg)`."""
    x, y, vx, vy, angle, spin, left, right = s
    if left or right:
        turn, lift = w[8], -w[9] * vy
    else:
        target = min(max(w[0] * x + w[1] * vx, -w[2]), w[2])
        turn = w[4] * (target - angle) - w[5] * spin
        lift = w[6] * (w[3] * abs(x) - y) - w[7] * vy
    if lift > abs(turn) and lift > w[10]:
        return _MAIN
    if turn < -w[11]:
        return _RIGHT
    return _LEFT if turn > w[11] else _IDLE


def _potential(s: list[float]) -> float:
    """The lander's potential, of which the reward is the change."""
    x, y, vx, vy, angle, _, left, right = s
    return -100 * (math.hypot(x, y) + math.hypot(vx, vy) + abs(angle)) + 10 * (left + right)
