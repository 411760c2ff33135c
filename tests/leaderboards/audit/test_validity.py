"""The rule of validity: its limits against the numbers of tables, and how often it errs on simulated boards."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from leaderboards.audit.validity import (
    SIGNIFICANCE,
    Count,
    Verdict,
    is_near_limit,
    judge,
    least_held,
    most_confirmed,
    most_violated,
)

TASKS = [f"task {i}" for i in range(17)]


def row(violated: int | list[int], claims: int = 17, runs: int = 30) -> dict[str, Count]:
    counts = [violated] * 17 if isinstance(violated, int) else violated + [0] * (17 - len(violated))
    return {task: Count(k, runs, i < claims) for i, (task, k) in enumerate(zip(TASKS, counts))}


def test_the_limits_are_those_of_clopper_and_pearson() -> None:
    assert least_held(0, 20) == pytest.approx(0.05 ** (1 / 20))  # 0.861: 20 runs of one task never confirm 0.9
    assert least_held(0, 30) == pytest.approx(0.05 ** (1 / 30))
    assert least_held(30, 30) == 0.0
    assert np.isnan(least_held(0, 0))
    expected = scipy.stats.binomtest(471, 510, alternative="greater").proportion_ci(0.95, method="exact").low
    assert least_held(39, 510) == pytest.approx(expected)
    assert least_held(39, 510) >= 0.9 > least_held(40, 510)
    assert least_held(16, 240) >= 0.9 > least_held(17, 240)


@pytest.mark.parametrize(("runs", "delta", "tasks"), [(30, 0.1, 17), (30, 0.1, 1), (5, 0.5, 3), (400, 0.01, 40)])
def test_refutation_is_by_the_binomial_tail(runs: int, delta: float, tasks: int) -> None:
    k = most_violated(runs, delta, tasks)
    tail = [float(scipy.stats.binom.sf(j - 1, runs, delta)) for j in range(runs + 1)]
    assert tail[k] >= SIGNIFICANCE / tasks
    assert k == runs or tail[k + 1] < SIGNIFICANCE / tasks


def test_near_the_limit_are_those_within_five_violated_runs_on_either_side() -> None:
    assert [most_confirmed(n, 0.1) for n in (510, 240, 30, 29, 28, 0)] == [39, 16, 0, 0, -1, -1]
    near = [k for k in range(511) if is_near_limit(Verdict("valid", (), k, 510, 0.0, ()), 0.1)]
    assert near == list(range(34, 45))
    assert [k for k in range(21) if is_near_limit(Verdict("few", (), k, 20, 0.0, ()), 0.1)] == [0, 1, 2, 3, 4]
    assert not is_near_limit(judge({}, 0.1, 17), 0.1)


def test_nine_of_thirty_refute() -> None:
    assert most_violated(30, 0.1, 17) == 8
    assert judge(row([9]), 0.1, 17) == Verdict("fails", tuple(TASKS), 9, 510, least_held(9, 510), ("task 0",))
    assert judge(row([8]), 0.1, 17).category == "valid"


def test_what_a_row_is() -> None:
    assert judge({}, 0.1, 17).category == "no band"
    assert judge(row(0), 0.1, 17).category == "valid"
    assert judge(row([5] * 7 + [4]), 0.1, 17).category == "valid", "39 of 510"
    assert judge(row([5] * 8), 0.1, 17).category == "not confirmed", "40 of 510: not confirmed, nor refuted"
    assert judge(row(4), 0.1, 17).category == "fails", "68 of 510, though no task alone refutes it"
    assert judge(row(0, claims=0), 0.1, 17).category == "holds, no theorem"
    assert judge(row([30], claims=0), 0.1, 17).category == "fails"
    assert judge(row(0, claims=1), 0.1, 17) == Verdict("few", ("task 0",), 0, 30, least_held(0, 30), ())


def test_a_row_with_few_tasks_is_confirmed_or_not() -> None:
    assert judge(row([1], claims=1), 0.1, 17).category == "not confirmed", "29 of 30 confirm no 0.9"
    assert judge(row([0, 1], claims=2), 0.1, 17).category == "few", "59 of 60 do"


def test_violations_where_nothing_is_claimed_do_not_count() -> None:
    found = judge(row([0] * 12 + [30] * 5, claims=12), 0.1, 17)
    assert (found.category, found.violated, found.runs) == ("valid", 0, 360)


def test_how_often_the_rule_errs() -> None:
    """2,000 boards of 17 tasks and 30 runs: a false row is called valid in at most 5 %, as is a true one failed.

    A row that fails with probability 0.1 or more everywhere is valid only if at most 39 of 510 runs are violated, which
    has a probability of 0.046 at 0.1. A row that keeps its word is called `"fails"` with a probability of at most 0.05
    by the tasks and 0.05 by the pool. At a tenth of delta it is called valid but for a probability of 1e-20.
    """
    rng, n = np.random.default_rng(0), 2_000

    def share(category: str, failing: list[float]) -> float:
        boards = rng.binomial(30, failing, (n, 17))
        return sum(judge(row(board.tolist()), 0.1, 17).category == category for board in boards) / n

    def limit(p: float) -> float:  # four standard errors
        return p + 4 * (p * (1 - p) / n) ** 0.5

    assert share("valid", [0.1] * 17) <= limit(SIGNIFICANCE)
    assert share("valid", [0.12] * 17) <= limit(0.01)
    assert share("valid", [0.5] + [0.0] * 16) <= limit(0.01), "one task in which every other run fails"
    assert share("fails", [0.1] * 17) <= limit(2 * SIGNIFICANCE)
    assert share("fails", [0.05] * 17) <= limit(0.001)
    assert share("valid", [0.01] * 17) == 1.0
