"""Claims of Bogunovic, Scarlett and Cevher on functions that drift, and of the papers on forgetting after them.

All rows have a width of 2, so that they differ in what they forget. `TV-GP-UCB` is told a rate of drift of 0.01, which
is true on the task `drift 0.01` alone; `TV-GP-UCB, 0.001` is told 0.001. The paper's experiments are on grids of 2,500
arms and on data that are not public; these tasks have 200 arms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from leaderboards.claims.claim import LESS, MORE, Claim, at_least
from leaderboards.claims.measures import more_regret, regret_exponent

_FAST, _SLOW, _STILL, _JUMPS = "drift 0.01", "drift 0.001", "no drift", "change points"
_OURS = "The paper bounds the regret of the policy; the comparison is ours."


def _better(name: str, a: str, b: str, task: str, statement: str, **more: Any) -> Claim:
    text = f"cumulative regret of {a} less that of {b}, over the latter's mean ({task})"
    figure = more_regret(a, b, row=f"{{}}@{task}".format, text=text)
    claim = Claim(name, "abstract", statement, figure, LESS, quick=name == "tv-beats-gp-ucb")
    return replace(claim, **more)


def _linear() -> Claim:
    said = "Where the function drifts, the regret grows linearly in t, for every policy."
    text = "power of t with which the cumulative regret of TV-GP-UCB grows, over the last half of the run"
    figure = regret_exponent(text, f"TV-GP-UCB@{_FAST}", share=0.5)
    return Claim("regret-is-linear", "section 4, the lower bound", said, figure, at_least(0.8))


def _faster() -> Claim:
    said = "The average regret R_t / t is larger where the function drifts faster."
    text = "regret of TV-GP-UCB, told the true rate, at a rate of 0.01 less that at 0.001, over the latter's mean"
    figure = more_regret(f"TV-GP-UCB@{_FAST}", f"TV-GP-UCB, 0.001@{_SLOW}", text=text)
    note = "The paper bounds both from above and below; that the regrets are ordered so is ours."
    source = "section 4, the bounds of both policies"
    return Claim("faster-drift-costs-more", source, said, figure, MORE, note=note, scope="ours")


CLAIMS: tuple[Claim, ...] = (
    _better(
        "tv-beats-gp-ucb",
        *("TV-GP-UCB", "GP-UCB", _FAST),
        "TV-GP-UCB significantly outperforms GP-UCB, which treats stale and fresh data alike.",
    ),
    _better(
        "tv-beats-gp-ucb-slow",
        *("TV-GP-UCB, 0.001", "GP-UCB", _SLOW),
        "TV-GP-UCB outperforms GP-UCB where the function drifts slowly.",
    ),
    _better(
        "r-beats-gp-ucb",
        *("R-GP-UCB", "GP-UCB", _FAST),
        "R-GP-UCB significantly outperforms GP-UCB, which treats stale and fresh data alike.",
    ),
    _better(
        "tv-beats-r",
        *("TV-GP-UCB", "R-GP-UCB", _FAST),
        "The gradual forgetting of TV-GP-UCB does better than the sharp resetting of R-GP-UCB.",
    ),
    _better(
        "gp-ucb-beats-tv-without-drift",
        *("GP-UCB", "TV-GP-UCB", _STILL),
        "Where the function stays as it is GP-UCB does better than TV-GP-UCB: forgetting has a price.",
        source="ours: the paper plays no function that stays",
    ),
    _linear(),
    _faster(),
    _better(
        "window-beats-gp-ucb",
        *("SW-GP-UCB", "GP-UCB", _JUMPS),
        "A sliding window does better than GP-UCB where the function changes.",
        paper="zhou-shroff",
        note=_OURS,
    ),
    _better(
        "restarts-beat-gp-ucb",
        *("R-GP-UCB", "GP-UCB", _JUMPS),
        "Restarts do better than GP-UCB where the function changes.",
        paper="zhou-shroff",
        note=_OURS,
    ),
    _better(
        "weights-beat-gp-ucb",
        *("WGP-UCB", "GP-UCB", _JUMPS),
        "Weights that fade do better than GP-UCB where the function changes.",
        paper="deng",
    ),
    _better(
        "weights-beat-window",
        *("WGP-UCB", "SW-GP-UCB", _FAST),
        "In many cases weights that fade do better than earlier methods, such as a sliding window.",
        paper="deng",
    ),
)
