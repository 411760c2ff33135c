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
there, `z_t W_t` with `z_t = (y - m(x)) / sqrt(d)` is added to the mean m. Rows of pulls whose feedback is awaited come
last; they shrink variances and leave the mean alone.

After row s the covariance of its own arm is `c - c(x) c / d = lam / sqrt(d) W_s`. So the row of an arm that has one
already starts from there: neither `k(x, .)` nor the rows up to s are read again.

Where the noise differs by arm, `lam` is that of the arm of the pull, in every formula.

Repeated pulls make W longer than the number u of distinct arms needs. Once it is much longer, it is computed anew from
counts and sums: n pulls of an arm with mean feedback s / n are one observation with noise variance lam / n, so with
`L L^T = K_uu + lam diag(1 / n)` the rows are `L^-1 k(U, .)`. Nothing grows with the number of pulls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite, log, sqrt
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arm_posterior import ArmPosterior
from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower
from gpbandit_envs.gp.look_ahead import Covariance

__all__ = ["ExactPosterior", "ExactPosteriors"]

_SPARE, _LONG = 64, 1.25
_RESERVED = 2**26  # bytes of address space for whitened rows; np.empty commits only what is written
_COLUMNS = 2**13
_TAIL = 16


@runtime_checkable
class CovarianceRows(Protocol):
    """Covariances of arms with all arms."""

    prior: Float[np.ndarray, " A"]
    """Variances, shape (A,)."""

    def take(
        self, arms: Int[np.ndarray, " p"], out: Float[np.ndarray, "p A"] | None = None
    ) -> Float[np.ndarray, "p A"]:
        """The rows of `arms`, a copy."""


class ExactPosteriors:
    """The exact posteriors of `R` repetitions over one set of arms.

    Repetitions share covariance rows and nothing else: each computes, bit for bit, what it would compute alone.

    Args:
        rows: Prior covariances of the arms, which posteriors on the same arms may share.
        lam: Noise variance of one feedback, > 0, unit of y^2; one for each arm, shape (A,), where they differ.
        R: Number of repetitions.
        prior_mean: Mean before any pull, shape (A,); zero by default.

    Attributes:
        lam: The noise variance of one feedback; the largest, where they differ.
        noise: That of each arm, shape (A,), read-only.
        mean: Given the feedback that has arrived, shape (R, A); not to be written to.
        v: Variance given the same, shape (R, A); never clipped, since clipping an accumulated value would turn rounding
            into drift.
        n, sums: Pulls of each arm whose feedback has arrived, and the sum of it, shape (R, A).
        information_gain: `0.5 logdet(I + K_t / lam)` of these pulls, shape (R,), in nats.
        quadratic: `sum_s z_s^2`, shape (R,): `y^T (K_t + lam I)^-1 y` of the feedback less the prior mean, without the
            scatter, over lam, of feedback on one arm that came together.
        renewals: How often all rows of each repetition were computed anew, shape (R,).

    Raises:
        ValueError: if `lam` is out of range.

    Reference: Rasmussen and Williams (2006), algorithm 2.1 and eq. 2.23-2.24.
    """

    def __init__(
        self,
        rows: CovarianceRows,
        lam: float | Float[np.ndarray, " A"],
        R: int = 1,
        prior_mean: Float[np.ndarray, " A"] | None = None,
    ) -> None:
        A = len(rows.prior)
        self.rows, self.lam = rows, largest_noise(lam)
        self._given_noise, self.noise = lam, as_noise_variances(lam, A)
        self._prior_mean = np.zeros(A) if prior_mean is None else prior_mean.copy()
        self.mean, self.v = np.tile(self._prior_mean, (R, 1)), np.tile(rows.prior, (R, 1))
        self.n, self.sums = np.zeros((R, A)), np.zeros((R, A))
        self.information_gain, self.quadratic, self.renewals = np.zeros(R), np.zeros(R), np.zeros(R, np.int64)
        capacity = max(_SPARE, min(_RESERVED // (8 * R * A), 2 * A + _SPARE))
        self._W = np.empty((R, capacity, A))
        self._rows = [_Rows() for _ in range(R)]
        self._spare = np.empty(A)

    def __getitem__(self, i: int) -> ExactPosterior:
        """The posterior of repetition `i`, whose state is kept here; the rows must be those of a kernel."""
        assert isinstance(self.rows, KernelRows)
        posterior = ExactPosterior.__new__(ExactPosterior)
        posterior.rows, posterior.lam, posterior.engine, posterior.i = self.rows, self.lam, self, i
        return posterior

    def __len__(self) -> int:
        """Number of repetitions."""
        return len(self._rows)

    def distinct(self, i: int = 0) -> Int[np.ndarray, " u"]:
        """The arms whose feedback has arrived, in the order of their first feedback."""
        return np.array(self._rows[i].distinct, np.int64)

    def effective_dimension(self, i: int = 0) -> float:
        """`Tr(K_t (K_t + lam I)^-1)` of the pulls whose feedback has arrived."""
        v = np.maximum(self.v[i], 0.0, out=self._spare)
        if np.ndim(self._given_noise) == 0:
            return float(self.n[i] @ v) / self.lam
        return float((self.n[i] / self.noise) @ v)

    def best_scores(self, width: Float[np.ndarray, " R"]) -> Int[np.ndarray, " R"]:
        """`argmax mean + width * sd` of each repetition; ties go to the lowest index."""
        return np.array([self.best_score(i, factor) for i, factor in enumerate(width.tolist())], np.int64)

    def best_score(self, i: int, width: float, ahead: bool = False) -> int:
        """The same of repetition `i`, with the deviation `ahead` if asked for."""
        score = np.sqrt(np.maximum(self.ahead(i) if ahead else self.v[i], 0.0, out=self._spare), out=self._spare)
        score *= width
        score += self.mean[i]
        return int(score.argmax())

    def update(self, which: Int[np.ndarray, " r"], arms: Int[np.ndarray, " r"], y: Float[np.ndarray, " r"]) -> None:
        """Take in one evaluation in each of the distinct repetitions `which`: the feedback `y` of `arms`.

        Raises:
            ValueError: if a feedback is not finite; nothing has changed then.
        """
        _finite(y)
        for i, arm, value in zip(which.tolist(), arms.tolist(), y.tolist()):
            self.update_one(i, arm, value)

    def update_one(self, i: int, arm: int, y: float) -> None:
        """The same for repetition `i` alone.

        Raises:
            ValueError: if the feedback is not finite; nothing has changed then.
        """
        if not isfinite(y):
            raise ValueError(f"sums: expected finite feedback, got {y}")
        rows = self._rows[i]
        if rows.ahead is not None:
            self.observe(i, np.array([arm]), np.ones(1), np.array([y]))
            return
        self._compact(i)
        row, root = self._append_one(i, arm)
        mean, v = self.mean[i], self.v[i]
        z = (y - float(mean[arm])) / root
        mean += np.multiply(row, z, out=self._spare)
        self.quadratic[i] += z * z
        v -= np.square(row, out=self._spare)
        rows.told = rows.used
        self._count(i, arm, 1.0, y)
        self.information_gain[i] += 0.5 * log(root * root / self.noise.item(arm))

    def pull(self, i: int, arm: int) -> None:
        """Account for a pull in repetition `i` whose feedback comes later; only `ahead` includes it."""
        self._compact(i)
        row, _ = self._append_one(i, arm)
        rows = self._rows[i]
        if rows.ahead is None:
            rows.ahead = self.v[i].copy()
        rows.ahead -= np.square(row, out=self._spare)
        rows.open[arm] += 1

    def ahead(self, i: int = 0) -> Float[np.ndarray, " A"]:
        """Variance given all pulls, those without feedback among them; not to be written to."""
        ahead = self._rows[i].ahead
        return self.v[i] if ahead is None else ahead

    def observe(
        self, i: int, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], sums: Float[np.ndarray, " p"]
    ) -> None:
        """Take in feedback of repetition `i`: `counts` pulls of each of the distinct `arms`, which adds up to `sums`.

        In any order, and whether or not `pull` has announced it.

        Raises:
            ValueError: if a sum is not finite; nothing has changed then.
        """
        _finite(sums)
        rows = self._rows[i]
        told = Counter({arm: int(count) for arm, count in zip(arms.tolist(), counts.tolist())})
        left, (n_first, announced) = rows.open - told, rows.first_open(told)
        news = told - announced
        if news and rows.told + n_first < rows.used:
            # Other pulls are open before them: those are computed anew, behind these.
            self._drop_open(i)
            n_first, news = 0, told
        if news:
            self._compact(i)
            self._append(i, *_arrays(news))
            last = rows.used
        else:
            last = rows.told + n_first
        self._settle(i, last, arms, counts, sums)
        if rows.used == rows.told:
            rows.open, rows.ahead = Counter(), None
            self._open(i, left)
        else:
            rows.open = left

    def revise(self, i: int, arm: int, old: float, new: float) -> None:
        """Put the feedback `new` in the place of `old`, which was the feedback of one pull of `arm`.

        By `d mean / d y_s = cov(., x_s) / lam`, in O(A) times the number of rows since that arm's last.

        Raises:
            ValueError: if the feedback is not finite, or none of the arm has arrived; nothing has changed then.
        """
        if not isfinite(new - old):
            raise ValueError(f"new: expected finite feedback, got {new} for {old}")
        if self.n[i, arm] == 0:
            raise ValueError(f"arm: expected one whose feedback has arrived, got {arm}")
        change, mean, covariance = new - old, self.mean[i], np.empty(self.mean.shape[1])
        self._covariance(i, arm, self._rows[i].told, covariance)
        lam = self.noise.item(arm)
        slope = 2 * (old - float(mean[arm])) + change * (1 - float(self.v[i, arm]) / lam)
        self.quadratic[i] += change * slope / lam
        mean += (change / lam) * covariance
        self.sums[i, arm] += change

    def mean_with_open(self, value: float, i: int = 0) -> Float[np.ndarray, " A"]:
        """The mean of repetition `i` if each of its open pulls had the feedback `value`; not to be written to."""
        rows = self._rows[i]
        first, last = rows.told, rows.used
        if first == last:
            return self.mean[i]
        residual = value - self.mean[i, rows.arms[first:last]]
        return self.mean[i] + solve_lower(self._factor(i, first, last), residual) @ self._W[i, first:last]

    def keep_open(self, i: int, arms: Iterable[int]) -> None:
        """Let `arms`, an entry a pull, be the open pulls of repetition `i`: others were given up, or are news."""
        wanted, opened = Counter(arms), self._rows[i].open
        if opened - wanted:
            self._drop_open(i)
            self._open(i, wanted)
        else:
            for arm in (wanted - opened).elements():
                self.pull(i, arm)

    def whitened(self, i: int = 0) -> Float[np.ndarray, "t A"]:
        """The rows of the pulls whose feedback has arrived; read-only."""
        return self._W[i, : self._rows[i].told]

    def interpolate(self, values: Float[np.ndarray, "m u"], i: int = 0) -> Float[np.ndarray, "m A"]:
        """The posterior mean if the mean feedback at the `distinct` arms were `values` and the prior mean 0."""
        rows = self._rows[i]
        where = {arm: k for k, arm in enumerate(rows.distinct)}
        pulls = [where[arm] for arm in rows.arms[: rows.told]]
        weights: np.ndarray = solve_lower(self._factor(i, 0, rows.told), values[:, pulls].T)
        return weights.T @ self._W[i, : rows.told]

    def _append_one(self, i: int, arm: int, count: float = 1.0) -> tuple[Float[np.ndarray, " A"], float]:
        """The whitened row of `count` pulls of an arm, appended to those of repetition `i`, and `sqrt(d)`."""
        rows = self._rows[i]
        t = rows.used
        self._reserve(t + 1)
        row = self._W[i, t]
        self._covariance(i, arm, t, row)
        root = sqrt(max(float(row[arm]), 0.0) + self.noise.item(arm) / count)
        row *= 1.0 / root
        rows.add([arm], [count], [root])
        return row, root

    def _covariance(self, i: int, arm: int, t: int, out: Float[np.ndarray, " A"]) -> None:
        """Write the covariance of an arm with all arms given the first `t` rows of repetition `i` to `out`."""
        rows = self._rows[i]
        last = rows.last.get(arm, -1)
        if 0 <= last < t:
            np.multiply(self._W[i, last], self.noise.item(arm) / (rows.counts[last] * rows.roots[last]), out=out)
        else:
            last = -1
            self.rows.take(np.array([arm]), out=out[None])
        if last + 1 < t:
            W = self._W[i, last + 1 : t]
            out -= np.dot(W[:, arm], W, out=self._spare)

    def _append(self, i: int, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> Float[np.ndarray, "p A"]:
        """The whitened rows of `counts` pulls of each of the distinct `arms`, appended by one product of matrices."""
        if len(arms) == 1:
            return self._append_one(i, int(arms[0]), float(counts[0]))[0][None]
        rows = self._rows[i]
        t = rows.used
        self._reserve(t + len(arms))
        C = self.rows.take(arms, out=self._W[i, t : t + len(arms)])
        if t:
            W = self._W[i, :t]
            C -= W[:, arms].T @ W
        S = C[:, arms]
        L, _ = jittered_cholesky(0.5 * (S + S.T) + np.diag(self.noise[arms] / counts))
        for start in range(0, C.shape[1], _COLUMNS):  # in place: no second matrix as large as these rows
            block = slice(start, start + _COLUMNS)
            C[:, block] = solve_lower(L, C[:, block])
        rows.blocks.append(_Block(t, arms, counts, len(arms)))
        rows.add(arms.tolist(), counts.tolist(), np.diagonal(L).tolist())
        return C

    def _factor(self, i: int, first: int, last: int) -> Float[np.ndarray, "t t"]:
        """`L` of some rows, given those before them; what stands above its diagonal means nothing."""
        rows = self._rows[i]
        L: np.ndarray = self._W[i, first:last][:, rows.arms[first:last]].T
        np.fill_diagonal(L, rows.roots[first:last])
        return L

    def _settle(self, i: int, last: int, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        """The open rows before `last` are those of `arms`, whose feedback adds up to `sums`."""
        rows = self._rows[i]
        first, W = rows.told, self._W[i, rows.told : last]
        # Pulls of one arm are exchangeable: each is given their mean, so that nothing depends on their order.
        y = dict(zip(arms.tolist(), (sums / counts).tolist()))
        residual = np.array([y[arm] for arm in rows.arms[first:last]]) - self.mean[i, rows.arms[first:last]]
        z = solve_lower(self._factor(i, first, last), residual)
        self.mean[i] += z @ W
        self.quadratic[i] += float(z @ z)
        self.v[i] -= np.einsum("ij,ij->j", W, W)
        d = (root * root * count for root, count in zip(rows.roots[first:last], rows.counts[first:last]))
        lam = self.noise[rows.arms[first:last]].tolist()
        self.information_gain[i] += 0.5 * sum(log(one / of_arm) for one, of_arm in zip(d, lam))
        rows.told = last
        for arm, count, total in zip(arms.tolist(), counts.tolist(), sums.tolist()):
            self._count(i, arm, count, total)

    def _count(self, i: int, arm: int, count: float, total: float) -> None:
        if self.n[i, arm] == 0:
            self._rows[i].distinct.append(arm)
        self.n[i, arm] += count
        self.sums[i, arm] += total

    def _open(self, i: int, pulls: Counter[int]) -> None:
        """Open rows for all of `pulls`, one for each arm."""
        if pulls:
            W = self._append(i, *_arrays(pulls))
            self._rows[i].open, self._rows[i].ahead = pulls, self.v[i] - np.einsum("ij,ij->j", W, W)

    def _drop_open(self, i: int) -> None:
        rows = self._rows[i]
        rows.cut(rows.told)
        rows.open, rows.ahead = Counter(), None

    def _compact(self, i: int) -> None:
        """Replace the rows of repetition `i` by fewer that say the same, if there are many more than it takes."""
        rows = self._rows[i]
        if rows.used > _LONG * (len(rows.distinct) + len(rows.open)) + _SPARE:
            self.renew(i)
        elif rows.used == rows.told and rows.tail_is_long():
            # Since the last renewal few arms were pulled again and again: a row for each, in place of one a pull.
            arms = rows.arms[rows.renewed :]
            counts: Counter[int] = Counter()
            for arm, count in zip(arms, rows.counts[rows.renewed :]):
                counts[arm] += int(count)
            rows.cut(rows.renewed)
            self._append(i, *_arrays(counts))
            rows.told = rows.used

    def _reserve(self, rows: int) -> None:
        R, capacity, A = self._W.shape
        if rows > capacity:
            W = np.empty((R, max(rows, 2 * capacity), A))
            used = max(one.used for one in self._rows)
            W[:, :used] = self._W[:, :used]
            self._W = W

    def renew(self, i: int = 0) -> None:
        """Compute everything anew from counts and sums: a row for each distinct arm, free of past rounding."""
        rows = self._rows[i]
        arms, opened = self.distinct(i), rows.open
        rows.cut(0)
        self.v[i], self.mean[i] = self.rows.prior, self._prior_mean
        if len(arms):
            W = self._append(i, arms, self.n[i, arms])
            residual = self.sums[i, arms] / self.n[i, arms] - self._prior_mean[arms]
            self.mean[i] += solve_lower(self._factor(i, 0, len(arms)), residual) @ W
            self.v[i] -= np.einsum("ij,ij->j", W, W)
        rows.told = rows.renewed = rows.used
        rows.open, rows.ahead = Counter(), None
        self._open(i, opened)
        self.renewals[i] += 1

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the whitened rows, which are computed anew in the same steps and so with the same rounding."""
        return {name: value for name, value in vars(self).items() if name not in ("_W", "_spare", "noise")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        R, A = self.mean.shape
        self.noise = as_noise_variances(self._given_noise, A)
        self._W, self._spare = np.empty((R, _SPARE, A)), np.empty(A)
        rows, self._rows = self._rows, [_Rows() for _ in range(R)]
        for i, wanted in enumerate(rows):
            blocks = {block.first: block for block in wanted.blocks}
            while (t := self._rows[i].used) < wanted.used:
                if t in blocks:
                    self._append(i, blocks[t].arms, blocks[t].counts)
                    self._rows[i].cut(t + blocks[t].rows)
                else:
                    self._append_one(i, wanted.arms[t], wanted.counts[t])
        self._rows = rows


@dataclass(frozen=True)
class _Block:
    """The rows of several arms that were made together, from row `first` on; the first `rows` of them are in use."""

    first: int
    arms: Int[np.ndarray, " p"]
    counts: Float[np.ndarray, " p"]
    rows: int


@dataclass
class _Rows:
    """The pulls behind the whitened rows of one repetition.

    Attributes:
        arms, counts, roots: Of each row, its arm, for how many pulls of it it stands, and `sqrt(d)`.
        last: The last row of each arm that has one.
        blocks: Those of the rows that were made together, in order; each of the others was made alone.
        told: How many rows have their feedback; those behind them are open.
        renewed: How many rows the last renewal has left.
        distinct: The arms whose feedback has arrived, in the order of their first feedback.
        open: Pulls of each arm whose feedback is awaited.
        ahead: Variance given these too, shape (A,); None if there are none.
    """

    arms: list[int] = field(default_factory=list)
    counts: list[float] = field(default_factory=list)
    roots: list[float] = field(default_factory=list)
    last: dict[int, int] = field(default_factory=dict)
    blocks: list[_Block] = field(default_factory=list)
    told: int = 0
    renewed: int = 0
    distinct: list[int] = field(default_factory=list)
    open: Counter[int] = field(default_factory=Counter)
    ahead: Float[np.ndarray, " A"] | None = None

    @property
    def used(self) -> int:
        """Number of rows."""
        return len(self.arms)

    def add(self, arms: list[int], counts: list[float], roots: list[float]) -> None:
        """Rows behind all others."""
        for row, arm in enumerate(arms, self.used):
            self.last[arm] = row
        self.arms += arms
        self.counts += counts
        self.roots += roots

    def cut(self, rows: int) -> None:
        """Forget all but the first `rows`."""
        self.blocks = [block for block in self.blocks if block.first < rows]
        if self.blocks:
            last = self.blocks[-1]
            self.blocks[-1] = replace(last, rows=min(last.rows, rows - last.first))
        del self.arms[rows:], self.counts[rows:], self.roots[rows:]
        self.last = {arm: row for row, arm in enumerate(self.arms)}
        self.told, self.renewed = min(self.told, rows), min(self.renewed, rows)

    def first_open(self, pulls: Counter[int]) -> tuple[int, Counter[int]]:
        """How many of the first open rows are among `pulls`, and the pulls that they stand for."""
        found: Counter[int] = Counter()
        for row in range(self.told, self.used):
            arm, count = self.arms[row], int(self.counts[row])
            if found[arm] + count > pulls[arm]:
                return row - self.told, found
            found[arm] += count
        return self.used - self.told, found

    def tail_is_long(self) -> bool:
        """Whether the rows since the last renewal are many more than their arms, and these few."""
        tail = self.used - self.renewed
        if tail <= _TAIL or self.renewed == 0:
            return False
        distinct = len(set(self.arms[self.renewed :]))
        return 4 * distinct <= self.renewed and tail > _LONG * distinct + _TAIL


class ExactPosterior(ArmPosterior):
    """The exact posterior of one repetition: `ExactPosteriors` without the leading axis.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).
        lam: Noise variance of one feedback, > 0, unit of y^2; one for each arm, shape (A,), where they differ.
        max_memory: Bytes for kernel rows; see `gpbandit_envs.gp.kernel_rows.KernelRows`.

    Attributes:
        engine: The posteriors of which this is one, or the only one.
        i: Which one it is.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Float[np.ndarray, "A d"],
        lam: float | Float[np.ndarray, " A"],
        max_memory: int | None = None,
    ) -> None:
        super().__init__(kernel, X, largest_noise(lam), max_memory)
        self.engine, self.i = ExactPosteriors(self.rows, lam), 0

    @property
    def mean(self) -> Float[np.ndarray, " A"]:
        return self.engine.mean[self.i]

    @property
    def variance(self) -> Float[np.ndarray, " A"]:
        return np.maximum(self.engine.v[self.i], 0.0)

    def variance_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        return np.maximum(self.engine.v[self.i, arms], 0.0)

    @property
    def n(self) -> Float[np.ndarray, " A"]:
        """Pulls of each arm whose feedback has arrived."""
        return self.engine.n[self.i]

    @property
    def information_gain(self) -> float:
        """`0.5 logdet(I + K_t / lam)` of the pulls whose feedback has arrived, in nats."""
        return float(self.engine.information_gain[self.i])

    def effective_dimension(self) -> float:
        return self.engine.effective_dimension(self.i)

    def update(
        self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], sums: Float[np.ndarray, " p"]
    ) -> None:
        """Take in feedback: `counts` pulls of each of the distinct `arms`, which adds up to `sums`.

        Raises:
            ValueError: if a sum is not finite; nothing has changed then.
        """
        if len(arms) == 1 and counts[0] == 1:
            self.engine.update_one(self.i, int(arms[0]), float(sums[0]))
        else:
            self.engine.observe(self.i, arms, counts, sums)

    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        W = self.engine.whitened(self.i)
        if others is None:
            return self.rows.take(arms) - W[:, arms].T @ W
        return self.rows.kernel(self.rows.X[arms], self.rows.X[others]) - W[:, arms].T @ W[:, others]

    reducible_covariance = covariance

    def reducible_among(self, arms: Int[np.ndarray, " n"]) -> Covariance:
        # A partial, and no closure: batches are saved while they are open.
        return partial(_among, self.rows.kernel, self.rows.X[arms], self.engine.whitened(self.i)[:, arms])

    def branches(self, R: int) -> ExactPosteriors:
        """`R` copies of this posterior that are updated separately, as in simulated runs."""
        return ExactPosteriors(_PosteriorRows(self), self.engine.noise, R, self.mean)

    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        pulled = np.flatnonzero(self.n)
        arms, kernel, n = self.rows.X[pulled], self.rows.kernel, self.n[pulled]
        L, _ = jittered_cholesky(kernel(arms, arms) + np.diag(self.engine.noise[pulled] / n))
        z = solve_lower(L, self.engine.sums[self.i, pulled] / n)
        mean, variance = np.empty(len(X)), kernel.diag(X)
        for start in range(0, len(X), _COLUMNS):  # no matrix of all points times all pulled arms
            block = slice(start, start + _COLUMNS)
            G = solve_lower(L, kernel(arms, X[block]))
            mean[block] = z @ G
            variance[block] -= np.einsum("ij,ij->j", G, G)
        return mean, np.maximum(variance, 0.0)


def _among(
    kernel: Kernel,
    X: Float[np.ndarray, "n d"],
    W: Float[np.ndarray, "t n"],
    some: np.ndarray,
    others: np.ndarray | None = None,
) -> Float[np.ndarray, "p q"]:
    right, W_right = (X, W) if others is None else (X[others], W[:, others])
    return kernel(X[some], right) - W[:, some].T @ W_right


class _PosteriorRows:
    """Rows of a posterior covariance, each computed once."""

    def __init__(self, posterior: ExactPosterior) -> None:
        self._posterior = posterior
        self._known: dict[int, np.ndarray] = {}
        self.prior = posterior.engine.v[posterior.i]

    def take(
        self, arms: Int[np.ndarray, " p"], out: Float[np.ndarray, "p A"] | None = None
    ) -> Float[np.ndarray, "p A"]:
        missing = [arm for arm in dict.fromkeys(arms.tolist()) if arm not in self._known]
        if missing:
            self._known.update(zip(missing, self._posterior.covariance(np.array(missing))))
        return np.stack([self._known[arm] for arm in arms.tolist()], out=out)


def largest_noise(lam: float | Float[np.ndarray, " A"]) -> float:
    """The noise variance, or the largest of several.

    Raises:
        ValueError: if one is not finite or not > 0.
    """
    if not (np.all(np.isfinite(lam)) and np.all(np.asarray(lam) > 0)):
        what = "a finite number > 0" if np.ndim(lam) == 0 else "finite numbers > 0"
        raise ValueError(f"lam: expected {what}, got {lam!r}")
    return float(np.max(lam))


def as_noise_variances(lam: float | Float[np.ndarray, " A"], n_arms: int) -> Float[np.ndarray, " A"]:
    """The noise variance of each of so many arms, read-only; one for all takes the memory of one.

    Raises:
        ValueError: if there are more or fewer than arms.
    """
    if np.ndim(lam) and np.shape(lam) != (n_arms,):
        raise ValueError(f"lam: expected {n_arms} numbers, one an arm, got shape {np.shape(lam)}")
    return np.broadcast_to(np.array(lam, dtype=np.float64), (n_arms,))


def _arrays(pulls: Counter[int]) -> tuple[Int[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    """The arms, and how often each was pulled."""
    return np.array(list(pulls), np.int64), np.array(list(pulls.values()), np.float64)


def _finite(sums: np.ndarray) -> None:
    if not np.isfinite(sums).all():
        raise ValueError(f"sums: expected finite feedback, got {sums[~np.isfinite(sums)][0]}")
