"""Kernels from JSON specs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from gpbandit_envs.arguments import shown
from gpbandit_envs.gp.kernels import (
    SE,
    ActiveDims,
    Kernel,
    Linear,
    Matern,
    Polynomial,
    Product,
    RationalQuadratic,
    Scale,
    Sum,
)
from gpbandit_envs.gp.kernels.base import as_lengthscale

_BASE: dict[str, tuple[Callable[..., Kernel], frozenset[str]]] = {
    "se": (SE, frozenset({"lengthscale"})),
    "matern": (Matern, frozenset({"lengthscale", "nu"})),
    "rational_quadratic": (RationalQuadratic, frozenset({"lengthscale", "alpha"})),
    "linear": (Linear, frozenset({"lengthscale", "offset"})),
    "polynomial": (Polynomial, frozenset({"lengthscale", "offset", "degree"})),
}
_COMPOSITE = {"sum": Sum, "product": Product}


def as_kernel(kernel: Any) -> Kernel:
    """The kernel that a spec or a kernel stands for.

    Args:
        kernel: A `Kernel`; a mapping with `"name"` one of se, matern, rational_quadratic, linear, polynomial, scale,
            sum, product or active_dims and its parameters (`"variance"` scales any of them; `"kernels"` lists the parts
            of a sum or product, `"kernel"` what is scaled or sees the features `"dims"` alone).

    Raises:
        TypeError: if it is none of these.
        ValueError: if a name, a parameter or a value is wrong.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, Mapping):
        return _from_spec(kernel)
    raise TypeError(
        f"kernel: expected a spec such as {{'name': 'se', 'lengthscale': 1.0}} or a Kernel, got {shown(kernel)}"
    )


def _from_spec(spec: Mapping[str, Any]) -> Kernel:
    parameters = {str(key): value for key, value in spec.items()}
    name = parameters.pop("name", None)
    if not isinstance(name, str):
        raise _unknown(name)
    if name == "scale":
        _only(name, parameters, frozenset({"kernel", "variance"}), required=True)
        return Scale(as_kernel(parameters["kernel"]), parameters["variance"])
    if name == "active_dims":
        _only(name, parameters, frozenset({"kernel", "dims"}), required=True)
        return ActiveDims(as_kernel(parameters["kernel"]), tuple(_list("dims", parameters["dims"])))
    variance = parameters.pop("variance", None)
    if name in _COMPOSITE:
        _only(name, parameters, frozenset({"kernels"}), required=True)
        parts = [as_kernel(part) for part in _list("kernels", parameters["kernels"])]
        if len(parts) < 2:
            raise ValueError(f"kernels: a {name} needs at least two parts, got {len(parts)}")
        kernel: Kernel = reduce(_COMPOSITE[name], parts)
    elif name in _BASE:
        build, known = _BASE[name]
        _only(name, parameters, known)
        if "lengthscale" in parameters:
            parameters["lengthscale"] = as_lengthscale(parameters["lengthscale"])
        kernel = build(**parameters)
    else:
        raise _unknown(name)
    return kernel if variance is None else Scale(kernel, variance)


def _unknown(name: object) -> ValueError:
    names = ", ".join([*_BASE, "scale", *_COMPOSITE, "active_dims"])
    return ValueError(f'kernel: expected "name" to be one of {names}, got {shown(name)}')


def _list(key: str, value: object) -> list[Any]:
    if not isinstance(value, (Sequence, np.ndarray)) or isinstance(value, str) or np.ndim(value) != 1:
        raise TypeError(f"{key}: expected a list, got {shown(value)}")
    return list(value)


def _only(name: str, parameters: Mapping[str, Any], known: frozenset[str], required: bool = False) -> None:
    unknown = sorted(set(parameters) - known)
    if unknown:
        raise ValueError(f"kernel {name!r}: unknown parameter {unknown[0]!r}; it takes {', '.join(sorted(known))}")
    missing = sorted(known - set(parameters))
    if required and missing:
        raise ValueError(f"kernel {name!r}: missing parameter {missing[0]!r}")
