"""Arrays of NumPy, PyTorch and CuPy by one standard, the array API, and the devices that hold them, by name."""

from __future__ import annotations

import importlib
import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpbandit_envs.arguments import shown

Array = Any
"""An array of some namespace."""


def namespace_of(x: Array) -> Any:
    """The array-API namespace of a number or an array; NumPy for numbers and its own arrays."""
    if isinstance(x, np.ndarray | np.generic | float | int):
        return np
    from array_api_compat import array_namespace

    return array_namespace(x)


def sqrt(x: Any) -> Any:
    """The square root of a number, as `math` has it, or of an array."""
    return math.sqrt(x) if isinstance(x, float | int) else namespace_of(x).sqrt(x)


def log(x: Any) -> Any:
    """The logarithm, likewise."""
    return math.log(x) if isinstance(x, float | int) else namespace_of(x).log(x)


def at_least(x: Any, low: float) -> Any:
    """The larger of a number, or of each entry of an array, and `low`."""
    return max(x, low) if isinstance(x, float | int) else namespace_of(x).clip(x, low, None)


def special(name: str, x: Array) -> Array:
    """A function of `scipy.special` that PyTorch and CuPy have too; in other namespaces by way of NumPy."""
    xp = namespace_of(x)
    library = {"torch": "torch.special", "cupy": "cupyx.scipy.special"}.get(xp.__name__.rpartition(".")[2])
    if library is not None:
        return getattr(importlib.import_module(library), name)(x)
    values = getattr(importlib.import_module("scipy.special"), name)(np.asarray(x))
    return values if xp is np else xp.asarray(values)


@dataclass(frozen=True)
class Device:
    """A namespace and a device of it: `"numpy"`, `"torch"`, `"torch:cuda"`, `"torch:cuda:1"`, `"cupy"`.

    `"cuda"` stands for `"torch:cuda"`. Without a device's name arrays are made where the namespace makes them. Any
    other name is that of a module which follows the standard.

    Attributes:
        name: As above.

    Raises:
        TypeError: if the name is no text.
        ImportError: if PyTorch or CuPy is not installed.
        ValueError: if there is no such namespace, or it cannot make an array of float64 there.
    """

    name: str = "numpy"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"device: expected a name such as 'torch:cuda', got {shown(self.name)}")
        try:
            self.put(np.zeros(1))
        except ImportError as error:
            if self._parts[0] not in ("torch", "cupy"):
                known = "'torch:cuda', 'torch', 'cupy', 'numpy' or a module of the array API"
                raise ValueError(f"device: expected {known}, got {self.name!r}") from None
            raise ImportError(
                f"device: {self.name!r} needs {error.name or self._parts[0]}, which is not installed (`pip install "
                "gpbandit-envs[device]` brings array-api-compat; torch or cupy as its own page says)"
            ) from None
        except Exception as error:  # each namespace has errors of its own
            reason = str(error).strip().partition("\n")[0]
            raise ValueError(f"device: {self.name!r} cannot hold float64 arrays: {reason}") from None

    @property
    def _parts(self) -> tuple[str, str | None]:
        package, _, where = (f"torch:{self.name}" if self.name.startswith("cuda") else self.name).partition(":")
        return package, where or None

    @property
    def xp(self) -> Any:
        """The namespace."""
        package = self._parts[0]
        if package == "numpy":
            return np
        return importlib.import_module(f"array_api_compat.{package}" if package in ("torch", "cupy") else package)

    @property
    def on_processor(self) -> bool:
        """Whether its arrays are in the memory of the processor."""
        package, where = self._parts
        return package != "cupy" and (where is None or where == "cpu")

    def put(self, x: Any) -> Array:
        """A copy of a NumPy array there, in its own type; what is there already stays as it is."""
        if not isinstance(x, np.ndarray | np.generic | float | int):
            return x
        x, where = np.array(x), self._parts[1]
        return self.xp.asarray(x) if where is None else self.xp.asarray(x, device=where)

    def get(self, x: Array) -> np.ndarray:
        """An array from there as one of NumPy, which may share its memory."""
        if isinstance(x, np.ndarray):
            return x
        return np.asarray(x.get() if self._parts[0] == "cupy" else x.cpu() if hasattr(x, "cpu") else x)

    def free_bytes(self) -> int:
        """Bytes of memory that are free there; of the processor's a quarter of all."""
        if self.on_processor:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4 if hasattr(os, "sysconf") else 2**31
        if self._parts[0] == "cupy":
            return int(self.xp.cuda.runtime.memGetInfo()[0])
        torch = importlib.import_module("torch")
        with torch.cuda.device(self._parts[1]):
            torch.cuda.empty_cache()
            return int(torch.cuda.mem_get_info()[0])


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says, in the way of some namespace, that memory does not suffice."""
    return isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__ or "can't allocate" in str(error)
