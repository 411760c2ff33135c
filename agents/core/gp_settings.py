"""GP settings of a policy, and the fields that state them; defaults come from the problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from jaxtyping import Float, Int

from agents.core.guarantees import BandGuarantee
from agents.core.protocol import Feedback
from gpbandit_envs.arguments import as_number, as_variance, as_word, shown
from gpbandit_envs.arrays import Array
from gpbandit_envs.gp import Kernel, as_kernel
from gpbandit_envs.gp.kernels import Matern
from gpbandit_envs.problem import Approximation, InitialData, Problem

if TYPE_CHECKING:  # a schedule knows its beliefs, and they know a model
    from agents.core.widths import WidthSchedule

_NAMES = ("kernel", "lam", "norm_bound", "delta", "initial", "noise")
_LEAST_LAM, _NOISE_FREE = 1e-14, 1e-10  # in largest prior variances

E = TypeVar("E", Feedback, InitialData)

NormBound = float | Literal["double"] | Mapping[str, float] | None
"""A bound; `"double"` to begin with the problem's, or 1, and double what the data refute; `{"double": 0.5}` to begin at
0.5; `{"times": 3.0}` for three times the problem's, or 3; None for the problem's, or 1."""

Regulariser = float | Mapping[str, float] | None
"""The noise variance in the posterior: a number; None for that of the noise; `{"smoothness": c}` for c times that of
the noise times `T^(d / (2 nu + 2 d))`, T the horizon, nu the smoothness of a Matern kernel. So Whitehouse, Ramdas and
Wu (2023), On the sublinear regret of GP-UCB, regularise for eigenvalues that fall like a power; the constant c is no
part of their theorem, and the text could not be consulted."""

Number = Any
"""A number; or one for each of many repetitions, an array of shape (R,), where these play side by side."""

Initial = InitialData | Mapping[str, Any] | None
"""Data from before the first step, on a box `{"points": [[...], ...], "rewards": [...]}` and on arms
`{"arms": [...], "rewards": [...]}`; None for the problem's."""

NoiseOfArms = Literal["common", "by_arm"]
"""Whether the posterior takes one noise variance for all arms, or that of each arm where the problem states it."""


@dataclass(kw_only=True, eq=False, repr=False)
class ModelFields:
    """Prior and noise of a given Gaussian process.

    Args:
        kernel: Prior covariance: spec or kernel; None for the problem's.
        lam: Noise variance in the posterior; None for the problem's `noise_std ** 2`; `{"smoothness": c}` for one that
            grows with the horizon, see `Regulariser`.
    """

    kernel: Any = None
    lam: Regulariser = None


@dataclass(kw_only=True, eq=False, repr=False)
class BandFields:
    """What a confidence width is computed from besides the posterior.

    Args:
        norm_bound: Bound on the RKHS norm; None for the problem's, or 1 if it states none; `{"times": 3.0}` for a
            multiple of it. `UCBAgent`s also take `"double"` on arms, for a guess that the data revise; see
            `agents.core.norm_doubling.NormEstimate`.
        delta: Allowed probability of failure, in (0, 1); None for `1 / horizon`, or 0.05 without a horizon.
    """

    norm_bound: NormBound = None
    delta: float | None = None


@dataclass(frozen=True)
class WidthContext:
    """The inputs of a width schedule, as of the last feedback.

    Attributes:
        t: Number of the next evaluation whose feedback is awaited, `fb[t] + 1 >= 1`.
        n_arms: Number of arms `A`.
        lam: Noise variance in the posterior.
        noise_std: Noise standard deviation `xi`, also used as the sub-Gaussian constant `R`.
        norm_bound: Bound `F` on the RKHS norm.
        delta: Allowed probability of failure.
        prior_variance: `kappa^2`, the largest `k(x, x)`.
        information_gain: `gamma` in nats.
        effective_dimension: `d_eff`.
        sum_log_leverage: `sum_s log(1 + lev_fb(x_s))` over the pulls with feedback.
        sum_log_3_leverage: `sum_s log(1 + 3 lev_fb(x_s))`, likewise.
        batch_ratio: How much a variance may shrink within a batch: `C`, `C~` or 1.
        dim: Number of coordinates `d` of a point, or features of an arm.
    """

    t: int
    n_arms: int
    lam: float
    noise_std: float
    norm_bound: float
    delta: float
    prior_variance: float = 1.0
    information_gain: Number = 0.0
    effective_dimension: Number = 0.0
    sum_log_leverage: Number = 0.0
    sum_log_3_leverage: Number = 0.0
    batch_ratio: float = 1.0
    dim: int = 1


@dataclass(frozen=True)
class Model:
    """The settings of one episode.

    Attributes:
        kernel: Prior covariance.
        lam: Noise variance in the posterior; the largest, where arms have their own.
        noise_std: Noise standard deviation.
        norm_bound: Bound on the RKHS norm, or the first guess at it.
        delta: Allowed probability of failure.
        prior_variance: Largest prior variance of an arm or a point.
        doubling: Whether `norm_bound` is a guess, to be doubled when the data refute it.
        lams: Noise variance of each arm, shape (A,); None where it is `lam` for all.
        pairs: What the policy takes the mean to be near: pairs of a norm and a distance.
    """

    kernel: Kernel
    lam: float
    noise_std: float
    norm_bound: float
    delta: float
    prior_variance: float
    doubling: bool = False
    lams: Float[np.ndarray, " A"] | None = None
    pairs: tuple[Approximation, ...] = ()

    def noise_of(self, arms: Int[np.ndarray, " p"] | slice = slice(None)) -> float | Float[np.ndarray, " p"]:
        """The noise variance of these arms, by default of all: one number where all have the same."""
        return self.lam if self.lams is None else self.lams[arms]

    def width_context(self, problem: Problem, t: int, norm_bound: float | None = None, **facts: Number) -> WidthContext:
        """The inputs of a width schedule at evaluation `t` on `problem`.

        Args:
            problem: The problem description.
            t: Number of the evaluation.
            norm_bound: In place of the one of the settings, where it was doubled.
            facts: Further fields.
        """
        return WidthContext(
            t=t,
            n_arms=0 if problem.arms is None else problem.n_arms,
            dim=problem.dim,
            lam=self.lam,
            noise_std=self.noise_std,
            norm_bound=self.norm_bound if norm_bound is None else norm_bound,
            delta=self.delta,
            prior_variance=self.prior_variance,
            **facts,
        )


class GPSettings:
    """The arguments of a policy, each None to take the value of the problem.

    Args:
        kernel: Spec or kernel.
        lam: Noise variance in the posterior, or how it follows from the problem, see `Regulariser`; else the problem's
            `noise_std ** 2`.
        norm_bound: Bound on the RKHS norm, or a guess to be doubled; see `NormBound`.
        delta: Allowed probability of failure; else `1 / horizon`, or 0.05 without a horizon.
        initial: Existing data, `{"arms": [...], "rewards": [...]}`, on a box with `"points"`; else the problem's.
        noise: `"by_arm"` for the noise variance of each arm, where the problem states them.

    Raises:
        ValueError: if a number is out of range, or `lam` is given to `noise="by_arm"`.
    """

    def __init__(
        self,
        kernel: Any = None,
        lam: Regulariser = None,
        norm_bound: NormBound = None,
        delta: float | None = None,
        initial: Initial = None,
        noise: NoiseOfArms = "common",
    ) -> None:
        self.by_arm = as_word("noise", noise, ("common", "by_arm")) == "by_arm"
        if self.by_arm and lam is not None:
            raise ValueError(f"lam: expected None with noise='by_arm', got {shown(lam)}")
        bound, factor, self.doubling = _stated_norm(norm_bound)
        self.kernel: Kernel | None = None if kernel is None else as_kernel(kernel)
        positive = "a finite number > 0 or None"
        self.smoothness = _smoothness(lam)
        number = None if isinstance(lam, Mapping) else lam
        self.lam = None if number is None else as_variance("lam", number, positive)
        self.norm_bound = None if bound is None else as_number("norm_bound", bound, positive, lambda F: F > 0)
        self.norm_factor = as_number("norm_bound", factor, positive, lambda F: F > 0)
        self.delta = delta
        if delta is not None:
            self.delta = as_number("delta", delta, "a probability in (0, 1) or None", lambda p: 0 < p < 1)
        self.initial = _as_initial(initial)

    @property
    def own_lam(self) -> bool:
        """Whether the noise variance in the posterior is the policy's own."""
        return self.lam is not None or self.smoothness is not None

    @classmethod
    def of(cls, policy: Any) -> GPSettings:
        """The settings among the fields of a policy, which is a dataclass; what it has no field for is the problem's.

        Raises:
            ValueError: if one of them is out of range.
        """
        return cls(**{field.name: getattr(policy, field.name) for field in fields(policy) if field.name in _NAMES})

    def resolve(self, problem: Problem, *, allow_doubling: bool = False) -> Model:
        """The settings on a problem.

        Args:
            problem: The problem description.
            allow_doubling: Whether the policy can double a guess at the norm.

        Raises:
            ValueError: if neither the problem nor an argument states the kernel or the noise, or if the norm bound is a
                guess that the policy cannot double.
        """
        if self.doubling and not allow_doubling:
            raise ValueError("norm_bound: this policy cannot double a guess; give a number")
        kernel = self.kernel if self.kernel is not None else problem.kernel
        if kernel is None:
            raise ValueError(f"kernel: {problem.name} offers none; give one, e.g. {{'name': 'se', 'lengthscale': 1.0}}")
        if problem.noise_std is None and self.lam is None:
            raise ValueError(f"lam: {problem.name} does not state its noise_std; give lam, the variance of the noise")
        # On a box no kernel of ours has a larger variance than at the corner farthest from the origin.
        at = np.ones((1, problem.dim)) if problem.arms is None else problem.arms
        with np.errstate(over="ignore", invalid="ignore"):
            kernel(at[:1], at[:1])  # refuses lengthscales of another dimension, before any evaluation
            largest = float(kernel.diag(at).max())
        as_variance("kernel", largest, "a largest prior variance that is finite and > 0")
        noise_std = sqrt(self.lam or 0.0) if problem.noise_std is None else problem.noise_std
        if self.lam is not None and self.lam < _LEAST_LAM * largest:
            raise ValueError(
                f"lam: expected at least {_LEAST_LAM:g} of the largest prior variance, {largest:g}, as rounding is "
                f"larger than less, got {self.lam!r}"
            )
        lam = self._regulariser(kernel, problem)
        lams = None
        if self.by_arm and problem.noise_stds is not None:
            lams = np.maximum(problem.noise_stds**2, _NOISE_FREE * largest)
            noise_std = sqrt(lams.max())
        return Model(
            kernel=kernel,
            # Noise-free feedback: the posterior still needs a positive lam, here well above rounding.
            lam=lam if lam is not None else max(noise_std**2, _NOISE_FREE * largest),
            noise_std=noise_std,
            norm_bound=self.norm_bound or self.norm_factor * (problem.norm_bound or 1.0),
            delta=self.delta_on(problem),
            prior_variance=largest,
            doubling=self.doubling,
            lams=lams,
            pairs=self.pairs_on(problem),
        )

    def _regulariser(self, kernel: Kernel, problem: Problem) -> float | None:
        """The noise variance in the posterior, where it is not that of the noise."""
        if self.smoothness is None:
            return self.lam
        bare = kernel.unscaled
        if not isinstance(bare, Matern):
            raise ValueError(f"lam: expected a number where the kernel is not Matern, got 'smoothness' with {kernel}")
        if problem.horizon is None or not problem.noise_std:
            raise ValueError(
                f"lam: 'smoothness' needs a horizon and a noise_std > 0, {problem.name} states {problem.horizon} and "
                f"{problem.noise_std}"
            )
        power = problem.dim / (2 * bare.nu + 2 * problem.dim)
        return float(self.smoothness * problem.noise_std**2 * problem.horizon**power)

    def pairs_on(self, problem: Problem) -> tuple[Approximation, ...]:
        """What the policy takes the mean to be near: the problem's pairs, unless it has a norm of its own.

        A norm of its own comes with the distance that the problem states for it; of a norm below all of them no
        distance is known, and the first is taken.
        """
        sup = problem.misspecification.get("sup", 0.0)
        stated = problem.pairs
        if self.norm_bound is not None:
            within = [pair.distance for pair in stated if pair.norm <= self.norm_bound] or [
                pair.distance for pair in stated[:1]
            ]
            return (Approximation(self.norm_bound, min(within, default=sup)),)
        return tuple(
            Approximation(self.norm_factor * pair.norm, pair.distance) for pair in stated or (Approximation(1.0, sup),)
        )

    def delta_on(self, problem: Problem) -> float:
        """The failure probability on a problem."""
        return self.delta or (1 / problem.horizon if problem.horizon is not None and problem.horizon > 1 else 0.05)

    def band_guarantee(
        self, width: str, schedule: WidthSchedule, delta: float, unmet: str = "", refuted: bool = False
    ) -> BandGuarantee:
        """The guarantee that a policy with these settings states for its confidence band.

        Args:
            width: The policy's setting of its width, as text.
            schedule: The schedule behind it.
            delta: Failure probability.
            unmet: Condition of the schedule's theorem that the policy does not meet.
            refuted: Whether the data refute what the policy was given.
        """
        return BandGuarantee(
            width=width,
            delta=delta,
            assumes=schedule.assumes,
            theorem=schedule.theorem,
            unmet="" if schedule.assumes is None else schedule.unmet or unmet,
            own_model=self.kernel is not None or (self.own_lam and not schedule.any_lam),
            norm_bound=self.norm_bound,
            norm_factor=self.norm_factor,
            doubles_norm=self.doubling,
            refuted=refuted,
            tolerates=schedule.tolerates,
            gaussian_noise=schedule.gaussian_noise,
        )


def _stated_norm(norm_bound: NormBound) -> tuple[float | None, float, bool]:
    """The number in a `NormBound`, if there is one, the factor of the problem's, and whether it is to be doubled."""
    if isinstance(norm_bound, str) and norm_bound == "double":
        return None, 1.0, True
    if isinstance(norm_bound, Mapping):
        if set(norm_bound) == {"double"}:
            return norm_bound["double"], 1.0, True
        if set(norm_bound) == {"times"}:
            return None, norm_bound["times"], False
        raise ValueError(
            "norm_bound: expected a mapping such as {'double': 0.5} or {'times': 3.0}, got " + shown(norm_bound)
        )
    if isinstance(norm_bound, str):
        raise ValueError(f"norm_bound: expected a number, 'double' or None, got {norm_bound!r}")
    return norm_bound, 1.0, False


def _smoothness(lam: Regulariser) -> float | None:
    """The constant in a `lam` that follows from the smoothness; None for any other."""
    if not isinstance(lam, Mapping):
        return None
    if set(lam) != {"smoothness"}:
        raise ValueError("lam: expected a number, a mapping such as {'smoothness': 1.0} or None, got " + shown(lam))
    return as_number("lam", lam["smoothness"], "a finite constant > 0", lambda c: c > 0)


def _as_initial(initial: Initial) -> InitialData | None:
    """The data that an argument `initial` stands for."""
    if initial is None or isinstance(initial, InitialData):
        return initial
    if not isinstance(initial, Mapping):
        raise TypeError(f"initial: expected {{'arms' or 'points': [...], 'rewards': [...]}} or None, got {initial!r}")
    if set(initial) not in ({"arms", "rewards"}, {"points", "rewards"}):
        raise ValueError(
            f"initial: expected the keys 'arms' (on a box 'points') and 'rewards', got {sorted(map(str, initial))}"
        )
    try:
        return InitialData(**{key: np.asarray(values) for key, values in initial.items()})
    except ValueError as error:
        raise ValueError(f"initial: {error}") from None


# The constant prior mean of a problem: policies with a given kernel play on feedback less it, and predict with it.
# Nothing else in them knows of it, since no choice by a posterior changes where all of it is moved by one number.


def centred(evaluations: E, problem: Problem) -> E:
    """The same evaluations with rewards less the prior mean; the very same where it is 0."""
    if problem.prior_mean == 0:
        return evaluations
    return replace(evaluations, rewards=evaluations.rewards - problem.prior_mean)


def uncentred(mean: Array, problem: Problem) -> Array:
    """A posterior mean of centred feedback, in units of the reward."""
    return mean if problem.prior_mean == 0 else mean + problem.prior_mean
