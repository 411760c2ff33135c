"""Sampling a dictionary of inducing arms from the pulled arms."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

Draws = Literal["pull", "arm"]
"""`"pull"`: one Bernoulli draw a pull, as the papers write; `"arm"`: one an arm, as their authors' code does."""
Resampling = Literal["fresh", "coupled"]
"""`"fresh"`: new random numbers for every dictionary, as the papers have it; `"coupled"`: see `CoupledDraws`."""

_MOST_DEPARTURES = 4


def inclusion_probabilities(
    pulls: Float[np.ndarray, " u"], leverage: Float[np.ndarray, " u"], qbar: float, draws: Draws = "arm"
) -> Float[np.ndarray, " u"]:
    """The probability that each pulled arm enters the dictionary.

    With `p = min(1, qbar * lev)`, an arm pulled n times is in it with probability `1 - (1 - p)^n` if every pull is a
    draw of its own, and with `min(1, n * qbar * lev)` if every arm is. The latter is larger, and certain once
    `n lev >= 1 / qbar`, as it is for an arm that has been pulled often; the former leaves such an arm out about once in
    `exp(qbar)` draws, and its leverage score then jumps.

    Args:
        pulls: How often each was pulled, shape (u,).
        leverage: Leverage score of each, shape (u,).
        qbar: Oversampling `q >= 1`; larger dictionaries are more accurate.
        draws: Whether pulls or arms are drawn.

    Reference: Calandriello et al. (2019), Algorithm 1; Calandriello et al. (2020), Algorithm 1, lines 11-16.
    """
    if draws == "arm":
        return np.minimum(pulls * qbar * leverage, 1.0)
    p = np.minimum(qbar * leverage, 1.0)
    with np.errstate(divide="ignore"):
        return -np.expm1(pulls * np.log1p(-p))


def posterior_sampling(
    arms: Int[np.ndarray, " u"],
    pulls: Float[np.ndarray, " u"],
    leverage: Float[np.ndarray, " u"],
    qbar: float,
    rng: np.random.Generator,
    draws: Draws = "arm",
) -> Int[np.ndarray, " m"]:
    """Draw a dictionary from the pulled arms, with `inclusion_probabilities` that grow with their leverage scores.

    The dictionary is never empty: if nothing was drawn, the arm of largest inclusion probability is taken.

    Args:
        arms: Distinct pulled arms, shape (u,).
        pulls: How often each was pulled, shape (u,).
        leverage: Leverage score of each, shape (u,).
        qbar: Oversampling `q >= 1`; larger dictionaries are more accurate.
        rng: Source of the draws.
        draws: Whether pulls or arms are drawn.

    Returns:
        The arms drawn, in the order of `arms`.
    """
    inclusion = inclusion_probabilities(pulls, leverage, qbar, draws)
    return _never_empty(arms, rng.random(len(arms)) < inclusion, inclusion)


class CoupledDraws:
    """Dictionaries from fixed random numbers, so that one differs little from the next.

    Every pull (or every arm, with `draws="arm"`) gets one uniform number for good and is in a dictionary while that
    number is below its probability: the probability of being in any one dictionary is that of `posterior_sampling`, and
    arms join or leave only as the leverage scores change. Of the numbers of an arm's pulls only the
    smallest matters, and only it is kept.

    With fresh numbers an arm of inclusion probability p is left out of a share 1 - p of the dictionaries, and its upper
    bound jumps each time: a policy that maximises over arms picks exactly those. Its pulls are wasted, and the sum of
    leverage scores that sets its width grows. At `qbar=2` and T = 1,000 on a sample of a Gaussian process that costs
    BKB more than the regret of the exact policy again; coupled draws cost next to nothing (suite `sketch-study`).

    A leverage score is itself an estimate from the dictionary, smaller for an arm that is in it: an arm whose number
    lies between its two scores would join and leave for ever. After four departures it stays, so that no run has more
    than four departures an arm. This only ever adds arms, and arms that are added only make variances more accurate.

    Args:
        n_arms: Number of arms `A`.
        draws: Whether pulls or arms are drawn.

    Attributes:
        lowest: The smallest number of each arm so far, shape (A,); above 1 before its first pull.
        departures: How often each has left the dictionary, shape (A,).
    """

    def __init__(self, n_arms: int, draws: Draws) -> None:
        self.lowest = np.full(n_arms, 2.0)
        self.departures = np.zeros(n_arms, np.int8)
        self._draws: Draws = draws
        self._inside = np.zeros(n_arms, bool)
        self._numbered = np.zeros(n_arms)

    def draw(
        self,
        arms: Int[np.ndarray, " u"],
        pulls: Float[np.ndarray, " u"],
        leverage: Float[np.ndarray, " u"],
        qbar: float,
        rng: np.random.Generator,
    ) -> Int[np.ndarray, " m"]:
        """The next dictionary; arguments as for `posterior_sampling`, of which `rng` numbers what is new."""
        self._number(arms, pulls, rng)
        inclusion = inclusion_probabilities(pulls, leverage, qbar, self._draws)
        below = qbar * leverage * (pulls if self._draws == "arm" else 1.0)
        drawn = (self.lowest[arms] < below) | (self.departures[arms] >= _MOST_DEPARTURES)
        dictionary = _never_empty(arms, drawn, inclusion)
        leaving = self._inside
        leaving[dictionary] = False
        np.add(self.departures, 1, out=self.departures, where=leaving & (self.departures < _MOST_DEPARTURES))
        self._inside = np.zeros_like(leaving)
        self._inside[dictionary] = True
        return dictionary

    def _number(self, arms: np.ndarray, pulls: np.ndarray, rng: np.random.Generator) -> None:
        if self._draws == "arm":
            pulls = np.ones(len(arms))
        new = pulls - self._numbered[arms]
        fresh = arms[new > 0]
        # The smallest of k uniform numbers is distributed like 1 - U^(1/k).
        smallest = -np.expm1(np.log1p(-rng.random(len(fresh))) / new[new > 0])
        self.lowest[fresh] = np.minimum(self.lowest[fresh], smallest)
        self._numbered[arms] = pulls


def _never_empty(arms: np.ndarray, drawn: np.ndarray, inclusion: np.ndarray) -> Int[np.ndarray, " m"]:
    if not drawn.any():
        drawn[np.argmax(inclusion)] = True
    return arms[drawn]
