"""Covariance functions of the scaled distance alone."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist
from scipy.special import gammaln, kve

from gpbandit_envs.arguments import positive_number
from gpbandit_envs.arrays import Array, namespace_of
from gpbandit_envs.gp.kernels.base import InputGradient, Kernel, Lengthscale, as_lengthscale, check_inputs, scaled

MAX_NU = 100.0
"""Largest smoothness of `Matern`: beyond it the gamma function overflows and the SE kernel is the honest choice."""
_BLOCK = 2**14  # distances that a kernel is computed of at a time: its temporaries stay in the processor's cache


class Stationary(Kernel):
    """A unit-variance function of the scaled distance; subclasses give it from the squared distance."""

    lengthscale: Lengthscale

    @abstractmethod
    def of_squared_distance(self, r2: Array) -> Array:
        """The kernel at squared scaled distance `r2`, in any namespace if `rows` is; may overwrite its argument."""

    @abstractmethod
    def slope(self, r2: np.ndarray) -> np.ndarray:
        """`-2 dk / d(r^2)` at squared scaled distance `r2`, which is kept; 0 at `r2 = 0` where it is infinite."""

    def with_slope(self, r2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The kernel and its slope at `r2`, which is kept; cheaper together where they share an exponential."""
        return self.of_squared_distance(r2.copy()), self.slope(r2)

    def _slope_and_kernel(self, r2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # To the last bit what both are apart, which `with_slope` is not; may overwrite its argument.
        return self.slope(r2), self.of_squared_distance(r2)

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        check_inputs(X, Y, self.lengthscale)
        scale = np.asarray(self.lengthscale)
        # Not |x|^2 + |y|^2 - 2xy: near-duplicate arms would lose all digits of their distance.
        r2 = cdist(X / scale, Y / scale, "sqeuclidean")
        if r2.size <= _BLOCK:
            return self.of_squared_distance(r2)
        # Larger temporaries may be fetched from the system anew each time: a Matern kernel of 500 points with
        # each other takes 8 ms at once and 1 ms in blocks.
        flat = r2.reshape(-1)
        for start in range(0, len(flat), _BLOCK):
            flat[start : start + _BLOCK] = self.of_squared_distance(flat[start : start + _BLOCK])
        return r2

    def rows(self, X: Array, Y: Array) -> Array | None:
        parts = zip(scaled(X, self.lengthscale), scaled(Y, self.lengthscale), strict=True)
        return self.of_squared_distance(sum((x[:, None] - y[None, :]) ** 2 for x, y in parts))

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return np.ones(len(X))

    def with_input_gradient(
        self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, "n m"], InputGradient]:
        check_inputs(X, Y, self.lengthscale)
        scale = np.asarray(self.lengthscale)
        U, V = X / scale, Y / scale
        r2 = cdist(U, V, "sqeuclidean")
        slope, K = self._slope_and_kernel(r2)
        return K, lambda W: _weighted(W * slope, U, V) / scale

    def diag_gradient(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return np.zeros(X.shape)

    def _spec(self, name: str, **parameters: Any) -> dict[str, Any]:
        scale = self.lengthscale
        return {"name": name, "lengthscale": list(scale) if isinstance(scale, tuple) else scale, **parameters}


def _weighted(W: np.ndarray, U: np.ndarray, V: np.ndarray) -> np.ndarray:
    # dk/dx = -slope(r^2) (x - y) / l^2, summed by two matrix products.
    return W @ V - W.sum(axis=1)[:, None] * U


@dataclass(frozen=True)
class SE(Stationary):
    """Squared exponential (Gaussian) kernel: `exp(-r^2 / 2)`.

    Attributes:
        lengthscale: One number, or one per feature (ARD); unit of the features.
    """

    lengthscale: Lengthscale = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", as_lengthscale(self.lengthscale))

    def of_squared_distance(self, r2: Array) -> Array:
        """`exp(-r^2 / 2)`."""
        r2 *= -0.5
        return np.exp(r2, out=r2) if isinstance(r2, np.ndarray) else namespace_of(r2).exp(r2)

    def slope(self, r2: np.ndarray) -> np.ndarray:
        """`exp(-r^2 / 2)`: the kernel itself."""
        return np.exp(-0.5 * r2)

    def with_slope(self, r2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k = self.slope(r2)
        return k, k

    def to_spec(self) -> dict[str, Any]:
        return self._spec("se")


@dataclass(frozen=True)
class Matern(Stationary):
    """Matern kernel: `2^(1-nu) / Gamma(nu) s^nu K_nu(s)` with `s = sqrt(2 nu) r`.

    Closed forms for nu = 1/2, 3/2 and 5/2, the Bessel function for any other.

    Attributes:
        lengthscale: One number, or one per feature (ARD); unit of the features.
        nu: Smoothness, in (0, 100].
    """

    lengthscale: Lengthscale = 1.0
    nu: float = 2.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", as_lengthscale(self.lengthscale))
        object.__setattr__(self, "nu", positive_number("nu", self.nu))
        if self.nu > MAX_NU:
            raise ValueError(f"nu: expected at most {MAX_NU:g} (use the SE kernel, its limit), got {self.nu!r}")

    def rows(self, X: Array, Y: Array) -> Array | None:
        return super().rows(X, Y) if self.nu in (0.5, 1.5, 2.5) else None

    def of_squared_distance(self, r2: Array) -> Array:
        """The formula of the class at `r = sqrt(r2)`."""
        xp = namespace_of(r2)
        s = xp.sqrt(2 * self.nu * r2)
        if self.nu == 0.5:
            return xp.exp(-s)
        if self.nu == 1.5:
            return (1 + s) * xp.exp(-s)
        if self.nu == 2.5:
            return (1 + s + s * s / 3) * xp.exp(-s)
        return _matern_bessel(s, self.nu)

    def slope(self, r2: np.ndarray) -> np.ndarray:
        """`nu / (nu - 1)` times the Matern kernel of smoothness `nu - 1` at the same `s`, where `nu > 1`."""
        s = np.sqrt(2 * self.nu * r2)
        if self.nu == 2.5:
            return (1 + s) * np.exp(-s) * (5 / 3)
        if self.nu == 1.5:
            return 3 * np.exp(-s)
        if self.nu > 1:
            return self.nu / (self.nu - 1) * _matern_bessel(s, self.nu - 1)
        # The same by d/ds s^nu K_nu(s) = -s^nu K_{nu-1}(s): infinite at 0, where the kernel has no derivative.
        h = np.zeros_like(s)
        apart = s > 0
        s = s[apart]
        log_h = (2 - self.nu) * np.log(2.0) - gammaln(self.nu) + (self.nu - 1) * np.log(s) - s
        h[apart] = self.nu * np.exp(log_h) * kve(abs(self.nu - 1), s)
        return h

    def _slope_and_kernel(self, r2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.nu != 2.5:
            return super()._slope_and_kernel(r2)
        s = np.sqrt(2 * self.nu * r2)
        decay, near = np.exp(-s), 1 + s
        return near * decay * (5 / 3), (near + s * s / 3) * decay

    def with_slope(self, r2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.nu not in (1.5, 2.5):
            return super().with_slope(r2)
        s = np.sqrt(2 * self.nu * r2)
        decay = np.exp(-s)
        s += 1
        s *= decay
        if self.nu == 1.5:
            return s, 3 * decay
        h = (5 / 3) * s
        # (1 + s + s^2 / 3) exp(-s) with s^2 = 5 r^2.
        decay *= r2
        decay *= 5 / 3
        s += decay
        return s, h

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
class RationalQuadratic(Stationary):
    """Rational quadratic kernel: `(1 + r^2 / (2 alpha))^-alpha`, a scale mixture of SE kernels.

    Attributes:
        lengthscale: One number, or one per feature (ARD); unit of the features.
        alpha: Mixture parameter, > 0; SE in the limit of infinity.
    """

    lengthscale: Lengthscale = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", as_lengthscale(self.lengthscale))
        object.__setattr__(self, "alpha", positive_number("alpha", self.alpha))

    def of_squared_distance(self, r2: Array) -> Array:
        """The formula of the class at squared distance `r2`."""
        xp = namespace_of(r2)
        return xp.exp(-self.alpha * xp.log1p(r2 / (2 * self.alpha)))

    def slope(self, r2: np.ndarray) -> np.ndarray:
        """`(1 + r^2 / (2 alpha))^-(alpha + 1)`."""
        return np.exp(-(self.alpha + 1) * np.log1p(r2 / (2 * self.alpha)))

    def to_spec(self) -> dict[str, Any]:
        return self._spec("rational_quadratic", alpha=self.alpha)
