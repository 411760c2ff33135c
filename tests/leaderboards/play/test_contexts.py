"""Runs where each step offers other arms, or the mean changes, through every part of the harness."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import leaderboards
from agents import Actions, Capabilities, Pending
from agents.baselines.uniform import Uniform
from agents.core.turns import unfit_for
from gpbandit_envs.channels import IMMEDIATE, as_channel
from gpbandit_envs.delays import Delay, PoissonLaw
from gpbandit_envs.problem import Problem
from gpbandit_envs.wrappers import BatchFeedback, DelayedFeedback
from leaderboards.audit.run_audit import audit_run
from leaderboards.play.protocol_checks import stated_with, words_of
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.summary import summarise
from leaderboards.score.tasks import Task
from leaderboards.show.overview import knowledge_text
from leaderboards.show.rebuilt import task_theory
from leaderboards.store.store import Store
from leaderboards.verify.verify import verify
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing
from tests.leaderboards.play.players import Plain
from tests.leaderboards.play.stops import assert_same_when_stopped

pytestmark = pytest.mark.filterwarnings("ignore:run (crashed|skipped):UserWarning")

ENV = Ref("GPBandit/RKHSContext-v0", {"n_actions": 15, "n_contexts": 4})
DRIFT = Ref("GPBandit/TVGPSample-v0", {"n_arms": 40, "eps": 0.05})
JUMPS = Ref("GPBandit/ChangePoints-v0", {"n_arms": 40, "rate": 0.1})


def spec(
    agent: str = "GP-UCB", feedback: str = "on_request", repetition: int = 0, env: Ref = ENV, **kwargs: Any
) -> RunSpec:
    return RunSpec(env=env, agent=Ref(agent, kwargs), repetition=repetition, horizon=60, feedback=feedback)


def test_every_action_was_offered_and_all_policies_meet_the_same_contexts() -> None:
    traces = [run_spec(spec(agent)).trace for agent in ("Uniform", "EpsGreedy", "GP-UCB", "GP-TS", "GP-EI", "BKB")]
    contexts = [trace["action"].to_numpy() // 15 for trace in traces]
    for other in contexts[1:]:
        np.testing.assert_array_equal(other, contexts[0])
    assert len(set(contexts[0].tolist())) == 4
    for trace in traces:
        assert (trace["regret"] >= 0).all()
        assert (trace["inference_regret"].dropna() >= 0).all()
        best = (trace["regret"] + trace["mean"]).groupby(contexts[0]).agg(["min", "max"])
        np.testing.assert_allclose(best["min"], best["max"], atol=1e-12, err_msg="one optimum a context")


@pytest.mark.parametrize("agent", ["GP-BUCB", "BBKB", "UncertaintySampling", "BPE", "Random", "REG-EVOLUTION"])
def test_who_selects_among_all_arms_is_skipped_with_the_reason(agent: str) -> None:
    record = run_spec(spec(agent))
    assert record.status == "skipped"
    assert record.reason == "each step offers only some of the arms, and the agent selects among all of them"


@pytest.mark.parametrize(("feedback", "batches"), [("batch:7", 9), ("delay:3", 60), ("geometric:2", None)])
def test_late_feedback(feedback: str, batches: int | None) -> None:
    """A batch is chosen one action at a time: each has its own context."""
    record = run_spec(spec("EpsGreedy", feedback, c=5.0))
    assert record.status == "done", record.error
    if feedback == "batch:7":
        assert record.trace["batch"].max() == batches
    direct = run_spec(spec("EpsGreedy", c=5.0)).trace["action"]
    np.testing.assert_array_equal(record.trace["action"] // 15, direct // 15)
    skipped = run_spec(spec("GP-UCB", feedback))
    assert skipped.status == "skipped"


@pytest.mark.parametrize(
    "played",
    [
        spec("GP-UCB"),
        spec("EpsGreedy", "geometric:4"),
        spec("TV-GP-UCB", env=DRIFT),
        spec("R-GP-UCB", env=JUMPS, block=9),
        spec("BBKB", "batch:4", env=DRIFT),
    ],
    ids=lambda played: f"{played.agent.id}, {played.env.id}",
)
def test_stopped_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, played: RunSpec) -> None:
    assert_same_when_stopped(played, tmp_path, monkeypatch)


def test_regret_is_that_of_the_step_and_inference_regret_that_of_the_next() -> None:
    traces = [run_spec(spec(agent, env=JUMPS)).trace for agent in ("Uniform", "WGP-UCB")]
    best = [(trace["regret"] + trace["mean"]).round(12) for trace in traces]
    assert best[0].equals(best[1]), "all policies meet the same functions"
    assert best[0].nunique() > 3
    # A constant recommendation has another regret after each change.
    assert (traces[1]["inference_regret"] >= 0).all()
    assert traces[1]["inference_regret"].nunique() > 3


@pytest.mark.parametrize(
    ("env", "agent", "why"),
    [
        (ENV, "GP-UCB", ""),
        (DRIFT, "TV-GP-UCB", ""),
        (DRIFT, "GP-UCB", "the mean changes, and the theorem is for one that stays as it is"),
        (JUMPS, "GP-UCB", "the mean changes, and the theorem is for one that stays as it is"),
    ],
    ids=str,
)
def test_bands_are_audited_against_the_function_of_the_moment(tmp_path: Path, env: Ref, agent: str, why: str) -> None:
    store = Store(tmp_path / "runs")
    played = spec(agent, env=env, width="theory" if env is ENV else "bayes")
    run_missing([played], store, SerialExecutor())
    assert [found.text for found in verify(store, store.keys(), tmp_path / "again", SerialExecutor())] == ["identical"]
    audit = audit_run(played, checkpoints=30, stored=store.trace(played.key))
    assert audit.facts.differs == ""
    assert audit.facts.no_guarantee == why
    assert audit.facts.points == (60 if env is ENV else 40)
    violations = audit.checkpoints["violations"].to_numpy()
    assert (violations == 0).all() if not why else (violations > 0).any()


class TakesAnyArm(Uniform):
    capabilities: ClassVar[Capabilities] = Capabilities(frozenset({"finite"}), contexts=True)

    def select(self, n: int, pending: Pending) -> Actions:
        return self.rng.integers(self.problem.n_arms, size=n)


class RecommendsAnyArm(Uniform):
    def recommend(self) -> int:
        return (int(self.offered.arms[0]) + 15) % 60


def test_an_agent_that_does_not_heed_the_offer_is_stopped() -> None:
    for agent, words in ((TakesAnyArm(), "select"), (RecommendsAnyArm(), "recommend")):
        record = leaderboards.run((ENV.id, dict(ENV.kwargs)), agent, horizon=60)
        assert record.status == "crashed"
        assert record.reason is not None
        assert record.reason.startswith(f"agent: {words}: expected an arm that is offered, got ")


class Unsaid(Plain):
    """States contexts, and says in `mask` what it offers."""

    mask: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.problem = replace(self.problem, contexts=True)

    def reset(self, **kwargs: Any) -> Any:
        observation, info = super().reset(**kwargs)
        return observation, info if self.mask is None else {**info, "action_mask": self.mask}


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (None, r"info['action_mask']: expected an int8 array of shape (10,), got None"),
        (np.ones(3, np.int8), r"info['action_mask']: expected an int8 array of shape (10,)"),
        (np.ones(10), r"info['action_mask']: expected an int8 array of shape (10,)"),
        (np.zeros(10, np.int8), "info['action_mask']: expected at least one arm to be offered, got none"),
    ],
    ids=str,
)
def test_an_environment_that_does_not_say_what_it_offers(mask: Any, words: str) -> None:
    env = Unsaid()
    env.mask = mask
    record = leaderboards.run(env, "Uniform", horizon=5)
    assert record.status == "crashed"
    assert record.reason is not None
    assert words in record.reason
    assert record.reason.startswith("environment: ")


# ---- channels as the harness takes them: which agents fit, what a problem states, words, and wrapped environments ----


FIXED = Capabilities(frozenset({"finite"}), "fixed", delayed=True)
SEQUENTIAL = Capabilities(frozenset({"finite"}), "sequential")
ADAPTIVE = Capabilities(frozenset({"finite"}), "adaptive")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("on_request", "feedback on request"),
        ("batch:1", "feedback after each evaluation"),
        ("batch:10", "batches of 10"),
        ("delay:30", "delay 30"),
        ("poisson:2.5", "Poisson delay of mean 2.5"),
        ("pareto:1.5,2", "Pareto delay of shape and scale 1.5 and 2"),
        ("workers:1", "one worker"),
        ("workers:4", "4 workers"),
    ],
)
def test_a_rule_in_words(text: str, words: str) -> None:
    assert words_of(as_channel(text)) == words


def test_the_problem_states_the_delay_of_the_feedback() -> None:
    problem = Problem(name="p", dim=1)
    for text in ("on_request", "batch:4", "workers:2"):
        assert stated_with(as_channel(text), problem) is problem
    assert stated_with(as_channel("delay:5"), problem).delay == Delay(mean=5)
    assert stated_with(as_channel("poisson:50"), problem).delay == PoissonLaw(50).stated
    own = replace(problem, delay=Delay(mean=1.0))
    assert stated_with(as_channel("geometric:2"), own) is own


def test_incompatible_agents_get_their_reason() -> None:
    reason = "the agent is sequential and feedback comes in batches of 2"
    assert unfit_for(as_channel("batch:2"), SEQUENTIAL) == reason
    assert "delayed" in str(unfit_for(as_channel("delay:2"), ADAPTIVE))
    for text, fits in (
        ("batch:1", SEQUENTIAL),
        ("batch:5", ADAPTIVE),
        ("workers:2", FIXED),
        ("on_request", SEQUENTIAL),
        *((f"{name}:{int(number)}", SEQUENTIAL) for name, number in IMMEDIATE.items()),
    ):
        assert unfit_for(as_channel(text), fits) is None
    assert "batches of 1234567" in str(unfit_for(as_channel("batch:1234567"), SEQUENTIAL))


TASK: tuple[str, dict[str, Any]] = ("GPBandit/GPSample-v0", {"n_arms": 30, "lengthscale": 0.2})
AGENT = ("GP-BUCB", {"width": 2.0, "batch_size": 4})


@pytest.mark.parametrize(
    ("wrap", "text"),
    [
        (lambda env: BatchFeedback(env, 4), "batch:4"),
        (lambda env: DelayedFeedback(env, 3), "delay:3"),
        (lambda env: DelayedFeedback(env, {"name": "geometric", "mean": 2.5}), "geometric:2.5"),
        (lambda env: gym.wrappers.OrderEnforcing(DelayedFeedback(env, "pareto:1.5,2")), "pareto:1.5,2"),
        (lambda env: DelayedFeedback(env, "workers:3"), "workers:3"),
    ],
)
def test_a_wrapped_environment_is_played_with_the_channel_of_its_wrapper(wrap: Any, text: str) -> None:
    wrapped = wrap(gym.make(TASK[0], **TASK[1], max_episode_steps=20))
    stated = leaderboards.run(TASK, AGENT, 1, horizon=20, feedback=text)
    for found in (leaderboards.run(wrapped, AGENT, 1), leaderboards.run(wrapped, AGENT, 1, feedback=text)):
        assert (found.status, found.spec.key, found.spec.feedback) == ("done", stated.spec.key, text)
        clocks = ["policy_seconds"]
        pd.testing.assert_frame_equal(found.trace.drop(columns=clocks), stated.trace.drop(columns=clocks))


@pytest.mark.parametrize(
    ("wrap", "error", "message"),
    [
        (lambda env: DelayedFeedback(env, "on_request"), TypeError, "the action asks for feedback"),
        (
            lambda env: gym.wrappers.TransformReward(DelayedFeedback(env, 3), lambda reward: reward),
            TypeError,
            "expected nothing around DelayedFeedback, got TransformReward",
        ),
        (
            lambda env: DelayedFeedback(env, 4),
            ValueError,
            "feedback: expected 'delay:4', as the DelayedFeedback around env says, got 'delay:3'",
        ),
    ],
)
def test_a_wrapper_that_is_no_channel_is_refused(wrap: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        leaderboards.run(wrap(gym.make(TASK[0], **TASK[1])), AGENT, feedback="delay:3")


# ---- corrupted feedback, noise by arm and means that are off, through every part of the harness ----


RKHS = {"n_arms": 40, "dim": 1}
CORRUPTED = Ref("GPBandit/RKHS-v0", {**RKHS, "corruption": {"name": "flip", "budget": 4.0}})
NEAR = Ref("GPBandit/RKHS-v0", {**RKHS, "misspecification": {"sup": 0.1}})
BY_ARM = Ref("GPBandit/RKHS-v0", {**RKHS, "noise": {"name": "by_arm", "low": 0.01, "high": 0.5}})


def corrupted(env: Ref, agent: str, feedback: str = "on_request", repetition: int = 0, **kwargs: Any) -> RunSpec:
    return RunSpec(env=env, agent=Ref(agent, kwargs), repetition=repetition, horizon=60, feedback=feedback)


@pytest.mark.parametrize(
    "played",
    [
        corrupted(CORRUPTED, "RGP-UCB"),
        corrupted(CORRUPTED, "RGP-PE", "geometric:4", lam=1.0),
        corrupted(BY_ARM, "VA-MVR", "delay:3"),
    ],
    ids=lambda played: f"{played.agent.id} {played.feedback}",
)
def test_corrupted_runs_are_stopped_at_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, played: RunSpec) -> None:
    """What is left of the budget is among what is saved."""
    assert_same_when_stopped(played, tmp_path, monkeypatch)


def test_rewards_are_corrupted_and_regret_is_clean() -> None:
    silent = Ref(CORRUPTED.id, {**CORRUPTED.kwargs, "noise_std": 0.0})
    trace = run_spec(corrupted(silent, "Uniform")).trace
    np.testing.assert_allclose(trace["regret"] + trace["mean"], trace["regret"][0] + trace["mean"][0], atol=1e-12)
    added = trace["reward"] - trace["mean"]
    assert np.abs(added).sum() == pytest.approx(4.0)
    np.testing.assert_allclose(added[:3], -2 * trace["mean"][:3], atol=1e-12)


NOT = "its theorem does not allow for"


@pytest.mark.parametrize(
    ("env", "robust", "kwargs", "plain", "why"),
    [
        (CORRUPTED, "RGP-UCB", {}, "GP-UCB", f"{NOT} corrupted feedback"),
        (CORRUPTED, "RGP-PE", {"enlargement": "tight"}, "BPE", f"{NOT} corrupted feedback"),
        (NEAR, "EC-GP-UCB", {}, "GP-UCB", f"{NOT} a mean that is only close to the prior's functions"),
        (BY_ARM, "VA-PE", {}, "", ""),
    ],
    ids=lambda value: str(value)[:20],
)
def test_stored_runs_are_verified_and_audited(
    tmp_path: Path, env: Ref, robust: str, kwargs: dict[str, Any], plain: str, why: str
) -> None:
    store = Store(tmp_path / "runs")
    specs = [corrupted(env, robust, **kwargs)] + ([corrupted(env, plain)] if plain else [])
    run_missing(specs, store, SerialExecutor())
    verdicts = list(verify(store, store.keys(), tmp_path / "again", SerialExecutor()))
    assert {verdict.text for verdict in verdicts} == {"identical"}
    for one, expected in zip(specs, ("", why), strict=False):
        audit = audit_run(one, checkpoints=5, stored=store.trace(one.key))
        assert audit.facts.differs == ""
        assert audit.facts.no_guarantee == expected
    assert (audit_run(specs[0], checkpoints=5).checkpoints["violations"] == 0).all()


def test_pages_say_what_is_off_and_show_no_bound_that_is_not_proven(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    specs = [corrupted(CORRUPTED, agent, repetition=r) for agent in ("GP-UCB", "RGP-UCB") for r in range(2)]
    run_missing(specs, store, SerialExecutor())
    summary = summarise(store)
    (name,) = summary.tasks
    assert knowledge_text(summary.tasks[name]).endswith("; corruption ≤ 4.00")
    report: Any = task_theory(summary, name)
    proven = {one.agent: one.proven.bound is not None for one in report.comparisons}
    assert proven == {"GP-UCB": False, "RGP-UCB": True}
    factor = Task(**{**vars(summary.tasks[name]), "knowledge": "misspecified", "misspecification": {"norm": 2.0}})
    assert knowledge_text(factor) == "misspecified: norm × 2.00"
