"""Policies for functions that change: against textbook forms, and against GP-UCB where nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
from agents import Feedback, Pending
from agents.core.guarantees import guarantee_status
from agents.core.widths import InformationGain
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import InitialData, NoiseTails, Problem
from leaderboards.play.protocol_checks import incompatibility
from tests.agents.play import begun
from tests.reference.posterior import dense

ARMS = np.random.default_rng(1).random((30, 2))
LAM = 0.01
PROBLEM = Problem(
    name="thirty arms",
    dim=2,
    arms=ARMS,
    kernel=SE(0.3),
    noise_std=0.1,
    noise_tails=NoiseTails(0.1, gaussian=True),
    horizon=90,
    time_varying=True,
    drift=0.02,
)
STILL = replace(PROBLEM, time_varying=False, drift=None, norm_bound=1.0)
K = SE(0.3)(ARMS, ARMS)


def play(
    agent: agents.Agent, problem: Problem = PROBLEM, steps: int = 90, fail: int = 0
) -> tuple[list[int], list[Any]]:
    """Arms, and rewards of a function that moves; every `fail`-th evaluation gives none."""
    rng = np.random.default_rng(8)
    agent.reset(problem, np.random.default_rng(0))
    arms, rewards = [], []
    for t in range(steps):
        picked = agent.select(1, Pending.empty(problem))
        y = float(np.sin(5 * ARMS[picked[0], 0] + 0.05 * t)) + rng.normal(0, 0.1)
        failed = bool(fail) and t % fail == 0
        arms.append(int(picked[0]))
        rewards.append(np.nan if failed else y)
        agent.observe(Feedback(np.array([t]), picked, np.array([rewards[-1]]), np.ones(1), np.array([failed])))
    return arms, rewards


def assert_greedy(
    arms: list[int], known: Callable[[int], tuple[np.ndarray, np.ndarray]], width: Callable[[int], float]
) -> None:
    """Each arm has the largest upper bound of the posterior that the textbook knows before it was pulled."""
    for t, arm in enumerate(arms):
        mean, var = known(t)
        ucb = mean + width(t) * np.sqrt(np.maximum(var, 0))
        assert ucb[arm] >= ucb.max() - 1e-8, t


def drifting(arms: list[int], y: list[float], eps: float) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """Bogunovic et al. (2016), eq. 6-7: the past at times s = 0, ..., t - 1, the present at t."""

    def known(t: int) -> tuple[np.ndarray, np.ndarray]:
        ok = [s for s in range(t) if np.isfinite(y[s])]
        if not ok:
            return np.zeros(30), np.diagonal(K).copy()
        at, past = np.array([arms[s] for s in ok]), np.array(ok)
        D = (1 - eps) ** (np.abs(past[:, None] - past) / 2)
        k = K[at] * ((1 - eps) ** ((t - past) / 2))[:, None]
        solved = np.linalg.solve(K[np.ix_(at, at)] * D + LAM * np.eye(len(ok)), np.column_stack([np.array(y)[ok], k]))
        return k.T @ solved[:, 0], np.diagonal(K) - np.einsum("ij,ij->j", k, solved[:, 1:])

    return known


@pytest.mark.parametrize(("eps", "fail"), [(0.02, 0), (0.3, 0), (1.0, 0), (0.05, 7)])
def test_tv_gp_ucb_is_the_textbook(eps: float, fail: int) -> None:
    agent = agents.make("TV-GP-UCB", eps=eps)
    arms, y = play(agent, fail=fail)
    delta = 1 / 90
    pulls = np.cumsum(np.isfinite(y))

    def width(t: int) -> float:
        n = 1 + (int(pulls[t - 1]) if t else 0)
        return float(np.sqrt(2 * np.log(30 * n**2 * np.pi**2 / (6 * delta))))

    assert_greedy(arms, drifting(arms, y, eps), width)
    mean, var = drifting(arms, y, eps)(90)
    found, half = agent.predict(ARMS)  # type: ignore[misc]
    np.testing.assert_allclose(found, mean, atol=1e-8)
    np.testing.assert_allclose(half, width(90) * np.sqrt(var), atol=1e-7)
    assert agent.recommend() == np.argmax(mean)


def test_tv_gp_ucb_takes_the_rate_of_the_problem() -> None:
    stated, given = agents.make("TV-GP-UCB", width=2.0), agents.make("TV-GP-UCB", width=2.0, eps=0.02)
    assert play(stated)[0] == play(given)[0]
    assert play(agents.make("TV-GP-UCB", width=2.0, eps=0.5))[0] != play(given)[0]


def test_existing_data_are_as_of_the_first_evaluation() -> None:
    data = InitialData(arms=np.array([3, 3, 7]), rewards=np.array([0.2, 0.4, -1.0]))
    agent = begun(replace(PROBLEM, initial=data), "TV-GP-UCB", width=2.0)
    mean, _ = dense(K, data.actions, data.rewards, LAM)
    np.testing.assert_allclose(agent.predict(ARMS)[0], mean, atol=1e-8)
    agent.observe(Feedback.of([0], [7], [0.5]))
    K3 = K[np.ix_([3, 3, 7, 7], [3, 3, 7, 7])] + LAM * np.eye(4)
    k = K[[3, 3, 7, 7]] * np.sqrt(1 - 0.02)
    expected = k.T @ np.linalg.solve(K3, [0.2, 0.4, -1.0, 0.5])
    np.testing.assert_allclose(agent.predict(ARMS)[0], expected, atol=1e-8)


def test_existing_data_are_forgotten_too() -> None:
    data = InitialData(arms=np.array([7, 3, 3]), rewards=np.array([-1.0, 0.2, 0.4]))
    problem = replace(PROBLEM, initial=data)
    window, fading = begun(problem, "SW-GP-UCB", window=3), begun(problem, "WGP-UCB", eta=0.5)
    for agent, weights in ((window, np.ones(3)), (fading, np.array([0.25, 0.5, 1.0]))):
        noise = LAM / weights
        at = data.actions
        expected = K[at].T @ np.linalg.solve(K[np.ix_(at, at)] + np.diag(noise), data.rewards)
        np.testing.assert_allclose(agent.predict(ARMS)[0], expected, atol=1e-8)
        for t in range(3):
            agent.observe(Feedback.of([t], [11], [0.5]))
    mean, _ = dense(K, np.array([11, 11, 11]), np.full(3, 0.5), LAM)
    np.testing.assert_allclose(window.predict(ARMS)[0], mean, atol=1e-8)


def test_a_window_keeps_the_last_of_existing_data() -> None:
    data = InitialData(arms=np.array([7, 7, 7, 3, 3]), rewards=np.array([5.0, 5.0, 5.0, -1.0, -2.0]))
    agent = begun(replace(PROBLEM, initial=data), "SW-GP-UCB", window=2)
    mean, _ = dense(K, data.actions[3:], data.rewards[3:], LAM)
    np.testing.assert_allclose(agent.predict(ARMS)[0], mean, atol=1e-8)


def test_r_gp_ucb_is_gp_ucb_on_each_block() -> None:
    agent = agents.make("R-GP-UCB", block=13, width="bayes")
    arms, y = play(agent)

    def known(t: int) -> tuple[np.ndarray, np.ndarray]:
        first = 13 * (t // 13)
        if t == first:
            return np.zeros(30), np.diagonal(K).copy()
        return dense(K, np.array(arms[first:t]), np.array(y[first:t]), LAM)

    assert_greedy(arms, known, lambda t: float(np.sqrt(2 * np.log(30 * (t + 1) ** 2 * np.pi**2 * 90 / 6))))
    assert agent.restarts == 6  # type: ignore[attr-defined]


def test_r_gp_ucb_recommends_what_it_knew_until_it_knows_something_again() -> None:
    agent = agents.make("R-GP-UCB", block=5, width=2.0)
    play(agent, steps=4)
    fifth = agent.select(1, Pending.empty(PROBLEM))
    agent.observe(Feedback.of([4], fifth, [50.0]))
    assert agent.restarts == 1  # type: ignore[attr-defined]
    assert agent.recommend() == fifth[0], "the best of the block that has just ended"
    agent.observe(Feedback.of([5], [11], [1.0]))
    assert agent.recommend() == 11


def test_the_length_of_a_block_follows_from_the_rate() -> None:
    agent = agents.make("R-GP-UCB", width=2.0)
    play(agent, replace(PROBLEM, drift=0.5), steps=60)  # ceil(12 * 0.5^-1/4) = 15
    assert agent.restarts == 4  # type: ignore[attr-defined]


def test_sw_gp_ucb_knows_the_last_evaluations() -> None:
    arms, y = play(agents.make("SW-GP-UCB", window=11, width=2.0), fail=4)

    def known(t: int) -> tuple[np.ndarray, np.ndarray]:
        ok = [s for s in range(max(0, t - 11), t) if np.isfinite(y[s])]
        if not ok:
            return np.zeros(30), np.diagonal(K).copy()
        return dense(K, np.array([arms[s] for s in ok]), np.array([y[s] for s in ok]), LAM)

    assert_greedy(arms, known, lambda _: 2.0)


def test_wgp_ucb_is_weighted_regression() -> None:
    """The minimiser of `sum_s eta^(t - s) (y_s - f(x_s))^2 + lam |f|^2`, and its posterior variance."""
    arms, y = play(agents.make("WGP-UCB", eta=0.9, width=2.0), fail=5)

    def known(t: int) -> tuple[np.ndarray, np.ndarray]:
        ok = [s for s in range(t) if np.isfinite(y[s])]
        if not ok:
            return np.zeros(30), np.diagonal(K).copy()
        at, weights = np.array([arms[s] for s in ok]), np.array([0.9 ** (t - 1 - s) for s in ok])
        solved = np.linalg.solve(
            K[np.ix_(at, at)] + np.diag(LAM / weights), np.column_stack([[y[s] for s in ok], K[at]])
        )
        return K[at].T @ solved[:, 0], np.diagonal(K) - np.einsum("ij,ij->j", K[at], solved[:, 1:])

    assert_greedy(arms, known, lambda _: 2.0)


@pytest.mark.parametrize("width", ["theory", "bayes", 2.0], ids=str)
def test_without_drift_they_play_as_gp_ucb(width: object) -> None:
    plain = play(agents.make("GP-UCB", width=width), STILL)[0]
    others: dict[str, dict[str, Any]] = {
        "R-GP-UCB": {"block": 90},
        "SW-GP-UCB": {"window": 90},
        "WGP-UCB": {"eta": 1.0},
    }
    if width != "theory":
        others["TV-GP-UCB"] = {"eps": 0.0}
    for id, kwargs in others.items():
        assert play(agents.make(id, width=width, **kwargs), STILL)[0] == plain, id
    told = replace(PROBLEM, drift=0.0, norm_bound=1.0)
    for id in others.keys() & {"TV-GP-UCB", "R-GP-UCB"}:
        assert play(agents.make(id, width=width), told)[0] == plain, id


def test_almost_no_drift_is_played_as_none_by_the_other_engine() -> None:
    plain = play(agents.make("GP-UCB", width=2.0), STILL)[0]
    assert play(agents.make("TV-GP-UCB", width=2.0, eps=1e-13), STILL)[0] == plain
    assert play(agents.make("WGP-UCB", width=2.0, eta=1 - 1e-13), STILL)[0] == plain
    assert play(agents.make("SW-GP-UCB", width=2.0, window=89), STILL)[0] == plain


def test_a_width_that_depends_on_the_pulls_is_refused() -> None:
    with pytest.raises(ValueError, match="width: expected one that does not depend on the pulls"):
        agents.make("TV-GP-UCB", width=InformationGain())


@pytest.mark.parametrize(("id", "example"), [("TV-GP-UCB", "eps = 0.01"), ("R-GP-UCB", "block = 40")])
def test_who_needs_a_rate_says_so(id: str, example: str) -> None:
    agent = agents.make(id)
    reason = incompatibility(agent, STILL, "on_request")
    assert reason is not None
    assert "the agent needs drift" in reason
    assert example in reason
    with pytest.raises(ValueError, match="thirty arms states no rate of drift"):
        agent.reset(STILL, np.random.default_rng(0))
    key, value = example.split(" = ")
    told = agents.make(id, **{key: float(value) if "." in value else int(value)})
    assert incompatibility(told, STILL, "on_request") is None
    silent = replace(STILL, noise_std=None, noise_tails=None)
    assert incompatibility(agents.make("GP-UCB", lam=0.1), silent, "on_request") is None
    reason = incompatibility(agents.make("GP-UCB", lam={"smoothness": 1.0}), silent, "on_request")
    assert "needs noise" in str(reason), "a lam that follows from the noise does not state it"


def test_what_is_guaranteed_where_the_mean_changes() -> None:
    def status(id: str, problem: Problem, **kwargs: Any) -> str:
        agent = begun(problem, id, **kwargs)
        return guarantee_status(agent.band_guarantee(), problem)

    assert status("TV-GP-UCB", PROBLEM) == ""
    assert status("TV-GP-UCB", PROBLEM, eps=0.02) == ""
    assert "not known to be true" in status("TV-GP-UCB", PROBLEM, eps=0.1)
    assert status("TV-GP-UCB", STILL, eps=0.1) == "the mean stays as it is, and the policy is told that it drifts"
    changes = "the mean changes, and the theorem is for one that stays as it is"
    assert status("GP-UCB", PROBLEM, width="bayes") == changes
    for id, kwargs in (("R-GP-UCB", {}), ("SW-GP-UCB", {"window": 5}), ("WGP-UCB", {})):
        assert "bound on how much it changes" in status(id, PROBLEM, width="bayes", **kwargs)
