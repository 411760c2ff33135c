"""Vaccine design: peptides that bind an MHC class I molecule, with a kernel learned on another one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Float

from gpbandit_envs.envs.factory import EntryPoint
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.envs.table_setting import KernelLike, NoiseLike, prepared, table_setting
from gpbandit_envs.gp import Linear
from gpbandit_envs.gp.kernels import Kernel

__all__ = ["fit_linear_ard", "vaccine"]

_ITERATIONS = 200
_LEAST_VARIANCE = 1e-8


@EntryPoint
def vaccine(
    *,
    allele: str = "HLA-A*02:01",
    context: str = "HLA-A*02:02",
    noise_std: float | None = None,
    kernel: KernelLike = None,
    noise: NoiseLike = None,
) -> Setting:
    """Vaccine design: find the peptide of nine residues that binds an MHC class I molecule best.

    Features: five published factors of each residue, standardised. Mean: affinity `1 - log(IC50) / log(50,000)`
    averaged over a peptide's measurements, where all measurements are mapped to [0, 1]. As in the GP-BUCB paper the
    prior is a linear ARD kernel fitted on another molecule of the same data.

    Args:
        allele: The molecule to bind, one of 164.
        context: The molecule on whose peptides the kernel is fitted when `kernel` is None.
        noise_std: Standard deviation of the noise; if None, the pooled one of the repeated measurements.
        kernel: Prior on the card; if None, the linear ARD kernel of largest evidence on `context`.
        noise: Noise model, a name or a spec, or `"table"` for one of the real measurements; Gaussian if None.
    """
    if kernel is None:
        if not isinstance(context, str):
            raise TypeError(f"context: expected the name of an allele, got {context!r}")
        kernel = _fitted_on(context)
    return table_setting("Vaccine", Linear(), noise_std, kernel, noise, allele=allele)


@lru_cache(maxsize=16)
def _fitted_on(allele: str) -> Kernel:
    _, arms, values = prepared("Vaccine", "standardised", allele=allele)
    return fit_linear_ard(arms, np.nanmean(values, axis=1))


def fit_linear_ard(X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> Kernel:
    """The linear ARD kernel `v_0 + sum_j v_j x_j x'_j` of largest evidence, found by expectation maximisation.

    With design `Phi = [1, X]`, prior variances `v` and noise variance `s2`, each round computes the weights'
    posterior `S = (Phi^T Phi / s2 + diag(1/v))^-1`, `m = S Phi^T y / s2` and sets `v_j = m_j^2 + S_jj` and
    `s2 = (|y - Phi m|^2 + tr(Phi S Phi^T)) / n`. The evidence never falls; the cost is O(d^3) a round.

    Args:
        X: Inputs, shape `(n, d)`.
        y: Targets, shape `(n,)`.

    Reference: Tipping (2001), Sparse Bayesian learning and the relevance vector machine.
    """
    Phi = np.column_stack([np.ones(len(X)), X])
    G, b, yy = Phi.T @ Phi, Phi.T @ y, float(y @ y)
    v, s2 = np.full(Phi.shape[1], float(y @ y) / len(y)), float(np.var(y)) or 1.0
    for _ in range(_ITERATIONS):
        root = np.sqrt(v)
        # Scaled by the prior's roots the matrix has eigenvalues >= 1 whatever v is.
        S = root[:, None] * np.linalg.inv(root[:, None] * G * root / s2 + np.eye(len(v))) * root
        m = S @ b / s2
        v = np.maximum(m * m + np.diagonal(S), _LEAST_VARIANCE)
        s2 = max((yy - 2 * float(m @ b) + float(m @ G @ m) + float(np.sum(G * S))) / len(y), _LEAST_VARIANCE)
    return Linear(offset=float(v[0]), lengthscale=tuple((1 / np.sqrt(v[1:])).tolist()))
