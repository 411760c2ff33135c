"""The interface of covariance functions, their algebra (scaled, added, multiplied) and the checks of their inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import as_count, positive_number
from gpbandit_envs.arrays import Array, namespace_of

Lengthscale: TypeAlias = float | tuple[float, ...]
InputGradient: TypeAlias = Callable[[np.ndarray], np.ndarray]


def as_lengthscale(value: object) -> Lengthscale:
    """One number, or a tuple of one per feature."""
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        scales = tuple(positive_number("lengthscale", v) for v in value)
        if not scales:
            raise ValueError("lengthscale: expected one number or one per feature, got an empty sequence")
        return scales
    return positive_number("lengthscale", value)


def scaled(points: Array, lengthscale: Lengthscale) -> list[Array]:
    """Each feature of points of any namespace over its lengthscale."""
    d = points.shape[1]
    scales = lengthscale if isinstance(lengthscale, tuple) else (lengthscale,) * d
    return [points[:, j] / scales[j] for j in range(d)]


def check_inputs(X: np.ndarray, Y: np.ndarray, lengthscale: Lengthscale = 1.0) -> None:
    """Raise unless the inputs have rows of one length, that of the lengthscales if there are several."""
    if X.ndim != 2 or Y.ndim != 2 or X.shape[1] != Y.shape[1]:
        raise ValueError(f"X, Y: expected shapes (n, d) and (m, d), got {X.shape} and {Y.shape}")
    if isinstance(lengthscale, tuple) and len(lengthscale) != X.shape[1]:
        raise ValueError(f"lengthscale: expected {X.shape[1]} entries, one per feature, got {len(lengthscale)}")


class Kernel(ABC):
    """A covariance function `k(x, x')`."""

    @abstractmethod
    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        """Covariances `k(x_i, y_j)`."""

    @abstractmethod
    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Prior variances `k(x_i, x_i)`."""

    def rows(self, X: Array, Y: Array) -> Array | None:
        """Covariances `k(x_i, y_j)` of points that are on a device, in their namespace; None without such a form."""
        return None

    @abstractmethod
    def to_spec(self) -> dict[str, Any]:
        """JSON form, accepted by `as_kernel`."""

    @property
    def unscaled(self) -> Kernel:
        """The kernel inside scalings, which do not change how smooth it is; itself without any."""
        return self

    def with_input_gradient(
        self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, "n m"], InputGradient]:
        """Covariances, and `sum_j W_ij dk(x_i, y_j) / dx_i` as a function of `W` (n, m): together they share distances.

        The `W` of the function may have one row that stands for all. The n m d derivatives are never formed.

        Raises:
            TypeError: if the kernel has no derivative of its own.
        """
        raise TypeError(f"kernel: {self!r} offers no gradient with respect to its inputs")

    def diag_gradient(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """`dk(x_i, x_i) / dx_i`: 0 where the kernel is stationary."""
        raise TypeError(f"kernel: {self!r} offers no gradient with respect to its inputs")

    def __add__(self, other: Kernel) -> Kernel:
        return Sum(self, other)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, other) if isinstance(other, Kernel) else Scale(self, other)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Scale(Kernel):
    """`variance * kernel`.

    Attributes:
        kernel: The kernel to scale.
        variance: Factor > 0; the prior variance where the kernel has `k(x, x) = 1`.
    """

    kernel: Kernel
    variance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive_number("variance", self.variance, 0.0, inf))

    @property
    def unscaled(self) -> Kernel:
        return self.kernel.unscaled

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        K = self.kernel(X, Y)
        K *= self.variance
        return K

    def rows(self, X: Array, Y: Array) -> Array | None:
        K = self.kernel.rows(X, Y)
        return None if K is None else K * self.variance

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return self.variance * self.kernel.diag(X)

    def with_input_gradient(
        self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, "n m"], InputGradient]:
        K, gradient = self.kernel.with_input_gradient(X, Y)
        K *= self.variance
        return K, lambda W: self.variance * gradient(W)

    def diag_gradient(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return self.variance * self.kernel.diag_gradient(X)

    def to_spec(self) -> dict[str, Any]:
        return {"name": "scale", "kernel": self.kernel.to_spec(), "variance": self.variance}


@dataclass(frozen=True)
class Sum(Kernel):
    """`left + right`."""

    left: Kernel
    right: Kernel

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        return self.left(X, Y) + self.right(X, Y)

    def rows(self, X: Array, Y: Array) -> Array | None:
        left, right = self.left.rows(X, Y), self.right.rows(X, Y)
        return None if left is None or right is None else left + right

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return self.left.diag(X) + self.right.diag(X)

    def with_input_gradient(
        self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, "n m"], InputGradient]:
        (left, by_left), (right, by_right) = (each.with_input_gradient(X, Y) for each in (self.left, self.right))
        return left + right, lambda W: by_left(W) + by_right(W)

    def diag_gradient(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return self.left.diag_gradient(X) + self.right.diag_gradient(X)

    def to_spec(self) -> dict[str, Any]:
        return {"name": "sum", "kernels": [self.left.to_spec(), self.right.to_spec()]}


@dataclass(frozen=True)
class Product(Kernel):
    """`left * right`, elementwise."""

    left: Kernel
    right: Kernel

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        return self.left(X, Y) * self.right(X, Y)

    def rows(self, X: Array, Y: Array) -> Array | None:
        left, right = self.left.rows(X, Y), self.right.rows(X, Y)
        return None if left is None or right is None else left * right

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return self.left.diag(X) * self.right.diag(X)

    def with_input_gradient(
        self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, "n m"], InputGradient]:
        (left, by_left), (right, by_right) = (each.with_input_gradient(X, Y) for each in (self.left, self.right))
        return left * right, lambda W: by_left(W * right) + by_right(W * left)

    def diag_gradient(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        left, right = self.left.diag(X)[:, None], self.right.diag(X)[:, None]
        return self.left.diag_gradient(X) * right + left * self.right.diag_gradient(X)

    def to_spec(self) -> dict[str, Any]:
        return {"name": "product", "kernels": [self.left.to_spec(), self.right.to_spec()]}


@dataclass(frozen=True)
class ActiveDims(Kernel):
    """`kernel` of some of the features alone, as the factors and terms of kernels of action and context are.

    Attributes:
        kernel: The kernel.
        dims: Which features it sees, in this order, counted from 0; distinct.

    Raises:
        ValueError: if there are none, or one is negative or comes twice.
    """

    kernel: Kernel
    dims: tuple[int, ...]

    def __post_init__(self) -> None:
        dims = tuple(as_count("dims", dim, 0) for dim in self.dims)
        if not dims or len(set(dims)) < len(dims):
            raise ValueError(f"dims: expected at least one feature, each once, got {self.dims!r}")
        object.__setattr__(self, "dims", dims)

    def _seen(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        if X.ndim != 2 or X.shape[1] <= max(self.dims):
            raise ValueError(f"dims: expected points with more than {max(self.dims)} features, got shape {X.shape}")
        return X[:, self.dims]

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        return self.kernel(self._seen(X), self._seen(Y))

    def rows(self, X: Array, Y: Array) -> Array | None:
        stack = namespace_of(X).stack
        return self.kernel.rows(*(stack([Z[:, j] for j in self.dims], axis=1) for Z in (X, Y)))

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return self.kernel.diag(self._seen(X))

    def with_input_gradient(
        self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, "n m"], InputGradient]:
        K, seen = self.kernel.with_input_gradient(self._seen(X), self._seen(Y))

        def gradient(W: np.ndarray) -> np.ndarray:
            out = np.zeros(X.shape)
            out[:, self.dims] = seen(W)
            return out

        return K, gradient

    def diag_gradient(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        gradient = np.zeros(X.shape)
        gradient[:, self.dims] = self.kernel.diag_gradient(self._seen(X))
        return gradient

    def to_spec(self) -> dict[str, Any]:
        return {"name": "active_dims", "kernel": self.kernel.to_spec(), "dims": list(self.dims)}
