"""Needles: the bumps behind the lower bounds for SE and Matern kernels, as narrow as their RKHS norm allows.

A needle is `f(x) = h g(|x - c|)` with `g(0) = 1`, whose Fourier transform is a bump `H(|omega| / B)`,
`H(rho) = exp(-1 / (1 - rho^2))`, of compact support: outside the band `B` there is nothing, so that the norm is finite
even under the SE kernel, and grows with `B`. The largest `B` that a norm `F` affords gives the narrowest needle of
height `h`: width about `l / sqrt(log(F / h))` for SE and `(h / F)^(1/nu)` for Matern.

| symbol | meaning |
|---|---|
| `rho_q, v_q` | Gauss-Legendre nodes on [0, 1], and weights times `rho^(d-1)` |
| `Omega_d(t)` | mean of `exp(i <u, x>)` over unit vectors `u`, `|x| = t` |
| `S(w)` | spectral density of the kernel, `k(r) = (2 pi)^-d int S(|omega|) exp(i <omega, r>) d omega` |

With `I1 = sum v H` and `I2 = sum v H^2 / S(B rho)`:
`g(r) = sum v H Omega_d(B rho r) / I1` and `F^2 = h^2 (2 pi)^d I2 / (|S^(d-1)| B^d I1^2)`.

References: Bull (2011); Scarlett, Bogunovic and Cevher (2017), Lower bounds on regret for noisy GP bandit optimization.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammaln, jv, logsumexp

from gpbandit_envs.arguments import positive_number
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, certify_arms
from gpbandit_envs.gp.kernels import SE, Kernel, Matern

_NODES = 256
_FAR = 400.0  # B r beyond which the quadrature oscillates too fast to follow and |g| < 1e-12
_CHUNK = 4_096


def log_spectral_density(kernel: SE | Matern, dim: int, w: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """`log S(w)` of an isotropic kernel (Rasmussen and Williams 2006, eq. 4.11 and 4.15).

    Raises:
        TypeError: if the kernel is not an isotropic SE or Matern kernel.
    """
    if not isinstance(kernel, (SE, Matern)) or isinstance(kernel.lengthscale, tuple):
        raise TypeError(f"kernel: expected an SE or Matern kernel with one lengthscale, got {kernel!r}")
    length = kernel.lengthscale
    if isinstance(kernel, SE):
        return dim * (0.5 * np.log(2 * np.pi) + np.log(length)) - 0.5 * (length * w) ** 2
    nu = kernel.nu
    constant = dim * np.log(2) + 0.5 * dim * np.log(np.pi) + gammaln(nu + dim / 2) - gammaln(nu)
    constant += nu * np.log(2 * nu) - 2 * nu * np.log(length)
    density: np.ndarray = constant - (nu + dim / 2) * np.log(2 * nu / length**2 + w**2)
    return density


@dataclass(frozen=True)
class NeedleShape:
    """The profile `g` of a needle.

    Attributes:
        dim: Number of coordinates `d`.
        band: Largest angular frequency `B`, unit 1 / feature.
    """

    dim: int
    band: float

    def __call__(self, r: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """`g(r)` at distances `r`; 1 at 0 and smaller in absolute value everywhere else."""
        rho, log_v, log_h = _quadrature(self.dim)
        weights = np.exp(log_v + log_h)
        weights /= weights.sum()
        values = np.zeros(len(r))
        near = np.flatnonzero(self.band * r < _FAR)
        for start in range(0, len(near), _CHUNK):
            block = near[start : start + _CHUNK]
            values[block] = _spherical_mean(self.dim, self.band * r[block, None] * rho) @ weights
        values[r == 0] = 1.0
        return values

    @property
    def width(self) -> float:
        """Distance at which the profile has fallen to one half."""
        return float(brentq(lambda r: self(np.array([r]))[0] - 0.5, 0.0, 8 / self.band))

    @classmethod
    def narrowest(cls, kernel: SE | Matern, dim: int, height: float, norm: float) -> NeedleShape:
        """The needle of this height and norm with the widest band.

        Raises:
            ValueError: if no needle of this height has so small a norm.
        """

        def excess(log_band: float) -> float:
            return _log_norm(kernel, dim, float(np.exp(log_band))) - np.log(norm / height)

        length = float(np.log(kernel.lengthscale))
        least = minimize_scalar(excess, bounds=(-length - 3, -length + 8), method="bounded").x
        if excess(least) > 0:
            smallest = height * np.exp(_log_norm(kernel, dim, float(np.exp(least))))
            raise ValueError(f"norm: a needle of height {height} has norm {smallest:.4g} at least, got {norm}")
        top = least + 1.0
        while excess(top) < 0:
            top += 1.0
        return cls(dim, float(np.exp(brentq(excess, least, top, xtol=1e-12))))


def _spherical_mean(dim: int, t: np.ndarray) -> np.ndarray:
    """`Omega_d(t)`; elementary for d = 1 and 3, and `Gamma(d/2) (2/t)^(d/2-1) J_(d/2-1)(t)` in general."""
    if dim == 1:
        return np.cos(t)
    if dim == 3:
        return np.sinc(t / np.pi)
    order = dim / 2 - 1
    t = np.maximum(t, 1e-8)  # below which the mean is 1 to the last bit
    return np.exp(gammaln(dim / 2)) * (2 / t) ** order * jv(order, t)


@lru_cache(maxsize=16)
def _quadrature(dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes `rho` of the radial integrals, with `log v` and `log H(rho)`."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    rho = 0.5 * (nodes + 1)
    return rho, np.log(0.5 * weights) + (dim - 1) * np.log(rho), -1 / (1 - rho * rho)


def _log_norm(kernel: SE | Matern, dim: int, band: float) -> float:
    """`log(F / h)` of the needle with this band, over all of R^d."""
    rho, log_v, log_h = _quadrature(dim)
    log_i1 = logsumexp(log_v + log_h)
    log_i2 = logsumexp(log_v + 2 * log_h - log_spectral_density(kernel, dim, band * rho))
    log_sphere = np.log(2) + 0.5 * dim * np.log(np.pi) - gammaln(dim / 2)
    return float(0.5 * (dim * np.log(2 * np.pi) + log_i2 - log_sphere - dim * np.log(band)) - log_i1)


class NeedleArms(ArmFamily):
    """A needle on a random arm, almost nothing everywhere else.

    Args:
        kernel: SE or Matern kernel with one lengthscale, variance 1.
        arms: Arm set, shape (A, d).
        height: Height `h` of the needle, > 0, unit of the reward.
        norm: RKHS norm `F` of the needle over all of R^d.

    Raises:
        TypeError: for another kernel, or if `height` or `norm` is no number.
        ValueError: if one of them is not finite and positive, or no needle of this height has so small a norm.
    """

    fixed = False

    def __init__(self, kernel: Kernel, arms: Float[np.ndarray, "A d"], height: float, norm: float) -> None:
        height, norm = positive_number("height", height), positive_number("norm", norm)
        if not isinstance(kernel, (SE, Matern)) or isinstance(kernel.lengthscale, tuple):
            raise TypeError(f"kernel: expected an SE or Matern kernel with one lengthscale, got {kernel!r}")
        self.kernel: Kernel = kernel
        self.arms = arms
        self.norm_bound: float = norm
        self.shape = NeedleShape.narrowest(kernel, arms.shape[1], height, norm)
        self._height = height

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        centre = int(rng.integers(len(self.arms)))
        distance = np.sqrt(np.square(self.arms - self.arms[centre]).sum(axis=1))
        mean = self._height * self.shape(distance)
        facts: dict[str, object] = {"width": self.shape.width, "band": self.shape.band, "height": self._height}
        return certify_arms(mean, norm=self.norm_bound, facts=facts)
