"""Covariance functions, as small immutable values with a JSON form.

| symbol | meaning | shape |
|---|---|---|
| `X, Y` | inputs, one row each | (n, d), (m, d) |
| `l` | lengthscale, one number or one per feature (ARD) | () or (d,) |
| `r` | scaled distance `|(x - y) / l|` | (n, m) |

`kernel_specs.as_kernel` turns a JSON spec such as `{"name": "se", "lengthscale": 5.0}`, or a scikit-learn kernel,
into one of these; `to_spec` goes back. Kernels add and multiply; a number times a kernel scales its variance.
Stationary kernels have `k(x, x) = 1` until scaled.

Reference: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, chapter 4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist
from scipy.special import gammaln, kve

__all__ = [
    "SE",
    "Kernel",
    "Linear",
    "Matern",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Scale",
    "Sum",
]

Lengthscale: TypeAlias = float | tuple[float, ...]

MAX_NU = 100.0
"""Largest smoothness of `Matern`: beyond it the gamma function overflows and the SE kernel is the honest choice."""


def _positive(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: expected a positive number, got {value!r}")
    number = float(value)
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name}: expected a finite number > 0, got {value!r}")
    return number


def _lengthscale(value: object) -> Lengthscale:
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        scales = tuple(_positive("lengthscale", v) for v in value)
        if not scales:
            raise ValueError("lengthscale: expected one number or one per feature, got an empty sequence")
        return scales
    return _positive("lengthscale", value)


def _check_inputs(X: np.ndarray, Y: np.ndarray, lengthscale: Lengthscale = 1.0) -> None:
    if X.ndim != 2 or Y.ndim != 2 or X.shape[1] != Y.shape[1]:
        raise ValueError(f"X, Y: expected shapes (n, d) and (m, d), got {X.shape} and {Y.shape}")
    if isinstance(lengthscale, tuple) and len(lengthscale) != X.shape[1]:
        raise ValueError(f"lengthscale: expected {X.shape[1]} entries, one per feature, got {len(lengthscale)}")


class Kernel(ABC):
    """A covariance function `k(x, x')`."""

    @abstractmethod
    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        """Covariances `k(x_i, y_j)`."""

    @abstractmethod
    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Prior variances `k(x_i, x_i)`."""

    @abstractmethod
    def to_spec(self) -> dict[str, Any]:
        """JSON form, accepted by `as_kernel`."""

    def __add__(self, other: Kernel) -> Kernel:
        return Sum(self, other)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, other) if isinstance(other, Kernel) else Scale(self, other)

    __rmul__ = __mul__


class _Stationary(Kernel):
    """A unit-variance function of the scaled distance; subclasses give it from the squared distance."""

    lengthscale: Lengthscale

    @abstractmethod
    def of_squared_distance(self, r2: np.ndarray) -> np.ndarray:
        """The kernel at squared scaled distance `r2`; may overwrite its argument."""

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        _check_inputs(X, Y, self.lengthscale)
        scale = np.asarray(self.lengthscale)
        # Not |x|^2 + |y|^2 - 2xy: near-duplicate arms would lose all digits of their distance.
        return self.of_squared_distance(cdist(X / scale, Y / scale, "sqeuclidean"))

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return np.ones(len(X))

    def _spec(self, name: str, **parameters: Any) -> dict[str, Any]:
        scale = self.lengthscale
        return {"name": name, "lengthscale": list(scale) if isinstance(scale, tuple) else scale, **parameters}


@dataclass(frozen=True)
class SE(_Stationary):
    """Squared exponential (Gaussian) kernel: `exp(-r^2 / 2)`.

    Attributes:
        lengthscale: One number, or one per feature (ARD); unit of the features.
    """

    lengthscale: Lengthscale = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _lengthscale(self.lengthscale))

    def of_squared_distance(self, r2: np.ndarray) -> np.ndarray:
        """`exp(-r^2 / 2)`."""
        r2 *= -0.5
        return np.exp(r2, out=r2)

    def to_spec(self) -> dict[str, Any]:
        return self._spec("se")


@dataclass(frozen=True)
class Matern(_Stationary):
    """Matern kernel: `2^(1-nu) / Gamma(nu) s^nu K_nu(s)` with `s = sqrt(2 nu) r`.

    Closed forms for nu = 1/2, 3/2 and 5/2, the Bessel function for any other.

    Attributes:
        lengthscale: One number, or one per feature (ARD); unit of the features.
        nu: Smoothness, in (0, 100].
    """

    lengthscale: Lengthscale = 1.0
    nu: float = 2.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _lengthscale(self.lengthscale))
        object.__setattr__(self, "nu", _positive("nu", self.nu))
        if self.nu > MAX_NU:
            raise ValueError(f"nu: expected at most {MAX_NU:g} (use the SE kernel, its limit), got {self.nu!r}")

    def of_squared_distance(self, r2: np.ndarray) -> np.ndarray:
        """The formula of the class at `r = sqrt(r2)`."""
        s = np.sqrt(2 * self.nu * r2)
        if self.nu == 0.5:
            return np.exp(-s)
        if self.nu == 1.5:
            return (1 + s) * np.exp(-s)
        if self.nu == 2.5:
            return (1 + s + s * s / 3) * np.exp(-s)
        return _matern_bessel(s, self.nu)

    def to_spec(self) -> dict[str, Any]:
        return self._spec("matern", nu=self.nu)


def _matern_bessel(s: np.ndarray, nu: float) -> np.ndarray:
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_k = (1 - nu) * np.log(2.0) - gammaln(nu) + nu * np.log(s) + np.log(kve(nu, s)) - s
        k = np.exp(log_k)
    # K_nu overflows only where s is so small that two terms of the series at 0 are exact to rounding.
    near = ~np.isfinite(k)
    if nu > 2:
        q = s[near] ** 2 / (4 * (nu - 1))
        k[near] = 1 - q + 0.5 * q * q * (nu - 1) / (nu - 2)
    else:
        k[near] = 1.0
    return np.minimum(k, 1.0)


@dataclass(frozen=True)
class RationalQuadratic(_Stationary):
    """Rational quadratic kernel: `(1 + r^2 / (2 alpha))^-alpha`, a scale mixture of SE kernels.

    Attributes:
        lengthscale: One number, or one per feature (ARD); unit of the features.
        alpha: Mixture parameter, > 0; SE in the limit of infinity.
    """

    lengthscale: Lengthscale = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _lengthscale(self.lengthscale))
        object.__setattr__(self, "alpha", _positive("alpha", self.alpha))

    def of_squared_distance(self, r2: np.ndarray) -> np.ndarray:
        """The formula of the class at squared distance `r2`."""
        return np.exp(-self.alpha * np.log1p(r2 / (2 * self.alpha)))

    def to_spec(self) -> dict[str, Any]:
        return self._spec("rational_quadratic", alpha=self.alpha)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Polynomial kernel: `(offset + <x / l, y / l>)^degree`.

    Attributes:
        degree: Degree, an integer >= 1.
        offset: Prior variance of the constant, >= 0.
        lengthscale: One number, or one per feature (ARD); unit of the features.
    """

    degree: int = 2
    offset: float = 1.0
    lengthscale: Lengthscale = 1.0
    name: ClassVar[str] = "polynomial"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _lengthscale(self.lengthscale))
        if isinstance(self.degree, bool) or int(self.degree) != self.degree or self.degree < 1:
            raise ValueError(f"degree: expected an integer >= 1, got {self.degree!r}")
        if not (np.isfinite(self.offset) and self.offset >= 0):
            raise ValueError(f"offset: expected a finite number >= 0, got {self.offset!r}")

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        _check_inputs(X, Y, self.lengthscale)
        scale = np.asarray(self.lengthscale)
        K: np.ndarray = (X / scale) @ (Y / scale).T + self.offset
        return K if self.degree == 1 else K**self.degree

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        squares: np.ndarray = np.square(X / np.asarray(self.lengthscale)).sum(axis=1) + self.offset
        return squares**self.degree

    def to_spec(self) -> dict[str, Any]:
        scale = self.lengthscale
        return {
            "name": self.name,
            "degree": int(self.degree),
            "offset": float(self.offset),
            "lengthscale": list(scale) if isinstance(scale, tuple) else scale,
        }


def Linear(offset: float = 0.0, lengthscale: Lengthscale = 1.0) -> Polynomial:  # noqa: N802 - reads as a kernel
    """Linear kernel: `offset + <x / l, y / l>`, the polynomial kernel of degree 1."""
    return Polynomial(degree=1, offset=offset, lengthscale=lengthscale)


@dataclass(frozen=True)
class Scale(Kernel):
    """`variance * kernel`.

    Attributes:
        kernel: The kernel to scale.
        variance: Factor > 0; the prior variance where the kernel has `k(x, x) = 1`.
    """

    kernel: Kernel
    variance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", _positive("variance", self.variance))

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        K = self.kernel(X, Y)
        K *= self.variance
        return K

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return self.variance * self.kernel.diag(X)

    def to_spec(self) -> dict[str, Any]:
        return {"name": "scale", "kernel": self.kernel.to_spec(), "variance": self.variance}


@dataclass(frozen=True)
class Sum(Kernel):
    """`left + right`."""

    left: Kernel
    right: Kernel

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        return self.left(X, Y) + self.right(X, Y)

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return self.left.diag(X) + self.right.diag(X)

    def to_spec(self) -> dict[str, Any]:
        return {"name": "sum", "kernels": [self.left.to_spec(), self.right.to_spec()]}


@dataclass(frozen=True)
class Product(Kernel):
    """`left * right`, elementwise."""

    left: Kernel
    right: Kernel

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        return self.left(X, Y) * self.right(X, Y)

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return self.left.diag(X) * self.right.diag(X)

    def to_spec(self) -> dict[str, Any]:
        return {"name": "product", "kernels": [self.left.to_spec(), self.right.to_spec()]}
