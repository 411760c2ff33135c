"""What users may rely on stays: `docs/api/names.txt`."""

from __future__ import annotations

from docs import public_names


def test_no_public_name_has_gone() -> None:
    """A name that goes warns for a minor version first, and leaves with an entry in the changelog and `make docs`."""
    stated = public_names.NAMES.read_text(encoding="utf-8").splitlines()
    assert len(stated) > 1000
    assert sorted(set(stated) - set(public_names.names())) == []
