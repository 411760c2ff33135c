"""DMM: the intersection of the bands of several regularisers; its schedules, and its beliefs on arms and on a box.

| symbol | meaning |
|---|---|
| `a` | a regulariser: noise variance of a posterior on the same data; the first of them is `lam` |
| `mean_a`, `sd_a` | posterior mean and standard deviation with it |
| `w_a`, `eps` | its factor `rad_a / sqrt(a)`, infinite where the data refute it, and the slack; see `DualBand` |
| `upper` | the least of `mean_a + w_a sd_a + eps`, over regularisers and rows of the band |
| `lower` | the largest of `mean_a - w_a sd_a - eps` |

Posteriors share kernel rows and nothing else, so a pull costs as many rank-one updates as there are regularisers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from functools import reduce
from math import inf
from sys import float_info
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float

from agents.core.beliefs import ArmBeliefs, Beliefs, BoxBeliefs, ExactBeliefs
from agents.core.gp_settings import Model, Number, WidthContext
from agents.core.guarantees import Deviation
from agents.core.many_beliefs import ManyBeliefs, Room
from agents.core.protocol import Actions
from agents.core.space import Search
from agents.core.widths import AnalyticMixture, WidthSchedule, log_ratio_of
from gpbandit_envs.arguments import positive_number, shown
from gpbandit_envs.arrays import Array, at_least, log, namespace_of, sqrt
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.many import at
from gpbandit_envs.gp.observations import Observations
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import Approximation, InitialData, Problem

_ROUNDING = 1e-9  # relative error of a misfit, many times that of its sum


@dataclass(frozen=True)
class Evidence:
    """What the feedback tells a dual mixture. `y` is without the scatter of feedback on one arm that came together.

    Attributes:
        misfits: `a y^T (K_t + a I)^-1 y` for each regulariser of the grid, shape (G,), unit of y^2. Of many repetitions
            it has shape (R, G), and the others (R,).
        scatter: The part of each misfit that is scatter of feedback on one arm that came at different times, unit of
            y^2: the same for all.
        squared_errors: `sum_s (y_s - mean_{s-1}(x_s))^2`, of the posterior mean with `lam` as of before the feedback.
    """

    misfits: Array
    scatter: Number = 0.0
    squared_errors: Number = 0.0


@dataclass(frozen=True)
class DualBand:
    """The intersection of `mean_a +- (w sd_a + slack)` over regularisers `a` and rows of factors `w`.

    Attributes:
        factors: `w` of each row and each regulariser, shape (P, G), of many repetitions (R, P, G); infinite where the
            data refute it.
        slacks: What each row adds, P numbers, unit of the reward.
    """

    factors: Array
    slacks: Sequence[float]

    @property
    def refuted(self) -> bool:
        """Whether the data refute one of them, in some repetition."""
        xp = namespace_of(self.factors)
        return bool(xp.any(xp.isinf(self.factors)))


@dataclass(frozen=True)
class DualMixture(WidthSchedule):
    """DMM: the intersection of the bands of several regularisers, all valid on the event of `AnalyticMixture`.

    With `mean_a, sd_a` the posterior of the same data with noise variance `a` in the place of `lam`,
    `|f(x) - mean_a(x)| <= rad_a / sqrt(a) sd_a(x)` where
    `rad_a^2 = R_t^2 + a F^2 - a y^T (K_t + a I)^-1 y` and
    `R_t^2 = lam y^T (K_t + lam I)^-1 y + R^2 (2 gamma + 2 log(1 / delta))`.
    At `a = lam` this is `AnalyticMixture`, which is what the schedule itself returns; the policy intersects the bands.

    Every `a > 0` is a Lagrange multiplier of the same convex programme, so a larger grid costs no probability.
    `rad_a^2 < 0` does not happen on the event: it refutes `F`, `R` or the kernel.

    Reference: Flynn and Reeb (2025), Tighter confidence bounds for sequential kernel regression, the DMM bound.

    Attributes:
        grid: Regularisers in units of `lam`, numbers > 0; 1, whose posterior the radius needs, is always among them,
            and first.
    """

    assumes = "norm"
    theorem = "Flynn and Reeb (2025), DMM"
    any_lam: ClassVar[bool] = True
    regret_as: ClassVar[Literal["theory", "amm", ""]] = "amm"

    grid: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)

    def __post_init__(self) -> None:
        try:
            given = [positive_number("grid", ratio) for ratio in self.grid]
        except (TypeError, ValueError):
            given = []
        if not given:
            raise ValueError(
                f"grid: expected finite numbers > 0, in units of lam and of moderate size, got {shown(self.grid)}"
            )
        object.__setattr__(self, "grid", (1.0, *sorted(set(given) - {1.0})))

    def __call__(self, context: WidthContext) -> Number:
        return AnalyticMixture()(context)

    @property
    def settings(self) -> list[str]:
        return [field.name for field in dataclass_fields(self)]  # it is no multiple of a standard deviation

    def check_policy(self, upper_bound_alone: bool, doubling: bool) -> None:
        if not upper_bound_alone:
            raise ValueError(f"width: a dual mixture is for GP-UCB; expected another width, got {self!r}")
        if doubling:
            raise ValueError(
                "width: a dual mixture is for no norm that is doubled, for a norm that is refuted has no radius; "
                f"expected another width, got {self!r}"
            )

    def arm_beliefs(self, problem: Problem, model: Model, data: InitialData | None) -> ArmBeliefs[Any]:
        return DualArmBeliefs(problem, model, data, self)

    def box_beliefs(self, problem: Problem, model: Model, search: Search, data: InitialData | None) -> BoxBeliefs:
        return DualBoxBeliefs(problem, model, search, data, self)

    def many_beliefs(self, problem: Problem, model: Model, room: Room) -> ManyBeliefs:
        return ManyDualBeliefs(problem, model, room, self)

    def factors(self, context: WidthContext, misfits: Array) -> Array:
        """`rad_a / sqrt(a)` for each regulariser of the grid; infinite where the data refute the bound.

        Args:
            context: The inputs of the width.
            misfits: `a y^T (K_t + a I)^-1 y` for each, less what is the same for all of them.
        """
        return self._factors(
            context, misfits, misfits[..., 0], context.noise_std**2 * log_ratio_of(context), context.norm_bound
        )

    def _factors(self, context: WidthContext, misfits: Array, misfit: Number, radius: Number, norm: float) -> Array:
        """The same where `R_t^2 = misfit + radius`, for a norm of its own."""
        c, xp = context, namespace_of(misfits)
        a = c.lam * xp.asarray(self.grid, dtype=misfits.dtype, device=misfits.device)
        terms = _column(radius) + a * norm**2
        squares = terms + (_column(misfit) - misfits)
        # A difference of misfits has their rounding, which is no evidence; k(x, x) + lam knows lam to an eps of k.
        rounding = (_ROUNDING + 8 * float_info.epsilon * c.prior_variance / c.lam) * (terms + xp.abs(misfits))
        return xp.where(squares < -rounding, inf, xp.sqrt(xp.clip(squares, 0.0, None) / a))

    def band(self, context: WidthContext, evidence: Evidence, pairs: tuple[Approximation, ...]) -> DualBand:
        """The band after the feedback so far.

        Args:
            context: The inputs of the width.
            evidence: What the feedback tells.
            pairs: What the mean is near; a band for a mean of bounded norm does not read them.
        """
        del pairs
        return DualBand(self.factors(context, evidence.misfits)[..., None, :], (0.0,))

    def plain_width(self, context: WidthContext, band: DualBand) -> Number:
        """The width that is logged: that of the band at `a = lam`, before others are intersected."""
        del band
        return self(context)


@dataclass(frozen=True)
class SlackMixture(DualMixture):
    """DMM with slack, for a mean that is only near the RKHS: all pairs of a norm F and a distance eps are intersected.

    Let some function of norm at most F differ from the mean by at most eps everywhere. The event of `DualMixture` holds
    for any mean, and on it `|f(x) - mean_a(x)| <= rad_a / sqrt(a) sd_a(x) + eps`, where
    `rad_a^2 = (R_t + eps sqrt(t))^2 + a F^2 - a y^T (K_t + a I)^-1 y`. Scatter of feedback on one arm is in `R_t^2` and
    in the last term alike, and says nothing of the function; without it `R_t`, and with it the slack, is smaller.
    With eps = 0 it is DMM. Proof: `docs/math/slack.md`.

    What the distance adds is `2 eps sqrt(t) R_t + eps^2 t` for every `a`, so that larger regularisers than DMM's pay.

    Attributes:
        grid: As for `DualMixture`.
    """

    theorem = "DMM with slack (docs/math/slack.md)"
    tolerates: ClassVar[frozenset[Deviation]] = frozenset({"sup"})
    regret_as: ClassVar[Literal["theory", "amm", ""]] = ""  # its band is within no width whose regret is known

    grid: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4, 1e5)

    def band(self, context: WidthContext, evidence: Evidence, pairs: tuple[Approximation, ...]) -> DualBand:
        c, t = context, context.t - 1
        log_ratio = c.noise_std**2 * log_ratio_of(c)
        misfit = evidence.misfits[..., 0]
        R = sqrt(at_least(misfit - evidence.scatter + log_ratio, 0.0))
        rows = []
        for F, eps in pairs:
            reach = 2 * eps * sqrt(t) * R + eps**2 * t
            rows.append(self._factors(c, evidence.misfits, misfit, log_ratio + reach, F))
        factors = namespace_of(evidence.misfits).stack(rows, axis=-2)
        return DualBand(factors, [pair.distance for pair in pairs])

    def plain_width(self, context: WidthContext, band: DualBand) -> Number:
        return _number(namespace_of(band.factors).min(band.factors[..., 0], axis=-1))


@dataclass(frozen=True)
class LikelihoodRatio(DualMixture):
    """The likelihood-ratio confidence sequence with weights 1, and a bounded norm, by the dual bands of `DualMixture`.

    `sum_s (y_s - f(x_s))^2 <= sum_s (y_s - mean_{s-1}(x_s))^2 + 2 R^2 log(1 / delta)` with the ridge estimator of the
    pulls before, for all times at once: each factor `exp(((y_s - f(x_s))^2 - (y_s - mean_{s-1}(x_s))^2) / (2 R^2))` has
    a conditional mean of at most 1, whatever predictable number stands for the estimate. Any `lam` will do. The
    right-hand side takes the place of `R_t^2`; the event is another one than that of `DualMixture`.

    The paper's weights below 1, which keep early errors of the estimate out of the sum, are not here.

    Reference: Emmenegger, Mutny and Krause (2023), Likelihood ratio confidence sets for sequential decision making,
    Algorithm 1; its estimator is the penalised maximum of the likelihood, which for Gaussian noise is the ridge
    estimator.

    Attributes:
        grid: As for `DualMixture`.
    """

    theorem = "Emmenegger et al. (2023), Algorithm 1 with weights 1"
    regret_as: ClassVar[Literal["theory", "amm", ""]] = ""

    def band(self, context: WidthContext, evidence: Evidence, pairs: tuple[Approximation, ...]) -> DualBand:
        del pairs
        c = context
        radius = 2 * c.noise_std**2 * log(1 / c.delta)
        row = self._factors(c, evidence.misfits, evidence.squared_errors, radius, c.norm_bound)
        return DualBand(row[..., None, :], (0.0,))

    def plain_width(self, context: WidthContext, band: DualBand) -> Number:
        return _number(band.factors[..., 0, 0])


def _number(x: Array) -> Number:
    return float(x) if x.ndim == 0 else x


def _column(x: Number) -> Any:
    """A number as it is, one for each repetition as a column."""
    return x if np.ndim(x) == 0 else x[..., None]


class DualArms:
    """The posteriors of `G` regularisers over one set of arms.

    Args:
        plain: The posterior with `lam`, before any data.
        grid: Regularisers in units of `lam`, the first of them 1.

    Attributes:
        posteriors: One for each regulariser; the first is `plain`.
    """

    def __init__(self, plain: ExactPosterior, grid: tuple[float, ...]) -> None:
        self.posteriors = [plain, *(plain.with_noise(ratio * plain.lam) for ratio in grid[1:])]

    def misfits(self) -> Float[np.ndarray, " G"]:
        """`a y^T (K_t + a I)^-1 y` for each regulariser, less what is the same for all of them."""
        return np.array([posterior.lam * posterior.quadratic for posterior in self.posteriors])

    def upper(self, band: DualBand) -> Float[np.ndarray, " A"]:
        """`upper` of all arms."""
        return least_upper(((posterior.mean, posterior.variance) for posterior in self.posteriors), band)


class DualBeliefs(Beliefs):
    """Beliefs with a posterior for each regulariser of a grid, and the intersection of their bands.

    Attributes:
        mixture: The schedule whose band it is.
        intersected: The band since `next_width` was last called.
    """

    mixture: DualMixture
    intersected: DualBand

    @property
    @abstractmethod
    def evidence(self) -> Evidence:
        """What the feedback so far tells."""

    @abstractmethod
    def bounds(self, X: Float[np.ndarray, "n d"]) -> tuple[Array, Array]:
        """`lower` and `upper` at points; `lower` exceeds `upper` where bounds contradict each other."""

    def next_width(self, schedule: WidthSchedule, context: Callable[[], WidthContext]) -> Number:
        known = context()
        self.intersected = self.mixture.band(known, self.evidence, self.model.pairs)
        self.refuted |= self.intersected.refuted
        return self.mixture.plain_width(known, self.intersected)

    def band(self, X: Float[np.ndarray, "n d"], width: float) -> tuple[np.ndarray, np.ndarray]:
        """The middle of the intersection and half of it, 0 where it is empty."""
        lower, upper = self.bounds(X)
        return 0.5 * (lower + upper), namespace_of(lower).clip(0.5 * (upper - lower), 0.0, None)

    def diagnostics(self) -> Mapping[str, float]:
        return {**super().diagnostics(), "refuted": float(self.refuted)}


class DualArmBeliefs(DualBeliefs, ExactBeliefs):
    """The exact posteriors over all arms.

    Args:
        mixture: As for `DualBeliefs`.
    """

    def __init__(self, problem: Problem, model: Model, data: InitialData | None, mixture: DualMixture) -> None:
        self.mixture = mixture
        self._squares, self._squared_errors = np.zeros(problem.n_arms), 0.0
        super().__init__(problem, model, data)

    def _prior(self) -> ExactPosterior:
        posterior = super()._prior()
        self._dual = DualArms(posterior, self.mixture.grid)
        return posterior

    def _condition(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        errors = sums / counts - self._dual.posteriors[0].mean[arms]
        self._squared_errors += float(counts @ errors**2)
        self._squares[arms] += sums**2 / counts
        for posterior in self._dual.posteriors:
            posterior.update(arms, counts, sums)

    @property
    def evidence(self) -> Evidence:
        posterior = self._dual.posteriors[0]
        pulled = np.flatnonzero(posterior.n)
        between = self._squares[pulled] - posterior.sums[pulled] ** 2 / posterior.n[pulled]
        return Evidence(self._dual.misfits(), max(float(between.sum()), 0.0), self._squared_errors)

    def maximise_bound(self, width: float, rng: np.random.Generator) -> Actions:
        return np.array([self.offered.best(self.offered.of(self._dual.upper(self.intersected)))])

    def bounds(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        return intersection((posterior.at(X) for posterior in self._dual.posteriors), self.intersected)


class ManyDualBeliefs(DualBeliefs, ManyBeliefs):
    """The exact posteriors of many repetitions.

    Args:
        mixture: As for `DualBeliefs`.
    """

    def __init__(self, problem: Problem, model: Model, room: Room, mixture: DualMixture) -> None:
        super().__init__(problem, model, room)
        self.mixture = mixture
        self._each = [self.posterior, *(room.posteriors(ratio * model.lam) for ratio in mixture.grid[1:])]
        zeros = self.posterior.information_gain * 0.0
        self._scatter, self._squared_errors = zeros, zeros
        self._rewards = room.rows.device.put(np.zeros((room.repetitions, room.pulls)))

    def _condition(self, arms: Array, y: Array) -> None:
        t, xp = self.n_pulls, self.xp
        same = xp.astype(self.posterior.arms[:, :t] == arms[:, None], y.dtype)
        n, s = xp.sum(same, axis=1), xp.sum(same * self._rewards[:, :t], axis=1)
        self._scatter = self._scatter + y * y - (s + y) ** 2 / (n + 1) + s**2 / xp.clip(n, 1.0, None)
        self._squared_errors = self._squared_errors + (y - at(self.posterior.mean, arms)) ** 2
        self._rewards[:, t] = y
        for posterior in self._each:
            posterior.update(arms, y)

    @property
    def evidence(self) -> Evidence:
        lams = [ratio * self.model.lam for ratio in self.mixture.grid]
        misfits = self.xp.stack([lam * each.quadratic for lam, each in zip(lams, self._each)], axis=1)
        return Evidence(misfits, self.xp.clip(self._scatter, 0.0, None), self._squared_errors)

    def maximise_bound(self, width: Number, rng: np.random.Generator) -> Array:
        return self._best(least_upper(self._known(), self.intersected))

    def bounds(self, X: Any) -> tuple[Array, Array]:
        return intersection(self._known(), self.intersected)

    def _known(self) -> Iterable[tuple[Array, Array]]:
        return ((each.mean, self.xp.clip(each.v, 0.0, None)) for each in self._each)


class DualBoxBeliefs(DualBeliefs, BoxBeliefs):
    """The exact posteriors given evaluated points of the unit cube.

    Args:
        mixture: As for `DualBeliefs`.
    """

    def __init__(
        self, problem: Problem, model: Model, search: Search, data: InitialData | None, mixture: DualMixture
    ) -> None:
        self.mixture, self._squared_errors = mixture, 0.0
        super().__init__(problem, model, search, data)

    def _fit(self) -> None:
        super()._fit()
        kernel, lam = self.model.kernel, self.model.lam
        self._posteriors = (
            self.posterior,
            *(GPRegression(kernel, self.X, self.y, ratio * lam) for ratio in self.mixture.grid[1:]),
        )

    def _take_in(self, X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> None:
        for i in range(len(y)):
            self._squared_errors += float((y[i] - self.posterior.at(X[i : i + 1])[0][0]) ** 2)
            super()._take_in(X[i : i + 1], y[i : i + 1])

    @property
    def evidence(self) -> Evidence:
        misfits = np.array([posterior.lam * posterior.quadratic for posterior in self._posteriors])
        # Feedback at equal points enters the misfits by its mean, whenever it came.
        scatter = 0.0
        if len(self.y):
            seen = Observations.of(self.X, self.y)
            scatter = float(self.y @ self.y - seen.counts @ seen.means**2)
        return Evidence(misfits, 0.0, self._squared_errors - scatter)

    def maximise_bound(self, width: float, rng: np.random.Generator) -> Actions:
        return self._maximise(_DualUpperBound(self._posteriors, self.intersected), rng)

    def bounds(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        return intersection((posterior.at(X) for posterior in self._posteriors), self.intersected)


@dataclass(frozen=True)
class _DualUpperBound:
    """`upper` as an `Objective`; where two regularisers give the same bound its gradient is that of the first."""

    posteriors: tuple[GPRegression, ...]
    band: DualBand

    def __call__(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        upper: np.ndarray = intersection((posterior.at(X) for posterior in self.posteriors), self.band)[1]
        return upper

    def with_gradient(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n d"]]:
        upper, gradient = np.full(len(X), np.inf), np.zeros(X.shape)
        for posterior, factors in zip(self.posteriors, self.band.factors.T.tolist()):
            if min(factors) == np.inf:
                continue
            mean, sd, mean_gradient, sd_gradient = posterior.at_with_gradient(X)
            for factor, slack in zip(factors, self.band.slacks):
                if factor == np.inf:
                    continue
                value = mean + factor * sd + slack
                lower = value < upper
                upper[lower] = value[lower]
                gradient[lower] = mean_gradient[lower] + factor * sd_gradient[lower]
        return upper, gradient


def intersection(posteriors: Iterable[tuple[Array, Array]], band: DualBand) -> tuple[Array, Array]:
    """`lower` and `upper`.

    Args:
        posteriors: Mean and variance with each regulariser, each of shape (n,).
        band: Factors and slacks; factors that are infinite are left out.
    """
    known = [(mean, reach + slack) for mean, reach, slack in _reaches(posteriors, band)]
    xp = namespace_of(known[0][0])
    lower = reduce(xp.maximum, [mean - half for mean, half in known])
    upper = reduce(xp.minimum, [mean + half for mean, half in known])
    return lower, upper


def least_upper(posteriors: Iterable[tuple[Array, Array]], band: DualBand) -> Array:
    """`upper` alone, of the mean and variance with each regulariser, at arms."""
    upper: Any = None
    for mean, score, slack in _reaches(posteriors, band):
        score += mean
        if slack:
            score += slack
        upper = score if upper is None else namespace_of(score).minimum(upper, score)
    return upper  # of at least one: lam is never refuted


def _reaches(posteriors: Iterable[tuple[Array, Array]], band: DualBand) -> Iterator[tuple[Array, Array, float]]:
    """Mean, `w_a sd_a`, a new array, and slack of each regulariser and row that the data do not refute.

    Where they refute it in some of many repetitions it is infinite in these.
    """
    many = band.factors.ndim > 2
    for g, (mean, variance) in enumerate(posteriors):
        xp = namespace_of(mean)
        sd = xp.sqrt(variance)
        for p, slack in enumerate(band.slacks):
            factor = band.factors[..., p, g]
            if many:
                yield mean, xp.where(xp.isinf(factor)[:, None], inf, factor[:, None] * sd), slack
            elif (number := float(factor)) < inf:
                yield mean, number * sd, slack
