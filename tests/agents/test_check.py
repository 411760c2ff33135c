"""`check_agent` on agents that break a clause of the protocol, and the errors that a newcomer meets first."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import agents
import gpbandit_envs  # noqa: F401  registers the ids
from agents import Actions, AgentCheckError, Capabilities, Feedback, Pending
from agents.core import check
from agents.core.finite import FiniteArmAgent
from agents.core.space import BoxAgent
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import InitialData, Problem


class Spread(FiniteArmAgent):
    """Pulls the arm that was pulled least, open evaluations included."""

    capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True)

    def select(self, n: int, pending: Pending) -> Actions:
        pulls = self.counts + np.bincount(pending.actions, minlength=self.problem.n_arms)
        chosen = []
        for _ in range(n):
            chosen.append(int(np.argmin(pulls)))
            pulls[chosen[-1]] += 1
        return np.array(chosen)


class OwnList(Spread):
    """Keeps a list of what is open itself, which it wrongly leaves out of its state."""

    not_saved = Spread.not_saved | {"open"}

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self.open: list[int] = []

    def select(self, n: int, pending: Pending) -> Actions:
        own = np.array(self.open, np.int64)
        chosen = super().select(n, Pending(np.arange(len(own)), own))
        self.open += chosen.tolist()
        return chosen

    def observe(self, feedback: Feedback) -> None:
        for arm in feedback.actions.tolist():
            if arm in self.open:
                self.open.remove(arm)
        super().observe(feedback)


class Turns(Spread):
    """Takes the arms in turn, from the first again after feedback; its state wrongly leaves out where it is."""

    not_saved = Spread.not_saved | {"turn"}

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self.turn = 0

    def select(self, n: int, pending: Pending) -> Actions:
        self.turn += n
        return np.arange(self.turn - n, self.turn) % self.problem.n_arms

    def observe(self, feedback: Feedback) -> None:
        self.turn = 0
        super().observe(feedback)


class Last(Spread):
    """Takes the feedback for that of its last pull, which it is when nothing is late."""

    def observe(self, feedback: Feedback) -> None:
        if not np.isin(feedback.actions, self.last).all():
            raise KeyError(feedback.actions.tolist())
        super().observe(feedback)

    def select(self, n: int, pending: Pending) -> Actions:
        self.last = super().select(n, pending)
        return self.last


def _counting(agent: Any, n: int, pending: Pending) -> Actions:
    agent.seen = getattr(agent, "seen", 0.0) + 1
    return Spread.select(agent, n, pending)


def _zeroing(agent: Any, feedback: Feedback) -> None:
    feedback.rewards[:] = 0
    Spread.observe(agent, feedback)


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ({"select": lambda *_: np.random.default_rng().integers(12, size=1)}, "determinism"),
        (
            {"select": _counting, "predict": lambda self, X: (X[:, 0] + vars(self).get("seen", 0.0), np.ones(len(X)))},
            "beliefs changed by selecting on twelve arms: band",
        ),
        ({"select": lambda *_: np.zeros(0, np.int64)}, "expected an action on twelve arms, got none"),
        ({"select": lambda *_: np.array([12])}, "expected indices in"),
        ({"select": lambda *_: np.array([0.5])}, "expected an integer array"),
        ({"select": lambda *_: [0]}, "expected an integer array of shape .*, got list"),
        ({"observe": _zeroing}, "the agent changed rewards"),
        ({"diagnostics": lambda *_: {"x": float("nan")}}, "expected finite numbers"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_the_check_finds_what_is_broken(methods: dict[str, Any], words: str) -> None:
    with pytest.raises(AgentCheckError, match=words):
        agents.check_agent(type("Broken", (Spread,), methods), show=None)


def test_a_list_of_its_own_is_found_when_resumed_with_open_tickets() -> None:
    with pytest.raises(AgentCheckError, match="restored with 3 tickets open, play differs on twelve arms"):
        agents.check_agent(OwnList)


def test_what_is_lost_between_two_picks_is_found_when_resumed_there() -> None:
    with pytest.raises(AgentCheckError, match="restored with 2 tickets open, play differs on twelve arms"):
        agents.check_agent(Turns)


@pytest.mark.parametrize("cls", [OwnList, Turns])
def test_the_whole_state_forgets_neither(cls: type[Spread]) -> None:
    class Whole(cls):  # type: ignore[valid-type, misc]
        not_saved = Spread.not_saved

    agents.check_agent(Whole)


def test_feedback_that_is_not_of_the_last_pull() -> None:
    with pytest.raises(KeyError):
        agents.check_agent(Last)


@pytest.mark.parametrize("cls", [OwnList, Last])
def test_what_is_not_declared_is_not_asked_for(cls: type[Spread]) -> None:
    class Prompt(cls):  # type: ignore[valid-type, misc]
        capabilities = Capabilities(frozenset({"finite"}), batch="sequential")

    agents.check_agent(Prompt)


def test_what_passed_is_said_as_it_passes() -> None:
    lines: list[str] = []
    agents.check_agent(Spread, show=lines.append)
    clauses = "actions, recommendations, determinism, resumption, order, failures"
    assert lines[:3] == [
        f"twelve arms: {clauses}, needs, late feedback",
        f"one arm: {clauses}, late feedback",
        f"duplicated arms: {clauses}, late feedback",
    ]
    assert lines[3:] == ["Spread() keeps the protocol: 3 problems, 40 evaluations each"]


@pytest.mark.parametrize("found", [-1, 12, 0.0, None, np.zeros(1), True])
def test_a_recommendation_that_is_no_arm(found: object) -> None:
    class Astray(Spread):
        def recommend(self) -> int:
            return found  # type: ignore[return-value]

    with pytest.raises(AgentCheckError, match=r"recommend: expected an index in \[0, 12\), got .* on twelve arms$"):
        agents.check_agent(Astray)


@pytest.mark.parametrize("found", [0, np.zeros((1, 2)), np.array([0.5, 1.5]), np.array([np.nan, 0.5]), [0.5, 0.5]])
def test_a_recommendation_that_is_no_point(found: object) -> None:
    class Astray(Corner):
        def recommend(self) -> np.ndarray:
            return found  # type: ignore[return-value]

    with pytest.raises(AgentCheckError, match=r"recommend: expected .* of shape \(2,\).*, got .* on box$"):
        agents.check_agent(Astray)


class Corner(BoxAgent):
    """Steps from the best point so far, every third time anywhere."""

    def select(self, n: int, pending: Pending) -> Actions:
        if len(pending):
            return pending.actions[:0]
        if len(self.y) % 3 == 0:
            return self.space.random(1, self.rng)
        return np.clip(self.recommend() + 0.1 * self.rng.standard_normal((1, self.problem.dim)), 0, 1)


def test_a_policy_on_boxes_of_ones_own() -> None:
    lines: list[str] = []
    agents.check_agent(Corner, show=lines.append)
    assert lines[0].startswith("box: actions, recommendations, determinism")
    problem = Problem(
        name="box", dim=2, initial=InitialData(points=np.array([[0.2, 0.3], [0.9, 0.1]]), rewards=np.arange(2))
    )
    agent = Corner()
    agent.reset(problem, np.random.default_rng(0))
    np.testing.assert_array_equal(agent.recommend(), [0.9, 0.1])
    assert np.abs(agent.select(1, Pending.empty(problem)) - [0.9, 0.1]).max() < 0.5


@pytest.mark.parametrize("agent", [Corner(), lambda: Corner(), f"{__name__}:Corner", "Uniform"])
def test_an_agent_is_given_in_any_form(agent: Any) -> None:
    lines: list[str] = []
    agents.check_agent(agent, show=lines.append)
    assert "keeps the protocol" in lines[-1]


def test_an_agent_that_has_played_is_checked_from_the_start() -> None:
    played = agents.make("GP-UCB")
    played.reset(
        Problem(name="line", dim=1, arms=np.linspace(0, 1, 5)[:, None], kernel=SE(0.2), noise_std=0.1, horizon=9),
        np.random.default_rng(0),
    )
    agents.check_agent(played, horizon=10, show=None)


def test_feedback_that_a_base_class_never_gets() -> None:
    class Deaf(Spread):
        def observe(self, feedback: Feedback) -> None:
            """Forgets to call the base class."""

    class Numb(Corner):
        def observe(self, feedback: Feedback) -> None:
            """Likewise."""

    with pytest.raises(
        AgentCheckError, match=r"observe: 40 evaluations .* on twelve arms, and self.n_pulls is 0; call .*override"
    ) as deaf:
        agents.check_agent(Deaf)
    assert hasattr(FiniteArmAgent, str(deaf.value).rpartition("override `")[2].partition("(")[0])
    with pytest.raises(AgentCheckError, match=r"observe: 40 evaluations .* on box, and len\(self.y\) is 0; call"):
        agents.check_agent(Numb)


def test_what_an_episode_leaves_behind_is_found_in_the_next() -> None:
    class Counting(Spread):
        def start_episode(self) -> None:
            super().start_episode()
            self.episodes = getattr(self, "episodes", 0) + 1

        def select(self, n: int, pending: Pending) -> Actions:
            return np.full(n, self.episodes % self.problem.n_arms)

    with pytest.raises(AgentCheckError, match="reset: in a second episode it plays otherwise than a fresh agent"):
        agents.check_agent(Counting, show=None)


def test_fixed_batches_are_whole() -> None:
    class Fewer(Spread):
        def select(self, n: int, pending: Pending) -> Actions:
            return super().select(max(n - 1, 1), pending)

    with pytest.raises(AgentCheckError, match=r"select: 2 actions where 3 were asked for on twelve arms; .*'adaptive'"):
        agents.check_agent(Fewer, show=None)


@pytest.mark.parametrize(
    ("shape", "least", "message"),
    [
        (-1, 0.0, None),
        ((-1, 1), 0.0, r"predict: expected a mean and a half-width .* got arrays of shapes \(12, 1\), \(12, 1\)"),
        (-1, -0.5, "predict: expected half-widths of at least 0 on twelve arms, got -0.5"),
        (-1, np.nan, "predict: expected numbers on twelve arms, got NaN; a half-width is infinite where nothing"),
        (-1, np.inf, None),
    ],
)
def test_a_band_has_two_numbers_for_each_arm(shape: Any, least: float, message: str | None) -> None:
    class Banded(Spread):
        def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.zeros(len(X)).reshape(shape), np.full(len(X), least).reshape(shape)

    if message is None:
        agents.check_agent(Banded, show=None)
    else:
        with pytest.raises(AgentCheckError, match=message):
            agents.check_agent(Banded, show=None)


def test_a_band_on_a_box_has_two_numbers_for_each_point() -> None:
    class Banded(BoxAgent):
        def select(self, n: int, pending: Pending) -> Actions:
            return self.space.random(0 if len(pending) else 1, self.rng)

        def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.zeros(3), np.ones(3)

    with pytest.raises(AgentCheckError, match=r"a half-width for each of 5 points on box, got arrays of shapes \(3,\)"):
        agents.check_agent(Banded, show=None)


@pytest.mark.parametrize(("what", "words"), [("counts", "counts of the feedback"), ("best", "recommendation")])
def test_selecting_changes_neither_counts_nor_the_recommendation(what: str, words: str) -> None:
    class Changes(Spread):
        best = 0

        def select(self, n: int, pending: Pending) -> Actions:
            found = super().select(n, pending)
            if what == "counts":
                self.counts[found] += 1
                self.counts[found] -= 1
                self.sums += 1.0
            else:
                self.best = int(found[0])
            return found

        def recommend(self) -> int:
            return self.best

    with pytest.raises(AgentCheckError, match=f"select: beliefs changed by selecting on twelve arms: {words}$"):
        agents.check_agent(Changes, show=None)


def test_a_dataclass_that_compares_by_value_is_an_agent() -> None:
    @dataclass
    class Settings(Spread):
        eps: float = 0.1

    assert repr(Settings(eps=0.3)) == "test_a_dataclass_that_compares_by_value_is_an_agent.<locals>.Settings(eps=0.3)"
    agents.check_agent(Settings, show=None)


def test_what_it_reads_is_what_it_says_it_needs() -> None:
    class Reads(Spread):
        def select(self, n: int, pending: Pending) -> Actions:
            assert self.problem.kernel is not None
            return super().select(n, pending)

    class Sums(Spread):
        def observe(self, feedback: Feedback) -> None:
            np.asarray_chkfinite(feedback.rewards)
            super().observe(feedback)

    words = r"failures: on twelve arms, where an evaluation failed, it raised ValueError: .*; feedback.succeeded\(\)"
    with pytest.raises(AgentCheckError, match=words):
        agents.check_agent(Sums, show=None)

    class Says(Reads):
        capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True, needs=frozenset({"kernel"}))

    words = "needs: on twelve arms, where the problem states none of kernel, noise, norm, horizon, it raised Assertion"
    with pytest.raises(AgentCheckError, match=words):
        agents.check_agent(Reads)
    agents.check_agent(Says, show=None)


def test_who_declares_contexts_selects_and_recommends_what_is_offered() -> None:
    class Promises(Spread):
        capabilities = Capabilities(frozenset({"finite"}), contexts=True)

    class Recommends(Promises):
        def select(self, n: int, pending: Pending) -> Actions:
            return self.uniform(n)

        def recommend(self) -> int:
            return 0

    class Consumes(Recommends):
        def offer(self, arms: np.ndarray) -> None:
            super().offer(arms)
            self.rng.random()

    with pytest.raises(AgentCheckError, match=r"offer: offered \[.*\] on twelve arms, it selected"):
        agents.check_agent(Promises)
    with pytest.raises(AgentCheckError, match=r"offer: offered \[.*\] on twelve arms, it recommended 0"):
        agents.check_agent(Recommends)
    with pytest.raises(AgentCheckError, match="offer: offered all arms at each step, play differs on twelve arms"):
        agents.check_agent(Consumes)


def test_an_agent_without_contexts_refuses_an_offer() -> None:
    problem = Problem(name="arms", dim=1, arms=np.linspace(0, 1, 9)[:, None], kernel=SE(0.2), noise_std=0.1)
    for agent in (Spread(), agents.make("GP-BUCB")):
        agent.reset(problem, np.random.default_rng(0))
        with pytest.raises(TypeError, match="selects among all arms; it declares no contexts"):
            agent.offer(np.array([1, 2]))
    with pytest.raises(ValueError, match=r"contexts: expected an agent that plays on arms, got domains \['box'\]"):
        Capabilities(frozenset({"box"}), contexts=True)


class TestErrorsOfANewcomer:
    PROBLEM = Problem(name="arms", dim=1, arms=np.linspace(0, 1, 1_000)[:, None], kernel=SE(0.2), noise_std=0.1)

    def test_a_seed_in_place_of_a_generator(self) -> None:
        for agent in (Spread(), agents.make("GP-UCB"), agents.make("MAP-UCB"), agents.make("Random")):
            with pytest.raises(TypeError, match=r"rng: expected a generator, such as numpy.random.default_rng\(0\)"):
                agent.reset(self.PROBLEM, 0)  # type: ignore[arg-type]

    def test_an_environment_in_place_of_its_problem(self) -> None:
        env = gym.make("GPBandit/Branin-v0", disable_env_checker=True)
        with pytest.raises(TypeError, match=r"problem: expected a .*Problem, got .*; gpbandit_envs.problem_of\(env\)"):
            agents.make("Random").reset(env, np.random.default_rng(0))  # type: ignore[arg-type]

    @pytest.mark.parametrize("id", ["GP-UCB", "MAP-UCB", "Random", "Uniform", "BBKB"])
    def test_select_before_reset(self, id: str) -> None:
        with pytest.raises(AttributeError, match=r"has no attribute '\w+'; has reset\(problem, rng\) been called"):
            agents.make(id).select(1, Pending.empty(self.PROBLEM))

    def test_a_missing_attribute_after_reset_is_just_missing(self) -> None:
        agent = Spread()
        agent.reset(self.PROBLEM, np.random.default_rng(0))
        with pytest.raises(AttributeError, match=r"Spread has no attribute 'means'$"):
            agent.means  # type: ignore[attr-defined]  # noqa: B018

    def test_a_number_where_feedback_has_one_for_each_evaluation(self) -> None:
        for given, name in (((0, [4], [0.7]), "tickets"), (([0], 4, [0.7]), "actions"), (([0], [4], 0.7), "rewards")):
            with pytest.raises(ValueError, match=rf"{name}: expected one entry for each evaluation, as in \["):
                Feedback.of(*given)
        assert Feedback.of([0], [4], [0.7]).actions.tolist() == [4]

    def test_settings_are_shown_shortly(self) -> None:
        assert repr(agents.make("GP-UCB", width="practical", n_start=3)) == "GPUCB(width='practical', n_start=3)"
        assert repr(agents.make("RA-BO")) == "UHEBO(sampling='alternate')"
        assert len(repr(agents.make("GP-UCB", initial={"arms": list(range(500)), "rewards": [0.0] * 500}))) < 200
        assert repr(copy.deepcopy(agents.make("Random"))) == "RandomSearch()"
        shown = repr(replace(self.PROBLEM, initial=InitialData(arms=np.arange(9), rewards=np.zeros(9))))
        assert shown.startswith("Problem('arms', 1000 arms of 1 features, kernel=SE(")
        assert shown.endswith("initial=InitialData(9 evaluations), knowledge='oracle')")
        assert len(shown) < 250
        assert repr(Problem(name="p", dim=3)) == "Problem('p', box of dimension 3, knowledge='oracle')"


class NeedsArgument(Spread):
    """Has an argument without a default."""

    def __init__(self, eps: float) -> None:
        self.eps = eps


def test_classes_that_cannot_be_built_or_found_are_named() -> None:
    needs = r"agent: '.*:NeedsArgument' needs eps: .* check_agent\(lambda: NeedsArgument\(eps=...\)\)"
    with pytest.raises(TypeError, match=needs):
        agents.check_agent(f"{__name__}:NeedsArgument", show=None)
    with pytest.raises(ValueError, match=r"^agent: module '.*' has no attribute 'Nope'"):
        agents.check_agent(f"{__name__}:Nope", show=None)
    agents.check_agent(lambda: NeedsArgument(eps=0.1), horizon=4, show=None)


def test_a_slow_check_says_once_how_to_shorten_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_SLOW_SECONDS", 0.0)
    lines: list[str] = []
    agents.check_agent(Spread, show=lines.append)
    assert lines[1] == "0 s are over; horizon=10 plays fewer evaluations, and checks the same clauses"
    assert sum("horizon=" in line for line in lines) == 1
    short: list[str] = []
    agents.check_agent(Spread, horizon=10, show=short.append)
    assert not any("horizon=" in line for line in short)
