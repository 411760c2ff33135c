"""Bands along any player's pulls, and what follows from the study of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import leaderboards
from agents.exact.gp_ucb import GPUCB
from leaderboards.audit.bands import Study, read_study, study
from leaderboards.audit.paths import STRATEGIES, Adversary, Paths, Policy, along
from leaderboards.show.bands_page import bands_page

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


def cell(band: str, violated: int = 0, **others: Any) -> dict[str, Any]:
    given = {"task": "t", "player": "Uniform", "runs": 1000, "factor": 0.8, "informative": 0.5, "half_width": 0.2}
    return {**given, "band": band, "violated": violated, "why_not": "", **others}


def of(*cells: dict[str, Any], controls: tuple[str, ...] = ()) -> Study:
    names = dict.fromkeys(one["band"] for one in cells)
    bands = [{"label": name, "reach": "any", "control": "false" if name in controls else ""} for name in names]
    regrets = [
        {"task": "t", "rule": rule, "mean": mean, "error": 0.01}
        for rule, mean in (("Uniform", 1.0), ("GP-EI", 0.2), ("GP-UCB, A", 0.5))
    ]
    plan = {"delta": 0.1, "horizon": 100, "tasks": {"known": ["t"]}}
    return read_study({**plan, "bands": bands, "cells": list(cells), "regrets": regrets})


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({}, "keeps its word"),
        ({"violated": 80}, "keeps its word"),
        ({"violated": 95}, "not confirmed"),
        ({"violated": 200}, "fails"),
        ({"factor": 0.4}, "not tested"),
        ({"informative": 0.01}, "says nothing"),
        ({"why_not": "no theorem"}, "holds, no theorem"),
    ],
)
def test_verdicts(given: dict[str, Any], verdict: str) -> None:
    (row,) = of(cell("A", **given)).bands
    assert row.verdict == verdict
    # One bad cell among good ones decides; what one cell tests, or one player leaves to be said, is tested, and counts.
    (row,) = of(cell("A"), cell("A", **{**given, "player": "GP-EI"})).bands
    assert row.verdict == ("keeps its word" if verdict == "not tested" else verdict)


def test_the_price_is_of_choosing_and_not_of_stating() -> None:
    cells = [cell("A", player="GP-EI", half_width=0.3), cell("A", player="GP-UCB, A", half_width=0.25), cell("B", 200)]
    found = of(*cells, controls=("B",))
    assert found.controls == (1, 1)
    assert found.sentence == (
        "A proven band costs no regret: along the pulls of GP-EI, A's keeps its word. Choosing by that band costs "
        "2.5 times the regret, and narrows it from 0.30 to 0.25 of the range"
    )
    first = found.choices["known"][0]
    assert (first.rule, first.band, first.half_width) == ("GP-EI", "A", 0.3)
    worse = of(cell("A", 200, player="GP-EI"), cell("A", player="GP-UCB, A"))
    assert worse.sentence.startswith("No band that keeps its word")


def test_what_is_kept_is_whole_and_controls_fail() -> None:
    found = study()
    assert found.controls[0] == found.controls[1] >= 4
    assert {row.band for row in found.bands if row.verdict == "keeps its word"} >= {"AMM", "DMM"}
    assert all(row.runs >= 1000 * (1 + (row.reach == "any")) for row in found.bands)
    page = bands_page(found)
    assert len(page["bands"]) == len(found.bands)
    assert all(figure.startswith("<figure") for *_, figure in page["groups"])
