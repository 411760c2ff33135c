"""An audit of one run: what is seen, and that looking changes nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import leaderboards
from agents.sequential.gp_ucb import GPUCB
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Knowledge, Problem
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.band import BAND_COLUMNS, look_at_band, promise, stated_width
from leaderboards.score.cell import thin
from leaderboards.score.probe import probe
from leaderboards.score.sketch import SKETCH_COLUMNS

ENV = Ref("GPBandit/GPSample-v0", {"n_arms": 30, "dim": 1})


class Meddler(GPUCB):
    """Learns something from being asked, which no agent may."""

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.width *= 5.0
        return super().predict(X)


MEDDLER = Ref(f"{__name__}:Meddler", {"width": 0.5})


def spec(agent: Ref, env: Ref = ENV, horizon: int = 25) -> RunSpec:
    return RunSpec(env=env, agent=agent, repetition=0, horizon=horizon)


def trace_of(spec: RunSpec) -> pd.DataFrame:
    env, agent = spec.env, spec.agent
    return leaderboards.run((env.id, dict(env.kwargs)), (agent.id, dict(agent.kwargs)), 0, spec.horizon).trace


def test_every_look_has_its_row() -> None:
    found = probe(spec(Ref("BKB", {"width": "practical"})), looks=8, sampled=10)
    assert found.looks["t"].tolist() == thin(25, 8, "log").tolist()
    assert list(found.looks) == ["t", "bytes", *BAND_COLUMNS, *SKETCH_COLUMNS]
    assert np.isfinite(found.looks.to_numpy(float)).all()
    assert found.looks["bytes"].is_monotonic_increasing
    about = found.about
    assert (about["width"], about["delta"], about["points"], about["sampled"]) == ("practical", 1 / 25, 30, 10)
    assert not about["on_box"]


def test_an_exact_agent_has_no_sketch_and_a_plain_one_no_band() -> None:
    exact = probe(spec(Ref("GP-UCB")), looks=4)
    assert exact.about["no_sketch"]
    assert not exact.about["no_band"]
    assert exact.looks[list(SKETCH_COLUMNS)].isna().all(axis=None)
    plain = probe(spec(Ref("Uniform")), looks=4)
    assert plain.about["no_band"] == "the agent states no confidence band"
    assert plain.looks[list(BAND_COLUMNS)].isna().all(axis=None)


def test_a_replay_is_compared_with_what_was_stored() -> None:
    run = spec(Ref("BBKB"))
    stored = trace_of(run)
    assert probe(run, looks=4, stored=stored).about["differs"] == ""
    changed = stored.assign(reward=stored["reward"] + (stored["t"] == 9))
    assert "reward differs first at t = 9" in probe(run, looks=4, stored=changed).about["differs"]


def test_an_agent_that_changes_when_it_is_looked_at_is_found_out() -> None:
    run = spec(MEDDLER)
    found = probe(run, looks=10, stored=trace_of(run))
    assert "differs first at t" in found.about["differs"]


def test_on_a_box_the_band_is_looked_at_on_fixed_points() -> None:
    run = spec(Ref("BPE", {"kernel": {"name": "se", "lengthscale": 0.3}, "lam": 0.01}), Ref("GPBandit/Branin-v0"), 20)
    found = probe(run, looks=3, sampled=50)
    assert found.about["on_box"]
    assert found.about["points"] == 64, "Sobol points come in powers of two"
    assert np.isfinite(found.looks["needed"]).all()
    again = probe(run, looks=3, sampled=50)
    assert again.looks.equals(found.looks)


def test_a_band_is_measured_against_the_means() -> None:
    f = np.array([0.0, 1.0, -2.0])
    mean = np.array([0.0, 0.5, -1.0])
    assert look_at_band((mean, np.array([1.0, 1.0, 4.0])), f) == {"outside": 0.0, "needed": 0.5, "half": 4.0}
    assert look_at_band((mean, np.array([0.0, 0.25, 0.5])), f) == {"outside": 2.0, "needed": 2.0, "half": 0.5}
    assert look_at_band((f, np.zeros(3)), f) == {"outside": 0.0, "needed": 0.0, "half": 0.0}
    assert look_at_band((mean, np.zeros(3)), f)["needed"] == np.inf
    for bad in ((mean[:2], np.ones(2)), (mean, -np.ones(3)), (mean * np.nan, np.ones(3)), (mean, np.full(3, np.nan))):
        with pytest.raises(ValueError, match="predict: expected means and half-widths >= 0"):
            look_at_band(bad, f)


@pytest.mark.parametrize(
    ("agent", "width"),
    [
        (Ref("GP-UCB"), "theory"),
        (Ref("GP-UCB", {"width": 1.96}), "1.96"),
        (Ref("Uniform"), ""),
        (MEDDLER, "0.5"),
    ],
)
def test_the_width_is_the_setting_or_its_default(agent: Ref, width: str) -> None:
    assert stated_width(agent) == width


def card(knowledge: Knowledge = "oracle", norm_bound: float | None = None) -> Problem:
    return Problem(
        name="x",
        dim=1,
        arms=np.zeros((2, 1)),
        kernel=SE(1.0),
        noise_std=0.1,
        norm_bound=norm_bound,
        knowledge=knowledge,
    )


@pytest.mark.parametrize(
    ("kwargs", "problem", "reason"),
    [
        ({}, card(norm_bound=1.0), ""),
        ({"width": "bayes"}, card(), ""),
        ({"norm_bound": 3.0}, card(), ""),
        ({}, card(), "no bound on the norm"),
        ({"width": "bayes"}, card(norm_bound=1.0), "no draw from the prior"),
        ({}, card("misspecified", 1.0), "not known to be true"),
        ({"lam": 1.0}, card(norm_bound=1.0), "not known to be true"),
        ({"width": "practical"}, card(norm_bound=1.0), "a tuned width"),
        ({"width": 2.0}, card(norm_bound=1.0), "a tuned width"),
    ],
)
def test_a_theorem_promises_something_under_its_conditions_alone(
    kwargs: dict[str, object], problem: Problem, reason: str
) -> None:
    found = promise(Ref("GP-UCB", kwargs), problem)[1]
    assert found == "" if not reason else reason in found


def test_bad_numbers_are_named() -> None:
    with pytest.raises(ValueError, match="looks, sampled: expected at least 2 and 1"):
        probe(spec(Ref("GP-UCB")), looks=1)
