"""Audits of several runs together, from tables with known answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from leaderboards.play.audits import AuditFiles, StoredAudit
from leaderboards.play.spec import Ref
from leaderboards.score.audit import band_audit, share
from leaderboards.score.inspection import Inspection, inspect
from leaderboards.score.summary import summarise
from tests.leaderboards.folders import folder

T = [1, 4, 20, 60]


def looks(needed: list[float], **more: list[float]) -> pd.DataFrame:
    n = len(needed)
    frame = {"t": T[:n], "bytes": np.arange(1, n + 1) * 1000, "needed": needed, "half": np.ones(n)}
    frame["outside"] = [float(x > 1) * 3 for x in needed]
    nothing = {name: np.full(n, np.nan) for name in SKETCH}
    return pd.DataFrame({**frame, **nothing, **more})


SKETCH = ("dictionary", "d_eff", "sketched_d_eff", "ratio_low", "ratio_median", "ratio_high", "resparsifications")
ABOUT = {"width": "theory", "unpromised": "", "delta": 0.1, "no_band": "", "no_sketch": "none", "differs": ""}


def stored(frame: pd.DataFrame, **about: object) -> StoredAudit:
    return StoredAudit("k", {**ABOUT, **about}, frame)


def inspections(tmp_path: Path, audits: list[StoredAudit]) -> dict[tuple[str, str], Inspection]:
    """A folder of as many runs of GP-UCB as there are audits."""
    store = folder(tmp_path, [Ref("GPBandit/RKHS-v0")], [Ref("GP-UCB"), Ref("Uniform")], len(audits))
    keys = store.runs().query("agent == 'GP-UCB'").index
    for key, audit in zip(keys, audits, strict=True):
        AuditFiles(tmp_path).write(StoredAudit(key, audit.about, audit.looks))
    return inspect(store, summarise(store))


def test_bands_are_counted_by_repetition(tmp_path: Path) -> None:
    runs = [[0.5, 0.2, 0.1, 0.1], [0.5, 1.5, 2.0, 0.5], [0.5, 0.5, 0.5, 0.5], [0.1, 0.2, 0.3, 4.0]]
    found = inspections(tmp_path, [stored(looks(needed)) for needed in runs])
    assert found.keys() == {("RKHS", "GP-UCB")}
    band = found["RKHS", "GP-UCB"].band
    assert band is not None
    ends = scipy.stats.binomtest(2, 4).proportion_ci(method="exact")
    coverage = band.coverage()
    assert (coverage.estimate, coverage.low, coverage.high) == (0.5, ends.low, ends.high)
    assert band.worst == 3
    assert band.first_exit() == (4 + 60) / 2
    logs = np.log([2, 0.5, 2, 0.25])
    slack = band.slack()
    assert slack.estimate == pytest.approx(np.exp(logs.mean()))
    half = scipy.stats.t.ppf(0.975, 3) * logs.std(ddof=1) / 2
    assert slack.high == pytest.approx(np.exp(logs.mean() + half))


def test_a_promise_is_broken_only_beyond_chance() -> None:
    held, left = stored(looks([0.5])), stored(looks([1.5]))
    assert band_audit([held] * 9 + [left]).passes  # type: ignore[union-attr]
    assert band_audit([held, left]).passes, "one of two may be chance"  # type: ignore[union-attr]
    assert not band_audit([held] * 5 + [left] * 5).passes  # type: ignore[union-attr]
    undecided = band_audit([stored(looks([1.5]), delta=None)])
    assert undecided is not None
    assert undecided.passes is None
    assert band_audit([stored(looks([0.1]), no_band="no")]) is None


def test_curves_of_batches_take_what_was_seen_at_their_end(tmp_path: Path) -> None:
    batched = looks([0.9, 0.3]).assign(t=[10, 60])
    found = inspections(tmp_path, [stored(looks([0.5, 0.4, 0.2, 0.1])), stored(batched)])
    along = found["RKHS", "GP-UCB"].along("needed")
    assert along.tolist() == [[0.5, 0.4, 0.2, 0.1], [0.9, 0.9, 0.3, 0.3]]


def test_sketches_are_held_to_their_constant(tmp_path: Path) -> None:
    good = looks(
        [0.5] * 3,
        dictionary=[0.0, 5.0, 8.0],
        d_eff=[0.0, 3.0, 4.0],
        ratio_low=[1.0, 0.5, 0.9],
        ratio_median=[1.0, 1.0, 1.0],
        ratio_high=[1.0, 1.2, 2.9],
        resparsifications=[0.0, 1.0, 2.0],
    )
    bad = good.assign(ratio_low=[1.0, 0.2, 0.9], dictionary=[0.0, 5.0, 4.0])
    found = inspections(tmp_path, [stored(good, no_sketch=""), stored(bad, no_sketch="")])
    sketch = found["RKHS", "GP-UCB"].sketch
    assert sketch is not None
    assert (sketch.low, sketch.high) == (0.2, 2.9)
    assert sketch.kept == share(1, 2)
    assert sketch.factor.estimate == pytest.approx((2.9 + 5) / 2)
    assert sketch.per_d_eff.estimate == pytest.approx((2 + 1) / 2)
    assert sketch.dictionary.estimate == 6
    assert found["RKHS", "GP-UCB"].bytes.estimate == 3000


def test_replays_that_differ_are_counted(tmp_path: Path) -> None:
    found = inspections(tmp_path, [stored(looks([0.5])), stored(looks([0.5]), differs="reward differs")])
    assert found["RKHS", "GP-UCB"].differing == 1
