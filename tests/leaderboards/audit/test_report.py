"""Audits of several runs together, from tables with known answers and from real bands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from leaderboards.audit.report import AuditError, AuditReport, audit_band, audit_reports, band_report
from leaderboards.audit.run_audit import AuditFacts, RunAudit
from leaderboards.audit.store import AuditStore
from leaderboards.play.spec import Ref
from leaderboards.score.statistics import proportion
from leaderboards.score.summary import summarise
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
    band = found["RKHS", "GP-UCB"].band
    assert band is not None
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
    undecided = band_report([stored(checkpoints([1.5]), delta=None)])
    assert undecided is not None
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
    sketch = found["RKHS", "GP-UCB"].sketch
    assert sketch is not None
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
