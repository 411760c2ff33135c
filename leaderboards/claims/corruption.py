"""Claims of Bogunovic, Li, Krause and Scarlett (2022) about corrupted feedback."""

from __future__ import annotations

import numpy as np

from leaderboards.claims.claim import ALIKE, Claim
from leaderboards.claims.measures import Measure, more_regret
from leaderboards.claims.runs import Runs
from leaderboards.score.statistics import Interval, mean_interval

__all__ = ["CLAIMS", "late_regret"]

_LAST = 5_000  # evaluations
_LINEAR = 0.05
_FIGURE = f"regret of one evaluation, averaged over the last {_LAST:,}, in prior standard deviations"
_NOTE = f"Growing linearly is read as at least {_LINEAR:g} an evaluation at the end, defending as less than that."
_ATTACKS = {"clipping": "Clipping", "subtraction": "Aggressive Subtraction", "top 3": "Top-3", "flip": "Flip"}
_SUCCESSFUL = ("clipping", "subtraction", "top 3")  # against GP-UCB, by the paper
_QUICK = "subtraction, C = 100"


def late_regret(row: str, last: int) -> Measure:
    """Regret of one of the last evaluations, on average, in units of the reward."""

    def measure(runs: Runs) -> Interval:
        regret = runs.column(row, "regret", runs.together(row))
        return mean_interval(np.asarray(regret[:, -last:].mean(axis=1)), runs.level)

    return measure


def _on(attack: str, budget: int) -> tuple[Claim, ...]:
    task = f"{attack}, C = {budget}"
    words, name = f"{_ATTACKS[attack]}, C = {budget}", f"{attack.replace(' ', '-')}-{budget}"
    quick = task == _QUICK
    found = [
        Claim(
            f"{agent.lower()}-defends-{name}",
            "section 4, Figures 2 and 5",
            f"{agent} defends against the attack ({words}).",
            _FIGURE,
            late_regret(f"{agent}@{task}", _LAST),
            high=_LINEAR,
            quick=quick,
            note=_NOTE,
        )
        for agent in ("RGP-PE", "RGP-UCB")
    ]
    if attack in _SUCCESSFUL:
        found.append(
            Claim(
                f"gp-ucb-fails-{name}",
                "section 4, Figures 2 and 5",
                f"The regret of GP-UCB grows linearly under the attack ({words}).",
                _FIGURE,
                late_regret(f"GP-UCB@{task}", _LAST),
                low=_LINEAR,
                quick=quick,
                note=f"{_NOTE} The paper has one function for all trials, and here each repetition has one of its own.",
            )
        )
    found.append(
        Claim(
            f"rgp-ucb-below-rgp-pe-{name}",
            "section 4",
            f"RGP-UCB generally has less regret than RGP-PE, whose guarantee is stronger ({words}).",
            "relative difference of the cumulative regret, RGP-UCB against RGP-PE",
            more_regret(f"RGP-UCB@{task}", f"RGP-PE@{task}"),
            high=0.0,
            alike=ALIKE,
            quick=quick,
        )
    )
    return tuple(found)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "gp-ucb-without-attack",
        "section 4",
        "GP-UCB succeeds when there is no attack.",
        _FIGURE,
        late_regret("GP-UCB@none", _LAST),
        high=_LINEAR,
        note=_NOTE,
    ),
    Claim(
        "rgp-pe-one-arm-left",
        "section 4",
        "RGP-PE is left with one arm, the best, at the end of its 13th epoch under all attacks.",
        "number of the epoch",
        None,
        note="The number of arms that are left is a diagnostic of the policy, and here its regret is judged.",
    ),
    *(claim for attack in _ATTACKS for budget in (50, 100) for claim in _on(attack, budget)),
)
