"""What is said on top of a page."""

from __future__ import annotations

import numpy as np
import pytest

from leaderboards.score.answer import leader
from leaderboards.score.frames import pooled_ranking

AGENTS = ("A", "B", "C")


def said(*means: float, n: int = 12, tasks: int = 2) -> str:
    """Of agents with these mean scores, whose repetitions differ by a few points."""
    rng = np.random.default_rng(0)
    strata = [np.array(means) + rng.normal(0, 1, (n, len(means))) for _ in range(tasks)]
    agents = AGENTS[: len(means)]
    return leader(agents, strata, pooled_ranking([-Y for Y in strata], agents, ()))


def test_one_leads_by_so_much_and_that_is_so_sure() -> None:
    text = said(50.0, 90.0, 70.0)
    assert text.startswith("B leads with a score of 90.")
    assert " of 100, 19." in text or " of 100, 20." in text
    assert "more than C." in text
    assert text.endswith(
        "Were all agents alike, so clear a difference would be seen by chance at most once in 1,000 times."
    )


def test_several_lead_and_the_first_behind_is_named() -> None:
    text = said(80.0, 80.0, 20.0)
    assert "but no test tells it from one other, down to " in text
    assert "is C. Were all agents alike" in text


def test_nobody_leads() -> None:
    text = said(80.0, 80.0, 80.0)
    assert text.startswith("No agent leads: ")
    assert text.endswith("no test tells any other from it. More environments or repetitions may.")


@pytest.mark.parametrize("n", [1, 2])
def test_of_too_few_repetitions_nothing_is_said_of_sureness(n: int) -> None:
    text = said(10.0, 90.0, n=n, tasks=1)
    assert text.startswith("B has the highest score, ")
    assert text.endswith("There are too few repetitions to tell how sure that is.")


def test_one_agent_leads_nobody() -> None:
    assert said(10.0) == ""
