"""The hyperparameters of a stationary ARD kernel with noise, and their log marginal likelihood with its gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from types import MappingProxyType

import numpy as np
from jaxtyping import Float
from scipy.linalg.lapack import dpotrf, dpotri

from gpbandit_envs.arguments import as_word
from gpbandit_envs.gp.kernels import SE, ActiveDims, Kernel, Linear, Matern, Scale, Stationary
from gpbandit_envs.gp.linalg import FactorisationError, jittered_cholesky, solve_lower
from gpbandit_envs.gp.observations import Observations

_LOG_2PI = float(np.log(2 * np.pi))

Groups = Sequence[tuple[int, ...]]
"""The one-hot columns of each category."""

FAMILIES: Mapping[str, Callable[[tuple[float, ...]], Stationary]] = MappingProxyType(
    {"matern52": partial(Matern, nu=2.5), "matern32": partial(Matern, nu=1.5), "se": SE}
)
"""Kernels of variance 1 whose lengthscales can be learned, by name."""


def as_family(family: str) -> Callable[[tuple[float, ...]], Stationary]:
    """The family of that name.

    Raises:
        ValueError: if there is none.
    """
    return FAMILIES[as_word("family", family, tuple(FAMILIES))]


def numbers_of(dim: int, groups: Groups) -> list[int]:
    """The columns, of `dim`, that are of no category."""
    return sorted(set(range(dim)).difference(*groups))


def free_dim(dim: int, groups: Groups) -> int:
    """How many lengthscales `dim` columns have: a category counts once."""
    return dim - sum(len(group) - 1 for group in groups)


@dataclass(frozen=True)
class Hyperparameters:
    """Kernel variance, noise variance and lengthscales; with categories also the variances of their levels.

    The kernel is `s^2 k(numbers) prod_c rho_c^[levels differ] + sum_c v_c [levels are equal]`: the correlation of two
    levels of a category is `rho_c = exp(-1 / l_c^2)`, with one lengthscale for all its columns, which are one-hot.

    Attributes:
        variance: Kernel variance `s^2`, unit of y^2.
        noise: Noise variance `lam`, unit of y^2.
        lengthscales: `l`, one per feature, unit of the features.
        levels: `v`, the variance of the level alone, one per category, unit of y^2.
        groups: The columns of each category.

    Raises:
        ValueError: if one of them is not finite and positive.
    """

    variance: float
    noise: float
    lengthscales: tuple[float, ...]
    levels: tuple[float, ...] = ()
    groups: Groups = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscales", tuple(map(float, self.lengthscales)))
        for name in ("variance", "noise", "lengthscales", "levels"):
            if not all(np.isfinite(v) and v > 0 for v in np.atleast_1d(getattr(self, name)).tolist()):
                raise ValueError(f"{name}: expected finite numbers > 0, got {getattr(self, name)!r}")

    @classmethod
    def from_vector(cls, theta: Float[np.ndarray, " k"], groups: Groups = ()) -> Hyperparameters:
        """The hyperparameters whose logarithms are `theta`: of each category its lengthscale, and last its variance."""
        variance, noise, *lengths = np.exp(theta).tolist()
        if not groups:
            return cls(variance, noise, tuple(lengths))
        split = len(lengths) - 2 * len(groups)
        dim = split + sum(map(len, groups))
        by_column = dict(zip(numbers_of(dim, groups), lengths[:split], strict=True))
        for group, length in zip(groups, lengths[split:], strict=False):
            by_column |= dict.fromkeys(group, length)
        return cls(variance, noise, tuple(by_column[j] for j in range(dim)), tuple(lengths[-len(groups) :]), groups)

    def vector(self) -> Float[np.ndarray, " k"]:
        """`theta`, as of `from_vector`."""
        columns = [*numbers_of(len(self.lengthscales), self.groups), *(group[0] for group in self.groups)]
        return np.log([self.variance, self.noise, *(self.lengthscales[j] for j in columns), *self.levels])

    def kernel(self, family: str = "matern52") -> Kernel:
        """The kernel with these values."""
        if not self.groups:
            return Scale(as_family(family)(self.lengthscales), self.variance)
        numbers = tuple(numbers_of(len(self.lengthscales), self.groups))
        columns = tuple(j for group in self.groups for j in group)
        kernel: Kernel = ActiveDims(SE(tuple(self.lengthscales[j] for j in columns)), columns)
        if numbers:
            kernel = ActiveDims(as_family(family)(tuple(self.lengthscales[j] for j in numbers)), numbers) * kernel
        own = [v**-0.5 for v, group in zip(self.levels, self.groups, strict=True) for _ in group]
        return Scale(kernel, self.variance) + ActiveDims(Linear(lengthscale=tuple(own)), columns)

    def rescaled(self, scale: float) -> Hyperparameters:
        """The hyperparameters for feedback `scale` times as large."""
        levels = tuple(v * scale**2 for v in self.levels)
        return Hyperparameters(self.variance * scale**2, self.noise * scale**2, self.lengthscales, levels, self.groups)


class LogMarginalLikelihood:
    """`log N(y | 0, s^2 R_l + lam I)` and its gradient with respect to `theta`.

    One evaluation costs a factorisation and an inverse, O(u^3), and O(u^2 d) for all lengthscales together: with
    `W = a a^T - K^-1`, `a = K^-1 m` and `H` the slopes of the kernel, `-2 dk / d(r^2)`, the derivative with respect to
    `log l_j` is `sum_{a < b} (W * s^2 H)_ab (x_aj - x_bj)^2 / l_j^2`. The squared differences of all pairs are kept,
    `u^2 d / 2` numbers, so that distances and derivatives are one matrix-vector product each and lose no digits.

    Args:
        data: The observations, grouped by input.
        family: `"matern52"`, `"matern32"` or `"se"`.
        groups: The columns of each category, see `Hyperparameters`.

    Raises:
        ValueError: for an unknown family.

    Reference: Rasmussen and Williams (2006), eq. 5.8-5.9.
    """

    def __init__(self, data: Observations, family: str = "matern52", groups: Groups = ()) -> None:
        self.data = data
        self.family, self.groups = family, groups
        self._unit_kernel = as_family(family)((1.0,))
        u = len(data.X)
        first, second = np.triu_indices(u, 1)
        self._squares = data.X.take(first, axis=0)
        self._squares -= data.X.take(second, axis=0)
        self._squares *= self._squares
        if groups:  # squared distances and inner products of each category's columns
            parts = [data.X[:, group] for group in groups]
            self._apart = np.column_stack([self._squares[:, group].sum(axis=1) for group in groups])
            self._same = np.column_stack([(X[first] * X[second]).sum(axis=1) for X in parts])
            self._own = np.column_stack([np.square(X).sum(axis=1) for X in parts])
            self._squares = self._squares[:, numbers_of(data.X.shape[1], groups)]
        self._second, self._later = second, np.arange(u - 1, -1, -1)  # of each pair, and how many pairs begin with it
        # Where the pairs are in the lower triangle of a column-major matrix, as LAPACK has it.
        self._lower = first * u + second
        # Used again by each evaluation: of 200 inputs, to ask the system for a new one takes a tenth of the time.
        self._K = np.zeros((u, u))
        # Lengthscales evaluated last, and their kernel and slopes.
        self._lengths, self._kernel = b"", (np.zeros(0), np.zeros(0))
        self._learnt = np.ones(u) if data.known is None else np.isnan(data.known).astype(np.float64)
        self._repeats = int(self._learnt @ (data.counts - 1))
        self._constant = -0.5 * (data.total * _LOG_2PI + float(np.log(data.counts).sum()))

    def value(self, theta: Float[np.ndarray, " k"]) -> float:
        """The value at `theta`, shape (d + 2,), in less than half of the time that it takes with its gradient.

        Raises:
            FactorisationError: if it is no finite number.
        """
        return self._fit(theta)[0]

    def __call__(self, theta: Float[np.ndarray, " k"]) -> tuple[float, Float[np.ndarray, " k"]]:
        """Value and gradient at `theta`, shape (d + 2,).

        Raises:
            FactorisationError: if the value is no finite number.
        """
        data, u = self.data, len(self.data.X)
        value, L, half, slope = self._fit(theta)
        variance, noise = np.exp(theta[:2]).tolist()
        d = 2 + self._squares.shape[1]
        precision, lam = np.exp(-2 * theta[2:d]), data.noise(noise)
        a = solve_lower(L, half, transposed=True)
        inverse, _ = dpotri(L, lower=1, overwrite_c=1)
        noise_trace = float(np.diagonal(inverse) @ lam)
        noise_fit = float(a * a @ lam)
        gradient = np.empty(len(theta))
        gradient[0] = 0.5 * ((float(half @ half) - noise_fit) - (u - noise_trace))
        if data.known is not None:
            noise_trace, noise_fit = (float(each @ (lam * self._learnt)) for each in (np.diagonal(inverse), a * a))
        gradient[1] = 0.5 * (noise_fit - noise_trace + data.scatter / noise - self._repeats)
        W = np.repeat(a, self._later)
        W *= a.take(self._second)
        W -= inverse.T.reshape(-1).take(self._lower)
        if self.groups:
            n, levels = len(self.groups), np.exp(theta[-len(self.groups) :])
            gradient[d:-n] = variance * np.exp(-2 * theta[d:-n]) * ((W * self._kernel[0]) @ self._apart)
            gradient[-n:] = levels * (W @ self._same + 0.5 * (a * a - np.diagonal(inverse)) @ self._own)
            gradient[0] -= gradient[-n:].sum()  # the above took them for a part of the variance
        W *= slope
        gradient[2:d] = variance * precision * (W @ self._squares)
        return value, gradient

    def _fit(
        self, theta: Float[np.ndarray, " k"]
    ) -> tuple[float, Float[np.ndarray, "u u"], Float[np.ndarray, " u"], Float[np.ndarray, " pairs"]]:
        """The value, `L` with `L L^T = K`, `L^-1 m`, and the slopes of the kernel.

        `L` is in the array in which the next evaluation builds its `K`.
        """
        data = self.data
        variance, noise = np.exp(theta[:2]).tolist()
        lengths = theta[2:].tobytes()
        if lengths != self._lengths:  # an estimate of the noise alone asks some forty times for the same
            d, n = 2 + self._squares.shape[1], len(self.groups)
            k, slope = self._unit_kernel.with_slope(self._squares @ np.exp(-2 * theta[2:d]))
            if n:
                related = np.exp(-0.5 * (self._apart @ np.exp(-2 * theta[d:-n])))
                k, slope = k * related, slope * related
            self._lengths, self._kernel = lengths, (k, slope)
        k, slope = self._kernel
        k, diagonal = k * variance, variance + data.noise(noise)
        if self.groups:
            levels = np.exp(theta[-len(self.groups) :])
            k += self._same @ levels
            diagonal = diagonal + self._own @ levels
        self._fill(k, diagonal)
        L, failed = dpotrf(self._K.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            self._fill(k, diagonal)
            L, _ = jittered_cholesky(self._K.T)
        half = solve_lower(L, data.means)
        log_det = 2 * float(np.log(np.diagonal(L)).sum())
        misfit = float(half @ half) + log_det + data.scatter / noise + self._repeats * theta[1]
        if not isfinite(misfit):
            raise FactorisationError(f"theta: no finite likelihood at {theta.tolist()}")
        return -0.5 * misfit + self._constant, L, half, slope

    def _fill(self, k: Float[np.ndarray, " pairs"], diagonal: Float[np.ndarray, " u"]) -> None:
        """Write `K` into its array, the triangle alone that LAPACK reads."""
        flat = self._K.reshape(-1)
        flat[self._lower] = k
        flat[:: len(self._K) + 1] = diagonal
