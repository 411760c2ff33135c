"""Devices by name, and copies of arrays to and from them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Array", "Device"]

Array = Any
"""An array of some array-API namespace."""

_EXTRAS = {"torch": "torch", "cupy": "cupy"}


@dataclass(frozen=True)
class Device:
    """A namespace and a device of it: `"torch"`, `"torch:cuda"`, `"torch:cuda:1"`, `"cupy"`, `"array_api_strict"`.

    `"cuda"` stands for `"torch:cuda"`. Without a device's name arrays are made where the namespace makes them.

    Attributes:
        name: As above.

    Raises:
        TypeError: if the name is no text.
        ImportError: if the namespace is not installed.
        ValueError: if it cannot make an array on that device.
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"device: expected a name such as 'torch:cuda', got {self.name!r}")
        try:
            self.put(np.zeros(1))
        except ImportError as error:
            package = self._parts()[0]
            extra = f"; install gpbandit-envs[{_EXTRAS[package]}]" if package in _EXTRAS else ""
            raise ImportError(f"device: {self.name!r} needs {error.name or package}{extra}") from None
        except (RuntimeError, AssertionError, ValueError) as error:
            raise ValueError(f"device: {self.name!r} cannot hold an array: {error}") from None

    def _parts(self) -> tuple[str, str | None]:
        package, _, where = ("torch:" + self.name if self.name.startswith("cuda") else self.name).partition(":")
        return package, where or None

    @property
    def namespace(self) -> Any:
        """The array-API namespace."""
        package, _ = self._parts()
        compatible = f"array_api_compat.{package}" if package in ("torch", "cupy", "numpy") else package
        return importlib.import_module(compatible)

    def put(self, x: np.ndarray) -> Array:
        """A copy of a NumPy array there, in its own type."""
        xp, where = self.namespace, self._parts()[1]
        x = np.ascontiguousarray(x)
        return xp.asarray(x, copy=True) if where is None else xp.asarray(x, device=where, copy=True)

    @staticmethod
    def get(x: Array) -> np.ndarray:
        """A device's array as a NumPy array, which may share its memory."""
        from array_api_compat import is_cupy_array, is_torch_array, to_device

        return np.asarray(to_device(x, "cpu") if is_torch_array(x) or is_cupy_array(x) else x)
