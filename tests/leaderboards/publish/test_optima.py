"""Maxima of drawn functions, which are searched once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.optima import suite_optima
from gpbandit_envs.functions import maximum, optima
from gpbandit_envs.functions.gp_draws import GPSampleBox
from gpbandit_envs.functions.rkhs import RKHSBox
from gpbandit_envs.gp import Matern
from leaderboards.play.suite import parse_suite

SUITE = parse_suite(
    {
        "name": "small",
        "horizon": 6,
        "repetitions": 2,
        "environments": [
            {"id": "GPBandit/RKHS-v0", "label": "arms", "kwargs": {"n_arms": 20}},
            {"id": "GPBandit/GPSample-v0", "label": "box", "kwargs": {"n_arms": "box", "dim": 1}},
        ],
        "agents": ["Random", "GP-EI"],
    }
)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a maximum was searched, with nothing remembered before."""
    counted: list[int] = []
    search = maximum._search

    def counting(f: maximum.Smooth, dim: int, *rest: Any) -> optima.Found:
        counted.append(dim)
        return search(f, dim, *rest)

    monkeypatch.setattr(maximum, "_search", counting)
    monkeypatch.setattr(optima, "_found", {})
    return counted


@pytest.mark.parametrize("family", [GPSampleBox(Matern(0.3, nu=2.5), 1), RKHSBox(Matern(0.3, nu=2.5), 1, 1.0, 8)])
def test_the_maximum_of_a_function_is_searched_once(family: GPSampleBox | RKHSBox, searches: list[int]) -> None:
    first, again, other = (family.draw(np.random.default_rng(seed)).certificate for seed in (0, 0, 1))
    assert searches == [1, 1]
    assert again == first
    assert other != first


def test_maxima_are_kept_in_a_file_by_what_the_function_is(tmp_path: Path, searches: list[int]) -> None:
    found = suite_optima(SUITE)
    assert len(found) == len(searches) == 2  # one a repetition of the box
    optima.write(found, tmp_path / "optima.json")
    assert optima._read(tmp_path / "optima.json") == found
    sample = GPSampleBox(Matern(0.1, nu=2.5), 1).draw(np.random.default_rng(0)).evaluate
    key = optima.key_of(sample, 1)
    assert key is not None
    assert key != optima.key_of(sample, 2)
    sample.weights[0] = np.nextafter(sample.weights[0], 2.0)  # type: ignore[attr-defined]
    assert key != optima.key_of(sample, 1)
    assert optima.key_of(np.sin) is None


def test_boxes_v2_is_searched_already(searches: list[int]) -> None:
    from leaderboards.play.run import instance_env
    from leaderboards.play.suite import load_suite

    if not optima._shipped():
        pytest.skip("no maxima come with the package")
    spec = next(spec for spec in load_suite("boxes-v2").specs() if spec.env.kwargs.get("dim") == 8)
    with instance_env(spec) as (env, _):
        known = env.certificate.optimum
        assert env.mean(np.array([env.certificate.optimal_action]))[0] == pytest.approx(known, rel=1e-9)
        best = env.mean(np.random.default_rng(0).random((5_000, 8))).max()
    assert best <= known
    if searches:  # a mathematical library that gives other bits
        pytest.skip("the functions that are drawn here have other bits than those of the file")
