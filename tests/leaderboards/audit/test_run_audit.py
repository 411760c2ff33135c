"""Playing a run again: it is the same run, measured on its way, and measuring changes nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import leaderboards
from agents.exact.gp_ucb import GPUCB
from leaderboards.audit.measure import BAND_COLUMNS, SKETCH_COLUMNS
from leaderboards.audit.run_audit import ReplayError, audit_run
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.scores import subsample_times

ENV = Ref("GPBandit/GPSample-v0", {"n_arms": 30, "dim": 1})


def spec(agent: Ref, feedback: str = "on_request", horizon: int = 25, env: Ref = ENV) -> RunSpec:
    return RunSpec(env=env, agent=agent, repetition=2, horizon=horizon, seed=5, feedback=feedback)


@pytest.mark.parametrize(
    ("agent", "feedback"),
    [
        (Ref("GP-UCB"), "on_request"),
        (Ref("BBKB"), "on_request"),
        (Ref("GP-BUCB", {"batch_size": 4}), "delay:3"),
        (Ref("ASYNC-TS"), "geometric:2"),
        (Ref("REG-EVOLUTION"), "batch:5"),
    ],
)
def test_what_is_played_again_is_the_run_looked_at_or_not(agent: Ref, feedback: str) -> None:
    played = leaderboards.run(
        (ENV.id, dict(ENV.kwargs)), (agent.id, dict(agent.kwargs)), 2, 25, seed=5, feedback=feedback
    )
    assert played.status == "done"
    assert audit_run(spec(agent, feedback), checkpoints=25, stored=played.trace).facts.differs == ""


def test_a_batch_goes_past_several_checkpoints_and_is_looked_at_once() -> None:
    rows = audit_run(spec(Ref("GP-BUCB", {"batch_size": 10})), checkpoints=25).checkpoints
    assert rows["t"].tolist() == [10, 20, 25]


def test_what_cannot_be_played_again_says_why() -> None:
    with pytest.raises(ReplayError, match="made by hand"):
        audit_run(spec(Ref("object:x:Y")))
    with pytest.raises(ReplayError, match="delayed feedback"):
        audit_run(spec(Ref("GP-UCB"), "delay:2"))


class Meddler(GPUCB):
    """Learns something from being asked, which no agent may."""

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.current_width *= 5.0
        return super().predict(X)


MEDDLER = Ref(f"{__name__}:Meddler", {"width": 0.5})


def trace_of(spec: RunSpec) -> pd.DataFrame:
    env, agent = spec.env, spec.agent
    return leaderboards.run((env.id, dict(env.kwargs)), (agent.id, dict(agent.kwargs)), 2, spec.horizon, seed=5).trace


def test_every_checkpoint_has_its_row() -> None:
    found = audit_run(spec(Ref("BKB", {"width": "practical"})), checkpoints=8, sampled=10)
    assert found.checkpoints["t"].tolist() == subsample_times(25, 8, "log").tolist()
    assert list(found.checkpoints) == ["t", "bytes", *BAND_COLUMNS, "informative", *SKETCH_COLUMNS]
    assert np.isfinite(found.checkpoints.to_numpy(float)).all()
    assert found.checkpoints["bytes"].is_monotonic_increasing
    facts = found.facts
    assert (facts.width, facts.delta, facts.points, facts.sampled) == ("practical", 1 / 25, 30, 10)
    assert not facts.on_box


def test_an_exact_agent_has_no_sketch_and_a_plain_one_no_band() -> None:
    exact = audit_run(spec(Ref("GP-UCB")), checkpoints=4)
    assert exact.facts.no_sketch
    assert not exact.facts.no_band
    assert exact.checkpoints[list(SKETCH_COLUMNS)].isna().all(axis=None)
    plain = audit_run(spec(Ref("Uniform")), checkpoints=4)
    assert plain.facts.no_band == "the agent states no confidence band"
    assert plain.checkpoints[list(BAND_COLUMNS)].isna().all(axis=None)


def test_a_replay_is_compared_with_what_was_stored() -> None:
    run = spec(Ref("BBKB"))
    stored = trace_of(run)
    assert audit_run(run, checkpoints=4, stored=stored).facts.differs == ""
    changed = stored.assign(reward=stored["reward"] + (stored["t"] == 9))
    assert "reward differs first at t = 9" in audit_run(run, checkpoints=4, stored=changed).facts.differs


def test_an_agent_that_changes_when_it_is_looked_at_is_found_out() -> None:
    run = spec(MEDDLER)
    found = audit_run(run, checkpoints=10, stored=trace_of(run))
    assert "differs first at t" in found.facts.differs


def test_on_a_box_the_band_is_looked_at_on_fixed_points() -> None:
    run = spec(
        Ref("BPE", {"kernel": {"name": "se", "lengthscale": 0.3}, "lam": 0.01}),
        env=Ref("GPBandit/Branin-v0"),
        horizon=20,
    )
    found = audit_run(run, checkpoints=3, sampled=50)
    assert found.facts.on_box
    assert found.facts.points == 64, "Sobol points come in powers of two"
    assert np.isfinite(found.checkpoints["required_scaling"]).all()
    again = audit_run(run, checkpoints=3, sampled=50)
    assert again.checkpoints.equals(found.checkpoints)


def test_bad_numbers_are_named() -> None:
    with pytest.raises(ValueError, match="checkpoints, sampled: expected at least 2 and 1"):
        audit_run(spec(Ref("GP-UCB")), checkpoints=1)
