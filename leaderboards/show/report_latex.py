"""What `report` says, as LaTeX for an appendix."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gpbandit_envs.atomic import written_whole
from leaderboards.score.statistics import Interval
from leaderboards.show.format import number
from leaderboards.show.paper import booktabs, escape_latex
from leaderboards.show.report import AgentReport

__all__ = ["write_latex"]

_BREAK = 8  # characters of a hash that stay together


def write_latex(report: AgentReport, path: Path) -> None:
    """Write tables and facts, to be included after a preamble that loads booktabs.

    Raises:
        OSError: if the file cannot be written.
    """
    with written_whole(path) as temporary:
        temporary.write_text(_latex(report), encoding="utf-8")


def _latex(report: AgentReport) -> str:
    lines = [
        r"% \usepackage{booktabs}",
        rf"\subsection*{{{escape_latex(report.agent)} on {escape_latex(report.suite)}}}",
        escape_latex(f"Among {report.of} agents: {report.basis}. Scores go from 0, one uniform draw, to 100."),
        "",
    ]
    if report.rivals:
        rows = [
            (row.place, row.agent, f"{row.score.estimate:.1f}", _ends(row.score), _share(row.wins))
            for row in report.rivals
        ]
        bold = [report.is_own(row) for row in report.rivals]
        lines += _tabular("rlrcr", ("Place", "Agent", "Score", "95 % interval", "Wins"), rows, bold)
    if report.profile:
        groups = [(title, f"{own:.0f}", f"{best:.0f}", who) for title, own, best, who in report.profile]
        lines += _tabular("lrrl", ("Tasks", "Score", "Best", "Best agent"), groups)
    lines += [rf"\noindent {escape_latex(report.guarantee)}", ""]
    if any(row.bound is not None for row in report.proven):
        bounds = [
            (row.task, f"{row.t:,}", number(row.measured), "--" if row.bound is None else number(row.bound))
            for row in report.proven
        ]
        lines += _tabular("lrrr", ("Task", "t", "Regret", "Proven"), bounds)
    lines += [r"\begin{description}\setlength{\itemsep}{0pt}"]
    lines += [rf"\item[{escape_latex(name)}] {_fact(text)}" for name, text in report.facts]
    return "\n".join([*lines, r"\end{description}", ""])


def _tabular(columns: str, head: Sequence[str], rows: Sequence[Sequence[str]], bold: Sequence[bool] = ()) -> list[str]:
    lines = []
    for i, row in enumerate(rows):
        cells = [escape_latex(cell) for cell in row]
        lines.append([rf"\textbf{{{cell}}}" for cell in cells] if i < len(bold) and bold[i] else cells)
    table = booktabs(columns, [escape_latex(cell) for cell in head], lines)
    return [r"\medskip\noindent", *table, r"\par\medskip", ""]


def _fact(text: str) -> str:
    """Settings with the quotes of code, and hashes that may be broken, as no line has room for one."""
    escaped = escape_latex(text)
    if text.startswith("{"):
        return rf"\texttt{{{escaped}}}"
    return re.sub(r"[0-9a-f]{64}", lambda found: r"\allowbreak ".join(textwrap.wrap(found[0], _BREAK)), escaped)


def _ends(interval: Interval) -> str:
    return f"{interval.low:.1f} to {interval.high:.1f}" if interval.is_known else ""


def _share(x: float) -> str:
    return f"{x:.0%}" if np.isfinite(x) else ""
