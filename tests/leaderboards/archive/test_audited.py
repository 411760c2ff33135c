"""Suites with a plan for audits: what is measured while they are played is in the files of their boards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leaderboards.api.run_suite import run_suite
from leaderboards.archive.make import play_board, write_board
from leaderboards.archive.read import Board
from leaderboards.audit.guarantee import guarantee_rows
from leaderboards.audit.kept import keep_audit, kept_audits
from leaderboards.audit.replay import audit_run
from leaderboards.play.suite import Suite, SuiteError, load_suite, parse_suite
from leaderboards.score.summary import summarise
from leaderboards.store.kept_audit import KeptAudit
from leaderboards.store.store import Store

PLAN: dict[str, Any] = {"delta": 0.1, "checkpoints": 4, "every": 2, "groups": {"one": ["flat"], "two": ["steep"]}}


def audited(**plan: Any) -> Suite:
    return parse_suite(
        {
            "name": "audited",
            "horizon": 15,
            "repetitions": 3,
            "audit": PLAN | plan,
            "environments": [
                {"id": "GPBandit/RKHS-v0", "label": "flat", "kwargs": {"n_arms": 20}},
                {"id": "GPBandit/RKHS-v0", "label": "steep", "kwargs": {"n_arms": 20, "norm": 5.0}},
                {"id": "GPBandit/RKHS-v0", "label": "aside", "kwargs": {"n_arms": 10}},
            ],
            "agents": [
                {"id": "Uniform"},
                {"id": "GP-UCB", "label": "AMM", "kwargs": {"width": "amm", "delta": 0.1}},
                {"id": "GP-UCB", "label": "none", "kwargs": {"width": 0.0, "delta": 0.1}},
            ],
        }
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Board]:
    folder = tmp_path_factory.mktemp("audited")
    play_board(audited(), Store(folder / "results"), None, native=True)
    store = Store(folder / "results")
    return store, write_board(audited(), folder / "board", store)


def test_a_board_keeps_what_was_measured_while_it_was_played(made: tuple[Store, Board]) -> None:
    store, board = made
    kept = kept_audits(board, board.entries())
    assert kept.keys() == board.done_keys()
    assert len(kept) == 27
    assert {key: audit.to_dict() for key, audit in kept.items()} == {
        key: audit.to_dict() for key, audit in kept_audits(store, store.entries()).items()
    }, "without the folder of results"
    for key, audit in kept.items():
        spec = board.spec(key)
        assert audit.times == (15 if spec.repetition % 2 == 0 else 4), "every second repetition at each evaluation"
        again = keep_audit(audit_run(spec, 15 if spec.repetition % 2 == 0 else 4))
        assert again.to_dict() == audit.to_dict(), "a second audit is the same"
        if spec.agent.label == "AMM":
            assert (audit.no_guarantee, audit.held, audit.delta) == ("", True, 0.1)
        elif spec.agent.label == "none":
            assert (audit.held, audit.first_violation, audit.required_scaling) == (False, 1, np.inf)
        else:
            assert (audit.held, audit.no_band) == (False, "the agent states no confidence band")


def test_a_board_that_is_written_again_keeps_its_audits(made: tuple[Store, Board], tmp_path: Path) -> None:
    store, board = made
    write_board(audited(), tmp_path / "again", store)
    again = write_board(audited(), tmp_path / "again")
    assert {name: file.sha256 for name, file in again.index.files.items()} == {
        name: file.sha256 for name, file in board.index.files.items()
    }
    assert again.suite().audit == audited().audit


def test_a_suite_with_a_plan_is_audited_whoever_plays_it(tmp_path: Path) -> None:
    run_suite(audited(), out=tmp_path)
    store = Store(tmp_path)
    assert kept_audits(store, store.done_keys()).keys() == store.done_keys()


def test_a_suite_without_a_plan_is_written_as_before() -> None:
    assert "audit" not in load_suite("quick").frozen().model_dump(mode="json")
    plan = load_suite("guarantee-v1").audit
    assert plan is not None
    assert plan.among(["OERPlates"]) == plan.model_copy(
        update={"groups": {"off the RKHS, and real tables": ("OERPlates",)}}
    )
    assert plan.among(["SE, d = 2, corrupted"]) is None


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        ({"groups": {"one": ["flat", "unknown"]}}, "expected labels of environments in groups, got 'unknown'"),
        (
            {"groups": {"one": ["flat"], "two": ["flat"]}},
            "expected each environment in one group at most, got 'flat' twice",
        ),
        ({"groups": {}}, "audit.groups"),
        ({"delta": 1.0}, "audit.delta"),
        ({"checkpoints": 1}, "audit.checkpoints"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(plan: dict[str, Any], text: str) -> None:
    with pytest.raises(SuiteError, match=text):
        audited(**plan)


def test_numbers_that_are_none_survive_json() -> None:
    audit = KeptAudit("", "", "", "no", "none", None, False, 3, None, 0, np.nan, np.nan, np.nan, None, None)
    assert audit.to_dict()["half_width"] is None
    assert np.isnan(KeptAudit.from_dict(audit.to_dict()).half_width)


def test_rows_say_what_they_claim_and_why_they_are_not_valid(made: tuple[Store, Board]) -> None:
    _, board = made
    plan = audited().audit
    assert plan is not None
    rows = {row.agent: row for row in guarantee_rows(board, summarise(board), plan)}
    assert list(rows) == ["Uniform", "AMM", "none"]
    assert (rows["Uniform"].verdict.category, rows["Uniform"].reason) == ("no band", "states no band")
    assert rows["Uniform"].regret == {"flat": 1.0, "steep": 1.0, "aside": 1.0}
    amm, none = rows["AMM"], rows["none"]
    assert amm.verdict.claimed == ("flat", "steep"), "the third task decides nothing"
    assert list(amm.cells) == ["flat", "steep", "aside"]
    assert all(cell.slack > 1 for cell in amm.cells.values())
    assert amm.reason == "held in 6 of 6 runs, too few to confirm it"
    assert (none.verdict.category, none.verdict.violated, none.verdict.runs) == ("fails", 6, 6)
    assert none.reason == "held in 0 of 6 runs; refuted on flat, steep; a tuned width has no guarantee"
