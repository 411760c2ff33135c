"""Policies that play on finite arms and on boxes alike, under one id: each hands an episode to the form that fits.

On finite arms the posterior over all arms is updated in place; on a box it is asked where the acquisition function is
climbed. The two forms share nothing but the rule by which they choose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.continuous.base import BoxAgent
from agents.continuous.gp_ei import BoxGPEI
from agents.continuous.gp_ts import BoxGPTS
from agents.continuous.gp_ucb import BoxGPUCB
from agents.core.finite import FiniteArmAgent
from agents.core.guarantees import BandGuarantee, BoundInputs, RegretGuarantee
from agents.core.initial import Initial
from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.settings import NormBound
from agents.exact import gp_ei, gp_ucb
from agents.exact.thompson import AsyncTS
from gpbandit_envs.problem import Problem

__all__ = ["GPEI", "GPTS", "GPUCB"]


class _ByDomain(Agent):
    """Plays the form of the policy that fits the problem.

    Args:
        finite: For finite arms.
        box: For a box.

    Attributes:
        form: The one that plays the current episode.
    """

    capabilities = Capabilities(frozenset({"finite", "box"}), batch="sequential", needs=frozenset({"kernel", "noise"}))

    def __init__(self, finite: FiniteArmAgent, box: BoxAgent) -> None:
        self._finite, self._box = finite, box
        self.kernel, self.lam = box.kernel, box.lam
        self.form: FiniteArmAgent | BoxAgent = finite

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.form = self._finite if problem.is_finite else self._box
        self.form.reset(problem, rng)

    def select(self, n: int, pending: Pending) -> Actions:
        return self.form.select(n, pending)

    def observe(self, feedback: Feedback) -> None:
        self.form.observe(feedback)

    def recommend(self) -> Action:
        return self.form.recommend()

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray] | None:
        return self.form.predict(X)

    def band_guarantee(self) -> BandGuarantee:
        return self.form.band_guarantee()

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        return self.form.regret_guarantee(inputs)

    def diagnostics(self) -> Mapping[str, float]:
        return self.form.diagnostics()

    def state_dict(self) -> dict[str, Any]:
        return self.form.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.form.load_state_dict(state)


class GPUCB(_ByDomain):
    """Pull `argmax mean_{t-1} + width_t sd_{t-1}`, one arm or point at a time.

    `width="theory"` is the RKHS width of Chowdhury and Gopalan (2017) with the data's own information gain,
    `"practical"` the one of the BBKB experiments, `"bayes"` that of Srinivas et al. (2010) for a draw from the prior,
    Theorem 1 on arms and Theorem 2 on a box, `"growing"` the `sqrt(3 log 2t)` of the BPE experiments.

    Args:
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the card's.
        width: `"theory"`, `"practical"`, `"bayes"`, `"growing"`, a number, or a `WidthSchedule`.
        lam: Noise variance in the posterior; None for the card's `noise_std ** 2`.
        norm_bound: Bound `F` on the RKHS norm; None for the card's, or 1 if the card has none; on arms also `"double"`,
            see `agents.core.norm.NormGuess`.
        delta: Allowed probability of failure, in (0, 1); None for `1 / horizon`, or 0.05 without a horizon.
        n_start: Arms or points drawn uniformly and evaluated before the first bound is computed.
        candidates: On a box, Sobol points at which the bound is evaluated first.
        starts: On a box, points from which it is climbed.
        iterations: On a box, most steps of a climb.
        initial: On arms, existing data `{"arms": [...], "rewards": [...]}`; None for the card's, if it has some.

    Reference: Srinivas, Krause, Kakade and Seeger (2010), Algorithm 1; Chowdhury and Gopalan (2017), Algorithm 1.
    """

    policy_family = "GP-UCB"

    def __init__(
        self,
        kernel: Any = None,
        width: object = "theory",
        lam: float | None = None,
        norm_bound: NormBound = None,
        delta: float | None = None,
        n_start: int = 0,
        candidates: int = 1_024,
        starts: int = 8,
        iterations: int = 60,
        initial: Initial = None,
    ) -> None:
        finite = gp_ucb.GPUCB(kernel, width, lam, norm_bound, delta, n_start, initial)
        super().__init__(
            finite,
            BoxGPUCB(kernel, width, lam, norm_bound, delta, n_start, candidates, starts, iterations),
        )
        self._initial = finite.initial

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        if self._initial is not None and not problem.is_finite:
            raise ValueError(f"initial: expected None on a box, as {problem.name} is, got data of arms")
        super().reset(problem, rng)


class GPEI(_ByDomain):
    """Pull the arm or point of largest expected improvement over the largest posterior mean of an evaluated one.

    With noisy feedback the largest reward is no incumbent: it is likely to be luck.

    Args:
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the card's.
        lam: Noise variance in the posterior; None for the card's `noise_std ** 2`.
        n_start: Arms or points drawn uniformly and evaluated before the first improvement is computed.
        candidates: On a box, Sobol points at which the improvement is evaluated first.
        starts: On a box, points from which it is climbed.
        iterations: On a box, most steps of a climb.

    Reference: Jones, Schonlau and Welch (1998), Efficient Global Optimization of Expensive Black-Box Functions.
    """

    def __init__(
        self,
        kernel: Any = None,
        lam: float | None = None,
        n_start: int = 0,
        candidates: int = 1_024,
        starts: int = 8,
        iterations: int = 60,
    ) -> None:
        super().__init__(
            gp_ei.GPEI(kernel, lam, n_start), BoxGPEI(kernel, lam, n_start, candidates, starts, iterations)
        )


class GPTS(_ByDomain):
    """Thompson sampling: pull the maximiser of a joint draw from the posterior, one arm or point at a time.

    On finite arms this is ASYNC-TS with one worker, on a box the maximiser of a sample path.

    Args:
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the card's.
        lam: Noise variance in the posterior; None for the card's `noise_std ** 2`.
        n_start: Arms or points drawn uniformly and evaluated before the first draw.
        n_features: On a box, random features of a path.
        candidates: On a box, Sobol points at which a path is evaluated first.
        starts: On a box, points from which it is climbed.
        iterations: On a box, most steps of a climb.

    Reference: Chowdhury and Gopalan (2017), Algorithm 2; Wilson et al. (2020), Efficiently sampling functions from
    Gaussian process posteriors.
    """

    def __init__(
        self,
        kernel: Any = None,
        lam: float | None = None,
        n_start: int = 0,
        n_features: int = 1_024,
        candidates: int = 1_024,
        starts: int = 8,
        iterations: int = 60,
    ) -> None:
        super().__init__(
            AsyncTS(kernel, batch_size=1, lam=lam, n_start=n_start),
            BoxGPTS(kernel, lam, n_start, n_features, candidates, starts, iterations),
        )
