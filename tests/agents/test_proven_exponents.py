"""Every policy on every kind of task: what is proven of its regret is what applies there, and grows as it says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
from agents import Agent, BoundInputs, RegretGuarantee
from agents.core.guarantees import guarantee_status
from agents.core.regret_bounds import proven_exponent
from gpbandit_envs.gp import Matern
from gpbandit_envs.problem import Approximation, InitialData, NoiseTails, Problem
from leaderboards.score.theory import stated_regret
from tests.contracts.test_agents import VARIANTS, make

TIMES = (30_000, 300_000)  # of the growth of a bound, which logarithms are part of
_NOISE, _GROWTH = 1.5, 2 / (2 * 1.5 + 2)  # a noise of variance above 1, as BBKB's theorem asks; of the Matern kernel
_X = np.random.default_rng(0).random((12, 2))
_TRUE = Problem(
    name="drawn",
    dim=2,
    arms=_X,
    kernel=Matern(0.3, nu=1.5),
    noise_std=_NOISE,
    noise_tails=NoiseTails(_NOISE, gaussian=True),
)
_RKHS = replace(_TRUE, name="RKHS", norm_bound=1.0)
KINDS: Mapping[str, Problem] = {
    "a draw from the prior": _TRUE,
    "a function of bounded norm": _RKHS,
    "sub-Gaussian noise": replace(_RKHS, noise_tails=NoiseTails(_NOISE, gaussian=False)),
    "heavy noise": replace(_RKHS, noise_tails=None),
    "a mean that is only near": replace(_RKHS, misspecification={"sup": 0.2}),
    "corrupted feedback": replace(_RKHS, misspecification={"corruption": 3.0}),
    "a wrong kernel": replace(_RKHS, knowledge="misspecified", misspecification={"lengthscale": 2.0}),
    "a norm that is stated too small": replace(_RKHS, misspecification={"norm": 0.5}),
    "real data": replace(_TRUE, knowledge="learned"),
    "certified distances": replace(
        _TRUE, knowledge="certified", approximations=(Approximation(1.0, 0.3), Approximation(3.0, 0.05))
    ),
    "existing data": replace(_RKHS, initial=InitialData(rewards=np.array([0.1, 0.2]), arms=np.array([0, 1]))),
}
POLICIES = {f"{id} {kwargs}": (id, kwargs) for id in agents.registered() for kwargs in VARIANTS.get(id, [{}])}
# The growth of a bound in the policies that state one without constants, from their papers.
_WITHOUT_CONSTANTS = {"RGP-PE", "BPE-Delay", "GP-UCB-PE", "REDS"}


def stated(agent: Agent, problem: Problem, t: int) -> RegretGuarantee:
    """What is proven at the horizon t, were the gain as large as it may be for this kernel."""
    gamma = np.arange(1.0, t + 1) ** _GROWTH
    inputs = BoundInputs(problem, t, gamma, 2 * float(gamma[-1]), 1.0, _NOISE)
    return stated_regret("it", agent, inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_exponents_are_those_of_bounds_that_apply(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    seen = 0
    for name, (id, kwargs) in POLICIES.items():
        problems = [replace(KINDS[kind], horizon=t) for t in TIMES]
        players = [agent for problem in problems if (agent := make_or_none(id, kwargs, problem)) is not None]
        if len(players) < len(TIMES):
            continue
        found = [stated(*each) for each in zip(players, problems, TIMES)]
        assert len({one.exponent for one in found}) == 1, name
        exponent, bounds = found[0].exponent, [one.bound for one in found if one.bound is not None]
        if exponent is None:
            assert not bounds, name
            continue
        seen += 1
        if found[0].rests_on_band:
            assert guarantee_status(players[0].band_guarantee(), problems[0]) == "", name
        else:
            assert kind == "a draw from the prior", name
        assert exponent in {proven_exponent(problems[0], optimal) for optimal in (False, True)} | {1.0}, name
        if len(bounds) < len(TIMES):  # the theorem has no constants, or the bound is above what holds without one
            assert id in _WITHOUT_CONSTANTS or id == "BKB", name
            continue
        growth = math.log(bounds[1] / bounds[0]) / math.log(TIMES[1] / TIMES[0])
        assert min(growth, 1.0) == pytest.approx(exponent, abs=0.12), name
    assert not caplog.records
    assert (seen == 0) == (kind in ("heavy noise", "a wrong kernel", "a norm that is stated too small", "real data"))


def make_or_none(id: str, kwargs: Mapping[str, Any], problem: Problem) -> Agent | None:
    """The policy in an episode on the problem; None where it cannot play it."""
    try:
        agent = make(id, dict(kwargs))
        agent.reset(problem, np.random.default_rng(0))
    except (ValueError, TypeError, pytest.skip.Exception):
        return None
    return agent
