"""Kernel rows on a device, with the interface of `gpbandit_envs.gp.kernel_rows`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.devices.device import Array, Device
from gpbandit_envs.gp.devices.evaluate import evaluate
from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.gp.kernels import Kernel

__all__ = ["DeviceRows"]


class DeviceRows(KernelRows):
    """The rows `k(x_a, .)` on a device: arms go there once, coefficients for each product, and its result comes back.

    Everything of the size of the pulled arms alone stays with NumPy.

    Args:
        kernel: Prior covariance, as the posterior knows it.
        X: Arms, shape (A, d).
        max_memory: Memory limit in bytes for rows kept on the device; others are computed anew for each product.
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
        self._place = np.full(len(X), -1, np.int64)  # of each arm's row among those on the device

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
        C, arms = C[:, used], self.arms[positions[used]]
        self._keep_there(arms)
        places = self._place[arms]
        kept = places >= 0
        total = device.put(np.zeros((len(C), len(self.X))))
        if kept.any():
            spread = np.zeros((len(C), self._n_rows))
            spread[:, places[kept]] = C[:, kept]
            assert self._rows is not None
            total += device.put(spread) @ self._rows[: self._n_rows, :]
        if not kept.all():
            total += device.put(C[:, ~kept]) @ self._computed(arms[~kept])
        yield slice(0, len(self.X)), device.get(total)

    def take(
        self, arms: Int[np.ndarray, " p"], out: Float[np.ndarray, "p A"] | None = None
    ) -> Float[np.ndarray, "p A"]:
        self._keep_there(np.unique(arms))
        out = np.empty((len(arms), len(self.X))) if out is None else out
        places = self._place[arms]
        kept = places >= 0
        if kept.any():
            assert self._rows is not None
            out[kept] = self._device.get(
                self._device.namespace.take(self._rows, self._device.put(places[kept]), axis=0)
            )
        if not kept.all():
            out[~kept] = self._device.get(self._computed(arms[~kept]))
        out[np.arange(len(arms)), arms] = self.prior[arms]
        return out

    def _keep_there(self, arms: Int[np.ndarray, " s"]) -> None:
        """Compute the rows of `arms` (distinct) that are missing and keep them, as many as the budget allows."""
        arms = arms[self._place[arms] < 0][: max(self._most - self._n_rows, 0)]
        if len(arms) == 0:
            return
        n = self._n_rows + len(arms)
        capacity = 0 if self._rows is None else self._rows.shape[0]
        if n > capacity:
            grown = self._device.namespace.empty(
                (min(max(n, 2 * capacity, 64), self._most), len(self.X)), **self._like()
            )
            if self._rows is not None:
                grown[: self._n_rows, :] = self._rows[: self._n_rows, :]
            self._rows = grown
        assert self._rows is not None
        self._rows[self._n_rows : n, :] = self._computed(arms)
        self._place[arms] = np.arange(self._n_rows, n)
        self._n_rows = n

    def _like(self) -> dict[str, Array]:
        from array_api_compat import device

        return {"dtype": self._there.dtype, "device": device(self._there)}

    def _computed(self, arms: Int[np.ndarray, " b"]) -> Array:
        points = self._device.put(np.asarray(self.X[arms], np.float64))
        return evaluate(self._inner, points, self._there, self._device)
