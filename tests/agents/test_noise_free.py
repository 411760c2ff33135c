"""Policies on problems that state a noise of 0: widths are the norm, bands hold, posteriors interpolate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agents
from gpbandit_envs.gp import SE, Kernel, Matern
from gpbandit_envs.problem import Problem
from tests.agents.play import begun, features, noisy, play


def problem_of(kernel: Kernel, seed: int, norm: float = 2.0, horizon: int = 60) -> tuple[Problem, np.ndarray]:
    """A problem without noise whose mean has exactly the norm that it states."""
    rng = np.random.default_rng(seed)
    X = rng.random((300, 2))
    centres = rng.random((40, 2))
    weights = rng.standard_normal(40)
    norm_of_sum = np.sqrt(weights @ kernel(centres, centres) @ weights)
    mean = kernel(X, centres) @ weights * (norm / norm_of_sum)
    return Problem(name="exact", dim=2, arms=X, kernel=kernel, noise_std=0.0, norm_bound=norm, horizon=horizon), mean


KERNELS: list[Kernel] = [SE(0.2), Matern(0.3, 1.0), Matern(0.3, 2.5)]
PROVEN: list[tuple[str, dict[str, Any]]] = [
    ("GP-UCB", {}),
    ("GP-UCB", {"width": "amm"}),
    ("GP-UCB", {"width": "dmm"}),
    ("BPE", {}),
    ("BPE", {"lengths": "doubling"}),
    ("MVR", {}),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize(("id", "kwargs"), PROVEN, ids=str)
def test_the_width_is_the_norm_and_the_band_holds(id: str, kwargs: dict[str, Any], kernel: Kernel) -> None:
    """Also with the positive noise variance that the posterior needs: the norm bounds the error for any of them."""
    for seed in range(2):
        problem, mean = problem_of(kernel, seed)
        agent = agents.make(id, **kwargs)
        played = np.concatenate(play(agent, problem, noisy(mean, 0.0, 0), seed))
        assert agent.diagnostics()["width"] == pytest.approx(2.0)
        centre, half = agent.predict(features(problem)) or (mean, mean)
        assert (np.abs(mean - centre) <= half + 1e-9).all()
        last = played[-4:] if id == "BPE" else played  # BPE's posterior is that of its last batch, of 4 or more
        assert half[last].max() < 1e-4
        np.testing.assert_allclose(centre[last], mean[last], atol=1e-4)


def test_the_noise_variance_of_the_posterior_is_a_share_of_the_prior() -> None:
    """The stated floor; a smaller one can be given, down to where rounding is larger."""
    for scale in (1.0, 1e6):
        problem, _ = problem_of(scale * SE(0.2), 0)
        agent = begun(problem, "GP-UCB")
        assert agent.model.lam == pytest.approx(1e-10 * scale)
    problem, mean = problem_of(Matern(0.3, 1.0), 0)
    halves = []
    for lam in (None, 1e-13):
        agent = agents.make("GP-UCB", lam=lam)
        played = np.concatenate(play(agent, problem, noisy(mean, 0.0, 0), 0))
        halves.append((agent.predict(features(problem)) or (mean, mean))[1][played].max())
    assert halves[1] < 0.1 * halves[0]
    with pytest.raises(ValueError, match="lam: expected at least 1e-14 of the largest prior variance"):
        agents.make("GP-UCB", lam=1e-15).reset(problem, np.random.default_rng(0))


def test_no_arm_is_pulled_twice_before_the_best_one_is_known() -> None:
    """Where feedback is exact a second pull of an arm tells nothing."""
    problem, mean = problem_of(SE(0.2), 1)
    arms = np.concatenate(play(agents.make("GP-UCB"), problem, noisy(mean, 0.0, 0), 0))
    again = [t for t in range(len(arms)) if arms[t] in arms[:t]]
    assert all(mean[arms[t]] == mean[arms[: t + 1]].max() for t in again)
    assert again
    assert mean[arms[-1]] == mean.max()
