"""What a sketched posterior keeps for every arm: mean, variance, and the covariance with the arms pulled last.

| symbol | meaning | shape |
|---|---|---|
| `c(x, .)` | row of the reducible covariance at x | (A,) |
| `h` | functions over the arms, rows of one product with kernel rows | (p, A) |

Whatever changes c by a signed sum of outer products `sum_i s_i h_i h_i^T` adds `s_i h_i(x) h_i` to its row at x. A
policy that pulls one arm at a time mostly pulls one of the last few again, and all that n pulls of x change follows
from its row, in O(A) where a product with the kernel rows of m arms takes O(m A). With `d = c(x, x) + lam / n` and y
the mean of the n rewards

- the variance falls by `c(x, .)^2 / d`,
- the mean rises by `c(x, .) (y - mean(x)) / d`,
- `lam / (n d)` of the row itself is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.arrays import Array, Device
from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.gp.many import CovarianceRows

_SPARE = 64  # rows on a device of arms that are no longer needed
_ROWS = 4  # of BKB's pulls on Abalone, 90 % are of the last two arms, 92 % of the last four or the last sixteen
_BYTES = 2**24


class AllArms:
    """Mean and variance of every arm, and up to four rows; none where they would take more than 16 MB.

    Args:
        prior: Prior variances, shape (A,).
        lam: Noise variance of one feedback.

    Attributes:
        mean: Posterior mean, shape (A,).
        v: Posterior variance, never clipped: that would turn rounding into drift. Shape (A,).
        recent: Arms whose rows are kept.
        rows: Their rows, shape (k, A).
    """

    def __init__(self, prior: Float[np.ndarray, " A"], lam: float) -> None:
        self._lam = lam
        self.mean, self.v = np.zeros(len(prior)), prior.copy()
        self._kept = np.zeros((min(_ROWS, _BYTES // (8 * len(prior))), len(prior)))
        self.forget()

    def products(
        self, rows: KernelRows, C: Float[np.ndarray, "p s"], positions: Int[np.ndarray, " s"]
    ) -> Iterator[tuple[slice, Array]]:
        """Combinations of kernel rows, as `KernelRows.products` has them, where mean and variance are."""
        return rows.products(C, positions)

    def embed(self, columns: slice, H: Array, prior: Float[np.ndarray, " A"]) -> None:
        """Set the mean of some arms to the last row of H, the variance to the prior's less squares of the others."""
        self.mean[columns] = H[-1]
        self.v[columns] = prior[columns] - np.einsum("ij,ij->j", H[:-1], H[:-1])

    def set_mean(self, columns: slice, mean: Array) -> None:
        """Set the mean of some arms."""
        self.mean[columns] = mean

    def means_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """The mean of these arms."""
        means: np.ndarray = self.mean[arms]
        return means

    def variances_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """The variance of these arms, not clipped."""
        variances: np.ndarray = self.v[arms]
        return variances

    def best_score(self, width: float) -> int:
        """The arm that maximises `mean + width * sd`; ties go to the lowest index."""
        return int(np.argmax(self.mean + width * np.sqrt(np.maximum(self.v, 0.0))))

    def forget(self) -> None:
        """Drop all rows."""
        self.recent: list[int] = []
        self._pulled: list[int] = []
        self._pulls = 0

    @property
    def rows(self) -> Float[np.ndarray, "k A"]:
        return self._kept[: len(self.recent)]

    def pull(self, arm: int, count: float, reward: float) -> bool:
        """Account for `count` pulls of an arm, `reward` on average; False, and nothing done, without its row."""
        if arm not in self.recent:
            return False
        i, rows, noise = self.recent.index(arm), self.rows, self._lam / count
        self._pulls += 1
        self._pulled[i] = self._pulls
        d = max(float(rows[i, arm]), 0.0) + noise
        gain = (reward - float(self.mean[arm])) / d
        factors = rows[:, arm] / -d
        factors[i] = 0.0
        row = rows[i]
        self.v -= row * row / d
        self.mean += gain * row
        rows += np.outer(factors, row)
        row *= noise / d
        return True

    def make_room(self, arm: int) -> int:
        """The place in `rows` of an arm that has none yet, empty; -1 where none are kept.

        It may be that of the arm whose pulls are longest ago.
        """
        if len(self._kept) == 0:
            return -1
        self._pulls += 1
        i = len(self.recent)
        if i < len(self._kept):
            self.recent.append(arm)
            self._pulled.append(self._pulls)
        else:
            i = self._pulled.index(min(self._pulled))
            self.recent[i], self._pulled[i] = arm, self._pulls
        self._kept[i] = 0.0
        return i

    def change(
        self,
        columns: slice,
        h: Float[np.ndarray, "p b"],
        signs: Float[np.ndarray, " p"],
        slopes: Float[np.ndarray, " p"],
        factors: Float[np.ndarray, "k p"],
    ) -> None:
        """Add signed squares of h to the variance of some arms, multiples of h to the mean and to the rows.

        Args:
            columns: Which arms.
            h: At these arms; overwritten.
            signs: By which to multiply the squares.
            slopes: What to add to the mean.
            factors: What to add to each of `rows`.
        """
        mean, v, rows = self.mean[columns], self.v[columns], self.rows[:, columns]
        mean += slopes @ h
        rows += factors @ h
        np.square(h, out=h)
        v += signs @ h


class DeviceArms(AllArms):
    """The same on a device, with the kernel rows of the dictionary; no rows of arms that were pulled last.

    Args:
        rows: What the kernel rows of the dictionary are of.
        lam: Noise variance of one feedback.
        device: Where all is that has a number for each arm.
    """

    def __init__(self, rows: KernelRows, lam: float, device: Device) -> None:
        self._covariances = CovarianceRows(rows.kernel, rows.X, device, few=True)
        self._lam, self._device, self._xp = lam, device, device.xp
        self._means, self._variances = self._covariances.prior * 0.0, self._covariances.prior * 1.0
        self._on_host: dict[str, np.ndarray] = {}
        self._slots: dict[int, int] = {}
        self._K: Array = None
        self._kept = np.zeros((0, len(rows.X)))
        self.forget()

    def _host(self, name: str, values: Array) -> Float[np.ndarray, " A"]:
        if name not in self._on_host:
            self._on_host[name] = np.array(self._device.get(values))
        return self._on_host[name]

    @property
    def mean(self) -> Float[np.ndarray, " A"]:  # type: ignore[override]
        """A copy on the processor, made when it is asked for."""
        return self._host("mean", self._means)

    @property
    def v(self) -> Float[np.ndarray, " A"]:  # type: ignore[override]
        """Likewise."""
        return self._host("v", self._variances)

    def products(
        self, rows: KernelRows, C: Float[np.ndarray, "p s"], positions: Int[np.ndarray, " s"]
    ) -> Iterator[tuple[slice, Array]]:
        used = C.any(axis=0)
        arms = rows.arms[positions[used]].tolist()
        if len(self._slots) > 2 * len(arms) + _SPARE:  # mostly of arms that have left the dictionary
            self._slots = {}
        missing = [arm for arm in arms if arm not in self._slots]
        first, total = len(self._slots), len(self._slots) + len(missing)
        if self._K is None or total > self._K.shape[0]:
            K = self._xp.empty((2 * total, len(rows.X)), dtype=self._means.dtype, device=self._means.device)
            if first:
                K[:first, :] = self._K[:first, :]
            self._K = K
        if missing:
            self._K[first:total, :] = self._covariances.take(self._device.put(np.array(missing)))
            self._slots.update(zip(missing, range(first, total)))
        spread = np.zeros((len(C), total))
        spread[:, [self._slots[arm] for arm in arms]] = C[:, used]
        yield slice(0, len(rows.X)), self._xp.matmul(self._device.put(spread), self._K[:total, :])

    def embed(self, columns: slice, H: Array, prior: Float[np.ndarray, " A"]) -> None:
        self._means = H[-1, :] * 1.0
        self._variances = self._covariances.prior - self._xp.sum(H[:-1, :] ** 2, axis=0)
        self._on_host = {}

    def set_mean(self, columns: slice, mean: Array) -> None:
        self._means = self._means * 0.0 + mean
        self._on_host = {}

    def change(self, columns: slice, h: Array, signs: np.ndarray, slopes: np.ndarray, factors: np.ndarray) -> None:
        xp, put = self._xp, self._device.put
        self._means = self._means + xp.matmul(put(slopes)[None, :], h)[0, :]
        self._variances = self._variances + xp.matmul(put(signs)[None, :], h * h)[0, :]
        self._on_host = {}

    def means_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        return self._device.get(self._xp.take(self._means, self._device.put(arms)))

    def variances_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        return self._device.get(self._xp.take(self._variances, self._device.put(arms)))

    def best_score(self, width: float) -> int:
        return int(self._xp.argmax(self._means + width * self._xp.sqrt(self._xp.clip(self._variances, 0.0, None))))

    def __getstate__(self) -> dict[str, Any]:
        """Everything as arrays of the processor, without rows, which are computed anew."""
        state = {name: value for name, value in vars(self).items() if name not in ("_xp", "_K", "_covariances")}
        numbers = {"_means": self.mean, "_variances": self.v}
        rows = self._covariances.kernel, self._covariances.X
        return {**state, **numbers, "_slots": {}, "_K": None, "_rows": rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kernel, X = state.pop("_rows")
        self._covariances = CovarianceRows(kernel, X, state["_device"], few=True)
        vars(self).update(state)
        self._xp = self._device.xp
        self._means, self._variances = self._device.put(self._means), self._device.put(self._variances)
