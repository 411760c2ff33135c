"""Gaussian processes: kernels, guarded linear algebra, and posteriors over finite and continuous domains.

This package is a leaf: it needs NumPy and SciPy and imports nothing else of the project.
"""

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

__all__ = [
    "SE",
    "ActiveDims",
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
