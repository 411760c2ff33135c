"""Kernel rows on a device: what a posterior over arms asks of `gpbandit_envs.gp.rows`, answered there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.devices.device import Array, Device
from gpbandit_envs.gp.devices.evaluate import evaluate
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.rows import KernelRows

__all__ = ["DeviceRows"]


class DeviceRows(KernelRows):
    """The rows `k(x_u, .)` on a device: arms go there once, coefficients for each product, and its result comes back.

    Everything of the size of the pulled arms alone stays with NumPy.

    Args:
        kernel: Prior covariance, as the posterior knows it.
        X: Arms, shape (A, d).
        max_memory: Bytes that rows kept on the device may take; others are computed anew for each product.
        device: Where.
        inner: The kernel to evaluate there.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Float[np.ndarray, "A d"],
        max_memory: int | None,
        *,
        device: Device,
        inner: Kernel,
    ) -> None:
        super().__init__(kernel, X, max_memory)
        self._device, self._inner = device, inner
        self._there = device.put(np.asarray(X, np.float64))
        self._most = len(X) if max_memory is None else int(max_memory) // (8 * len(X))
        self._rows: Array | None = None
        self._n_rows = 0
        self._place = np.full(len(X), -1, np.int64)  # of the row at each position among those on the device

    @property
    def n_kept(self) -> int:
        return self._n_rows

    def at(self, positions: Int[np.ndarray, " s"], arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "s p"]:
        return self.kernel(self.X[self.arms[positions]], self.X[arms])

    def products(
        self, C: Float[np.ndarray, "p s"], positions: Int[np.ndarray, " s"] | None = None
    ) -> Iterator[tuple[slice, Float[np.ndarray, "p A"]]]:
        """`product`, in one block."""
        device = self._device
        positions = np.arange(C.shape[1]) if positions is None else positions
        used = C.any(axis=0)
        C, positions = C[:, used], positions[used]
        self._keep_there(positions[self._place[positions] < 0])
        places = self._place[positions]
        kept = places >= 0
        total = device.put(np.zeros((len(C), len(self.X))))
        if kept.any():
            spread = np.zeros((len(C), self._n_rows))
            spread[:, places[kept]] = C[:, kept]
            assert self._rows is not None
            total += device.put(spread) @ self._rows[: self._n_rows, :]
        if not kept.all():
            total += device.put(C[:, ~kept]) @ self._computed(positions[~kept])
        yield slice(0, len(self.X)), device.get(total)

    def _keep_there(self, positions: Int[np.ndarray, " s"]) -> None:
        """Compute rows and keep them, as many as the budget allows."""
        positions = positions[: max(self._most - self._n_rows, 0)]
        if len(positions) == 0:
            return
        n = self._n_rows + len(positions)
        capacity = 0 if self._rows is None else self._rows.shape[0]
        if n > capacity:
            grown = self._device.namespace.empty(
                (min(max(n, 2 * capacity, 64), self._most), len(self.X)), **self._like()
            )
            if self._rows is not None:
                grown[: self._n_rows, :] = self._rows[: self._n_rows, :]
            self._rows = grown
        assert self._rows is not None
        self._rows[self._n_rows : n, :] = self._computed(positions)
        self._place[positions] = np.arange(self._n_rows, n)
        self._n_rows = n

    def _like(self) -> dict[str, Array]:
        from array_api_compat import device

        return {"dtype": self._there.dtype, "device": device(self._there)}

    def _computed(self, positions: Int[np.ndarray, " b"]) -> Array:
        points = self._device.put(np.asarray(self.X[self.arms[positions]], np.float64))
        return evaluate(self._inner, points, self._there, self._device)
