"""Bands along the pulls of any player."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import leaderboards
from agents.exact.gp_ucb import GPUCB
from benchmarks.paths import STRATEGIES, Adversary, Paths, Policy, along

ENV = ("GPBandit/RKHS-v0", {"n_arms": 30, "dim": 1, "norm": 1.0, "noise_std": 0.1, "lengthscale": 0.2})
R, T = 6, 12


def ucb(**settings: Any) -> list[Any]:
    return [("GP-UCB", {"delta": 0.1, **settings})]


def test_beside_its_own_policy_a_band_is_that_of_the_policy() -> None:
    """Fed with the pulls of its twin, or as the player itself, it is what `simulate` follows."""
    own = leaderboards.simulate(ENV, ucb(width="amm")[0], R, T, audit=True, progress=False)
    assert own.bands is not None
    found = along(ENV, Policy(ucb(width="amm")[0]), {"fed": ucb(width="amm"), "own": []}, R, T)
    for label in ("fed", "own"):
        np.testing.assert_allclose(found.bands[label].required, own.bands["required_scaling"], rtol=1e-9)
        assert found.bands[label].informative == pytest.approx(own.bands["informative"].mean())
        assert found.bands[label].why_not == ""
    assert (found.regret > 0).all()


def test_pieces_joined_are_the_whole() -> None:
    bands = {"DMM": ucb(width="dmm"), "best of two": [*ucb(width="amm", lam=0.01), *ucb(width="amm", lam=1.0)]}
    whole = along(ENV, Policy("GP-EI"), bands, R, T)
    parts = [along(ENV, Policy("GP-EI"), bands, 2, T, first=first) for first in (0, 2, 4)]
    joined = Paths.joined(parts)
    np.testing.assert_array_equal(joined.regret, whole.regret)
    for label, one in whole.bands.items():
        np.testing.assert_allclose(joined.bands[label].required, one.required, rtol=1e-12)
        assert joined.bands[label].half_width == pytest.approx(one.half_width)
    # An intersection is never wider than its parts.
    single = along(ENV, Policy("GP-EI"), {"one": bands["best of two"][:1]}, R, T).bands["one"]
    assert whole.bands["best of two"].half_width <= single.half_width


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_adversary_knows_the_means_and_past_noise_alone(strategy: Any) -> None:
    """What it pulls first does not change with noise that is still to come."""
    pulls = []
    for T_ in (6, 12):
        seen: list[np.ndarray] = []

        class Watched(Adversary):
            def pull(self, beside: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
                seen.append(super().pull(beside))  # noqa: B023 - of this round
                return seen[-1]  # noqa: B023

        along((ENV[0], {**ENV[1], "horizon": 12}), Watched("AMM", strategy), {"AMM": ucb(width="amm")}, R, T_)
        pulls.append(np.stack(seen[:6]))
    np.testing.assert_array_equal(pulls[0], pulls[1])


def test_a_false_band_is_refuted_and_a_proven_one_is_not_and_has_little_to_spare() -> None:
    """All of the norm is in one bump, so that a prior band is as high as the mean."""
    env = ("GPBandit/RKHS-v0", {**ENV[1], "norm": 5.0, "lengthscale": 0.1, "n_centres": 1})
    bands = {"proven": ucb(width="dmm"), "false": ucb(width="amm", norm_bound={"times": 1 / 3})}
    for player in (Policy("Uniform"), Adversary("proven", "edge")):
        found = along(env, player, bands, 40, T).bands
        assert found["proven"].held.mean() >= 0.9
        assert np.quantile(found["proven"].required, 0.9) > 0.9
        assert "below the problem's" in found["false"].why_not
    assert along(env, Policy("Uniform"), bands, 40, T).bands["false"].held.mean() <= 0.5


def test_whoever_chooses_by_something_else_and_states_a_proven_band_is_said_to_keep_it() -> None:
    """Six lines: a rule of choice, and the band of another policy; the study reads that band along that rule."""

    class Stated(GPUCB):
        side_by_side = True

    for rule in ("GP-EI", ucb(width=1.0)[0]):
        stated = along(ENV, Policy(rule), {"DMM": [Stated(width="dmm", delta=0.1)]}, R, T).bands["DMM"]
        known = along(ENV, Policy(rule), {"DMM": ucb(width="dmm")}, R, T).bands["DMM"]
        np.testing.assert_allclose(stated.required, known.required)
        assert stated.why_not == ""
