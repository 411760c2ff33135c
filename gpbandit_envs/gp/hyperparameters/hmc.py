"""Hamiltonian Monte Carlo for hyperparameters: leapfrog steps within a box, step size by dual averaging.

| symbol | meaning |
|---|---|
| `theta` | position |
| `p` | momentum, standard normal |
| `eps` | step size |
| `H` | log joint density `log pi(theta) - |p|^2 / 2` |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.hyperparameters.density import HyperPrior, LogPosterior
from gpbandit_envs.gp.hyperparameters.likelihood import Groups, Hyperparameters
from gpbandit_envs.gp.hyperparameters.map import standard_start, standardised

LogDensity = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""`log pi(theta)` up to a constant, and its gradient."""
Walls = tuple[np.ndarray, np.ndarray]
"""The lower and the upper corner of a box."""

# Of the dual averaging, as Hoffman and Gelman recommend.
_SHRINKAGE, _DELAY, _DECAY = 0.05, 10.0, 0.75
_TARGET = 0.8  # acceptance probability
_LENGTH, _MOST_STEPS = 1.5, 15  # of a trajectory, in `theta` and in leapfrog steps


@dataclass(frozen=True)
class Chain:
    """Samples, and how the sampler did.

    Attributes:
        samples: Positions after burn-in, shape (n, k).
        acceptance: Mean acceptance probability after burn-in.
        step_size: The adapted step size.
        evaluations: Evaluations of the density spent.
    """

    samples: Float[np.ndarray, "n k"]
    acceptance: float
    step_size: float
    evaluations: int


def hmc(
    log_density: LogDensity,
    start: Float[np.ndarray, " k"],
    rng: np.random.Generator,
    *,
    walls: Walls | None = None,
    burn_in: int = 200,
    samples: int = 10,
) -> Chain:
    """Sample from a density on a box.

    At a wall the trajectory is reflected, which keeps the leapfrog reversible and volume-preserving. The number of
    steps is `1.5 / eps`, at most 15, times a uniform number in [0.5, 1], so that no trajectory closes.

    Args:
        log_density: `log pi` and its gradient.
        start: First position, within the walls.
        rng: Source of all randomness.
        walls: Lower and upper bounds of the positions, each (k,); None for none.
        burn_in: Iterations thrown away, in which the step size adapts, >= 0.
        samples: Iterations kept, >= 1.

    Raises:
        ValueError: if a number is out of range, or the density is not finite at the start.

    References: Neal (2011), MCMC using Hamiltonian dynamics, sections 3 and 5.1; Hoffman and Gelman (2014), The
    No-U-Turn sampler, Algorithms 4 and 5.
    """
    if burn_in < 0 or samples < 1:
        raise ValueError(f"burn_in, samples: expected at least 0 and 1, got {burn_in!r} and {samples!r}")
    leapfrog = _Leapfrog(log_density, walls)
    state = leapfrog.at(np.array(start, np.float64))
    if not np.isfinite(state.value):
        raise ValueError(f"start: expected a point of finite density, got {state.value} at {start!r}")
    eps = _first_step_size(leapfrog, state, rng)
    pull, log_mean, error = log(10 * eps), 0.0, 0.0
    kept, accepted = [], 0.0
    for m in range(1, burn_in + samples + 1):
        steps = max(1, round(min(_LENGTH / eps, _MOST_STEPS) * rng.uniform(0.5, 1.0)))
        momentum = rng.standard_normal(len(state.theta))
        proposed, last = leapfrog.run(state, momentum, eps, steps)
        gain = proposed.value - state.value + 0.5 * float(momentum @ momentum - last @ last)
        probability = exp(min(0.0, gain)) if np.isfinite(gain) else 0.0
        if rng.random() < probability:
            state = proposed
        if m <= burn_in:
            error += (_TARGET - probability - error) / (m + _DELAY)
            log_eps = pull - sqrt(m) / _SHRINKAGE * error
            weight = m**-_DECAY
            log_mean = weight * log_eps + (1 - weight) * log_mean
            eps = exp(log_eps if m < burn_in else log_mean)
        else:
            kept.append(state.theta)
            accepted += probability
    return Chain(np.array(kept), accepted / samples, eps, leapfrog.evaluations)


def sample_hyperparameters(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    rng: np.random.Generator,
    *,
    family: str = "matern52",
    prior: HyperPrior | None = None,
    start: Hyperparameters | None = None,
    burn_in: int = 200,
    samples: int = 10,
    known: Float[np.ndarray, " n"] | None = None,
    groups: Groups = (),
) -> tuple[list[Hyperparameters], float]:
    """Hyperparameters drawn from `p(theta | X, y)`, in the units of the data, and the mean taken out of `y`.

    Args:
        X: Inputs, shape (n, d), n >= 1, features spanning about 1.
        y: Feedback, shape (n,), in any unit.
        rng: Source of all randomness.
        family: `"matern52"`, `"matern32"` or `"se"`.
        prior: Priors and bounds; None for the defaults of `HyperPrior`.
        start: Where the chain begins, in the units of `y`; None for the standard start.
        burn_in: Iterations thrown away.
        samples: Iterations kept.
        known: Noise variances that are known, see `Observations`.
        groups: The columns of each category, see `Hyperparameters`.
    """
    data, offset, scale = standardised(X, y, None, known)
    target = LogPosterior(data, HyperPrior() if prior is None else prior, family, groups)
    theta = standard_start(data.X.shape[1], groups) if start is None else start.rescaled(1 / scale).vector()
    theta = np.clip(theta, target.lower, target.upper)
    chain = hmc(target, theta, rng, walls=(target.lower, target.upper), burn_in=burn_in, samples=samples)
    return [Hyperparameters.from_vector(sample, groups).rescaled(scale) for sample in chain.samples], offset


@dataclass(frozen=True)
class _State:
    theta: Float[np.ndarray, " k"]
    value: float
    gradient: Float[np.ndarray, " k"]


class _Leapfrog:
    """The leapfrog integrator with reflections at the walls of a box."""

    def __init__(self, log_density: LogDensity, walls: Walls | None) -> None:
        self._log_density = log_density
        self._walls = walls
        self.evaluations = 0

    def at(self, theta: Float[np.ndarray, " k"]) -> _State:
        self.evaluations += 1
        return _State(theta, *self._log_density(theta))

    def run(
        self, state: _State, momentum: Float[np.ndarray, " k"], eps: float, steps: int
    ) -> tuple[_State, Float[np.ndarray, " k"]]:
        p = momentum + 0.5 * eps * state.gradient
        for step in range(1, steps + 1):
            theta, p = self._reflect(state.theta + eps * p, p)
            state = self.at(theta)
            if not np.isfinite(state.value):
                break
            p = p + (eps if step < steps else 0.5 * eps) * state.gradient
        return state, p

    def _reflect(self, theta: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._walls is None:
            return theta, p
        lower, upper = self._walls
        inside = (theta >= lower) & (theta <= upper)
        if inside.all():
            return theta, p
        # However many walls the step went through, it ends folded into the box.
        width = upper - lower
        z = (theta - lower) % (2 * width)
        turned = z > width
        folded = lower + np.where(turned, 2 * width - z, z)
        return np.where(inside, theta, np.clip(folded, lower, upper)), np.where(turned, -p, p)


def _first_step_size(leapfrog: _Leapfrog, state: _State, rng: np.random.Generator) -> float:
    """Double or halve until one step is accepted with probability about a half (Hoffman and Gelman, Algorithm 4)."""
    eps = 0.1
    momentum = rng.standard_normal(len(state.theta))

    def gain(eps: float) -> float:
        proposed, last = leapfrog.run(state, momentum, eps, 1)
        change = proposed.value - state.value + 0.5 * float(momentum @ momentum - last @ last)
        return change if np.isfinite(change) else -inf

    grow = gain(eps) > log(0.5)
    while 1e-6 < eps < 2.0 and (gain(eps) > log(0.5)) == grow:
        eps *= 2.0 if grow else 0.5
    return eps
