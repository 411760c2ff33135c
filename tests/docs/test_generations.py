"""The page on the two generations: a move has its reason, and places are those among the rows of both boards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from docs.generations import FAR, moves, page
from leaderboards.archive.read import board
from leaderboards.score.criteria import BoardScores, board_scores
from leaderboards.score.summary import Summary, summarise
from tests.leaderboards.score.test_criteria import TWELVE

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def core() -> Summary:
    return summarise(board("core-lite"), 2)


def scores(summary: Summary) -> BoardScores:
    found = board_scores(summary, tuple(summary.tasks), "cumulative_regret")
    assert found is not None
    return found


@pytest.mark.no_cover
def test_a_board_has_no_move_against_itself(core: Summary) -> None:
    found = scores(core)
    assert [(move.before, move.after) for move in moves(found, found)] == [
        (place, place) for place in range(1, len(found.agents) + 1)
    ]


def test_places_are_among_the_rows_of_both_boards(core: Summary) -> None:
    """Whoever is on one board alone moves nobody."""
    found = scores(core)
    keys = [key for key in core.scores if key[1] in TWELVE]
    fewer = scores(replace(core, scores={key: core.scores[key] for key in keys}))
    moved = moves(found, fewer)
    assert sorted(move.agent for move in moved) == sorted(TWELVE)
    assert sorted(move.before for move in moved) == list(range(1, 13))
    assert FAR > 1


def test_a_reason_for_who_stays_is_an_error(core: Summary) -> None:
    same = {"core-v1": core, "core-v2": core}
    assert "## All rows of both boards" in page(same, {})
    with pytest.raises(ValueError, match=r"expected reasons for \[\], got \['GP-EI'\]"):
        page(same, {"GP-EI": "it does not move"})
