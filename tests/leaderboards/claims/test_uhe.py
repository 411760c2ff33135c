"""What speaks to the claims of the UHE-BO paper: measures over several problems, and estimates from chosen data."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import gpbandit_envs  # noqa: F401 - registers the ids
from gpbandit_envs.gp.hyperparameters import Hyperparameters
from gpbandit_envs.problem import Problem
from leaderboards.claims import uhe
from leaderboards.claims.estimates import CASES, CLAIMS, COLLECTORS, LOSSES, Case, estimate, study
from leaderboards.claims.measures import found_more, lower_simple, simple_in
from leaderboards.claims.runs import Runs
from tests.leaderboards.claims.test_claim import runs as of_regrets


def runs(**simple: list[float]) -> Runs:
    """Rows of runs of two evaluations that end with these simple regrets."""
    return of_regrets(**{row: np.array([[value + 1, value] for value in values]) for row, values in simple.items()})


def test_differences_are_in_units_of_a_third_row() -> None:
    made = runs(a=[0.3, 0.5, 0.4], b=[0.1, 0.3, 0.2], random=[1.0, 3.0, 2.0])
    assert simple_in("", "a", "b", "random")(made).estimate == pytest.approx(0.1)


def test_a_share_of_runs_weighs_problems_alike_and_halves_ties() -> None:
    made = runs(a1=[0.0, 0.0], b1=[1.0, 1.0], a2=[0.0, 2.0], b2=[0.0, 1.0])
    share = lower_simple("", [("a1", "b1"), ("a2", "b2")])(made)
    assert share.estimate == pytest.approx((1 + 0.25) / 2)
    assert share.n == 2


def test_a_share_of_runs_that_meet_a_hill_is_taken_off_the_mean_of_others() -> None:
    made = runs(a=[0.1, 0.1, 0.3, 0.2], b=[0.1, 0.5, 0.5, 0.1], c=[0.5, 0.5, 0.5, 0.1])
    share = found_more("", "a", ["b", "c"], 0.2)(made)
    assert share.estimate == pytest.approx(3 / 4 - (2 / 4 + 1 / 4) / 2)
    assert share.n == 4
    assert share.low < share.estimate < share.high


def test_each_reading_is_compared_with_rivals_of_its_own() -> None:
    """Rivals have the prior of the reading; the noise is UHE-BO's alone, and random search has neither."""
    regrets = {
        "UHE-BO, noise data": 0.1,
        "UHE-BO, noise data, prior gamma-rate": 0.2,
        "MAP-UCB": 0.4,
        "MAP-UCB, prior gamma-rate": 0.8,
        "Random": 1.6,
    }
    made = runs(**{f"{row}@H1": [value + 1e-3 * r for r in range(6)] for row, value in regrets.items()})
    synthetic = tuple(uhe.synthetic())
    claims = {one.name: one.check(made).interval.estimate for one in synthetic}
    unit = 1.6 + 2.5e-3  # mean of random search
    assert claims["h1-better-than-map-ucb"] == pytest.approx((0.1 - 0.4) / unit)
    assert claims["h1-better-than-map-ucb-gamma-rate"] == pytest.approx((0.2 - 0.8) / unit)
    assert claims["h1-better-than-random"] == pytest.approx((0.1 - 1.6) / unit)
    assert "h1-better-than-random-gamma-rate" not in claims
    assert all(one.reading for one in synthetic if one.name.endswith(("-gamma-rate", "-pseudo", "-stated")))


def test_a_verdict_on_regret_needs_five_repetitions() -> None:
    claim = next(one for one in uhe.synthetic() if one.name == "deceptive-better-than-random")
    for n, verdict in ((4, "cannot be told"), (5, "agrees")):
        rows = {"UHE-BO, noise data@Deceptive": [0.1 + 0.01 * k for k in range(n)], "Random@Deceptive": [0.5] * n}
        assert claim.check(runs(**rows)).verdict == verdict


def test_the_hill_of_a_maximum_excludes_the_other_local_maxima() -> None:
    """A regret that counts as having met the global hill is less than that of any other local maximum."""
    for name, tolerance in uhe.HILL.items():
        env = gymnasium.make(f"GPBandit/{name}-v0")
        env.reset(seed=0)
        axis = np.linspace(0, 1, 401)
        grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
        f = env.unwrapped.mean(grid).reshape(401, 401)  # type: ignore[attr-defined]
        regret = env.unwrapped.optimum - f  # type: ignore[attr-defined]
        # On a grid: what meets the tolerance is one connected hill around the maximum, a small part of the square.
        i, j = np.nonzero(regret < tolerance)
        assert len(i)
        assert (np.ptp(i) + 1) * (np.ptp(j) + 1) < 0.05 * f.size, name
        env.close()


def test_a_plain_estimate_is_that_of_all_data() -> None:
    rng = np.random.default_rng(1)
    true = Hyperparameters(1.0, 0.01, (0.2,))
    X = rng.random((80, 1))
    K = true.kernel()(X, X) + true.noise * np.eye(80)
    y = np.linalg.cholesky(K) @ rng.standard_normal(80)
    problem = Problem(name="line", dim=1, horizon=80)
    found = estimate("plain", problem, X, y, np.random.default_rng(0))
    assert len(found.y) == 80
    assert abs(np.log(found.hyperparameters[0].lengthscales[0] / 0.2)) < 0.5
    mean, _ = found.predict(X)
    assert np.sqrt(np.mean((mean - y) ** 2)) < 0.2
    # The other loss estimates from other data, whose lengthscale it finds.
    other = estimate("unbiased", problem, X, y, np.random.default_rng(0))
    assert other.hyperparameters[0].lengthscales != found.hyperparameters[0].lengthscales


@pytest.mark.slow
def test_the_study_has_the_rows_that_its_claims_ask_for() -> None:
    short = tuple(Case(case.name, case.id, case.kwargs, 12, case.drawn) for case in CASES[::2])
    made = study(2, cases=short)
    # Beside these, RA-BO's estimates after two numbers of evaluations, on the one case that is drawn.
    assert len(made.agents) == len(short) * len(COLLECTORS) * len(LOSSES) + 2
    asked = [claim for claim in CLAIMS if claim.name.startswith(("draws-1-", "deceptive-"))]
    assert len(asked) == 4 * len(short) + 1
    for claim in asked:
        interval = claim.check(made).interval
        assert interval.n == 2
        assert np.isfinite(interval.estimate)
    again = study(1, cases=short[:1])
    row = again.agents[0]
    assert again.column(row, "rmse", [0]) == made.column(row, "rmse", [0])
