"""Covariance functions, as small immutable values with a JSON form.

| symbol | meaning | shape |
|---|---|---|
| `X, Y` | inputs, one row each | (n, d), (m, d) |
| `l` | lengthscale, one number or one per feature (ARD) | () or (d,) |
| `r` | scaled distance `|(x - y) / l|` | (n, m) |

`kernel_specs.as_kernel` turns a JSON spec such as `{"name": "se", "lengthscale": 5.0}` into one of these;
`to_spec` goes back. Kernels add and multiply; a number times a kernel scales its variance. Stationary kernels have
`k(x, x) = 1` until scaled.

Reference: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, chapter 4.
"""

from gpbandit_envs.gp.kernels.base import ActiveDims, Kernel, Product, Scale, Sum
from gpbandit_envs.gp.kernels.polynomial import Linear, Polynomial
from gpbandit_envs.gp.kernels.stationary import SE, Matern, RationalQuadratic, Stationary

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
    "Stationary",
    "Sum",
]
