"""Maximum a posteriori hyperparameters, by L-BFGS from several starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar

from gpbandit_envs.gp.hyperparameters.density import HyperPrior, LogPosterior
from gpbandit_envs.gp.hyperparameters.likelihood import Groups, Hyperparameters, free_dim
from gpbandit_envs.gp.lbfgs import minimise_within
from gpbandit_envs.gp.observations import Observations

_ITERATIONS = 200
_SCREENED = 4  # random points evaluated for each one climbed from
_TIE = 1e-3  # log posteriors closer than this are the same mode
_NOISE_GRID = 16  # the likelihood of the noise can have two modes, decades apart
_LENGTH_GRID = 12
_ROUGH, _FINE = 1e-4, 1e-7  # relative gains of the log posterior at which a climb ends


@dataclass(frozen=True)
class MAPEstimate:
    """The mode of the posterior of the hyperparameters.

    Attributes:
        hyperparameters: The mode, in the units of the data.
        prior_mean: The mean that was taken out of the feedback, unit of y.
        scale: The scale that was taken out of the feedback, unit of y.
        log_posterior: Log posterior of the mode for the standardised feedback, up to a constant.
        evaluations: Evaluations of the likelihood spent.
    """

    hyperparameters: Hyperparameters
    prior_mean: float
    scale: float
    log_posterior: float
    evaluations: int


def standard_start(dim: int, groups: Groups = ()) -> Float[np.ndarray, " k"]:
    """The default first point `theta`, shape (k,), for standardised feedback on the unit cube.

    Variance 1, a noise of a tenth of the spread, and lengthscales of about the mean distance of two points; of
    categories with the columns `groups` the medians of `HyperPrior`.
    """
    free, n = free_dim(dim, groups), len(groups)
    return np.log([1.0, 1e-2, *[0.4 * np.sqrt(free)] * (free - n), *[np.log(2) ** -0.5] * n, *[0.3] * n])


def map_estimate(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    rng: np.random.Generator,
    *,
    family: str = "matern52",
    prior: HyperPrior | None = None,
    starts: int = 3,
    warm: Sequence[Hyperparameters] = (),
    units: tuple[float, float] | None = None,
    known: Float[np.ndarray, " n"] | None = None,
    groups: Groups = (),
) -> MAPEstimate:
    """`argmax_theta log p(theta | X, y)` by L-BFGS-B on the log-parameters.

    Climbs from the standard start or from the warm ones, and from the best of some random points; where two climbs end
    equally high the earlier wins.

    Args:
        X: Inputs, shape (n, d), n >= 1, features spanning about 1.
        y: Feedback, shape (n,), in any unit.
        rng: Draws the random starts.
        family: `"matern52"`, `"matern32"` or `"se"`.
        prior: Priors and bounds; None for the defaults of `HyperPrior`.
        starts: Number of climbs, >= 1.
        warm: Earlier estimates to begin from, in the units of `y`; at most `starts` are used.
        units: Offset and scale to standardise `y` with; None for its own mean and standard deviation.
        known: Noise variances that are known, see `Observations`.
        groups: The columns of each category, see `Hyperparameters`.

    Raises:
        ValueError: if an argument is out of range or of the wrong shape.
    """
    if starts < 1:
        raise ValueError(f"starts: expected at least 1, got {starts!r}")
    data, offset, scale = standardised(X, y, units, known)
    target = LogPosterior(data, HyperPrior() if prior is None else prior, family, groups)
    first = [known.rescaled(1 / scale).vector() for known in warm[:starts]] or [standard_start(data.X.shape[1], groups)]
    drawn, screened = _random_starts(target, starts - len(first), rng)
    best_theta, best = first[0], -np.inf
    # Most of a climb goes into directions in which the posterior is flat: only the best one is carried to its end.
    loss = _Loss(target)
    for start in [*first, *drawn]:
        theta, value = _climb(loss, np.clip(start, target.lower, target.upper), _ROUGH)
        if value > best + _TIE:
            best_theta, best = theta, value
    best_theta, best = _climb(loss, best_theta, _FINE)
    spent = screened + len(loss.known)
    return MAPEstimate(Hyperparameters.from_vector(best_theta, groups).rescaled(scale), offset, scale, best, spent)


def noise_estimate(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    known: Hyperparameters,
    *,
    family: str = "matern52",
    prior: HyperPrior | None = None,
) -> Hyperparameters:
    """`known` with the noise variance that is most probable given the data, kernel variance and lengthscales fixed.

    Args:
        X: Inputs, shape (n, d), n >= 1.
        y: Feedback, shape (n,), in any unit.
        known: Kernel variance and lengthscales, in the units of `y`.
        family: `"matern52"`, `"matern32"` or `"se"`.
        prior: Priors and bounds; None for the defaults of `HyperPrior`.
    """
    data, _, scale = standardised(X, y, None)
    target = LogPosterior(data, HyperPrior() if prior is None else prior, family)
    theta = known.rescaled(1 / scale).vector()

    def loss(log_noise: float) -> float:
        theta[1] = log_noise
        return -target.value(theta)

    grid = np.linspace(target.lower[1], target.upper[1], _NOISE_GRID)
    best = int(np.argmin([loss(at) for at in grid.tolist()]))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, _NOISE_GRID - 1)])
    theta[1] = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-3}).x
    return Hyperparameters.from_vector(theta).rescaled(scale)


def isotropic_estimate(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    *,
    family: str = "matern52",
    prior: HyperPrior | None = None,
    noise: float | None = None,
) -> Hyperparameters:
    """The most probable lengthscale common to all features, and noise, for a kernel variance that is that of `y`.

    The priors of all lengthscales count, as each takes that value.

    Args:
        X: Inputs, shape (n, d), n >= 1, features spanning about 1.
        y: Feedback, shape (n,), in any unit.
        family: `"matern52"`, `"matern32"` or `"se"`.
        prior: Priors and bounds; None for the defaults of `HyperPrior`.
        noise: The noise variance where it is known, > 0, unit of y^2.
    """
    data, _, scale = standardised(X, y, None)
    target = LogPosterior(data, HyperPrior() if prior is None else prior, family)
    dim = data.X.shape[1]

    def within(free: Float[np.ndarray, " two"]) -> Float[np.ndarray, " k"]:
        return np.r_[0.0, free[0], np.full(dim, free[1])]

    def loss(free: Float[np.ndarray, " two"]) -> tuple[float, Float[np.ndarray, " two"]]:
        value, gradient = target(within(free))
        return -value, -np.array([gradient[1], gradient[2:].sum()])

    bounds = [(target.lower[j], target.upper[j]) for j in (1, 2)]
    if noise is not None:
        bounds[0] = (np.log(noise / scale**2),) * 2
    noises = np.linspace(*bounds[0], 1 if noise is not None else _NOISE_GRID)
    lengths = np.linspace(*bounds[1], _LENGTH_GRID)
    starts = [np.array([log_noise, length]) for log_noise in noises for length in lengths]
    best = min(starts, key=lambda free: -target.value(within(free)))
    found = minimise_within(loss, best, bounds, maxiter=_ITERATIONS).x
    return Hyperparameters.from_vector(within(found)).rescaled(scale)


def standardised(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    units: tuple[float, float] | None,
    known: Float[np.ndarray, " n"] | None = None,
) -> tuple[Observations, float, float]:
    """The observations in standard units, and the offset and scale taken out.

    Raises:
        ValueError: if the scale is not positive, or the observations are none or not finite.
    """
    data = Observations.of(X, y, known)
    if units is None:
        return data.standardised()
    offset, scale = units
    if not (np.isfinite(offset) and np.isfinite(scale) and scale > 0):
        raise ValueError(f"units: expected a finite offset and a scale > 0, got {units!r}")
    return data.rescaled(offset, scale), offset, scale


class _Loss:
    """The negative log posterior with its gradient, evaluated once at each point: the last climb begins at one."""

    def __init__(self, target: LogPosterior) -> None:
        self.target = target
        self.known: dict[bytes, tuple[float, Float[np.ndarray, " k"]]] = {}

    def __call__(self, theta: Float[np.ndarray, " k"]) -> tuple[float, Float[np.ndarray, " k"]]:
        key = theta.tobytes()
        if key not in self.known:
            value, gradient = self.target(theta)
            self.known[key] = -value, -gradient
        return self.known[key]


def _climb(loss: _Loss, start: Float[np.ndarray, " k"], tolerance: float) -> tuple[Float[np.ndarray, " k"], float]:
    bounds = list(zip(loss.target.lower, loss.target.upper, strict=True))
    found = minimise_within(loss, start, bounds, maxiter=_ITERATIONS, gtol=1e-4, ftol=tolerance)
    return found.x, -float(found.fun)


def _random_starts(target: LogPosterior, n: int, rng: np.random.Generator) -> tuple[list[Float[np.ndarray, " k"]], int]:
    """The best `n` of some random points, and how many were evaluated."""
    if n <= 0:
        return [], 0
    k = len(target.lower)
    spread = np.r_[1.0, 2.0, np.full(k - 2, 1.0)]
    thetas = standard_start(target.dim, target.groups) + spread * rng.standard_normal((_SCREENED * n, k))
    thetas = np.clip(thetas, target.lower, target.upper)
    values = np.array([target.value(theta) for theta in thetas])
    return list(thetas[np.argsort(-values, kind="stable")[:n]]), len(thetas)
