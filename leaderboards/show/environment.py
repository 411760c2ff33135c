"""What the page of one task shows."""

from __future__ import annotations

import importlib
import inspect
import json
from typing import Any

import numpy as np

from gpbandit_envs.registry import ENVIRONMENTS
from leaderboards.play.feedback import parse_feedback
from leaderboards.score.catalogue import METRICS
from leaderboards.score.cell import has_batches
from leaderboards.score.statistics import Slope, iqm, loglog_slope, mean_interval, quantile_interval
from leaderboards.show import svg
from leaderboards.show.charts import chart_data, tab_texts
from leaderboards.show.commands import row_command
from leaderboards.show.inspection_charts import audit_tabs, frontier_tab
from leaderboards.show.inspections import audits_of
from leaderboards.show.numbers import between, number, span
from leaderboards.show.overview import gap_rows, knowledge_text, score_cell
from leaderboards.show.site import Site

__all__ = ["environment_page", "slope_cell"]

_COLUMNS = (
    "cumulative_regret",
    "simple_regret",
    "inference_regret",
    "batches",
    "policy_seconds",
)
_FACTS = {
    "optimum": "Best mean (average of the instances)",
    "optimum_tol": "Error of the best mean, at most",
    "gap": "Gap to the second-best arm",
    "norm": "RKHS norm",
}


def environment_page(site: Site, task: str) -> dict[str, Any]:
    """Context of `environment.html.j2`."""
    about = site.summary.tasks[task]
    cells = site.summary.on(task)
    found = site.standings[task]
    metrics = ["regret_ratio", *_COLUMNS] if found is None or found.metric == "regret_ratio" else list(_COLUMNS)
    if not has_batches(parse_feedback(about.feedback)):
        metrics.remove("batches")
    inspections = {name: one for (on, name), one in site.inspections.items() if on == task}
    more = [tab for tab in [frontier_tab(site, task), *audit_tabs(inspections)] if tab]
    data = chart_data(cells, site.looks, more=more, feedback=about.feedback)
    return {
        "task": about,
        "lede": _lede(about.env.id),
        "settings": json.dumps(dict(about.env.kwargs)) if about.env.kwargs else "defaults",
        "facts": [
            (_FACTS.get(k, k), number(v))
            for k, v in site.summary.facts.get(task, {}).items()
            if v == v and (k, v) != ("optimum_tol", 0)
        ],
        "repetitions": max((len(cell) for cell in cells.values()), default=0),
        "metrics": [METRICS[name] for name in metrics],
        "rows": sorted(_rows(site, task, metrics), key=lambda row: row["order"]),
        "chart": data,
        "tabs": tab_texts(data),
        "knowledge": knowledge_text(about),
        "audits": audits_of(site, task=task),
        "price": next((file for p, file in site.price_files if task in (p.base, *p.tasks.values())), None),
        "ranked_by": METRICS[found.metric].title.lower() if found else None,
        "n_ranked": len(found.agents) if found else 0,
        "n_blocks": len(found.units) if found else 0,
        "gaps": gap_rows(site, task=task),
        "theory": _theory(site, task),
        "spread": _spread(site, task),
    }


def _spread(site: Site, task: str) -> list[dict[str, Any]]:
    """How the ranked score is spread over repetitions; none where no agent has played twice."""
    found = site.standings[task]
    if found is None or len(found.units) < 2:
        return []
    rows = []
    for i, name in enumerate(found.agents):
        x = found.Y[:, i]
        median = quantile_interval(x, 0.5)
        numbers = (median.estimate, float(iqm(x)), float(np.quantile(x, 0.95)), float(x.min()), float(x.max()))
        rows.append(
            {
                "agent": name,
                "swatch": svg.swatch(site.looks[name]),
                "numbers": [(number(value), value) for value in numbers],
                "median_interval": between(median),
            }
        )
    return sorted(rows, key=lambda row: row["numbers"][0][1])


def _lede(id: str) -> str:
    """What the environment is, in the first line of its documentation; empty for environments of others."""
    row = next((row for row in ENVIRONMENTS if row.id == id), None)
    if row is None:
        return ""
    module, _, attribute = row.entry_point.partition(":")
    build = getattr(importlib.import_module(f"gpbandit_envs.envs.{module}"), attribute)
    return (inspect.getdoc(build) or "").partition("\n")[0]


def _theory(site: Site, task: str) -> dict[str, Any] | None:
    found = site.overlays.get(task)
    if found is None:
        return None
    if isinstance(found, str):
        return {"problem": found}
    rows = []
    for promise in found.promises:
        bound = promise.bound
        rows.append(
            {
                "agent": promise.agent,
                "swatch": svg.swatch(site.looks[promise.agent]),
                "fitted": slope_cell(promise.fitted),
                "proven": "–" if promise.proven is None else f"{promise.proven:.2f}",
                "proven_sort": 1e9 if promise.proven is None else promise.proven,
                "measured": number(promise.measured.estimate),
                "measured_sort": promise.measured.estimate,
                "bound": "–" if bound is None else number(bound),
                "bound_sort": 1e9 if bound is None else bound,
                "theorem": promise.theorem or "",
                "gain": "–" if promise.gain is None else number(promise.gain),
                "gain_sort": 1e9 if promise.gain is None else promise.gain,
                "d_eff": "–" if promise.d_eff is None else number(promise.d_eff),
                "d_eff_sort": 1e9 if promise.d_eff is None else promise.d_eff,
            }
        )
    return {
        "problem": None,
        "true": found.knowledge == "oracle",
        "t": found.t,
        "gamma": number(float(found.greedy.gain[-1])),
        "d_eff": number(found.greedy.d_eff),
        "rows": rows,
    }


def slope_cell(slope: Slope | None) -> dict[str, Any]:
    """The growth exponent of the cumulative regret, as a cell of a table."""
    if slope is None:
        return {"text": "–", "interval": "", "sort": 1e9, "lead": False, "place": "", "why": "no regret to fit"}
    interval = slope.exponent
    ends = f"{interval.low:.2f} – {interval.high:.2f}" if interval.is_known else ""
    why = f"fitted from t = {slope.start}"
    return {
        "text": f"{interval.estimate:.2f}",
        "interval": ends,
        "sort": interval.estimate,
        "lead": False,
        "place": "",
        "why": why,
    }


def _rows(site: Site, task: str, metrics: list[str]) -> list[dict[str, Any]]:
    cells = site.summary.on(task)
    found = site.standings[task]
    ratios = {name: mean_interval(cell.finals["regret_ratio"]) for name, cell in cells.items()}
    top = max((i.high if i.is_known else i.estimate for i in ratios.values() if i.estimate == i.estimate), default=1.0)
    slopes = {name: loglog_slope(cell.t, cell.curves["cumulative_regret"]) for name, cell in cells.items()}
    rows = []
    for name in site.summary.agents:
        cell = cells.get(name)
        first, *others = (score_cell(site, task, name, metric) for metric in metrics)
        # Tie groups belong to what was ranked.
        scores = [{**first, "place": ""}, *({**cell, "lead": False, "place": ""} for cell in others)]
        ranks = ""
        if found and name in found.agents:
            i = found.agents.index(name)
            ranks = span(int(found.ranking.best[i]), int(found.ranking.worst[i]))
        known = name in ratios and ratios[name].estimate == ratios[name].estimate
        rows.append(
            {
                "agent": name,
                "file": site.agent_files[name],
                "swatch": svg.swatch(site.looks[name]),
                "place": first["place"],
                "place_sort": site.place(task, name) or 1e9,
                "ranks": ranks,
                "forest": svg.forest(ratios[name], 0.0, max(top, 1.0), site.looks[name], 1.0) if known else "",
                "scores": scores,
                "slope": slope_cell(slopes.get(name)),
                "n": len(cell) if cell else 0,
                "origin": site.origin(task, name),
                "command": row_command(site.summary.tasks[task], site.summary.agents[name], cell.units)
                if cell
                else None,
                "order": (site.place(task, name) or 1e9, first["sort"]),
            }
        )
    return rows
