"""Posteriors whose arms and kernel rows live on a device: PyTorch, CuPy or any other array-API namespace."""

from gpbandit_envs.gp.devices.kernel import OnDevice

__all__ = ["OnDevice"]
