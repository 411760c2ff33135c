"""What users may rely on stays: `docs/api/names.txt`."""

from __future__ import annotations

from docs import public_names


def test_no_public_name_has_gone() -> None:
    """A name that goes warns for a minor version first, and leaves with an entry in the changelog and `make docs`."""
    stated = public_names.NAMES.read_text(encoding="utf-8").splitlines()
    assert 100 < len(stated) <= 400
    assert public_names.gone(stated) == []


def test_what_has_gone_is_named() -> None:
    stated = ["leaderboards.run env= agent= colour=", "leaderboards.walk", "agent GP-UCB", "gpbandit page --loud"]
    assert public_names.gone(stated) == ["leaderboards.walk", "leaderboards.run: colour=", "gpbandit page: --loud"]
