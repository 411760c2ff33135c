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
_DEVIATIONS = {
    "sup": "a mean that is only close to the prior's functions",
    "corruption": "corrupted feedback",
    "norm": "a stated norm below the true one",
}

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
        exponent: Power of t in the bound that the theorem has on this problem, logarithms aside; None where it has
            none, or the power is not known for the kernel.
        bound: Bound on the cumulative regret at `BoundInputs.t`, with the theorem's constants, unit of the reward; None
            where the problem does not state what it depends on, or the theorem has no constants.
        theorem: Source of the bound; "" without one.
        tolerates: What the bound holds in spite of, as much of it as the problem states.
        gaussian_noise: Whether it is for Gaussian noise alone, instead of all that is sub-Gaussian.
        rests_on_band: Whether the theorem applies only where the band of `Agent.predict` is guaranteed, see
            `guarantee_status`.
    """

    exponent: float | None = None
    bound: float | None = None
    theorem: str = ""
    tolerates: frozenset[Deviation] = frozenset()
    gaussian_noise: bool = False
    rests_on_band: bool = False


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


def guarantee_status(guarantee: BandGuarantee, problem: Problem) -> str:
    """Why no theorem guarantees the band on this problem; "" if one does.

    The RKHS widths need a bound on the norm of the mean, or on how near it is to functions of bounded norm, under the
    stated kernel, which may be a choice where such bounds are certified; the Bayesian ones need a draw from the true
    prior and Gaussian noise. All need noise that is sub-Gaussian with a known constant. A problem of knowledge
    `"oracle"` that states no norm bound is a draw from its prior. Of a bound below the problem's nothing is known.
    """
    has_norm = bool(problem.norm_bound or guarantee.norm_bound or guarantee.doubles_norm)
    if not guarantee.width:
        return "no width is stated"
    if guarantee.assumes is None:
        return "a tuned width has no guarantee"
    if guarantee.unmet:
        return guarantee.unmet
    if problem.time_varying and not guarantee.time_varying:
        return "the mean changes, and the theorem is for one that stays as it is"
    if guarantee.time_varying and not problem.time_varying:
        return "the mean stays as it is, and the policy is told that it drifts"
    if unmet_noise := unmet_by_noise(problem, guarantee.gaussian_noise):
        return unmet_noise
    if problem.knowledge not in ("oracle", "certified") or guarantee.own_model or problem.noise_std is None:
        return "the kernel and noise it is given are not known to be true"
    if unmet := sorted(off_the_model(problem) - guarantee.tolerates):
        return f"its theorem does not allow for {' and '.join(_DEVIATIONS.get(name, name) for name in unmet)}"
    if guarantee.assumes == "norm":
        return _norm_status(guarantee, problem, has_norm)
    if guarantee.assumes == "prior" and (has_norm or problem.knowledge == "certified"):
        return "the mean is no draw from the prior"
    return ""


def _norm_status(guarantee: BandGuarantee, problem: Problem, has_norm: bool) -> str:
    """Why the norm bound that the band rests on may be wrong; "" if it is stated and large enough."""
    if guarantee.doubles_norm:
        return "the norm of the mean is guessed, and doubled when the data refute the guess"
    if guarantee.approximations and problem.pairs:
        return _near_status(guarantee.approximations, problem)
    if problem.approximations and problem.norm_bound is None:
        nearest = min(problem.approximations, key=lambda pair: abs(pair.norm - (guarantee.norm_bound or 1.0)))
        return (
            f"its theorem asks for a mean of bounded norm; that of the problem is only known to be within "
            f"{nearest.distance:.3g} of a function of norm {nearest.norm:.3g}"
        )
    if not has_norm:
        return "no bound on the norm of the mean is known"
    if problem.norm_bound is None:
        return "the bound on the norm is the policy's own, and the problem states none"
    if (guarantee.norm_bound or guarantee.norm_factor * problem.norm_bound) < problem.norm_bound:
        return "the bound on the norm that it is given is below the problem's"
    return ""


def _near_status(taken: tuple[Approximation, ...], problem: Problem) -> str:
    """Which of the pairs that the band rests on the problem does not imply; "" if none."""
    for pair in taken:
        if any(stated.implies(pair) for stated in problem.pairs):
            continue
        if pair.norm < problem.pairs[0].norm:
            return "the bound on the norm that it is given is below the problem's"
        return f"the mean is not known to be within {pair.distance:.3g} of a function of norm {pair.norm:.3g}"
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
