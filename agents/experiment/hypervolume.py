"""Several outcomes: what no point beats in all of them, the volume that it dominates, and how much is to be gained.

All outcomes are turned so that large ones are good.

| symbol | meaning | shape |
|---|---|---|
| `Y` | outcomes of points | (n, m) |
| `r` | reference: what is no better in some outcome counts for nothing | (m,) |
| `mu, s` | mean and standard deviation of each outcome, independent of each other | (n, m) |

What no point of `Y` dominates, above `r`, is cut into boxes `[l_1, u_1) x ... x [l_(m-1), u_(m-1)) x [l_m, inf)`: one
in each cell of the grid that the first `m - 1` outcomes make. The volume that a new point adds within a box is
`prod_j (min(y_j, u_j) - l_j)_+`, whose expectation is a product of differences of expected improvements
`E (y - t)_+ = s (phi(z) + z Phi(z))`, `z = (mu - t) / s`. For one outcome this is expected improvement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import pi, sqrt

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import log_ndtr, logsumexp

from agents.core.acquisition import LogExpectedImprovement, Predictive

_GAIN = LogExpectedImprovement(0.0)  # of what is gained beyond an edge, by the distance from it
_LEAST_SD = 1e-100  # far below that of any outcome: where data leave no doubt it keeps quotients finite
_FAR = 1e4  # deviations beyond a limit from which the hazard of a normal variable is its distance, to 8 digits


def is_dominated(Y: Float[np.ndarray, "n m"]) -> Bool[np.ndarray, " n"]:
    """Which rows another one beats: it is as good in all outcomes, and better in one."""
    as_good: np.ndarray = np.all(Y[:, None] <= Y[None], axis=2)
    better: np.ndarray = np.any(Y[:, None] < Y[None], axis=2)
    return np.any(as_good & better, axis=1)


def boxes_above(
    Y: Float[np.ndarray, "n m"], reference: Float[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, "b m"], Float[np.ndarray, "b m"]]:
    """Lower and upper corners of boxes that make up what is above `r` and dominated by no row of `Y`."""
    Y = Y[(reference < Y).all(axis=1)]
    Y = np.unique(Y[~is_dominated(Y)], axis=0) if len(Y) else Y
    m = len(reference)
    edges = [np.concatenate([[reference[j]], np.unique(Y[:, j]), [np.inf]]) for j in range(m - 1)]
    cells = [grid.ravel() for grid in np.meshgrid(*[np.arange(len(edge) - 1) for edge in edges], indexing="ij")]
    count = len(cells[0]) if m > 1 else 1
    lower, upper = np.full((count, m), reference[-1]), np.full((count, m), np.inf)
    for j in range(m - 1):
        lower[:, j], upper[:, j] = edges[j][cells[j]], edges[j][cells[j] + 1]
    if len(Y):
        # In a cell the last outcome is dominated up to the largest one of the points beyond its lower corner.
        beyond = (Y[None, :, :-1] > lower[:, None, :-1]).all(axis=2)
        lower[:, -1] = np.maximum(reference[-1], np.where(beyond, Y[None, :, -1], -np.inf).max(axis=1))
    return lower, upper


def reference_of(Y: Float[np.ndarray, "n m"], least: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """The reference where limits state none: a tenth of the extent of all outcomes below the worst of them.

    That of the front alone, a common choice, leaves out what is beyond its ends: a campaign whose first front is at one
    end of the true one would stay there.

    Args:
        Y: Outcomes of all points, n >= 1.
        least: Limits of the outcomes, minus infinity where there is none.
    """
    worst, extent = Y.min(axis=0), np.ptp(Y, axis=0)
    extent = np.where(extent > 0, extent, np.maximum(np.abs(worst), 1.0))
    return np.where(np.isfinite(least), least, worst - 0.1 * extent)


@dataclass(frozen=True)
class LogHypervolumeImprovement:
    """`log E[volume added] + sum log P(limit is kept)`, of outcomes with independent Gaussian processes.

    Attributes:
        posteriors: One for each outcome that has a direction, and behind them one for each of the others, of
            outcomes that are turned.
        lower: Lower corners of the boxes; see `boxes_above`.
        upper: Upper corners.
        least: Limits of the others, turned as they are.
        most: Their upper limits, infinite where there is none.

    Reference: Emmerich, Deutz and Klinkenberg (2011), Hypervolume-based expected improvement: monotonicity properties
    and exact computation; Yang et al. (2019), Efficient computation of expected hypervolume improvement using box
    decomposition algorithms, for boxes; Gardner et al. (2014), Bayesian optimization with inequality constraints, for
    limits.
    """

    posteriors: Sequence[Predictive]
    lower: Float[np.ndarray, "b m"]
    upper: Float[np.ndarray, "b m"]
    least: Float[np.ndarray, " c"]
    most: Float[np.ndarray, " c"] | float = np.inf

    def __call__(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Values at `X`."""
        found = [posterior.at(X) for posterior in self.posteriors]
        mu = np.column_stack([mean for mean, _ in found])
        return self._value(mu, np.sqrt(np.column_stack([variance for _, variance in found])), slopes=False)[0]

    def with_gradient(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n d"]]:
        """Values and gradients at `X`."""
        found = [posterior.at_with_gradient(X) for posterior in self.posteriors]
        mu, sd = (np.column_stack([each[i] for each in found]) for i in (0, 1))
        value, by_mean, by_sd = self._value(mu, sd, slopes=True)
        gradient = sum(by_mean[:, j, None] * each[2] + by_sd[:, j, None] * each[3] for j, each in enumerate(found))
        return value, np.asarray(gradient)

    @cached_property
    def _edges(self) -> list[tuple[Float[np.ndarray, " e"], Int[np.ndarray, " b"], Int[np.ndarray, " b"]]]:
        """Of each outcome with a direction the finite edges of boxes, and the lower and upper ones by their places."""
        out = []
        for low, high in zip(self.lower.T, self.upper.T, strict=True):
            edges, which = np.unique(np.concatenate([low, high, [np.inf]]), return_inverse=True)
            out.append((edges[:-1], which[: len(low)], which[len(low) : -1]))
        return out

    def _value(
        self, mu: Float[np.ndarray, "n p"], sd: Float[np.ndarray, "n p"], slopes: bool
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n p"], Float[np.ndarray, "n p"]]:
        """The value, and its derivatives in every mean and standard deviation if `slopes` are wanted."""
        sd, m = np.maximum(sd, _LEAST_SD), self.lower.shape[1]
        by_mean, by_sd = np.zeros_like(mu), np.zeros_like(sd)
        # By logarithms, so that a gain that is next to impossible, as beyond a limit out of reach, still has a slope.
        above = [
            np.broadcast_arrays(mu[:, j, None] - edges, sd[:, j, None]) for j, (edges, _, _) in enumerate(self._edges)
        ]
        gains = [_with_infinity(_GAIN(d.ravel(), s.ravel()).reshape(d.shape), -np.inf) for d, s in above]
        in_box = np.zeros((len(mu), len(self.lower)))
        for gain, (_, low, high) in zip(gains, self._edges, strict=True):
            in_box += gain[:, low] + np.log(-np.expm1(_ratio(gain, low, high)))
        volume = logsumexp(in_box, axis=1)
        share = np.exp(in_box - volume[:, None]) if slopes else in_box[:0]
        for j in range(m) if slopes else ():
            _, low, high = self._edges[j]
            ratio = np.exp(_ratio(gains[j], low, high))
            d, s = above[j]
            for out, found in zip((by_mean, by_sd), _GAIN.slopes(d.ravel(), s.ravel()), strict=True):
                slope = _with_infinity(found.reshape(d.shape), 0.0)
                out[:, j] = (share * (slope[:, low] - ratio * slope[:, high]) / (1 - ratio)).sum(axis=1)
        z, over = (mu[:, m:] - self.least) / sd[:, m:], (mu[:, m:] - self.most) / sd[:, m:]
        log_kept, near = _log_between(z, over), _log_between(np.maximum(z, -_FAR), np.minimum(over, _FAR))
        low = np.where(z < -_FAR, -z, _density(np.maximum(z, -_FAR), near))
        high = np.where(over > _FAR, over, _density(np.minimum(over, _FAR), near))
        by_mean[:, m:], limited = (low - high) / sd[:, m:], np.where(np.isfinite(over), over, 0.0)
        by_sd[:, m:] = (high * limited - low * z) / sd[:, m:]
        return volume + log_kept.sum(axis=1), by_mean, by_sd


def _log_between(z: Float[np.ndarray, "n c"], over: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n c"]:
    """`log(Phi(z) - Phi(over))`, on the side where both are small."""
    turned = z + over > 0
    large, small = (log_ndtr(np.where(turned, -a, b)) for a, b in ((over, z), (z, over)))
    between: np.ndarray = large + np.log(-np.expm1(np.minimum(small - large, -np.finfo(float).eps)))
    return between


def _density(z: Float[np.ndarray, "n c"], log_kept: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n c"]:
    """The standard normal density at `z` in `exp(log_kept)`."""
    ratio: np.ndarray = np.exp(-0.5 * z * z - log_kept) / sqrt(2 * pi)
    return ratio


def _with_infinity(each: Float[np.ndarray, "n e"], beyond: float) -> Float[np.ndarray, "n e1"]:
    """Columns for the edges of boxes, with what holds for an edge at infinity as the last."""
    return np.concatenate([each, np.full((len(each), 1), beyond)], axis=1)


def _ratio(gain: Float[np.ndarray, "n e"], low: Int[np.ndarray, " b"], high: Int[np.ndarray, " b"]) -> np.ndarray:
    """Logarithm of what is gained beyond the upper edge of each box in what is gained beyond the lower, below 0."""
    return np.minimum(gain[:, high] - gain[:, low], -np.finfo(float).eps)
