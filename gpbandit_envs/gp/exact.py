"""The exact posterior over a finite set of arms, of one repetition or of many at once.

| symbol | meaning | shape |
|---|---|---|
| `R`, `A` | repetitions, arms | |
| `W` | whitened rows: the posterior covariance is `k(x, x') - sum_s W_s(x) W_s(x')` | (R, t, A) |
| `L` | the rows at their own arms, `L[s, r] = W_r(x_s)`: a Cholesky factor of `K_t + lam I` | (t, t) |
| `z` | whitened residuals: the mean is `sum_s z_s W_s` | |

A pull of x has the covariance `c = k(x, .) - sum_s W_s(x) W_s`, one product of a row with a matrix; with
`d = c(x) + lam` it appends `W_t = c / sqrt(d)` and takes `W_t^2` off the variance: the Cholesky factorisation of
`K_t + lam I`, a row at a time and carried to all arms, with the rounding of that factorisation. Once the feedback y is
there, `z_t W_t` with `z_t = (y - m(x)) / sqrt(d)` is added to the mean m. Rows whose feedback is awaited come last; they
shrink variances and leave the mean alone.

Repeated pulls make W longer than the number u of distinct arms needs. Once it is much longer, it is computed anew from
counts and sums: n pulls of an arm with mean feedback s / n are one observation with noise variance lam / n, so with
`L L^T = K_uu + lam diag(1 / n)` the rows are `L^-1 k(U, .)`. Nothing grows with the number of pulls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arms import ArmPosterior
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower
from gpbandit_envs.gp.rows import KernelRows

__all__ = ["ExactPosterior", "ExactPosteriors"]

_SPARE, _LONG = 64, 1.25
_RESERVED = 2**28  # bytes of address space for whitened rows; np.empty commits only what is written
_COLUMNS = 2**13
_FIRST = np.zeros(1, np.int64)


class Rows(Protocol):
    """Covariances of arms with all arms."""

    prior: Float[np.ndarray, " A"]
    """Variances, shape (A,)."""

    def take(self, arms: Int[np.ndarray, " p"], out: Float[np.ndarray, "p A"] | None = None) -> Float[np.ndarray, "p A"]:
        """The rows of `arms`, a copy."""


class ExactPosteriors:
    """The exact posteriors of `R` repetitions over one set of arms.

    Repetitions share kernel rows and nothing else: each computes, bit for bit, what it would compute alone.

    Args:
        rows: Kernel rows of the arms, which posteriors on the same arms may share.
        lam: Noise variance of one feedback, > 0, unit of y^2.
        R: Number of repetitions.
        prior_mean: Mean before any pull, shape (A,); zero by default.

    Attributes:
        mean: Given the feedback that has arrived, shape (R, A); not to be written to.
        v: Variance given all pulls, with or without feedback, shape (R, A); never clipped, since clipping an accumulated
            value would turn rounding into drift.
        settled: The same given the pulls whose feedback has arrived.
        n, sums: Pulls of each arm whose feedback has arrived, and the sum of it, shape (R, A).
        information_gain: `0.5 logdet(I + K_t / lam)` of these pulls, shape (R,), in nats.
        renewals: How often the rows of each repetition were computed anew, shape (R,).

    Raises:
        ValueError: if `lam` is out of range.

    Reference: Rasmussen and Williams (2006), algorithm 2.1 and eq. 2.23-2.24.
    """

    def __init__(
        self, rows: Rows, lam: float, R: int = 1, prior_mean: Float[np.ndarray, " A"] | None = None
    ) -> None:
        if not (np.isfinite(lam) and lam > 0):
            raise ValueError(f"lam: expected a finite number > 0, got {lam!r}")
        self.rows, self.lam, A = rows, float(lam), len(rows.prior)
        self._prior_mean = np.zeros(A) if prior_mean is None else prior_mean.copy()
        self.mean, self.v, self.settled = np.empty((R, A)), np.empty((R, A)), np.empty((R, A))
        self.n, self.sums = np.empty((R, A)), np.empty((R, A))
        self.information_gain, self.renewals = np.zeros(R), np.zeros(R, np.int64)
        capacity = max(_SPARE, min(_RESERVED // (8 * R * A), 2 * A + _SPARE))
        self._W = np.empty((R, capacity, A))
        # Of each row: its arm, how many pulls it stands for, and sqrt(d).
        self._arms, self._counts = np.zeros((R, capacity), np.int64), np.ones((R, capacity))
        self._roots = np.zeros((R, capacity))
        self._used, self._told = np.zeros(R, np.int64), np.zeros(R, np.int64)
        self._each = np.arange(R)
        self._rows, self._spare = np.empty((R, A)), np.empty((R, A))
        self.reset()

    def __len__(self) -> int:
        """Number of repetitions."""
        return len(self._each)

    def reset(self) -> None:
        """Forget all pulls."""
        self.mean[:] = self._prior_mean
        self.n[:] = self.sums[:] = 0.0
        self.settled[:] = self.v[:] = self.rows.prior
        self.information_gain[:] = 0.0
        self._used[:] = self._told[:] = self.renewals[:] = 0
        # Arms with feedback, in the order of their first, and open pulls of each arm.
        self._distinct: list[dict[int, None]] = [{} for _ in self._each]
        self._open: list[Counter[int]] = [Counter() for _ in self._each]
        self._made: list[list[_Block]] = [[] for _ in self._each]

    def open(self, i: int = 0) -> Counter[int]:
        """Pulls of each arm that repetition `i` knows no feedback of."""
        return self._open[i].copy()

    def unique(self) -> Float[np.ndarray, " R"]:
        """Distinct arms whose feedback has arrived."""
        return np.array([float(len(arms)) for arms in self._distinct])

    def effective_dimension(self) -> Float[np.ndarray, " R"]:
        """`Tr(K_t (K_t + lam I)^-1)` of the pulls whose feedback has arrived."""
        np.maximum(self.settled, 0.0, out=self._spare)
        return np.einsum("ij,ij->i", self.n, self._spare) / self.lam

    def pull(self, arms: Int[np.ndarray, " R"]) -> None:
        """Account for a pull of one arm in each repetition, whose feedback comes later."""
        self._make_room()
        rows = self.rows.take(arms, out=self._rows)
        for i, (row, arm) in enumerate(zip(rows, arms.tolist())):
            self.v[i] -= np.square(self._whiten(i, row, arm), out=self._spare[i])
            self._open[i][arm] += 1
            self._made[i].append(_Block(arms[i : i + 1], None, 1))

    def _whiten(self, i: int, row: Float[np.ndarray, " A"], arm: int) -> Float[np.ndarray, " A"]:
        """Append to `W` the row of a pull of `arm`, whose kernel row is `row`."""
        t = int(self._used[i])
        new = self._W[i, t]
        if t:
            W = self._W[i, :t]
            np.subtract(row, np.dot(W[:, arm], W, out=new), out=new)
        else:
            new[:] = row
        root = np.sqrt(max(new[arm], 0.0) + self.lam)
        new /= root
        self._arms[i, t], self._counts[i, t], self._roots[i, t] = arm, 1.0, root
        self._used[i] = t + 1
        return new

    def observe_one(
        self, which: Int[np.ndarray, " r"], arms: Int[np.ndarray, " r"], y: Float[np.ndarray, " r"]
    ) -> None:
        """Take in one evaluation in each of the distinct repetitions `which`: the feedback `y` of `arms`."""
        first = self._told[which]
        alone = (self._used[which] == first + 1) & (self._arms[which, first] == arms)
        if not (alone & (self._counts[which, first] == 1)).all():
            for i, arm, value in zip(which.tolist(), arms.tolist(), y.tolist()):
                self.observe(i, np.array([arm]), np.ones(1), np.array([value]))
            return
        _finite(y)
        root, W = self._roots[which, first], self._W[which, first]
        z = (y - self.mean[which, arms]) / root
        W *= z[:, None]
        if len(which) == len(self):
            self.mean += W
            self.settled[:] = self.v
        else:
            self.mean[which] += W
            self.settled[which] = self.v[which]
        self._told[which] += 1
        self.information_gain[which] += np.log(root / np.sqrt(self.lam))
        self.n[which, arms] += 1.0
        self.sums[which, arms] += y
        for i, arm in zip(which.tolist(), arms.tolist()):
            self._distinct[i][arm] = None
            self._open[i].clear()

    def observe(
        self, i: int, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], sums: Float[np.ndarray, " p"]
    ) -> None:
        """Take in feedback of repetition `i`: `counts` pulls of each of the distinct `arms`, which adds up to `sums`.

        It may come in any order, and of arms that `pull` has not announced.

        Raises:
            ValueError: if a sum is not finite; nothing has changed then.
        """
        _finite(sums)
        told = Counter({arm: int(count) for arm, count in zip(arms.tolist(), counts.tolist())})
        rows, left = self._first_rows(i, told), self._open[i] - told
        if rows is None:
            # The pulls that are still open are computed anew behind those whose feedback has overtaken theirs.
            self._forget_open(i)
            self._append(i, arms, counts)
            rows = len(arms)
        self._settle(i, rows, arms, counts, sums)
        if self._used[i] == self._told[i]:
            self.settled[i] = self.v[i]
            self._open_block(i, left)
        else:
            W = self._W[i, self._told[i] - rows : self._told[i]]
            self.settled[i] -= np.einsum("ij,ij->j", W, W)
            self._open[i] = left

    def _first_rows(self, i: int, told: Counter[int]) -> int | None:
        """How many of the first open rows are the pulls `told`; None if no number is."""
        seen: Counter[int] = Counter()
        n_seen, n_told = 0, told.total()
        for row in range(int(self._told[i]), int(self._used[i])):
            count = int(self._counts[i, row])
            seen[int(self._arms[i, row])] += count
            n_seen += count
            if n_seen >= n_told:
                return row + 1 - int(self._told[i]) if seen == told else None
        return None

    def _settle(self, i: int, rows: int, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        """The first `rows` open rows are those of `arms`, whose feedback adds up to `sums`."""
        first = int(self._told[i])
        last = first + rows
        where, root, W = self._arms[i, first:last], self._roots[i, first:last], self._W[i, first:last]
        # Pulls of one arm are exchangeable: each is given their mean, so that nothing depends on their order.
        y = dict(zip(arms.tolist(), (sums / counts).tolist()))
        residual = np.array([y[arm] for arm in where.tolist()]) - self.mean[i, where]
        if rows == 1:
            z = residual / root
        else:
            z = solve_lower(self._factor(i, first, last), residual)
        self.mean[i] += z @ W
        self.information_gain[i] += float(np.log(root / np.sqrt(self.lam / self._counts[i, first:last])).sum())
        self.n[i, arms] += counts
        self.sums[i, arms] += sums
        self._told[i] = last
        self._distinct[i].update(dict.fromkeys(arms.tolist()))

    def keep_open(self, i: int, arms: Iterable[int]) -> None:
        """Let `arms`, an entry a pull, be the open pulls of repetition `i`: others were given up, or are news."""
        wanted = Counter(arms)
        if wanted != self._open[i]:
            self._forget_open(i)
            self._open_block(i, wanted)

    def _forget_open(self, i: int) -> None:
        rows = int(self._used[i] - self._told[i])
        while rows:
            block = self._made[i].pop()
            if block.rows > rows:
                self._made[i].append(_Block(block.arms, block.counts, block.rows - rows))
            rows -= min(block.rows, rows)
        self._used[i] = self._told[i]
        self.v[i] = self.settled[i]
        self._open[i] = Counter()

    def _open_block(self, i: int, pulls: Counter[int]) -> None:
        """Open rows for all of `pulls`, one for each arm."""
        if pulls:
            self._append(i, np.array(list(pulls), np.int64), np.array(list(pulls.values()), np.float64))
        self._open[i] = pulls

    def _append(self, i: int, arms: np.ndarray, counts: np.ndarray) -> None:
        """Rows for `counts` pulls of each of the distinct `arms`, by one product of matrices."""
        t = int(self._used[i])
        self._reserve(t + len(arms))
        C = self.rows.take(arms, out=self._W[i, t : t + len(arms)])
        if t:
            W = self._W[i, :t]
            C -= W[:, arms].T @ W
        S = C[:, arms]
        L, _ = jittered_cholesky(0.5 * (S + S.T) + np.diag(self.lam / counts))
        for start in range(0, C.shape[1], _COLUMNS):  # in place: no second matrix as large as these rows
            block = slice(start, start + _COLUMNS)
            C[:, block] = solve_lower(L, C[:, block])
        new = slice(t, t + len(arms))
        self._arms[i, new], self._counts[i, new], self._roots[i, new] = arms, counts, np.diagonal(L)
        self._used[i] = t + len(arms)
        self._made[i].append(_Block(arms, counts, len(arms)))
        self.v[i] -= np.einsum("ij,ij->j", C, C)

    def _make_room(self) -> None:
        """For one more row in each repetition."""
        for i, (used, distinct, opened) in enumerate(zip(self._used.tolist(), self._distinct, self._open)):
            if used > _LONG * (len(distinct) + len(opened)) + _SPARE:
                self.renew(i)
        self._reserve(int(self._used.max()) + 1)

    def _reserve(self, rows: int) -> None:
        capacity = self._W.shape[1]
        if rows > capacity:
            self._W, self._arms, self._counts, self._roots = (
                _grown(old, max(rows, 2 * capacity), int(self._used.max()))
                for old in (self._W, self._arms, self._counts, self._roots)
            )

    def renew(self, i: int) -> None:
        """Compute everything anew from counts and sums: a row for each distinct arm, free of past rounding."""
        arms = self.distinct(i)
        opened = self._open[i]
        self._used[i], self._made[i] = 0, []
        self.v[i], self.mean[i] = self.rows.prior, self._prior_mean
        if len(arms):
            self._append(i, arms, self.n[i, arms])
            residual = self.sums[i, arms] / self.n[i, arms] - self._prior_mean[arms]
            self.mean[i] += solve_lower(self._factor(i, 0, len(arms)), residual) @ self._W[i, : len(arms)]
        self._told[i] = len(arms)
        self.settled[i] = self.v[i]
        self._open_block(i, opened)
        self.renewals[i] += 1

    def state_dict(self) -> dict[str, Any]:
        """Everything but the whitened rows, which are computed anew in the same steps and so with the same rounding."""
        names = ("mean", "v", "settled", "n", "sums", "information_gain", "renewals", "_told")
        state: dict[str, Any] = {name: getattr(self, name).copy() for name in names}
        return state | {
            "made": [list(blocks) for blocks in self._made],
            "distinct": [list(arms) for arms in self._distinct],
            "open": [dict(pulls) for pulls in self._open],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state of `state_dict` into posteriors of the same rows, lam and number of repetitions."""
        self.reset()
        for i, blocks in enumerate(state["made"]):
            for block in blocks:
                t = int(self._used[i])
                self._reserve(t + len(block.arms))
                if block.counts is None:
                    self._whiten(i, self.rows.take(block.arms)[0], int(block.arms[0]))
                else:
                    self._append(i, block.arms, block.counts)
                self._used[i] = t + block.rows
        for name in ("mean", "v", "settled", "n", "sums", "information_gain", "renewals", "_told"):
            getattr(self, name)[:] = state[name]
        self._made = [list(blocks) for blocks in state["made"]]
        self._distinct = [dict.fromkeys(arms) for arms in state["distinct"]]
        self._open = [Counter(pulls) for pulls in state["open"]]

    def distinct(self, i: int = 0) -> Int[np.ndarray, " u"]:
        """The arms whose feedback has arrived, in the order of their first."""
        return np.fromiter(self._distinct[i], np.int64)

    def whitened(self, i: int = 0) -> Float[np.ndarray, "t A"]:
        """The rows of the pulls whose feedback has arrived; not to be written to."""
        return self._W[i, : self._told[i]]

    def interpolate(self, values: Float[np.ndarray, "m u"], i: int = 0) -> Float[np.ndarray, "m A"]:
        """What the posterior mean would be with the mean feedback `values` at `distinct` arms, from a prior mean of 0."""
        t = int(self._told[i])
        where = {arm: k for k, arm in enumerate(self._distinct[i])}
        rows = [where[arm] for arm in self._arms[i, :t].tolist()]
        weights: np.ndarray = solve_lower(self._factor(i, 0, t), values[:, rows].T)
        return weights.T @ self._W[i, :t]

    def _factor(self, i: int, first: int, last: int) -> Float[np.ndarray, "t t"]:
        """`L` of some rows, given those before them."""
        L = np.tril(self._W[i, first:last][:, self._arms[i, first:last]].T, -1)
        L[np.diag_indices(last - first)] = self._roots[i, first:last]
        return L


class ExactPosterior(ArmPosterior):
    """The exact posterior of one repetition: `ExactPosteriors` without the leading axis.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).
        lam: Noise variance of one feedback, > 0, unit of y^2.
        max_memory: Bytes for kernel rows; see `gpbandit_envs.gp.rows.KernelRows`.

    Attributes:
        engine: The posteriors of which this is the only one.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float, max_memory: int | None = None) -> None:
        super().__init__(kernel, X, lam, max_memory)
        self.engine = ExactPosteriors(self.rows, lam)

    @property
    def mean(self) -> Float[np.ndarray, " A"]:
        return self.engine.mean[0]

    @property
    def variance(self) -> Float[np.ndarray, " A"]:
        return np.maximum(self.engine.settled[0], 0.0)

    @property
    def hallucinated(self) -> Float[np.ndarray, " A"]:
        """Variance at every arm given all pulls, those without feedback among them, at least 0."""
        return np.maximum(self.engine.v[0], 0.0)

    def variance_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        return np.maximum(self.engine.settled[0, arms], 0.0)

    @property
    def n(self) -> Float[np.ndarray, " A"]:
        """Pulls of each arm whose feedback has arrived."""
        return self.engine.n[0]

    @property
    def information_gain(self) -> float:
        """`0.5 logdet(I + K_t / lam)` of the pulls whose feedback has arrived, in nats."""
        return float(self.engine.information_gain[0])

    def effective_dimension(self) -> float:
        return float(self.engine.effective_dimension()[0])

    def pull(self, arm: int) -> None:
        """Account for a pull whose feedback comes later."""
        self.engine.pull(np.array([arm]))

    def update(
        self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], sums: Float[np.ndarray, " p"]
    ) -> None:
        """Take in feedback: `counts` pulls of each of the distinct `arms`, which adds up to `sums`.

        Whether or not `pull` has announced them.

        Raises:
            ValueError: if a sum is not finite; nothing has changed then.
        """
        if len(arms) == 1 and counts[0] == 1:
            _finite(sums)
            if not self.engine.open(0):
                self.engine.pull(arms)
            self.engine.observe_one(_FIRST, arms, sums)
        else:
            self.engine.observe(0, arms, counts, sums)

    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        W = self.engine.whitened()
        if others is None:
            return self.rows.take(arms) - W[:, arms].T @ W
        return self.rows.kernel(self.rows.X[arms], self.rows.X[others]) - W[:, arms].T @ W[:, others]

    def branches(self, R: int) -> ExactPosteriors:
        """`R` posteriors that begin with what this one knows and go on apart, as for runs that are only imagined."""
        return ExactPosteriors(_PosteriorRows(self), self.lam, R, self.mean)

    def state_dict(self) -> dict[str, Any]:
        return self.engine.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.engine.load_state_dict(state)

    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        pulled = np.flatnonzero(self.n)
        arms, kernel, n = self.rows.X[pulled], self.rows.kernel, self.n[pulled]
        L, _ = jittered_cholesky(kernel(arms, arms) + np.diag(self.lam / n))
        G = solve_lower(L, kernel(arms, X))
        mean = solve_lower(L, self.engine.sums[0, pulled] / n) @ G
        return mean, np.maximum(kernel.diag(X) - np.einsum("ij,ij->j", G, G), 0.0)


class _PosteriorRows:
    """Rows of a posterior covariance, each computed once."""

    def __init__(self, posterior: ExactPosterior) -> None:
        self._posterior = posterior
        self._known: dict[int, np.ndarray] = {}
        self.prior = posterior.engine.settled[0]

    def take(self, arms: Int[np.ndarray, " p"], out: Float[np.ndarray, "p A"] | None = None) -> Float[np.ndarray, "p A"]:
        missing = [arm for arm in dict.fromkeys(arms.tolist()) if arm not in self._known]
        if missing:
            self._known.update(zip(missing, self._posterior.covariance(np.array(missing))))
        return np.stack([self._known[arm] for arm in arms.tolist()], out=out)


@dataclass(frozen=True)
class _Block:
    """How rows were made: by `pull` (no counts), or together for several arms; the first `rows` of them are in use."""

    arms: Int[np.ndarray, " p"]
    counts: Float[np.ndarray, " p"] | None
    rows: int


def _finite(sums: np.ndarray) -> None:
    if not np.isfinite(sums).all():
        raise ValueError(f"sums: expected finite feedback, got {sums[~np.isfinite(sums)][0]}")


def _grown(old: np.ndarray, capacity: int, used: int) -> np.ndarray:
    new = np.empty((len(old), capacity, *old.shape[2:]), old.dtype)
    new[:, :used] = old[:, :used]
    return new
