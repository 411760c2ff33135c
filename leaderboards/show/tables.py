"""Final scores as Markdown and LaTeX tables."""

from __future__ import annotations

import re

import numpy as np

from leaderboards.score.statistics import Interval, mean_interval
from leaderboards.show.numbers import number
from leaderboards.show.site import Site

__all__ = ["latex_table", "markdown_table"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


def markdown_table(site: Site) -> str:
    """Agents by environments: mean and half-width of the 95 % interval; leading tie groups in bold."""
    tasks = list(site.summary.tasks)
    lines = [_row_md(["Agent", *map(_escape_md, tasks)]), _row_md(["---", *["---:"] * len(tasks)])]
    for name in _order(site):
        cells = []
        for task in tasks:
            interval = _score(site, task, name)
            text = "–" if interval is None else _text(interval, " ± ")
            cells.append(f"**{text}**" if site.place(task, name) == 1 else text)
        lines.append(_row_md([_escape_md(name), *cells]))
    return "\n".join([*lines, "", _caption(site), ""])


def latex_table(site: Site) -> str:
    """The same as a `tabular` with booktabs rules."""
    tasks = list(site.summary.tasks)
    lines = [
        f"% {_caption(site)}",
        rf"\begin{{tabular}}{{l{'r' * len(tasks)}}}",
        r"\toprule",
        " & ".join(["Agent", *map(_escape_latex, tasks)]) + r" \\",
        r"\midrule",
    ]
    for name in _order(site):
        cells = []
        for task in tasks:
            interval = _score(site, task, name)
            text = "--" if interval is None else "$" + _text(interval, r" \pm ") + "$"
            cells.append(rf"\textbf{{{text}}}" if site.place(task, name) == 1 else text)
        lines.append(" & ".join([_escape_latex(name), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _order(site: Site) -> list[str]:
    found = site.overall
    mean = {} if found is None else {a: i.estimate for a, i in zip(found.agents, found.mean_rank)}
    return sorted(site.summary.agents, key=lambda name: (mean.get(name, np.inf), name))


def _score(site: Site, task: str, agent: str) -> Interval | None:
    cell, found = site.summary.cells.get((task, agent)), site.standings[task]
    if cell is None or found is None or not np.isfinite(cell.finals[found.metric]).all():
        return None
    return mean_interval(cell.finals[found.metric])


def _text(interval: Interval, pm: str) -> str:
    text = number(interval.estimate)
    if not interval.is_known or interval.low == interval.high:
        return text
    half = (interval.high - interval.low) / 2
    decimals = text.partition(".")[2]
    return f"{text}{pm}{number(half, 2)}" if "e" in text else f"{text}{pm}{half:.{len(decimals)}f}"


def _caption(site: Site) -> str:
    metrics = sorted({found.metric.replace("_", " ") for found in site.standings.values() if found is not None})
    return (
        f"Final {' or '.join(metrics) or 'scores'} of suite {site.title}: mean and half-width of its 95 % interval "
        "over repetitions; the leading tie group of each environment in bold."
    )


def _row_md(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape_md(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", " ".join(text.split()))


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))
