"""Spectral densities of stationary kernels, and how fast a kernel's eigenvalues decay on an arm set.

| symbol | meaning |
|---|---|
| `w` | angular frequency, `|omega|` |
| `S(w)` | spectral density, `k(r) = (2 pi)^-d int S(|omega|) exp(i <omega, r>) d omega` |
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from gpbandit_envs.gp.kernels import SE, Kernel, Matern

__all__ = ["log_spectral_density", "spectrum"]

_EXACT = 2_000


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


def spectrum(kernel: Kernel, arms: Float[np.ndarray, "A d"], n: int = 64) -> Float[np.ndarray, " n"]:
    """The `n` largest eigenvalues of `K / A`, in decreasing order; they add up to the mean prior variance.

    Above 2,000 arms they are those of 2,000 arms evenly spaced in the arm set's order, an estimate.
    """
    if len(arms) > _EXACT:
        arms = arms[np.linspace(0, len(arms) - 1, _EXACT).astype(np.int64)]
    eigenvalues = np.linalg.eigvalsh(kernel(arms, arms) / len(arms))[::-1]
    return np.maximum(eigenvalues[:n], 0.0)
