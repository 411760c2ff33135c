"""Noise models, injected into environments.

A model has two halves so that every policy meets the same noise at its t-th evaluation: `draw` samples what does
not depend on the action, one number an evaluation, and `reward` turns mean, action and variate into a reward. Both
halves give the same bits one by one and in arrays.

| symbol | meaning | unit |
|---|---|---|
| `f` | mean of the action | unit of y |
| `xi` | standard deviation | unit of y |
| `z` | variate | none |
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.arguments import as_number, moderate, positive_number, shown
from gpbandit_envs.problem import NoiseTails

Values = TypeVar("Values", float, np.ndarray)


class Noise(ABC):
    """A noise model: how the mean of an action becomes a noisy reward."""

    name: ClassVar[str]
    homoscedastic: ClassVar[bool] = True
    """Whether the law of the noise is the same for every action."""
    std: float
    """Standard deviation stated to policies, unit of y."""
    stds: Float[np.ndarray, " A"] | None = None
    """That of each arm, shape `(A,)`, stated too; None where it is the same for all, or not stated."""

    @property
    def tails(self) -> NoiseTails | None:
        """The sub-Gaussian constant of the noise of every action; None if it has none, or none that is known."""
        return None

    def on(self, arms: Float[np.ndarray, "A d"] | None) -> Noise:
        """The model on these arms, or on a box if None; itself, unless it depends on them."""
        return self

    def among(self, arms: Int[np.ndarray, " n"]) -> Noise:
        """The model on these arms alone of those that it is on; itself, unless it depends on them."""
        return self

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, " n"]:
        """The next `n` variates, by default standard normal; blocks of any size give the same sequence."""
        return rng.standard_normal(n)

    @abstractmethod
    def reward(self, mean: Values, action: Any, variate: Values) -> Values:
        """The reward of `action`, or of an array of actions."""

    def to_spec(self) -> dict[str, Any]:
        """JSON form, accepted by `as_noise`, which needs the replicates too where the name is table."""
        return {"name": self.name, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class _Additive(Noise):
    """`y = f + xi z` with `z` of mean 0 and variance 1."""

    std: float

    def __post_init__(self) -> None:
        _check(self, "std", "noise_std")

    def reward(self, mean: Values, action: Any, variate: Values) -> Values:
        return mean + self.std * variate


@dataclass(frozen=True)
class GaussianNoise(_Additive):
    """`y = f + xi z`, `z ~ N(0, 1)`; `R`-sub-Gaussian with `R = xi`.

    Attributes:
        std: Standard deviation `xi >= 0`.
    """

    name: ClassVar[str] = "gaussian"

    @property
    def tails(self) -> NoiseTails:
        return NoiseTails(self.std, gaussian=True)


@dataclass(frozen=True)
class BoundedNoise(_Additive):
    """`y = f + xi z`, `z` uniform on `[-sqrt 3, sqrt 3]`; sub-Gaussian with `R = xi`, the least constant possible.

    With `s = sqrt 3 a xi`, `E exp(a xi z) = sinh(s) / s = sum_k s^(2k) / (2k + 1)!`. Since `(2k + 1)! >= 6^k k!`, this
    is at most `exp(s^2 / 6) = exp(a^2 xi^2 / 2)`.

    Attributes:
        std: Standard deviation `xi >= 0`.
    """

    name: ClassVar[str] = "bounded"

    @property
    def tails(self) -> NoiseTails:
        return NoiseTails(self.std, gaussian=self.std == 0)

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, " n"]:
        return rng.uniform(-math.sqrt(3), math.sqrt(3), n)


@dataclass(frozen=True)
class StudentTNoise(_Additive):
    """`y = f + xi z`, `z` Student-t with `df` degrees of freedom scaled to variance 1; not sub-Gaussian.

    Attributes:
        std: Standard deviation `xi >= 0`.
        df: Degrees of freedom, > 2 so that the variance exists.
    """

    df: float = 3.0
    name: ClassVar[str] = "student_t"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "df", as_number("df", self.df, "a finite number > 2", lambda df: df > 2))

    @property
    def tails(self) -> NoiseTails | None:
        return None if self.std > 0 else NoiseTails(0.0, gaussian=True)

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, " n"]:
        return rng.standard_t(self.df, n) * math.sqrt((self.df - 2) / self.df)


@dataclass(frozen=True)
class HeteroscedasticNoise(Noise):
    """`y = f + sqrt(xi^2 + (rho f)^2) z`, `z ~ N(0, 1)`: a constant error and one proportional to the signal.

    It is Gaussian for every action, but its constant is as unknown as the largest mean: policies are told `xi`, the
    least that an action may have.

    Attributes:
        std: Standard deviation `xi >= 0` where the mean is 0.
        relative: Proportional part `rho >= 0`, no unit.
    """

    std: float
    relative: float = 0.5
    name: ClassVar[str] = "heteroscedastic"
    homoscedastic: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check(self, "std", "noise_std")
        _check(self, "relative", "relative")

    @property
    def tails(self) -> NoiseTails | None:
        return None if self.relative > 0 else NoiseTails(self.std, gaussian=True)

    def reward(self, mean: Values, action: Any, variate: Values) -> Values:
        proportional = self.relative * mean
        variance = self.std * self.std + proportional * proportional
        # Both square roots are correctly rounded, so that floats and arrays agree to the bit.
        return mean + (math.sqrt(variance) if isinstance(variance, float) else np.sqrt(variance)) * variate


@dataclass(frozen=True, eq=False)
class ArmNoise(Noise):
    """`y = f + xi(x) z`, `z ~ N(0, 1)`, with a standard deviation for each arm that policies are told.

    It is `low^(1 - s) high^s`, where s goes from 0 to 1 along the first feature; or any number for each arm.

    Attributes:
        low: Standard deviation at the arm of smallest first feature, > 0; None with `stds`.
        high: That at the arm of largest first feature, > 0; None with `stds`.
        stds: That of each arm in turn, each >= 0, some > 0; from `on(arms)` on always known, shape `(A,)`.
        std: The largest of them: the noise of every arm is `std`-sub-Gaussian.
    """

    low: float | None = None
    high: float | None = None
    stds: Any = None
    name: ClassVar[str] = "by_arm"
    homoscedastic: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if (self.stds is None) == (self.low is None) or (self.low is None) != (self.high is None):
            raise ValueError("noise: expected low and high, or stds, of a model by_arm")
        if self.stds is None:
            for name in ("low", "high"):
                object.__setattr__(self, name, positive_number(name, getattr(self, name)))
            return
        try:
            stds = np.array(self.stds, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"stds: expected a number for each arm, got {shown(self.stds)}") from None
        if stds.ndim != 1 or not (moderate(stds) and (stds >= 0).all() and (stds > 0).any()):
            raise ValueError(f"stds: expected finite numbers >= 0, one an arm and some of them > 0, got {shown(stds)}")
        self._keep(stds)

    def _keep(self, stds: Float[np.ndarray, " A"]) -> None:
        stds.flags.writeable = False
        object.__setattr__(self, "stds", stds)

    @property
    def std(self) -> float:  # type: ignore[override]
        if self.low is None or self.high is None:
            return float(self.stds.max())
        return max(self.low, self.high)

    @property
    def tails(self) -> NoiseTails:
        return NoiseTails(self.std, gaussian=True)

    def on(self, arms: Float[np.ndarray, "A d"] | None) -> ArmNoise:
        """The model with the standard deviation of each of these arms.

        Raises:
            ValueError: on a box, or if there are more or fewer arms than `stds`.
        """
        if arms is None:
            raise ValueError("noise: expected a model other than by_arm on a box, which has no arms")
        if self.low is not None:
            x = arms[:, 0]
            s = (x - x.min()) / (np.ptp(x) or 1.0)
            assert self.high is not None
            bound = ArmNoise(self.low, self.high)
            bound._keep(self.low ** (1 - s) * self.high**s)
            return bound
        if len(self.stds) != len(arms):
            raise ValueError(f"stds: expected {len(arms)} numbers, one an arm, got {len(self.stds)}")
        return self

    def among(self, arms: Int[np.ndarray, " n"]) -> ArmNoise:
        found = copy.copy(self)
        found._keep(self.stds[arms])  # all of these may be 0
        return found

    def reward(self, mean: Values, action: Any, variate: Values) -> Values:
        if isinstance(mean, float):
            return mean + self.stds.item(action) * variate
        return mean + self.stds[action] * variate

    def to_spec(self) -> dict[str, Any]:
        """JSON form, without what the arms determine."""
        if self.low is None:
            return {"name": self.name, "stds": self.stds.tolist()}
        return {"name": self.name, "low": self.low, "high": self.high}


class TableNoise(Noise):
    """The reward is one of the real replicates of the arm, each as likely as the other: `y = Y[arm, floor(z n_arm)]`.

    The standard deviation of each arm's reward is thereby known exactly, and stated: that of its replicates, dividing
    by their number; 0 for an arm with one. Where no arm has two nothing is stated: each returns its value every time,
    and how far another measurement would be from it is not known. By Hoeffding's lemma the noise of an arm is
    sub-Gaussian with half the range of its replicates, mostly more than the deviation that is stated.

    Args:
        replicates: Measured values, shape (A, R); NaN where an arm has fewer than R, and at least one an arm.

    Raises:
        ValueError: if an arm has no replicate.
    """

    name: ClassVar[str] = "table"
    homoscedastic: ClassVar[bool] = False

    def __init__(self, replicates: Float[np.ndarray, "A R"]) -> None:
        present = ~np.isnan(replicates)
        self._counts = present.sum(axis=1)
        if (self._counts == 0).any():
            raise ValueError(f"replicates: arm {int(np.argmin(self._counts))} has none")
        # Replicates first, gaps last, so that the first n_arm columns of a row are its replicates.
        order = np.argsort(~present, axis=1, kind="stable")
        self._values = np.take_along_axis(np.asarray(replicates, np.float64), order, axis=1)
        self.std = _pooled_std(replicates, self._counts)
        self.stds = np.nanstd(self._values, axis=1)
        self.stds.flags.writeable = False
        constant = 0.5 * float((np.nanmax(self._values, axis=1) - np.nanmin(self._values, axis=1)).max())
        self._tails = NoiseTails(constant, gaussian=constant == 0)

    @property
    def tails(self) -> NoiseTails:
        return self._tails

    def among(self, arms: Int[np.ndarray, " n"]) -> TableNoise:
        return TableNoise(self._values[arms])

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, " n"]:
        return rng.random(n)

    def reward(self, mean: Values, action: Any, variate: Values) -> Values:
        if isinstance(mean, float):
            return float(self._values[action, int(variate * self._counts[action])])
        columns = (variate * self._counts[action]).astype(np.int64)
        values: np.ndarray = self._values[action, columns]
        return values

    def to_spec(self) -> dict[str, Any]:
        return {"name": self.name}


def as_noise(noise: Noise | Mapping[str, Any] | str | None, std: float, table: TableNoise | None = None) -> Noise:
    """The noise model that a model, a spec such as `{"name": "student_t", "df": 3}` or a name stands for.

    Args:
        noise: A model, kept as it is; a spec or a name from gaussian, bounded, student_t, heteroscedastic, by_arm; None
            for Gaussian.
        std: Standard deviation where the spec states none, and the model does not have one for each arm.
        table: What the name table stands for; None where there are no replicates, and then there is no such name.

    Raises:
        TypeError: if it is none of these, or has an unknown parameter.
        ValueError: if the name or a value is wrong.
    """
    if isinstance(noise, Noise):
        return noise
    spec = {"name": noise} if isinstance(noise, str) else dict(noise) if isinstance(noise, Mapping) else noise
    if spec is None:
        return GaussianNoise(std)
    if not isinstance(spec, dict):
        raise TypeError(f"noise: expected a name, a spec such as {{'name': 'gaussian'}} or a Noise, got {noise!r}")
    name = spec.pop("name", None)
    if table is not None and name == TableNoise.name:
        if spec:
            raise TypeError(f"noise: expected no parameters besides the name 'table', got {', '.join(map(str, spec))}")
        return table
    if name == ArmNoise.name:
        return ArmNoise(**spec)
    if name not in _MODELS:
        names = [*_MODELS, ArmNoise.name, *([] if table is None else [TableNoise.name])]
        raise ValueError(f"noise: expected one of {', '.join(names)}, got {name!r}")
    return _MODELS[name](**{"std": std, **spec})


_MODELS: dict[str, Any] = {
    model.name: model for model in (GaussianNoise, BoundedNoise, StudentTNoise, HeteroscedasticNoise)
}


def _check(noise: Noise, field: str, argument: str) -> None:
    """Make a field a float of Python's, as NumPy's numbers would make rewards of their own type."""
    number = as_number(argument, getattr(noise, field), "a finite number >= 0", lambda size: size >= 0)
    object.__setattr__(noise, field, number)


def _pooled_std(replicates: np.ndarray, counts: np.ndarray) -> float:
    """Within-arm standard deviation, pooled over the arms with at least two replicates; 0 if there is none."""
    repeated = replicates[counts > 1]
    if len(repeated) == 0:
        return 0.0
    deviations = repeated - np.nanmean(repeated, axis=1, keepdims=True)
    freedom = int((counts[counts > 1] - 1).sum())
    return float(np.sqrt(np.nansum(deviations**2) / freedom))
