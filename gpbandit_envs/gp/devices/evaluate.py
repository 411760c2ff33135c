"""The kernels of `gpbandit_envs.gp.kernels` in any array-API namespace."""

from __future__ import annotations

from math import sqrt

import numpy as np

from gpbandit_envs.gp.devices.device import Array, Device
from gpbandit_envs.gp.kernels import SE, ActiveDims, Kernel, Matern, Polynomial, Product, RationalQuadratic, Scale, Sum
from gpbandit_envs.gp.kernels.base import Lengthscale

__all__ = ["check_available", "evaluate"]


def check_available(kernel: Kernel) -> None:
    """Raise unless `evaluate` supports the kernel.

    Raises:
        TypeError: naming the unsupported part.
    """
    if isinstance(kernel, Scale | ActiveDims):
        check_available(kernel.kernel)
    elif isinstance(kernel, Sum | Product):
        check_available(kernel.left)
        check_available(kernel.right)
    elif not isinstance(kernel, SE | RationalQuadratic | Polynomial) and not (
        isinstance(kernel, Matern) and kernel.nu in (0.5, 1.5, 2.5)
    ):
        raise TypeError(
            "kernel: expected SE, Matern with nu 1/2, 3/2 or 5/2, RationalQuadratic, Polynomial, or their scales, sums "
            f"and products on a device, got {kernel!r}"
        )


def evaluate(kernel: Kernel, X: Array, Y: Array, device: Device) -> Array:
    """Covariances `k(x_i, y_j)` of rows of device arrays `(n, d)` and `(m, d)`, shape `(n, m)`.

    Raises:
        TypeError: for a kernel that has no implementation on a device.
    """
    xp = device.namespace
    if isinstance(kernel, Scale):
        return kernel.variance * evaluate(kernel.kernel, X, Y, device)
    if isinstance(kernel, ActiveDims):
        seen = [xp.stack([Z[:, j] for j in kernel.dims], axis=1) for Z in (X, Y)]
        return evaluate(kernel.kernel, seen[0], seen[1], device)
    if isinstance(kernel, Sum):
        return evaluate(kernel.left, X, Y, device) + evaluate(kernel.right, X, Y, device)
    if isinstance(kernel, Product):
        return evaluate(kernel.left, X, Y, device) * evaluate(kernel.right, X, Y, device)
    check_available(kernel)
    if isinstance(kernel, Polynomial):
        X, Y = _scaled(X, Y, kernel.lengthscale, device)
        return (X @ xp.permute_dims(Y, (1, 0)) + kernel.offset) ** kernel.degree
    assert isinstance(kernel, SE | Matern | RationalQuadratic)
    r2 = _squared_distance(*_scaled(X, Y, kernel.lengthscale, device), device)
    if isinstance(kernel, SE):
        return xp.exp(-0.5 * r2)
    if isinstance(kernel, RationalQuadratic):
        return xp.exp(-kernel.alpha * xp.log1p(r2 / (2 * kernel.alpha)))
    s = sqrt(2 * kernel.nu) * xp.sqrt(r2)
    if kernel.nu == 0.5:
        return xp.exp(-s)
    return (1 + s if kernel.nu == 1.5 else 1 + s + s * s / 3) * xp.exp(-s)


def _scaled(X: Array, Y: Array, lengthscale: Lengthscale, device: Device) -> tuple[Array, Array]:
    if isinstance(lengthscale, tuple):
        scale = device.put(np.array(lengthscale))
        return X / scale, Y / scale
    return X / lengthscale, Y / lengthscale


def _squared_distance(X: Array, Y: Array, device: Device) -> Array:
    """Feature by feature, not `|x|^2 + |y|^2 - 2xy`: near-duplicate arms would lose all digits of their distance."""
    r2 = device.put(np.zeros((X.shape[0], Y.shape[0])))
    for j in range(X.shape[1]):
        r2 += (X[:, j][:, None] - Y[:, j][None, :]) ** 2
    return r2
