from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.envs.registration import WrapperSpec

import agents.core.registry
import leaderboards
from agents import Feedback, Pending
from agents.core.protocol import Need
from gpbandit_envs import from_function
from gpbandit_envs.problem import Certificate, Problem
from leaderboards.play.processor import portable_environment
from leaderboards.play.record import TRACE_COLUMNS, InstanceData
from leaderboards.play.run import NO_REGRET, run_spec
from leaderboards.play.spec import LONGEST_NAME, Ref, RunSpec
from leaderboards.store.store import Store
from tests.leaderboards.play.players import (
    Adaptive,
    Box,
    Counter,
    Exits,
    Mutates,
    Needy,
    Plain,
    Raises,
    Replies,
    Sequential,
    path,
)

# Most runs here end badly on purpose; that `run` warns of it has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore:run (crashed|skipped):UserWarning")

SMALL = ("GPBandit/RKHS-v0", {"n_arms": 20})


def play(agent: Any, env: Any = "Test/Plain-v0", horizon: int | None = 10, **kwargs: Any) -> leaderboards.RunRecord:
    return leaderboards.run(env, agent, horizon=horizon, **kwargs)


def test_trace_of_a_sequential_run() -> None:
    record = play(Sequential())
    assert (record.status, record.reason, record.error) == ("done", None, None)
    assert list(record.trace) == [*TRACE_COLUMNS, "told"]
    t = np.arange(1, 11)
    expected = {"t": t, "action": t - 1, "mean": (t - 1) / 10, "regret": (10 - t) / 10, "batch": t, "told": t}
    for name, values in expected.items():
        np.testing.assert_allclose(record.trace[name], values, atol=1e-15, err_msg=name)
    np.testing.assert_array_equal(record.trace["cost"], 1 + (t - 1) % 3)
    np.testing.assert_allclose(record.trace["inference_regret"], 0.9)
    assert (record.trace["policy_seconds"] > 0).all()
    assert record.trace["reward"].sub(record.trace["mean"]).abs().between(1e-9, 1).all()
    assert record.facts == {"optimum": 0.9, "optimum_tol": 0.0, "gap": 0.1, "mean_gap": 0.45}
    assert record.agent.told == [[k] for k in range(10)]  # type: ignore[union-attr]
    assert all(question == (1, []) for question in record.agent.asked)  # type: ignore[union-attr]


def test_an_adaptive_agent_closes_its_own_batches() -> None:
    record = play(Adaptive())
    assert record.agent.told == [[0], [1, 2], [3, 4, 5], [6, 7, 8, 9]]  # type: ignore[union-attr]
    np.testing.assert_array_equal(record.trace["batch"], np.repeat([1, 2, 3, 4], [1, 2, 3, 4]))
    # The state is that after the last feedback, so it stands still inside a batch.
    np.testing.assert_array_equal(record.trace["told"], [1, 1, 3, 3, 3, 6, 6, 6, 6, 10])


def test_diagnostics_of_a_batch_are_those_of_its_start() -> None:
    trace = play(("GP-BUCB", {"batch_size": 3}), SMALL, 9).trace
    for name in ("width", "information_gain"):
        known = trace[name].to_numpy()
        assert np.isnan(known[:2]).all()
        np.testing.assert_array_equal(known[2:8], np.repeat(known[[2, 5]], 3))
        assert known[2] < known[5] < known[8]


def test_state_is_unknown_before_the_first_feedback() -> None:
    record = play(Counter(), feedback="delay:3")
    assert record.trace["told"].isna().tolist() == [True] * 3 + [False] * 7
    np.testing.assert_array_equal(record.trace["told"][3:], [1, 2, 3, 4, 5, 6, 10])
    assert record.agent.asked[4] == (1, [1, 2, 3])  # type: ignore[union-attr]


def test_fixed_batches() -> None:
    record = play(Counter(), feedback="batch:4")
    assert record.agent.asked == [(4, []), (4, []), (2, [])]  # type: ignore[union-attr]
    assert record.agent.told == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]  # type: ignore[union-attr]


def test_workers_deliver_out_of_order_and_pending_is_complete() -> None:
    class Watch(Counter):
        def reset(self, problem: Any, rng: np.random.Generator) -> None:
            super().reset(problem, rng)
            self.open: set[int] = set()

        def select(self, n: int, pending: Any) -> np.ndarray:
            assert set(pending.tickets.tolist()) == self.open
            np.testing.assert_array_equal(pending.actions, pending.tickets % 10)
            self.open |= set(range(self.pulled, self.pulled + n))
            return super().select(n, pending)

        def observe(self, feedback: Feedback) -> None:
            np.testing.assert_array_equal(feedback.actions, feedback.tickets % 10)
            np.testing.assert_array_equal(feedback.costs, 1 + feedback.actions % 3)
            self.open -= set(feedback.tickets.tolist())
            super().observe(feedback)

    record = play(Watch(), horizon=50, feedback="workers:4")
    assert record.status == "done", record.error
    told = [ticket for delivery in record.agent.told for ticket in delivery]  # type: ignore[union-attr]
    assert sorted(told) == list(range(50))
    assert told != sorted(told)


def test_box_without_oracle() -> None:
    record = play(Counter(), Box())
    assert record.status == "done", record.error
    assert {"action_0", "action_1"} < set(record.trace)
    assert "action" not in record.trace
    np.testing.assert_allclose(record.trace["action_0"] + record.trace["action_1"], record.trace["reward"])
    assert record.trace[["mean", "regret", "inference_regret"]].isna().all(axis=None)
    assert record.spec.env.id.startswith("object:")
    assert not record.spec.rebuildable


@pytest.mark.wrong_arguments
def test_ids_pairs_and_objects_play_the_same_game() -> None:
    def trace(env: Any, agent: Any) -> pd.DataFrame:
        return leaderboards.run(env, agent, 2, 30).trace.drop(columns="policy_seconds")

    reference = trace(SMALL, "EpsGreedy")
    import agents

    env = gym.make(SMALL[0], max_episode_steps=30, **SMALL[1])  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(trace(env, agents.make("EpsGreedy")), reference, check_exact=True)
    pd.testing.assert_frame_equal(trace(list(SMALL), ("EpsGreedy", {})), reference, check_exact=True)
    assert not trace(SMALL, "EpsGreedy")["reward"].equals(leaderboards.run(SMALL, "EpsGreedy", 3, 30).trace["reward"])


def test_all_agents_meet_the_same_function_and_noise() -> None:
    one, other = (play(agent, SMALL, 40).trace for agent in ("Uniform", path(Counter)))
    means = pd.concat([one, other]).groupby("action")["mean"]
    assert (means.nunique() == 1).all()
    noise = [trace["reward"] - trace["mean"] for trace in (one, other)]
    np.testing.assert_allclose(noise[0], noise[1], atol=1e-12)


def test_the_data_have_a_fingerprint() -> None:
    def fingerprint(agent: str = "Uniform", repetition: int = 0, n_arms: int = 20) -> str:
        env = ("GPBandit/RKHS-v0", {"n_arms": n_arms})
        return str(leaderboards.run(env, agent, repetition, 5).data.instance)

    assert len(fingerprint()) == 32
    assert fingerprint() == fingerprint("EpsGreedy")
    assert len({fingerprint(), fingerprint(repetition=1), fingerprint(n_arms=21)}) == 3
    assert play(Counter(), Box()).data == InstanceData(knowledge="oracle")
    wrong = ("GPBandit/RKHS-v0", {"n_arms": 20, "misspecification": {"lengthscale": 2.0}})
    data = leaderboards.run(wrong, "Uniform", 0, 5).data
    assert (data.knowledge, data.misspecification) == ("misspecified", {"lengthscale": 2.0})


def test_a_longer_run_begins_like_a_shorter_one() -> None:
    short, long = (play(path(Counter), SMALL, horizon).trace for horizon in (20, 60))
    pd.testing.assert_series_equal(short["reward"], long["reward"][:20], check_exact=True)


def test_the_problem_description_states_the_runs_horizon() -> None:
    assert play("Uniform", SMALL, 37).agent.problem.horizon == 37  # type: ignore[union-attr]
    assert play(Counter(), Box(), 37).agent.problem.horizon == 37  # type: ignore[union-attr]
    assert play(Counter(), Plain(), 37).agent.problem.horizon is None  # type: ignore[union-attr]
    assert len(leaderboards.run("Test/Plain-v0", Counter()).trace) == 50


def test_the_agent_sees_no_oracle() -> None:
    seen: list[object] = []

    class Spy(Counter):
        def observe(self, feedback: Feedback) -> None:
            seen.append(sorted(vars(feedback)))
            super().observe(feedback)

    play(Spy())
    assert seen == [["actions", "costs", "failed", "rewards", "tickets"]] * 10


@pytest.mark.parametrize("needs", [frozenset(), frozenset({"noise"}), frozenset({"kernel"})])
def test_the_kernel_is_told_to_agents_that_need_it(needs: frozenset[Need]) -> None:
    told: list[Problem] = []

    class Opportunist(Counter):
        capabilities = replace(Counter.capabilities, needs=needs)

        def reset(self, problem: Problem, rng: np.random.Generator) -> None:
            told.append(problem)
            super().reset(problem, rng)

    record = play(Opportunist(), SMALL)
    assert record.status == "done"
    assert [(problem.kernel is None, problem.n_arms, problem.noise_std) for problem in told] == [
        ("kernel" not in needs, 20, 0.1)
    ]


def test_a_failed_evaluation_is_recorded() -> None:
    failures: list[Feedback] = []

    class Watch(Counter):
        def observe(self, feedback: Feedback) -> None:
            failures.extend([feedback] if feedback.failed.any() else [])

    record = play(Watch(), ("Test/Plain-v0", {"fail": True}))
    assert record.status == "done"
    assert np.flatnonzero(record.trace["reward"].isna()).tolist() == [3]
    assert [feedback.tickets.tolist() for feedback in failures] == [[3]]
    assert np.isnan(failures[0].rewards[0])


def test_an_environment_that_ends_early() -> None:
    record = play(Counter(), Plain(end=True))
    assert (record.status, record.reason) == (
        "crashed",
        "environment: step: the environment ended after 4 of 10 evaluations",
    )


def test_an_id_of_batches_is_not_for_the_harness() -> None:
    around = WrapperSpec("BatchFeedback", "gpbandit_envs.wrappers:BatchFeedback", {"batch_size": 4})
    gym.register("Test/Batches-v0", f"{path(Plain)}", additional_wrappers=(around,))
    record = play(Counter(), "Test/Batches-v0")
    reason = "environment: env: expected an id of single evaluations, got one inside BatchFeedback; register"
    assert str(record.reason).startswith(reason)
    assert str(record.reason).endswith("say feedback='batch:4'")


def test_another_wrapper_is_played() -> None:
    plain, doubled = (gym.make(SMALL[0], **SMALL[1]) for _ in range(2))  # type: ignore[arg-type]
    rewards = play(Counter(), gym.wrappers.TransformReward(doubled, lambda reward: 2.0 * float(reward))).trace["reward"]
    np.testing.assert_array_equal(rewards, 2.0 * play(Counter(), plain).trace["reward"])


def test_an_environment_without_a_problem_description() -> None:
    record = play(Counter(), gym.make("CartPole-v1"))
    assert record.status == "crashed"
    assert record.reason == "environment: problem: expected env.unwrapped.problem to be a Problem, got NoneType"


@pytest.mark.wrong_arguments
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (None, "an integer array of shape (n,), got NoneType"),
        ([1], "an integer array of shape (n,), got list [1]"),
        (np.array([1.0]), "an integer array of shape (n,), got float64"),
        (np.array([[1]]), "got int64 of shape (1, 1)"),
        (np.array([10]), "indices in [0, 10), got 10"),
        (np.array([-1]), "indices in [0, 10), got -1"),
        (np.array([1, 2]), "expected 1 action, got 2"),
        (np.array([], int), "expected 1 action, got 0"),
    ],
)
def test_nonsense_on_finite_arms_is_named(reply: object, message: str) -> None:
    record = play(Replies(reply))
    assert record.status == "crashed"
    assert record.reason is not None
    assert record.reason.startswith("agent: select: ")
    assert message in record.reason
    assert len(record.trace) == 2


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (np.array([0.5, 0.5]), "float array of shape (n, 2), got float64 of shape (2,)"),
        (np.array([[1, 0]]), "float array of shape (n, 2), got int64"),
        (np.array([[0.5, np.nan]]), "unit cube [0, 1]^2, got [0.5, nan]"),
        (np.array([[0.5, 1.5]]), "unit cube [0, 1]^2, got [0.5, 1.5]"),
    ],
)
def test_nonsense_on_a_box_is_named(reply: object, message: str) -> None:
    record = play(Replies(reply), Box())
    assert record.status == "crashed"
    assert message in str(record.reason)


def test_an_adaptive_agent_must_act_when_nothing_is_open() -> None:
    class Idle(Adaptive):
        def select(self, n: int, pending: Any) -> np.ndarray:
            return np.zeros(0, np.int64)

    assert play(Idle()).reason == "agent: select: expected an action, got none while no feedback is open"


@pytest.mark.parametrize("value", [10, -1, 0.0, None, True])
def test_a_bad_recommendation_is_named(value: object) -> None:
    class Recommends(Counter):
        def recommend(self) -> Any:
            return value

    record = play(Recommends())
    assert record.status == "crashed"
    assert str(record.reason).startswith("agent: recommend: expected an index in [0, 10), got ")


@pytest.mark.wrong_arguments
@pytest.mark.parametrize(
    "diagnostics",
    [
        *({"reward": 1.0}, {"action_0": 1.0}, {"x": "y"}, {3: 1.0}, [("x", 1.0)]),
        *({"": 1.0}, {"a\tb": 1.0}, {"\u200b": 1.0}, {"x" * (LONGEST_NAME + 1): 1.0}),
    ],
)
def test_bad_diagnostics_are_named(diagnostics: Any) -> None:
    class Diagnoses(Counter):
        def diagnostics(self) -> Any:
            return diagnostics

    assert str(play(Diagnoses()).reason).startswith("agent: diagnostics: expected ")


def test_the_longest_name_of_diagnostics_can_be_written(tmp_path: Path) -> None:
    class Diagnoses(Counter):
        def diagnostics(self) -> dict[str, float]:
            return {"x" * LONGEST_NAME: 1.0}

    record = play(Diagnoses())
    Store(tmp_path).write(record)
    assert "x" * LONGEST_NAME in Store(tmp_path).trace(record.spec.key)


def test_a_crash_keeps_rows_and_traceback() -> None:
    record = play(Raises(at=5))
    assert record.status == "crashed"
    (line,) = re.findall(r"^agent: RuntimeError: no idea what to pull \(players.py, line (\d+)\)$", str(record.reason))
    assert f'players.py", line {line}, in select' in str(record.error)
    assert len(record.trace) == 5
    assert 'raise RuntimeError("no idea what to pull")' in str(record.error)
    assert "crashed" in repr(record)


def test_a_run_that_is_not_done_warns_in_one_line() -> None:
    crashed = "run crashed after 5 of 10 evaluations: agent: RuntimeError: no idea what to pull (players.py, line "
    with pytest.warns(UserWarning, match=f"^{re.escape(crashed)}[0-9]+\\); the traceback is in `.error`$"):
        play(Raises(at=5))
    skipped = "run skipped, nothing was played: the agent plays on finite domains, the environment's is box"
    with pytest.warns(UserWarning, match=f"^{skipped}$"):
        play(Sequential(), Box())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(Counter())


def test_the_trace_of_a_skipped_run_has_its_columns() -> None:
    trace = play(Sequential(), Box()).trace
    assert (list(trace), len(trace)) == (list(TRACE_COLUMNS), 0)
    assert trace["regret"].sum() == 0.0


def test_inputs_cannot_be_changed_and_exit_is_no_way_out() -> None:
    mutates = str(play(Mutates()).reason)
    assert mutates.startswith("agent: ValueError: assignment destination is read-only (players.py, line ")
    assert str(play(Exits()).reason).startswith("agent: SystemExit: 3 (players.py, line ")


class Panic(BaseException):
    """As a library of another language raises."""


class Panics(Counter):
    def __init__(self, when: str = "select") -> None:
        self.when = when
        if when == "built":
            raise Panic("out of range")

    def select(self, n: int, pending: Pending) -> Any:
        if self.when == "cancelled":
            raise asyncio.CancelledError
        raise Panic("out of range")


@pytest.mark.parametrize(
    ("when", "raised"),
    [("select", "Panic: out of range"), ("cancelled", "CancelledError"), ("built", "Panic: out of range")],
)
def test_what_is_no_exception_costs_its_own_run(when: str, raised: str) -> None:
    spec = RunSpec(env=Ref("Test/Plain-v0"), agent=Ref(path(Panics), {"when": when}), repetition=0, horizon=10)
    record = run_spec(spec)
    assert record.status == "crashed"
    assert str(record.reason).startswith(f"agent: {raised} (test_run.py, line ")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, GeneratorExit])
def test_what_ends_the_command_passes_through_a_run(monkeypatch: pytest.MonkeyPatch, stop: type[BaseException]) -> None:
    def stops(*_: Any) -> None:
        raise stop

    monkeypatch.setattr(Counter, "select", stops)
    with pytest.raises(stop) as stopped:
        run_spec(RunSpec(env=Ref("Test/Plain-v0"), agent=Ref(path(Counter)), repetition=0, horizon=10))
    assert stop is GeneratorExit or not hasattr(stopped.value, "__notes__"), "an interrupt is nobody's"


def test_what_does_not_fit_is_skipped_with_its_reason() -> None:
    expected = {
        "the agent plays on finite domains, the environment's is box": (Sequential(), Box(), "on_request"),
        "the agent needs kernel, which neither the problem description nor its arguments state": (
            Needy(),
            Plain(),
            "on_request",
        ),
        "the agent is sequential and feedback comes in batches of 3": (Sequential(), Plain(), "batch:3"),
        "the agent cannot act under delayed feedback (workers:3)": (Adaptive(), Plain(), "workers:3"),
    }
    for reason, (agent, env, feedback) in expected.items():
        record = play(agent, env, feedback=feedback)
        assert (record.status, record.reason, len(record.trace)) == ("skipped", reason, 0)
    needy = Needy()
    needy.kernel = object()  # type: ignore[attr-defined]
    assert play(needy, Plain()).status == "done"


def test_what_a_problem_description_leaves_out_can_be_given() -> None:
    reason = str(play("GP-UCB", Plain()).reason)
    assert reason.startswith("the agent needs kernel and noise, which neither the problem description")
    assert reason.endswith('; give it, for example, kernel = { name = "se", lengthscale = 1.0 }, lam = 0.01')
    given = {"kernel": {"name": "se", "lengthscale": 1.0}}
    assert "needs noise, which" in str(play(("GP-UCB", given), Plain()).reason)
    assert play(("GP-UCB", {**given, "lam": 0.01}), Plain()).status == "done"


@pytest.mark.parametrize("stated", [None, {"finite"}])
def test_an_agent_says_what_it_can_do(stated: Any) -> None:
    class Silent(Counter):
        capabilities = stated

    record = play(Silent())
    assert record.status == "crashed"
    assert str(record.reason).startswith(
        f"agent: capabilities: expected an agents.Capabilities on the class Silent, got {stated}"
    )


class Unscored(Plain):
    """Tells rewards and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        del self.optimum

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return 0, float(action), False, False, {}


def test_a_run_without_regret_says_why(caplog: pytest.LogCaptureFixture) -> None:
    record = play(Counter(), Unscored())
    assert record.status == "done"
    assert record.trace["regret"].isna().all()
    assert record.trace["reward"].notna().all()
    assert [entry.message for entry in caplog.records] == [f"Unscored: {NO_REGRET}"]
    caplog.clear()
    assert play(Counter()).trace["regret"].notna().all()
    assert not caplog.records


@pytest.mark.parametrize(
    ("env", "agent", "horizon", "error", "message"),
    [
        ("GPBandit/RKSH-v0", "Uniform", 10, ValueError, "did you mean 'GPBandit/RKHS-v0'"),
        ("NoSuchNamespace/X-v0", "Uniform", 10, ValueError, "no environment 'NoSuchNamespace/X-v0'"),
        (("GPBandit/RKHS-v0", {"arms": 3}), "Uniform", 10, TypeError, r"RKHS-v0: unknown argument 'arms'.*n_arms, dim"),
        (("Test/Plain-v0", {"arms": 3}), "Uniform", 10, TypeError, r"'arms'; it takes n_arms, spoil, fail, end\Z"),
        (Plain, "Uniform", 10, TypeError, "give an instance of the class, Plain"),
        (SMALL, lambda: Counter(), 10, TypeError, "give what it returns"),
        (SMALL, "my_agent.py:Greedy", 10, ValueError, "write 'my_agent:Greedy'"),
        (SMALL, "my_agent.py", 10, ValueError, "write 'my_agent:Class'"),
        (SMALL, "nowhere.at_all:Greedy", 10, ValueError, "names a module that is neither in this folder nor installed"),
        (SMALL, "collections:Counter", 10, TypeError, "to be a subclass of agents.Agent"),
        (SMALL, ("os:system", {"command": "exit 1"}), 10, TypeError, "to be a subclass of agents.Agent"),
        (SMALL, "nonsense", 0, ValueError, "horizon"),
        (3, "Uniform", 10, TypeError, "env: expected an id"),
        (("Test/Plain-v0", {"spoil": np.nan}), "Uniform", 10, ValueError, "kwargs: expected finite numbers"),
        (SMALL, 3.5, 10, TypeError, "agent: expected an id"),
        (Plain(), "Uniform", None, ValueError, "horizon: expected a number of evaluations"),
        (Plain(), "Uniform", "10", ValueError, "horizon: expected an integer >= 1, got '10'"),
        (gym.make("Test/Plain-v0", max_episode_steps=5), "Uniform", 10, ValueError, "at most 5"),
    ],
)
def test_what_cannot_be_built_is_an_error_at_once(
    env: Any, agent: Any, horizon: int | None, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message.replace("(", r"\(")):
        leaderboards.run(env, agent, horizon=horizon)


class _Needs(Counter):
    def __init__(self, margin: float, *, width: float, depth: int = 3) -> None:
        super().__init__()


def test_arguments_that_an_agent_needs_are_named() -> None:
    id = f"{__name__}:_Needs"
    with pytest.raises(TypeError, match=rf"'{id}' needs margin, width: give it a default .* \('{id}', "):
        leaderboards.run(SMALL, id, horizon=10)
    with pytest.raises(TypeError, match="needs width: "):
        leaderboards.run(SMALL, (id, {"margin": 1.0}), horizon=10)
    assert leaderboards.run(SMALL, (id, {"margin": 1.0, "width": 2.0}), horizon=10).status == "done"
    instead = r"or a value: in Python as a pair \(.*_Needs', \{'width': ...\}\), or as an instance, _Needs\(width=...\)"
    with pytest.raises(TypeError, match=instead):
        leaderboards.run(SMALL, (_Needs, {"margin": 1.0}), horizon=10)
    with pytest.raises(TypeError, match=r"under a label, \{'my label': \('.*_Needs', .*as kwargs = \{ margin = ..., "):
        leaderboards.run_suite(suite_of(_Needs))


def suite_of(agent: Any) -> dict[str, Any]:
    return {"name": "s", "horizon": 5, "repetitions": 1, "environments": [SMALL], "agents": [agent]}


def test_an_agent_is_given_in_the_same_ways_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents.core.registry, "_registry", dict(agents.core.registry._registry))  # it is added to

    class Here(_Needs):
        """A class that no other process can import."""

    name, needed = f"{__name__}:_Needs", {"margin": 1.0, "width": 2.0}
    for i, (given, label, id) in enumerate(
        (
            ("Uniform", "Uniform", "Uniform"),
            (path(Counter), "Counter", path(Counter)),
            (Counter, "Counter", path(Counter)),
            ((name, needed), "_Needs", name),
            ((_Needs, needed), "_Needs", name),
            (_Needs(**needed), "_Needs", f"object:{name}"),  # type: ignore[arg-type]
            ((Here, needed), "Here", f"object:{__name__}:{Here.__qualname__}"),
        )
    ):
        record = leaderboards.run(SMALL, given, horizon=5)  # type: ignore[arg-type]
        assert (record.status, record.spec.agent.id) == ("done", id)
        assert record.spec.agent.kwargs == (needed if id == name else {})
        results = leaderboards.run_suite(suite_of(given), out=tmp_path / str(i), progress=False)
        assert results.runs()[["agent", "status"]].to_numpy().tolist() == [[label, "done"]]


def test_a_file_given_as_an_id_is_told_how_to_name_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toptwo.py").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"no agent 'toptwo'; a class in toptwo\.py is named 'toptwo:Class'"):
        leaderboards.run(SMALL, "toptwo", horizon=10)


class _Moody(Plain):
    """Raises where `where` says."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    def reset(self, **kwargs: Any) -> Any:
        self._raise_at("reset")
        return super().reset(**kwargs)

    def step(self, action: Any) -> Any:
        self._raise_at("step")
        return super().step(action)

    def mean(self, actions: Any) -> Any:
        self._raise_at("mean")
        return super().mean(actions)

    def _raise_at(self, where: str) -> None:
        if self.where == where:
            raise ZeroDivisionError("no luck")


@pytest.mark.parametrize("where", ["reset", "step", "mean"])
def test_what_an_environment_raises_is_its_own(where: str) -> None:
    record = play(Counter(), _Moody(where))
    assert record.status == "crashed"
    assert str(record.reason).startswith("environment: ZeroDivisionError: no luck (test_run.py, line ")
    assert not record.final  # it may have been an accident
    assert "Raised by the environment of the run." in str(record.error)


def test_the_policys_time_is_that_of_the_processor() -> None:
    class Idle(Counter):
        def select(self, *args: Any) -> Any:
            time.sleep(0.05)
            return super().select(*args)

    class Busy(Counter):
        def select(self, *args: Any) -> Any:
            end = time.process_time() + 0.05
            while time.process_time() < end:
                pass
            return super().select(*args)

    idle, busy = (play(agent).trace["policy_seconds"] for agent in (Idle(), Busy()))
    assert (busy >= 0.05).all()
    assert idle.median() < 0.02


@pytest.mark.parametrize("where", ["reset", "select", "observe", "recommend", "diagnostics"])
def test_what_an_agent_raises_is_its_own(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Moody(Counter):
        pass

    def fail(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(Moody, where, fail)
    record = play(Moody())
    assert record.status == "crashed"
    assert str(record.reason).startswith("agent: MemoryError (test_run.py, line ")
    assert record.out_of_memory


def test_a_certificate_of_no_numbers_is_the_environments_fault() -> None:
    env = Plain()
    env.certificate = Certificate(optimum=float("inf"), optimal_action=0)
    assert play(Counter(), env).reason == "environment: optimum: expected a finite number up to 1e+50 in size, got inf"


# ---- regrets that contradict the optimum or the means that an environment states ----


class Stated(gym.Env[Any, Any]):
    """Five arms; `optimum` and the regret of a step are what a test says, a function of step and arm."""

    def __init__(self, optimum: float = 4.0, drift: float = 0.0, changes: bool = False, single: bool = False) -> None:
        self.observation_space, self.action_space = gym.spaces.Discrete(1), gym.spaces.Discrete(5)
        self.problem = Problem(name="stated", dim=1, arms=np.linspace(0, 1, 5)[:, None], knowledge="learned")
        self.optimum, self.drift, self.regret_changes, self.single = optimum, drift, changes, single

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return 0, {}

    def mean(self, actions: Any) -> Any:
        return np.asarray(actions) - self.drift * self.t * (np.asarray(actions) == 4)

    def regret(self, actions: Any) -> Any:
        return self.mean(np.arange(5)).max() - self.mean(actions)

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        mean, best = float(self.mean(action)), float(self.mean(np.arange(5)).max()) if self.drift else self.optimum
        self.t += 1
        regret = float(np.float32(best - mean)) if self.single else best - mean
        return 0, mean, False, False, {"cost": 1.0, "oracle": {"mean": mean, "regret": regret}}


def played(**settings: Any) -> Any:
    return leaderboards.run(Stated(**settings), "Uniform", horizon=20)


def crashed(**settings: Any) -> str:
    with pytest.warns(UserWarning, match="run crashed after"):
        found = played(**settings)
    assert found.status == "crashed"
    return str(found.reason)


def test_an_optimum_below_a_mean_is_the_environments_fault() -> None:
    assert played().status == "done"
    assert played(optimum=4.5).status == "done"  # nothing contradicts it
    reason = crashed(optimum=2.0)
    assert "environment: step: expected a regret of at least 0, got -" in reason
    assert "its mean is larger than the optimum that is stated, 2" in reason


def test_means_that_change_are_said_to_change() -> None:
    assert played(drift=0.5, changes=True).status == "done"
    reason = crashed(drift=0.5)
    assert "by optimum and mean after reset, got" in reason
    assert "regret_changes = True" in reason


def test_single_precision_is_no_contradiction() -> None:
    assert played(optimum=4 + 1 / 3, single=True).status == "done"


def test_a_function_that_exceeds_its_optimum() -> None:
    def own(optimum: float) -> Any:
        env = from_function(lambda x: -((x[0] - 3) ** 2), [(0, 10)], noise_std=0.1, name="g3", optimum=optimum)
        return leaderboards.run(env, "Random", horizon=60)

    assert own(0.0).status == "done"
    with pytest.warns(UserWarning, match="environment: step: expected a regret of at least 0, got"):
        own(-3.0)


# ---- processes that compute as every x86-64-v3 processor can get the same bits whatever this one has ----


TORCH = """
import hashlib, torch
x = torch.linspace(0, 3, 37 * 6, dtype=torch.float64).sin().reshape(37, 6)
k = torch.exp(-torch.cdist(x, x) ** 2) + 1e-4 * torch.eye(37, dtype=torch.float64)
parts = x @ x.T, torch.linalg.cholesky(k), torch.linalg.eigvalsh(k), torch.exp(x), torch.erf(x)
print(*(hashlib.sha256(part.contiguous().numpy().tobytes()).hexdigest() for part in parts))
"""


@pytest.mark.skipif(not portable_environment(), reason="needs an x86-64 processor with AVX2 and FMA")
def test_torch_computes_alike_whatever_instructions_its_mkl_may_use() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    if not torch.backends.mkl.is_available():
        pytest.skip("this PyTorch was built without MKL")

    def bits(allowed: str) -> str:
        environment = os.environ | portable_environment() | {"MKL_ENABLE_INSTRUCTIONS": allowed, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", TORCH], env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    assert bits("SSE4_2") == bits("AVX2")
