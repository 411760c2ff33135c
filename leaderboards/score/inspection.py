"""What the audits of one agent's runs on one task say together: bands, sketch, memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from leaderboards.play.audits import AuditFiles, StoredAudit
from leaderboards.play.store import Store
from leaderboards.score.audit import Audit, band_audit, share
from leaderboards.score.sketch import ALPHA
from leaderboards.score.statistics import Interval, mean_interval
from leaderboards.score.summary import Summary

__all__ = ["Inspection", "SketchAudit", "inspect"]


@dataclass(frozen=True)
class SketchAudit:
    """The sketch of one agent on one task, over n audited runs.

    Attributes:
        dictionary: Size of the last dictionary.
        d_eff: Effective dimension of all pulls, by the exact posterior.
        per_d_eff: The former over the latter.
        low: Smallest ratio of sketched to exact variance that was seen anywhere.
        high: Largest one.
        factor: The worst factor of a run, `max(ratio, 1 / ratio)` over its looks and sampled arms.
        kept: Share of the runs that stayed within `[1 / ALPHA, ALPHA]`.
        resparsifications: Dictionaries drawn in a run.
    """

    dictionary: Interval
    d_eff: Interval
    per_d_eff: Interval
    low: float
    high: float
    factor: Interval
    kept: Interval
    resparsifications: Interval


@dataclass(frozen=True)
class Inspection:
    """All audits of a cell.

    Attributes:
        audits: The audited runs, n of them.
        t: Times that curves are given at: those at which the first run was looked at.
        band: Of the confidence bands; None if the agent states none or the means are not known.
        no_band: Why there is none; "" if there is one.
        sketch: Of the sketch; None if the agent has none.
        bytes: Bytes in the agent's arrays in the end.
    """

    audits: tuple[StoredAudit, ...]
    t: Int[np.ndarray, " p"]
    band: Audit | None
    no_band: str
    sketch: SketchAudit | None
    bytes: Interval

    def __len__(self) -> int:
        return len(self.audits)

    @property
    def differing(self) -> int:
        """Runs that did not repeat their stored trace."""
        return sum(bool(audit.about["differs"]) for audit in self.audits)

    def along(self, column: str) -> Float[np.ndarray, "n p"]:
        """A column of the looks at the times `t`; what a batch went past is what was seen at its end."""
        rows = []
        for audit in self.audits:
            seen = audit.looks["t"].to_numpy()
            at = np.minimum(np.searchsorted(seen, self.t), len(seen) - 1)
            rows.append(audit.looks[column].to_numpy(np.float64)[at])
        return np.array(rows)


def inspect(store: Store, summary: Summary) -> dict[tuple[str, str], Inspection]:
    """Inspections by (task, agent), of the cells of which a run has been audited."""
    done = summary.runs[summary.runs["status"] == "done"]
    stored = AuditFiles(store.directory).read(str(key) for key in done.index)
    cells: dict[tuple[str, str], list[StoredAudit]] = {}
    for key, task, agent in zip(done.index, done["task"], done["agent"]):
        if str(key) in stored and len(stored[str(key)].looks):
            cells.setdefault((str(task), str(agent)), []).append(stored[str(key)])
    places = ((task, agent) for task in summary.tasks for agent in summary.agents)
    return {cell: _inspection(cells[cell]) for cell in places if cell in cells}


def _inspection(audits: list[StoredAudit]) -> Inspection:
    last = np.array([audit.looks["bytes"].iloc[-1] for audit in audits], np.float64)
    return Inspection(
        tuple(audits),
        audits[0].looks["t"].to_numpy(),
        band_audit(audits),
        str(audits[0].about["no_band"]),
        _sketch([audit for audit in audits if not audit.about["no_sketch"]]),
        mean_interval(last),
    )


def _sketch(audits: list[StoredAudit]) -> SketchAudit | None:
    # The first look may come before the first dictionary; from then on there is always one.
    looks = [audit.looks[audit.looks["dictionary"] > 0] for audit in audits]
    looks = [frame for frame in looks if len(frame)]
    if not looks:
        return None
    last: Mapping[str, np.ndarray] = {
        name: np.array([frame[name].iloc[-1] for frame in looks])
        for name in ("dictionary", "d_eff", "resparsifications")
    }
    low = np.array([frame["ratio_low"].min() for frame in looks])
    high = np.array([frame["ratio_high"].max() for frame in looks])
    with np.errstate(divide="ignore"):
        factor = np.maximum(high, 1 / low)
    return SketchAudit(
        mean_interval(last["dictionary"]),
        mean_interval(last["d_eff"]),
        mean_interval(last["dictionary"] / last["d_eff"]),
        float(low.min()),
        float(high.max()),
        mean_interval(factor),
        share(int((factor <= ALPHA).sum()), len(factor)),
        mean_interval(last["resparsifications"]),
    )
