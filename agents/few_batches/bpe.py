"""BPE: batched pure exploration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float, Int

from agents.core.gp_settings import NoiseOfArms
from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.protocol import Action, Actions, Capabilities, Feedback, Pending
from agents.core.regret_bounds import proven_exponent
from agents.few_batches.elimination import Elimination
from agents.few_batches.theory import GrowingWidth, OfflineTheorem, TwoSidedOffline, bpe_bound
from gpbandit_envs.arguments import as_count, as_word
from gpbandit_envs.gp import Matern
from gpbandit_envs.problem import Problem

_LARGEST = 1_000_000  # grid points
_FIRST = 8  # evaluations of the first batch, where lengths double


@dataclass(kw_only=True, eq=False, repr=False)
class BPE(Elimination):
    """Few batches, each of pure exploration among the arms that may still be best.

    In batch i, pick `N_i` arms, each of largest variance given the picks of this batch alone; observe them all; keep
    the arms with `mean + width sd >= max (mean - width sd)`. The lengths are known in advance, so the horizon must be.
    On a box, arms are the points of a grid of spacing `1 / sqrt(T)`. Existing data are not used: the bounds
    of the paper hold for data that each batch plans itself.

    With `sampling="uniform"` this is REDS, random exploration with domain shrinking: the picks are drawn uniformly from
    the surviving arms, so that nothing is computed before the end of a batch, and then once. Under that name lengths
    double, as its epochs do.

    With `noise="by_arm"` and doubling lengths it is VA-PE, variance-aware phased elimination: the posterior has the
    noise variance of each arm, so that a batch goes to the arms in proportion to their noise.

    The norm bound is a number: a guess that has to be doubled comes too late, as eliminated arms do not return. Other
    arguments: see `ModelFields` and `BandFields`.

    Args:
        width: `"theory"` (the offline bound, proven for Gaussian noise), `"sub-gaussian"` (the same with `2 A` for A,
            proven for all sub-Gaussian noise), `"growing"` (`sqrt(3 log 2i)`, meant for the full posterior), a number
            (the paper's experiments: `sqrt(2)` on f1, `sqrt(6)` on f2) or a schedule, evaluated once a batch,
            that depends only on `t` and the problem.
        n_batches: Number of batches B; None for Algorithm 1, which needs about `log log T`.
        lengths: With `n_batches`: `"kernel"` (Theorem 2's growth without its logarithms, rescaled to T as in the
            experiments), `"theorem"` (the same, the last batch taking the rest) or `"equal"` (Fixed-BPE). Without:
            `"doubling"` for 8, 16, 32, ... in place of Algorithm 1's, whose first batch costs `sqrt(T)` even where
            there is no noise.
        posterior: `"batch"` (each batch on its own, as the theory requires) or `"full"` (all data).
        sampling: `"variance"` (the arm of largest variance) or `"uniform"` (REDS), which goes with `posterior="batch"`.
        noise: `"common"`, or `"by_arm"` (VA-PE) for the noise variance of each arm, where the problem states them.

    Attributes:
        current_width: The width of the current batch.
        keeps_all: Whether the posterior has the data of all batches.
        draws_uniformly: Whether picks are drawn.

    Raises:
        ValueError: for a bad value, or at `reset` without a horizon, kernel or noise.

    References: Li and Scarlett (2022), Algorithm 1, Theorem 2 and section 5; Iwazaki and Takeno (2025), Theorem
    4.1, for doubling lengths, and Theorem 6.3, for VA-PE, whose width has `2 (1 + log2 T)` for B; Salgia, Vakili and
    Zhao (2024), Random exploration in Bayesian optimization, for REDS: its text could not be consulted, so that its
    statement, and how long its first epoch is, are unchecked. It is about points drawn from a compact set; here they
    are drawn from the arms, with replacement.
    """

    capabilities = Capabilities(
        frozenset({"finite", "box"}), batch="adaptive", delayed=True, needs=frozenset({"horizon", "kernel", "noise"})
    )

    side_by_side = True
    named_widths: ClassVar = {"theory": OfflineTheorem(), "sub-gaussian": TwoSidedOffline(), "growing": GrowingWidth()}
    n_batches: int | None = None
    lengths: Literal["kernel", "theorem", "equal", "doubling"] = "kernel"
    posterior: Literal["batch", "full"] = "batch"
    sampling: Literal["variance", "uniform"] = "variance"
    noise: NoiseOfArms = "common"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n_batches = None if self.n_batches is None else as_count("n_batches", self.n_batches)
        as_word("lengths", self.lengths, ("kernel", "theorem", "equal", "doubling"))
        if self.lengths == "doubling" and self.n_batches is not None:
            raise ValueError(
                f"n_batches: expected None with lengths='doubling', got {self.n_batches!r}; lengths double under the "
                "name REDS unless others are given, such as 'kernel'"
            )
        self.keeps_all = as_word("posterior", self.posterior, ("batch", "full")) == "full"
        self.draws_uniformly = as_word("sampling", self.sampling, ("variance", "uniform")) == "uniform"
        if self.draws_uniformly and self.keeps_all:
            raise ValueError("posterior: expected 'batch' with sampling='uniform', got 'full'")

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        if problem.horizon is None:
            raise ValueError(f"horizon: BPE plans its batches in advance, and {problem.name} does not state one")
        self._grid = None if problem.is_finite else Grid.of(problem)
        if self._grid is not None:
            problem = replace(problem, arms=self._grid.points(), initial=None)
        super().reset(problem, rng)

    def start_episode(self) -> None:
        super().start_episode()
        assert self.problem.horizon is not None
        self.batch_lengths = self.plan_lengths(self.problem.horizon, self.problem.dim)
        everywhere = slice(1) if self.draws_uniformly else slice(None)  # without data it is the prior, wherever asked
        self.batch_posterior = self.known = self._posterior_on(everywhere)
        self._begin_batch()
        self._known_width = self.current_width

    def plan_lengths(self, horizon: int, dim: int) -> list[int]:
        """The lengths of all batches of an episode."""
        if self.n_batches is None:
            return doubling_lengths(horizon) if self.lengths == "doubling" else growing_lengths(horizon)
        n_batches = min(self.n_batches, horizon)
        if self.lengths == "equal":
            return equal_lengths(horizon, n_batches)
        prior = self.model.kernel.unscaled
        eta = prior.nu / (2 * prior.nu + dim) if isinstance(prior, Matern) else 0.5
        return constant_number_lengths(horizon, n_batches, eta, rescaled=self.lengths == "kernel")

    def _begin_batch(self) -> None:
        if not (self.keeps_all or self.draws_uniformly):
            # Only surviving arms can be picked, so the batch's own posterior lives on them alone.
            self.batch_posterior = self._posterior_on(self.alive)
        self.batch_posterior.keep_open(())  # what failed, or was given up
        self._issued = self._answered = 0
        self._waiting: dict[int, tuple[float, float]] = {}
        self.current_width = self.planned_width()

    def planned_width(self) -> float:
        """The width of the batch that begins."""
        schedule = self.schedule.in_batch(self.batch + 1, len(self.batch_lengths))
        width: float = schedule(replace(self._context, t=self.n_pulls + 1))
        return width

    def select(self, n: int, pending: Pending) -> Actions:
        length = self._length
        if self._issued == length and len(pending) == 0:
            self._begin_batch()  # every evaluation of the last batch failed
        count = min(n, length - self._issued)
        if self.draws_uniformly:
            picks = self.alive[self.rng.integers(len(self.alive), size=count)]
        else:
            picks = np.array([self._most_uncertain() for _ in range(count)], np.int64)
        self._issued += count
        return self._to_actions(picks)

    def _most_uncertain(self) -> int:
        """Pull the surviving arm of largest variance given all pulls so far."""
        variance = self.batch_posterior.ahead()
        k = int(np.argmax(variance[self.alive] if self.keeps_all else variance))
        arm = int(self.alive[k])
        self.batch_posterior.pull(arm if self.keeps_all else k)
        return arm

    def _to_actions(self, arms: np.ndarray) -> Actions:
        assert self.problem.arms is not None
        return arms if self._grid is None else self.problem.arms[arms].copy()

    def observe(self, feedback: Feedback) -> None:
        if self._grid is not None:
            feedback = replace(feedback, actions=self._grid.nearest(feedback.actions))
        super().observe(feedback)

    @property
    def _length(self) -> int:
        return self.batch_lengths[min(self.batch, len(self.batch_lengths) - 1)]

    def learn(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        # Feedback may come before the batch is complete; the bounds wait for all of it.
        for arm, count, total in zip(arms.tolist(), counts.tolist(), sums.tolist(), strict=True):
            n, s = self._waiting.get(arm, (0.0, 0.0))
            self._waiting[arm] = n + count, s + total

    def _end_batch(self) -> None:
        arms = np.array(sorted(self._waiting), np.int64)
        counts, sums = np.array([self._waiting[arm] for arm in arms.tolist()]).T
        mean, variance = self._condition(arms, counts, sums)
        self.known = self.batch_posterior
        self._eliminate(mean, variance, self.current_width)

    def _condition(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the posterior the feedback of a batch; mean and variance of the arms that survive so far."""
        if self.draws_uniformly:
            # A posterior over the pulled arms alone, asked for the others once: no rows over a million arms.
            assert self.problem.arms is not None
            self.batch_posterior = self._posterior_on(arms)
            self.batch_posterior.update(np.arange(len(arms)), counts, sums)
            return self.batch_posterior.at(self.problem.arms[self.alive])
        self.batch_posterior.update(arms if self.keeps_all else np.searchsorted(self.alive, arms), counts, sums)
        survivors = self.alive if self.keeps_all else np.arange(len(self.alive))
        return self.batch_posterior.mean[survivors], self.batch_posterior.variance[survivors]

    def recommend(self) -> Action:
        assert self.problem.arms is not None
        return self.best if self._grid is None else self.problem.arms[self.best].copy()

    def _unmet(self) -> str:
        if self.keeps_all and self.schedule.chosen_blindly:
            return "its theorem is for the data of one batch alone, and the posterior has those of all"
        if self._grid is not None:
            return "its theorem covers the points of the grid that stands for the box, and no others"
        return ""

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        problem, F = inputs.problem, inputs.problem.norm_bound
        # Theorem 1 is about the regret at the horizon, with the batch lengths, the picks and the data of Algorithm 1.
        if F is None or self.n_batches is not None or self.keeps_all:
            return RegretGuarantee()
        exponent, theorem = proven_exponent(problem, optimal=True), "Li and Scarlett (2022), Theorem 1"
        if self.draws_uniformly:
            return RegretGuarantee(exponent, theorem="Salgia et al. (2024)", rests_on_band=True)
        if inputs.t != problem.horizon:
            return RegretGuarantee(exponent, theorem=theorem, rests_on_band=True)
        sides = self.schedule.sides
        batches, delta = np.array(self.plan_lengths(inputs.t, problem.dim)), self.settings.delta_on(problem)
        A, kappa2 = problem.n_arms, inputs.prior_variance
        bound = bpe_bound(batches, inputs.gamma, F, inputs.noise_std, sides * A, delta, kappa2, inputs.lam)
        return RegretGuarantee(exponent, bound, theorem, gaussian_noise=sides == 1, rests_on_band=True)

    def diagnostics(self) -> Mapping[str, float]:
        return {**super().diagnostics(), "width": self.current_width, "inconsistent": float(self.inconsistent)}


# ---- batch lengths, known in advance ----


def growing_lengths(horizon: int) -> list[int]:
    """`N_i = ceil(sqrt(T N_{i-1}))` with `N_0 = 1`, the last cut so that all add up to T.

    Reference: Li and Scarlett (2022), Algorithm 1; Proposition 1 bounds their number by `ceil(log2 log2 T) + 1`.
    """
    lengths: list[int] = []
    previous = 1
    while sum(lengths) < horizon:
        previous = ceil(sqrt(horizon * previous))
        lengths.append(min(previous, horizon - sum(lengths)))
    return lengths


def doubling_lengths(horizon: int) -> list[int]:
    """`N_i = 2 N_{i-1}` with `N_1 = 8`, the last cut so that all add up to T.

    Reference: Iwazaki and Takeno (2025), Theorem 4.1, whose first batch has any fixed length.
    """
    lengths: list[int] = []
    while sum(lengths) < horizon:
        lengths.append(min(_FIRST * 2 ** len(lengths), horizon - sum(lengths)))
    return lengths


def constant_number_lengths(horizon: int, n_batches: int, eta: float, rescaled: bool = True) -> list[int]:
    """`N_i = T^((1 - eta^i) / (1 - eta^B))` for a constant number B of batches.

    The theorem takes what is left for the last batch; the experiments extend the formula to it and rescale all lengths
    to add up to T, which also works where the first B - 1 alone exceed T.

    Args:
        horizon: Number of evaluations T.
        n_batches: Number of batches B >= 1.
        eta: 1/2 for the SE kernel, `nu / (2 nu + d)` for a Matern kernel.
        rescaled: As in the experiments; else as in the theorem.

    Raises:
        ValueError: if there are fewer evaluations than batches, or nothing is left for the last batch.

    Reference: Li and Scarlett (2022), Theorem 2 without its logarithms, and section 5.
    """
    _check(horizon, n_batches)
    raw = [horizon ** ((1 - eta**i) / (1 - eta**n_batches)) for i in range(1, n_batches + 1)]
    if rescaled:
        return _rounded([x * horizon / sum(raw) for x in raw], horizon)
    lengths = [ceil(x) for x in raw[:-1]]
    if sum(lengths) >= horizon:
        raise ValueError(f"n_batches: nothing of {horizon} evaluations is left for batch {n_batches}; rescale instead")
    return [*lengths, horizon - sum(lengths)]


def equal_lengths(horizon: int, n_batches: int) -> list[int]:
    """B batches of equal length, up to one (Fixed-BPE)."""
    _check(horizon, n_batches)
    return _rounded([horizon / n_batches] * n_batches, horizon)


def _check(horizon: int, n_batches: int) -> None:
    if not 1 <= n_batches <= horizon:
        raise ValueError(f"n_batches: expected 1 to {horizon}, the number of evaluations, got {n_batches!r}")


def _rounded(lengths: list[float], horizon: int) -> list[int]:
    """Whole lengths of at least 1 with the same running sums up to rounding."""
    ends: list[int] = []
    total = 0.0
    for i, length in enumerate(lengths):
        total += length
        least, most = (ends[-1] if ends else 0) + 1, horizon - (len(lengths) - 1 - i)
        ends.append(min(max(round(total), least), most))
    return [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]


# ---- a box as arms ----


@dataclass(frozen=True)
class Grid:
    """The points of equal spacing over the unit cube, faces included.

    Attributes:
        side: Points along each axis, >= 2.
        dim: Number of axes d.
    """

    side: int
    dim: int

    @classmethod
    def of(cls, problem: Problem) -> Grid:
        """The grid of spacing at most `1 / sqrt(T)` that stands for a box over T evaluations.

        Raises:
            ValueError: if it has more than a million points.

        Reference: Li and Scarlett (2022), section 3.1.
        """
        assert problem.horizon is not None
        grid = cls(ceil(sqrt(problem.horizon)) + 1, problem.dim)
        if grid.side**grid.dim > _LARGEST:
            raise ValueError(
                f"problem: a grid of spacing 1/sqrt(T) has {grid.side}^{grid.dim} points in {problem.name}; "
                f"at most {_LARGEST:,} are possible"
            )
        return grid

    def points(self) -> Float[np.ndarray, "A d"]:
        """All points, the last coordinate running fastest."""
        axes = np.meshgrid(*[np.linspace(0, 1, self.side)] * self.dim, indexing="ij")
        return np.stack(axes, axis=-1).reshape(-1, self.dim)

    def nearest(self, points: Float[np.ndarray, "p d"]) -> Int[np.ndarray, " p"]:
        """Index of the grid point next to each of `points`."""
        steps = np.rint(points * (self.side - 1)).astype(np.int64)
        return np.ravel_multi_index(tuple(steps.T), (self.side,) * self.dim)
