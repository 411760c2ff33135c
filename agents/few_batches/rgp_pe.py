"""RGP-PE: robust phased elimination, for feedback that an adversary corrupts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Int

from agents.core.finite import group_pulls
from agents.core.gp_settings import centred
from agents.core.guarantees import BandGuarantee, BoundInputs, RegretGuarantee
from agents.core.protocol import Actions, Capabilities, Feedback, Pending
from agents.core.regret_bounds import proven_exponent
from agents.core.widths import NonAdaptive, TwoSidedNonAdaptive
from agents.few_batches.elimination import Elimination
from gpbandit_envs.arguments import as_number
from gpbandit_envs.gp.exact import ExactPosterior

Enlargement = Literal["theory", "tight"] | float


@dataclass(kw_only=True, eq=False, repr=False)
class RGPPE(Elimination):
    """Epochs of pure exploration of few arms, each pulled so often that an adversary cannot hide its mean.

    Epoch h plans `l_h = 2^(h+1)` picks of largest variance among the arms that are left, and looks for the arm anew
    only when the information has grown by `log(eta)`; see `rare_switching`. Each picked arm is pulled as often as it
    was picked, and at least `psi l_h` times. By the feedback of this epoch alone the arms with
    `mean + W sd >= max (mean - W sd)` are kept, where `W` is the width and an enlargement for the budget C. The mean is
    of the arms' average feedback, which is the posterior mean as it is. Existing data are not used. `lam` is 1 in the
    paper's experiments; the norm bound is a number. Other arguments: see `ModelFields` and `BandFields`.

    Args:
        corruption: Budget `C >= 0`, unit of the reward; None for the problem's, or 0 if it states none.
        width: `"theory"`, `F + R / sqrt(lam) sqrt(2 log(A / delta_h))` with `delta_h = 6 delta / ((h + 1)^2 pi^2)`,
            proven for Gaussian noise; `"sub-gaussian"`, the same with `2 A` for A, for all sub-Gaussian noise; a number
            (4 in the paper's experiments), or a schedule of `t`, which is here `h + 1`, and of the problem.
        enlargement: What C adds to the width after u pulls in an epoch, n of them of the arm with fewest: `"theory"`,
            `C sqrt(u) / (psi l_h lam)`, for `lam <= 1`; `"tight"`, `C / sqrt(n lam)`, see `docs/math/robust.md`; or a
            number b for `b C / sqrt(u)`, 0.1 in the paper's experiments.
        psi: Least share of an epoch's length that a picked arm is pulled, in (0, 1]; 1/2 in the paper's experiments,
            `log(eta) / (2 gamma_T)` in Theorem 3.
        eta: How much larger the determinant `det(I + K / lam)` is when the arm is looked for anew, >= 1; 2 in the
            paper's experiments, 1 for every pick.

    Raises:
        ValueError: for a bad value, or at `reset` without kernel or noise.

    Reference: Bogunovic, Li, Krause and Scarlett (2022), A robust phased elimination algorithm for corruption-tolerant
    Gaussian process bandits, Algorithm 1, Lemma 2, Corollary 5 and section 4.
    """

    capabilities = Capabilities(
        frozenset({"finite"}), batch="adaptive", delayed=True, needs=frozenset({"kernel", "noise"})
    )

    named_widths: ClassVar = {"theory": NonAdaptive(), "sub-gaussian": TwoSidedNonAdaptive()}
    corruption: float | None = None
    enlargement: Enlargement = "theory"
    psi: float = 0.5
    eta: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.corruption is not None:
            wanted = "a finite number >= 0 or None"
            self.corruption = as_number("corruption", self.corruption, wanted, lambda C: C >= 0)
        if not (isinstance(self.enlargement, str) and self.enlargement in ("theory", "tight")):
            wanted = "'theory', 'tight' or a finite number >= 0"
            self.enlargement = as_number("enlargement", self.enlargement, wanted, lambda share: share >= 0)
        self.psi = as_number("psi", self.psi, "a number in (0, 1]", lambda psi: 0 < psi <= 1)
        self.eta = as_number("eta", self.eta, "a finite number >= 1", lambda eta: eta >= 1)

    def start_episode(self) -> None:
        super().start_episode()
        stated = self.problem.misspecification.get("corruption", 0.0)
        self.allowed = stated if self.corruption is None else self.corruption
        self.known = self._posterior_on(self.alive)
        self._begin_batch()
        self._known_width = self._width_after(self._plan_counts)

    def _begin_batch(self) -> None:
        """Plan the pulls of an epoch: the arms in the order in which they were first picked."""
        length = 2 ** (self.batch + 1)
        picked, picks = rare_switching(self._posterior_on(self.alive), length, self.eta)
        self._least = self.psi * length
        self._plan_counts = np.maximum(picks, ceil(self._least))
        self._planned = self.alive[picked]
        self._ends = np.cumsum(self._plan_counts)
        self._issued = self._answered = 0
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []

    @property
    def _length(self) -> int:
        return int(self._ends[-1])

    def select(self, n: int, pending: Pending) -> Actions:
        if self._issued == self._length and len(pending) == 0:
            self._begin_batch()  # every evaluation of the epoch failed, or was given up
        last = min(self._issued + n, self._length)
        places = np.searchsorted(self._ends, np.arange(self._issued, last), side="right")
        self._issued = last
        picks: np.ndarray = self._planned[places]
        return picks

    def observe(self, feedback: Feedback) -> None:
        arms, rewards = centred(feedback, self.problem).succeeded()
        if len(arms):
            self._waiting.append((arms, rewards))
        super().observe(feedback)

    def _end_batch(self) -> None:
        arms, counts, sums = group_pulls(*map(np.concatenate, zip(*self._waiting, strict=True)))
        self.known = self._posterior_on(self.alive)
        self.known.update(np.searchsorted(self.alive, arms), counts, sums)
        self._eliminate(self.known.mean, self.known.variance, self._width_after(counts))

    def _width_after(self, counts: np.ndarray) -> float:
        """`W` of this epoch, if each of its arms was pulled so often."""
        width = self.schedule(replace(self._context, t=self.batch + 1))
        pulls = float(counts.sum())
        if self.enlargement == "theory":
            least = min(self._least, float(counts.min()))  # less than planned if an evaluation failed
            return width + self.allowed * sqrt(pulls) / (least * self.model.lam)
        if self.enlargement == "tight":
            return width + self.allowed / sqrt(float(counts.min()) * self.model.lam)
        return width + float(self.enlargement) * self.allowed / sqrt(pulls)

    def band_guarantee(self) -> BandGuarantee:
        holds = self.enlargement == "tight" or (self.enlargement == "theory" and self.model.lam <= 1)
        enough = holds and self.allowed >= self.problem.misspecification.get("corruption", 0.0)
        return replace(super().band_guarantee(), tolerates=frozenset({"corruption"} if enough else ()))

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        if inputs.problem.norm_bound is None:
            return RegretGuarantee()
        # Theorem 3 has no constants.
        return RegretGuarantee(proven_exponent(inputs.problem, optimal=True), rests_on_band=True)


def rare_switching(
    prior: ExactPosterior, length: int, eta: float
) -> tuple[Int[np.ndarray, " s"], Int[np.ndarray, " s"]]:
    """Arms of largest variance, one looked for anew whenever `det(I + K / lam)` has grown by more than `eta`.

    After m pulls of one arm of variance v the determinant is `1 + m v / lam` times what it was: how often an arm is
    picked in a row is known beforehand, and the cost does not depend on `length`.

    Args:
        prior: The posterior of no data; it is updated.
        length: Number of picks.
        eta: Growth, >= 1; with 1 every pick is the arm of largest variance given all picks before it.

    Returns:
        The distinct arms in the order of their first pick, and how often each was picked.

    Reference: Bogunovic et al. (2022), Algorithm 1, lines 3 to 10.
    """
    picks: dict[int, int] = {}
    left = length
    while left:
        variance = prior.variance
        arm = int(np.argmax(variance))
        v = float(variance[arm])
        in_a_row = (eta - 1) * prior.lam / v if v > 0 else float(left)
        count = min(left, int(min(in_a_row, float(left))) + 1)
        prior.update(np.array([arm]), np.array([float(count)]), np.zeros(1))
        picks[arm] = picks.get(arm, 0) + count
        left -= count
    return np.array(list(picks), np.int64), np.array(list(picks.values()), np.int64)
