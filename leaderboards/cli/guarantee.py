"""The verdicts on bands of a suite with a plan for audits: a few lines after `gpbandit run`, and `ranking --valid`."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from leaderboards.audit.guarantee_board import ValidList, guarantee_board
from leaderboards.audit.guarantee_rows import GuaranteeRow, guarantee_rows, kept_words
from leaderboards.score.summary import Summary, summarise
from leaderboards.store.store import StoreView

__all__ = ["guarantee_lines", "verdict_lines"]


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
    lines = [f"{kept_words(rows)}, at delta {suite.audit.delta:g}"]
    for row in rows:
        if row.agent in also:
            lines.append(f"  {row.agent}: {row.verdict.category}, {row.reason or _held(row)}")
    return lines


def guarantee_lines(view: StoreView, summary: Summary) -> Iterator[str]:
    """The lines of `gpbandit ranking --valid`: the valid rows of each group of tasks, the line, and all others.

    Args:
        view: The runs, of a suite with a plan for audits.
        summary: The same, reduced.
    """
    suite = view.suite()
    assert suite is not None
    assert suite.audit is not None
    board = guarantee_board(view, summary, suite.audit)
    yield board.sentence
    for ranking in board.lists:
        yield from _list_lines(ranking)
    for row in board.unlisted:
        yield f"valid, and on no list whole: {row.agent}, {_held(row)}"
    yield f"{' no guarantee ':-^90}"
    n = len(board.tasks)
    for row in board.below:
        played = row.played(board.tasks)
        on = "" if played == n else f" (on {played} of {n} tasks)"
        yield f"  {_number(row.mean_regret(board.tasks)):>8}  {row.agent}{on}: {row.reason}"


def _list_lines(ranking: ValidList) -> Iterator[str]:
    n = len(ranking.tasks)
    yield f"{ranking.name}: {n} environment{'' if n == 1 else 's'}, {len(ranking.rows)} valid rows"
    if ranking.price is not None:
        ratio = ranking.price.ratio
        ends = f" ({ratio.low:.2f} to {ratio.high:.2f})" if ratio.is_known else ""
        yield f"  price of validity {ratio.estimate:.2f}{ends}: regret of the best valid row over the least of all"
    yield f"  {'place':<6}{'mean rank':>9}{'regret':>8}{'slack':>7}  row"
    for one in ranking.rows:
        slack = one.row.mean_slack(ranking.tasks)
        numbers = f"{_number(one.mean_rank):>9}{_number(one.regret):>8}{_number(slack):>7}"
        yield f"  {one.place:<6}{numbers}  {one.row.agent}: {_held(one.row)}"


def _held(row: GuaranteeRow) -> str:
    verdict = row.verdict
    held = f"held in {verdict.held} of {verdict.runs} runs on {len(verdict.claimed)} claimed tasks"
    return f"{held}, at least {verdict.least_held:.1%}"


def _number(x: float) -> str:
    """Two decimals; a band that is wider than anything, in powers of ten."""
    if not math.isfinite(x):
        return "-"
    return f"{x:.2f}" if x < 1000 else f"{x:.0e}"
