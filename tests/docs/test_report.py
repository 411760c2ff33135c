"""The technical report says what the boards, the kept results, the benchmarks and the certificates say today."""

from __future__ import annotations

import pytest

from docs import report

pytestmark = pytest.mark.docs


def test_it_is_what_its_command_writes() -> None:
    """`python docs/report.py` writes it anew."""
    assert (report.ROOT / "docs" / "report.md").read_text(encoding="utf-8") == report.page()


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (("GP-UCB", "policies.no_such", ""), "tests/reference: expected policies.no_such"),
        (("GP-UCB", "policies.gp_ucb", "policies/no-such"), "benchmarks/README.md: expected the case policies/no-such"),
        (("GP-UBC", "policies.gp_ucb", ""), "GP-UBC"),
    ],
)
def test_a_policy_is_listed_with_what_is_there(
    row: tuple[str, str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "_FAITHFUL", (row,))
    with pytest.raises(ValueError, match=named):
        list(report._faithful())
