"""What is kept of audits, wherever the runs are: in the files of a board, or reduced from those of a results folder."""

from __future__ import annotations

import math
from collections.abc import Iterable

from leaderboards.audit.replay import RunAudit
from leaderboards.audit.store import AuditStore
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import AuditPlan
from leaderboards.store.kept_audit import KeptAudit
from leaderboards.store.store import StoreView

__all__ = ["keep_audit", "kept_audits", "measured_throughout"]


def keep_audit(audit: RunAudit) -> KeptAudit:
    """What a board keeps of an audit."""
    facts, rows = audit.facts, audit.checkpoints
    violated = rows["t"][rows["violations"] > 0]
    most = rows["violations"].max()
    return KeptAudit(
        width=facts.width,
        kind=facts.kind,
        theorem=facts.theorem,
        no_guarantee=facts.no_guarantee,
        no_band=facts.no_band,
        delta=facts.delta,
        refuted=facts.refuted,
        times=len(rows),
        first_violation=int(violated.iloc[0]) if len(violated) else None,
        violations=0 if facts.no_band else int(most),
        required_scaling=float(rows["required_scaling"].max()),
        half_width=float(rows["half_width"].iloc[-1]),
        # Folders that were audited before it was measured have none.
        informative=float(rows["informative"].iloc[-1]) if "informative" in rows else math.nan,
        regret_bound=facts.regret_bound,
        regret_held=facts.regret_held,
        every_turn=facts.every_turn,
    )


def measured_throughout(audit: KeptAudit, spec: RunSpec, plan: AuditPlan) -> bool:
    """Whether the band was measured after every turn: it was recorded so, or that is what the plan asks for."""
    return audit.every_turn or plan.checkpoints_of(spec) >= spec.horizon


def kept_audits(view: StoreView, keys: Iterable[str]) -> dict[str, KeptAudit]:
    """The audits of runs, by key; runs without one are left out.

    Raises:
        OSError: if the system does not give a file of a results folder.
    """
    wanted = list(keys)
    found = {key: kept.audit for key in wanted if (kept := view.kept(key)) is not None and kept.audit is not None}
    here = AuditStore(view.directory).read(key for key in wanted if key not in found)
    found |= {key: keep_audit(audit) for key, audit in here.items() if len(audit.checkpoints)}
    return found
