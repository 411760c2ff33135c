"""The constant prior mean of a problem: policies with a given kernel play on feedback less it, and predict with it.

Nothing else in them knows of it: kernels, norms and distances are statements about the mean less the constant, and no
choice by a posterior changes where all of it is moved by one number.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from agents.core.protocol import Feedback
from gpbandit_envs.problem import InitialData, Problem

__all__ = ["centred", "uncentred"]

E = TypeVar("E", Feedback, InitialData)


def centred(evaluations: E, problem: Problem) -> E:
    """The same evaluations with rewards less the prior mean; the very same where it is 0."""
    if problem.prior_mean == 0:
        return evaluations
    return replace(evaluations, rewards=evaluations.rewards - problem.prior_mean)


def uncentred(mean: Float[np.ndarray, " n"], problem: Problem) -> Float[np.ndarray, " n"]:
    """A posterior mean of centred feedback, in units of the reward."""
    return mean if problem.prior_mean == 0 else mean + problem.prior_mean
