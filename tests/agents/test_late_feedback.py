"""Policies for late feedback, and those that explore within a batch, against their textbook forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, inf, log, pi, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import poisson

import agents
from agents import Agent, Feedback, Pending
from agents.core.guarantees import BoundInputs
from agents.exact.gp_ucb_sdf import GPUCBSDF
from agents.few_batches.bpe import doubling_lengths, growing_lengths
from agents.few_batches.bpe_delay import extended_lengths
from gpbandit_envs.delays import Delay, PoissonLaw
from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.problem import InitialData, NoiseTails, Problem
from tests.agents.play import begun, features, gram, noisy, play
from tests.reference import policies
from tests.reference.posterior import dense

T = 60
LAM = 0.01


def problem_of(seed: int, kernel: Any, n_arms: int) -> tuple[Problem, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n_arms, 2))
    mean = np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1])
    stated = {"kernel": kernel, "noise_std": sqrt(LAM), "noise_tails": NoiseTails(sqrt(LAM), gaussian=True)}
    return Problem(name="test", dim=2, arms=X, norm_bound=1.5, horizon=T, **stated), mean


PROBLEMS = [problem_of(0, SE(0.3), 50), problem_of(1, Matern(0.5, 1.5), 40), problem_of(3, SE(0.05), 200)]


def play_late(
    agent: Agent, problem: Problem, feedback: Callable[[np.ndarray], np.ndarray], delays: np.ndarray, seed: int = 0
) -> list[int]:
    """The arms of a run in which evaluation s arrives after `delays[s]` further ones, or time passes until it does."""
    agent.reset(problem, np.random.default_rng(seed))
    arms: list[int] = []
    open_: dict[int, tuple[float, int, float]] = {}  # due, arm, reward by ticket
    now = 0
    while len(arms) < len(delays):
        pending = Pending(np.array(list(open_), np.int64), np.array([arm for _, arm, _ in open_.values()], np.int64))
        picks = agent.select(1, pending)
        for arm in picks.tolist():
            now += 1
            open_[len(arms)] = (now + delays[len(arms)], arm, float(feedback(np.array([arm]))[0]))
            arms.append(arm)
        if len(picks) == 0:
            now = int(min(due for due, _, _ in open_.values()))
        here = [ticket for ticket, (due, _, _) in open_.items() if due <= now]
        if here:
            told = [open_.pop(ticket) for ticket in here]
            agent.observe(Feedback.of(here, np.array([arm for _, arm, _ in told]), [y for _, _, y in told]))
    return arms


@pytest.mark.parametrize(("problem", "mean"), PROBLEMS)
@pytest.mark.parametrize("size", [1, 4, 10])
@pytest.mark.parametrize("width", ["bayes", 1.5])
def test_gp_ucb_pe(problem: Problem, mean: np.ndarray, size: int, width: Any) -> None:
    def widths(n: int) -> float:
        return sqrt(2 * log(problem.n_arms * (n + 1) ** 2 * pi**2 / (6 / T))) if width == "bayes" else 1.5

    expected = policies.gp_ucb_pe(gram(problem), LAM, widths, size, T, noisy(mean, 0.1, 6))
    agent = agents.make("GP-UCB-PE", width=width, batch_size=size)
    assert play(agent, problem, noisy(mean, 0.1, 6), 0) == expected.batches


def test_gp_ucb_pe_under_delay_begins_a_batch_with_every_delivery() -> None:
    problem, mean = PROBLEMS[0]
    K, width, B = gram(problem), 2.0, 3
    agent = begun(problem, "GP-UCB-PE", width=width, batch_size=B)
    agent.observe(Feedback.of([0, 1], np.array([3, 7]), mean[[3, 7]]))
    open_: list[int] = []
    for step in range(B):
        pending = Pending(np.arange(2, 2 + step), np.array(open_, np.int64))
        told_mean, told_var = dense(K, np.array([3, 7]), mean[[3, 7]], LAM)
        now = dense(K, np.array([3, 7, *open_]), np.zeros(2 + step), LAM)[1]
        sd = np.sqrt(np.maximum(told_var, 0))
        region = told_mean + 2 * width * sd >= (told_mean - width * sd).max()
        score = told_mean + width * np.sqrt(now) if step == 0 else np.where(region, now, -inf)
        picks = agent.select(1, pending)
        assert picks.tolist() == [int(np.argmax(score))]
        open_ += picks.tolist()
    full = Pending(np.arange(2, 2 + B), np.array(open_))
    assert len(agent.select(1, full)) == 0, "as many as a batch has are open"
    agent.observe(Feedback.of([2], np.array(open_[:1]), mean[open_[:1]]))
    later = dense(K, np.array([3, 7, open_[0]]), mean[[3, 7, open_[0]]], LAM)[0]
    now = dense(K, np.array([3, 7, *open_]), np.zeros(2 + B), LAM)[1]
    rest = Pending(np.arange(3, 2 + B), np.array(open_[1:]))
    assert agent.select(1, rest).tolist() == [int(np.argmax(later + width * np.sqrt(now)))]


@pytest.mark.parametrize(("problem", "mean"), PROBLEMS)
@pytest.mark.parametrize("name", ["MVR", "UncertaintySampling"])
def test_maximum_variance_reduction(problem: Problem, mean: np.ndarray, name: str) -> None:
    expected = policies.maximum_variance_reduction(gram(problem), LAM, T)
    rewards: list[float] = []
    draw = noisy(mean, 0.1, 6)

    def feedback(arms: np.ndarray) -> np.ndarray:
        rewards.extend(draw(arms))
        return np.array(rewards[-len(arms) :])

    agent = agents.make(name)
    assert play(agent, problem, feedback, 0) == expected.batches
    assert agent.recommend() == np.argmax(dense(gram(problem), expected.arms, np.array(rewards), LAM)[0])


def test_the_band_of_mvr_is_that_of_arms_chosen_without_feedback() -> None:
    problem, mean = PROBLEMS[0]
    agent: Any = agents.make("MVR", delta=0.1)
    play(agent, problem, noisy(mean, 0.1, 6), 0)
    assert agent.current_width == pytest.approx(1.5 + sqrt(2 * log(50 * (T + 1) ** 2 * pi**2 / 0.6)))
    guarantee = agent.band_guarantee()
    assert (guarantee.kind, guarantee.theorem, guarantee.delta) == ("proven", "Vakili et al. (2021), Theorem 1", 0.1)
    data = InitialData(arms=np.array([1]), rewards=np.array([0.5]))
    agent.reset(replace(problem, initial=data), np.random.default_rng(0))
    assert "without feedback" in agent.band_guarantee().unmet
    amm = begun(problem, "MVR", width="amm")
    assert amm.band_guarantee().theorem == "Flynn and Reeb (2025), AMM"
    with pytest.raises(ValueError, match="width: expected one of 'theory', 'sub-gaussian', 'amm'"):
        agents.make("MVR", width="practical")


@pytest.mark.parametrize(("problem", "mean"), PROBLEMS)
@pytest.mark.parametrize(
    ("n_batches", "lengths"), [(None, {}), (None, {"lengths": "kernel"}), (3, {"lengths": "kernel"})]
)
def test_reds(problem: Problem, mean: np.ndarray, n_batches: int | None, lengths: dict[str, str]) -> None:
    agent: Any = agents.make("REDS", width=1.5, n_batches=n_batches, **lengths)
    batches = play(agent, problem, noisy(mean, 0.1, 6), 4)
    played = [len(batch) for batch in batches]
    assert played == (growing_lengths(T) if lengths else doubling_lengths(T)) or n_batches == len(played)
    expected = policies.reds(gram(problem), LAM, 1.5, played, noisy(mean, 0.1, 6), np.random.default_rng(4))
    assert batches == expected.batches
    assert agent.alive.tolist() == expected.dictionaries[-1]
    assert agent.band_guarantee() == replace(play_band("BPE", problem, mean), theorem=agent.band_guarantee().theorem), (
        "each epoch is drawn before its feedback, as a batch of BPE is"
    )


def play_band(name: str, problem: Problem, mean: np.ndarray) -> Any:
    agent = agents.make(name, width=1.5)
    play(agent, problem, noisy(mean, 0.1, 6), 0)
    return agent.band_guarantee()


def test_reds_says_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="posterior: expected 'batch' with sampling='uniform', got 'full'"):
        agents.make("REDS", posterior="full")
    with pytest.raises(ValueError, match="sampling: expected"):
        agents.make("BPE", sampling="random")


def test_reds_states_an_exponent_and_no_constant() -> None:
    problem, _ = PROBLEMS[1]
    inputs = BoundInputs(problem, T, np.linspace(0.1, 3, T), None, 1.0, 0.1)
    bpe = agents.make("BPE").regret_guarantee(inputs)
    for name in ("REDS", "BPE-Delay"):
        found = agents.make(name).regret_guarantee(inputs)
        assert (found.exponent, found.bound) == (bpe.exponent, None)
    assert bpe.bound is not None


@pytest.mark.parametrize(("problem", "mean"), PROBLEMS)
@pytest.mark.parametrize("seed", range(3))
def test_bpe_delay(problem: Problem, mean: np.ndarray, seed: int) -> None:
    law = PoissonLaw(5.0)
    rng = np.random.default_rng(seed)
    delays = np.array([law.draw(rng) for _ in range(T)])
    stated = {"mean": 5.0, "scale": law.stated.scale, "tail": 1.0}
    agent: Any = agents.make("BPE-Delay", width=1.5, delay=stated, delta=0.1)
    arms = play_late(agent, problem, noisy(mean, 0.1, 6), delays)
    lengths = extended_lengths(T, law.stated, 0.1)
    assert agent.batch_lengths == lengths
    expected = policies.bpe_delay(gram(problem), LAM, 1.5, lengths, delays, noisy(mean, 0.1, 6))
    assert arms == expected.arms.tolist()
    problem_states = replace(problem, delay=law.stated)
    again = play_late(agents.make("BPE-Delay", width=1.5, delta=0.1), problem_states, noisy(mean, 0.1, 6), delays)
    assert again == arms


def test_bpe_delay_eliminates_by_what_has_arrived() -> None:
    problem, mean = PROBLEMS[0]
    # One evaluation in three is still open at the end of its batch.
    delays = np.where(np.arange(T) % 3 == 0, 1_000, 1)
    agent: Any = agents.make("BPE-Delay", width=1.5, delay={"mean": 3.0})
    arms = play_late(agent, problem, noisy(mean, 0.1, 6), delays)
    lengths = extended_lengths(T, Delay(mean=3), 1 / T)
    expected = policies.bpe_delay(gram(problem), LAM, 1.5, lengths, delays, noisy(mean, 0.1, 6))
    assert arms == expected.arms.tolist()
    assert agent.alive.tolist() == expected.dictionaries[len(lengths) - 2]
    assert len(expected.dictionaries[0]) < 50


def test_bpe_delay_without_delay_is_bpe() -> None:
    problem, mean = PROBLEMS[0]
    bpe = play(agents.make("BPE"), problem, noisy(mean, 0.1, 6), 0)
    assert play(agents.make("BPE-Delay"), problem, noisy(mean, 0.1, 6), 0) == bpe
    at_once = play_late(agents.make("BPE-Delay"), problem, noisy(mean, 0.1, 6), np.zeros(T, np.int64))
    assert at_once == [arm for batch in bpe for arm in batch]


def test_bpe_delay_waits_when_nothing_of_a_batch_has_arrived_and_ignores_what_comes_later() -> None:
    problem, mean = PROBLEMS[0]
    agent = begun(problem, "BPE-Delay", width=1.5)
    first = agent.select(T, Pending.empty(problem))
    assert len(first) == growing_lengths(T)[0] == 8
    pending = Pending(np.arange(8), first)
    assert len(agent.select(5, pending)) == 0
    before = agent.predict(features(problem))
    agent.observe(Feedback.of([2, 5], first[[2, 5]], mean[first[[2, 5]]]))
    left = Pending(np.array([0, 1, 3, 4, 6, 7]), first[[0, 1, 3, 4, 6, 7]])
    assert len(agent.select(5, left)) == 5
    assert agent.batch == 1
    np.testing.assert_array_equal(agent.predict(features(problem)), before)  # beliefs are as of the last feedback
    agent.observe(Feedback.of([0], first[[0]], [99.0]))
    assert agent.n_pulls == 2
    now, expected = agent.predict(features(problem)), dense(gram(problem), first[[2, 5]], mean[first[[2, 5]]], LAM)
    assert now is not None
    np.testing.assert_allclose(now[0], expected[0], atol=1e-9)
    np.testing.assert_allclose(now[1], 1.5 * np.sqrt(np.maximum(expected[1], 0)), atol=1e-7)


def test_lengths_of_bpe_delay() -> None:
    # q = 32, 179 as for BPE; t = 32 and then 100 + 179 at the end of the first batch's 32 + 50 + 18.
    delay = Delay(mean=50, scale=9, tail=1)
    u = [50 + 2 * log(1.5 * 32 / 0.01), 50 + 2 * log(1.5 * (32 + 67 + 179) / 0.01)]
    found = extended_lengths(1_000, delay, 0.01)
    assert found[:2] == [32 + ceil(u[0]), 179 + ceil(u[1])] == [99, 251]
    assert sum(found) == 1_000
    for T_ in (1, 2, 7, 100, 5_000):
        assert extended_lengths(T_, Delay(mean=0), 0.1) == growing_lengths(T_)
    assert extended_lengths(1_000, delay, 0.01, tail=True)[0] == 32 + ceil(50 + 9 * sqrt(2 * log(1.5 * 32 / 0.01)))


def test_the_tail_and_not_the_paper_s_extension_covers_a_delay() -> None:
    law, t = PoissonLaw(50.0), 32
    allowed = 0.01 / (1.5 * t)
    within, beyond = (extended_lengths(1_000, law.stated, 0.01, tail)[0] - t for tail in (False, True))
    assert poisson.sf(beyond, 50) < allowed < 10 * allowed < poisson.sf(within, 50)


@pytest.mark.parametrize(("problem", "mean"), PROBLEMS)
@pytest.mark.parametrize(("m", "widened"), [(4, True), (10, False), (0, True)])
def test_gp_ucb_sdf(problem: Problem, mean: np.ndarray, m: int, widened: bool) -> None:
    delays = np.random.default_rng(1).poisson(5.0, T)
    expected = policies.gp_ucb_sdf(gram(problem), LAM, 2.0, m, 1.25, widened, delays, noisy(mean, 0.1, 6))
    agent = agents.make("GP-UCB-SDF", width=2.0, m=m, shift=1.25, widened=widened)
    assert play_late(agent, problem, noisy(mean, 0.1, 6), delays) == expected.arms.tolist()


def test_gp_ucb_sdf_takes_in_what_comes_in_time_however_it_was_asked() -> None:
    problem, mean = PROBLEMS[0]
    settings: dict[str, Any] = {"m": 3, "width": 2.0, "shift": 2.0, "widened": False}
    together, alone = (begun(problem, "GP-UCB-SDF", **settings) for _ in range(2))
    arms = together.select(8, Pending.empty(problem))
    for t in range(8):
        assert alone.select(1, Pending(np.arange(t), arms[:t])).tolist() == [arms[t]]
    rewards = mean[arms]
    # Those of tickets 4 to 7 have at most three further evaluations after them.
    expected = dense(gram(problem), arms, np.concatenate([np.zeros(4), rewards[4:] + 2.0]), LAM)[0] - 2.0
    for agent in (together, alone):
        agent.observe(Feedback.of(np.arange(8), arms, rewards))
        found: Any = agent.predict(features(problem))
        np.testing.assert_allclose(found[0], expected, atol=1e-8)


def test_gp_ucb_sdf_without_delay_and_widening_is_gp_ucb_on_shifted_rewards() -> None:
    problem, mean = PROBLEMS[0]
    plain = play(agents.make("GP-UCB"), problem, noisy(mean + 1.5, 0.1, 6), 0)
    sdf = agents.make("GP-UCB-SDF", widened=False)
    assert play(sdf, problem, noisy(mean, 0.1, 6), 0) == plain, "F = 1.5 and k(x, x) = 1"


def test_gp_ucb_sdf_takes_the_delay_and_the_norm_from_the_problem() -> None:
    problem, mean = PROBLEMS[0]
    delays = np.random.default_rng(1).poisson(3.0, T)
    stated = replace(problem, delay=Delay(mean=2.7))
    found = play_late(agents.make("GP-UCB-SDF", width=2.0), stated, noisy(mean, 0.1, 6), delays)
    given = agents.make("GP-UCB-SDF", width=2.0, m=6, shift=1.5)
    assert found == play_late(given, problem, noisy(mean, 0.1, 6), delays)
    agent = begun(problem, "GP-UCB-SDF")
    assert agent._patience == 20
    assert agent.band_guarantee().kind == "unproven"


def test_gp_ucb_sdf_widens_by_the_information_of_open_pulls_too() -> None:
    problem, mean = PROBLEMS[0]
    K = gram(problem)
    agent = agents.make("GP-UCB-SDF", m=3, shift=1.0)
    arms = play_late(agent, problem, noisy(mean, 0.1, 6), np.full(T, 1_000))
    # No feedback ever comes: all pulls stand with 0, and the mean stays 0.
    width, played = 0.0, np.array(arms)
    for t in range(12):
        var = dense(K, played[:t], np.zeros(t), LAM)[1] if t else np.diagonal(K)
        sd = np.sqrt(np.maximum(var, 0))
        gain = 0.5 * np.linalg.slogdet(np.eye(t) + K[np.ix_(played[:t], played[:t])] / LAM)[1]
        width = 1.5 + sqrt(2 * (gain + 1 + log(T))) + sd[played[max(t - 3, 0) : t]].sum()
        assert played[t] == np.argmax(width * sd)
    assert isinstance(agent, GPUCBSDF)
    before: Any = agent.predict(np.array([[0.5, 0.5]]))
    assert before[0][0] == -1.0, "the shift comes off the prediction"


def test_gp_ucb_sdf_shifts_existing_data_and_leaves_failures_at_zero() -> None:
    problem, _ = PROBLEMS[0]
    K = gram(problem)
    data = InitialData(arms=np.array([4, 9]), rewards=np.array([0.3, -0.2]))
    agent = begun(replace(problem, initial=data), "GP-UCB-SDF", width=2.0, shift=2.0, widened=False)
    arms = agent.select(2, Pending.empty(problem))
    failed = np.array([True, False])
    agent.observe(Feedback(np.arange(2), arms, np.array([np.nan, 0.7]), np.ones(2), failed))
    expected = dense(K, np.array([4, 9, *arms]), np.array([2.3, 1.8, 0.0, 2.7]), LAM)
    found: Any = agent.predict(features(problem))
    np.testing.assert_allclose(found[0], expected[0] - 2.0, atol=1e-8)
    np.testing.assert_allclose(found[1], 2.0 * np.sqrt(np.maximum(expected[1], 0)), atol=1e-7)


@pytest.mark.parametrize(("name", "bad"), [("m", -1), ("m", 1.5), ("shift", inf)])
def test_bad_settings_of_gp_ucb_sdf_are_named(name: str, bad: float) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected"):
        agents.make("GP-UCB-SDF", **{name: bad})
