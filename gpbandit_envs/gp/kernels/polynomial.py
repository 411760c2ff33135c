"""Covariance functions of the inner product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import as_count, as_number
from gpbandit_envs.arrays import Array, namespace_of
from gpbandit_envs.gp.kernels.base import InputGradient, Kernel, Lengthscale, as_lengthscale, check_inputs, scaled


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Polynomial kernel: `(offset + <x / l, y / l>)^degree`.

    Attributes:
        degree: Degree, an integer >= 1.
        offset: Prior variance of the constant, >= 0.
        lengthscale: One number, or one per feature (ARD); unit of the features.
    """

    degree: int = 2
    offset: float = 1.0
    lengthscale: Lengthscale = 1.0
    name: ClassVar[str] = "polynomial"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", as_lengthscale(self.lengthscale))
        object.__setattr__(self, "degree", as_count("degree", self.degree))
        object.__setattr__(
            self, "offset", as_number("offset", self.offset, "a finite number >= 0", lambda offset: offset >= 0)
        )

    def __call__(self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        check_inputs(X, Y, self.lengthscale)
        scale = np.asarray(self.lengthscale)
        K: np.ndarray = (X / scale) @ (Y / scale).T + self.offset
        return K if self.degree == 1 else K**self.degree

    def rows(self, X: Array, Y: Array) -> Array | None:
        x, y = (namespace_of(Z).stack(scaled(Z, self.lengthscale), axis=1) for Z in (X, Y))
        return (x @ namespace_of(y).permute_dims(y, (1, 0)) + self.offset) ** self.degree

    def diag(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        squares: np.ndarray = np.square(X / np.asarray(self.lengthscale)).sum(axis=1) + self.offset
        return squares**self.degree

    def with_input_gradient(
        self, X: Float[np.ndarray, "n d"], Y: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, "n m"], InputGradient]:
        K, scale = self(X, Y), np.asarray(self.lengthscale)

        def gradient(W: np.ndarray) -> np.ndarray:
            W = np.broadcast_to(W, K.shape)
            if self.degree > 1:
                W = W * self.degree * ((X / scale) @ (Y / scale).T + self.offset) ** (self.degree - 1)
            return W @ Y / scale**2

        return K, gradient

    def diag_gradient(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        scale = np.asarray(self.lengthscale)
        squares = np.square(X / scale).sum(axis=1, keepdims=True) + self.offset
        return 2 * self.degree * squares ** (self.degree - 1) * X / scale**2

    def to_spec(self) -> dict[str, Any]:
        scale = self.lengthscale
        return {
            "name": self.name,
            "degree": int(self.degree),
            "offset": float(self.offset),
            "lengthscale": list(scale) if isinstance(scale, tuple) else scale,
        }


def Linear(offset: float = 0.0, lengthscale: Lengthscale = 1.0) -> Polynomial:  # noqa: N802 - reads as a kernel
    """Linear kernel: `offset + <x / l, y / l>`, the polynomial kernel of degree 1."""
    return Polynomial(degree=1, offset=offset, lengthscale=lengthscale)
