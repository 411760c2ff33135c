"""The exact posterior over a finite set of arms, a row a pull.

| symbol | meaning | shape |
|---|---|---|
| `A`, `t` | arms, pulls | |
| `W` | whitened rows: the posterior covariance is `k(x, x') - sum_s W_s(x) W_s(x')` | (t, A) |
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
from functools import partial
from math import isfinite, log, sqrt
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arm_posterior import ArmPosterior, Covariance, LookAhead
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower
from gpbandit_envs.gp.pulled_rows import PulledRows

_ROOM = 64  # whitened rows for which there is room from the beginning
_RESERVED = 2**26  # bytes of address space for whitened rows; np.empty commits only what is written
_COLUMNS = 2**13


@runtime_checkable
class CovarianceRows(Protocol):
    """Covariances of arms before the first pull."""

    prior: Float[np.ndarray, " A"]
    """Variances, shape (A,)."""

    def take(
        self, arms: Int[np.ndarray, " p"], out: Float[np.ndarray, "p A"] | None = None
    ) -> Float[np.ndarray, "p A"]:
        """Those of `arms` with all arms, a copy."""

    def between(self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"]) -> Float[np.ndarray, "p q"]:
        """Those of `arms` with `others`."""


class ExactPosterior(ArmPosterior):
    """The exact posterior given pulls of any arms, whose feedback may come late and in any order.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).
        lam: Noise variance of one feedback, > 0, unit of y^2; one for each arm, shape (A,), where they differ.

    Attributes:
        lam: The noise variance of one feedback; the largest, where they differ.
        noise: That of each arm, shape (A,), read-only.
        v: Variance given the feedback that has arrived, shape (A,); never clipped, since clipping an accumulated value
            would turn rounding into drift. Not to be written to.
        n, sums: Pulls of each arm whose feedback has arrived, and the sum of it, shape (A,).
        information_gain: `0.5 logdet(I + K_t / lam)` of these pulls, in nats.
        quadratic: `sum_s z_s^2`: `y^T (K_t + lam I)^-1 y` of the feedback less the prior mean, without the scatter,
            over lam, of feedback on one arm that came together.
        renewals: How often all rows were computed anew.

    Raises:
        ValueError: if `lam` is out of range.

    Reference: Rasmussen and Williams (2006), algorithm 2.1 and eq. 2.23-2.24.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float | Float[np.ndarray, " A"]) -> None:
        super().__init__(kernel, X, largest_noise(lam))
        self._begin(lam, self.rows, np.zeros(self.n_arms))

    def _begin(
        self,
        lam: float | Float[np.ndarray, " A"],
        before: CovarianceRows,
        mean: Float[np.ndarray, " A"],
        reserved: int = _RESERVED,
    ) -> None:
        """Let nothing be pulled yet, with covariances and a mean from `before`; `reserved` bytes for whitened rows."""
        A = self.n_arms
        self.lam, self._given_noise, self.noise = largest_noise(lam), lam, as_noise_variances(lam, A)
        self._before, self._first_mean = before, mean.copy()
        self._mean, self.v = mean.copy(), before.prior.copy()
        self.n, self.sums = np.zeros(A), np.zeros(A)
        self._earlier: tuple[Float[np.ndarray, " A"], Float[np.ndarray, " A"]] | None = None
        self.information_gain, self.quadratic, self.renewals = 0.0, 0.0, 0
        self._W = np.empty((max(_ROOM, min(reserved // (8 * A), 2 * A + _ROOM)), A))
        self._rows, self._spare = PulledRows(), np.empty(A)

    def with_noise(self, lam: float | Float[np.ndarray, " A"]) -> ExactPosterior:
        """The posterior of no data with another noise variance, which shares the kernel rows of this one.

        Raises:
            ValueError: if `lam` is out of range.
        """
        other = self._on_the_same_arms()
        other._begin(lam, self.rows, np.zeros(self.n_arms))
        return other

    def branches(self, count: int) -> list[ExactPosterior]:
        """`count` copies that are updated apart, as in simulated runs; meanwhile this one must stay as it is.

        Their `n`, `sums`, `information_gain` and `quadratic` are of the pulls since.
        """
        rows, branches = _PosteriorRows(self), [self._on_the_same_arms() for _ in range(count)]
        for branch in branches:
            branch._begin(self._given_noise, rows, self._mean, reserved=0)
            branch._earlier = self._all_pulls()
        return branches

    def _on_the_same_arms(self) -> ExactPosterior:
        other = ExactPosterior.__new__(ExactPosterior)
        other.rows = self.rows
        return other

    @property
    def mean(self) -> Float[np.ndarray, " A"]:
        """Posterior mean given the feedback that has arrived; not to be written to."""
        return self._mean

    @property
    def variance(self) -> Float[np.ndarray, " A"]:
        return np.maximum(self.v, 0.0)

    def variance_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        return np.maximum(self.v[arms], 0.0)

    def best_score(self, width: float, ahead: bool = False) -> int:
        """`argmax mean + width * sd`, with the deviation `ahead` if asked for; ties go to the lowest index."""
        score = np.sqrt(np.maximum(self.ahead() if ahead else self.v, 0.0, out=self._spare), out=self._spare)
        score *= width
        score += self._mean
        return int(score.argmax())

    def effective_dimension(self) -> float:
        """`Tr(K_t (K_t + lam I)^-1)` of the pulls whose feedback has arrived."""
        v = np.maximum(self.v, 0.0, out=self._spare)
        if np.ndim(self._given_noise) == 0:
            return float(self.n @ v) / self.lam
        return float((self.n / self.noise) @ v)

    def look_ahead(self) -> LookAhead:
        """The variance of every arm under pulls without feedback.

        Raises:
            ValueError: if the noise differs by arm, which looking ahead does not know.
        """
        if np.ndim(self._given_noise) and np.any(self.noise != self.lam):
            raise ValueError("lam: expected one noise variance for all arms to look ahead with, got one for each")
        return super().look_ahead()

    def distinct(self) -> Int[np.ndarray, " u"]:
        """The arms whose feedback has arrived, in the order of their first feedback."""
        return np.array(self._rows.distinct, np.int64)

    def update(
        self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], sums: Float[np.ndarray, " p"]
    ) -> None:
        """Take in feedback: `counts` pulls of each of the distinct `arms`, which adds up to `sums`.

        In any order, and whether or not `pull` has announced it.

        Raises:
            ValueError: if a sum is not finite; nothing has changed then.
        """
        if len(arms) == 1 and counts[0] == 1:
            self.update_one(int(arms[0]), float(sums[0]))
        else:
            self._take_in(arms, counts, sums)

    def update_one(self, arm: int, y: float) -> None:
        """Take in the feedback `y` of one pull.

        Raises:
            ValueError: if the feedback is not finite; nothing has changed then.
        """
        if not isfinite(y):
            raise ValueError(f"sums: expected finite feedback, got {y}")
        rows = self._rows
        if rows.ahead is not None:
            self._take_in(np.array([arm]), np.ones(1), np.array([y]))
            return
        self._compact()
        row, root = self._append_one(arm)
        z = (y - float(self._mean[arm])) / root
        self._mean += np.multiply(row, z, out=self._spare)
        self.quadratic += z * z
        self.v -= np.square(row, out=self._spare)
        rows.told = rows.used
        self._count(arm, 1.0, y)
        self.information_gain += 0.5 * log(root * root / self.noise.item(arm))

    def _take_in(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        _finite(sums)
        rows = self._rows
        told = Counter({arm: int(count) for arm, count in zip(arms.tolist(), counts.tolist())})
        left, (n_first, announced) = rows.open - told, rows.first_open(told)
        news = told - announced
        if news and rows.told + n_first < rows.used:
            # Other pulls are open before them: those are computed anew, behind these.
            self._drop_open()
            n_first, news = 0, told
        if news:
            self._compact()
            self._append(*_arrays(news))
            last = rows.used
        else:
            last = rows.told + n_first
        self._settle(last, arms, counts, sums)
        if rows.used == rows.told:
            rows.open, rows.ahead = Counter(), None
            self._open(left)
        else:
            rows.open = left

    def pull(self, arm: int) -> None:
        """Account for a pull whose feedback comes later; only `ahead` includes it."""
        self._compact()
        row, _ = self._append_one(arm)
        rows = self._rows
        if rows.ahead is None:
            rows.ahead = self.v.copy()
        rows.ahead -= np.square(row, out=self._spare)
        rows.open[arm] += 1

    def keep_open(self, arms: Iterable[int]) -> None:
        """Let `arms`, an entry a pull, be the open pulls: others were given up, or are news."""
        wanted, opened = Counter(arms), self._rows.open
        if opened - wanted:
            self._drop_open()
            self._open(wanted)
        else:
            for arm in (wanted - opened).elements():
                self.pull(arm)

    def ahead(self) -> Float[np.ndarray, " A"]:
        """Variance given all pulls, those without feedback among them; not to be written to."""
        ahead = self._rows.ahead
        return self.v if ahead is None else ahead

    def mean_with_open(self, value: float) -> Float[np.ndarray, " A"]:
        """The mean if each of the open pulls had the feedback `value`; not to be written to."""
        rows = self._rows
        first, last = rows.told, rows.used
        if first == last:
            return self._mean
        residual = value - self._mean[rows.arms[first:last]]
        return self._mean + solve_lower(self._factor(first, last), residual) @ self._W[first:last]

    def revise(self, arm: int, old: float, new: float) -> None:
        """Put the feedback `new` in the place of `old`, which was the feedback of one pull of `arm`.

        By `d mean / d y_s = cov(., x_s) / lam`, in O(A) times the number of rows since that arm's last.

        Raises:
            ValueError: if the feedback is not finite, or none of the arm has arrived; nothing has changed then.
        """
        if not isfinite(new - old):
            raise ValueError(f"new: expected finite feedback, got {new} for {old}")
        if self.n[arm] == 0:
            raise ValueError(f"arm: expected one whose feedback has arrived, got {arm}")
        change, covariance = new - old, np.empty(self.n_arms)
        self._covariance(arm, self._rows.told, covariance)
        lam = self.noise.item(arm)
        slope = 2 * (old - float(self._mean[arm])) + change * (1 - float(self.v[arm]) / lam)
        self.quadratic += change * slope / lam
        self._mean += (change / lam) * covariance
        self.sums[arm] += change

    def whitened(self) -> Float[np.ndarray, "t A"]:
        """The rows of the pulls whose feedback has arrived; read-only."""
        return self._W[: self._rows.told]

    def interpolate(self, values: Float[np.ndarray, "m u"]) -> Float[np.ndarray, "m A"]:
        """The posterior mean if the mean feedback at the `distinct` arms were `values` and the prior mean 0."""
        rows = self._rows
        where = {arm: k for k, arm in enumerate(rows.distinct)}
        pulls = [where[arm] for arm in rows.arms[: rows.told]]
        weights: np.ndarray = solve_lower(self._factor(0, rows.told), values[:, pulls].T)
        return weights.T @ self._W[: rows.told]

    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        W = self.whitened()
        if others is None:
            return self._before.take(arms) - W[:, arms].T @ W
        return self._before.between(arms, others) - W[:, arms].T @ W[:, others]

    reducible_covariance = covariance

    def reducible_among(self, arms: Int[np.ndarray, " n"]) -> Covariance:
        # A partial, and no closure: batches are saved while they are open.
        return partial(_among, self._before, arms, self.whitened()[:, arms])

    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        # Audits ask for all arms after every turn. By value: a restored agent has its own array, and the same bits.
        if np.array_equal(X, self.rows.X):
            return self._mean.copy(), self.variance
        n, sums = self._all_pulls()
        pulled = np.flatnonzero(n)
        arms, kernel, n = self.rows.X[pulled], self.rows.kernel, n[pulled]
        L, _ = jittered_cholesky(kernel(arms, arms) + np.diag(self.noise[pulled] / n))
        z = solve_lower(L, sums[pulled] / n)
        mean, variance = np.empty(len(X)), kernel.diag(X)
        for start in range(0, len(X), _COLUMNS):  # no matrix of all points times all pulled arms
            block = slice(start, start + _COLUMNS)
            G = solve_lower(L, kernel(arms, X[block]))
            mean[block] = z @ G
            variance[block] -= np.einsum("ij,ij->j", G, G)
        return mean, np.maximum(variance, 0.0)

    def _all_pulls(self) -> tuple[Float[np.ndarray, " A"], Float[np.ndarray, " A"]]:
        """`n` and `sums`, with those from before a branch parted."""
        if self._earlier is None:
            return self.n, self.sums
        return self.n + self._earlier[0], self.sums + self._earlier[1]

    def _append_one(self, arm: int, count: float = 1.0) -> tuple[Float[np.ndarray, " A"], float]:
        """The whitened row of `count` pulls of an arm, appended to those, and `sqrt(d)`."""
        rows = self._rows
        t = rows.used
        self._reserve(t + 1)
        row = self._W[t]
        self._covariance(arm, t, row)
        root = sqrt(max(float(row[arm]), 0.0) + self.noise.item(arm) / count)
        row *= 1.0 / root
        rows.add([arm], [count], [root])
        return row, root

    def _covariance(self, arm: int, t: int, out: Float[np.ndarray, " A"]) -> None:
        """Write the covariance of an arm with all arms given the first `t` rows to `out`."""
        rows = self._rows
        last = rows.last.get(arm, -1)
        if 0 <= last < t:
            np.multiply(self._W[last], self.noise.item(arm) / (rows.counts[last] * rows.roots[last]), out=out)
        else:
            last = -1
            self._before.take(np.array([arm]), out=out[None])
        if last + 1 < t:
            W = self._W[last + 1 : t]
            out -= np.dot(W[:, arm], W, out=self._spare)

    def _append(self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> Float[np.ndarray, "p A"]:
        """The whitened rows of `counts` pulls of each of the distinct `arms`, appended by one product of matrices."""
        if len(arms) == 1:
            return self._append_one(int(arms[0]), float(counts[0]))[0][None]
        rows = self._rows
        t = rows.used
        self._reserve(t + len(arms))
        C = self._before.take(arms, out=self._W[t : t + len(arms)])
        if t:
            W = self._W[:t]
            C -= W[:, arms].T @ W
        S = C[:, arms]
        L, _ = jittered_cholesky(0.5 * (S + S.T) + np.diag(self.noise[arms] / counts))
        for start in range(0, C.shape[1], _COLUMNS):  # in place: no second matrix as large as these rows
            block = slice(start, start + _COLUMNS)
            C[:, block] = solve_lower(L, C[:, block])
        rows.add_block(arms, counts, np.diagonal(L).tolist())
        return C

    def _factor(self, first: int, last: int) -> Float[np.ndarray, "t t"]:
        """`L` of some rows, given those before them; what stands above its diagonal means nothing."""
        rows = self._rows
        L: np.ndarray = self._W[first:last][:, rows.arms[first:last]].T
        np.fill_diagonal(L, rows.roots[first:last])
        return L

    def _settle(self, last: int, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        """The open rows before `last` are those of `arms`, whose feedback adds up to `sums`."""
        rows = self._rows
        first, W = rows.told, self._W[rows.told : last]
        # Pulls of one arm are exchangeable: each is given their mean, so that nothing depends on their order.
        y = dict(zip(arms.tolist(), (sums / counts).tolist()))
        residual = np.array([y[arm] for arm in rows.arms[first:last]]) - self._mean[rows.arms[first:last]]
        z = solve_lower(self._factor(first, last), residual)
        self._mean += z @ W
        self.quadratic += float(z @ z)
        self.v -= np.einsum("ij,ij->j", W, W)
        d = (root * root * count for root, count in zip(rows.roots[first:last], rows.counts[first:last]))
        lam = self.noise[rows.arms[first:last]].tolist()
        self.information_gain += 0.5 * sum(log(one / of_arm) for one, of_arm in zip(d, lam))
        rows.told = last
        for arm, count, total in zip(arms.tolist(), counts.tolist(), sums.tolist()):
            self._count(arm, count, total)

    def _count(self, arm: int, count: float, total: float) -> None:
        if self.n[arm] == 0:
            self._rows.distinct.append(arm)
        self.n[arm] += count
        self.sums[arm] += total

    def _open(self, pulls: Counter[int]) -> None:
        """Open rows for all of `pulls`, one for each arm."""
        if pulls:
            W = self._append(*_arrays(pulls))
            self._rows.open, self._rows.ahead = pulls, self.v - np.einsum("ij,ij->j", W, W)

    def _drop_open(self) -> None:
        rows = self._rows
        rows.cut(rows.told)
        rows.open, rows.ahead = Counter(), None

    def _compact(self) -> None:
        """Replace the rows by fewer that say the same, if there are many more than it takes."""
        rows = self._rows
        if rows.are_many():
            self.renew()
        elif rows.used == rows.told and rows.tail_is_long():
            # Since the last renewal few arms were pulled again and again: a row for each, in place of one a pull.
            arms = rows.arms[rows.renewed :]
            counts: Counter[int] = Counter()
            for arm, count in zip(arms, rows.counts[rows.renewed :]):
                counts[arm] += int(count)
            rows.cut(rows.renewed)
            self._append(*_arrays(counts))
            rows.told = rows.used

    def _reserve(self, rows: int) -> None:
        capacity, A = self._W.shape
        if rows > capacity:
            W = np.empty((max(rows, 2 * capacity), A))
            W[: self._rows.used] = self._W[: self._rows.used]
            self._W = W

    def renew(self) -> None:
        """Compute everything anew from counts and sums: a row for each distinct arm, free of past rounding."""
        rows = self._rows
        arms, opened = self.distinct(), rows.open
        rows.cut(0)
        self.v[:], self._mean[:] = self._before.prior, self._first_mean
        if len(arms):
            W = self._append(arms, self.n[arms])
            residual = self.sums[arms] / self.n[arms] - self._first_mean[arms]
            self._mean += solve_lower(self._factor(0, len(arms)), residual) @ W
            self.v -= np.einsum("ij,ij->j", W, W)
        rows.told = rows.renewed = rows.used
        rows.open, rows.ahead = Counter(), None
        self._open(opened)
        self.renewals += 1

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the whitened rows, which are computed anew in the same steps and so with the same rounding."""
        return {name: value for name, value in vars(self).items() if name not in ("_W", "_spare", "noise")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        A = self.n_arms
        self.noise = as_noise_variances(self._given_noise, A)
        self._W, self._spare = np.empty((_ROOM, A)), np.empty(A)
        wanted, self._rows = self._rows, PulledRows()
        blocks = {block.first: block for block in wanted.blocks}
        while (t := self._rows.used) < wanted.used:
            if t in blocks:
                self._append(blocks[t].arms, blocks[t].counts)
                self._rows.cut(t + blocks[t].rows)
            else:
                self._append_one(wanted.arms[t], wanted.counts[t])
        self._rows = wanted


def _among(
    before: CovarianceRows,
    arms: Int[np.ndarray, " n"],
    W: Float[np.ndarray, "t n"],
    some: np.ndarray,
    others: np.ndarray | None = None,
) -> Float[np.ndarray, "p q"]:
    right, W_right = (arms, W) if others is None else (arms[others], W[:, others])
    return before.between(arms[some], right) - W[:, some].T @ W_right


class _PosteriorRows:
    """Rows of a posterior covariance, each computed once."""

    def __init__(self, posterior: ExactPosterior) -> None:
        self._posterior = posterior
        self._known: dict[int, np.ndarray] = {}
        self.prior = posterior.v

    def take(
        self, arms: Int[np.ndarray, " p"], out: Float[np.ndarray, "p A"] | None = None
    ) -> Float[np.ndarray, "p A"]:
        missing = [arm for arm in dict.fromkeys(arms.tolist()) if arm not in self._known]
        if missing:
            self._known.update(zip(missing, self._posterior.covariance(np.array(missing))))
        return np.stack([self._known[arm] for arm in arms.tolist()], out=out)

    def between(self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"]) -> Float[np.ndarray, "p q"]:
        return self._posterior.covariance(arms, others)


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
