"""What is declared of rows: what their settings were tuned on."""

from __future__ import annotations

import pytest

from leaderboards.play.suite import load_suite
from leaderboards.publish.boards import board


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["core-v2", "boxes-v2"])
def test_every_row_of_the_newest_boards_declares_what_it_was_tuned_on(name: str) -> None:
    declared = {entry.ref.label: entry.tuned for entry in load_suite(name).agents}
    assert all(declared.values())
    assert {entry.ref.label: entry.tuned for entry in board(name).suite().agents} == declared
