"""Confidence-width schedules: every one multiplies the posterior standard deviation and cites its source.

| symbol | meaning |
|---|---|
| `F` | bound on the RKHS norm of the mean |
| `R`, `xi` | scale of the noise: sub-Gaussian constant, standard deviation |
| `lam` | noise variance in the posterior |
| `lev` | ridge leverage score `var / lam`; `lev_fb(x_s)`: at the start of the batch in which x_s was chosen |
| `gamma` | information gain of the pulls, `0.5 logdet(I + K_t / lam)` |
| `d_eff` | `sum_s lev_t(x_s)` over all pulls |

Papers differ in what their beta multiplies: GP-BUCB and BPE write `beta^(1/2) sigma`, BKB and BBKB `beta sqrt(lev)`.
The conversion to a factor of the standard deviation (`sqrt(beta)`, `beta / sqrt(lam)`) happens here and nowhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from math import pi
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from agents.core.beliefs import ArmBeliefs, BoxBeliefs, ExactBeliefs
from agents.core.gp_settings import Model, Number, WidthContext
from agents.core.guarantees import Assumption, Deviation
from agents.core.many_beliefs import ManyBeliefs, Room
from agents.core.space import Search
from gpbandit_envs.arguments import as_number, positive_number, shown
from gpbandit_envs.arrays import at_least, log, sqrt
from gpbandit_envs.problem import InitialData, Problem

__all__ = [
    "SEQUENTIAL_WIDTHS",
    "AbbasiYadkori",
    "AnalyticMixture",
    "CompactBayes",
    "Constant",
    "EffectiveDimension",
    "FiniteBayes",
    "InformationGain",
    "LogDeterminant",
    "Logarithmic",
    "NonAdaptive",
    "Scaled",
    "TwoSidedNonAdaptive",
    "WidthContext",
    "WidthSchedule",
    "as_width",
    "width_setting",
]


class WidthSchedule(ABC):
    """A confidence width as a function of the data so far.

    Attributes:
        assumes: What the theorem behind the width assumes of the mean function, besides the true kernel and
            sub-Gaussian noise; None where no theorem says that such a band holds, or where it asks for more than that.
        theorem: Source of that theorem; "" without one.
        unmet: Condition of the theorem that a band at all arms or points never meets; "" if there is none.
        sketch_eps: Accuracy of the dictionary in a theorem about a sketched posterior, in (0, 1); None where the
            theorem is about the exact one.
        gaussian_noise: Whether the band is proven for Gaussian noise alone, instead of all that is sub-Gaussian.
        any_lam: Whether it is proven for every noise variance in the posterior, instead of that of the noise alone.
        depends_on_pulls: Whether it reads information gain, effective dimension or leverage scores of the pulls; False
            if it depends only on `t` and the problem, as is needed for batches that are planned before their pulls.
        counts_arms: Whether it is a bound of all arms together, and means nothing on a box.
        sides: Bounds on the tail of one arm that a bound of all arms adds up.
        chosen_blindly: Which pulls the theorem wants chosen without feedback: `"all"`, those of a `"batch"` without
            that of the batch, or none, `""`.
        tolerates: What the band holds in spite of; see `BandGuarantee`.
        regret_as: The width whose bound on the regret of GP-UCB holds with this one, by its name there; "" if none.
    """

    assumes: ClassVar[Assumption | None] = None
    theorem: ClassVar[str] = ""
    unmet: ClassVar[str] = ""
    sketch_eps: float | None = None
    gaussian_noise: ClassVar[bool] = False
    any_lam: ClassVar[bool] = False
    depends_on_pulls: ClassVar[bool] = True
    counts_arms: ClassVar[bool] = False
    sides: ClassVar[int] = 1
    chosen_blindly: ClassVar[Literal["", "batch", "all"]] = ""
    tolerates: ClassVar[frozenset[Deviation]] = frozenset()
    regret_as: ClassVar[Literal["theory", "amm", ""]] = "theory"

    @abstractmethod
    def __call__(self, context: WidthContext) -> Number:
        """Factor of the posterior standard deviation, >= 0; one for each repetition where the context has so many."""

    def now(self, context: Callable[[], WidthContext]) -> Number:
        """The width, given a function that computes its inputs: they cost a fifteenth of a step on 4,000 arms."""
        return self(context())

    def in_batch(self, number: int, n_batches: int) -> WidthSchedule:
        """The width in batch `number`, from 1, of `n_batches` that are planned in advance."""
        return self

    def arm_beliefs(self, problem: Problem, model: Model, data: InitialData | None) -> ArmBeliefs[Any]:
        """The posterior over all arms on which GP-UCB plays it, given existing data; None for none."""
        return ExactBeliefs(problem, model, data)

    def box_beliefs(self, problem: Problem, model: Model, search: Search, data: InitialData | None) -> BoxBeliefs:
        """The same on a box, which is searched as `search` says."""
        return BoxBeliefs(problem, model, search, data)

    @property
    def takes_arrays(self) -> bool:
        """Whether the formula takes the numbers of many repetitions, by `gpbandit_envs.arrays`; those here do."""
        return type(self).__module__.startswith("agents.")

    def many_beliefs(self, problem: Problem, model: Model, room: Room) -> ManyBeliefs:
        """The same of many repetitions on arms."""
        return ManyBeliefs(problem, model, room)

    def check_policy(self, upper_bound_alone: bool, doubling: bool) -> None:  # noqa: B027
        """Raise where a policy cannot play it.

        Args:
            upper_bound_alone: Whether the policy plays one evaluation at a time, by the upper bound of these beliefs.
            doubling: Whether the norm bound is a guess to be doubled.

        Raises:
            ValueError: that says why.
        """

    def unmet_on_sketch(self, prior_variance: float, lam: float) -> str:
        """Which condition of a theorem about a sketched posterior kernel and noise do not meet; "" if none."""
        return ""

    @property
    def settings(self) -> list[str]:
        """What a mapping with its name may set."""
        return [*(field.name for field in dataclass_fields(self)), "scale"]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Constant(WidthSchedule):
    """The same width at every step, as in many experiments.

    Attributes:
        value: The width, >= 0.
    """

    depends_on_pulls: ClassVar[bool] = False

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "value", as_number("width", self.value, "a finite number >= 0", lambda width: width >= 0)
        )

    def __call__(self, context: WidthContext) -> Number:
        return self.value

    def now(self, context: Callable[[], WidthContext]) -> Number:
        return self.value


@dataclass(frozen=True)
class FiniteBayes(WidthSchedule):
    """`C sqrt(2 log(A t^2 pi^2 / (6 delta)))` for a draw from the prior on a finite set.

    Reference: Desautels et al. (2012), Theorem 1, case 1; Srinivas et al. (2010), Theorem 1.
    """

    assumes = "prior"
    theorem = "Srinivas et al. (2010), Theorem 1"
    gaussian_noise: ClassVar[bool] = True
    depends_on_pulls: ClassVar[bool] = False
    counts_arms: ClassVar[bool] = True

    def __call__(self, context: WidthContext) -> Number:
        c = context
        return c.batch_ratio * sqrt(2 * log(c.n_arms * c.t**2 * pi**2 / (6 * c.delta)))


@dataclass(frozen=True)
class Logarithmic(WidthSchedule):
    """`C sqrt(3 log(2 t))`, for comparison: no theorem stands behind it.

    Reference: Li and Scarlett (2022), section 5, their `beta_i = 3 log(2 i)` with every evaluation a batch.
    """

    depends_on_pulls: ClassVar[bool] = False

    def __call__(self, context: WidthContext) -> Number:
        return context.batch_ratio * sqrt(3 * log(2 * context.t))


@dataclass(frozen=True)
class CompactBayes(WidthSchedule):
    """`C sqrt(2 log(2 t^2 pi^2 / (3 delta)) + 2 d log(t^2 d b r sqrt(log(4 d a / delta))))` on a draw over `[0, r]^d`.

    The theorem bounds the regret: in its proof the band holds at the evaluated points and on a grid that grows finer,
    up to `1 / t^2`, and not at all points. So no theorem guarantees the band of `Agent.predict`.

    Reference: Desautels et al. (2012), Theorem 1, case 2; Srinivas et al. (2010), Theorem 2.

    Attributes:
        a: Constant of the assumption `P(sup |df / dx_j| > L) <= a exp(-(L / b)^2)` on the paths' slopes, > 0.
        b: Scale of the slopes in it, > 0, unit of the reward. The theorem needs the true one; it stands inside a
            logarithm.
        side: Side `r` of the cube, > 0; arms that are no box lie in one.
    """

    assumes = "prior"
    theorem = "Srinivas et al. (2010), Theorem 2"
    unmet = "its theorem covers a grid and the evaluated points, with constants of the slopes that are not known"
    gaussian_noise: ClassVar[bool] = True
    depends_on_pulls: ClassVar[bool] = False

    a: float = 1.0
    b: float = 1.0
    side: float = 1.0

    def __post_init__(self) -> None:
        for name in ("a", "b", "side"):
            object.__setattr__(self, name, positive_number(name, getattr(self, name)))

    def __call__(self, context: WidthContext) -> Number:
        c, d = context, context.dim
        cover = c.t**2 * d * self.b * self.side * sqrt(at_least(log(4 * d * self.a / c.delta), 0.0))
        radius = 2 * log(2 * c.t**2 * pi**2 / (3 * c.delta)) + 2 * d * log(at_least(cover, 1.0))
        return c.batch_ratio * sqrt(radius)


@dataclass(frozen=True)
class InformationGain(WidthSchedule):
    """`C (F + R / sqrt(lam) sqrt(2 (gamma + 1 + log(1 / delta))))` with the gain of the pulls themselves.

    Reference: Chowdhury and Gopalan (2017), Theorem 2, with `lam = 1 + 2 / T` there, which its 1 pays for. It holds for
    any `lam`, since it is never below `AnalyticMixture`.
    """

    assumes = "norm"
    theorem = "Chowdhury and Gopalan (2017), Theorem 2"
    any_lam: ClassVar[bool] = True

    def __call__(self, context: WidthContext) -> Number:
        c = context
        radius = sqrt(2 * (c.information_gain + 1 + log(1 / c.delta)))
        return c.batch_ratio * (c.norm_bound + c.noise_std / sqrt(c.lam) * radius)


@dataclass(frozen=True)
class AbbasiYadkori(WidthSchedule):
    """`C (F + R / sqrt(lam) sqrt(2 gamma + 2 log(1 / delta)))` with the gain of the pulls themselves, for any `lam`.

    The ellipsoid for linear bandits, with a kernel for the inner product; by `sqrt(a^2 + b^2) <= a + b` never below
    `AnalyticMixture` at the same `lam`. Whitehouse, Ramdas and Wu (2023) use it with a `lam` that grows with the
    horizon, `{"smoothness": c}` of `agents.core.gp_settings.Regulariser`.

    Reference: Abbasi-Yadkori, Pal and Szepesvari (2011), Improved algorithms for linear stochastic bandits, Theorem 2;
    Abbasi-Yadkori (2012), Online learning for linearly parametrized control problems, Corollary 3.15, in a Hilbert
    space.
    """

    assumes = "norm"
    theorem = "Abbasi-Yadkori et al. (2011), Theorem 2"
    any_lam: ClassVar[bool] = True

    def __call__(self, context: WidthContext) -> Number:
        c = context
        return c.batch_ratio * (c.norm_bound + c.noise_std / sqrt(c.lam) * sqrt(log_ratio_of(c)))


@dataclass(frozen=True)
class AnalyticMixture(WidthSchedule):
    """AMM: `C sqrt(F^2 + R^2 / lam (2 gamma + 2 log(1 / delta)))` with the gain of the pulls themselves, for any `lam`.

    By `sqrt(a^2 + b^2) <= a + b` never above `F + R / sqrt(lam) sqrt(2 (gamma + log(1 / delta)))`, and so always below
    `InformationGain`.

    Reference: Flynn and Reeb (2025), Tighter confidence bounds for sequential kernel regression, the AMM bound.
    """

    assumes = "norm"
    theorem = "Flynn and Reeb (2025), AMM"
    any_lam: ClassVar[bool] = True
    regret_as: ClassVar[Literal["theory", "amm", ""]] = "amm"

    def __call__(self, context: WidthContext) -> Number:
        c = context
        return c.batch_ratio * sqrt(c.norm_bound**2 + c.noise_std**2 / c.lam * log_ratio_of(c))


def log_ratio_of(c: WidthContext) -> Number:
    """`2 gamma + 2 log(1 / delta)`."""
    return 2 * (c.information_gain + log(1 / c.delta))


@dataclass(frozen=True)
class EffectiveDimension(WidthSchedule):
    """`C (F + xi / sqrt(lam) sqrt(log(t) d_eff + log(1 / delta)))`: practical, without the constants of the theorems.

    No theorem stands behind it, and it need not be narrow: `log(t) d_eff` is mostly more than the `2 gamma` of
    `InformationGain`, and the band then wider than the proven one.

    Reference: the form in which BKB, with `C = 1`, is run in the experiments of Calandriello et al. (2020). For GP-UCB,
    whose width there is not known, it is carried over.
    """

    def __call__(self, context: WidthContext) -> Number:
        c = context
        radius = sqrt(log(c.t) * c.effective_dimension + log(1 / c.delta))
        return c.batch_ratio * (c.norm_bound + c.noise_std / sqrt(c.lam) * radius)


@dataclass(frozen=True)
class LogDeterminant(WidthSchedule):
    """`F + xi / sqrt(lam) sqrt(C~ sum_s log(1 + lev_fb(x_s)) + log(1 / delta))`: practical, also within batches.

    The sum begins with the first pull, or with existing data, as in Theorem 2. The authors' code begins it at
    `log(t) d_eff` of two random arms, or of the existing data, so that its first widths are others.

    Reference: the form in which BBKB is run in the experiments of Calandriello et al. (2020).
    """

    def __call__(self, context: WidthContext) -> Number:
        c = context
        radius = sqrt(c.batch_ratio * c.sum_log_leverage + log(1 / c.delta))
        return c.norm_bound + c.noise_std / sqrt(c.lam) * radius


@dataclass(frozen=True)
class NonAdaptive(WidthSchedule):
    """`F + R / sqrt(lam) sqrt(2 log(A t^2 pi^2 / (6 delta)))`, at all times, for arms chosen without any feedback.

    The theorem is about one arm, one time and one side of the band; the logarithm is that of a union over the arms and
    over all times. Both sides need no factor of 2 where noise is Gaussian; see `TwoSidedNonAdaptive` for other noise.

    Reference: Vakili et al. (2021), Theorem 1; Garnett (2023), Bayesian optimization, section 10.5, for the union.
    """

    assumes = "norm"
    theorem = "Vakili et al. (2021), Theorem 1"
    gaussian_noise: ClassVar[bool] = True
    depends_on_pulls: ClassVar[bool] = False
    counts_arms: ClassVar[bool] = True
    chosen_blindly: ClassVar[Literal["", "batch", "all"]] = "all"

    def __call__(self, context: WidthContext) -> Number:
        c = context
        return c.norm_bound + c.noise_std / sqrt(c.lam) * sqrt(2 * log(self.odds(c)))

    def odds(self, context: WidthContext) -> float:
        """Number of events in the union over `delta`."""
        return self.sides * context.n_arms * context.t**2 * pi**2 / (6 * context.delta)


@dataclass(frozen=True)
class TwoSidedNonAdaptive(NonAdaptive):
    """`NonAdaptive` with `2 A` for `A`, for all sub-Gaussian noise."""

    gaussian_noise: ClassVar[bool] = False
    sides: ClassVar[int] = 2


@dataclass(frozen=True)
class Scaled(WidthSchedule):
    """`scale` times another width, as experiments narrow those of theorems; no theorem says that such a band holds.

    Attributes:
        schedule: The width that is scaled.
        scale: Factor, > 0.
    """

    schedule: WidthSchedule
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_number("scale", self.scale))
        for name in ("depends_on_pulls", "counts_arms"):
            object.__setattr__(self, name, getattr(self.schedule, name))

    @property
    def takes_arrays(self) -> bool:
        return self.schedule.takes_arrays

    def __call__(self, context: WidthContext) -> Number:
        return self.scale * self.schedule(context)

    def in_batch(self, number: int, n_batches: int) -> WidthSchedule:
        return replace(self, schedule=self.schedule.in_batch(number, n_batches))


SEQUENTIAL_WIDTHS: Mapping[str, WidthSchedule] = MappingProxyType(
    {
        "theory": InformationGain(),
        "amm": AnalyticMixture(),
        "practical": EffectiveDimension(),
        "bayes": FiniteBayes(),
        "growing": Logarithmic(),
        "ay": AbbasiYadkori(),
    }
)
"""The named widths of GP-UCB on arms, and of all whose width is GP-UCB's.

They are wide: within a few dozen evaluations a policy that plays them hardly does better than uniform sampling. See
`GPUCB` for what a number such as 1.0 does."""


def width_setting(width: object) -> str:
    """The argument `width` of a policy as text: a name, `scale x name`, a name with settings, or a number.

    It is "" for a schedule.
    """
    if isinstance(width, str):
        return width
    if isinstance(width, Mapping):
        others = ", ".join(f"{key} {_text(value)}" for key, value in width.items() if key not in ("name", "scale"))
        scaled = f"{float(width['scale']):.3g} x " if "scale" in width else ""
        return f"{scaled}{width['name']}" + (f" ({others})" if others else "")
    return f"{float(width):g}" if not isinstance(width, bool) and isinstance(width, Real) else ""


def as_width(width: object, named: Mapping[str, WidthSchedule]) -> WidthSchedule:
    """The schedule given by a number, a name, a name with settings, or a schedule.

    Args:
        width: Such as `1.96`, `"dmm"`, `{"name": "dmm", "grid": [1, 10]}` or `{"name": "theory", "scale": 0.5}`.
        named: The schedules behind the names.

    Raises:
        TypeError: if it is none of these.
        ValueError: for an unknown name or setting, or a negative number.
    """
    if isinstance(width, WidthSchedule):
        return width
    wanted = f"one of {', '.join(map(repr, named))}, a number or a schedule"
    if isinstance(width, str):
        if width in named:
            return named[width]
        raise ValueError(f"width: expected {wanted}, got {width!r}")
    if isinstance(width, Mapping):
        return _with_settings(dict(width), named, wanted)
    if not isinstance(width, bool) and isinstance(width, Real):
        number: Any = width
        return Constant(number if isinstance(number, int) else float(number))  # an int may be beyond any float
    raise TypeError(f"width: expected {wanted}, got {shown(width)}")


def _with_settings(width: dict[str, Any], named: Mapping[str, WidthSchedule], wanted: str) -> WidthSchedule:
    name = width.pop("name", None)
    if not isinstance(name, str) or name not in named:
        raise ValueError(f"width: expected {wanted}, got {{'name': {name!r}}}")
    schedule = named[name]
    unknown = sorted(map(str, set(width) - set(schedule.settings)))
    if unknown:
        raise ValueError(f"width: {name!r} has {', '.join(schedule.settings)}, got {', '.join(unknown)}")
    scale = width.pop("scale", None)
    if isinstance(width.get("grid"), list):
        width["grid"] = tuple(width["grid"])
    schedule = replace(schedule, **width)  # type: ignore[type-var]
    return schedule if scale is None else Scaled(schedule, scale)


def _text(value: object) -> str:
    return " ".join(f"{part:g}" for part in value) if isinstance(value, (list, tuple)) else str(value)
