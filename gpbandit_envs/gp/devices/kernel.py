"""A kernel that is evaluated on a device, and takes the kernel rows of posteriors there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.devices.device import Device
from gpbandit_envs.gp.devices.evaluate import check_available, evaluate
from gpbandit_envs.gp.devices.rows import DeviceRows
from gpbandit_envs.gp.kernel_rows import KernelWithRows
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.kernels.base import check_inputs

__all__ = ["OnDevice"]


@dataclass(frozen=True)
class OnDevice(KernelWithRows):
    """`kernel`, on a device: any policy that is given it keeps arms and kernel rows there, and multiplies there.

    All numbers are float64. Policies choose the same arms as without a device, up to ties within rounding.

    Example: `agents.make("GP-UCB", kernel=OnDevice(SE(0.2), "torch:cuda"))`, or as a spec
    `{"name": "on_device", "kernel": {"name": "se", "lengthscale": 0.2}, "device": "torch:cuda"}`.

    Attributes:
        kernel: SE, Matern with nu 1/2, 3/2 or 5/2, RationalQuadratic, Polynomial, or scales, sums and products of them.
        device: See `gpbandit_envs.gp.devices.device.Device`.

    Raises:
        TypeError: if the kernel has no implementation on a device.
        ImportError, ValueError: if the device is not there.
    """

    kernel: Kernel
    device: str

    def __post_init__(self) -> None:
        check_available(self.kernel)
        Device(self.device)

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        check_inputs(X, Y)
        device = Device(self.device)
        points, others = (device.put(np.asarray(Z, np.float64)) for Z in (X, Y))
        return np.array(device.get(evaluate(self.kernel, points, others, device)))

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return self.kernel.diag(X)

    def input_gradient(
        self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"], W: Float[np.ndarray, "n m"]
    ) -> Float[np.ndarray, "n d"]:
        return self.kernel.input_gradient(X, Y, W)

    def diag_gradient(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return self.kernel.diag_gradient(X)

    def arm_rows(self, X: Float[np.ndarray, "A d"], max_memory: int | None) -> DeviceRows:
        """Kernel rows over the arms `X`, on the device."""
        return DeviceRows(self, X, max_memory, device=Device(self.device), inner=self.kernel)

    def to_spec(self) -> dict[str, Any]:
        return {"name": "on_device", "kernel": self.kernel.to_spec(), "device": self.device}
