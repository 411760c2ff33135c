"""Theoretical guarantees that a policy states: its confidence band, its regret, its sketch.

Each is returned by one method of `agents.Agent`; the defaults state nothing. Audits, theory comparisons and pages
call these methods and refer to no policy by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from gpbandit_envs.problem import Approximation, Problem

if TYPE_CHECKING:  # else every agent's fingerprint would change with the sketch
    from gpbandit_envs.gp.sketch import SketchedArmPosterior

_ROUNDING = 1e-9  # of a noise deviation

Assumption = Literal["norm", "prior"]
"""What a width's theorem assumes of the mean function, besides the true kernel and noise: `"norm"`, a known bound on
its RKHS norm; `"prior"`, that it is a draw from the Gaussian process."""
Deviation = Literal["sup", "corruption"]
"""How feedback may be off the model in a way whose size is known: an entry of `Problem.misspecification`."""
Kind = Literal["proven", "Bayesian", "unproven", "tuned"]
"""What a width is: `"proven"` for every mean of bounded norm, `"Bayesian"`, proven for draws from the prior,
`"unproven"`, the form of a theorem whose conditions the policy does not meet, or `"tuned"`."""


@dataclass(frozen=True)
class BandGuarantee:
    """The coverage guarantee of the confidence band of `Agent.predict`; `BandGuarantee()` states none.

    Attributes:
        width: The policy's setting of its confidence width, as text, such as `"theory"` or `"1.96"`; "" if it has no
            such setting.
        delta: Probability in (0, 1) with which some mean may ever be outside the band; None if the policy states none.
        assumes: What the theorem behind the width assumes of the mean function; None where there is no theorem.
        theorem: Source of that theorem; "" without one.
        unmet: Condition of the theorem that the policy does not meet, whatever the problem; "" if it meets all.
        own_model: Whether the kernel is the policy's argument instead of the problem's, or the noise variance in the
            posterior is and the theorem is not for any other than that of the noise.
        norm_bound: Bound on the RKHS norm among the policy's arguments; None if it takes the problem's.
        norm_factor: What it multiplies the problem's bound on the norm by, > 0.
        doubles_norm: Whether the bound on the norm is a guess that is doubled when the data refute it.
        refuted: Whether the data of this episode refute the bound on the norm, the noise or the kernel that the policy
            was given: impossible while the band holds, so that its probability is at most `delta`.
        tolerates: What the band holds in spite of, as much of it as the problem states.
        approximations: What the band takes the mean to be near, all of it: pairs of a norm and a distance. () for a
            band that rests on a bound on the norm alone, the policy's or the problem's.
        time_varying: Whether it is for a mean that drifts as the problem states, instead of one that stays as it is.
        gaussian_noise: Whether it is for Gaussian noise alone, instead of all that is sub-Gaussian.
    """

    width: str = ""
    delta: float | None = None
    assumes: Assumption | None = None
    theorem: str = ""
    unmet: str = ""
    own_model: bool = False
    norm_bound: float | None = None
    norm_factor: float = 1.0
    doubles_norm: bool = False
    refuted: bool = False
    tolerates: frozenset[Deviation] = frozenset()
    approximations: tuple[Approximation, ...] = ()
    time_varying: bool = False
    gaussian_noise: bool = False

    @property
    def kind(self) -> Kind:
        """What the width is, whatever the problem."""
        if self.assumes is None:
            return "tuned"
        if self.unmet:
            return "unproven"
        return "proven" if self.assumes == "norm" else "Bayesian"


@dataclass(frozen=True)
class BoundInputs:
    """The inputs of a regret bound on finite arms.

    Attributes:
        problem: The problem; it has arms, a kernel and a positive noise standard deviation.
        t: Number of evaluations at which the bound is computed, at least 1.
        gamma: Upper bounds on the largest information gain of 1, ..., t pulls, in nats, shape (t,).
        d_eff: Effective dimension of the pulls that were made, as the policy reported it; None if it did not.
        prior_variance: Largest prior variance `kappa^2 = max k(x, x)` of an arm, unit of the squared reward.
        noise_std: Standard deviation `xi` of the noise, unit of the reward.
    """

    problem: Problem
    t: int
    gamma: Float[np.ndarray, " t"]
    d_eff: float | None
    prior_variance: float
    noise_std: float

    @property
    def lam(self) -> float:
        """Noise variance, unit of the squared reward."""
        return self.noise_std**2

    @property
    def gain(self) -> float:
        """Upper bound on the information gain of t pulls, in nats."""
        return float(self.gamma[self.t - 1])


@dataclass(frozen=True)
class RegretGuarantee:
    """The proven bound on a policy's cumulative regret; `RegretGuarantee()` states none.

    Attributes:
        exponent: Power of t in the bound, logarithms aside; None where it is not known for the kernel.
        bound: Bound on the cumulative regret at `BoundInputs.t`, with the theorem's constants, unit of the reward; None
            where the problem does not state what it depends on.
        theorem: Source of the bound; "" without one.
        tolerates: What the bound holds in spite of, as much of it as the problem states.
        gaussian_noise: Whether it is for Gaussian noise alone, instead of all that is sub-Gaussian.
    """

    exponent: float | None = None
    bound: float | None = None
    theorem: str = ""
    tolerates: frozenset[Deviation] = frozenset()
    gaussian_noise: bool = False


def off_the_model(problem: Problem) -> set[str]:
    """What is false of the stated model: entries of `misspecification`, but a norm that is stated too large."""
    return {name for name, size in problem.misspecification.items() if name != "norm" or size < 1}


def unmet_by_noise(problem: Problem, gaussian: bool) -> str:
    """What a theorem asks of the noise that the problem does not state; "" if it states all.

    Theorems take the stated standard deviation for the sub-Gaussian constant, which it may be below.

    Args:
        problem: The problem.
        gaussian: Whether the theorem is for Gaussian noise alone.
    """
    tails = problem.noise_tails
    if tails is None:
        return "its theorem asks for sub-Gaussian noise, and the problem states no constant of it"
    if gaussian and not tails.gaussian:
        return "its theorem asks for Gaussian noise, and that of the problem is sub-Gaussian alone"
    if problem.noise_std is not None and tails.sub_gaussian > problem.noise_std * (1 + _ROUNDING):
        return (
            f"it takes the deviation of the noise, {problem.noise_std:.3g}, for its sub-Gaussian constant, which is "
            f"{tails.sub_gaussian:.3g}"
        )
    return ""


@dataclass(frozen=True)
class Sketch:
    """The sketched posterior of a policy.

    Attributes:
        posterior: The approximate posterior.
        resparsifications: Dictionaries drawn so far.
    """

    posterior: SketchedArmPosterior
    resparsifications: int
