"""Claims of Li and Scarlett (2022) on functions that are drawn, one a repetition."""

from __future__ import annotations

import numpy as np
import pytest

from leaderboards.claims.bpe import drawn
from leaderboards.claims.claim import Claim
from leaderboards.play.suite import load_suite
from tests.leaderboards.claims.test_claim import runs

CLAIMS = {claim.name: claim for claim in drawn()}
LABELS = [entry.ref.label for entry in load_suite("bpe-authors").agents]


def level(regret: float, functions: int = 4) -> np.ndarray:
    return np.full((functions, 200), regret)


def figure(claim: Claim, **rows: np.ndarray) -> float:
    made = {label: level(1.0) for label in LABELS} | {name: rows[name] for name in rows}
    return claim.check(runs(**made)).interval.estimate


def test_what_can_happen_happens_on_some_functions() -> None:
    """By more than a tenth on two of eight: a quarter."""
    original = level(1.05)
    original[:2] = 1.2
    assert figure(CLAIMS["six-beats-original"], **{"BPE, beta 6": original}) == pytest.approx(0.25)


def test_a_run_fails_whose_last_evaluations_have_regret() -> None:
    late, early = level(0.0), level(0.0)
    late[0, 150:], early[:, :50] = 1.0, 1.0
    rows = {"GP-UCB, beta 2": late, "6-BPE, beta 2": early}
    assert figure(CLAIMS["gp-ucb-fails-more"], **rows) == pytest.approx(0.25)


def test_the_order_changes_where_the_rank_correlation_is_at_most_a_half() -> None:
    order = {"3-BPE": 4.0, "BPE": 3.0, "4-BPE": 2.0, "6-BPE": 1.0}
    rows = {f"{name}, full, beta {beta}": level(value) for name, value in order.items() for beta in (2, 6)}
    same = {f"{name}, growing": level(value) for name, value in order.items()}
    assert figure(CLAIMS["growing-beta"], **rows, **same) == 0.0
    turned = {name: regret.copy() for name, regret in same.items()}
    turned["3-BPE, growing"][0], turned["6-BPE, growing"][0] = 1.0, 4.0
    assert figure(CLAIMS["growing-beta"], **rows, **turned) == pytest.approx(0.25)
