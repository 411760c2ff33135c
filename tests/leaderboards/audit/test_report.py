"""Audits of several runs together, from tables with known answers and from real bands."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.stats

import leaderboards
from agents.exact.gp_ucb import GPUCB
from benchmarks.guarantees import most_confirmed
from leaderboards.audit.bands import SIGNIFICANCE, least_held, most_violated
from leaderboards.audit.measure import BAND_COLUMNS, SKETCH_COLUMNS
from leaderboards.audit.report import AuditError, AuditReport, audit_band, audit_reports, band_report
from leaderboards.audit.run_audit import AuditFacts, ReplayError, RunAudit, audit_run
from leaderboards.audit.store import AuditStore
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.scores import subsample_times
from leaderboards.score.statistics import proportion
from leaderboards.score.summary import summarise
from leaderboards.store.run_file import write_table
from tests.leaderboards.folders import folder

T = [1, 4, 20, 60]

SMALL = ("GPBandit/GPSample-v0", {"n_arms": 40, "dim": 1})


def checkpoints(required: list[float], **more: list[float]) -> pd.DataFrame:
    n = len(required)
    frame = {"t": T[:n], "bytes": np.arange(1, n + 1) * 1000, "required_scaling": required, "half_width": np.ones(n)}
    frame["violations"] = [float(x > 1) * 3 for x in required]
    nothing = {name: np.full(n, np.nan) for name in SKETCH}
    return pd.DataFrame({**frame, **nothing, **more})


SKETCH = ("dictionary", "d_eff", "sketched_d_eff", "ratio_low", "ratio_median", "ratio_high", "resparsifications")
FACTS = AuditFacts(
    width="theory",
    no_guarantee="",
    delta=0.1,
    no_band="",
    no_sketch="none",
    points=30,
    on_box=False,
    sampled=30,
    differs="",
)


def stored(frame: pd.DataFrame, **facts: Any) -> RunAudit:
    return RunAudit("k", replace(FACTS, **facts), frame)


def reports(tmp_path: Path, audits: list[RunAudit]) -> dict[tuple[str, str], AuditReport]:
    """A folder of as many runs of GP-UCB as there are audits."""
    store = folder(tmp_path, [Ref("GPBandit/RKHS-v0")], [Ref("GP-UCB"), Ref("Uniform")], len(audits))
    keys = store.runs().query("agent == 'GP-UCB'").index
    for key, audit in zip(keys, audits, strict=True):
        AuditStore(tmp_path).write(replace(audit, key=key))
    return audit_reports(store, summarise(store))


def test_bands_are_counted_by_repetition(tmp_path: Path) -> None:
    runs = [[0.5, 0.2, 0.1, 0.1], [0.5, 1.5, 2.0, 0.5], [0.5, 0.5, 0.5, 0.5], [0.1, 0.2, 0.3, 4.0]]
    found = reports(tmp_path, [stored(checkpoints(required)) for required in runs])
    assert found.keys() == {("RKHS", "GP-UCB")}
    band: Any = found["RKHS", "GP-UCB"].band
    ends = scipy.stats.binomtest(2, 4).proportion_ci(method="exact")
    coverage = band.coverage()
    assert coverage.estimate == 0.5
    assert (coverage.low, coverage.high) == pytest.approx((ends.low, ends.high), rel=1e-9)
    assert band.most_violations == 3
    assert band.first_violation() == (4 + 60) / 2
    logs = np.log([2, 0.5, 2, 0.25])
    ratio = band.conservativeness()
    assert ratio.estimate == pytest.approx(np.exp(logs.mean()))
    half = scipy.stats.t.ppf(0.975, 3) * logs.std(ddof=1) / 2
    assert ratio.high == pytest.approx(np.exp(logs.mean() + half))


def test_a_promise_is_broken_only_beyond_chance() -> None:
    held, left = stored(checkpoints([0.5])), stored(checkpoints([1.5]))
    assert band_report([held] * 9 + [left]).passes  # type: ignore[union-attr]
    assert band_report([held, left]).passes, "one of two may be chance"  # type: ignore[union-attr]
    assert not band_report([held] * 5 + [left] * 5).passes  # type: ignore[union-attr]
    undecided: Any = band_report([stored(checkpoints([1.5]), delta=None)])
    assert undecided.passes is None
    assert band_report([stored(checkpoints([0.1]), no_band="no")]) is None


def test_curves_of_batches_take_what_was_seen_at_their_end(tmp_path: Path) -> None:
    batched = checkpoints([0.9, 0.3]).assign(t=[10, 60])
    found = reports(tmp_path, [stored(checkpoints([0.5, 0.4, 0.2, 0.1])), stored(batched)])
    along = found["RKHS", "GP-UCB"].along("required_scaling")
    assert along.tolist() == [[0.5, 0.4, 0.2, 0.1], [0.9, 0.9, 0.3, 0.3]]


def test_sketches_are_held_to_their_constant(tmp_path: Path) -> None:
    good = checkpoints(
        [0.5] * 3,
        dictionary=[0.0, 5.0, 8.0],
        d_eff=[0.0, 3.0, 4.0],
        ratio_low=[1.0, 0.5, 0.9],
        ratio_median=[1.0, 1.0, 1.0],
        ratio_high=[1.0, 1.2, 2.9],
        resparsifications=[0.0, 1.0, 2.0],
    )
    bad = good.assign(ratio_low=[1.0, 0.2, 0.9], dictionary=[0.0, 5.0, 4.0])
    found = reports(tmp_path, [stored(good, no_sketch=""), stored(bad, no_sketch="")])
    sketch: Any = found["RKHS", "GP-UCB"].sketch
    assert (sketch.low, sketch.high) == (0.2, 2.9)
    assert sketch.kept == proportion(1, 2)
    assert sketch.factor.estimate == pytest.approx((2.9 + 5) / 2)
    assert sketch.per_d_eff.estimate == pytest.approx((2 + 1) / 2)
    assert sketch.dictionary.estimate == 6
    assert found["RKHS", "GP-UCB"].bytes.estimate == 3000


def test_replays_that_differ_are_counted(tmp_path: Path) -> None:
    found = reports(tmp_path, [stored(checkpoints([0.5])), stored(checkpoints([0.5]), differs="reward differs")])
    assert found["RKHS", "GP-UCB"].differing == 1


def test_a_band_without_width_fails() -> None:
    found = audit_band(SMALL, ("GP-UCB", {"width": 0.0}), repetitions=12, horizon=20, delta=0.1, checkpoints=8)
    assert found.coverage().estimate == 0
    assert not found.passes
    assert found.conservativeness().estimate == 0
    assert not found.conservativeness().is_known
    assert found.no_guarantee == "a tuned width has no guarantee"


def test_a_correct_bayesian_band_on_draws_from_the_prior_holds() -> None:
    found = audit_band(SMALL, ("GP-UCB", {"width": "bayes", "delta": 0.1}), repetitions=20, horizon=40, checkpoints=10)
    assert found.coverage().high >= 0.9
    assert found.passes
    assert found.delta == 0.1
    assert not found.no_guarantee
    assert found.conservativeness().low > 1
    assert found.first_violation() is None
    assert found.checkpoints["t"].max() == 40
    assert found.checkpoints.groupby("repetition").size().eq(found.checkpoints["t"].nunique()).all()


def test_on_draws_from_the_prior_a_band_holds_as_often_as_the_normal_distribution_says() -> None:
    # Two arms that tell nothing of each other, measured once: both are inside with probability P(|z| <= width)^2.
    apart = ("GPBandit/GPSample-v0", {"n_arms": 2, "dim": 1, "lengthscale": 0.01})
    rows = audit_band(apart, ("GP-UCB", {"width": 1.0}), repetitions=250, horizon=3, checkpoints=2).checkpoints
    required = rows.loc[rows["t"] == 3, "required_scaling"]
    for width in (0.5, 1.0, 1.6, 2.0):
        held = proportion(int((required <= width).sum()), 250, level=0.99)
        assert (2 * scipy.stats.norm.cdf(width) - 1) ** 2 in held


def test_what_has_no_band_says_so() -> None:
    with pytest.raises(AuditError, match=r"Uniform on .*: the agent states no confidence band"):
        audit_band(SMALL, "Uniform", repetitions=1, horizon=5)
    with pytest.raises(ValueError, match="repetitions: expected at least 1"):
        audit_band(SMALL, "GP-UCB", repetitions=0)
    with pytest.raises(ValueError, match="delta: expected a number"):
        audit_band(SMALL, "GP-UCB", repetitions=1, delta=0.0)


# ---- limits on counts of violated runs, against the numbers of tables ----


def test_the_limits_are_those_of_clopper_and_pearson() -> None:
    assert least_held(0, 20) == pytest.approx(0.05 ** (1 / 20))  # 0.861: 20 runs of one task never confirm 0.9
    assert least_held(0, 30) == pytest.approx(0.05 ** (1 / 30))
    assert least_held(30, 30) == 0.0
    assert np.isnan(least_held(0, 0))
    expected = scipy.stats.binomtest(471, 510, alternative="greater").proportion_ci(0.95, method="exact").low
    assert least_held(39, 510) == pytest.approx(expected)
    assert least_held(39, 510) >= 0.9 > least_held(40, 510)
    assert least_held(16, 240) >= 0.9 > least_held(17, 240)


@pytest.mark.parametrize(("runs", "delta", "tasks"), [(30, 0.1, 17), (30, 0.1, 1), (5, 0.5, 3), (400, 0.01, 40)])
def test_refutation_is_by_the_binomial_tail(runs: int, delta: float, tasks: int) -> None:
    k = most_violated(runs, delta, tasks)
    tail = [float(scipy.stats.binom.sf(j - 1, runs, delta)) for j in range(runs + 1)]
    assert tail[k] >= SIGNIFICANCE / tasks
    assert k == runs or tail[k + 1] < SIGNIFICANCE / tasks


def test_what_refutes_and_what_confirms() -> None:
    assert most_violated(30, 0.1, 17) == 8, "nine of thirty refute on one of 17 tasks"
    assert [most_confirmed(n, 0.1) for n in (510, 240, 30, 29, 28, 0)] == [39, 16, 0, 0, -1, -1]


# ---- the files of audits: written whole, read back, and left out with a warning where they cannot be read ----


KEPT_FACTS = AuditFacts(
    width="theory", no_guarantee="", delta=0.1, no_band="", no_sketch="", points=2, on_box=False, sampled=2, differs=""
)


def audit(key: str = "a" * 32) -> RunAudit:
    return RunAudit(key, KEPT_FACTS, pd.DataFrame({"t": [1, 5], "required_scaling": [0.5, np.nan]}))


def test_audits_are_kept_beside_the_results_and_read_back(tmp_path: Path) -> None:
    files = AuditStore(tmp_path)
    assert files.keys() == set()
    assert files.read(["b" * 32]) == {}
    path = files.write(audit())
    assert path.parent == tmp_path / "audit"
    assert files.keys() == {"a" * 32}
    found = files.read(["a" * 32, "b" * 32])["a" * 32]
    assert found.facts == audit().facts
    pd.testing.assert_frame_equal(found.checkpoints, audit().checkpoints)
    assert [p.name for p in path.parent.iterdir()] == [path.name], "no temporary file is left"


def test_a_damaged_or_foreign_audit_is_none_and_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = AuditStore(tmp_path)
    good = files.write(audit())
    files.path("b" * 32).write_bytes(good.read_bytes())
    files.path("c" * 32).write_bytes(good.read_bytes()[:100])
    pd.DataFrame({"t": [1]}).to_parquet(files.path("d" * 32))
    with caplog.at_level(logging.WARNING, "gpbandit"):
        assert files.read([letter * 32 for letter in "abcd"]).keys() == {"a" * 32}
    assert len(caplog.messages) == 3
    assert all("was damaged and is set aside (" in message for message in caplog.messages)
    assert all(message.endswith("gpbandit audit makes it again") for message in caplog.messages)
    assert files.keys() == {"a" * 32}, "which `gpbandit audit` then finds missing"
    assert len(list(tmp_path.rglob("*.damaged"))) == 3


def test_an_audit_of_a_newer_schema_is_left_where_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = AuditStore(tmp_path)
    path = files.write(audit())
    metadata = json.dumps({"schema": 99, "key": "a" * 32}).encode()
    write_table(path, pa.table({"t": [1]}).replace_schema_metadata({b"gpbandit-audit": metadata}))
    with caplog.at_level(logging.WARNING, "gpbandit"):
        assert files.read(["a" * 32]) == {}
    assert "is left as it is: its schema is newer, upgrade gpbandit-envs" in caplog.text
    assert path.exists()


# ---- playing a run again: it is the same run, measured on its way, and measuring changes nothing ----


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
