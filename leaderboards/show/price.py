"""The page of the price of feedback on one environment: regret against delay and against batch size."""

from __future__ import annotations

import math
from typing import Any

from leaderboards.score.price import KINDS, Charge, Price
from leaderboards.show import svg
from leaderboards.show.charts import chart_of, tab_texts
from leaderboards.show.numbers import NONE, number, rounded
from leaderboards.show.site import Site

__all__ = ["price_links", "price_page"]

TITLES = {
    "delay": "Price of delay",
    "geometric": "Price of random delay",
    "batch": "Price of batches",
    "workers": "Price of parallel workers",
}


def price_links(site: Site) -> list[tuple[str, str, str]]:
    """File, environment and kinds of every page of prices."""
    files: dict[str, list[Price]] = {}
    for price, file in site.price_files:
        files.setdefault(file, []).append(price)
    return [(file, of[0].env, " and ".join(TITLES[p.kind].lower() for p in of)) for file, of in files.items()]


def price_page(site: Site, file: str) -> dict[str, Any]:
    """Context of `price.html.j2`."""
    found = [price for price, its_file in site.price_files if its_file == file]
    base = site.summary.tasks[found[0].base]
    tabs = [_tab(price, key) for price in found for key in ("regret", "relative")]
    agents = [agent for agent in site.summary.agents if any(agent in price.charges for price in found)]
    chart = chart_of(tabs, {agent: site.looks[agent] for agent in agents})
    return {
        "env": found[0].env,
        "task": base,
        "base_file": site.task_files[base.name],
        "chart": chart,
        "tabs": tab_texts(chart),
        "kinds": [_kind(site, price) for price in found],
    }


def signed(x: float) -> str:
    """A difference with its sign, the minus as wide as a digit."""
    text = number(x)
    if text.startswith("-"):
        return f"\N{MINUS SIGN}{text[1:]}"
    return f"+{text}" if x > 0 else text


def _percent(x: float) -> str:
    """A relative difference in whole per cent with its sign."""
    if not math.isfinite(x):
        return NONE
    percent = round(100 * x)
    return f"{percent:+d}%".replace("-", "\N{MINUS SIGN}") if percent else "0%"


def _tab(price: Price, what: str) -> dict[str, Any]:
    """Paired differences, or the same over the regret under immediate feedback, against the strength."""
    least = 1.0 if price.kind in ("batch", "workers") else 0.0
    series = {}
    for agent, charges in price.charges.items():
        chosen = [charge.difference if what == "regret" else charge.relative for charge in charges.values()]
        points = {
            "t": [least, *charges],
            "m": [0.0, *(rounded(interval.estimate) for interval in chosen)],
        }
        if all(interval.is_known for interval in chosen):
            points |= {"l": [0.0, *(rounded(i.low) for i in chosen)], "h": [0.0, *(rounded(i.high) for i in chosen)]}
        series[agent] = points
    title = TITLES[price.kind] if what == "regret" else f"{TITLES[price.kind]}, relative"
    return {
        "key": f"{price.kind}-{what}",
        "title": title,
        "axis": "regret above immediate" if what == "regret" else "regret above immediate, as a share of it",
        "x": KINDS[price.kind],
        "meaning": f"Mean paired difference of each agent with itself: final cumulative regret with so many "
        f"{KINDS[price.kind]}, minus that with feedback after every evaluation, on the same instances"
        f"{', over the latter' if what == 'relative' else ''}. At 0 late feedback costs nothing.",
        "log": False,
        "signed": True,
        "marked": True,
        "series": series,
        "alt": f"{title} against {KINDS[price.kind]}, for {', '.join(series)}; the table holds the numbers.",
    }


def _kind(site: Site, price: Price) -> dict[str, Any]:
    rows = []
    for agent, charges in price.charges.items():
        base = next(iter(charges.values())).base
        rows.append(
            {
                "agent": agent,
                "file": site.agent_files[agent],
                "swatch": svg.swatch(site.looks[agent]),
                "base": number(base),
                "base_sort": base,
                "cells": [_charge(charges.get(strength)) for strength in price.tasks],
            }
        )
    return {
        "key": price.kind,
        "title": TITLES[price.kind],
        "unit": KINDS[price.kind],
        "tasks": [(f"{strength:g}", site.task_files[task]) for strength, task in price.tasks.items()],
        "rows": rows,
        "absent": [agent for agent in site.summary.agents if agent not in price.charges],
    }


def _charge(charge: Charge | None) -> dict[str, Any]:
    if charge is None:
        return {"text": "n/a", "interval": "", "sort": 1e9, "lead": False, "place": "", "why": "not played"}
    difference = charge.difference
    ends = f"{signed(difference.low)} to {signed(difference.high)}" if difference.is_known else "one repetition"
    costs = difference.is_known and difference.low > 0
    return {
        "text": f"{signed(difference.estimate)} ({_percent(charge.relative.estimate)})",
        "interval": ends,
        "sort": difference.estimate,
        "lead": costs,
        "place": "",
        "why": f"{difference.n} repetitions; regret {number(charge.regret)} against {number(charge.base)}",
    }
