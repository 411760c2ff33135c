"""Gaussian processes: kernels, guarded linear algebra, and posteriors over finite and continuous domains.

This package needs NumPy and SciPy, and of the project only `arrays`, and checks of arguments. Posteriors load at first
use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpbandit_envs.gp.kernel_specs import as_kernel
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
from gpbandit_envs.lazy import lazy_names

if TYPE_CHECKING:
    from gpbandit_envs.gp.exact import ExactPosterior
    from gpbandit_envs.gp.regression import GPRegression

__all__ = [
    "SE",
    "ActiveDims",
    "ExactPosterior",
    "GPRegression",
    "Kernel",
    "Linear",
    "Matern",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Scale",
    "Sum",
    "as_kernel",
]

__getattr__, __dir__ = lazy_names(__name__, {"exact": ("ExactPosterior",), "regression": ("GPRegression",)})
