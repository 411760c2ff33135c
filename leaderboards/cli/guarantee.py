"""The verdicts on bands that `gpbandit run` prints for a suite with a plan for audits."""

from __future__ import annotations

from collections.abc import Collection

from leaderboards.audit.guarantee import guarantee_rows
from leaderboards.score.summary import summarise
from leaderboards.store.store import StoreView

__all__ = ["verdict_lines"]


def verdict_lines(view: StoreView, also: Collection[str] = ()) -> list[str]:
    """How many rows keep their word, and the verdict on those of `also`; nothing for a suite without a plan.

    Args:
        view: The runs.
        also: Labels of agents.
    """
    suite = view.suite()
    if suite is None or suite.audit is None:
        return []
    rows = guarantee_rows(view, summarise(view, n_points=2), suite.audit)
    banded = [row for row in rows if row.verdict.category != "no band"]
    valid = sum(row.verdict.category == "valid" for row in banded)
    lines = [f"{valid} of {len(banded)} rows with a band keep their word, at delta {suite.audit.delta:g}"]
    for row in rows:
        if row.agent in also:
            held, n = row.verdict.runs - row.verdict.violated, len(row.verdict.claimed)
            lines.append(f"  {row.agent}: {row.verdict.category}, {row.reason or f'held in {held} runs on {n} tasks'}")
    return lines
