"""Claims of Bogunovic, Li, Krause and Scarlett (2022) about corrupted feedback."""

from __future__ import annotations

from collections.abc import Iterator

from leaderboards.claims.claim import LESS, Claim, Figure, at_least, at_most, short
from leaderboards.claims.measures import more_regret, of_runs
from leaderboards.score.statistics import mean_interval

_LAST = 5_000  # evaluations
_LINEAR = 0.05
_ATTACKS = {"clipping": "Clipping", "subtraction": "Aggressive Subtraction", "top 3": "Top-3", "flip": "Flip"}
_SUCCESSFUL = ("clipping", "subtraction", "top 3")  # against GP-UCB, by the paper
_FIGURES = "section 4, Figures 2 and 5"


def late_regret(row: str) -> Figure:
    """Regret of one of the last evaluations, on average, in units of the reward."""
    text = f"regret of one evaluation, averaged over the last {_LAST:,}, in prior standard deviations"
    return of_runs(text, mean_interval, lambda regret: regret[:, -_LAST:].mean(axis=1), row)


def _on(attack: str, budget: int) -> Iterator[Claim]:
    row = f"{{}}@{attack}, C = {budget}".format
    words, name = f"{_ATTACKS[attack]}, C = {budget}", f"{short(attack)}-{budget}"
    quick = name == "subtraction-100"
    for agent in ("RGP-PE", "RGP-UCB"):
        said, figure = f"{agent} defends against the attack ({words}).", late_regret(row(agent))
        yield Claim(f"{agent.lower()}-defends-{name}", _FIGURES, said, figure, at_most(_LINEAR), quick=quick)
    if attack in _SUCCESSFUL:
        said, figure = f"The regret of GP-UCB grows linearly under the attack ({words}).", late_regret(row("GP-UCB"))
        note = "The paper has one function for all trials, and here each repetition has one of its own."
        yield Claim(f"gp-ucb-fails-{name}", _FIGURES, said, figure, at_least(_LINEAR), quick=quick, note=note)
    said = f"RGP-UCB generally has less regret than RGP-PE, whose guarantee is stronger ({words})."
    figure = more_regret("RGP-UCB", "RGP-PE", row=row)
    yield Claim(f"rgp-ucb-below-rgp-pe-{name}", "section 4", said, figure, LESS, quick=quick)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "gp-ucb-without-attack",
        "section 4",
        "GP-UCB succeeds when there is no attack.",
        late_regret("GP-UCB@none"),
        at_most(_LINEAR),
    ),
    Claim(
        "rgp-pe-one-arm-left",
        "section 4",
        "RGP-PE is left with one arm, the best, at the end of its 13th epoch under all attacks.",
        Figure("number of the epoch"),
        note="The number of arms that are left is a diagnostic of the policy, and here its regret is judged.",
    ),
    *(claim for attack in _ATTACKS for budget in (50, 100) for claim in _on(attack, budget)),
)
